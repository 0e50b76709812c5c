//! Operations that call a routine of the thread that began them. The system calls it while the
//! thread waits for just that.

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

use super::overlapped::{Completed, Operations, Queue, Transfer, last_error, of_error, slot_of};
use crate::clock::Clock;

/// The operations of one thread, whose routines all do the same: they note what has ended, and
/// when.
pub(crate) struct Routines {
    operations: Operations,
    ended: ManuallyDrop<Box<UnsafeCell<Ended>>>,
    abandoned: bool,
    clock: Clock,
}

/// What the routines find and leave. Every structure names it.
struct Ended {
    /// Address of the first structure.
    operations: usize,
    found: Vec<Completed>,
    clock: Clock,
}

/// Called by the system in the thread that began the operation, within [`Queue::look`] of the same
/// queue.
unsafe extern "system" fn on_end(error: u32, bytes: u32, place: *mut OVERLAPPED) {
    // SAFETY: the system calls this for structures of ours only, each of which names the notes of
    // its queue. They live as long as operations of the queue are in flight, and while routines run
    // no reference to them exists.
    let ended = unsafe { &mut *((*place).hEvent as *mut Ended) };
    let at = ended.clock.now();
    ended.found.push(Completed {
        slot: slot_of(ended.operations, place),
        result: match error {
            0 => i64::from(bytes),
            error => of_error(error),
        },
        at,
    });
}

impl Queue for Routines {
    const KIND: EngineKind = EngineKind::Routines;
    const LOOKS_BY: &'static str = "SleepEx";

    fn new(slots: u32, clock: Clock) -> io::Result<Routines> {
        let operations = Operations::new(slots);
        let ended = Ended {
            operations: operations.start(),
            // A routine must not allocate.
            found: Vec::with_capacity(slots as usize),
            clock,
        };
        Ok(Routines {
            operations,
            ended: ManuallyDrop::new(Box::new(UnsafeCell::new(ended))),
            abandoned: false,
            clock,
        })
    }

    fn add(&mut self, _: &fs::File) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    unsafe fn start(&mut self, transfer: &Transfer<'_>) -> Result<(), u32> {
        let handle = transfer.file.as_raw_handle();
        let notes = self.ended.get() as usize;
        // SAFETY: the slot is free, as the caller promises.
        let place = unsafe { self.operations.ready(transfer.slot, transfer.offset, notes) };
        // SAFETY: structure and notes stay until the operation is found, since `self` does or is
        // asked to abandon them; the caller promises the same of the buffer. The word for an event
        // is free for us, since these calls use none.
        let begun = unsafe {
            match transfer.writes {
                false => ReadFileEx(handle, transfer.buffer, transfer.length, place, Some(on_end)),
                true => WriteFileEx(handle, transfer.buffer, transfer.length, place, Some(on_end)),
            }
        };
        match begun {
            0 => Err(last_error()),
            _ => Ok(()),
        }
    }

    #[inline]
    fn reap_within(&mut self, milliseconds: u32, found: &mut Vec<Completed>) -> Result<Nanos, u32> {
        // SAFETY: the call takes numbers. The routines that run within it use the notes, to which
        // no reference exists now.
        unsafe { SleepEx(milliseconds, 1) };
        // SAFETY: the notes are live, and no routine runs outside of the call above.
        let ended = unsafe { &mut *self.ended.get() };
        found.append(&mut ended.found);
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
            unsafe { ManuallyDrop::drop(&mut self.ended) };
        }
    }
}
