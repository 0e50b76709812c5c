//! Serialises operations that overlap in a file (fio `serialize_overlap`). The later one and all
//! after it wait.

use engine::Slot;
use model::Nanos;
use model::plan::Worker as WorkerPlan;
use model::sequence::Operation;

/// The operations in flight, and the waiting one.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    in_flight: Vec<Range>,
    waiting: Option<WaitingOperation>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    slot: Slot,
    file: u16,
    start: u64,
    end: u64,
}

/// A chosen operation that must wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitingOperation {
    pool: usize,
    pub(super) stream: usize,
    file: u16,
    pub(super) operation: Operation,
    pub(super) due: Nanos,
}

/// The effect of a free slot on the waiting operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum ResumeResult {
    /// No operation waits.
    Nothing,
    /// An operation waits, and no other operation of the pool may be issued.
    Blocked,
    Issue(WaitingOperation),
}

impl Overlap {
    /// Represents all files of a worker that opens one target several times.
    pub(super) const ONE_FILE: u16 = 0;

    pub(crate) fn from_plan(plan: &WorkerPlan) -> Option<Overlap> {
        plan.batching.serialize_overlap.then(Overlap::default)
    }

    pub(super) fn on_completed(&mut self, slot: Slot) {
        self.in_flight.retain(|range| range.slot != slot);
    }

    /// True if an operation overlaps one in flight. It is stored until [`Overlap::resume`] returns
    /// it.
    pub(super) fn must_wait(
        &mut self,
        pool: usize,
        stream: usize,
        (slot, file): (Slot, u16),
        operation: &Operation,
        due: Nanos,
    ) -> bool {
        if self.overlaps(file, operation) {
            self.waiting = Some(WaitingOperation {
                pool,
                stream,
                file,
                operation: *operation,
                due,
            });
            return true;
        }
        self.begin(slot, file, operation);
        false
    }

    /// Called for a free slot of a pool.
    pub(super) fn resume(&mut self, pool: usize, slot: Slot) -> ResumeResult {
        let Some(waiting) = self.waiting else {
            return ResumeResult::Nothing;
        };
        if waiting.pool != pool || self.overlaps(waiting.file, &waiting.operation) {
            return ResumeResult::Blocked;
        }
        self.waiting = None;
        self.begin(slot, waiting.file, &waiting.operation);
        ResumeResult::Issue(waiting)
    }

    fn overlaps(&self, file: u16, operation: &Operation) -> bool {
        let end = operation.offset + u64::from(operation.length);
        let mut ranges = self.in_flight.iter();
        ranges.any(|range| range.file == file && range.start < end && operation.offset < range.end)
    }

    pub(super) fn begin(&mut self, slot: Slot, file: u16, operation: &Operation) {
        self.in_flight.push(Range {
            slot,
            file,
            start: operation.offset,
            end: operation.offset + u64::from(operation.length),
        });
    }
}
