//! Disks (`\\.\PhysicalDriveN`): their properties, sizes, partitions and counters.

use std::fs;
use std::path::Path;

use windows_sys::Win32::Foundation::ERROR_INSUFFICIENT_BUFFER;
use windows_sys::Win32::Storage::FileSystem::QueryDosDeviceW;
use windows_sys::Win32::System::Ioctl::{
    IOCTL_DISK_GET_DISK_ATTRIBUTES, IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, IOCTL_DISK_GET_DRIVE_LAYOUT_EX,
    IOCTL_DISK_GET_LENGTH_INFO, IOCTL_DISK_PERFORMANCE, IOCTL_STORAGE_GET_DEVICE_NUMBER, IOCTL_STORAGE_QUERY_PROPERTY,
};

use super::ioctl::{device_io_control, device_io_control_all, from_wide_list, open_for_query};
use crate::probe::windows::ioctl_structs::{self, DiskCounters, DiskProperties};
use crate::probe::windows::{Disk, PartitionId};

/// `IOCTL_DISK_IS_CLUSTERED` (ntdddisk.h):
/// `CTL_CODE(IOCTL_DISK_BASE, 0x3e, METHOD_BUFFERED, FILE_ANY_ACCESS)`.
const IOCTL_DISK_IS_CLUSTERED: u32 = 0x7 << 16 | 0x3e << 2;
/// `STORAGE_PROPERTY_ID`s.
const DEVICE_PROPERTY: u32 = 0;
const ADAPTER_PROPERTY: u32 = 1;
const WRITE_CACHE_PROPERTY: u32 = 4;
const ALIGNMENT_PROPERTY: u32 = 6;
const SEEK_PENALTY_PROPERTY: u32 = 7;

/// Numbers of all disks, ascending; `None` if the system does not list its devices.
pub(crate) fn numbers() -> Option<Vec<u32>> {
    let mut names = vec![0u16; 1 << 16];
    loop {
        // SAFETY: without a name the call lists all of them, and writes at most as many units as
        // the list has room for.
        let length = unsafe { QueryDosDeviceW(std::ptr::null(), names.as_mut_ptr(), names.len() as u32) };
        if length > 0 {
            break;
        }
        let too_small = std::io::Error::last_os_error().raw_os_error() == Some(ERROR_INSUFFICIENT_BUFFER as i32);
        if !too_small || names.len() > 1 << 22 {
            return None;
        }
        names.resize(names.len() * 4, 0);
    }
    let number = |name: &String| name.strip_prefix("PhysicalDrive")?.parse().ok();
    let mut numbers: Vec<u32> = from_wide_list(&names).iter().filter_map(number).collect();
    numbers.sort_unstable();
    Some(numbers)
}

/// The path of a disk.
pub(crate) fn path(number: u32) -> String {
    format!(r"\\.\PhysicalDrive{number}")
}

/// Reads all facts of a disk. `in_cluster`: this machine is a node of a failover cluster.
pub(crate) fn read_disk(number: u32, in_cluster: Option<bool>) -> Disk {
    let Ok(file) = open_for_query(Path::new(&path(number))) else {
        // The guard refuses a disk without facts.
        return Disk {
            number,
            ..Disk::default()
        };
    };
    let properties = read_properties(&file, Path::new(&path(number)));
    let mut facts = ioctl_structs::device_facts(&properties);
    if facts.size.0 == 0 {
        facts.size.0 = size(&file).unwrap_or(0);
    }
    let attributes = device_io_control(&file, IOCTL_DISK_GET_DISK_ATTRIBUTES, &[], 16).ok();
    let attributes = attributes.and_then(|output| ioctl_structs::attributes(&output.bytes));
    let layout = device_io_control_all(&file, IOCTL_DISK_GET_DRIVE_LAYOUT_EX, &[], 4096).ok();
    let clustered = match device_io_control(&file, IOCTL_DISK_IS_CLUSTERED, &[], 1) {
        Ok(output) => output.bytes.first().map(|byte| *byte != 0),
        // Only cluster nodes have a driver that supports this control.
        Err(_) => in_cluster.filter(|node| !node),
    };
    Disk {
        number,
        facts,
        layout: layout.and_then(|bytes| ioctl_structs::layout(&bytes)),
        offline: attributes.map(|(offline, _)| offline),
        read_only: attributes.map(|(_, read_only)| read_only),
        clustered,
        removable: properties
            .descriptor
            .and_then(|bytes| bytes.get(10).copied())
            .is_some_and(|byte| byte != 0),
    }
}

fn query_property(file: &fs::File, id: u32) -> Option<Vec<u8>> {
    // STORAGE_PROPERTY_QUERY: the property, PropertyStandardQuery (0), and padding to 12 bytes.
    let mut query = [0u8; 12];
    query[..4].copy_from_slice(&id.to_le_bytes());
    let output = device_io_control(file, IOCTL_STORAGE_QUERY_PROPERTY, &query, 1024).ok()?;
    (!output.bytes.is_empty()).then_some(output.bytes)
}

fn query_geometry(file: &fs::File) -> Option<Vec<u8>> {
    device_io_control(file, IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, &[], 256)
        .ok()
        .map(|output| output.bytes)
}

fn read_properties(file: &fs::File, path: &Path) -> DiskProperties {
    // IOCTL_DISK_GET_LENGTH_INFO requires read access.
    let readable = fs::File::open(path).ok();
    DiskProperties {
        descriptor: query_property(file, DEVICE_PROPERTY),
        adapter: query_property(file, ADAPTER_PROPERTY),
        alignment: query_property(file, ALIGNMENT_PROPERTY),
        seek_penalty: query_property(file, SEEK_PENALTY_PROPERTY),
        write_cache: query_property(file, WRITE_CACHE_PROPERTY),
        geometry: query_geometry(file),
        length: readable
            .and_then(|file| query_length(&file))
            .map(|length| length.to_le_bytes().to_vec()),
    }
}

fn query_length(file: &fs::File) -> Option<u64> {
    let output = device_io_control(file, IOCTL_DISK_GET_LENGTH_INFO, &[], 8).ok()?;
    ioctl_structs::length(&output.bytes)
}

/// The size of a disk or volume. Without read access it comes from the geometry.
pub(crate) fn size(file: &fs::File) -> Option<u64> {
    // DISK_GEOMETRY_EX: the geometry in 24 bytes, then the size.
    let by_geometry = || ioctl_structs::length(query_geometry(file)?.get(24..)?);
    query_length(file).or_else(by_geometry)
}

/// The sector size of a disk or volume: unbuffered I/O must be aligned to it.
pub(crate) fn sector_size(file: &fs::File) -> Option<u32> {
    let alignment = query_property(file, ALIGNMENT_PROPERTY);
    ioctl_structs::sector(alignment.as_deref(), query_geometry(file).as_deref())
}

/// Disk and partition number of an open disk or volume; `None` for anything else.
pub(crate) fn partition_id(file: &fs::File) -> Option<PartitionId> {
    let output = device_io_control(file, IOCTL_STORAGE_GET_DEVICE_NUMBER, &[], 12).ok()?;
    ioctl_structs::partition_id(&output.bytes)
}

/// Performance counters of every disk that has them.
pub(crate) fn counters() -> Vec<(String, DiskCounters)> {
    let read_counters = |number: u32| {
        let file = open_for_query(Path::new(&path(number))).ok()?;
        let output = device_io_control(&file, IOCTL_DISK_PERFORMANCE, &[], 88).ok()?;
        Some((
            format!("PhysicalDrive{number}"),
            ioctl_structs::counters(&output.bytes)?,
        ))
    };
    numbers()
        .unwrap_or_default()
        .into_iter()
        .filter_map(read_counters)
        .collect()
}
