//! Merges the intervals of several ranks for live views.

use std::collections::BTreeMap;

use model::event::{Interval, Phase};

/// Step, job, phase, epoch and start. Intervals of different ranks with the same key are merged.
type Key = (u32, u32, Phase, u32, u64);

/// Merges intervals. Incomplete ones wait for other ranks.
#[derive(Debug, Default)]
pub(super) struct IntervalMerger {
    waiting: BTreeMap<Key, (Interval, RankSet)>,
    /// Number of active ranks at the last check of all waiting intervals.
    active_ranks: usize,
}

/// An incomplete interval is published once this many later ones of its job are waiting.
const MAX_WAITING_INTERVALS: usize = 3;

/// Bit set of the ranks that have reported an interval, or never will.
#[derive(Debug, Default)]
struct RankSet {
    bits: Vec<u64>,
    count: usize,
}

impl RankSet {
    fn insert(&mut self, rank: u32) {
        let word = rank as usize / 64;
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        self.bits[word] |= 1 << (rank % 64);
        self.count += 1;
    }

    fn contains(&self, rank: u32) -> bool {
        let word = self.bits.get(rank as usize / 64);
        word.is_some_and(|word| word >> (rank % 64) & 1 == 1)
    }

    /// The count makes most negative results cheap.
    fn contains_all(&self, ranks: &[u32]) -> bool {
        self.count >= ranks.len() && ranks.iter().all(|rank| self.contains(*rank))
    }
}

impl IntervalMerger {
    /// Adds an interval of a rank. In the plan of the fleet, its targets begin at `shift`, and its
    /// job has the number `job`, which the ranks `without_job` do not have. Returns the intervals
    /// that are complete or overdue.
    pub(super) fn add(
        &mut self,
        rank: u32,
        shift: u32,
        job: u32,
        mut interval: Interval,
        ranks: &[u32],
        without_job: impl Iterator<Item = u32>,
    ) -> Vec<Interval> {
        interval.job = job;
        for target in &mut interval.targets {
            target.targets.iter_mut().for_each(|target| *target += shift);
        }
        let key = (interval.step, job, interval.phase, interval.epoch, interval.start_ns.0);
        let mut out = Vec::new();
        match self.waiting.get_mut(&key) {
            Some((sum, parts)) => {
                add_to(sum, interval);
                parts.insert(rank);
            }
            None => {
                let mut parts = RankSet::default();
                parts.insert(rank);
                without_job.for_each(|rank| parts.insert(rank));
                self.waiting.insert(key, (interval, parts));
                out.extend(self.take_overdue((key.0, key.1)));
            }
        }
        if self
            .waiting
            .get(&key)
            .is_some_and(|(_, parts)| parts.contains_all(ranks))
        {
            out.extend(self.waiting.remove(&key).map(|(interval, _)| interval));
        }
        out
    }

    /// Removes the first interval of a job if it is overdue.
    fn take_overdue(&mut self, (step, job): (u32, u32)) -> Option<Interval> {
        let first = (step, job, Phase::ALL[0], 0, 0);
        let job_keys = self.waiting.range(first..).map(|(key, _)| *key);
        let keys: Vec<Key> = job_keys.take_while(|key| (key.0, key.1) == (step, job)).collect();
        let key = keys.first().filter(|_| keys.len() > MAX_WAITING_INTERVALS)?;
        self.waiting.remove(key).map(|(interval, _)| interval)
    }

    /// Removes the intervals that are complete with only these ranks active. There are none unless
    /// the number of ranks has changed.
    pub(super) fn take_complete(&mut self, ranks: &[u32]) -> Vec<Interval> {
        if ranks.len() == self.active_ranks {
            return Vec::new();
        }
        self.active_ranks = ranks.len();
        let complete = self.waiting.iter().filter(|(_, (_, parts))| parts.contains_all(ranks));
        let keys: Vec<Key> = complete.map(|(key, _)| *key).collect();
        let removed = keys.iter().filter_map(|key| self.waiting.remove(key));
        removed.map(|(interval, _)| interval).collect()
    }
}

fn add_to(sum: &mut Interval, interval: Interval) {
    for (direction, counts) in interval.counts.iter() {
        sum.counts[direction].add(*counts);
    }
    for (direction, histogram) in interval.latency.iter() {
        match (&mut sum.latency[direction], histogram) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (_, None) => {}
        }
    }
    sum.in_flight_ns += interval.in_flight_ns;
    sum.depth += interval.depth;
    sum.length_ns = sum.length_ns.max(interval.length_ns);
    sum.left_ns = match (sum.left_ns, interval.left_ns) {
        (Some(mine), Some(theirs)) => Some(mine.max(theirs)),
        (mine, theirs) => mine.or(theirs),
    };
    sum.targets.extend(interval.targets);
}

#[cfg(test)]
mod tests {
    use model::event::Counts;
    use model::histogram::Histogram;
    use model::{Bytes, Nanos, PerDirection};

    use super::*;

    /// A second of one rank, with that many reads.
    fn second(number: u64, reads: u64) -> Interval {
        let mut latency = Histogram::new();
        latency.record_times(1000, reads);
        Interval {
            name: "job".into(),
            phase: Phase::Measured,
            start_ns: Nanos::secs(number),
            length_ns: Nanos::secs(1),
            counts: PerDirection::from_reads(Counts::new(reads, Bytes(reads * 512))),
            latency: PerDirection::from_reads(Some(latency)),
            in_flight_ns: Nanos(reads * 1000),
            depth: 2,
            ..Interval::default()
        }
    }

    fn none() -> impl Iterator<Item = u32> {
        std::iter::empty()
    }

    fn summarize(intervals: &[Interval]) -> Vec<(u64, u64, u64)> {
        let summary = |interval: &Interval| {
            let latency = interval.latency.read.as_ref().map_or(0, Histogram::n);
            (
                interval.start_ns.0 / 1_000_000_000,
                interval.counts.read.operations,
                latency,
            )
        };
        intervals.iter().map(summary).collect()
    }

    #[test]
    fn an_interval_is_reported_once_all_ranks_have_reported() {
        let ranks: Vec<u32> = (0..1000).collect();
        let mut waiting = IntervalMerger::default();
        for rank in 0..999 {
            assert_eq!(
                waiting.add(rank, 0, 0, second(0, 1 + u64::from(rank)), &ranks, none()),
                []
            );
        }
        let intervals = waiting.add(999, 0, 0, second(0, 1000), &ranks, none());
        assert_eq!(summarize(&intervals), [(0, 500_500, 500_500)]);
        assert_eq!(intervals[0].depth, 2000);
        assert!(waiting.waiting.is_empty());
    }

    #[test]
    fn ranks_without_the_job_are_not_awaited() {
        let mut waiting = IntervalMerger::default();
        let ready = waiting.add(1, 0, 0, second(0, 5), &[0, 1, 2], [0, 2].into_iter());
        assert_eq!(summarize(&ready), [(0, 5, 5)]);
        assert_eq!(waiting.add(1, 0, 0, second(1, 5), &[0, 1, 2], [2].into_iter()), []);
        let ready_of_both = waiting.add(0, 0, 0, second(1, 7), &[0, 1, 2], [2].into_iter());
        assert_eq!(summarize(&ready_of_both), [(1, 12, 12)]);
    }

    #[test]
    fn lost_ranks_are_not_awaited() {
        let mut waiting = IntervalMerger::default();
        assert_eq!(waiting.take_complete(&[0, 1, 2]), []);
        waiting.add(0, 0, 0, second(0, 5), &[0, 1, 2], none());
        waiting.add(2, 0, 0, second(0, 7), &[0, 1, 2], none());
        assert_eq!(waiting.take_complete(&[0, 1, 2]), []);
        assert_eq!(summarize(&waiting.take_complete(&[0, 2])), [(0, 12, 12)]);
        // Reports of a rank before its loss count, but do not replace another rank's.
        waiting.add(1, 0, 0, second(1, 3), &[0, 2], none());
        assert_eq!(waiting.add(0, 0, 0, second(1, 5), &[0, 2], none()), []);
        assert_eq!(
            summarize(&waiting.add(2, 0, 0, second(1, 7), &[0, 2], none())),
            [(1, 15, 15)]
        );
    }

    #[test]
    fn a_silent_rank_delays_the_others_only_briefly() {
        let mut waiting = IntervalMerger::default();
        for number in 0..3 {
            assert_eq!(waiting.add(0, 0, 0, second(number, 4), &[0, 1], none()), []);
        }
        assert_eq!(
            summarize(&waiting.add(0, 0, 0, second(3, 4), &[0, 1], none())),
            [(0, 4, 4)]
        );
    }
}
