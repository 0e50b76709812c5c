//! Refuses unsupported features of plans before anything starts.

use engine::sys;
use model::Direction;
use model::plan::{Plan, PlanError, PlanFault, Stream, Worker};

use crate::error::WorkerFault;
use crate::setup_error::SetupError;
use crate::targets::guard::Permissions;

/// Finds every part of the plan that is not supported.
pub(crate) fn find_faults(plan: &Plan) -> Vec<PlanFault> {
    let mut faults: Vec<PlanFault> = Vec::new();
    for (_, job) in plan.jobs() {
        let mut add = |what: &str| {
            let fault = PlanFault {
                at: format!("job `{}`", job.name),
                what: format!("{what} is not supported yet"),
            };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        };
        for worker in &job.workers {
            worker.streams.iter().for_each(|stream| check_stream(stream, &mut add));
        }
    }
    faults
}

/// Refuses programs that the user has not permitted.
///
/// # Errors
/// [`PlanError`] with a line for each program.
pub(crate) fn check_programs(plan: &Plan, permissions: &Permissions) -> Result<(), PlanError> {
    let mut faults: Vec<PlanFault> = Vec::new();
    for (_, job) in plan.jobs().filter(|_| !permissions.programs) {
        for program in job.workers.iter().filter_map(|worker| worker.engine.program.as_ref()) {
            let fault = PlanFault {
                at: format!("job `{}`", job.name),
                what: format!(
                    "it runs {} with the rights of this user; set FATHOM_ALLOW_EXEC=1 to allow it",
                    program.path
                ),
            };
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(PlanError(faults)),
    }
}

/// Finds the workers whose engine this system certainly lacks. Opens nothing.
pub(crate) fn find_missing_engines(plan: &Plan) -> Vec<WorkerFault> {
    let faults_of_job = |job: usize, workers: &[Worker]| -> Vec<WorkerFault> {
        let faults = workers.iter().enumerate().filter_map(|(number, worker)| {
            // The operations of a trace are not known yet.
            let writes = |stream: &Stream| stream.mix.includes(Direction::Write) || stream.replay.is_some();
            let error = engine::unsupported_reason(worker.engine.kind, worker.streams.iter().any(writes))?;
            Some(WorkerFault {
                job,
                worker: number,
                why: SetupError::Engine(error),
            })
        });
        faults.collect()
    };
    plan.jobs()
        .flat_map(|((_, number), job)| faults_of_job(number, &job.workers))
        .collect()
}

fn check_stream(stream: &Stream, add: &mut impl FnMut(&str)) {
    if stream.hint.temporary && !sys::file::SUPPORTS_TEMPORARY {
        add("the hint that a file is temporary");
    }
}
