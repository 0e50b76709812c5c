//! Rows of runs on files: columns for reads, writes and each other operation.

use model::plan::FileOperationKind;

use super::histogram::group_digits;
use super::{Cpu, Layout, Tally};

/// The columns of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileColumns {
    /// Operations that the run requests.
    pub requested: Vec<FileOperationKind>,
    /// Other operations of the parameter file, which have no column by default.
    pub extra: Vec<FileOperationKind>,
}

/// Operations with their name in the flat file, their header, and the kinds that count.
type Operation = (&'static str, &'static str, &'static [FileOperationKind]);
/// The first six always have columns in reports. Creating a file also opens it.
const OPERATIONS: [Operation; 11] = [
    ("Mkdir", "...mkdir....", &[FileOperationKind::Mkdir]),
    ("Rmdir", "...rmdir....", &[FileOperationKind::Rmdir]),
    ("Create", "...create...", &[FileOperationKind::Create]),
    (
        "Open",
        "....open....",
        &[FileOperationKind::Open, FileOperationKind::Create],
    ),
    ("Close", "...close....", &[FileOperationKind::Close]),
    ("Delete", "...delete...", &[FileOperationKind::Delete]),
    ("Getattr", "..getattr...", &[FileOperationKind::Stat]),
    ("Setattr", "..setattr...", &[FileOperationKind::SetTimes]),
    ("Access", "...access...", &[FileOperationKind::Access]),
    ("Copy", "....copy....", &[FileOperationKind::Copy]),
    ("Move", "....move....", &[FileOperationKind::Move]),
];

impl FileColumns {
    fn operations(&self) -> impl Iterator<Item = &'static Operation> {
        let (always, others) = OPERATIONS.split_at(6);
        always
            .iter()
            .chain(others.iter().filter(|(_, _, kinds)| self.extra.contains(&kinds[0])))
    }
}

/// Sums some kinds of operation: count, bytes, and mean response time in milliseconds.
fn sum_kinds(tally: &Tally, kinds: &[FileOperationKind]) -> (f64, f64, f64) {
    let side = tally.sum_of_kinds(kinds);
    (side.n as f64, side.bytes as f64, side.mean_ms())
}

/// Formats a number for its column; a number that is too wide loses decimals.
fn fit(value: f64, width: usize, decimals: usize) -> String {
    let texts = (0..=decimals)
        .rev()
        .map(|decimals| format!("{value:>width$.decimals$}"));
    let narrow = { texts }.find(|text| text.len() <= width);
    narrow.unwrap_or_else(|| format!("{value:.0}"))
}

/// The two lines above the rows.
pub fn format_file_header(layout: Layout, columns: &FileColumns, date: &str) -> [String; 2] {
    let label = match layout {
        Layout::V50407 => "..Interval..",
        Layout::V50406 => ".Interval.",
    };
    let mut first = format!(
        "{date:<12} {label} .ReqstdOps... ...cpu%...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.."
    );
    let mut second = format!(
        "{:<12} {:<width$}   rate   resp total  sys   pct   rate   resp   rate   resp  read write  total    size",
        "",
        "",
        width = label.len()
    );
    for (_, name, _) in columns.operations() {
        first.push(' ');
        first.push_str(name);
        second.push_str("  rate   resp");
    }
    [first, second]
}

/// Formats a row. `seconds` is the nominal length of the interval, or of all averaged intervals.
pub fn format_file_row(
    layout: Layout,
    columns: &FileColumns,
    (time, label): (&str, &str),
    tally: &Tally,
    seconds: f64,
    decimal_megabytes: bool,
    cpu: Cpu,
) -> String {
    let megabyte = if decimal_megabytes { 1e6 } else { 1_048_576.0 };
    let (reads, read, read_ms) = sum_kinds(tally, &[FileOperationKind::ReadBlock]);
    let (writes, written, write_ms) = sum_kinds(tally, &[FileOperationKind::WriteBlock]);
    let (requested, _, requested_ms) = sum_kinds(tally, &columns.requested);
    let moved = (reads + writes).max(1.0);
    let mut line = format!("{time:<12} {label:>width$}", width = layout.label());
    let cells = [
        (requested / seconds, 6, 1),
        (requested_ms, 6, 3),
        (cpu.user + cpu.system, 5, 1),
        (cpu.system, 4, 2),
        (100.0 * reads / moved, 5, 1),
        (reads / seconds, 6, 1),
        (read_ms, 6, 3),
        (writes / seconds, 6, 1),
        (write_ms, 6, 3),
        (read / megabyte / seconds, 5, 2),
        (written / megabyte / seconds, 5, 2),
        ((read + written) / megabyte / seconds, 6, 2),
        (((read + written) / moved).floor(), 7, 0),
    ];
    let operations = columns.operations().flat_map(|(_, _, kinds)| {
        let (count, _, mean_ms) = sum_kinds(tally, kinds);
        [(count / seconds, 5, 1), (mean_ms, 6, 3)]
    });
    for (value, width, decimals) in cells.into_iter().chain(operations) {
        line.push(' ');
        line.push_str(&fit(value, width, decimals));
    }
    line
}

/// Names of the flat file's columns before the operations' columns.
const FLAT_START: [&str; 13] = [
    "Run", "Interval", "reqrate", "rate", "resp", "MB/sec", "Read_rate", "Read_resp", "Write_rate", "Write_resp",
    "MB_read", "MB_write", "Xfersize",
];
/// Names of the flat file's columns after the operations' columns.
const FLAT_END: [&str; 7] = [
    "compratio", "dedupratio", "cpu_used", "cpu_user", "cpu_kernel", "cpu_wait", "cpu_idle",
];

fn flat_line((time, timestamp): (&str, &str), cells: impl Iterator<Item = (String, usize)>) -> String {
    let cells: String = cells.map(|(cell, width)| format!("{cell:>width$} ")).collect();
    format!("{time:>12} {timestamp:>23} {cells}")
}

fn flat_names() -> Vec<String> {
    let operations = OPERATIONS
        .iter()
        .flat_map(|(name, ..)| [format!("{name}_rate"), format!("{name}_resp")]);
    let names = FLAT_START.iter().map(ToString::to_string).chain(operations);
    names.chain(FLAT_END.iter().map(ToString::to_string)).collect()
}

/// The header line of the flat file.
pub fn format_file_flat_header() -> String {
    flat_line(("tod", "timestamp"), flat_names().into_iter().map(|name| (name, 10)))
}

/// Formats a row of the flat file. `run` is the name of the run; requested rate and compression
/// ratio follow it.
pub fn format_file_flat_row(
    columns: &FileColumns,
    times: (&str, &str),
    label: &str,
    (run, reqrate, compratio, decimal): (&str, f64, f64, bool),
    tally: &Tally,
    seconds: f64,
    cpu: Cpu,
) -> String {
    let float = |value: f64| format!("{value:.4}");
    let megabyte = if decimal { 1e6 } else { 1_048_576.0 };
    let megabytes = |bytes: f64| float(bytes / megabyte / seconds);
    let (reads, read, read_ms) = sum_kinds(tally, &[FileOperationKind::ReadBlock]);
    let (writes, written, write_ms) = sum_kinds(tally, &[FileOperationKind::WriteBlock]);
    let (requested, _, requested_ms) = sum_kinds(tally, &columns.requested);
    let mut cells = vec![
        run.to_owned(),
        label.to_owned(),
        float(reqrate),
        float(requested / seconds),
        float(requested_ms),
        megabytes(read + written),
        float(reads / seconds),
        float(read_ms),
        float(writes / seconds),
        float(write_ms),
        megabytes(read),
        megabytes(written),
        format!("{}", ((read + written) / (reads + writes).max(1.0)) as u64),
    ];
    for (_, _, kinds) in &OPERATIONS {
        let (count, _, mean_ms) = sum_kinds(tally, kinds);
        cells.extend([float(count / seconds), float(mean_ms)]);
    }
    cells.extend([float(compratio), "n/a".into()]);
    cells.extend([cpu.user + cpu.system, cpu.user, cpu.system, 0.0, cpu.idle].map(float));
    let widths = flat_names().into_iter().map(|name| name.len().max(10));
    flat_line(times, cells.into_iter().zip(widths))
}

/// Counters with their text. Opens for reading and for writing are counted separately.
const COUNTERS: [(&str, &str, &[FileOperationKind]); 10] = [
    ("FILE_CREATES", "Files created:", &[FileOperationKind::Create]),
    ("DIRECTORY_CREATES", "Directories created:", &[FileOperationKind::Mkdir]),
    ("FILE_DELETES", "Files deleted:", &[FileOperationKind::Delete]),
    ("DIRECTORY_DELETES", "Directories deleted:", &[FileOperationKind::Rmdir]),
    (
        READ_OPENS,
        "Files opened for read activity:",
        &[FileOperationKind::Open],
    ),
    (
        "WRITE_OPENS",
        "Files opened for write activity:",
        &[FileOperationKind::Open, FileOperationKind::Create],
    ),
    ("GET_ATTR", "Getattr requests:", &[FileOperationKind::Stat]),
    ("SET_ATTR", "Setattr requests:", &[FileOperationKind::SetTimes]),
    ("ACCESS", "Access requests:", &[FileOperationKind::Access]),
    ("FILE_CLOSES", "Close requests:", &[FileOperationKind::Close]),
];
const READ_OPENS: &str = "READ_OPENS";

/// Formats the counters of a run, from jobs that open files for reading and jobs that write.
pub fn format_file_counters(reading: &Tally, writing: &Tally, seconds: f64) -> Vec<String> {
    let counts = COUNTERS.map(|(name, text, kinds)| {
        let count_opens = |tally: &Tally| tally.sum_of_kinds(kinds).n;
        let count = match name {
            READ_OPENS => count_opens(reading),
            "WRITE_OPENS" => count_opens(writing),
            _ => count_opens(reading) + count_opens(writing),
        };
        (name, text, count)
    });
    let rows = counts
        .iter()
        .filter(|(.., count)| *count > 0)
        .map(|(name, text, count)| {
            let rate = group_digits((*count as f64 / seconds) as u64);
            format!("{name:<20}{text:<40}{:>11} {rate:>10}/sec", group_digits(*count))
        });
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return vec!["Miscellaneous statistics: All counters are zero".into()];
    }
    let mut lines = vec![
        String::new(),
        "Miscellaneous statistics:".into(),
        "(These statistics do not include activity between the last reported interval and shutdown.)".into(),
    ];
    lines.extend(rows);
    lines.push(String::new());
    lines
}

#[cfg(test)]
mod tests {
    use model::event::{Counts, FileOperationInterval};
    use model::{Bytes, Nanos};

    use super::*;

    fn tally() -> Tally {
        let kind = |kind, operations, bytes, mean_us: u64| FileOperationInterval {
            kind,
            counts: Counts {
                operations,
                bytes: Bytes(bytes),
            },
            latency_ns: Nanos(operations * mean_us * 1000),
        };
        Tally {
            file_operations: vec![
                kind(FileOperationKind::ReadBlock, 353, 353 * 4096, 12),
                kind(FileOperationKind::Open, 12, 0, 327),
                kind(FileOperationKind::Close, 10, 0, 29),
            ],
            ..Tally::default()
        }
    }

    /// Vdbench 5.04.06 wrote this average row for these counts.
    #[test]
    fn row_matches_the_recorded_one() {
        let columns = FileColumns {
            requested: vec![FileOperationKind::ReadBlock],
            extra: Vec::new(),
        };
        let cpu = Cpu {
            user: 2.8,
            system: 32.8,
            idle: 64.4,
        };
        let row = format_file_row(
            Layout::V50406,
            &columns,
            ("21:54:45.061", "avg_2-4"),
            &tally(),
            4.0,
            false,
            cpu,
        );
        assert_eq!(
            row,
            "21:54:45.061    avg_2-4   88.2  0.012  35.6 32.8 100.0   88.2  0.012    0.0  0.000  0.34  0.00   0.34    4096   0.0  0.000   0.0  0.000   0.0  0.000   3.0  0.327   2.5  0.029   0.0  0.000"
        );
        let [first, second] = format_file_header(Layout::V50406, &columns, "Nov 23, 2026");
        assert_eq!(
            first,
            "Nov 23, 2026 .Interval. .ReqstdOps... ...cpu%...  read ....read..... ....write.... ..mb/sec... mb/sec .xfer.. ...mkdir.... ...rmdir.... ...create... ....open.... ...close.... ...delete..."
        );
        assert_eq!(
            second,
            "                          rate   resp total  sys   pct   rate   resp   rate   resp  read write  total    size  rate   resp  rate   resp  rate   resp  rate   resp  rate   resp  rate   resp"
        );
        let newer = format_file_row(
            Layout::V50407,
            &columns,
            ("21:54:45.061", "1"),
            &tally(),
            1.0,
            false,
            cpu,
        );
        assert_eq!(
            format_file_header(Layout::V50407, &columns, "Nov 23, 2026")[0].len(),
            newer.len()
        );
    }

    /// As in recorded runs, wide numbers lose their decimals, then the point.
    #[test]
    fn wide_numbers_lose_decimals() {
        for (value, width, decimals, text) in [
            (88.25, 6, 1, "  88.2"),
            (109_612.4, 6, 1, "109612"),
            (428.17, 5, 2, "428.2"),
            (9.484, 4, 2, "9.48"),
            (10.3, 4, 2, "10.3"),
            (9715.2, 5, 1, " 9715"),
        ] {
            assert_eq!(fit(value, width, decimals), text);
        }
    }

    /// Rows of the recorded runs.
    #[test]
    fn counters_match_the_recorded_ones() {
        let count = |kind, operations| FileOperationInterval {
            kind,
            counts: Counts {
                operations,
                bytes: Bytes(0),
            },
            latency_ns: Nanos(0),
        };
        let tally = |counts: &[(FileOperationKind, u64)]| Tally {
            file_operations: counts.iter().map(|(kind, n)| count(*kind, *n)).collect(),
            ..Tally::default()
        };
        let reading = tally(&[(FileOperationKind::Open, 25_341), (FileOperationKind::Close, 25_340)]);
        assert_eq!(
            format_file_counters(&reading, &Tally::default(), 2.0)[3..5],
            [
                "READ_OPENS          Files opened for read activity:              25,341     12,670/sec",
                "FILE_CLOSES         Close requests:                              25,340     12,670/sec",
            ]
        );
        let made = tally(&[(FileOperationKind::Create, 100), (FileOperationKind::Mkdir, 4)]);
        assert_eq!(
            format_file_counters(&Tally::default(), &made, 1.0)[3..6],
            [
                "FILE_CREATES        Files created:                                  100        100/sec",
                "DIRECTORY_CREATES   Directories created:                              4          4/sec",
                "WRITE_OPENS         Files opened for write activity:                100        100/sec",
            ]
        );
        assert_eq!(format_file_counters(&Tally::default(), &Tally::default(), 1.0).len(), 1);
    }

    #[test]
    fn flat_file_rows_have_every_column() {
        let row = format_file_flat_row(
            &FileColumns::default(),
            ("21:54:45.061", "11/23/2026-21:54:45-UTC"),
            "1",
            ("rd1", 100.0, 1.0, false),
            &tally(),
            1.0,
            Cpu::default(),
        );
        assert_eq!(row.split_whitespace().count(), 44);
        assert_eq!(format_file_flat_header().split_whitespace().count(), 44);
    }
}
