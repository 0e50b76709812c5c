//! Operations that the system completes while the program continues, and the structures through
//! which it tells of them.

use std::cell::UnsafeCell;
use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::os::windows::io::AsRawHandle;

use model::Nanos;
use model::plan::EngineKind;
use windows_sys::Win32::Foundation::{ERROR_HANDLE_EOF, ERROR_NOT_SUPPORTED, GetLastError, HANDLE, STATUS_PENDING};
use windows_sys::Win32::System::IO::{CancelIoEx, OVERLAPPED};

use crate::batch::Slot;
use crate::clock::Clock;

/// Waits for as long as it takes.
pub(crate) const FOR_EVER: u32 = u32::MAX;

/// A read or write to begin.
pub(crate) struct Transfer<'a> {
    /// A file that the queue knows.
    pub(crate) file: &'a fs::File,
    pub(crate) writes: bool,
    pub(crate) buffer: *mut u8,
    pub(crate) length: u32,
    pub(crate) offset: u64,
    pub(crate) slot: Slot,
}

/// An operation that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    pub(crate) slot: Slot,
    /// Bytes, or a negative error number.
    pub(crate) result: i64,
    pub(crate) at: Nanos,
}

/// A way to begin operations and to learn of their ends. It belongs to one thread.
pub(crate) trait Queue: Sized {
    /// The engine that uses it.
    const KIND: EngineKind;
    /// The call that looks.
    const LOOKS_BY: &'static str;

    /// A queue for that many slots.
    fn new(slots: u32, clock: Clock) -> io::Result<Self>;

    /// Lets operations be begun on a file, which must have been opened for queues.
    fn add(&mut self, file: &fs::File) -> io::Result<()>;

    /// Begins an operation, whose slot will be found; or says, by error number, why it was refused.
    /// Then it will not be.
    ///
    /// # Safety
    /// The slot is free, and its buffer holds `length` bytes. Until the slot is found the buffer
    /// stays where it is, is lent to no one else, and the queue lives or is asked to
    /// [`Queue::abandon`].
    unsafe fn start(&mut self, transfer: &Transfer<'_>) -> Result<(), u32>;

    /// Waits for an operation to end, that many milliseconds at most, and finds those that have.
    /// Returns when it looked.
    fn reap_within(&mut self, milliseconds: u32, found: &mut Vec<Completed>) -> Result<Nanos, u32>;

    /// Gives up the memory that the system may still write to, without returning it.
    fn abandon(&mut self);

    /// True if flushes can be begun as reads and writes are.
    fn flushes(&self) -> bool {
        false
    }

    /// Begins a flush, as [`Queue::start`] does a transfer. Only where there are such.
    fn start_flush(&mut self, _file: &fs::File, _slot: Slot) -> Result<(), u32> {
        Err(ERROR_NOT_SUPPORTED)
    }

    /// Hands over what was begun and is not with the system yet. A look does the same.
    fn hand_over(&mut self) -> Result<(), u32> {
        Ok(())
    }

    /// Asks for the end of what is in flight, by means other than [`cancel_all`].
    fn cancel(&mut self) {}

    /// What is said of it in results.
    fn describe(&self) -> &'static str;
}

/// The structures of all slots, at addresses that do not change.
pub(crate) struct Operations {
    all: ManuallyDrop<Box<[UnsafeCell<OVERLAPPED>]>>,
    abandoned: bool,
}

impl Operations {
    pub(crate) fn new(slots: u32) -> Operations {
        // SAFETY: all fields of the structure are plain numbers or null, for which zero is valid.
        let all = (0..slots).map(|_| UnsafeCell::new(unsafe { std::mem::zeroed() }));
        Operations {
            all: ManuallyDrop::new(all.collect()),
            abandoned: false,
        }
    }

    /// Makes the structure of a slot ready; `own` is a word for the user of the structure.
    ///
    /// # Safety
    /// No operation of the slot is in flight.
    pub(crate) unsafe fn ready(&self, slot: Slot, offset: u64, own: usize) -> *mut OVERLAPPED {
        let place = self.all[slot.0 as usize].get();
        // SAFETY: the place is live, and with no operation in flight nothing else uses it. Zero is
        // valid for all its fields.
        unsafe {
            place.write(std::mem::zeroed());
            (*place).Anonymous.Anonymous.Offset = offset as u32;
            (*place).Anonymous.Anonymous.OffsetHigh = (offset >> 32) as u32;
            (*place).Internal = STATUS_PENDING as u32 as usize;
            (*place).hEvent = own as HANDLE;
        }
        place
    }

    /// The slot of a structure.
    pub(crate) fn slot_of(&self, place: *const OVERLAPPED) -> Slot {
        slot_of(self.start(), place)
    }

    /// The first structure.
    pub(crate) fn start(&self) -> usize {
        self.all.as_ptr() as usize
    }

    pub(crate) fn abandon(&mut self) {
        self.abandoned = true;
    }
}

/// The slot of a structure among those that begin at `start`.
pub(crate) fn slot_of(start: usize, place: *const OVERLAPPED) -> Slot {
    Slot(((place as usize - start) / size_of::<OVERLAPPED>()) as u32)
}

impl Drop for Operations {
    fn drop(&mut self) {
        if !self.abandoned {
            // SAFETY: this happens once, and the caller that drops the value has made sure that the
            // system uses none of them.
            unsafe { ManuallyDrop::drop(&mut self.all) };
        }
    }
}

/// The result of an operation that ended with an error. The end of a file is no error: nothing was
/// read.
pub(crate) fn of_error(error: u32) -> i64 {
    match error {
        ERROR_HANDLE_EOF => 0,
        error => -i64::from(error),
    }
}

/// The error of the last call of this thread.
pub(crate) fn last_error() -> u32 {
    // SAFETY: no memory is involved.
    unsafe { GetLastError() }
}

/// Asks for the end of everything that is in flight on a file.
pub(crate) fn cancel_all(file: &fs::File) {
    // SAFETY: the handle belongs to a live file; without a structure the call means all of its
    // operations. It fails where there is none left, which is as good.
    unsafe { CancelIoEx(file.as_raw_handle(), std::ptr::null()) };
}
