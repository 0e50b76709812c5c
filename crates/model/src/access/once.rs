//! Visits every position once per pass, in random order. Native runs use a bijection of the
//! position numbers, which needs no memory. The fio dialect keeps a map of used blocks, because it
//! must reproduce fio's order. The map takes 34 MiB for 1 TiB in blocks of 4 KiB; results report
//! it.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccessError, Area};
use crate::direction::{Direction, PerDirection};
use crate::draws::{Draws, Purpose, Reduction, split_mix};

/// Random access without repetition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Once {
    /// How repetition is avoided.
    #[serde(default)]
    pub method: OnceMethod,
}

/// How repetition is avoided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "method", rename_all = "snake_case")]
pub enum OnceMethod {
    /// A keyed bijection of the position numbers, with a new key for each pass.
    #[default]
    Bijection,
    /// A map of used positions. A draw of a used position takes the next free one upwards, with
    /// wrap-around.
    Map {
        /// How a draw becomes a position.
        reduction: Reduction,
        /// If memory for the map is short, draw with repetition and report it (fio
        /// `softrandommap`).
        #[serde(default)]
        optional: bool,
    },
}

impl OnceMethod {
    /// A required map of used positions.
    pub const fn map(reduction: Reduction) -> OnceMethod {
        OnceMethod::Map {
            reduction,
            optional: false,
        }
    }
}

impl Once {
    pub(super) fn cursor(&self, areas: PerDirection<Area>, draws: &mut Draws) -> Result<OnceCursor, AccessError> {
        for (_, area) in areas.iter() {
            area.check(0)?;
        }
        let common = Area::common(&areas);
        let state = match self.method {
            OnceMethod::Bijection => {
                let count = common.check(0)?.positions();
                PassState::Bijection(Bijection::new(count, draws.next_u64(Purpose::Offset)))
            }
            OnceMethod::Map { reduction, .. } => PassState::Map(Map::new(areas, reduction)),
        };
        Ok(OnceCursor {
            area: common,
            state,
            visited: 0,
        })
    }
}

/// A pass without repetition.
#[derive(Clone, Debug)]
pub struct OnceCursor {
    area: Area,
    state: PassState,
    /// The number of positions in this pass so far (bijection only; the map has its own count).
    visited: u64,
}

#[derive(Clone, Debug)]
enum PassState {
    Bijection(Bijection),
    Map(Map),
}

impl OnceCursor {
    pub(super) fn next(&mut self, draws: &mut Draws, direction: Direction) -> Option<u64> {
        match &mut self.state {
            PassState::Bijection(bijection) => {
                if self.visited == bijection.count {
                    return None;
                }
                let position = bijection.image(self.visited);
                self.visited += 1;
                Some(self.area.offset(position))
            }
            PassState::Map(map) => map.next(draws, direction),
        }
    }

    /// Visits the next positions with operations of this length. Returns their number; `None`
    /// without visiting any if an operation might be truncated.
    #[inline(always)]
    pub(crate) fn fill<'a>(
        &mut self,
        draws: &mut Draws,
        length: u32,
        offsets: impl ExactSizeIterator<Item = &'a mut u64>,
    ) -> Option<usize> {
        match &mut self.state {
            PassState::Bijection(bijection) if self.area.block == u64::from(length) => {
                let unvisited = bijection.count - self.visited;
                let count = offsets.len().min(unvisited.try_into().unwrap_or(usize::MAX));
                for offset in offsets.take(count) {
                    *offset = self.area.offset(bijection.image(self.visited));
                    self.visited += 1;
                }
                Some(count)
            }
            PassState::Bijection(_) => None,
            PassState::Map(map) => map.fill(draws, length, offsets),
        }
    }

    /// Marks the blocks of an operation as used, and truncates the operation before the first used
    /// block.
    pub(super) fn claim(&mut self, offset: u64, direction: Direction, length: u32) -> u32 {
        match &mut self.state {
            PassState::Bijection(_) => length,
            PassState::Map(map) => map.claim(offset, direction, length),
        }
    }

    pub(super) fn restart(&mut self, draws: &mut Draws) {
        self.visited = 0;
        match &mut self.state {
            PassState::Bijection(bijection) => {
                *bijection = Bijection::new(bijection.count, draws.next_u64(Purpose::Offset))
            }
            PassState::Map(map) => {
                map.used.clear();
                map.over = false;
            }
        }
    }

    pub(super) fn extra_bytes(&self) -> u64 {
        match &self.state {
            PassState::Bijection(_) => 0,
            PassState::Map(map) => map.used.bytes(),
        }
    }
}

/// A map of used blocks, with the rule that draws from it. As in fio, all directions share the
/// block numbers of the map, each with its own block size. So directions with different block sizes
/// use up each other's numbers, and a pass ends when the next free number is beyond the area.
#[derive(Clone, Debug)]
struct Map {
    areas: PerDirection<Area>,
    used: UsedMap,
    /// The pass is over, even if numbers are left.
    over: bool,
    reduction: Reduction,
}

impl Map {
    fn new(areas: PerDirection<Area>, reduction: Reduction) -> Map {
        let blocks = areas.iter().map(|(_, area)| area.positions()).max();
        Map {
            areas,
            used: UsedMap::new(blocks.unwrap_or(0)),
            over: false,
            reduction,
        }
    }

    /// The drawn position, or the next free one upwards with wrap-around.
    fn next(&mut self, draws: &mut Draws, direction: Direction) -> Option<u64> {
        if self.over || self.used.is_full() {
            return None;
        }
        let area = &self.areas[direction];
        let drawn = draws.next_below(Purpose::Offset, area.positions(), self.reduction);
        let free = self.used.free_from(drawn)?;
        self.over = free >= area.positions();
        (!self.over).then(|| area.offset(free))
    }

    /// Visits positions for many operations that each use one block of the map.
    #[inline(always)]
    fn fill<'a>(
        &mut self,
        draws: &mut Draws,
        length: u32,
        offsets: impl ExactSizeIterator<Item = &'a mut u64>,
    ) -> Option<usize> {
        let PerDirection { read, write, trim } = &self.areas;
        let positions = read.positions();
        let unit = u64::from(length);
        let one_block_each = read.block == unit && read.alignment == unit;
        if !one_block_each || write != read || trim != read || positions != self.used.count {
            return None;
        }
        let (base, used) = (read.base, &mut self.used);
        let unused = used.count - used.used;
        let count = offsets.len().min(unused.try_into().unwrap_or(usize::MAX));
        let range = (positions, self.reduction);
        draws.fill_below(Purpose::Offset, range, offsets.take(count), |drawn| {
            base + used.claim_next_free(drawn) * unit
        });
        Some(count)
    }

    fn claim(&mut self, offset: u64, direction: Direction, length: u32) -> u32 {
        let Area { base, alignment, .. } = self.areas[direction];
        let first = (offset - base) / alignment;
        let blocks = u64::from(length).div_ceil(alignment).max(1);
        let mut claimed = 0;
        while claimed < blocks && first + claimed < self.used.count && self.used.mark(first + claimed) {
            claimed += 1;
        }
        debug_assert!(claimed > 0, "claimed another place than drawn");
        // The last block may extend beyond the last position, where there is nothing to mark.
        let is_within_map = first + claimed < self.used.count;
        if claimed == blocks || !is_within_map {
            length
        } else {
            (claimed * alignment) as u32
        }
    }
}

/// A keyed bijection of 0 … count − 1.
///
/// Xor-shifts and odd multiplications permute the numbers below the smallest sufficient power of
/// two. A result outside the range is permuted again (cycle walking), on average less than once.
#[derive(Clone, Debug)]
pub struct Bijection {
    count: u64,
    shift: u32,
    mask: u64,
    first_factor: u64,
    second_factor: u64,
    whitening: u64,
}

impl Bijection {
    /// The bijection of a key.
    pub fn new(count: u64, key: u64) -> Bijection {
        let bits = (64 - count.saturating_sub(1).leading_zeros()).max(2);
        Bijection {
            count,
            shift: bits / 2,
            mask: if bits == 64 { u64::MAX } else { (1 << bits) - 1 },
            first_factor: split_mix(key, 1) | 1,
            second_factor: split_mix(key, 2) | 1,
            whitening: split_mix(key, 3),
        }
    }

    /// The image of a number.
    #[inline]
    pub fn image(&self, index: u64) -> u64 {
        let mut x = self.permute(index);
        while x >= self.count {
            x = self.permute(x);
        }
        x
    }

    #[inline(always)]
    fn permute(&self, index: u64) -> u64 {
        let mut x = (index ^ self.whitening) & self.mask;
        x ^= x >> self.shift;
        x = x.wrapping_mul(self.first_factor) & self.mask;
        x ^= x >> self.shift;
        x = x.wrapping_mul(self.second_factor) & self.mask;
        x ^ (x >> self.shift)
    }
}

/// The used positions, one bit each. Each level above has a bit for every full word below, so the
/// next free position is found in a few steps even if nearly all are used.
#[derive(Clone, Debug)]
struct UsedMap {
    count: u64,
    used: u64,
    levels: Vec<Vec<u64>>,
}

impl UsedMap {
    fn new(count: u64) -> UsedMap {
        let mut levels = Vec::new();
        let mut bits = count;
        loop {
            let words = bits.div_ceil(64);
            levels.push(vec![0u64; words as usize]);
            if words <= 1 {
                break;
            }
            bits = words;
        }
        let mut map = UsedMap { count, used: 0, levels };
        map.close_tails();
        map
    }

    /// Marks the bits beyond the last position as used on every level, so that no search finds
    /// them.
    fn close_tails(&mut self) {
        let mut bits = self.count;
        for level in 0..self.levels.len() {
            let tail = bits % 64;
            if tail != 0 {
                let last = self.levels[level].len() - 1;
                self.levels[level][last] |= u64::MAX << tail;
            }
            bits = bits.div_ceil(64);
        }
    }

    fn clear(&mut self) {
        for level in &mut self.levels {
            level.fill(0);
        }
        self.used = 0;
        self.close_tails();
    }

    fn is_full(&self) -> bool {
        self.used == self.count
    }

    fn bytes(&self) -> u64 {
        self.levels.iter().map(|level| level.len() as u64 * 8).sum()
    }

    /// Marks a position; false if it was used already.
    fn mark(&mut self, position: u64) -> bool {
        let (mut index, mut bit) = ((position / 64) as usize, position % 64);
        if self.levels[0][index] & (1 << bit) != 0 {
            return false;
        }
        self.used += 1;
        for level in 0..self.levels.len() {
            self.levels[level][index] |= 1 << bit;
            if self.levels[level][index] != u64::MAX {
                break;
            }
            (index, bit) = (index / 64, index as u64 % 64);
        }
        true
    }

    /// Claims the first free position at or after `start`, with wrap-around. There must be one.
    #[inline(always)]
    fn claim_next_free(&mut self, start: u64) -> u64 {
        let (index, bit) = ((start / 64) as usize, start % 64);
        let words = &mut self.levels[0];
        let free = !words[index] & (u64::MAX << bit);
        let bit = free.trailing_zeros();
        // The word has room for this one and another.
        if free != 0 && !words[index] & !(1 << bit) != 0 {
            words[index] |= 1 << bit;
            self.used += 1;
            return index as u64 * 64 + u64::from(bit);
        }
        self.claim_next_free_slow(start)
    }

    #[inline(never)]
    fn claim_next_free_slow(&mut self, start: u64) -> u64 {
        let free = self.free_from(start).expect("some position is free");
        self.mark(free);
        free
    }

    /// The first free position at or after `start`, with wrap-around.
    fn free_from(&self, start: u64) -> Option<u64> {
        self.free_at_or_after(start).or_else(|| self.free_at_or_after(0))
    }

    fn free_at_or_after(&self, start: u64) -> Option<u64> {
        // Ascend to a level with a free bit at or after the position, then descend along first free
        // bits.
        let mut place = start;
        let mut level = 0;
        loop {
            let words = &self.levels[level];
            let index = (place / 64) as usize;
            if index >= words.len() {
                return None;
            }
            let free = !words[index] & (u64::MAX << (place % 64));
            if free != 0 {
                place = index as u64 * 64 + u64::from(free.trailing_zeros());
                break;
            }
            place = index as u64 + 1;
            level += 1;
            if level == self.levels.len() {
                return None;
            }
        }
        while level > 0 {
            level -= 1;
            let index = place as usize;
            place = place * 64 + u64::from((!self.levels[level][index]).trailing_zeros());
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bijection_visits_each_number_once() {
        for count in (1..300).chain([1000, 1023, 1024, 1025, 4097, 65_537]) {
            for key in [0, 1, 0xdead_beef] {
                let bijection = Bijection::new(count, key);
                let mut seen = vec![false; count as usize];
                for index in 0..count {
                    let image = bijection.image(index) as usize;
                    assert!(!std::mem::replace(&mut seen[image], true), "{image} twice of {count}");
                }
            }
        }
    }

    #[test]
    fn bijection_looks_random() {
        // Successive images are about a third of the range apart, as for independent uniform
        // numbers.
        let count = 1 << 20;
        let bijection = Bijection::new(count, 42);
        let distance: u64 = (1..count)
            .map(|i| bijection.image(i).abs_diff(bijection.image(i - 1)))
            .sum();
        let mean = distance as f64 / (count - 1) as f64 / count as f64;
        assert!((mean - 1.0 / 3.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn map_finds_the_next_free_position_like_a_plain_list() {
        let count = 64 * 64 * 3 + 17;
        let mut map = UsedMap::new(count);
        let mut list = vec![false; count as usize];
        let mut draws = crate::draws::GeneratorChoice::Native { seed: 3 }.start();
        for _ in 0..count {
            let start = draws.next_below(Purpose::Offset, count, Reduction::Lemire);
            let expected = (start..count).chain(0..start).find(|p| !list[*p as usize]).unwrap();
            let free = map.free_from(start).unwrap();
            assert_eq!(free, expected, "from {start}");
            assert!(map.mark(free));
            assert!(!map.mark(free), "taken twice");
            list[free as usize] = true;
        }
        assert!(map.is_full());
        assert_eq!(map.free_from(5), None);
        map.clear();
        assert_eq!(map.free_from(5), Some(5));
    }

    #[test]
    fn map_of_a_tebibyte_stays_small() {
        let map = UsedMap::new((1 << 40) / 4096);
        assert!(map.bytes() < 40 << 20, "{}", map.bytes());
    }
}
