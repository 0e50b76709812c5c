//! `preadv` and `pwritev`: operations that were handed over together and lie one behind the other
//! in a file are one call.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::sleep::PreciseSleep;
use crate::sys::vectors::Vectors;
use crate::{Engine, File, Setup};

pub(crate) struct Vsync {
    files: Vec<File>,
    buffers: Buffers,
    vectors: Vectors,
    submit_batch: u32,
    clock: Clock,
    sleep: PreciseSleep,
}

impl Vsync {
    pub(crate) fn open(setup: Setup) -> Result<Vsync, EngineError> {
        Ok(Vsync {
            buffers: Buffers::new(&setup)?,
            vectors: Vectors::new(setup.submit_batch as usize),
            files: setup.files,
            submit_batch: setup.submit_batch,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    /// How many of the first requests are one call.
    fn neighbours(&self, requests: &[Request]) -> usize {
        let Some(first) = requests.first() else { return 0 };
        if !matches!(first.action, Action::Read | Action::Write) {
            return 1;
        }
        let mut end = first.offset;
        let joins = requests.iter().take(Vectors::MAX_BUFFERS).take_while(|next| {
            let joins = next.file == first.file && next.action == first.action && next.offset == end;
            end = next.offset + u64::from(next.length);
            joins
        });
        joins.count()
    }

    fn perform(&mut self, requests: &[Request]) -> i64 {
        let Some(first) = requests.first() else { return 0 };
        let file = &self.files[usize::from(first.file)];
        let Some(handle) = file.handle() else {
            return requests.iter().map(|io| i64::from(io.length)).sum();
        };
        if !matches!(first.action, Action::Read | Action::Write) {
            return file.without_buffer(first);
        }
        let mut parts = self.vectors.fill();
        for io in requests {
            // SAFETY: each slot has a buffer of its own in a mapping that stays where it is. Those
            // of a turn are used by nothing else until it hands their slots back, which is after
            // the call below.
            unsafe { parts.add(self.buffers.bytes_of(io.slot, io.length as usize)) };
        }
        match first.action {
            Action::Read => parts.read_at(handle, first.offset),
            _ => parts.write_at(handle, first.offset),
        }
    }
}

impl Engine for Vsync {
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        done.before = self.clock.now();
        done.submitted = 0;
        if requests.is_empty() && at_least > 0 {
            self.sleep.sleep_until(until, &self.clock);
        }
        let mut joined = &requests[..self.neighbours(requests)];
        let mut result = self.perform(joined);
        if result < 0 && joined.len() > 1 {
            // The error may be that of any of them: each has to answer for itself.
            joined = &joined[..1];
            result = self.perform(joined);
        }
        done.reaped = self.clock.now();
        done.returned = done.reaped;
        let mut left = result;
        for (number, io) in joined.iter().enumerate() {
            // What a short transfer did not come to is offered again.
            if number > 0 && left <= 0 {
                break;
            }
            let moved = left.min(i64::from(io.length));
            left -= moved.max(0);
            done.done.push(Completion::new(io.slot, moved, done.reaped));
            done.submitted += 1;
        }
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
            kind: EngineKind::Vsync,
            submit_batch: self.submit_batch,
            inline: true,
            ..EngineUsed::default()
        }
    }
}
