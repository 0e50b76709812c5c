//! Captures the I/O of a live device as a load that can be issued elsewhere: share of reads, sizes,
//! depth, rate, order. A [`LoadRecorder`] turns trace events into a [`CapturedLoad`]. The kernel's
//! counters yield only part of one.

use std::collections::{BTreeMap, HashSet, VecDeque};

use model::block_event::{BlockAction, BlockEvent, BlockRequest};
use model::environment::DeviceUse;
use model::{Bytes, Nanos};

/// Upper limit of the concurrent sequential streams, distinguished by their last sector.
const MAX_STREAMS: usize = 16;
/// Sizes with a smaller share of the requests are omitted.
const RARE_SHARE: f64 = 0.005;
/// Upper limit of the number of common sizes.
const MAX_SIZES: usize = 12;

/// One direction of a captured load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionLoad {
    /// Requests.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Number of requests by size in bytes; counters yield only the mean size.
    pub sizes: BTreeMap<u64, u64>,
    /// Requests that began where an earlier one of the same direction ended; absent if unknown.
    pub sequential: Option<u64>,
}

impl DirectionLoad {
    /// Mean size of a request.
    pub fn mean_size(&self) -> f64 {
        self.bytes as f64 / self.operations.max(1) as f64
    }

    /// Share of the sequential requests, from 0 to 1.
    pub fn sequential_share(&self) -> Option<f64> {
        self.sequential
            .map(|count| count as f64 / self.operations.max(1) as f64)
    }

    /// The common sizes in ascending order, each with its share in tenths of a percent. The shares
    /// add up to 1000.
    pub fn common_sizes(&self) -> Vec<(Bytes, u32)> {
        let min_count = self.operations as f64 * RARE_SHARE;
        let mut common: Vec<(u64, u64)> = self.sizes.iter().map(|(size, count)| (*size, *count)).collect();
        common.sort_unstable_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
        common.truncate(MAX_SIZES);
        // The most frequent size stays, even if its share is small.
        let is_common = |(place, (_, count)): &(usize, (u64, u64))| *place == 0 || *count as f64 >= min_count;
        let common: Vec<(u64, u64)> = common
            .into_iter()
            .enumerate()
            .filter(is_common)
            .map(|(_, operation)| operation)
            .collect();
        let sum: u64 = common.iter().map(|(_, count)| count).sum();
        let share = |count: u64| (count as f64 * 1000.0 / sum.max(1) as f64).round() as u32;
        let mut shares: Vec<(Bytes, u32)> = common
            .iter()
            .map(|(size, count)| (Bytes(*size), share(*count)))
            .collect();
        // The most frequent size absorbs the rounding error, because it matters least there.
        let sum: u32 = shares.iter().map(|(_, share)| *share).sum();
        if let Some((_, first)) = shares.first_mut() {
            *first = (*first + 1000).saturating_sub(sum);
        }
        shares.retain(|(_, share)| *share > 0);
        shares.sort_unstable_by_key(|(size, _)| *size);
        shares
    }

    /// Replaces the sums with the kernel's counters. The shares of sizes and of sequential requests
    /// stay as recorded.
    fn apply_totals(&mut self, counted: &DirectionLoad) {
        if self.operations == 0 {
            self.clone_from(counted);
            return;
        }
        let factor = counted.operations as f64 / self.operations as f64;
        let scaled = |count: u64| (count as f64 * factor).round() as u64;
        self.sizes.values_mut().for_each(|count| *count = scaled(*count));
        self.sequential = self.sequential.map(scaled);
        (self.operations, self.bytes) = (counted.operations, counted.bytes);
    }

    /// Share of the requests of rare sizes, from 0 to 1.
    pub fn rare_share(&self) -> f64 {
        let common = self.common_sizes();
        let count_of = |(size, _): &(Bytes, u32)| self.sizes.get(&size.0).copied().unwrap_or(0);
        let common: u64 = common.iter().map(count_of).sum();
        1.0 - common as f64 / self.operations.max(1) as f64
    }
}

/// The load of a device, as captured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CapturedLoad {
    /// The time for which the device was observed.
    pub duration: Nanos,
    /// Reads.
    pub reads: DirectionLoad,
    /// Writes.
    pub writes: DirectionLoad,
    /// Discards.
    pub discards: u64,
    /// Flushes.
    pub flushes: u64,
    /// Mean number of requests in flight while the device was busy.
    pub in_flight: Option<f64>,
    /// 99th percentile of the requests in flight when one was issued, itself included.
    pub in_flight_p99: Option<u64>,
    /// Highest number of requests in flight.
    pub in_flight_max: Option<u64>,
    /// Share of the time with at least one request in flight.
    pub busy: f64,
    /// First and last byte accessed; absent if unknown.
    pub span: Option<(u64, u64)>,
    /// Events that the trace lost.
    pub lost: u64,
}

impl CapturedLoad {
    /// Reads and writes.
    pub fn operations(&self) -> u64 {
        self.reads.operations + self.writes.operations
    }

    /// Reads and writes per second.
    pub fn iops(&self) -> f64 {
        self.operations() as f64 / self.duration.as_secs().max(1e-9)
    }

    /// Percent of reads and writes that read.
    pub fn read_percent(&self) -> f64 {
        100.0 * self.reads.operations as f64 / self.operations().max(1) as f64
    }

    /// Queue depth of an equivalent load. The rate must limit that load, not the depth.
    pub fn depth(&self) -> u32 {
        let mean = self.in_flight.unwrap_or(1.0).round() as u64;
        self.in_flight_p99.unwrap_or(mean).clamp(1, 1 << 16) as u32
    }

    /// The sums and means of the kernel's counters.
    pub fn from_counters(used: &DeviceUse, duration: Nanos) -> CapturedLoad {
        let direction_load = |direction: usize| {
            let (operations, bytes) = (used.operations[direction], used.bytes[direction]);
            let mean = bytes as f64 / operations.max(1) as f64;
            // Round to whole sectors, as in all requests.
            let mean = ((mean / 512.0).round() as u64).max(1) * 512;
            DirectionLoad {
                operations,
                bytes,
                sizes: BTreeMap::from_iter((operations > 0).then_some((mean, operations))),
                sequential: None,
            }
        };
        let busy = used.busy_ns.0 as f64;
        CapturedLoad {
            duration,
            reads: direction_load(0),
            writes: direction_load(1),
            discards: used.operations[2],
            flushes: used.flushes,
            in_flight: (busy > 0.0).then(|| used.weighted_ns.0 as f64 / busy),
            busy: (busy / duration.0.max(1) as f64).min(1.0),
            ..CapturedLoad::default()
        }
    }

    /// Replaces rate and depth by the kernel's counters, if known. This is needed after
    /// lost events: requests whose completion was lost would seem to stay in flight.
    pub fn with_counter_totals(mut self, counted: Option<&CapturedLoad>) -> CapturedLoad {
        (self.in_flight_p99, self.in_flight_max) = (None, None);
        let Some(counted) = counted else {
            self.in_flight = None;
            return self;
        };
        self.reads.apply_totals(&counted.reads);
        self.writes.apply_totals(&counted.writes);
        (self.discards, self.flushes) = (counted.discards, counted.flushes);
        (self.in_flight, self.busy, self.duration) = (counted.in_flight, counted.busy, counted.duration);
        self
    }
}

/// Records the requests of a device.
#[derive(Debug, Default)]
pub struct LoadRecorder {
    captured: CapturedLoad,
    /// The next sector of each sequential stream: reads, writes.
    stream_ends: [VecDeque<u64>; 2],
    /// Requests in flight by action and first sector. A request that the device returned and
    /// received again counts once.
    in_flight: HashSet<(BlockAction, u64)>,
    /// Number of requests by the requests in flight when they were issued.
    depths: BTreeMap<u64, u64>,
    /// Time of the last event, up to which the sums are complete.
    last: Option<Nanos>,
    in_flight_time: u128,
    busy_time: u64,
}

impl LoadRecorder {
    /// Records an event.
    pub fn record(&mut self, event: BlockEvent) {
        match event {
            BlockEvent::Issued(request) => self.record_issued(&request),
            BlockEvent::Completed(request) => self.record_completed(&request),
            BlockEvent::Lost(count) => {
                // Requests whose completion was lost would stay in flight forever.
                self.captured.lost += count;
                self.in_flight.clear();
            }
        }
    }

    /// Reads and writes so far.
    pub fn operations(&self) -> u64 {
        self.captured.operations()
    }

    fn advance(&mut self, now: Nanos) {
        let passed = self.last.map_or(0, |last| now.since(last).0);
        self.in_flight_time += u128::from(passed) * self.in_flight.len() as u128;
        if !self.in_flight.is_empty() {
            self.busy_time += passed;
        }
        self.last = Some(self.last.map_or(now, |last| last.max(now)));
    }

    fn record_issued(&mut self, request: &BlockRequest) {
        self.advance(request.at_ns);
        let (direction, load) = match request.action {
            BlockAction::Read => (0, &mut self.captured.reads),
            BlockAction::Write if request.sectors > 0 => (1, &mut self.captured.writes),
            BlockAction::Write | BlockAction::Flush => {
                self.captured.flushes += 1;
                return;
            }
            BlockAction::Discard => {
                self.captured.discards += 1;
                return;
            }
            BlockAction::Other => return,
        };
        let bytes = request.sectors * 512;
        let end = request.sector + request.sectors;
        load.operations += 1;
        load.bytes += bytes;
        *load.sizes.entry(bytes).or_default() += 1;
        let stream_ends = &mut self.stream_ends[direction];
        let continued = stream_ends.iter().position(|place| *place == request.sector);
        *load.sequential.get_or_insert(0) += u64::from(continued.is_some());
        if let Some(place) = continued {
            stream_ends.remove(place);
        } else if stream_ends.len() == MAX_STREAMS {
            stream_ends.pop_front();
        }
        stream_ends.push_back(end);
        let (first, last) = self.captured.span.unwrap_or((u64::MAX, 0));
        self.captured.span = Some((first.min(request.sector * 512), last.max(end * 512)));
        self.in_flight.insert((request.action, request.sector));
        *self.depths.entry(self.in_flight.len() as u64).or_default() += 1;
    }

    fn record_completed(&mut self, request: &BlockRequest) {
        self.advance(request.at_ns);
        // Requests that were issued before the capture are unknown.
        self.in_flight.remove(&(request.action, request.sector));
    }

    /// The captured load, after observing the device for `duration`.
    pub fn finish(mut self, duration: Nanos) -> CapturedLoad {
        let mean = (self.busy_time > 0).then(|| self.in_flight_time as f64 / self.busy_time as f64);
        let all: u64 = self.depths.values().sum();
        let mut below = 0;
        let p99 = self.depths.iter().find(|(_, count)| {
            below += **count;
            below as f64 >= 0.99 * all as f64
        });
        self.captured.in_flight_p99 = p99.map(|(depth, _)| *depth);
        self.captured.in_flight_max = self.depths.keys().next_back().copied();
        CapturedLoad {
            duration,
            in_flight: mean,
            busy: (self.busy_time as f64 / duration.0.max(1) as f64).min(1.0),
            ..self.captured
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(at_us: u64, action: BlockAction, sector: u64, sectors: u64) -> BlockRequest {
        BlockRequest {
            at_ns: Nanos::micros(at_us),
            action,
            sector,
            sectors,
        }
    }

    /// Four random reads of 4 KiB are in flight for 100 us, then none for 100 us. A sequential
    /// stream of writes runs concurrently.
    #[test]
    fn mix_sizes_order_and_depth_are_counted() {
        let mut recorder = LoadRecorder::default();
        for round in 0..100u64 {
            let start = round * 200;
            let sectors: Vec<u64> = (0..4).map(|slot| (round * 4 + slot) * 7919 % 100_000 * 8).collect();
            for sector in &sectors {
                recorder.record(BlockEvent::Issued(request(start, BlockAction::Read, *sector, 8)));
            }
            for sector in &sectors {
                recorder.record(BlockEvent::Completed(request(
                    start + 100,
                    BlockAction::Read,
                    *sector,
                    8,
                )));
            }
            // This request completes immediately, so it does not add time in flight.
            let write = request(start + 100, BlockAction::Write, 5_000_000 + round * 128, 128);
            recorder.record(BlockEvent::Issued(write));
            recorder.record(BlockEvent::Completed(write));
            recorder.record(BlockEvent::Issued(request(start + 100, BlockAction::Flush, 0, 0)));
        }
        let seen = recorder.finish(Nanos::millis(20));
        assert_eq!((seen.operations(), seen.flushes, seen.lost), (500, 100, 0));
        assert_eq!((seen.read_percent(), seen.iops()), (80.0, 25_000.0));
        assert_eq!(seen.reads.common_sizes(), [(Bytes::kib(4), 1000)]);
        assert_eq!(seen.writes.common_sizes(), [(Bytes::kib(64), 1000)]);
        // Four in flight for 100 of every 200 us, without the pause after the last round.
        assert_eq!(seen.in_flight, Some(4.0));
        assert!((seen.busy - 0.5).abs() < 1e-9, "{}", seen.busy);
        assert_eq!(
            (seen.in_flight_p99, seen.in_flight_max, seen.depth()),
            (Some(4), Some(4), 4)
        );
        assert_eq!(seen.reads.sequential_share(), Some(0.0));
        assert_eq!(seen.writes.sequential, Some(99), "all except the first");
        assert_eq!(seen.span.map(|(_, last)| last), Some((5_000_000 + 100 * 128) * 512));
    }

    #[test]
    fn concurrent_streams_are_all_sequential() {
        let mut recorder = LoadRecorder::default();
        for step in 0..50u64 {
            for stream in 0..8u64 {
                let sector = stream * 1_000_000 + step * 16;
                recorder.record(BlockEvent::Issued(request(step, BlockAction::Read, sector, 16)));
            }
        }
        assert_eq!(recorder.finish(Nanos::secs(1)).reads.sequential, Some(8 * 49));
    }

    #[test]
    fn shares_add_up_and_rare_sizes_are_omitted() {
        let load = |counts: &[(u64, u64)]| DirectionLoad {
            operations: counts.iter().map(|(_, count)| count).sum(),
            sizes: counts.iter().copied().collect(),
            ..DirectionLoad::default()
        };
        let check = |counts: &[(u64, u64)], expected: &[(u64, u32)]| {
            let sizes = load(counts).common_sizes();
            let shares: Vec<(u64, u32)> = sizes.into_iter().map(|(size, share)| (size.0, share)).collect();
            assert_eq!(shares, expected, "{counts:?}");
            assert!(shares.is_empty() || shares.iter().map(|(_, share)| share).sum::<u32>() == 1000);
        };
        check(&[], &[]);
        check(&[(4096, 3)], &[(4096, 1000)]);
        check(&[(4096, 600), (65_536, 400)], &[(4096, 600), (65_536, 400)]);
        // Three shares of 333.3 leave one tenth of a percent, which the first size absorbs.
        check(
            &[(512, 1), (4096, 1), (8192, 1)],
            &[(512, 334), (4096, 333), (8192, 333)],
        );
        check(&[(512, 4), (4096, 996)], &[(4096, 1000)]);
        assert!((load(&[(512, 4), (4096, 996)]).rare_share() - 0.004).abs() < 1e-12);
        // Six shares of 166.7, rounded up, exceed 1000 by two.
        let six: Vec<(u64, u64)> = (1..=6).map(|number| (number * 512, 1)).collect();
        assert_eq!(load(&six).common_sizes()[0], (Bytes(512), 165));
    }

    /// Lost events clear the requests in flight; completions of unknown requests are ignored.
    #[test]
    fn lost_events_do_not_stay_in_flight() {
        let mut recorder = LoadRecorder::default();
        recorder.record(BlockEvent::Completed(request(0, BlockAction::Read, 800, 8)));
        recorder.record(BlockEvent::Issued(request(10, BlockAction::Read, 80, 8)));
        recorder.record(BlockEvent::Lost(7));
        for at in [1000u64, 2000] {
            let issued = request(at, BlockAction::Read, at, 8);
            recorder.record(BlockEvent::Issued(issued));
            recorder.record(BlockEvent::Completed(request(at + 50, BlockAction::Read, at, 8)));
        }
        let seen = recorder.finish(Nanos::millis(3));
        assert_eq!((seen.lost, seen.in_flight_max, seen.in_flight), (7, Some(1), Some(1.0)));
    }

    /// Requests whose completion was lost would seem to stay in flight.
    #[test]
    fn counters_replace_rate_and_depth_after_lost_events() {
        let mut recorder = LoadRecorder::default();
        for at in [10, 20, 30, 40] {
            recorder.record(BlockEvent::Issued(request(at, BlockAction::Read, 8 * at, 8)));
        }
        recorder.record(BlockEvent::Lost(7));
        let seen = recorder.finish(Nanos::millis(3));
        assert_eq!(seen.in_flight_max, Some(4));
        let used = DeviceUse {
            operations: [100, 0, 0],
            bytes: [100 * 4096, 0, 0],
            busy_ns: Nanos::millis(2),
            weighted_ns: Nanos::millis(3),
            ..DeviceUse::default()
        };
        let corrected = seen
            .clone()
            .with_counter_totals(Some(&CapturedLoad::from_counters(&used, Nanos::millis(3))));
        assert_eq!((corrected.in_flight, corrected.in_flight_max), (Some(1.5), None));
        assert_eq!((corrected.operations(), corrected.reads.bytes), (100, 409_600));
        assert_eq!(
            (corrected.reads.common_sizes(), corrected.reads.rare_share()),
            (vec![(Bytes::kib(4), 1000)], 0.0)
        );
        assert_eq!((corrected.lost, corrected.depth()), (7, 2));
        let unknown = seen.with_counter_totals(None);
        assert_eq!(
            (unknown.in_flight, unknown.in_flight_p99, unknown.operations()),
            (None, None, 4)
        );
    }

    #[test]
    fn counters_give_sums_and_means() {
        let used = DeviceUse {
            operations: [300, 100, 2],
            bytes: [300 * 8192, 100 * 5000, 0],
            busy_ns: Nanos::secs(5),
            weighted_ns: Nanos::secs(15),
            flushes: 4,
            ..DeviceUse::default()
        };
        let seen = CapturedLoad::from_counters(&used, Nanos::secs(10));
        assert_eq!(
            (seen.read_percent(), seen.iops(), seen.in_flight),
            (75.0, 40.0, Some(3.0))
        );
        assert_eq!((seen.depth(), seen.busy, seen.flushes), (3, 0.5, 4));
        assert_eq!(seen.reads.common_sizes(), [(Bytes::kib(8), 1000)]);
        assert_eq!(seen.writes.common_sizes(), [(Bytes(5120), 1000)], "whole sectors");
        assert_eq!(seen.reads.sequential_share(), None);
    }
}
