//! Code common to all synchronous engines: the turn, its stamps, waiting. Each engine implements
//! [`SyncCalls`] for its operations.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;

use crate::batch::{Batch, Completion, Request, Slot};
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::error::EngineError;
use crate::sleep::PreciseSleep;
use crate::{Engine, File, Setup};

/// The operations of a synchronous engine.
pub(crate) trait SyncCalls {
    /// Does work between two operations that counts for neither. True if it took time.
    #[inline(always)]
    fn finish_previous(&mut self) -> bool {
        false
    }

    /// Time before which no operation starts; zero for engines that never pause.
    #[inline(always)]
    fn paused_until(&self) -> Nanos {
        Nanos(0)
    }

    /// Executes an operation. Returns bytes, or a negative error number.
    fn perform(&mut self, io: &Request) -> i64;

    /// The open files and the buffers, of an engine that uses them.
    fn storage(&mut self) -> Option<(&mut Vec<File>, &mut Buffers)> {
        None
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        match self.storage() {
            Some((_, buffers)) => buffers.get_mut(slot),
            None => &mut [],
        }
    }

    /// Replaces a file that no operation uses.
    ///
    /// # Errors
    /// [`EngineError`] if the new file cannot be used.
    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        if let Some((files, _)) = self.storage() {
            files[usize::from(index)] = replacement;
        }
        Ok(())
    }

    /// Optional features in use, for the results.
    fn features(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A synchronous engine over its calls.
pub(crate) struct SyncEngine<C> {
    kind: EngineKind,
    calls: C,
    clock: Clock,
    sleep: PreciseSleep,
}

impl<C: SyncCalls + 'static> SyncEngine<C> {
    /// Starts the engine with the calls that `open` prepares.
    pub(crate) fn open(
        setup: Setup,
        open: impl FnOnce(Setup) -> Result<C, EngineError>,
    ) -> Result<Box<dyn Engine>, EngineError> {
        let (kind, clock, sleep) = (setup.choice.kind, setup.clock, PreciseSleep::new(setup.spin));
        Ok(Box::new(SyncEngine {
            kind,
            calls: open(setup)?,
            clock,
            sleep,
        }))
    }
}

impl<C: SyncCalls> Engine for SyncEngine<C> {
    #[inline]
    fn submit_and_reap(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError> {
        batch.done.clear();
        let finished = self.calls.finish_previous();
        let chained = batch.chained && !finished;
        batch.submit_start = if chained { batch.reap_time } else { self.clock.now() };
        if requests.is_empty() {
            if wait_nr > 0 {
                self.sleep.sleep_until(until, &self.clock);
            }
            batch.reap_time = self.clock.now();
        } else if self.calls.paused_until() > batch.submit_start {
            self.sleep
                .sleep_until(self.calls.paused_until().min(until), &self.clock);
            batch.reap_time = self.clock.now();
            (batch.submit_start, batch.submit_end, batch.submitted) = (batch.reap_time, batch.reap_time, 0);
            if batch.reap_time < self.calls.paused_until() {
                return Ok(());
            }
        }
        let mut last = batch.reap_time;
        batch.done.fill_while(requests, |request| {
            let result = self.calls.perform(request);
            last = self.clock.now();
            let completion = Completion::new(request.slot, result, last);
            (completion, last < until)
        });
        batch.reap_time = last;
        batch.submitted = batch.done.len() as u32;
        batch.submit_end = batch.reap_time;
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.calls.buffer(slot)
    }

    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        self.calls.exchange_file(index, replacement)
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: self.kind,
            features: self.calls.features(),
            submit_batch: 1,
            inline: true,
            ..EngineUsed::default()
        }
    }
}
