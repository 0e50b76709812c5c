//! Checks whether the rate was steady over the measured window: drift, level changes and stalls.

use model::Nanos;
use model::finding::{Finding, Severity};
use model::observation::{Observation, SeriesPoint};
use model::stats::{Segment, fit_line, mean, segments};

use super::Check;
use crate::attribution::is_simulated;
use crate::figures;
use crate::shifts::{Gap, find_gaps};

/// A shorter window is not judged.
const MIN_SECONDS: usize = 20;
/// Maximum change of the fitted line over the window, as a share of the mean (SNIA SSS PTS 2.0.1,
/// slope excursion).
const MAX_SLOPE_EXCURSION: f64 = 0.10;
/// A slope with a weaker correlation with time is noise.
const MIN_CORRELATION: f64 = 0.5;
/// Shorter levels are merged into their neighbours.
const MIN_LEVEL_SECONDS: usize = 5;
/// A drift is reported as the means of this share of the window at each end.
const TREND_END_SHARE: f64 = 0.1;
/// Levels that differ by less than this share of the larger one count as the same.
const MIN_LEVEL_CHANGE: f64 = 0.10;
/// A series is a slope if a line has at most this multiple of the levels' squared error.
const MAX_LINE_ERROR_RATIO: f64 = 2.0;
/// A finding summarizes more changes.
const MAX_LISTED_CHANGES: usize = 3;
/// Shorter gaps are not reported.
const MIN_STALL: Nanos = Nanos::millis(500);
/// Shorter stalls count if they take this share of the window together, because they raise p99.
const MIN_SHORT_STALL: Nanos = Nanos::millis(300);
const MIN_STALLED_SHARE: f64 = 0.02;
/// With fewer operations per interval on average, an empty interval is normal.
const MIN_MEAN_OPERATIONS_PER_INTERVAL: f64 = 10.0;

pub(super) const STEADINESS: Check = Check {
    rules: &["NOT-STEADY", "STALLS", "PROGRAM-STOPPED"],
    about: "Whether the rate drifted over the measured window, and whether it dropped to zero at times, because of \
        the storage or of a program that was stopped.",
    detect: |input, findings| {
        for (step, job, observation) in input.observations() {
            let awaited = input.results.plan.steps[step].jobs[job].awaits_steady_state();
            findings.extend(detect_drift(&observation, awaited));
            findings.extend(detect_stalls(&observation));
        }
    },
};

pub(super) const LEVEL_CHANGES: Check = Check {
    rules: &["CHANGEPOINT"],
    about: "Whether the rate changed from one level to another within the measured window, and when.",
    detect: |input, findings| {
        findings.extend(
            input
                .observations()
                .filter_map(|(_, _, observation)| detect_level_change(&observation)),
        );
    },
};

/// A point in time at which the rate moved to another level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// Seconds from the start of the measured window.
    pub at_secs: f64,
    /// Operations per second before it: the mean of the whole level.
    pub from: f64,
    /// The mean of the level after it.
    pub to: f64,
}

/// Finds where the rate of a closed loop changed its level by more than a tenth. A slope is a
/// drift, not a change.
pub fn level_changes(observation: &Observation) -> Vec<LevelChange> {
    if observation.load.closed_loop != Some(true) {
        return Vec::new();
    }
    let rates = rates_by_second(&observation.series);
    if rates.len() < MIN_SECONDS {
        return Vec::new();
    }
    let levels = segments(&rates, MIN_LEVEL_SECONDS);
    let changes: Vec<LevelChange> = levels
        .windows(2)
        .map(|pair| (&pair[0], &pair[1]))
        .filter(|(from, to)| (to.level - from.level).abs() > MIN_LEVEL_CHANGE * from.level.max(to.level))
        .map(|(from, to)| LevelChange {
            at_secs: to.start as f64,
            from: from.mean,
            to: to.mean,
        })
        .collect();
    // A slope splits into a staircase of levels, so it counts as a drift if a line fits about as
    // well.
    if changes.is_empty() || line_error(&rates) <= MAX_LINE_ERROR_RATIO * level_error(&rates, &levels) {
        return Vec::new();
    }
    changes
}

fn detect_level_change(observation: &Observation) -> Option<Finding> {
    let changes = level_changes(observation);
    if changes.is_empty() {
        return None;
    }
    let described = if changes.len() <= MAX_LISTED_CHANGES {
        let describe = |change: &LevelChange| {
            let (from, to) = (figures::format_rate(change.from), figures::format_rate(change.to));
            format!("from {from} to {to} at {} s", change.at_secs)
        };
        changes.iter().map(describe).collect::<Vec<_>>().join(", ")
    } else {
        let rates = || changes.iter().flat_map(|change| [change.from, change.to]);
        let (slowest, fastest) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        let (slowest, fastest) = (figures::format_rate(slowest), figures::format_rate(fastest));
        format!("{} times, between {slowest} and {fastest}", changes.len())
    };
    let message = format!("operations per second changed {described}");
    let finding = Finding::new("CHANGEPOINT", Severity::Warning, message).at(&*observation.name);
    let finding = finding.why("the mean is between the levels: the device never ran at that rate");
    Some(finding.help(
        "look for a cause at that time (full cache, exhausted burst credits, other programs), and \
        judge each level separately",
    ))
}

/// Sum of squared residuals from the fitted line.
fn line_error(values: &[f64]) -> f64 {
    let line = fit_line(values);
    let squared_residual = |(index, value): (usize, &f64)| (value - line.start - line.slope * index as f64).powi(2);
    values.iter().enumerate().map(squared_residual).sum()
}

/// Sum of squared residuals from the mean of each segment.
fn level_error(values: &[f64], levels: &[Segment]) -> f64 {
    let squared_residuals = |level: &Segment| {
        values[level.start..level.end]
            .iter()
            .map(|value| (value - level.mean).powi(2))
            .sum::<f64>()
    };
    levels.iter().map(squared_residuals).sum()
}

/// Finds a drift. Only a closed loop can drift, because a paced rate is fixed.
fn detect_drift(observation: &Observation, awaited: bool) -> Option<Finding> {
    if observation.load.closed_loop != Some(true) {
        return None;
    }
    let rates = rates_by_second(&observation.series);
    if rates.len() < MIN_SECONDS {
        return None;
    }
    let line = fit_line(&rates);
    let count = rates.len() as f64;
    let change = line.slope * (count - 1.0) / mean(&rates);
    if change.abs() <= MAX_SLOPE_EXCURSION || time_correlation(&rates, line.slope) < MIN_CORRELATION {
        return None;
    }
    let message = match largest_change(observation) {
        Some(step) => format!(
            "operations per second {} at {:.0} s",
            describe_change(step.from, step.to),
            step.at_secs
        ),
        None => {
            let count = ((TREND_END_SHARE * rates.len() as f64).round() as usize).max(1);
            let (first, last) = (mean(&rates[..count]), mean(&rates[rates.len() - count..]));
            format!(
                "operations per second {} between the first and the last {count} s of {} s",
                describe_change(first, last),
                rates.len()
            )
        }
    };
    let finding = Finding::new("NOT-STEADY", Severity::Warning, message).at(&*observation.name);
    let finding = finding.why("the rate was still changing, so the mean depends on how long the test ran");
    Some(finding.help(match awaited {
        true => "`--until-steady` still ended the test: use a smaller limit or a longer window for it",
        false => "warm up for longer, or wait for a steady state (`--until-steady`, `fathom precondition`)",
    }))
}

fn largest_change(observation: &Observation) -> Option<LevelChange> {
    let change_size = |step: &LevelChange| (step.to - step.from).abs();
    level_changes(observation)
        .into_iter()
        .max_by(|a, b| change_size(a).total_cmp(&change_size(b)))
}

/// Describes a change of rate: `fell from 6,000 to 3,000 (-50 %)`.
fn describe_change(from: f64, to: f64) -> String {
    let verb = if to < from { "fell" } else { "rose" };
    format!(
        "{verb} from {} to {} ({})",
        figures::format_rate(from),
        figures::format_rate(to),
        figures::format_change(to / from)
    )
}

/// Operations per second in each whole second.
fn rates_by_second(series: &[SeriesPoint]) -> Vec<f64> {
    let Some(length) = series.first().map(|point| point.length_ns) else {
        return Vec::new();
    };
    let per_second = (1_000_000_000 / length.0.max(1)).max(1) as usize;
    let operations = |point: &SeriesPoint| point.operations.iter().sum::<u64>() as f64;
    let seconds = |points: &[SeriesPoint]| points.iter().map(|point| point.length_ns.as_secs()).sum::<f64>();
    let rate = |points: &[SeriesPoint]| points.iter().map(operations).sum::<f64>() / seconds(points);
    series.chunks_exact(per_second).map(rate).collect()
}

/// Correlation of a series with time, from the slope of its line.
fn time_correlation(values: &[f64], slope: f64) -> f64 {
    let count = values.len() as f64;
    let mean = mean(values);
    let value_deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let time_deviation = ((count * count - 1.0) / 12.0).sqrt();
    if value_deviation > 0.0 {
        (slope * time_deviation / value_deviation).abs()
    } else {
        0.0
    }
}

/// Finds gaps of the storage, and gaps in which this program did not run.
fn detect_stalls(observation: &Observation) -> Vec<Finding> {
    let (stopped, stalled): (Vec<Gap>, Vec<Gap>) = find_long_gaps(observation)
        .into_iter()
        .partition(|gap| was_stopped(observation, *gap));
    let mut findings = Vec::new();
    if !stopped.is_empty() {
        let message = format!(
            "this program did not run {}: it or its machine was stopped, or no processor was free",
            describe_gaps(observation, &stopped)
        );
        let finding = Finding::new("PROGRAM-STOPPED", Severity::Warning, message).at(&*observation.name);
        let finding = finding.why("no operation was issued or counted during that time, regardless of the storage");
        findings.push(finding.help("repeat the test while nothing stops it (SIGSTOP, a freezer, a paused machine)"));
    }
    if !stalled.is_empty() {
        findings.push(stalls_finding(observation, &stalled));
    }
    findings
}

/// True if stalls of the storage took at least one percent of the window, so that they set the p99.
pub(super) fn stalls_set_p99(observation: &Observation) -> bool {
    let gaps = find_long_gaps(observation).into_iter();
    let stalls = gaps.filter(|gap| !was_stopped(observation, *gap));
    let stalled: u64 = stalls.map(|gap| gap.length_ns.0).sum();
    let window: u64 = observation.series.iter().map(|point| point.length_ns.0).sum();
    stalled > 0 && 100 * stalled >= window
}

/// True if this program did not run for most of a gap.
fn was_stopped(observation: &Observation, gap: Gap) -> bool {
    let end = gap.start_ns + gap.length_ns;
    let hosts = observation.seconds.iter().flat_map(|second| &second.hosts);
    let mut overlapping = hosts.filter(|host| host.start_ns < end && gap.start_ns < host.start_ns + host.length_ns);
    overlapping.any(|host| host.paused_ns.is_some_and(|pause| 2 * pause.0 > gap.length_ns.0))
}

fn find_long_gaps(observation: &Observation) -> Vec<Gap> {
    let total: u64 = observation.series.iter().flat_map(|point| point.operations).sum();
    let is_even = observation.load.closed_loop == Some(true) || observation.load.rate_iops.is_some();
    if !is_even || (total as f64) < MIN_MEAN_OPERATIONS_PER_INTERVAL * observation.series.len() as f64 {
        return Vec::new();
    }
    let gaps = find_gaps(observation).filter(|gap| gap.length_ns >= MIN_SHORT_STALL);
    let mut gaps: Vec<Gap> = gaps.collect();
    let stalled: u64 = gaps.iter().map(|gap| gap.length_ns.0).sum();
    let window: u64 = observation.series.iter().map(|point| point.length_ns.0).sum();
    if (stalled as f64) < MIN_STALLED_SHARE * window as f64 {
        gaps.retain(|gap| gap.length_ns >= MIN_STALL);
    }
    gaps
}

/// Describes when gaps were, and how long.
fn describe_gaps(observation: &Observation, gaps: &[Gap]) -> String {
    let gaps: Vec<(f64, f64)> = gaps
        .iter()
        .map(|gap| (gap.start_ns.as_secs(), gap.length_ns.as_secs()))
        .collect();
    let window: f64 = observation.series.iter().map(|point| point.length_ns.as_secs()).sum();
    figures::describe_stalls(observation.started_unix_ns, &gaps, window)
}

fn stalls_finding(observation: &Observation, stalls: &[Gap]) -> Finding {
    let ended = match observation.errors {
        None | Some(0) => "completed",
        Some(_) => "succeeded",
    };
    let message = format!("no operation {ended} {}", describe_gaps(observation, stalls));
    let finding = Finding::new("STALLS", Severity::Warning, message).at(&*observation.name);
    let finding = finding.why("programs that wait for this storage stall for as long");
    finding.help(match is_simulated(observation) {
        true => "list the intervals with `--out csv`",
        false => "check the system log and the device's health at that time; list the intervals with `--out csv`",
    })
}

#[cfg(test)]
mod tests {
    use model::finding::Finding;
    use model::plan::{Pacing, Rate, Stop, TargetId, Workload};
    use model::results::Results;
    use model::seconds::{HostSample, IntervalFacts};
    use model::testing::{assert_contains, assert_starts_with};
    use model::{Direction, Nanos};

    use super::super::support::MODES;
    use super::super::{CheckInput, samples};
    use super::{LEVEL_CHANGES, STEADINESS};

    /// A closed loop with these operations in each interval of 100 ms.
    fn results(operations: &[u64]) -> Results {
        let time = Nanos::millis(100 * operations.len() as u64);
        let mut workload = Workload::new("job", vec![TargetId(0)], Stop::after(time));
        workload.depth = 8;
        samples::with_series(&workload, time, operations)
    }

    /// The findings of these checks alone: the diagnosis replaces those about a fall.
    fn detect(results: &Results) -> Vec<Finding> {
        let (input, mut findings) = (CheckInput::new(results), Vec::new());
        for check in [STEADINESS, LEVEL_CHANGES, MODES] {
            (check.detect)(&input, &mut findings);
        }
        findings
    }

    fn detect_rule(results: &Results, rule: &str) -> Finding {
        let mut found = detect(results).into_iter();
        found.find(|finding| finding.rule == rule).expect("the finding")
    }

    fn find_rules(operations: &[u64]) -> Vec<String> {
        let rules = detect(&results(operations)).into_iter().map(|finding| finding.rule);
        rules.filter(|rule| rule == "NOT-STEADY" || rule == "STALLS").collect()
    }

    /// The sampling thread did not run either.
    #[test]
    fn a_stopped_program_is_not_a_stall() {
        let gap: Vec<u64> = (0..300)
            .map(|n| if (100..130).contains(&n) { 0 } else { 100 })
            .collect();
        let mut results = results(&gap);
        let second = |number: u64| IntervalFacts {
            start_ns: Nanos::secs(number),
            length_ns: Nanos::secs(1),
            ..IntervalFacts::default()
        };
        results.steps[0].jobs[0].seconds = (0..30).map(second).collect();
        let sample = |start: u64, length: u64, paused: Option<u64>| HostSample {
            start_ns: Nanos::secs(start),
            length_ns: Nanos::secs(length),
            paused_ns: paused.map(Nanos::millis),
            ..HostSample::default()
        };
        let rules = |results: &Results| samples::rules(results);
        results.steps[0].samples = vec![sample(9, 4, None)];
        assert!(rules(&results).contains(&"STALLS".to_owned()));
        results.steps[0].samples = vec![sample(9, 4, Some(2900))];
        let found = rules(&results);
        assert!(
            found.contains(&"PROGRAM-STOPPED".to_owned()) && !found.contains(&"STALLS".to_owned()),
            "{found:?}"
        );
        let stopped = samples::finding(&results, "PROGRAM-STOPPED").what;
        assert_starts_with(&stopped, "this program did not run for 3.0 s, at ");
        // A pause elsewhere explains nothing.
        results.steps[0].samples = vec![sample(5, 4, Some(2900)), sample(9, 4, None)];
        assert!(rules(&results).contains(&"STALLS".to_owned()));
    }

    /// Only completely empty intervals count, so the real stall may be longer.
    #[test]
    fn a_stall_reports_whether_operations_failed() {
        let stalls: Vec<u64> = (0..300).map(|n| if n % 100 < 8 { 0 } else { 100 }).collect();
        let mut results = results(&stalls);
        let describe_stalls = |results: &Results| samples::finding(results, "STALLS").what;
        assert_eq!(
            describe_stalls(&results),
            "no operation completed for 0.8 s, 3 times (8 % of the time), at 0.0 s, 10.0 s, 20.0 s"
        );
        results.plan.steps[0].jobs[0].workers[0].streams[0].pacing = Pacing::Together { rate: Rate::iops(970) };
        assert_starts_with(&describe_stalls(&results), "no operation completed for 0.8 s, 3 times");
        let stream = &mut results.steps[0].jobs[0].workers[0].streams[0];
        stream.directions[Direction::Read].as_mut().unwrap().errors = 1;
        assert_contains(&describe_stalls(&results), "no operation succeeded");
    }

    /// The diagnosis finds the same stall.
    #[test]
    fn a_stall_is_one_finding_with_its_time_of_day() {
        let stall: Vec<u64> = (0..300)
            .map(|n| if (100..120).contains(&n) { 0 } else { 100 })
            .collect();
        let mut results = results(&stall);
        results.hosts[0].started_unix_ns = 1_795_964_034_000_000_000;
        let found = samples::rules(&results);
        assert!(
            found.contains(&"STALLS".to_owned()) && !found.contains(&"D-STALL".to_owned()),
            "{found:?}"
        );
        assert_eq!(
            samples::finding(&results, "STALLS").what,
            "no operation completed for 2.0 s, at 14:54:04 UTC (10.0 s)"
        );
    }

    #[test]
    fn a_falling_rate_is_reported() {
        let falling: Vec<u64> = (0..300).map(|n| 1000 - n / 2).collect();
        assert_eq!(find_rules(&falling), ["NOT-STEADY"]);
        let slight: Vec<u64> = (0..300).map(|n| 1000 - n / 4).collect();
        assert!(find_rules(&slight).is_empty());
    }

    fn not_steady(operations: &[u64]) -> String {
        detect_rule(&results(operations), "NOT-STEADY").what
    }

    #[test]
    fn a_step_is_reported_with_the_means_on_both_sides() {
        let step: Vec<u64> = (0..2000).map(|n| if n < 1000 { 600 } else { 300 }).collect();
        assert_eq!(
            not_steady(&step),
            "operations per second fell from 6,000 to 3,000 (-50 %) at 100 s"
        );
    }

    #[test]
    fn a_trend_is_reported_with_the_means_of_its_ends() {
        // 100 s of 10,000 to 5,000: 9,755 on average in the first ten seconds, 5,255 in the last.
        let trend: Vec<u64> = (0..1000).map(|n| 1000 - n / 2).collect();
        assert_eq!(
            not_steady(&trend),
            "operations per second fell from 9,760 to 5,260 (-46 %) between the first and the last 10 s of 100 s"
        );
    }

    fn steps(operations: &[u64]) -> Vec<Finding> {
        let found = detect(&results(operations)).into_iter();
        found.filter(|finding| finding.rule == "CHANGEPOINT").collect()
    }

    #[test]
    fn a_level_change_is_reported() {
        // 180 more operations in each second, and another 100 in every other second.
        let noise = |n: u64| n % 10 * 4 + n / 10 % 2 * 10;
        let step: Vec<u64> = (0..600).map(|n| if n < 250 { 1000 } else { 400 } + noise(n)).collect();
        let found = steps(&step);
        assert_eq!(found.len(), 1);
        assert_contains(&found[0].what, "from 10,200 to 4,230 at 25 s");
        let levels: Vec<u64> = (0..600)
            .map(|n| if n / 120 % 2 == 0 { 1000 } else { 400 } + noise(n))
            .collect();
        assert_contains(&steps(&levels)[0].what, "changed 4 times, between 4,230 and 10,200");
        // Levels that differ by 8 % count as one. A slope is a drift, even though it splits into
        // steps.
        let slight: Vec<u64> = (0..600).map(|n| if n < 250 { 1000 } else { 920 } + noise(n)).collect();
        assert!(steps(&slight).is_empty());
        let slope: Vec<u64> = (0..600).map(|n| 1000 - n + noise(n)).collect();
        assert!(steps(&slope).is_empty());
        let level: Vec<u64> = (0..600).map(|n| 1000 + noise(n)).collect();
        assert!(steps(&level).is_empty());
    }

    #[test]
    fn modes_before_and_after_a_change_are_not_two_kinds_of_operation() {
        let reason_for_modes = |operations: &[u64]| {
            let mut results = results(operations);
            let total = &mut samples::reads(&mut results.steps[0].jobs[0]).total;
            total.record_times(50_000, 1_000_000);
            total.record_times(5_000_000, 1_000_000);
            detect_rule(&results, "TWO-MODES").why.expect("a reason")
        };
        let step: Vec<u64> = (0..600).map(|n| if n < 250 { 1000 } else { 400 }).collect();
        assert_contains(&reason_for_modes(&step), "before and after the change");
        assert_contains(&reason_for_modes(&[1000; 600]), "hits and misses");
    }

    #[test]
    fn noise_is_not_a_drift() {
        let noise: Vec<u64> = (0..300u64).map(|n| 1000 + (n * 7919 % 400)).collect();
        assert!(find_rules(&noise).is_empty());
    }

    #[test]
    fn stalls_are_reported() {
        let mut stalled = vec![1000; 300];
        stalled[100..105].fill(0);
        assert_eq!(find_rules(&stalled), ["STALLS"]);
        let mut short = vec![1000; 300];
        short[100..104].fill(0);
        assert!(find_rules(&short).is_empty());
        // In 10 s the same gap raises p99.
        assert_eq!(find_rules(&short[50..150]), ["STALLS"]);
        // At a low rate, empty intervals are normal.
        let mut rare = vec![0; 300];
        rare.iter_mut().step_by(10).for_each(|count| *count = 1);
        assert!(find_rules(&rare).is_empty());
    }
}
