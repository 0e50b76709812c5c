//! fio's log files: what each line says, without a guess at what no line says.
//!
//! A line is time (ms), value, direction, block size and further columns. The kind of the value is
//! only in the name of the file: [`LogName`]. A line with a block size is one operation; one
//! without is an average of the time since the line before (`log_avg_msec`). Lines of operations
//! are counted here by intervals, since the value of one is no rate.

use std::collections::BTreeMap;

use model::histogram::Histogram;
use model::{Direction, PerDirection};

use super::super::place_of;
use crate::Diagnostic;

/// What the values of a log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogKind {
    /// KiB per second.
    Bandwidth,
    /// Operations per second.
    Iops,
    /// Nanoseconds from the start of an operation to its end.
    Latency,
    /// Nanoseconds until an operation was submitted.
    Submission,
    /// Nanoseconds from there to its end.
    Completion,
    /// Counts of completion latencies in fio's bins.
    Histogram,
}

/// The words in names of files.
const KINDS: [(&str, LogKind); 6] = [
    ("_bw", LogKind::Bandwidth),
    ("_iops", LogKind::Iops),
    ("_slat", LogKind::Submission),
    ("_clat", LogKind::Completion),
    ("_lat", LogKind::Latency),
    ("_clat_hist", LogKind::Histogram),
];

/// What the name of a log says: `db_clat.2.log` is that of worker 2 of `db`. Behind `.log` the name
/// of a client may stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogName {
    /// First part, which the user chose, with the client.
    pub job: String,
    /// What its values are.
    pub kind: LogKind,
    /// Number of the worker; absent where all have one file (`per_job_logs=0`).
    pub worker: Option<u32>,
}

impl LogName {
    /// Reads a file name without its folder; `None` if it is not that of a log.
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
        let (job, kind) = KINDS
            .iter()
            .find_map(|(word, kind)| Some((stem.strip_suffix(word)?, *kind)))?;
        Some(LogName {
            job: client.map_or_else(|| job.to_owned(), |client| format!("{job} on {client}")),
            kind,
            worker,
        })
    }
}

/// A value at a time, both as the log has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Milliseconds: since the start of the job, or since 1970.
    pub at_ms: u64,
    /// The value in the unit of the log.
    pub value: f64,
}

/// Lines of operations that ended in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// How many.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their values.
    pub sum: f64,
    /// The largest value.
    pub max: f64,
}

/// What one direction did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogLines {
    /// Averages, in the order of the file.
    pub samples: Vec<Sample>,
    /// Largest values beside the averages (`log_window_value=both`).
    pub maxima: Vec<Sample>,
    /// Lines of operations by the number of their interval.
    pub intervals: BTreeMap<u64, Counted>,
    /// Latencies: of operations, or from the bins of a histogram log.
    pub latencies: Option<Histogram>,
}

/// A log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// What each direction did.
    pub directions: PerDirection<LogLines>,
    /// Length of the intervals of [`LogLines::intervals`].
    pub interval_ms: u64,
    /// Lines that were read.
    pub lines: u64,
    /// Times of the first and last line, by the clock.
    pub times_ms: Option<(u64, u64)>,
    /// Times of a direction go back: lines of several workers follow one another.
    pub is_merged: bool,
    /// A bin of the histogram log is at most this part of its latency wide.
    pub bin_width: Option<f64>,
    /// Lines that could not be read.
    pub unread: u64,
    /// The first of them.
    pub first_unread: Option<Diagnostic>,
}

/// Operations of a log that is shorter than this are counted by tenths of a second.
const SHORT_MS: u64 = 10_000;
/// No line has a later time, which is the year 5138 by a clock.
const MAX_MS: u64 = 100_000_000_000_000;
/// No operation is longer.
const MAX_BLOCK: u64 = 1 << 40;
/// fio's bins: 29 groups of 64.
const BINS: usize = 29 << BIN_BITS;
const BIN_BITS: u32 = 6;

/// Reads a log of that kind. `file` is how messages call it.
pub fn read_log(kind: LogKind, file: &str, text: &str) -> Log {
    let mut log = Log::default();
    let rows = || text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let times = rows().filter_map(|(_, line)| columns(line)?.first().copied());
    log.times_ms = times.fold(None, |ends, at| match ends {
        None => Some((at, at)),
        Some((first, last)) => Some((at.min(first), at.max(last))),
    });
    let (first, last) = log.times_ms.unwrap_or_default();
    log.interval_ms = if last - first < SHORT_MS { 100 } else { 1000 };
    // A maximum beside the average stands where the direction would. A line that was cut does not
    // decide it.
    let third = rows().filter_map(|(_, line)| columns(line)?.get(2).copied());
    let balance: i64 = third.map(|value| if value > 2 { 1 } else { -1 }).sum();
    let has_maxima = kind != LogKind::Histogram && balance > 0;
    let mut previous: PerDirection<u64> = PerDirection::default();
    for (index, line) in rows() {
        let read = columns(line).and_then(|columns| match kind {
            LogKind::Histogram => log.add_bins(&columns),
            _ => log.add(kind, &columns, has_maxima),
        });
        match read {
            Some((direction, at)) => {
                log.lines += 1;
                log.is_merged |= at < previous[direction];
                previous[direction] = at;
            }
            None => {
                log.unread += 1;
                log.first_unread.get_or_insert_with(|| {
                    Diagnostic::new("the line is not one of this log").at(place_of(file, index + 1, line))
                });
            }
        }
    }
    log
}

/// Numbers of a line: time, value, direction, block size and more, with flags in hexadecimal at the
/// end.
fn columns(line: &str) -> Option<Vec<u64>> {
    let mut numbers = Vec::new();
    for column in line.split(',').map(str::trim).filter(|column| !column.is_empty()) {
        numbers.push(match column.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => column.parse().ok()?,
        });
    }
    (numbers.len() >= 4 && numbers[0] <= MAX_MS).then_some(numbers)
}

fn direction_of(number: u64) -> Option<Direction> {
    Direction::ALL.get(usize::try_from(number).ok()?).copied()
}

impl Log {
    fn add(&mut self, kind: LogKind, columns: &[u64], has_maxima: bool) -> Option<(Direction, u64)> {
        let (at_ms, value) = (columns[0], columns[1]);
        let [direction, block, ..] = &columns[2 + usize::from(has_maxima)..] else {
            return None;
        };
        let direction = direction_of(*direction).filter(|_| *block <= MAX_BLOCK)?;
        let interval = (at_ms - self.times_ms?.0) / self.interval_ms;
        let lines = &mut self.directions[direction];
        if *block == 0 {
            let sample = |value: u64| Sample {
                at_ms,
                value: value as f64,
            };
            lines.samples.push(sample(value));
            lines.maxima.extend(has_maxima.then(|| sample(columns[2])));
        } else {
            let counted = lines.intervals.entry(interval).or_default();
            counted.operations += 1;
            counted.bytes += block;
            counted.sum += value as f64;
            counted.max = counted.max.max(value as f64);
            if matches!(kind, LogKind::Latency | LogKind::Submission | LogKind::Completion) {
                lines.latencies.get_or_insert_default().record(value);
            }
        }
        Some((direction, at_ms))
    }

    /// A line of a histogram log counts the operations since the line before. Neighbouring bins may
    /// be one (`log_hist_coarseness`).
    fn add_bins(&mut self, columns: &[u64]) -> Option<(Direction, u64)> {
        let [at_ms, direction, _block, counts @ ..] = columns else {
            return None;
        };
        let direction = direction_of(*direction)?;
        let coarse = (0..=BIN_BITS).find(|coarse| BINS >> coarse == counts.len())?;
        let bins = counts
            .iter()
            .enumerate()
            .map(|(bin, count)| (middle(bin, coarse), *count));
        // The sum of a bin's latencies has to fit.
        if bins
            .clone()
            .any(|(latency, count)| latency.checked_mul(count).is_none() || count > u64::from(u32::MAX))
        {
            return None;
        }
        let latencies = self.directions[direction].latencies.get_or_insert_default();
        let counted = bins.filter(|(_, count)| *count > 0);
        counted.for_each(|(latency, count)| latencies.record_times(latency, count));
        self.bin_width = Some(f64::from(1 << coarse) / f64::from(1 << BIN_BITS));
        Some((direction, *at_ms))
    }
}

/// The smallest latency of a bin.
fn low(bin: usize) -> u64 {
    if bin < 2 << BIN_BITS {
        return bin as u64;
    }
    let exponent = (bin >> BIN_BITS) - 1;
    (((bin & ((1 << BIN_BITS) - 1)) as u64) + (1 << BIN_BITS)) << exponent
}

/// The middle of neighbouring bins that are one.
fn middle(bin: usize, coarse: u32) -> u64 {
    let (from, to) = (low(bin << coarse), low((bin + 1) << coarse));
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

    /// Bins by the definition: single nanoseconds up to 127, then 64 for each factor of two.
    #[test]
    fn bins_have_their_latencies() {
        assert_eq!((low(127), low(128), low(129), low(192)), (127, 128, 130, 256));
        assert_eq!((middle(5, 0), middle(128, 0), middle(192, 0)), (5, 129, 258));
        // 128 to 255 as one.
        assert_eq!(middle(2, 6), 192);
    }

    /// Short lines among maxima, and numbers that no run has: sums of them would overflow.
    #[test]
    fn implausible_lines_are_not_read() {
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
            assert_eq!((log.lines, log.unread), (text.lines().count() as u64 - 1, 1), "{text}");
        }
    }

    #[test]
    fn averages_operations_and_what_is_neither() {
        let log = read_log(
            LogKind::Bandwidth,
            "x",
            "500, 100, 0, 0, 0\n1000, 200, 0, 0, 0\n1000, 7, 1",
        );
        assert_eq!((log.lines, log.unread), (2, 1));
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
        let counted = log.directions.write.intervals[&0];
        assert_eq!((counted.operations, counted.bytes, counted.max), (2, 12288, 1100.0));
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
