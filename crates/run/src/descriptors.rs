//! How many file descriptors a plan needs, for those that want some beside it.

use model::plan::{Job, Plan, Step, Stream, StreamTarget, Worker};

/// What a worker has open beside its files: the ring of its engine, and what wakes it.
const PER_WORKER: u64 = 2;
/// What a job has open: its logs.
const PER_JOB: u64 = 2;
/// What a run has open whatever its plan: the file that is examined or prepared, samples of the system, saved results.
const PER_RUN: u64 = 24;

/// An upper bound of the file descriptors that a plan has open at the same time.
pub fn descriptors_needed(plan: &Plan) -> u64 {
    let steps = plan.steps.iter().map(for_step);
    PER_RUN + steps.max().unwrap_or(0)
}

fn for_step(step: &Step) -> u64 {
    step.jobs.iter().map(for_job).sum()
}

fn for_job(job: &Job) -> u64 {
    PER_JOB + job.workers.iter().map(for_worker).sum::<u64>()
}

fn for_worker(worker: &Worker) -> u64 {
    PER_WORKER + worker.streams.iter().map(for_stream).sum::<u64>()
}

/// A target is opened once more for each I/O priority that parts of its operations have.
fn for_stream(stream: &Stream) -> u64 {
    let ways = 1 + stream.priorities.len() as u64;
    let open = match &stream.target {
        StreamTarget::One { .. } => 1,
        StreamTarget::Files {
            targets, open_at_once, ..
        } => (targets.len() as u64).min(u64::from(*open_at_once)),
    };
    open * ways
}
