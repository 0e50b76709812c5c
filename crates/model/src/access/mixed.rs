//! Random jumps with sequential runs between them.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placement::PlacementCursor;
use super::{AccessError, Area, Placement, Position, require};
use crate::direction::{Direction, PerDirection};
use crate::draws::{Draws, Purpose};

/// Random with some probability, else continuing where the last operation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mixed {
    /// The distribution of jumps.
    pub placement: Placement,
    /// The chance of a jump, in percent, for each direction.
    pub random_percent: PerDirection<u8>,
    /// How a run continues.
    #[serde(default)]
    pub continuation: Continuation,
}

/// How a sequential run continues, and which draw decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Continuation {
    /// By the stride, from one position that all directions share and that starts at random. Run
    /// lengths are geometric; even the first operation may continue (DiskSpd `-rs`).
    #[default]
    Stride,
    /// To the end of the last operation in the same direction (fio `percentage_random`). Each
    /// direction starts at the base, and jumps when no block fits before the end.
    Length,
    /// To the end of the last operation in any direction, rounded up to the alignment. All
    /// directions share a position that starts at the base and returns there when no block fits
    /// (Iometer).
    Aligned,
    /// To the end of the last operation in any direction. The position starts at the base and
    /// returns there when no block fits before the end (Vdbench `seekpct`).
    Shared,
}

impl Mixed {
    /// Random jumps with sequential runs between them.
    pub fn new(placement: Placement, random_percent: PerDirection<u8>, continuation: Continuation) -> Mixed {
        Mixed {
            placement,
            random_percent,
            continuation,
        }
    }

    pub(super) fn cursor(&self, areas: PerDirection<Area>, draws: &mut Draws) -> Result<MixedCursor, AccessError> {
        for (_, percent) in self.random_percent.iter() {
            require(*percent <= 100, "the random share", "0 to 100 percent", percent)?;
        }
        // The shared position must suit every direction.
        let areas = match self.continuation {
            Continuation::Stride | Continuation::Aligned | Continuation::Shared => {
                PerDirection::all(Area::common(&areas))
            }
            Continuation::Length => areas,
        };
        let mut placement = self.placement.cursor(areas, draws)?;
        let first = match self.continuation {
            // Draw one offset before the first operation, even if that operation jumps again.
            Continuation::Stride => placement
                .next(draws, Direction::Read)
                .map_or(0, |offset| offset - areas.read.base),
            Continuation::Length | Continuation::Aligned | Continuation::Shared => 0,
        };
        Ok(MixedCursor {
            placement,
            random_percent: self.random_percent,
            continuation: self.continuation,
            areas,
            next: [first; 3],
        })
    }
}

/// A mixed walk.
#[derive(Clone, Debug)]
pub struct MixedCursor {
    placement: PlacementCursor,
    random_percent: PerDirection<u8>,
    continuation: Continuation,
    areas: PerDirection<Area>,
    /// The next sequential position of each direction, from the base.
    next: [u64; 3],
}

impl MixedCursor {
    pub(super) fn next(&mut self, draws: &mut Draws, direction: Direction) -> Option<Position> {
        let area = self.areas[direction];
        let percent = u32::from(self.random_percent[direction]);
        let index = self.index(direction);
        let jump = match self.continuation {
            Continuation::Stride => draws.next_u32(Purpose::Jump) % 100 < percent,
            Continuation::Length | Continuation::Aligned | Continuation::Shared => {
                let roll = ((u64::from(draws.next_u32(Purpose::Jump)) * 100) >> 32) as u32;
                let jumps_at_end = self.continuation == Continuation::Length;
                roll < percent || jumps_at_end && self.next[index] + area.block > area.length
            }
        };
        if jump {
            let offset = self.placement.next(draws, direction)?;
            self.next[index] = offset - area.base + area.alignment;
            return Some(Position::new(offset));
        }
        let position = match self.next[index] {
            next if next + area.block <= area.length => next,
            _ => 0,
        };
        self.next[index] = position + area.alignment;
        Some(Position {
            offset: area.base + position,
            continues: true,
        })
    }

    fn index(&self, direction: Direction) -> usize {
        match self.continuation {
            Continuation::Stride | Continuation::Aligned | Continuation::Shared => 0,
            Continuation::Length => direction as usize,
        }
    }

    pub(super) fn claim(&mut self, drawn: Position, direction: Direction, length: u32) -> u32 {
        // Sequential continuations ignore the map of used blocks.
        let length = if drawn.continues {
            length
        } else {
            self.placement.claim(drawn.offset, direction, length)
        };
        let index = self.index(direction);
        let area = &self.areas[direction];
        let end = drawn.offset - area.base + u64::from(length);
        match self.continuation {
            Continuation::Stride => {}
            Continuation::Length | Continuation::Shared => self.next[index] = end,
            Continuation::Aligned => self.next[index] = end.next_multiple_of(area.alignment),
        }
        length
    }

    pub(super) fn restart(&mut self, draws: &mut Draws) {
        self.placement.restart(draws);
        if self.continuation != Continuation::Stride {
            self.next = [0; 3];
        }
    }

    pub(super) fn extra_bytes(&self) -> u64 {
        self.placement.extra_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::GeneratorChoice;

    #[test]
    fn aligned_runs_follow_the_last_operation_of_any_direction_and_wrap() {
        let area = Area {
            base: 8192,
            length: 20_480,
            block: 8192,
            alignment: 4096,
        };
        let mixed = Mixed::new(Placement::default(), PerDirection::all(0), Continuation::Aligned);
        let mut draws = GeneratorChoice::Native { seed: 1 }.start();
        let mut cursor = mixed.cursor(PerDirection::all(area), &mut draws).unwrap();
        let mut next = |direction, length| {
            let drawn = cursor.next(&mut draws, direction).unwrap();
            cursor.claim(drawn, direction, length);
            drawn.offset - 8192
        };
        let offsets = [
            next(Direction::Read, 512),
            next(Direction::Write, 8192),
            // After 12 KiB and an operation of 4 KiB, no room is left for 8 KiB.
            next(Direction::Read, 4096),
            next(Direction::Read, 4096),
        ];
        assert_eq!(offsets, [0, 4096, 12_288, 0]);
    }
}
