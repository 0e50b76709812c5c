//! Logs of the bandwidth of all jobs together (`--bandwidth-log`).
//!
//! fio writes a line with every update of its status line. We write one for each interval of the
//! jobs' shortest `bwavgtime`, with or without a status line. Times are measured from the start of
//! the run, and directions without I/O have lines too. A worker that started later than the first
//! has other interval boundaries: its bytes are divided between the two intervals that its own one
//! overlaps.

use std::io::{self, Write};

use model::results::{Results, Series, WorkerResults};
use model::{Direction, Nanos};

use super::super::settings::{JobSettings, Unified};
use super::direction_number;

/// Returns the name of the file with the total of a direction.
pub fn total_file_name(prefix: &str, direction: Direction) -> String {
    format!("{prefix}-{}_bw.log", direction.word())
}

/// Writes the total of a direction over all jobs.
///
/// # Errors
/// `out` cannot be written to.
pub fn write_total(results: &Results, direction: Direction, out: &mut dyn Write) -> io::Result<()> {
    let settings = || (0..results.plan.jobs().count()).map(|number| JobSettings::for_job(&results.plan, number));
    let Some(length) = settings().map(|job| job.bandwidth_sample).min() else {
        return Ok(());
    };
    // With mixed reporting, fio writes all directions to the log of reads.
    let mixed = settings().all(|job| job.unified == Unified::Mixed);
    let counted: &[Direction] = match (mixed, direction) {
        (false, _) => &[direction],
        (true, Direction::Read) => &Direction::ALL,
        (true, _) => &[],
    };
    let total = Total::from_results(results, length, counted);
    for (number, bytes) in total.bytes.iter().enumerate() {
        let start = total.start + Nanos(length.0 * number as u64);
        let is_last = number + 1 == total.bytes.len();
        let end = if is_last { total.end } else { start + length };
        let took = u128::from(end.since(start).0.max(1));
        let rate = u128::from(*bytes) * 1_000_000_000 / took / 1024;
        let time = end.0 / 1_000_000;
        writeln!(out, "{time}, {rate}, {}, 0, 0", direction_number(direction))?;
    }
    Ok(())
}

/// Bytes of all workers in each interval.
#[derive(Debug, Default)]
struct Total {
    start: Nanos,
    end: Nanos,
    bytes: Vec<u64>,
}

impl Total {
    fn from_results(results: &Results, length: Nanos, directions: &[Direction]) -> Total {
        let measured = |worker: &&WorkerResults| worker.measured_ns > Nanos(0);
        let workers = || {
            let jobs = results.steps.iter().flat_map(|step| &step.jobs);
            jobs.flat_map(|job| &job.workers).filter(measured)
        };
        let end = |worker: &WorkerResults| worker.started_ns + worker.measured_ns;
        let (Some(start), Some(end)) = (
            workers().map(|worker| worker.started_ns).min(),
            workers().map(end).max(),
        ) else {
            return Total::default();
        };
        // A remainder of less than 1 ms is added to the last interval.
        let full_intervals = end.since(start).0 / length.0.max(1);
        let remainder = Nanos(end.since(start).0 - full_intervals * length.0);
        let count = (full_intervals + u64::from(full_intervals == 0 || remainder >= Nanos::millis(1))) as usize;
        let mut total = Total {
            start,
            end,
            bytes: vec![0; count],
        };
        for job in results.steps.iter().flat_map(|step| &step.jobs) {
            for series in job.series.iter().filter(|series| series.length_ns == length) {
                let worker = series.source.and_then(|(worker, _)| job.workers.get(worker as usize));
                if let Some(worker) = worker.filter(measured) {
                    directions
                        .iter()
                        .for_each(|direction| total.add(series, worker, *direction));
                }
            }
        }
        total
    }

    fn add(&mut self, series: &Series, worker: &WorkerResults, direction: Direction) {
        let length = series.length_ns;
        for (number, point) in series.points[direction].iter().enumerate() {
            let begun = Nanos(length.0 * number as u64);
            let took = length.min(worker.measured_ns.since(begun));
            let from = (worker.started_ns + begun).since(self.start);
            let Some(last) = self.bytes.len().checked_sub(1) else {
                return;
            };
            let first = ((from.0 / length.0) as usize).min(last);
            let boundary = Nanos(length.0 * (first as u64 + 1));
            let before = took.min(boundary.since(from));
            let bytes_before = u128::from(point.bytes) * u128::from(before.0) / u128::from(took.0.max(1));
            let bytes_before = if took > Nanos(0) {
                bytes_before as u64
            } else {
                point.bytes
            };
            self.bytes[first] += bytes_before;
            self.bytes[(first + 1).min(last)] += point.bytes - bytes_before;
        }
    }
}
