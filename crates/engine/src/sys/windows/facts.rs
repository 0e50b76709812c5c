//! Facts about paths and open files: identity, space, allocation.

use std::fs;
use std::io;
use std::path::Path;

use model::environment::Allocation;
use windows_sys::Win32::Foundation::ERROR_HANDLE_EOF;
use windows_sys::Win32::System::Ioctl::{FSCTL_GET_RETRIEVAL_POINTERS, FSCTL_QUERY_ALLOCATED_RANGES};

use super::ioctl::{device_io_control, open_for_query};
use super::{device_types, prepare};
use crate::file::FileKind;
use crate::identity::Identity;
use crate::probe::windows::ioctl_structs;

/// Identity of the file or device at a path; `None` if it does not exist or has no identity.
pub fn read_identity(path: &Path) -> Option<Identity> {
    device_types::identity(&open_for_query(path).ok()?)
}

/// Identity of an open file, disk or volume.
pub fn open_file_identity(file: &fs::File) -> Option<Identity> {
    device_types::identity(file)
}

/// Always 0: file numbers are not reused soon, and disks have no sequence numbers.
pub fn read_birth_number(_: &fs::File) -> u64 {
    0
}

/// This system has no loop devices.
pub fn loop_backing(_: &Path) -> Option<Identity> {
    None
}

/// Kind of the file or device at a path. Needs no access to its contents.
///
/// # Errors
/// The system's error, such as that the path does not exist.
pub fn read_file_kind(path: &Path) -> io::Result<FileKind> {
    device_types::identify(&open_for_query(path)?).map(|(kind, ..)| kind)
}

/// True if a path names a device even if it does not exist, so no file can be created there.
pub fn names_a_device(path: &Path) -> bool {
    use std::path::{Component, Prefix};
    match path.components().next() {
        Some(Component::Prefix(prefix)) => match prefix.kind() {
            Prefix::DeviceNS(_) => true,
            // `\\?\C:` is the volume, and `\\?\C:\` the root directory of its file system.
            Prefix::VerbatimDisk(_) | Prefix::Verbatim(_) => path.components().nth(1).is_none(),
            Prefix::UNC(..) | Prefix::VerbatimUNC(..) | Prefix::Disk(_) => false,
        },
        _ => false,
    }
}

/// Size of the volume of a path, and bytes available there.
pub fn read_space(path: &Path) -> Option<(u64, u64)> {
    super::file::space(path).ok()
}

/// Allocation of a file: unallocated bytes, bytes beyond its valid data, and number of extents.
/// `None` if the file system does not report allocated ranges.
pub fn read_allocation(file: &fs::File, size: u64) -> Option<Allocation> {
    let allocated = allocated(file, size).ok()?;
    let extents = extents(file).unwrap_or(0);
    Some(ioctl_structs::allocation(
        size,
        &allocated,
        prepare::valid_length(file),
        extents,
    ))
}

/// Start and length of allocated ranges, up to the size.
fn allocated(file: &fs::File, size: u64) -> io::Result<Vec<(u64, u64)>> {
    const BUFFER_BYTES: usize = 64 << 10;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut start = 0;
    while start < size {
        let input = [start.to_le_bytes(), (size - start).to_le_bytes()].concat();
        let output = device_io_control(file, FSCTL_QUERY_ALLOCATED_RANGES, &input, BUFFER_BYTES)?;
        let returned = ioctl_structs::ranges(&output.bytes);
        let Some((last, length)) = returned.last().copied() else {
            break;
        };
        ranges.extend(
            returned
                .iter()
                .map(|(start, length)| (*start, (*length).min(size.saturating_sub(*start)))),
        );
        if !output.truncated || last + length <= start {
            break;
        }
        start = last + length;
    }
    Ok(ranges)
}

/// Number of extents of a file. Extents adjacent on the volume count as one.
fn extents(file: &fs::File) -> Option<u64> {
    const BUFFER_BYTES: usize = 64 << 10;
    const MAX_EXTENTS: u64 = 1 << 20;
    let (mut count, mut from) = (0u64, 0u64);
    let mut end_before: Option<i64> = None;
    loop {
        let output = match device_io_control(file, FSCTL_GET_RETRIEVAL_POINTERS, &from.to_le_bytes(), BUFFER_BYTES) {
            Ok(output) => output,
            // Either a small file is stored in the file table, or there are no more extents.
            Err(error) if error.raw_os_error() == Some(ERROR_HANDLE_EOF as i32) => return Some(count),
            Err(_) => return None,
        };
        let (mut start, pointers) = ioctl_structs::retrieval_pointers(&output.bytes)?;
        for (next, place) in pointers {
            let length = next.saturating_sub(start) as i64;
            if place >= 0 {
                count += u64::from(end_before != Some(place));
                end_before = Some(place + length);
            }
            start = next;
        }
        if !output.truncated || start <= from || count >= MAX_EXTENTS {
            return Some(count);
        }
        from = start;
    }
}
