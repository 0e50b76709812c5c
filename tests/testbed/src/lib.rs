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
//! let full = need!(TmpFs::with_size(1 << 20));
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
mod extensions;
#[cfg(target_os = "linux")]
mod linux;
mod skip;

#[cfg(not(target_os = "linux"))]
pub use directory_elsewhere::Directory;
pub use extensions::{AssertContains, AssertIs, With};
#[cfg(target_os = "linux")]
pub use linux::*;
pub use skip::{Needed, Unavailable, need, note, skip};

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
