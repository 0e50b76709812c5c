//! How often each block of a stream was trimmed before something failed there.

use model::Direction;
use model::block_lifetimes::{BlockLife, BlockLifetimes, BlockState};

/// fio keeps no more blocks than these.
pub(crate) const MAX_BLOCKS: u64 = 8192;

/// The lives of the blocks of a stream.
#[derive(Debug)]
pub(crate) struct BlockTracker {
    /// Where the first begins.
    base: u64,
    /// Bytes of each: of a trim.
    length: u64,
    blocks: Vec<(BlockState, u32)>,
}

impl BlockTracker {
    /// So many blocks of `length` bytes from `base` on, none of them touched.
    pub(crate) fn new(base: u64, length: u64, count: u64) -> BlockTracker {
        BlockTracker {
            base,
            length,
            blocks: vec![(BlockState::Untouched, 0); count as usize],
        }
    }

    /// A trim or a write that began at `offset` has ended with this result; what was cut short says nothing.
    pub(crate) fn ended(&mut self, direction: Direction, offset: u64, (result, length): (i64, u32)) {
        let index = offset.checked_sub(self.base).map(|offset| offset / self.length);
        let block = index.and_then(|index| self.blocks.get_mut(index as usize));
        let Some((state, trims)) = block.filter(|(state, _)| !state.has_failed()) else {
            return;
        };
        let failed = result < 0;
        let whole = result == i64::from(length);
        match direction {
            Direction::Read => {}
            Direction::Write if whole => *state = BlockState::Written,
            Direction::Write if failed => *state = BlockState::WriteFailed,
            Direction::Trim if whole => (*state, *trims) = (BlockState::Trimmed, *trims + 1),
            Direction::Trim if failed => *state = BlockState::TrimFailed,
            Direction::Write | Direction::Trim => {}
        }
    }

    /// What became of all of them.
    pub(crate) fn lifetimes(&self) -> BlockLifetimes {
        let mut lifetimes = BlockLifetimes::default();
        for (state, trims) in &self.blocks {
            let (state, trims) = (*state, *trims);
            lifetimes.add(BlockLife {
                state,
                trims,
                blocks: 1,
            });
        }
        lifetimes
    }
}
