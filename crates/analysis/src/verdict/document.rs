//! The saved and machine-readable forms of a verdict.

use model::JsonSchema;
use model::diagnosis::JobDiagnosis;
use model::finding::Finding;
use model::results::Tool;
use model::{Bytes, Nanos};
use serde::Serialize;

use super::{DepthSearch, Outcome, Verdict};
use crate::caps::LimitLayer;
use crate::policies::{Reach, ResolvedPolicy};

/// The version of this format.
pub const FORMAT_VERSION: u32 = 1;

/// A promise, its test and the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct VerificationReport {
    /// Version of this form.
    pub format_version: u32,
    /// Always `verdict`.
    pub kind: VerificationKind,
    /// The program that wrote it.
    pub tool: Tool,
    /// The tested target; for several targets, their names separated by commas.
    pub target: String,
    /// What was promised.
    pub promise: Promise,
    /// The load issued to test it; for that of a job file, its mean figures.
    pub issued: IssuedLoad,
    /// The jobs of a job file, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_load: Option<String>,
    /// The search for a sufficient depth, if no promised latency determines the depth.
    #[serde(rename = "climb", skip_serializing_if = "Option::is_none")]
    pub depth_search: Option<DepthSearch>,
    /// The processes and hosts that issued the load together, in words. They divide the rate and
    /// the depth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued_by: Option<String>,
    /// The stated limits of machine and disks.
    pub machine: Option<Machine>,
    /// Outcome, with the judgement of each clause.
    pub verdict: Verdict,
    /// The limits that bound the load, if the promise was not met.
    pub diagnoses: Vec<JobDiagnosis>,
    /// The findings of the self-checks.
    pub findings: Vec<Finding>,
}

/// See [`VerificationReport::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerificationKind {
    /// A verdict.
    Verdict,
}

/// A promise and its source.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Promise {
    /// The policy, for this disk.
    pub policy: Option<ResolvedPolicy>,
    /// The user's own requirement, as written.
    pub requirement: Option<String>,
    /// A warning if the catalogue entry is old.
    pub expired: Option<String>,
}

/// The load that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IssuedLoad {
    /// Bytes per operation.
    pub block: Bytes,
    /// Positions were random.
    pub random: bool,
    /// Percentage of reads, exact to one operation.
    pub read_percent: f64,
    /// Operations per second that were due, over all workers.
    pub rate_iops: f64,
    /// Operations that could be in flight.
    pub concurrency: u32,
    /// Threads that issued them.
    pub workers: u32,
    /// Targets that share the load.
    pub targets: u32,
    /// Length of the warm-up before the measured window.
    pub warm_up_ns: Nanos,
    /// Planned length of the measured window.
    pub measured_ns: Nanos,
    /// The user chose the short form.
    pub quick: bool,
    /// Number of this full window. If operations had to wait for a free slot, another window
    /// follows.
    pub attempt: u32,
}

/// Limits of machine and disks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Machine {
    /// Each limit.
    pub layers: Vec<LimitLayer>,
    /// The maximum rate of this load through all layers.
    pub reach: Option<Reach>,
}

/// Existing results, judged by a requirement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JudgedResults {
    /// The requirement as parsed.
    pub required: Vec<String>,
    /// The outcome of all jobs together: the worst one.
    pub outcome: Outcome,
    /// Each job.
    pub jobs: Vec<JudgedJob>,
}

/// The judgement of one job.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JudgedJob {
    /// Name of the job.
    pub name: String,
    /// The verdict; absent where nothing was measured.
    pub verdict: Option<Verdict>,
}

/// The results of a suite.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SuiteReport {
    /// Version of this form.
    pub format_version: u32,
    /// Always `suite`.
    pub kind: SuiteKind,
    /// The program that wrote it.
    pub tool: Tool,
    /// Name of the suite.
    pub name: String,
    /// The objective of the suite.
    pub objective: Option<String>,
    /// Its start, as date, time and time zone.
    pub started: String,
    /// Its end, as date, time and time zone.
    pub ended: String,
    /// The tested targets and the machine, as names and values.
    pub environment: Vec<(String, String)>,
    /// The outcome of all workloads together.
    pub outcome: Outcome,
    /// Each workload.
    pub workloads: Vec<JudgedWorkload>,
}

/// See [`SuiteReport::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuiteKind {
    /// Several workloads.
    Suite,
}

/// A workload of a suite, judged by a requirement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JudgedWorkload {
    /// Name of the workload in the suite.
    pub name: String,
    /// The objective of the workload.
    pub objective: Option<String>,
    /// The preset on which it is based, with the changes.
    pub preset: Option<String>,
    /// The load, in words.
    pub load: String,
    /// The requirement, as written.
    pub required: String,
    /// The whole test as flags or a job file of ours.
    pub settings: String,
    /// The verdict; absent if nothing was measured.
    pub verdict: Option<Verdict>,
    /// The reason why nothing was measured.
    pub failure: Option<String>,
    /// The findings of the self-checks.
    pub findings: Vec<Finding>,
}

impl JudgedWorkload {
    /// The outcome; inconclusive if nothing was measured.
    pub fn outcome(&self) -> Outcome {
        self.verdict
            .as_ref()
            .map_or(Outcome::Inconclusive, |verdict| verdict.outcome)
    }

    /// The reasons other than clauses.
    pub fn reasons(&self) -> Vec<String> {
        let of_verdict = self
            .verdict
            .iter()
            .flat_map(|verdict| &verdict.reasons)
            .map(|reason| reason.what.clone());
        self.failure.iter().cloned().chain(of_verdict).collect()
    }
}
