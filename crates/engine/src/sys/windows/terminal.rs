//! What must be written to a console before the process ends, where nothing but the handler of a
//! second Ctrl-C is left to write it.

use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_SHARE_READ, FILE_SHARE_WRITE, OPEN_EXISTING, WriteFile,
};
use windows_sys::Win32::System::Console::{GetConsoleMode, GetStdHandle, STD_ERROR_HANDLE, SetConsoleMode};

/// The modes of the console as they were, and the bytes that bring its screen back.
struct Kept {
    modes: Vec<(usize, u32)>,
    farewell: &'static [u8],
}

static KEPT: OnceLock<Kept> = OnceLock::new();
static CHANGED: AtomicBool = AtomicBool::new(false);

/// Every process with a console may change it.
pub fn is_in_foreground() -> bool {
    true
}

/// The console on stderr is about to be changed. Should a second Ctrl-C end the process at once,
/// its modes are put back as they are now, and `farewell` is written to it.
pub fn keep(farewell: &'static [u8]) {
    if mode_of(errors()).is_none() {
        return;
    }
    KEPT.get_or_init(|| {
        let handles = [errors(), keys()].into_iter();
        let modes = handles
            .filter_map(|handle| Some((handle as usize, mode_of(handle)?)))
            .collect();
        Kept { modes, farewell }
    });
    CHANGED.store(true, Ordering::Release);
}

/// The console is as it was: nothing needs to be put back.
pub fn let_go() {
    CHANGED.store(false, Ordering::Release);
}

/// There are no jobs that could be stopped.
pub fn suspend() {}

/// Puts the console back. Any thread may call it: what was kept is only read.
pub(super) fn put_back() {
    let Some(kept) = KEPT.get().filter(|_| CHANGED.load(Ordering::Acquire)) else {
        return;
    };
    let (farewell, mut written) = (kept.farewell, 0);
    // SAFETY: pointer and length are those of a slice that lives for ever; the call writes one live
    // number.
    unsafe {
        WriteFile(
            errors(),
            farewell.as_ptr(),
            farewell.len() as u32,
            &mut written,
            null_mut(),
        )
    };
    for (handle, mode) in &kept.modes {
        // SAFETY: the handles stay open as long as the process; the call takes a number.
        unsafe { SetConsoleMode(*handle as HANDLE, *mode) };
    }
}

fn errors() -> HANDLE {
    // SAFETY: the call takes a number and returns a handle that belongs to the process.
    unsafe { GetStdHandle(STD_ERROR_HANDLE) }
}

/// Where the console gives keys, whatever stdin is. Stays open.
fn keys() -> HANDLE {
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

/// The mode of a console; absent for what is none.
fn mode_of(handle: HANDLE) -> Option<u32> {
    let mut mode = 0;
    let valid = !handle.is_null() && handle != INVALID_HANDLE_VALUE;
    // SAFETY: the handle may be that of anything that is open; the call writes one live number.
    (valid && unsafe { GetConsoleMode(handle, &mut mode) } != 0).then_some(mode)
}
