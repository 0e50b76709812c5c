//! Named kernel events. A set event stays set, for all processes, until the last one closes it.

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::null;
use std::time::Duration;

use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_OBJECT_0};
use windows_sys::Win32::System::Threading::{
    CreateEventW, EVENT_MODIFY_STATE, OpenEventW, SetEvent, WaitForSingleObject,
};

use super::ioctl::{check, to_wide};

/// An open event.
#[derive(Debug)]
pub struct Event(OwnedHandle);

impl Event {
    /// Opens or creates the event of this name. Once set, it stays set.
    ///
    /// # Errors
    /// The system's error.
    pub fn open_or_create(name: &str) -> io::Result<Event> {
        let name = to_wide(name);
        // SAFETY: the name ends with a zero and lives through the call; the other arguments are
        // numbers or absent.
        Event::from_new_handle(unsafe { CreateEventW(null(), 1, 0, name.as_ptr()) })
    }

    /// Opens an existing event, to set it.
    ///
    /// # Errors
    /// The system's error.
    pub fn open(name: &str) -> io::Result<Event> {
        let name = to_wide(name);
        // SAFETY: the name ends with a zero and lives through the call.
        Event::from_new_handle(unsafe { OpenEventW(EVENT_MODIFY_STATE, 0, name.as_ptr()) })
    }

    fn from_new_handle(handle: HANDLE) -> io::Result<Event> {
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle was just made, and nothing else closes it.
        Ok(Event(unsafe { OwnedHandle::from_raw_handle(handle) }))
    }

    /// Sets it.
    ///
    /// # Errors
    /// The system's error.
    pub fn set(&self) -> io::Result<()> {
        // SAFETY: the handle is open as long as this lives.
        check(unsafe { SetEvent(self.0.as_raw_handle()) })
    }

    /// Waits until the event is set or the timeout has passed. True if it is set. If waiting fails,
    /// it counts as set, so that no call waits for ever.
    pub fn wait(&self, timeout: Duration) -> bool {
        let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX - 1);
        // SAFETY: the handle is open as long as this lives.
        let ended = unsafe { WaitForSingleObject(self.0.as_raw_handle(), milliseconds) };
        ended == WAIT_OBJECT_0 || ended == WAIT_FAILED
    }
}
