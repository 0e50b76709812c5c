//! A random position for every n-th operation (fio `rw=randread:n` with `rw_sequencer`).

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placement::PlacementCursor;
use super::{AccessError, Area, Placement, Position, require};
use crate::direction::{Direction, PerDirection};
use crate::draws::Draws;

/// Random positions with a fixed number of operations from each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Every {
    /// The distribution of random positions.
    pub placement: Placement,
    /// Operations per random position, at least 1.
    pub operations: u32,
    /// The positions of the operations in between.
    pub between: Between,
}

/// The positions of the operations between two random ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// They continue after the last one.
    Continue,
    /// They repeat the same position.
    Repeat,
}

impl Every {
    pub(super) fn cursor(&self, areas: PerDirection<Area>, draws: &mut Draws) -> Result<EveryCursor, AccessError> {
        let what = "the number of operations per random position";
        require(self.operations > 0, what, "at least 1", self.operations)?;
        let placement = self.placement.cursor(areas, draws)?;
        Ok(EveryCursor {
            placement,
            operations: self.operations,
            between: self.between,
            areas,
            left: 0,
            last: None,
        })
    }
}

/// The state of this pattern.
#[derive(Clone, Debug)]
pub struct EveryCursor {
    placement: PlacementCursor,
    operations: u32,
    between: Between,
    areas: PerDirection<Area>,
    /// Operations before the next random position.
    left: u32,
    /// Start and end of the last operation, from the base.
    last: Option<(u64, u64)>,
}

impl EveryCursor {
    pub(super) fn next(&mut self, draws: &mut Draws, direction: Direction) -> Option<Position> {
        let area = self.areas[direction];
        let random_due = self.left == 0;
        self.left = if random_due { self.operations - 1 } else { self.left - 1 };
        if !random_due && let Some((start, end)) = self.last {
            let position = match self.between {
                Between::Continue => end,
                Between::Repeat => start,
            };
            // At the end of the area, a run continues at a random position and keeps its count.
            if position + area.block <= area.length {
                return Some(Position {
                    offset: area.base + position,
                    continues: true,
                });
            }
        }
        let offset = self.placement.next(draws, direction)?;
        Some(Position::new(offset))
    }

    pub(super) fn claim(&mut self, drawn: Position, direction: Direction, length: u32) -> u32 {
        let length = if drawn.continues {
            length
        } else {
            self.placement.claim(drawn.offset, direction, length)
        };
        let start = drawn.offset - self.areas[direction].base;
        self.last = Some((start, start + u64::from(length)));
        length
    }

    pub(super) fn restart(&mut self, draws: &mut Draws) {
        self.placement.restart(draws);
        (self.left, self.last) = (0, None);
    }

    pub(super) fn extra_bytes(&self) -> u64 {
        self.placement.extra_bytes()
    }
}
