//! Distributions of random positions.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aged::AgedCursor;
use super::once::OnceCursor;
use super::ranges::RangesCursor;
use super::skewed::{NormalCursor, ParetoCursor, ZipfCursor};
use super::{AccessError, Aged, Area, Normal, Once, Pareto, Ranges, Zipf, require};
use crate::direction::{Direction, PerDirection};
use crate::draws::{Draws, Purpose, Reduction};

/// The distribution of random positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "distribution", rename_all = "snake_case")]
pub enum Placement {
    /// Every position is equally likely, with repetition.
    Uniform(Uniform),
    /// Every position once per pass.
    Once(Once),
    /// Shares of the operations for shares of the target, or for ranges of bytes.
    Ranges(Ranges),
    /// Zipf's law over ranks of positions.
    Zipf(Zipf),
    /// Pareto's self-similar law.
    Pareto(Pareto),
    /// A bell around a centre.
    Normal(Normal),
    /// A fixed list of blocks (fio `sequence:`).
    List(BlockList),
    /// One pass that ages an SSD like a long run of random writes (fio `sprandom`).
    Aged(Aged),
}

impl Default for Placement {
    fn default() -> Self {
        Placement::Uniform(Uniform::default())
    }
}

/// Every position is equally likely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Uniform {
    /// How a draw becomes a position.
    #[serde(default)]
    pub reduction: Reduction,
}

impl Uniform {
    pub(super) fn cursor(self, areas: PerDirection<Area>) -> Result<UniformCursor, AccessError> {
        for (_, area) in areas.iter() {
            area.check(0)?;
        }
        let area = areas.read;
        Ok(UniformCursor {
            same: areas.write == area && areas.trim == area,
            area,
            positions: area.positions(),
            reduction: self.reduction,
            areas,
        })
    }
}

/// Draws uniform positions.
#[derive(Clone, Debug)]
pub struct UniformCursor {
    /// All directions have the same area, as is common, so `areas` need not be read.
    same: bool,
    reduction: Reduction,
    positions: u64,
    area: Area,
    areas: PerDirection<Area>,
}

impl UniformCursor {
    /// The offset of a random position.
    #[inline(always)]
    pub fn next(&mut self, draws: &mut Draws, direction: Direction) -> u64 {
        if self.same && self.reduction == Reduction::Lemire {
            return self
                .area
                .offset(draws.next_below(Purpose::Offset, self.positions, Reduction::Lemire));
        }
        self.next_by_rule(draws, direction)
    }

    /// Draws many offsets for operations of this length. Returns false without drawing if areas or
    /// lengths differ.
    #[inline(always)]
    pub(crate) fn fill<'a>(
        &mut self,
        draws: &mut Draws,
        length: u32,
        offsets: impl Iterator<Item = &'a mut u64>,
    ) -> bool {
        let area = self.area;
        if !self.same || area.block != u64::from(length) {
            return false;
        }
        match self.reduction {
            Reduction::Modulo => {
                offsets.for_each(|offset| *offset = area.base + area.remainder(draws.next_u64(Purpose::Offset)))
            }
            reduction => draws.fill_below(Purpose::Offset, (self.positions, reduction), offsets, |position| {
                area.offset(position)
            }),
        }
        true
    }

    #[inline(never)]
    fn next_by_rule(&self, draws: &mut Draws, direction: Direction) -> u64 {
        let area = &self.areas[direction];
        match self.reduction {
            Reduction::Modulo => area.base + area.remainder(draws.next_u64(Purpose::Offset)),
            reduction => area.offset(draws.next_below(Purpose::Offset, area.positions(), reduction)),
        }
    }
}

/// A list of block numbers, visited in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockList {
    /// Block numbers in units of the alignment.
    pub blocks: Vec<u64>,
    /// Each round starts one list length further into the target.
    #[serde(default)]
    pub moving: bool,
}

/// The state of a placement on a real target.
#[derive(Clone, Debug)]
pub enum PlacementCursor {
    /// See [`Placement::Uniform`].
    Uniform(UniformCursor),
    /// See [`Placement::Once`].
    Once(OnceCursor),
    /// See [`Placement::Ranges`].
    Ranges(RangesCursor),
    /// See [`Placement::Zipf`].
    Zipf(ZipfCursor),
    /// See [`Placement::Pareto`].
    Pareto(ParetoCursor),
    /// See [`Placement::Normal`].
    Normal(NormalCursor),
    /// See [`Placement::Aged`].
    Aged(AgedCursor),
    /// See [`Placement::List`].
    List {
        /// Blocks to use, in order.
        list: BlockList,
        /// Index of the next entry.
        next: usize,
        /// Rounds completed.
        round: u64,
        /// Part of the target that the blocks are in.
        area: Area,
    },
}

impl Placement {
    pub(super) fn cursor(&self, areas: PerDirection<Area>, draws: &mut Draws) -> Result<PlacementCursor, AccessError> {
        Ok(match self {
            Placement::Uniform(uniform) => PlacementCursor::Uniform(uniform.cursor(areas)?),
            Placement::Once(once) => PlacementCursor::Once(once.cursor(areas, draws)?),
            Placement::Ranges(ranges) => PlacementCursor::Ranges(ranges.cursor(areas)?),
            Placement::Zipf(zipf) => PlacementCursor::Zipf(zipf.cursor(areas, draws)?),
            Placement::Pareto(pareto) => PlacementCursor::Pareto(pareto.cursor(areas, draws)?),
            Placement::Normal(normal) => PlacementCursor::Normal(normal.cursor(areas)?),
            Placement::Aged(aged) => PlacementCursor::Aged(aged.cursor(areas, draws)?),
            Placement::List(list) => {
                let has_blocks = !list.blocks.is_empty();
                require(has_blocks, "the list of blocks", "at least one block", "an empty one")?;
                let area = Area::common(&areas).check(0)?;
                PlacementCursor::List {
                    list: list.clone(),
                    next: 0,
                    round: 0,
                    area,
                }
            }
        })
    }
}

impl PlacementCursor {
    /// The offset of the next position, or `None` at the end of a pass.
    pub fn next(&mut self, draws: &mut Draws, direction: Direction) -> Option<u64> {
        match self {
            PlacementCursor::Uniform(cursor) => Some(cursor.next(draws, direction)),
            PlacementCursor::Once(cursor) => cursor.next(draws, direction),
            PlacementCursor::Aged(cursor) => cursor.next(draws),
            PlacementCursor::Ranges(cursor) => Some(cursor.next(draws, direction)),
            PlacementCursor::Zipf(cursor) => Some(cursor.next(draws)),
            PlacementCursor::Pareto(cursor) => Some(cursor.next(draws)),
            PlacementCursor::Normal(cursor) => Some(cursor.next(draws)),
            PlacementCursor::List {
                list,
                next,
                round,
                area,
            } => {
                let shift = if list.moving {
                    *round * list.blocks.len() as u64
                } else {
                    0
                };
                let position = (list.blocks[*next] + shift) % area.positions();
                *next += 1;
                if *next == list.blocks.len() {
                    (*next, *round) = (0, *round + 1);
                }
                Some(area.offset(position))
            }
        }
    }

    pub(super) fn claim(&mut self, offset: u64, direction: Direction, length: u32) -> u32 {
        match self {
            PlacementCursor::Once(cursor) => cursor.claim(offset, direction, length),
            _ => length,
        }
    }

    pub(super) fn restart(&mut self, draws: &mut Draws) {
        match self {
            PlacementCursor::Once(cursor) => cursor.restart(draws),
            PlacementCursor::Aged(cursor) => cursor.restart(draws),
            _ => {}
        }
    }

    pub(super) fn extra_bytes(&self) -> u64 {
        match self {
            PlacementCursor::Once(cursor) => cursor.extra_bytes(),
            PlacementCursor::Aged(cursor) => cursor.extra_bytes(),
            PlacementCursor::Ranges(cursor) => cursor.extra_bytes(),
            PlacementCursor::List { list, .. } => (list.blocks.len() * 8) as u64,
            _ => 0,
        }
    }
}
