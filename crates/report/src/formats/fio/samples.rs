//! Samples of bandwidth and IOPS, by default over half a second. fio adds up their statistics over
//! the clones of a job.

use model::results::{JobResults, Point, Series};
use model::{Direction, Nanos, PerDirection};

/// Statistics of the samples of one worker, or sums over several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Samples {
    pub count: u64,
    pub min: u64,
    pub max: u64,
    pub mean: f64,
    /// Sum of the squared distances from the mean.
    squares: f64,
}

impl Samples {
    pub(super) fn from_values(values: &[u64]) -> Samples {
        let (Some(min), Some(max)) = (values.iter().min(), values.iter().max()) else {
            return Samples::default();
        };
        let mean = values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
        Samples {
            count: values.len() as u64,
            min: *min,
            max: *max,
            mean,
            squares: values.iter().map(|value| (*value as f64 - mean).powi(2)).sum(),
        }
    }

    /// Adds a clone: all figures add up, because clones run concurrently.
    pub(super) fn add(&mut self, other: &Samples) {
        self.count += other.count;
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.squares += other.squares;
    }

    pub(super) fn deviation(&self) -> f64 {
        match self.count {
            0 | 1 => 0.0,
            count => (self.squares / (count - 1) as f64).sqrt(),
        }
    }
}

/// Sums the I/O of a worker's streams in each window of this length. Empty without such a series.
pub(super) fn sample_windows(
    job: &JobResults,
    worker: usize,
    length: Nanos,
    measured: Nanos,
) -> PerDirection<Vec<Point>> {
    let is_single_worker = job.workers.len() == 1;
    let is_of_worker = |series: &&Series| match series.source {
        Some((owner, _)) => owner as usize == worker,
        None => false,
    };
    let mut fitting_series: Vec<&Series> = job
        .series
        .iter()
        .filter(|series| series.length_ns == length)
        .filter(is_of_worker)
        .collect();
    if fitting_series.is_empty() && is_single_worker {
        let job_series = job.series.iter().find(|series| series.length_ns == length);
        fitting_series.extend(job_series);
    }
    let complete = measured.0.checked_div(length.0).unwrap_or(0) as usize;
    let mut windows: PerDirection<Vec<Point>> = PerDirection::default();
    for series in fitting_series {
        for direction in Direction::ALL {
            add(&mut windows[direction], &series.points[direction], complete);
        }
    }
    windows
}

/// The windows of all directions together.
pub(super) fn sum_directions(windows: &PerDirection<Vec<Point>>) -> Vec<Point> {
    let mut sum = Vec::new();
    for (_, points) in windows.iter() {
        add(&mut sum, points, points.len());
    }
    sum
}

/// Adds window by window; an incomplete window is not a sample.
fn add(sum: &mut Vec<Point>, points: &[Point], complete: usize) {
    let points = &points[..points.len().min(complete)];
    if sum.len() < points.len() {
        sum.resize(points.len(), Point::default());
    }
    sum.iter_mut().zip(points).for_each(|(sum, point)| sum.merge(point));
}

/// KiB per second, rounded down, of each window with I/O.
pub(super) fn sample_bandwidth(points: &[Point], length: Nanos) -> Samples {
    let kib = |point: &Point| per_second(point.bytes, length) / 1024;
    Samples::from_values(&busy_points(points).map(kib).collect::<Vec<u64>>())
}

/// Operations per second of each window with I/O.
pub(super) fn sample_iops(points: &[Point], length: Nanos) -> Samples {
    let rate = |point: &Point| per_second(point.operations, length);
    Samples::from_values(&busy_points(points).map(rate).collect::<Vec<u64>>())
}

fn busy_points(points: &[Point]) -> impl Iterator<Item = &Point> {
    points.iter().filter(|point| point.operations > 0)
}

fn per_second(amount: u64, length: Nanos) -> u64 {
    (u128::from(amount) * 1_000_000_000 / u128::from(length.0.max(1))) as u64
}
