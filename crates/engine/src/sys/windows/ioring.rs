//! The submission ring of Windows (IoRing): operations are written into a ring that the program and
//! the system share, handed over several in a call, and found in a second ring without a call.
//!
//! Windows before 11 and Server 2025 have none of its functions, so they are looked up while the
//! program runs.

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
use super::overlapped::{Completed, Queue, Transfer, of_error};
use crate::batch::Slot;
use crate::clock::Clock;

type Hresult = i32;

/// Where the functions are. The two that came with version 3 are documented for kernel32.dll, which
/// hands them on to this one.
const LIBRARY: &str = "kernelbase.dll";
/// `S_OK`.
const DONE: Hresult = 0;
/// The longest wait in the system. It bounds what a missed end could cost.
const LONGEST_MS: u32 = 100;
/// `IORING_E_WAIT_TIMEOUT`, which only the documentation of SubmitIoRing names: the value after
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
    /// Those of version 3.
    pub(crate) changes: Option<Changes>,
}

/// The functions with which a ring writes.
#[derive(Clone, Copy)]
pub(crate) struct Changes {
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

/// What the rings of this system can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// 1 and 2, and 300 for version 3.
    pub(crate) version: IORING_VERSION,
    /// Most operations that wait to be handed over.
    pub(crate) submissions: u32,
    /// Most operations whose ends wait to be looked at.
    pub(crate) completions: u32,
    /// They write and flush as well.
    pub(crate) writes: bool,
    /// The system's library does the work of the kernel.
    pub(crate) emulated: bool,
}

impl Calls {
    /// The functions of this system, if it has them.
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
                changes: write.zip(flush).map(|(write, flush)| Changes { write, flush }),
            })
        }
    }

    /// What their rings can do.
    ///
    /// # Errors
    /// The error number where the system does not tell.
    pub(crate) fn capabilities(&self) -> Result<Capabilities, u32> {
        let mut capabilities = IORING_CAPABILITIES::default();
        // SAFETY: the call writes the one live structure.
        checked(unsafe { (self.query)(&mut capabilities) })?;
        Ok(Capabilities {
            version: capabilities.MaxVersion,
            submissions: capabilities.MaxSubmissionQueueSize,
            completions: capabilities.MaxCompletionQueueSize,
            writes: capabilities.MaxVersion >= IORING_VERSION_3 && self.changes.is_some(),
            emulated: capabilities.FeatureFlags & IORING_FEATURE_UM_EMULATION != 0,
        })
    }
}

/// A ring with the operations of one thread.
///
/// The word that comes back with an operation is the number of its slot; that of a cancellation is
/// beyond all slots.
pub(crate) struct Ring {
    calls: Calls,
    can: Capabilities,
    ring: HIORING,
    /// The file of each slot's operation, or null.
    in_flight: Box<[HANDLE]>,
    /// Operations in the ring that were not submitted yet.
    queued: u32,
    abandoned: bool,
    clock: Clock,
}

impl Ring {
    /// A ring of these functions, for that many slots.
    ///
    /// # Errors
    /// The error number.
    pub(crate) fn over(calls: Calls, slots: u32, clock: Clock) -> Result<Ring, u32> {
        let can = calls.capabilities()?;
        let slots = slots.max(1);
        let submissions = slots.min(can.submissions);
        // Room for the ends of cancellations as well.
        let completions = slots.saturating_mul(2).min(can.completions).max(submissions);
        let mut ring: HIORING = null_mut();
        let none = IORING_CREATE_FLAGS::default();
        // SAFETY: the call takes numbers, and writes the one live handle.
        checked(unsafe { (calls.create)(can.version, none, submissions, completions, &mut ring) })?;
        Ok(Ring {
            calls,
            can,
            ring,
            in_flight: vec![null_mut(); slots as usize].into(),
            queued: 0,
            abandoned: false,
            clock,
        })
    }

    /// Puts an operation into the ring, which is handed over first if it is full.
    #[inline]
    fn put(&mut self, build: impl Fn(&Calls, HIORING) -> Hresult) -> Result<(), u32> {
        let mut result = build(&self.calls, self.ring);
        if result == IORING_E_SUBMISSION_QUEUE_FULL {
            self.submit(0, 0)?;
            result = build(&self.calls, self.ring);
        }
        checked(result)?;
        self.queued += 1;
        Ok(())
    }

    /// Hands over what is in the ring, and waits for that many ends.
    fn submit(&mut self, wait_for: u32, milliseconds: u32) -> Result<(), u32> {
        let mut taken = 0;
        // SAFETY: the ring is open, and the call writes one live number. What the operations name
        // is kept alive by the code that began them.
        let result = unsafe { (self.calls.submit)(self.ring, wait_for, milliseconds, &mut taken) };
        match checked(result) {
            Err(error) if !is_timeout(result) => {
                // The others stay in the ring.
                self.queued -= taken.min(self.queued);
                Err(error)
            }
            _ => {
                self.queued = 0;
                Ok(())
            }
        }
    }

    /// Hands over what is in the ring, and waits for one operation to end.
    fn submit_and_wait(&mut self, milliseconds: u32) -> Result<(), u32> {
        match self.submit(1, milliseconds.min(LONGEST_MS)) {
            // The system may not wait for more than is in progress, and the last may have ended
            // since it was looked for.
            Err(ERROR_INVALID_PARAMETER) => self.submit(0, 0),
            result => result,
        }
    }

    /// Takes the operations that have ended out of the ring.
    #[inline]
    fn take(&mut self, found: &mut Vec<Completed>) -> Result<Nanos, u32> {
        // Before any of them is looked at.
        let at = self.clock.now();
        loop {
            let mut ended = IORING_CQE::default();
            // SAFETY: the ring is open, and the call writes the one live structure.
            let result = unsafe { (self.calls.pop)(self.ring, &mut ended) };
            checked(result)?;
            if result != DONE {
                return Ok(at);
            }
            // Cancellations have no place there.
            let Some(file) = self.in_flight.get_mut(ended.UserData).filter(|file| !file.is_null()) else {
                continue;
            };
            *file = null_mut();
            found.push(Completed {
                slot: Slot(ended.UserData as u32),
                result: result_of(&ended),
                at,
            });
        }
    }
}

/// A file as the ring names it.
fn by_handle(file: HANDLE) -> IORING_HANDLE_REF {
    IORING_HANDLE_REF {
        Kind: IORING_REF_RAW,
        Handle: IORING_HANDLE_REF_0 { Handle: file },
    }
}

/// Memory as the ring names it.
fn by_address(start: *mut u8) -> IORING_BUFFER_REF {
    IORING_BUFFER_REF {
        Kind: IORING_REF_RAW,
        Buffer: IORING_BUFFER_REF_0 {
            Address: start.cast::<c_void>(),
        },
    }
}

/// Bytes, or a negative error number.
fn result_of(ended: &IORING_CQE) -> i64 {
    match checked(ended.ResultCode) {
        Ok(()) => ended.Information as i64,
        Err(error) => of_error(error),
    }
}

fn checked(result: Hresult) -> Result<(), u32> {
    match result {
        0.. => Ok(()),
        _ => Err(error_of(result)),
    }
}

/// The error number in a result: an error of Windows or a status of its kernel, each in the form
/// that results have for it. What is neither stays whole.
fn error_of(result: Hresult) -> u32 {
    const OF_WINDOWS: u32 = 0x8007;
    const OF_KERNEL: u32 = 0x1000_0000;
    let word = result as u32;
    if word >> 16 == OF_WINDOWS {
        word & 0xffff
    } else if word & OF_KERNEL != 0 || word >> 30 == 3 {
        // SAFETY: the call takes a number.
        unsafe { RtlNtStatusToDosError((word & !OF_KERNEL) as i32) }
    } else {
        word
    }
}

/// True for every form in which the end of a wait may be reported: then all was handed over.
fn is_timeout(result: Hresult) -> bool {
    const OF_IO: u32 = ERROR_SEM_TIMEOUT;
    matches!(error_of(result), WAIT_TIMED_OUT | WAIT_TIMEOUT | ERROR_TIMEOUT | OF_IO)
}

impl Queue for Ring {
    const KIND: EngineKind = EngineKind::IoRing;
    const LOOKS_BY: &'static str = "SubmitIoRing";

    fn new(slots: u32, clock: Clock) -> io::Result<Ring> {
        let calls = Calls::load().ok_or(io::ErrorKind::Unsupported)?;
        Ring::over(calls, slots, clock).map_err(|error| io::Error::from_raw_os_error(error as i32))
    }

    fn add(&mut self, _: &fs::File) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    unsafe fn start(&mut self, transfer: &Transfer<'_>) -> Result<(), u32> {
        let handle: HANDLE = transfer.file.as_raw_handle();
        let (file, buffer, slot) = (by_handle(handle), by_address(transfer.buffer), transfer.slot.0 as usize);
        let (length, offset) = (transfer.length, transfer.offset);
        match (transfer.writes, self.calls.changes) {
            // SAFETY: the ring is open; the caller promises that file and buffer stay until the
            // slot is found.
            (false, _) => self.put(|calls, ring| unsafe {
                (calls.read)(ring, file, buffer, length, offset, slot, IOSQE_FLAGS_NONE)
            })?,
            // SAFETY: as above.
            (true, Some(changes)) => self.put(|_, ring| unsafe {
                let (plain, free) = (FILE_WRITE_FLAGS_NONE, IOSQE_FLAGS_NONE);
                (changes.write)(ring, file, buffer, length, offset, plain, slot, free)
            })?,
            (true, None) => return Err(ERROR_NOT_SUPPORTED),
        }
        self.in_flight[slot] = handle;
        Ok(())
    }

    fn flushes(&self) -> bool {
        self.can.writes
    }

    fn start_flush(&mut self, file: &fs::File, slot: Slot) -> Result<(), u32> {
        let (handle, slot): (HANDLE, usize) = (file.as_raw_handle(), slot.0 as usize);
        let changes = self.calls.changes.ok_or(ERROR_NOT_SUPPORTED)?;
        // SAFETY: the ring is open, no memory is named, and the file stays open while the slot is
        // in flight.
        self.put(|_, ring| unsafe {
            (changes.flush)(ring, by_handle(handle), FILE_FLUSH_DEFAULT, slot, IOSQE_FLAGS_NONE)
        })?;
        self.in_flight[slot] = handle;
        Ok(())
    }

    fn hand_over(&mut self) -> Result<(), u32> {
        match self.queued {
            0 => Ok(()),
            _ => self.submit(0, 0),
        }
    }

    #[inline]
    fn reap_within(&mut self, milliseconds: u32, found: &mut Vec<Completed>) -> Result<Nanos, u32> {
        if milliseconds > 0 {
            // What has ended already is not to be waited behind.
            let at = self.take(found)?;
            if found.is_empty() {
                self.submit_and_wait(milliseconds)?;
            } else if self.queued > 0 {
                self.submit(0, 0)?;
            } else {
                return Ok(at);
            }
        } else {
            self.hand_over()?;
        }
        self.take(found)
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
            let asked = self.put(|calls, ring| unsafe { (calls.cancel)(ring, by_handle(handle), slot, slots + slot) });
            if asked.is_err() {
                break;
            }
        }
        // Where it fails, the operations are waited for as they are.
        let _ = self.hand_over();
    }

    fn abandon(&mut self) {
        self.abandoned = true;
    }

    fn describe(&self) -> &'static str {
        match self.can.emulated {
            true => "ring, emulated by the system's library",
            false => "ring",
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if !self.abandoned {
            // SAFETY: the ring was made by `over` and is closed once.
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
            // The same as the kernel has them.
            (0xc000_0022, ERROR_ACCESS_DENIED),
            (0xc000_0011, ERROR_HANDLE_EOF),
            (0x8046_0008, IORING_E_COMPLETION_QUEUE_TOO_FULL as u32),
        ];
        for (result, error) in known {
            assert_eq!(checked(result as Hresult), Err(error), "{result:#x}");
        }
        assert_eq!(checked(0), Ok(()));
        assert_eq!(checked(1), Ok(()));
        let ended = |code: u32, bytes| IORING_CQE {
            UserData: 0,
            ResultCode: code as Hresult,
            Information: bytes,
        };
        assert_eq!(result_of(&ended(0, 4096)), 4096);
        assert_eq!(result_of(&ended(0xd000_0011, 0)), 0);
        assert_eq!(result_of(&ended(0x8007_0005, 0)), -5);
    }

    #[test]
    fn the_end_of_a_wait_is_known_in_every_form() {
        // IORING_E_WAIT_TIMEOUT; WAIT_TIMEOUT, ERROR_TIMEOUT, ERROR_SEM_TIMEOUT; STATUS_IO_TIMEOUT.
        for result in [0x8046_0009u32, 0x8007_0102, 0x8007_05b4, 0x8007_0079, 0xd000_00b5] {
            assert!(is_timeout(result as Hresult), "{result:#x}");
        }
        for result in [0x8046_0008u32, 0x8007_0057, 0x8007_0005] {
            assert!(!is_timeout(result as Hresult), "{result:#x}");
        }
    }

    #[test]
    fn what_this_system_can_do_is_reported() {
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
                let can = calls.capabilities().unwrap();
                assert!(
                    can.version >= 1 && can.submissions > 0 && can.completions > 0,
                    "{can:?}"
                );
                assert_eq!(can.writes, can.version >= IORING_VERSION_3, "{can:?}");
            }
        }
    }
}
