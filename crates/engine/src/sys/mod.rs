//! System-dependent code, with the same names on each system: clock, memory, files, threads,
//! signals, terminal.

pub(crate) mod hypervisor;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(windows)]
pub use windows::*;

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
