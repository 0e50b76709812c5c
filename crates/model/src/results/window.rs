//! Latencies of a worker by window.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::PerDirection;
use crate::units::Nanos;

/// The windows of a worker, over all its streams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSeries {
    /// Number of the worker in its job.
    pub worker: u32,
    /// Length of a window. The last one may be shorter.
    pub length_ns: Nanos,
    /// Each window has the histogram of its completion latencies.
    #[serde(default)]
    pub histograms: bool,
    /// The windows with I/O in each direction, in time order.
    pub windows: PerDirection<Vec<Window>>,
}

/// One window of a worker: operations in one direction, with each of their latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Number of the window, which begins this many lengths after the start of the measured window.
    #[serde(rename = "w")]
    pub number: u64,
    /// Operations completed.
    #[serde(rename = "n")]
    pub operations: u64,
    /// Bytes transferred.
    #[serde(rename = "b")]
    pub bytes: u64,
    /// Queued → issued.
    pub submission: WindowLatency,
    /// Issued → reaped.
    pub completion: WindowLatency,
    /// Queued → reaped.
    pub total: WindowLatency,
    /// Completion latencies as histogram buckets, ascending: bucket and count. Empty if not
    /// requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<(u32, u64)>,
}

/// One latency of the operations of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowLatency {
    /// Sum.
    #[serde(rename = "l")]
    pub sum_ns: u64,
    /// Largest.
    #[serde(rename = "max")]
    pub max_ns: u64,
}

impl WindowLatency {
    /// Adds the latencies of other operations.
    pub fn merge(&mut self, other: WindowLatency) {
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

impl Window {
    /// Adds other operations of the same window; the number stays.
    pub fn merge(&mut self, other: &Window) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.submission.merge(other.submission);
        self.completion.merge(other.completion);
        self.total.merge(other.total);
        for (bucket, count) in &other.buckets {
            match self.buckets.binary_search_by_key(bucket, |(mine, _)| *mine) {
                Ok(place) => self.buckets[place].1 += count,
                Err(place) => self.buckets.insert(place, (*bucket, *count)),
            }
        }
    }
}
