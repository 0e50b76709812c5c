//! One sequential position that all workers on a target advance together (DiskSpd `-si`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccessError, Area, Position, SharedAccess};
use crate::direction::PerDirection;

/// Shared sequential access. The position belongs to the target within a step and starts at its
/// base.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interlocked {}

impl Interlocked {
    pub(super) fn cursor(
        &self,
        areas: PerDirection<Area>,
        shared: &Arc<SharedAccess>,
    ) -> Result<InterlockedCursor, AccessError> {
        let area = Area::common(&areas).check(0)?;
        Ok(InterlockedCursor {
            area,
            span: area.span(),
            shared: Arc::clone(shared),
        })
    }
}

/// One worker's view of the shared walk.
#[derive(Clone, Debug)]
pub struct InterlockedCursor {
    area: Area,
    span: u64,
    shared: Arc<SharedAccess>,
}

impl InterlockedCursor {
    pub(super) fn next(&mut self) -> Position {
        let step = self.shared.position.fetch_add(self.area.alignment, Ordering::Relaxed);
        Position::new(self.area.base + step % self.span)
    }
}
