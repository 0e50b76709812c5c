//! Limits the completions that an engine returns in a turn (fio `iodepth_batch_complete_max`). Only
//! workers with this limit use it, so others have no overhead.

use std::collections::VecDeque;

use model::Nanos;
use model::results::EngineUsed;

use crate::batch::{Batch, Completion, Request, Slot};
use crate::error::EngineError;
use crate::{Engine, File};

/// An engine with limited completions per turn.
pub(crate) struct CappedReaping {
    engine: Box<dyn Engine>,
    max_completions: u32,
    /// The last batch of the inner engine.
    inner_batch: Batch,
    /// Completed operations not yet returned, oldest first. They count as in flight until then.
    pending: VecDeque<Completion>,
}

impl CappedReaping {
    /// Returns at most `max_completions` of the `slots` operations in a turn.
    pub(crate) fn new(engine: Box<dyn Engine>, max_completions: u32, slots: u32) -> CappedReaping {
        CappedReaping {
            engine,
            max_completions: max_completions.max(1),
            inner_batch: Batch::new(slots),
            pending: VecDeque::with_capacity(slots as usize),
        }
    }
}

impl Engine for CappedReaping {
    fn submit_and_reap(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError> {
        batch.done.clear();
        let pending_count = self.pending.len() as u32;
        if requests.is_empty() && pending_count >= wait_nr.clamp(1, self.max_completions) {
            // Enough completions are pending, so no call is needed.
            batch.submit_start = self.engine.now();
            (batch.submit_end, batch.reap_time, batch.submitted) = (batch.submit_start, batch.submit_start, 0);
        } else {
            let wait_nr = wait_nr.min(self.max_completions).saturating_sub(pending_count);
            (self.inner_batch.reap_time, self.inner_batch.chained) = (batch.reap_time, batch.chained);
            self.engine
                .submit_and_reap(requests, wait_nr, until, &mut self.inner_batch)?;
            let inner_batch = &self.inner_batch;
            (batch.submit_start, batch.submit_end) = (inner_batch.submit_start, inner_batch.submit_end);
            (batch.reap_time, batch.submitted) = (inner_batch.reap_time, inner_batch.submitted);
            self.pending.extend(inner_batch.done.iter());
        }
        let count = self.pending.len().min(self.max_completions as usize);
        for completion in self.pending.drain(..count) {
            // It counts as reaped only now.
            batch.done.push(completion.slot, completion.result, batch.reap_time);
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.engine.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.engine.buffer(slot)
    }

    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        self.engine.exchange_file(index, replacement)
    }

    fn describe(&self) -> EngineUsed {
        self.engine.describe()
    }
}
