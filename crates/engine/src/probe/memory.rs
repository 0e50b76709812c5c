//! Total and available memory.

use std::fmt;
use std::sync::OnceLock;

use model::Bytes;

use super::System;
use super::limits::own_groups;
use crate::sys;

/// Memory available to this process, and its tightest limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreeMemory {
    /// Available bytes; `u64::MAX` if unknown.
    pub bytes: Bytes,
    /// The tightest limit.
    pub limit: MemoryLimit,
}

/// A limit of this process's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryLimit {
    /// The memory of the machine.
    Machine,
    /// `RLIMIT_AS`.
    AddressSpace,
    /// The file of a control group.
    ControlGroup(String),
}

impl fmt::Display for FreeMemory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.limit {
            MemoryLimit::Machine => write!(out, "only {} of memory are available", self.bytes),
            MemoryLimit::AddressSpace => write!(out, "the limit on address space (ulimit -v) leaves {}", self.bytes),
            MemoryLimit::ControlGroup(file) => write!(out, "the control group leaves {} ({file})", self.bytes),
        }
    }
}

/// Memory available to this process: the kernel's estimate, or the remainder of the control group
/// or address space limit if that is less.
pub fn memory_free() -> FreeMemory {
    static GROUPS: OnceLock<Vec<Group>> = OnceLock::new();
    let system = System::live();
    let reported = sys::native_facts::memory().map(|[_, available]| available);
    let available = reported.or_else(|| read_field(&system, "/proc/meminfo", "MemAvailable:"));
    let address_space = address_space_free().map(|free| free.0);
    let groups = GROUPS.get_or_init(|| limited_groups(&system));
    let group_memory = groups.iter().map(|group| FreeMemory {
        bytes: Bytes(group.free(&system)),
        limit: MemoryLimit::ControlGroup(group.file.clone()),
    });
    let process_memory = [
        (available, MemoryLimit::Machine),
        (address_space, MemoryLimit::AddressSpace),
    ];
    let process_memory = process_memory.into_iter().map(|(bytes, limit)| FreeMemory {
        bytes: Bytes(bytes.unwrap_or(u64::MAX)),
        limit,
    });
    let tightest = process_memory.chain(group_memory).min_by_key(|free| free.bytes);
    tightest.expect("the list contains the machine")
}

/// Address space that this process may still map; `None` if it is not limited (`RLIMIT_AS`).
pub fn address_space_free() -> Option<Bytes> {
    let limit = sys::memory::address_space_limit()?;
    let used = read_field(&System::live(), "/proc/self/status", "VmSize:").unwrap_or(0);
    Some(Bytes(limit.saturating_sub(used)))
}

/// Bytes of memory; 0 if unknown.
pub fn memory_total(system: &System) -> u64 {
    let reported = system.is_live().then(sys::native_facts::memory).flatten();
    reported
        .map(|[total, _]| total)
        .or_else(|| read_field(system, "/proc/meminfo", "MemTotal:"))
        .unwrap_or(0)
}

/// Reads a field in kB. Returns bytes.
fn read_field(system: &System, path: &str, name: &str) -> Option<u64> {
    let text = system.read_text(path)?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib << 10)
}

/// A control group with a memory limit.
struct Group {
    /// The file with the limit.
    file: String,
    folder: String,
    limit: u64,
}

impl Group {
    /// Bytes left below the limit. Page cache counts as used, but the kernel reclaims it on demand.
    fn free(&self, system: &System) -> u64 {
        let value = |name: &str| system.read_value::<u64>(&format!("{}/{name}", self.folder));
        let used = value("memory.current").or_else(|| value("memory.usage_in_bytes"));
        let statistics = system
            .read_text(&format!("{}/memory.stat", self.folder))
            .unwrap_or_default();
        let cache = |name: &str| {
            let line = statistics.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse::<u64>().ok()).unwrap_or(0)
        };
        let reclaimable = cache("inactive_file ") + cache("active_file ");
        self.limit.saturating_sub(used.unwrap_or(0).saturating_sub(reclaimable))
    }
}

/// Control groups of this process with a memory limit.
fn limited_groups(system: &System) -> Vec<Group> {
    let files = own_groups(system, "memory").into_iter().flat_map(|folder| {
        let file = |name: &str| (format!("{folder}/{name}"), folder.clone());
        [file("memory.max"), file("memory.limit_in_bytes")]
    });
    let limited = files.filter_map(|(file, folder)| {
        let limit = system.read_value::<u64>(&file)?;
        // Without a limit the file of version 1 contains the largest multiple of the page size.
        (limit < i64::MAX as u64 - (1 << 20)).then_some(Group { file, folder, limit })
    });
    limited.collect()
}

#[cfg(test)]
mod tests {
    use super::super::system::tree;
    use super::*;

    #[test]
    fn page_cache_counts_as_free_in_a_control_group() {
        let (_root, system) = tree(&[
            ("proc/self/cgroup", "0::/job\n"),
            (
                "proc/self/mountinfo",
                "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/job/memory.max", "1048576\n"),
            ("sys/fs/cgroup/job/memory.current", "786432\n"),
            (
                "sys/fs/cgroup/job/memory.stat",
                "anon 262144\ninactive_file 393216\nactive_file 131072\n",
            ),
        ]);
        let groups = limited_groups(&system);
        let free: Vec<_> = groups
            .iter()
            .map(|group| (group.file.as_str(), group.free(&system)))
            .collect();
        assert_eq!(free, [("/sys/fs/cgroup/job/memory.max", 786_432)]);
    }

    #[test]
    fn version_1_groups_without_a_limit_are_skipped() {
        let (_root, system) = tree(&[
            ("proc/self/cgroup", "5:memory:/job\n"),
            (
                "proc/self/mountinfo",
                "33 1 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
            ),
            ("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "4194304\n"),
            ("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1048576\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ]);
        let groups = limited_groups(&system);
        let free: Vec<_> = groups.iter().map(|group| group.free(&system)).collect();
        assert_eq!(free, [3 << 20]);
    }
}
