//! Does nothing, at once: the tool itself is what it measures.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;

use crate::batch::{Batch, Completion, Request, Slot};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::sleep::PreciseSleep;
use crate::{Engine, File, Setup};

pub(crate) struct Null {
    buffers: Buffers,
    /// Each operation has stamps of its own, as those of a synchronous engine have.
    one_at_a_time: bool,
    submit_batch: u32,
    clock: Clock,
    sleep: PreciseSleep,
}

impl Null {
    pub(crate) fn open(setup: Setup) -> Result<Null, EngineError> {
        Ok(Null {
            buffers: Buffers::new(&setup)?,
            one_at_a_time: setup.one_at_a_time,
            submit_batch: setup.submit_batch,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }
}

impl Null {
    #[inline(always)]
    fn one_by_one(&self, requests: &[Request], until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        let mut last = done.reaped;
        done.done.in_turn(requests, |request| {
            last = self.clock.now();
            (
                Completion::new(request.slot, i64::from(request.length), last),
                last < until,
            )
        });
        done.reaped = last;
        done.submitted = done.done.len() as u32;
        done.returned = done.reaped;
        Ok(())
    }
}

impl Engine for Null {
    #[inline]
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        done.before = if done.chained { done.reaped } else { self.clock.now() };
        done.submitted = requests.len() as u32;
        if self.one_at_a_time && !requests.is_empty() {
            return self.one_by_one(requests, until, done);
        }
        if requests.is_empty() && at_least > 0 {
            self.sleep.sleep_until(until, &self.clock);
        }
        done.reaped = self.clock.now();
        done.returned = done.reaped;
        let at = done.reaped;
        // The length of a flush is 0, and so is what it moves.
        for request in requests {
            done.done
                .push(Completion::new(request.slot, i64::from(request.length), at));
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.whole(slot)
    }

    fn exchange_file(&mut self, _: u16, _: File) -> Result<(), EngineError> {
        // It touches none.
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: EngineKind::Null,
            submit_batch: self.submit_batch,
            inline: true,
            ..EngineUsed::default()
        }
    }
}
