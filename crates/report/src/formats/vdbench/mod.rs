//! The lines of Vdbench's output files: rows of intervals, of the flat file and of histograms, with their headers.
//!
//! Vdbench writes a row as soon as an interval is over, so these are lines of figures and no reports of whole results.

mod flat;
mod histogram;
mod tally;

pub use flat::{FLAT_COMMENT, FlatFacts, flat_header, flat_row};
pub use histogram::{DEFAULT_LIMITS_US, histogram};
pub use tally::{Side, Tally};

/// Which release's columns are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// 5.04.07: the largest times of reads and of writes.
    #[default]
    V50407,
    /// 5.04.06: one largest time.
    V50406,
}

/// Processor time in percent of all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// In programs.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
    /// Waiting for nothing.
    pub idle: f64,
}

/// The two lines above the rows. `date` is the day as `Nov 23, 2026`.
pub fn header(layout: Layout, date: &str, decimal: bool, with_cpu: bool) -> [String; 2] {
    let unit = if decimal { "1000**2" } else { "1024**2" };
    let (first, second) = match layout {
        Layout::V50407 => (
            format!(
                "{date:<12}    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue"
            ),
            format!(
                "{:<12}                   rate  {unit}     i/o    pct     time     resp     resp      max      max   stddev  depth",
                ""
            ),
        ),
        Layout::V50406 => (
            format!(
                "{date:<12}  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue"
            ),
            format!(
                "{:<12}                 rate  {unit}     i/o    pct     time     resp     resp      max   stddev depth",
                ""
            ),
        ),
    };
    match with_cpu {
        true => [first + "  cpu%  cpu%", second + " sys+u   sys"],
        false => [first, second],
    }
}

/// A row: `seconds` are the nominal length of the interval, or of all that are averaged.
pub fn row(
    layout: Layout,
    time: &str,
    label: &str,
    tally: &Tally,
    seconds: f64,
    decimal: bool,
    cpu: Option<Cpu>,
) -> String {
    let all = tally.all();
    let megabytes = all.bytes as f64 / if decimal { 1e6 } else { 1_048_576.0 } / seconds;
    let (rate, bytes, read) = (all.n as f64 / seconds, tally.bytes_each(), tally.read_percent());
    let (mean, reads, writes) = (all.mean_ms(), tally.reads.mean_ms(), tally.writes.mean_ms());
    let (deviation, queue) = (all.deviation_ms(), tally.queue(seconds));
    let cells = match layout {
        Layout::V50407 => format!(
            "{label:>12} {rate:>10.1} {megabytes:>8.2} {bytes:>7} {read:>6.2} {mean:>8.3} {reads:>8.3} {writes:>8.3} {:>8.2} {:>8.2} {deviation:>8.3} {queue:>6.1}",
            tally.reads.max_ms(),
            tally.writes.max_ms(),
        ),
        Layout::V50406 => format!(
            "{label:>10} {rate:>10.2} {megabytes:>8.2} {bytes:>7} {read:>6.2} {mean:>8.3} {reads:>8.3} {writes:>8.3} {:>8.3} {deviation:>8.3} {queue:>5.1}",
            all.max_ms(),
        ),
    };
    match cpu {
        Some(cpu) => format!("{time:<12}{cells} {:>5.1} {:>5.1}", cpu.user + cpu.system, cpu.system),
        None => format!("{time:<12}{cells}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        let side = |n: u64, mean_us: u64| Side {
            n,
            bytes: n * 1024,
            sum_ns: u128::from(n * mean_us * 1000),
            squares: (n * mean_us * 1000 * mean_us * 1000) as f64,
            max_ns: mean_us * 2000,
            ..Side::default()
        };
        Tally {
            reads: side(53, 10),
            writes: side(51, 14),
        }
    }

    #[test]
    fn rows_stand_below_their_headers() {
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
            let row = row(layout, "16:24:36.053", "avg_2-5", &tally(), 4.0, false, Some(cpu));
            assert_eq!(row, expected);
            let [first, second] = header(layout, "Jan 24, 2019", false, true);
            assert_eq!(first.len(), row.len(), "{first}");
            assert_eq!(second.len(), row.len(), "{second}");
        }
    }

    #[test]
    fn headers_are_those_of_the_releases() {
        let [first, second] = header(Layout::V50407, "Nov 08, 2025", false, true);
        assert_eq!(
            first,
            "Nov 08, 2025    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%"
        );
        assert_eq!(
            second,
            "                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys"
        );
        let [first, second] = header(Layout::V50406, "Nov 23, 2026", true, true);
        assert_eq!(
            first,
            "Nov 23, 2026  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  cpu%  cpu%"
        );
        assert!(second.contains("1000**2"));
    }
}
