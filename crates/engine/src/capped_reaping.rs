//! Any engine, with its completions handed on no more than that many at a time (fio
//! `iodepth_batch_complete_max`).
//!
//! Only a worker that asks for it has this in its way; all others pay nothing for it.

use std::collections::VecDeque;

use model::Nanos;
use model::results::EngineUsed;

use crate::batch::{Batch, Completion, Request, Slot};
use crate::error::EngineError;
use crate::{Engine, File};

/// An engine behind a bound.
pub(crate) struct Portioned {
    engine: Box<dyn Engine>,
    most: u32,
    /// What the engine gave; taken from, one bounded piece after the other.
    brought: Batch,
    /// Ended operations that have not been handed on, oldest first. They count as in flight until
    /// then.
    kept: VecDeque<Completion>,
}

impl Portioned {
    /// At most `most` of the `slots` operations are handed on in a turn.
    pub(crate) fn new(engine: Box<dyn Engine>, most: u32, slots: u32) -> Portioned {
        Portioned {
            engine,
            most: most.max(1),
            brought: Batch::new(slots),
            kept: VecDeque::with_capacity(slots as usize),
        }
    }
}

impl Engine for Portioned {
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        let kept = self.kept.len() as u32;
        if requests.is_empty() && kept >= at_least.clamp(1, self.most) {
            // As with a ring that still holds some: no call is needed.
            done.before = self.engine.now();
            (done.returned, done.reaped, done.submitted) = (done.before, done.before, 0);
        } else {
            let at_least = at_least.min(self.most).saturating_sub(kept);
            (self.brought.reaped, self.brought.chained) = (done.reaped, done.chained);
            self.engine.turn(requests, at_least, until, &mut self.brought)?;
            let brought = &self.brought;
            (done.before, done.returned) = (brought.before, brought.returned);
            (done.reaped, done.submitted) = (brought.reaped, brought.submitted);
            self.kept.extend(brought.done.iter());
        }
        let count = self.kept.len().min(self.most as usize);
        for completion in self.kept.drain(..count) {
            // It is taken only now.
            done.done.push(Completion {
                at: done.reaped,
                ..completion
            });
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.engine.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.engine.buffer(slot)
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        self.engine.exchange_file(index, with)
    }

    fn describe(&self) -> EngineUsed {
        self.engine.describe()
    }
}
