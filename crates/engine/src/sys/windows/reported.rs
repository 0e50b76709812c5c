//! What Windows tells through calls: the machine, its disks and volumes, counters, clusters.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::Bytes;
use model::environment::{CoreUse, Cpu, Device, FileSystem, Host};

use super::{cluster, disks, facts, machine, processors, volumes};
use crate::probe::windows::ioctl_structs::DiskCounters;
use crate::probe::windows::{ClusterVolume, Storage};

/// Who may do what an ordinary user may not.
pub const PRIVILEGED: &str = "run it as an administrator, or as a user who may open it";

/// Who may look at a file that an ordinary user may not.
pub const PRIVILEGED_FILE: &str = PRIVILEGED;

/// The machine.
pub fn host() -> Option<Host> {
    Some(machine::host())
}

/// Its processors.
pub fn cpu() -> Option<Cpu> {
    Some(machine::cpu())
}

/// Bytes of memory, and those that programs may still use.
pub fn memory() -> Option<[u64; 2]> {
    machine::memory()
}

/// Disks, volumes and page files.
pub fn storage() -> Option<Storage> {
    Some(volumes::storage())
}

/// The counters of every disk that has some.
pub fn disk_counters() -> Option<Vec<(String, DiskCounters)>> {
    Some(disks::counters())
}

/// What each processor has done so far.
pub fn core_times() -> Option<Vec<CoreUse>> {
    Some(processors::times())
}

/// Time since the system started.
pub fn since_start() -> Option<Duration> {
    Some(Duration::from_millis(machine::since_start()))
}

/// The file system that a path lies on, and the devices under it, the nearest first; absent where
/// unknown.
pub fn file_system(path: &Path) -> Option<(FileSystem, Vec<Device>)> {
    let lies = volumes::of_path(path)?;
    let storage = volumes::storage();
    let index = storage
        .volumes
        .iter()
        .position(|volume| lies.volume.as_ref() == Some(&volume.name));
    let (size, available) = facts::space_of(Path::new(&lies.mount_point)).unwrap_or((0, 0));
    let mut options = vec![if lies.read_only { "ro" } else { "rw" }];
    options.extend(lies.remote.then_some("remote"));
    let file_system = FileSystem {
        kind: lies.kind,
        mount_point: lies.mount_point,
        options: options.join(","),
        size: Bytes(size),
        available: Bytes(available),
    };
    Some((
        file_system,
        index.map(|index| storage.under_volume(index)).unwrap_or_default(),
    ))
}

/// A path with every link in it resolved.
///
/// # Errors
/// The system's error.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    volumes::resolved(path)
}

/// The volume of a cluster that a path lies on.
pub fn cluster_volume(path: &Path) -> Option<ClusterVolume> {
    cluster::volume_of(path)
}
