//! Handles stop requests that would otherwise end the program without a report.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::Win32::System::Threading::{ExitProcess, INFINITE, Sleep};

/// While targets are being examined, a request to stop ends the process after this time.
const GRACE_MS: u32 = 2000;

static STOP: AtomicBool = AtomicBool::new(false);
static EXAMINING: AtomicBool = AtomicBool::new(false);
static REPORT: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Signal number of Ctrl-C on other systems.
const INTERRUPTED: i32 = 2;
/// Signal number of all other stop events.
const TERMINATED: i32 = 15;

/// Does nothing: Windows has no such signal.
pub fn ignore_file_size_signal() {}

/// Makes Ctrl-C, Ctrl-Break, a closed console, a sign-out and a shutdown set the returned flag. A
/// second Ctrl-C or Ctrl-Break ends the process immediately.
pub fn catch_stop() -> &'static AtomicBool {
    // Undo an inherited setting that ignores Ctrl-C. SAFETY: a null handler only changes that
    // setting.
    unsafe { SetConsoleCtrlHandler(None, 0) };
    // SAFETY: the handler is a function of this program, which lives as long as the process.
    unsafe { SetConsoleCtrlHandler(Some(on_stop), 1) };
    &STOP
}

/// The flag that requests a report: never set on Windows.
pub fn catch_report() -> &'static AtomicBool {
    &REPORT
}

/// Acts like Ctrl-C. Some consoles deliver Ctrl-C as a key.
pub fn request_stop() {
    stop(INTERRUPTED);
}

/// Signal number of the stop request on other systems: 2 for Ctrl-C, 15 for all others.
pub fn stop_signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// Records whether targets are being examined. During that time no measurement can be lost, so
/// Ctrl-C ends the process after two seconds even if a file system does not respond.
pub fn set_examining(examining: bool) {
    EXAMINING.store(examining, Ordering::Relaxed);
}

/// True while targets are being examined.
pub fn is_examining() -> bool {
    EXAMINING.load(Ordering::Relaxed)
}

/// Calls `start`. Windows has no signal mask to change.
pub fn with_stop_signals_unblocked<T>(start: impl FnOnce() -> T) -> T {
    start()
}

fn stop(signal: i32) {
    if STOP.swap(true, Ordering::Relaxed) {
        end_process(signal);
    }
    SIGNAL.store(signal, Ordering::Relaxed);
}

fn end_process(signal: i32) {
    super::terminal::restore();
    // SAFETY: nothing of this process is used afterwards.
    unsafe { ExitProcess((128 + signal) as u32) };
}

/// Called by the system in a thread of its own.
unsafe extern "system" fn on_stop(event: u32) -> i32 {
    let on_key = |signal: i32| {
        stop(signal);
        // Until this returns, the system may hold back a second Ctrl-C.
        if EXAMINING.load(Ordering::Relaxed) {
            // SAFETY: the call takes a number.
            unsafe { Sleep(GRACE_MS) };
            if EXAMINING.load(Ordering::Relaxed) {
                end_process(signal);
            }
        }
    };
    match event {
        CTRL_C_EVENT => on_key(INTERRUPTED),
        CTRL_BREAK_EVENT => on_key(TERMINATED),
        // The system ends the process when this returns, or after some seconds. Wait, so that the
        // report can be written.
        _ => {
            STOP.store(true, Ordering::Relaxed);
            let _ = SIGNAL.compare_exchange(0, TERMINATED, Ordering::Relaxed, Ordering::Relaxed);
            // SAFETY: the call takes a number.
            unsafe { Sleep(INFINITE) };
        }
    }
    1
}
