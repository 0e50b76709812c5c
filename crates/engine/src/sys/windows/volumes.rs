//! Volumes: names, locations on disks, mount points, contents.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use windows_sys::Win32::Foundation::{
    ERROR_NO_MEDIA_IN_DRIVE, ERROR_NO_MORE_FILES, ERROR_NOT_READY, ERROR_UNRECOGNIZED_VOLUME, HANDLE,
    INVALID_HANDLE_VALUE,
};
use windows_sys::Win32::Storage::FileSystem::{
    FindFirstVolumeW, FindNextVolumeW, FindVolumeClose, GetDriveTypeW, GetVolumeInformationW,
    GetVolumeNameForVolumeMountPointW, GetVolumePathNameW, GetVolumePathNamesForVolumeNameW,
    IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS,
};
use windows_sys::Win32::System::ProcessStatus::{ENUM_PAGE_FILE_INFORMATION, K32EnumPageFilesW};
use windows_sys::Win32::System::SystemInformation::GetSystemDirectoryW;
use windows_sys::core::{BOOL, PCWSTR};

use super::ioctl::{check, device_io_control_all, from_wide, from_wide_list, open_for_query, to_wide};
use super::{cluster, disks};
use crate::probe::windows::{Storage, Volume, VolumeContents, ioctl_structs};

/// `DRIVE_CDROM`.
const CD: u32 = 5;
/// `DRIVE_REMOTE`.
const REMOTE: u32 = 4;
/// `FILE_READ_ONLY_VOLUME` among the flags of a file system.
const READ_ONLY: u32 = 0x8_0000;
/// `FVE_E_LOCKED_VOLUME` (fveapi.h).
const LOCKED: i32 = 0x8031_0000_u32 as i32;

/// Reads all facts about storage.
pub(crate) fn storage() -> Storage {
    let mut doubts = Vec::new();
    let numbers = disks::numbers().unwrap_or_else(|| {
        doubts.push("Windows did not list its disks".into());
        Vec::new()
    });
    let in_cluster = cluster::is_node();
    let names = names().unwrap_or_else(|error| {
        doubts.push(format!("Windows did not list its volumes: {error}"));
        Vec::new()
    });
    let not_optical = names.into_iter().filter(|name| drive_type(name) != CD);
    Storage {
        disks: numbers
            .into_iter()
            .map(|number| disks::read_disk(number, in_cluster))
            .collect(),
        volumes: not_optical.map(volume).collect(),
        page_files: page_files(),
        system_folder: system_folder(),
        doubts,
    }
}

/// A volume search handle, closed on drop.
struct Search(HANDLE);

impl Drop for Search {
    fn drop(&mut self) {
        // SAFETY: the handle comes from `FindFirstVolumeW` and is closed only here.
        unsafe { FindVolumeClose(self.0) };
    }
}

/// Names of all volumes: `\\?\Volume{GUID}\`.
fn names() -> io::Result<Vec<String>> {
    let mut name = [0u16; 64];
    // SAFETY: the call writes at most as many units as the array has.
    let search = unsafe { FindFirstVolumeW(name.as_mut_ptr(), name.len() as u32) };
    if search == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    let search = Search(search);
    let mut names = vec![from_wide(&name)];
    loop {
        // SAFETY: the search is open, and the call writes at most as many units as the array has.
        if unsafe { FindNextVolumeW(search.0, name.as_mut_ptr(), name.len() as u32) } != 0 {
            names.push(from_wide(&name));
            continue;
        }
        let error = io::Error::last_os_error();
        return match error.raw_os_error() == Some(ERROR_NO_MORE_FILES as i32) {
            true => Ok(names),
            false => Err(error),
        };
    }
}

fn drive_type(root: &str) -> u32 {
    // SAFETY: the path ends with a zero.
    unsafe { GetDriveTypeW(to_wide(root).as_ptr()) }
}

fn volume(name: String) -> Volume {
    // Without a trailing backslash the name denotes the volume, with it the root directory of its
    // file system.
    let opened = open_for_query(Path::new(name.trim_end_matches('\\'))).ok();
    let extents = opened.as_ref().and_then(|file| {
        let output = device_io_control_all(file, IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, &[], 1024).ok()?;
        ioctl_structs::extents(&output)
    });
    let by_extents = || extents.as_ref().map(|all| all.iter().map(|extent| extent.length).sum());
    let (contents, read_only) = contents(&name);
    Volume {
        partition: opened.as_ref().and_then(disks::partition_id),
        size: opened.as_ref().and_then(disks::size).or_else(by_extents).unwrap_or(0),
        extents,
        mounted_at: mounted_at(&name),
        contents,
        read_only,
        name,
    }
}

/// Contents of the volume with this root, and whether it is read-only.
fn contents(root: &str) -> (VolumeContents, bool) {
    match file_system(root) {
        Ok((kind, serial, flags)) => (VolumeContents::FileSystem { kind, serial }, flags & READ_ONLY != 0),
        Err(error) => {
            const RAW: i32 = ERROR_UNRECOGNIZED_VOLUME as i32;
            const EMPTY: [i32; 2] = [ERROR_NOT_READY as i32, ERROR_NO_MEDIA_IN_DRIVE as i32];
            let contents = match error.raw_os_error() {
                Some(RAW) => VolumeContents::Raw,
                Some(LOCKED) => VolumeContents::Locked,
                Some(number) if EMPTY.contains(&number) => VolumeContents::NoMedium,
                _ => VolumeContents::Unknown,
            };
            (contents, false)
        }
    }
}

/// The name, serial number and flags of the file system with this root.
fn file_system(root: &str) -> io::Result<(String, u32, u32)> {
    let mut kind = [0u16; 64];
    let (mut serial, mut flags) = (0u32, 0u32);
    // SAFETY: the path ends with a zero; the call writes two live words and at most as many units
    // as the array has. The label and the length of names are not requested.
    let done = unsafe {
        let root = to_wide(root);
        let (label, longest) = (null_mut(), null_mut());
        let length = kind.len() as u32;
        GetVolumeInformationW(
            root.as_ptr(),
            label,
            0,
            &mut serial,
            longest,
            &mut flags,
            kind.as_mut_ptr(),
            length,
        )
    };
    check(done)?;
    Ok((from_wide(&kind), serial, flags))
}

/// Letters and directories where a volume is mounted.
fn mounted_at(name: &str) -> Option<Vec<String>> {
    let name = to_wide(name);
    let mut names = vec![0u16; 1024];
    loop {
        let mut length = 0u32;
        // SAFETY: the name ends with a zero, and the call writes one live word and at most as many
        // units as the list has.
        let done = unsafe {
            GetVolumePathNamesForVolumeNameW(name.as_ptr(), names.as_mut_ptr(), names.len() as u32, &mut length)
        };
        match done {
            0 if length as usize > names.len() => names.resize(length as usize, 0),
            0 => return None,
            _ => return Some(from_wide_list(&names)),
        }
    }
}

/// Paths of the page files in use.
fn page_files() -> Option<Vec<String>> {
    unsafe extern "system" fn collect_path(
        found: *mut core::ffi::c_void,
        _: *mut ENUM_PAGE_FILE_INFORMATION,
        name: PCWSTR,
    ) -> BOOL {
        // SAFETY: the system hands back the pointer that it was given, to a list that nothing else
        // uses during the call.
        let names = unsafe { &mut *found.cast::<Vec<String>>() };
        let mut length = 0;
        // SAFETY: the name ends with a zero.
        while unsafe { *name.add(length) } != 0 {
            length += 1;
        }
        // SAFETY: the loop above has read `length` units.
        names.push(from_wide(unsafe { std::slice::from_raw_parts(name, length) }));
        1
    }
    let mut names: Vec<String> = Vec::new();
    // SAFETY: the function is called with this pointer only before the call returns, and the list
    // lives longer.
    let done = unsafe { K32EnumPageFilesW(Some(collect_path), (&raw mut names).cast()) };
    // The system returns native paths: `\??\C:\pagefile.sys`.
    let strip_native_prefix = |name: String| name.strip_prefix(r"\??\").map(str::to_owned).unwrap_or(name);
    (done != 0).then(|| names.into_iter().map(strip_native_prefix).collect())
}

fn system_folder() -> Option<String> {
    let mut path = [0u16; 512];
    // SAFETY: the call writes at most as many units as the array has.
    let length = unsafe { GetSystemDirectoryW(path.as_mut_ptr(), path.len() as u32) } as usize;
    (length > 0 && length < path.len()).then(|| from_wide(&path))
}

/// The file system of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VolumeInfo {
    /// Name, such as `NTFS`.
    pub(crate) kind: String,
    /// Where it is mounted.
    pub(crate) mount_point: String,
    /// Name of the volume; `None` on another machine.
    pub(crate) volume: Option<String>,
    /// The file system is read-only.
    pub(crate) read_only: bool,
    /// The file system is on another machine.
    pub(crate) remote: bool,
}

/// The file system of a path; `None` if unknown.
pub(crate) fn volume_info(path: &Path) -> Option<VolumeInfo> {
    let absolute = std::path::absolute(path).ok()?;
    let mut mount = vec![0u16; absolute.as_os_str().len() + 64];
    // SAFETY: the path ends with a zero, and the call writes at most as many units as the list has.
    let done = unsafe { GetVolumePathNameW(to_wide(&absolute).as_ptr(), mount.as_mut_ptr(), mount.len() as u32) };
    if done == 0 {
        return None;
    }
    let mount_point = from_wide(&mount);
    let mut name = [0u16; 64];
    // SAFETY: the mount point ends with a zero, and the call writes at most as many units as the
    // array has.
    let done = unsafe { GetVolumeNameForVolumeMountPointW(mount.as_ptr(), name.as_mut_ptr(), name.len() as u32) };
    let (kind, _, flags) = file_system(&mount_point).ok()?;
    Some(VolumeInfo {
        kind,
        remote: drive_type(&mount_point) == REMOTE,
        volume: (done != 0).then(|| from_wide(&name)),
        read_only: flags & READ_ONLY != 0,
        mount_point,
    })
}

/// Resolves all links in a path. Removes the `\\?\` prefix, which users do not write.
///
/// # Errors
/// The system's error.
pub(crate) fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    let resolved = fs::canonicalize(path)?;
    let Some(text) = resolved.to_str() else {
        return Ok(resolved);
    };
    Ok(match (text.strip_prefix(r"\\?\UNC\"), text.strip_prefix(r"\\?\")) {
        (Some(share), _) => PathBuf::from(format!(r"\\{share}")),
        (None, Some(plain)) if plain.as_bytes().get(1) == Some(&b':') => PathBuf::from(plain),
        _ => resolved,
    })
}
