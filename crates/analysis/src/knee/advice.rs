//! Derives the recommendation from a curve, as a sentence that claims only measured facts.

use serde::Serialize;

use super::limit::decided_points;
use super::{Axis, Bounds, Knee, Limit, LimitResult, Point, is_flat_from};
use crate::figures::{format_change, format_number, format_rate, format_time};

/// A recommendation.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Advice {
    /// The kind of answer.
    pub kind: AdviceKind,
    /// The recommended load; absent if the points do not show one.
    pub load: Option<f64>,
    /// The knee, or the largest load within the limit, is at or above this measured load.
    pub at_least: Option<f64>,
    /// The knee, or the largest load within the limit, is at or below this measured load.
    pub at_most: Option<f64>,
    /// The recommendation as text.
    pub sentence: String,
}

/// The kind of answer of an [`Advice`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceKind {
    /// Too few points.
    #[default]
    TooFew,
    /// The curve has a knee.
    Knee,
    /// The curve bends, but the points are too far apart to show where.
    Between,
    /// The rate still rises with the load at the last point.
    StillRising,
    /// The rate does not rise with the load.
    Flat,
    /// The largest load within the limit.
    LimitKept,
    /// Every point meets the limit.
    LimitNotReached,
    /// No point meets the limit.
    LimitMissed,
    /// Too few operations to decide whether the limit is met.
    LimitUnknown,
    /// The largest offered rate that was delivered.
    Delivered,
    /// Every offered rate was delivered.
    AllDelivered,
    /// Not even the smallest offered rate was delivered.
    NoneDelivered,
    /// Some points ran at a burst rate and others at the sustained rate.
    MixedRates,
    /// Findings invalidate the figures of points.
    Doubtful,
}

/// At this multiple of the unloaded latency, waiting takes as long as the service: the usual sign
/// of a queue.
const WAITING_FACTOR: f64 = 2.0;
/// Minimum growth of a rate over the whole sweep. With less, it does not depend on the load.
const MIN_GAIN: f64 = 1.1;
/// From this power of the load on, growth of the rate counts as nearly proportional.
const MIN_PROPORTIONAL_POWER: f64 = 0.7;
/// A rate below this share of the offered one was not delivered. The margin allows for the window's
/// edges.
const MIN_DELIVERED_SHARE: f64 = 0.99;
/// Rates that differ by less than this share count as equal.
const MAX_EQUAL_RATE_DIFFERENCE: f64 = 0.02;

/// A load as text.
fn format_load(axis: Axis, load: f64) -> String {
    match axis {
        Axis::InFlight => format!("{} in flight", format_number(load)),
        Axis::Targets if load == 1.0 => "1 target".into(),
        Axis::Targets => format!("{} targets", format_number(load)),
        Axis::Rate => format!("{} per second", format_rate(load)),
    }
}

pub(super) fn advice(knee: &Knee, axis: Axis, limit: Option<&Limit>) -> Advice {
    if knee.points.len() < 2 {
        return Advice {
            sentence: "One point is not a curve: measure more points to find a knee.".into(),
            ..Advice::default()
        };
    }
    let mut advice = match (limit, &knee.kept) {
        (Some(limit), Some(within_limit)) => limit_advice(knee, axis, limit, within_limit),
        _ if axis == Axis::Rate => offered_rate_advice(knee),
        _ => curve_advice(knee, axis),
    };
    if knee.retrograde {
        let last = knee.points.last().expect("at least two points");
        let best = knee.points.iter().map(|point| point.iops).fold(0.0, f64::max);
        let peak = knee.bounds.map_or(last.load, |bounds| bounds.most_at);
        advice.sentence += &format!(
            " Beyond {} the rate falls again: it is {:.0} % lower at {}, because operations slow each other down.",
            format_load(axis, peak),
            (1.0 - last.iops / best) * 100.0,
            format_load(axis, last.load),
        );
    }
    advice
}

fn limit_advice(knee: &Knee, axis: Axis, limit: &Limit, within_limit: &LimitResult) -> Advice {
    let first = knee.points[0].load;
    let last = knee.points[knee.points.len() - 1].load;
    // A smaller offered rate delivers less, so it is not recommended.
    let smallest = within_limit
        .smallest_at
        .filter(|at| axis != Axis::Rate && within_limit.kept_at.is_some_and(|kept_max| *at < kept_max));
    let point = |at: f64| knee.points.iter().find(|point| point.load == at);
    let is_first_unknown = decided_points(&knee.points).len() < knee.points.len();
    let (kind, mut sentence) = match (within_limit.kept_at, within_limit.missed_at) {
        (None, _) if within_limit.unknown => (
            AdviceKind::LimitUnknown,
            format!(
                "Cannot tell whether {limit} is met: even at {}, too few operations lie beyond the \
                percentile. Measure for longer.",
                format_load(axis, first)
            ),
        ),
        (None, Some(missed)) if is_first_unknown => (
            AdviceKind::LimitUnknown,
            format!("{limit} is not met at {}.", format_load(axis, missed)),
        ),
        (None, _) => (AdviceKind::LimitMissed, describe_missed_limit(knee, axis, limit)),
        (Some(_), None) => (
            AdviceKind::LimitNotReached,
            format!(
                "{limit} is met at every point, up to {}: {} operations per second. Higher loads were not measured.",
                format_load(axis, last),
                format_rate(within_limit.iops.unwrap_or(0.0)),
            ),
        ),
        (Some(at), Some(next)) if within_limit.unknown => (
            AdviceKind::LimitUnknown,
            format!(
                "{limit} is met up to {}: {} operations per second. At {}, too few operations lie beyond the \
                 percentile to decide this; measure for longer.",
                format_load(axis, at),
                format_rate(within_limit.iops.unwrap_or(0.0)),
                format_load(axis, next),
            ),
        ),
        (Some(at), Some(next)) => (
            AdviceKind::LimitKept,
            describe_limit_edge(knee, axis, limit, within_limit, (at, next), smallest.is_some()),
        ),
    };
    sentence += &describe_contradiction(axis, within_limit).unwrap_or_default();
    if is_first_unknown {
        sentence += &format!(
            " At {}, too few operations lie beyond the percentile to decide this{}.",
            format_load(axis, first),
            within_limit.kept_at.map_or(
                "; measure for longer",
                |_| ", but operations of a smaller load are assumed to wait no longer"
            )
        );
    }
    if let (Some(enough), Some(max_point)) = (smallest.and_then(point), within_limit.kept_at.and_then(point)) {
        let gain = match max_point.iops > enough.iops {
            true => "A higher load gains at most 2 %",
            false => "A higher load gains nothing",
        };
        sentence = format!(
            "Use {}: {} operations per second at a mean of {}. {gain}: at {} the mean is {}, for {} operations per second. \
             {sentence}",
            format_load(axis, enough.load),
            format_rate(enough.iops),
            format_time(enough.mean_ns),
            format_load(axis, max_point.load),
            format_time(max_point.mean_ns),
            format_rate(max_point.iops),
        );
    }
    Advice {
        kind,
        load: smallest.or(within_limit.kept_at),
        at_least: within_limit.kept_at,
        at_most: within_limit.missed_at.filter(|_| !within_limit.unknown),
        sentence,
    }
}

/// Describes the lowest latency of a sweep that misses its limit at every point.
fn describe_missed_limit(knee: &Knee, axis: Axis, limit: &Limit) -> String {
    let first = format_load(axis, knee.points[0].load);
    let missed = format!("{limit} is not met even at {first}, the smallest measured load");
    let (Some(lowest), Some(attainable)) = (knee.lowest_limited(), knee.attainable_limit()) else {
        return missed + ".";
    };
    let (value, max) = (lowest.limited_ns.unwrap_or(f64::NAN), limit.max_ns.0 as f64);
    let excess = match value > max {
        true => format!("{} over", format_change(value / max).trim_start_matches('+')),
        false => format!("but it could be {}", format_above_limit(attainable, max)),
    };
    // With one operation in flight, none waits for another.
    let is_alone = axis != Axis::Rate && knee.points[0].load <= 1.0;
    let reach = match is_alone {
        true => "Fewer operations in flight do not help",
        false => "Measure lower loads",
    };
    format!(
        "{missed}; the lowest {} was {} ({excess}), at {}. {reach}; the lowest limit that can be met is {}.",
        limit.figure,
        format_time(value),
        format_load(axis, lowest.load),
        format_time(attainable)
    )
}

/// Describes a load that meets the limit although a smaller one does not.
fn describe_contradiction(axis: Axis, kept: &LimitResult) -> Option<String> {
    let (at, missed) = (kept.met_again_at?, kept.missed_at?);
    Some(format!(
        " {} meets it again, so something disturbed {} or the limit is near: repeat the sweep.",
        format_load(axis, at),
        format_load(axis, missed)
    ))
}

/// A time beyond a limit, with enough digits to differ from it.
fn format_above_limit(high: f64, limit_ns: f64) -> String {
    match format_time(high) {
        text if text != format_time(limit_ns) => text,
        _ => {
            let (unit, name) = match limit_ns {
                ns if ns >= 1e9 => (1e9, "s"),
                ns if ns >= 1e6 => (1e6, "ms"),
                ns if ns >= 1e3 => (1e3, "us"),
                _ => (1.0, "ns"),
            };
            let written = |ns: f64, digits: usize| format!("{:.digits$} {name}", ns / unit);
            let digits = (2..9).find(|digits| written(high, *digits) != written(limit_ns, *digits));
            written(high, digits.unwrap_or(9))
        }
    }
}

/// Describes a limit that is met at the load `at` and missed at the load `next`.
fn describe_limit_edge(
    knee: &Knee,
    axis: Axis,
    limit: &Limit,
    within_limit: &LimitResult,
    (at, next): (f64, f64),
    smaller_works: bool,
) -> String {
    let point = |at: f64| knee.points.iter().find(|point| point.load == at);
    let iops = point(at).map_or(0.0, |point| point.iops);
    // The measured value is within the limit, but its upper bound is not.
    let max_ns = limit.max_ns.0 as f64;
    let uncertain_point = point(next).filter(|point| point.limited_ns.is_some_and(|limited_ns| limited_ns <= max_ns));
    let missed = match uncertain_point.and_then(|point| point.limited_ns_high) {
        Some(high) => format!(
            "{} might miss it, because its {} could be as high as {}",
            format_load(axis, next),
            limit.figure,
            format_above_limit(high, max_ns)
        ),
        None => format!("{} does not meet it", format_load(axis, next)),
    };
    let between = within_limit.iops.unwrap_or(0.0);
    if axis == Axis::Rate {
        // Operations offered beyond the device's capacity wait without end, so nothing can be
        // interpolated.
        format!(
            "{limit} is met up to {}; {missed}. The maximum is in between.",
            format_load(axis, at)
        )
    } else if smaller_works {
        format!("{limit} is met up to {}; {missed}.", format_load(axis, at))
    } else if between > iops {
        format!(
            "The maximum with {limit} is about {} operations per second at about {}: {} meets it with {} per second, and \
             {missed}; the values in between are interpolated.",
            format_rate(between),
            // Use whole operations, despite rounding of the logarithm.
            format_load(axis, (within_limit.depth.unwrap_or(at) + 1e-9).floor().max(at)),
            format_load(axis, at),
            format_rate(iops),
        )
    } else {
        // Beyond this point the rate does not rise.
        format!(
            "The maximum with {limit} is {} operations per second at {}; {missed}.",
            format_rate(iops),
            format_load(axis, at),
        )
    }
}

/// Advice on which offered rates were delivered.
fn offered_rate_advice(knee: &Knee) -> Advice {
    let points = &knee.points;
    let count = points
        .iter()
        .take_while(|point| point.iops >= MIN_DELIVERED_SHARE * point.load)
        .count();
    let last = points.get(count.wrapping_sub(1));
    let missed = points.get(count);
    let (kind, sentence) = match (last, missed) {
        (None, _) => (
            AdviceKind::NoneDelivered,
            format!(
                "Even the lowest offered rate, {} operations per second, is not delivered: only {} are.",
                format_rate(points[0].load),
                format_rate(points[0].iops)
            ),
        ),
        (Some(last), None) => (
            AdviceKind::AllDelivered,
            format!(
                "Every offered rate is delivered, up to {} operations per second with a mean response of {}. Higher \
                 rates were not offered.",
                format_rate(last.load),
                format_time(last.mean_ns)
            ),
        ),
        (Some(last), Some(missed)) => (
            AdviceKind::Delivered,
            format!(
                "{} operations per second are delivered, with a mean response time of {}; of {} offered, only {} are delivered. {}",
                format_rate(last.load),
                format_time(last.mean_ns),
                format_rate(missed.load),
                format_rate(missed.iops),
                match (missed.iops / last.load - 1.0).abs() < MAX_EQUAL_RATE_DIFFERENCE {
                    true => format!("The maximum is about {}.", format_rate(missed.iops)),
                    false => "The maximum is in between.".to_owned(),
                }
            ),
        ),
    };
    Advice {
        kind,
        load: last.map(|point| point.load),
        at_least: last.map(|point| point.load),
        at_most: missed.map(|point| point.load),
        sentence,
    }
}

fn curve_advice(knee: &Knee, axis: Axis) -> Advice {
    let (points, Some(bounds)) = (&knee.points, &knee.bounds) else {
        return Advice::default();
    };
    let (first, last) = (&points[0], &points[points.len() - 1]);
    if bounds.most_iops < MIN_GAIN * first.iops {
        return Advice {
            kind: AdviceKind::Flat,
            load: Some(first.load),
            at_least: None,
            at_most: Some(first.load),
            sentence: format!(
                "More load gains almost nothing: at {} the rate is {} operations per second, and no point exceeds {}. The \
                 knee is at or below {}.",
                format_load(axis, first.load),
                format_rate(first.iops),
                format_rate(bounds.most_iops),
                format_load(axis, first.load),
            ),
        };
    }
    if let Some(at) = knee.kneedle {
        return knee_advice(knee, axis, bounds, at);
    }
    let before = &points[points.len() - 2];
    let growth = (last.iops / before.iops).ln() / (last.load / before.load).ln();
    match points
        .iter()
        .position(|point| bounds.times_alone(point) >= WAITING_FACTOR)
    {
        Some(index) if index > 0 && growth < MIN_PROPORTIONAL_POWER && is_flat_from(points, index) => {
            unclear_knee_advice(points, axis, bounds, index)
        }
        _ => Advice {
            kind: AdviceKind::StillRising,
            load: None,
            at_least: Some(before.load),
            at_most: None,
            sentence: format!(
                "No knee up to {}: the rate is still rising there, at {} operations per second. Measure higher loads.",
                format_load(axis, last.load),
                format_rate(last.iops)
            ),
        },
    }
}

fn knee_advice(knee: &Knee, axis: Axis, bounds: &Bounds, at: f64) -> Advice {
    let points = &knee.points;
    let index = points.iter().position(|point| point.load == at).unwrap_or(0);
    let here = &points[index];
    let below = index.checked_sub(1).map(|below| points[below].load);
    let above = points.get(index + 1);
    let mut sentence = format!(
        "Use {}: {} operations per second, {:.0} % of the measured maximum.",
        format_load(axis, at),
        format_rate(here.iops),
        100.0 * here.iops / bounds.most_iops,
    );
    if index > 0 {
        let times = match format_number(bounds.times_alone(here)) {
            factor if factor == "1" => "as".to_owned(),
            times => format!("{times} times that"),
        };
        let (latency, load_at_one) = (format_time(here.mean_ns), format_load(axis, bounds.alone_at));
        sentence += &format!(" The latency is {latency}, {times} at {load_at_one}.");
    }
    if let (Some(_), Some(above)) = (below, above) {
        sentence += &format!(
            " From {} to {} the rate changes by {} and the latency by {}: the knee is near {}.",
            format_number(at),
            format_load(axis, above.load),
            format_change(above.iops / here.iops),
            format_change(above.mean_ns / here.mean_ns),
            format_number(at),
        );
    }
    let steps = |to: f64| {
        points
            .iter()
            .position(|point| point.load == to)
            .map(|other| other.abs_diff(index))
    };
    if let Some(power) = knee.power.filter(|power| steps(*power).is_some_and(|steps| steps > 1)) {
        sentence += &format!(
            " The best ratio of rate to latency is at {}; choose it if latency matters more than rate.",
            format_load(axis, power)
        );
    }
    Advice {
        kind: AdviceKind::Knee,
        load: Some(at),
        at_least: below,
        at_most: above.map(|above| above.load),
        sentence,
    }
}

/// Advice for a curve that bends between two distant points. `index` is the first point at
/// which operations wait.
fn unclear_knee_advice(points: &[Point], axis: Axis, bounds: &Bounds, index: usize) -> Advice {
    let (low, high, last) = (&points[index - 1], &points[index], &points[points.len() - 1]);
    let mut sentence = format!(
        "The knee is between {} and {}, but the points are too far apart to locate it: an ideal \
        device is saturated at {}. At {} the latency is {}; at {} it is {} times as long, for {} times the rate.",
        format_number(low.load),
        format_load(axis, high.load),
        format_number(bounds.meet_at),
        format_number(low.load),
        format_time(low.mean_ns),
        format_number(high.load),
        format_number(high.mean_ns / low.mean_ns),
        format_number(high.iops / low.iops),
    );
    if last.load > high.load {
        sentence += &format!(
            " From {} to {} the rate changes by {}, and the latency becomes {} times as long.",
            format_number(high.load),
            format_number(last.load),
            format_change(last.iops / high.iops),
            format_number(last.mean_ns / high.mean_ns),
        );
    }
    if high.load / low.load > 2.0 {
        sentence += &format!(
            " Measure between {} and {}.",
            format_number(low.load),
            format_number(high.load)
        );
    }
    Advice {
        kind: AdviceKind::Between,
        load: None,
        at_least: Some(low.load),
        at_most: Some(high.load),
        sentence,
    }
}
