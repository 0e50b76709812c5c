//! Requests to stop that would end the program where it can report instead.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, CTRL_C_EVENT, SetConsoleCtrlHandler};
use windows_sys::Win32::System::Threading::{ExitProcess, INFINITE, Sleep};

static STOP: AtomicBool = AtomicBool::new(false);
static REPORT: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The number that shells of other systems know Ctrl-C by.
const INTERRUPTED: i32 = 2;
/// And any other request to end.
const TO_END: i32 = 15;

/// Nothing to do: there is no such signal.
pub fn ignore_file_size_signal() {}

/// From now on Ctrl-C, Ctrl-Break, a closed console, a user who signs out and a system that shuts
/// down raise the flag that is returned; a second Ctrl-C or Ctrl-Break ends the process at once.
pub fn catch_stop() -> &'static AtomicBool {
    // A parent may have had Ctrl-C ignored, which children inherit.
    // SAFETY: without a handler the call only lets Ctrl-C through again.
    unsafe { SetConsoleCtrlHandler(None, 0) };
    // SAFETY: the handler is a function of this program, which lives as long as the process.
    unsafe { SetConsoleCtrlHandler(Some(on_stop), 1) };
    &STOP
}

/// The flag that asks for a report: nothing of the system raises it here.
pub fn catch_report() -> &'static AtomicBool {
    &REPORT
}

/// Does what Ctrl-C does, where the console passes it on as a key.
pub fn ask_to_stop() {
    stop(INTERRUPTED);
}

/// The number that a shell on other systems would know the request by: 2 for Ctrl-C, 15 for all
/// else.
pub fn stop_signal() -> Option<i32> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

fn stop(signal: i32) {
    if STOP.swap(true, Ordering::Relaxed) {
        super::terminal::put_back();
        // SAFETY: nothing of this process is used afterwards.
        unsafe { ExitProcess((128 + signal) as u32) };
    }
    SIGNAL.store(signal, Ordering::Relaxed);
}

/// Called by the system in a thread of its own.
unsafe extern "system" fn on_stop(event: u32) -> i32 {
    match event {
        CTRL_C_EVENT => stop(INTERRUPTED),
        CTRL_BREAK_EVENT => stop(TO_END),
        // The system ends the process when this returns, and some seconds later in any case; the
        // report has until then.
        _ => {
            STOP.store(true, Ordering::Relaxed);
            let _ = SIGNAL.compare_exchange(0, TO_END, Ordering::Relaxed, Ordering::Relaxed);
            // SAFETY: the call takes a number.
            unsafe { Sleep(INFINITE) };
        }
    }
    1
}
