//! Reads files that users name: job files, profiles, catalogues, suites, host lists, saved results.
//!
//! These files are not trusted: opening one never blocks, and reading one is limited.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use engine::sys;

/// Maximum size of a text file, in bytes.
pub const MAX_TEXT: u64 = 64 << 20;

/// Reads the text of a regular file of at most `max` bytes.
///
/// # Errors
/// The file cannot be opened or read; kind `InvalidInput` for a pipe, a socket, a device or a file
/// that is too long.
pub fn read_text(path: &Path, max: u64) -> io::Result<String> {
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(read_bytes(path, max)?).map_err(invalid)
}

/// Reads the bytes of a regular file of at most `max` bytes.
///
/// # Errors
/// As [`read_text`].
pub fn read_bytes(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    read_limited(open(path)?, max)
}

/// Reads the first 4,096 bytes of a regular file, which show its kind.
///
/// # Errors
/// As [`read_text`], except for the size limit.
pub fn read_head(path: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    open(path)?.take(4096).read_to_end(&mut head)?;
    Ok(head)
}

/// Opens a regular file for reading.
///
/// # Errors
/// The file cannot be opened; kind `InvalidInput` for a pipe, a socket or a device.
pub fn open(path: &Path) -> io::Result<File> {
    // Checks the path first, because opening a socket fails with a misleading error.
    refuse_special(&std::fs::metadata(path)?, path)?;
    let file = match is_inherited(path) {
        true => File::open(path)?,
        false => sys::file::open_without_waiting(path)?,
    };
    // The path may have been replaced since the check.
    refuse_special(&file.metadata()?, path)?;
    Ok(file)
}

/// Reads the content of `source`, if it has at most `max` bytes.
///
/// # Errors
/// Reading fails; kind `InvalidInput` if the content is longer.
pub fn read_limited(source: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(max + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > max {
        true => Err(refuse(format!("the file exceeds the limit of {} MiB", max >> 20))),
        false => Ok(bytes),
    }
}

fn refuse(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why.into())
}

/// True for a descriptor that the shell opened, as in process substitution (`<(…)`). Its writer
/// already exists, so reading does not hang.
fn is_inherited(path: &Path) -> bool {
    ["/dev/fd", "/proc/self/fd"]
        .iter()
        .any(|folder| path.parent() == Some(Path::new(folder)))
        || path == Path::new("/dev/stdin")
}

#[cfg(unix)]
fn refuse_special(meta: &std::fs::Metadata, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let kind = meta.file_type();
    let kind_name = match () {
        () if kind.is_fifo() && !is_inherited(path) => "a named pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() => "a terminal or another character device",
        () if kind.is_block_device() => "a block device",
        () => return Ok(()),
    };
    Err(refuse(format!("it is {kind_name}, not a regular file")))
}

#[cfg(not(unix))]
fn refuse_special(_: &std::fs::Metadata, _: &Path) -> io::Result<()> {
    Ok(())
}
