//! Charts over time: rates, latency percentiles, and the latency heat map.

use std::collections::BTreeSet;

use model::event::{Counts, Phase};
use model::histogram::{Histogram, bucket_index};
use model::observation::{Observation, SeriesPoint};
use model::results::{IntervalHistogram, JobResults, PhaseInterval};
use model::stats::{Support, median, support};
use model::{Bytes, Direction, Nanos};

use super::ChartScope;
use super::latency::MIN_DRAWN_SHARE;
use crate::html::chart::{Axis, Chart, Form, Heat, Mark, MarkAxis, Series, Tone, X, direction_tone, time_unit};

/// Maximum number of points over time; longer series are merged.
const MAX_POINTS: usize = 3600;
/// From this length of the measured window on, rates are drawn per second.
const MIN_LENGTH_PER_SECOND: Nanos = Nanos::secs(10);
/// Intervals within a second are drawn as a band if they have this many operations on average. With
/// fewer, the band would show only random variation.
const MIN_IN_BAND: u64 = 10;
/// A band ends at this multiple of the median point, or at the highest: the backlog of a stall
/// would flatten the curve.
const MAX_BAND_FACTOR: f64 = 3.0;
/// Maximum length of drawn warm-up, as a share of the measured window.
const WARM_UP_SHARE: f64 = 1.0 / 3.0;
/// Maximum number of columns of a heat map.
const MAX_COLUMNS: usize = 120;
/// Rows of a heat map per power of ten.
const ROWS_PER_DECADE: f64 = 10.0;
/// Percentiles in the chart of latencies over time.
const PERCENTILES: [(f64, &str); 4] = [(0.5, "p50"), (0.95, "p95"), (0.99, "p99"), (0.999, "p99.9")];

/// Creates the charts of IOPS and of throughput, including I/O outside of the measured window. The
/// chart of throughput is omitted if all operations have the same size: its curve would be the
/// same.
pub(super) fn rate_charts(
    scope: &ChartScope,
    job: &JobResults,
    observed: &Observation,
    marks: &[Mark],
) -> [Option<Chart>; 2] {
    let (outside_intervals, phases) = outside_intervals(job);
    let marks: Vec<Mark> = phases.into_iter().chain(marks.iter().cloned()).collect();
    let outside = |value: &dyn Fn(&Counts) -> f64| outside_window(&outside_intervals, value);
    let groups = group_points(&observed.series);
    let points: Vec<SeriesPoint> = groups.iter().map(|group| merge_points(group)).collect();
    let operations: u64 = points.iter().flat_map(|point| point.operations).sum();
    let has_band = points.len() < observed.series.len() && operations >= MIN_IN_BAND * observed.series.len() as u64;
    let start_secs = |point: &SeriesPoint| point.start_ns.as_secs();
    let present: Vec<usize> = (0..3)
        .filter(|direction| points.iter().any(|point| point.operations[*direction] > 0))
        .collect();
    let lines = |value: &dyn Fn(&SeriesPoint, usize) -> f64| -> Vec<Series> {
        let mut lines = Vec::new();
        let total = |point: &SeriesPoint| (0..3).map(|direction| value(point, direction)).sum::<f64>();
        if present.len() != 1 {
            let totals = points.iter().map(|point| (start_secs(point), total(point)));
            lines.push(Series::new("all", Form::Steps, totals).tone(Tone::Total));
        }
        for direction in &present {
            let values = points.iter().map(|point| (start_secs(point), value(point, *direction)));
            let direction = Direction::ALL[*direction];
            lines.push(
                Series::new(format!("{}s", direction.word()), Form::Steps, values).tone(direction_tone(direction)),
            );
        }
        if let Some(first) = lines.first_mut().filter(|_| has_band) {
            let top = band_top(&points.iter().map(total).collect::<Vec<_>>());
            let end = |pick: fn(f64, f64) -> f64, from: f64| {
                let end = |group: &&[SeriesPoint]| Some(group.iter().map(total).fold(from, pick).min(top));
                groups.iter().map(end).collect()
            };
            (first.low, first.high) = (end(f64::min, f64::INFINITY), end(f64::max, 0.0));
        }
        lines
    };
    let per_second = |amount: u64, point: &SeriesPoint| amount as f64 / point.length_ns.as_secs().max(1e-9);
    let length = crate::numbers::duration(points.first().map_or(Nanos(0), |point| point.length_ns));
    let about = |what: &str| {
        let band = match has_band {
            true => format!(
                "; the band spans the slowest and the fastest {} in it, cut off far above the curve",
                crate::numbers::duration(observed.series[0].length_ns)
            ),
            false => String::new(),
        };
        format!(
            "{what} in each {length}{band}. A flat line means a steady device; steps and slopes are changes in its state or its environment."
        )
    };
    let time = Axis::linear("time in the measured window", "s");
    let size = common_size(&points).map(Bytes);
    let hint = size.map(|size| format!(" Throughput has the same curve: every operation transferred {size}."));
    [
        Some(Chart {
            id: scope.id("iops"),
            title: scope.title("Operations per second over time"),
            about: format!("{}{}", about("Operations per second"), hint.unwrap_or_default()),
            x: time.clone(),
            y: Axis::from_zero("IOPS", "IOPS"),
            series: lines(&|point, direction| per_second(point.operations[direction], point))
                .into_iter()
                .chain(outside(&|counts| counts.operations as f64))
                .collect(),
            marks: marks.clone(),
            ..Chart::default()
        }),
        size.is_none().then(|| Chart {
            id: scope.id("throughput"),
            title: scope.title("Throughput over time"),
            about: about("Megabytes (10^6 bytes) per second"),
            x: time,
            y: Axis::from_zero("throughput", "MB/s"),
            series: lines(&|point, direction| per_second(point.bytes[direction], point) / 1e6)
                .into_iter()
                .chain(outside(&|counts| counts.bytes.0 as f64 / 1e6))
                .collect(),
            marks,
            ..Chart::default()
        }),
    ]
}

/// Where the band ends at the top.
fn band_top(rates: &[f64]) -> f64 {
    rates.iter().copied().fold(MAX_BAND_FACTOR * median(rates), f64::max)
}

/// The size of all operations, if it is the same.
fn common_size(points: &[SeriesPoint]) -> Option<u64> {
    let counts = points
        .iter()
        .flat_map(|point| point.operations.iter().zip(&point.bytes));
    let mut moved = counts.filter(|(operations, _)| **operations > 0);
    let (operations, bytes) = moved.clone().next()?;
    let size = bytes / operations;
    moved
        .all(|(operations, bytes)| operations.checked_mul(size) == Some(*bytes))
        .then_some(size)
}

/// Rates before and after the measured window, a series for each phase.
fn outside_window(outside_intervals: &[(f64, &PhaseInterval)], value: &dyn Fn(&Counts) -> f64) -> Vec<Series> {
    let phases: BTreeSet<Phase> = outside_intervals.iter().map(|(_, interval)| interval.phase).collect();
    let rate = |interval: &PhaseInterval| {
        interval.counts.iter().map(|(_, counts)| value(counts)).sum::<f64>() / interval.length_ns.as_secs().max(1e-9)
    };
    let phase_series = |phase: Phase| {
        let of_phase = outside_intervals.iter().filter(|(_, interval)| interval.phase == phase);
        let points = of_phase.clone().map(|(at, interval)| (*at, rate(interval)));
        // The last interval needs an explicit end.
        let end = of_phase
            .clone()
            .next_back()
            .map(|(at, interval)| (at + interval.length_ns.as_secs(), rate(interval)));
        Series {
            weak: true,
            ..Series::new(format!("{}, all", phase.label()), Form::Steps, points.chain(end)).tone(Tone::Other)
        }
    };
    phases.into_iter().map(phase_series).collect()
}

/// Intervals outside of the measured window with their start in seconds from its start, and a band
/// for each phase.
fn outside_intervals(job: &JobResults) -> (Vec<(f64, &PhaseInterval)>, Vec<Mark>) {
    let end = |phase: Phase| {
        let of_phase = job.around.iter().filter(|interval| interval.phase == phase);
        of_phase
            .map(|interval| (interval.start_ns + interval.length_ns).as_secs())
            .fold(0.0, f64::max)
    };
    let (before, measured) = (end(Phase::WarmUp), job.measured().as_secs());
    let base = |phase: Phase| if phase == Phase::WarmUp { -before } else { measured };
    let earliest = -(measured * WARM_UP_SHARE).max(1.0);
    let intervals = job
        .around
        .iter()
        .filter(|interval| interval.phase == Phase::WarmUp || interval.phase == Phase::Verify);
    let intervals: Vec<(f64, &PhaseInterval)> = intervals
        .map(|interval| (base(interval.phase) + interval.start_ns.as_secs(), interval))
        .filter(|(at, _)| *at >= earliest)
        .collect();
    let band = |phase: Phase| Mark {
        across: MarkAxis::X,
        at: base(phase).max(earliest),
        to: Some(base(phase) + end(phase)),
        words: match base(phase) < earliest {
            true => format!("{}, last {:.0} of {before:.0} s", phase.label(), -earliest),
            false => phase.label().into(),
        },
        tone: Tone::Other,
    };
    let phases: BTreeSet<Phase> = intervals.iter().map(|(_, interval)| interval.phase).collect();
    (intervals, phases.into_iter().map(band).collect())
}

/// Groups the intervals that are drawn as one point: a second of a long window, or more to keep
/// within [`MAX_POINTS`].
fn group_points(points: &[SeriesPoint]) -> Vec<&[SeriesPoint]> {
    let length = points.first().map_or(Nanos(0), |point| point.length_ns);
    let whole: u64 = points.iter().map(|point| point.length_ns.0).sum();
    let per_second_count = match whole >= MIN_LENGTH_PER_SECOND.0 && length.0 > 0 {
        true => (Nanos::secs(1).0 / length.0) as usize,
        false => 1,
    };
    let values_per_point = points.len().div_ceil(MAX_POINTS).max(per_second_count).max(1);
    points.chunks(values_per_point).collect()
}

fn merge_points(some: &[SeriesPoint]) -> SeriesPoint {
    let mut sum = some[0];
    for point in &some[1..] {
        for direction in 0..3 {
            sum.operations[direction] += point.operations[direction];
            sum.bytes[direction] += point.bytes[direction];
        }
        sum.length_ns += point.length_ns;
    }
    sum
}

/// Start and histogram of intervals, over all directions, merged to at most `max` columns.
pub(crate) fn merge_into_columns(intervals: &[IntervalHistogram], max: usize) -> Vec<(Nanos, Histogram)> {
    let intervals_per_point = intervals.len().div_ceil(max).max(1);
    let merge_latencies = |some: &[IntervalHistogram]| {
        let mut sum = Histogram::new();
        for interval in some {
            for (_, latency) in interval.latency.iter() {
                if let Some(latency) = latency {
                    sum.merge(latency);
                }
            }
        }
        (some[0].start_ns, sum)
    };
    intervals.chunks(intervals_per_point).map(merge_latencies).collect()
}

/// Creates the chart of latency percentiles over time, with the mean if it is required.
pub(super) fn latency_charts(
    scope: &ChartScope,
    job: &JobResults,
    (paced, with_mean): (bool, bool),
    marks: &[Mark],
) -> Option<Chart> {
    let columns = merge_into_columns(&job.histograms, MAX_POINTS);
    if columns.len() < 2 {
        return None;
    }
    let (unit, ns) = time_unit(job.total().latency().quantile(0.99) as f64);
    let line = |(fraction, name): (f64, &str)| {
        let value = |histogram: &Histogram| match support(fraction, histogram.n()) {
            Support::None => f64::NAN,
            Support::Good | Support::Weak => histogram.quantile(fraction) as f64 / ns,
        };
        let points = columns
            .iter()
            .map(|(start, histogram)| (start.as_secs(), value(histogram)));
        Series::new(name, Form::Steps, points)
    };
    let mut series: Vec<Series> = PERCENTILES.into_iter().map(line).collect();
    if with_mean {
        let means = columns.iter().filter(|(_, histogram)| !histogram.is_empty());
        let means = means.map(|(start, histogram)| (start.as_secs(), histogram.mean() / ns));
        series.push(Series::new("mean", Form::Steps, means).tone(Tone::Total));
    }
    let maxima = columns.iter().filter(|(_, histogram)| !histogram.is_empty());
    let maxima = maxima.map(|(start, histogram)| (start.as_secs(), histogram.max() as f64 / ns));
    series.push(Series::new("maximum", Form::Dots, maxima).tone(Tone::Other));
    // Omits percentiles for which no interval has enough operations.
    series.retain(|series| series.y.iter().any(Option::is_some));
    Some(Chart {
        id: scope.id("latency-over-time"),
        title: scope.title("Latency over time"),
        about: format!(
            "{} of the operations that completed in each interval. Percentiles with fewer than ten slower operations in an interval are omitted; each maximum is a single operation.",
            if paced {
                "Response times (from the scheduled start)"
            } else {
                "Latencies"
            }
        ),
        x: Axis::linear("time in the measured window", "s"),
        y: Axis::log("latency", unit),
        series,
        marks: marks.to_vec(),
        ..Chart::default()
    })
}

/// Creates the heat map: the number of operations by latency and interval.
pub(super) fn heat_chart(scope: &ChartScope, job: &JobResults) -> Option<Chart> {
    let columns = merge_into_columns(&job.histograms, MAX_COLUMNS);
    let total = job.total();
    let latency = total.latency();
    if columns.len() < 2 || latency.is_empty() {
        return None;
    }
    let row_of = |ns: f64| (ns.max(1.0).log10() * ROWS_PER_DECADE).floor() as i64;
    // The lowest row includes faster operations.
    let lowest = MIN_DRAWN_SHARE * latency.quantile(0.5) as f64;
    let (first, last) = (row_of(lowest.max(latency.min() as f64)), row_of(latency.max() as f64));
    let (unit, ns) = time_unit(latency.quantile(0.99) as f64);
    let edge = |row: i64| 10f64.powf(row as f64 / ROWS_PER_DECADE);
    let counted = |histogram: &Histogram| {
        let mut rows = vec![0u64; (last - first + 1) as usize];
        for (bucket, count) in histogram.buckets() {
            let low = model::histogram::bucket_low(bucket)
                .max(histogram.min())
                .min(histogram.max());
            debug_assert_eq!(bucket_index(low), bucket, "a bucket holds its own lower end");
            rows[(row_of(low as f64).clamp(first, last) - first) as usize] += count;
        }
        rows
    };
    let counts: Vec<Vec<u64>> = columns.iter().map(|(_, histogram)| counted(histogram)).collect();
    let row = |row: usize| {
        counts
            .iter()
            .map(|column| (column[row] > 0).then(|| column[row] as f64))
            .collect()
    };
    Some(Chart {
        id: scope.id("heat"),
        title: scope.title("Latency heat map"),
        about: "Operations in each interval by latency: the stronger the colour, the more operations (on a logarithmic scale). Two bands mean two kinds of \
                operations, such as cache hits and accesses to the medium."
            .into(),
        x: Axis::linear("time in the measured window", "s"),
        y: Axis::log("latency", unit),
        heat: Some(Heat {
            x: columns.iter().map(|(start, _)| X::Number(start.as_secs())).collect(),
            // The geometric middle of the row.
            y: (first..=last).map(|row| X::Number((edge(row) * edge(row + 1)).sqrt() / ns)).collect(),
            z: (0..(last - first + 1) as usize).map(row).collect(),
            title: "operations".into(),
            log: true,
        }),
        ..Chart::default()
    })
}

pub(super) fn time_mark(at_secs: f64, words: &str) -> Mark {
    Mark::line(MarkAxis::X, at_secs, words, Tone::Other)
}
