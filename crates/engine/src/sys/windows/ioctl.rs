//! I/O control calls to drivers and file systems; UTF-16 strings.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr::null;

use windows_sys::Win32::Foundation::{ERROR_INSUFFICIENT_BUFFER, ERROR_IO_PENDING, ERROR_MORE_DATA};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS, FILE_ID_INFO, FILE_REMOTE_PROTOCOL_INFO, FILE_STANDARD_INFO,
    FILE_STORAGE_INFO, FileBasicInfo, FileIdInfo, FileRemoteProtocolInfo, FileStandardInfo, FileStorageInfo,
    GetFileInformationByHandleEx,
};
use windows_sys::Win32::System::IO::{DeviceIoControl, GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Threading::CreateEventW;

/// Output of a call, possibly truncated.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) bytes: Vec<u8>,
    /// The buffer was too small for the whole output.
    pub(crate) truncated: bool,
}

/// Opens a file, directory, disk or volume for queries, which needs no access to its contents and
/// no privilege.
///
/// # Errors
/// The system's error.
pub(crate) fn open_for_query(path: &Path) -> io::Result<fs::File> {
    fs::OpenOptions::new()
        .access_mode(0)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS)
        .open(path)
}

/// Calls `DeviceIoControl` with an output buffer of `room` bytes, and waits for completion.
///
/// # Errors
/// The system's error, such as that the driver does not support the code.
pub(crate) fn device_io_control(file: &fs::File, code: u32, input: &[u8], room: usize) -> io::Result<Output> {
    // SAFETY: all arguments may be absent or zero, and the handle that comes back is new.
    let event = unsafe { CreateEventW(null(), 1, 0, null()) };
    if event.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so the handle is valid, and not shared yet.
    let event = unsafe { OwnedHandle::from_raw_handle(event) };
    // SAFETY: the structure is plain numbers and pointers, for which zero is valid.
    let mut overlapped: OVERLAPPED = unsafe { std::mem::zeroed() };
    // The low bit keeps the completion out of the port that the handle may belong to
    // (GetQueuedCompletionStatus).
    overlapped.hEvent = (event.as_raw_handle() as usize | 1) as *mut _;
    let mut bytes = vec![0u8; room];
    let (length, room) = (input.len() as u32, room as u32);
    let mut returned = 0u32;
    // SAFETY: the call reads the input and writes the output within the given lengths. Both, the
    // structure and the event live until the operation has completed; if it does not complete
    // immediately, the code below waits for it.
    let mut done = unsafe {
        let input = input.as_ptr().cast();
        let output = bytes.as_mut_ptr().cast();
        DeviceIoControl(
            file.as_raw_handle(),
            code,
            input,
            length,
            output,
            room,
            &mut returned,
            &mut overlapped,
        )
    };
    let mut error = io::Error::last_os_error();
    if done == 0 && error.raw_os_error() == Some(ERROR_IO_PENDING as i32) {
        // SAFETY: the structure belongs to the operation that was begun above, and is live.
        done = unsafe { GetOverlappedResult(file.as_raw_handle(), &overlapped, &mut returned, 1) };
        error = io::Error::last_os_error();
    }
    let truncated = done == 0 && error.raw_os_error() == Some(ERROR_MORE_DATA as i32);
    if done == 0 && !truncated {
        return Err(error);
    }
    bytes.truncate(returned as usize);
    Ok(Output { bytes, truncated })
}

/// Calls [`device_io_control`] with growing buffers until the whole output fits.
///
/// # Errors
/// The system's error.
pub(crate) fn device_io_control_all(file: &fs::File, code: u32, input: &[u8], room: usize) -> io::Result<Vec<u8>> {
    const MAX_BUFFER_BYTES: usize = 4 << 20;
    let mut room = room;
    loop {
        match device_io_control(file, code, input, room) {
            Ok(output) if !output.truncated => return Ok(output.bytes),
            Err(error) if error.raw_os_error() != Some(ERROR_INSUFFICIENT_BUFFER as i32) => return Err(error),
            _ if room >= MAX_BUFFER_BYTES => return Err(io::ErrorKind::OutOfMemory.into()),
            _ => room *= 4,
        }
    }
}

/// A structure that `GetFileInformationByHandleEx` fills.
///
/// # Safety
/// It must be what the call writes for the class, and zero must be valid for all of its fields.
pub(crate) unsafe trait FileInfo: Copy {
    /// The information class.
    const CLASS: i32;
}

// SAFETY: the structure of this class; two numbers.
unsafe impl FileInfo for FILE_ID_INFO {
    const CLASS: i32 = FileIdInfo;
}

// SAFETY: the structure of this class; numbers.
unsafe impl FileInfo for FILE_BASIC_INFO {
    const CLASS: i32 = FileBasicInfo;
}

// SAFETY: the structure of this class; numbers and two flags.
unsafe impl FileInfo for FILE_STANDARD_INFO {
    const CLASS: i32 = FileStandardInfo;
}

// SAFETY: the structure of this class; numbers.
unsafe impl FileInfo for FILE_STORAGE_INFO {
    const CLASS: i32 = FileStorageInfo;
}

// SAFETY: the structure of this class; numbers, and a union of numbers.
unsafe impl FileInfo for FILE_REMOTE_PROTOCOL_INFO {
    const CLASS: i32 = FileRemoteProtocolInfo;
}

/// Queries information about an open file.
///
/// # Errors
/// The system's error.
pub(crate) fn query_file_info<T: FileInfo>(file: &fs::File) -> io::Result<T> {
    let mut facts = MaybeUninit::<T>::zeroed();
    let length = size_of::<T>() as u32;
    // SAFETY: the call writes at most `length` bytes behind the pointer, which is live and of that
    // size.
    check(unsafe { GetFileInformationByHandleEx(file.as_raw_handle(), T::CLASS, facts.as_mut_ptr().cast(), length) })?;
    // SAFETY: zero is valid for every field, and the call has filled them (`FileInfo`).
    Ok(unsafe { facts.assume_init() })
}

/// Converts the result of a call that returns zero on failure.
pub(crate) fn check(result: i32) -> io::Result<()> {
    match result {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Encodes a path or text as UTF-16 with a terminating zero.
pub(crate) fn to_wide(text: impl AsRef<std::ffi::OsStr>) -> Vec<u16> {
    text.as_ref().encode_wide().chain([0]).collect()
}

/// Decodes the text up to the first zero.
pub(crate) fn from_wide(wide: &[u16]) -> String {
    let end = wide.iter().position(|unit| *unit == 0).unwrap_or(wide.len());
    String::from_utf16_lossy(&wide[..end])
}

/// Decodes a list of zero-terminated texts, ended by an empty one.
pub(crate) fn from_wide_list(wide: &[u16]) -> Vec<String> {
    let strings = wide.split(|unit| *unit == 0).take_while(|string| !string.is_empty());
    strings.map(String::from_utf16_lossy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_survive_a_round_trip() {
        assert_eq!(from_wide(&to_wide("C:\\Straße")), "C:\\Straße");
        assert_eq!(from_wide_list(&[67, 58, 0, 68, 58, 0, 0, 70]), ["C:", "D:"]);
        assert!(from_wide_list(&[0, 0]).is_empty());
    }

    #[test]
    fn an_unsupported_control_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        assert!(
            device_io_control(&file, 0x7_0050, &[], 64).is_err(),
            "a file has no partitions"
        );
    }
}
