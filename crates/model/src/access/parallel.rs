//! Gives every slot of the queue its own sequential position, so that several operations at the
//! same offset are in flight (DiskSpd `-p`).

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccessError, Area, Position};
use crate::direction::PerDirection;
use crate::units::Bytes;

/// Parallel sequential access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parallel {
    /// Where every slot starts, from the base of the area.
    #[serde(default)]
    pub start: Bytes,
}

impl Parallel {
    pub(super) fn cursor(&self, areas: PerDirection<Area>, slots: u32) -> Result<ParallelCursor, AccessError> {
        let area = Area::common(&areas).check(self.start.0)?;
        Ok(ParallelCursor {
            area,
            start: self.start.0,
            next: vec![self.start.0; slots.max(1) as usize],
        })
    }
}

/// The positions of all slots.
#[derive(Clone, Debug)]
pub struct ParallelCursor {
    area: Area,
    start: u64,
    next: Vec<u64>,
}

impl ParallelCursor {
    pub(super) fn next(&mut self, slot: u32) -> Position {
        let index = slot as usize % self.next.len();
        let mut position = self.next[index];
        if position + self.area.block > self.area.length {
            position = self.start % self.area.alignment;
        }
        self.next[index] = position + self.area.alignment;
        Position::new(self.area.base + position)
    }

    pub(super) fn extra_bytes(&self) -> u64 {
        (self.next.len() * 8) as u64
    }
}
