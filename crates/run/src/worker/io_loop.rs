//! The I/O loop's parts: submit operations, hand them to the engine, reap what completed.
//!
//! A plain job takes one of two fast paths, which plan and count operations in batches. All others take the general one,
//! which asks gates and features for each operation. Nothing here knows phases, commands or what a feature does.

use engine::{Action, Batch, Engine, Request, Slot};
use model::content::Filler;
use model::draws::Draws;
use model::sequence::Operation;
use model::{Direction, Nanos};

use super::batching::Batching;
use super::errors::ErrorLog;
use super::features::{Features, NextOperation};
use super::meter::Meter;
use super::recorder::{Recorder, Run};
use super::requests::Requests;
use super::slots::{SlotPool, SlotRecord, SlotTable};
use super::stream::{LiveStream, Ready};

/// Operations that a synchronous engine gets in a turn, to carry out one after the other.
pub(crate) const MAX_IN_TURN: usize = 32;

/// Everything an operation passes through on its way.
pub(crate) struct IoLoop {
    pub(crate) engine: Box<dyn Engine>,
    pub(crate) batch: Batch,
    pub(crate) draws: Draws,
    pub(crate) streams: Vec<LiveStream>,
    pub(crate) pools: Vec<SlotPool>,
    pub(crate) slots: SlotTable,
    /// Operations that the next turn hands over.
    pub(crate) requests: Requests,
    pub(crate) in_flight: u32,
    /// Changes whenever operations are queued with another stamp: those of one round are counted together.
    pub(crate) round: u32,
    pub(crate) path: IssuePath,
    /// The engine carries out one operation after the other; several in a turn only save turns.
    pub(crate) one_at_a_time: bool,
    pub(crate) batching: Batching,
    pub(crate) pacing: PaceState,
    /// The earliest of all boundaries: phase, exchange of recorders, interval series.
    pub(crate) boundary: Nanos,
    pub(crate) budget: Budget,
    /// Passes over its region that each stream makes.
    pub(crate) passes: Option<u32>,
    /// Nothing more is submitted.
    pub(crate) winding_down: bool,
    pub(crate) recorder: Box<Recorder>,
    pub(crate) errors: ErrorLog,
}

/// How operations are submitted; chosen once, before the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IssuePath {
    /// In batches, from one stream that nothing holds back.
    OneStream,
    /// One by one, with every question.
    General,
}

/// When streams that are held back may continue.
#[derive(Debug)]
pub(crate) struct PaceState {
    /// Some stream has a gate, which needs to know of completions.
    pub(crate) gated: bool,
    /// When the next stream may submit, if none may now.
    pub(crate) next_due: Nanos,
    pub(crate) meter: Meter,
}

/// What a worker may still submit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
}

impl Budget {
    /// Without limits.
    pub(crate) const OPEN: Budget = Budget {
        operations: u64::MAX,
        bytes: u64::MAX,
    };
}

#[inline(always)]
fn action_for(direction: Direction) -> Action {
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

/// The fast paths.
impl IoLoop {
    /// Queues the next operations of one stream for an engine that carries out one after the other. Each takes the slot of
    /// its place in the batch, so no slot needs book-keeping.
    #[inline(always)]
    pub(crate) fn submit_in_turn(&mut self) {
        // What the last turn has not reached comes first.
        if !self.requests.is_empty() {
            return;
        }
        let Some(stream) = self.streams.first_mut() else { return };
        let room = self
            .batching
            .submit
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
                action: action_for(direction),
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
        if taken == 0 && room > 0 && self.end_pass(0, None) {
            self.submit_in_turn();
        }
    }

    /// Queues an operation for every free slot: one stream, closed loop. They are handed over in batches, but they count
    /// from here: a slot that waits for its turn is not idle.
    #[inline(always)]
    pub(crate) fn submit_one_stream(&mut self) {
        let (Some(pool), Some(stream)) = (self.pools.first_mut(), self.streams.first_mut()) else {
            return;
        };
        let mut room = pool.free_count.saturating_sub(pool.reserve);
        if self.batching.inline.seen {
            // More would only wait for what the target completes at once.
            room = room.min(usize::from(self.requests.is_empty()));
        }
        room = room.min(self.budget.operations.try_into().unwrap_or(usize::MAX));
        self.round = self.round.wrapping_add(1);
        while room > 0 {
            let next_slot = pool.free[pool.free_count - 1].0;
            let operations = stream.sequence.take(&mut self.draws, next_slot, room);
            let taken = operations.len();
            if taken == 0 {
                if self.end_pass(0, None) {
                    self.submit_one_stream();
                }
                return;
            }
            let (file, queued, round) = (stream.file, self.batch.reaped, u64::from(self.round) << 32);
            let cells = stream.cells;
            let slots = &pool.free[pool.free_count - taken..pool.free_count];
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
                    action: action_for(direction),
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
            pool.free_count -= taken;
            self.budget.operations -= taken as u64;
            stream.idle_pass = false;
            room -= taken;
        }
        self.winding_down |= self.budget.operations == 0;
    }
}

/// The general path.
impl IoLoop {
    /// Queues as many operations as there is room for and gates and features allow.
    #[inline(never)]
    pub(crate) fn submit_general(&mut self, mut features: Option<&mut Features>) {
        self.pacing.next_due = Nanos::NEVER;
        let has_room = self.has_room();
        if !self.batching.defers_refill(self.in_flight, has_room) {
            self.round = self.round.wrapping_add(1);
            if self.batching.inline.seen {
                self.submit_in_rotation(features);
            } else {
                for pool in 0..self.pools.len() {
                    while self.submit_from(pool, features.as_deref_mut()) {}
                }
            }
        }
        self.update_meter();
    }

    /// Accounts for the slots as they are now, where some stream is paced.
    pub(crate) fn update_meter(&mut self) {
        if self.pacing.meter.paced {
            self.pacing.meter.update(&self.pools, self.batch.reaped);
        }
    }

    /// Queues one operation, for a target that completes it inside the call. Its slot is free again at once, so the pools
    /// take turns: otherwise the first would always be the first that has room.
    fn submit_in_rotation(&mut self, mut features: Option<&mut Features>) {
        let pools = self.pools.len();
        for number in 0..pools {
            let pool = (self.batching.next_pool + number) % pools;
            while self.requests.is_empty() && self.submit_from(pool, features.as_deref_mut()) {}
            if !self.requests.is_empty() {
                self.batching.next_pool = pool + 1;
                return;
            }
        }
    }

    /// Queues one operation from a pool. False if the pool has no free slot or nothing to do now.
    pub(crate) fn submit_from(&mut self, pool: usize, mut features: Option<&mut Features>) -> bool {
        if !self.pools[pool].has_room() || self.budget.operations == 0 {
            return false;
        }
        let slot = self.pools[pool].next_slot();
        if let Some(features) = features.as_deref_mut()
            && let Some(submitted) = features.before_issue(self, pool, slot)
        {
            return submitted;
        }
        // A flush belongs to the writes before it and waits for no schedule.
        for number in self.pools[pool].streams.clone() {
            if let Some(action) = self.streams[number].gate.as_mut().and_then(|gate| gate.flush_due()) {
                self.queue_flush(pool, number, slot, action, features);
                return true;
            }
        }
        let pool_state = &self.pools[pool];
        let begins_with_first = features
            .as_deref()
            .is_some_and(|features| features.begins_with_first_stream(self.slots.get(slot)));
        let number = if pool_state.shared && !begins_with_first {
            pool_state.choose(&mut self.draws)
        } else {
            pool_state.streams.start
        };
        let slot_in_pool = slot.0 - pool_state.first_slot;
        if let Some(features) = features.as_deref_mut()
            && features.issue_instead(self, pool, number, slot)
        {
            return true;
        }
        let Some((due, direction)) = self.pass_gate(number) else {
            return false;
        };
        let next = match features.as_deref_mut() {
            Some(features) => features.next_operation(self, number, slot_in_pool, direction),
            None => self.streams[number]
                .next(&mut self.draws, slot_in_pool, direction)
                .into(),
        };
        let operation = match next {
            NextOperation::Issue(operation) => operation,
            NextOperation::Wait => return false,
            NextOperation::PassOver => return self.end_pass(number, features),
        };
        if let Some(features) = features.as_deref_mut()
            && let Some(go_on) = features.withhold(self, pool, number, &operation, due)
        {
            return go_on;
        }
        self.issue(pool, number, slot, &operation, due, features);
        true
    }

    /// When the next operation of a stream was due, and its direction where the schedule decides it; `None` if none is due
    /// now.
    #[inline(always)]
    pub(crate) fn pass_gate(&mut self, number: usize) -> Option<(Nanos, Option<Direction>)> {
        let now = self.batch.reaped;
        let Some(gate) = &mut self.streams[number].gate else {
            return Some((now, None));
        };
        let due = match gate.ready(now, &mut self.draws) {
            Ready::Now(due, direction) => return Some((due, direction)),
            Ready::At(later) => self.pacing.next_due.min(later),
            Ready::Spin => now,
        };
        self.pacing.next_due = due;
        None
    }

    /// Queues an operation and notifies gate, meter and features.
    #[inline(always)]
    pub(crate) fn issue(
        &mut self,
        pool: usize,
        number: usize,
        slot: Slot,
        operation: &Operation,
        due: Nanos,
        mut features: Option<&mut Features>,
    ) {
        let (file, length) = match features.as_deref_mut() {
            Some(features) => features.prepare(self, number, slot, operation),
            None => {
                self.fill_write(number, slot, operation);
                (self.streams[number].file, operation.length)
            }
        };
        self.spend(length);
        let stream = &mut self.streams[number];
        stream.idle_pass = false;
        *self.slots.get_mut(slot) = SlotRecord {
            key: u64::from(self.round) << 32 | u64::from(stream.cells[operation.direction]),
            queued: self.batch.reaped,
            issued: Nanos(0),
            due,
            offset: operation.offset,
            length,
            pool: pool as u32,
            stream: number as u32,
            file,
            used: true,
        };
        let request = Request {
            offset: operation.offset,
            length,
            slot,
            file,
            action: action_for(operation.direction),
        };
        self.push(pool, request);
        if let Some(features) = features {
            features.on_issued(self, number, &request);
        }
        let now = self.batch.reaped;
        if self.pacing.meter.paced {
            self.pacing.meter.count_issue(pool, due, now);
        }
        if let Some(gate) = &mut self.streams[number].gate {
            gate.issued(operation.direction, operation.length, now, &mut self.draws);
            // Each paced operation has a due time of its own, so none is counted together with another.
            self.round = self.round.wrapping_add(1);
        }
    }

    /// Queues an operation that no sequence has drawn and no schedule knows of. Flushes have a length of 0.
    pub(crate) fn queue_unscheduled(
        &mut self,
        pool: usize,
        number: usize,
        slot: Slot,
        (file, action): (u16, Action),
        (offset, length): (u64, u32),
    ) {
        let stream = &mut self.streams[number];
        let cell = match action {
            Action::Read => stream.cells[Direction::Read],
            Action::Write => stream.cells[Direction::Write],
            Action::Trim => stream.cells[Direction::Trim],
            Action::Flush | Action::FlushData | Action::FlushRange(_) => stream.sync_cell,
        };
        self.round = self.round.wrapping_add(1);
        *self.slots.get_mut(slot) = SlotRecord {
            key: u64::from(self.round) << 32 | u64::from(cell),
            queued: self.batch.reaped,
            issued: Nanos(0),
            due: self.batch.reaped,
            offset,
            length,
            pool: pool as u32,
            stream: number as u32,
            file,
            used: true,
        };
        if length > 0
            && let Some(gate) = &mut stream.gate
        {
            gate.issued_unscheduled();
        }
        let request = Request {
            offset,
            length,
            slot,
            file,
            action,
        };
        self.push(pool, request);
    }

    /// Queues a flush, which takes a slot like any other operation.
    #[inline(never)]
    fn queue_flush(&mut self, pool: usize, number: usize, slot: Slot, action: Action, features: Option<&mut Features>) {
        match features {
            Some(features) => features.queue_flush(self, pool, number, slot, action),
            None => self.queue_unscheduled(pool, number, slot, (self.streams[number].file, action), (0, 0)),
        }
    }

    fn push(&mut self, pool: usize, request: Request) {
        self.requests.push(request);
        self.pools[pool].free_count -= 1;
    }

    /// Fills the buffer of a write, which is ready only then.
    pub(crate) fn fill_write(&mut self, number: usize, slot: Slot, operation: &Operation) {
        if operation.direction != Direction::Write {
            return;
        }
        let Some(filler) = &mut self.streams[number].filler else {
            return;
        };
        let buffer = &mut self.engine.buffer(slot)[..operation.length as usize];
        filler.fill(buffer, operation.offset, self.batch.reaped, &mut self.draws);
        self.stamp_filled();
    }

    /// A buffer was filled: the operations queued from here on have another stamp.
    pub(crate) fn stamp_filled(&mut self) {
        self.batch.reaped = self.engine.now();
        self.round = self.round.wrapping_add(1);
    }

    /// Takes an operation off the budget. The last one may go beyond the amount of bytes.
    #[inline(always)]
    pub(crate) fn spend(&mut self, length: u32) {
        self.budget.operations -= 1;
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
}

/// Passes over the region of a stream.
impl IoLoop {
    /// A stream has come to the end of a pass. True if it begins another.
    #[inline(never)]
    pub(crate) fn end_pass(&mut self, number: usize, features: Option<&mut Features>) -> bool {
        let stream = &mut self.streams[number];
        if stream.done {
            return false;
        }
        stream.passes += 1;
        // A pass without a single operation would never end: nothing of the region can be used.
        if stream.idle_pass || self.passes.is_some_and(|passes| stream.passes >= passes) {
            stream.done = true;
            self.winding_down |= self.streams.iter().all(|stream| stream.done);
            return false;
        }
        stream.idle_pass = true;
        self.draws.begin_pass();
        self.restart_stream(number, features);
        true
    }

    /// Begins another pass of all streams.
    pub(crate) fn restart_streams(&mut self, mut features: Option<&mut Features>) {
        self.draws.begin_pass();
        for number in 0..self.streams.len() {
            self.restart_stream(number, features.as_deref_mut());
        }
    }

    fn restart_stream(&mut self, number: usize, features: Option<&mut Features>) {
        self.streams[number].sequence.restart(&mut self.draws);
        if let Some(features) = features {
            features.on_restart(self, number);
        }
    }
}

/// Waiting and reaping.
impl IoLoop {
    /// How many completions the next turn waits for, and until when; `phase_end` is when the phase ends by time. A worker
    /// that holds locks waits for none: others wait for the locks meanwhile.
    #[inline(always)]
    pub(crate) fn completions_to_await(&self, phase_end: Nanos, holds_locks: bool) -> (u32, Nanos) {
        if self.one_at_a_time && !self.requests.is_empty() {
            // Operations follow one another until something happens between them.
            return (1, self.boundary);
        }
        let waiting = self.requests.len();
        let has_more = holds_locks && waiting > 0
            || waiting > self.batching.submit
            || self.batching.inline.seen && waiting > 0 && self.has_room();
        if has_more || self.batching.is_probing() && waiting > 0 {
            return (0, Nanos::NEVER);
        }
        let at_least = self.batching.complete_min;
        let PaceState { next_due, meter, .. } = &self.pacing;
        if *next_due == Nanos::NEVER {
            // Only a completion brings more to do. Paced workers still account for every second.
            let until = if meter.paced { self.boundary } else { Nanos::NEVER };
            return (at_least.min(self.in_flight + waiting as u32), until);
        }
        (at_least.max(1), (*next_due).min(phase_end))
    }

    /// Notes when the operations of this turn were issued, and how many were in flight then.
    #[inline(always)]
    pub(crate) fn note_issued(&mut self, at_least: u32) {
        let taken = self.batch.submitted as usize;
        let issued = if self.batching.split_stamps {
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
        if at_least == 0 && self.batching.adapts {
            self.batching.learn(self.batch.submitted, ended);
        }
    }

    /// Counts what a turn has brought and frees its slots. True if some of it needs [`IoLoop::reap_exception`].
    #[inline(always)]
    pub(crate) fn reap(&mut self) -> bool {
        let reaped = self.batch.reaped;
        let Some(first) = self.batch.done.first().map(|completion| completion.slot) else {
            return false;
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
        exceptions
    }

    /// Frees the slots of operations that completed.
    #[inline(always)]
    fn return_slots(&mut self) {
        let done = &self.batch.done[..];
        if let [pool] = &mut self.pools[..] {
            let places = &mut pool.free[pool.free_count..];
            for (completion, place) in done.iter().zip(places) {
                *place = completion.slot;
            }
            pool.free_count += done.len();
            return;
        }
        for completion in done {
            let pool = self.slots.get(completion.slot).pool;
            self.pools[pool as usize].give_back(completion.slot);
        }
    }

    /// Counts operations that were carried out one after the other, from `index` on and up to the first that needs
    /// [`IoLoop::record_in_turn`]. Returns its index, and the end of the one before.
    #[inline(always)]
    pub(crate) fn reap_in_turn(&mut self, index: usize, start: Nanos) -> (usize, Nanos) {
        if self.path != IssuePath::OneStream {
            return (index, start);
        }
        let (done, requests) = (&self.batch.done[index..], &self.requests.first(MAX_IN_TURN)[index..]);
        let cells = &self.streams[0].cells;
        let counted = self.recorder.count_in_turn(done, requests, cells, start, self.boundary);
        (index + counted.0, counted.1)
    }

    /// Completes the record of one of these operations and frees its slot. `start` is the end of the one before.
    #[inline(never)]
    pub(crate) fn record_in_turn(&mut self, index: usize, start: Nanos) -> SlotRecord {
        let slot = self.batch.done[index].slot;
        let request = self.requests.first(MAX_IN_TURN)[index];
        let record = self.slots.get_mut(slot);
        if self.path == IssuePath::OneStream {
            let cells = &self.streams[0].cells;
            let cell = match request.action {
                Action::Read => cells.read,
                _ => cells.write,
            };
            *record = SlotRecord {
                key: u64::from(cell),
                offset: request.offset,
                length: request.length,
                file: request.file,
                ..SlotRecord::default()
            };
        }
        (record.queued, record.issued) = (start, start);
        let record = *record;
        if self.path != IssuePath::OneStream {
            self.pools[record.pool as usize].give_back(slot);
        }
        record
    }

    /// Notifies gates of what completed.
    #[inline(never)]
    pub(crate) fn notify_pacing(&mut self, reaped: Nanos) {
        for completion in self.batch.done.iter() {
            let stream = self.slots.get(completion.slot).stream as usize;
            if let Some(gate) = &mut self.streams[stream].gate {
                gate.completed(reaped);
            }
        }
    }

    /// Drops operations that no engine has taken over yet, and frees their slots.
    pub(crate) fn drop_waiting(&mut self) {
        if self.one_at_a_time {
            // The list is still being reaped; it is emptied at the end of that.
            return;
        }
        for request in self.requests.first(usize::MAX) {
            let pool = self.slots.get(request.slot).pool as usize;
            self.pools[pool].give_back(request.slot);
        }
        self.requests.clear();
    }
}
