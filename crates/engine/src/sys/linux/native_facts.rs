//! Facts that the system reports through calls. Linux has none: its facts are in files.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::environment::{CoreUse, Cpu, Device, FileSystem, Host};

use crate::probe::windows::ioctl_structs::DiskCounters;
use crate::probe::windows::{ClusterVolume, Storage};

/// Advice for operations that need privileges.
pub const PRIVILEGED: &str =
    "run as root, or as a user who may open it: for a device often a member of the group `disk`";

/// Advice for files that need privileges.
pub const PRIVILEGED_FILE: &str = "run as root, or as a user who may enter its directory and open it";

/// Not reported by a call on Linux.
pub fn host() -> Option<Host> {
    None
}

/// Not reported by a call on Linux.
pub fn cpu() -> Option<Cpu> {
    None
}

/// Not reported by a call on Linux.
pub fn memory() -> Option<[u64; 2]> {
    None
}

/// Not reported by a call on Linux.
pub fn storage() -> Option<Storage> {
    None
}

/// Not reported by a call on Linux.
pub fn disk_counters() -> Option<Vec<(String, DiskCounters)>> {
    None
}

/// Not reported by a call on Linux.
pub fn core_times() -> Option<Vec<CoreUse>> {
    None
}

/// Not reported by a call on Linux.
pub fn since_start() -> Option<Duration> {
    None
}

/// Not reported by a call on Linux.
pub fn file_system(_: &Path) -> Option<(FileSystem, Vec<Device>)> {
    None
}

/// Resolves all links in a path.
///
/// # Errors
/// The system's error.
pub fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// Linux has no cluster shared volumes.
pub fn cluster_volume(_: &Path) -> Option<ClusterVolume> {
    None
}
