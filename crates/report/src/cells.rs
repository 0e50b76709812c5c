//! A table with one row for each job, for tests whose jobs are variations of one load.

use std::io::{self, Write};

use model::Nanos;

use crate::formats;
use crate::numbers::{format_time, rate, throughput};
use crate::summary::{Figures, JobSummary, Percentile, PercentileSupport, Summary};

/// Writes the head of a report and a row for each job. A job that reads and writes gets a row for
/// each direction.
///
/// # Errors
/// `out` cannot be written to.
pub fn write(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    formats::write_head(summary, out)?;
    let widest = summary
        .jobs
        .iter()
        .map(|job| job.name.chars().count())
        .max()
        .unwrap_or(0);
    let name = widest.max(10) + 9;
    writeln!(
        out,
        "\n  {:<name$}{:>9}{:>10}{:>10}{:>10}{:>11}{:>11}{:>10}{:>10}",
        "", "block", "IOPS", "MiB/s", "MB/s", "median", "p99", "in flight", "CPU/IO"
    )?;
    let mut weak = false;
    for job in &summary.jobs {
        for (number, (direction, figures)) in figures_by_direction(job).into_iter().enumerate() {
            let title = match direction {
                None => job.name.clone(),
                Some(direction) => format!("{} ({direction})", job.name),
            };
            weak |= write_row(&title, name, job, figures, number == 0, out)?;
        }
    }
    if weak {
        writeln!(out, "  ~ fewer than 100 operations were slower")?;
    }
    writeln!(out)
}

fn figures_by_direction(job: &JobSummary) -> Vec<(Option<&'static str>, &Figures)> {
    let kinds = job.kinds().into_iter();
    let present: Vec<(Option<&'static str>, &Figures)> = kinds.map(|(name, figures)| (Some(name), figures)).collect();
    match present[..] {
        [] => vec![(None, &job.total)],
        [(_, only)] => vec![(None, only)],
        _ => present,
    }
}

/// Writes a row. Columns about the whole job are filled only in its first row. Returns whether a
/// percentile is weakly supported.
fn write_row(
    title: &str,
    width: usize,
    job: &JobSummary,
    figures: &Figures,
    first: bool,
    out: &mut dyn Write,
) -> io::Result<bool> {
    if figures.operations == 0 {
        writeln!(out, "  {title:<width$}{:>9}", "nothing was measured")?;
        return Ok(false);
    }
    let block = model::Bytes(figures.bytes / figures.operations);
    let percentile = |percent: f64| figures.latency.percentile(percent);
    let mut weak = false;
    let mut cell = |value: Option<Percentile>| match value {
        None => "-".to_owned(),
        Some(value) => {
            let doubtful = value.support != PercentileSupport::Good;
            weak |= doubtful;
            format!("{}{}", if doubtful { "~" } else { "" }, Nanos(value.ns))
        }
    };
    let (median, p99) = (cell(percentile(50.0)), cell(percentile(99.0)));
    let in_flight = job
        .in_flight
        .filter(|_| first)
        .map_or(String::new(), |average| format!("{average:.1}"));
    let cpu = match first {
        true => format_time(job.cpu.user_ns_per_operation + job.cpu.system_ns_per_operation),
        false => String::new(),
    };
    writeln!(
        out,
        "  {title:<width$}{:>9}{:>10}{:>10}{:>10}{median:>11}{p99:>11}{in_flight:>10}{cpu:>10}",
        block.to_string(),
        rate(figures.iops),
        throughput(figures.mib_per_sec),
        throughput(figures.mb_per_sec),
    )?;
    Ok(weak)
}
