//! Counts the trims of each block before an operation failed there (fio `block_error_percentiles`).

use model::Direction;
use model::block_lifetimes::{BlockLife, BlockLifetimes as Lifetimes, BlockState};
use model::plan::StreamTarget;

use super::EndedOperation;
use crate::setup_error::SetupError;
use crate::worker::setup::Assignment;

/// Maximum number of blocks to track, as in fio.
const MAX_BLOCKS: u64 = 8192;

/// The blocks of the streams that track them.
#[derive(Debug)]
pub(crate) struct BlockLifetimes {
    streams: Vec<Option<BlockTracker>>,
}

/// The blocks of one stream.
#[derive(Debug)]
struct BlockTracker {
    /// The offset of the first block.
    base: u64,
    /// The length of a trim.
    block_size: u64,
    blocks: Vec<(BlockState, u32)>,
}

impl BlockLifetimes {
    pub(crate) fn from_plan(assignment: &Assignment<'_>) -> Result<Option<BlockLifetimes>, SetupError> {
        let streams = assignment.worker.streams.iter();
        let streams = streams
            .map(|stream| {
                let tracked = stream.on_error.block_lifetimes.then_some(stream);
                tracked.map(|stream| BlockTracker::new(assignment, stream)).transpose()
            })
            .collect::<Result<Vec<_>, _>>()?;
        let any = streams.iter().any(Option::is_some);
        Ok(any.then_some(BlockLifetimes { streams }))
    }

    pub(super) fn on_completed(&mut self, ended: &EndedOperation) {
        let tracker = &mut self.streams[ended.record.stream as usize];
        if let (Some(tracker), Some(direction)) = (tracker, ended.direction) {
            tracker.on_completed(ended, direction);
        }
    }

    /// The states of all blocks.
    pub(super) fn lifetimes(&self) -> Lifetimes {
        let mut lifetimes = Lifetimes::default();
        for (state, trims) in self.streams.iter().flatten().flat_map(|tracker| &tracker.blocks) {
            lifetimes.add(BlockLife {
                state: *state,
                trims: *trims,
                blocks: 1,
            });
        }
        lifetimes
    }
}

impl BlockTracker {
    fn new(assignment: &Assignment<'_>, stream: &model::plan::Stream) -> Result<BlockTracker, SetupError> {
        let StreamTarget::One { target } = stream.target else {
            let what = "block lifetimes can be tracked for only one file, but the stream has several";
            let help = "use one file, or remove block_error_percentiles";
            return Err(SetupError::unsupported(what, help));
        };
        let (base, length) = stream.region.resolve(assignment.targets[target.0 as usize].size);
        let block_size = stream.pattern.shortest_in(Direction::Trim).0.max(1);
        let count = length / block_size;
        if count > MAX_BLOCKS {
            let what = format!("cannot track the lifetimes of {count} blocks: the maximum is {MAX_BLOCKS}");
            let help = "use larger trims or a smaller size, or remove block_error_percentiles";
            return Err(SetupError::unsupported(what, help));
        }
        Ok(BlockTracker {
            base,
            block_size,
            blocks: vec![(BlockState::Untouched, 0); count as usize],
        })
    }

    /// Short operations are ignored.
    fn on_completed(&mut self, ended: &EndedOperation, direction: Direction) {
        let index = ended
            .record
            .offset
            .checked_sub(self.base)
            .map(|offset| offset / self.block_size);
        let block = index.and_then(|index| self.blocks.get_mut(index as usize));
        let Some((state, trims)) = block.filter(|(state, _)| !state.has_failed()) else {
            return;
        };
        let (failed, is_complete) = (ended.result < 0, ended.is_complete());
        match direction {
            Direction::Read => {}
            Direction::Write if is_complete => *state = BlockState::Written,
            Direction::Write if failed => *state = BlockState::WriteFailed,
            Direction::Trim if is_complete => (*state, *trims) = (BlockState::Trimmed, *trims + 1),
            Direction::Trim if failed => *state = BlockState::TrimFailed,
            Direction::Write | Direction::Trim => {}
        }
    }
}
