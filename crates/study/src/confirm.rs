//! Repeats every step for a short time at twice the depth. This shows whether more depth raises the
//! rate. The repetitions are additional steps of the plan, so they use the same targets and are
//! part of the same result.

use analysis::diagnosis::TWICE_THE_DEPTH;
use model::Nanos;
use model::draws::GeneratorChoice;
use model::finding::{Finding, Severity};
use model::plan::{Control, DepthScope, Job, Pacing, Phases, Plan, Step, Stop, Worker};

/// Longest measured window of a repetition.
pub const MEASURED_TIME: Nanos = Nanos::secs(10);
/// Warm-up before it.
pub const WARM_UP: Nanos = Nanos::secs(2);

/// A plan with repetitions of its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedPlan {
    /// The plan, with the repetitions at its end.
    pub plan: Plan,
    /// Index of each step that cannot be repeated, with the reason.
    pub unrepeated: Vec<(usize, String)>,
}

impl RepeatedPlan {
    /// Findings about the steps that could not be repeated.
    pub fn findings(&self) -> Vec<Finding> {
        let finding = |(_, why): &(usize, String)| {
            let what = "no run at twice the depth confirmed the answer";
            Finding::new("NOT-CONFIRMED", Severity::Note, what).why(why.clone())
        };
        self.unrepeated.iter().map(finding).collect()
    }
}

/// Adds a short step at twice the depth for each step of closed loops.
pub fn add_repetitions(plan: &Plan) -> RepeatedPlan {
    let mut extended = RepeatedPlan {
        plan: plan.clone(),
        unrepeated: Vec::new(),
    };
    for (number, step) in plan.steps.iter().enumerate() {
        match repeat_step(step) {
            Ok(repetition) => extended.plan.steps.push(repetition),
            Err(why) => extended.unrepeated.push((number, why)),
        }
    }
    extended
}

/// The repeated steps of a plan, each with its repetition, by the names of their jobs.
pub fn repeated_steps(plan: &Plan) -> Vec<(usize, usize)> {
    let repeats = |first: &Step, second: &Step| {
        let mut pairs = first.jobs.iter().zip(&second.jobs);
        first.jobs.len() == second.jobs.len()
            && !first.jobs.is_empty()
            && pairs.all(|(a, b)| b.name.strip_suffix(TWICE_THE_DEPTH) == Some(&a.name))
    };
    let repetition_of = |first: &Step| plan.steps.iter().position(|second| repeats(first, second));
    let steps = plan.steps.iter().enumerate();
    steps
        .filter_map(|(number, step)| Some((number, repetition_of(step)?)))
        .collect()
}

fn repeat_step(step: &Step) -> Result<Step, String> {
    for job in &step.jobs {
        let mut streams = job.workers.iter().flat_map(|worker| &worker.streams);
        if job.prepare_only || job.workers.is_empty() {
            return Err(format!("`{}` measures nothing", job.name));
        }
        if streams.any(|stream| stream.pacing != Pacing::Unpaced || stream.think.is_some()) {
            return Err(format!(
                "`{}` has a rate or pauses, which more depth does not change: remove them to find a limit",
                job.name
            ));
        }
        let adjusts_depth = |control: &Control| matches!(control, Control::LatencyTarget(_));
        if job.control.iter().any(adjusts_depth) {
            return Err(format!("`{}` changes its depth itself", job.name));
        }
    }
    let jobs = step.jobs.iter().map(deeper_job).collect();
    Ok(Step { jobs, ..step.clone() })
}

/// The same job with twice the depth, for a short time.
fn deeper_job(job: &Job) -> Job {
    let time = job.stop.after_ns.map_or(MEASURED_TIME, |time| time.min(MEASURED_TIME));
    // A limit on bytes or operations may end the job before the time limit, because the target may
    // be small.
    let stop = Stop {
        after_ns: Some(time),
        ..job.stop
    };
    let mut workers: Vec<Worker> = job.workers.iter().map(double_depth).collect();
    // Synchronous engines need more threads for more operations in flight.
    let synchronous = job.workers.iter().filter(|worker| worker.engine.kind.is_synchronous());
    workers.extend(synchronous.enumerate().map(|(number, worker)| Worker {
        draws: with_other_seed(&worker.draws, number as u64),
        ..worker.clone()
    }));
    Job {
        name: job.name.clone() + TWICE_THE_DEPTH,
        phases: Phases {
            warm_up_ns: job.phases.warm_up_ns.max(WARM_UP.min(time)),
            ..job.phases
        },
        stop,
        control: Vec::new(),
        operation_log: None,
        windows: Vec::new(),
        workers,
        ..job.clone()
    }
}

fn double_depth(worker: &Worker) -> Worker {
    let mut worker = worker.clone();
    if worker.engine.kind.is_synchronous() {
        return worker;
    }
    match &mut worker.depth {
        DepthScope::Shared { operations } => *operations = operations.saturating_mul(2),
        DepthScope::PerStream | DepthScope::PerTarget { .. } => {
            for stream in &mut worker.streams {
                stream.depth = stream.depth.saturating_mul(2);
            }
        }
    }
    worker
}

/// Random decisions of the same kind with another seed.
fn with_other_seed(draws: &GeneratorChoice, number: u64) -> GeneratorChoice {
    let mut draws = *draws;
    let offset = 0x5eed_0000_0000_0001_u64.wrapping_add(number);
    match &mut draws {
        GeneratorChoice::Native { seed } => *seed ^= offset,
        GeneratorChoice::DiskSpd { seed } => *seed ^= offset as u32,
        GeneratorChoice::Fio { seed, .. } => *seed ^= offset,
    }
    draws
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::{EngineKind, Rate, TargetId, Workload};

    fn plan(change: impl FnOnce(&mut Workload)) -> Plan {
        let mut workload = Workload::new("job", vec![TargetId(0)], Stop::after(Nanos::secs(60)));
        (workload.depth, workload.workers) = (16, 2);
        change(&mut workload);
        Plan {
            steps: vec![Step {
                jobs: vec![workload.build_job(0)],
                ..Step::default()
            }],
            ..Plan::default()
        }
    }

    #[test]
    fn each_step_is_repeated_for_a_short_time_at_twice_the_depth() {
        let extended = add_repetitions(&plan(|_| ()));
        assert_eq!(repeated_steps(&extended.plan), [(0, 1)]);
        let [first, second] = &extended.plan.steps[..] else {
            panic!("two steps")
        };
        assert_eq!((first.jobs[0].depth(), second.jobs[0].depth()), (32, 64));
        assert_eq!(second.jobs[0].stop.after_ns, Some(MEASURED_TIME));
        assert_eq!(second.jobs[0].phases.warm_up_ns, WARM_UP);
        assert_eq!(second.jobs[0].workers.len(), 2);
    }

    #[test]
    fn a_synchronous_engine_gets_twice_the_workers() {
        let extended = add_repetitions(&plan(|workload| {
            workload.depth = 1;
            workload.engine.kind = EngineKind::Psync;
        }));
        let second = &extended.plan.steps[1].jobs[0];
        assert_eq!((second.depth(), second.workers.len()), (4, 4));
        assert_ne!(second.workers[0].draws, second.workers[2].draws);
    }

    #[test]
    fn a_rate_is_not_repeated() {
        let extended = add_repetitions(&plan(|workload| workload.rate = Some(Rate::iops(100))));
        assert_eq!((extended.plan.steps.len(), extended.unrepeated.len()), (1, 1));
        assert_eq!(repeated_steps(&extended.plan), []);
    }
}
