//! Allocating and giving back space instead of moving data, one range at a time: a read allocates without changing the size
//! of the file, a write allocates and may extend it, a trim punches a hole.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::file::FileKind;
use crate::sleep::PreciseSleep;
use crate::sys;
use crate::{Engine, File, Setup};

pub(crate) struct Falloc {
    files: Vec<File>,
    /// Callers fill buffers before writes, whatever becomes of them.
    buffers: Buffers,
    clock: Clock,
    sleep: PreciseSleep,
}

impl Falloc {
    pub(crate) fn open(setup: Setup) -> Result<Falloc, EngineError> {
        let other = |file: &&File| !matches!(file.kind(), FileKind::Regular | FileKind::Nothing);
        if let Some(file) = setup.files.iter().find(other) {
            return Err(EngineError::unavailable(
                EngineKind::Falloc,
                format!(
                    "{} is no regular file, so no space can be allocated in it",
                    file.path().display()
                ),
                "name a regular file",
            ));
        }
        Ok(Falloc {
            buffers: Buffers::new(&setup)?,
            files: setup.files,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    fn perform(&self, io: &Request) -> i64 {
        let file = &self.files[usize::from(io.file)];
        let Some(handle) = file.handle() else {
            return i64::from(io.length);
        };
        match io.action {
            Action::Read => sys::file::allocate_range(handle, io.offset, u64::from(io.length), true),
            Action::Write => sys::file::allocate_range(handle, io.offset, u64::from(io.length), false),
            _ => file.without_buffer(io),
        }
    }
}

impl Engine for Falloc {
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        done.before = if done.chained { done.reaped } else { self.clock.now() };
        if requests.is_empty() {
            if at_least > 0 {
                self.sleep.until(until, &self.clock);
            }
            done.reaped = self.clock.now();
        }
        let mut last = done.reaped;
        done.done.in_turn(requests, |request| {
            let result = self.perform(request);
            last = self.clock.now();
            let completion = Completion {
                slot: request.slot,
                result,
                at: last,
            };
            (completion, last < until)
        });
        done.reaped = last;
        done.submitted = done.done.len() as u32;
        done.returned = done.reaped;
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.whole(slot)
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        self.files[usize::from(index)] = with;
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: EngineKind::Falloc,
            submit_batch: 1,
            inline: true,
            ..EngineUsed::default()
        }
    }
}
