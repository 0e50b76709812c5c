//! File descriptors of this process.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Resource, getrlimit};

/// File descriptors that this process can still open; `None` if there is no limit.
pub fn free_descriptors() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile).current?;
    // The directory itself is open during the count.
    let open = fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count().saturating_sub(1));
    Some(limit.saturating_sub(open as u64))
}

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before Rust's runtime, which opens `/dev/null` in place of a closed output.
extern "C" fn check_stdout() {
    // SAFETY: the call reads the flags of a descriptor, which need not be open.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_WAS_CLOSED.store(flags < 0, Ordering::Relaxed);
}

// SAFETY: the loader calls the functions of this section once each, without required arguments.
// This one uses neither the runtime nor memory that needs it.
#[unsafe(link_section = ".init_array")]
#[used]
static CHECK_STDOUT: extern "C" fn() = check_stdout;

/// True if standard output was closed when the process started. All output would be lost without
/// an error.
pub fn is_stdout_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
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
