//! System resources of a process, for tests that look for leaks.

use std::fs;

/// The resources of this process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Open file descriptors.
    pub descriptors: usize,
    /// Memory mappings.
    pub mappings: usize,
    /// Bytes of address space in use.
    pub mapped_bytes: u64,
    /// Bytes of memory in use.
    pub resident_bytes: u64,
}

impl Footprint {
    /// Counts now, including resources of the process's other threads.
    pub fn now() -> Footprint {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let kib = |name: &str| {
            let rest = status.lines().find_map(|line| line.strip_prefix(name));
            rest.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
                .map_or(0, |kib| kib << 10)
        };
        Footprint {
            // The folder itself is open while it is read.
            descriptors: fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() - 1),
            mappings: fs::read_to_string("/proc/self/maps").map_or(0, |maps| maps.lines().count()),
            mapped_bytes: kib("VmSize:"),
            resident_bytes: kib("VmRSS:"),
        }
    }
}
