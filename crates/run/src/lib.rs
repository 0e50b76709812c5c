//! Executes a plan: prepares targets, runs workers through their phases, gathers what they measured.
//!
//! [`execute`] takes a plan and returns results; on the way it publishes [`model::event::Event`]s and knows no viewer. Nothing
//! is printed here.

#![deny(unsafe_code)]

mod control;
mod control_groups;
mod file_lock;
mod flow;
mod gather;
mod governor;
pub mod hosts;
mod issue_trace;
mod line_log;
mod operation_log;
mod pipeline;
mod sampler;
mod schedulers;
mod sources;
mod step;
pub mod targets;
mod trace_source;
mod unsupported;
mod verify;
mod worker;

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::Clock;
use engine::probe::{self, System};
use model::environment::Environment;
use model::event::Event;
use model::plan::{Plan, PlanError};
use model::results::{FORMAT_VERSION, HostResults, Kind, Results, StepResults, Tool};

pub use pipeline::{CheckedPlan, check, check_engines};
use targets::TargetError;
use targets::guard::{Permissions, Refusal};
pub use worker::{Setting, SetupError};

/// Raised whenever a change of the measuring code may change figures.
pub const ENGINE_REVISION: u32 = 1;

/// Why a plan could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan is not whole, or says something that cannot be carried out yet.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Targets cannot be used or prepared.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Targets(Vec<TargetError>),
    /// The guard does not give targets away. Nothing was touched.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<Refusal>),
    /// Workers could not be set up. Nothing was issued.
    #[error("{}", .0.first().map(|fault| fault.why.to_string()).unwrap_or_default())]
    Setup(Vec<WorkerFault>),
    /// Hosts of a fleet cannot take part, or were lost before anything was measured.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Hosts(Vec<hosts::Trouble>),
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
    /// Why.
    pub why: SetupError,
}

/// What a run may do, by which clock, and what its caller may ask of it.
#[derive(Clone, Copy, Debug)]
pub struct RunContext<'a> {
    /// The clock that stamps operations.
    pub clock: Clock,
    /// Becomes true when the user or the system asks to stop.
    pub interrupt: &'a AtomicBool,
    /// What the user allows to be lost.
    pub permissions: &'a Permissions,
    /// What the caller may ask while the run goes on.
    pub hooks: RunHooks<'a>,
}

impl<'a> RunContext<'a> {
    /// A context without hooks.
    pub fn new(clock: Clock, interrupt: &'a AtomicBool, permissions: &'a Permissions) -> RunContext<'a> {
        RunContext {
            clock,
            interrupt,
            permissions,
            hooks: RunHooks::default(),
        }
    }

    /// The same with hooks.
    #[must_use]
    pub fn with_hooks(self, hooks: RunHooks<'a>) -> RunContext<'a> {
        RunContext { hooks, ..self }
    }
}

/// What the caller of a run may ask of it while it goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunHooks<'a> {
    /// Raised to ask for the results so far ([`Event::Snapshot`]); there is one at the end of each step too.
    pub snapshots: Option<&'a AtomicBool>,
    /// Jobs, by step and number, that must not begin. It is read once a step is ready ([`Event::Ready`]).
    pub cancelled: Option<&'a Mutex<Vec<(usize, usize)>>>,
    /// Other processes that execute parts of the same test, and may want the same files.
    pub others: Option<&'a dyn targets::Peers>,
}

/// Executes a plan.
///
/// # Errors
/// [`RunError`] if nothing could be measured at all. Errors of single operations are in the results.
pub fn execute(plan: Plan, context: RunContext<'_>, watcher: &mut dyn FnMut(Event)) -> Result<Results, RunError> {
    CheckedPlan::new(plan, context.permissions)?
        .permit(context, watcher)?
        .prepare(watcher)?
        .execute(watcher)
}

/// The results of a plan of which nothing was executed: the plan and the machine. Reports that echo what was asked for are
/// made of it.
pub fn nothing_measured(plan: Plan, clock: &Clock) -> Results {
    let steps = plan.steps.iter().map(StepResults::not_started).collect();
    let environment = probe::environment(&System::live(), clock.describe());
    Results {
        steps,
        ..without_steps(plan, environment)
    }
}

/// Results of one host that begin and end now.
fn without_steps(plan: Plan, environment: Environment) -> Results {
    let now = unix_now();
    Results {
        format_version: FORMAT_VERSION,
        kind: Kind::Run,
        tool: Tool {
            name: "fathom".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            engine_revision: ENGINE_REVISION,
        },
        plan,
        hosts: vec![HostResults {
            environment,
            started_unix_ns: now,
            ended_unix_ns: now,
            system: None,
            idleness: None,
        }],
        steps: Vec::new(),
        findings: Vec::new(),
        interrupted: false,
        equivalents: Vec::new(),
        diagnoses: Vec::new(),
        shared_limits: Vec::new(),
        fleet: None,
    }
}

fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}
