//! Zones that are written from start to end, as on a zoned block device (fio `zonemode=zbd`), on a
//! target without zones. Each zone has a write pointer, which all workers on the target advance
//! together. A write goes to the pointer of the chosen zone, and a full zone is reset before it is
//! written again. A read stays below the pointer. This is fio's behaviour on files.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::placement::PlacementCursor;
use super::{AccessError, Area, Placement, Position, require};
use crate::direction::{Direction, PerDirection};
use crate::draws::Draws;
use crate::units::Bytes;

/// Each zone takes eight bytes of memory.
const MAX_ZONES: u64 = 1 << 24;

/// Access along write pointers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WritePointers {
    /// Bytes from the start of a zone to the start of the next.
    pub zone: Bytes,
    /// Bytes of a zone that can be written.
    pub capacity: Bytes,
    /// Reads do not stop at the write pointer.
    #[serde(default)]
    pub read_beyond: bool,
    /// Zones that may be partly written at the same time; 0 for no limit.
    #[serde(default)]
    pub open: u32,
    /// When zones are reset before they are full.
    #[serde(default)]
    pub reset: Option<EarlyReset>,
    /// The distribution of zones, and of reads within them; absent: sequential.
    #[serde(default)]
    pub within: Option<Placement>,
}

/// When zones are reset before they are full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EarlyReset {
    /// The share of the area, up to 1, that must hold data before early resets begin.
    pub above: f64,
    /// The share of the writes that reset a zone, up to 1.
    pub share: f64,
}

/// The state that the workers on a target share.
#[derive(Debug, Default)]
pub struct SharedAccess {
    /// The position of interlocked streams.
    pub(super) position: AtomicU64,
    /// Zones, and their size.
    zones: Mutex<Vec<(u64, Arc<SharedZones>)>>,
}

/// The zones of a target.
#[derive(Debug)]
struct SharedZones {
    /// Bytes written in each.
    written: Box<[AtomicU64]>,
    /// The partly written zones in the order of their first write, if their number is limited.
    open: Mutex<Vec<usize>>,
}

impl SharedAccess {
    /// Resets the interlocked position.
    pub fn rewind(&self) {
        self.position.store(0, Ordering::Relaxed);
    }

    /// The zones of this size, creating at least `count` of them.
    fn zones(&self, zone: u64, count: usize) -> Arc<SharedZones> {
        let mut all = lock(&self.zones);
        let fits = |(size, zones): &&(u64, Arc<SharedZones>)| *size == zone && zones.written.len() >= count;
        if let Some((_, zones)) = all.iter().find(fits) {
            return Arc::clone(zones);
        }
        let zones = Arc::new(SharedZones {
            written: (0..count).map(|_| AtomicU64::new(0)).collect(),
            open: Mutex::default(),
        });
        all.push((zone, Arc::clone(&zones)));
        zones
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WritePointers {
    pub(super) fn cursor(
        &self,
        areas: PerDirection<Area>,
        shared: &Arc<SharedAccess>,
        draws: &mut Draws,
    ) -> Result<WritePointersCursor, AccessError> {
        let common = Area::common(&areas).check(0)?;
        let (zone, capacity) = (self.zone.0, self.capacity.0);
        let is_valid = (common.block..=zone).contains(&capacity);
        let range = "between a block and the size of a zone";
        require(is_valid, "the capacity of a zone", range, self.capacity)?;
        // Only whole zones are used.
        let first = common.base.div_ceil(zone);
        let end = (common.base + common.length) / zone;
        if first >= end {
            return Err(AccessError::TooSmall {
                base: common.base,
                length: common.length,
                block: zone,
                start: 0,
            });
        }
        require(end <= MAX_ZONES, "the number of zones", "at most 16777216", end)?;
        let zone_areas = areas.map(|area| Area {
            base: first * zone,
            length: (end - first) * zone,
            ..*area
        });
        let within = self.within.as_ref();
        let within = within
            .map(|placement| placement.cursor(zone_areas, draws))
            .transpose()?;
        Ok(WritePointersCursor {
            parameters: self.clone(),
            areas: zone_areas,
            within,
            shared: shared.zones(zone, end as usize),
            zones: first as usize..end as usize,
            drawn: 0,
            next: [first * zone; 3],
            writes_above: 0,
            resets: 0,
        })
    }
}

/// One worker's view of the zones.
#[derive(Clone, Debug)]
pub struct WritePointersCursor {
    parameters: WritePointers,
    areas: PerDirection<Area>,
    within: Option<PlacementCursor>,
    shared: Arc<SharedZones>,
    /// The zones of the area.
    zones: Range<usize>,
    /// The drawn offset, which selected the zone of the last operation.
    drawn: u64,
    /// The next sequential offsets.
    next: [u64; 3],
    /// Writes since the last early reset, while the data exceeds the threshold.
    writes_above: u64,
    /// Zones that were reset.
    resets: u64,
}

impl WritePointersCursor {
    pub(super) fn next(&mut self, draws: &mut Draws, direction: Direction) -> Option<Position> {
        self.drawn = match &mut self.within {
            Some(placement) => placement.next(draws, direction)?,
            None => self.next[direction as usize],
        };
        let offset = match direction {
            Direction::Write => self.place_write(self.drawn)?,
            Direction::Read | Direction::Trim => self.place_read(self.drawn, direction)?,
        };
        Some(Position::new(offset))
    }

    fn written(&self, zone: usize) -> u64 {
        self.shared.written[zone].load(Ordering::Relaxed)
    }

    fn zone_start(&self, zone: usize) -> u64 {
        zone as u64 * self.parameters.zone.0
    }

    /// The zone of an offset, and the offset within it; `None` behind the last zone.
    fn locate_zone(&self, offset: u64) -> Option<(usize, u64)> {
        let zone = (offset / self.parameters.zone.0) as usize;
        self.zones
            .contains(&zone)
            .then_some((zone, offset % self.parameters.zone.0))
    }

    fn place_write(&mut self, offset: u64) -> Option<u64> {
        let block = self.areas.write.block;
        let (mut zone, within) = self.locate_zone(offset)?;
        let capacity = self.parameters.capacity.0;
        let is_full = |written: u64| written + block > capacity;
        if self.within.is_some() {
            zone = self.permitted_zone(zone, offset);
        } else if is_full(self.written(zone)) && within > 0 {
            zone += 1;
        }
        if zone == self.zones.end {
            return None;
        }
        let next = |written: u64| (!is_full(written)).then_some(written + block);
        let is_early = self.should_reset_early();
        let claimed = self.shared.written[zone].fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let written = match claimed {
            Ok(written) if !is_early => written,
            _ => {
                self.shared.written[zone].store(block, Ordering::Relaxed);
                self.resets += 1;
                0
            }
        };
        Some(self.zone_start(zone) + written)
    }

    /// This zone, or an open one once the limit of open zones is reached.
    fn permitted_zone(&self, zone: usize, offset: u64) -> usize {
        let limit = self.parameters.open as usize;
        if limit == 0 {
            return zone;
        }
        let mut open = lock(&self.shared.open);
        if open.contains(&zone) {
            return zone;
        }
        if open.len() < limit {
            open.push(zone);
            return zone;
        }
        let area = &self.areas.write;
        let share = u128::from(offset - area.base) * open.len() as u128 / u128::from(area.length);
        open[share as usize]
    }

    fn should_reset_early(&mut self) -> bool {
        let Some(EarlyReset { above, share }) = self.parameters.reset else {
            return false;
        };
        let written: u64 = self.zones.clone().map(|zone| self.written(zone)).sum();
        if (written as f64) < above * self.areas.write.length as f64 {
            return false;
        }
        self.writes_above += 1;
        let is_due = self.writes_above as f64 * share >= 1.0;
        if is_due {
            self.writes_above = 0;
        }
        is_due
    }

    fn place_read(&self, offset: u64, direction: Direction) -> Option<u64> {
        let block = self.areas[direction].block;
        let (zone, within) = self.locate_zone(offset)?;
        if self.parameters.read_beyond {
            return Some(offset);
        }
        let has_data = |zone: &usize| self.written(*zone) >= block;
        if self.within.is_none() {
            return match within + block <= self.written(zone) {
                true => Some(offset),
                false => (zone + 1..self.zones.end)
                    .find(has_data)
                    .map(|zone| self.zone_start(zone)),
            };
        }
        // Take the nearest; of two at the same distance, the later.
        let max_distance = self.zones.len();
        let zone_at_distance = |distance: usize| {
            let before = zone.checked_sub(distance).filter(|zone| *zone >= self.zones.start);
            let later_zone = Some(zone + distance).filter(|zone| *zone < self.zones.end);
            later_zone.filter(has_data).or(before.filter(has_data))
        };
        let zone = (0..max_distance).find_map(zone_at_distance)?;
        let within = match self.written(zone) - block {
            0 => 0,
            room => within % room / block * block,
        };
        Some(self.zone_start(zone) + within)
    }

    pub(super) fn claim(&mut self, drawn: Position, direction: Direction, length: u32) -> u32 {
        let mut length = length;
        if let Some(placement) = &mut self.within {
            length = placement.claim(self.drawn, direction, length);
        }
        let zone = self.parameters.zone.0;
        let within = drawn.offset % zone;
        let index = (drawn.offset / zone) as usize;
        let length = match direction {
            Direction::Write => u64::from(length).min(self.parameters.capacity.0 - within),
            _ if self.parameters.read_beyond => u64::from(length),
            // Another worker may have reset the zone in the meantime.
            _ => match self.written(index).saturating_sub(within) {
                0 => u64::from(length),
                room => u64::from(length).min(room),
            },
        };
        if direction == Direction::Write {
            self.shared.written[index].fetch_max(within + length, Ordering::Relaxed);
            if self.parameters.open > 0 && within + length + self.areas.write.block > self.parameters.capacity.0 {
                lock(&self.shared.open).retain(|open| *open != index);
            }
        }
        self.next[direction as usize] = drawn.offset + length;
        length as u32
    }

    pub(super) fn restart(&mut self, draws: &mut Draws) {
        self.next = [self.zone_start(self.zones.start); 3];
        if let Some(placement) = &mut self.within {
            placement.restart(draws);
        }
    }

    pub(super) fn extra_bytes(&self) -> u64 {
        let zones = size_of_val(&*self.shared.written) as u64;
        zones + self.within.as_ref().map_or(0, PlacementCursor::extra_bytes)
    }

    /// Zones that were reset so far.
    pub(super) fn resets(&self) -> u64 {
        self.resets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, Cursor, PositionRequest, Uniform};
    use crate::draws::GeneratorChoice;

    const KIB: u64 = 1024;

    /// Four zones of four blocks.
    const ZONES: WritePointers = WritePointers {
        zone: Bytes(16 * KIB),
        capacity: Bytes(16 * KIB),
        read_beyond: false,
        open: 0,
        reset: None,
        within: None,
    };

    fn drawn(zones: WritePointers) -> WritePointers {
        let within = Some(Placement::Uniform(Uniform::default()));
        WritePointers { within, ..zones }
    }

    fn with_capacity(bytes: u64) -> WritePointers {
        let capacity = Bytes(bytes);
        WritePointers { capacity, ..ZONES }
    }

    struct Walk {
        cursor: Cursor,
        draws: Draws,
    }

    impl Walk {
        fn new(zones: WritePointers, area: (u64, u64), shared: &Arc<SharedAccess>) -> Result<Walk, AccessError> {
            let area = Area::of_blocks(area.0, area.1, 4 * KIB);
            let mut draws = GeneratorChoice::Native { seed: 7 }.start();
            let access = Access::WritePointers(zones);
            let cursor = access.cursor(PerDirection::all(area), 1, shared, &mut draws)?;
            Ok(Walk { cursor, draws })
        }

        fn alone(zones: WritePointers) -> Walk {
            Walk::new(zones, (0, 64 * KIB), &Arc::default()).unwrap()
        }

        /// Blocks of the next operations; fewer at the end of a pass.
        fn blocks(&mut self, direction: Direction, count: usize) -> Vec<u64> {
            let next = || {
                let drawn = self
                    .cursor
                    .next(&mut self.draws, PositionRequest { direction, slot: 0 })?;
                assert_eq!(self.cursor.claim(drawn, direction, 4 * KIB as u32), 4 * KIB as u32);
                Some(drawn.offset / (4 * KIB))
            };
            std::iter::from_fn(next).take(count).collect()
        }
    }

    #[test]
    fn each_zone_is_written_from_its_start() {
        let mut walk = Walk::alone(drawn(ZONES));
        let mut written = [0; 4];
        for block in walk.blocks(Direction::Write, 1000) {
            let (zone, within) = ((block / 4) as usize, block % 4);
            written[zone] = if written[zone] == 4 { 0 } else { written[zone] };
            assert_eq!(within, written[zone]);
            written[zone] += 1;
        }
        assert!(walk.cursor.zone_resets() > 200, "{}", walk.cursor.zone_resets());
    }

    #[test]
    fn a_pass_skips_unwritable_blocks_and_resets_zones_in_the_next_pass() {
        let mut walk = Walk::alone(with_capacity(8 * KIB));
        for resets in [0, 4] {
            assert_eq!(walk.blocks(Direction::Write, 100), [0, 1, 4, 5, 8, 9, 12, 13]);
            assert_eq!(walk.cursor.zone_resets(), resets);
            walk.cursor.restart(&mut walk.draws);
        }
        assert_eq!(walk.blocks(Direction::Read, 100), [0, 1, 4, 5, 8, 9, 12, 13]);
    }

    #[test]
    fn reads_reach_the_data_of_all_workers() {
        let shared = Arc::default();
        let new = |zones| Walk::new(zones, (0, 64 * KIB), &shared).unwrap();
        let (mut writer, mut reader) = (new(ZONES), new(drawn(ZONES)));
        assert!(reader.blocks(Direction::Read, 10).is_empty());
        assert_eq!(writer.blocks(Direction::Write, 6), [0, 1, 2, 3, 4, 5]);
        let read = reader.blocks(Direction::Read, 100);
        assert!(read.len() == 100 && read.iter().all(|block| *block < 6), "{read:?}");
        assert_eq!(new(ZONES).blocks(Direction::Read, 100), [0, 1, 2, 3, 4, 5]);
        // A second writer resets the full zone and continues at the write pointer of the next.
        assert_eq!(new(ZONES).blocks(Direction::Write, 6), [0, 1, 2, 3, 6, 7]);
        let read_beyond = true;
        let beyond = new(WritePointers { read_beyond, ..ZONES }).blocks(Direction::Read, 100);
        assert_eq!(beyond, (0..16).collect::<Vec<_>>());
    }

    #[test]
    fn the_number_of_open_zones_is_limited() {
        let mut walk = Walk::alone(drawn(WritePointers { open: 2, ..ZONES }));
        let mut written = [0_u64; 4];
        for block in walk.blocks(Direction::Write, 1000) {
            written[(block / 4) as usize] = block % 4 + 1;
            assert!(
                written.iter().filter(|count| (1..4).contains(*count)).count() <= 2,
                "{written:?}"
            );
        }
    }

    #[test]
    fn zones_are_reset_early_if_configured() {
        let reset = Some(EarlyReset { above: 0.5, share: 0.5 });
        let mut walk = Walk::alone(drawn(WritePointers { reset, ..ZONES }));
        walk.blocks(Direction::Write, 8);
        assert_eq!(walk.cursor.zone_resets(), 0);
        walk.blocks(Direction::Write, 4);
        assert!(
            (1..=2).contains(&walk.cursor.zone_resets()),
            "{}",
            walk.cursor.zone_resets()
        );
    }

    #[test]
    fn only_whole_zones_are_used() {
        let shared = Arc::default();
        let mut walk = Walk::new(ZONES, (4 * KIB, 60 * KIB), &shared).unwrap();
        assert_eq!(walk.blocks(Direction::Write, 100), (4..16).collect::<Vec<_>>());
        for (zones, area) in [
            (ZONES, (4 * KIB, 20 * KIB)),
            (with_capacity(KIB), (0, 64 * KIB)),
            (with_capacity(32 * KIB), (0, 64 * KIB)),
        ] {
            assert!(Walk::new(zones.clone(), area, &shared).is_err(), "{zones:?} {area:?}");
        }
        let many = WritePointers {
            zone: Bytes(4 * KIB),
            ..with_capacity(4 * KIB)
        };
        let terabyte = Walk::new(many, (0, 1 << 40), &shared).err();
        assert!(matches!(
            terabyte,
            Some(AccessError::Parameter {
                what: "the number of zones",
                ..
            })
        ));
    }

    #[test]
    fn a_read_has_its_length_even_if_its_zone_was_reset() {
        let shared = Arc::default();
        let new = |zones| Walk::new(zones, (0, 64 * KIB), &shared).unwrap();
        let (mut writer, mut reader) = (new(ZONES), new(ZONES));
        writer.blocks(Direction::Write, 16);
        reader.blocks(Direction::Read, 3);
        let wanted = PositionRequest {
            direction: Direction::Read,
            slot: 0,
        };
        let drawn = reader.cursor.next(&mut reader.draws, wanted).unwrap();
        writer.cursor.restart(&mut writer.draws);
        writer.blocks(Direction::Write, 1);
        assert_eq!(reader.cursor.claim(drawn, Direction::Read, 4096), 4096);
    }
}
