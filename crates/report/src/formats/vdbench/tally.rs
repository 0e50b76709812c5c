//! Sums over one or more intervals, for Vdbench's columns.

use model::event::{Counts, FileOperationInterval};
use model::histogram::Histogram;
use model::plan::FileOperationKind;
use model::results::Point;

/// The sums of both directions.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Reads.
    pub reads: DirectionTally,
    /// Writes.
    pub writes: DirectionTally,
    /// Sum of the times from queueing to completion. With a rate it does not include the wait for a
    /// slot, as response times do.
    pub in_flight_ns: u128,
    /// Operations of each kind on files.
    pub file_operations: Vec<FileOperationInterval>,
}

/// The sums of one direction.
#[derive(Clone, Debug, Default)]
pub struct DirectionTally {
    /// Operations completed.
    pub n: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Sum of the response times.
    pub sum_ns: u128,
    /// Sum of their squares.
    pub squares: f64,
    /// The longest response time.
    pub max_ns: u64,
    /// The distribution of the response times, if known.
    pub histogram: Option<Histogram>,
}

impl DirectionTally {
    /// The figures of one direction in a live interval.
    pub fn from_interval(counts: Counts, latency: Option<&Histogram>) -> DirectionTally {
        DirectionTally {
            n: counts.operations,
            bytes: counts.bytes.0,
            sum_ns: latency.map_or(0, Histogram::sum),
            squares: latency.map_or(0.0, |latency| latency.sum_squares() as f64),
            max_ns: latency.filter(|latency| !latency.is_empty()).map_or(0, Histogram::max),
            histogram: latency.cloned(),
        }
    }

    /// The figures of a point of an interval series.
    pub fn from_point(point: &Point) -> DirectionTally {
        DirectionTally {
            n: point.operations,
            bytes: point.bytes,
            sum_ns: u128::from(point.latency_ns),
            squares: point.latency_squares_ns2,
            max_ns: point.latency_ns_max,
            histogram: None,
        }
    }

    /// Adds another direction or interval.
    pub fn add(&mut self, other: &DirectionTally) {
        self.n += other.n;
        self.bytes += other.bytes;
        self.sum_ns += other.sum_ns;
        self.squares += other.squares;
        self.max_ns = self.max_ns.max(other.max_ns);
        match (&mut self.histogram, &other.histogram) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (_, None) => {}
        }
    }

    pub(super) fn mean_ms(&self) -> f64 {
        self.sum_ns as f64 / self.n.max(1) as f64 / 1e6
    }

    pub(super) fn max_ms(&self) -> f64 {
        self.max_ns as f64 / 1e6
    }

    /// The sample standard deviation: sqrt((n·Σt² − (Σt)²) / (n·(n−1))).
    pub(super) fn deviation_ms(&self) -> f64 {
        if self.n < 2 {
            return 0.0;
        }
        let (n, sum) = (self.n as f64, self.sum_ns as f64);
        ((n * self.squares - sum * sum).max(0.0) / (n * (n - 1.0))).sqrt() / 1e6
    }
}

impl Tally {
    /// Adds another interval.
    pub fn add(&mut self, other: &Tally) {
        self.reads.add(&other.reads);
        self.writes.add(&other.writes);
        self.in_flight_ns += other.in_flight_ns;
        for added in &other.file_operations {
            match self.file_operations.iter_mut().find(|tally| tally.kind == added.kind) {
                None => self.file_operations.push(*added),
                Some(tally) => {
                    tally.counts.add(added.counts);
                    tally.latency_ns.0 += added.latency_ns.0;
                }
            }
        }
    }

    /// Sums these kinds of file operation.
    pub fn sum_of_kinds(&self, kinds: &[FileOperationKind]) -> DirectionTally {
        let mut sum = DirectionTally::default();
        for operation in self
            .file_operations
            .iter()
            .filter(|operation| kinds.contains(&operation.kind))
        {
            sum.n += operation.counts.operations;
            sum.bytes += operation.counts.bytes.0;
            sum.sum_ns += u128::from(operation.latency_ns.0);
        }
        sum
    }

    /// Both directions together.
    pub fn total(&self) -> DirectionTally {
        let mut sum = self.reads.clone();
        sum.add(&self.writes);
        sum
    }

    pub(super) fn mean_bytes(&self) -> u64 {
        let count = self.reads.n + self.writes.n;
        (self.reads.bytes + self.writes.bytes).checked_div(count).unwrap_or(0)
    }

    pub(super) fn read_percent(&self) -> f64 {
        100.0 * self.reads.n as f64 / (self.reads.n + self.writes.n).max(1) as f64
    }

    /// Mean number of operations in flight.
    pub(super) fn mean_in_flight(&self, seconds: f64) -> f64 {
        self.in_flight_ns as f64 / 1e9 / seconds
    }
}
