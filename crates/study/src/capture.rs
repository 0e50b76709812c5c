//! What a live device was asked for, as a load that can be issued elsewhere: share of reads, sizes,
//! depth, rate, order.
//!
//! A [`Watch`] counts what it is given; what came of it is a [`Seen`], from trace events in full or
//! from counters in part.

use std::collections::{BTreeMap, HashSet, VecDeque};

use model::block_event::{BlockAction, BlockEvent, BlockRequest};
use model::environment::DeviceUse;
use model::{Bytes, Nanos};

/// Places at which a sequential stream may go on: that many streams side by side are distinguished.
const STREAMS: usize = 16;
/// A size that fewer of the requests have is left out.
const RARE: f64 = 0.005;
/// Sizes that are kept at most.
const MAX_SIZES: usize = 12;

/// One direction of a captured load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionLoad {
    /// Requests.
    pub operations: u64,
    /// Bytes.
    pub bytes: u64,
    /// Requests by their size in bytes; of counters, all of them at the mean.
    pub sizes: BTreeMap<u64, u64>,
    /// Requests that began where another one of the same direction had ended; absent where it is
    /// not known.
    pub sequential: Option<u64>,
}

impl DirectionLoad {
    /// Mean size of a request.
    pub fn mean_size(&self) -> f64 {
        self.bytes as f64 / self.operations.max(1) as f64
    }

    /// Share of the requests that went on where another one had ended, from 0 to 1.
    pub fn sequential_share(&self) -> Option<f64> {
        self.sequential
            .map(|count| count as f64 / self.operations.max(1) as f64)
    }

    /// The usual sizes in ascending order, each with its share in tenths of a percent; they add up
    /// to 1000.
    pub fn usual_sizes(&self) -> Vec<(Bytes, u32)> {
        let least = self.operations as f64 * RARE;
        let mut usual: Vec<(u64, u64)> = self.sizes.iter().map(|(size, count)| (*size, *count)).collect();
        usual.sort_unstable_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
        usual.truncate(MAX_SIZES);
        // The most frequent stays whatever its share.
        let frequent = |(place, (_, count)): &(usize, (u64, u64))| *place == 0 || *count as f64 >= least;
        let usual: Vec<(u64, u64)> = usual
            .into_iter()
            .enumerate()
            .filter(frequent)
            .map(|(_, one)| one)
            .collect();
        let sum: u64 = usual.iter().map(|(_, count)| count).sum();
        let share = |count: u64| (count as f64 * 1000.0 / sum.max(1) as f64).round() as u32;
        let mut shares: Vec<(Bytes, u32)> = usual
            .iter()
            .map(|(size, count)| (Bytes(*size), share(*count)))
            .collect();
        // What rounding leaves over or takes away falls to the most frequent, where it is felt
        // least.
        let sum: u32 = shares.iter().map(|(_, share)| *share).sum();
        if let Some((_, first)) = shares.first_mut() {
            *first = (*first + 1000).saturating_sub(sum);
        }
        shares.retain(|(_, share)| *share > 0);
        shares.sort_unstable_by_key(|(size, _)| *size);
        shares
    }

    /// Takes sums from the kernel's counters. Sizes and order keep the shares that they have among
    /// the seen events.
    fn correct(&mut self, counted: &DirectionLoad) {
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

    /// Share of the requests whose size is not among the usual ones, from 0 to 1.
    pub fn unusual(&self) -> f64 {
        let usual = self.usual_sizes();
        let of_usual = |(size, _): &(Bytes, u32)| self.sizes.get(&size.0).copied().unwrap_or(0);
        let kept: u64 = usual.iter().map(of_usual).sum();
        1.0 - kept as f64 / self.operations.max(1) as f64
    }
}

/// What was seen of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// How long was watched.
    pub watched: Nanos,
    /// Reads.
    pub reads: DirectionLoad,
    /// Writes.
    pub writes: DirectionLoad,
    /// Discards.
    pub discards: u64,
    /// Flushes.
    pub flushes: u64,
    /// Mean number of requests in flight while there was any.
    pub in_flight: Option<f64>,
    /// 99 % of the requests found no more in flight than this, themselves included.
    pub in_flight_p99: Option<u64>,
    /// Most that were in flight at once.
    pub in_flight_most: Option<u64>,
    /// Share of the time in which any was in flight.
    pub busy: f64,
    /// First and last byte that was touched; absent where it is not known.
    pub span: Option<(u64, u64)>,
    /// Events that were not seen.
    pub lost: u64,
}

impl Seen {
    /// Reads and writes.
    pub fn operations(&self) -> u64 {
        self.reads.operations + self.writes.operations
    }

    /// Reads and writes per second.
    pub fn iops(&self) -> f64 {
        self.operations() as f64 / self.watched.as_secs().max(1e-9)
    }

    /// Percent of reads and writes that read.
    pub fn read_percent(&self) -> f64 {
        100.0 * self.reads.operations as f64 / self.operations().max(1) as f64
    }

    /// The depth for a load like it: a rate decides how much is asked for, and this must not stand
    /// in its way.
    pub fn depth(&self) -> u32 {
        let mean = self.in_flight.unwrap_or(1.0).round() as u64;
        self.in_flight_p99.unwrap_or(mean).clamp(1, 1 << 16) as u32
    }

    /// What the kernel's counters tell: sums and means.
    pub fn of_counters(used: &DeviceUse, watched: Nanos) -> Seen {
        let way = |direction: usize| {
            let (operations, bytes) = (used.operations[direction], used.bytes[direction]);
            let mean = bytes as f64 / operations.max(1) as f64;
            // Whole sectors, as all requests have.
            let mean = ((mean / 512.0).round() as u64).max(1) * 512;
            DirectionLoad {
                operations,
                bytes,
                sizes: BTreeMap::from_iter((operations > 0).then_some((mean, operations))),
                sequential: None,
            }
        };
        let busy = used.busy_ns.0 as f64;
        Seen {
            watched,
            reads: way(0),
            writes: way(1),
            discards: used.operations[2],
            flushes: used.flushes,
            in_flight: (busy > 0.0).then(|| used.weighted_ns.0 as f64 / busy),
            busy: (busy / watched.0.max(1) as f64).min(1.0),
            ..Seen::default()
        }
    }
}

impl Seen {
    /// Where events were lost, rate and depth are those of the kernel's counters, if there are any:
    /// requests whose end was lost would seem to be in flight.
    pub fn corrected(mut self, counted: Option<&Seen>) -> Seen {
        (self.in_flight_p99, self.in_flight_most) = (None, None);
        let Some(counted) = counted else {
            self.in_flight = None;
            return self;
        };
        self.reads.correct(&counted.reads);
        self.writes.correct(&counted.writes);
        (self.discards, self.flushes) = (counted.discards, counted.flushes);
        (self.in_flight, self.busy) = (counted.in_flight, counted.busy);
        self
    }
}

/// Counts what a device is asked for.
#[derive(Debug, Default)]
pub struct Watch {
    seen: Seen,
    /// Where sequential streams would go on: reads, writes.
    ends: [VecDeque<u64>; 2],
    /// What is in flight: what it does and where it begins. A request that the device has sent back
    /// and got again counts once.
    in_flight: HashSet<(BlockAction, u64)>,
    /// Requests by how many were in flight when they came.
    depths: BTreeMap<u64, u64>,
    /// The last event, up to which times are summed.
    last: Option<Nanos>,
    weighted: u128,
    busy: u64,
}

impl Watch {
    /// Takes in an event.
    pub fn take(&mut self, event: BlockEvent) {
        match event {
            BlockEvent::Issued(request) => self.issued(&request),
            BlockEvent::Completed(request) => self.completed(&request),
            BlockEvent::Lost(count) => {
                // What ended meanwhile would be in flight for ever.
                self.seen.lost += count;
                self.in_flight.clear();
            }
        }
    }

    /// Reads and writes so far.
    pub fn operations(&self) -> u64 {
        self.seen.operations()
    }

    fn advance(&mut self, now: Nanos) {
        let passed = self.last.map_or(0, |last| now.since(last).0);
        self.weighted += u128::from(passed) * self.in_flight.len() as u128;
        if !self.in_flight.is_empty() {
            self.busy += passed;
        }
        self.last = Some(self.last.map_or(now, |last| last.max(now)));
    }

    fn issued(&mut self, request: &BlockRequest) {
        self.advance(request.at_ns);
        let (direction, way) = match request.action {
            BlockAction::Read => (0, &mut self.seen.reads),
            BlockAction::Write if request.sectors > 0 => (1, &mut self.seen.writes),
            BlockAction::Write | BlockAction::Flush => {
                self.seen.flushes += 1;
                return;
            }
            BlockAction::Discard => {
                self.seen.discards += 1;
                return;
            }
            BlockAction::Other => return,
        };
        let bytes = request.sectors * 512;
        let end = request.sector + request.sectors;
        way.operations += 1;
        way.bytes += bytes;
        *way.sizes.entry(bytes).or_default() += 1;
        let ends = &mut self.ends[direction];
        let goes_on = ends.iter().position(|place| *place == request.sector);
        *way.sequential.get_or_insert(0) += u64::from(goes_on.is_some());
        if let Some(place) = goes_on {
            ends.remove(place);
        } else if ends.len() == STREAMS {
            ends.pop_front();
        }
        ends.push_back(end);
        let (first, last) = self.seen.span.unwrap_or((u64::MAX, 0));
        self.seen.span = Some((first.min(request.sector * 512), last.max(end * 512)));
        self.in_flight.insert((request.action, request.sector));
        *self.depths.entry(self.in_flight.len() as u64).or_default() += 1;
    }

    fn completed(&mut self, request: &BlockRequest) {
        self.advance(request.at_ns);
        // What was under way before is not known.
        self.in_flight.remove(&(request.action, request.sector));
    }

    /// What was seen in so much time.
    pub fn finish(mut self, watched: Nanos) -> Seen {
        let mean = (self.busy > 0).then(|| self.weighted as f64 / self.busy as f64);
        let all: u64 = self.depths.values().sum();
        let mut below = 0;
        let p99 = self.depths.iter().find(|(_, count)| {
            below += **count;
            below as f64 >= 0.99 * all as f64
        });
        self.seen.in_flight_p99 = p99.map(|(depth, _)| *depth);
        self.seen.in_flight_most = self.depths.keys().next_back().copied();
        Seen {
            watched,
            in_flight: mean,
            busy: (self.busy as f64 / watched.0.max(1) as f64).min(1.0),
            ..self.seen
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

    /// Reads of 4 KiB at random places, four in flight for 100 us each, then as much rest; a stream
    /// of writes beside it.
    #[test]
    fn mix_sizes_order_and_depth_are_counted() {
        let mut watch = Watch::default();
        for round in 0..100u64 {
            let start = round * 200;
            let sectors: Vec<u64> = (0..4).map(|slot| (round * 4 + slot) * 7919 % 100_000 * 8).collect();
            for sector in &sectors {
                watch.take(BlockEvent::Issued(request(start, BlockAction::Read, *sector, 8)));
            }
            for sector in &sectors {
                watch.take(BlockEvent::Completed(request(
                    start + 100,
                    BlockAction::Read,
                    *sector,
                    8,
                )));
            }
            // Nothing is in flight while this one is: it takes no time.
            let write = request(start + 100, BlockAction::Write, 5_000_000 + round * 128, 128);
            watch.take(BlockEvent::Issued(write));
            watch.take(BlockEvent::Completed(write));
            watch.take(BlockEvent::Issued(request(start + 100, BlockAction::Flush, 0, 0)));
        }
        let seen = watch.finish(Nanos::millis(20));
        assert_eq!((seen.operations(), seen.flushes, seen.lost), (500, 100, 0));
        assert_eq!((seen.read_percent(), seen.iops()), (80.0, 25_000.0));
        assert_eq!(seen.reads.usual_sizes(), [(Bytes::kib(4), 1000)]);
        assert_eq!(seen.writes.usual_sizes(), [(Bytes::kib(64), 1000)]);
        // 100 us of every 200, but for the rest after the last round, with four in flight.
        assert_eq!(seen.in_flight, Some(4.0));
        assert!((seen.busy - 0.5).abs() < 1e-9, "{}", seen.busy);
        assert_eq!(
            (seen.in_flight_p99, seen.in_flight_most, seen.depth()),
            (Some(4), Some(4), 4)
        );
        assert_eq!(seen.reads.sequential_share(), Some(0.0));
        assert_eq!(seen.writes.sequential, Some(99), "all but the first");
        assert_eq!(seen.span.map(|(_, last)| last), Some((5_000_000 + 100 * 128) * 512));
    }

    #[test]
    fn streams_side_by_side_are_all_sequential() {
        let mut watch = Watch::default();
        for step in 0..50u64 {
            for stream in 0..8u64 {
                let sector = stream * 1_000_000 + step * 16;
                watch.take(BlockEvent::Issued(request(step, BlockAction::Read, sector, 16)));
            }
        }
        let seen = watch.finish(Nanos::secs(1));
        assert_eq!(seen.reads.sequential, Some(8 * 49));
    }

    #[test]
    fn shares_add_up_and_rare_sizes_are_left_out() {
        let way = |counts: &[(u64, u64)]| DirectionLoad {
            operations: counts.iter().map(|(_, count)| count).sum(),
            sizes: counts.iter().copied().collect(),
            ..DirectionLoad::default()
        };
        let check = |counts: &[(u64, u64)], expected: &[(u64, u32)]| {
            let found = way(counts).usual_sizes();
            let found: Vec<(u64, u32)> = found.into_iter().map(|(size, share)| (size.0, share)).collect();
            assert_eq!(found, expected, "{counts:?}");
            assert!(found.is_empty() || found.iter().map(|(_, share)| share).sum::<u32>() == 1000);
        };
        check(&[], &[]);
        check(&[(4096, 3)], &[(4096, 1000)]);
        check(&[(4096, 600), (65_536, 400)], &[(4096, 600), (65_536, 400)]);
        // Three thirds of 333.3 leave one tenth of a percent, which falls to the first.
        check(
            &[(512, 1), (4096, 1), (8192, 1)],
            &[(512, 334), (4096, 333), (8192, 333)],
        );
        check(&[(512, 4), (4096, 996)], &[(4096, 1000)]);
        assert!((way(&[(512, 4), (4096, 996)]).unusual() - 0.004).abs() < 1e-12);
        // Six sixths of 166.7 are too much by two.
        let six: Vec<(u64, u64)> = (1..=6).map(|number| (number * 512, 1)).collect();
        assert_eq!(way(&six).usual_sizes()[0], (Bytes(512), 165));
    }

    /// What was in flight when events were lost is forgotten; what ends without having begun is
    /// left out.
    #[test]
    fn lost_events_do_not_stay_in_flight() {
        let mut watch = Watch::default();
        watch.take(BlockEvent::Completed(request(0, BlockAction::Read, 800, 8)));
        watch.take(BlockEvent::Issued(request(10, BlockAction::Read, 80, 8)));
        watch.take(BlockEvent::Lost(7));
        for at in [1000u64, 2000] {
            let one = request(at, BlockAction::Read, at, 8);
            watch.take(BlockEvent::Issued(one));
            watch.take(BlockEvent::Completed(request(at + 50, BlockAction::Read, at, 8)));
        }
        let seen = watch.finish(Nanos::millis(3));
        assert_eq!(
            (seen.lost, seen.in_flight_most, seen.in_flight),
            (7, Some(1), Some(1.0))
        );
    }

    /// Requests whose end was lost would seem to be in flight.
    #[test]
    fn where_events_were_lost_the_counters_tell_rate_and_depth() {
        let mut watch = Watch::default();
        for at in [10, 20, 30, 40] {
            watch.take(BlockEvent::Issued(request(at, BlockAction::Read, 8 * at, 8)));
        }
        watch.take(BlockEvent::Lost(7));
        let seen = watch.finish(Nanos::millis(3));
        assert_eq!(seen.in_flight_most, Some(4));
        let used = DeviceUse {
            operations: [100, 0, 0],
            bytes: [100 * 4096, 0, 0],
            busy_ns: Nanos::millis(2),
            weighted_ns: Nanos::millis(3),
            ..DeviceUse::default()
        };
        let corrected = seen
            .clone()
            .corrected(Some(&Seen::of_counters(&used, Nanos::millis(3))));
        assert_eq!((corrected.in_flight, corrected.in_flight_most), (Some(1.5), None));
        assert_eq!((corrected.operations(), corrected.reads.bytes), (100, 409_600));
        assert_eq!(
            (corrected.reads.usual_sizes(), corrected.reads.unusual()),
            (vec![(Bytes::kib(4), 1000)], 0.0)
        );
        assert_eq!((corrected.lost, corrected.depth()), (7, 2));
        let unknown = seen.corrected(None);
        assert_eq!(
            (unknown.in_flight, unknown.in_flight_p99, unknown.operations()),
            (None, None, 4)
        );
    }

    #[test]
    fn counters_tell_sums_and_means() {
        let used = DeviceUse {
            operations: [300, 100, 2],
            bytes: [300 * 8192, 100 * 5000, 0],
            busy_ns: Nanos::secs(5),
            weighted_ns: Nanos::secs(15),
            flushes: 4,
            ..DeviceUse::default()
        };
        let seen = Seen::of_counters(&used, Nanos::secs(10));
        assert_eq!(
            (seen.read_percent(), seen.iops(), seen.in_flight),
            (75.0, 40.0, Some(3.0))
        );
        assert_eq!((seen.depth(), seen.busy, seen.flushes), (3, 0.5, 4));
        assert_eq!(seen.reads.usual_sizes(), [(Bytes::kib(8), 1000)]);
        assert_eq!(seen.writes.usual_sizes(), [(Bytes(5120), 1000)], "whole sectors");
        assert_eq!(seen.reads.sequential_share(), None);
    }
}
