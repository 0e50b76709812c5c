//! Interval tables: one line for each second of the measured window and direction.

use std::io::{self, Write};

use model::event::Counts;
use model::histogram::Histogram;
use model::results::{IntervalHistogram, JobResults, Results};
use model::{Bytes, Direction, Nanos};

const COLUMNS: [&str; 18] = [
    "step",
    "job",
    "start_s",
    "length_s",
    "direction",
    "operations",
    "bytes",
    "iops",
    "mib_per_s",
    "mb_per_s",
    "latency_mean_us",
    "latency_min_us",
    "latency_p50_us",
    "latency_p95_us",
    "latency_p99_us",
    "latency_p99_9_us",
    "latency_max_us",
    "name",
];

pub(super) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record(COLUMNS)?;
    for (step, found) in results.steps.iter().enumerate() {
        for (number, job) in found.jobs.iter().enumerate() {
            let place = [step.to_string(), number.to_string()];
            for interval in &job.histograms {
                for (direction, latency) in interval.latency.iter() {
                    let Some(latency) = latency else { continue };
                    table.write_record(row(&place, job, interval, direction, latency))?;
                }
            }
        }
    }
    table.flush()
}

fn row(
    place: &[String; 2],
    job: &JobResults,
    interval: &IntervalHistogram,
    direction: Direction,
    latency: &Histogram,
) -> Vec<String> {
    let counts = counts_of(job, interval, direction, latency);
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
        job.name.clone(),
    ]
}

/// Operations are those of the histogram; the bytes are those of the finest series that fall into the interval.
fn counts_of(job: &JobResults, interval: &IntervalHistogram, direction: Direction, latency: &Histogram) -> Counts {
    let operations = latency.n();
    let (start, end) = (interval.start_ns, interval.start_ns + interval.length_ns);
    // The last interval may be cut short, even to less than one of the series.
    let usual = job.histograms.iter().map(|interval| interval.length_ns).max();
    let usual = usual.unwrap_or_default();
    let only_one = usual >= job.measured();
    let whole = job.series.iter().filter(|series| series.of.is_none());
    let fitting = whole.filter(|series| only_one || series.length_ns <= usual);
    let Some(series) = fitting.min_by_key(|series| series.length_ns) else {
        return Counts {
            operations,
            bytes: Bytes(0),
        };
    };
    let inside = |(index, _): &(usize, &model::results::Point)| {
        let at = Nanos(*index as u64 * series.length_ns.0);
        at >= start && at < end
    };
    let points = series.points[direction].iter().enumerate().filter(inside);
    Counts {
        operations,
        bytes: Bytes(points.map(|(_, point)| point.bytes).sum()),
    }
}
