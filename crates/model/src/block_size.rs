//! The lengths of operations.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::draws::{Draws, Purpose};
use crate::units::Bytes;

/// The lengths of a stream's operations in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "sizes", rename_all = "snake_case")]
pub enum BlockSizes {
    /// All of one length.
    Fixed {
        /// That length.
        size: Bytes,
    },
    /// Drawn as fio does: `low + random(high)`, rounded down to a multiple of `low`, at most
    /// `high`. If `high` is a multiple of `low`, all multiples are equally likely; otherwise `high`
    /// is less frequent than the multiples.
    Range {
        /// Shortest length.
        low: Bytes,
        /// Longest length.
        high: Bytes,
        /// Any number of bytes, without rounding.
        #[serde(default)]
        unaligned: bool,
    },
    /// Several lengths, each with a share.
    Split {
        /// The lengths. Shares are scaled to their sum.
        entries: Vec<SizeShare>,
    },
}

/// One length of a split.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeShare {
    /// Length of an operation.
    pub size: Bytes,
    /// Its share in percent.
    pub percent: f64,
}

impl SizeShare {
    /// A length with its share in percent.
    pub fn new(size: Bytes, percent: f64) -> SizeShare {
        SizeShare { size, percent }
    }
}

impl Default for BlockSizes {
    fn default() -> Self {
        BlockSizes::Fixed { size: Bytes::kib(4) }
    }
}

impl BlockSizes {
    /// Multiples of the shortest length, up to the longest.
    pub fn range(low: Bytes, high: Bytes) -> BlockSizes {
        BlockSizes::Range {
            low,
            high,
            unaligned: false,
        }
    }

    /// The mean length in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            BlockSizes::Fixed { size } => size.0 as f64,
            BlockSizes::Range { low, high, .. } => (low.0 + high.0) as f64 / 2.0,
            BlockSizes::Split { entries } => {
                let total: f64 = entries.iter().map(|entry| entry.percent).sum();
                let bytes = entries.iter().map(|entry| entry.size.0 as f64 * entry.percent / total);
                bytes.sum()
            }
        }
    }

    /// The shortest length.
    pub fn min(&self) -> Bytes {
        match self {
            BlockSizes::Fixed { size } => *size,
            BlockSizes::Range { low, .. } => *low,
            BlockSizes::Split { entries } => drawable(entries).map(|e| e.size).min().unwrap_or_default(),
        }
    }

    /// The longest length.
    pub fn max(&self) -> Bytes {
        match self {
            BlockSizes::Fixed { size } => *size,
            BlockSizes::Range { high, .. } => *high,
            BlockSizes::Split { entries } => drawable(entries).map(|e| e.size).max().unwrap_or_default(),
        }
    }

    /// The length of the next operation, at most `room` bytes; 0 if none fits.
    #[inline(always)]
    pub fn draw(&self, draws: &mut Draws, direction: Direction, room: u64) -> u32 {
        match self {
            BlockSizes::Fixed { size } if size.0 <= room => size.0 as u32,
            other => other.draw_varying(draws, direction, room),
        }
    }

    #[inline(never)]
    fn draw_varying(&self, draws: &mut Draws, direction: Direction, room: u64) -> u32 {
        let purpose = match direction {
            Direction::Read => Purpose::SizeRead,
            Direction::Write => Purpose::SizeWrite,
            Direction::Trim => Purpose::SizeTrim,
        };
        if self.min().0 > room {
            return 0;
        }
        match self {
            BlockSizes::Fixed { .. } => 0,
            // low + floor(high × u), rounded down to a multiple of low and capped at high.
            BlockSizes::Range { low, high, unaligned } => loop {
                let scaled = (u128::from(draws.next_u32(purpose)) * u128::from(high.0)) >> 32;
                let mut length = low.0 + scaled as u64;
                if !unaligned {
                    length -= length % low.0.max(1);
                }
                let length = length.min(high.0);
                if length <= room {
                    break length as u32;
                }
            },
            BlockSizes::Split { entries } => {
                let total: f64 = drawable(entries).map(|e| e.percent).sum();
                loop {
                    // fio's rule: a length that does not fit is replaced by the next one in the
                    // list that fits, or drawn again if there is none.
                    let mut remaining = f64::from(draws.next_u32(purpose)) / 4_294_967_296.0 * total;
                    let drawn = drawable(entries).find(|entry| {
                        remaining -= entry.percent;
                        remaining < 0.0 && entry.size.0 <= room
                    });
                    if let Some(entry) = drawn {
                        break entry.size.0 as u32;
                    }
                }
            }
        }
    }
}

/// The lengths that can be drawn at all.
fn drawable(entries: &[SizeShare]) -> impl Iterator<Item = &SizeShare> {
    entries.iter().filter(|entry| entry.percent > 0.0)
}
