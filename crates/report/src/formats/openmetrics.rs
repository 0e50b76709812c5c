//! OpenMetrics 1.0 text, for the textfile collector of node_exporter and similar tools.
//!
//! Only types of the older text format are used, and no timestamps, because that collector supports
//! nothing else. Counts are counters, and everything divided by time is a gauge. Latencies of paced
//! jobs are response times.

use std::fmt::Display;
use std::io::{self, Write};

use model::finding::Severity;
use model::histogram::Histogram;
use model::results::{DirectionResults, Results};
use model::stats::{Support, support};

use super::tables::numbered_jobs;
use crate::summary::{RankSummary, Summary};

/// Quantiles of the summary. Quantiles with fewer than ten slower operations are omitted.
const QUANTILES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];
/// Upper bounds of the histogram: 1, 2, 5 from a microsecond to a hundred seconds.
const BOUNDS_NS: [u64; 25] = [
    1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000,
    10_000_000, 20_000_000, 50_000_000, 100_000_000, 200_000_000, 500_000_000, 1_000_000_000, 2_000_000_000,
    5_000_000_000, 10_000_000_000, 20_000_000_000, 50_000_000_000, 100_000_000_000,
];

/// One direction of a job.
struct Measured {
    /// The labels as text, without braces.
    labels: String,
    results: DirectionResults,
    seconds: f64,
}

/// The metadata of a metric family.
pub(crate) struct Family {
    name: &'static str,
    kind: &'static str,
    unit: &'static str,
    help: &'static str,
}

impl Family {
    pub(crate) const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Family {
        let kind = "counter";
        Family { name, kind, unit, help }
    }

    pub(crate) const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Family {
        let kind = "gauge";
        Family { name, kind, unit, help }
    }

    /// A family of quantiles or of bins, in seconds.
    pub(crate) const fn latencies(kind: &'static str, name: &'static str, help: &'static str) -> Family {
        let unit = "seconds";
        Family { name, kind, unit, help }
    }

    pub(crate) fn write_head(&self, out: &mut dyn Write) -> io::Result<()> {
        let name = self.name;
        writeln!(out, "# TYPE {name} {}", self.kind)?;
        if !self.unit.is_empty() {
            writeln!(out, "# UNIT {name} {}", self.unit)?;
        }
        writeln!(out, "# HELP {name} {}", self.help)
    }

    /// Writes the head and a line for each value, with its labels.
    pub(crate) fn write<L: Display, V: Display>(
        &self,
        out: &mut dyn Write,
        values: impl IntoIterator<Item = (L, V)>,
    ) -> io::Result<()> {
        self.write_head(out)?;
        let suffix = if self.kind == "counter" { "_total" } else { "" };
        let mut values = values.into_iter();
        values.try_for_each(|(labels, value)| writeln!(out, "{}{suffix}{{{labels}}} {value}", self.name))
    }
}

/// A family with the function that returns its value.
type FamilyOf<T, V> = (Family, fn(&T) -> V);

/// Families with a value for each direction of each job.
const FAMILIES: [FamilyOf<Measured, f64>; 7] = [
    (
        Family::counter(
            "fathom_operations",
            "operations",
            "Operations completed in the measured window.",
        ),
        |job| job.results.operations as f64,
    ),
    (
        Family::counter(
            "fathom_transferred_bytes",
            "bytes",
            "Bytes transferred in the measured window.",
        ),
        |job| job.results.bytes.0 as f64,
    ),
    (
        Family::counter("fathom_errors", "errors", "Operations that failed and were tolerated."),
        |job| job.results.errors as f64,
    ),
    (
        Family::counter(
            "fathom_late_operations",
            "operations",
            "Operations that were due in the measured window but not issued in it, or dropped.",
        ),
        |job| job.results.late as f64,
    ),
    (
        Family::gauge("fathom_measured_seconds", "seconds", "Length of the measured window."),
        |job| job.seconds,
    ),
    (
        Family::gauge("fathom_operations_per_second", "", "Operations per second."),
        |job| job.results.operations as f64 / job.seconds,
    ),
    (
        Family::gauge("fathom_throughput_bytes_per_second", "", "Bytes per second."),
        |job| job.results.bytes.0 as f64 / job.seconds,
    ),
];

pub(super) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let measured = collect_jobs(results);
    write_run(results, out)?;
    for (family, value) in &FAMILIES {
        family.write(out, measured.iter().map(|job| (&job.labels, value(job))))?;
    }
    write_summaries(&measured, out)?;
    write_histograms(&measured, out)?;
    write_ranks(results, out)?;
    writeln!(out, "# EOF")
}

/// Writes the families of the whole run.
fn write_run(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let test = format!("test=\"{}\"", escape_label(&results.plan.name));
    let host = results.hosts.first();
    let paths: Vec<&str> = results.plan.targets.iter().map(|target| &*target.path).collect();
    let labels = format!(
        "{test},version=\"{}\",host=\"{}\",kernel=\"{}\",targets=\"{}\"",
        escape_label(&results.tool.version),
        escape_label(host.map_or("", |host| &host.environment.host.name)),
        escape_label(host.map_or("", |host| &host.environment.host.kernel)),
        escape_label(&paths.join(", ")),
    );
    RUN.write(out, [(labels, 1)])?;
    if let Some(host) = host {
        let seconds = |ns: u64| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        let started = Family::gauge("fathom_start_time_seconds", "seconds", "Start of the run in Unix time.");
        started.write(out, [(&test, seconds(host.started_unix_ns))])?;
        let ended = Family::gauge("fathom_end_time_seconds", "seconds", "End of the run in Unix time.");
        ended.write(out, [(&test, seconds(host.ended_unix_ns))])?;
    }
    let interrupted = Family::gauge("fathom_interrupted", "", "1 if the run was cut short.");
    interrupted.write(out, [(&test, u8::from(results.interrupted))])?;
    let help = "Findings of the self-checks, by severity.";
    let findings = Family::gauge("fathom_findings", "findings", help);
    let counts = [Severity::Error, Severity::Warning, Severity::Note].map(|severity| {
        let matching_findings = results.findings.iter().filter(|finding| finding.severity == severity);
        (
            format!("{test},severity=\"{}\"", severity.word()),
            matching_findings.count(),
        )
    });
    findings.write(out, counts)
}

/// The family that identifies the run.
pub(crate) const RUN: Family = Family::gauge("fathom_run", "", "Always 1; the labels identify the run.");

/// Every direction of every job with completed operations. Jobs are identified by position, because
/// names may repeat.
fn collect_jobs(results: &Results) -> Vec<Measured> {
    let test = escape_label(&results.plan.name);
    let mut measured = Vec::new();
    for (step, step_results) in results.steps.iter().enumerate() {
        for (number, job) in step_results.jobs.iter().enumerate() {
            let seconds = job.measured().as_secs();
            for (direction, results) in job.directions().iter() {
                let Some(results) = results
                    .as_ref()
                    .filter(|results| results.operations > 0 && seconds > 0.0)
                else {
                    continue;
                };
                measured.push(Measured {
                    labels: format!(
                        "test=\"{test}\",step=\"{step}\",number=\"{number}\",name=\"{}\",direction=\"{}\"",
                        escape_label(&job.name),
                        direction.word()
                    ),
                    results: DirectionResults::clone(results),
                    seconds,
                });
            }
        }
    }
    measured
}

/// Families with a value for each rank, all directions together.
const RANK_FAMILIES: [FamilyOf<RankSummary, Option<f64>>; 6] = [
    (
        Family::counter(
            "fathom_rank_operations",
            "operations",
            "Operations of a rank in the measured window.",
        ),
        |rank| Some(rank.total.operations as f64),
    ),
    (
        Family::counter(
            "fathom_rank_transferred_bytes",
            "bytes",
            "Bytes that a rank transferred in the measured window.",
        ),
        |rank| Some(rank.total.bytes as f64),
    ),
    (
        Family::gauge(
            "fathom_rank_operations_per_second",
            "",
            "Operations per second of a rank.",
        ),
        |rank| Some(rank.total.iops),
    ),
    (
        Family::gauge(
            "fathom_rank_latency_median_seconds",
            "seconds",
            "Median latency of a rank.",
        ),
        |rank| quantile(rank, 50.0),
    ),
    (
        Family::gauge(
            "fathom_rank_latency_p99_seconds",
            "seconds",
            "99th percentile of the latency of a rank.",
        ),
        |rank| quantile(rank, 99.0),
    ),
    (
        Family::gauge("fathom_rank_lost", "", "1 if the rank was lost before the end."),
        |rank| Some(f64::from(u8::from(rank.lost.is_some()))),
    ),
];

fn quantile(rank: &RankSummary, percent: f64) -> Option<f64> {
    Some(rank.total.latency.percentile(percent)?.ns as f64 / 1e9)
}

/// Writes the figures of each rank of a test on several hosts, all directions together.
fn write_ranks(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    if results.fleet.is_none() {
        return Ok(());
    }
    let test = escape_label(&results.plan.name);
    let summary = Summary::from_results(results);
    let mut ranks: Vec<(String, &RankSummary)> = Vec::new();
    for (number, job) in numbered_jobs(&summary) {
        for rank in &job.ranks {
            let labels = format!(
                "test=\"{test}\",step=\"{}\",number=\"{number}\",name=\"{}\",rank=\"{}\",host=\"{}\"",
                job.step,
                escape_label(&job.name),
                rank.rank,
                escape_label(&rank.host)
            );
            ranks.push((labels, rank));
        }
    }
    for (family, value) in &RANK_FAMILIES {
        let values = ranks.iter().filter_map(|(labels, rank)| Some((labels, value(rank)?)));
        family.write(out, values)?;
    }
    Ok(())
}

fn write_summaries(measured: &[Measured], out: &mut dyn Write) -> io::Result<()> {
    let name = "fathom_latency_seconds";
    let help = "Latency from queued to reaped; for paced jobs the response time, from due to reaped.";
    Family::latencies("summary", name, help).write_head(out)?;
    for job in measured {
        let latency = job.results.latency();
        for quantile in QUANTILES {
            if support(quantile, latency.n()) != Support::None {
                let value = latency.quantile(quantile) as f64 / 1e9;
                writeln!(out, "{name}{{{},quantile=\"{quantile}\"}} {value}", job.labels)?;
            }
        }
        sum_and_count(name, job, latency, out)?;
    }
    Ok(())
}

fn write_histograms(measured: &[Measured], out: &mut dyn Write) -> io::Result<()> {
    let name = "fathom_latency_distribution_seconds";
    let help = "The same latencies as a histogram, with bounds exact within 0.4 %.";
    Family::latencies("histogram", name, help).write_head(out)?;
    for job in measured {
        let latency = job.results.latency();
        for bound in BOUNDS_NS {
            let number = latency.count_up_to(bound);
            writeln!(
                out,
                "{name}_bucket{{{},le=\"{}\"}} {number}",
                job.labels,
                format_bound(bound)
            )?;
        }
        writeln!(out, "{name}_bucket{{{},le=\"+Inf\"}} {}", job.labels, latency.n())?;
        sum_and_count(name, job, latency, out)?;
    }
    Ok(())
}

fn sum_and_count(name: &str, job: &Measured, latency: &Histogram, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{name}_sum{{{}}} {}", job.labels, latency.sum() as f64 / 1e9)?;
    writeln!(out, "{name}_count{{{}}} {}", job.labels, latency.n())
}

/// Formats a bound as OpenMetrics requires: `0.001`, `1.0`, and an exponent below 0.0001.
fn format_bound(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match ns {
        0..100_000 => format!("{seconds:e}").replace("e-", "e-0"),
        _ if ns.is_multiple_of(1_000_000_000) => format!("{seconds:.1}"),
        _ => seconds.to_string(),
    }
}

/// Escapes the value of a label.
pub(crate) fn escape_label(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            // Some readers treat carriage returns as line ends.
            '\r' => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_written_in_one_way() {
        let check = |ns: u64, expected: &str| assert_eq!(format_bound(ns), expected);
        check(1_000, "1e-06");
        check(50_000, "5e-05");
        check(100_000, "0.0001");
        check(500_000, "0.0005");
        check(1_000_000, "0.001");
        check(1_000_000_000, "1.0");
        check(100_000_000_000, "100.0");
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escape_label("a\"b\\c\nd\r</script>"), "a\\\"b\\\\c\\nd </script>");
    }
}
