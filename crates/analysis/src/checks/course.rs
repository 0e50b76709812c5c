//! How a measured window went: did it drift, did its level change, did it stand still?

use model::Nanos;
use model::finding::{Finding, Severity};
use model::observation::{Observation, SeriesPoint};
use model::stats::{Segment, fit_line, mean, segments};

use super::Check;
use crate::figures;

/// Seconds that a window needs before its course can be judged.
const MIN_SECONDS: usize = 20;
/// The fitted line may rise or fall by this share of the mean over the window (SNIA SSS PTS 2.0.1:
/// excursion of the slope).
const EXCURSION: f64 = 0.10;
/// The line must explain a good part of what varies, or it is noise.
const MIN_CORRELATION: f64 = 0.5;
/// Seconds that a level lasts at least.
const MIN_LEVEL: usize = 5;
/// Without a change of level, the first and the last part of the window describe a drift: this
/// share of it each.
const END: f64 = 0.1;
/// Levels that differ by less than this share of the larger one are one.
const CHANGE: f64 = 0.10;
/// A line that misses the series by no more than that many times what levels do says it as well.
const LIKE_A_LINE: f64 = 2.0;
/// Changes that are reported one by one.
const MAX_CHANGES: usize = 4;
/// A standstill that people notice.
const STANDSTILL: Nanos = Nanos::millis(500);
/// Operations that an interval has on average, for one without any to mean something.
const DEFAULT_OPERATIONS: f64 = 10.0;

pub(super) const COURSE: Check = Check {
    rules: &["NOT-STEADY", "STALLS"],
    about: "Whether the rate drifted over the measured window, and whether it stood still in between.",
    detect: |subject, findings| {
        for (_, _, seen) in subject.observations() {
            findings.extend(drift(&seen).into_iter().chain(stalls(&seen)));
        }
    },
};

pub(super) const CHANGES: Check = Check {
    rules: &["CHANGEPOINT"],
    about: "Whether the rate changed from one level to another within the measured window, and when.",
    detect: |subject, findings| {
        findings.extend(subject.observations().filter_map(|(_, _, seen)| changes(&seen)));
    },
};

/// A moment at which a rate changed its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// Seconds from the start of the measured window.
    pub at_secs: f64,
    /// Operations per second before it: the mean of the whole level.
    pub from: f64,
    /// After it, likewise.
    pub to: f64,
}

/// The moments at which the rate of a closed loop changed from one level to another: by more than a
/// tenth, and not along a slope, which is a drift.
pub fn level_changes(seen: &Observation) -> Vec<LevelChange> {
    if seen.load.closed_loop != Some(true) {
        return Vec::new();
    }
    let rates = by_second(&seen.series);
    if rates.len() < MIN_SECONDS {
        return Vec::new();
    }
    let levels = segments(&rates, MIN_LEVEL);
    let changes: Vec<LevelChange> = levels
        .windows(2)
        .map(|pair| (&pair[0], &pair[1]))
        .filter(|(from, to)| (to.level - from.level).abs() > CHANGE * from.level.max(to.level))
        .map(|(from, to)| LevelChange {
            at_secs: to.start as f64,
            from: from.mean,
            to: to.mean,
        })
        .collect();
    // A slope makes a staircase of levels: where a line says it as well, it is a drift.
    if changes.is_empty() || beside_line(&rates) <= LIKE_A_LINE * beside_levels(&rates, &levels) {
        return Vec::new();
    }
    changes
}

fn changes(seen: &Observation) -> Option<Finding> {
    let changes = level_changes(seen);
    if changes.is_empty() {
        return None;
    }
    let levels: Vec<String> = changes
        .iter()
        .take(MAX_CHANGES)
        .map(|change| {
            let (from, to) = (figures::rate(change.from), figures::rate(change.to));
            format!("after {} s from {from} to {to}", change.at_secs)
        })
        .collect();
    let more = match changes.len().saturating_sub(MAX_CHANGES) {
        0 => String::new(),
        more => format!(", and {more} times more"),
    };
    let what = format!("operations per second changed their level: {}{more}", levels.join(", "));
    let finding = Finding::new("CHANGEPOINT", Severity::Warning, what).at(&*seen.name);
    let finding = finding.why("the mean lies between the levels, and the device was never at it");
    Some(finding.help("find out what happened then: a cache that was full, exhausted credits, another program; judge each level separately"))
}

/// Sum of the squares by which a series misses its line.
fn beside_line(values: &[f64]) -> f64 {
    let line = fit_line(values);
    let miss = |(index, value): (usize, &f64)| (value - line.start - line.slope * index as f64).powi(2);
    values.iter().enumerate().map(miss).sum()
}

/// The same by which it misses the means of its segments.
fn beside_levels(values: &[f64], levels: &[Segment]) -> f64 {
    let of = |level: &Segment| {
        values[level.start..level.end]
            .iter()
            .map(|value| (value - level.mean).powi(2))
            .sum::<f64>()
    };
    levels.iter().map(of).sum()
}

/// A rate that is asked for does not drift; latencies do, and are seen elsewhere.
fn drift(seen: &Observation) -> Option<Finding> {
    if seen.load.closed_loop != Some(true) {
        return None;
    }
    let rates = by_second(&seen.series);
    if rates.len() < MIN_SECONDS {
        return None;
    }
    let line = fit_line(&rates);
    let count = rates.len() as f64;
    let change = line.slope * (count - 1.0) / mean(&rates);
    if change.abs() <= EXCURSION || correlation(&rates, line.slope) < MIN_CORRELATION {
        return None;
    }
    let what = match largest_change(seen) {
        Some(step) => format!(
            "operations per second {} at {:.0} s",
            from_to(step.from, step.to),
            step.at_secs
        ),
        None => {
            let count = ((END * rates.len() as f64).round() as usize).max(1);
            let (first, last) = (mean(&rates[..count]), mean(&rates[rates.len() - count..]));
            format!(
                "operations per second {} between the first and the last {count} of {} s",
                from_to(first, last),
                rates.len()
            )
        }
    };
    let finding = Finding::new("NOT-STEADY", Severity::Warning, what).at(&*seen.name);
    let finding =
        finding.why("the mean is that of a change and not of a state: another length would give another figure");
    Some(finding.help("warm up for longer, or wait for a steady state (`--until-steady`, `fathom precondition`)"))
}

fn largest_change(seen: &Observation) -> Option<LevelChange> {
    let size = |step: &LevelChange| (step.to - step.from).abs();
    level_changes(seen)
        .into_iter()
        .max_by(|one, other| size(one).total_cmp(&size(other)))
}

/// Two rates and the change between them: `fell from 6,000 to 3,000 (-50 %)`.
fn from_to(from: f64, to: f64) -> String {
    let verb = if to < from { "fell" } else { "rose" };
    format!(
        "{verb} from {} to {} ({})",
        figures::rate(from),
        figures::rate(to),
        figures::change(to / from)
    )
}

/// Operations of each whole second.
fn by_second(series: &[SeriesPoint]) -> Vec<f64> {
    let Some(length) = series.first().map(|point| point.length_ns) else {
        return Vec::new();
    };
    let each = (1_000_000_000 / length.0.max(1)).max(1) as usize;
    let operations = |point: &SeriesPoint| point.operations.iter().sum::<u64>() as f64;
    let seconds = |points: &[SeriesPoint]| points.iter().map(|point| point.length_ns.as_secs()).sum::<f64>();
    let rate = |points: &[SeriesPoint]| points.iter().map(operations).sum::<f64>() / seconds(points);
    series.chunks_exact(each).map(rate).collect()
}

/// Correlation of a series with time, from the slope of its line.
fn correlation(values: &[f64], slope: f64) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let of_values = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    let of_time = ((count * count - 1.0) / 12.0).sqrt();
    if of_values > 0.0 {
        (slope * of_time / of_values).abs()
    } else {
        0.0
    }
}

fn stalls(seen: &Observation) -> Option<Finding> {
    let total: u64 = seen.series.iter().flat_map(|point| point.operations).sum();
    if seen.load.closed_loop != Some(true) || (total as f64) < DEFAULT_OPERATIONS * seen.series.len() as f64 {
        return None;
    }
    let silent = |point: &SeriesPoint| point.operations.iter().all(|count| *count == 0);
    let mut lengths: Vec<Nanos> = Vec::new();
    let mut current = Nanos(0);
    for point in &seen.series {
        if silent(point) {
            current += point.length_ns;
        } else if current > Nanos(0) {
            lengths.push(std::mem::take(&mut current));
        }
    }
    lengths.push(current);
    lengths.retain(|length| *length >= STANDSTILL);
    let longest = lengths.iter().max()?;
    let times = if lengths.len() == 1 {
        "once".to_owned()
    } else {
        format!("{} times", lengths.len())
    };
    let what = format!("no operation completed for {longest} or less, {times}").replace(" or less, once", ", once");
    let finding = Finding::new("STALLS", Severity::Warning, what).at(&*seen.name);
    let finding = finding.why("programs that wait for this storage stand still as long");
    Some(finding.help("look at the system log and at the device's health for that time; `--out csv` has the intervals"))
}

#[cfg(test)]
mod tests {
    use model::Nanos;
    use model::plan::{Stop, TargetId, Workload};
    use model::results::Results;

    use super::super::samples;

    /// A closed loop with these operations in each interval of 100 ms.
    fn course(operations: &[u64]) -> Results {
        let time = Nanos::millis(100 * operations.len() as u64);
        let mut workload = Workload::new("job", vec![TargetId(0)], Stop::after(time));
        workload.depth = 8;
        samples::with_series(&workload, time, operations)
    }

    fn found(operations: &[u64]) -> Vec<String> {
        let rules = samples::rules(&course(operations));
        rules
            .into_iter()
            .filter(|rule| rule == "NOT-STEADY" || rule == "STALLS")
            .collect()
    }

    #[test]
    fn a_rate_that_falls() {
        let falling: Vec<u64> = (0..300).map(|n| 1000 - n / 2).collect();
        assert_eq!(found(&falling), ["NOT-STEADY"]);
        let slight: Vec<u64> = (0..300).map(|n| 1000 - n / 4).collect();
        assert!(found(&slight).is_empty());
    }

    fn not_steady(operations: &[u64]) -> String {
        let found = super::super::check(&course(operations));
        let mut found = found.into_iter().filter(|finding| finding.rule == "NOT-STEADY");
        found.next().map(|finding| finding.what).unwrap_or_default()
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
        // 100 s of 10,000 to 5,000: 9,750 on average in the first ten seconds, 5,250 in the last.
        let trend: Vec<u64> = (0..1000).map(|n| 1000 - n / 2).collect();
        assert_eq!(
            not_steady(&trend),
            "operations per second fell from 9,755 to 5,255 (-46 %) between the first and the last 10 of 100 s"
        );
    }

    fn steps(operations: &[u64]) -> Vec<model::finding::Finding> {
        let found = super::super::check(&course(operations));
        found
            .into_iter()
            .filter(|finding| finding.rule == "CHANGEPOINT")
            .collect()
    }

    #[test]
    fn a_level_that_changes() {
        // 180 in each second, and 100 more in every other one.
        let noise = |n: u64| n % 10 * 4 + n / 10 % 2 * 10;
        let step: Vec<u64> = (0..600).map(|n| if n < 250 { 1000 } else { 400 } + noise(n)).collect();
        let found = steps(&step);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].what.contains("after 25 s from 10,228 to 4,231"),
            "{}",
            found[0].what
        );
        // 8 % are one level; a slope, even one whose staircase has steps, is a drift.
        let slight: Vec<u64> = (0..600).map(|n| if n < 250 { 1000 } else { 920 } + noise(n)).collect();
        assert!(steps(&slight).is_empty());
        let slope: Vec<u64> = (0..600).map(|n| 1000 - n + noise(n)).collect();
        assert!(steps(&slope).is_empty());
        let level: Vec<u64> = (0..600).map(|n| 1000 + noise(n)).collect();
        assert!(steps(&level).is_empty());
    }

    #[test]
    fn modes_before_and_after_a_change_are_not_two_kinds_of_operation() {
        let why = |operations: &[u64]| {
            let mut results = course(operations);
            let total = &mut samples::reads(&mut results.steps[0].jobs[0]).total;
            total.record_times(50_000, 1_000_000);
            total.record_times(5_000_000, 1_000_000);
            let found = super::super::check(&results).into_iter();
            let modes = found.into_iter().find(|finding| finding.rule == "TWO-MODES");
            modes.and_then(|finding| finding.why).expect("two modes")
        };
        let step: Vec<u64> = (0..600).map(|n| if n < 250 { 1000 } else { 400 }).collect();
        assert!(why(&step).contains("before and after the change"), "{}", why(&step));
        assert!(why(&[1000; 600]).contains("hits and misses"), "{}", why(&[1000; 600]));
    }

    #[test]
    fn noise_is_no_drift() {
        let noise: Vec<u64> = (0..300u64).map(|n| 1000 + (n * 7919 % 400)).collect();
        assert!(found(&noise).is_empty());
    }

    #[test]
    fn a_standstill() {
        let mut still = vec![1000; 300];
        still[100..105].fill(0);
        assert_eq!(found(&still), ["STALLS"]);
        let mut short = vec![1000; 300];
        short[100..104].fill(0);
        assert!(found(&short).is_empty());
        // Few operations come with pauses between them.
        let mut rare = vec![0; 300];
        rare.iter_mut().step_by(10).for_each(|count| *count = 1);
        assert!(found(&rare).is_empty());
    }
}
