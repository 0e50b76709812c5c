//! Why a plan could not be executed.

use model::plan::PlanError;

use crate::setup_error::SetupError;
use crate::targets::TargetError;
use crate::targets::guard::Refusal;

/// Why a plan could not be executed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan is invalid or unsupported.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Targets cannot be used or prepared.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Targets(Vec<TargetError>),
    /// The guard refused targets. Nothing was changed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<Refusal>),
    /// Workers could not be set up. Nothing was issued.
    #[error("{}", .0.first().map(|fault| fault.why.to_string()).unwrap_or_default())]
    Setup(Vec<WorkerFault>),
    /// Hosts of a fleet cannot take part, or were lost before the test began.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Hosts(Vec<HostError>),
    /// Hosts of a fleet were lost during the test, before they had sent any results.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    HostsLost(Vec<HostError>),
    /// The user or the system asked to stop before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

/// A worker that could not be set up.
#[derive(Debug)]
pub struct WorkerFault {
    /// Index of its job in the step.
    pub job: usize,
    /// Number of the worker in its job.
    pub worker: usize,
    /// Why the worker could not start.
    pub why: SetupError,
}

/// Refuses to continue if workers could not be set up.
pub(crate) fn require_no_faults(faults: Vec<WorkerFault>) -> Result<(), RunError> {
    match faults.is_empty() {
        true => Ok(()),
        false => Err(RunError::Setup(faults)),
    }
}

/// The failure of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    /// Name and rank.
    pub host: String,
    /// The reason, in a sentence.
    pub why: String,
}

impl std::fmt::Display for HostError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.host, self.why)
    }
}
