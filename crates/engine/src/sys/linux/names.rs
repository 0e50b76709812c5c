//! Operations on paths of files and directories.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use model::plan::LookupCall;
use rustix::fs::{AtFlags, CWD, StatxFlags, lstat, stat, statx};

/// Creates a file if it does not exist, accessible only to this user, and opens it.
pub(crate) fn create_file(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Creates a directory accessible only to this user.
///
/// # Errors
/// The system's error, such as that the path exists.
pub fn create_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// Opens a file for non-blocking reads.
pub(crate) fn open_nonblocking(path: &Path) -> io::Result<fs::File> {
    let flag = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    fs::OpenOptions::new().read(true).custom_flags(flag).open(path)
}

/// Looks up a path with the given system call; the standard library would choose one itself.
pub(crate) fn look_up(path: &Path, call: LookupCall) -> io::Result<()> {
    match call {
        LookupCall::Stat => stat(path).map(drop)?,
        LookupCall::Lstat => lstat(path).map(drop)?,
        LookupCall::Statx => statx(CWD, path, AtFlags::empty(), StatxFlags::ALL).map(drop)?,
    }
    Ok(())
}
