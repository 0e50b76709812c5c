//! The lifecycle of a worker: start, phases and intervals, commands.

mod end;

use engine::{EngineError, sys};
use model::draws::Purpose;
use model::event::{EndReason, Phase};
use model::plan::Stop;
use model::results::{Failure, Usage};
use model::{Direction, Nanos};

use super::io_loop::{Budget, IoLoop};
use super::outbox::Outbox;
use super::recorder::Grids;
use super::setup::Assignment;
use super::stream::Gate;
use super::timeline::Timeline;
use super::unfinished::{Unfinished, collect_unfinished};
use super::{Features, Worker};

pub(crate) use end::WorkerOutcome;

/// The state of phases and intervals.
pub(super) struct Lifecycle {
    timeline: Timeline,
    interval: Nanos,
    grids: Grids,
    outbox: Outbox,
    /// The budget of the measured window.
    budget: Budget,
    stop: Stop,
    /// Rounds to execute, including the current one.
    rounds_left: u32,
    commands_seen: u32,
    measured: MeasuredWindow,
    warm_up_bytes: Option<WarmUpBytes>,
    first_issue: Nanos,
    end_reason: Option<EndReason>,
    ending: Option<Ending>,
}

/// The end of the work, while operations in flight still count.
#[derive(Debug)]
struct Ending {
    at: Nanos,
    reason: EndReason,
    /// Nothing was left to do.
    is_done: bool,
}

/// The measured window of a worker, on the clock of the engine.
#[derive(Debug, Default)]
pub(crate) struct MeasuredWindow {
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    usage_at_start: Usage,
    /// The usage of the thread.
    pub(crate) usage: Usage,
    last_completion: Nanos,
    /// How often it was restarted.
    epoch: u32,
    /// Stream, direction and number of paced operations that were due but not issued.
    pub(crate) late: Vec<(u32, Direction, u64)>,
    /// Operations that had not completed at its end.
    pub(crate) unfinished: Vec<Unfinished>,
}

/// A warm-up that ends after an amount of bytes.
#[derive(Clone, Copy, Debug)]
struct WarmUpBytes {
    wanted: u64,
    /// Bytes in recorders that were exchanged.
    sent: u64,
}

impl Lifecycle {
    pub(super) fn new(assignment: &Assignment<'_>, budget: Budget, grids: Grids, outbox: Outbox) -> Lifecycle {
        let job = assignment.job;
        Lifecycle {
            timeline: Timeline::new(&job.phases, &job.stop, Nanos(0), assignment.interval),
            interval: assignment.interval,
            grids,
            outbox,
            budget,
            stop: job.stop,
            rounds_left: job.stop.rounds.unwrap_or(1),
            commands_seen: 0,
            measured: MeasuredWindow::default(),
            warm_up_bytes: job.phases.warm_up_bytes.map(|bytes| WarmUpBytes {
                wanted: bytes.0,
                sent: 0,
            }),
            first_issue: Nanos(0),
            end_reason: None,
            ending: None,
        }
    }

    #[inline(always)]
    pub(super) fn phase_end(&self) -> Nanos {
        self.timeline.phase_end()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.timeline.phase() == Phase::Draining
    }

    /// True if nothing more is submitted, and operations in flight are awaited.
    pub(super) fn is_ending(&self) -> bool {
        self.is_draining() || self.ending.is_some()
    }

    #[inline(always)]
    pub(super) fn commands_seen(&self) -> u32 {
        self.commands_seen
    }

    fn set_boundary(&self, io: &mut IoLoop) {
        io.boundary = self.timeline.next_boundary().min(self.grids.next());
    }

    fn start_measuring(&mut self, features: Option<&mut Features>, at: Nanos) {
        self.measured.start = at;
        self.measured.end = at;
        self.measured.usage_at_start = sys::thread::usage();
        self.grids.start(at);
        self.outbox.publish_phase(Phase::Measured);
        if let Some(features) = features {
            features.on_window_start(at);
        }
    }

    fn stop_measuring(&mut self, io: &mut IoLoop, features: Option<&mut Features>, at: Nanos) {
        self.measured.end = at;
        if let Some(features) = features {
            features.on_window_end(at);
        }
        self.measured.usage = self.usage_so_far();
        io.recorder.usage = self.measured.usage;
        self.grids.finish(&mut io.recorder);
        // Operations that became due during the wait for those in flight are not late.
        let ending = self.ending.as_ref().map(|ending| (ending.at, ending.is_done));
        let (work_end, is_done) = ending.unwrap_or((at, io.winding_down));
        self.measured.unfinished = collect_unfinished(io, (self.measured.start, work_end), is_done);
        for (number, stream) in io.streams.iter().enumerate() {
            if let Some(gate) = &stream.gate {
                for (direction, count) in gate.count_late(work_end).iter() {
                    if *count > 0 {
                        self.measured.late.push((number as u32, direction, *count));
                    }
                }
            }
        }
    }

    /// Usage of the thread in the measured window so far. Only the thread itself can query it, so
    /// it does so at every boundary, for reports before the end.
    fn usage_so_far(&self) -> Usage {
        sys::thread::usage().since(self.measured.usage_at_start)
    }

    /// Sends the recorder and continues with an empty one. If there is none, the interval
    /// continues.
    fn exchange(&mut self, io: &mut IoLoop, at: Nanos) {
        self.grids.absorb(&mut io.recorder);
        complete_recorder(io, at);
        if self.timeline.phase() == Phase::Measured {
            io.recorder.usage = self.usage_so_far();
        }
        let bytes = self.warm_up_bytes.map_or(0, |_| bytes_recorded(io));
        if self.outbox.exchange(&mut io.recorder) {
            if let Some(warm_up) = &mut self.warm_up_bytes {
                warm_up.sent += bytes;
            }
            self.begin_recorder(io, at);
        } else {
            io.recorder.merged_intervals += 1;
        }
    }

    /// Sends the recorder of a finished phase, because phases are never mixed. Waits for an empty
    /// one if necessary, outside the finished window.
    fn send_final(&mut self, io: &mut IoLoop, at: Nanos) {
        complete_recorder(io, at);
        self.outbox.exchange_or_wait(&mut io.recorder);
    }

    fn begin_recorder(&mut self, io: &mut IoLoop, at: Nanos) {
        self.grids.recorder_is_new();
        io.recorder.start = at;
        io.recorder.phase = self.timeline.phase();
        io.recorder.phase_start = self.timeline.phase_start();
        io.recorder.epoch = self.measured.epoch;
    }

    /// Resets budget and passes, for a phase or a round with its own amounts.
    fn reset_budget(&self, io: &mut IoLoop, features: Option<&mut Features>) {
        io.budget = match self.timeline.phase() {
            Phase::WarmUp if !self.stop.includes_warm_up() => Budget::UNLIMITED,
            _ => self.budget,
        };
        if let Some(verification) = features.and_then(|features| features.verification.as_mut()) {
            verification.on_reset();
        }
        io.winding_down = self.is_draining();
        for stream in &mut io.streams {
            stream.passes = 0;
            stream.done = false;
        }
    }

    /// Lifts the byte limit of the warm-up once it is reached, and returns true then.
    fn end_warm_up_if_complete(&mut self, io: &IoLoop) -> bool {
        let Some(WarmUpBytes { wanted, sent }) = self.warm_up_bytes else {
            return false;
        };
        let warming_up = self.timeline.phase() == Phase::WarmUp;
        let warm = warming_up && bytes_recorded(io) + sent >= wanted;
        if warm || !warming_up {
            self.warm_up_bytes = None;
        }
        warm
    }
}

/// Completes the recorder with the data of its end.
fn complete_recorder(io: &mut IoLoop, at: Nanos) {
    io.recorder.end = at;
    let (queue, threads) = io.pacing.meter.take(at);
    io.recorder.queue.add(&queue);
    io.recorder.threads.add(&threads);
}

fn bytes_recorded(io: &IoLoop) -> u64 {
    io.recorder.cells.iter().map(|cell| cell.bytes).sum()
}

/// Start and phases.
impl Worker<'_> {
    /// Waits for the start and enters the first phase.
    pub(super) fn begin(&mut self, start: Nanos) {
        let delay = &self.context.job.phases.start_delay;
        let range = delay.high_ns.since(delay.low_ns);
        let own_delay = if range > Nanos(0) {
            self.io.draws.next_f64(Purpose::Delay) * range.0 as f64
        } else {
            0.0
        };
        let start = start + Nanos(own_delay as u64);
        self.schedule(start);
        while self.io.engine.now() < start {
            if self
                .io
                .engine
                .submit_and_reap(&[], 1, start, &mut self.io.batch)
                .is_err()
            {
                break;
            }
            if self.context.control.stop_requested().is_some() {
                break;
            }
        }
        let Worker {
            io,
            lifecycle,
            features,
            context,
        } = self;
        lifecycle.first_issue = start;
        lifecycle.measured.usage_at_start = sys::thread::usage();
        if let Some(features) = features {
            features.at_start(io, start);
        }
        lifecycle.reset_budget(io, features.as_deref_mut());
        lifecycle.outbox.publish_phase(lifecycle.timeline.phase());
        lifecycle.measured.last_completion = start;
        io.recorder.start = start;
        io.recorder.phase_start = start;
        if lifecycle.timeline.phase() == Phase::Measured {
            lifecycle.start_measuring(features.as_deref_mut(), start);
        }
        lifecycle.set_boundary(io);
        io.batch.reap_time = io.engine.now();
        context.control.note_start(io.batch.reap_time);
        if context.control.commands() != lifecycle.commands_seen {
            self.apply_commands();
        }
    }

    /// Initialises the state that begins with the job.
    fn schedule(&mut self, start: Nanos) {
        let Worker {
            io,
            lifecycle,
            features,
            context,
        } = self;
        let job = context.job;
        lifecycle.timeline = Timeline::new(&job.phases, &job.stop, start, lifecycle.interval);
        for (stream, plan) in io.streams.iter_mut().zip(&context.plan.streams) {
            stream.gate = match io.bursts {
                // The worker itself manages pauses.
                Some(_) => None,
                None => Gate::new(plan, start, &mut io.draws),
            };
        }
        if let Some(features) = features {
            features.schedule(context.flows, start);
        }
        io.pacing.gated = io.streams.iter().any(|stream| stream.gate.is_some());
        io.recorder.phase = lifecycle.timeline.phase();
        debug_assert!(matches!(lifecycle.timeline.phase(), Phase::WarmUp | Phase::Measured));
    }

    /// Passes every boundary up to `now`, in order of time.
    #[inline(never)]
    pub(super) fn advance_phase(&mut self, now: Nanos) {
        while now >= self.io.boundary {
            let lifecycle = &mut self.lifecycle;
            let phase_end = lifecycle.timeline.phase_end();
            let exchange = lifecycle.timeline.next_exchange();
            let tick = lifecycle.grids.next();
            if tick <= phase_end && tick <= exchange && tick <= now {
                lifecycle.grids.tick(now.min(phase_end), &mut self.io.recorder);
            } else if phase_end <= exchange {
                self.end_phase(phase_end, EndReason::Time);
            } else {
                lifecycle.exchange(&mut self.io, exchange);
                lifecycle.timeline.record_exchange(now);
            }
            self.lifecycle.set_boundary(&mut self.io);
        }
    }

    /// Ends the current phase at `at`. If operations in flight count, the measured window lasts
    /// until they complete.
    fn end_phase(&mut self, at: Nanos, reason: EndReason) {
        if !self.counts_in_flight() {
            self.leave_phase(at, reason);
            return;
        }
        let Worker { io, lifecycle, .. } = self;
        lifecycle.ending = Some(Ending {
            at,
            reason,
            is_done: io.winding_down,
        });
        lifecycle.timeline.lift_limits();
        lifecycle.outbox.publish_phase(Phase::Draining);
        // What is planned is still submitted: logs list it already.
        io.stop_submitting();
    }

    /// Whether the operations in flight now belong to the measured window.
    fn counts_in_flight(&self) -> bool {
        let timeline = &self.lifecycle.timeline;
        let only_verifies = self.features.as_ref().is_some_and(|features| features.only_verifies());
        self.lifecycle.stop.counts_all
            && timeline.phase() == Phase::Measured
            && timeline.next_phase() == Phase::Draining
            && !only_verifies
    }

    /// Ends the current phase at `at` and enters the next.
    fn leave_phase(&mut self, at: Nanos, reason: EndReason) {
        let leaving = self.lifecycle.timeline.phase();
        let Worker {
            io,
            lifecycle,
            features,
            ..
        } = self;
        let mut features = features.as_deref_mut();
        let includes_warm_up = lifecycle.stop.includes_warm_up();
        let ends_in_warm_up = leaving == Phase::WarmUp && lifecycle.stop.counts_all && reason != EndReason::Time;
        if ends_in_warm_up {
            lifecycle.measured.start = lifecycle.timeline.phase_start();
        }
        let ends_window = leaving == Phase::Measured || ends_in_warm_up;
        if ends_window {
            lifecycle.stop_measuring(io, features.as_deref_mut(), at);
        }
        let next = match reason {
            EndReason::Time => lifecycle.timeline.next_phase(),
            EndReason::Done if ends_window && has_to_verify(features.as_deref()) => Phase::Verify,
            _ => Phase::Draining,
        };
        if ends_window || next == Phase::Draining {
            lifecycle.end_reason.get_or_insert(reason);
        }
        lifecycle.send_final(io, at);
        lifecycle.timeline.enter(next, at);
        if let Some(features) = features.as_deref_mut() {
            features.on_phase(io, next, at);
        }
        if next == Phase::Draining {
            io.stop_submitting();
            io.drop_unsubmitted();
        }
        lifecycle.begin_recorder(io, at);
        if next == Phase::Measured {
            if !includes_warm_up {
                lifecycle.reset_budget(io, features.as_deref_mut());
            } else if !io.winding_down {
                io.budget.operations = lifecycle.budget.operations;
            }
            lifecycle.start_measuring(features, at);
        } else {
            lifecycle.outbox.publish_phase(next);
        }
    }

    /// Called after all completions of a turn were counted; the last one was at `at`.
    #[inline(always)]
    pub(super) fn after_reaping<const FEATURES: bool>(&mut self, at: Nanos) {
        if self.io.batch.done.is_empty() {
            return;
        }
        self.lifecycle.measured.last_completion = at;
        if FEATURES && let Some(features) = &mut self.features {
            features.after_reaping(&mut self.io);
            self.check_failure();
        }
        if self.io.pacing.gated {
            self.io.notify_pacing(at);
        }
        if self.lifecycle.warm_up_bytes.is_some() && self.lifecycle.end_warm_up_if_complete(&self.io) {
            self.leave_phase(at, EndReason::Time);
            self.lifecycle.set_boundary(&mut self.io);
        }
    }
}

/// Commands and failures.
impl Worker<'_> {
    /// Executes the commands of the coordinating thread.
    #[inline(never)]
    pub(super) fn apply_commands(&mut self) {
        let Worker {
            io,
            lifecycle,
            features,
            context,
        } = self;
        let control = context.control;
        lifecycle.commands_seen = control.commands();
        let now = io.batch.reap_time;
        if let Some(depth) = control.depth() {
            for pool in &mut io.pools {
                pool.reserve = pool.free.len().saturating_sub(depth as usize);
            }
        }
        let epoch = control.epoch();
        if epoch != lifecycle.measured.epoch && !lifecycle.is_ending() {
            lifecycle.measured.epoch = epoch;
            if lifecycle.timeline.phase() == Phase::Measured {
                lifecycle.stop_measuring(io, features.as_deref_mut(), now);
                lifecycle.measured.late.clear();
                lifecycle.send_final(io, now);
                lifecycle.timeline.enter(Phase::Measured, now);
                lifecycle.begin_recorder(io, now);
                lifecycle.start_measuring(features.as_deref_mut(), now);
            }
        }
        if let Some(reason) = control.stop_requested()
            && !lifecycle.is_ending()
        {
            self.end_phase(now, reason);
            if self.lifecycle.is_draining() {
                self.io.requests.clear();
            }
        }
        self.lifecycle.set_boundary(&mut self.io);
    }

    /// Leaves the phase after a failure. Operations in flight are still awaited.
    #[inline(always)]
    pub(super) fn check_failure(&mut self) {
        if self.io.errors.failure.is_some() && !self.lifecycle.is_draining() {
            self.leave_after_failure();
        }
    }

    #[cold]
    fn leave_after_failure(&mut self) {
        self.leave_phase(self.io.batch.reap_time, EndReason::Failed);
        self.lifecycle.end_reason = Some(EndReason::Failed);
        self.lifecycle.set_boundary(&mut self.io);
    }

    pub(super) fn fail_with_engine(&mut self, error: &EngineError) {
        let at = format!("the {} engine", self.io.engine.describe().kind.name());
        self.io.fail(Failure {
            errno: error.errno(),
            help: error.help(),
            ..Failure::new(error.to_string(), at)
        });
        self.check_failure();
    }
}

/// True if there is written data to verify.
fn has_to_verify(features: Option<&Features>) -> bool {
    let verification = features.and_then(|features| features.verification.as_ref());
    verification.is_some_and(|verification| verification.has_to_verify())
}
