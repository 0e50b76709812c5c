//! Lines of Vdbench's output files: intervals, flat file and histograms, with their headers.
//!
//! Vdbench writes a row at the end of each interval, so these functions format single lines instead
//! of whole reports.

mod files;
mod flat;
mod histogram;
mod tally;

pub use files::{
    FileColumns, format_file_counters, format_file_flat_header, format_file_flat_row, format_file_header,
    format_file_row,
};
pub use flat::{FLAT_COMMENT, FlatFacts, format_flat_header, format_flat_row};
pub use histogram::{DEFAULT_LIMITS_US, format_file_histogram, format_histogram, group_digits};
pub use tally::{DirectionTally, Tally};

/// The Vdbench release whose columns are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// 5.04.07: separate maximum response times of reads and of writes.
    #[default]
    V50407,
    /// 5.04.06: one maximum response time.
    V50406,
}

/// Processor time as a percentage of all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// In user space.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
    /// Idle.
    pub idle: f64,
}

impl Layout {
    /// Width of the column that names an interval.
    const fn label(self) -> usize {
        match self {
            Layout::V50407 => 12,
            Layout::V50406 => 10,
        }
    }
}

/// Formats the two lines above the rows. `date` looks like `Nov 23, 2026`.
pub fn format_header(layout: Layout, date: &str, decimal_megabytes: bool) -> [String; 2] {
    let [first, second] = format_figures_header(layout, decimal_megabytes);
    let label = layout.label();
    [
        format!("{date:<12}{:>label$}{first}  cpu%  cpu%", "interval"),
        format!("{:<12}{:>label$}{second} sys+u   sys", "", ""),
    ]
}

/// The header of [`format_figures`].
fn format_figures_header(layout: Layout, decimal_megabytes: bool) -> [String; 2] {
    let unit = if decimal_megabytes { "1000**2" } else { "1024**2" };
    let (first, second) = match layout {
        Layout::V50407 => (
            "        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue",
            format!("       rate  {unit}     i/o    pct     time     resp     resp      max      max   stddev  depth"),
        ),
        Layout::V50406 => (
            "        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue",
            format!("       rate  {unit}     i/o    pct     time     resp     resp      max   stddev depth"),
        ),
    };
    [first.to_owned(), second]
}

/// Formats a row. `seconds` is the nominal length of the interval, or of all averaged intervals.
pub fn format_row(
    layout: Layout,
    time: &str,
    label: &str,
    tally: &Tally,
    seconds: f64,
    decimal_megabytes: bool,
    cpu: Cpu,
) -> String {
    let (figures, width) = (
        format_figures(layout, tally, seconds, decimal_megabytes),
        layout.label(),
    );
    let (busy, system) = (cpu.user + cpu.system, cpu.system);
    format!("{time:<12}{label:>width$}{figures} {busy:>5.1} {system:>5.1}")
}

/// The columns from the rate to the queue depth.
fn format_figures(layout: Layout, tally: &Tally, seconds: f64, decimal_megabytes: bool) -> String {
    let sums = tally.total();
    let megabytes = sums.bytes as f64 / if decimal_megabytes { 1e6 } else { 1_048_576.0 } / seconds;
    let (rate, bytes, read) = (sums.n as f64 / seconds, tally.mean_bytes(), tally.read_percent());
    let (mean, reads, writes) = (sums.mean_ms(), tally.reads.mean_ms(), tally.writes.mean_ms());
    let (deviation, queue) = (sums.deviation_ms(), tally.mean_in_flight(seconds));
    match layout {
        Layout::V50407 => format!(
            " {rate:>10.1} {megabytes:>8.2} {bytes:>7} {read:>6.2} {mean:>8.3} {reads:>8.3} {writes:>8.3} {:>8.2} {:>8.2} {deviation:>8.3} {queue:>6.1}",
            tally.reads.max_ms(),
            tally.writes.max_ms(),
        ),
        Layout::V50406 => format!(
            " {rate:>10.2} {megabytes:>8.2} {bytes:>7} {read:>6.2} {mean:>8.3} {reads:>8.3} {writes:>8.3} {:>8.3} {deviation:>8.3} {queue:>5.1}",
            sums.max_ms(),
        ),
    }
}

/// A row of the skew report, for an SD, WD or host.
#[derive(Clone, Debug)]
pub struct SkewRow {
    /// Name of the SD, WD or host.
    pub name: String,
    /// Requested percentage of the operations; only WDs have one.
    pub requested: Option<f64>,
    /// Operations, bytes and latencies.
    pub tally: Tally,
}

/// Formats a table of the skew report, with a total at the end. `kind` is `SD`, `WD` or `Host`.
pub fn format_skew_table(
    layout: Layout,
    kind: &str,
    rows: &[SkewRow],
    seconds: f64,
    decimal_megabytes: bool,
) -> Vec<String> {
    let mut total = SkewRow {
        name: "Total".into(),
        requested: rows.iter().map(|row| row.requested).sum(),
        tally: Tally::default(),
    };
    rows.iter().for_each(|row| total.tally.add(&row.tally));
    let names = rows.iter().chain([&total]).map(|row| row.name.len());
    let width = names.max().unwrap_or_default().max(12);
    let count = total.tally.total().n.max(1) as f64;
    let shares = |row: &SkewRow, is_total: bool| {
        row.requested.map_or(String::new(), |requested| {
            let observed = 100.0 * row.tally.total().n as f64 / count;
            let delta = requested - observed;
            let is_shown = !is_total && delta.abs() > 0.1;
            let delta = if is_shown {
                format!("{delta:>7.2}%")
            } else {
                String::new()
            };
            format!(" {requested:>9.2}%{observed:>8.2}%{delta}")
        })
    };
    let [first, second] = format_figures_header(layout, decimal_megabytes);
    let requested_rate = match total.requested {
        Some(_) => ["       skew     skew    skew", "  requested observed   delta"],
        None => ["", ""],
    };
    let head = format!("{kind}:");
    let mut lines = vec![
        format!("{:width$}{first}{}", "", requested_rate[0]),
        format!("{head:width$}{second}{}", requested_rate[1]),
    ];
    for (index, row) in rows.iter().chain([&total]).enumerate() {
        let figures = format_figures(layout, &row.tally, seconds, decimal_megabytes);
        lines.push(format!(
            "{:width$}{figures}{}",
            row.name,
            shares(row, index == rows.len())
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use testbed::With;

    use super::*;

    fn tally() -> Tally {
        let side = |n: u64, mean_us: u64| DirectionTally {
            n,
            bytes: n * 1024,
            sum_ns: u128::from(n * mean_us * 1000),
            squares: (n * mean_us * 1000 * mean_us * 1000) as f64,
            max_ns: mean_us * 2000,
            ..DirectionTally::default()
        };
        Tally {
            reads: side(53, 10),
            writes: side(51, 14),
            in_flight_ns: 1_244_000,
            ..Tally::default()
        }
    }

    #[test]
    fn rows_align_with_their_headers() {
        for (layout, expected) in [
            (
                Layout::V50407,
                "16:24:36.053     avg_2-5       26.0     0.03    1024  50.96    0.012    0.010    0.014     0.02     0.03    0.002    0.0   4.6   0.9",
            ),
            (
                Layout::V50406,
                "16:24:36.053   avg_2-5      26.00     0.03    1024  50.96    0.012    0.010    0.014    0.028    0.002   0.0   4.6   0.9",
            ),
        ] {
            let cpu = Cpu {
                user: 3.7,
                system: 0.9,
                idle: 95.4,
            };
            let row = format_row(layout, "16:24:36.053", "avg_2-5", &tally(), 4.0, false, cpu);
            assert_eq!(row, expected);
            let [first, second] = format_header(layout, "Jan 24, 2019", false);
            assert_eq!(first.len(), row.len(), "{first}");
            assert_eq!(second.len(), row.len(), "{second}");
        }
    }

    #[test]
    fn headers_match_the_releases() {
        let [first, second] = format_header(Layout::V50407, "Nov 08, 2025", false);
        assert_eq!(
            first,
            "Nov 08, 2025    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%"
        );
        assert_eq!(
            second,
            "                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys"
        );
        let [first, second] = format_header(Layout::V50406, "Nov 23, 2026", true);
        assert_eq!(
            first,
            "Nov 23, 2026  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%"
        );
        assert!(second.contains("1000**2"));
    }

    /// The table that 5.04.06 wrote for a recorded run of two workloads, from its own figures.
    #[test]
    fn skew_table_matches_the_recorded_one() {
        let row = |name: &str, requested, reads: u64, writes: u64, bytes: u64| SkewRow {
            name: name.into(),
            requested: Some(requested),
            tally: Tally {
                reads: DirectionTally::default()
                    .with(|direction_tally| (direction_tally.n, direction_tally.bytes) = (reads, reads * bytes)),
                writes: DirectionTally::default()
                    .with(|direction_tally| (direction_tally.n, direction_tally.bytes) = (writes, writes * bytes)),
                ..Tally::default()
            },
        };
        let rows = [row("wd1", 40.0, 268, 58, 4096), row("wd2", 60.0, 0, 502, 8192)];
        let lines = format_skew_table(Layout::V50406, "WD", &rows, 4.0, false);
        let cut = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            cut(&lines[0]),
            cut("i/o MB/sec bytes read resp read write resp resp queue skew skew skew")
        );
        assert_eq!(
            cut(&lines[1]),
            cut("WD: rate 1024**2 i/o pct time resp resp max stddev depth requested observed delta")
        );
        let first = cut(&lines[2]);
        assert_eq!(first[..5], cut("wd1 81.50 0.32 4096 82.21"));
        assert_eq!(first[11..], cut("40.00% 39.37% 0.63%"));
        assert_eq!(cut(&lines[3])[11..], cut("60.00% 60.63% -0.63%"));
        let total = cut(&lines[4]);
        assert_eq!(total[..4], cut("Total 207.00 1.30 6579"));
        assert_eq!(total[11..], cut("100.00% 100.00%"));
        let ends = |line: &str, word: &str| line.find(word).map(|at| at + word.len());
        assert_eq!(ends(&lines[1], "requested"), ends(&lines[2], "40.00%"));
        assert_eq!(ends(&lines[1], "depth"), ends(&lines[2], "0.0 ").map(|at| at - 1));
    }
}
