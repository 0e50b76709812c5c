//! One host of a run.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::environment::{Environment, SystemUse};

/// One host of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostResults {
    /// What surrounded the test there.
    pub environment: Environment,
    /// Wall-clock start, in nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: u64,
    /// Wall-clock end.
    pub ended_unix_ns: u64,
    /// What the system counted from start to end; absent where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemUse>,
    /// How idle its processors were, where that was measured (fio `--idle-prof`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idleness: Option<Idleness>,
}

/// How idle processors were, measured by work that is done only while nothing else wants to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Idleness {
    /// Each processor that the program may use.
    pub cpus: Vec<CpuIdleness>,
    /// How long a unit of that work takes on a processor that has nothing else to do: the mean over
    /// the processors.
    pub unit_ns_mean: f64,
    /// The standard deviation of that between the processors.
    pub unit_ns_deviation: f64,
}

/// How idle a processor was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuIdleness {
    /// Its number.
    pub cpu: u32,
    /// The part of the time in which nothing else ran on it, in percent.
    pub percent: f64,
}

impl Idleness {
    /// The mean over the processors, in percent.
    pub fn percent(&self) -> f64 {
        let sum: f64 = self.cpus.iter().map(|cpu| cpu.percent).sum();
        sum / self.cpus.len().max(1) as f64
    }
}
