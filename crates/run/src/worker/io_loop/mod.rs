//! The parts of the I/O loop: submit operations, pass them to the engine, reap completions. A plain
//! job takes the fast path (`batches`), which plans and counts operations in batches. All others
//! take the general path (`general`), which checks gates and features for each operation. The loop
//! is independent of phases, commands and single features.

mod batches;
mod general;

use engine::{Action, Batch, Engine};
use model::draws::Draws;
use model::{Direction, Nanos};

use super::batching::Batching;
use super::bursts::Bursts;
use super::errors::ErrorLog;
use super::features::Features;
use super::meter::Meter;
use super::recorder::{OperationRun, Recorder, cell_for};
use super::requests::Requests;
use super::slots::{SlotPool, SlotRecord, SlotTable};
use super::stream::LiveStream;

/// Maximum operations per turn of a synchronous engine.
pub(crate) const MAX_IN_TURN: usize = 32;

/// Everything that an operation passes through.
pub(crate) struct IoLoop {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) batch: Batch,
    pub(crate) draws: Draws,
    pub(crate) streams: Vec<LiveStream>,
    pub(crate) pools: Vec<SlotPool>,
    pub(crate) slots: SlotTable,
    /// Operations that the next turn submits.
    pub(crate) requests: Requests,
    pub(crate) in_flight: u32,
    /// The operation of a synchronous engine that crosses a boundary: its index in the batch, and
    /// its start.
    pub(crate) running: Option<(usize, Nanos)>,
    /// Changes whenever operations get another stamp; operations of one round are counted together.
    pub(crate) round: u32,
    pub(crate) path: IssuePath,
    /// The engine is synchronous: it executes the operations of a turn one after the other.
    pub(crate) one_at_a_time: bool,
    pub(crate) batching: Batching,
    pub(crate) pacing: PaceState,
    /// The earliest of all boundaries: phase, exchange of recorders, interval series.
    pub(crate) boundary: Nanos,
    /// Chooses between the alternatives of the targets, if they have some (Iometer).
    pub(crate) bursts: Option<Bursts>,
    pub(crate) budget: Budget,
    /// Passes over its region that each stream makes.
    pub(crate) passes: Option<u32>,
    /// Each pass repeats the draws of the first (fio's generators; others continue).
    pub(crate) repeats_draws: bool,
    /// Nothing more is submitted.
    pub(crate) winding_down: bool,
    pub(crate) recorder: Box<Recorder>,
    pub(crate) errors: ErrorLog,
}

/// How operations are submitted; chosen once, before the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IssuePath {
    /// In batches, from streams that nothing delays.
    Batches,
    /// One by one, with all checks.
    General,
}

/// Decides when delayed streams may continue.
#[derive(Debug)]
pub(crate) struct PaceState {
    /// Some stream has a gate, which tracks completions.
    pub(crate) gated: bool,
    /// When the next stream may submit, if none may now.
    pub(crate) next_due: Nanos,
    pub(crate) meter: Meter,
}

/// The operations and bytes that a worker may still submit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
}

impl Budget {
    /// A budget without limits.
    pub(crate) const UNLIMITED: Budget = Budget {
        operations: u64::MAX,
        bytes: u64::MAX,
    };
}

#[inline(always)]
pub(crate) fn action_for(direction: Direction) -> Action {
    match direction {
        Direction::Read => Action::Read,
        Direction::Write => Action::Write,
        Direction::Trim => Action::Trim,
    }
}

/// The budget, and passes over the region of a stream.
impl IoLoop {
    /// Subtracts an operation from the budget. The last one may exceed the byte limit. The budget
    /// may already be 0 if a feature failed while it prepared the operation.
    #[inline(always)]
    pub(crate) fn spend_budget(&mut self, length: u32) {
        self.budget.operations = self.budget.operations.saturating_sub(1);
        self.budget.bytes = self.budget.bytes.saturating_sub(u64::from(length));
        if self.budget.bytes == 0 {
            self.budget.operations = 0;
        }
        self.winding_down |= self.budget.operations == 0;
    }

    pub(crate) fn stop_submitting(&mut self) {
        self.budget.operations = 0;
        self.winding_down = true;
    }

    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.pools.iter().any(SlotPool::has_room)
    }

    /// True if a queue that was full has not drained enough to be refilled.
    fn defers_refill(&mut self) -> bool {
        let has_room = self.has_room();
        self.batching.defers_refill(self.in_flight, has_room)
    }

    /// Ends a pass of a stream. Returns whether it begins another.
    #[inline(never)]
    pub(crate) fn end_pass(&mut self, number: usize, features: Option<&mut Features>) -> bool {
        let stream = &mut self.streams[number];
        if stream.done {
            return false;
        }
        stream.passes += 1;
        // A pass without operations would repeat forever, because the region has no usable
        // position.
        if stream.idle_pass || self.passes.is_some_and(|passes| stream.passes >= passes) {
            stream.done = true;
            self.winding_down |= self.streams.iter().all(|stream| stream.done);
            return false;
        }
        stream.idle_pass = true;
        if self.repeats_draws {
            self.draws.begin_pass();
        }
        self.restart_stream(number, features);
        true
    }

    /// Begins another pass of all streams.
    pub(crate) fn restart_streams(&mut self, mut features: Option<&mut Features>) {
        if self.repeats_draws {
            self.draws.begin_pass();
        }
        for number in 0..self.streams.len() {
            self.restart_stream(number, features.as_deref_mut());
        }
    }

    fn restart_stream(&mut self, number: usize, features: Option<&mut Features>) {
        self.streams[number].sequence.restart(&mut self.draws);
        self.streams[number].drop_caches();
        if let Some(features) = features {
            features.on_restart(self, number);
        }
    }
}

/// Waiting and reaping.
impl IoLoop {
    /// The number of completions to wait for in the next turn, and the deadline. `phase_end` is the
    /// end of the phase by time. A worker that holds locks does not wait, since others wait for the
    /// locks.
    #[inline(always)]
    pub(crate) fn completions_to_await(&self, phase_end: Nanos, holds_locks: bool) -> (u32, Nanos) {
        if self.one_at_a_time && !self.requests.is_empty() {
            // Operations follow one another until the next boundary.
            return (1, self.boundary);
        }
        let waiting = self.requests.len();
        let has_more = holds_locks && waiting > 0
            || waiting > self.batching.submit
            || self.batching.inline.is_detected && waiting > 0 && self.has_room();
        if has_more || self.batching.is_probing() && waiting > 0 {
            return (0, Nanos::NEVER);
        }
        let at_least = self.batching.complete_min;
        let PaceState { next_due, meter, .. } = &self.pacing;
        if *next_due == Nanos::NEVER {
            // Only a completion permits more operations. Paced workers still update their meter
            // every second.
            let until = if meter.paced { self.boundary } else { Nanos::NEVER };
            return (at_least.min(self.in_flight + waiting as u32), until);
        }
        (at_least.max(1), (*next_due).min(phase_end))
    }

    /// Records when the operations of this turn were issued, and the number in flight then.
    #[inline(always)]
    pub(crate) fn record_issued(&mut self, at_least: u32) {
        let taken = self.batch.submitted as usize;
        let issued = if self.batching.split_stamps {
            self.batch.submit_end
        } else {
            self.batch.submit_start
        };
        for request in self.requests.first(taken) {
            self.slots.get_mut(request.slot).issued = issued;
        }
        self.requests.remove(taken);
        self.in_flight += taken as u32;
        if taken > 0 {
            self.recorder.depth.record(self.in_flight, taken as u64);
            self.recorder.submitted.record_batch(taken as u32);
        }
        let ended = self.batch.done.len() as u32;
        if ended > 0 {
            self.recorder.completed.record_batch(ended);
        }
        self.in_flight -= ended;
        if at_least == 0 && self.batching.adapts {
            self.batching.adapt_batch(self.batch.submitted, ended);
        }
    }

    /// Counts the completions of a turn and frees their slots. True if some need
    /// [`IoLoop::reap_failed_or_short`].
    #[inline(always)]
    pub(crate) fn reap(&mut self) -> bool {
        let reaped = self.batch.reap_time;
        let Some(first) = self.batch.done.first().map(|completion| completion.slot) else {
            return false;
        };
        self.return_slots();
        let mut run = OperationRun::starting_with(self.slots.get(first));
        let mut exceptions = false;
        for completion in self.batch.done.iter() {
            let record = self.slots.get(completion.slot);
            if completion.result != i64::from(record.length) {
                exceptions = true;
                continue;
            }
            if record.key != run.key {
                self.recorder.count(&run, reaped);
                run = OperationRun::starting_with(record);
            }
            run.operations += 1;
            run.bytes += u64::from(record.length);
        }
        self.recorder.count(&run, reaped);
        exceptions
    }

    /// Frees the slots of operations that completed.
    #[inline(always)]
    fn return_slots(&mut self) {
        let done = &self.batch.done[..];
        if let [pool] = &mut self.pools[..] {
            let free_entries = &mut pool.free[pool.free_count..];
            for (completion, place) in done.iter().zip(free_entries) {
                *place = completion.slot;
            }
            pool.free_count += done.len();
            return;
        }
        for completion in done {
            let pool = self.slots.get(completion.slot).pool;
            self.pools[pool as usize].release(completion.slot);
        }
    }

    /// Counts operations of a synchronous engine until one needs [`IoLoop::record_synchronous`].
    /// Begins at `index`. Returns the index of that operation, and the end of the previous one.
    #[inline(always)]
    pub(crate) fn reap_synchronous(&mut self, index: usize, start: Nanos) -> (usize, Nanos) {
        match (self.path, &self.streams[..]) {
            (IssuePath::General, _) => (index, start),
            (IssuePath::Batches, [stream]) => {
                let (done, requests) = (&self.batch.done[index..], &self.requests.first(MAX_IN_TURN)[index..]);
                let counted = self
                    .recorder
                    .count_synchronous(done, requests, &stream.cells, start, self.boundary);
                (index + counted.0, counted.1)
            }
            (IssuePath::Batches, _) => self.reap_streams_synchronous(index, start),
        }
    }

    #[inline(never)]
    fn reap_streams_synchronous(&mut self, mut index: usize, mut start: Nanos) -> (usize, Nanos) {
        while let Some(completion) = self.batch.done.get(index) {
            let record = self.slots.get(completion.slot);
            if completion.at >= self.boundary || completion.result != i64::from(record.length) {
                break;
            }
            self.recorder
                .count_one(record.key as u32, record.length, start, start, completion.at);
            (index, start) = (index + 1, completion.at);
        }
        (index, start)
    }

    /// Completes the record of one of these operations and frees its slot. `start` is the end of
    /// the previous operation.
    #[inline(never)]
    pub(crate) fn record_synchronous(&mut self, index: usize, start: Nanos) -> SlotRecord {
        let slot = self.batch.done[index].slot;
        let record = self.slots.get_mut(slot);
        if let (IssuePath::Batches, [stream]) = (self.path, &self.streams[..]) {
            let request = self.requests.first(MAX_IN_TURN)[index];
            record.key = u64::from(cell_for(&stream.cells, request.action));
            (record.offset, record.length, record.file) = (request.offset, request.length, request.file);
        }
        (record.queued, record.issued) = (start, start);
        let record = *record;
        if self.path == IssuePath::General {
            self.pools[record.pool as usize].release(slot);
        }
        record
    }

    /// Notifies gates of completions.
    #[inline(never)]
    pub(crate) fn notify_pacing(&mut self, reaped: Nanos) {
        for completion in self.batch.done.iter() {
            let stream = self.slots.get(completion.slot).stream as usize;
            if let Some(gate) = &mut self.streams[stream].gate {
                gate.record_completion(reaped);
            }
        }
    }

    /// Drops operations that the engine has not accepted yet, and frees their slots.
    pub(crate) fn drop_unsubmitted(&mut self) {
        if self.one_at_a_time {
            // The list is still being reaped, and cleared afterwards.
            return;
        }
        for request in self.requests.first(usize::MAX) {
            let pool = self.slots.get(request.slot).pool as usize;
            self.pools[pool].release(request.slot);
        }
        self.requests.clear();
    }
}
