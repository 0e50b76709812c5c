//! The operations of one stream: direction, position and length of each. The three must be decided
//! in the order of the dialect, so only this file implements it. A sequence is independent of time,
//! queue depth and outcomes.

use std::sync::Arc;

use crate::access::{
    Access, AccessError, Area, Cursor, EffectiveRange, Once, OnceMethod, Placement, PlacementCursor, PositionRequest,
    SharedAccess,
};
use crate::block_size::BlockSizes;
use crate::direction::{Direction, PerDirection};
use crate::draws::Draws;
use crate::mix::{IndependentMix, Mix, MixCursor, MixRule};
use crate::plan::Pattern;

/// An operation to issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Whether it reads, writes or trims.
    pub direction: Direction,
    /// First byte, from the start of the target.
    pub offset: u64,
    /// Bytes; never 0.
    pub length: u32,
}

impl Operation {
    /// A placeholder for an unplanned operation.
    const NONE: Operation = Operation::new(Direction::Read, 0, 0);

    /// An operation on this range.
    #[inline]
    pub const fn new(direction: Direction, offset: u64, length: u32) -> Operation {
        Operation {
            direction,
            offset,
            length,
        }
    }
}

/// Operations planned ahead of their time.
#[derive(Clone, Debug)]
pub struct PlannedOperations {
    operations: [Operation; MAX_PLANNED_AHEAD],
    next: usize,
    end: usize,
    /// The pass ends after them.
    is_last: bool,
}

/// Operations that may be planned ahead.
const MAX_PLANNED_AHEAD: usize = 32;

impl Default for PlannedOperations {
    fn default() -> Self {
        PlannedOperations {
            operations: [Operation::NONE; MAX_PLANNED_AHEAD],
            next: 0,
            end: 0,
            is_last: false,
        }
    }
}

/// The effective ranges of a stepped distribution on `base … base + length` of its target; empty
/// for other patterns. They belong to the first direction that occurs.
pub fn effective_ranges(mix: Mix, pattern: &Pattern, base: u64, length: u64) -> Vec<EffectiveRange> {
    let Some(direction) = mix.directions().next() else {
        return Vec::new();
    };
    let placement = match pattern.access.get(usize::from(pattern.access_index[direction])) {
        Some(Access::Random { placement }) => placement,
        Some(Access::Mixed(mixed)) => &mixed.placement,
        Some(Access::Every(every)) => &every.placement,
        _ => return Vec::new(),
    };
    let Placement::Ranges(ranges) = placement else {
        return Vec::new();
    };
    match area_of_each(mix, pattern, base, length)[direction].check(0) {
        Ok(area) => ranges.effective(&area, direction),
        Err(_) => Vec::new(),
    }
}

/// A stream's operations on a real target.
#[derive(Clone, Debug)]
pub struct Sequence {
    mix: MixCursor,
    cursors: Vec<Cursor>,
    cursor_of: PerDirection<u8>,
    sizes: PerDirection<BlockSizes>,
    sizes_by_seq_rand: bool,
    /// True if all positions are sequential.
    walks: bool,
    /// End of the area, from the start of the target.
    end: u64,
    last: Operation,
    planned: PlannedOperations,
    /// The number of operations that may be planned ahead without changing them.
    ahead: usize,
    /// Plan only the operations that are taken, because others draw from the same generator in
    /// between.
    only_taken: bool,
    /// The next operation is a write, regardless of the mix: there is no data to read yet.
    begins_with_write: bool,
    /// The constant length and the independent mix, if there are such.
    fixed: Option<(u32, IndependentMix)>,
}

impl Sequence {
    /// A sequence without operations, for a stream with another source of operations.
    pub fn empty(mix: Mix) -> Sequence {
        Sequence {
            mix: mix.start(),
            cursors: Vec::new(),
            cursor_of: PerDirection::default(),
            sizes: PerDirection::all(BlockSizes::default()),
            sizes_by_seq_rand: false,
            walks: false,
            end: 0,
            last: Operation::NONE,
            planned: PlannedOperations::default(),
            ahead: 0,
            only_taken: false,
            begins_with_write: false,
            fixed: None,
        }
    }

    /// Creates the sequence of a stream's pattern on `base … base + length` of its target.
    ///
    /// # Errors
    /// [`AccessError`] if a pattern does not fit the area.
    pub fn new(
        mix: Mix,
        pattern: &Pattern,
        base: u64,
        length: u64,
        slots: u32,
        shared: &Arc<SharedAccess>,
        draws: &mut Draws,
    ) -> Result<Sequence, AccessError> {
        let areas = area_of_each(mix, pattern, base, length);
        let cursors = pattern
            .access
            .iter()
            .map(|access| access.cursor(areas, slots, shared, draws));
        let cursors = cursors.collect::<Result<Vec<_>, _>>()?;
        let reads_what_it_writes = |access: &Access| match access {
            Access::WritePointers(zones) => zones.within.is_some() && !zones.read_beyond,
            _ => false,
        };
        let begins_with_write = mix.includes(Direction::Write) && pattern.access.iter().any(reads_what_it_writes);
        let mut mix = mix.start();
        // DiskSpd draws a type before the first operation, but uses it only in mixed patterns.
        if mix.decides_late() {
            mix.draw_type(draws);
        }
        // A position that workers share, or that belongs to a slot, can only be decided when it is
        // needed.
        let must_wait = |cursor: &Cursor| {
            matches!(
                cursor,
                Cursor::Interlocked(_) | Cursor::Parallel(_) | Cursor::WritePointers(_)
            )
        };
        let ahead = if cursors.iter().any(must_wait) {
            1
        } else {
            MAX_PLANNED_AHEAD
        };
        let only_taken = matches!(draws, Draws::DiskSpd(_));
        Ok(Sequence {
            fixed: fixed(&mix, pattern, only_taken),
            mix,
            cursors,
            cursor_of: pattern.access_index,
            sizes: pattern.sizes.clone(),
            sizes_by_seq_rand: pattern.sizes_by_seq_rand,
            walks: pattern
                .access
                .iter()
                .all(|access| matches!(access, Access::Sequential(_))),
            end: base + length,
            last: Operation::NONE,
            planned: PlannedOperations::default(),
            ahead,
            only_taken,
            begins_with_write,
        })
    }

    /// Plans each operation only when it is taken, because something else draws from the same
    /// generator after each one.
    pub fn plan_one_by_one(&mut self) {
        self.ahead = self.ahead.min(1);
    }

    /// The next operations: at least one and at most `max`, or none if the pass is over. Plans
    /// ahead if possible, which costs a fraction of planning each when needed. `slot` is the slot
    /// of the first, counted within the stream.
    #[inline(always)]
    pub fn take(&mut self, draws: &mut Draws, slot: u32, max: usize) -> &[Operation] {
        if self.planned.next == self.planned.end && !self.plan_ahead(draws, slot, max) {
            return &[];
        }
        let start = self.planned.next;
        let end = self.planned.end.min(start + max);
        self.planned.next = end;
        self.planned.operations.get(start..end).unwrap_or(&[])
    }

    /// Plans operations, of which `max` are taken now; false if the pass is over.
    #[inline(never)]
    fn plan_ahead(&mut self, draws: &mut Draws, slot: u32, max: usize) -> bool {
        let count = match self.only_taken {
            true => self.ahead.min(max),
            false => self.ahead,
        };
        self.planned.next = 0;
        // The pass ends with the direction that has no position left, even if another has some.
        if std::mem::take(&mut self.planned.is_last) {
            self.planned.end = 0;
            return false;
        }
        self.planned.end = match self.plan_fixed(draws, count) {
            Some(count) => count,
            None => self.plan_each(draws, slot, count),
        };
        self.planned.end > 0
    }

    fn plan_each(&mut self, draws: &mut Draws, slot: u32, count: usize) -> usize {
        for index in 0..count {
            match self.next(draws, slot, None) {
                Some(operation) => self.planned.operations[index] = operation,
                None => {
                    self.planned.is_last = index > 0;
                    return index;
                }
            }
        }
        count
    }

    /// Plans operations in the common case: one pattern, one length, and independent directions.
    fn plan_fixed(&mut self, draws: &mut Draws, count: usize) -> Option<usize> {
        let (length, choice) = self.fixed?;
        let offsets = self.planned.operations[..count].iter_mut();
        let offsets = offsets.map(|operation| &mut operation.offset);
        let count = match (&mut self.cursors[..], choice) {
            ([Cursor::Uniform(cursor)], _) => cursor.fill(draws, length, offsets).then_some(count)?,
            // A direction is drawn even for the operation that finds the pass over.
            ([Cursor::Placed(PlacementCursor::Once(cursor))], IndependentMix::Only(_)) => {
                cursor.fill(draws, length, offsets)?
            }
            _ => return None,
        };
        // The last round's directions and lengths are still stored, so write only differences.
        let planned = &mut self.planned.operations;
        if planned[0].length != length {
            planned.iter_mut().for_each(|operation| operation.length = length);
        }
        match choice {
            IndependentMix::Only(direction) if planned[0].direction == direction => {}
            IndependentMix::Only(direction) => {
                planned.iter_mut().for_each(|operation| operation.direction = direction);
            }
            choice => planned[..count]
                .iter_mut()
                .for_each(|operation| operation.direction = choice.draw(draws)),
        }
        Some(count)
    }

    /// Decides the next operation; `None` if the pass is over. `scheduled` is the direction if the
    /// schedule decides it; otherwise the mix does.
    #[inline(always)]
    pub fn next(&mut self, draws: &mut Draws, slot: u32, scheduled: Option<Direction>) -> Option<Operation> {
        let mut early = scheduled.or_else(|| self.mix.draw_before_position(draws));
        if self.begins_with_write {
            (self.begins_with_write, early) = (false, Some(Direction::Write));
        }
        if self.mix.repeats_place() {
            return Some(self.second_of_pair());
        }
        let direction_of_access = early.unwrap_or(Direction::Read);
        let cursor = &mut self.cursors[self.cursor_of[direction_of_access] as usize];
        let Some(position) = cursor.next(
            draws,
            PositionRequest {
                direction: direction_of_access,
                slot,
            },
        ) else {
            return self.end_pass(scheduled);
        };
        let direction = match early {
            Some(direction) => direction,
            None => self.mix.draw_after_position(draws, position.continues),
        };
        let length = match self.sizes_by_seq_rand {
            false => self.sizes[direction].draw(draws, direction, self.end - position.offset),
            true => {
                let walks = position.continues || self.walks;
                length_by_place(&self.sizes, walks, draws, direction, self.end - position.offset)
            }
        };
        if length == 0 {
            return self.end_pass(scheduled);
        }
        let length = cursor.claim(position, direction, length);
        self.last = Operation {
            direction,
            offset: position.offset,
            length,
        };
        Some(self.last)
    }

    /// Returns a write of the bytes that were just trimmed.
    #[cold]
    fn second_of_pair(&self) -> Operation {
        Operation {
            direction: Direction::Write,
            ..self.last
        }
    }

    /// Ends the pass, because the operation that the mix has just counted will not be issued.
    #[cold]
    fn end_pass(&mut self, scheduled: Option<Direction>) -> Option<Operation> {
        if scheduled.is_none() {
            self.mix.undo_last();
        }
        None
    }

    /// Begins another pass.
    pub fn restart(&mut self, draws: &mut Draws) {
        (self.planned.next, self.planned.end, self.planned.is_last) = (0, 0, false);
        self.mix.restart();
        for cursor in &mut self.cursors {
            cursor.restart(draws);
        }
    }

    /// The number of zone resets so far.
    pub fn zone_resets(&self) -> u64 {
        self.cursors.iter().map(Cursor::zone_resets).sum()
    }

    /// Bytes of memory that the patterns hold beyond their own structure.
    pub fn extra_bytes(&self) -> u64 {
        self.cursors.iter().map(Cursor::extra_bytes).sum()
    }
}

/// The constant length and the independent mix, if there are such. With a single generator,
/// directions depend on their order among the other draws.
fn fixed(mix: &MixCursor, pattern: &Pattern, one_generator: bool) -> Option<(u32, IndependentMix)> {
    let choice = mix
        .independent()
        .filter(|choice| !one_generator || matches!(choice, IndependentMix::Only(_)))?;
    let BlockSizes::Fixed { size } = pattern.sizes.read else {
        return None;
    };
    let same_sizes = pattern.sizes.write == pattern.sizes.read && pattern.sizes.trim == pattern.sizes.read;
    (same_sizes && !pattern.sizes_by_seq_rand).then_some((size.0 as u32, choice))
}

/// The length for the position: that of sequential or random positions, or the other if it does not
/// fit.
#[inline(never)]
fn length_by_place(
    sizes: &PerDirection<BlockSizes>,
    walks: bool,
    draws: &mut Draws,
    direction: Direction,
    room: u64,
) -> u32 {
    let (own_blocks, other_blocks) = match walks {
        true => (&sizes.read, &sizes.write),
        false => (&sizes.write, &sizes.read),
    };
    match own_blocks.draw(draws, direction, room) {
        0 => other_blocks.draw(draws, direction, room),
        length => length,
    }
}

fn has_random_map(pattern: &Pattern) -> bool {
    pattern.access.iter().any(|access| {
        matches!(
            access,
            Access::Random {
                placement: Placement::Once(Once {
                    method: OnceMethod::Map { .. }
                })
            }
        )
    })
}

/// The areas of the three directions. Directions that cannot occur get the area of one that can, so
/// that checks ignore them.
fn area_of_each(mix: Mix, pattern: &Pattern, base: u64, length: u64) -> PerDirection<Area> {
    // A position that is drawn before the direction must leave room for every direction.
    let any_may_follow = matches!(
        mix,
        Mix::Drawn {
            rule: MixRule::AfterPosition,
            ..
        }
    );
    let area = |direction: Direction| {
        let block = if pattern.whole_blocks && any_may_follow {
            pattern.longest(&mix).0
        } else if pattern.whole_blocks {
            pattern.longest_in(direction).0
        } else {
            pattern.shortest_in(direction).0
        };
        let alignment = pattern.alignment[direction].0;
        Area {
            base,
            length,
            block,
            alignment: if alignment == 0 {
                pattern.shortest_in(direction).0
            } else {
                alignment
            },
        }
    };
    let used = area(mix.directions().next().unwrap_or(Direction::Read));
    // As in fio, the random map has a bit for each of the smallest configured blocks, even of
    // directions that never occur.
    let sizes_map = |unused: &Area| has_random_map(pattern) && unused.positions() > used.positions();
    let pick = |direction: Direction| match area(direction) {
        own if mix.includes(direction) || sizes_map(&own) => own,
        _ => used,
    };
    PerDirection::from_fn(pick)
}
