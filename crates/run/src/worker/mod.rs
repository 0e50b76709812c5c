//! One worker: a thread that issues I/O and owns all it touches.
//!
//! Read this file first. A worker runs one loop: it takes operations from its streams and submits
//! them, lets the engine execute a turn, and reaps completions. `io_loop` has the parts of the
//! loop, `lifecycle` the phases and the end, and `features` the work per operation that only some
//! plans need. In the measured window, nothing here allocates, locks, prints or reads another
//! clock.

mod batching;
mod bursts;
mod errors;
mod features;
mod final_flush;
mod io_loop;
mod lifecycle;
mod meter;
mod outbox;
mod recorder;
mod requests;
mod setup;
mod slots;
mod stream;
mod timeline;
mod unfinished;
mod windows;

use std::sync::Arc;

use engine::{Completion, SimulatedWorker};
use model::Nanos;
use model::plan::{Job, Worker as WorkerPlan};

use crate::control::JobControl;
use crate::flow::Flows;
use features::Features;
use io_loop::{IoLoop, IssuePath};
use lifecycle::Lifecycle;

pub(crate) use lifecycle::WorkerOutcome;
pub(crate) use outbox::{Inbox, create_mailbox};
pub(crate) use recorder::{CellKey, CellKind, Recorder, RecorderSetup};
pub(crate) use setup::{Assignment, ReadyKind, ReadyTarget, buffer_bytes, set_up};

/// A worker, ready to run.
pub(crate) struct Worker<'plan> {
    io: IoLoop,
    lifecycle: Lifecycle,
    /// Optional features; absent for plain jobs, which take a fast path.
    features: Option<Box<Features>>,
    context: Context<'plan>,
}

/// Data from the plan and the step of the worker.
struct Context<'plan> {
    plan: &'plan WorkerPlan,
    job: &'plan Job,
    control: &'plan Arc<JobControl>,
    /// Operations that streams of the step share by weight (fio `flow`).
    flows: &'plan Flows,
    /// The worker's part in the simulation, if it uses simulated devices.
    simulated: Option<SimulatedWorker>,
    /// Memory that is pinned while the worker runs.
    _pinned: Option<engine::PinnedMemory>,
    engine_reason: String,
    map_bytes: u64,
}

impl Worker<'_> {
    /// Attaches the operation log and the trace of the job.
    pub(crate) fn attach_logs(
        &mut self,
        operations: Option<crate::operation_log::LogWriter>,
        trace: Option<crate::issue_trace::LogWriter>,
    ) {
        if let Some(features) = &mut self.features {
            features.attach_logs(operations, trace);
        }
    }

    /// Issues I/O until the job is over. `start` is when it begins, on the clock of the engine.
    pub(crate) fn run(mut self: Box<Self>, start: Nanos) -> WorkerOutcome {
        let start = match &self.context.simulated {
            Some(worker) => worker.wait_for_turn().max(start),
            None => start,
        };
        self.begin(start);
        // Decided once, so that plain jobs skip the checks.
        if self.features.is_some() {
            self.run_loop::<true>();
        } else {
            self.run_loop::<false>();
        }
        self.end()
    }

    /// The main loop. Its two forms are separate functions: in one function they would share
    /// registers, which costs one more instruction per operation of the null engine.
    #[inline(never)]
    fn run_loop<const FEATURES: bool>(&mut self) {
        while !(self.io.winding_down && self.end_if_over()) {
            self.submit::<FEATURES>();
            let holds_locks = FEATURES && self.features.as_ref().is_some_and(|features| features.holds_locks());
            let (at_least, until) = self.io.completions_to_await(self.lifecycle.phase_end(), holds_locks);
            let requests = self.io.requests.first(self.io.batching.submit);
            if FEATURES && let Some(features) = &mut self.features {
                features.before_turn(requests);
            }
            if let Err(error) = self
                .io
                .engine
                .submit_and_reap(requests, at_least, until, &mut self.io.batch)
            {
                self.fail_with_engine(&error);
                break;
            }
            if FEATURES && let Some(features) = &mut self.features {
                features.after_turn(&mut self.io, at_least, until);
            }
            let crosses_boundary = self.io.batch.reap_time >= self.io.boundary;
            if self.io.one_at_a_time {
                self.reap_synchronous::<FEATURES>();
            } else {
                self.reap::<FEATURES>(at_least, crosses_boundary);
            }
            if self.context.control.commands() != self.lifecycle.commands_seen() {
                self.apply_commands();
            }
            if crosses_boundary || FEATURES && self.features.as_mut().is_some_and(|features| features.take_stalls()) {
                // Changing phase and waiting for a log take time that counts for no operation.
                self.io.batch.reap_time = self.io.engine.now();
            }
        }
    }

    #[inline(always)]
    fn submit<const FEATURES: bool>(&mut self) {
        if FEATURES && let Some(features) = &mut self.features {
            features.submit(&mut self.io);
            self.check_failure();
            return;
        }
        match (self.io.path, self.io.one_at_a_time) {
            (IssuePath::Batches, true) => self.io.submit_synchronous(),
            (IssuePath::Batches, false) => self.io.submit_batches(),
            (IssuePath::General, _) => self.io.submit_general(None),
        }
    }

    /// Counts the completions of a turn. `crosses_boundary` is true if it ended beyond a boundary.
    #[inline(always)]
    fn reap<const FEATURES: bool>(&mut self, at_least: u32, crosses_boundary: bool) {
        let reaped = self.io.batch.reap_time;
        self.io.record_issued(at_least);
        if crosses_boundary {
            self.advance_phase(reaped);
        }
        if FEATURES {
            self.reap_each();
        } else if self.io.reap() {
            self.reap_all_failed_or_short();
        }
        self.after_reaping::<FEATURES>(reaped);
    }

    /// Counts operations one by one.
    #[inline(never)]
    fn reap_each(&mut self) {
        let at = self.io.batch.reap_time;
        for index in 0..self.io.batch.done.len() {
            let completion = Completion {
                at,
                ..self.io.batch.done[index]
            };
            let pool = self.io.slots.get(completion.slot).pool as usize;
            let Some(features) = &mut self.features else { return };
            features.on_completed(&mut self.io, completion);
            self.check_failure();
            self.io.pools[pool].release(completion.slot);
            if let Some(features) = &mut self.features {
                features.after_completion(&mut self.io, pool);
                self.check_failure();
            }
        }
    }

    /// Counts operations that failed or were short.
    #[inline(never)]
    fn reap_all_failed_or_short(&mut self) {
        let reaped = self.io.batch.reap_time;
        for index in 0..self.io.batch.done.len() {
            let completion = self.io.batch.done[index];
            if completion.result != i64::from(self.io.slots.get(completion.slot).length) {
                self.io.reap_failed_or_short(completion.slot, completion.result, reaped);
                self.check_failure();
            }
        }
    }

    /// Counts operations that ran one after another. The end of each is the start of the next.
    #[inline(always)]
    fn reap_synchronous<const FEATURES: bool>(&mut self) {
        let mut start = self.io.batch.submit_start;
        let mut index = 0;
        while index < self.io.batch.done.len() {
            (index, start) = self.io.reap_synchronous(index, start);
            let Some(completion) = self.io.batch.done.get(index) else {
                break;
            };
            let at = completion.at;
            if at >= self.io.boundary {
                self.io.running = Some((index, start));
                self.advance_phase(at);
                self.io.running = None;
            }
            self.reap_one::<FEATURES>(index, start);
            (index, start) = (index + 1, at);
        }
        if self.io.batch.reap_time >= self.io.boundary {
            self.advance_phase(self.io.batch.reap_time);
        }
        self.after_reaping::<FEATURES>(start);
        if self.lifecycle.is_ending() {
            self.io.requests.clear();
        } else {
            self.io.requests.remove(self.io.batch.submitted as usize);
        }
    }

    /// The slow path for one operation. It is used at a boundary, with several streams, or after a
    /// failure.
    #[inline(never)]
    fn reap_one<const FEATURES: bool>(&mut self, index: usize, start: Nanos) {
        let completion = self.io.batch.done[index];
        let record = self.io.record_synchronous(index, start);
        if FEATURES && let Some(features) = &mut self.features {
            features.on_completed(&mut self.io, completion);
        } else if completion.result == i64::from(record.length) {
            let cell = record.key as u32;
            self.io
                .recorder
                .count_one(cell, record.length, record.due, start, completion.at);
        } else {
            self.io
                .reap_failed_or_short(completion.slot, completion.result, completion.at);
        }
        self.check_failure();
    }
}
