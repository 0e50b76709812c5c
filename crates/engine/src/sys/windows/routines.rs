//! Asynchronous operations with completion routines, which the system calls while the thread is in
//! an alertable wait.

use std::cell::UnsafeCell;
use std::fs;
use std::io;
use std::mem::ManuallyDrop;
use std::os::windows::io::AsRawHandle;

use model::Nanos;
use model::plan::EngineKind;
use windows_sys::Win32::Storage::FileSystem::{ReadFileEx, WriteFileEx};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::Threading::SleepEx;

use super::overlapped::{CompletedOperation, Operations, Queue, Transfer, error_result, last_error, slot_at};
use crate::clock::Clock;

/// The operations of one thread. Their routine records each completion and its time.
pub(crate) struct Routines {
    operations: Operations,
    state: ManuallyDrop<Box<UnsafeCell<RoutineState>>>,
    abandoned: bool,
    clock: Clock,
}

/// State of the routine. Every OVERLAPPED structure refers to it.
struct RoutineState {
    /// Address of the first structure.
    operations: usize,
    completed: Vec<CompletedOperation>,
    clock: Clock,
}

/// Called by the system in the thread that started the operation, within [`Queue::reap_within`] of
/// the same queue.
unsafe extern "system" fn on_completion(error: u32, bytes: u32, operation: *mut OVERLAPPED) {
    // SAFETY: the system calls this only for structures of ours, each of which refers to the state
    // of its queue. The state lives as long as operations of the queue are in flight, and no
    // reference to it exists while routines run.
    let state = unsafe { &mut *((*operation).hEvent as *mut RoutineState) };
    let at = state.clock.now();
    state.completed.push(CompletedOperation {
        slot: slot_at(state.operations, operation),
        result: match error {
            0 => i64::from(bytes),
            error => error_result(error),
        },
        at,
    });
}

impl Queue for Routines {
    const KIND: EngineKind = EngineKind::Routines;
    const REAP_CALL: &'static str = "SleepEx";

    fn new(slots: u32, clock: Clock) -> io::Result<Routines> {
        let operations = Operations::new(slots);
        let state = RoutineState {
            operations: operations.base_address(),
            // A routine must not allocate.
            completed: Vec::with_capacity(slots as usize),
            clock,
        };
        Ok(Routines {
            operations,
            state: ManuallyDrop::new(Box::new(UnsafeCell::new(state))),
            abandoned: false,
            clock,
        })
    }

    fn register_file(&mut self, _: &fs::File) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    unsafe fn start(&mut self, transfer: &Transfer<'_>) -> Result<(), u32> {
        let handle = transfer.file.as_raw_handle();
        let state_address = self.state.get() as usize;
        // SAFETY: the slot is free, as the caller promises.
        let operation = unsafe { self.operations.init(transfer.slot, transfer.offset, state_address) };
        // SAFETY: structure and state stay until the operation is reaped, since `self` does or is
        // asked to abandon them; the caller promises the same of the buffer. The event field is
        // unused by these calls.
        let started = unsafe {
            match transfer.writes {
                false => ReadFileEx(handle, transfer.buffer, transfer.length, operation, Some(on_completion)),
                true => WriteFileEx(handle, transfer.buffer, transfer.length, operation, Some(on_completion)),
            }
        };
        match started {
            0 => Err(last_error()),
            _ => Ok(()),
        }
    }

    #[inline]
    fn reap_within(&mut self, milliseconds: u32, completed: &mut Vec<CompletedOperation>) -> Result<Nanos, u32> {
        // SAFETY: the call takes numbers. The routines that run within it use the state, to which
        // no reference exists now.
        unsafe { SleepEx(milliseconds, 1) };
        // SAFETY: the state is live, and no routine runs outside of the call above.
        let state = unsafe { &mut *self.state.get() };
        completed.append(&mut state.completed);
        Ok(self.clock.now())
    }

    fn abandon(&mut self) {
        self.operations.abandon();
        self.abandoned = true;
    }

    fn describe(&self) -> &'static str {
        "completion routines"
    }
}

impl Drop for Routines {
    fn drop(&mut self) {
        if !self.abandoned {
            // SAFETY: this happens once, and the caller that drops the value has made sure that no
            // routine is called any more.
            unsafe { ManuallyDrop::drop(&mut self.state) };
        }
    }
}
