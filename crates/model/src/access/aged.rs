//! One pass that ages an SSD like a long run of random writes (fio `sprandom`).
//!
//! The device fills one erase block after another with incoming data, and cleans the oldest region
//! first. In steady state under uniform random writes, a share v of a region is still valid when
//! the device cleans it: v = e^(−α(1−v)), where α is the ratio of physical to logical capacity. A
//! region that a share x of all regions follows is valid to e^(−α(1−v)x). (Desnoyers, "Analytic
//! Modeling of SSD Write Performance", SYSTOR 2012, LRU cleaning.) The pass writes the physical
//! capacity once, region by region. In each region it rewrites as many blocks of the previous one
//! as gives that region its share.

use std::collections::VecDeque;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::once::Bijection;
use super::{AccessError, Area, require};
use crate::direction::PerDirection;
use crate::draws::{Draws, Purpose, Reduction};
use crate::units::Bytes;

/// Parameters of ageing a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Aged {
    /// Regions of equal size.
    pub regions: u32,
    /// Spare capacity of the device, as a share of its logical capacity.
    pub spare: f64,
    /// Size of the device's cache. If it is not 0, blocks are rewritten one region later, after
    /// they have left the cache.
    #[serde(default)]
    pub cache: Bytes,
}

impl Aged {
    pub(super) fn cursor(&self, areas: PerDirection<Area>, draws: &mut Draws) -> Result<AgedCursor, AccessError> {
        let area = Area::common(&areas).check(0)?;
        let count = area.positions();
        let writes = (count as f64 * (1.0 + self.spare)).round() as u64;
        let is_valid_spare = self.spare > 0.0 && self.spare < 1.0;
        require(is_valid_spare, "the spare capacity", "between 0 and 1", self.spare)?;
        let has_blocks = self.regions >= 2 && u64::from(self.regions) <= writes;
        let range = "at least 2 and at most the number of blocks";
        require(has_blocks, "the number of regions", range, self.regions)?;
        let region = Bytes(writes / u64::from(self.regions) * area.block);
        require(
            region >= self.cache,
            "a region",
            "at least as large as the cache",
            region,
        )?;
        let mut cursor = AgedCursor {
            area,
            parameters: *self,
            writes,
            rewrites_before: self.rewrites_before(writes - count),
            fresh: Bijection::new(count, draws.next_u64(Purpose::Offset)),
            visited: 0,
            next_region: 0,
            fresh_left: 0,
            rewrites: Vec::new(),
            pending_rewrites: VecDeque::new(),
            selected: Vec::new(),
            to_select: 0,
        };
        cursor.begin_region();
        Ok(cursor)
    }

    /// The number of regions from a write to its rewrite.
    fn rewrite_distance(&self) -> u32 {
        if self.cache.0 > 0 { 2 } else { 1 }
    }

    /// For each region, the number of blocks of earlier regions that are rewritten; the last entry
    /// is `all`.
    fn rewrites_before(&self, all: u64) -> Vec<u64> {
        let invalid = self.valid_shares().into_iter().map(|valid| 1.0 - valid);
        let invalid: Vec<f64> = invalid
            .take((self.regions - self.rewrite_distance()) as usize)
            .collect();
        let scale = all as f64 / invalid.iter().sum::<f64>();
        let mut sum = 0.0;
        let mut before = vec![0];
        before.extend(invalid.iter().map(|invalid| {
            sum += invalid;
            (sum * scale).round() as u64
        }));
        before.resize(self.regions as usize + 1, all);
        before
    }

    /// The share of each region that is still valid in steady state, in order of writing.
    fn valid_shares(&self) -> Vec<f64> {
        let capacity = 1.0 + self.spare;
        let mut oldest = 0.5;
        for _ in 0..200 {
            oldest = f64::exp(-capacity * (1.0 - oldest));
        }
        let age = |region: u32| (f64::from(self.regions - region) - 0.5) / f64::from(self.regions);
        let share = |region: u32| f64::exp(-capacity * (1.0 - oldest) * age(region));
        (0..self.regions).map(share).collect()
    }
}

/// A pass that ages a device.
#[derive(Clone, Debug)]
pub struct AgedCursor {
    area: Area,
    parameters: Aged,
    /// The writes of the whole pass.
    writes: u64,
    /// See [`Aged::rewrites_before`].
    rewrites_before: Vec<u64>,
    fresh: Bijection,
    /// Positions of `fresh` visited so far.
    visited: u64,
    next_region: u32,
    /// Remaining first writes and rewrites of the current region.
    fresh_left: u64,
    rewrites: Vec<u64>,
    /// Blocks that later regions rewrite, starting with the next.
    pending_rewrites: VecDeque<Vec<u64>>,
    /// Blocks of the current region to rewrite later, and how many more must be selected.
    selected: Vec<u64>,
    to_select: u64,
}

impl AgedCursor {
    pub(super) fn next(&mut self, draws: &mut Draws) -> Option<u64> {
        let mut writes_left = self.writes_left();
        while writes_left == 0 {
            if self.next_region == self.parameters.regions {
                return None;
            }
            self.begin_region();
            writes_left = self.writes_left();
        }
        let drawn = draws.next_below(Purpose::Offset, writes_left, Reduction::Lemire);
        let position = match drawn < self.fresh_left {
            true => {
                self.fresh_left -= 1;
                self.visited += 1;
                self.fresh.image(self.visited - 1)
            }
            false => {
                let place = (drawn - self.fresh_left) as usize;
                self.rewrites.swap_remove(place)
            }
        };
        if draws.next_below(Purpose::Offset, writes_left, Reduction::Lemire) < self.to_select {
            self.to_select -= 1;
            self.selected.push(position);
        }
        Some(self.area.offset(position))
    }

    pub(super) fn restart(&mut self, draws: &mut Draws) {
        self.fresh = Bijection::new(self.area.positions(), draws.next_u64(Purpose::Offset));
        (self.visited, self.next_region) = (0, 0);
        self.selected.clear();
        self.pending_rewrites.clear();
        self.begin_region();
    }

    /// Bytes of memory for blocks to rewrite.
    pub(super) fn extra_bytes(&self) -> u64 {
        let region = self.writes / u64::from(self.parameters.regions) + 1;
        8 * region * u64::from(self.parameters.rewrite_distance() + 1)
    }

    fn writes_left(&self) -> u64 {
        self.fresh_left + self.rewrites.len() as u64
    }

    fn begin_region(&mut self) {
        let (region, distance) = (self.next_region, self.parameters.rewrite_distance());
        if region > 0 {
            self.pending_rewrites.push_back(std::mem::take(&mut self.selected));
        }
        self.rewrites = match region >= distance {
            true => self.pending_rewrites.pop_front().unwrap_or_default(),
            false => Vec::new(),
        };
        let size = self.writes_before(region + 1) - self.writes_before(region);
        let unwritten = self.area.positions() - self.visited;
        self.fresh_left = size.saturating_sub(self.rewrites.len() as u64).min(unwritten);
        let selected = self.rewrites_before[region as usize + 1] - self.rewrites_before[region as usize];
        self.to_select = selected.min(self.writes_left());
        self.next_region += 1;
    }

    /// The number of writes before a region.
    fn writes_before(&self, region: u32) -> u64 {
        (u128::from(self.writes) * u128::from(region) / u128::from(self.parameters.regions)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::GeneratorChoice;

    const BLOCK: u64 = 4096;

    fn area(blocks: u64) -> PerDirection<Area> {
        PerDirection::all(Area::of_blocks(0, blocks * BLOCK, BLOCK))
    }

    /// The positions of a pass, region by region.
    fn pass(parameters: Aged, blocks: u64) -> Vec<Vec<u64>> {
        let mut draws = GeneratorChoice::DiskSpd { seed: 7 }.start();
        let mut cursor = parameters.cursor(area(blocks), &mut draws).unwrap();
        let mut regions = vec![Vec::new(); parameters.regions as usize];
        while let Some(offset) = cursor.next(&mut draws) {
            regions[cursor.next_region as usize - 1].push(offset / BLOCK);
        }
        regions
    }

    /// Computes what a device would hold: the share of each region that no later write has
    /// overwritten.
    fn valid_shares(regions: &[Vec<u64>], blocks: u64) -> Vec<f64> {
        let mut last = vec![usize::MAX; blocks as usize];
        for (number, region) in regions.iter().enumerate() {
            region.iter().for_each(|block| last[*block as usize] = number);
        }
        assert!(
            last.iter().all(|number| *number < regions.len()),
            "a block was never written"
        );
        let share = |(number, region): (usize, &Vec<u64>)| {
            let valid = region.iter().filter(|block| last[**block as usize] == number).count();
            valid as f64 / region.len() as f64
        };
        regions.iter().enumerate().map(share).collect()
    }

    #[test]
    fn regions_have_the_valid_shares_of_steady_state() {
        for (spare, cache) in [(0.1, 0), (0.25, 0), (0.5, 1 << 20), (0.9, 0)] {
            let parameters = Aged {
                regions: 50,
                spare,
                cache: Bytes(cache),
            };
            let blocks = 100_000;
            let regions = pass(parameters, blocks);
            let writes: usize = regions.iter().map(Vec::len).sum();
            assert_eq!(writes as u64, (blocks as f64 * (1.0 + spare)).round() as u64);
            let wanted = parameters.valid_shares();
            let actual_shares = valid_shares(&regions, blocks);
            for (wanted, actual) in wanted.iter().zip(&actual_shares).take(48) {
                assert!((wanted - actual).abs() < 0.02, "spare {spare}: {wanted} {actual}");
            }
        }
    }

    /// A block that is still in the cache would be overwritten there.
    #[test]
    fn a_cache_keeps_the_writes_of_a_block_apart() {
        for (cache, apart) in [(0, 1), (1 << 20, 2)] {
            let parameters = Aged {
                regions: 20,
                spare: 0.3,
                cache: Bytes(cache),
            };
            let regions = pass(parameters, 20_000);
            let mut last = vec![None; 20_000];
            let mut distance_min = usize::MAX;
            for (number, region) in regions.iter().enumerate() {
                for block in region {
                    if let Some(before) = last[*block as usize].replace(number) {
                        distance_min = distance_min.min(number - before);
                    }
                }
            }
            assert_eq!(distance_min, apart);
        }
    }

    /// By hand: with a spare capacity of 0.1, v = e^(-1.1 (1 - v)) gives v = 0.824.
    #[test]
    fn the_oldest_region_has_the_valid_share_of_the_formula() {
        let parameters = Aged {
            regions: 100_000,
            spare: 0.1,
            cache: Bytes(0),
        };
        let shares = parameters.valid_shares();
        assert!((shares[0] - 0.8239).abs() < 1e-4, "{}", shares[0]);
        assert!((shares[99_999] - 1.0).abs() < 1e-5);
        let mean = shares.iter().sum::<f64>() / 100_000.0;
        assert!((mean - 1.0 / 1.1).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let refused = |regions, spare, cache| {
            let mut draws = GeneratorChoice::DiskSpd { seed: 7 }.start();
            let cache = Bytes(cache);
            Aged { regions, spare, cache }.cursor(area(100), &mut draws).is_err()
        };
        assert!(!refused(10, 0.1, 0) && !refused(10, 0.1, 11 * BLOCK));
        assert!(refused(1, 0.1, 0) && refused(111, 0.1, 0));
        assert!(refused(10, 0.0, 0) && refused(10, 1.0, 0) && refused(10, f64::NAN, 0));
        assert!(refused(10, 0.1, 12 * BLOCK));
    }
}
