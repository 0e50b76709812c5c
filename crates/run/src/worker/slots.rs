//! Slots, the operations in them, and the pools from which streams take free slots.

use engine::Slot;
use model::Nanos;
use model::draws::{Draws, Purpose, Reduction};
use model::plan::{DepthScope, Worker as WorkerPlan};

use super::stream::LiveStream;

/// An operation in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SlotRecord {
    /// Submission round (upper 32 bits) and recorder cell (lower 32 bits). Operations with equal
    /// keys share their time stamps.
    pub(crate) key: u64,
    /// When its buffer was ready.
    pub(crate) queued: Nanos,
    /// The end of its submission latency and start of its completion latency.
    pub(crate) issued: Nanos,
    /// When the operation was due, if its stream is paced.
    pub(crate) due: Nanos,
    /// Offset of the first byte.
    pub(crate) offset: u64,
    /// Bytes requested; 0 for flushes.
    pub(crate) length: u32,
    /// Pool that its slot belongs to.
    pub(crate) pool: u32,
    /// Stream that issued it.
    pub(crate) stream: u32,
    /// File of the engine, for messages.
    pub(crate) file: u16,
    /// The slot was used before.
    pub(crate) used: bool,
}

/// The operation of each slot.
#[derive(Debug)]
pub(crate) struct SlotTable(Vec<SlotRecord>);

impl SlotTable {
    /// A table in which the slots of a pool belong to its first stream.
    pub(crate) fn new(slots: u32, pools: &[SlotPool], streams: &[LiveStream]) -> SlotTable {
        let mut records = vec![SlotRecord::default(); slots as usize];
        for (number, pool) in pools.iter().enumerate() {
            for slot in &pool.free {
                let record = &mut records[slot.0 as usize];
                (record.pool, record.stream) = (number as u32, pool.streams.start as u32);
                record.file = streams.get(pool.streams.start).map_or(0, |stream| stream.file);
            }
        }
        SlotTable(records)
    }

    #[inline(always)]
    pub(crate) fn get(&self, slot: Slot) -> &SlotRecord {
        &self.0[slot.0 as usize]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, slot: Slot) -> &mut SlotRecord {
        &mut self.0[slot.0 as usize]
    }
}

/// Slots and the streams that use them. There is one pool for each stream, or one for all.
#[derive(Debug)]
pub(crate) struct SlotPool {
    pub(crate) streams: std::ops::Range<usize>,
    /// Several streams use it.
    pub(crate) shared: bool,
    /// Cumulative weights of the streams, if there are several.
    pub(crate) weights: Vec<u64>,
    /// Free slots are the first `free_count`. The slot freed last is used first, because its buffer
    /// is still in the cache.
    pub(crate) free: Box<[Slot]>,
    pub(crate) free_count: usize,
    /// Number of free slots that must stay unused: all slots minus the current depth.
    pub(crate) reserve: usize,
    pub(crate) first_slot: u32,
}

impl SlotPool {
    /// The pools of a worker with `slots` slots. There is one for each stream, or one for all.
    pub(crate) fn for_plan(plan: &WorkerPlan, slots: u32, one_at_a_time: bool) -> Vec<SlotPool> {
        let streams_per_pool = match plan.depth {
            DepthScope::Shared { .. } => return vec![SlotPool::new(plan, 0..plan.streams.len(), 0, slots)],
            DepthScope::PerStream => 1,
            DepthScope::PerTarget { alternatives } => alternatives.max(1) as usize,
        };
        let per_pool = slots / ((plan.streams.len() / streams_per_pool) as u32).max(1);
        let mut first_slot = 0;
        let pools = plan
            .streams
            .iter()
            .enumerate()
            .step_by(streams_per_pool)
            .map(|(index, stream)| {
                let count = if one_at_a_time { per_pool } else { stream.depth };
                let pool = SlotPool::new(plan, index..index + streams_per_pool, first_slot, count);
                first_slot += count;
                pool
            });
        pools.collect()
    }

    fn new(plan: &WorkerPlan, streams: std::ops::Range<usize>, first_slot: u32, count: u32) -> SlotPool {
        let mut sum = 0;
        let weights = plan.streams[streams.clone()].iter().map(|stream| {
            sum += u64::from(stream.weight);
            sum
        });
        SlotPool {
            weights: weights.collect(),
            shared: streams.len() > 1,
            streams,
            // Last in, first out: the first slot is on top.
            free: (first_slot..first_slot + count).rev().map(Slot).collect(),
            free_count: count as usize,
            reserve: 0,
            first_slot,
        }
    }

    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.free_count > self.reserve
    }

    /// The slot of the next operation. The pool must have room.
    #[inline(always)]
    pub(crate) fn next_slot(&self) -> Slot {
        self.free[self.free_count - 1]
    }

    #[inline(always)]
    pub(crate) fn release(&mut self, slot: Slot) {
        self.free[self.free_count] = slot;
        self.free_count += 1;
    }

    /// Picks a stream by weight.
    pub(crate) fn choose_stream(&self, draws: &mut Draws) -> usize {
        let total = self.weights[self.weights.len() - 1];
        let drawn = match draws {
            // DiskSpd draws 32 bits if all weights are equal and 64 otherwise, and takes the
            // remainder.
            Draws::DiskSpd(_) if self.has_equal_weights() => {
                return self.streams.start + draws.next_u32(Purpose::Stream) as usize % self.streams.len();
            }
            Draws::DiskSpd(_) => draws.next_below(Purpose::Stream, total, Reduction::Modulo),
            _ => draws.next_below(Purpose::Stream, total, Reduction::Lemire),
        };
        self.streams.start + self.weights.partition_point(|cumulative| *cumulative <= drawn)
    }

    pub(crate) fn has_equal_weights(&self) -> bool {
        self.weights
            .iter()
            .enumerate()
            .all(|(index, cumulative)| *cumulative == self.weights[0] * (index as u64 + 1))
    }
}
