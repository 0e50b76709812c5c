//! What engines have in common that execute one operation after the other: the turn, its stamps,
//! waiting. What an operation does is theirs to say.

use model::Nanos;
use model::plan::EngineKind;
use model::results::EngineUsed;

use crate::batch::{Batch, Completion, Request, Slot};
use crate::clock::Clock;
use crate::error::EngineError;
use crate::sleep::PreciseSleep;
use crate::{Engine, File, Setup};

/// How single operations are executed.
pub(crate) trait Calls {
    /// Does what is to be done between two operations and belongs to neither. True if that took
    /// time.
    #[inline(always)]
    fn tidy(&mut self) -> bool {
        false
    }

    /// No operation begins before this time; the present one or an earlier one for those that never
    /// rest.
    #[inline(always)]
    fn rests_until(&self) -> Nanos {
        Nanos(0)
    }

    /// Carries out an operation. Returns bytes, or a negative error number.
    fn perform(&mut self, io: &Request) -> i64;

    /// The buffer of a slot.
    fn buffer(&mut self, slot: Slot) -> &mut [u8];

    /// Puts another file in the place of one that no operation uses.
    ///
    /// # Errors
    /// [`EngineError`] if the other file cannot be used.
    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError>;

    /// What is in use, for the results.
    fn describe(&self) -> EngineUsed;
}

/// An engine that makes such calls.
pub(crate) struct OneByOne<C> {
    calls: C,
    clock: Clock,
    sleep: PreciseSleep,
}

impl<C: Calls + 'static> OneByOne<C> {
    /// Starts an engine whose calls are made ready by `open`.
    pub(crate) fn open(
        setup: Setup,
        open: impl FnOnce(Setup) -> Result<C, EngineError>,
    ) -> Result<Box<dyn Engine>, EngineError> {
        let (clock, sleep) = (setup.clock, PreciseSleep::new(setup.spin));
        Ok(Box::new(OneByOne {
            calls: open(setup)?,
            clock,
            sleep,
        }))
    }
}

/// What is said of an engine that makes one call after the other.
pub(crate) fn used(kind: EngineKind) -> EngineUsed {
    EngineUsed {
        kind,
        submit_batch: 1,
        inline: true,
        ..EngineUsed::default()
    }
}

impl<C: Calls> Engine for OneByOne<C> {
    #[inline]
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        let tidied = self.calls.tidy();
        let chained = done.chained && !tidied;
        done.before = if chained { done.reaped } else { self.clock.now() };
        if requests.is_empty() {
            if at_least > 0 {
                self.sleep.sleep_until(until, &self.clock);
            }
            done.reaped = self.clock.now();
        } else if self.calls.rests_until() > done.before {
            self.sleep.sleep_until(self.calls.rests_until().min(until), &self.clock);
            done.reaped = self.clock.now();
            (done.before, done.returned, done.submitted) = (done.reaped, done.reaped, 0);
            if done.reaped < self.calls.rests_until() {
                return Ok(());
            }
        }
        let mut last = done.reaped;
        done.done.in_turn(requests, |request| {
            let result = self.calls.perform(request);
            last = self.clock.now();
            let completion = Completion::new(request.slot, result, last);
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
        self.calls.buffer(slot)
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        self.calls.exchange_file(index, with)
    }

    fn describe(&self) -> EngineUsed {
        self.calls.describe()
    }
}
