//! Windows' submission ring (IoRing). Operations are written into a ring shared with the system and
//! submitted in batches; completions appear in a second ring. Windows before 11 and Server 2025
//! lacks these functions, so they are loaded at run time.

use std::ffi::c_void;
use std::fs;
use std::io;
use std::os::windows::io::AsRawHandle;
use std::ptr::null_mut;

use model::Nanos;
use model::plan::EngineKind;
use windows_sys::Win32::Foundation::{
    ERROR_INVALID_PARAMETER, ERROR_NOT_SUPPORTED, ERROR_SEM_TIMEOUT, ERROR_TIMEOUT, HANDLE,
    IORING_E_SUBMISSION_QUEUE_FULL, RtlNtStatusToDosError, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLUSH_DEFAULT, FILE_FLUSH_MODE, FILE_WRITE_FLAGS, FILE_WRITE_FLAGS_NONE, HIORING, IORING_BUFFER_REF,
    IORING_BUFFER_REF_0, IORING_CAPABILITIES, IORING_CQE, IORING_CREATE_FLAGS, IORING_FEATURE_UM_EMULATION,
    IORING_HANDLE_REF, IORING_HANDLE_REF_0, IORING_REF_RAW, IORING_SQE_FLAGS, IORING_VERSION, IORING_VERSION_3,
    IOSQE_FLAGS_NONE,
};

use super::library;
use super::overlapped::{CompletedOperation, Queue, Transfer, error_result};
use crate::batch::Slot;
use crate::clock::Clock;

type Hresult = i32;

/// Library with the functions. The two functions of version 3 are documented for kernel32.dll,
/// which forwards to this library.
const LIBRARY: &str = "kernelbase.dll";
const S_OK: Hresult = 0;
/// Maximum wait in the system, which bounds the cost of a missed completion.
const MAX_WAIT_MS: u32 = 100;
/// `IORING_E_WAIT_TIMEOUT`. Only the documentation of SubmitIoRing mentions it: the value after
/// those of winerror.h.
const WAIT_TIMED_OUT: u32 = 0x8046_0009;

/// The functions (ioringapi.h).
#[derive(Clone, Copy)]
pub(crate) struct Calls {
    pub(crate) query: unsafe extern "system" fn(*mut IORING_CAPABILITIES) -> Hresult,
    pub(crate) create:
        unsafe extern "system" fn(IORING_VERSION, IORING_CREATE_FLAGS, u32, u32, *mut HIORING) -> Hresult,
    pub(crate) close: unsafe extern "system" fn(HIORING) -> Hresult,
    pub(crate) submit: unsafe extern "system" fn(HIORING, u32, u32, *mut u32) -> Hresult,
    pub(crate) pop: unsafe extern "system" fn(HIORING, *mut IORING_CQE) -> Hresult,
    pub(crate) read: unsafe extern "system" fn(
        HIORING,
        IORING_HANDLE_REF,
        IORING_BUFFER_REF,
        u32,
        u64,
        usize,
        IORING_SQE_FLAGS,
    ) -> Hresult,
    pub(crate) cancel: unsafe extern "system" fn(HIORING, IORING_HANDLE_REF, usize, usize) -> Hresult,
    /// Functions of version 3.
    pub(crate) write_calls: Option<WriteCalls>,
}

/// The functions for writing and flushing.
#[derive(Clone, Copy)]
pub(crate) struct WriteCalls {
    pub(crate) write: unsafe extern "system" fn(
        HIORING,
        IORING_HANDLE_REF,
        IORING_BUFFER_REF,
        u32,
        u64,
        FILE_WRITE_FLAGS,
        usize,
        IORING_SQE_FLAGS,
    ) -> Hresult,
    pub(crate) flush:
        unsafe extern "system" fn(HIORING, IORING_HANDLE_REF, FILE_FLUSH_MODE, usize, IORING_SQE_FLAGS) -> Hresult,
}

/// The features of this system's rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// Version 1 or 2, or 300 for version 3.
    pub(crate) version: IORING_VERSION,
    /// Maximum size of the submission queue.
    pub(crate) submissions: u32,
    /// Maximum size of the completion queue.
    pub(crate) completions: u32,
    /// Rings can write and flush.
    pub(crate) writes: bool,
    /// The library emulates the ring in user mode.
    pub(crate) emulated: bool,
}

impl Calls {
    /// Loads the functions, if the system has them.
    pub(crate) fn load() -> Option<Calls> {
        // SAFETY: the functions have the arguments of the fields above (ioringapi.h).
        unsafe {
            let write = library::function(LIBRARY, c"BuildIoRingWriteFile");
            let flush = library::function(LIBRARY, c"BuildIoRingFlushFile");
            Some(Calls {
                query: library::function(LIBRARY, c"QueryIoRingCapabilities")?,
                create: library::function(LIBRARY, c"CreateIoRing")?,
                close: library::function(LIBRARY, c"CloseIoRing")?,
                submit: library::function(LIBRARY, c"SubmitIoRing")?,
                pop: library::function(LIBRARY, c"PopIoRingCompletion")?,
                read: library::function(LIBRARY, c"BuildIoRingReadFile")?,
                cancel: library::function(LIBRARY, c"BuildIoRingCancelRequest")?,
                write_calls: write.zip(flush).map(|(write, flush)| WriteCalls { write, flush }),
            })
        }
    }

    /// Queries what rings support.
    ///
    /// # Errors
    /// The error number of the query.
    pub(crate) fn capabilities(&self) -> Result<Capabilities, u32> {
        let mut capabilities = IORING_CAPABILITIES::default();
        // SAFETY: the call writes the one live structure.
        check(unsafe { (self.query)(&mut capabilities) })?;
        Ok(Capabilities {
            version: capabilities.MaxVersion,
            submissions: capabilities.MaxSubmissionQueueSize,
            completions: capabilities.MaxCompletionQueueSize,
            writes: capabilities.MaxVersion >= IORING_VERSION_3 && self.write_calls.is_some(),
            emulated: capabilities.FeatureFlags & IORING_FEATURE_UM_EMULATION != 0,
        })
    }
}

/// A ring for the operations of one thread. The user data of an operation is its slot number;
/// cancellations have numbers beyond all slots.
pub(crate) struct Ring {
    calls: Calls,
    capabilities: Capabilities,
    ring: HIORING,
    /// The file of each slot's operation, or null.
    in_flight: Box<[HANDLE]>,
    /// Operations in the ring that are not yet submitted.
    queued: u32,
    abandoned: bool,
    clock: Clock,
}

impl Ring {
    /// Creates a ring with these functions for `slots` slots.
    ///
    /// # Errors
    /// The error number.
    pub(crate) fn with_calls(calls: Calls, slots: u32, clock: Clock) -> Result<Ring, u32> {
        let capabilities = calls.capabilities()?;
        let slots = slots.max(1);
        let submissions = slots.min(capabilities.submissions);
        // Include room for the completions of cancellations.
        let completions = slots.saturating_mul(2).min(capabilities.completions).max(submissions);
        let mut ring: HIORING = null_mut();
        let none = IORING_CREATE_FLAGS::default();
        // SAFETY: the call takes numbers, and writes the one live handle.
        check(unsafe { (calls.create)(capabilities.version, none, submissions, completions, &mut ring) })?;
        Ok(Ring {
            calls,
            capabilities,
            ring,
            in_flight: vec![null_mut(); slots as usize].into(),
            queued: 0,
            abandoned: false,
            clock,
        })
    }

    /// Adds an operation to the ring; submits the ring first if it is full.
    #[inline]
    fn enqueue(&mut self, build: impl Fn(&Calls, HIORING) -> Hresult) -> Result<(), u32> {
        let mut result = build(&self.calls, self.ring);
        if result == IORING_E_SUBMISSION_QUEUE_FULL {
            self.submit(0, 0)?;
            result = build(&self.calls, self.ring);
        }
        check(result)?;
        self.queued += 1;
        Ok(())
    }

    /// Submits the ring, and waits for `wait_for` completions.
    fn submit(&mut self, wait_for: u32, milliseconds: u32) -> Result<(), u32> {
        let mut accepted = 0;
        // SAFETY: the ring is open, and the call writes one live number. The code that began the
        // operations keeps alive what they name.
        let result = unsafe { (self.calls.submit)(self.ring, wait_for, milliseconds, &mut accepted) };
        match check(result) {
            Err(error) if !is_timeout(result) => {
                // The other operations stay in the ring.
                self.queued -= accepted.min(self.queued);
                Err(error)
            }
            _ => {
                self.queued = 0;
                Ok(())
            }
        }
    }

    /// Submits the ring, and waits for one completion.
    fn submit_and_wait(&mut self, milliseconds: u32) -> Result<(), u32> {
        match self.submit(1, milliseconds.min(MAX_WAIT_MS)) {
            // The system refuses to wait with nothing in flight, and the last operation may have
            // completed since the last poll.
            Err(ERROR_INVALID_PARAMETER) => self.submit(0, 0),
            result => result,
        }
    }

    /// Reaps completions from the ring.
    #[inline]
    fn reap(&mut self, completed: &mut Vec<CompletedOperation>) -> Result<Nanos, u32> {
        // Take the stamp before processing any of them.
        let at = self.clock.now();
        loop {
            let mut completion = IORING_CQE::default();
            // SAFETY: the ring is open, and the call writes the one live structure.
            let result = unsafe { (self.calls.pop)(self.ring, &mut completion) };
            check(result)?;
            if result != S_OK {
                return Ok(at);
            }
            // Ignore completions of cancellations.
            let Some(file) = self
                .in_flight
                .get_mut(completion.UserData)
                .filter(|file| !file.is_null())
            else {
                continue;
            };
            *file = null_mut();
            completed.push(CompletedOperation {
                slot: Slot(completion.UserData as u32),
                result: to_raw_result(&completion),
                at,
            });
        }
    }
}

/// Refers to a file by handle.
fn handle_ref(file: HANDLE) -> IORING_HANDLE_REF {
    IORING_HANDLE_REF {
        Kind: IORING_REF_RAW,
        Handle: IORING_HANDLE_REF_0 { Handle: file },
    }
}

/// Refers to memory by address.
fn buffer_ref(start: *mut u8) -> IORING_BUFFER_REF {
    IORING_BUFFER_REF {
        Kind: IORING_REF_RAW,
        Buffer: IORING_BUFFER_REF_0 {
            Address: start.cast::<c_void>(),
        },
    }
}

/// Bytes, or a negative error number.
fn to_raw_result(completion: &IORING_CQE) -> i64 {
    match check(completion.ResultCode) {
        Ok(()) => completion.Information as i64,
        Err(error) => error_result(error),
    }
}

fn check(result: Hresult) -> Result<(), u32> {
    match result {
        0.. => Ok(()),
        _ => Err(hresult_to_error(result)),
    }
}

/// The error number in an HRESULT: a Win32 error or an NT status in its HRESULT encoding. Any other
/// value is returned unchanged.
fn hresult_to_error(result: Hresult) -> u32 {
    const FACILITY_WIN32: u32 = 0x8007;
    const FACILITY_NT_BIT: u32 = 0x1000_0000;
    let word = result as u32;
    if word >> 16 == FACILITY_WIN32 {
        word & 0xffff
    } else if word & FACILITY_NT_BIT != 0 || word >> 30 == 3 {
        // SAFETY: the call takes a number.
        unsafe { RtlNtStatusToDosError((word & !FACILITY_NT_BIT) as i32) }
    } else {
        word
    }
}

/// True for every code that means a timeout; everything was submitted then.
fn is_timeout(result: Hresult) -> bool {
    const IO_TIMEOUT: u32 = ERROR_SEM_TIMEOUT;
    matches!(
        hresult_to_error(result),
        WAIT_TIMED_OUT | WAIT_TIMEOUT | ERROR_TIMEOUT | IO_TIMEOUT
    )
}

impl Queue for Ring {
    const KIND: EngineKind = EngineKind::IoRing;
    const REAP_CALL: &'static str = "SubmitIoRing";

    fn new(slots: u32, clock: Clock) -> io::Result<Ring> {
        let calls = Calls::load().ok_or(io::ErrorKind::Unsupported)?;
        Ring::with_calls(calls, slots, clock).map_err(|error| io::Error::from_raw_os_error(error as i32))
    }

    fn register_file(&mut self, _: &fs::File) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    unsafe fn start(&mut self, transfer: &Transfer<'_>) -> Result<(), u32> {
        let handle: HANDLE = transfer.file.as_raw_handle();
        let (file, buffer, slot) = (
            handle_ref(handle),
            buffer_ref(transfer.buffer),
            transfer.slot.0 as usize,
        );
        let (length, offset) = (transfer.length, transfer.offset);
        match (transfer.writes, self.calls.write_calls) {
            // SAFETY: the ring is open; the caller promises that file and buffer stay until the
            // slot is found.
            (false, _) => self.enqueue(|calls, ring| unsafe {
                (calls.read)(ring, file, buffer, length, offset, slot, IOSQE_FLAGS_NONE)
            })?,
            // SAFETY: as above.
            (true, Some(write_calls)) => self.enqueue(|_, ring| unsafe {
                let (plain, free) = (FILE_WRITE_FLAGS_NONE, IOSQE_FLAGS_NONE);
                (write_calls.write)(ring, file, buffer, length, offset, plain, slot, free)
            })?,
            (true, None) => return Err(ERROR_NOT_SUPPORTED),
        }
        self.in_flight[slot] = handle;
        Ok(())
    }

    fn supports_flush(&self) -> bool {
        self.capabilities.writes
    }

    fn start_flush(&mut self, file: &fs::File, slot: Slot) -> Result<(), u32> {
        let (handle, slot): (HANDLE, usize) = (file.as_raw_handle(), slot.0 as usize);
        let write_calls = self.calls.write_calls.ok_or(ERROR_NOT_SUPPORTED)?;
        // SAFETY: the ring is open, no memory is named, and the file stays open while the slot is
        // in flight.
        self.enqueue(|_, ring| unsafe {
            (write_calls.flush)(ring, handle_ref(handle), FILE_FLUSH_DEFAULT, slot, IOSQE_FLAGS_NONE)
        })?;
        self.in_flight[slot] = handle;
        Ok(())
    }

    fn submit_queued(&mut self) -> Result<(), u32> {
        match self.queued {
            0 => Ok(()),
            _ => self.submit(0, 0),
        }
    }

    #[inline]
    fn reap_within(&mut self, milliseconds: u32, completed: &mut Vec<CompletedOperation>) -> Result<Nanos, u32> {
        if milliseconds > 0 {
            // Reap what has already completed before waiting.
            let at = self.reap(completed)?;
            if completed.is_empty() {
                self.submit_and_wait(milliseconds)?;
            } else if self.queued > 0 {
                self.submit(0, 0)?;
            } else {
                return Ok(at);
            }
        } else {
            self.submit_queued()?;
        }
        self.reap(completed)
    }

    fn cancel(&mut self) {
        let slots = self.in_flight.len();
        for slot in 0..slots {
            let handle = self.in_flight[slot];
            if handle.is_null() {
                continue;
            }
            // SAFETY: the ring is open, no memory is named, and the file is open as long as its
            // operation is in flight.
            let cancelled =
                self.enqueue(|calls, ring| unsafe { (calls.cancel)(ring, handle_ref(handle), slot, slots + slot) });
            if cancelled.is_err() {
                break;
            }
        }
        // If this fails, the operations run to their end.
        let _ = self.submit_queued();
    }

    fn abandon(&mut self) {
        self.abandoned = true;
    }

    fn describe(&self) -> &'static str {
        match self.capabilities.emulated {
            true => "ring, emulated by the system's library",
            false => "ring",
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if !self.abandoned {
            // SAFETY: the ring was made by `with_calls` and is closed once.
            unsafe { (self.calls.close)(self.ring) };
        }
    }
}

#[cfg(test)]
mod tests {
    use windows_sys::Win32::Foundation::{
        ERROR_ACCESS_DENIED, ERROR_HANDLE_EOF, ERROR_OPERATION_ABORTED, IORING_E_COMPLETION_QUEUE_TOO_FULL,
    };

    use super::*;

    #[test]
    fn results_are_error_numbers_of_windows() {
        let known: [(u32, u32); 9] = [
            // HRESULT_FROM_WIN32
            (0x8007_0005, ERROR_ACCESS_DENIED),
            (0x8007_0026, ERROR_HANDLE_EOF),
            (0x8007_0057, ERROR_INVALID_PARAMETER),
            // HRESULT_FROM_NT: STATUS_ACCESS_DENIED, STATUS_END_OF_FILE, STATUS_CANCELLED
            (0xd000_0022, ERROR_ACCESS_DENIED),
            (0xd000_0011, ERROR_HANDLE_EOF),
            (0xd000_0120, ERROR_OPERATION_ABORTED),
            // The same codes as the kernel returns them.
            (0xc000_0022, ERROR_ACCESS_DENIED),
            (0xc000_0011, ERROR_HANDLE_EOF),
            (0x8046_0008, IORING_E_COMPLETION_QUEUE_TOO_FULL as u32),
        ];
        for (result, error) in known {
            assert_eq!(check(result as Hresult), Err(error), "{result:#x}");
        }
        assert_eq!(check(0), Ok(()));
        assert_eq!(check(1), Ok(()));
        let completion = |code: u32, bytes| IORING_CQE {
            UserData: 0,
            ResultCode: code as Hresult,
            Information: bytes,
        };
        assert_eq!(to_raw_result(&completion(0, 4096)), 4096);
        assert_eq!(to_raw_result(&completion(0xd000_0011, 0)), 0);
        assert_eq!(to_raw_result(&completion(0x8007_0005, 0)), -5);
    }

    #[test]
    fn every_timeout_code_is_recognised() {
        // IORING_E_WAIT_TIMEOUT; WAIT_TIMEOUT, ERROR_TIMEOUT, ERROR_SEM_TIMEOUT; STATUS_IO_TIMEOUT.
        for result in [0x8046_0009u32, 0x8007_0102, 0x8007_05b4, 0x8007_0079, 0xd000_00b5] {
            assert!(is_timeout(result as Hresult), "{result:#x}");
        }
        for result in [0x8046_0008u32, 0x8007_0057, 0x8007_0005] {
            assert!(!is_timeout(result as Hresult), "{result:#x}");
        }
    }

    #[test]
    fn capabilities_of_this_system() {
        match Calls::load() {
            // Wine, and Windows before 11.
            None => assert_eq!(
                Ring::new(4, crate::clock::ClockStart::now().calibrate())
                    .err()
                    .unwrap()
                    .kind(),
                io::ErrorKind::Unsupported
            ),
            Some(calls) => {
                let capabilities = calls.capabilities().unwrap();
                assert!(
                    capabilities.version >= 1 && capabilities.submissions > 0 && capabilities.completions > 0,
                    "{capabilities:?}"
                );
                assert_eq!(
                    capabilities.writes,
                    capabilities.version >= IORING_VERSION_3,
                    "{capabilities:?}"
                );
            }
        }
    }
}
