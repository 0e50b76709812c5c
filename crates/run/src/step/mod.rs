//! Runs one step: launches its workers, starts them together, watches them, and collects their
//! results.

mod address_space;
mod counters;
mod launch;
mod results;
mod target_watch;
mod watch;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

use engine::{Clock, Simulation};
use model::environment::TargetFacts;
use model::event::{DeviceUnder, EndReason, Event};
use model::plan::{Plan, Step};
use model::results::StepResults;

pub use self::target_watch::lost_target_finding;
use crate::context::RunHooks;
use crate::control_groups::ControlGroups;
use crate::error::{RunError, WorkerFault};
use crate::other_programs::OtherPrograms;
use crate::schedulers::Schedulers;
use crate::setup_error::SetupError;
use crate::targets::guard::Permissions;
use crate::worker::ReadyTarget;
use launch::LiveJob;

/// The data that all steps of a run share.
pub(crate) struct StepContext<'a> {
    pub(crate) plan: Arc<Plan>,
    pub(crate) clock: Clock,
    pub(crate) spin: bool,
    /// All targets are simulated devices.
    pub(crate) simulated: bool,
    /// The simulated devices of the run.
    pub(crate) simulation: Simulation,
    pub(crate) interrupt: &'a AtomicBool,
    pub(crate) hooks: RunHooks<'a>,
    /// What the user permits the logs to overwrite.
    pub(crate) permissions: &'a Permissions,
    /// Devices under the targets, with the targets that are on each.
    pub(crate) devices: Vec<(String, Vec<u32>)>,
    /// The facts of each target.
    pub(crate) facts: Vec<TargetFacts>,
    pub(crate) control_groups: Arc<ControlGroups>,
    pub(crate) schedulers: Schedulers,
    pub(crate) other_programs: RefCell<OtherPrograms>,
}

/// A step while it runs.
struct StepState<'a> {
    context: &'a StepContext<'a>,
    /// Number in the plan.
    number: usize,
    step_plan: &'a Step,
    jobs: Vec<LiveJob>,
    /// Receives a message from each thread that ends.
    wake_rx: Receiver<()>,
}

/// Runs a step to its end.
///
/// # Errors
/// [`RunError::Setup`] if a worker cannot be set up. In that case, nothing was issued.
pub(crate) fn run_step(
    context: &StepContext<'_>,
    number: usize,
    targets: &Arc<Vec<ReadyTarget>>,
    watcher: &mut dyn FnMut(Event),
) -> Result<StepResults, RunError> {
    context.choose_schedulers(number)?;
    let mut step = StepState::launch(context, number, targets)?;
    let device = |(name, targets): &(String, Vec<u32>)| DeviceUnder {
        name: name.clone(),
        targets: targets.clone(),
    };
    watcher(Event::Ready {
        step: number as u32,
        devices: context.devices.iter().map(device).collect(),
    });
    step.cancel_jobs();
    let monitor = step.watch(targets, watcher);
    let results = step.into_results(monitor, targets);
    if context.hooks.snapshots.is_some() {
        watcher(Event::Snapshot {
            step: number as u32,
            last: true,
            results: Box::new(results.clone()),
        });
    }
    Ok(results)
}

impl StepContext<'_> {
    /// Sets the I/O schedulers of the jobs.
    fn choose_schedulers(&self, step: usize) -> Result<(), RunError> {
        for (job, job_plan) in self.plan.steps[step].jobs.iter().enumerate() {
            if let Err(why) = self.schedulers.set_for_job(job_plan, &self.facts) {
                // A failure of one job does not affect the other jobs.
                let why = Arc::new(why);
                let fault = |worker| WorkerFault {
                    job,
                    worker,
                    why: SetupError::Common(Arc::clone(&why)),
                };
                return Err(RunError::Setup((0..job_plan.workers.len()).map(fault).collect()));
            }
        }
        Ok(())
    }
}

impl StepState<'_> {
    /// Cancels the jobs that the caller has named in [`RunHooks::cancelled`].
    fn cancel_jobs(&mut self) {
        let Some(cancelled) = self.context.hooks.cancelled.and_then(|list| list.lock().ok()) else {
            return;
        };
        for (_, job) in cancelled.iter().filter(|(step, _)| *step == self.number) {
            if let Some(job) = self.jobs.get_mut(*job) {
                job.stop(EndReason::Interrupted);
            }
        }
    }
}
