//! Real things for system tests: loop devices, zram, tmpfs, file systems on loop devices, a
//! throttle, a file system with faults, hosts.
//!
//! A test creates each of them, and dropping its handle undoes it, also in a panic. What a killed
//! process leaves behind is undone by the next one that creates something ([`sweep`]). Nothing that
//! already exists is ever touched. This crate does not depend on engines, plans or results, and is
//! never part of the program.
//!
//! Making devices needs root and tools. A test that lacks them says so and ends:
//!
//! ```
//! # #[cfg(target_os = "linux")]
//! # fn test() {
//! use testbed::{TmpFs, need};
//!
//! let Some(full) = need(TmpFs::with_size(1 << 20)) else { return };
//! assert!(full.path().is_dir());
//! # }
//! # #[cfg(target_os = "linux")]
//! # test();
//! ```
//!
//! With `FATHOM_CI=1` in the environment a skipped test is a failed one.
//!
//! On other systems than Linux there are folders and skipped tests, and nothing else.

#![forbid(unsafe_code)]

#[cfg(not(target_os = "linux"))]
mod directory_elsewhere;
#[cfg(target_os = "linux")]
mod fault_fs;
#[cfg(target_os = "linux")]
mod footprint;
#[cfg(target_os = "linux")]
mod ground;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
mod loop_device;
#[cfg(target_os = "linux")]
mod loop_fs;
#[cfg(target_os = "linux")]
mod overlay;
#[cfg(target_os = "linux")]
mod own_process;
#[cfg(target_os = "linux")]
mod python;
mod skip;
#[cfg(target_os = "linux")]
mod slurm;
#[cfg(target_os = "linux")]
mod throttle;
#[cfg(target_os = "linux")]
mod tmpfs;
#[cfg(target_os = "linux")]
mod tools;
#[cfg(target_os = "linux")]
mod trace_fs;
#[cfg(target_os = "linux")]
mod zram;

#[cfg(not(target_os = "linux"))]
pub use directory_elsewhere::Directory;
#[cfg(target_os = "linux")]
pub use fault_fs::{FaultFs, Seen};
#[cfg(target_os = "linux")]
pub use footprint::Footprint;
#[cfg(target_os = "linux")]
pub use ground::{Directory, sweep};
#[cfg(target_os = "linux")]
pub use hosts::Hosts;
#[cfg(target_os = "linux")]
pub use loop_device::{LoopDevice, LoopOptions};
#[cfg(target_os = "linux")]
pub use loop_fs::LoopFs;
#[cfg(target_os = "linux")]
pub use overlay::Overlay;
#[cfg(target_os = "linux")]
pub use own_process::in_own_process;
#[cfg(target_os = "linux")]
pub use python::python_packages;
pub use skip::{Unavailable, need, note, skip};
#[cfg(target_os = "linux")]
pub use slurm::Slurm;
#[cfg(target_os = "linux")]
pub use throttle::{Limit, Throttle, Throttled};
#[cfg(target_os = "linux")]
pub use tmpfs::TmpFs;
#[cfg(target_os = "linux")]
pub use tools::device_number;
#[cfg(target_os = "linux")]
pub use trace_fs::TraceFs;
#[cfg(target_os = "linux")]
pub use zram::Zram;

/// Copies a program that is run at once. Another process writes the copy: a child that starts at
/// the same time would inherit a file that is open for writing, and such a file cannot run.
///
/// # Panics
/// The program cannot be copied.
pub fn copy_program(from: impl AsRef<std::path::Path>, to: impl AsRef<std::path::Path>) {
    let copied = std::process::Command::new("cp")
        .arg(from.as_ref())
        .arg(to.as_ref())
        .status();
    assert!(copied.is_ok_and(|status| status.success()), "{}", to.as_ref().display());
}
