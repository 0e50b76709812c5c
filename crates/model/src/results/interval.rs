//! Figures by interval: series, histograms, and intervals outside the measured window.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JobResults;
use crate::direction::{Direction, PerDirection};
use crate::event::{Counts, Interval, Phase};
use crate::histogram::Histogram;
use crate::units::Nanos;

/// An interval outside the measured window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseInterval {
    /// Phase that the interval belongs to.
    pub phase: Phase,
    /// Start, from the start of that phase.
    pub start_ns: Nanos,
    /// Length.
    pub length_ns: Nanos,
    /// Operations and bytes of each direction.
    pub counts: PerDirection<Counts>,
}

impl PhaseInterval {
    /// The figures of an interval reported live; `None` for intervals of the measured window.
    pub fn from_interval(interval: &Interval) -> Option<PhaseInterval> {
        (interval.phase != Phase::Measured).then_some(PhaseInterval {
            phase: interval.phase,
            start_ns: interval.start_ns,
            length_ns: interval.length_ns,
            counts: interval.counts,
        })
    }
}

/// An interval series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of an interval.
    pub length_ns: Nanos,
    /// Worker and stream it belongs to; absent for the whole job.
    #[serde(rename = "of", default)]
    pub source: Option<(u32, u32)>,
    /// One entry per interval since the start of the measured window, zero if empty. The last
    /// interval may be shorter.
    pub points: PerDirection<Vec<Point>>,
}

/// One interval of a series: operations, bytes, and total latency if recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Operations completed.
    #[serde(rename = "n")]
    pub operations: u64,
    /// Bytes transferred.
    #[serde(rename = "b")]
    pub bytes: u64,
    /// Sum of the latencies.
    #[serde(rename = "l", default)]
    pub latency_ns: u64,
    /// Sum of the squares of the latencies in ns².
    #[serde(rename = "q", default)]
    pub latency_squares_ns2: f64,
    /// Smallest latency; 0 if there was none.
    #[serde(rename = "min", default)]
    pub latency_ns_min: u64,
    /// Largest latency.
    #[serde(rename = "max", default)]
    pub latency_ns_max: u64,
    /// Sum of the times from queued to completed, for paced streams: their latencies include the
    /// wait for a slot.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub in_flight_ns: Option<u64>,
}

impl Series {
    /// A series of a stream of a worker, or of the whole job.
    pub fn new(length_ns: Nanos, source: Option<(u32, u32)>, points: PerDirection<Vec<Point>>) -> Series {
        Series {
            length_ns,
            source,
            points,
        }
    }
}

impl Point {
    /// An interval without latencies.
    pub fn new(operations: u64, bytes: u64) -> Point {
        Point {
            operations,
            bytes,
            ..Point::default()
        }
    }

    /// Merges the same interval of another series.
    pub fn merge(&mut self, other: &Point) {
        if other.operations == 0 {
            return;
        }
        self.latency_ns_min = match self.operations {
            0 => other.latency_ns_min,
            _ => self.latency_ns_min.min(other.latency_ns_min),
        };
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.latency_ns += other.latency_ns;
        self.latency_squares_ns2 += other.latency_squares_ns2;
        self.latency_ns_max = self.latency_ns_max.max(other.latency_ns_max);
        if let Some(in_flight) = other.in_flight_ns {
            *self.in_flight_ns.get_or_insert(0) += in_flight;
        }
    }
}

/// The operations of a rank in each interval of a job's measured window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankSeries {
    /// Rank that did the operations.
    pub rank: u32,
    /// Length of an interval; the last one may be shorter.
    pub length_ns: Nanos,
    /// Operations completed in each interval, all directions together.
    pub operations: Vec<u64>,
}

impl RankSeries {
    /// The series of a rank's own results; `None` if it recorded no intervals.
    pub fn from_job(rank: u32, job: &JobResults) -> Option<RankSeries> {
        let series = job.series.iter().find(|series| series.source.is_none())?;
        let directions = || series.points.iter().map(|(_, points)| points);
        let length = directions().map(Vec::len).max().unwrap_or_default();
        let mut operations = vec![0; length];
        for points in directions() {
            for (sum, point) in operations.iter_mut().zip(points) {
                *sum += point.operations;
            }
        }
        (length > 0).then_some(RankSeries {
            rank,
            length_ns: series.length_ns,
            operations,
        })
    }
}

/// Total latency (response time when paced) of one interval of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalHistogram {
    /// Start, from the start of the measured window.
    pub start_ns: Nanos,
    /// Length.
    pub length_ns: Nanos,
    /// The histogram of each direction that had operations.
    pub latency: PerDirection<Option<Histogram>>,
}

impl IntervalHistogram {
    /// Merges the same interval of other workers or ranks.
    pub fn merge(&mut self, mut other: IntervalHistogram) {
        self.length_ns = self.length_ns.max(other.length_ns);
        for direction in Direction::ALL {
            match (&mut self.latency[direction], other.latency[direction].take()) {
                (Some(mine), Some(theirs)) => mine.merge_packed(&theirs),
                (mine @ None, theirs) => *mine = theirs,
                (Some(_), None) => {}
            }
        }
    }
}
