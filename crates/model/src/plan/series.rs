//! Series of figures over the measured window.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// An interval series: counters per interval from the start of the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grid {
    /// Length of an interval.
    pub length_ns: Nanos,
    /// The scope of a series.
    pub scope: GridScope,
}

impl Grid {
    /// An interval series of this length and scope.
    pub fn new(length_ns: Nanos, scope: GridScope) -> Grid {
        Grid { length_ns, scope }
    }
}

/// The scope of an interval series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GridScope {
    /// Each job.
    Job,
    /// Each stream of each worker (DiskSpd `-D`, fio logs).
    Stream,
}

/// Windows for which each worker records submission, completion and total latencies, for logs of
/// averages and of histograms. They start with the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Windows {
    /// Length of a window.
    pub length_ns: Nanos,
    /// Also record a histogram of completion latencies for each window.
    #[serde(default)]
    pub histograms: bool,
}
