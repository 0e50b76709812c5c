//! Requests to stop that would end the program where it can report instead.

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use windows_sys::Win32::System::Console::{CTRL_C_EVENT, SetConsoleCtrlHandler};

static STOP: AtomicBool = AtomicBool::new(false);
static REPORT: AtomicBool = AtomicBool::new(false);
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Nothing to do: there is no such signal.
pub fn ignore_file_size_signal() {}

/// From now on Ctrl-C, Ctrl-Break and a closed console raise the flag that is returned; a second one ends the process at
/// once.
pub fn catch_stop() -> &'static AtomicBool {
    // SAFETY: the handler is a function of this program, which lives as long as the process.
    unsafe { SetConsoleCtrlHandler(Some(on_stop), 1) };
    &STOP
}

/// The flag that asks for a report: nothing of the system raises it here.
pub fn catch_report() -> &'static AtomicBool {
    &REPORT
}

/// The number that a shell on other systems would know the request by: 2 for Ctrl-C, 15 for all else.
pub fn stop_signal() -> Option<i32> {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

unsafe extern "system" fn on_stop(event: u32) -> i32 {
    let signal = if event == CTRL_C_EVENT { 2 } else { 15 };
    SIGNAL.store(signal, Ordering::Relaxed);
    // The first is handled here; the second is left to the system, which ends the process.
    i32::from(!STOP.swap(true, Ordering::Relaxed))
}
