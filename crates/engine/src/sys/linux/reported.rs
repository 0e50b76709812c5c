//! What a system tells through calls of its own: nothing here, where the same facts lie in files.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::environment::{CoreUse, Cpu, Device, FileSystem, Host};

use crate::probe::windows::ioctl_structs::DiskCounters;
use crate::probe::windows::{ClusterVolume, Storage};

/// Who may do what an ordinary user may not.
pub const PRIVILEGED: &str =
    "run as root, or as a user who may open it: for a device often a member of the group `disk`";

/// Who may look at a file that an ordinary user may not.
pub const PRIVILEGED_FILE: &str = "run as root, or as a user who may enter its directory and open it";

/// No call reports it.
pub fn host() -> Option<Host> {
    None
}

/// No call reports it.
pub fn cpu() -> Option<Cpu> {
    None
}

/// No call reports it.
pub fn memory() -> Option<[u64; 2]> {
    None
}

/// No call reports it.
pub fn storage() -> Option<Storage> {
    None
}

/// No call reports it.
pub fn disk_counters() -> Option<Vec<(String, DiskCounters)>> {
    None
}

/// No call reports it.
pub fn core_times() -> Option<Vec<CoreUse>> {
    None
}

/// No call reports it.
pub fn since_start() -> Option<Duration> {
    None
}

/// No call reports it.
pub fn file_system(_: &Path) -> Option<(FileSystem, Vec<Device>)> {
    None
}

/// A path with every link in it resolved.
///
/// # Errors
/// The system's error.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    std::fs::canonicalize(path)
}

/// No clusters with volumes that one node owns.
pub fn cluster_volume(_: &Path) -> Option<ClusterVolume> {
    None
}
