//! System-dependent code, with the same names on each system: clock, memory, files, threads,
//! signals, terminal.

mod ata_query;
pub(crate) mod hypervisor;
#[cfg(target_os = "linux")]
mod linux;
mod mapping;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(windows)]
pub use windows::*;

/// How a file system allocates files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The size to which files are rounded up.
    pub block: u64,
    /// All inodes and the free ones; `None` without a limit.
    pub files: Option<(u64, u64)>,
}

/// The purpose of opening a file of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenFor {
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Both.
    ReadWrite,
    /// Writing, as a new file.
    Create,
    /// Both, as a new file.
    CreateReadWrite,
}
