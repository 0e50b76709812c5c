//! Operations that touch the same bytes of a file, kept apart in time: the later one waits, and all behind it.

use engine::Slot;
use model::Nanos;
use model::sequence::Operation;

use crate::worker::Worker;

/// What is in flight, and the operation that waits.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    in_flight: Vec<Range>,
    waits: Option<Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    slot: Slot,
    file: u16,
    start: u64,
    end: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    pool: usize,
    stream: usize,
    file: u16,
    operation: Operation,
    due: Nanos,
}

impl Overlap {
    /// An operation has ended.
    pub(crate) fn ended(&mut self, slot: Slot) {
        self.in_flight.retain(|range| range.slot != slot);
    }

    fn meets(&self, file: u16, operation: &Operation) -> bool {
        let end = operation.offset + u64::from(operation.length);
        let mut ranges = self.in_flight.iter();
        ranges.any(|range| range.file == file && range.start < end && operation.offset < range.end)
    }

    fn begins(&mut self, slot: Slot, file: u16, operation: &Operation) {
        self.in_flight.push(Range {
            slot,
            file,
            start: operation.offset,
            end: operation.offset + u64::from(operation.length),
        });
    }
}

impl Worker<'_> {
    /// An operation that was chosen may not go out yet; it is remembered then.
    pub(crate) fn must_wait(&mut self, pool: usize, stream: usize, operation: &Operation, due: Nanos) -> bool {
        let file = self.io.streams[stream].file;
        let slot = self.io.pools[pool].free[self.io.pools[pool].free_count - 1];
        let Some(overlap) = &mut self.features.overlap else {
            return false;
        };
        if overlap.meets(file, operation) {
            overlap.waits = Some(Waiting {
                pool,
                stream,
                file,
                operation: *operation,
                due,
            });
            return true;
        }
        overlap.begins(slot, file, operation);
        false
    }

    /// Issues the operation that waits, if it may go out now. True while nothing else of this pool may.
    pub(crate) fn keeps_apart(&mut self, pool: usize, slot: Slot) -> bool {
        let Some(overlap) = &mut self.features.overlap else {
            return false;
        };
        let Some(waiting) = overlap.waits else { return false };
        if waiting.pool != pool || overlap.meets(waiting.file, &waiting.operation) {
            return true;
        }
        overlap.waits = None;
        overlap.begins(slot, waiting.file, &waiting.operation);
        self.issue_one(pool, waiting.stream, slot, &waiting.operation, waiting.due);
        // The slot is taken; the next round asks for another.
        !self.io.pools[pool].has_room()
    }
}
