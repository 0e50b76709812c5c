//! Tables of response times by bucket.

use model::histogram::Histogram;

use super::{DirectionTally, Tally};

/// Default upper limits of the buckets in microseconds; the last bucket has no limit.
pub const DEFAULT_LIMITS_US: [u64; 26] = [
    20, 40, 60, 80, 100, 200, 400, 600, 800, 1_000, 2_000, 4_000, 6_000, 8_000, 10_000, 20_000, 40_000, 60_000, 80_000,
    100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000, 2_000_000,
];

/// Formats the lines of a run: a table for all operations, and if it has both reads and writes, one
/// for each.
pub fn format_histogram(tally: &Tally, limits_us: &[u64]) -> Vec<String> {
    let limits = limits_or_default(limits_us);
    match (tally.reads.n, tally.writes.n) {
        (0, 0) => empty_run(),
        (_, 0) => format_side_table("Only reads done for this workload:", &tally.reads, limits),
        (0, _) => format_side_table("Only writes done for this workload:", &tally.writes, limits),
        _ => {
            let mut lines = format_side_table("Reads and writes:", &tally.total(), limits);
            lines.extend(format_side_table("Reads:", &tally.reads, limits));
            lines.extend(format_side_table("Writes:", &tally.writes, limits));
            lines
        }
    }
}

/// Formats the lines of a run on files: one table of the requested operations.
pub fn format_file_histogram(requested: &Histogram, limits_us: &[u64]) -> Vec<String> {
    match requested.is_empty() {
        true => empty_run(),
        false => format_table(
            "Total of all requested operations: ",
            requested,
            limits_or_default(limits_us),
        ),
    }
}

fn limits_or_default(limits_us: &[u64]) -> &[u64] {
    if limits_us.is_empty() {
        &DEFAULT_LIMITS_US
    } else {
        limits_us
    }
}

fn empty_run() -> Vec<String> {
    vec!["No statistics generated for this run.".into(), String::new()]
}

fn format_side_table(title: &str, side: &DirectionTally, limits: &[u64]) -> Vec<String> {
    format_table(title, side.histogram.as_ref().unwrap_or(&Histogram::new()), limits)
}

fn format_table(title: &str, histogram: &Histogram, limits: &[u64]) -> Vec<String> {
    let n = histogram.n().max(1) as f64;
    let mut lines = vec![
        title.to_owned(),
        "  min(ms) <     max(ms)        count       %%    cum%%  '+': Individual%; '+-': Cumulative%".to_owned(),
        String::new(),
    ];
    let (mut low, mut previous_count) = (0u64, 0u64);
    let uppers = limits.iter().map(|limit| Some(*limit)).chain([None]);
    for upper in uppers {
        let count_up_to = upper.map_or(histogram.n(), |limit| {
            histogram.count_up_to((limit * 1000).saturating_sub(1))
        });
        let count = count_up_to - previous_count.min(count_up_to);
        let (percent, cumulative) = (100.0 * count as f64 / n, 100.0 * count_up_to as f64 / n);
        let plus = "+".repeat((percent / 2.0) as usize);
        let bars = plus.clone() + &"-".repeat(((cumulative / 2.0) as usize).saturating_sub(plus.len()));
        let milliseconds = |limit: u64| format!("{:.3}", limit as f64 / 1000.0);
        lines.push(
            format!(
                " {:>8} < {:>11} {:>12} {percent:>8.4} {cumulative:>8.4}  {bars}",
                milliseconds(low),
                upper.map_or("max".into(), milliseconds),
                group_digits(count),
            )
            .trim_end()
            .to_owned(),
        );
        (low, previous_count) = (upper.unwrap_or(low), count_up_to);
    }
    lines.push(String::new());
    lines
}

/// Formats a count with commas between thousands.
pub fn group_digits(count: u64) -> String {
    let digits = count.to_string();
    let groups: Vec<&[u8]> = digits.as_bytes().rchunks(3).rev().collect();
    groups
        .iter()
        .map(|group| String::from_utf8_lossy(group))
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use testbed::With;

    use super::*;

    #[test]
    fn percentages_accumulate_to_100() {
        let mut times = Histogram::new();
        times.record_times(10_000, 1_416);
        times.record_times(30_000, 33);
        times.record_times(5_000_000_000, 1);
        let side = DirectionTally::default()
            .with(|direction_tally| (direction_tally.n, direction_tally.histogram) = (times.n(), Some(times)));
        let lines = format_histogram(&Tally::default().with(|tally| tally.reads = side), &[]);
        assert_eq!(lines[0], "Only reads done for this workload:");
        assert_eq!(lines.len(), 3 + 27 + 1);
        assert_eq!(
            lines[3],
            "    0.000 <       0.020        1,416  97.6552  97.6552  ++++++++++++++++++++++++++++++++++++++++++++++++"
        );
        assert_eq!(
            lines[4],
            "    0.020 <       0.040           33   2.2759  99.9310  +------------------------------------------------"
        );
        assert!(lines[29].starts_with(" 2000.000 <         max            1   0.0690 100.0000  ----"));
    }

    #[test]
    fn empty_run_has_a_message() {
        assert_eq!(
            format_histogram(&Tally::default(), &[])[0],
            "No statistics generated for this run."
        );
    }
}
