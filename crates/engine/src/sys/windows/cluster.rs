//! Failover clusters: finds the node that owns the shared volume of a path.
//!
//! The libraries exist only if the feature is installed, so they are loaded at run time.
//! `ClusterIsPathOnSharedVolume` and `ClusterGetVolumePathName` (resutils.dll) find the shared
//! volume of a path on every node. Each shared volume is a resource of the cluster
//! (`ClusterOpenEnum` with `CLUSTER_ENUM_SHARED_VOLUME_RESOURCE`), which reports its volumes by
//! `CLUSCTL_RESOURCE_STORAGE_GET_SHARED_VOLUME_INFO`; `GetClusterResourceState` returns the owner
//! node (clusapi.dll).

use std::ffi::c_void;
use std::path::Path;
use std::ptr::{null, null_mut};

use super::ioctl::{from_wide, to_wide};
use super::library;
use crate::probe::windows::ClusterVolume;

type Handle = *mut c_void;

/// Library with the cluster functions.
const CLUSTERS: &str = "clusapi.dll";
/// Library with the resource functions.
const RESOURCES: &str = "resutils.dll";

/// `CLUSTER_ENUM_SHARED_VOLUME_RESOURCE`.
const SHARED_VOLUMES: u32 = 0x4000_0000;
/// `CLUSCTL_RESOURCE_STORAGE_GET_SHARED_VOLUME_INFO`.
const VOLUME_INFO: u32 = 0x0100_0225;
/// `ClusterStateRunning`.
const RUNNING: u32 = 0x13;
/// `ERROR_SUCCESS`.
const SUCCESS: u32 = 0;
/// `ERROR_MORE_DATA`.
const MORE_DATA: u32 = 234;

/// True if this machine is a node of a running cluster; `None` if unknown.
pub(crate) fn is_node() -> Option<bool> {
    type State = unsafe extern "system" fn(*const u16, *mut u32) -> u32;
    // SAFETY: the function has these arguments (clusapi.h).
    let Some(state) = (unsafe { library::function::<State>(CLUSTERS, c"GetNodeClusterState") }) else {
        // Without the feature there is no cluster.
        return Some(false);
    };
    let mut value = 0u32;
    // SAFETY: no name means this machine, and the call writes one live word.
    let result = unsafe { state(null(), &mut value) };
    (result == SUCCESS).then_some(value == RUNNING)
}

/// The shared volume of a path and its owner node; `None` if there is none or it is unknown.
pub(crate) fn find_shared_volume(path: &Path) -> Option<ClusterVolume> {
    if is_node() != Some(true) {
        return None;
    }
    let root = shared_root(path)?;
    let calls = Calls::load()?;
    let cluster = ClusterHandle::new(calls.cluster(), calls.close_cluster)?;
    calls.names(&cluster)?.into_iter().find_map(|name| {
        let resource = ClusterHandle::new(calls.resource(&cluster, &name), calls.close_resource)?;
        let volumes = calls.volumes(&resource)?;
        names_volume(&volumes, &root).then_some(())?;
        Some(ClusterVolume {
            owner: calls.owner(&resource)?,
            name,
        })
    })
}

/// The mount point of a path's shared volume, without a trailing backslash:
/// `C:\ClusterStorage\Volume1`.
fn shared_root(path: &Path) -> Option<String> {
    type IsShared = unsafe extern "system" fn(*const u16) -> i32;
    type RootOf = unsafe extern "system" fn(*const u16, *mut u16, u32) -> i32;
    // SAFETY: the functions have these arguments (resapi.h).
    let (is_shared, root_of) = unsafe {
        (
            library::function::<IsShared>(RESOURCES, c"ClusterIsPathOnSharedVolume")?,
            library::function::<RootOf>(RESOURCES, c"ClusterGetVolumePathName")?,
        )
    };
    let path = to_wide(std::path::absolute(path).ok()?);
    let mut root = vec![0u16; path.len() + 64];
    // SAFETY: the path ends with a zero, and the second call writes at most as many units as the
    // list has.
    let succeeded =
        unsafe { is_shared(path.as_ptr()) != 0 && root_of(path.as_ptr(), root.as_mut_ptr(), root.len() as u32) != 0 };
    let root = from_wide(&root).trim_end_matches('\\').to_owned();
    (succeeded && !root.is_empty()).then_some(root)
}

/// True if the control output of a resource names the volume mounted at `root`. The output is one
/// or several `CLUS_CSV_VOLUME_INFO`, with or without value-list headers; the name
/// (`szVolumeFriendlyName`) ends with a zero at any offset.
fn names_volume(output: &[u8], root: &str) -> bool {
    let lower = |unit: u16| u8::try_from(unit).map_or(unit, |byte| u16::from(byte.to_ascii_lowercase()));
    let wanted: Vec<u16> = to_wide(root).into_iter().map(lower).collect();
    let string_at = |start: usize| {
        let units: Vec<u16> = output[start..]
            .as_chunks::<2>()
            .0
            .iter()
            .map(|pair| lower(u16::from_le_bytes(*pair)))
            .collect();
        units.windows(wanted.len()).any(|window| window == wanted)
    };
    string_at(0) || (!output.is_empty() && string_at(1))
}

/// A cluster handle, closed on drop.
struct ClusterHandle {
    handle: Handle,
    close: unsafe extern "system" fn(Handle) -> i32,
}

impl ClusterHandle {
    fn new(handle: Handle, close: unsafe extern "system" fn(Handle) -> i32) -> Option<ClusterHandle> {
        (!handle.is_null()).then_some(ClusterHandle { handle, close })
    }
}

impl Drop for ClusterHandle {
    fn drop(&mut self) {
        // SAFETY: the handle was opened by the call that this one belongs to, is closed only here,
        // and the library stays loaded.
        unsafe { (self.close)(self.handle) };
    }
}

/// Functions of clusapi.dll.
struct Calls {
    open_cluster: unsafe extern "system" fn(*const u16) -> Handle,
    close_cluster: unsafe extern "system" fn(Handle) -> i32,
    open_list: unsafe extern "system" fn(Handle, u32) -> Handle,
    close_list: unsafe extern "system" fn(Handle) -> u32,
    next: unsafe extern "system" fn(Handle, u32, *mut u32, *mut u16, *mut u32) -> u32,
    open_resource: unsafe extern "system" fn(Handle, *const u16) -> Handle,
    close_resource: unsafe extern "system" fn(Handle) -> i32,
    control: unsafe extern "system" fn(Handle, Handle, u32, *const c_void, u32, *mut c_void, u32, *mut u32) -> u32,
    state: unsafe extern "system" fn(Handle, *mut u16, *mut u32, *mut u16, *mut u32) -> i32,
}

impl Calls {
    fn load() -> Option<Calls> {
        // SAFETY: the functions have the arguments of the fields above (clusapi.h).
        unsafe {
            Some(Calls {
                open_cluster: library::function(CLUSTERS, c"OpenCluster")?,
                close_cluster: library::function(CLUSTERS, c"CloseCluster")?,
                open_list: library::function(CLUSTERS, c"ClusterOpenEnum")?,
                close_list: library::function(CLUSTERS, c"ClusterCloseEnum")?,
                next: library::function(CLUSTERS, c"ClusterEnum")?,
                open_resource: library::function(CLUSTERS, c"OpenClusterResource")?,
                close_resource: library::function(CLUSTERS, c"CloseClusterResource")?,
                control: library::function(CLUSTERS, c"ClusterResourceControl")?,
                state: library::function(CLUSTERS, c"GetClusterResourceState")?,
            })
        }
    }

    fn cluster(&self) -> Handle {
        // SAFETY: no name means the cluster of this machine.
        unsafe { (self.open_cluster)(null()) }
    }

    fn resource(&self, cluster: &ClusterHandle, name: &str) -> Handle {
        // SAFETY: the cluster is open, and the name ends with a zero.
        unsafe { (self.open_resource)(cluster.handle, to_wide(name).as_ptr()) }
    }

    /// Names of the resources that are shared volumes.
    fn names(&self, cluster: &ClusterHandle) -> Option<Vec<String>> {
        // SAFETY: the cluster is open.
        let list = unsafe { (self.open_list)(cluster.handle, SHARED_VOLUMES) };
        if list.is_null() {
            return None;
        }
        let mut names = Vec::new();
        let mut name = vec![0u16; 1024];
        loop {
            let (mut kind, mut length) = (0u32, name.len() as u32);
            let index = names.len() as u32;
            // SAFETY: the list is open; the call writes two live words and at most `length` units
            // into the buffer, which has as many.
            let result = unsafe { (self.next)(list, index, &mut kind, name.as_mut_ptr(), &mut length) };
            match result {
                SUCCESS => names.push(from_wide(&name)),
                MORE_DATA if name.len() < 1 << 16 => name.resize(name.len() * 4, 0),
                // ERROR_NO_MORE_ITEMS or an error: return the names listed so far.
                _ => break,
            }
        }
        // SAFETY: the list is open, and is closed once.
        unsafe { (self.close_list)(list) };
        Some(names)
    }

    /// The control output of a resource about its volumes.
    fn volumes(&self, resource: &ClusterHandle) -> Option<Vec<u8>> {
        let mut output = vec![0u8; 16 << 10];
        loop {
            let mut returned = 0u32;
            // SAFETY: the resource is open, nothing is passed besides the code, and the call writes
            // one live word and at most as many bytes as the buffer has.
            let result = unsafe {
                let (room, nothing) = (output.len() as u32, null());
                let into = output.as_mut_ptr().cast();
                (self.control)(
                    resource.handle,
                    null_mut(),
                    VOLUME_INFO,
                    nothing,
                    0,
                    into,
                    room,
                    &mut returned,
                )
            };
            match result {
                SUCCESS => {
                    output.truncate(returned as usize);
                    return Some(output);
                }
                MORE_DATA if output.len() < 1 << 22 => output.resize(output.len() * 4, 0),
                _ => return None,
            }
        }
    }

    /// The node that owns a resource.
    fn owner(&self, resource: &ClusterHandle) -> Option<String> {
        /// `ClusterResourceStateUnknown`.
        const UNKNOWN: i32 = -1;
        let mut name = [0u16; 256];
        let mut length = name.len() as u32;
        // SAFETY: the resource is open; the call writes one live word and at most `length` units;
        // the group is not asked for.
        let state = unsafe { (self.state)(resource.handle, name.as_mut_ptr(), &mut length, null_mut(), null_mut()) };
        let name = from_wide(&name);
        (state != UNKNOWN && !name.is_empty()).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_name_is_found_at_any_offset() {
        let output = |before: usize, name: &str| -> Vec<u8> {
            let mut bytes = vec![0u8; before];
            bytes.extend(to_wide(name).into_iter().flat_map(u16::to_le_bytes));
            bytes.extend([0; 40]);
            bytes
        };
        let root = r"C:\ClusterStorage\Volume1";
        assert!(names_volume(&output(20, root), root));
        assert!(names_volume(&output(33, r"c:\clusterstorage\VOLUME1"), root));
        assert!(!names_volume(&output(20, r"C:\ClusterStorage\Volume12"), root));
        assert!(!names_volume(&[], root));
    }
}
