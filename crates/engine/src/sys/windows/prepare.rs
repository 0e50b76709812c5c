//! Prepares files: size, allocation, and length of valid data. NTFS and ReFS record the length of a
//! file's *valid data* besides its size. Beyond the valid data, space is allocated, but reads
//! return zeros without I/O, and a write first zeroes everything before it. So a file is ready only
//! when its valid data reaches its end.

use std::fs;
use std::io;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Storage::FileSystem::{
    FILE_ALLOCATION_INFO, FILE_END_OF_FILE_INFO, FileAllocationInfo, FileEndOfFileInfo, SetFileInformationByHandle,
    SetFileValidData,
};

use super::ioctl::{check, device_io_control};
use super::privilege;
use crate::probe::windows::ioctl_structs;

/// `FSCTL_QUERY_FILE_REGIONS` (winioctl.h): which regions of a file hold valid data.
const QUERY_REGIONS: u32 = 0x9_0284;
/// `FILE_REGION_USAGE_VALID_CACHED_DATA`, which NTFS knows, and
/// `FILE_REGION_USAGE_VALID_NONCACHED_DATA`, which ReFS knows.
const USAGES: [u32; 2] = [1, 2];
/// The privilege for [`declare_valid`].
const MANAGE_VOLUME: &str = "SeManageVolumePrivilege";

/// Sets the end of a file. NTFS and ReFS allocate the space immediately.
///
/// # Errors
/// The system's error, such as that the disk is full.
pub(crate) fn set_length(file: &fs::File, length: u64) -> io::Result<()> {
    let length = i64::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
    let end = FILE_END_OF_FILE_INFO { EndOfFile: length };
    set(file, FileEndOfFileInfo, &end)
}

/// Reserves `length` bytes without changing the end of the file.
///
/// # Errors
/// The system's error, such as that the disk is full.
pub(crate) fn reserve(file: &fs::File, length: u64) -> io::Result<()> {
    let length = i64::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
    let space = FILE_ALLOCATION_INFO { AllocationSize: length };
    set(file, FileAllocationInfo, &space)
}

/// Sets information about an open file. `class` is the class of the structure `facts`.
pub(super) fn set<T>(file: &fs::File, class: i32, facts: &T) -> io::Result<()> {
    let pointer: *const T = facts;
    // SAFETY: the call reads that many bytes behind the pointer, which is live; the caller names
    // the class of the structure.
    check(unsafe { SetFileInformationByHandle(file.as_raw_handle(), class, pointer.cast(), size_of::<T>() as u32) })
}

/// Declares a file valid up to a length without writing it. Reads then return what the disk
/// contained before. This needs the privilege to manage volumes, which administrators have, and a
/// file that is neither sparse nor compressed.
///
/// # Errors
/// The system's error: 1300 without the privilege.
pub(crate) fn declare_valid(file: &fs::File, length: u64) -> io::Result<()> {
    let length = i64::try_from(length).map_err(|_| io::ErrorKind::InvalidInput)?;
    privilege::enable(MANAGE_VOLUME)?;
    // SAFETY: the handle belongs to a live file, and the other argument is a number.
    check(unsafe { SetFileValidData(file.as_raw_handle(), length) })
}

/// The length of a file's valid data; `None` if the file system does not report it.
pub(crate) fn valid_length(file: &fs::File) -> Option<u64> {
    let size = file.metadata().ok()?.len();
    USAGES.into_iter().find_map(|usage| {
        // FILE_REGION_INPUT: offset, length, kind of region, and four bytes of padding.
        let input = [
            &0u64.to_le_bytes()[..],
            &size.to_le_bytes()[..],
            &usage.to_le_bytes()[..],
            &[0; 4],
        ]
        .concat();
        let output = device_io_control(file, QUERY_REGIONS, &input, 64 << 10)
            .ok()
            .filter(|output| !output.truncated)?;
        ioctl_structs::valid_length(&output.bytes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Seek, SeekFrom, Write};

    #[test]
    fn set_length_moves_the_end_of_a_file() {
        let mut file = tempfile::tempfile().unwrap();
        set_length(&file, 1 << 20).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        file.seek(SeekFrom::Start(0)).unwrap();
        file.write_all(b"begin").unwrap();
        set_length(&file, 5).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 5);
        assert!(set_length(&file, u64::MAX).is_err());
    }
}
