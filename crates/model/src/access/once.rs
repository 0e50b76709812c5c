//! Every position once per pass, in random order.
//!
//! Native runs use a bijection of the position numbers, which needs no memory whatever the size of
//! the target. The fio dialect keeps a map of used blocks, because the order that follows from it
//! is part of its promise: 34 MiB for 1 TiB in blocks of 4 KiB, counted and reported.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AccessError, Area};
use crate::direction::{Direction, PerDirection};
use crate::draws::{Draws, Purpose, Reduction};

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
    /// A keyed bijection of the position numbers; another key for each pass.
    #[default]
    Bijection,
    /// A map of used positions. A draw that hits a used one takes the next free one upwards, round
    /// the end.
    Map {
        /// How a draw becomes a position.
        reduction: Reduction,
        /// Draw with repetition, and say so, where there is no memory for the map (fio
        /// `softrandommap`).
        #[serde(default)]
        optional: bool,
    },
}

impl OnceMethod {
    /// A map of used positions, without which nothing begins.
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
        let walk = match self.method {
            OnceMethod::Bijection => {
                let count = common.check(0)?.positions();
                Walk::Bijection(Bijection::new(count, draws.word(Purpose::Offset)))
            }
            OnceMethod::Map { reduction, .. } => Walk::Map(Map::new(areas, reduction)),
        };
        Ok(OnceCursor {
            area: common,
            walk,
            visited: 0,
        })
    }
}

/// A pass without repetition.
#[derive(Clone, Debug)]
pub struct OnceCursor {
    area: Area,
    walk: Walk,
    /// Positions handed out in this pass (bijection only; the map counts for itself).
    visited: u64,
}

#[derive(Clone, Debug)]
enum Walk {
    Bijection(Bijection),
    Map(Map),
}

impl OnceCursor {
    pub(super) fn next(&mut self, draws: &mut Draws, direction: Direction) -> Option<u64> {
        match &mut self.walk {
            Walk::Bijection(bijection) => {
                if self.visited == bijection.count {
                    return None;
                }
                let position = bijection.image(self.visited);
                self.visited += 1;
                Some(self.area.offset(position))
            }
            Walk::Map(map) => map.next(draws, direction),
        }
    }

    /// Visits the next positions with operations of this length. Returns how many there are;
    /// `None`, and nothing is visited, where an operation may have to be cut.
    #[inline(always)]
    pub(crate) fn fill<'a>(
        &mut self,
        draws: &mut Draws,
        length: u32,
        offsets: impl ExactSizeIterator<Item = &'a mut u64>,
    ) -> Option<usize> {
        match &mut self.walk {
            Walk::Bijection(bijection) if self.area.block == u64::from(length) => {
                let left = bijection.count - self.visited;
                let count = offsets.len().min(left.try_into().unwrap_or(usize::MAX));
                for offset in offsets.take(count) {
                    *offset = self.area.offset(bijection.image(self.visited));
                    self.visited += 1;
                }
                Some(count)
            }
            Walk::Bijection(_) => None,
            Walk::Map(map) => map.fill(draws, length, offsets),
        }
    }

    /// Marks the blocks of an operation as used and cuts it before the first block that already is.
    pub(super) fn claim(&mut self, offset: u64, direction: Direction, length: u32) -> u32 {
        match &mut self.walk {
            Walk::Bijection(_) => length,
            Walk::Map(map) => map.claim(offset, direction, length),
        }
    }

    pub(super) fn restart(&mut self, draws: &mut Draws) {
        self.visited = 0;
        match &mut self.walk {
            Walk::Bijection(bijection) => *bijection = Bijection::new(bijection.count, draws.word(Purpose::Offset)),
            Walk::Map(map) => {
                map.used.clear();
                map.over = false;
            }
        }
    }

    pub(super) fn extra_bytes(&self) -> u64 {
        match &self.walk {
            Walk::Bijection(_) => 0,
            Walk::Map(map) => map.used.bytes(),
        }
    }
}

/// A map of used blocks, with the rule that draws from it.
///
/// As in fio, all directions share the numbers of the map and each counts its own blocks by them:
/// directions of different block sizes use up numbers of each other, and a pass ends where the next
/// free number lies beyond the area.
#[derive(Clone, Debug)]
struct Map {
    areas: PerDirection<Area>,
    used: UsedMap,
    /// The pass is over, also where numbers are left.
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

    /// The drawn position, or the next one upwards that is free, round the end of the map.
    fn next(&mut self, draws: &mut Draws, direction: Direction) -> Option<u64> {
        if self.over || self.used.is_full() {
            return None;
        }
        let area = &self.areas[direction];
        let drawn = draws.below(Purpose::Offset, area.positions(), self.reduction);
        let free = self.used.free_from(drawn)?;
        self.over = free >= area.positions();
        (!self.over).then(|| area.offset(free))
    }

    /// The same for many operations, where each of them takes one block of the map, whatever its
    /// direction.
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
        let whole = read.block == unit && read.alignment == unit;
        if !whole || write != read || trim != read || positions != self.used.count {
            return None;
        }
        let (base, used) = (read.base, &mut self.used);
        let left = used.count - used.used;
        let count = offsets.len().min(left.try_into().unwrap_or(usize::MAX));
        let range = (positions, self.reduction);
        draws.fill_below(Purpose::Offset, range, offsets.take(count), |drawn| {
            base + used.take_from(drawn) * unit
        });
        Some(count)
    }

    fn claim(&mut self, offset: u64, direction: Direction, length: u32) -> u32 {
        let Area { base, alignment, .. } = self.areas[direction];
        let first = (offset - base) / alignment;
        let wanted = u64::from(length).div_ceil(alignment).max(1);
        let mut taken = 0;
        while taken < wanted && first + taken < self.used.count && self.used.take(first + taken) {
            taken += 1;
        }
        debug_assert!(taken > 0, "claimed another place than drawn");
        // The last block may reach beyond the last position, where nothing is left to be marked.
        let within = first + taken < self.used.count;
        if taken == wanted || !within {
            length
        } else {
            (taken * alignment) as u32
        }
    }
}

/// A keyed bijection of 0 … count − 1.
///
/// Xor-shifts and odd multiplications permute the numbers of `bits` bits, the smallest power of two
/// that holds them all; numbers outside the range are permuted again (cycle walking), on average
/// less than once.
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
    /// The one of a key.
    pub fn new(count: u64, key: u64) -> Bijection {
        let bits = (64 - count.saturating_sub(1).leading_zeros()).max(2);
        // Three well-mixed words from one key (the finaliser of SplitMix64).
        let mixed = |salt: u64| {
            let mut z = key.wrapping_add(salt.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Bijection {
            count,
            shift: bits / 2,
            mask: if bits == 64 { u64::MAX } else { (1 << bits) - 1 },
            first_factor: mixed(1) | 1,
            second_factor: mixed(2) | 1,
            whitening: mixed(3),
        }
    }

    /// What a number becomes.
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

/// Which positions are used: a bit for each, and above every 64 words a level that says which words
/// are full, so that the next free one is found in a few steps even when nearly all are used.
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

    /// Marks the bits beyond the last position as used on every level, so that no search ends
    /// there.
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
    fn take(&mut self, position: u64) -> bool {
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

    /// Takes the first free position at or after `start`, going round the end. There must be one.
    #[inline(always)]
    fn take_from(&mut self, start: u64) -> u64 {
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
        self.take_from_slowly(start)
    }

    #[inline(never)]
    fn take_from_slowly(&mut self, start: u64) -> u64 {
        let free = self.free_from(start).expect("some position is free");
        self.take(free);
        free
    }

    /// The first free position at or after `start`, going round the end.
    fn free_from(&self, start: u64) -> Option<u64> {
        self.free_at_or_after(start).or_else(|| self.free_at_or_after(0))
    }

    fn free_at_or_after(&self, start: u64) -> Option<u64> {
        // Climb until a level has a free bit at or after the place, then descend along first free
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
        // Neighbours in the order lie about a third of the range apart, as for independent uniform
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
        let mut draws = crate::draws::DrawsForm::Native { seed: 3 }.start();
        for _ in 0..count {
            let start = draws.below(Purpose::Offset, count, Reduction::Lemire);
            let expected = (start..count).chain(0..start).find(|p| !list[*p as usize]).unwrap();
            let found = map.free_from(start).unwrap();
            assert_eq!(found, expected, "from {start}");
            assert!(map.take(found));
            assert!(!map.take(found), "taken twice");
            list[found as usize] = true;
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
