//! The complete results of a test, in units that add up: counters, histograms, interval series,
//! environment, findings. Every report is rendered from these types. Results merge by addition:
//! counters and histograms of workers add up, while device counters and CPU time count once per
//! host. Nothing here is rounded or divided; reports compute rates.

mod distribution;
mod engine;
mod equivalent;
mod failure;
mod host;
mod interval;
mod job;
mod moved;
mod step;
mod stream;
mod window;
mod worker;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diagnosis::{JobDiagnosis, LimitTable};
use crate::finding::Finding;
use crate::fleet::Fleet;
use crate::plan::Plan;

pub use distribution::Distribution;
pub use engine::EngineUsed;
pub use equivalent::{Equivalent, EquivalentForm};
pub use failure::{BECAME_SHORTER, FailedOperation, Failure, TooSlow};
pub use host::{CpuIdleness, HostResults, Idleness};
pub use interval::{IntervalHistogram, PhaseInterval, Point, RankSeries, Series};
pub(crate) use job::sum_directions;
pub use job::{ControlOutcome, InFlight, JobResults};
pub use moved::DeviceTraffic;
pub use step::{HostCoreUse, HostDeviceUse, HostNetworkMount, HostVolumeUse, StepResults};
pub use stream::{DirectionResults, EffectiveShare, FileOperationResults, PriorityResults, StreamResults, SyncResults};
pub use window::{Window, WindowLatency, WindowSeries};
pub use worker::{MAX_MISMATCHES, Usage, Waits, WorkerResults};

/// Version of the saved format. Readers accept this one and the one before.
pub const FORMAT_VERSION: u32 = 1;

/// The results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// See [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Always `run`; a saved study says `study`.
    pub kind: Kind,
    /// The program that produced it.
    pub tool: Tool,
    /// The plan that was executed.
    pub plan: Plan,
    /// One entry for each host that took part.
    pub hosts: Vec<HostResults>,
    /// The results of each step.
    pub steps: Vec<StepResults>,
    /// The findings of the checks.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The run was cut short by the user or the system.
    #[serde(default)]
    pub interrupted: bool,
    /// The same test in the other dialects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equivalents: Vec<Equivalent>,
    /// The diagnosis of each job, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnoses: Vec<JobDiagnosis>,
    /// Limits shared by jobs that ran at the same time, if a diagnosis was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_limits: Vec<LimitTable>,
    /// The fleet that executed it, if there were several processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
}

impl Results {
    /// Results in the current format, without findings.
    pub fn new(tool: Tool, plan: Plan, hosts: Vec<HostResults>, steps: Vec<StepResults>) -> Results {
        Results {
            format_version: FORMAT_VERSION,
            kind: Kind::Run,
            tool,
            plan,
            hosts,
            steps,
            findings: Vec::new(),
            interrupted: false,
            equivalents: Vec::new(),
            diagnoses: Vec::new(),
            shared_limits: Vec::new(),
            fleet: None,
        }
    }

    /// Returns the results of all jobs in order.
    pub fn jobs(&self) -> impl Iterator<Item = &JobResults> {
        self.steps.iter().flat_map(|step| &step.jobs)
    }

    /// Returns the results of the workers of all jobs in order.
    pub fn workers(&self) -> impl Iterator<Item = &WorkerResults> {
        self.jobs().flat_map(|job| &job.workers)
    }
}

/// The kind of a saved file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One run.
    Run,
}

/// The program that made a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Program name, such as `fathom`.
    pub name: String,
    /// Version of the program.
    pub version: String,
    /// Incremented whenever a change of the measuring code may change figures.
    pub engine_revision: u32,
}
