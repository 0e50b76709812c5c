//! One worker: a thread that issues I/O and owns all it touches.
//!
//! This is the page to read first. A worker goes round one loop: it asks its streams for operations and queues them, lets
//! the engine carry out a turn, and counts what came back. Stop rule, pacing, access, contents and recording are parts
//! put into this loop. In the measured window nothing here allocates, locks, prints or reads another clock.

mod care;
mod file_set;
mod lane;
mod life;
mod lives;
mod meter;
mod opening;
mod outbox;
mod overlap;
mod playback;
mod priorities;
mod read_back;
mod recorder;
mod requests;
mod setup;
mod sharing;
mod stream;
mod timeline;
mod tracing;
mod verification;
mod windows;

use engine::{Action, Batch, Engine, Request, SimulatedWorker, Slot};
use model::content::Filler;
use model::draws::{Draws, DrawsForm};
use model::event::{EndReason, Phase};
use model::mismatch::Mismatch;
use model::plan::{Batching, Job};
use model::results::{Failure, Usage};
use model::sequence::Operation;
use model::{Direction, Nanos};

pub(crate) use life::Ended;
pub(crate) use outbox::{Inbox, Outbox, mailbox};
pub(crate) use recorder::{CellKey, CellKind, Recorder};
pub(crate) use setup::{Assignment, ReadyKind, ReadyTarget, set_up};
pub use setup::{Setting, SetupError};

use crate::control::JobControl;
use crate::operation_log::Pen;
use file_set::FromSet;
use lane::Lane;
use meter::Meter;
use recorder::{Grids, Run, SlotRecord, SlotTable};
use requests::Requests;
use stream::{LiveStream, Ready};
use timeline::Timeline;
use verification::BetweenRounds;

/// Operations that a synchronous engine is given in a turn, to carry out one after the other.
const AT_ONCE: usize = 32;
/// No more than this many bytes of them are to be written.
const AT_ONCE_BYTES: usize = 64 << 10;
/// So many turns in a row in which everything was done inside the submitting call mean that the target works that way.
const INLINE_TURNS: u32 = 16;

/// While this many turns are not over, each of them hands over without waiting, to see what is done at once.
const PROBE_TURNS: u32 = 64;

/// A worker, ready to run.
pub(crate) struct Worker<'plan> {
    engine: Box<dyn Engine>,
    /// Its part in the simulation, if it uses simulated devices.
    simulated: Option<SimulatedWorker>,
    batch: Batch,
    draws: Draws,
    draws_form: DrawsForm,
    streams: Vec<LiveStream>,
    lanes: Vec<Lane>,
    slots: SlotTable,
    /// Operations that the next turn hands over.
    requests: Requests,
    in_flight: u32,
    /// Raised whenever operations are queued with another stamp: those of one round can be counted together.
    round: u32,
    batching: Batching,
    /// Most operations in a turn, at present.
    submit_batch: usize,
    usual_batch: usize,
    inline: Inline,
    /// The lane whose turn it is, where they take turns.
    next_lane: usize,
    /// The plan leaves the size of a batch to the worker, and the engine may complete operations inside the call.
    learns_inline: bool,
    refilling: bool,
    /// The engine carries out one operation after the other; several are handed over in a turn only to save turns.
    one_at_a_time: bool,
    /// One lane, one stream, and nothing that holds it back: the usual case, which is spared all questions about others.
    plain: bool,
    /// Only the operation at the start of a file does something to it; the others have no latency.
    works_on_names: bool,
    /// Operations stand for no bytes.
    moves_nothing: bool,
    /// Operations are counted one by one, because each may have taken too long, is logged, or issues the next.
    careful: bool,
    /// Where a line for each operation goes.
    pen: Option<Pen>,
    /// The log had no room for a line at once.
    held_up: bool,
    /// Operations that overlap are kept apart.
    overlap: Option<Box<overlap::Overlap>>,
    /// What is issued is written down.
    tracing: Option<Box<tracing::Tracing>>,
    /// Number of the target behind each file of the engine.
    targets_of_files: Vec<u32>,
    /// I/O priority of each file of the engine.
    priorities_of_files: Vec<u16>,
    /// Parts of some stream have I/O priorities of their own.
    prioritised: bool,
    /// What streams of the step divide among themselves.
    flows: &'plan crate::flow::Flows,
    /// Files that are locked around each turn.
    locks: Option<Box<sharing::Locks>>,
    /// Some stream divides its operations with others.
    divides: bool,
    /// The operations of its stream come from a trace.
    plays: bool,
    /// Nothing more is to be issued.
    winding_down: bool,
    split_stamps: bool,
    /// Some stream has a gate that must hear of completions.
    gated: bool,
    /// Some stream opens and closes files, and must hear of completions too.
    exchanges_files: bool,
    /// When the next stream may issue, if none may now.
    next_due: Nanos,
    budget: Budget,
    full_budget: Budget,
    passes: Option<u32>,
    /// Every stream has done what it had to.
    all_done: bool,
    repeat_until_time: bool,
    /// Rounds to carry out, the present one included.
    rounds_left: u32,
    timeline: Timeline,
    interval: Nanos,
    /// The earliest of all boundaries: phase, exchange, interval series.
    boundary: Nanos,
    grids: Grids,
    recorder: Box<Recorder>,
    outbox: Outbox,
    control: &'plan JobControl,
    commands_seen: u32,
    measured: Measured,
    meter: Meter,
    warm_up_bytes_left: Option<u64>,
    warm_up_bytes_before: u64,
    first_issue: Nanos,
    end_reason: Option<EndReason>,
    failure: Option<Failure>,
    /// Some stream verifies what it reads or wrote.
    verifies: bool,
    mismatches: Vec<Mismatch>,
    mismatch_count: u64,
    /// Failures that were tolerated, where they are to be told.
    tolerated: Vec<Failure>,
    /// Memory that is held as long as the worker runs.
    _pinned: Option<engine::Pinned>,
    /// When reading back began, and how long it took.
    verification: (Nanos, Nanos),
    /// The same for reading back between two rounds, which lies in the measured window.
    between_rounds: BetweenRounds,
    /// All is written, and only blocks that are due to be discarded again are left.
    trims_the_rest: bool,
    plan: &'plan model::plan::Worker,
    job: &'plan Job,
    /// Path and direct-I/O alignment of each file of the engine, for messages.
    files: Vec<(String, Option<u64>)>,
    engine_reason: String,
    map_bytes: u64,
}

/// Whether the target completes operations inside the submitting call.
#[derive(Clone, Copy, Debug, Default)]
struct Inline {
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
        let start = match &self.simulated {
            Some(worker) => worker.wait_for_turn().max(start),
            None => start,
        };
        self.begin(start);
        // Decided once, so that those who do not need care do not even ask.
        if self.careful {
            self.go_round::<true>();
        } else {
            self.go_round::<false>();
        }
        self.end()
    }

    /// The loop. Each of its two forms is a function of its own, or they would share registers: together in one function
    /// they took one instruction more per operation of the null engine, apart they take one less than a single form did.
    #[inline(never)]
    fn go_round<const CAREFUL: bool>(&mut self) {
        while !(self.winding_down && self.is_over()) {
            match (self.plain && !CAREFUL, self.one_at_a_time) {
                (true, true) => self.issue_in_turn(),
                (true, false) => self.issue_plain(),
                (false, _) => self.issue(),
            }
            let (at_least, until) = self.what_to_wait_for();
            let requests = self.requests.first(self.submit_batch);
            if CAREFUL && let Some(locks) = &mut self.locks {
                locks.take(requests);
            }
            if let Err(error) = self.engine.turn(requests, at_least, until, &mut self.batch) {
                self.fail_with_engine(&error);
                break;
            }
            if CAREFUL && let Some(locks) = &mut self.locks {
                locks.give_back();
            }
            let reaped = self.batch.reaped;
            let crosses = reaped >= self.boundary;
            if CAREFUL && self.batching.count_waits {
                self.count_wait(at_least, until);
            }
            if self.one_at_a_time {
                self.settle_in_turn();
            } else {
                self.note_issued(at_least);
                if crosses {
                    self.cross(reaped);
                }
                if CAREFUL {
                    self.settle_with_care();
                } else {
                    self.settle();
                }
            }
            if self.control.commands() != self.commands_seen {
                self.obey();
            }
            if crosses || CAREFUL && std::mem::take(&mut self.held_up) {
                // Crossing took its time, and so did waiting for the log, which is no operation's.
                self.batch.reaped = self.engine.now();
            }
        }
    }

    /// Queues the next operations of one stream for an engine that carries out one after the other. Each takes the slot of
    /// its place in the batch, so nothing need be kept about slots.
    #[inline(always)]
    fn issue_in_turn(&mut self) {
        // What the last turn has not come to is still to be done.
        if !self.requests.is_empty() {
            return;
        }
        let Some(stream) = self.streams.first_mut() else { return };
        let room = self
            .submit_batch
            .min(self.budget.operations.try_into().unwrap_or(usize::MAX));
        let operations = stream.sequence.take(&mut self.draws, 0, room);
        let file = stream.file;
        let places = self.requests.places(operations.len());
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
        self.requests.add(taken);
        if let Some(filler) = &mut stream.filler {
            for request in self
                .requests
                .first(taken)
                .iter()
                .filter(|request| request.action == Action::Write)
            {
                let buffer = &mut self.engine.buffer(request.slot)[..request.length as usize];
                filler.fill(buffer, request.offset, self.batch.reaped, &mut self.draws);
            }
            // Filling takes longer than all the rest of this loop: the operations are ready only now.
            self.batch.reaped = self.engine.now();
        }
        self.budget.operations -= taken as u64;
        stream.idle_pass &= taken == 0;
        self.winding_down |= self.budget.operations == 0;
        if taken == 0 && room > 0 && self.pass_ended(0) {
            self.issue_in_turn();
        }
    }

    /// Queues an operation for every free slot: one stream, closed loop. They are handed over in batches, but they count
    /// from here: a slot that waits for its turn is not idle.
    #[inline(always)]
    fn issue_plain(&mut self) {
        let (Some(lane), Some(stream)) = (self.lanes.first_mut(), self.streams.first_mut()) else {
            return;
        };
        let mut room = lane.free_count.saturating_sub(lane.reserve);
        if self.inline.seen {
            // What is queued here would only wait for what the target completes at once.
            room = room.min(usize::from(self.requests.is_empty()));
        }
        room = room.min(self.budget.operations.try_into().unwrap_or(usize::MAX));
        self.round = self.round.wrapping_add(1);
        while room > 0 {
            let next_slot = lane.free[lane.free_count - 1].0;
            let operations = stream.sequence.take(&mut self.draws, next_slot, room);
            let taken = operations.len();
            if taken == 0 {
                if self.pass_ended(0) {
                    self.issue_plain();
                }
                return;
            }
            let (file, queued, round) = (stream.file, self.batch.reaped, u64::from(self.round) << 32);
            let cells = stream.cells;
            let slots = &lane.free[lane.free_count - taken..lane.free_count];
            let places = self.requests.places(taken);
            for ((operation, slot), place) in operations.iter().zip(slots.iter().rev()).zip(places) {
                let Operation {
                    direction,
                    offset,
                    length,
                } = *operation;
                let record = self.slots.get_mut(*slot);
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
                    self.requests.places(taken),
                    filler,
                    self.engine.as_mut(),
                    &mut self.slots,
                    &mut self.draws,
                    &mut self.round,
                );
                self.batch.reaped = now.unwrap_or(self.batch.reaped);
            }
            self.requests.add(taken);
            lane.free_count -= taken;
            self.budget.operations -= taken as u64;
            stream.idle_pass = false;
            room -= taken;
        }
        self.winding_down |= self.budget.operations == 0;
    }

    /// The same for any number of streams, paced or not.
    #[inline(never)]
    fn issue(&mut self) {
        self.issue_streams();
        if self.meter.paced {
            self.meter.update(&self.lanes, self.batch.reaped);
        }
    }

    fn issue_streams(&mut self) {
        self.next_due = Nanos::NEVER;
        match self.timeline.phase() {
            Phase::Draining => return,
            Phase::Verify => return self.issue_checks(),
            _ if self.between_rounds.are_under_way() => return self.issue_checks(),
            _ if self.trims_the_rest => return self.issue_last_trims(),
            _ if self.holds_back() => return,
            _ => {}
        }
        self.round = self.round.wrapping_add(1);
        if self.inline.seen {
            self.issue_in_rotation();
            return;
        }
        for index in 0..self.lanes.len() {
            while self.issue_from(index) {}
        }
    }

    /// One operation, for a target that completes it inside the call. Its slot is free again at once, so the lanes take
    /// turns: else the first would always be the first that has room.
    fn issue_in_rotation(&mut self) {
        let lanes = self.lanes.len();
        for number in 0..lanes {
            let index = (self.next_lane + number) % lanes;
            while self.requests.is_empty() && self.issue_from(index) {}
            if !self.requests.is_empty() {
                self.next_lane = index + 1;
                return;
            }
        }
    }

    /// fio's `iodepth_low`: once full, the queue is refilled only when it has run down that far.
    #[inline(always)]
    fn holds_back(&mut self) -> bool {
        let Some(low) = self.batching.refill_below else {
            return false;
        };
        if self.in_flight <= low {
            self.refilling = true;
        } else if !self.has_room() {
            self.refilling = false;
        }
        !self.refilling
    }

    /// Queues one operation from a lane. False if the lane has no free slot or nothing to do now.
    fn issue_from(&mut self, index: usize) -> bool {
        let lane = &self.lanes[index];
        if !lane.has_room() || self.budget.operations == 0 {
            return false;
        }
        let slot = lane.free[lane.free_count - 1];
        if self.divides && self.is_ahead_of_flow(self.lanes[index].streams.start) {
            return false;
        }
        if self.overlap.is_some() && self.keeps_apart(index, slot) {
            return false;
        }
        if self.plays {
            return self.issue_from_trace(index, slot);
        }
        // A flush belongs to the writes before it and waits for nobody's schedule.
        for number in self.lanes[index].streams.clone() {
            if let Some(action) = self.streams[number].gate.as_mut().and_then(|gate| gate.flush_due()) {
                self.queue_flush(index, number, slot, action);
                return true;
            }
        }
        let lane = &self.lanes[index];
        // DiskSpd's completion routines begin each slot with the first stream.
        let begins = self.batching.completion_routines && !self.slots.get(slot).used;
        let number = if lane.shared && !begins {
            lane.choose(&mut self.draws)
        } else {
            lane.streams.start
        };
        let number_in_lane = slot.0 - lane.first_slot;
        if self.verifies && (self.read_backlog(index, number, slot) || self.trim_written(index, number, slot)) {
            return true;
        }
        let now = self.batch.reaped;
        let stream = &mut self.streams[number];
        let (due, direction) = match &mut stream.gate {
            None => (now, None),
            Some(gate) => match gate.ready(now, &mut self.draws) {
                Ready::Now(due, direction) => (due, direction),
                Ready::At(later) => {
                    self.next_due = self.next_due.min(later);
                    return false;
                }
                Ready::Spin => {
                    self.next_due = now;
                    return false;
                }
            },
        };
        let operation = match direction {
            _ if stream.set.is_some() => match self.next_of_set(number, number_in_lane, direction) {
                FromSet::Operation(operation) => Some(operation),
                FromSet::Wait => return false,
                FromSet::PassOver => None,
            },
            Some(_) => stream.sequence.next(&mut self.draws, number_in_lane, direction),
            None => stream
                .sequence
                .take(&mut self.draws, number_in_lane, 1)
                .first()
                .copied(),
        };
        let Some(operation) = operation else {
            return self.pass_ended(number);
        };
        if self.verifies
            && let Some(go_on) = self.pass_over(number, &operation)
        {
            return go_on;
        }
        if self.overlap.is_some() && self.must_wait(index, number, &operation, due) {
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
        let now = self.batch.reaped;
        if let Some(flow) = &mut self.streams[number].flow {
            flow.issued();
        }
        if self.meter.paced {
            self.meter.count_issue(index, due, now);
        }
        if let Some(gate) = &mut self.streams[number].gate {
            gate.issued(operation.direction, operation.length, now, &mut self.draws);
            // Each paced operation has a due time of its own, so none is counted together with another.
            self.round = self.round.wrapping_add(1);
        }
        true
    }

    /// Queues an operation that was due at the given time. False if it exceeds what the worker may still issue.
    #[inline(always)]
    fn queue(&mut self, lane: usize, number: usize, slot: Slot, operation: &Operation, due: Nanos) -> bool {
        let Operation {
            direction,
            offset,
            length,
        } = *operation;
        let length = if self.moves_nothing { 0 } else { length };
        self.budget.operations -= 1;
        // The last operation may go beyond the amount.
        self.budget.bytes = self.budget.bytes.saturating_sub(u64::from(length));
        if self.budget.bytes == 0 {
            self.budget.operations = 0;
        }
        self.winding_down |= self.budget.operations == 0;
        self.streams[number].idle_pass = false;
        match direction {
            Direction::Write if self.streams[number].filler.is_some() => self.fill_write(number, slot, operation),
            Direction::Read if self.verifies => self.expect_read(number, slot, operation),
            _ => {}
        }
        let stream = &mut self.streams[number];
        let (cell, file) = (stream.cells[direction], stream.file_for(operation));
        *self.slots.get_mut(slot) = SlotRecord {
            key: u64::from(self.round) << 32 | u64::from(cell),
            queued: self.batch.reaped,
            issued: Nanos(0),
            due,
            offset,
            length,
            lane: lane as u32,
            stream: number as u32,
            file,
            used: true,
        };
        self.requests.push(Request {
            offset,
            length,
            slot,
            file,
            action: action_of(direction),
        });
        self.lanes[lane].free_count -= 1;
        if self.tracing.is_some() {
            self.trace_queued(file, action_of(direction), offset, length);
        }
        true
    }

    /// A stream has come to the end of a pass. True if it begins another.
    #[inline(never)]
    fn pass_ended(&mut self, number: usize) -> bool {
        let stream = &mut self.streams[number];
        if stream.done {
            return false;
        }
        stream.passes += 1;
        // A pass without a single operation would never end: nothing of the region can be used.
        if stream.idle_pass || self.passes.is_some_and(|passes| stream.passes >= passes) {
            stream.done = true;
            self.all_done = self.streams.iter().all(|stream| stream.done);
            self.winding_down |= self.all_done;
            return false;
        }
        stream.idle_pass = true;
        self.restart_draws();
        self.streams[number].restart(&mut self.draws);
        true
    }

    /// Queues a flush, which takes a slot like any other operation.
    #[inline(never)]
    fn queue_flush(&mut self, lane: usize, number: usize, slot: Slot, action: Action) {
        let file = self.streams[number].file;
        if self.verifies {
            self.expect_flush(number, slot);
        }
        self.queue_beside(lane, number, slot, (file, action), (0, 0));
    }

    /// How many completions the next turn waits for, and until when.
    #[inline(always)]
    fn what_to_wait_for(&self) -> (u32, Nanos) {
        if self.one_at_a_time && !self.requests.is_empty() {
            // Operations follow one another until something is to be done between them.
            return (1, self.boundary);
        }
        let waiting = self.requests.len();
        // Nobody else may wait for a lock while this worker waits for completions.
        let locked = self.locks.is_some() && waiting > 0;
        let more_to_hand_over =
            locked || waiting > self.submit_batch || self.inline.seen && waiting > 0 && self.has_room();
        if more_to_hand_over || self.inline.probes_left > 0 && waiting > 0 {
            return (0, Nanos::NEVER);
        }
        let at_least = self.batching.complete_min.unwrap_or(1);
        if self.next_due == Nanos::NEVER {
            // Only a completion brings more to do. Paced workers still account for every second.
            let until = if self.meter.paced { self.boundary } else { Nanos::NEVER };
            return (at_least.min(self.in_flight + waiting as u32), until);
        }
        (at_least.max(1), self.next_due.min(self.timeline.phase_end()))
    }

    #[inline(always)]
    fn has_room(&self) -> bool {
        self.lanes.iter().any(Lane::has_room)
    }

    /// Notes when the operations of this turn were issued, and how many were in flight then.
    #[inline(always)]
    fn note_issued(&mut self, at_least: u32) {
        let taken = self.batch.submitted as usize;
        let issued = if self.split_stamps {
            self.batch.returned
        } else {
            self.batch.before
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
        if at_least == 0 && self.learns_inline {
            self.learn_inline();
        }
    }

    /// Counts operations that were carried out one after the other: the end of each is the start of the next.
    #[inline(always)]
    fn settle_in_turn(&mut self) {
        let mut start = self.batch.before;
        let mut index = 0;
        while index < self.batch.done.len() {
            if self.plain {
                let (done, requests) = (&self.batch.done[index..], &self.requests.first(AT_ONCE)[index..]);
                let cells = &self.streams[0].cells;
                let counted = self.recorder.count_in_turn(done, requests, cells, start, self.boundary);
                (index, start) = (index + counted.0, counted.1);
            }
            let Some(completion) = self.batch.done.get(index) else {
                break;
            };
            let at = completion.at;
            if at >= self.boundary {
                self.cross(at);
            }
            self.settle_one(index, start);
            (index, start) = (index + 1, at);
        }
        if self.batch.reaped >= self.boundary {
            self.cross(self.batch.reaped);
        }
        self.after_settling(start);
        match self.timeline.phase() {
            Phase::Draining => self.requests.clear(),
            _ => self.requests.remove(self.batch.submitted as usize),
        }
    }

    /// The same for one operation that needs more care: at a boundary, of one of several streams, or failed.
    #[inline(never)]
    fn settle_one(&mut self, index: usize, start: Nanos) {
        let completion = self.batch.done[index];
        let Request {
            offset,
            length,
            action,
            file,
            ..
        } = self.requests.first(AT_ONCE)[index];
        if self.plain {
            let cells = self.streams[0].cells;
            let cell = if action == Action::Read {
                cells.read
            } else {
                cells.write
            };
            let record = self.slots.get_mut(completion.slot);
            *record = SlotRecord {
                key: u64::from(cell),
                offset,
                length,
                file,
                ..SlotRecord::default()
            };
        }
        let record = self.slots.get_mut(completion.slot);
        (record.queued, record.issued) = (start, start);
        let SlotRecord { key, due, lane, .. } = *record;
        if !self.plain {
            self.lanes[lane as usize].give_back(completion.slot);
        }
        if self.careful {
            self.settle_carefully(completion.slot, completion.result, completion.at);
        } else if self.works_on_names && offset > 0 {
            self.recorder.count_untimed(key as u32, length);
        } else if completion.result == i64::from(length) {
            self.recorder.count_one(key as u32, length, due, start, completion.at);
        } else {
            self.settle_exception(completion.slot, completion.result, completion.at);
        }
    }

    /// Counts what a turn has brought and frees its slots.
    #[inline(always)]
    fn settle(&mut self) {
        let reaped = self.batch.reaped;
        let Some(first) = self.batch.done.first().map(|completion| completion.slot) else {
            return;
        };
        self.return_slots();
        let mut run = Run::starting_with(self.slots.get(first));
        let mut exceptions = false;
        for completion in self.batch.done.iter() {
            let record = self.slots.get(completion.slot);
            if completion.result != i64::from(record.length) {
                exceptions = true;
                continue;
            }
            if record.key != run.key {
                self.recorder.count(&run, reaped);
                run = Run::starting_with(record);
            }
            run.operations += 1;
            run.bytes += u64::from(record.length);
        }
        self.recorder.count(&run, reaped);
        if exceptions {
            self.settle_exceptions(reaped);
        }
        self.after_settling(reaped);
    }

    /// Frees the slots of operations that have ended.
    #[inline(always)]
    fn return_slots(&mut self) {
        let done = &self.batch.done[..];
        if let [lane] = &mut self.lanes[..] {
            let places = &mut lane.free[lane.free_count..];
            for (completion, place) in done.iter().zip(places) {
                *place = completion.slot;
            }
            lane.free_count += done.len();
            return;
        }
        for completion in done {
            let lane = self.slots.get(completion.slot).lane;
            self.lanes[lane as usize].give_back(completion.slot);
        }
    }

    #[inline(never)]
    fn settle_exceptions(&mut self, reaped: Nanos) {
        for index in 0..self.batch.done.len() {
            let completion = self.batch.done[index];
            if completion.result != i64::from(self.slots.get(completion.slot).length) {
                self.settle_exception(completion.slot, completion.result, reaped);
            }
        }
    }

    #[inline(always)]
    fn after_settling(&mut self, reaped: Nanos) {
        if self.batch.done.is_empty() {
            return;
        }
        self.measured.last_completion = reaped;
        if self.gated {
            self.tell_gates(reaped);
        }
        if let Some(left) = self.warm_up_bytes_left {
            self.count_warm_up(left, reaped);
        }
    }

    #[inline(never)]
    fn tell_gates(&mut self, reaped: Nanos) {
        if self.exchanges_files {
            self.tell_sets();
        }
        for index in 0..self.batch.done.len() {
            let completion = self.batch.done[index];
            if self.plays {
                let record = *self.slots.get(completion.slot);
                self.tell_playback(record.stream as usize, record.file);
            }
            let stream = self.slots.get(completion.slot).stream as usize;
            if let Some(gate) = &mut self.streams[stream].gate {
                gate.completed(reaped);
            }
        }
    }

    /// Learns whether the target completes operations inside the submitting call. Then the size of the batch *is* the
    /// latency of its operations, so each is handed over by itself.
    #[inline(never)]
    fn learn_inline(&mut self) {
        if self.batch.submitted == 0 {
            return;
        }
        let inline = &mut self.inline;
        inline.probes_left = inline.probes_left.saturating_sub(1);
        if self.batch.done.len() as u32 >= self.batch.submitted {
            inline.in_a_row = inline.in_a_row.saturating_add(1);
        } else {
            inline.in_a_row = 0;
        }
        let works_inline = inline.in_a_row >= INLINE_TURNS;
        if works_inline != inline.seen && (works_inline || inline.in_a_row == 0) {
            inline.seen = works_inline;
            self.submit_batch = if works_inline { 1 } else { self.usual_batch };
        }
    }
}
