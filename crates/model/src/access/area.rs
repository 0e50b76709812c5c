//! The part of a target that a stream may touch, cut into aligned positions.

use super::{AccessError, require};
use crate::direction::PerDirection;
use crate::draws::Reduction;

/// An area of a target with its block size and alignment.
///
/// Positions are counted from `base`, as in DiskSpd: an alignment of 8 KiB in an area that starts
/// at 4 KiB visits 4 KiB, 12 KiB and so on. Every position leaves room for one whole block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// First byte, from the start of the target.
    pub base: u64,
    /// Bytes that the stream may use.
    pub length: u64,
    /// Length of a block; every position leaves room for one.
    pub block: u64,
    /// Distance of neighbouring positions.
    pub alignment: u64,
}

impl Area {
    /// An area whose positions are multiples of the block length.
    pub(crate) fn of_blocks(base: u64, length: u64, block: u64) -> Area {
        Area {
            base,
            length,
            block,
            alignment: block,
        }
    }

    /// Checks that at least one block fits `start` bytes into the area.
    ///
    /// # Errors
    /// [`AccessError::TooSmall`] if it does not, [`AccessError::Parameter`] for a block or
    /// alignment of 0.
    pub fn check(self, start: u64) -> Result<Area, AccessError> {
        for (what, value) in [("the block size", self.block), ("the alignment", self.alignment)] {
            require(value > 0, what, "at least 1 byte", value)?;
        }
        if start.checked_add(self.block).is_none_or(|end| end > self.length) {
            return Err(AccessError::TooSmall {
                base: self.base,
                length: self.length,
                block: self.block,
                start,
            });
        }
        Ok(self)
    }

    /// The area of a pattern whose state all directions share: each position suits every direction.
    /// If the areas agree, as they usually do, it equals them.
    pub(super) fn common(areas: &PerDirection<Area>) -> Area {
        let PerDirection { read, write, trim } = areas;
        let lcm = |a: u64, b: u64| match gcd(a, b) {
            // [`Area::check`] later refuses a length of 0.
            0 => 0,
            divisor => (a / divisor).saturating_mul(b),
        };
        Area {
            block: read.block.max(write.block).max(trim.block),
            alignment: lcm(lcm(read.alignment, write.alignment), trim.alignment),
            ..*read
        }
    }

    /// How many aligned positions there are.
    #[inline(always)]
    pub fn positions(&self) -> u64 {
        if self.length < self.block {
            0
        } else {
            (self.length - self.block) / self.alignment + 1
        }
    }

    /// Bytes from the first position to the end of the last one's step: `positions × alignment`.
    #[inline(always)]
    pub fn span(&self) -> u64 {
        self.positions() * self.alignment
    }

    /// The offset of the position with the given number.
    #[inline(always)]
    pub fn offset(&self, position: u64) -> u64 {
        self.base + position * self.alignment
    }

    /// Turns a 64-bit draw into the offset of a position, counted from the base, as
    /// [`Reduction::Modulo`] does.
    #[inline(always)]
    pub(super) fn remainder(&self, word: u64) -> u64 {
        (word - word % self.alignment) % self.span()
    }

    /// Turns a 64-bit draw into the offset, from the base, of a position in `[start, start +
    /// span)`. `span` must be a non-zero multiple of the alignment.
    #[inline]
    pub(super) fn reduce(&self, word: u64, start: u64, span: u64, reduction: Reduction) -> u64 {
        match reduction {
            // Like DiskSpd, round the draw down to the alignment and take the remainder in bytes.
            Reduction::Modulo => start + (word - word % self.alignment) % span,
            Reduction::Lemire | Reduction::MultiplyHigh64 => {
                let count = span / self.alignment;
                start + ((u128::from(word) * u128::from(count)) >> 64) as u64 * self.alignment
            }
            Reduction::MultiplyHigh32 => {
                let count = span / self.alignment;
                start + ((u128::from(word as u32) * u128::from(count)) >> 32) as u64 * self.alignment
            }
        }
    }
}

/// The greatest common divisor.
pub(super) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
