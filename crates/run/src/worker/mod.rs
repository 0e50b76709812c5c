//! One worker: a thread that issues I/O and owns all it touches.
//!
//! This is the page to read first. A worker goes round one loop: it asks its streams for operations and queues them, lets
//! the engine carry out a turn, and counts what came back. Stop rule, pacing, access, contents and recording are parts
//! put into this loop. In the measured window nothing here allocates, locks, prints or reads another clock.

mod features;
mod lifecycle;
mod meter;
mod outbox;
mod recorder;
mod requests;
mod setup;
mod slots;
mod stream;
mod timeline;
mod windows;

use engine::{Action, Batch, Engine, Request, SimulatedWorker, Slot};
use model::content::Filler;
use model::draws::Draws;
use model::event::{EndReason, Phase};
use model::mismatch::Mismatch;
use model::plan::Job;
use model::results::{Failure, Usage};
use model::sequence::Operation;
use model::{Direction, Nanos};

pub(crate) use lifecycle::Ended;
pub(crate) use outbox::{Inbox, Outbox, mailbox};
pub(crate) use recorder::{CellKey, CellKind, Recorder};
pub(crate) use setup::{Assignment, ReadyKind, ReadyTarget, set_up};
pub use setup::{Setting, SetupError};

use crate::control::JobControl;
use crate::operation_log::LogWriter;
use features::file_set::FromSet;
use features::verify::BetweenRounds;
use meter::Meter;
use recorder::{Grids, Run, SlotRecord, SlotTable};
use requests::Requests;
use slots::SlotPool;
use stream::{LiveStream, Ready};
use timeline::Timeline;

/// Operations handed over at once where the plan leaves it open: most of what batching saves is saved by eight, and more
/// would delay the first of them.
const DEFAULT_BATCH: usize = 8;
/// Operations that a synchronous engine is given in a turn, to carry out one after the other.
const MAX_IN_TURN: usize = 32;
/// No more than this many bytes of them are to be written.
const MAX_BYTES_IN_TURN: usize = 64 << 10;
/// So many turns in a row in which everything was done inside the submitting call mean that the target works that way.
const INLINE_TURNS: u32 = 16;

/// While this many turns are not over, each of them hands over without waiting, to see what is done at once.
const PROBE_TURNS: u32 = 64;

/// A worker, ready to run.
pub(crate) struct Worker<'plan> {
    io: IoLoop,
    lifecycle: Lifecycle,
    features: Features,
    context: Context<'plan>,
}

/// What the worker gets from its plan and from the step around it.
struct Context<'plan> {
    plan: &'plan model::plan::Worker,
    job: &'plan Job,
    control: &'plan JobControl,
    /// What streams of the step divide among themselves.
    flows: &'plan crate::flow::Flows,
    /// The worker's part in the simulation, if it uses simulated devices.
    simulated: Option<SimulatedWorker>,
    /// Memory that is held as long as the worker runs.
    _pinned: Option<engine::Pinned>,
    engine_reason: String,
    map_bytes: u64,
}

/// Everything an operation passes through on its way.
struct IoLoop {
    engine: Box<dyn Engine>,
    batch: Batch,
    draws: Draws,
    streams: Vec<LiveStream>,
    pools: Vec<SlotPool>,
    slots: SlotTable,
    /// Operations that the next turn hands over.
    requests: Requests,
    in_flight: u32,
    /// Raised whenever operations are queued with another stamp: those of one round can be counted together.
    round: u32,
    /// The engine carries out one operation after the other; several are handed over in a turn only to save turns.
    one_at_a_time: bool,
    /// One pool, one stream, and nothing that holds it back: the usual case, which is spared all questions about others.
    plain: bool,
    batching: Batching,
    pacing: PaceState,
    /// The earliest of all boundaries: phase, exchange, interval series.
    boundary: Nanos,
    budget: Budget,
    /// Passes over its region that each stream makes.
    passes: Option<u32>,
    /// Nothing more is to be issued.
    winding_down: bool,
    recorder: Box<Recorder>,
    errors: ErrorLog,
}

/// How many operations a turn hands over.
struct Batching {
    options: model::plan::Batching,
    /// Most operations in a turn, at present.
    submit: usize,
    default: usize,
    inline: InlineDetector,
    /// The pool whose turn it is, where they take turns.
    next_pool: usize,
    /// The plan leaves the size of a batch to the worker, and the engine may complete operations inside the call.
    learns_inline: bool,
    refilling: bool,
    split_stamps: bool,
}

/// When streams that are held back may go on.
struct PaceState {
    /// Some stream has a gate that must hear of completions.
    gated: bool,
    /// When the next stream may issue, if none may now.
    next_due: Nanos,
    meter: Meter,
}

/// What went wrong.
struct ErrorLog {
    failure: Option<Failure>,
    /// Failures that were tolerated, where they are to be told.
    tolerated: Vec<Failure>,
    /// Path and direct-I/O alignment of each file of the engine, for messages.
    files: Vec<(String, Option<u64>)>,
}

/// Phases, intervals and what ends them.
struct Lifecycle {
    timeline: Timeline,
    interval: Nanos,
    grids: Grids,
    outbox: Outbox,
    full_budget: Budget,
    repeat_until_time: bool,
    /// Rounds to carry out, the present one included.
    rounds_left: u32,
    commands_seen: u32,
    measured: Measured,
    warm_up_bytes_left: Option<u64>,
    warm_up_bytes_before: u64,
    first_issue: Nanos,
    end_reason: Option<EndReason>,
}

/// What is asked per operation only where the plan wants it.
struct Features {
    /// Only the operation at the start of a file does something to it; the others have no latency.
    works_on_names: bool,
    /// Operations stand for no bytes.
    moves_nothing: bool,
    /// Operations are counted one by one, because each may have taken too long, is logged, or issues the next.
    careful: bool,
    /// Where a line for each operation goes.
    log: Option<LogWriter>,
    /// The log had no room for a line at once.
    stalled_on_log: bool,
    /// Operations that overlap are kept apart.
    overlap: Option<Box<features::overlap::Overlap>>,
    /// What is issued is written down.
    tracing: Option<Box<features::issue_trace::Tracing>>,
    /// Number of the target behind each file of the engine.
    targets_of_files: Vec<u32>,
    /// I/O priority of each file of the engine.
    priorities_of_files: Vec<u16>,
    /// Parts of some stream have I/O priorities of their own.
    prioritised: bool,
    /// Files that are locked around each turn.
    locks: Option<Box<features::file_locks::Locks>>,
    /// Some stream divides its operations with others.
    divides: bool,
    /// The operations of its stream come from a trace.
    replays: bool,
    /// Some stream opens and closes files, and must hear of completions too.
    exchanges_files: bool,
    /// Some stream verifies what it reads or wrote.
    verifies: bool,
    mismatches: Vec<Mismatch>,
    mismatch_count: u64,
    /// When reading back began, and how long it took.
    verification: (Nanos, Nanos),
    /// The same for reading back between two rounds, which lies in the measured window.
    between_rounds: BetweenRounds,
    /// All is written, and only blocks that are due to be discarded again are left.
    trims_the_rest: bool,
}

/// Whether the target completes operations inside the submitting call.
#[derive(Clone, Copy, Debug, Default)]
struct InlineDetector {
    /// Turns in a row in which everything handed over was done at once.
    in_a_row: u32,
    probes_left: u32,
    seen: bool,
}

/// What a worker may still issue.
#[derive(Clone, Copy, Debug)]
struct Budget {
    operations: u64,
    bytes: u64,
}

/// The measured window of a worker.
#[derive(Clone, Debug, Default)]
struct Measured {
    start: Nanos,
    end: Nanos,
    usage_at_start: Usage,
    usage: Usage,
    last_completion: Nanos,
    /// How often it was begun anew.
    epoch: u32,
    /// Stream, direction and number of paced operations that were due and not issued.
    late: Vec<(u32, Direction, u64)>,
}

#[inline(always)]
fn action_of(direction: Direction) -> Action {
    match direction {
        Direction::Read => Action::Read,
        Direction::Write => Action::Write,
        Direction::Trim => Action::Trim,
    }
}

/// Fills the buffers of writes that were just queued. Filling takes longer than all the rest of the loop, so each of them
/// is ready only then. Returns the time of the last.
#[inline(never)]
fn fill_queued(
    queued: &[Request],
    filler: &mut Filler,
    engine: &mut dyn Engine,
    slots: &mut SlotTable,
    draws: &mut Draws,
    round: &mut u32,
) -> Option<Nanos> {
    let mut last = None;
    for request in queued {
        let record = slots.get_mut(request.slot);
        if request.action == Action::Write {
            let buffer = &mut engine.buffer(request.slot)[..request.length as usize];
            filler.fill(buffer, request.offset, record.queued, draws);
            last = Some(engine.now());
            *round = round.wrapping_add(1);
        }
        record.queued = last.unwrap_or(record.queued);
        record.key = u64::from(*round) << 32 | record.key & u64::from(u32::MAX);
    }
    last
}

impl Worker<'_> {
    /// Issues I/O until the job is over. `start` is when it begins, on the clock of the engine.
    pub(crate) fn run(mut self, start: Nanos) -> Ended {
        let start = match &self.context.simulated {
            Some(worker) => worker.wait_for_turn().max(start),
            None => start,
        };
        self.begin(start);
        // Decided once, so that those who do not need care do not even ask.
        if self.features.careful {
            self.run_loop::<true>();
        } else {
            self.run_loop::<false>();
        }
        self.end()
    }

    /// The loop. Each of its two forms is a function of its own, or they would share registers: together in one function
    /// they took one instruction more per operation of the null engine, apart they take one less than a single form did.
    #[inline(never)]
    fn run_loop<const CAREFUL: bool>(&mut self) {
        while !(self.io.winding_down && self.is_over()) {
            match (self.io.plain && !CAREFUL, self.io.one_at_a_time) {
                (true, true) => self.issue_in_turn(),
                (true, false) => self.issue_plain(),
                (false, _) => self.issue(),
            }
            let (at_least, until) = self.completions_to_await();
            let requests = self.io.requests.first(self.io.batching.submit);
            if CAREFUL && let Some(locks) = &mut self.features.locks {
                locks.take(requests);
            }
            if let Err(error) = self.io.engine.turn(requests, at_least, until, &mut self.io.batch) {
                self.fail_with_engine(&error);
                break;
            }
            if CAREFUL && let Some(locks) = &mut self.features.locks {
                locks.give_back();
            }
            let reaped = self.io.batch.reaped;
            let crosses = reaped >= self.io.boundary;
            if CAREFUL && self.io.batching.options.count_waits {
                self.count_wait(at_least, until);
            }
            if self.io.one_at_a_time {
                self.reap_in_turn();
            } else {
                self.note_issued(at_least);
                if crosses {
                    self.advance_phase(reaped);
                }
                if CAREFUL {
                    self.reap_each();
                } else {
                    self.reap();
                }
            }
            if self.context.control.commands() != self.lifecycle.commands_seen {
                self.apply_commands();
            }
            if crosses || CAREFUL && std::mem::take(&mut self.features.stalled_on_log) {
                // Crossing took its time, and so did waiting for the log, which is no operation's.
                self.io.batch.reaped = self.io.engine.now();
            }
        }
    }

    /// Queues the next operations of one stream for an engine that carries out one after the other. Each takes the slot of
    /// its place in the batch, so nothing need be kept about slots.
    #[inline(always)]
    fn issue_in_turn(&mut self) {
        // What the last turn has not come to is still to be done.
        if !self.io.requests.is_empty() {
            return;
        }
        let Some(stream) = self.io.streams.first_mut() else {
            return;
        };
        let room = self
            .io
            .batching
            .submit
            .min(self.io.budget.operations.try_into().unwrap_or(usize::MAX));
        let operations = stream.sequence.take(&mut self.io.draws, 0, room);
        let file = stream.file;
        let places = self.io.requests.places(operations.len());
        for (index, (operation, place)) in operations.iter().zip(places).enumerate() {
            let Operation {
                direction,
                offset,
                length,
            } = *operation;
            *place = Request {
                offset,
                length,
                slot: Slot(index as u32),
                file,
                action: action_of(direction),
            };
        }
        let taken = operations.len();
        self.io.requests.add(taken);
        if let Some(filler) = &mut stream.filler {
            for request in self
                .io
                .requests
                .first(taken)
                .iter()
                .filter(|request| request.action == Action::Write)
            {
                let buffer = &mut self.io.engine.buffer(request.slot)[..request.length as usize];
                filler.fill(buffer, request.offset, self.io.batch.reaped, &mut self.io.draws);
            }
            // Filling takes longer than all the rest of this loop: the operations are ready only now.
            self.io.batch.reaped = self.io.engine.now();
        }
        self.io.budget.operations -= taken as u64;
        stream.idle_pass &= taken == 0;
        self.io.winding_down |= self.io.budget.operations == 0;
        if taken == 0 && room > 0 && self.pass_ended(0) {
            self.issue_in_turn();
        }
    }

    /// Queues an operation for every free slot: one stream, closed loop. They are handed over in batches, but they count
    /// from here: a slot that waits for its turn is not idle.
    #[inline(always)]
    fn issue_plain(&mut self) {
        let (Some(pool), Some(stream)) = (self.io.pools.first_mut(), self.io.streams.first_mut()) else {
            return;
        };
        let mut room = pool.free_count.saturating_sub(pool.reserve);
        if self.io.batching.inline.seen {
            // What is queued here would only wait for what the target completes at once.
            room = room.min(usize::from(self.io.requests.is_empty()));
        }
        room = room.min(self.io.budget.operations.try_into().unwrap_or(usize::MAX));
        self.io.round = self.io.round.wrapping_add(1);
        while room > 0 {
            let next_slot = pool.free[pool.free_count - 1].0;
            let operations = stream.sequence.take(&mut self.io.draws, next_slot, room);
            let taken = operations.len();
            if taken == 0 {
                if self.pass_ended(0) {
                    self.issue_plain();
                }
                return;
            }
            let (file, queued, round) = (stream.file, self.io.batch.reaped, u64::from(self.io.round) << 32);
            let cells = stream.cells;
            let slots = &pool.free[pool.free_count - taken..pool.free_count];
            let places = self.io.requests.places(taken);
            for ((operation, slot), place) in operations.iter().zip(slots.iter().rev()).zip(places) {
                let Operation {
                    direction,
                    offset,
                    length,
                } = *operation;
                let record = self.io.slots.get_mut(*slot);
                record.key = round | u64::from(cells[direction]);
                (record.queued, record.offset, record.length) = (queued, offset, length);
                *place = Request {
                    offset,
                    length,
                    slot: *slot,
                    file,
                    action: action_of(direction),
                };
            }
            if let Some(filler) = &mut stream.filler {
                let now = fill_queued(
                    self.io.requests.places(taken),
                    filler,
                    self.io.engine.as_mut(),
                    &mut self.io.slots,
                    &mut self.io.draws,
                    &mut self.io.round,
                );
                self.io.batch.reaped = now.unwrap_or(self.io.batch.reaped);
            }
            self.io.requests.add(taken);
            pool.free_count -= taken;
            self.io.budget.operations -= taken as u64;
            stream.idle_pass = false;
            room -= taken;
        }
        self.io.winding_down |= self.io.budget.operations == 0;
    }

    /// The same for any number of streams, paced or not.
    #[inline(never)]
    fn issue(&mut self) {
        self.issue_streams();
        if self.io.pacing.meter.paced {
            self.io.pacing.meter.update(&self.io.pools, self.io.batch.reaped);
        }
    }

    fn issue_streams(&mut self) {
        self.io.pacing.next_due = Nanos::NEVER;
        match self.lifecycle.timeline.phase() {
            Phase::Draining => return,
            Phase::Verify => return self.issue_checks(),
            _ if self.features.between_rounds.are_under_way() => return self.issue_checks(),
            _ if self.features.trims_the_rest => return self.issue_last_trims(),
            _ if self.holds_back() => return,
            _ => {}
        }
        self.io.round = self.io.round.wrapping_add(1);
        if self.io.batching.inline.seen {
            self.issue_in_rotation();
            return;
        }
        for index in 0..self.io.pools.len() {
            while self.issue_from(index) {}
        }
    }

    /// One operation, for a target that completes it inside the call. Its slot is free again at once, so the pools take
    /// turns: else the first would always be the first that has room.
    fn issue_in_rotation(&mut self) {
        let pools = self.io.pools.len();
        for number in 0..pools {
            let index = (self.io.batching.next_pool + number) % pools;
            while self.io.requests.is_empty() && self.issue_from(index) {}
            if !self.io.requests.is_empty() {
                self.io.batching.next_pool = index + 1;
                return;
            }
        }
    }

    /// fio's `iodepth_low`: once full, the queue is refilled only when it has run down that far.
    #[inline(always)]
    fn holds_back(&mut self) -> bool {
        let Some(low) = self.io.batching.options.refill_below else {
            return false;
        };
        if self.io.in_flight <= low {
            self.io.batching.refilling = true;
        } else if !self.has_room() {
            self.io.batching.refilling = false;
        }
        !self.io.batching.refilling
    }

    /// Queues one operation from a pool. False if the pool has no free slot or nothing to do now.
    fn issue_from(&mut self, index: usize) -> bool {
        let pool = &self.io.pools[index];
        if !pool.has_room() || self.io.budget.operations == 0 {
            return false;
        }
        let slot = pool.free[pool.free_count - 1];
        if self.features.divides && self.is_ahead_of_flow(self.io.pools[index].streams.start) {
            return false;
        }
        if self.features.overlap.is_some() && self.keeps_apart(index, slot) {
            return false;
        }
        if self.features.replays {
            return self.issue_from_trace(index, slot);
        }
        // A flush belongs to the writes before it and waits for nobody's schedule.
        for number in self.io.pools[index].streams.clone() {
            if let Some(action) = self.io.streams[number].gate.as_mut().and_then(|gate| gate.flush_due()) {
                self.queue_flush(index, number, slot, action);
                return true;
            }
        }
        let pool = &self.io.pools[index];
        // DiskSpd's completion routines begin each slot with the first stream.
        let begins = self.io.batching.options.completion_routines && !self.io.slots.get(slot).used;
        let number = if pool.shared && !begins {
            pool.choose(&mut self.io.draws)
        } else {
            pool.streams.start
        };
        let slot_in_pool = slot.0 - pool.first_slot;
        if self.features.verifies && (self.read_backlog(index, number, slot) || self.trim_written(index, number, slot))
        {
            return true;
        }
        let now = self.io.batch.reaped;
        let stream = &mut self.io.streams[number];
        let (due, direction) = match &mut stream.gate {
            None => (now, None),
            Some(gate) => match gate.ready(now, &mut self.io.draws) {
                Ready::Now(due, direction) => (due, direction),
                Ready::At(later) => {
                    self.io.pacing.next_due = self.io.pacing.next_due.min(later);
                    return false;
                }
                Ready::Spin => {
                    self.io.pacing.next_due = now;
                    return false;
                }
            },
        };
        let operation = match direction {
            _ if stream.set.is_some() => match self.next_of_set(number, slot_in_pool, direction) {
                FromSet::Operation(operation) => Some(operation),
                FromSet::Wait => return false,
                FromSet::PassOver => None,
            },
            Some(_) => stream.sequence.next(&mut self.io.draws, slot_in_pool, direction),
            None => stream
                .sequence
                .take(&mut self.io.draws, slot_in_pool, 1)
                .first()
                .copied(),
        };
        let Some(operation) = operation else {
            return self.pass_ended(number);
        };
        if self.features.verifies
            && let Some(go_on) = self.pass_over(number, &operation)
        {
            return go_on;
        }
        if self.features.overlap.is_some() && self.must_wait(index, number, &operation, due) {
            return false;
        }
        self.issue_one(index, number, slot, &operation, due)
    }

    /// Queues an operation and tells the gate of its stream.
    #[inline(always)]
    fn issue_one(&mut self, index: usize, number: usize, slot: Slot, operation: &Operation, due: Nanos) -> bool {
        if !self.queue(index, number, slot, operation, due) {
            return false;
        }
        let now = self.io.batch.reaped;
        if let Some(flow) = &mut self.io.streams[number].flow {
            flow.issued();
        }
        if self.io.pacing.meter.paced {
            self.io.pacing.meter.count_issue(index, due, now);
        }
        if let Some(gate) = &mut self.io.streams[number].gate {
            gate.issued(operation.direction, operation.length, now, &mut self.io.draws);
            // Each paced operation has a due time of its own, so none is counted together with another.
            self.io.round = self.io.round.wrapping_add(1);
        }
        true
    }

    /// Queues an operation that was due at the given time. False if it exceeds what the worker may still issue.
    #[inline(always)]
    fn queue(&mut self, pool: usize, number: usize, slot: Slot, operation: &Operation, due: Nanos) -> bool {
        let Operation {
            direction,
            offset,
            length,
        } = *operation;
        let length = if self.features.moves_nothing { 0 } else { length };
        self.io.budget.operations -= 1;
        // The last operation may go beyond the amount.
        self.io.budget.bytes = self.io.budget.bytes.saturating_sub(u64::from(length));
        if self.io.budget.bytes == 0 {
            self.io.budget.operations = 0;
        }
        self.io.winding_down |= self.io.budget.operations == 0;
        self.io.streams[number].idle_pass = false;
        match direction {
            Direction::Write if self.io.streams[number].filler.is_some() => self.fill_write(number, slot, operation),
            Direction::Read if self.features.verifies => self.expect_read(number, slot, operation),
            _ => {}
        }
        let stream = &mut self.io.streams[number];
        let (cell, file) = (stream.cells[direction], stream.file_for(operation));
        *self.io.slots.get_mut(slot) = SlotRecord {
            key: u64::from(self.io.round) << 32 | u64::from(cell),
            queued: self.io.batch.reaped,
            issued: Nanos(0),
            due,
            offset,
            length,
            pool: pool as u32,
            stream: number as u32,
            file,
            used: true,
        };
        self.io.requests.push(Request {
            offset,
            length,
            slot,
            file,
            action: action_of(direction),
        });
        self.io.pools[pool].free_count -= 1;
        if self.features.tracing.is_some() {
            self.trace_queued(file, action_of(direction), offset, length);
        }
        true
    }

    /// A stream has come to the end of a pass. True if it begins another.
    #[inline(never)]
    fn pass_ended(&mut self, number: usize) -> bool {
        let stream = &mut self.io.streams[number];
        if stream.done {
            return false;
        }
        stream.passes += 1;
        // A pass without a single operation would never end: nothing of the region can be used.
        if stream.idle_pass || self.io.passes.is_some_and(|passes| stream.passes >= passes) {
            stream.done = true;
            self.io.winding_down |= self.io.streams.iter().all(|stream| stream.done);
            return false;
        }
        stream.idle_pass = true;
        self.restart_draws();
        self.io.streams[number].restart(&mut self.io.draws);
        true
    }

    /// Queues a flush, which takes a slot like any other operation.
    #[inline(never)]
    fn queue_flush(&mut self, pool: usize, number: usize, slot: Slot, action: Action) {
        let file = self.io.streams[number].file;
        if self.features.verifies {
            self.expect_flush(number, slot);
        }
        self.queue_beside(pool, number, slot, (file, action), (0, 0));
    }

    /// How many completions the next turn waits for, and until when.
    #[inline(always)]
    fn completions_to_await(&self) -> (u32, Nanos) {
        if self.io.one_at_a_time && !self.io.requests.is_empty() {
            // Operations follow one another until something is to be done between them.
            return (1, self.io.boundary);
        }
        let waiting = self.io.requests.len();
        // Nobody else may wait for a lock while this worker waits for completions.
        let locked = self.features.locks.is_some() && waiting > 0;
        let more_to_hand_over = locked
            || waiting > self.io.batching.submit
            || self.io.batching.inline.seen && waiting > 0 && self.has_room();
        if more_to_hand_over || self.io.batching.inline.probes_left > 0 && waiting > 0 {
            return (0, Nanos::NEVER);
        }
        let at_least = self.io.batching.options.complete_min.unwrap_or(1);
        if self.io.pacing.next_due == Nanos::NEVER {
            // Only a completion brings more to do. Paced workers still account for every second.
            let until = if self.io.pacing.meter.paced {
                self.io.boundary
            } else {
                Nanos::NEVER
            };
            return (at_least.min(self.io.in_flight + waiting as u32), until);
        }
        (
            at_least.max(1),
            self.io.pacing.next_due.min(self.lifecycle.timeline.phase_end()),
        )
    }

    #[inline(always)]
    fn has_room(&self) -> bool {
        self.io.pools.iter().any(SlotPool::has_room)
    }

    /// Notes when the operations of this turn were issued, and how many were in flight then.
    #[inline(always)]
    fn note_issued(&mut self, at_least: u32) {
        let taken = self.io.batch.submitted as usize;
        let issued = if self.io.batching.split_stamps {
            self.io.batch.returned
        } else {
            self.io.batch.before
        };
        for request in self.io.requests.first(taken) {
            self.io.slots.get_mut(request.slot).issued = issued;
        }
        self.io.requests.remove(taken);
        self.io.in_flight += taken as u32;
        if taken > 0 {
            self.io.recorder.depth.record(self.io.in_flight, taken as u64);
            self.io.recorder.submitted.record_batch(taken as u32);
        }
        let ended = self.io.batch.done.len() as u32;
        if ended > 0 {
            self.io.recorder.completed.record_batch(ended);
        }
        self.io.in_flight -= ended;
        if at_least == 0 && self.io.batching.learns_inline {
            self.learn_inline();
        }
    }

    /// Counts operations that were tags out one after the other: the end of each is the start of the next.
    #[inline(always)]
    fn reap_in_turn(&mut self) {
        let mut start = self.io.batch.before;
        let mut index = 0;
        while index < self.io.batch.done.len() {
            if self.io.plain {
                let (done, requests) = (
                    &self.io.batch.done[index..],
                    &self.io.requests.first(MAX_IN_TURN)[index..],
                );
                let cells = &self.io.streams[0].cells;
                let counted = self
                    .io
                    .recorder
                    .count_in_turn(done, requests, cells, start, self.io.boundary);
                (index, start) = (index + counted.0, counted.1);
            }
            let Some(completion) = self.io.batch.done.get(index) else {
                break;
            };
            let at = completion.at;
            if at >= self.io.boundary {
                self.advance_phase(at);
            }
            self.reap_one(index, start);
            (index, start) = (index + 1, at);
        }
        if self.io.batch.reaped >= self.io.boundary {
            self.advance_phase(self.io.batch.reaped);
        }
        self.after_reaping(start);
        match self.lifecycle.timeline.phase() {
            Phase::Draining => self.io.requests.clear(),
            _ => self.io.requests.remove(self.io.batch.submitted as usize),
        }
    }

    /// The same for one operation that needs more care: at a boundary, of one of several streams, or failed.
    #[inline(never)]
    fn reap_one(&mut self, index: usize, start: Nanos) {
        let completion = self.io.batch.done[index];
        let Request {
            offset,
            length,
            action,
            file,
            ..
        } = self.io.requests.first(MAX_IN_TURN)[index];
        if self.io.plain {
            let cells = self.io.streams[0].cells;
            let cell = if action == Action::Read {
                cells.read
            } else {
                cells.write
            };
            let record = self.io.slots.get_mut(completion.slot);
            *record = SlotRecord {
                key: u64::from(cell),
                offset,
                length,
                file,
                ..SlotRecord::default()
            };
        }
        let record = self.io.slots.get_mut(completion.slot);
        (record.queued, record.issued) = (start, start);
        let SlotRecord { key, due, pool, .. } = *record;
        if !self.io.plain {
            self.io.pools[pool as usize].give_back(completion.slot);
        }
        if self.features.careful {
            self.reap_with_features(completion.slot, completion.result, completion.at);
        } else if self.features.works_on_names && offset > 0 {
            self.io.recorder.count_untimed(key as u32, length);
        } else if completion.result == i64::from(length) {
            self.io
                .recorder
                .count_one(key as u32, length, due, start, completion.at);
        } else {
            self.reap_exception(completion.slot, completion.result, completion.at);
        }
    }

    /// Counts what a turn has brought and frees its slots.
    #[inline(always)]
    fn reap(&mut self) {
        let reaped = self.io.batch.reaped;
        let Some(first) = self.io.batch.done.first().map(|completion| completion.slot) else {
            return;
        };
        self.return_slots();
        let mut run = Run::starting_with(self.io.slots.get(first));
        let mut exceptions = false;
        for completion in self.io.batch.done.iter() {
            let record = self.io.slots.get(completion.slot);
            if completion.result != i64::from(record.length) {
                exceptions = true;
                continue;
            }
            if record.key != run.key {
                self.io.recorder.count(&run, reaped);
                run = Run::starting_with(record);
            }
            run.operations += 1;
            run.bytes += u64::from(record.length);
        }
        self.io.recorder.count(&run, reaped);
        if exceptions {
            self.reap_exceptions(reaped);
        }
        self.after_reaping(reaped);
    }

    /// Frees the slots of operations that have ended.
    #[inline(always)]
    fn return_slots(&mut self) {
        let done = &self.io.batch.done[..];
        if let [pool] = &mut self.io.pools[..] {
            let places = &mut pool.free[pool.free_count..];
            for (completion, place) in done.iter().zip(places) {
                *place = completion.slot;
            }
            pool.free_count += done.len();
            return;
        }
        for completion in done {
            let pool = self.io.slots.get(completion.slot).pool;
            self.io.pools[pool as usize].give_back(completion.slot);
        }
    }

    #[inline(never)]
    fn reap_exceptions(&mut self, reaped: Nanos) {
        for index in 0..self.io.batch.done.len() {
            let completion = self.io.batch.done[index];
            if completion.result != i64::from(self.io.slots.get(completion.slot).length) {
                self.reap_exception(completion.slot, completion.result, reaped);
            }
        }
    }

    #[inline(always)]
    fn after_reaping(&mut self, reaped: Nanos) {
        if self.io.batch.done.is_empty() {
            return;
        }
        self.lifecycle.measured.last_completion = reaped;
        if self.io.pacing.gated {
            self.notify_pacing(reaped);
        }
        if let Some(left) = self.lifecycle.warm_up_bytes_left {
            self.count_warm_up(left, reaped);
        }
    }

    #[inline(never)]
    fn notify_pacing(&mut self, reaped: Nanos) {
        if self.features.exchanges_files {
            self.notify_file_sets();
        }
        for index in 0..self.io.batch.done.len() {
            let completion = self.io.batch.done[index];
            if self.features.replays {
                let record = *self.io.slots.get(completion.slot);
                self.notify_replay(record.stream as usize, record.file);
            }
            let stream = self.io.slots.get(completion.slot).stream as usize;
            if let Some(gate) = &mut self.io.streams[stream].gate {
                gate.completed(reaped);
            }
        }
    }

    /// Learns whether the target completes operations inside the submitting call. Then the size of the batch *is* the
    /// latency of its operations, so each is handed over by itself.
    #[inline(never)]
    fn learn_inline(&mut self) {
        if self.io.batch.submitted == 0 {
            return;
        }
        let inline = &mut self.io.batching.inline;
        inline.probes_left = inline.probes_left.saturating_sub(1);
        if self.io.batch.done.len() as u32 >= self.io.batch.submitted {
            inline.in_a_row = inline.in_a_row.saturating_add(1);
        } else {
            inline.in_a_row = 0;
        }
        let works_inline = inline.in_a_row >= INLINE_TURNS;
        if works_inline != inline.seen && (works_inline || inline.in_a_row == 0) {
            inline.seen = works_inline;
            self.io.batching.submit = if works_inline { 1 } else { self.io.batching.default };
        }
    }
}
