//! Handlers for signals that would otherwise end the program without a report.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use rustix::time::{ClockId, clock_gettime};

/// A repeated signal within this time is the same request: `timeout` signals first its child, then
/// their process group.
const SAME_REQUEST_NS: u64 = 200_000_000;

static FIRST_STOP_NS: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicBool = AtomicBool::new(false);
static REPORT: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Writes beyond the file size limit fail with `EFBIG` instead of killing the process.
pub fn ignore_file_size_signal() {
    // SAFETY: SIG_IGN is a valid disposition for SIGXFSZ, and no handler of ours is replaced.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Makes Ctrl-C, SIGTERM and a closed terminal set the returned flag; a second one ends the process
/// at once.
pub fn catch_stop() -> &'static AtomicBool {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: zero is a valid `sigaction`: no flags, an empty mask, and the handler is set
        // below.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_stop as extern "C" fn(libc::c_int) as libc::sighandler_t;
        // Interrupted calls restart: only the flag changes.
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: `action` is complete and outlives the call; the handler is async-signal-safe.
        unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
    &STOP
}

/// Makes SIGUSR1 set the returned flag instead of ending the program.
pub fn catch_report() -> &'static AtomicBool {
    // SAFETY: zero is a valid `sigaction`: no flags, an empty mask, and the handler is set below.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_report as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is complete and outlives the call; the handler is async-signal-safe.
    unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut()) };
    &REPORT
}

extern "C" fn on_report(_: libc::c_int) {
    REPORT.store(true, Ordering::Relaxed);
}

/// Acts like Ctrl-C, for terminals in raw mode, which deliver it as a key.
pub fn ask_to_stop() {
    // SAFETY: the call takes a number, and what it sets off is the handler above.
    unsafe { libc::raise(libc::SIGINT) };
}

/// The signal that requested the stop.
pub fn stop_signal() -> Option<i32> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

extern "C" fn on_stop(signal: libc::c_int) {
    let now = clock_gettime(ClockId::Monotonic);
    let now = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    let is_same = signal == SIGNAL.load(Ordering::Relaxed);
    match FIRST_STOP_NS.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            SIGNAL.store(signal, Ordering::Relaxed);
            STOP.store(true, Ordering::Relaxed);
        }
        Err(first) if is_same && now.saturating_sub(first) < SAME_REQUEST_NS => {}
        Err(_) => {
            super::terminal::restore();
            // SAFETY: `_exit` may be called in a signal handler; nothing of this process is used
            // afterwards.
            unsafe { libc::_exit(128 + signal) };
        }
    }
}
