//! A verdict with all that belongs to it: what programs read, and what is kept.

use model::diagnosis::JobDiagnosis;
use model::finding::Finding;
use model::results::Tool;
use model::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::Serialize;

use super::Verdict;
use crate::caps::Layer;
use crate::policies::{Reach, Resolved};

/// The version of this form.
pub const FORMAT_VERSION: u32 = 1;

/// A promise, the test of it, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verified {
    /// Version of this form.
    pub format_version: u32,
    /// Always `verdict`.
    pub kind: VerifiedKind,
    /// What made it.
    pub tool: Tool,
    /// What was tested.
    pub target: String,
    /// What is promised.
    pub promise: Promise,
    /// What was issued to find out.
    pub issued: Issued,
    /// The limits of machine and disks that were named.
    pub machine: Option<Machine>,
    /// What came of it.
    pub verdict: Verdict,
    /// What limited the load, where the promise is not kept.
    pub diagnoses: Vec<JobDiagnosis>,
    /// What the self-checks found.
    pub findings: Vec<Finding>,
}

/// See [`Verified::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerifiedKind {
    /// A verdict.
    Verdict,
}

/// What is promised, and by what.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Promise {
    /// The policy, for this disk.
    pub policy: Option<Resolved>,
    /// What was required beside it, as written.
    pub requirement: Option<String>,
    /// A sentence, if the entry of the catalogue is old.
    pub expired: Option<String>,
}

/// The load that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Issued {
    /// Bytes of an operation.
    pub block: Bytes,
    /// Positions were random.
    pub random: bool,
    /// Percent of the operations that read, kept to within one operation.
    pub read_percent: f64,
    /// Operations per second that were due, over all workers.
    pub rate_iops: f64,
    /// Operations that could be in flight.
    pub concurrency: u32,
    /// Threads that issued them.
    pub workers: u32,
    /// I/O before the measured window.
    pub warm_up_ns: Nanos,
    /// Length of the measured window that was asked for.
    pub measured_ns: Nanos,
    /// The short form was asked for.
    pub quick: bool,
    /// Which attempt this was: after a first in which the generator may have been the limit, a second has twice as much of it.
    pub attempt: u32,
}

/// Limits of machine and disks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Machine {
    /// Each of them.
    pub layers: Vec<Layer>,
    /// What can be reached through all with this load.
    pub reach: Option<Reach>,
}
