//! Where in its target a stream goes next.
//!
//! [`Access`] is what the plan says; a [`Cursor`] is the same thing made ready for a real target
//! and moved along by one worker. Parameters and generator of each pattern live together in one
//! file. Cursors own no random generator: they ask the worker's [`Draws`]. They know nothing of
//! engines, time, lengths in flight or errors.

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
pub use sequential::{Advance, AtEnd, Positions, Sequential};
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
    /// Each slot of the queue walks the target by itself (DiskSpd `-p`).
    Parallel(Parallel),
    /// Every operation goes to a random position.
    Random {
        /// How the position is drawn.
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

/// A position that was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Offset from the start of the target, in bytes.
    pub offset: u64,
    /// The operation continues a run that a random jump began: in DiskSpd it keeps the type of the
    /// run's first one.
    pub continues: bool,
}

impl Place {
    /// A position that continues no run.
    #[inline(always)]
    fn new(offset: u64) -> Place {
        Place {
            offset,
            continues: false,
        }
    }
}

/// What the next position is wanted for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Read, write or trim.
    pub direction: Direction,
    /// The slot of the queue that will carry the operation, counted within its stream.
    pub slot: u32,
}

/// Why a pattern cannot be used on a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// Not even one whole block fits.
    #[error(
        "the area of {length} bytes from offset {base} is too small for one block of {block} bytes starting {start} bytes into it"
    )]
    TooSmall {
        /// First byte of the area.
        base: u64,
        /// Bytes in the area.
        length: u64,
        /// Bytes in a block.
        block: u64,
        /// Where the stream should start, from the base.
        start: u64,
    },
    /// A parameter is outside its range.
    #[error("{what} must be {range}, not {value}")]
    Parameter {
        /// The parameter.
        what: &'static str,
        /// What it may be.
        range: &'static str,
        /// What it is.
        value: String,
    },
    /// No range of a stepped distribution covers a whole block.
    #[error("no range of the distribution holds a whole block of {0} bytes")]
    EmptyRanges(u64),
}

/// A pattern on its way through a real target.
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
    /// Every position is drawn by itself.
    pub fn random(placement: Placement) -> Access {
        Access::Random { placement }
    }

    /// A walk begins at the start of its region, as if it had no starting position of its own.
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

    /// Positions jump: at least some of them are drawn at random.
    pub fn jumps(&self) -> bool {
        match self {
            Access::Random { .. } | Access::Every(_) => true,
            Access::Mixed(mixed) => mixed.random_percent.iter().any(|(_, share)| *share > 0),
            Access::Zones(zones) => zones.within.is_some(),
            Access::WritePointers(zones) => zones.within.is_some(),
            Access::Sequential(_) | Access::Interlocked(_) | Access::Parallel(_) => false,
        }
    }

    /// A pass over the area comes to an end by itself.
    pub fn ends(&self) -> bool {
        let once = |placement: &Placement| matches!(placement, Placement::Once(_) | Placement::Aged(_));
        match self {
            // A hole may lead back to the base, over the same blocks again.
            Access::Sequential(sequential) => {
                sequential.at_end == AtEnd::Finish
                    && matches!(sequential.advance, Advance::Stride | Advance::Length { skip: 0 })
            }
            Access::Random { placement } => once(placement),
            // Runs between the jumps may repeat blocks; the jumps come to an end.
            Access::Mixed(mixed) => once(&mixed.placement) && mixed.random_percent.iter().any(|(_, share)| *share > 0),
            Access::Every(every) => once(&every.placement),
            // A window whose blocks are all used begins anew.
            Access::Interlocked(_) | Access::Parallel(_) | Access::Zones(_) => false,
            Access::WritePointers(zones) => zones.within.as_ref().is_none_or(once),
        }
    }

    /// A pass visits no block twice.
    pub fn visits_once(&self) -> bool {
        let again = |access: &Access| {
            matches!(
                access,
                Access::WritePointers(_)
                    | Access::Random {
                        placement: Placement::Aged(_)
                    }
            )
        };
        self.ends() && !again(self)
    }

    /// Makes the pattern ready for the given areas. `shared` is the position that all workers on
    /// the target advance together; `slots` is the queue depth of the stream.
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
            Access::Sequential(parameters) => Cursor::Sequential(parameters.cursor(areas)?),
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
    pub fn next(&mut self, draws: &mut Draws, wanted: Wanted) -> Option<Place> {
        match self {
            Cursor::Uniform(cursor) => Some(Place::new(cursor.next(draws, wanted.direction))),
            Cursor::Sequential(cursor) => cursor.next(wanted.direction),
            other => other.next_of_the_rest(draws, wanted),
        }
    }

    #[inline(never)]
    fn next_of_the_rest(&mut self, draws: &mut Draws, wanted: Wanted) -> Option<Place> {
        match self {
            Cursor::Uniform(cursor) => Some(Place::new(cursor.next(draws, wanted.direction))),
            Cursor::Sequential(cursor) => cursor.next(wanted.direction),
            Cursor::Interlocked(cursor) => Some(cursor.next()),
            Cursor::Parallel(cursor) => Some(cursor.next(wanted.slot)),
            Cursor::Placed(cursor) => cursor.next(draws, wanted.direction).map(Place::new),
            Cursor::Mixed(cursor) => cursor.next(draws, wanted.direction),
            Cursor::Every(cursor) => cursor.next(draws, wanted.direction),
            Cursor::Zones(cursor) => cursor.next(draws, wanted.direction),
            Cursor::WritePointers(cursor) => cursor.next(draws, wanted.direction),
        }
    }

    /// Tells the pattern how long the operation at the last place became. The answer is the length
    /// it may have: a pattern without repetition cuts an operation that would run into a block
    /// already used.
    #[inline(always)]
    pub fn claim(&mut self, place: Place, direction: Direction, length: u32) -> u32 {
        match self {
            Cursor::Uniform(_) => length,
            Cursor::Sequential(cursor) => {
                cursor.advance(direction, place.offset, length);
                length
            }
            other => other.claim_of_the_rest(place, direction, length),
        }
    }

    #[inline(never)]
    fn claim_of_the_rest(&mut self, place: Place, direction: Direction, length: u32) -> u32 {
        match self {
            Cursor::Uniform(_) | Cursor::Interlocked(_) | Cursor::Parallel(_) => length,
            Cursor::Sequential(cursor) => {
                cursor.advance(direction, place.offset, length);
                length
            }
            Cursor::Placed(cursor) => cursor.claim(place.offset, direction, length),
            Cursor::Mixed(cursor) => cursor.claim(place, direction, length),
            Cursor::Every(cursor) => cursor.claim(place, direction, length),
            Cursor::Zones(cursor) => cursor.claim(place, direction, length),
            Cursor::WritePointers(cursor) => cursor.claim(place, direction, length),
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

    /// Zones that were reset so far.
    pub fn zone_resets(&self) -> u64 {
        match self {
            Cursor::WritePointers(cursor) => cursor.resets(),
            _ => 0,
        }
    }

    /// Bytes of memory that the pattern holds beyond its own structure (the map of a pattern
    /// without repetition).
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
