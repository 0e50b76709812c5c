//! Calls on names of files and directories.

use std::fs;
use std::io;
use std::path::Path;

use model::plan::LookCall;

/// Makes a file that is not there, and opens it.
pub(crate) fn create_file(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// Makes a directory.
///
/// # Errors
/// The system's error, such as that something is there already.
pub fn create_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Opens something for reading whose reads do not wait for more to come: nothing here is like that.
pub(crate) fn open_without_waiting(_: &Path) -> io::Result<fs::File> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Looks a name up. There are two ways to do so here: following links, or not.
pub(crate) fn look_up(path: &Path, call: LookCall) -> io::Result<()> {
    match call {
        LookCall::Stat | LookCall::Statx => fs::metadata(path).map(drop),
        LookCall::Lstat => fs::symlink_metadata(path).map(drop),
    }
}
