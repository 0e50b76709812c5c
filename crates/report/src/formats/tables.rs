//! Tables of distributions: percentiles with their reliability, and histogram buckets.

use std::io::{self, Write};

use model::histogram::{Histogram, bucket_high, bucket_low};
use model::results::Results;

use crate::summary::{Figures, JobSummary, LatencyFigures, PercentileSupport, Summary};

/// A row for each percentile of each job, direction and kind of latency.
pub(super) fn percentiles(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "step", "job", "direction", "latency", "percent", "us", "low_us", "high_us", "support", "name",
    ])?;
    let summary = Summary::from_results(results);
    for (number, job) in numbered_jobs(&summary) {
        let place = [job.step.to_string(), number.to_string()];
        let kinds_and_total = job.kinds().into_iter().chain([("total", &job.total)]);
        for (direction, figures) in kinds_and_total.filter(|(_, figures)| figures.operations > 0) {
            for (kind, latency) in latencies_by_kind(figures) {
                for percentile in &latency.percentiles {
                    let micros = |ns: u64| format!("{:.3}", ns as f64 / 1e3);
                    let bound = |ns: Option<u64>| ns.map_or(String::new(), micros);
                    table.write_record([
                        place[0].clone(),
                        place[1].clone(),
                        direction.into(),
                        kind.into(),
                        percentile.percent.to_string(),
                        micros(percentile.ns),
                        bound(percentile.low_ns),
                        bound(percentile.high_ns),
                        support(percentile.support).into(),
                        job.name.clone(),
                    ])?;
                }
            }
        }
    }
    table.flush()
}

/// The jobs with their numbers within their steps.
pub(super) fn numbered_jobs(summary: &Summary) -> impl Iterator<Item = (usize, &JobSummary)> {
    let steps = summary.jobs.chunk_by(|a, b| a.step == b.step);
    steps.flat_map(|jobs| jobs.iter().enumerate())
}

/// Kinds of latency. A paced job has the response time first, then the service time.
fn latencies_by_kind(figures: &Figures) -> Vec<(&'static str, &LatencyFigures)> {
    match &figures.service {
        None => vec![("latency", &figures.latency)],
        Some(service) => {
            let delay = figures.schedule_delay.iter().map(|delay| ("schedule_delay", delay));
            [("response", &figures.latency), ("service", service)]
                .into_iter()
                .chain(delay)
                .collect()
        }
    }
}

fn support(support: PercentileSupport) -> &'static str {
    match support {
        PercentileSupport::Good => "good",
        PercentileSupport::Weak => "weak",
        PercentileSupport::None => "none",
    }
}

/// A row for each rank of each job.
pub(super) fn ranks(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "step", "job", "rank", "host", "operations", "bytes", "iops", "mib_per_s", "mb_per_s", "latency_mean_us",
        "latency_p50_us", "latency_p99_us", "latency_max_us", "in_flight", "depth", "measured_s", "began_after_us",
        "clock_ahead_us", "clock_error_us", "ended_s", "straggler", "lost", "name",
    ])?;
    let summary = Summary::from_results(results);
    for (number, job) in numbered_jobs(&summary) {
        for rank in &job.ranks {
            let total = &rank.total;
            let micros = |ns: f64| format!("{:.3}", ns / 1e3);
            let format_percentile = |percent: f64| {
                let percentile = total.latency.percentile(percent);
                percentile.map_or(String::new(), |value| micros(value.ns as f64))
            };
            let latency = |value: f64| {
                if total.operations > 0 {
                    micros(value)
                } else {
                    String::new()
                }
            };
            table.write_record([
                job.step.to_string(),
                number.to_string(),
                rank.rank.to_string(),
                rank.host.clone(),
                total.operations.to_string(),
                total.bytes.to_string(),
                format!("{:.3}", total.iops),
                format!("{:.3}", total.mib_per_sec),
                format!("{:.3}", total.mb_per_sec),
                latency(total.latency.mean_ns),
                format_percentile(50.0),
                format_percentile(99.0),
                latency(total.latency.max_ns as f64),
                rank.in_flight.map_or(String::new(), |average| format!("{average:.3}")),
                rank.depth.to_string(),
                format!("{:.3}", rank.measured_ns.as_secs()),
                rank.start_ns.map_or(String::new(), |ns| micros(ns as f64)),
                micros(rank.clock_ahead_ns as f64),
                micros(rank.clock_error_ns as f64),
                rank.ended_ns
                    .map_or(String::new(), |ended| format!("{:.3}", ended.as_secs())),
                rank.straggles.to_string(),
                rank.lost.clone().unwrap_or_default(),
                job.name.clone(),
            ])?;
        }
    }
    table.flush()
}

/// A row for each bucket that is not empty, of each job, direction and kind of latency.
pub(super) fn histogram(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "step", "job", "direction", "latency", "low_ns", "high_ns", "operations", "cumulative", "cumulative_percent",
        "name",
    ])?;
    for (step, step_results) in results.steps.iter().enumerate() {
        for (number, job) in step_results.jobs.iter().enumerate() {
            for (direction, results) in job.directions().iter() {
                let Some(results) = results else { continue };
                let kinds: Vec<(&str, &Histogram)> = match &results.response {
                    None => vec![("latency", &results.total)],
                    Some(response) => vec![("response", response), ("service", &results.total)],
                };
                for (kind, histogram) in kinds {
                    let place = [&*step.to_string(), &*number.to_string(), direction.word(), kind];
                    write_buckets(&mut table, &place, histogram, &job.name)?;
                }
            }
        }
    }
    table.flush()
}

fn write_buckets<W: Write>(
    table: &mut csv::Writer<W>,
    place: &[&str; 4],
    histogram: &Histogram,
    name: &str,
) -> io::Result<()> {
    let mut cumulative = 0;
    for (bucket, operations) in histogram.buckets() {
        cumulative += operations;
        table.write_record([
            place[0],
            place[1],
            place[2],
            place[3],
            &bucket_low(bucket).to_string(),
            &bucket_high(bucket).to_string(),
            &operations.to_string(),
            &cumulative.to_string(),
            &format!("{:.5}", 100.0 * cumulative as f64 / histogram.n() as f64),
            name,
        ])?;
    }
    Ok(())
}
