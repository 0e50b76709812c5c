//! The window as a census. Operations that were missed in it are a fact, so where it shows more
//! than one state of the storage its own figure decides, and no interval is needed.

use model::results::IntervalHistogram;

use super::Case;
use super::estimate::{self, Estimate};
use super::judgement::{breaks, is_rate};
use super::load::block;
use crate::attribution::Attribution;
use crate::requirement::{Clause, Metric};
use crate::shifts::{self, Shift};

/// The time of a contract where the promise names none, in seconds.
const FULL_TIME_SECS: f64 = 300.0;
/// A mean is far beyond its limit from this multiple of it on.
const FAR_BEYOND: f64 = 1.5;
/// A percentile is far beyond its limit if this multiple of the operations that it allows are.
const FAR_MORE: f64 = 5.0;
/// Fewest seconds that show that it always is.
const SECONDS_MIN: usize = 10;
/// A second is slack if it brings less than this share of a promised rate.
const SLACK_BELOW: f64 = 0.9;
/// This many slack seconds in a row are a slump. Fewer are a stall, which latencies show.
const SLUMP_SECONDS: usize = 3;

/// A stretch of seconds in which the storage served much less than was promised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slump {
    /// When the first such stretch began, in seconds.
    pub(super) at: f64,
    /// Seconds in all stretches.
    pub(super) seconds: usize,
    /// How many stretches.
    pub(super) count: usize,
    /// Operations per second in them, on average.
    pub(super) iops: f64,
    /// Operations that were promised in them and not served.
    pub(super) missing: f64,
}

/// Latencies of one interval, as far as a clause concerns them.
pub(super) struct IntervalSums {
    /// When it began, in seconds.
    pub(super) at: f64,
    /// How long it was, in seconds.
    pub(super) length: f64,
    /// Operations.
    pub(super) n: f64,
    /// Their latencies in nanoseconds, added up.
    pub(super) sum: f64,
    /// Operations beyond the limit.
    pub(super) beyond: f64,
}

impl IntervalSums {
    /// By how much the interval is beyond a limit: operations × nanoseconds, or operations.
    pub(super) fn excess(&self, clause: &Clause) -> f64 {
        match clause.metric {
            Metric::Quantile { .. } => self.beyond,
            _ => (self.sum - clause.target * self.n).max(0.0),
        }
    }
}

impl Case<'_> {
    /// True if a clause that its sample leaves open is broken in this window as a matter of fact.
    pub(super) fn fails_by_census(&self, clause: &Clause, estimate: &Estimate) -> bool {
        if self.slump(clause).is_some() {
            return true;
        }
        if !breaks(clause, estimate.value) {
            return false;
        }
        let is_census = is_rate(clause) || self.has_full_time() || self.is_broken_for_full_time(clause);
        is_census && self.shift(clause).is_some() || self.is_far_beyond(clause)
    }

    /// True if a latency that its sample leaves open was kept in a full window that shows more than
    /// one state of the storage.
    pub(super) fn passes_by_census(&self, clause: &Clause, estimate: &Estimate) -> bool {
        !is_rate(clause) && self.has_full_time() && !breaks(clause, estimate.value) && self.shift(clause).is_some()
    }

    /// The latencies of this window alone break the clause for the full time, even if every later
    /// operation took no time at all.
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

    /// A mean far beyond its limit in every second, as of a backlog that grows, or a percentile
    /// that many times the operations exceed in most of a full window: the level is not known, and
    /// does not matter.
    fn is_far_beyond(&self, clause: &Clause) -> bool {
        let intervals: Vec<IntervalSums> = self.interval_sums(clause).collect();
        if intervals.len() < SECONDS_MIN {
            return false;
        }
        match clause.metric {
            Metric::Mean => intervals
                .iter()
                .all(|one| one.n == 0.0 || one.sum > FAR_BEYOND * clause.target * one.n),
            Metric::Quantile { share } => {
                let far = |one: &&IntervalSums| one.beyond > FAR_MORE * (1.0 - share) * one.n;
                self.has_full_time() && 2 * intervals.iter().filter(far).count() > intervals.len()
            }
            Metric::Iops | Metric::Throughput | Metric::Availability => false,
        }
    }

    /// Latencies interval by interval.
    pub(super) fn interval_sums<'a>(&'a self, clause: &'a Clause) -> impl Iterator<Item = IntervalSums> + 'a {
        let sums = |interval: &IntervalHistogram| {
            let mut sums = IntervalSums {
                at: interval.start_ns.as_secs(),
                length: interval.length_ns.as_secs(),
                n: 0.0,
                sum: 0.0,
                beyond: 0.0,
            };
            for histogram in estimate::of_direction(&interval.latency, clause.direction) {
                sums.n += histogram.n() as f64;
                sums.sum += histogram.sum() as f64;
                sums.beyond += (histogram.n() - histogram.count_up_to(clause.target as u64)) as f64;
            }
            sums
        };
        self.context.intervals.iter().map(sums)
    }

    /// The contract form: measured for as long as the promise asks.
    pub(super) fn has_full_time(&self) -> bool {
        let measured = self.observation.measured_ns.map_or(0.0, |length| length.as_secs());
        measured >= self.full_time_secs() * 0.999
    }

    pub(super) fn full_time_secs(&self) -> f64 {
        self.context
            .workload
            .map_or(FULL_TIME_SECS, |workload| workload.duration_secs)
    }

    /// What changed within the window, as far as it concerns a clause.
    pub(super) fn shift(&self, clause: &Clause) -> Option<Shift> {
        match is_rate(clause) {
            true => shifts::rate_shift(self.observation),
            false => shifts::shift(self.observation),
        }
    }

    /// Stretches in which a paced load was served much more slowly than promised, if more
    /// operations are missing in them than the tolerance allows for the whole window. What is
    /// served later raises the mean, but it was not there when it was due.
    pub(super) fn slump(&self, clause: &Clause) -> Option<Slump> {
        // Only a paced load knows what was due.
        Attribution::new(self.observation, None).filter(|_| is_rate(clause))?;
        let target = self.target_iops(clause)?;
        let seconds = &self.observation.seconds;
        let slack = |at: usize| {
            let facts = &seconds[at].facts;
            (facts.operations as f64) < SLACK_BELOW * target * facts.length_ns.as_secs()
        };
        let (mut slump, mut served, mut at) = (None::<Slump>, 0.0, 0);
        while at < seconds.len() {
            let length = (at..seconds.len()).take_while(|second| slack(*second)).count();
            if length >= SLUMP_SECONDS {
                let stretch = &seconds[at..at + length];
                let operations: f64 = stretch.iter().map(|second| second.facts.operations as f64).sum();
                let time: f64 = stretch.iter().map(|second| second.facts.length_ns.as_secs()).sum();
                served += operations;
                let found = slump.get_or_insert(Slump {
                    at: stretch[0].facts.start_ns.as_secs(),
                    seconds: 0,
                    count: 0,
                    iops: 0.0,
                    missing: 0.0,
                });
                found.count += 1;
                found.seconds += length;
                found.missing += target * time - operations;
            }
            at += length.max(1);
        }
        let measured = self.observation.measured_ns?.as_secs();
        let mut slump = slump.filter(|slump| slump.missing > clause.tolerance * target * measured)?;
        slump.iops = served / slump.seconds as f64;
        Some(slump)
    }

    /// The operations per second of the whole load that a clause about a rate asks for.
    pub(super) fn target_iops(&self, clause: &Clause) -> Option<f64> {
        // All directions share the queue, so the whole load is what the generator has to issue.
        let each = match clause.metric {
            Metric::Throughput => block(self.observation)?,
            _ => 1.0,
        };
        Some(match clause.direction {
            None => clause.target / each,
            Some(_) => self.promised_iops().unwrap_or(clause.target / each),
        })
    }
}
