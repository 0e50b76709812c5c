//! Charts of the whole distribution of latencies.

use std::borrow::Cow;

use model::PerDirection;
use model::histogram::{Histogram, bucket_high, rank_of};
use model::results::DirectionResults;
use model::stats::{Support, quantile_interval, support};

use super::{Place, tone_of};
use crate::html::chart::{Axis, Chart, Form, Series, Tick, Tone, X, time_unit};
use crate::numbers::count;

/// Points of the percentile curve for each factor of ten beyond which operations lie.
const POINTS_PER_NINE: usize = 20;
/// Points of the cumulative distribution at most.
const MAX_STEPS: usize = 400;

fn series_of<'a>(directions: &'a PerDirection<Option<Cow<DirectionResults>>>) -> Vec<(String, Tone, &'a Histogram)> {
    let found = directions
        .iter()
        .filter_map(|(direction, results)| Some((direction, results.as_ref()?.latency())));
    found
        .filter(|(_, latency)| !latency.is_empty())
        .map(|(direction, latency)| (format!("{}s", direction.word()), tone_of(direction), latency))
        .collect()
}

fn unit_of(found: &[(String, Tone, &Histogram)]) -> (&'static str, f64) {
    let slowest = found.iter().map(|(_, _, latency)| latency.quantile(0.99)).max();
    time_unit(slowest.unwrap_or(0) as f64)
}

/// Where a share of the operations lies on an axis of nines: 0.9 at 1, 0.99 at 2, 0.999 at 3.
pub fn nines(fraction: f64) -> f64 {
    -(1.0 - fraction).log10()
}

/// Latency over percentile, from the fastest operation to the slowest, with its 95 % interval; what
/// hardly an operation lies beyond stands apart.
pub(super) fn percentiles(place: &Place, directions: &PerDirection<Option<Cow<DirectionResults>>>) -> Option<Chart> {
    percentile_curve(
        place.id("percentiles"),
        place.title("Latency by percentile"),
        &series_of(directions),
    )
}

/// The same of any histograms, each with its name and colour.
pub fn percentile_curve(id: String, title: String, found: &[(String, Tone, &Histogram)]) -> Option<Chart> {
    if found.is_empty() {
        return None;
    }
    let (unit, ns) = unit_of(found);
    let nines = |latency: &Histogram| (latency.n() as f64).log10();
    let furthest = found.iter().map(|(_, _, latency)| nines(latency)).fold(2.0, f64::max);
    let series = found
        .iter()
        .flat_map(|(name, tone, latency)| percentile_lines(name, *tone, latency, ns))
        .collect();
    Some(Chart {
        id,
        title,
        about: "How long the fastest operations took (left), and the slowest ones (right): at p99, 99 % took no longer. The band is the 95 % confidence interval; fewer \
                than ten operations lie beyond the dotted part, which says hardly more than the maximum, a single operation."
            .into(),
        x: percentile_axis(furthest),
        y: Axis::log("latency", unit),
        series,
        ..Chart::default()
    })
}

/// The percentile curve of one direction, and the part of it that too few operations support.
fn percentile_lines(name: &str, tone: Tone, latency: &Histogram, ns: f64) -> [Series; 2] {
    let n = latency.n();
    let end = (n as f64).log10();
    let steps = (end * POINTS_PER_NINE as f64).floor() as usize;
    let (mut good, mut weak) = (Series::default(), Series::default());
    for step in 0..=steps {
        let at = step as f64 / POINTS_PER_NINE as f64;
        let fraction = 1.0 - 10f64.powf(-at);
        let (low, high) = quantile_interval(latency, fraction, 0.95);
        let value = if step == 0 {
            latency.min()
        } else {
            latency.quantile(fraction)
        };
        let supported = step == 0 || support(fraction, n) != Support::None;
        let percent = 100.0 * fraction;
        let words = match step {
            0 => "the fastest operation".to_owned(),
            _ if supported => format!("{percent:.*} % of {} operations took no longer", digits(at), count(n)),
            _ => format!("fewer than ten of {} operations took longer", count(n)),
        };
        let into = if supported { &mut good } else { &mut weak };
        let in_unit = |bound: u64| bound as f64 / ns;
        push(into, at, in_unit(value), low.map(in_unit), high.map(in_unit), words);
        debug_assert!(rank_of(fraction, n) <= n);
    }
    let slowest = "the slowest operation: one sample".to_owned();
    push(&mut weak, end, latency.max() as f64 / ns, None, None, slowest);
    // The two meet.
    if let (Some(x), Some(y)) = (good.x.last().cloned(), good.y.last().copied()) {
        weak.x.insert(0, x);
        weak.y.insert(0, y);
        weak.words
            .insert(0, "from here on fewer than ten operations lie beyond".into());
    }
    (weak.low, weak.high) = (Vec::new(), Vec::new());
    [
        Series {
            name: name.to_owned(),
            form: Form::Line,
            tone,
            ..good
        },
        Series {
            name: format!("{name}, too few operations"),
            form: Form::Line,
            tone,
            weak: true,
            ..weak
        },
    ]
}

fn push(into: &mut Series, x: f64, y: f64, low: Option<f64>, high: Option<f64>, words: String) {
    into.x.push(X::Number(x));
    into.y.push(Some(y));
    into.low.push(low);
    into.high.push(high);
    into.words.push(words);
}

/// Digits after the point that tell a percentile from its neighbours.
fn digits(nines: f64) -> usize {
    (nines.ceil() as usize).max(1)
}

/// An axis of nines, which gives the slowest operations as much room as all others.
pub fn percentile_axis(furthest: f64) -> Axis {
    Axis {
        ticks: ticks(furthest),
        ..Axis::linear("percentile", "")
    }
}

fn ticks(furthest: f64) -> Vec<Tick> {
    let mut ticks = vec![Tick {
        at: 0.0,
        words: "min".into(),
    }];
    let mut names: Vec<(f64, String)> = vec![(0.5, "p50".into()), (0.9, "p90".into()), (0.99, "p99".into())];
    names.extend((3..=9).map(|nines| {
        (
            1.0 - 10f64.powi(-nines),
            format!("p99.{}", "9".repeat(nines as usize - 2)),
        )
    }));
    let shown = names.into_iter().map(|(fraction, words)| Tick {
        at: nines(fraction),
        words,
    });
    ticks.extend(shown.filter(|tick| tick.at <= furthest + 0.01));
    ticks
}

/// The share of operations that took no longer, over the time.
pub(super) fn cumulative(place: &Place, directions: &PerDirection<Option<Cow<DirectionResults>>>) -> Option<Chart> {
    let found = series_of(directions);
    if found.is_empty() {
        return None;
    }
    let (unit, ns) = unit_of(&found);
    let line = |(name, tone, latency): &(String, Tone, &Histogram)| {
        let n = latency.n() as f64;
        let mut sum = 0;
        let all: Vec<(f64, f64)> = latency
            .buckets()
            .map(|(bucket, count)| {
                sum += count;
                (
                    bucket_high(bucket).min(latency.max()) as f64 / ns,
                    100.0 * sum as f64 / n,
                )
            })
            .collect();
        let each = all.len().div_ceil(MAX_STEPS).max(1);
        let last = all.len() - 1;
        let kept = all
            .into_iter()
            .enumerate()
            .filter(|(index, _)| index % each == 0 || *index == last);
        let first = (latency.min() as f64 / ns, 0.0);
        Series::new(
            name.clone(),
            Form::Steps,
            std::iter::once(first).chain(kept.map(|(_, point)| point)),
        )
        .tone(*tone)
    };
    Some(Chart {
        id: place.id("cumulative"),
        title: place.title("Share of operations by latency"),
        about: "The share of all operations that took no longer than this. A steep rise is a common latency; several steps are several kinds of operations.".into(),
        x: Axis::log("latency", unit),
        y: Axis::from_zero("operations", "%"),
        series: found.iter().map(line).collect(),
        ..Chart::default()
    })
}
