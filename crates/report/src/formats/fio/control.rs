//! Outcomes of a job's rules: `latency_target` and `steadystate`.

use model::Nanos;
use model::plan::{Control, Job, SteadyState, TrackedMetric};
use model::results::{ControlOutcome, JobResults, Point, Series};
use model::stats::fit_line;

use super::entries::Member;
use super::settings::JobSettings;

/// The latency target, and the queue depth found for it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Target {
    pub target: Nanos,
    pub window: Nanos,
    pub percentile: f64,
    pub depth: u32,
}

/// A steady state, reached or not.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Steady {
    pub rule: SteadyState,
    pub attained: bool,
    /// Largest distance from the mean; 0 where the slope is judged.
    pub deviation: f64,
    /// Change per interval; 0 where the deviation is judged.
    pub slope: f64,
    /// The value that is compared with the limit.
    pub criterion: f64,
    /// Operations per second in each interval of the window.
    pub iops: Vec<u64>,
    /// Bytes per second.
    pub bandwidth: Vec<u64>,
    /// Mean latency in ns, if the rule judges it.
    pub latency: Vec<u64>,
}

/// Finds a rule with its outcome.
fn find_rule<T>(
    job: &Job,
    results: &JobResults,
    rule: impl Fn(&Control) -> Option<T>,
) -> Option<(T, Option<ControlOutcome>)> {
    let rules = job.control.iter().enumerate();
    let (index, rule) = rules
        .filter_map(|(index, control)| Some((index, rule(control)?)))
        .next()?;
    Some((rule, results.control.get(index).cloned()))
}

/// The latency target. fio prints its defaults if no target is set; plans of other dialects have
/// none.
pub(super) fn evaluate_target(member: &Member, settings: &JobSettings, is_fio: bool) -> Option<Target> {
    let planned = || {
        let slots = member.job.workers.first().map(|worker| worker.slots());
        settings.depth.or(slots).unwrap_or(1)
    };
    let matching_rule = find_rule(member.job, member.job_results, |control| match control {
        Control::LatencyTarget(target) => Some(*target),
        Control::Precision(_) | Control::SteadyState(_) | Control::MinimumRate(_) => None,
    });
    match matching_rule {
        Some((rule, outcome)) => Some(Target {
            target: rule.target_ns,
            window: rule.window_ns,
            percentile: rule.percentile,
            // The search starts at depth 1.
            depth: outcome.map_or_else(planned, |outcome| outcome.depth.unwrap_or(1)),
        }),
        None => is_fio.then(|| Target {
            target: Nanos(0),
            window: Nanos(0),
            percentile: 100.0,
            depth: planned(),
        }),
    }
}

pub(super) fn evaluate_steady_state(member: &Member) -> Option<Steady> {
    let (rule, outcome) = find_rule(member.job, member.job_results, |control| match control {
        Control::SteadyState(rule) => Some(*rule),
        Control::Precision(_) | Control::LatencyTarget(_) | Control::MinimumRate(_) => None,
    })?;
    let points = points_of_window(member.job_results, &rule);
    let rate = |amount: u64| (u128::from(amount) * 1_000_000_000 / u128::from(rule.interval_ns.0.max(1))) as u64;
    let judged: Vec<f64> = outcome
        .as_ref()
        .map(|outcome| outcome.series.clone())
        .unwrap_or_default();
    let mean = match judged.len() {
        0 => 0.0,
        count => judged.iter().sum::<f64>() / count as f64,
    };
    let largest_distance = judged.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
    let (deviation, slope) = match rule.slope {
        true => (0.0, fit_line(&judged).slope),
        false => (largest_distance, 0.0),
    };
    let absolute = if rule.slope { slope } else { deviation };
    Some(Steady {
        rule,
        attained: outcome.is_some_and(|outcome| outcome.attained),
        deviation,
        slope,
        criterion: match rule.percent {
            true if mean != 0.0 => (absolute / mean * 100.0).abs(),
            _ => absolute.abs(),
        },
        iops: points.iter().map(|point| rate(point.operations)).collect(),
        bandwidth: points.iter().map(|point| rate(point.bytes)).collect(),
        latency: match rule.metric {
            TrackedMetric::Latency => judged.iter().map(|value| value.round() as u64).collect(),
            TrackedMetric::Iops | TrackedMetric::Throughput => Vec::new(),
        },
    })
}

/// The last intervals of the job that the rule evaluates.
fn points_of_window(results: &JobResults, rule: &SteadyState) -> Vec<Point> {
    let fits = |series: &&Series| series.length_ns == rule.interval_ns;
    let whole: Vec<&Series> = results
        .series
        .iter()
        .filter(fits)
        .filter(|series| series.source.is_none())
        .collect();
    let used: Vec<&Series> = match whole.is_empty() {
        true => results.series.iter().filter(fits).collect(),
        false => whole,
    };
    let length = rule.interval_ns.0.max(1);
    let complete = (results.measured().0 / length) as usize;
    let mut sums: Vec<Point> = Vec::new();
    for points in used
        .iter()
        .flat_map(|series| series.points.iter().map(|(_, points)| points))
    {
        let points = &points[..points.len().min(complete)];
        sums.resize(sums.len().max(points.len()), Point::default());
        sums.iter_mut().zip(points).for_each(|(sum, point)| sum.merge(point));
    }
    let count = (rule.window_ns.0 / length) as usize;
    sums.split_off(sums.len().saturating_sub(count))
}
