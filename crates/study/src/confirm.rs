//! Whether more depth brings more: every step again, for a short time and at twice the depth.
//!
//! The steps are added behind those of the plan, so that both runs have the same targets and stand
//! in the same result.

use model::Nanos;
use model::draws::DrawsForm;
use model::finding::{Finding, Severity};
use model::plan::{Control, Depth, Job, Pacing, Phases, Plan, Step, Stop, Worker};

/// Longest measured window of a second run.
pub const MEASURED: Nanos = Nanos::secs(10);
/// I/O before it.
pub const WARM_UP: Nanos = Nanos::secs(2);

/// A plan with its confirming steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Confirmed {
    /// The plan and the steps added.
    pub plan: Plan,
    /// Which step repeats which: index of the first run, index of the second.
    pub pairs: Vec<(usize, usize)>,
    /// Steps that are not repeated, with the reason.
    pub without: Vec<(usize, String)>,
}

impl Confirmed {
    /// The step that repeats a step at twice the depth.
    pub fn deeper(&self, step: usize) -> Option<usize> {
        self.pairs
            .iter()
            .find(|(first, _)| *first == step)
            .map(|(_, second)| *second)
    }

    /// What could not be confirmed, and why.
    pub fn findings(&self) -> Vec<Finding> {
        let one = |(_, why): &(usize, String)| {
            let what = "the answer was not confirmed by a run at twice the depth";
            Finding::new("NOT-CONFIRMED", Severity::Note, what).why(why.clone())
        };
        self.without.iter().map(one).collect()
    }
}

/// Adds a short step at twice the depth for each step of closed loops.
pub fn extend(plan: &Plan) -> Confirmed {
    let mut extended = Confirmed {
        plan: plan.clone(),
        pairs: Vec::new(),
        without: Vec::new(),
    };
    for (number, step) in plan.steps.iter().enumerate() {
        match again(step) {
            Ok(again) => {
                extended.pairs.push((number, extended.plan.steps.len()));
                extended.plan.steps.push(again);
            }
            Err(why) => extended.without.push((number, why)),
        }
    }
    extended
}

fn again(step: &Step) -> Result<Step, String> {
    for job in &step.jobs {
        let mut streams = job.workers.iter().flat_map(|worker| &worker.streams);
        if job.prepare_only || job.workers.is_empty() {
            return Err(format!("`{}` measures nothing", job.name));
        }
        if streams.any(|stream| stream.pacing != Pacing::Unpaced || stream.think.is_some()) {
            return Err(format!(
                "`{}` has a rate or pauses, which more depth does not change: leave them out to look for a limit",
                job.name
            ));
        }
        let steers = |control: &Control| matches!(control, Control::LatencyTarget(_));
        if job.control.iter().any(steers) {
            return Err(format!("`{}` changes its depth by itself", job.name));
        }
    }
    let jobs = step.jobs.iter().map(deeper).collect();
    Ok(Step { jobs, ..step.clone() })
}

/// The same job with twice the depth, for a short time.
fn deeper(job: &Job) -> Job {
    let time = job.stop.after_ns.map_or(MEASURED, |time| time.min(MEASURED));
    // What limits a load by its amount is kept where it comes first: a target may have an end.
    let stop = Stop {
        after_ns: Some(time),
        ..job.stop
    };
    let mut workers: Vec<Worker> = job.workers.iter().map(twice).collect();
    // An engine that executes one operation after the other has more of them in flight only with
    // more threads.
    let synchronous = job.workers.iter().filter(|worker| worker.engine.kind.is_synchronous());
    workers.extend(synchronous.enumerate().map(|(number, worker)| Worker {
        draws: another(&worker.draws, number as u64),
        ..worker.clone()
    }));
    Job {
        name: format!("{}, twice the depth", job.name),
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

fn twice(worker: &Worker) -> Worker {
    let mut worker = worker.clone();
    if worker.engine.kind.is_synchronous() {
        return worker;
    }
    match &mut worker.depth {
        Depth::Shared { operations } => *operations = operations.saturating_mul(2),
        Depth::PerStream | Depth::PerTarget { .. } => {
            for stream in &mut worker.streams {
                stream.depth = stream.depth.saturating_mul(2);
            }
        }
    }
    worker
}

/// The same kind of random decisions with another seed.
fn another(draws: &DrawsForm, number: u64) -> DrawsForm {
    let mut draws = *draws;
    let other = 0x5eed_0000_0000_0001_u64.wrapping_add(number);
    match &mut draws {
        DrawsForm::Native { seed } => *seed ^= other,
        DrawsForm::Single { seed } => *seed ^= other as u32,
        DrawsForm::PerPurpose { seed, .. } => *seed ^= other,
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
                jobs: vec![workload.job(0)],
                ..Step::default()
            }],
            ..Plan::default()
        }
    }

    #[test]
    fn each_step_is_repeated_for_a_short_time_at_twice_the_depth() {
        let extended = extend(&plan(|_| ()));
        assert_eq!((&extended.pairs[..], extended.deeper(0)), (&[(0, 1)][..], Some(1)));
        let [first, second] = &extended.plan.steps[..] else {
            panic!("two steps")
        };
        assert_eq!((first.jobs[0].depth(), second.jobs[0].depth()), (32, 64));
        assert_eq!(second.jobs[0].stop.after_ns, Some(MEASURED));
        assert_eq!(second.jobs[0].phases.warm_up_ns, WARM_UP);
        assert_eq!(second.jobs[0].workers.len(), 2);
    }

    #[test]
    fn a_synchronous_engine_gets_twice_the_workers() {
        let extended = extend(&plan(|workload| {
            workload.depth = 1;
            workload.engine.kind = EngineKind::Psync;
        }));
        let second = &extended.plan.steps[1].jobs[0];
        assert_eq!((second.depth(), second.workers.len()), (4, 4));
        assert_ne!(second.workers[0].draws, second.workers[2].draws);
    }

    #[test]
    fn a_rate_is_not_repeated() {
        let extended = extend(&plan(|workload| workload.rate = Some(Rate::iops(100))));
        assert_eq!((extended.plan.steps.len(), extended.without.len()), (1, 1));
        assert_eq!(extended.deeper(0), None);
    }
}
