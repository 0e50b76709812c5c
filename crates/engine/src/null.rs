//! Completes every operation immediately, to measure the overhead of the tool itself.

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
    /// Each operation has its own stamps, as in a synchronous engine.
    depth_is_one: bool,
    submit_batch: u32,
    clock: Clock,
    sleep: PreciseSleep,
}

impl Null {
    pub(crate) fn open(setup: Setup) -> Result<Null, EngineError> {
        Ok(Null {
            buffers: Buffers::new(&setup)?,
            depth_is_one: setup.depth_is_one,
            submit_batch: setup.submit_batch,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    #[inline(always)]
    fn one_by_one(&self, requests: &[Request], until: Nanos, batch: &mut Batch) -> Result<(), EngineError> {
        let mut last = batch.reap_time;
        batch.done.fill_while(requests, |request| {
            last = self.clock.now();
            (
                Completion::new(request.slot, i64::from(request.length), last),
                last < until,
            )
        });
        batch.reap_time = last;
        batch.submitted = batch.done.len() as u32;
        batch.submit_end = batch.reap_time;
        Ok(())
    }
}

impl Engine for Null {
    #[inline]
    fn submit_and_reap(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError> {
        batch.done.clear();
        batch.submit_start = if batch.chained {
            batch.reap_time
        } else {
            self.clock.now()
        };
        batch.submitted = requests.len() as u32;
        if self.depth_is_one && !requests.is_empty() {
            return self.one_by_one(requests, until, batch);
        }
        if requests.is_empty() && wait_nr > 0 {
            self.sleep.sleep_until(until, &self.clock);
        }
        batch.reap_time = self.clock.now();
        batch.submit_end = batch.reap_time;
        let at = batch.reap_time;
        // A flush has length 0 and transfers 0 bytes.
        for request in requests {
            batch.done.push(request.slot, i64::from(request.length), at);
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.get_mut(slot)
    }

    fn exchange_file(&mut self, _: u16, _: File) -> Result<(), EngineError> {
        // This engine uses no files.
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
