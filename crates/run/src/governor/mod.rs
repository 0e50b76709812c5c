//! Rules that watch the merged intervals of a job. They end it, change its queue depth or restart
//! its statistics. Rules see only numbers, and act only through [`JobControl`].

mod latency_target;
mod minimum_rate;
mod precision;
mod steady_state;

use model::event::{EndReason, Interval, Phase};
use model::plan::{Control, Job, TrackedMetric};
use model::results::ControlOutcome;
use model::{Direction, Nanos};

use crate::control::JobControl;
use latency_target::LatencySearch;
use minimum_rate::RateFloor;
use precision::PrecisionRule;
use steady_state::SteadyRule;

/// All rules of one job.
#[derive(Debug)]
pub(crate) struct Governor {
    rules: Vec<Rule>,
    /// True if a rule has ended the job; later intervals change no outcome.
    has_ended: bool,
}

#[derive(Debug)]
enum Rule {
    Precision(PrecisionRule),
    Steady(SteadyRule),
    Latency(LatencySearch),
    Minimum(RateFloor),
}

/// The action of a rule after an interval.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Leave the job unchanged.
    Continue,
    /// End the job; the text says why.
    End(String),
    /// Set the queue depth of each worker.
    SetDepth(u32),
    /// Set the queue depth and restart the statistics.
    SetDepthAndRestart(u32),
}

impl Governor {
    pub(crate) fn new(job: &Job) -> Governor {
        let workers = job.workers.len() as u32;
        let depth = job.workers.iter().map(|worker| worker.slots()).max().unwrap_or(1);
        let rule = |control: &Control| match control {
            Control::Precision(rule) => Rule::Precision(PrecisionRule::new(*rule)),
            Control::SteadyState(rule) => Rule::Steady(SteadyRule::new(*rule)),
            Control::LatencyTarget(rule) => Rule::Latency(LatencySearch::new(*rule, depth)),
            Control::MinimumRate(rule) => Rule::Minimum(RateFloor::new(*rule, workers)),
        };
        Governor {
            rules: job.control.iter().map(rule).collect(),
            has_ended: false,
        }
    }

    /// The interval at which the rules of a job need the recorders to be exchanged.
    pub(crate) fn interval_for(job: &Job) -> Nanos {
        let wanted = job.control.iter().map(|control| match control {
            Control::LatencyTarget(rule) => rule.window_ns,
            Control::SteadyState(rule) => rule.interval_ns,
            Control::MinimumRate(rule) => rule.cycle_ns,
            Control::Precision(_) => Nanos::secs(1),
        });
        wanted
            .min()
            .unwrap_or(Nanos::secs(1))
            .clamp(Nanos::millis(1), Nanos::secs(1))
    }

    /// The initial depth of the job, if a rule sets it.
    pub(crate) fn first_depth(&self) -> Option<u32> {
        self.rules.iter().find_map(|rule| match rule {
            Rule::Latency(search) => Some(search.depth()),
            _ => None,
        })
    }

    /// Shows a measured interval to every rule, and applies the actions that they return.
    pub(crate) fn on_interval(&mut self, interval: &Interval, control: &JobControl) {
        if interval.phase != Phase::Measured || self.has_ended {
            return;
        }
        let on_interval = |rule: &mut Rule| match rule {
            Rule::Precision(rule) => rule.on_interval(interval),
            Rule::Steady(rule) => rule.on_interval(interval),
            Rule::Latency(rule) => rule.on_interval(interval),
            Rule::Minimum(rule) => rule.on_interval(interval),
        };
        let mut actions: Vec<Action> = self.rules.iter_mut().map(on_interval).collect();
        // Ending has priority: a job that ends must not reset its statistics.
        if let Some(end) = actions.iter().position(|action| matches!(action, Action::End(_))) {
            self.has_ended = true;
            actions = vec![actions.swap_remove(end)];
        }
        for action in actions {
            match action {
                Action::Continue => {}
                Action::End(rule) => control.stop(EndReason::Control { rule }),
                Action::SetDepth(depth) => control.set_depth(depth),
                Action::SetDepthAndRestart(depth) => {
                    control.set_depth(depth);
                    control.restart_statistics();
                }
            }
        }
    }

    /// The outcomes of the rules.
    pub(crate) fn outcomes(&self) -> Vec<ControlOutcome> {
        let outcome = |rule: &Rule| match rule {
            Rule::Precision(rule) => rule.outcome(),
            Rule::Steady(rule) => rule.outcome(),
            Rule::Latency(rule) => rule.outcome(),
            Rule::Minimum(rule) => rule.outcome(),
        };
        self.rules.iter().map(outcome).collect()
    }
}

/// The figure that a rule tracks, over one interval, of one direction if `only` names one. Latency
/// always covers all directions.
fn figure(interval: &Interval, tracked: TrackedMetric, only: Option<Direction>) -> f64 {
    let seconds = interval.length_ns.as_secs();
    if seconds <= 0.0 {
        return 0.0;
    }
    let sum = |value: fn(&model::event::Counts) -> u64| {
        let counts = interval.counts.iter();
        let wanted = counts.filter(|(direction, _)| only.is_none_or(|only| only == *direction));
        wanted.map(|(_, counts)| value(counts)).sum::<u64>() as f64
    };
    match tracked {
        TrackedMetric::Iops => sum(|counts| counts.operations) / seconds,
        TrackedMetric::Throughput => sum(|counts| counts.bytes.0) / seconds,
        TrackedMetric::Latency => interval.total_latency().mean(),
    }
}

fn tracked_name(tracked: TrackedMetric) -> &'static str {
    match tracked {
        TrackedMetric::Iops => "IOPS",
        TrackedMetric::Throughput => "bytes per second",
        TrackedMetric::Latency => "mean latency in ns",
    }
}

#[cfg(test)]
mod tests {
    use model::event::Counts;
    use model::histogram::Histogram;
    use model::plan::{LatencyTarget, MinimumRate, Precision, SteadyState};
    use model::{Bytes, PerDirection};

    use super::*;

    /// One second in which `operations` of 4 KiB took `latency` each.
    fn second(number: u64, operations: u64, latency: u64) -> Interval {
        let mut histogram = Histogram::new();
        histogram.record_times(latency, operations);
        let read = Counts::new(operations, Bytes(operations * 4096));
        Interval {
            name: "test".into(),
            phase: Phase::Measured,
            start_ns: Nanos::secs(number),
            length_ns: Nanos::secs(1),
            counts: PerDirection::from_reads(read),
            latency: PerDirection::from_reads(Some(histogram)),
            in_flight_ns: Nanos(operations * latency),
            depth: 1,
            ..Interval::default()
        }
    }

    #[test]
    fn precision_ends_a_job_once_the_interval_is_narrow() {
        let rule = Precision {
            metric: TrackedMetric::Iops,
            percent: 2.0,
            at_least_ns: Nanos::secs(15),
        };
        let mut steady = PrecisionRule::new(rule);
        let ended = (0..100).find(|k| steady.on_interval(&second(*k, 1000 + k % 3, 100)) != Action::Continue);
        assert_eq!(ended, Some(14), "the minimum is fifteen seconds");
        let mut wild = PrecisionRule::new(rule);
        let values = (0..60).map(|k| if (k / 2) % 2 == 0 { 500 } else { 1500 });
        assert!(
            values
                .enumerate()
                .all(|(k, v)| wild.on_interval(&second(k as u64, v, 100)) == Action::Continue)
        );
        assert!(!wild.outcome().attained);
    }

    /// Intervals arrive even after the end, until every worker has seen it.
    #[test]
    fn intervals_after_the_end_change_no_outcome() {
        let search = latency_target(Nanos::micros(250), 100.0);
        let mut governor = Governor {
            rules: vec![
                Rule::Latency(LatencySearch::new(search, 1)),
                Rule::Minimum(RateFloor::new(minimum_rate(None), 1)),
            ],
            has_ended: false,
        };
        let control = JobControl::default();
        // The search confirms depth 1 with new statistics, in the interval in which the rate is too
        // low.
        governor.on_interval(&second(2, 100, 10), &control);
        let reason = || control.stop_requested().expect("the rate is too low");
        assert!(matches!(reason(), EndReason::Control { rule } if rule.starts_with("IOPS fell to 100")));
        assert_eq!((control.epoch(), control.depth()), (0, None));
        let outcomes = governor.outcomes();
        governor.on_interval(&second(3, 7, 10), &control);
        assert_eq!(governor.outcomes(), outcomes);
    }

    #[test]
    fn steady_state_is_judged_over_a_full_window() {
        let rule = SteadyState {
            metric: TrackedMetric::Iops,
            slope: true,
            limit: 1.0,
            percent: true,
            window_ns: Nanos::secs(5),
            interval_ns: Nanos::secs(1),
            ramp_ns: Nanos::secs(2),
        };
        let mut state = SteadyRule::new(rule);
        // The rate falls by 10 % per second for eight seconds, then stays constant.
        let value = |k: u64| if k < 8 { 2000 - 200 * k } else { 500 };
        let ended = (0..40).find(|k| state.on_interval(&second(*k, value(*k), 100)) != Action::Continue);
        assert_eq!(ended, Some(12), "five equal seconds after the eighth");
        assert!(state.outcome().attained);
        assert_eq!(state.outcome().series.len(), 5);
    }

    #[test]
    fn an_idle_device_is_neither_steady_nor_precise() {
        let rule = SteadyState {
            metric: TrackedMetric::Iops,
            slope: false,
            limit: 5.0,
            percent: true,
            window_ns: Nanos::secs(5),
            interval_ns: Nanos::secs(1),
            ramp_ns: Nanos(0),
        };
        let mut steady = SteadyRule::new(rule);
        let mut precision = PrecisionRule::new(Precision {
            metric: TrackedMetric::Iops,
            percent: 5.0,
            at_least_ns: Nanos(0),
        });
        for k in 0..40 {
            assert_eq!(steady.on_interval(&second(k, 0, 0)), Action::Continue);
            assert_eq!(precision.on_interval(&second(k, 0, 0)), Action::Continue);
        }
        assert!(!steady.outcome().attained && !precision.outcome().attained);
    }

    fn minimum_rate(direction: Option<Direction>) -> MinimumRate {
        MinimumRate {
            direction,
            metric: TrackedMetric::Iops,
            min_per_sec: 1000.0,
            cycle_ns: Nanos::secs(1),
        }
    }

    fn latency_target(target_ns: Nanos, percentile: f64) -> LatencyTarget {
        LatencyTarget {
            target_ns,
            window_ns: Nanos::secs(1),
            percentile,
            keep_running: false,
        }
    }

    #[test]
    fn the_latency_search_finds_the_deepest_queue_that_keeps_the_target() {
        // The latency of a device that serves one operation in 10 µs is 10 µs × depth. 250 µs allow
        // a depth of 25.
        let rule = latency_target(Nanos::micros(250), 100.0);
        let mut search = LatencySearch::new(rule, 128);
        let mut depth = search.depth();
        assert_eq!(depth, 1);
        let mut number = 0;
        loop {
            number += 1;
            assert!(number < 60, "the search does not end");
            match search.on_interval(&second(number, 100_000, 10_000 * u64::from(depth))) {
                Action::Continue => {}
                Action::SetDepth(next) | Action::SetDepthAndRestart(next) => depth = next,
                Action::End(_) => break,
            }
        }
        assert_eq!(depth, 25);
        assert_eq!(search.outcome().depth, Some(25));
        assert!(search.outcome().attained);
    }

    #[test]
    fn a_latency_that_even_depth_one_misses_ends_the_search() {
        let rule = latency_target(Nanos::micros(5), 99.0);
        let mut search = LatencySearch::new(rule, 32);
        let action = (0..5)
            .map(|k| search.on_interval(&second(k, 1000, 10_000)))
            .find(|a| *a != Action::Continue);
        assert!(matches!(action, Some(Action::End(_))));
        assert!(!search.outcome().attained);
    }

    /// Two of 100 operations in the first second are slow. They are 2 % of that second, but 0.2 %
    /// of ten.
    #[test]
    fn a_percentile_waits_for_enough_operations() {
        let rule = latency_target(Nanos::millis(5), 99.0);
        let mut search = LatencySearch::new(rule, 1);
        let slow_second = |number: u64, slow: u64| {
            let mut interval = second(number, 100 - slow, 1_000_000);
            let reads = interval.latency.read.as_mut().expect("reads");
            reads.record_times(20_000_000, slow);
            interval
        };
        for number in 0..9 {
            let action = search.on_interval(&slow_second(number, if number == 0 { 2 } else { 0 }));
            assert_eq!(action, Action::Continue, "{number}");
        }
        assert_eq!(
            search.on_interval(&slow_second(9, 0)),
            Action::SetDepthAndRestart(1),
            "0.2 % are slow"
        );
        let few = (10..40).map(|number| search.on_interval(&second(number, 1, 1_000_000)));
        let ended = few.enumerate().find(|(_, action)| *action != Action::Continue);
        assert!(matches!(ended, Some((9, Action::End(_)))), "{ended:?}");
        assert!(
            search
                .outcome()
                .detail
                .ends_with("too few operations for this percentile")
        );
    }

    #[test]
    fn a_job_below_its_minimum_rate_ends_after_two_seconds() {
        let floor_of = |direction| RateFloor::new(minimum_rate(direction), 2);
        let mut floor = floor_of(None);
        assert_eq!(floor.on_interval(&second(0, 100, 10)), Action::Continue);
        assert_eq!(floor.on_interval(&second(1, 100, 10)), Action::Continue);
        assert!(matches!(floor.on_interval(&second(2, 1999, 10)), Action::End(_)));
        let mut floor = floor_of(None);
        assert!((0..20).all(|k| floor.on_interval(&second(k, 2000, 10)) == Action::Continue));
        // These operations are reads, so the job misses a minimum rate of writes.
        let mut floor = floor_of(Some(Direction::Write));
        let ended = floor.on_interval(&second(2, 2000, 10));
        assert_eq!(
            ended,
            Action::End("IOPS of writes fell to 0, below the minimum of 2000".into())
        );
        let mut floor = floor_of(Some(Direction::Read));
        assert!((0..20).all(|k| floor.on_interval(&second(k, 2000, 10)) == Action::Continue));
    }
}
