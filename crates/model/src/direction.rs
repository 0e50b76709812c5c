//! Read, write or trim: the kinds of operation that move or discard data.

use std::ops::{Index, IndexMut};

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an operation does to the blocks that it names. Flushes name no blocks and are counted
/// separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Direction {
    /// Blocks are read.
    Read = 0,
    /// Blocks are written.
    Write = 1,
    /// Blocks are discarded (`BLKDISCARD`, hole punching).
    Trim = 2,
}

impl Direction {
    /// All directions in the order in which reports list them.
    pub const ALL: [Direction; 3] = [Direction::Read, Direction::Write, Direction::Trim];

    /// The lower-case English word for the direction.
    pub fn word(self) -> &'static str {
        match self {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
        }
    }

    /// True if the operation changes the contents of the target.
    pub fn changes_data(self) -> bool {
        !matches!(self, Direction::Read)
    }
}

/// One value for each direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PerDirection<T> {
    /// The value for reads.
    pub read: T,
    /// The value for writes.
    pub write: T,
    /// The value for trims.
    pub trim: T,
}

impl<T> PerDirection<T> {
    /// The same value for all three directions.
    pub fn all(value: T) -> Self
    where
        T: Clone,
    {
        PerDirection::new(value.clone(), value.clone(), value)
    }

    /// A value for each direction.
    pub const fn new(read: T, write: T, trim: T) -> Self {
        PerDirection { read, write, trim }
    }

    /// The value that `make` gives for each direction.
    pub fn from_fn(mut make: impl FnMut(Direction) -> T) -> Self {
        PerDirection::new(make(Direction::Read), make(Direction::Write), make(Direction::Trim))
    }

    /// A value for reads; nothing for the others.
    pub fn from_reads(read: T) -> Self
    where
        T: Default,
    {
        PerDirection::new(read, T::default(), T::default())
    }

    /// Applies `change` to each value.
    pub fn map<U>(&self, mut change: impl FnMut(&T) -> U) -> PerDirection<U> {
        PerDirection::new(change(&self.read), change(&self.write), change(&self.trim))
    }

    /// The values with their directions, in report order.
    pub fn iter(&self) -> impl Iterator<Item = (Direction, &T)> {
        Direction::ALL
            .into_iter()
            .map(move |direction| (direction, &self[direction]))
    }
}

impl<T> Index<Direction> for PerDirection<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, direction: Direction) -> &T {
        match direction {
            Direction::Read => &self.read,
            Direction::Write => &self.write,
            Direction::Trim => &self.trim,
        }
    }
}

impl<T> IndexMut<Direction> for PerDirection<T> {
    #[inline(always)]
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Read => &mut self.read,
            Direction::Write => &mut self.write,
            Direction::Trim => &mut self.trim,
        }
    }
}
