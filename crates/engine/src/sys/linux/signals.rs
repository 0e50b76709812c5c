//! Handles signals that would otherwise end the program without a report.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::thread::{Builder, sleep};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A repeated signal within this time is the same request: `timeout` signals first its child, then
/// the process group.
const SAME_REQUEST_NS: u64 = 200_000_000;

/// While targets are being examined, a request to stop ends the process after this time.
const STOP_GRACE: Duration = Duration::from_secs(2);
/// The signals that request a stop.
const STOP_SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

static FIRST_STOP_NS: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicBool = AtomicBool::new(false);
static REPORT: AtomicBool = AtomicBool::new(false);
static EXAMINING: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Writes beyond the file size limit fail with `EFBIG` instead of killing the process.
pub fn ignore_file_size_signal() {
    // SAFETY: SIG_IGN is a valid disposition for SIGXFSZ, and no handler is replaced.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Makes SIGINT, SIGTERM and SIGHUP set the returned flag; a second one ends the process
/// immediately. A thread of its own receives these signals, and all threads that the caller starts
/// afterwards block them: a call on a file system that does not respond lets no handler run.
///
/// A hangup that the parent process ignores, as `nohup` does, stays ignored. An interrupt does not:
/// shells ignore it in background jobs, and scripts stop those with `kill -INT`.
pub fn catch_stop() -> &'static AtomicBool {
    for signal in STOP_SIGNALS {
        if signal == libc::SIGHUP && is_ignored(signal) {
            continue;
        }
        install_handler(signal, on_stop);
    }
    // Without the thread, any other thread receives them.
    if start_signal_thread().is_ok() {
        set_stop_signals_mask(libc::SIG_BLOCK);
    }
    &STOP
}

/// Installs a handler that is async-signal-safe.
fn install_handler(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: zero is a valid `sigaction`: no flags, an empty mask, and the handler is set below.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    // Interrupted calls restart: a handler only sets flags.
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `action` is complete and outlives the call; both handlers are async-signal-safe.
    unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: zero is a valid `sigaction`, and the next call fills it.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action the call only writes the present one, which outlives it.
    let code = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    code == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Records whether targets are being examined. During that time no measurement can be lost, so a
/// request to stop ends the process after two seconds even if a file system does not respond.
pub fn set_examining(examining: bool) {
    EXAMINING.store(examining, Ordering::Relaxed);
}

/// True while targets are being examined.
pub fn is_examining() -> bool {
    EXAMINING.load(Ordering::Relaxed)
}

fn start_signal_thread() -> io::Result<()> {
    let wait = || {
        // The parent process may have blocked them.
        set_stop_signals_mask(libc::SIG_UNBLOCK);
        loop {
            // SAFETY: the call takes nothing, and returns after a handler has run in this thread.
            unsafe { libc::pause() };
            if !STOP.load(Ordering::Relaxed) {
                continue;
            }
            sleep(STOP_GRACE);
            if EXAMINING.load(Ordering::Relaxed) {
                end_process(
                    SIGNAL.load(Ordering::Relaxed),
                    "error: interrupted before the measurement, while reading the input or waiting for a target\n",
                );
            }
        }
    };
    Builder::new()
        .name("signals".into())
        .stack_size(64 << 10)
        .spawn(wait)
        .map(drop)
}

/// Blocks or unblocks the stop signals for this thread and its future threads and child programs.
/// Returns the signals that were blocked before.
fn set_stop_signals_mask(how: libc::c_int) -> libc::sigset_t {
    // SAFETY: zero is a valid `sigset_t`, and the next calls fill both.
    let (mut set, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { std::mem::zeroed() };
    // SAFETY: both are valid sets that outlive the calls, and the signals exist.
    unsafe {
        libc::sigemptyset(&raw mut set);
        for signal in STOP_SIGNALS {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(how, &raw const set, &raw mut before);
    }
    before
}

/// Starts another program with the stop signals unblocked.
pub fn with_stop_signals_unblocked<T>(start: impl FnOnce() -> T) -> T {
    let before = set_stop_signals_mask(libc::SIG_UNBLOCK);
    let started = start();
    // SAFETY: the set is this thread's earlier mask, and outlives the call.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    started
}

/// Ends the process immediately, after writing `line` to stderr. May be called in a handler.
fn end_process(signal: libc::c_int, line: &str) -> ! {
    super::terminal::restore();
    // SAFETY: both calls may be made in a signal handler; the line outlives the first, and nothing
    // of this process is used after the second.
    unsafe {
        libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
        libc::_exit(128 + signal)
    }
}

/// Makes SIGUSR1 set the returned flag instead of ending the program.
pub fn catch_report() -> &'static AtomicBool {
    install_handler(libc::SIGUSR1, on_report);
    &REPORT
}

extern "C" fn on_report(_: libc::c_int) {
    REPORT.store(true, Ordering::Relaxed);
}

/// Acts like Ctrl-C. A terminal in raw mode delivers Ctrl-C as a key.
pub fn request_stop() {
    // SAFETY: the calls take numbers, and what they set off is the handler above.
    unsafe { libc::kill(libc::getpid(), libc::SIGINT) };
}

/// The signal that requested the stop.
pub fn stop_signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
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
        Err(_) => end_process(signal, ""),
    }
}
