//! Counts how often blocks were trimmed before an error (fio `block_error_percentiles`). Blocks
//! with the same history are counted together, so that the counts of workers add up.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockState {
    /// Neither trimmed nor written.
    Untouched,
    /// Trimmed last.
    Trimmed,
    /// Written after it was trimmed.
    Written,
    /// A trim failed there.
    TrimFailed,
    /// A write failed there.
    WriteFailed,
}

impl BlockState {
    /// All states, in the order of fio's report.
    pub const ALL: [BlockState; 5] = [
        BlockState::Untouched,
        BlockState::Trimmed,
        BlockState::Written,
        BlockState::TrimFailed,
        BlockState::WriteFailed,
    ];

    /// Rank in the report: untouched, alive, failed.
    fn rank(self) -> u8 {
        match self {
            BlockState::Untouched => 0,
            BlockState::Trimmed | BlockState::Written => 1,
            BlockState::TrimFailed | BlockState::WriteFailed => 2,
        }
    }

    /// True if an operation failed there. That state is final.
    pub fn has_failed(self) -> bool {
        self.rank() == 2
    }
}

/// Blocks with the same history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockLife {
    /// Their state.
    pub state: BlockState,
    /// How often each was trimmed.
    pub trims: u32,
    /// Their number.
    pub blocks: u64,
}

/// The histories of all blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct BlockLifetimes {
    /// One entry per state and number of trims: live blocks first, then by trims.
    pub lives: Vec<BlockLife>,
}

impl BlockLifetimes {
    /// Counts blocks.
    pub fn add(&mut self, life: BlockLife) {
        let key = |life: &BlockLife| (life.state.rank(), life.trims, life.state);
        match self.lives.binary_search_by_key(&key(&life), key) {
            Ok(index) => self.lives[index].blocks += life.blocks,
            Err(index) => self.lives.insert(index, life),
        }
    }

    /// Adds the blocks of another worker.
    pub fn merge(&mut self, other: &BlockLifetimes) {
        other.lives.iter().for_each(|life| self.add(*life));
    }

    /// Counts the blocks in a state.
    pub fn count(&self, state: BlockState) -> u64 {
        let lives = self.lives.iter().filter(|life| life.state == state);
        lives.map(|life| life.blocks).sum()
    }

    /// The number of trims at `percent` of the touched blocks, which are ordered by life (live
    /// before failed) and trims. `None` if no block was touched.
    pub fn percentile(&self, percent: f64) -> Option<u32> {
        let touched = || self.lives.iter().filter(|life| life.state != BlockState::Untouched);
        let count: u64 = touched().map(|life| life.blocks).sum();
        let index = ((percent * count as f64 / 100.0) as u64).min(count.checked_sub(1)?);
        let mut passed = 0;
        let mut reached = touched().skip_while(|life| {
            passed += life.blocks;
            passed <= index
        });
        reached.next().map(|life| life.trims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_add_up_and_have_percentiles() {
        let life = |state, trims, blocks| BlockLife { state, trims, blocks };
        let mut lifetimes = BlockLifetimes::default();
        assert_eq!(lifetimes.percentile(50.0), None);
        for block_lifetimes in [
            life(BlockState::TrimFailed, 2, 10),
            life(BlockState::Untouched, 0, 100),
            life(BlockState::Written, 3, 50),
            life(BlockState::Trimmed, 3, 20),
        ] {
            lifetimes.add(block_lifetimes);
        }
        let mut merged = lifetimes.clone();
        merged.merge(&lifetimes);
        assert_eq!(merged.count(BlockState::Written), 100);
        assert_eq!(merged.count(BlockState::WriteFailed), 0);
        // 70 of 80 are alive and were trimmed three times; the ten that failed were trimmed twice.
        for (percent, trims) in [(0.0, 3), (87.0, 3), (87.5, 2), (100.0, 2)] {
            assert_eq!(lifetimes.percentile(percent), Some(trims), "{percent}");
            assert_eq!(merged.percentile(percent), Some(trims), "{percent}");
        }
    }
}
