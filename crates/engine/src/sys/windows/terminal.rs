//! Restores the console when the handler of a second Ctrl-C ends the process.

use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_SHARE_READ, FILE_SHARE_WRITE, OPEN_EXISTING, WriteFile,
};
use windows_sys::Win32::System::Console::{GetConsoleMode, GetStdHandle, STD_ERROR_HANDLE, SetConsoleMode};

/// The saved console modes, and the bytes that restore its screen.
struct SavedConsole {
    modes: Vec<(usize, u32)>,
    restore_sequence: &'static [u8],
}

static SAVED: OnceLock<SavedConsole> = OnceLock::new();
static CHANGED: AtomicBool = AtomicBool::new(false);

/// True: every process with a console may change it.
pub fn is_in_foreground() -> bool {
    true
}

/// Saves the modes of the console on stderr before a change. If a second Ctrl-C ends the process,
/// they are restored and `restore_sequence` is written.
pub fn save_state(restore_sequence: &'static [u8]) {
    if console_mode(console_output()).is_none() {
        return;
    }
    SAVED.get_or_init(|| {
        let handles = [console_output(), console_input()].into_iter();
        let modes = handles
            .filter_map(|handle| Some((handle as usize, console_mode(handle)?)))
            .collect();
        SavedConsole {
            modes,
            restore_sequence,
        }
    });
    CHANGED.store(true, Ordering::Release);
}

/// Discards the saved state, once the console has been restored.
pub fn discard_saved_state() {
    CHANGED.store(false, Ordering::Release);
}

/// Windows has no job control.
pub fn suspend() {}

/// Restores the console. Any thread may call it: the saved state is only read.
pub(super) fn restore() {
    let Some(saved) = SAVED.get().filter(|_| CHANGED.load(Ordering::Acquire)) else {
        return;
    };
    let (restore_sequence, mut written) = (saved.restore_sequence, 0);
    // SAFETY: pointer and length are those of a slice that lives for ever; the call writes one live
    // number.
    unsafe {
        WriteFile(
            console_output(),
            restore_sequence.as_ptr(),
            restore_sequence.len() as u32,
            &mut written,
            null_mut(),
        )
    };
    for (handle, mode) in &saved.modes {
        // SAFETY: the handles stay open as long as the process; the call takes a number.
        unsafe { SetConsoleMode(*handle as HANDLE, *mode) };
    }
}

fn console_output() -> HANDLE {
    // SAFETY: the call takes a number and returns a handle that belongs to the process.
    unsafe { GetStdHandle(STD_ERROR_HANDLE) }
}

/// The console's input, regardless of where stdin leads. Stays open.
fn console_input() -> HANDLE {
    let name: Vec<u16> = "CONIN$\0".encode_utf16().collect();
    let share = FILE_SHARE_READ | FILE_SHARE_WRITE;
    // SAFETY: the name is live and ends with a zero; neither security nor a template is given.
    unsafe {
        CreateFileW(
            name.as_ptr(),
            GENERIC_READ | GENERIC_WRITE,
            share,
            null(),
            OPEN_EXISTING,
            0,
            null_mut(),
        )
    }
}

/// The mode of a console; `None` for anything else.
fn console_mode(handle: HANDLE) -> Option<u32> {
    let mut mode = 0;
    let valid = !handle.is_null() && handle != INVALID_HANDLE_VALUE;
    // SAFETY: the handle may be that of anything that is open; the call writes one live number.
    (valid && unsafe { GetConsoleMode(handle, &mut mode) } != 0).then_some(mode)
}
