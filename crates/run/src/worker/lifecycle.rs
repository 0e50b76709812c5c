//! The course of a worker's life outside the loop: start, boundaries, commands, errors, end.

use engine::{Action, EngineError, Request, Slot, os_error_name, sys};
use model::block_lifetimes::BlockLifetimes;
use model::draws::Purpose;
use model::event::{EndReason, Phase};
use model::mismatch::Mismatch;
use model::plan::{FlushKind, SyncRule};
use model::results::{EngineUsed, FailedOperation, Failure, Usage};
use model::{Bytes, Direction, Nanos};

use super::recorder::{Run, SlotRecord};
use super::setup::occurring;
use super::{Budget, Worker};

/// More tolerated failures than this are counted and not told.
const MAX_TOLERATED: usize = 100;

/// What a worker leaves at its end, besides the recorders it sent.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) reason: EndReason,
    pub(crate) failure: Option<Failure>,
    /// The measured window on the clock of the engine; empty if it was never reached.
    pub(crate) measured_start: Nanos,
    pub(crate) measured_end: Nanos,
    /// From the first operation to the last completion.
    pub(crate) active: Nanos,
    /// What the thread used in the measured window.
    pub(crate) usage: Usage,
    pub(crate) engine: EngineUsed,
    pub(crate) slots: u32,
    pub(crate) map_bytes: u64,
    /// Paced operations that were due in the measured window and not issued in it: stream, direction, count.
    pub(crate) late: Vec<(u32, Direction, u64)>,
    /// How long reading back took.
    pub(crate) verified: Nanos,
    /// How much of that lies in the measured window.
    pub(crate) verified_between: Nanos,
    pub(crate) mismatches: Vec<Mismatch>,
    pub(crate) mismatch_count: u64,
    pub(crate) lifetimes: Option<BlockLifetimes>,
    /// What verification was to keep and could not.
    pub(crate) not_kept: Vec<String>,
    pub(crate) tolerated: Vec<Failure>,
    pub(crate) joined_rows: u64,
    /// Times it had caught up with the reader of its trace.
    pub(crate) trace_waits: u64,
}

impl Ended {
    /// The end of a worker that was never let go.
    pub(crate) fn never_started() -> Ended {
        let never = Nanos(0);
        Ended {
            reason: EndReason::Interrupted,
            failure: None,
            measured_start: never,
            measured_end: never,
            active: never,
            usage: Usage::default(),
            engine: EngineUsed::default(),
            slots: 0,
            map_bytes: 0,
            late: Vec::new(),
            verified: never,
            verified_between: never,
            mismatches: Vec::new(),
            mismatch_count: 0,
            lifetimes: None,
            not_kept: Vec::new(),
            tolerated: Vec::new(),
            joined_rows: 0,
            trace_waits: 0,
        }
    }
}

impl Worker<'_> {
    /// Waits for the start and enters the first phase.
    pub(super) fn begin(&mut self, start: Nanos) {
        let delay = &self.context.job.phases.start_delay;
        let range = delay.high_ns.since(delay.low_ns);
        let own_delay = if range > Nanos(0) {
            self.io.draws.unit(Purpose::Delay) * range.0 as f64
        } else {
            0.0
        };
        let start = start + Nanos(own_delay as u64);
        self.set_start(start);
        while self.io.engine.now() < start {
            if self.io.engine.turn(&[], 1, start, &mut self.io.batch).is_err() {
                break;
            }
            if self.context.control.stop_requested().is_some() {
                break;
            }
        }
        self.lifecycle.first_issue = start;
        self.begin_trace(start);
        self.reset_budget();
        self.lifecycle.outbox.publish_phase(self.lifecycle.timeline.phase());
        self.lifecycle.measured.last_completion = start;
        self.io.recorder.start = start;
        self.io.recorder.phase_start = start;
        if self.lifecycle.timeline.phase() == Phase::Measured {
            self.start_measuring(start);
        }
        self.set_boundary();
        self.io.batch.reaped = self.io.engine.now();
        self.context.control.note_start(self.io.batch.reaped);
        if self.context.control.commands() != self.lifecycle.commands_seen {
            self.apply_commands();
        }
    }

    fn start_measuring(&mut self, at: Nanos) {
        self.lifecycle.measured.start = at;
        self.lifecycle.measured.end = at;
        self.lifecycle.measured.usage_at_start = sys::thread::usage();
        self.lifecycle.grids.start(at);
        self.lifecycle.outbox.publish_phase(Phase::Measured);
    }

    fn set_boundary(&mut self) {
        self.io.boundary = self.lifecycle.timeline.next().min(self.lifecycle.grids.next());
    }

    /// Passes every boundary up to `now`, in order of time.
    #[inline(never)]
    pub(super) fn advance_phase(&mut self, now: Nanos) {
        while now >= self.io.boundary {
            let phase_end = self.lifecycle.timeline.phase_end();
            let exchange = self.lifecycle.timeline.exchange();
            let tick = self.lifecycle.grids.next();
            if tick <= phase_end && tick <= exchange && tick <= now {
                self.lifecycle.grids.tick(now.min(phase_end), &mut self.io.recorder);
            } else if phase_end <= exchange {
                self.leave_phase(phase_end, EndReason::Time);
            } else {
                self.exchange(exchange);
                self.lifecycle.timeline.exchanged(now);
            }
            self.set_boundary();
        }
    }

    /// Sends the recorder off and goes on with an empty one. With none at hand the interval goes on.
    fn exchange(&mut self, at: Nanos) {
        self.lifecycle.grids.absorb(&mut self.io.recorder);
        self.end_recorder(at);
        if self.lifecycle.timeline.phase() == Phase::Measured {
            self.io.recorder.usage = self.usage_so_far();
        }
        let bytes = if self.lifecycle.warm_up_bytes_left.is_some() {
            self.bytes_recorded()
        } else {
            0
        };
        if self.lifecycle.outbox.exchange(&mut self.io.recorder) {
            self.lifecycle.warm_up_bytes_before += bytes;
            self.begin_recorder(at);
        } else {
            self.io.recorder.joined += 1;
        }
    }

    /// Completes the recorder with what only its end shows.
    fn end_recorder(&mut self, at: Nanos) {
        self.io.recorder.end = at;
        let (queue, threads) = self.io.pacing.meter.take(at);
        self.io.recorder.queue.add(&queue);
        self.io.recorder.threads.add(&threads);
    }

    fn begin_recorder(&mut self, at: Nanos) {
        self.lifecycle.grids.recorder_is_new();
        self.io.recorder.start = at;
        self.io.recorder.phase = self.lifecycle.timeline.phase();
        self.io.recorder.phase_start = self.lifecycle.timeline.phase_start();
        self.io.recorder.epoch = self.lifecycle.measured.epoch;
    }

    fn bytes_recorded(&self) -> u64 {
        self.io.recorder.cells.iter().map(|cell| cell.bytes).sum()
    }

    /// Ends the present phase at `at` and enters the next.
    fn leave_phase(&mut self, at: Nanos, reason: EndReason) {
        let leaving = self.lifecycle.timeline.phase();
        if leaving == Phase::Measured {
            self.stop_measuring(at);
        }
        let next = match reason {
            EndReason::Time => self.lifecycle.timeline.following(),
            EndReason::Done if leaving == Phase::Measured && self.has_to_verify() => Phase::Verify,
            _ => Phase::Draining,
        };
        if leaving == Phase::Measured || next == Phase::Draining {
            self.lifecycle.end_reason.get_or_insert(reason);
        }
        self.send_final(at);
        if leaving == Phase::Verify {
            self.features.verification.1 = at.since(self.features.verification.0);
        }
        self.lifecycle.timeline.enter(next, at);
        if next == Phase::Verify {
            (self.features.verification.0, self.io.winding_down, self.io.budget) = (at, false, Budget::OPEN);
            self.begin_reading_back();
        }
        if next == Phase::Draining {
            self.io.winding_down = true;
            self.io.budget.operations = 0;
            self.drop_waiting();
        }
        self.begin_recorder(at);
        if next == Phase::Measured {
            self.reset_budget();
            self.start_measuring(at);
        } else {
            self.lifecycle.outbox.publish_phase(next);
        }
    }

    /// Operations that no engine has taken over yet will not be issued any more.
    fn drop_waiting(&mut self) {
        if self.io.one_at_a_time {
            // The list is still being reaped; it is emptied when that is done.
            return;
        }
        for request in self.io.requests.first(usize::MAX) {
            let pool = self.io.slots.get(request.slot).pool as usize;
            self.io.pools[pool].give_back(request.slot);
        }
        self.io.requests.clear();
    }

    fn stop_measuring(&mut self, at: Nanos) {
        self.lifecycle.measured.end = at;
        self.features.between_rounds.end(at);
        self.lifecycle.measured.usage = self.usage_so_far();
        self.io.recorder.usage = self.lifecycle.measured.usage;
        self.lifecycle.grids.finish(&mut self.io.recorder);
        for (number, stream) in self.io.streams.iter().enumerate() {
            if let Some(gate) = &stream.gate {
                for (direction, count) in gate.late(at).iter() {
                    if *count > 0 {
                        self.lifecycle.measured.late.push((number as u32, direction, *count));
                    }
                }
            }
        }
    }

    /// What the thread has used in the measured window. Only the thread itself can ask, so it does at every boundary: a report
    /// before the end has no other source.
    fn usage_so_far(&self) -> Usage {
        sys::thread::usage().since(self.lifecycle.measured.usage_at_start)
    }

    /// The recorder of an ended phase must go: phases are never mixed. Waits for an empty one, if need be; this is after
    /// the window that it belongs to.
    fn send_final(&mut self, at: Nanos) {
        self.end_recorder(at);
        self.lifecycle.outbox.exchange_or_wait(&mut self.io.recorder);
    }

    /// Operations, bytes and passes of the warm-up do not count towards those of the measured window.
    fn reset_budget(&mut self) {
        self.io.budget = if self.lifecycle.timeline.phase() == Phase::WarmUp {
            Budget::OPEN
        } else {
            self.lifecycle.full_budget
        };
        self.features.trims_the_rest = false;
        self.io.winding_down = self.lifecycle.timeline.phase() == Phase::Draining;
        for stream in &mut self.io.streams {
            stream.passes = 0;
            stream.done = false;
        }
    }

    #[inline(never)]
    pub(super) fn count_warm_up(&mut self, left: u64, now: Nanos) {
        if self.lifecycle.timeline.phase() != Phase::WarmUp {
            self.lifecycle.warm_up_bytes_left = None;
            return;
        }
        if self.bytes_recorded() + self.lifecycle.warm_up_bytes_before >= left {
            self.lifecycle.warm_up_bytes_left = None;
            self.leave_phase(now, EndReason::Time);
            self.set_boundary();
        }
    }

    /// True when nothing is left to do and nothing is in flight.
    #[inline(never)]
    pub(super) fn is_over(&mut self) -> bool {
        if self.io.in_flight > 0 || !self.io.requests.is_empty() {
            return false;
        }
        if self.features.verifies {
            self.await_checks();
        }
        self.lifecycle.timeline.phase() == Phase::Draining || self.end_of_work()
    }

    /// Everything that was to be done is done. Jobs that repeat begin anew; others end, with their last completion.
    #[inline(never)]
    fn end_of_work(&mut self) -> bool {
        // A trace is tags out once.
        let played = self
            .io
            .streams
            .iter()
            .flat_map(|stream| &stream.replay)
            .any(|replay| replay.over);
        let measured = self.lifecycle.timeline.phase() == Phase::Measured;
        let at = self
            .lifecycle
            .measured
            .last_completion
            .max(self.lifecycle.timeline.phase_start());
        if measured && self.may_trim_the_rest() {
            return false;
        }
        if measured && !self.features.between_rounds.end(at) {
            self.writes_are_over();
            // fio reads back what each round has written before the next.
            if self.lifecycle.rounds_left > 1 && self.has_to_verify() {
                self.features.between_rounds.begin(at);
                (self.io.winding_down, self.io.budget) = (false, Budget::OPEN);
                self.begin_reading_back();
                return false;
            }
        }
        let another_round = measured && self.lifecycle.rounds_left > 1;
        if another_round {
            self.lifecycle.rounds_left -= 1;
        }
        let repeats = self.lifecycle.repeat_until_time && self.lifecycle.timeline.phase() != Phase::Verify;
        if !played && (self.lifecycle.timeline.phase() == Phase::WarmUp || repeats || another_round) {
            self.reset_budget();
            self.restart_draws();
            for stream in &mut self.io.streams {
                stream.restart(&mut self.io.draws);
                if let Some(verification) = &mut stream.verification {
                    verification.begin_round();
                }
            }
            return false;
        }
        self.leave_phase(at, EndReason::Done);
        self.set_boundary();
        self.lifecycle.timeline.phase() == Phase::Draining
    }

    /// fio repeats the very same operations in every pass; native passes go on drawing.
    pub(super) fn restart_draws(&mut self) {
        self.io.draws.begin_pass();
    }

    /// Carries out what the coordinator asks for.
    #[inline(never)]
    pub(super) fn apply_commands(&mut self) {
        self.lifecycle.commands_seen = self.context.control.commands();
        let now = self.io.batch.reaped;
        if let Some(depth) = self.context.control.depth() {
            for pool in &mut self.io.pools {
                pool.reserve = pool.free.len().saturating_sub(depth as usize);
            }
        }
        let epoch = self.context.control.epoch();
        if epoch != self.lifecycle.measured.epoch {
            self.lifecycle.measured.epoch = epoch;
            if self.lifecycle.timeline.phase() == Phase::Measured {
                self.stop_measuring(now);
                self.lifecycle.measured.late.clear();
                self.send_final(now);
                self.lifecycle.timeline.enter(Phase::Measured, now);
                self.begin_recorder(now);
                self.start_measuring(now);
            }
        }
        if let Some(reason) = self.context.control.stop_requested()
            && self.lifecycle.timeline.phase() != Phase::Draining
        {
            self.leave_phase(now, reason);
            self.io.requests.clear();
        }
        self.set_boundary();
    }

    /// An operation that failed, or moved less than it was asked to.
    #[inline(never)]
    pub(super) fn reap_exception(&mut self, slot: Slot, result: i64, reaped: Nanos) {
        let record = *self.io.slots.get(slot);
        let direction = self.direction_of(&record);
        let act = self.context.plan.engine.kind.act();
        let verb = act.unwrap_or(direction.map_or("flush", Direction::word));
        if result > 0 {
            let mut run = Run::starting_with(&record);
            (run.operations, run.bytes) = (1, result as u64);
            self.io.recorder.count(&run, reaped);
            self.io.recorder.cells[record.key as u32 as usize].short += 1;
            return;
        }
        let policy = &self.context.plan.streams[record.stream as usize].on_error;
        let errno = (-result) as i32;
        let at_end_of_file = result == 0;
        if !at_end_of_file && self.tolerates(slot, &record, direction, errno) {
            return;
        }
        if policy.full_is_end && [sys::file::NO_SPACE, sys::file::OVER_QUOTA].contains(&errno) {
            self.io.budget.operations = 0;
            self.io.winding_down = true;
            return;
        }
        let (path, alignment) = &self.io.errors.files[record.file as usize];
        let at = format!("{path}, {} bytes at offset {}", record.length, record.offset);
        let (what, help) = if at_end_of_file {
            let what = format!("a {verb} moved no data: the target has become shorter than it was when the test began");
            (
                what,
                Some("look for another program that truncates or replaces it".to_owned()),
            )
        } else {
            let help = help_for(errno, &record.offset, record.length, *alignment);
            (format!("a {verb} failed: {}", os_error_name(errno)), help)
        };
        let errno = (!at_end_of_file).then_some(errno);
        let operation = direction.map(|direction| self.failed_operation(slot, &record, direction));
        self.fail(Failure {
            what,
            at,
            errno,
            operation,
            help,
        });
    }

    /// What an operation did; absent for a flush.
    pub(super) fn direction_of(&self, record: &SlotRecord) -> Option<Direction> {
        let number = record.stream as usize;
        // Directions that do not occur have no cell of their own.
        let mut occurring = occurring(&self.context.plan.streams[number]);
        occurring.find(|direction| self.io.streams[number].cells[*direction] == record.key as u32)
    }

    fn failed_operation(&self, slot: Slot, record: &SlotRecord, direction: Direction) -> FailedOperation {
        FailedOperation {
            slot: slot.0,
            stream: record.stream,
            direction,
            path: self.io.errors.files[usize::from(record.file)].0.clone(),
            offset: Bytes(record.offset),
            length: record.length,
            too_slow: None,
        }
    }

    /// Counts a failed operation if the plan tolerates its error.
    pub(super) fn tolerates(
        &mut self,
        slot: Slot,
        record: &SlotRecord,
        direction: Option<Direction>,
        errno: i32,
    ) -> bool {
        let policy = &self.context.plan.streams[record.stream as usize].on_error;
        let tolerated = match direction {
            Some(Direction::Read) => &policy.tolerate_read,
            _ => &policy.tolerate_write,
        };
        if !tolerated.contains(&errno) {
            return false;
        }
        if policy.tell_tolerated && self.io.errors.tolerated.len() < MAX_TOLERATED {
            let verb = direction.map_or("flush", Direction::word);
            let path = &self.io.errors.files[usize::from(record.file)].0;
            self.io.errors.tolerated.push(Failure {
                what: format!("a {verb} failed: {}", os_error_name(errno)),
                at: format!("{path}, {} bytes at offset {}", record.length, record.offset),
                errno: Some(errno),
                operation: direction.map(|direction| self.failed_operation(slot, record, direction)),
                help: None,
            });
        }
        let cell = &mut self.io.recorder.cells[record.key as u32 as usize];
        cell.errors += 1;
        cell.first_error.get_or_insert(errno);
        true
    }

    pub(super) fn fail_with_engine(&mut self, error: &EngineError) {
        let at = format!("the {} engine", self.io.engine.describe().kind.name());
        self.fail(Failure {
            what: error.to_string(),
            at,
            errno: error.errno(),
            operation: None,
            help: error.help(),
        });
    }

    /// Ends the worker with what is known so far. Operations in flight are still waited for.
    pub(super) fn fail(&mut self, failure: Failure) {
        self.io.errors.failure.get_or_insert(failure);
        if self.lifecycle.timeline.phase() != Phase::Draining {
            let now = self.io.batch.reaped;
            self.leave_phase(now, EndReason::Failed);
            self.lifecycle.end_reason = Some(EndReason::Failed);
            self.set_boundary();
        }
    }

    /// Sends what is left and says how it went.
    pub(super) fn end(mut self) -> Ended {
        if self.lifecycle.timeline.phase() != Phase::Draining {
            let now = self.io.batch.reaped;
            self.leave_phase(now, EndReason::Failed);
        }
        if self.io.errors.failure.is_none() {
            self.flush_at_end();
        }
        self.end_trace();
        let not_kept = self.save_states();
        let lives = self.io.streams.iter().filter_map(|stream| stream.lives.as_ref());
        let lifetimes = lives.map(|lives| lives.lifetimes()).reduce(|mut all, more| {
            all.merge(&more);
            all
        });
        // What completed while draining belongs to no window, but to the lifetime counters.
        let last = self.lifecycle.measured.last_completion;
        self.send_final(last);
        let mut engine = self.io.engine.describe();
        engine.reason = self.context.engine_reason;
        engine.submit_batch = self.io.batching.submit as u32;
        engine.inline |= self.io.batching.inline.seen;
        Ended {
            reason: self.lifecycle.end_reason.unwrap_or(EndReason::Done),
            failure: self.io.errors.failure,
            measured_start: self.lifecycle.measured.start,
            measured_end: self.lifecycle.measured.end,
            active: last.since(self.lifecycle.first_issue),
            usage: self.lifecycle.measured.usage,
            engine,
            slots: match self.io.one_at_a_time {
                true => self.io.pools.len() as u32,
                false => self
                    .io
                    .pools
                    .iter()
                    .map(|pool| (pool.free.len() - pool.reserve) as u32)
                    .sum(),
            },
            map_bytes: self.context.map_bytes,
            late: self.lifecycle.measured.late,
            verified: self.features.verification.1 + self.features.between_rounds.took,
            verified_between: self.features.between_rounds.took,
            lifetimes,
            not_kept,
            mismatches: self.features.mismatches,
            mismatch_count: self.features.mismatch_count,
            tolerated: self.io.errors.tolerated,
            joined_rows: self.lifecycle.grids.joined_rows(),
            trace_waits: self
                .io
                .streams
                .iter()
                .flat_map(|stream| &stream.replay)
                .map(|replay| replay.waits)
                .sum(),
        }
    }
}

impl Worker<'_> {
    /// Flushes that the plan wants when the job is over, outside all latencies.
    pub(super) fn flush_at_end(&mut self) {
        for number in 0..self.io.streams.len() {
            let plan = &self.context.plan.streams[number];
            let writes = plan.mix.includes(Direction::Write) || plan.mix.includes(Direction::Trim);
            let sync = &plan.sync;
            if !writes || !(sync.at_end || sync.on_close || sync.file_system_at_end) {
                continue;
            }
            let files = self.open_files_of(number);
            let open = files
                .into_iter()
                .try_for_each(|file| self.flush_file_at_end(file, sync));
            // On a close they were flushed then.
            let closed = open.and_then(|()| match sync.at_end {
                true => self.flush_closed_files(number),
                false => Ok(()),
            });
            if let Err(failure) = closed {
                self.io.errors.failure = Some(*failure);
                self.lifecycle.end_reason = Some(EndReason::Failed);
                return;
            }
        }
    }

    fn flush_file_at_end(&mut self, file: u16, sync: &SyncRule) -> Result<(), Box<Failure>> {
        let action = if sync.kind == FlushKind::Data {
            Action::FlushData
        } else {
            Action::Flush
        };
        let request = Request {
            offset: 0,
            length: 0,
            slot: Slot(0),
            file,
            action,
        };
        self.trace_queued(file, action, 0, 0);
        let path = &self.io.errors.files[usize::from(file)].0;
        let result = match self.io.engine.turn(&[request], 1, Nanos::NEVER, &mut self.io.batch) {
            Ok(()) => self.io.batch.done.first().map_or(0, |completion| completion.result),
            Err(error) => -i64::from(error.errno().unwrap_or(sys::file::IO_ERROR)),
        };
        let result = match (result, sync.file_system_at_end) {
            (0, true) => std::fs::File::open(path).and_then(|file| sys::file::flush_file_system(&file)),
            (0, false) => Ok(()),
            (errno, _) => Err(std::io::Error::from_raw_os_error((-errno) as i32)),
        };
        result.map_err(|error| {
            let errno = error.raw_os_error();
            let why = errno.map_or_else(String::new, os_error_name);
            Box::new(Failure {
                what: format!("the flush at the end failed: {why}"),
                at: path.clone(),
                errno,
                operation: None,
                help: None,
            })
        })
    }
}

impl Budget {
    /// Without limits.
    pub(super) const OPEN: Budget = Budget {
        operations: u64::MAX,
        bytes: u64::MAX,
    };
}

/// What to do about a failed operation, where the error number says enough.
fn help_for(errno: i32, offset: &u64, length: u32, alignment: Option<u64>) -> Option<String> {
    let text = match errno {
        sys::file::NO_SPACE => "free some space, or use a smaller size".to_owned(),
        sys::file::OVER_QUOTA => "the quota of this user is used up; use a smaller size or another place".to_owned(),
        sys::file::TOO_LARGE => "the file size limit is reached; raise `ulimit -f` or use a smaller size".to_owned(),
        sys::file::IO_ERROR => {
            "the device or file system reported an error; look at `dmesg` and at the health of the device".to_owned()
        }
        sys::file::INVALID => {
            let alignment = alignment?;
            if offset.is_multiple_of(alignment) && u64::from(length).is_multiple_of(alignment) {
                return None;
            }
            format!(
                "direct I/O needs offsets and lengths that are multiples of {alignment} bytes here; choose such a block \
                 size, or go through the page cache"
            )
        }
        sys::file::NOT_SUPPORTED => "the target does not know this kind of operation".to_owned(),
        sys::file::NOT_PERMITTED | sys::file::READ_ONLY => "the target cannot be written to".to_owned(),
        _ => return None,
    };
    Some(text)
}
