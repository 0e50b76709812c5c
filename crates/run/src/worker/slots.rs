//! Slots, and which streams use them. It knows no operations: which slot is free, and whose turn it is.

use engine::Slot;
use model::draws::{Draws, Purpose, Reduction};

/// Slots and the streams that use them: one pool for each stream, or one for all.
#[derive(Debug)]
pub(super) struct SlotPool {
    pub(super) streams: std::ops::Range<usize>,
    /// Several streams use it.
    pub(super) shared: bool,
    /// Cumulative weights of the streams, where there are several.
    pub(super) weights: Vec<u64>,
    /// Free slots are the first `free_count`; the one freed last is used first, so that its buffer is still in the cache.
    pub(super) free: Box<[Slot]>,
    pub(super) free_count: usize,
    /// Free slots that must stay unused: all slots less the depth in force.
    pub(super) reserve: usize,
    pub(super) first_slot: u32,
}

impl SlotPool {
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.free_count > self.reserve
    }

    #[inline(always)]
    pub(super) fn give_back(&mut self, slot: Slot) {
        self.free[self.free_count] = slot;
        self.free_count += 1;
    }

    /// Picks a stream by weight.
    pub(super) fn choose(&self, draws: &mut Draws) -> usize {
        let total = self.weights[self.weights.len() - 1];
        let level = match draws {
            // DiskSpd draws 32 bits where all weights are equal and 64 otherwise, and takes the remainder.
            Draws::Single(_) if self.equal_weights() => {
                return self.streams.start + draws.half(Purpose::Stream) as usize % self.streams.len();
            }
            Draws::Single(_) => draws.below(Purpose::Stream, total, Reduction::Modulo),
            _ => draws.below(Purpose::Stream, total, Reduction::Lemire),
        };
        self.streams.start + self.weights.partition_point(|upto| *upto <= level)
    }

    fn equal_weights(&self) -> bool {
        self.weights
            .iter()
            .enumerate()
            .all(|(index, upto)| *upto == self.weights[0] * (index as u64 + 1))
    }
}
