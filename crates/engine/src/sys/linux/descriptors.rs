//! File descriptors of this process.

use std::fs;

use rustix::process::{Resource, getrlimit};

/// File descriptors that this process can still open; `None` if there is no limit.
pub fn free_descriptors() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile).current?;
    // The directory itself is open during the count.
    let open = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count().saturating_sub(1));
    Some(limit.saturating_sub(open as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_reduce_free_descriptors() {
        let before = free_descriptors().expect("tests run with a limit");
        let many: Vec<fs::File> = (0..200).map(|_| fs::File::open("/dev/null").unwrap()).collect();
        let after = free_descriptors().expect("tests run with a limit");
        drop(many);
        // Concurrent tests also open and close files.
        assert!(before.saturating_sub(after).abs_diff(200) < 100, "{before} {after}");
    }
}
