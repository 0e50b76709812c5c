//! Logs with a line for each window and direction: averages and histograms.

use std::io::{self, Write};

use model::histogram::bucket_low;
use model::results::{Point, Window, WindowLatency, WindowSeries};
use model::{Direction, Nanos};

use super::super::bins::{BIN_COUNT, bin_index};
use super::super::samples;
use super::{Entry, LogFile, LogKind, Source, WindowValue, direction_number};

/// Statistics of the values in one window.
#[derive(Clone, Copy, Debug, Default)]
struct Values {
    count: u64,
    sum: u128,
    max: u64,
}

impl Values {
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    /// The mean, rounded to the nearest whole number.
    fn mean(&self) -> u64 {
        ((self.sum + u128::from(self.count / 2)) / u128::from(self.count.max(1))) as u64
    }
}

/// Writes a log of averages over `length`.
pub(super) fn write(file: &LogFile, length: Nanos, out: &mut dyn Write) -> io::Result<()> {
    let mut entries = Vec::new();
    for direction in Direction::ALL {
        for (number, values) in average_values(file, direction, length) {
            let (value, maximum) = match file.request.value {
                WindowValue::Average => (values.mean(), None),
                WindowValue::Maximum => (values.max, None),
                WindowValue::MeanAndMax => (values.mean(), Some(values.max)),
            };
            entries.push(Entry {
                time_ms: file.source.window_end_ms(number, length),
                value,
                maximum,
                direction: direction_number(direction),
                ..Entry::default()
            });
        }
    }
    entries.sort_by_key(|entry| (entry.time_ms, entry.direction));
    entries.iter().try_for_each(|entry| entry.write(file, out))
}

/// Numbers and values of the windows with I/O in a direction, in time order.
fn average_values(file: &LogFile, direction: Direction, length: Nanos) -> Vec<(u64, Values)> {
    let source = &file.source;
    let latency = |select: fn(&Window) -> WindowLatency| average_latencies(source, direction, length, select);
    match file.kind {
        LogKind::Submission => latency(|window| window.submission),
        LogKind::Completion => latency(|window| window.completion),
        LogKind::Total => latency(|window| window.total),
        LogKind::Bandwidth => {
            let kib = |amount: &Sample| amount.per_second(amount.point.bytes) / 1024;
            average_rates(
                source,
                direction,
                length,
                file.request.effective_bandwidth_sample(),
                kib,
            )
        }
        LogKind::Iops => {
            let iops = |amount: &Sample| amount.per_second(amount.point.operations);
            average_rates(source, direction, length, file.request.effective_iops_sample(), iops)
        }
        LogKind::Histogram => Vec::new(),
    }
}

fn average_latencies(
    source: &Source,
    direction: Direction,
    length: Nanos,
    select: fn(&Window) -> WindowLatency,
) -> Vec<(u64, Values)> {
    let values = |window: Window| Values {
        count: window.operations,
        sum: u128::from(select(&window).sum_ns),
        max: select(&window).max_ns,
    };
    let windows = source.windows(direction, |series| series.length_ns == length);
    windows
        .into_iter()
        .map(|window| (window.number, values(window)))
        .collect()
}

/// I/O in a sample of bandwidth or IOPS.
struct Sample {
    point: Point,
    length: Nanos,
}

impl Sample {
    /// Rounded down, as fio does before it averages.
    fn per_second(&self, amount: u64) -> u64 {
        (u128::from(amount) * 1_000_000_000 / u128::from(self.length.0.max(1))) as u64
    }
}

/// The rates of all samples with I/O, by the window in which they end.
fn average_rates(
    source: &Source,
    direction: Direction,
    length: Nanos,
    sample: Nanos,
    rate: impl Fn(&Sample) -> u64,
) -> Vec<(u64, Values)> {
    let (Some(job_results), Some(worker)) = (source.job_results, source.worker()) else {
        return Vec::new();
    };
    let merged_windows = samples::sample_windows(job_results, source.worker_index, sample, Nanos::NEVER);
    let mut points = merged_windows[direction].clone();
    // An operation that ends exactly at the end of the measured window starts no new sample.
    let count = source.window_count(sample).max(1) as usize;
    for extra_point in points.split_off(count.min(points.len())) {
        points[count - 1].merge(&extra_point);
    }
    let mut windows: Vec<(u64, Values)> = Vec::new();
    for (index, point) in points.into_iter().enumerate().filter(|(_, point)| point.operations > 0) {
        let start = index as u64 * sample.0;
        let end = (start + sample.0).min(worker.measured_ns.0);
        let value = rate(&Sample {
            point,
            length: Nanos(end.saturating_sub(start)),
        });
        let number = end.saturating_sub(1) / length.0.max(1);
        match windows.last_mut() {
            Some((last, values)) if *last == number => values.add(value),
            _ => {
                let mut values = Values::default();
                values.add(value);
                windows.push((number, values));
            }
        }
    }
    windows
}

/// Writes the histograms of all windows of `length`.
pub(super) fn write_histograms(file: &LogFile, length: Nanos, out: &mut dyn Write) -> io::Result<()> {
    let source = &file.source;
    let mut windows = Vec::new();
    for direction in Direction::ALL {
        let direction_windows = source.windows(direction, |series| series.histograms && series.length_ns == length);
        windows.extend(
            direction_windows
                .into_iter()
                .map(|window| (window, direction_number(direction))),
        );
    }
    windows.sort_by_key(|(window, direction)| (window.number, *direction));
    for (window, direction) in &windows {
        let time = source.epoch_ms + source.window_end_ms(window.number, length);
        let size = window.bytes / window.operations.max(1);
        write!(out, "{time}, {direction}, {size}")?;
        for count in coarsen_buckets(&window.buckets, file.request.coarseness) {
            write!(out, ", {count}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The counts of fio's bins, with 2^`coarseness` neighbours merged.
fn coarsen_buckets(buckets: &[(u32, u64)], coarseness: u32) -> Vec<u64> {
    let mut counts = vec![0; BIN_COUNT >> coarseness];
    for (bucket, count) in buckets {
        counts[bin_index(bucket_low(*bucket as usize)) >> coarseness] += count;
    }
    counts
}

impl Source<'_> {
    /// The windows of the worker in a direction, in time order.
    fn windows(&self, direction: Direction, wanted: impl Fn(&WindowSeries) -> bool) -> Vec<Window> {
        let series = self.job_results.map_or(&[][..], |job_results| &job_results.windows);
        let mine = |series: &&WindowSeries| series.worker as usize == self.worker_index && wanted(series);
        let Some(series) = series.iter().find(mine) else {
            return Vec::new();
        };
        let last = self.window_count(series.length_ns).saturating_sub(1);
        let mut windows: Vec<Window> = Vec::new();
        for window in &series.windows[direction] {
            // An operation that ends exactly at the end of the measured window starts no new
            // window.
            let number = window.number.min(last);
            match windows.last_mut() {
                Some(previous) if previous.number == number => previous.merge(window),
                _ => windows.push(Window {
                    number,
                    ..window.clone()
                }),
            }
        }
        windows
    }

    /// Number of windows in the measured time of the worker; the last may be shorter.
    fn window_count(&self, length: Nanos) -> u64 {
        let measured = self.worker().map_or(0, |worker| worker.measured_ns.0);
        measured.div_ceil(length.0.max(1))
    }

    /// The end of a window in milliseconds, rounded up: the end of an incomplete last window must
    /// differ from the previous window's.
    fn window_end_ms(&self, number: u64, length: Nanos) -> u64 {
        let measured = self.worker().map_or(0, |worker| worker.measured_ns.0);
        ((number + 1) * length.0).min(measured).div_ceil(1_000_000)
    }
}
