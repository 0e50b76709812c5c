//! Treats the window as a census: its missed operations are a fact. If the storage changed its
//! state in the window, the window's own figure decides, without a confidence interval.

use model::Nanos;
use model::observation::Second;
use model::results::IntervalHistogram;

use super::Case;
use super::estimate::{self, Estimate};
use super::judgement::{breaks_clause, is_rate};
use super::load::block_bytes;
use crate::attribution::Attribution;
use crate::requirement::{Clause, Metric};
use crate::shifts::{self, Shift};

/// Default duration of a contractual test, in seconds.
const FULL_TIME_SECS: f64 = 300.0;
/// A mean is far beyond its limit from this multiple on.
const FAR_BEYOND_MEAN: f64 = 1.5;
/// A percentile is far beyond its limit if this multiple of the allowed operations exceed it.
const FAR_BEYOND_QUANTILE: f64 = 5.0;
/// Minimum number of seconds to show that a limit is always exceeded.
const MIN_SECONDS: usize = 10;
/// A second below this share of the promised rate is slow.
const SLACK_SHARE: f64 = 0.9;
/// This many slow seconds in a row are a slump, regardless of their share of the window.
const MIN_SLUMP_SECONDS: usize = 3;
/// Fewer slow seconds in a row are a stall, which latencies show. But stalls that together miss
/// more than this share of the promised operations are a slump too.
const MAX_STALLED_SHARE: f64 = 0.05;
/// A second with a random count is slow only beyond this many standard deviations.
const MAX_CHANCE: f64 = 3.0;

/// A percentile of a second needs at least this many slower operations.
const MIN_SLOWER: f64 = 10.0;
/// Intervals of at least this length together are a second.
const WHOLE_SECOND: f64 = 0.999;

/// Periods in which the storage served much less than promised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slump {
    /// Start of the first period, in seconds.
    pub(super) at: f64,
    /// Seconds in all periods.
    pub(super) seconds: usize,
    /// Number of periods.
    pub(super) count: usize,
    /// Mean operations per second in them.
    pub(super) iops: f64,
    /// Promised operations that were not served in them.
    pub(super) missing: f64,
}

/// Latency sums of one interval, for the direction of a clause.
pub(super) struct IntervalSums {
    /// Start, in seconds.
    pub(super) at: f64,
    /// Length, in seconds.
    pub(super) length: f64,
    /// Operations.
    pub(super) n: f64,
    /// Their latencies in nanoseconds, added up.
    pub(super) sum: f64,
    /// Operations beyond the limit.
    pub(super) beyond: f64,
}

impl IntervalSums {
    /// Excess of the interval over the limit: operations × nanoseconds, or operations.
    pub(super) fn excess(&self, clause: &Clause) -> f64 {
        match clause.metric {
            Metric::Quantile { .. } => self.beyond,
            _ => (self.sum - clause.target * self.n).max(0.0),
        }
    }
}

impl Case<'_> {
    /// True if this window breaks a clause that the estimate leaves undecided.
    pub(super) fn fails_by_census(&self, clause: &Clause, estimate: &Estimate) -> bool {
        if self.slump(clause).is_some() {
            return true;
        }
        if !breaks_clause(clause, estimate.value) {
            return false;
        }
        let is_census = is_rate(clause) || self.has_full_time() || self.is_broken_for_full_time(clause);
        is_census && self.shift(clause).is_some() || self.is_far_beyond(clause)
    }

    /// True if a full window met a latency clause that the estimate leaves undecided. The storage
    /// must have changed its state in the window.
    pub(super) fn passes_by_census(&self, clause: &Clause, estimate: &Estimate) -> bool {
        !is_rate(clause)
            && self.has_full_time()
            && !breaks_clause(clause, estimate.value)
            && self.shift(clause).is_some()
    }

    /// True if the latencies of this window alone break the clause for the full time. Then it is
    /// broken even if every later operation takes no time.
    fn is_broken_for_full_time(&self, clause: &Clause) -> bool {
        let Some(promised) = self.promised_iops() else {
            return false;
        };
        let operations = promised * self.full_time_secs();
        let (mut sum, mut beyond) = (0.0, 0.0);
        for interval in self.interval_sums(clause) {
            (sum, beyond) = (sum + interval.sum, beyond + interval.beyond);
        }
        match clause.metric {
            Metric::Mean => sum > clause.target * operations,
            Metric::Quantile { share } => beyond > (1.0 - share) * operations,
            Metric::Iops | Metric::Throughput | Metric::Availability => false,
        }
    }

    /// True if a mean is far beyond its limit in every second, as with a growing backlog. A
    /// percentile must be far beyond in most of a full window. The exact level does not matter
    /// then.
    fn is_far_beyond(&self, clause: &Clause) -> bool {
        let intervals: Vec<IntervalSums> = self.interval_sums(clause).collect();
        if intervals.len() < MIN_SECONDS {
            return false;
        }
        match clause.metric {
            Metric::Mean => intervals
                .iter()
                .all(|interval| interval.n == 0.0 || interval.sum > FAR_BEYOND_MEAN * clause.target * interval.n),
            Metric::Quantile { share } => {
                let is_far_beyond_in =
                    |sums: &&IntervalSums| sums.beyond > FAR_BEYOND_QUANTILE * (1.0 - share) * sums.n;
                self.has_full_time() && 2 * intervals.iter().filter(is_far_beyond_in).count() > intervals.len()
            }
            Metric::Iops | Metric::Throughput | Metric::Availability => false,
        }
    }

    /// Latency sums of each interval.
    pub(super) fn interval_sums<'a>(&'a self, clause: &'a Clause) -> impl Iterator<Item = IntervalSums> + 'a {
        let sums = |interval: &IntervalHistogram| {
            let mut sums = IntervalSums {
                at: interval.start_ns.as_secs(),
                length: interval.length_ns.as_secs(),
                n: 0.0,
                sum: 0.0,
                beyond: 0.0,
            };
            for histogram in estimate::select_histograms(&interval.latency, clause.direction) {
                sums.n += histogram.n() as f64;
                sums.sum += histogram.sum() as f64;
                sums.beyond += (histogram.n() - histogram.count_up_to(clause.target as u64)) as f64;
            }
            sums
        };
        self.context.intervals.iter().map(sums)
    }

    /// Counts the seconds that missed a clause, and all seconds. `None` if the seconds have too few
    /// operations to compare.
    pub(super) fn missed_seconds(&self, clause: &Clause) -> Option<(usize, usize)> {
        let missed: Vec<bool> = match clause.metric {
            Metric::Iops | Metric::Throughput => {
                let target = self.clause_iops(clause)?;
                let served = self.served_by_second(clause)?;
                let seconds = self.observation.seconds.iter().zip(served);
                let is_missed = |(second, served): (&Second, f64)| {
                    let due = target * (1.0 - clause.tolerance) * second.facts.length_ns.as_secs();
                    served < due - self.operations_by_chance(clause, due)
                };
                seconds.map(is_missed).collect()
            }
            Metric::Mean => self
                .whole_seconds(clause)
                .map(|sums| sums.sum > clause.target * sums.n)
                .collect(),
            Metric::Quantile { share } => {
                let seconds: Vec<IntervalSums> = self.whole_seconds(clause).collect();
                if seconds.iter().any(|sums| sums.n * (1.0 - share) < MIN_SLOWER) {
                    return None;
                }
                seconds
                    .iter()
                    .map(|sums| sums.beyond > (1.0 - share) * sums.n)
                    .collect()
            }
            Metric::Availability => return None,
        };
        let count = missed.iter().filter(|missed| **missed).count();
        (missed.len() >= MIN_SECONDS).then_some((count, missed.len()))
    }

    /// The operations that a second may lack by chance. A paced load issues its operations on
    /// schedule, so only the one at the edge may be missing: availability counts in the same way.
    fn operations_by_chance(&self, clause: &Clause, due: f64) -> f64 {
        match (clause.direction, self.observation.load.rate_iops) {
            (None, Some(_)) => 1.0,
            _ => MAX_CHANCE * due.sqrt(),
        }
    }

    /// Latency sums of each whole second.
    fn whole_seconds<'a>(&'a self, clause: &'a Clause) -> impl Iterator<Item = IntervalSums> + 'a {
        let mut second: Option<IntervalSums> = None;
        self.interval_sums(clause).filter_map(move |interval| {
            let sums = match second.take() {
                Some(sums) => IntervalSums {
                    at: sums.at,
                    length: sums.length + interval.length,
                    n: sums.n + interval.n,
                    sum: sums.sum + interval.sum,
                    beyond: sums.beyond + interval.beyond,
                },
                None => interval,
            };
            match sums.length < WHOLE_SECOND {
                true => {
                    second = Some(sums);
                    None
                }
                false => Some(sums),
            }
        })
    }

    /// True if the measurement lasted the full duration of the promise.
    pub(super) fn has_full_time(&self) -> bool {
        let measured = self.observation.measured_ns.map_or(0.0, |length| length.as_secs());
        measured >= self.full_time_secs() * 0.999
    }

    pub(super) fn full_time_secs(&self) -> f64 {
        self.context
            .workload
            .map_or(FULL_TIME_SECS, |workload| workload.duration_secs)
    }

    /// The change within the window that is relevant for a clause.
    pub(super) fn shift(&self, clause: &Clause) -> Option<Shift> {
        match is_rate(clause) {
            true => shifts::rate_shift_or_stalls(self.observation),
            false => shifts::shift(self.observation),
        }
    }

    /// Periods in which a paced load was served much too slowly. `None` unless they miss more
    /// operations than the whole window may. Catching up later raises the mean, but those
    /// operations were late.
    pub(super) fn slump(&self, clause: &Clause) -> Option<Slump> {
        // Only the schedule of a paced load defines which operations were due.
        Attribution::new(self.observation, None).filter(|_| is_rate(clause))?;
        // The share of a direction is drawn, so it varies from second to second. A single second of
        // any load varies too.
        let chance = clause.direction.map_or(0.0, |_| MAX_CHANCE);
        self.slow_stretches(clause, MIN_SLUMP_SECONDS, chance, clause.tolerance)
            .or_else(|| self.slow_stretches(clause, 1, MAX_CHANCE, clause.tolerance.max(MAX_STALLED_SHARE)))
    }

    /// Periods of at least `min_seconds` slow seconds. Together they must miss more than
    /// `tolerated`, a share of the promised operations.
    fn slow_stretches(&self, clause: &Clause, min_seconds: usize, chance: f64, tolerated: f64) -> Option<Slump> {
        let target = self.clause_iops(clause)?;
        let seconds = &self.observation.seconds;
        let served_in = self.served_by_second(clause)?;
        let is_slack = |at: usize| {
            let due = target * seconds[at].facts.length_ns.as_secs();
            served_in[at] < SLACK_SHARE * due - chance * due.sqrt()
        };
        let (mut slump, mut served, mut at) = (None::<Slump>, 0.0, 0);
        while at < seconds.len() {
            let length = (at..seconds.len()).take_while(|second| is_slack(*second)).count();
            if length >= min_seconds {
                let stretch = &seconds[at..at + length];
                let operations: f64 = served_in[at..at + length].iter().sum();
                let time: f64 = stretch.iter().map(|second| second.facts.length_ns.as_secs()).sum();
                served += operations;
                let current_slump = slump.get_or_insert(Slump {
                    at: stretch[0].facts.start_ns.as_secs(),
                    seconds: 0,
                    count: 0,
                    iops: 0.0,
                    missing: 0.0,
                });
                current_slump.count += 1;
                current_slump.seconds += length;
                current_slump.missing += target * time - operations;
            }
            at += length.max(1);
        }
        let measured = self.observation.measured_ns?.as_secs();
        let mut slump = slump.filter(|slump| slump.missing > tolerated * target * measured)?;
        slump.iops = served / slump.seconds as f64;
        Some(slump)
    }

    /// Operations in each second, of the clause's direction; `None` if a direction's operations are
    /// unknown.
    fn served_by_second(&self, clause: &Clause) -> Option<Vec<f64>> {
        let seconds = self.observation.seconds.iter().map(|second| &second.facts);
        let Some(direction) = clause.direction else {
            return Some(seconds.map(|facts| facts.operations as f64).collect());
        };
        let series = &self.observation.series;
        (!series.is_empty()).then(|| {
            let in_second = |from: Nanos, until: Nanos| {
                let points = series
                    .iter()
                    .filter(move |point| (from..until).contains(&point.start_ns));
                points.map(|point| point.operations[direction as usize] as f64).sum()
            };
            seconds
                .map(|facts| in_second(facts.start_ns, Nanos(facts.start_ns.0 + facts.length_ns.0)))
                .collect()
        })
    }

    /// Operations per second that a rate clause requires of its direction.
    fn clause_iops(&self, clause: &Clause) -> Option<f64> {
        let bytes_per_operation = match clause.metric {
            Metric::Throughput => block_bytes(self.observation)?,
            _ => 1.0,
        };
        Some(clause.target / bytes_per_operation)
    }

    /// Operations per second of the whole load that a rate clause requires.
    pub(super) fn target_iops(&self, clause: &Clause) -> Option<f64> {
        // All directions share the queue, so the generator must be able to issue the whole load.
        let promised_total = clause.direction.and_then(|_| self.promised_iops());
        promised_total.or_else(|| self.clause_iops(clause))
    }
}
