//! The fast path: operations in batches, from streams that nothing delays.

use engine::{Action, Engine, Request, Slot};
use model::Nanos;
use model::content::Filler;
use model::draws::Draws;
use model::sequence::Operation;

use super::{Budget, IoLoop, SlotTable, action_for};

/// Fills the buffers of writes that were just queued. Filling takes longer than the rest of the
/// loop, so each operation is ready only afterwards. Returns when the last operation was ready.
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

impl Budget {
    /// Subtracts operations from the budget. Returns how many may be submitted; the last one may
    /// exceed the byte limit.
    #[inline(always)]
    fn admit(&mut self, operations: &[Operation]) -> usize {
        let mut admitted = operations.len();
        if self.bytes != u64::MAX {
            admitted = self.admit_bytes(operations);
        }
        self.operations -= admitted as u64;
        admitted
    }

    fn admit_bytes(&mut self, operations: &[Operation]) -> usize {
        for (index, operation) in operations.iter().enumerate() {
            self.bytes = self.bytes.saturating_sub(u64::from(operation.length));
            if self.bytes == 0 {
                self.operations = index as u64 + 1;
                return index + 1;
            }
        }
        operations.len()
    }

    /// The remaining operations of the budget, at most `room`.
    #[inline(always)]
    fn remaining(&self, room: usize) -> usize {
        room.min(self.operations.try_into().unwrap_or(usize::MAX))
    }
}

/// Synchronous engines: several operations in a turn only save turns.
impl IoLoop {
    /// Queues the next operations for a synchronous engine. Each takes the slot of its position in
    /// the batch, so slots need no bookkeeping.
    #[inline(always)]
    pub(crate) fn submit_synchronous(&mut self) {
        // Operations that the last turn did not reach come first.
        if !self.requests.is_empty() {
            return;
        }
        match self.streams.len() {
            1 => self.submit_stream_synchronous(),
            _ => self.submit_streams_synchronous(),
        }
    }

    #[inline(always)]
    fn submit_stream_synchronous(&mut self) {
        let Some(stream) = self.streams.first_mut() else { return };
        let room = self.budget.remaining(self.batching.submit);
        let operations = stream.sequence.take(&mut self.draws, 0, room);
        let admitted = self.budget.admit(operations);
        let file = stream.file;
        let places = self.requests.free_entries(admitted);
        for (index, (operation, place)) in operations.iter().zip(places).enumerate() {
            *place = Request {
                offset: operation.offset,
                length: operation.length,
                slot: Slot(index as u32),
                file,
                action: action_for(operation.direction),
            };
        }
        self.requests.add(admitted);
        if let Some(filler) = &mut stream.filler {
            let writes = self.requests.first(admitted).iter();
            for request in writes.filter(|request| request.action == Action::Write) {
                let buffer = &mut self.engine.buffer(request.slot)[..request.length as usize];
                filler.fill(buffer, request.offset, self.batch.reap_time, &mut self.draws);
            }
            // Filling takes longer than the rest of this loop, so the operations are ready only
            // now.
            self.batch.reap_time = self.engine.now();
        }
        stream.idle_pass &= admitted == 0;
        self.winding_down |= self.budget.operations == 0;
        if admitted == 0 && room > 0 && self.end_pass(0, None) {
            self.submit_stream_synchronous();
        }
    }

    /// Queues the next operations of several streams, which alternate.
    #[inline(never)]
    fn submit_streams_synchronous(&mut self) {
        let room = self.budget.remaining(self.batching.submit);
        let mut filled = false;
        let mut idle_streams = 0;
        while self.requests.len() < room && idle_streams < self.streams.len() && self.budget.operations > 0 {
            let number = self.batching.next_pool % self.streams.len();
            let stream = &mut self.streams[number];
            let operations = stream.sequence.take(&mut self.draws, 0, 1);
            let Some(operation) = operations.first().copied() else {
                if !self.end_pass(number, None) {
                    (self.batching.next_pool, idle_streams) = (number + 1, idle_streams + 1);
                }
                continue;
            };
            self.budget.admit(&[operation]);
            (self.batching.next_pool, idle_streams, stream.idle_pass) = (number + 1, 0, false);
            let slot = Slot(self.requests.len() as u32);
            let record = self.slots.get_mut(slot);
            record.key = u64::from(stream.cells[operation.direction]);
            (record.offset, record.length) = (operation.offset, operation.length);
            (record.stream, record.file) = (number as u32, stream.file);
            let action = action_for(operation.direction);
            if action == Action::Write
                && let Some(filler) = &mut stream.filler
            {
                let buffer = &mut self.engine.buffer(slot)[..operation.length as usize];
                filler.fill(buffer, operation.offset, self.batch.reap_time, &mut self.draws);
                filled = true;
            }
            self.requests.push(Request {
                offset: operation.offset,
                length: operation.length,
                slot,
                file: stream.file,
                action,
            });
        }
        if filled {
            self.batch.reap_time = self.engine.now();
        }
        self.winding_down |= self.budget.operations == 0;
    }
}

/// All other engines.
impl IoLoop {
    /// Queues an operation for every free slot. Operations are submitted in batches, but their
    /// latency is measured from here: a slot that waits for submission is not idle.
    #[inline(always)]
    pub(crate) fn submit_batches(&mut self) {
        if self.batching.refill_below.is_some() && self.defers_refill() {
            return;
        }
        self.round = self.round.wrapping_add(1);
        match self.pools.len() {
            1 => self.submit_stream(0),
            _ => self.submit_streams(),
        }
    }

    #[inline(never)]
    fn submit_streams(&mut self) {
        let pools = self.pools.len();
        for number in 0..pools {
            let pool = (self.batching.next_pool + number) % pools;
            self.submit_stream(pool);
            // If operations complete inside the call, they are submitted one at a time. The slot is
            // free again immediately, so the pools must alternate; otherwise the first pool would
            // always be chosen.
            if self.batching.inline.is_detected && !self.requests.is_empty() {
                self.batching.next_pool = pool + 1;
                return;
            }
        }
    }

    /// Queues an operation for every free slot of a stream's own pool.
    #[inline(always)]
    fn submit_stream(&mut self, number: usize) {
        let Some(pool) = self.pools.get(number) else { return };
        let mut room = pool.free_count.saturating_sub(pool.reserve);
        if self.batching.inline.is_detected {
            // More operations would only wait for completions inside the call.
            room = room.min(usize::from(self.requests.is_empty()));
        }
        room = self.budget.remaining(room);
        while room > 0 {
            let (pool, stream) = (&mut self.pools[number], &mut self.streams[number]);
            let next_slot = pool.next_slot().0 - pool.first_slot;
            let operations = stream.sequence.take(&mut self.draws, next_slot, room);
            let admitted = self.budget.admit(operations);
            if admitted == 0 {
                if !self.end_pass(number, None) {
                    return;
                }
                continue;
            }
            let (file, queued, round) = (stream.file, self.batch.reap_time, u64::from(self.round) << 32);
            let cells = stream.cells;
            let slots = &pool.free[pool.free_count - admitted..pool.free_count];
            let places = self.requests.free_entries(admitted);
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
                    self.requests.free_entries(admitted),
                    filler,
                    self.engine.as_mut(),
                    &mut self.slots,
                    &mut self.draws,
                    &mut self.round,
                );
                self.batch.reap_time = now.unwrap_or(self.batch.reap_time);
            }
            self.requests.add(admitted);
            pool.free_count -= admitted;
            stream.idle_pass = false;
            room = match self.budget.operations {
                0 => 0,
                _ => room - admitted,
            };
        }
        self.winding_down |= self.budget.operations == 0;
    }
}
