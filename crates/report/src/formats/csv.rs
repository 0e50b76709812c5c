//! Interval tables: one line for each second of the measured window and direction.

use std::io::{self, Write};

use model::event::Counts;
use model::histogram::Histogram;
use model::results::{IntervalHistogram, JobResults, Results, Series};
use model::{Bytes, Direction, Nanos};

const COLUMNS: [&str; 18] = [
    "step", "job", "start_s", "length_s", "direction", "operations", "bytes", "iops", "mib_per_s", "mb_per_s",
    "latency_mean_us", "latency_min_us", "latency_p50_us", "latency_p95_us", "latency_p99_us", "latency_p99_9_us",
    "latency_max_us", "name",
];

pub(super) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(COLUMNS)?;
    for (step, step_results) in results.steps.iter().enumerate() {
        for (number, job) in step_results.jobs.iter().enumerate() {
            let place = [step.to_string(), number.to_string()];
            let series = finest_series(job);
            for interval in &job.histograms {
                for (direction, latency) in interval.latency.iter() {
                    let Some(latency) = latency else { continue };
                    let counts = Counts::new(
                        latency.n(),
                        series.map_or(Bytes(0), |series| bytes_of_interval(series, interval, direction)),
                    );
                    table.write_record(to_cells(&place, &job.name, interval, direction, &counts, latency))?;
                }
            }
        }
    }
    table.flush()
}

fn to_cells(
    place: &[String; 2],
    job: &str,
    interval: &IntervalHistogram,
    direction: Direction,
    counts: &Counts,
    latency: &Histogram,
) -> Vec<String> {
    let seconds = interval.length_ns.as_secs().max(1e-9);
    let micros = |nanos: f64| format!("{:.3}", nanos / 1e3);
    let quantile = |fraction: f64| micros(latency.quantile(fraction) as f64);
    let bytes_per_sec = counts.bytes.0 as f64 / seconds;
    vec![
        place[0].clone(),
        place[1].clone(),
        format!("{:.3}", interval.start_ns.as_secs()),
        format!("{:.3}", interval.length_ns.as_secs()),
        direction.word().into(),
        counts.operations.to_string(),
        counts.bytes.0.to_string(),
        format!("{:.3}", counts.operations as f64 / seconds),
        format!("{:.3}", bytes_per_sec / f64::from(1 << 20)),
        format!("{:.3}", bytes_per_sec / 1e6),
        micros(latency.mean()),
        micros(latency.min() as f64),
        quantile(0.50),
        quantile(0.95),
        quantile(0.99),
        quantile(0.999),
        micros(latency.max() as f64),
        job.to_owned(),
    ]
}

/// The finest series of a job whose intervals fit into those of its histograms.
fn finest_series(job: &JobResults) -> Option<&Series> {
    // The last interval may be incomplete, even shorter than the intervals of the series.
    let full_length = job.histograms.iter().map(|interval| interval.length_ns).max();
    let full_length = full_length.unwrap_or_default();
    let single_interval = full_length >= job.measured();
    let job_series = job.series.iter().filter(|series| series.source.is_none());
    let fitting = job_series.filter(|series| single_interval || series.length_ns <= full_length);
    fitting.min_by_key(|series| series.length_ns)
}

/// Sums the bytes of all series intervals that start within a histogram interval.
fn bytes_of_interval(series: &Series, interval: &IntervalHistogram, direction: Direction) -> Bytes {
    let points = &series.points[direction];
    let place = |at: Nanos| (at.0.div_ceil(series.length_ns.0.max(1)) as usize).min(points.len());
    let covered = place(interval.start_ns)..place(interval.start_ns + interval.length_ns);
    Bytes(points[covered].iter().map(|point| point.bytes).sum())
}
