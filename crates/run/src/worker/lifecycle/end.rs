//! The end of a worker: its last round, final flushes and outcome.

use model::Nanos;
use model::event::{EndReason, Phase};
use model::results::{EngineUsed, Failure};

use super::MeasuredWindow;
use crate::worker::features::{FeatureResults, KeyBlocks, Verification};
use crate::worker::final_flush::flush_at_end;
use crate::worker::{Features, Worker};

/// Operations that complete this soon after the end of the work do not extend the measured window.
const SHORT_TAIL: Nanos = Nanos::millis(1);

/// The outcome of a worker, without the recorders it sent.
#[derive(Debug)]
pub(crate) struct WorkerOutcome {
    pub(crate) reason: EndReason,
    pub(crate) failure: Option<Failure>,
    /// The measured window; empty if it was never reached.
    pub(crate) measured: MeasuredWindow,
    /// The time from the first operation to the last completion.
    pub(crate) active: Nanos,
    pub(crate) engine: EngineUsed,
    pub(crate) slots: u32,
    pub(crate) map_bytes: u64,
    pub(crate) features: FeatureResults,
    pub(crate) tolerated: Vec<Failure>,
    pub(crate) joined_rows: u64,
    /// Zone resets of its patterns.
    pub(crate) zone_resets: u64,
}

impl WorkerOutcome {
    /// The end of a worker that never started.
    pub(crate) fn never_started() -> WorkerOutcome {
        WorkerOutcome {
            reason: EndReason::Interrupted,
            failure: None,
            measured: MeasuredWindow::default(),
            active: Nanos(0),
            engine: EngineUsed::default(),
            slots: 0,
            map_bytes: 0,
            features: FeatureResults::default(),
            tolerated: Vec::new(),
            joined_rows: 0,
            zone_resets: 0,
        }
    }
}

impl Worker<'_> {
    /// Ends the work, or another round of it, once nothing is left to do or in flight. True if the
    /// worker ends.
    #[inline(never)]
    pub(in crate::worker) fn end_if_over(&mut self) -> bool {
        if self.io.in_flight > 0 || !self.io.requests.is_empty() {
            return false;
        }
        let keys = self.features.as_ref().and_then(|features| features.key_blocks.as_ref());
        if keys.is_some_and(KeyBlocks::has_follow_ups) && self.io.budget.operations > 0 {
            return false;
        }
        if let Some(verification) = verification(&mut self.features) {
            verification.await_checks(&mut self.io);
            self.check_failure();
        }
        self.lifecycle.is_draining() || self.end_work()
    }

    /// Called when all work is done. Repeating jobs restart; others end with their last completion.
    /// Returns whether the worker ends.
    #[inline(never)]
    fn end_work(&mut self) -> bool {
        let timeline = &self.lifecycle.timeline;
        let phase = timeline.phase();
        let includes_warm_up = phase == Phase::WarmUp && self.lifecycle.stop.includes_warm_up();
        let measured = phase == Phase::Measured || includes_warm_up;
        let at = self.lifecycle.measured.last_completion.max(timeline.phase_start());
        if let Some(ending) = &self.lifecycle.ending {
            let end = if at < ending.at + SHORT_TAIL { ending.at } else { at };
            self.leave_phase(end, ending.reason.clone());
            self.lifecycle.ending = None;
            self.lifecycle.set_boundary(&mut self.io);
            return self.lifecycle.is_draining();
        }
        if measured && self.start_remaining_verification(at) {
            return false;
        }
        let lifecycle = &mut self.lifecycle;
        let another_round = measured && lifecycle.rounds_left > 1;
        if another_round {
            lifecycle.rounds_left -= 1;
        }
        let repeats = match phase {
            Phase::WarmUp if !includes_warm_up => true,
            Phase::Verify => false,
            _ => lifecycle.stop.repeat_until_time || another_round,
        };
        // A trace is replayed once.
        let replay = self.features.as_ref().and_then(|features| features.replay.as_ref());
        if repeats && !replay.is_some_and(|replay| replay.is_over()) {
            lifecycle.reset_budget(&mut self.io, self.features.as_deref_mut());
            self.io.restart_streams(self.features.as_deref_mut());
            if let Some(verification) = verification(&mut self.features) {
                verification.begin_round();
            }
            return false;
        }
        self.leave_phase(at, EndReason::Done);
        self.lifecycle.set_boundary(&mut self.io);
        self.lifecycle.is_draining()
    }

    /// Called when everything is written. Starts what this round still has to trim or verify; false
    /// if there is nothing.
    fn start_remaining_verification(&mut self, at: Nanos) -> bool {
        let Some(verification) = verification(&mut self.features) else {
            return false;
        };
        if verification.start_final_trims(&mut self.io) {
            return true;
        }
        if verification.end_between_rounds(at) {
            return false;
        }
        self.end_writes();
        if self.lifecycle.rounds_left > 1
            && let Some(verification) = self::verification(&mut self.features)
            && verification.has_to_verify()
        {
            verification.begin_between_rounds(&mut self.io, at);
            return true;
        }
        false
    }

    /// Ends the writes of this round. If only flushed writes count, a final flush happens here.
    fn end_writes(&mut self) {
        let plans = &self.context.plan.streams;
        let flushes = |number: usize| plans[number].sync.at_end;
        let Some(verification) = verification(&mut self.features) else {
            return;
        };
        if (0..plans.len()).any(|number| verification.is_flushed_only(number) && flushes(number)) {
            self.flush_at_end();
        }
        let failed = self.io.errors.failure.is_some();
        if let Some(verification) = self::verification(&mut self.features) {
            verification.end_writes(|number| flushes(number) && !failed);
        }
    }

    /// Performs the plan's flushes at the end of the job, outside all latencies.
    fn flush_at_end(&mut self) {
        let flushed = flush_at_end(&mut self.io, self.features.as_deref_mut(), self.context.plan);
        if let Err(failure) = flushed {
            self.io.errors.failure = Some(*failure);
            self.lifecycle.end_reason = Some(EndReason::Failed);
        }
    }

    /// Sends the last recorder, and returns the outcome.
    pub(in crate::worker) fn end(mut self) -> WorkerOutcome {
        if !self.lifecycle.is_draining() {
            self.leave_phase(self.io.batch.reap_time, EndReason::Failed);
        }
        if self.io.errors.failure.is_none() {
            self.flush_at_end();
        }
        let of_streams = self.io.streams.iter().map(|stream| stream.sequence.zone_resets());
        let of_files = self.features.as_deref().map_or(0, Features::zone_resets);
        let zone_resets = of_streams.sum::<u64>() + of_files;
        let features = self.features.as_deref_mut();
        let features = features.map_or(FeatureResults::default(), |features| features.at_end(&self.io));
        let Worker {
            mut io,
            mut lifecycle,
            context,
            ..
        } = self;
        // Completions during draining belong to no window, only to the lifetime counters.
        let last = lifecycle.measured.last_completion;
        lifecycle.send_final(&mut io, last);
        let mut engine = io.engine.describe();
        engine.reason = context.engine_reason;
        engine.submit_batch = io.batching.submit as u32;
        engine.inline |= io.batching.inline.is_detected;
        let depth = io.pools.iter().map(|pool| (pool.free.len() - pool.reserve) as u32);
        WorkerOutcome {
            reason: lifecycle.end_reason.unwrap_or(EndReason::Done),
            failure: io.errors.failure,
            measured: lifecycle.measured,
            active: last.since(lifecycle.first_issue),
            engine,
            slots: match io.one_at_a_time {
                true => io.pools.len() as u32,
                false => depth.sum(),
            },
            map_bytes: context.map_bytes,
            features,
            tolerated: io.errors.tolerated,
            joined_rows: lifecycle.grids.joined_rows(),
            zone_resets,
        }
    }
}

fn verification(features: &mut Option<Box<Features>>) -> Option<&mut Verification> {
    features.as_mut()?.verification.as_mut()
}
