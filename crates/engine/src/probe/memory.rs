//! How much memory there is and may be used.

use super::System;
use crate::sys;

/// Bytes that programs may still use, as the kernel estimates it; a very large number where the system does not tell.
pub fn memory_available() -> u64 {
    let told = sys::told::memory().map(|[_, available]| available);
    told.or_else(|| field(&System::live(), "MemAvailable:"))
        .unwrap_or(u64::MAX)
}

/// Bytes of memory; 0 where the system does not tell.
pub fn memory_total(system: &System) -> u64 {
    let told = system.is_live().then(sys::told::memory).flatten();
    told.map(|[total, _]| total)
        .or_else(|| field(system, "MemTotal:"))
        .unwrap_or(0)
}

fn field(system: &System, name: &str) -> Option<u64> {
    let text = system.text("/proc/meminfo")?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib << 10)
}
