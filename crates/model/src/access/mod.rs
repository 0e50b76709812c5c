//! Access patterns: the positions of a stream in its target.
//!
//! [`Access`] is the pattern in the plan; a [`Cursor`] is its state for a real target and one
//! worker. Each file has the parameters and the generator of a pattern. Cursors draw random numbers
//! from the worker's [`Draws`], and are independent of engines, time and errors.

mod aged;
mod area;
mod every;
mod interlocked;
mod mixed;
mod once;
mod parallel;
mod placement;
mod ranges;
mod sequential;
mod skewed;
mod write_pointers;
mod zones;

#[cfg(test)]
mod properties;

use std::sync::Arc;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::{Direction, PerDirection};
use crate::draws::Draws;

pub use aged::Aged;
pub use area::Area;
pub use every::{Between, Every};
pub use interlocked::Interlocked;
pub use mixed::{Continuation, Mixed};
pub use once::{Bijection, Once, OnceMethod};
pub use parallel::Parallel;
pub(crate) use placement::PlacementCursor;
pub use placement::{BlockList, Placement, Uniform};
pub use ranges::{EffectiveRange, RangeBasis, RangeShare, Ranges, RangesRule};
pub use sequential::{Advance, AtEnd, PositionSharing, Sequential};
pub use skewed::{Normal, Pareto, Zipf};
pub use write_pointers::{EarlyReset, SharedAccess, WritePointers};
pub use zones::Zones;

/// How a stream chooses its next position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pattern", rename_all = "snake_case")]
pub enum Access {
    /// One position after the other.
    Sequential(Sequential),
    /// One position after the other, shared by all workers on the target (DiskSpd `-si`).
    Interlocked(Interlocked),
    /// Each slot of the queue has its own sequential position (DiskSpd `-p`).
    Parallel(Parallel),
    /// Every operation goes to a random position.
    Random {
        /// The distribution of positions.
        placement: Placement,
    },
    /// Random jumps with sequential runs between them.
    Mixed(Mixed),
    /// A random position for every n-th operation only (fio `randread:n`).
    Every(Every),
    /// Windows that move over the target (fio `zonemode=strided`).
    Zones(Zones),
    /// Zones that are written from their start to their end (fio `zonemode=zbd`).
    WritePointers(WritePointers),
}

/// A chosen position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Offset from the start of the target, in bytes.
    pub offset: u64,
    /// True if the operation continues a run after a random jump. In DiskSpd it has the type of the
    /// run's first operation.
    pub continues: bool,
}

impl Position {
    /// A position that continues no run.
    #[inline(always)]
    fn new(offset: u64) -> Position {
        Position {
            offset,
            continues: false,
        }
    }
}

/// An operation that needs a position.
#[derive(Clone, Copy, Debug)]
pub struct PositionRequest {
    /// Read, write or trim.
    pub direction: Direction,
    /// The slot of the operation, counted within its stream.
    pub slot: u32,
}

/// Why a pattern cannot be used on a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// The area is smaller than a block.
    #[error("{}", too_small(*base, *length, *block, *start))]
    TooSmall {
        /// First byte of the area.
        base: u64,
        /// Bytes in the area.
        length: u64,
        /// Bytes in a block.
        block: u64,
        /// The start of the stream, from the base.
        start: u64,
    },
    /// A parameter is outside its range.
    #[error("{what} must be {range}, not {value}")]
    Parameter {
        /// Name of the parameter, for the message.
        what: &'static str,
        /// The valid range.
        range: &'static str,
        /// The rejected value.
        value: String,
    },
    /// No range of a stepped distribution covers a whole block.
    #[error("no range of the distribution holds a whole block of {0} bytes")]
    EmptyRanges(u64),
}

/// Refuses a parameter with an invalid value.
fn require(is_valid: bool, what: &'static str, range: &'static str, value: impl ToString) -> Result<(), AccessError> {
    if is_valid {
        return Ok(());
    }
    let value = value.to_string();
    Err(AccessError::Parameter { what, range, value })
}

fn too_small(base: u64, length: u64, block: u64, start: u64) -> String {
    let skipped = match start {
        0 => String::new(),
        _ => format!(" after the first {start}"),
    };
    match length {
        0 => format!("it ends at byte {base}, and the offset lies there or beyond"),
        _ => format!("its {length} bytes from byte {base} on do not hold a block of {block} bytes{skipped}"),
    }
}

/// The state of a pattern on a real target.
#[derive(Clone, Debug)]
pub enum Cursor {
    /// See [`Access::Random`] with [`Placement::Uniform`]: by far the most common, so it comes
    /// first.
    Uniform(placement::UniformCursor),
    /// See [`Access::Sequential`].
    Sequential(sequential::SequentialCursor),
    /// See [`Access::Interlocked`].
    Interlocked(interlocked::InterlockedCursor),
    /// See [`Access::Parallel`].
    Parallel(parallel::ParallelCursor),
    /// See [`Access::Random`], all other placements.
    Placed(PlacementCursor),
    /// See [`Access::Mixed`].
    Mixed(mixed::MixedCursor),
    /// See [`Access::Every`].
    Every(every::EveryCursor),
    /// See [`Access::Zones`].
    Zones(zones::ZonesCursor),
    /// See [`Access::WritePointers`].
    WritePointers(write_pointers::WritePointersCursor),
}

impl Default for Access {
    /// Every position is random, and all are equally likely.
    fn default() -> Self {
        Access::random(Placement::default())
    }
}

impl Access {
    /// Draws every position independently.
    pub fn random(placement: Placement) -> Access {
        Access::Random { placement }
    }

    /// Resets the start position to the start of the region.
    pub fn clear_start(&mut self) {
        match self {
            Access::Sequential(walk) => walk.start = crate::Bytes(0),
            Access::Parallel(walk) => walk.start = crate::Bytes(0),
            Access::Interlocked(_)
            | Access::Random { .. }
            | Access::Mixed(_)
            | Access::Every(_)
            | Access::Zones(_)
            | Access::WritePointers(_) => {}
        }
    }

    /// True if at least some positions are random.
    pub fn has_random_positions(&self) -> bool {
        match self {
            Access::Random { .. } | Access::Every(_) => true,
            Access::Mixed(mixed) => mixed.random_percent.iter().any(|(_, share)| *share > 0),
            Access::Zones(zones) => zones.within.is_some(),
            Access::WritePointers(zones) => zones.within.is_some(),
            Access::Sequential(_) | Access::Interlocked(_) | Access::Parallel(_) => false,
        }
    }

    /// True if a pass over the area ends without a stop condition.
    pub fn is_finite(&self) -> bool {
        let visits_once = |placement: &Placement| matches!(placement, Placement::Once(_) | Placement::Aged(_));
        match self {
            // A gap may wrap to the base, so a pass may repeat blocks.
            Access::Sequential(sequential) => {
                sequential.at_end == AtEnd::Finish
                    && matches!(sequential.advance, Advance::Stride | Advance::Length { skip: 0 })
            }
            Access::Random { placement } => visits_once(placement),
            // Runs between jumps may repeat blocks, but the jumps end.
            Access::Mixed(mixed) => {
                visits_once(&mixed.placement) && mixed.random_percent.iter().any(|(_, share)| *share > 0)
            }
            Access::Every(every) => visits_once(&every.placement),
            // A window whose blocks are all used starts over.
            Access::Interlocked(_) | Access::Parallel(_) | Access::Zones(_) => false,
            Access::WritePointers(zones) => zones.within.as_ref().is_none_or(visits_once),
        }
    }

    /// True if a pass visits no block twice.
    pub fn visits_once(&self) -> bool {
        let may_repeat = |access: &Access| {
            matches!(
                access,
                Access::WritePointers(_)
                    | Access::Random {
                        placement: Placement::Aged(_)
                    }
            )
        };
        self.is_finite() && !may_repeat(self)
    }

    /// Creates the state of the pattern for the given areas. `shared` is the position that all
    /// workers on the target advance together; `slots` is the queue depth of the stream.
    ///
    /// # Errors
    /// [`AccessError`] if an area does not hold one block or a parameter is out of range.
    pub fn cursor(
        &self,
        areas: PerDirection<Area>,
        slots: u32,
        shared: &Arc<SharedAccess>,
        draws: &mut Draws,
    ) -> Result<Cursor, AccessError> {
        Ok(match self {
            Access::Sequential(parameters) => Cursor::Sequential(parameters.cursor(areas, draws)?),
            Access::Interlocked(parameters) => Cursor::Interlocked(parameters.cursor(areas, shared)?),
            Access::Parallel(parameters) => Cursor::Parallel(parameters.cursor(areas, slots)?),
            Access::Random {
                placement: Placement::Uniform(uniform),
            } => Cursor::Uniform(uniform.cursor(areas)?),
            Access::Random { placement } => Cursor::Placed(placement.cursor(areas, draws)?),
            Access::Mixed(parameters) => Cursor::Mixed(parameters.cursor(areas, draws)?),
            Access::Every(parameters) => Cursor::Every(parameters.cursor(areas, draws)?),
            Access::Zones(parameters) => Cursor::Zones(parameters.cursor(areas, draws)?),
            Access::WritePointers(parameters) => Cursor::WritePointers(parameters.cursor(areas, shared, draws)?),
        })
    }
}

impl Cursor {
    /// The next position, or `None` at the end of a pass over the area.
    #[inline(always)]
    pub fn next(&mut self, draws: &mut Draws, wanted: PositionRequest) -> Option<Position> {
        match self {
            Cursor::Uniform(cursor) => Some(Position::new(cursor.next(draws, wanted.direction))),
            Cursor::Sequential(cursor) => cursor.next(wanted.direction),
            other => other.next_slow(draws, wanted),
        }
    }

    #[inline(never)]
    fn next_slow(&mut self, draws: &mut Draws, wanted: PositionRequest) -> Option<Position> {
        match self {
            Cursor::Uniform(cursor) => Some(Position::new(cursor.next(draws, wanted.direction))),
            Cursor::Sequential(cursor) => cursor.next(wanted.direction),
            Cursor::Interlocked(cursor) => Some(cursor.next()),
            Cursor::Parallel(cursor) => Some(cursor.next(wanted.slot)),
            Cursor::Placed(cursor) => cursor.next(draws, wanted.direction).map(Position::new),
            Cursor::Mixed(cursor) => cursor.next(draws, wanted.direction),
            Cursor::Every(cursor) => cursor.next(draws, wanted.direction),
            Cursor::Zones(cursor) => cursor.next(draws, wanted.direction),
            Cursor::WritePointers(cursor) => cursor.next(draws, wanted.direction),
        }
    }

    /// Claims the blocks of the operation at the last position. Returns the permitted length: a
    /// pattern without repetition truncates an operation before a used block.
    #[inline(always)]
    pub fn claim(&mut self, drawn: Position, direction: Direction, length: u32) -> u32 {
        match self {
            Cursor::Uniform(_) => length,
            Cursor::Sequential(cursor) => {
                cursor.advance(direction, drawn.offset, length);
                length
            }
            other => other.claim_slow(drawn, direction, length),
        }
    }

    #[inline(never)]
    fn claim_slow(&mut self, drawn: Position, direction: Direction, length: u32) -> u32 {
        match self {
            Cursor::Uniform(_) | Cursor::Interlocked(_) | Cursor::Parallel(_) => length,
            Cursor::Sequential(cursor) => {
                cursor.advance(direction, drawn.offset, length);
                length
            }
            Cursor::Placed(cursor) => cursor.claim(drawn.offset, direction, length),
            Cursor::Mixed(cursor) => cursor.claim(drawn, direction, length),
            Cursor::Every(cursor) => cursor.claim(drawn, direction, length),
            Cursor::Zones(cursor) => cursor.claim(drawn, direction, length),
            Cursor::WritePointers(cursor) => cursor.claim(drawn, direction, length),
        }
    }

    /// Begins another pass over the area after [`Cursor::next`] has returned `None`.
    pub fn restart(&mut self, draws: &mut Draws) {
        match self {
            Cursor::Uniform(_) | Cursor::Interlocked(_) | Cursor::Parallel(_) => {}
            Cursor::Sequential(cursor) => cursor.restart(),
            Cursor::Placed(cursor) => cursor.restart(draws),
            Cursor::Mixed(cursor) => cursor.restart(draws),
            Cursor::Every(cursor) => cursor.restart(draws),
            Cursor::Zones(cursor) => cursor.restart(draws),
            Cursor::WritePointers(cursor) => cursor.restart(draws),
        }
    }

    /// The number of zone resets so far.
    pub fn zone_resets(&self) -> u64 {
        match self {
            Cursor::WritePointers(cursor) => cursor.resets(),
            _ => 0,
        }
    }

    /// Bytes of memory beyond the structure itself, such as the map of a pattern without
    /// repetition.
    pub fn extra_bytes(&self) -> u64 {
        match self {
            Cursor::Placed(cursor) => cursor.extra_bytes(),
            Cursor::Mixed(cursor) => cursor.extra_bytes(),
            Cursor::Every(cursor) => cursor.extra_bytes(),
            Cursor::Parallel(cursor) => cursor.extra_bytes(),
            Cursor::Zones(cursor) => cursor.extra_bytes(),
            Cursor::WritePointers(cursor) => cursor.extra_bytes(),
            Cursor::Uniform(_) | Cursor::Sequential(_) | Cursor::Interlocked(_) => 0,
        }
    }
}
