//! Facts that Windows reports through calls: the machine, its disks and volumes, counters,
//! clusters.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::Bytes;
use model::environment::{CoreUse, Cpu, Device, FileSystem, Host};

use super::{cluster, disks, facts, machine, processors, volumes};
use crate::probe::windows::ioctl_structs::DiskCounters;
use crate::probe::windows::{ClusterVolume, Storage};

/// Advice for operations that need privileges.
pub const PRIVILEGED: &str = "run as administrator, or as a user who may open it";

/// Advice for files that need privileges.
pub const PRIVILEGED_FILE: &str = PRIVILEGED;

/// Reads the facts of this machine.
pub fn host() -> Option<Host> {
    Some(machine::host())
}

/// Reads the facts of its processors.
pub fn cpu() -> Option<Cpu> {
    Some(machine::cpu())
}

/// Total and available memory in bytes.
pub fn memory() -> Option<[u64; 2]> {
    machine::memory()
}

/// Disks, volumes and page files.
pub fn storage() -> Option<Storage> {
    Some(volumes::storage())
}

/// Counters of every disk that has them.
pub fn disk_counters() -> Option<Vec<(String, DiskCounters)>> {
    Some(disks::counters())
}

/// Times of each processor.
pub fn core_times() -> Option<Vec<CoreUse>> {
    Some(processors::times())
}

/// Time since the system started.
pub fn since_start() -> Option<Duration> {
    Some(Duration::from_millis(machine::since_start()))
}

/// The file system of a path and the devices under it, nearest first; `None` if unknown.
pub fn file_system(path: &Path) -> Option<(FileSystem, Vec<Device>)> {
    let info = volumes::volume_info(path)?;
    let storage = volumes::storage();
    let index = storage
        .volumes
        .iter()
        .position(|volume| info.volume.as_ref() == Some(&volume.name));
    let (size, available) = facts::read_space(Path::new(&info.mount_point)).unwrap_or((0, 0));
    let mut options = vec![if info.read_only { "ro" } else { "rw" }];
    options.extend(info.remote.then_some("remote"));
    let file_system = FileSystem {
        kind: info.kind,
        mount_point: info.mount_point,
        options: options.join(","),
        size: Bytes(size),
        available: Bytes(available),
    };
    Some((
        file_system,
        index.map(|index| storage.under_volume(index)).unwrap_or_default(),
    ))
}

/// Resolves all links in a path.
///
/// # Errors
/// The system's error.
pub fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    volumes::resolve_links(path)
}

/// The cluster volume of a path.
pub fn cluster_volume(path: &Path) -> Option<ClusterVolume> {
    cluster::find_shared_volume(path)
}
