//! Facts about paths and open files: identity, space.

use std::fs;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;

use model::environment::Allocation;
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, GetDiskFreeSpaceExW, GetFileInformationByHandle,
};

use crate::identity::{DeviceNumber, Identity};

/// What a path leads to; `None` if there is nothing or it may not be opened.
pub fn identity_of(path: &Path) -> Option<Identity> {
    identity_of_file(&fs::File::open(path).ok()?)
}

/// What an open file is: serial number of its volume and its number there. Drives and volumes themselves have none.
pub fn identity_of_file(file: &fs::File) -> Option<Identity> {
    // SAFETY: all fields of the structure are plain numbers, for which zero is valid.
    let mut facts: BY_HANDLE_FILE_INFORMATION = unsafe { std::mem::zeroed() };
    // SAFETY: the handle belongs to a live file, and the structure is of the type that the call fills.
    if unsafe { GetFileInformationByHandle(file.as_raw_handle(), &mut facts) } == 0 {
        return None;
    }
    Some(Identity::File {
        device: DeviceNumber::new(facts.dwVolumeSerialNumber, 0),
        inode: u64::from(facts.nFileIndexHigh) << 32 | u64::from(facts.nFileIndexLow),
    })
}

/// Size of the volume that a path lies on, and bytes that may still be used there.
pub fn space_of(path: &Path) -> Option<(u64, u64)> {
    let wide: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let (mut available, mut size) = (0u64, 0u64);
    // SAFETY: the path ends with a zero, and the call writes two live words; the third may be left out.
    let result = unsafe { GetDiskFreeSpaceExW(wide.as_ptr(), &mut available, &mut size, std::ptr::null_mut()) };
    (result != 0).then_some((size, available))
}

/// Not found out yet here.
pub fn allocation(_file: &fs::File, _size: u64) -> Option<Allocation> {
    None
}
