//! Carrying out a plan: preparing targets, workers, phases, pacing, gathering.
//!
//! [`carry_out`] takes a plan and gives results; on the way it tells whoever watches through [`model::event::Event`]s, and
//! knows no viewer. Nothing is printed here.

#![deny(unsafe_code)]

mod control;
mod gather;
mod governor;
mod step;
pub mod targets;
mod worker;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use engine::Clock;
use model::event::Event;
use model::plan::{Plan, PlanError, TargetKind};
use model::results::{FORMAT_VERSION, HostResults, Kind, Results, Tool};

pub use worker::SetupError;
use worker::{ReadyKind, ReadyTarget};

/// Raised whenever a change of the measuring code may change figures.
pub const ENGINE_REVISION: u32 = 1;

/// Why a plan could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan is not whole.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Workers could not be set up. Nothing was issued.
    #[error("{}", .0.first().map(|fault| fault.why.to_string()).unwrap_or_default())]
    Setup(Vec<WorkerFault>),
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

/// Carries out a plan.
///
/// # Errors
/// [`RunError`] if nothing could be measured at all. Errors of single operations are in the results.
pub fn carry_out(
    plan: Plan,
    clock: Clock,
    interrupt: &AtomicBool,
    watcher: &mut dyn FnMut(Event),
) -> Result<Results, RunError> {
    plan.check()?;
    let targets: Vec<ReadyTarget> = plan
        .targets
        .iter()
        .map(|target| {
            let (what, size) = match &target.kind {
                TargetKind::Nothing { size } => (ReadyKind::Nothing, size.0),
                TargetKind::Simulated { device } => (ReadyKind::Simulated(device.clone()), device.size.0),
                _ => {
                    let size = std::fs::metadata(&target.path).map(|m| m.len()).unwrap_or(0);
                    (ReadyKind::Path(target.path.clone().into()), size)
                }
            };
            ReadyTarget {
                what,
                size,
                shared_position: Arc::new(AtomicU64::new(0)),
            }
        })
        .collect();
    let simulated = plan
        .targets
        .iter()
        .all(|t| matches!(t.kind, TargetKind::Simulated { .. }));
    let around = step::Surroundings {
        plan: Arc::new(plan),
        clock,
        spin: true,
        simulated,
        interrupt,
        devices: Vec::new(),
    };
    let targets = Arc::new(targets);
    let mut steps = Vec::new();
    for number in 0..around.plan.steps.len() {
        steps.push(step::run_step(&around, number, &targets, watcher)?);
    }
    let plan = Arc::unwrap_or_clone(around.plan);
    Ok(Results {
        format_version: FORMAT_VERSION,
        kind: Kind::Run,
        tool: Tool {
            name: "fathom".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            engine_revision: ENGINE_REVISION,
        },
        plan,
        hosts: vec![HostResults {
            environment: Default::default(),
            started_unix_ns: 0,
            ended_unix_ns: 0,
        }],
        steps,
        findings: Vec::new(),
        interrupted: false,
    })
}
