//! A window that moves over the target: work in it, skip, work in the next (fio `zonemode=strided`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccessError, Area, Place};
use crate::direction::{Direction, PerDirection};
use crate::units::Bytes;

/// Sequential access inside windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Zones {
    /// Bytes to transfer in a window before moving on.
    pub work: Bytes,
    /// Bytes in a window.
    pub range: Bytes,
    /// Bytes left out between windows.
    pub skip: Bytes,
}

impl Zones {
    pub(super) fn cursor(&self, areas: PerDirection<Area>) -> Result<ZonesCursor, AccessError> {
        let area = areas.read.check(0)?;
        if self.range.0 < area.block || self.work.0 == 0 {
            let value = format!("{} (work {})", self.range, self.work);
            return Err(AccessError::Parameter {
                what: "the zone range",
                range: "at least one block",
                value,
            });
        }
        Ok(ZonesCursor {
            parameters: *self,
            area,
            window: 0,
            position: 0,
            done: 0,
        })
    }
}

/// A walk through the windows.
#[derive(Clone, Debug)]
pub struct ZonesCursor {
    parameters: Zones,
    area: Area,
    /// Start of the current window, from the base.
    window: u64,
    /// Next position, from the start of the window.
    position: u64,
    /// Bytes transferred in the current window.
    done: u64,
}

impl ZonesCursor {
    pub(super) fn next(&mut self, _direction: Direction) -> Option<Place> {
        if self.done >= self.parameters.work.0 {
            self.window += self.parameters.range.0 + self.parameters.skip.0;
            (self.position, self.done) = (0, 0);
        }
        if self.window + self.area.block > self.area.length {
            (self.window, self.position, self.done) = (0, 0, 0);
        }
        let end = self.parameters.range.0.min(self.area.length - self.window);
        if self.position + self.area.block > end {
            self.position = 0;
        }
        Some(Place {
            offset: self.area.base + self.window + self.position,
            jumped: false,
        })
    }

    pub(super) fn claim(&mut self, offset: u64, length: u32) -> u32 {
        self.position = offset - self.area.base - self.window + u64::from(length);
        self.done += u64::from(length);
        length
    }

    pub(super) fn restart(&mut self) {
        (self.window, self.position, self.done) = (0, 0, 0);
    }
}
