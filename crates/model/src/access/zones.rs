//! A window that moves over the target: work in it, skip some bytes, work in the next (fio
//! `zonemode=strided`).

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placement::PlacementCursor;
use super::{AccessError, Area, Placement, Position, PositionSharing, require};
use crate::direction::{Direction, PerDirection};
use crate::draws::Draws;
use crate::units::Bytes;

/// Access inside windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Zones {
    /// Bytes to transfer in a window before moving on.
    pub work: Bytes,
    /// Bytes in a window.
    pub range: Bytes,
    /// Bytes skipped between windows.
    pub skip: Bytes,
    /// The distribution inside a window; absent: sequential, with wrap-around.
    #[serde(default)]
    pub within: Option<Placement>,
    /// One sequential position for all directions, or one for each.
    #[serde(default)]
    pub positions: PositionSharing,
}

impl Zones {
    pub(super) fn cursor(&self, areas: PerDirection<Area>, draws: &mut Draws) -> Result<ZonesCursor, AccessError> {
        let common = Area::common(&areas).check(0)?;
        let is_valid = self.range.0 >= common.block && self.work.0 > 0;
        let value = format!("{} (work {})", self.range, self.work);
        require(is_valid, "the zone range", "at least one block", value)?;
        let window = areas.map(|area| Area {
            length: area.length.min(self.range.0),
            ..*area
        });
        let within = self.within.as_ref();
        let within = within.map(|placement| placement.cursor(window, draws)).transpose()?;
        Ok(ZonesCursor {
            parameters: self.clone(),
            // Random positions need a whole window; sequential ones can use a partial last window.
            min_length: within.as_ref().map_or(common.block, |_| window.read.length),
            areas,
            within,
            window: 0,
            next: [0; 3],
            done: 0,
        })
    }
}

/// The state of a walk through the windows.
#[derive(Clone, Debug)]
pub struct ZonesCursor {
    parameters: Zones,
    areas: PerDirection<Area>,
    within: Option<PlacementCursor>,
    /// The minimum length of a window.
    min_length: u64,
    /// Start of the current window, from the base.
    window: u64,
    /// Next positions, from the start of the window; with shared positions only the first is used.
    next: [u64; 3],
    /// Bytes transferred in the current window.
    done: u64,
}

impl ZonesCursor {
    pub(super) fn next(&mut self, draws: &mut Draws, direction: Direction) -> Option<Position> {
        let area = self.areas[direction];
        if self.done >= self.parameters.work.0 {
            let start = self.window + self.parameters.range.0 + self.parameters.skip.0;
            let fits = start + self.min_length <= area.length;
            self.enter(if fits { start } else { 0 }, draws);
        }
        let offset = match &mut self.within {
            None => self.next_in_order(direction),
            Some(placement) => {
                let mut drawn = placement.next(draws, direction);
                if drawn.is_none() {
                    // All blocks of the window are used: the window starts over.
                    placement.restart(draws);
                    drawn = placement.next(draws, direction);
                }
                drawn? + self.window
            }
        };
        Some(Position::new(offset))
    }

    fn enter(&mut self, window: u64, draws: &mut Draws) {
        (self.window, self.next, self.done) = (window, [0; 3], 0);
        if let Some(placement) = &mut self.within {
            placement.restart(draws);
        }
    }

    fn next_in_order(&self, direction: Direction) -> u64 {
        let area = &self.areas[direction];
        let position = match self.next[self.parameters.positions.index(direction)] {
            next if next + area.block <= self.window_length() => next,
            _ => 0,
        };
        area.base + self.window + position
    }

    fn window_length(&self) -> u64 {
        self.parameters.range.0.min(self.areas.read.length - self.window)
    }

    pub(super) fn claim(&mut self, drawn: Position, direction: Direction, length: u32) -> u32 {
        let position = drawn.offset - self.areas[direction].base - self.window;
        // Operations stay within their window.
        let length = u64::from(length).min(self.window_length() - position) as u32;
        let length = match &mut self.within {
            None => length,
            Some(placement) => placement.claim(drawn.offset - self.window, direction, length),
        };
        self.next[self.parameters.positions.index(direction)] = position + u64::from(length);
        self.done += u64::from(length);
        length
    }

    pub(super) fn restart(&mut self, draws: &mut Draws) {
        self.enter(0, draws);
    }

    pub(super) fn extra_bytes(&self) -> u64 {
        self.within.as_ref().map_or(0, PlacementCursor::extra_bytes)
    }
}
