//! Chooses the engine for a worker's targets.

use model::plan::{EngineChoice, EngineKind};

use crate::file::{File, FileKind};

/// How the reason begins where the system refuses io_uring.
pub const RING_REFUSED: &str = "io_uring cannot be used";

/// The chosen engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Engine to open.
    pub kind: EngineKind,
    /// Each operation in flight has its own thread, which makes the blocking call.
    pub offload: bool,
    /// The reason, for the report.
    pub reason: String,
}

impl Choice {
    fn new(kind: EngineKind, reason: &str) -> Choice {
        Choice {
            kind,
            offload: false,
            reason: reason.to_owned(),
        }
    }
}

/// Chooses an engine for a worker that keeps `slots` operations in flight on `files`.
pub fn choose(files: &[File], slots: u32) -> Choice {
    if files.iter().all(|file| file.kind() == FileKind::Nothing) {
        return Choice::new(EngineKind::Null, "the engine uses no target");
    }
    let mapped = |file: &&File| file.options().cache.mapping.is_some();
    if files.iter().all(|file| mapped(&file)) {
        return Choice::new(EngineKind::Mmap, "the target is used through a memory map");
    }
    if slots == 1 {
        return Choice::new(
            EngineKind::Psync,
            "with one operation in flight a plain system call has the least overhead",
        );
    }
    let unmapped: Vec<&File> = files.iter().filter(|file| !mapped(file)).collect();
    choose_async(&unmapped)
}

#[cfg(target_os = "linux")]
fn choose_async(files: &[&File]) -> Choice {
    let direct = files.iter().all(|file| file.options().cache.direct);
    let blocking_file = files.iter().find(|file| !file.supports_nowait());
    let name = |file: &File| file.path().display().to_string();
    let (kind, reason) = match (blocking_file, ring_refusal(), direct) {
        (None, None, _) => (EngineKind::IoUring, "the target supports asynchronous I/O".to_owned()),
        (Some(file), _, true) => {
            let reason = "completes I/O inside the call; io_uring would hand every operation to kernel threads";
            choose_native_aio(format!("{} {reason}", name(file)), aio_refusal())
        }
        (Some(file), _, false) => {
            let reason = "is served from memory inside the call, so one operation is in flight at a time";
            (EngineKind::Psync, format!("{} {reason}", name(file)))
        }
        (None, Some(why), true) => choose_native_aio(format!("{RING_REFUSED}: {why}"), aio_refusal()),
        (None, Some(why), false) => {
            let reason = "and native AIO needs direct I/O, so each operation in flight has a thread";
            (EngineKind::Psync, format!("{RING_REFUSED}: {why}, {reason}"))
        }
    };
    Choice {
        kind,
        offload: kind == EngineKind::Psync && blocking_file.is_none(),
        reason,
    }
}

/// Native AIO if the kernel supports it, else plain calls.
#[cfg(target_os = "linux")]
fn choose_native_aio(reason: String, refusal: Option<String>) -> (EngineKind, String) {
    match refusal {
        None => (EngineKind::Libaio, reason),
        Some(why) => {
            let reason = format!("{reason}; native AIO cannot be used ({why}), so plain calls are made");
            (EngineKind::Psync, reason)
        }
    }
}

/// Why the kernel has no native AIO, if so. It is missing in kernels built without it, some
/// sandboxes and processor emulators. An exhausted limit does not count: the engine reports that
/// itself.
#[cfg(target_os = "linux")]
fn aio_refusal() -> Option<String> {
    let error = crate::sys::aio::Context::new(1).err()?;
    let number = error.raw_os_error()?;
    matches!(number, libc::ENOSYS | libc::EPERM | libc::EACCES).then(|| crate::os_error_name(number))
}

/// Why the kernel refuses even a small ring, if so.
#[cfg(target_os = "linux")]
fn ring_refusal() -> Option<String> {
    use crate::sys::ring::{Ring, RingOptions};
    let options = RingOptions {
        submissions: 1,
        completions: 2,
        flags: rustix::io_uring::IoringSetupFlags::empty(),
        thread_cpu: 0,
    };
    match Ring::new(options) {
        // Some sandboxes allow creating a ring but forbid its use.
        Ok(mut ring) => ring
            .enter(0, None)
            .err()
            .map(|error| crate::os_error_name(error.raw_os_error())),
        Err(error) => Some(error.raw_os_error().map_or(error.to_string(), crate::os_error_name)),
    }
}

#[cfg(windows)]
fn choose_async(files: &[&File]) -> Choice {
    let is_usable = |file: &&File| file.options().overlapped || file.handle().is_none();
    if files.iter().all(is_usable) {
        let reason = "Windows can keep several operations in flight only with this engine";
        return Choice::new(EngineKind::Iocp, reason);
    }
    Choice::new(EngineKind::Psync, "the target was opened for synchronous I/O")
}

#[cfg(not(any(target_os = "linux", windows)))]
fn choose_async(_files: &[&File]) -> Choice {
    Choice::new(EngineKind::Psync, "the only engine available on this system")
}

/// True if a worker with `slots` slots must open its files for asynchronous I/O on Windows
/// ([`crate::OpenOptions::overlapped`]), because it uses such an engine or [`choose`] may select
/// one. Synchronous calls on such files would fail.
pub fn needs_overlapped(choice: &EngineChoice, slots: u32) -> bool {
    let queued = choice.kind.info().overlapped || choice.kind == EngineKind::Auto && slots > 1;
    cfg!(windows) && queued && !choice.offload
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn without_native_aio_psync_is_chosen() {
        let reason = "io_uring cannot be used: ENOSYS";
        assert_eq!(
            choose_native_aio(reason.into(), None),
            (EngineKind::Libaio, reason.into())
        );
        let (kind, words) = choose_native_aio(reason.into(), Some("EPERM".into()));
        assert_eq!(kind, EngineKind::Psync);
        for word in [reason, "EPERM", "plain calls"] {
            assert!(words.contains(word), "{words}");
        }
    }
}
