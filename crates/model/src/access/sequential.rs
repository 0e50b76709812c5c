//! Sequential positions.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccessError, Area, Position};
use crate::direction::{Direction, PerDirection};
use crate::draws::{Draws, Purpose, split_mix};
use crate::units::Bytes;

/// Sequential access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sequential {
    /// The start of this worker, from the base of the area (DiskSpd: relative thread number ×
    /// `-T`).
    #[serde(default)]
    pub start: Bytes,
    /// The step between operations.
    #[serde(default)]
    pub advance: Advance,
    /// The behaviour when the next block would cross the end of the area.
    #[serde(default)]
    pub at_end: AtEnd,
    /// One position for all directions, or one for each.
    #[serde(default)]
    pub positions: PositionSharing,
}

/// The step of a sequential position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Advance {
    /// By the alignment (the stride), independent of the operation's length.
    #[default]
    Stride,
    /// To the end of the operation plus `skip` bytes, which may be negative (fio `write:4k`,
    /// `read:-8k`).
    Length {
        /// Bytes to add.
        skip: i64,
    },
    /// To the end of the operation, plus `min` bytes and a random multiple of its length (Vdbench
    /// `stride=(min,max)`).
    RandomGap {
        /// Minimum bytes to add.
        min: u64,
        /// Limit of the bytes to add.
        max: u64,
    },
}

/// The behaviour of a sequential position at the end of its area.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AtEnd {
    /// Wraps to `start % stride`, usually the base, rather than to the worker's `start` (DiskSpd,
    /// native).
    #[default]
    Wrap,
    /// Ends the pass (fio).
    Finish,
}

/// Whether reads and writes move the same position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PositionSharing {
    /// One position (DiskSpd, native).
    #[default]
    Shared,
    /// One for each direction (fio `rw=rw`).
    PerDirection,
}

impl PositionSharing {
    /// The index of a direction's position.
    #[inline(always)]
    pub(super) fn index(self, direction: Direction) -> usize {
        match self {
            PositionSharing::Shared => 0,
            PositionSharing::PerDirection => direction as usize,
        }
    }
}

impl Sequential {
    pub(super) fn cursor(&self, areas: PerDirection<Area>, draws: &mut Draws) -> Result<SequentialCursor, AccessError> {
        // All directions share one strided position, so it must be in the area of each.
        let areas = match (self.positions, self.advance) {
            (PositionSharing::Shared, Advance::Stride) => PerDirection::all(Area::common(&areas)),
            _ => areas,
        };
        for (_, area) in areas.iter() {
            area.check(self.start.0)?;
        }
        Ok(SequentialCursor {
            parameters: *self,
            areas,
            next: [self.start.0; 3],
            gap_seed: match self.advance {
                Advance::RandomGap { .. } => draws.next_u64(Purpose::Offset),
                Advance::Stride | Advance::Length { .. } => 0,
            },
            gaps: 0,
        })
    }
}

/// A sequential walk.
#[derive(Clone, Debug)]
pub struct SequentialCursor {
    parameters: Sequential,
    areas: PerDirection<Area>,
    /// The next position for each direction, from the base; with shared positions only the first is
    /// used.
    next: [u64; 3],
    /// The seed of random gaps.
    gap_seed: u64,
    /// Number of random gaps so far.
    gaps: u64,
}

impl SequentialCursor {
    /// The next position, or `None` at the end of a pass.
    #[inline(always)]
    pub fn next(&mut self, direction: Direction) -> Option<Position> {
        let area = &self.areas[direction];
        let index = self.parameters.positions.index(direction);
        let mut position = self.next[index];
        // DiskSpd never issues an operation across the end of its target: it wraps before the last
        // partial block. Otherwise each pass would have one more, shorter operation, and sequential
        // results would not be comparable.
        if position.saturating_add(area.block) > area.length {
            match self.parameters.at_end {
                AtEnd::Wrap => position = self.parameters.start.0 % area.alignment,
                AtEnd::Finish => return None,
            }
        }
        self.next[index] = position.saturating_add(area.alignment);
        Some(Position::new(area.base + position))
    }

    /// Advances past an operation of the given length, for patterns whose step depends on it.
    #[inline(always)]
    pub fn advance(&mut self, direction: Direction, offset: u64, length: u32) {
        if let Advance::RandomGap { min, max } = self.parameters.advance {
            let (area, index) = (&self.areas[direction], self.parameters.positions.index(direction));
            self.gaps += 1;
            let gap = draw_gap((min, max), length, split_mix(self.gap_seed, self.gaps));
            self.next[index] = (offset - area.base + u64::from(length)).saturating_add(gap);
        } else if let Advance::Length { skip } = self.parameters.advance {
            let area = &self.areas[direction];
            let index = self.parameters.positions.index(direction);
            let end = (offset - area.base) as i64 + i64::from(length);
            self.next[index] = match end + skip {
                // A backward step past the base continues `|skip|` bytes before the end of the
                // area, rounded down to the alignment (fio).
                position if position < 0 => {
                    let below_end = area.length.saturating_add_signed(skip);
                    below_end - below_end % area.alignment
                }
                // A gap that reaches the end wraps to the base. An operation that reaches the end
                // ends the pass (fio).
                position if skip > 0 && (end as u64) < area.length && position as u64 >= area.length => {
                    self.parameters.start.0 % area.alignment
                }
                position => position as u64,
            };
        }
    }

    pub(super) fn restart(&mut self) {
        self.next = [self.parameters.start.0; 3];
    }
}

/// The gap between operations of this length that a random word selects.
fn draw_gap((min, max): (u64, u64), length: u32, word: u64) -> u64 {
    let width = u128::from(max.saturating_sub(min));
    let drawn = (u128::from(word) * width) >> 64;
    let length = u64::from(length.max(1));
    min + drawn as u64 / length * length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draws(seed: u64) -> Draws {
        crate::draws::GeneratorChoice::Native { seed }.start()
    }

    fn area(base: u64, length: u64, alignment: u64) -> PerDirection<Area> {
        PerDirection::all(Area {
            base,
            length,
            block: 4096,
            alignment,
        })
    }

    fn with_gaps(min: u64, max: u64) -> Sequential {
        Sequential {
            advance: Advance::RandomGap { min, max },
            ..Sequential::default()
        }
    }

    /// Otherwise all workers on a target would visit the same blocks.
    #[test]
    fn random_gaps_differ_between_workers() {
        let walk = with_gaps(0, 1 << 20);
        let offsets = |seed: u64| {
            let mut cursor = walk.cursor(area(0, 1 << 30, 4096), &mut draws(seed)).unwrap();
            let mut next = |_| {
                let offset = cursor.next(Direction::Read).unwrap().offset;
                cursor.advance(Direction::Read, offset, 4096);
                offset
            };
            (0..50).map(&mut next).collect::<Vec<u64>>()
        };
        assert_eq!(offsets(1), offsets(1));
        let common = offsets(1).iter().zip(offsets(2)).filter(|(a, b)| **a == *b).count();
        assert_eq!(common, 1, "only the first");
    }

    #[test]
    fn random_gaps_are_multiples_of_the_length_below_the_limit() {
        let walk = with_gaps(8192, 24576);
        let mut cursor = walk.cursor(area(4096, 1 << 20, 4096), &mut draws(7)).unwrap();
        let (mut gaps, mut end, mut wraps) = ([0; 4], 4096, 0);
        for _ in 0..1000 {
            let offset = cursor.next(Direction::Read).unwrap().offset;
            match offset >= end {
                true if end > 4096 => gaps[((offset - end - 8192) / 4096) as usize] += 1,
                true => assert_eq!(offset, 4096),
                false => {
                    assert_eq!(offset, 4096);
                    wraps += 1;
                }
            }
            end = offset + 4096;
            cursor.advance(Direction::Read, offset, 4096);
        }
        assert!(
            wraps > 10 && gaps.iter().all(|count| (150..350).contains(count)),
            "{wraps} {gaps:?}"
        );
    }

    #[test]
    fn a_stride_beyond_the_area_wraps_to_its_start() {
        let area = area(0, 1 << 20, u64::MAX);
        let mut cursor = Sequential::default().cursor(area, &mut draws(0)).unwrap();
        for _ in 0..3 {
            let position = cursor.next(Direction::Read).unwrap();
            assert_eq!(position.offset, 0);
        }
    }
}
