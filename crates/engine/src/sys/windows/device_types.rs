//! Classifies open handles: file, directory, disk, volume, other.

use std::fs;
use std::io;
use std::os::windows::io::AsRawHandle;

use windows_sys::Win32::Foundation::ERROR_INVALID_FUNCTION;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ATTRIBUTE_DIRECTORY, FILE_ID_INFO, FILE_REMOTE_PROTOCOL_INFO, FILE_STORAGE_INFO,
    FILE_TYPE_CHAR, FILE_TYPE_DISK, FILE_TYPE_UNKNOWN, GetFileInformationByHandle, GetFileType,
};

use super::disks;
use super::ioctl::{check, query_file_info};
use crate::file::FileKind;
use crate::identity::{DeviceNumber, Identity};

/// Kind, device number and size of an open handle. The number belongs to the device itself, or to
/// the volume of the file.
///
/// # Errors
/// The system's error.
pub(crate) fn identify(file: &fs::File) -> io::Result<(FileKind, (u32, u32), u64)> {
    // SAFETY: the handle belongs to a live file.
    match unsafe { GetFileType(file.as_raw_handle()) } {
        // Some drivers do not report their type.
        FILE_TYPE_DISK | FILE_TYPE_UNKNOWN => {}
        FILE_TYPE_CHAR => return Ok((FileKind::CharacterDevice, (0, 0), 0)),
        _ => return Ok((FileKind::Other, (0, 0), 0)),
    }
    // A volume opened without a trailing backslash is not a file, even if its file system responds
    // like one.
    if let Some(id) = disks::partition_id(file)
        && file_information(file).is_err()
    {
        return Ok((
            FileKind::BlockDevice,
            (id.disk, id.partition),
            disks::size(file).unwrap_or(0),
        ));
    }
    match file_information(file) {
        Ok(facts) => {
            let kind = match facts.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY {
                0 => FileKind::Regular,
                _ => FileKind::Directory,
            };
            let size = u64::from(facts.nFileSizeHigh) << 32 | u64::from(facts.nFileSizeLow);
            Ok((kind, (facts.dwVolumeSerialNumber, 0), size))
        }
        // A volume on several disks has a size but no single location.
        Err(error) => match disks::size(file) {
            Some(size) => Ok((FileKind::BlockDevice, (u32::MAX, 0), size)),
            None if error.raw_os_error() == Some(ERROR_INVALID_FUNCTION as i32) => Ok((FileKind::Other, (0, 0), 0)),
            None => Err(error),
        },
    }
}

fn file_information(file: &fs::File) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    // SAFETY: all fields of the structure are plain numbers, for which zero is valid.
    let mut facts: BY_HANDLE_FILE_INFORMATION = unsafe { std::mem::zeroed() };
    // SAFETY: the handle belongs to a live file, and the structure is of the type that the call
    // fills.
    check(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut facts) })?;
    Ok(facts)
}

/// Identity of an open handle: disk and partition, or volume and file. `None` for a volume on
/// several disks, which the guard then treats as in use.
pub(crate) fn identity(file: &fs::File) -> Option<Identity> {
    let (kind, (first, second), _) = identify(file).ok()?;
    match kind {
        FileKind::BlockDevice if first == u32::MAX => None,
        FileKind::BlockDevice => Some(Identity::BlockDevice(DeviceNumber::new(first, second))),
        FileKind::Regular | FileKind::Directory => file_identity(file),
        FileKind::CharacterDevice | FileKind::Nothing | FileKind::Other => None,
    }
}

fn file_identity(file: &fs::File) -> Option<Identity> {
    let (volume, number) = volume_and_file_number(file)?;
    Some(Identity::File {
        device: DeviceNumber::new(volume as u32, (volume >> 32) as u32),
        // NTFS leaves the upper half empty.
        inode: number as u64 ^ ((number >> 64) as u64).rotate_left(32),
    })
}

/// Number of a file's volume and of the file. They have 64 and 128 bits if the file system supports
/// that (ReFS needs them), otherwise 32 and 64.
pub(crate) fn volume_and_file_number(file: &fs::File) -> Option<(u64, u128)> {
    if let Ok(facts) = query_file_info::<FILE_ID_INFO>(file) {
        return Some((facts.VolumeSerialNumber, u128::from_le_bytes(facts.FileId.Identifier)));
    }
    let facts = file_information(file).ok()?;
    let number = u64::from(facts.nFileIndexHigh) << 32 | u64::from(facts.nFileIndexLow);
    Some((u64::from(facts.dwVolumeSerialNumber), u128::from(number)))
}

/// Alignment of offsets, lengths and buffers for unbuffered I/O: the logical sector. 4096, which
/// fits every disk, if unknown.
pub(crate) fn direct_alignment(file: &fs::File, kind: FileKind) -> u64 {
    const ANY: u64 = 4096;
    let reported = match kind {
        FileKind::BlockDevice => disks::sector_size(file),
        _ => query_file_info::<FILE_STORAGE_INFO>(file)
            .ok()
            .map(|facts| facts.LogicalBytesPerSector),
    };
    reported
        .filter(|size| size.is_power_of_two() && *size >= 512)
        .map_or(ANY, u64::from)
}

/// True if an open file is on another machine.
pub(crate) fn is_remote(file: &fs::File) -> bool {
    query_file_info::<FILE_REMOTE_PROTOCOL_INFO>(file).is_ok()
}
