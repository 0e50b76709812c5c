//! Opening files and devices, positioned reads and writes, flushes.

use std::fs;
use std::io;
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use model::plan::{FileRangeFlags, WriteThrough};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_NO_BUFFERING, FILE_FLAG_RANDOM_ACCESS, FILE_FLAG_SEQUENTIAL_SCAN, FILE_FLAG_WRITE_THROUGH,
};

use crate::file::{Access, FileKind, OpenHow};

/// Error number: the operation is not supported.
pub const NOT_SUPPORTED: i32 = 50;
/// Error number: invalid parameter.
pub const INVALID: i32 = 87;
/// Error number: input/output error.
pub const IO_ERROR: i32 = 1117;
/// Error number: disk full.
pub const NO_SPACE: i32 = 112;
/// Error number: quota exceeded.
pub const OVER_QUOTA: i32 = 1295;
/// Error number: no memory.
pub const NO_MEMORY: i32 = 8;
/// Error number: access denied.
pub const ACCESS_DENIED: i32 = 5;
/// Error number: a required privilege is not held.
pub const NOT_PERMITTED: i32 = 1314;
/// Error number: the file is too large.
pub const TOO_LARGE: i32 = 223;
/// Error number: the resource is in use.
pub const BUSY: i32 = 170;
/// Error number: write protected.
pub const READ_ONLY: i32 = 19;
/// Error number: it took too long.
pub const TIMED_OUT: i32 = 1460;

/// Opens a file of this user for reading. The folder for such files is the user's own here.
///
/// # Errors
/// The system's error.
pub fn open_own(path: &Path) -> io::Result<fs::File> {
    fs::File::open(path)
}

/// Opens a file or device.
pub(crate) fn open(path: &Path, how: &OpenHow) -> io::Result<fs::File> {
    let mut flags = 0;
    for (set, flag) in [
        (how.cache.direct, FILE_FLAG_NO_BUFFERING),
        (how.cache.write_through != WriteThrough::Off, FILE_FLAG_WRITE_THROUGH),
        (how.hint.sequential, FILE_FLAG_SEQUENTIAL_SCAN),
        (how.hint.random, FILE_FLAG_RANDOM_ACCESS),
    ] {
        flags |= if set { flag } else { 0 };
    }
    fs::OpenOptions::new()
        .read(how.access != Access::Write)
        .write(how.access != Access::Read)
        .custom_flags(flags)
        .open(path)
}

/// What an open file is and its size. Device numbers do not exist here.
pub fn identify(file: &fs::File) -> io::Result<(FileKind, (u32, u32), u64)> {
    let meta = file.metadata()?;
    let kind = match (meta.is_file(), meta.is_dir()) {
        (true, _) => FileKind::Regular,
        (false, true) => FileKind::Directory,
        (false, false) => FileKind::Other,
    };
    Ok((kind, (0, 0), meta.len()))
}

/// Unbuffered I/O needs whole sectors; 4096 fits every disk there is.
pub(crate) fn direct_alignment(_file: &fs::File, _kind: FileKind) -> u64 {
    4096
}

/// Cached pages cannot be dropped by a program without privileges here.
pub fn drop_cache(_file: &fs::File) {}

/// Sets the length; space is allocated when it is written.
///
/// # Errors
/// The system's error.
pub fn allocate(file: &fs::File, length: u64) -> io::Result<()> {
    file.set_len(length)
}

fn result_of(result: io::Result<usize>) -> i64 {
    match result {
        Ok(bytes) => bytes as i64,
        Err(error) => -i64::from(error.raw_os_error().unwrap_or(IO_ERROR)),
    }
}

/// Reads at a position. Returns bytes transferred, or a negative error number.
#[inline(always)]
pub(crate) fn read_at(file: &fs::File, buffer: &mut [u8], offset: u64) -> i64 {
    result_of(file.seek_read(buffer, offset))
}

/// Writes at a position. Returns bytes transferred, or a negative error number.
#[inline(always)]
pub(crate) fn write_at(file: &fs::File, buffer: &[u8], offset: u64) -> i64 {
    result_of(file.seek_write(buffer, offset))
}

/// The same; polling does not exist here.
pub(crate) fn read_at_with_flags(file: &fs::File, buffer: &mut [u8], offset: u64, _flags: u32) -> i64 {
    read_at(file, buffer, offset)
}

/// The same; polling does not exist here.
pub(crate) fn write_at_with_flags(file: &fs::File, buffer: &[u8], offset: u64, _flags: u32) -> i64 {
    write_at(file, buffer, offset)
}

/// Does not exist here.
pub(crate) fn allocate_range(_file: &fs::File, _offset: u64, _length: u64, _keep_size: bool) -> i64 {
    -i64::from(NOT_SUPPORTED)
}

/// Flushes data and metadata. Returns 0 or a negative error number.
pub(crate) fn flush(file: &fs::File) -> i64 {
    result_of(file.sync_all().map(|()| 0))
}

/// Flushes data. Returns 0 or a negative error number.
pub(crate) fn flush_data(file: &fs::File) -> i64 {
    result_of(file.sync_data().map(|()| 0))
}

/// Does not exist here.
pub(crate) fn flush_range(_file: &fs::File, _offset: u64, _length: u64, _flags: FileRangeFlags) -> i64 {
    -i64::from(NOT_SUPPORTED)
}

/// A file system cannot be flushed as a whole by a program without privileges here; the file is.
///
/// # Errors
/// The system's error.
pub fn flush_file_system(file: &fs::File) -> io::Result<()> {
    file.sync_all()
}

/// Not done yet here.
pub(crate) fn trim(_file: &fs::File, _kind: FileKind, _offset: u64, _length: u64) -> i64 {
    -i64::from(NOT_SUPPORTED)
}

/// Sets the length; space cannot be reserved beyond it here.
///
/// # Errors
/// The system's error.
pub fn allocate_keeping_size(_file: &fs::File, _length: u64) -> io::Result<()> {
    Ok(())
}

/// Extended attributes are not used here.
pub fn attribute(_file: &fs::File, _name: &str) -> Option<Vec<u8>> {
    None
}

/// Extended attributes are not used here.
///
/// # Errors
/// Always `Unsupported`.
pub fn set_attribute(_file: &fs::File, _name: &str, _value: &[u8]) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Extended attributes are not used here.
///
/// # Errors
/// Always `Unsupported`.
pub fn remove_attribute(_file: &fs::File, _name: &str) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A text that no other file has: its time of birth, which Windows keeps to 100 ns, and its size.
pub fn identity(file: &fs::File) -> Option<String> {
    use std::os::windows::fs::MetadataExt;
    let meta = file.metadata().ok()?;
    Some(format!("{} {}", meta.creation_time(), meta.file_size()))
}

/// Files of ours are opened without sharing, so whoever can open one has the lock.
pub fn try_lock(_file: &fs::File) -> bool {
    true
}

/// Size of the volume that a path lies on, and bytes that may still be used there.
///
/// # Errors
/// The system's error.
pub fn space(path: &Path) -> io::Result<(u64, u64)> {
    use std::os::windows::ffi::OsStrExt;
    use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;
    let wide: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let (mut available, mut total, mut free) = (0u64, 0u64, 0u64);
    // SAFETY: the path ends with a zero, and the call writes three live words.
    let result = unsafe { GetDiskFreeSpaceExW(wide.as_ptr(), &mut available, &mut total, &mut free) };
    if result != 0 {
        Ok((total, available))
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The shortest and the longest write that happens whole or not at all; this system offers none.
pub fn atomic_write_sizes(_file: &fs::File) -> Option<(u32, u32)> {
    None
}

/// True if an open file lies on another machine. Not found out here yet, so nothing that needs it is done.
pub fn is_remote(_file: &fs::File) -> bool {
    false
}

/// Bytes that a file takes up on its file system, as far as its size tells.
pub fn allocated(meta: &fs::Metadata) -> u64 {
    meta.len()
}
