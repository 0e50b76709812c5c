//! The number of file descriptors that a plan needs.

use std::collections::BTreeSet;

use model::plan::{EngineKind, Job, Plan, Step, Stream, StreamTarget, Worker};

/// Descriptors of a worker apart from its files. They are the ring of its engine, and the
/// statistics of its thread.
const PER_WORKER: u64 = 2;
/// Descriptors of a job: its logs.
const PER_JOB: u64 = 2;
/// Descriptors of every run: a file under preparation, samples of the system, saved results.
const PER_RUN: u64 = 24;

/// Computes an upper bound of the file descriptors that a plan has open simultaneously.
pub fn descriptors_needed(plan: &Plan) -> u64 {
    let steps = plan.steps.iter().map(count_for_step);
    PER_RUN + steps.max().unwrap_or(0)
}

fn count_for_step(step: &Step) -> u64 {
    let streams = || {
        step.jobs
            .iter()
            .flat_map(|job| &job.workers)
            .flat_map(|worker| &worker.streams)
    };
    // The guard may hold a descriptor of a target during the test.
    let held_targets: BTreeSet<u32> = streams()
        .filter_map(|stream| match &stream.target {
            StreamTarget::One { target } => Some(target.0),
            StreamTarget::Files { .. } => None,
        })
        .collect();
    held_targets.len() as u64 + step.jobs.iter().map(count_for_job).sum::<u64>()
}

fn count_for_job(job: &Job) -> u64 {
    PER_JOB + job.workers.iter().map(count_for_worker).sum::<u64>()
}

fn count_for_worker(worker: &Worker) -> u64 {
    // A memory map also keeps its file open.
    let copies = if worker.engine.kind == EngineKind::Mmap { 2 } else { 1 };
    PER_WORKER + copies * worker.streams.iter().map(count_for_stream).sum::<u64>()
}

/// A target is opened again for each I/O priority of its operations.
fn count_for_stream(stream: &Stream) -> u64 {
    let ways = 1 + stream.priority_rules.len() as u64;
    let open = match &stream.target {
        StreamTarget::One { .. } => 1,
        StreamTarget::Files {
            targets, open_at_once, ..
        } => (targets.len() as u64).min(u64::from(*open_at_once)),
    };
    open * ways
}

#[cfg(test)]
mod tests {
    use model::plan::{EngineChoice, FileService, TargetId};

    use super::*;

    fn worker(kind: EngineKind, target: StreamTarget) -> Worker {
        let stream = Stream {
            target,
            ..Stream::default()
        };
        Worker {
            engine: EngineChoice::new(kind),
            streams: vec![stream],
            ..Worker::default()
        }
    }

    fn needed(steps: Vec<Vec<Worker>>) -> u64 {
        let step = |workers| Step {
            jobs: vec![Job {
                workers,
                ..Job::default()
            }],
            ..Step::default()
        };
        let plan = Plan {
            steps: steps.into_iter().map(step).collect(),
            ..Plan::default()
        };
        descriptors_needed(&plan)
    }

    /// The counts match `/proc/PID/fd` of runs. Each of 20 workers on one file has it open
    /// once, or twice with maps.
    #[test]
    fn the_step_with_the_most_open_files_decides() {
        let single_target = || StreamTarget::One { target: TargetId(0) };
        let workers_with = |kind, count: usize| (0..count).map(|_| worker(kind, single_target())).collect::<Vec<_>>();
        let with_none = needed(vec![Vec::new()]);
        assert!(needed(vec![workers_with(EngineKind::IoUring, 20)]) >= with_none + 61);
        assert!(needed(vec![workers_with(EngineKind::Mmap, 20)]) >= with_none + 61);
        let steps = vec![
            workers_with(EngineKind::Psync, 3),
            workers_with(EngineKind::Psync, 20),
            workers_with(EngineKind::Psync, 1),
        ];
        assert_eq!(needed(steps), needed(vec![workers_with(EngineKind::Psync, 20)]));
        // Only the files of a file set that may be open at the same time count.
        let set = StreamTarget::files((0..1000).map(TargetId).collect(), 10, FileService::RoundRobin, 1);
        assert_eq!(needed(vec![vec![worker(EngineKind::Psync, set)]]), with_none + 12);
    }
}
