//! The general path: one operation at a time, with checks of gates and features. It serves streams
//! that wait for a schedule, pause or flush, streams that share slots, and every worker with
//! features.

use engine::{Action, Request, Slot};
use model::draws::Draws;
use model::sequence::Operation;
use model::{Direction, Nanos};

use super::{IoLoop, SlotRecord, action_for};
use crate::worker::features::{Features, NextOperation};
use crate::worker::recorder::cell_for;
use crate::worker::stream::Ready;

impl IoLoop {
    /// Queues as many operations as there is room for and gates and features allow.
    #[inline(never)]
    pub(crate) fn submit_general(&mut self, mut features: Option<&mut Features>) {
        self.pacing.next_due = Nanos::NEVER;
        if !self.defers_refill() {
            self.round = self.round.wrapping_add(1);
            if self.batching.inline.is_detected {
                self.submit_in_rotation(features);
            } else if self.bursts.is_some() {
                self.submit_bursts(features);
            } else {
                for pool in 0..self.pools.len() {
                    while self.submit_from(pool, features.as_deref_mut()) {}
                }
            }
        }
        self.update_meter();
    }

    /// Updates the meter with the current slots, if some stream is paced.
    pub(crate) fn update_meter(&mut self) {
        if self.pacing.meter.paced {
            self.pacing.meter.update(&self.pools, self.batch.reap_time);
        }
    }

    /// Queues one operation for a target that completes it inside the call. Its slot is free again
    /// immediately, so the pools must alternate; otherwise the first pool would always be chosen.
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

    /// Queues operations of bursts, which span all targets: their pools alternate, one operation
    /// each.
    fn submit_bursts(&mut self, mut features: Option<&mut Features>) {
        let pools = self.pools.len();
        let mut refused = 0;
        while refused < pools {
            let pool = self.batching.next_pool % pools;
            self.batching.next_pool = pool + 1;
            refused = if self.submit_from(pool, features.as_deref_mut()) {
                0
            } else {
                refused + 1
            };
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
        // A flush belongs to the preceding writes and ignores the schedule.
        for number in self.pools[pool].streams.clone() {
            if let Some(action) = self.streams[number].gate.as_mut().and_then(|gate| gate.flush_due()) {
                self.queue_flush(pool, number, slot, action, features);
                return true;
            }
        }
        let begins_with_first = features
            .as_deref()
            .is_some_and(|features| features.begins_with_first_stream(self.slots.get(slot)));
        let number = match &mut self.bursts {
            Some(bursts) => match bursts.choose_alternative(self.batch.reap_time, &mut self.draws) {
                Ok(alternative) => self.pools[pool].streams.start + alternative,
                Err(later) => {
                    self.pacing.next_due = self.pacing.next_due.min(later);
                    return false;
                }
            },
            None if self.pools[pool].shared && !begins_with_first => self.choose_stream(pool),
            None => self.pools[pool].streams.start,
        };
        let slot_in_pool = slot.0 - self.pools[pool].first_slot;
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
            NextOperation::EndOfPass => return self.end_pass(number, features),
        };
        if let Some(features) = features.as_deref_mut()
            && let Some(go_on) = features.withhold(self, pool, number, &operation, due)
        {
            return go_on;
        }
        self.issue(pool, number, slot, &operation, due, features);
        if let Some(bursts) = &mut self.bursts {
            bursts.count_issued();
        }
        true
    }

    /// Chooses the stream of a shared pool: the one that is due first. Another stream would delay
    /// it; streams without a schedule use the slots that are left.
    fn choose_stream(&mut self, pool: usize) -> usize {
        let pool = &self.pools[pool];
        if !self.pacing.meter.paced || matches!(self.draws, Draws::DiskSpd(_)) {
            return pool.choose_stream(&mut self.draws);
        }
        let due = |number: usize| self.streams[number].gate.as_ref()?.next_due();
        let scheduled = || pool.streams.clone().filter_map(|number| Some((due(number)?, number)));
        let first = scheduled().min();
        match first {
            Some((at, number)) if at <= self.batch.reap_time || scheduled().count() == pool.streams.len() => number,
            _ => pool.choose_stream(&mut self.draws),
        }
    }

    /// A stream's next due time, and the direction if the schedule decides it. `None` if none is
    /// due now.
    #[inline(always)]
    pub(crate) fn pass_gate(&mut self, number: usize) -> Option<(Nanos, Option<Direction>)> {
        let now = self.batch.reap_time;
        let Some(gate) = &mut self.streams[number].gate else {
            return Some((now, None));
        };
        let due = match gate.check_ready(now, &mut self.draws) {
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
        self.spend_budget(length);
        let stream = &mut self.streams[number];
        stream.idle_pass = false;
        *self.slots.get_mut(slot) = SlotRecord {
            key: u64::from(self.round) << 32 | u64::from(stream.cells[operation.direction]),
            queued: self.batch.reap_time,
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
        let now = self.batch.reap_time;
        if self.pacing.meter.paced {
            self.pacing.meter.count_issue(pool, due, now);
        }
        if let Some(gate) = &mut self.streams[number].gate {
            gate.record_issue(operation.direction, operation.length, now, &mut self.draws);
            // Each paced operation has its own due time, so none is counted together with another.
            self.round = self.round.wrapping_add(1);
        }
    }

    /// Queues an operation outside of sequences and schedules. Flushes have a length of 0.
    pub(crate) fn queue_unscheduled(&mut self, pool: usize, number: usize, request: Request) {
        let stream = &mut self.streams[number];
        let cell = match request.action {
            Action::Flush | Action::FlushData | Action::FlushRange(_) => stream.sync_cell,
            action @ (Action::Read | Action::Write | Action::Trim) => cell_for(&stream.cells, action),
        };
        self.round = self.round.wrapping_add(1);
        *self.slots.get_mut(request.slot) = SlotRecord {
            key: u64::from(self.round) << 32 | u64::from(cell),
            queued: self.batch.reap_time,
            issued: Nanos(0),
            due: self.batch.reap_time,
            offset: request.offset,
            length: request.length,
            pool: pool as u32,
            stream: number as u32,
            file: request.file,
            used: true,
        };
        if request.length > 0
            && let Some(gate) = &mut stream.gate
        {
            gate.issued_unscheduled();
        }
        self.push(pool, request);
    }

    /// Queues a flush, which takes a slot like any other operation.
    #[inline(never)]
    fn queue_flush(&mut self, pool: usize, number: usize, slot: Slot, action: Action, features: Option<&mut Features>) {
        match features {
            Some(features) => features.queue_flush(self, pool, number, slot, action),
            None => self.queue_unscheduled(pool, number, Request::flush(self.streams[number].file, slot, action)),
        }
    }

    fn push(&mut self, pool: usize, request: Request) {
        self.requests.push(request);
        self.pools[pool].free_count -= 1;
    }

    /// Fills the buffer of a write, whose latency is measured from the end of filling.
    pub(crate) fn fill_write(&mut self, number: usize, slot: Slot, operation: &Operation) {
        if operation.direction != Direction::Write {
            return;
        }
        let Some(filler) = &mut self.streams[number].filler else {
            return;
        };
        let buffer = &mut self.engine.buffer(slot)[..operation.length as usize];
        filler.fill(buffer, operation.offset, self.batch.reap_time, &mut self.draws);
        self.start_new_round();
    }

    /// Starts a new round, so that the time spent so far does not count as latency.
    pub(crate) fn start_new_round(&mut self) {
        self.batch.reap_time = self.engine.now();
        self.round = self.round.wrapping_add(1);
    }
}
