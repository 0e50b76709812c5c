//! Reads fio's log files.
//!
//! A line has a time (ms), a value, a direction, a block size and further columns. The kind of the
//! value follows from the file name only: see [`LogName`]. A line with a block size is one
//! operation; a line without one is an average since the previous line (`log_avg_msec`). Single
//! operations are summed by interval, because one operation has no rate.

use std::collections::BTreeMap;

use model::histogram::Histogram;
use model::{Direction, PerDirection};

use super::super::problem_at;
use crate::Diagnostic;

/// The kind of values in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogKind {
    /// KiB per second.
    Bandwidth,
    /// Operations per second.
    Iops,
    /// Nanoseconds from the start of an operation to its end.
    Latency,
    /// Nanoseconds from the start of an operation to its submission.
    Submission,
    /// Nanoseconds from the submission to the end.
    Completion,
    /// Counts of completion latencies in fio's bins.
    Histogram,
}

/// Suffixes of file names.
const SUFFIXES: [(&str, LogKind); 6] = [
    ("_bw", LogKind::Bandwidth),
    ("_iops", LogKind::Iops),
    ("_slat", LogKind::Submission),
    ("_clat", LogKind::Completion),
    ("_lat", LogKind::Latency),
    ("_clat_hist", LogKind::Histogram),
];

/// The parts of a log's name: `db_clat.2.log` belongs to worker 2 of `db`. A client's name may
/// follow `.log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogName {
    /// The prefix that the user chose, with the client.
    pub job: String,
    /// The kind of its values.
    pub kind: LogKind,
    /// The worker's number; absent if all workers share a file (`per_job_logs=0`).
    pub worker: Option<u32>,
}

impl LogName {
    /// Parses a file name without its directory; `None` if it is not a log's name.
    pub fn parse(name: &str) -> Option<LogName> {
        let (stem, client) = match name.rsplit_once(".log.") {
            Some((stem, client)) => (stem, Some(client)),
            None => (name.strip_suffix(".log")?, None),
        };
        let (stem, worker) = match stem.rsplit_once('.') {
            Some((before, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
                (before, Some(number.parse().ok()?))
            }
            _ => (stem, None),
        };
        let (job, kind) = SUFFIXES
            .iter()
            .find_map(|(suffix, kind)| Some((stem.strip_suffix(suffix)?, *kind)))?;
        Some(LogName {
            job: client.map_or_else(|| job.to_owned(), |client| format!("{job} on {client}")),
            kind,
            worker,
        })
    }
}

/// A time and a value, as in the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Milliseconds: since the start of the job, or since 1970.
    pub at_ms: u64,
    /// The value in the unit of the log.
    pub value: f64,
}

/// The operations that ended in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalTotals {
    /// Their number.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their values.
    pub sum: f64,
    /// The largest value.
    pub max: f64,
}

/// The lines of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionLog {
    /// Averages, in the order of the file.
    pub samples: Vec<Sample>,
    /// Maximum values, next to the averages (`log_window_value=both`).
    pub maxima: Vec<Sample>,
    /// Operations by interval number.
    pub intervals: BTreeMap<u64, IntervalTotals>,
    /// Latencies, from operations or from the bins of a histogram log.
    pub latencies: Option<Histogram>,
}

/// A log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// The lines of each direction.
    pub directions: PerDirection<DirectionLog>,
    /// Length of the intervals of [`DirectionLog::intervals`].
    pub interval_ms: u64,
    /// The number of readable lines.
    pub readable_lines: u64,
    /// The earliest and the latest time.
    pub time_range_ms: Option<(u64, u64)>,
    /// Times of a direction decrease: the log holds several workers, one after another.
    pub is_merged: bool,
    /// The width of a histogram bin relative to its latency, at most.
    pub bin_width: Option<f64>,
    /// The number of unreadable lines.
    pub unreadable_lines: u64,
    /// The first unreadable line.
    pub first_unreadable: Option<Diagnostic>,
}

/// Logs shorter than this are summed by 100 ms, longer ones by 1 s.
const SHORT_MS: u64 = 10_000;
/// The latest plausible time: the year 5138.
const MAX_MS: u64 = 100_000_000_000_000;
/// The largest plausible operation.
const MAX_BLOCK: u64 = 1 << 40;
/// fio's bins: 29 groups of 64.
const BINS: usize = 29 << BIN_BITS;
const BIN_BITS: u32 = 6;

/// Parses a log. `file` is its name in messages.
pub fn read_log(kind: LogKind, file: &str, text: &str) -> Log {
    let mut log = Log::default();
    let rows = || text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let times = rows().filter_map(|(_, line)| parse_columns(line)?.first().copied());
    log.time_range_ms = times.fold(None, |ends, at| match ends {
        None => Some((at, at)),
        Some((first, last)) => Some((at.min(first), at.max(last))),
    });
    let (first, last) = log.time_range_ms.unwrap_or_default();
    log.interval_ms = if last - first < SHORT_MS { 100 } else { 1000 };
    // If lines have a maximum, it takes the column of the direction. The majority decides, since a
    // line may be truncated.
    let third_column = rows().filter_map(|(_, line)| parse_columns(line)?.get(2).copied());
    let balance: i64 = third_column.map(|value| if value > 2 { 1 } else { -1 }).sum();
    let has_maxima = kind != LogKind::Histogram && balance > 0;
    let mut previous: PerDirection<u64> = PerDirection::default();
    for (index, line) in rows() {
        let read = parse_columns(line).and_then(|columns| match kind {
            LogKind::Histogram => log.add_bins(&columns),
            _ => log.add_line(kind, &columns, has_maxima),
        });
        match read {
            Some((direction, at)) => {
                log.readable_lines += 1;
                log.is_merged |= at < previous[direction];
                previous[direction] = at;
            }
            None => {
                log.unreadable_lines += 1;
                let expected = "expected the columns time, value, direction and block size";
                log.first_unreadable
                    .get_or_insert_with(|| problem_at(file, index + 1, line, expected));
            }
        }
    }
    log
}

/// Parses the numbers of a line: time, value, direction, block size and others. The last ones may
/// be hexadecimal flags.
fn parse_columns(line: &str) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    for column in line.split(',').map(str::trim).filter(|column| !column.is_empty()) {
        numbers.push(match column.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => column.parse().ok()?,
        });
    }
    (numbers.len() >= 4 && numbers[0] <= MAX_MS).then_some(numbers)
}

fn parse_direction(number: u64) -> Option<Direction> {
    Direction::ALL.get(usize::try_from(number).ok()?).copied()
}

impl Log {
    fn add_line(&mut self, kind: LogKind, columns: &[u64], has_maxima: bool) -> Option<(Direction, u64)> {
        let (at_ms, value) = (columns[0], columns[1]);
        let [direction, block, ..] = &columns[2 + usize::from(has_maxima)..] else {
            return None;
        };
        let direction = parse_direction(*direction).filter(|_| *block <= MAX_BLOCK)?;
        let interval = (at_ms - self.time_range_ms?.0) / self.interval_ms;
        let direction_log = &mut self.directions[direction];
        if *block == 0 {
            let sample = |value: u64| Sample {
                at_ms,
                value: value as f64,
            };
            direction_log.samples.push(sample(value));
            direction_log.maxima.extend(has_maxima.then(|| sample(columns[2])));
        } else {
            let totals = direction_log.intervals.entry(interval).or_default();
            totals.operations += 1;
            totals.bytes += block;
            totals.sum += value as f64;
            totals.max = totals.max.max(value as f64);
            if matches!(kind, LogKind::Latency | LogKind::Submission | LogKind::Completion) {
                direction_log.latencies.get_or_insert_default().record(value);
            }
        }
        Some((direction, at_ms))
    }

    /// Adds a line of a histogram log: the operations since the previous line. Adjacent bins may be
    /// merged (`log_hist_coarseness`).
    fn add_bins(&mut self, columns: &[u64]) -> Option<(Direction, u64)> {
        let [at_ms, direction, _block, counts @ ..] = columns else {
            return None;
        };
        let direction = parse_direction(*direction)?;
        let coarseness = (0..=BIN_BITS).find(|coarseness| BINS >> coarseness == counts.len())?;
        let bins = counts
            .iter()
            .enumerate()
            .map(|(bin, count)| (middle(bin, coarseness), *count));
        // The sum of a bin's latencies must not overflow.
        if bins
            .clone()
            .any(|(latency, count)| latency.checked_mul(count).is_none() || count > u64::from(u32::MAX))
        {
            return None;
        }
        let latencies = self.directions[direction].latencies.get_or_insert_default();
        let filled_bins = bins.filter(|(_, count)| *count > 0);
        filled_bins.for_each(|(latency, count)| latencies.record_times(latency, count));
        self.bin_width = Some(f64::from(1 << coarseness) / f64::from(1 << BIN_BITS));
        Some((direction, *at_ms))
    }
}

/// The smallest latency of a bin.
fn bin_start(bin: usize) -> u64 {
    if bin < 2 << BIN_BITS {
        return bin as u64;
    }
    let exponent = (bin >> BIN_BITS) - 1;
    (((bin & ((1 << BIN_BITS) - 1)) as u64) + (1 << BIN_BITS)) << exponent
}

/// The middle of merged bins.
fn middle(bin: usize, coarseness: u32) -> u64 {
    let (from, to) = (bin_start(bin << coarseness), bin_start((bin + 1) << coarseness));
    from + (to - 1 - from).div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let read = |name: &str| LogName::parse(name).map(|found| (found.job, found.kind, found.worker));
        assert_eq!(read("db_clat.2.log"), Some(("db".into(), LogKind::Completion, Some(2))));
        assert_eq!(read("a_lat_bw.log"), Some(("a_lat".into(), LogKind::Bandwidth, None)));
        assert_eq!(
            read("x.y_clat_hist.12.log.db1"),
            Some(("x.y on db1".into(), LogKind::Histogram, Some(12)))
        );
        assert_eq!(read("server.log"), None);
        assert_eq!(read("db_lat.1.txt"), None);
    }

    /// fio's bins: one per nanosecond up to 127, then 64 per factor of two.
    #[test]
    fn bins_have_their_latencies() {
        assert_eq!(
            (bin_start(127), bin_start(128), bin_start(129), bin_start(192)),
            (127, 128, 130, 256)
        );
        assert_eq!((middle(5, 0), middle(128, 0), middle(192, 0)), (5, 129, 258));
        // 128 to 255 merged.
        assert_eq!(middle(2, 6), 192);
    }

    /// Covers short lines among maxima, and numbers so large that sums would overflow.
    #[test]
    fn implausible_lines_are_rejected() {
        let largest = u64::MAX;
        let bins = format!("1, 0, 4096{}", format!(", {largest}").repeat(BINS));
        let lines = [
            (
                LogKind::Latency,
                "500, 900, 1500, 0, 0\n501, 900, 1500, 0, 0\n600, 5".to_owned(),
            ),
            (
                LogKind::Latency,
                "500, 900, 1500, 0, 0\n501, 900, 1500, 0, 0\n600, 5, 7, 0".to_owned(),
            ),
            (
                LogKind::Bandwidth,
                format!("1, 2, 0, 4096\n2, 2, 0, 4096\n2, 2, 0, {largest}"),
            ),
            (
                LogKind::Iops,
                format!("1, 2, 0, 4096\n2, 2, 0, 4096\n{largest}, 2, 0, 4096"),
            ),
            (LogKind::Histogram, bins),
        ];
        for (kind, text) in lines {
            let log = read_log(kind, "x", &text);
            assert_eq!(
                (log.readable_lines, log.unreadable_lines),
                (text.lines().count() as u64 - 1, 1),
                "{text}"
            );
        }
    }

    #[test]
    fn averages_operations_and_other_lines_are_distinguished() {
        let log = read_log(
            LogKind::Bandwidth,
            "x",
            "500, 100, 0, 0, 0\n1000, 200, 0, 0, 0\n1000, 7, 1",
        );
        assert_eq!((log.readable_lines, log.unreadable_lines), (2, 1));
        assert_eq!(
            log.directions.read.samples[1],
            Sample {
                at_ms: 1000,
                value: 200.0
            }
        );
        let log = read_log(
            LogKind::Latency,
            "x",
            "3, 900, 1, 4096, 0, 0x0004\n4, 1100, 1, 8192, 0, 0",
        );
        let totals = log.directions.write.intervals[&0];
        assert_eq!((totals.operations, totals.bytes, totals.max), (2, 12288, 1100.0));
        assert_eq!(log.directions.write.latencies.as_ref().unwrap().mean(), 1000.0);
        let log = read_log(LogKind::Latency, "x", "500, 900, 1500, 0, 0, 0\n");
        assert_eq!(
            log.directions.read.maxima,
            [Sample {
                at_ms: 500,
                value: 1500.0
            }]
        );
    }
}
