//! What a test found, complete and in units that add up: counters, histograms, interval series,
//! environment, findings.
//!
//! Every report is rendered from this. Merging is addition: counters and histograms of workers add,
//! device counters and CPU time count once for each host. Nothing here is rounded or divided; rates
//! are computed where they are shown.

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
pub use failure::{FailedOperation, Failure, TooSlow};
pub use host::{CpuIdleness, HostResults, Idleness};
pub use interval::{IntervalHistogram, PhaseInterval, Point, RankSeries, Series};
pub(crate) use job::sum_of;
pub use job::{ControlOutcome, InFlight, JobResults};
pub use moved::Moved;
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
    /// What made it.
    pub tool: Tool,
    /// What was asked for.
    pub plan: Plan,
    /// One entry for each host that took part.
    pub hosts: Vec<HostResults>,
    /// What was measured, step by step.
    pub steps: Vec<StepResults>,
    /// What the checks found.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The run was cut short by the user or the system.
    #[serde(default)]
    pub interrupted: bool,
    /// The same test in the other dialects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equivalents: Vec<Equivalent>,
    /// What limited each job, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnoses: Vec<JobDiagnosis>,
    /// Limits that jobs share which ran at the same time, where a diagnosis was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_limits: Vec<LimitTable>,
    /// The processes that carried it out together, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
}

/// What a saved file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One run.
    Run,
}

/// The program that made a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Raised whenever a change of the measuring code may change figures.
    pub engine_revision: u32,
}
