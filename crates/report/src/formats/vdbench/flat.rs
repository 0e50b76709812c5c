//! The flat file: a column for each figure, found by its name in the header line.

use super::{Cpu, Layout, Tally};

/// Comment lines above the header, which explain the columns.
pub const FLAT_COMMENT: &[&str] = &[
    "*",
    "* One row for each interval and one for the average of each run. The first line that does not begin",
    "* with an asterisk has the column names.",
    "*",
    "* reqrate: requested I/O rate; 9999988 stands for max, 9999977 for curve",
    "* MB/sec: in 1024*1024 bytes, with -mb in 1000*1000; times are in milliseconds",
    "* lunsize: in GB of 1024**3 bytes, with -mb of 1000**3",
    "* xfersize to seekpct: as requested; n/a if the workloads of a run differ, or if unknown",
    "*",
];

/// Settings of a run for its columns; `None` if its workloads differ.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlatFacts {
    /// Name of the run.
    pub run: String,
    /// Requested rate.
    pub reqrate: f64,
    /// Bytes of a transfer.
    pub xfersize: Option<u64>,
    /// Operations in flight of an SD. Written with decimals if the run sets it.
    pub threads: Option<u32>,
    /// `threads` was set by the run.
    pub threads_of_run: bool,
    /// Percent of reads.
    pub rdpct: Option<f64>,
    /// Percent of reads that hit.
    pub rhpct: Option<f64>,
    /// Percent of writes that hit.
    pub whpct: Option<f64>,
    /// Percent of random addresses.
    pub seekpct: Option<f64>,
    /// Bytes of all SDs.
    pub lun_bytes: u64,
    /// Ratio of compression.
    pub compratio: f64,
    /// Megabytes of 10⁶ bytes, and gigabytes of 10⁹.
    pub decimal: bool,
}

const COLUMNS: &[&str] = &[
    "Run", "Interval", "reqrate", "rate", "MB/sec", "bytes/io", "read%", "resp", "read_resp", "write_resp", "resp_max",
    "read_max", "write_max", "resp_std", "read_std", "write_std", "xfersize", "threads", "rdpct", "rhpct", "whpct",
    "seekpct", "lunsize", "version", "compratio", "dedupratio", "queue_depth", "cpu_used", "cpu_user", "cpu_kernel",
    "cpu_wait", "cpu_idle",
];

fn has_column(layout: Layout, column: &str) -> bool {
    layout == Layout::V50407 || !["read_max", "write_max", "read_std", "write_std"].contains(&column)
}

/// The header line.
pub fn format_flat_header(layout: Layout) -> String {
    let columns = COLUMNS.iter().filter(|column| has_column(layout, column));
    let cells: String = columns.map(|column| format!("{column:>10} ")).collect();
    format!("{:>12} {:>23} {cells}", "tod", "timestamp")
}

/// Formats a row. `timestamp` looks like `11/23/2026-21:51:18-UTC`; `seconds` is the nominal
/// length.
pub fn format_flat_row(
    layout: Layout,
    (time, timestamp): (&str, &str),
    label: &str,
    facts: &FlatFacts,
    tally: &Tally,
    seconds: f64,
    cpu: Cpu,
) -> String {
    let total = tally.total();
    let float = |value: f64| format!("{value:.4}");
    let kilo: f64 = if facts.decimal { 1000.0 } else { 1024.0 };
    let format_or_na = |value: Option<f64>| value.filter(|value| *value >= 0.0).map_or("n/a".into(), float);
    let cell = |column: &str| match column {
        "Run" => facts.run.clone(),
        "Interval" => label.to_owned(),
        "reqrate" => float(facts.reqrate),
        "rate" => float(total.n as f64 / seconds),
        "MB/sec" => float(total.bytes as f64 / kilo.powi(2) / seconds),
        "bytes/io" => tally.mean_bytes().to_string(),
        "read%" => float(tally.read_percent()),
        "resp" => float(total.mean_ms()),
        "read_resp" => float(tally.reads.mean_ms()),
        "write_resp" => float(tally.writes.mean_ms()),
        "resp_max" => float(total.max_ms()),
        "read_max" => float(tally.reads.max_ms()),
        "write_max" => float(tally.writes.max_ms()),
        "resp_std" => float(total.deviation_ms()),
        "read_std" => float(tally.reads.deviation_ms()),
        "write_std" => float(tally.writes.deviation_ms()),
        "xfersize" => facts.xfersize.map_or("n/a".into(), |size| size.to_string()),
        "threads" => match (facts.threads, facts.threads_of_run) {
            (Some(threads), true) => float(f64::from(threads)),
            (Some(threads), false) => threads.to_string(),
            (None, _) => "n/a".into(),
        },
        "rdpct" => format_or_na(facts.rdpct),
        "rhpct" => format_or_na(facts.rhpct),
        "whpct" => format_or_na(facts.whpct),
        "seekpct" => format_or_na(facts.seekpct),
        "lunsize" => float(facts.lun_bytes as f64 / kilo.powi(3)),
        "compratio" => float(facts.compratio),
        "queue_depth" => float(tally.mean_in_flight(seconds)),
        "cpu_used" => float(cpu.user + cpu.system),
        "cpu_user" => float(cpu.user),
        "cpu_kernel" => float(cpu.system),
        "cpu_wait" => float(0.0),
        "cpu_idle" => float(cpu.idle),
        _ => "n/a".into(),
    };
    let columns = COLUMNS.iter().filter(|column| has_column(layout, column));
    // Values align with their names, even where a name is longer than ten characters.
    let cells: String = columns
        .map(|column| format!("{:>width$} ", cell(column), width = column.len().max(10)))
        .collect();
    format!("{time:>12} {timestamp:>23} {cells}")
}

#[cfg(test)]
mod tests {
    use testbed::With;

    use super::super::DirectionTally;
    use super::*;

    #[test]
    fn rows_have_every_column() {
        for (layout, count) in [(Layout::V50406, 30), (Layout::V50407, 34)] {
            let facts =
                FlatFacts::default().with(|flat_facts| (flat_facts.run, flat_facts.threads) = ("run1".into(), Some(8)));
            let row = format_flat_row(
                layout,
                ("21:51:18.051", "11/23/2026-21:51:18-UTC"),
                "1",
                &facts,
                &Tally::default(),
                1.0,
                Cpu::default(),
            );
            assert_eq!(row.split_whitespace().count(), count);
            assert_eq!(format_flat_header(layout).split_whitespace().count(), count);
            assert_eq!(row.len(), format_flat_header(layout).len());
        }
    }

    /// Vdbench 5.04.06 wrote these figures for 94 transfers of 4 KiB on an SD of 64 MiB with `-mb`.
    #[test]
    fn decimal_units_match_the_recorded_ones() {
        for (decimal, rate, size) in [(true, "0.3850", "0.0671"), (false, "0.3672", "0.0625")] {
            let facts = FlatFacts::default().with(|facts| (facts.lun_bytes, facts.decimal) = (64 << 20, decimal));
            let reads = DirectionTally::default().with(|tally| (tally.n, tally.bytes) = (94, 94 * 4096));
            let tally = Tally::default().with(|tally| tally.reads = reads);
            let row = format_flat_row(Layout::V50407, ("", ""), "1", &facts, &tally, 1.0, Cpu::default());
            let header = format_flat_header(Layout::V50407);
            // The name of the run, and both times, are empty.
            let names = header.split_whitespace().skip(3);
            let cells: Vec<(&str, &str)> = names.zip(row.split_whitespace()).collect();
            assert!(cells.contains(&("MB/sec", rate)), "{cells:?}");
            assert!(cells.contains(&("lunsize", size)), "{cells:?}");
        }
    }
}
