//! Shared by `flatfile.html` and `summary.html`: interval rows, and an average row for each run.
//! The columns depend on the version and the workload, so figures are found by column name, never
//! by position.

mod columns;
pub(super) mod flat;
pub(super) mod summary;

use model::finding::{Finding, Severity};
use model::observation::{IoStats, Latency, Load, Observation, SeriesPoint, StatedFigures};
use model::{Bytes, Nanos, PerDirection};

use columns::{Column, Figures};

use super::Imported;
use super::numbers::{parse_decimal, parse_integer};
use crate::vdbench::is_layout;

const MIB: f64 = 1_048_576.0;

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowKind {
    /// An interval, counted from 1.
    Interval(u32),
    /// Averages over these intervals; over none (2 to 1) if the run ended within its warm-up.
    Average(u32, u32),
    /// Standard deviations over the intervals.
    Deviation,
    /// Maximums over the intervals, which are not read.
    Max,
}

impl RowKind {
    /// `17`, `avg_2-60`, `std_2-60`, `max_2-60`.
    fn parse(word: &str) -> Option<RowKind> {
        if let Some(number) = parse_integer(word) {
            return u32::try_from(number).ok().map(RowKind::Interval);
        }
        let (kind, range) = word.split_once('_')?;
        let (first, last) = range.split_once('-')?;
        let number = |text| u32::try_from(parse_integer(text)?).ok().filter(|number| *number > 0);
        let (first, last) = (number(first)?, number(last)?);
        match kind {
            _ if first > last + 1 => None,
            "avg" => Some(RowKind::Average(first, last)),
            "std" => Some(RowKind::Deviation),
            "max" => Some(RowKind::Max),
            _ => None,
        }
    }
}

/// A row of figures.
#[derive(Clone, Debug)]
struct Row {
    /// Seconds since midnight.
    time: f64,
    kind: RowKind,
    figures: Figures,
}

/// A run: a run definition with one value for each of its loop parameters.
#[derive(Clone, Debug, Default)]
struct Run {
    name: String,
    load: Load,
    rows: Vec<Row>,
}

impl Run {
    /// True if it has averages.
    fn is_complete(&self) -> bool {
        self.averages().is_some()
    }

    /// True if it ended before the first averaged interval. Its rates are divided by a whole
    /// interval, even if the run was shorter.
    fn ended_in_warm_up(&self) -> bool {
        self.averages().is_some_and(|(first, last, _)| first > last)
    }

    fn averages(&self) -> Option<(u32, u32, &Figures)> {
        self.rows.iter().find_map(|row| match row.kind {
            RowKind::Average(first, last) => Some((first, last, &row.figures)),
            _ => None,
        })
    }

    /// True if a row of this kind begins another run.
    fn is_ended_by(&self, kind: RowKind) -> bool {
        let last = self.rows.iter().rev().find_map(|row| match row.kind {
            RowKind::Interval(number) => Some(number),
            _ => None,
        });
        match kind {
            RowKind::Interval(number) => self.is_complete() || last.is_some_and(|last| number <= last),
            RowKind::Average(..) => self.is_complete(),
            RowKind::Deviation | RowKind::Max => false,
        }
    }

    /// The measured load; `None` without averages or without a rate.
    fn to_observation(&self, version: Option<&str>) -> Option<Observation> {
        let (first, last, figures) = self.averages().filter(|(first, last, _)| first <= last)?;
        let iops = figures.get(Column::Rate)?;
        let length = self.interval_length();
        let intervals_length = |count: u32| length.and_then(|length| length.0.checked_mul(u64::from(count)).map(Nanos));
        let total = IoStats {
            iops: Some(iops),
            bytes_per_sec: bytes_per_sec(figures),
            iops_deviation: self.rate_deviation(),
            latency: (iops > 0.0).then(|| total_latency(figures)).flatten(),
            ..IoStats::default()
        };
        Some(Observation {
            tool: "Vdbench".into(),
            version: version.map(str::to_owned),
            name: self.name.clone(),
            load: Load {
                // The averages exclude the earlier intervals.
                warm_up_ns: intervals_length(first - 1),
                ..self.load.clone()
            },
            measured_ns: intervals_length(last - first + 1),
            directions: split_directions(figures, &total),
            total,
            series: length
                .and_then(|length| self.series(first, last, length))
                .unwrap_or_default(),
            stated: StatedFigures {
                in_flight: figures.get(Column::QueueDepth),
                bytes_per_operation: figures.get(Column::Size).filter(|size| *size > 0.0),
                processors_busy: figures.get(Column::Busy).map(|percent| percent / 100.0),
            },
            ..Observation::default()
        })
    }

    fn rate_deviation(&self) -> Option<f64> {
        let row = self.rows.iter().find(|row| row.kind == RowKind::Deviation)?;
        row.figures.get(Column::Rate)
    }

    fn intervals(&self) -> impl Iterator<Item = (u32, &Row)> {
        self.rows.iter().filter_map(|row| match row.kind {
            RowKind::Interval(number) => Some((number, row)),
            _ => None,
        })
    }

    /// The interval length, from the times of the rows: a whole number of seconds, the same for all
    /// rows.
    fn interval_length(&self) -> Option<Nanos> {
        const SECONDS_PER_DAY: f64 = 86_400.0;
        /// Vdbench may write a row this long after the end of its interval.
        const MAX_DELAY_S: f64 = 0.25;
        let rows: Vec<(u32, f64)> = self.intervals().map(|(number, row)| (number, row.time)).collect();
        let mut length_s = None;
        for pair in rows.windows(2) {
            let [(first, first_time), (next, next_time)] = *pair else {
                return None;
            };
            let passed = (next_time - first_time).rem_euclid(SECONDS_PER_DAY)
                / f64::from(next.checked_sub(first).filter(|steps| *steps > 0)?);
            let seconds = passed.round();
            if seconds < 1.0
                || (passed - seconds).abs() > MAX_DELAY_S
                || length_s.is_some_and(|length_s| length_s != seconds)
            {
                return None;
            }
            length_s = Some(seconds);
        }
        length_s.map(|seconds: f64| Nanos::secs(seconds as u64))
    }

    /// The averaged intervals, if all are present with their share of reads.
    fn series(&self, first: u32, last: u32, length: Nanos) -> Option<Vec<SeriesPoint>> {
        let rows: Vec<(u32, &Row)> = self
            .intervals()
            .filter(|(number, _)| (first..=last).contains(number))
            .collect();
        if !rows.iter().map(|(number, _)| *number).eq(first..=last) {
            return None;
        }
        let seconds = length.as_secs();
        let point = |(number, row): (u32, &Row)| {
            let figures = &row.figures;
            let rate = figures.get(Column::Rate)?;
            let reads = figures.get(Column::ReadPercent).filter(|percent| *percent <= 100.0)? / 100.0;
            let bytes = bytes_per_sec(figures)?;
            let split_by_direction = |amount: f64| {
                let (read, written) = (amount * seconds * reads, amount * seconds * (1.0 - reads));
                [read.round() as u64, written.round() as u64, 0]
            };
            Some(SeriesPoint {
                start_ns: Nanos(length.0.checked_mul(u64::from(number - first))?),
                length_ns: length,
                operations: split_by_direction(rate),
                bytes: split_by_direction(bytes),
                mean_ns: figures.get(Column::Mean).filter(|_| rate > 0.0).map(|mean| mean * 1e6),
                p99_ns: None,
            })
        };
        rows.into_iter().map(point).collect()
    }
}

fn bytes_per_sec(figures: &Figures) -> Option<f64> {
    let binary = figures.get(Column::Mib).map(|rate| rate * MIB);
    binary.or_else(|| figures.get(Column::Mb).map(|rate| rate * 1e6))
}

/// Converts latencies in milliseconds. Vdbench has no percentiles.
fn latency(mean: Option<f64>, deviation: Option<f64>, max: Option<f64>) -> Option<Latency> {
    let ns = |ms: f64| ms * 1e6;
    mean.or(max).map(|_| Latency {
        mean_ns: mean.map(ns),
        deviation_ns: deviation.map(ns),
        max_ns: max.map(ns),
        ..Latency::default()
    })
}

fn total_latency(figures: &Figures) -> Option<Latency> {
    let max_over_directions = || {
        let (read, write) = (figures.get(Column::ReadMax)?, figures.get(Column::WriteMax)?);
        Some(read.max(write))
    };
    let max = figures.get(Column::Max).or_else(max_over_directions);
    latency(figures.get(Column::Mean), figures.get(Column::Deviation), max)
}

/// Splits the total rate by the share of reads. If there is only one direction, all figures belong
/// to it.
fn split_directions(figures: &Figures, total: &IoStats) -> PerDirection<Option<IoStats>> {
    let build_flow = |share: f64, mean: Column, max: Column| {
        let iops = total.iops.map(|iops| iops * share);
        (share > 0.0 && iops > Some(0.0)).then(|| IoStats {
            iops,
            latency: latency(figures.get(mean), None, figures.get(max)),
            ..IoStats::default()
        })
    };
    match figures.get(Column::ReadPercent).filter(|_| total.iops > Some(0.0)) {
        Some(100.0) => PerDirection::from_reads(Some(total.clone())),
        Some(0.0) => PerDirection::new(None, Some(total.clone()), None),
        Some(percent) if percent < 100.0 => PerDirection {
            read: build_flow(percent / 100.0, Column::ReadMean, Column::ReadMax),
            write: build_flow(1.0 - percent / 100.0, Column::WriteMean, Column::WriteMax),
            trim: None,
        },
        _ => PerDirection::default(),
    }
}

/// Adds the loads of the runs, and reports runs without averages.
fn add_runs(imported: &mut Imported, runs: &[Run], version: Option<&str>) {
    for run in runs {
        if let Some(load) = run.to_observation(version) {
            imported.loads.push(load);
            continue;
        }
        let (rule, message, help) = match run.intervals().last() {
            // A truncated layout does not affect the runs that follow it.
            _ if is_layout(&run.name) => continue,
            _ if run.ended_in_warm_up() => (
                "RUN-INTERRUPTED",
                "the run ended within its warm-up, so it has no averages".to_owned(),
                "use a larger file or a shorter interval, so that the run outlasts its warm-up",
            ),
            _ if run.is_complete() => (
                "REPORT-TRUNCATED",
                "the average row has no rate".to_owned(),
                "pass flatfile.html or summary.html as Vdbench wrote it",
            ),
            last => {
                let end_position = last.map_or("before its first interval".to_owned(), |(number, _)| {
                    format!("after interval {number}")
                });
                (
                    "REPORT-TRUNCATED",
                    format!("the run has no averages (avg_…): it is truncated or ended {end_position}"),
                    "copy the whole file, or run it again",
                )
            }
        };
        let finding = Finding::new(rule, Severity::Warning, message).at(&*run.name);
        imported.findings.push(finding.help(help));
    }
}

/// Fills in a requested value, from a loop parameter or a column of the same name. `threads` is per
/// storage definition, and neither file contains the number of definitions, so the queue depth is
/// unknown.
fn apply_parameter(load: &mut Load, name: &str, value: &str) {
    match name {
        "xfersize" => load.block = value.parse().ok().filter(|size: &Bytes| size.0 > 0),
        "rdpct" => load.read_percent = parse_decimal(value).filter(|percent| *percent <= 100.0),
        "seekpct" => {
            load.random = match value {
                "random" | "rand" | "100" | "100.0" | "100.00" => Some(true),
                "seq" | "sequential" | "eof" | "seqnz" | "0" | "0.0" | "0.00" => Some(false),
                _ => None,
            }
        }
        _ => {}
    }
}

/// Fills in the requested rate: a number, or the maximum. Flat files use numbers for `max` and the
/// first run of a `curve`; the numbers differ between releases.
fn apply_rate(load: &mut Load, value: &str) {
    match parse_decimal(value.split_whitespace().next().unwrap_or_default()) {
        Some(999_998.0 | 999_999.0 | 9_999_977.0 | 9_999_988.0) => load.closed_loop = Some(true),
        Some(rate) if rate > 0.0 => (load.rate_iops, load.closed_loop) = (Some(rate), Some(false)),
        Some(_) => {}
        // Not `controlled max`: it throttles fast workloads, so the loop is not closed.
        None if matches!(
            value.to_ascii_lowercase().as_str(),
            "max" | "curve" | "uncontrolled max" | "uncontrolled curve"
        ) =>
        {
            load.closed_loop = Some(true);
        }
        None => {}
    }
}

/// Seconds since midnight of `12:02:43.050`.
fn parse_time_of_day(word: &str) -> Option<f64> {
    let mut parts = word.split(':');
    let (hours, minutes) = (parse_integer(parts.next()?)?, parse_integer(parts.next()?)?);
    let seconds = parse_decimal(parts.next()?)?;
    let is_valid = parts.next().is_none() && hours < 24 && minutes < 60 && seconds < 61.0;
    is_valid.then(|| (hours * 3600 + minutes * 60) as f64 + seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_distinguished() {
        assert_eq!(RowKind::parse("17"), Some(RowKind::Interval(17)));
        assert_eq!(RowKind::parse("avg_2-60"), Some(RowKind::Average(2, 60)));
        assert_eq!(RowKind::parse("std_2-60"), Some(RowKind::Deviation));
        assert_eq!(
            RowKind::parse("avg_2-1"),
            Some(RowKind::Average(2, 1)),
            "it ended in its warm-up"
        );
        for word in [
            "avg_60-2", "avg_3-1", "avg_0-2", "avg_2", "sum_2-60", "99999999999", "-1", "",
        ] {
            assert_eq!(RowKind::parse(word), None, "{word}");
        }
        assert_eq!(parse_time_of_day("01:00:02.500"), Some(3602.5));
        for word in [
            "24:00:00",
            "9999999999999999999:00:00",
            "1:60:00",
            "10:20",
            "10:20:30:40",
            "a:b:c",
        ] {
            assert_eq!(parse_time_of_day(word), None, "{word}");
        }
    }

    #[test]
    fn only_unambiguous_requests_are_known() {
        let mut load = Load::default();
        for (name, value) in [
            ("xfersize", "4k"),
            ("rdpct", "70"),
            ("seekpct", "100"),
            ("threads", "8"),
        ] {
            apply_parameter(&mut load, name, value);
        }
        assert_eq!((load.block, load.random), (Some(Bytes(4096)), Some(true)));
        assert_eq!((load.read_percent, load.depth), (Some(70.0), None));
        apply_parameter(&mut load, "seekpct", "50");
        apply_parameter(&mut load, "xfersize", "(4k,50,8k,50)");
        assert_eq!(
            (load.block, load.random),
            (None, None),
            "a mix is neither random nor sequential; there are several sizes"
        );
        let rate = |value: &str| {
            let mut load = Load::default();
            apply_rate(&mut load, value);
            (load.rate_iops, load.closed_loop)
        };
        assert_eq!(rate("5000"), (Some(5000.0), Some(false)));
        assert_eq!(rate("Uncontrolled MAX"), (None, Some(true)));
        assert_eq!(rate("999999"), (None, Some(true)));
        assert_eq!(rate("Controlled MAX"), (None, None));
    }
}
