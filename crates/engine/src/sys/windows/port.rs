//! A completion port.

use std::fs;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::ptr::null_mut;

use model::Nanos;
use model::plan::EngineKind;
use windows_sys::Win32::Foundation::{CloseHandle, ERROR_IO_PENDING, HANDLE, INVALID_HANDLE_VALUE, WAIT_TIMEOUT};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, SetFileCompletionNotificationModes, WriteFile};
use windows_sys::Win32::System::IO::{
    CreateIoCompletionPort, GetOverlappedResult, GetQueuedCompletionStatusEx, OVERLAPPED, OVERLAPPED_ENTRY,
};

use super::overlapped::{CompletedOperation, Operations, Queue, Transfer, error_result, last_error};
use crate::batch::Slot;
use crate::clock::Clock;

/// Maximum entries reaped in a call.
const MAX_AT_ONCE: u32 = 256;
/// Completions do not signal the file handle.
const FILE_SKIP_SET_EVENT_ON_HANDLE: u8 = 2;

/// A completion port for the operations of one thread. As in DiskSpd, the port reports every
/// started operation, even one that completes within the call, but no refused operation.
pub(crate) struct Port {
    port: HANDLE,
    operations: Operations,
    entries: Vec<OVERLAPPED_ENTRY>,
    /// Completions reaped while discarding a refused operation.
    early: Vec<CompletedOperation>,
    clock: Clock,
}

impl Port {
    /// Reaps entries from the port, or waits for them. Returns their number and the time.
    fn reap_entries(&mut self, milliseconds: u32) -> Result<(usize, Nanos), u32> {
        let (room, mut count) = (self.entries.len() as u32, 0);
        let entries = self.entries.as_mut_ptr();
        // SAFETY: the port is open, and the call writes no more entries than there is room for and
        // one live number.
        let ok = unsafe { GetQueuedCompletionStatusEx(self.port, entries, room, &mut count, milliseconds, 0) };
        // Take the stamp before processing any of them.
        let at = self.clock.now();
        match ok {
            0 => match last_error() {
                WAIT_TIMEOUT => Ok((0, at)),
                error => Err(error),
            },
            _ => Ok((count as usize, at)),
        }
    }

    fn to_completed(&self, entry: &OVERLAPPED_ENTRY, at: Nanos) -> CompletedOperation {
        CompletedOperation {
            slot: self.operations.slot_at(entry.lpOverlapped),
            result: to_raw_result(entry),
            at,
        }
    }

    /// Discards the report of a refused operation. Windows sends none, but Wine sends some,
    /// possibly after the slot is in use again.
    #[cold]
    fn discard(&mut self, refused: Slot) -> Result<(), u32> {
        loop {
            let (count, at) = self.reap_entries(0)?;
            for entry in 0..count {
                let completion = self.to_completed(&self.entries[entry], at);
                if completion.slot != refused {
                    self.early.push(completion);
                }
            }
            if count < self.entries.len() {
                return Ok(());
            }
        }
    }
}

/// Bytes, or a negative error number.
fn to_raw_result(entry: &OVERLAPPED_ENTRY) -> i64 {
    // SAFETY: the entry names a structure of ours, whose operation has completed: the system no
    // longer uses it.
    let status = unsafe { (*entry.lpOverlapped).Internal };
    if status == 0 {
        return i64::from(entry.dwNumberOfBytesTransferred);
    }
    let mut bytes = 0;
    // SAFETY: the key is the handle of the operation, and the structure belongs to the operation,
    // which has completed, so the call does not wait.
    match unsafe { GetOverlappedResult(entry.lpCompletionKey as HANDLE, entry.lpOverlapped, &mut bytes, 0) } {
        0 => error_result(last_error()),
        _ => i64::from(bytes),
    }
}

/// True if the status of a failed start is a warning: the operation then completes normally and is
/// reported.
fn is_warning(status: usize) -> bool {
    status as u32 >> 30 == 2
}

impl Queue for Port {
    const KIND: EngineKind = EngineKind::Iocp;
    const REAP_CALL: &'static str = "GetQueuedCompletionStatusEx";

    fn new(slots: u32, clock: Clock) -> io::Result<Port> {
        // SAFETY: no file is given, and the call makes a port; one thread at a time is enough.
        let port = unsafe { CreateIoCompletionPort(INVALID_HANDLE_VALUE, null_mut(), 0, 1) };
        if port.is_null() {
            return Err(io::Error::last_os_error());
        }
        let entry = OVERLAPPED_ENTRY {
            lpCompletionKey: 0,
            lpOverlapped: null_mut(),
            Internal: 0,
            dwNumberOfBytesTransferred: 0,
        };
        Ok(Port {
            port,
            operations: Operations::new(slots),
            entries: vec![entry; slots.clamp(1, MAX_AT_ONCE) as usize],
            early: Vec::with_capacity(slots as usize),
            clock,
        })
    }

    fn register_file(&mut self, file: &fs::File) -> io::Result<()> {
        let handle: HANDLE = file.as_raw_handle();
        // SAFETY: both handles are open; the key is a number that comes back with every operation.
        if unsafe { CreateIoCompletionPort(handle, self.port, handle as usize, 0) }.is_null() {
            return Err(io::Error::last_os_error());
        }
        // Nothing waits on the file handle, so a failure costs only time. SAFETY: the handle is
        // open; the call takes a number.
        unsafe { SetFileCompletionNotificationModes(handle, FILE_SKIP_SET_EVENT_ON_HANDLE) };
        Ok(())
    }

    #[inline]
    unsafe fn start(&mut self, transfer: &Transfer<'_>) -> Result<(), u32> {
        let handle: HANDLE = transfer.file.as_raw_handle();
        // SAFETY: the slot is free, as the caller promises.
        let operation: *mut OVERLAPPED = unsafe { self.operations.init(transfer.slot, transfer.offset, 0) };
        // SAFETY: the structure stays until the operation is reaped, since `self` does or is asked
        // to abandon it; the caller promises the same of the buffer.
        let done = unsafe {
            match transfer.writes {
                false => ReadFile(handle, transfer.buffer, transfer.length, null_mut(), operation),
                true => WriteFile(handle, transfer.buffer, transfer.length, null_mut(), operation),
            }
        };
        if done != 0 {
            return Ok(());
        }
        let error = last_error();
        // SAFETY: the structure is live; the system may be writing the word that is read, which no
        // value can break.
        if error == ERROR_IO_PENDING || is_warning(unsafe { (&raw const (*operation).Internal).read_volatile() }) {
            return Ok(());
        }
        self.discard(transfer.slot)?;
        Err(error)
    }

    #[inline]
    fn reap_within(&mut self, milliseconds: u32, completed: &mut Vec<CompletedOperation>) -> Result<Nanos, u32> {
        let milliseconds = if self.early.is_empty() { milliseconds } else { 0 };
        let (count, at) = self.reap_entries(milliseconds)?;
        completed.extend(self.early.drain(..).map(|early| CompletedOperation { at, ..early }));
        let entries = &self.entries[..count];
        completed.extend(entries.iter().map(|entry| self.to_completed(entry, at)));
        Ok(at)
    }

    fn abandon(&mut self) {
        self.operations.abandon();
    }

    fn describe(&self) -> &'static str {
        "completion port"
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // SAFETY: the port was made by `new` and is closed once.
        unsafe { CloseHandle(self.port) };
    }
}
