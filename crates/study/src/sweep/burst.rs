//! Finds curves that mix a burst rate with the sustained rate to which later points fell.

use analysis::knee::{Advice, AdviceKind};
use analysis::{LevelChange, level_changes, round_to_three_digits};
use model::Nanos;
use model::observation::Observation;
use model::study::{RunRole, StudyRun};
use serde::Serialize;

use crate::numbers::format_number;

/// Rates that differ by less than this share are the same level.
const SAME_LEVEL: f64 = 0.05;
/// A point that exceeds the sustained rate by this factor ran at least partly at a burst rate.
const BURST_FACTOR: f64 = 1.1;
/// Points at the sustained rate that exclude a single disturbance as the cause.
const MIN_POINTS: usize = 2;
/// Reserve of the advised warm-up: the credits are known only roughly.
const WARM_UP_RESERVE: f64 = 1.25;
/// The advised warm-up is a multiple of this, and at most an hour.
const WARM_UP_STEP_SECS: f64 = 10.0;
const MAX_WARM_UP_SECS: f64 = 3600.0;

/// A sustained rate to which points fell, on a curve whose other points exceed it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MixedRates {
    /// The common lower rate, in operations per second.
    pub sustained_iops: f64,
    /// Points that fell to it, or ran at it from the start after another had fallen.
    pub fallen: usize,
    /// All points of the curve.
    pub points: usize,
    /// The warm-up that uses up the burst at every point.
    pub warm_up: Nanos,
}

/// A run of the curve, in the order of measurement.
struct MeasuredRun {
    role: RunRole,
    mean_iops: f64,
    /// Seconds of load before the measured window.
    warm_up_secs: f64,
    /// The last fall within the window.
    fall: Option<LevelChange>,
}

impl MeasuredRun {
    fn from_run(run: &StudyRun) -> Option<MeasuredRun> {
        let seen = Observation::from_results(&run.results, 0, 0)?;
        let job = run.results.plan.steps.first()?.jobs.first()?;
        let last = level_changes(&seen).into_iter().next_back();
        Some(MeasuredRun {
            role: run.role,
            mean_iops: seen.total.iops?,
            warm_up_secs: job.phases.warm_up_ns.as_secs(),
            fall: last.filter(|change| change.to < change.from),
        })
    }

    /// The rate at its end.
    fn last_rate(&self) -> f64 {
        self.fall.map_or(self.mean_iops, |fall| fall.to)
    }

    /// The rate at its start.
    fn first_rate(&self) -> f64 {
        self.fall.map_or(self.mean_iops, |fall| fall.from)
    }
}

/// Finds a common lower rate to which points of a curve fell in the order of measurement. `runs`
/// are the points of the curve, in that order.
pub(super) fn find_mixed_rates<'a>(runs: impl Iterator<Item = &'a StudyRun>) -> Option<MixedRates> {
    mixed_rates(&runs.filter_map(MeasuredRun::from_run).collect::<Vec<_>>())
}

fn mixed_rates(runs: &[MeasuredRun]) -> Option<MixedRates> {
    let first_fall = runs.iter().position(|run| run.fall.is_some())?;
    let mut levels: Vec<f64> = runs.iter().filter_map(|run| Some(run.fall?.to)).collect();
    levels.sort_by(f64::total_cmp);
    let sustained_iops = levels[levels.len() / 2];
    let is_sustained = |run: &&MeasuredRun| (run.last_rate() / sustained_iops - 1.0).abs() <= SAME_LEVEL;
    let is_point = |run: &&MeasuredRun| run.role == RunRole::Measured;
    let later = &runs[first_fall..];
    let fallen = later.iter().filter(is_sustained).filter(is_point).count();
    let exceeds = |run: &MeasuredRun| run.mean_iops > BURST_FACTOR * sustained_iops;
    if fallen < MIN_POINTS || !runs.iter().any(exceeds) {
        return None;
    }
    let falls = runs.iter().filter_map(|run| Some((run, run.fall?)));
    let credits = falls
        .map(|(run, fall)| (fall.from - sustained_iops) * (run.warm_up_secs + fall.at_secs))
        .fold(0.0, f64::max);
    // A point just above the sustained rate uses up the same credits more slowly.
    let needed = runs
        .iter()
        .map(MeasuredRun::first_rate)
        .filter(|rate| *rate > BURST_FACTOR * sustained_iops)
        .map(|rate| credits / (rate - sustained_iops))
        .fold(0.0, f64::max);
    let steps = (WARM_UP_RESERVE * needed / WARM_UP_STEP_SECS).ceil().max(1.0);
    Some(MixedRates {
        sustained_iops,
        fallen,
        points: runs.iter().filter(is_point).count(),
        warm_up: Nanos::secs((steps * WARM_UP_STEP_SECS).min(MAX_WARM_UP_SECS) as u64),
    })
}

impl MixedRates {
    /// Formats the warm-up as a value of `--warm-up`.
    pub fn warm_up_option(&self) -> String {
        format!("{:.0}s", self.warm_up.as_secs())
    }

    /// The advice that replaces the curve's, which holds for no rate that lasts.
    pub(super) fn advice(&self) -> Advice {
        Advice {
            kind: AdviceKind::MixedRates,
            sentence: format!(
                "The sustained rate is about {} operations per second: {} of {} points fell to it. The curve mixes \
                 burst rates and the sustained rate, so it shows no load to use. Repeat the sweep with --warm-up {}, \
                 which uses up the burst at every point.",
                format_number(round_to_three_digits(self.sustained_iops)),
                self.fallen,
                self.points,
                self.warm_up_option()
            ),
            ..Advice::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(mean_iops: f64, fall: Option<(f64, f64, f64)>) -> MeasuredRun {
        MeasuredRun {
            role: RunRole::Measured,
            mean_iops,
            warm_up_secs: 5.0,
            fall: fall.map(|(at_secs, from, to)| LevelChange { at_secs, from, to }),
        }
    }

    /// 100,000 credits at 3,000 per second, as of a small cloud disk.
    #[test]
    fn points_that_fell_to_one_rate_are_found() {
        let runs = vec![
            run(2_120.0, None),
            run(4_420.0, Some((29.0, 5_910.0, 3_000.0))),
            run(4_240.0, None),
            run(3_010.0, None),
        ];
        let rates = mixed_rates(&runs).unwrap();
        assert_eq!((rates.sustained_iops, rates.fallen, rates.points), (3_000.0, 2, 4));
        // 34 s × 2,910 = 98,940 credits last 79.8 s at 4,240; with a reserve, 100 s.
        assert_eq!(rates.warm_up_option(), "100s");
    }

    #[test]
    fn a_disturbed_point_of_a_flat_curve_is_no_burst() {
        let runs = vec![
            run(35_000.0, None),
            run(36_000.0, Some((10.0, 40_000.0, 35_000.0))),
            run(35_100.0, None),
            run(34_900.0, None),
        ];
        assert_eq!(mixed_rates(&runs), None);
        assert_eq!(mixed_rates(&[run(100.0, None), run(200.0, None)]), None);
    }

    #[test]
    fn points_before_the_first_fall_do_not_count() {
        let runs = vec![
            run(3_000.0, None),
            run(3_010.0, None),
            run(6_000.0, Some((50.0, 8_000.0, 3_000.0))),
        ];
        assert_eq!(mixed_rates(&runs), None);
    }
}
