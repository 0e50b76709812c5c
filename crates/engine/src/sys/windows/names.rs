//! Operations on paths of files and directories.

use std::fs;
use std::io;
use std::path::Path;

use model::plan::LookupCall;

/// Creates a file if it does not exist, and opens it.
pub(crate) fn create_file(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Creates a directory.
///
/// # Errors
/// The system's error, such as that the path exists.
pub fn create_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Opens a file for non-blocking reads: not supported on Windows.
pub(crate) fn open_nonblocking(_: &Path) -> io::Result<fs::File> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Looks up a path, following links or not.
pub(crate) fn look_up(path: &Path, call: LookupCall) -> io::Result<()> {
    match call {
        LookupCall::Stat | LookupCall::Statx => fs::metadata(path).map(drop),
        LookupCall::Lstat => fs::symlink_metadata(path).map(drop),
    }
}
