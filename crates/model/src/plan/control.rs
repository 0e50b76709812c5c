//! Control rules, which watch the intervals of a job and act on it.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::units::Nanos;

/// One rule. The governor of a run evaluates it at every merged interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "control", rename_all = "snake_case")]
pub enum Control {
    /// Ends the job when a figure is precise enough.
    Precision(Precision),
    /// Ends the job when a figure no longer changes (fio `steadystate`, SNIA).
    SteadyState(SteadyState),
    /// Searches for the highest depth that meets a latency target (fio `latency_target`).
    LatencyTarget(LatencyTarget),
    /// Ends the job with an error when it is too slow (fio `rate_min`).
    MinimumRate(MinimumRate),
}

/// The figure that a rule tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrackedMetric {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Throughput,
    /// Mean total latency.
    Latency,
}

/// End when the 95 % confidence interval of a figure is narrow enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// The figure whose interval must be narrow.
    #[serde(rename = "of")]
    pub metric: TrackedMetric,
    /// Half-width of the interval as a percentage of the mean.
    pub percent: f64,
    /// Minimum time before the rule ends the job.
    pub at_least_ns: Nanos,
}

/// End when a figure no longer changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteadyState {
    /// The figure that must be steady.
    #[serde(rename = "of")]
    pub metric: TrackedMetric,
    /// The limit applies to the slope of a least-squares line instead of the largest deviation from
    /// the mean.
    pub slope: bool,
    /// Limit, in the unit of the figure or as a percentage of its mean.
    pub limit: f64,
    /// The limit is in percent.
    pub percent: bool,
    /// Length of the examined window.
    pub window_ns: Nanos,
    /// Length of an interval.
    pub interval_ns: Nanos,
    /// Intervals before this time are ignored.
    pub ramp_ns: Nanos,
}

/// Search for the highest depth that meets a latency target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyTarget {
    /// The latency target.
    pub target_ns: Nanos,
    /// Length of one trial.
    pub window_ns: Nanos,
    /// The share of operations that must meet it, in percent.
    pub percentile: f64,
    /// Keep adjusting until the time is over, instead of ending at the depth found.
    pub keep_running: bool,
}

/// End with an error when a job is too slow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MinimumRate {
    /// Which figure; latency has no minimum rate.
    #[serde(rename = "of")]
    pub metric: TrackedMetric,
    /// The direction; absent: all together.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// The minimum per second of each worker.
    #[serde(rename = "least")]
    pub min_per_sec: f64,
    /// Time over which it is averaged.
    pub cycle_ns: Nanos,
}
