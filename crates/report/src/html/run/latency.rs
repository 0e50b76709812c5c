//! Charts of latency distributions.

use std::borrow::Cow;

use model::PerDirection;
use model::histogram::{Histogram, quantile_rank};
use model::results::DirectionResults;
use model::stats::{Support, quantile_interval, support};

use super::ChartScope;
use crate::html::chart::{Axis, Chart, Form, Series, Tick, Tone, X, direction_tone, time_unit};
use crate::numbers::count;

/// Operations faster than this share of the median are not drawn. A few of them would leave little
/// of a logarithmic axis to all others.
pub(super) const MIN_DRAWN_SHARE: f64 = 0.01;
/// Points of the percentile curve per nine, such as between p90 and p99.
const POINTS_PER_NINE: usize = 20;

fn direction_histograms<'a>(
    directions: &'a PerDirection<Option<Cow<DirectionResults>>>,
) -> Vec<(String, Tone, &'a Histogram)> {
    let histograms = directions
        .iter()
        .filter_map(|(direction, results)| Some((direction, results.as_ref()?.latency())));
    histograms
        .filter(|(_, latency)| !latency.is_empty())
        .map(|(direction, latency)| (format!("{}s", direction.word()), direction_tone(direction), latency))
        .collect()
}

fn common_unit(histograms: &[(String, Tone, &Histogram)]) -> (&'static str, f64) {
    let slowest = histograms.iter().map(|(_, _, latency)| latency.quantile(0.99)).max();
    time_unit(slowest.unwrap_or(0) as f64)
}

/// The position of a fraction on an axis of nines: 0.9 at 1, 0.99 at 2, 0.999 at 3.
pub fn nines(fraction: f64) -> f64 {
    -(1.0 - fraction).log10()
}

/// Creates the percentile curve of each direction, with its 95 % confidence interval. The part with
/// fewer than ten slower operations is a series of its own.
pub(super) fn percentile_charts(
    scope: &ChartScope,
    directions: &PerDirection<Option<Cow<DirectionResults>>>,
) -> Option<Chart> {
    percentile_curve(
        scope.id("percentiles"),
        scope.title("Latency by percentile"),
        &direction_histograms(directions),
    )
}

/// Creates percentile curves of histograms, each with a name and a colour.
pub fn percentile_curve(id: String, title: String, histograms: &[(String, Tone, &Histogram)]) -> Option<Chart> {
    if histograms.is_empty() {
        return None;
    }
    let (unit, ns) = common_unit(histograms);
    let nines = |latency: &Histogram| (latency.n() as f64).log10();
    let max_nines = histograms
        .iter()
        .map(|(_, _, latency)| nines(latency))
        .fold(2.0, f64::max);
    let series: Vec<Series> = histograms
        .iter()
        .flat_map(|(name, tone, latency)| percentile_lines(name, *tone, latency, ns))
        .collect();
    let omitted = match series.iter().any(|series| series.y.contains(&None)) {
        true => " Operations faster than a hundredth of the median are not drawn.",
        false => "",
    };
    Some(Chart {
        id,
        title,
        about: format!(
            "Latency from the fastest operation (left) to the slowest (right): at p99, 99 % took no longer. The band is the 95 % confidence interval. In the dotted \
                part fewer than ten operations were slower: it is little more reliable than the maximum, a single operation.{omitted}"
        ),
        x: percentile_axis(max_nines),
        y: Axis::log("latency", unit),
        series,
        ..Chart::default()
    })
}

fn percentile_lines(name: &str, tone: Tone, latency: &Histogram, ns: f64) -> [Series; 2] {
    let n = latency.n();
    let end = (n as f64).log10();
    let steps = (end * POINTS_PER_NINE as f64).floor() as usize;
    let (mut good, mut weak) = (Series::default(), Series::default());
    let drawn_min = MIN_DRAWN_SHARE * latency.quantile(0.5) as f64;
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
            _ if supported => format!(
                "{percent:.*} % of {} operations took no longer",
                percent_decimals(at),
                count(n)
            ),
            _ => format!("fewer than ten of {} operations took longer", count(n)),
        };
        let into = if supported { &mut good } else { &mut weak };
        let in_unit = |bound: u64| (bound as f64 >= drawn_min).then_some(bound as f64 / ns);
        push_point(
            into,
            at,
            in_unit(value),
            low.and_then(in_unit),
            high.and_then(in_unit),
            words,
        );
        debug_assert!(quantile_rank(fraction, n) <= n);
    }
    let slowest = "the slowest operation: one sample".to_owned();
    push_point(&mut weak, end, Some(latency.max() as f64 / ns), None, None, slowest);
    // The weak part starts where the other one ends.
    if let (Some(x), Some(y)) = (good.x.last().cloned(), good.y.last().copied()) {
        weak.x.insert(0, x);
        weak.y.insert(0, y);
        weak.words
            .insert(0, "from here on, fewer than ten operations were slower".into());
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

fn push_point(into: &mut Series, x: f64, y: Option<f64>, low: Option<f64>, high: Option<f64>, words: String) {
    into.x.push(X::Number(x));
    into.y.push(y);
    into.low.push(low);
    into.high.push(high);
    into.words.push(words);
}

/// Number of decimals that distinguish a percentile from its neighbours.
fn percent_decimals(nines: f64) -> usize {
    (nines.ceil() as usize).max(1)
}

/// Creates an axis of nines, on which the few slowest operations get as much room as all others.
pub fn percentile_axis(max_nines: f64) -> Axis {
    Axis {
        ticks: percentile_ticks(max_nines),
        ..Axis::linear("percentile", "")
    }
}

fn percentile_ticks(max_nines: f64) -> Vec<Tick> {
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
    ticks.extend(shown.filter(|tick| tick.at <= max_nines + 0.01));
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_far_below_all_others_is_not_drawn() {
        let lowest = |min_ns: u64| {
            let mut latency = Histogram::new();
            latency.record_times(73_000, 1000);
            latency.record_times(min_ns, 1);
            let [line, _] = percentile_lines("reads", Tone::Read, &latency, 1e3);
            line.y.into_iter().flatten().fold(f64::INFINITY, f64::min)
        };
        assert!(lowest(3) > 70.0, "3 ns are left out");
        assert!(lowest(10_000) < 11.0);
    }
}
