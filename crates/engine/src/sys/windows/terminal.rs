//! The console of a full-screen view: raw mode, keys, and its restoration, also when the handler
//! of a second Ctrl-C ends the process.

use std::io::{self, Write};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use windows_sys::Win32::Foundation::{
    GENERIC_READ, GENERIC_WRITE, HANDLE, INVALID_HANDLE_VALUE, WAIT_FAILED, WAIT_OBJECT_0,
};
use windows_sys::Win32::Storage::FileSystem::{
    CreateFileW, FILE_SHARE_READ, FILE_SHARE_WRITE, OPEN_EXISTING, WriteFile,
};
use windows_sys::Win32::System::Console::{
    ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT, ENABLE_PROCESSED_INPUT, ENABLE_PROCESSED_OUTPUT,
    ENABLE_VIRTUAL_TERMINAL_PROCESSING, GetConsoleMode, GetStdHandle, INPUT_RECORD, KEY_EVENT, ReadConsoleInputW,
    STD_ERROR_HANDLE, SetConsoleMode,
};
use windows_sys::Win32::System::Threading::WaitForSingleObject;

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

/// Puts the console into raw mode and writes `enter_sequence` to stderr. [`restore`] undoes both,
/// and writes `restore_sequence`; so does a second Ctrl-C that ends the process.
///
/// # Errors
/// The console cannot be changed; [`restore`] undoes what was done.
pub fn take_over(enter_sequence: &'static [u8], restore_sequence: &'static [u8]) -> io::Result<()> {
    let (output, input) = (console_output(), console_input());
    let (Some(output_mode), Some(input_mode)) = (console_mode(output), console_mode(input)) else {
        return Err(io::Error::last_os_error());
    };
    SAVED.get_or_init(|| SavedConsole {
        modes: vec![(output as usize, output_mode), (input as usize, input_mode)],
        restore_sequence,
    });
    CHANGED.store(true, Ordering::Release);
    let cooked = ENABLE_LINE_INPUT | ENABLE_ECHO_INPUT | ENABLE_PROCESSED_INPUT;
    let escapes = ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING;
    // SAFETY: the handles are open; the calls take numbers.
    let set = unsafe {
        SetConsoleMode(input, input_mode & !cooked) != 0 && SetConsoleMode(output, output_mode | escapes) != 0
    };
    if !set {
        return Err(io::Error::last_os_error());
    }
    io::stderr().write_all(enter_sequence)
}

/// Windows has no job control.
pub fn suspend() {}

/// Restores the console, once. Any thread may call it: the saved state is only read.
pub fn restore() {
    let Some(saved) = SAVED.get().filter(|_| CHANGED.swap(false, Ordering::AcqRel)) else {
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

/// The console's input, regardless of where stdin leads. Opened once, and stays open.
fn console_input() -> HANDLE {
    static INPUT: OnceLock<usize> = OnceLock::new();
    *INPUT.get_or_init(|| open_console_input() as usize) as HANDLE
}

fn open_console_input() -> HANDLE {
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

/// Keys of the console.
#[derive(Debug)]
pub struct Keys(());

impl Keys {
    /// Finds the console.
    ///
    /// # Errors
    ///
    /// The process has no console.
    pub fn new() -> io::Result<Keys> {
        match console_mode(console_input()) {
            Some(_) => Ok(Keys(())),
            None => Err(io::Error::last_os_error()),
        }
    }

    /// Waits at most `timeout` for keys, and returns their ASCII characters; empty if none came.
    ///
    /// # Errors
    ///
    /// The console is gone.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<Vec<u8>> {
        let millis = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        // SAFETY: the handle is open; the call takes a number.
        match unsafe { WaitForSingleObject(console_input(), millis) } {
            WAIT_OBJECT_0 => {}
            WAIT_FAILED => return Err(io::Error::last_os_error()),
            _ => return Ok(Vec::new()),
        }
        let mut records = [INPUT_RECORD::default(); 32];
        let mut count = 0;
        // SAFETY: pointer and length are those of a live array; the call writes one live number.
        if unsafe { ReadConsoleInputW(console_input(), records.as_mut_ptr(), records.len() as u32, &mut count) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(records[..count as usize]
            .iter()
            .filter_map(ascii_of_pressed_key)
            .collect())
    }
}

/// The ASCII character of a key that was pressed. The console also reports released keys, the mouse
/// and new sizes.
fn ascii_of_pressed_key(record: &INPUT_RECORD) -> Option<u8> {
    if u32::from(record.EventType) != KEY_EVENT {
        return None;
    }
    // SAFETY: the type of the event says that this is a key, whose character is one of UTF-16.
    let (is_pressed, character) = unsafe {
        let key = &record.Event.KeyEvent;
        (key.bKeyDown != 0, key.uChar.UnicodeChar)
    };
    u8::try_from(character)
        .ok()
        .filter(|byte| is_pressed && byte.is_ascii() && *byte != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windows_sys::Win32::System::Console::WINDOW_BUFFER_SIZE_EVENT;

    #[test]
    fn only_pressed_keys_have_a_character() {
        let press = |event: u32, is_pressed: bool, character: char| {
            let mut record = INPUT_RECORD {
                EventType: event as u16,
                ..INPUT_RECORD::default()
            };
            record.Event.KeyEvent.bKeyDown = is_pressed.into();
            record.Event.KeyEvent.uChar.UnicodeChar = character as u16;
            ascii_of_pressed_key(&record)
        };
        assert_eq!(press(KEY_EVENT, true, 'q'), Some(b'q'));
        assert_eq!(press(KEY_EVENT, true, '\x03'), Some(3));
        assert_eq!(press(KEY_EVENT, false, 'q'), None);
        assert_eq!(press(KEY_EVENT, true, '\0'), None);
        assert_eq!(press(KEY_EVENT, true, 'ä'), None);
        assert_eq!(press(WINDOW_BUFFER_SIZE_EVENT, true, 'q'), None);
    }
}
