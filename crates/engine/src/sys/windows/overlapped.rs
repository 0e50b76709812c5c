//! Asynchronous operations and their OVERLAPPED structures.

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

/// A timeout that never expires.
pub(crate) const INFINITE_MS: u32 = u32::MAX;

/// A read or write to start.
pub(crate) struct Transfer<'a> {
    /// A registered file.
    pub(crate) file: &'a fs::File,
    pub(crate) writes: bool,
    pub(crate) buffer: *mut u8,
    pub(crate) length: u32,
    pub(crate) offset: u64,
    pub(crate) slot: Slot,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CompletedOperation {
    pub(crate) slot: Slot,
    /// Bytes, or a negative error number.
    pub(crate) result: i64,
    pub(crate) at: Nanos,
}

/// A queue that starts operations and reports completions. It belongs to one thread.
pub(crate) trait Queue: Sized {
    /// The engine that uses it.
    const KIND: EngineKind;
    /// The system call that reaps, for error messages.
    const REAP_CALL: &'static str;

    /// Creates a queue for `slots` slots.
    fn new(slots: u32, clock: Clock) -> io::Result<Self>;

    /// Registers a file, which must be opened as overlapped.
    fn register_file(&mut self, file: &fs::File) -> io::Result<()>;

    /// Starts an operation, whose slot will be reaped. After an error number, the operation was
    /// refused and will not be reaped.
    ///
    /// # Safety
    /// The slot is free, and its buffer has `length` bytes. Until the slot is reaped, the buffer
    /// must not move or be accessed, and the queue must live or be abandoned with
    /// [`Queue::abandon`].
    unsafe fn start(&mut self, transfer: &Transfer<'_>) -> Result<(), u32>;

    /// Waits at most `milliseconds` for a completion, and reaps all that are ready. Returns the
    /// time of the poll.
    fn reap_within(&mut self, milliseconds: u32, completed: &mut Vec<CompletedOperation>) -> Result<Nanos, u32>;

    /// Leaks the memory that the system may still write to.
    fn abandon(&mut self);

    /// True if flushes can be started asynchronously.
    fn supports_flush(&self) -> bool {
        false
    }

    /// Starts a flush. Requires `supports_flush`.
    fn start_flush(&mut self, _file: &fs::File, _slot: Slot) -> Result<(), u32> {
        Err(ERROR_NOT_SUPPORTED)
    }

    /// Submits operations that `start` only queued. `reap_within` also submits them.
    fn submit_queued(&mut self) -> Result<(), u32> {
        Ok(())
    }

    /// Cancels operations in flight that [`cancel_all`] cannot cancel.
    fn cancel(&mut self) {}

    /// Description for the results.
    fn describe(&self) -> &'static str;
}

/// The structures of all slots, at fixed addresses.
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

    /// Initializes the structure of a slot; `context` is a number that the caller finds in `hEvent`
    /// later.
    ///
    /// # Safety
    /// No operation of the slot is in flight.
    pub(crate) unsafe fn init(&self, slot: Slot, offset: u64, context: usize) -> *mut OVERLAPPED {
        let operation = self.all[slot.0 as usize].get();
        // SAFETY: the structure is live, and with no operation in flight nothing else uses it.
        // Zero is valid for all its fields.
        unsafe {
            operation.write(std::mem::zeroed());
            (*operation).Anonymous.Anonymous.Offset = offset as u32;
            (*operation).Anonymous.Anonymous.OffsetHigh = (offset >> 32) as u32;
            (*operation).Internal = STATUS_PENDING as u32 as usize;
            (*operation).hEvent = context as HANDLE;
        }
        operation
    }

    /// The slot of a structure.
    pub(crate) fn slot_at(&self, operation: *const OVERLAPPED) -> Slot {
        slot_at(self.base_address(), operation)
    }

    /// Address of the first structure.
    pub(crate) fn base_address(&self) -> usize {
        self.all.as_ptr() as usize
    }

    pub(crate) fn abandon(&mut self) {
        self.abandoned = true;
    }
}

/// The slot of a structure in the array that begins at `base_address`.
pub(crate) fn slot_at(base_address: usize, operation: *const OVERLAPPED) -> Slot {
    Slot(((operation as usize - base_address) / size_of::<OVERLAPPED>()) as u32)
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

/// The result of a failed operation. End of file is not an error: 0 bytes were read.
pub(crate) fn error_result(error: u32) -> i64 {
    match error {
        ERROR_HANDLE_EOF => 0,
        error => -i64::from(error),
    }
}

/// The error number of this thread's last call.
pub(crate) fn last_error() -> u32 {
    // SAFETY: no memory is involved.
    unsafe { GetLastError() }
}

/// Cancels everything in flight on a file.
pub(crate) fn cancel_all(file: &fs::File) {
    // SAFETY: the handle belongs to a live file; a null pointer cancels all operations of the
    // handle. The call fails if none is left, which needs no handling.
    unsafe { CancelIoEx(file.as_raw_handle(), std::ptr::null()) };
}
