//! One host of a run.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::{Environment, SystemUse};

/// One host of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostResults {
    /// The environment of the test there.
    pub environment: Environment,
    /// Wall-clock start, in nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: u64,
    /// Wall-clock end.
    pub ended_unix_ns: u64,
    /// The system's counters from start to end; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemUse>,
    /// The idleness of its processors, if measured (fio `--idle-prof`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idleness: Option<Idleness>,
}

/// The idleness of processors, measured by work at idle priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Idleness {
    /// Each processor that the program may use.
    pub cpus: Vec<CpuIdleness>,
    /// The time of a unit of that work on an idle processor: the mean over the processors.
    pub unit_ns_mean: f64,
    /// Its standard deviation over the processors.
    pub unit_ns_deviation: f64,
}

/// The idleness of a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuIdleness {
    /// CPU number.
    pub cpu: u32,
    /// The share of the time in which nothing else ran on it, in percent.
    pub percent: f64,
}

impl Idleness {
    /// The mean over the processors, in percent.
    pub fn percent(&self) -> f64 {
        let sum: f64 = self.cpus.iter().map(|cpu| cpu.percent).sum();
        sum / self.cpus.len().max(1) as f64
    }
}
