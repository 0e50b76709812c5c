//! Extracts the executable part of a plan, and converts its results back.
//!
//! fio continues without clones that cannot start, and reports all clones.

use std::borrow::Cow;

use dialects::fio::Unusable;
use model::Bytes;
use model::event::EndReason;
use model::plan::{Dependency, Plan, Prepare, TargetId, TargetKind};
use model::results::{Failure, JobResults, Results, StepResults, WorkerResults};

use crate::session::Session;

/// The position of a job and its workers in the whole plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) step: usize,
    pub(super) job: usize,
    pub(super) clones: Vec<usize>,
}

/// A plan without its unusable workers.
pub(super) struct PartialPlan<'a> {
    whole: Cow<'a, Plan>,
    unusable: Vec<Unusable>,
    /// The plan to execute.
    pub(super) plan: Plan,
    /// The position of each job in the whole plan, by step.
    pub(super) origins: Vec<Vec<Origin>>,
}

impl<'a> PartialPlan<'a> {
    pub(super) fn new(whole: &'a Plan, unusable: &[Unusable]) -> PartialPlan<'a> {
        let mut plan = whole.clone();
        plan.steps.clear();
        let mut origins = Vec::new();
        for (number, step) in whole.steps.iter().enumerate() {
            let is_usable = |job: usize, clone: usize| {
                let mut unusable = unusable.iter();
                !unusable.any(|error| error.job == (number, job) && error.clone == clone)
            };
            let job_origin = |(job, plan): (usize, &model::plan::Job)| Origin {
                step: number,
                job,
                clones: (0..plan.workers.len()).filter(|clone| is_usable(job, *clone)).collect(),
            };
            let mut step_origins: Vec<Origin> = step.jobs.iter().enumerate().map(job_origin).collect();
            step_origins.retain(|origin| !origin.clones.is_empty());
            if !step_origins.is_empty() {
                plan.steps.push(usable_step(step, &step_origins));
                origins.push(step_origins);
            }
        }
        plan.groups.clear();
        ignore_unused_targets(&mut plan);
        PartialPlan {
            whole: Cow::Borrowed(whole),
            unusable: unusable.to_vec(),
            plan,
            origins,
        }
    }

    /// Repeats the partial plan for several hosts that each execute all of it: the workers of all
    /// hosts, in host order.
    pub(super) fn on_hosts(&self, hosts: u32, whole: Plan) -> PartialPlan<'static> {
        let clones = |(step, job): (usize, usize)| self.whole.steps[step].jobs[job].workers.len();
        let origin = |origin: &Origin| {
            let of_each = clones((origin.step, origin.job));
            let clones_on_host = |host: usize| origin.clones.iter().map(move |clone| clone + host * of_each);
            Origin {
                clones: (0..hosts as usize).flat_map(clones_on_host).collect(),
                ..origin.clone()
            }
        };
        let unusable_on_host = |host: usize| {
            self.unusable.iter().map(move |error| Unusable {
                clone: error.clone + host * clones(error.job),
                ..error.clone()
            })
        };
        PartialPlan {
            whole: Cow::Owned(Plan {
                groups: self.whole.groups.clone(),
                ..whole
            }),
            unusable: (0..hosts as usize).flat_map(unusable_on_host).collect(),
            plan: Plan::default(),
            origins: self
                .origins
                .iter()
                .map(|step| step.iter().map(origin).collect())
                .collect(),
        }
    }

    /// Converts results of the partial plan to results of the whole plan.
    pub(super) fn restore(&self, mut results: Results) -> Results {
        if self.unusable.is_empty() {
            results.plan.groups.clone_from(&self.whole.groups);
            return results;
        }
        let not_started = self.whole.steps.iter().map(StepResults::not_started).collect();
        let executed = std::mem::replace(&mut results.steps, not_started);
        for (mut step, origins) in executed.into_iter().zip(&self.origins) {
            let Some(first) = origins.first() else { continue };
            let restored = &mut results.steps[first.step];
            let jobs = std::mem::replace(&mut step.jobs, std::mem::take(&mut restored.jobs));
            *restored = step;
            for (job, origin) in jobs.into_iter().zip(origins) {
                restored.jobs[origin.job] = self.restore_job(job, origin);
            }
        }
        self.fail_unusable(results)
    }

    fn restore_job(&self, mut job: JobResults, origin: &Origin) -> JobResults {
        let clones = self.whole.steps[origin.step].jobs[origin.job].workers.len();
        let executed = std::mem::replace(&mut job.workers, vec![WorkerResults::default(); clones]);
        for (worker, clone) in executed.into_iter().zip(&origin.clones) {
            job.workers[*clone] = worker;
        }
        for (worker, _) in job.series.iter_mut().filter_map(|series| series.source.as_mut()) {
            *worker = origin.clones[*worker as usize] as u32;
        }
        job
    }

    /// Returns the results of the whole plan if nothing was executed.
    pub(super) fn empty_results(&self, session: &Session) -> Results {
        self.fail_unusable(session.empty_results(self.whole.clone().into_owned()))
    }

    /// Adds the whole plan, and failures of the unusable workers.
    fn fail_unusable(&self, mut results: Results) -> Results {
        results.plan = self.whole.clone().into_owned();
        for error in &self.unusable {
            let job = &mut results.steps[error.job.0].jobs[error.job.1];
            job.ended.get_or_insert(EndReason::Failed);
            let clones = self.whole.steps[error.job.0].jobs[error.job.1].workers.len();
            job.workers.resize_with(clones.max(job.workers.len()), Default::default);
            if let Some(worker) = job.workers.get_mut(error.clone).filter(|_| error.errno != 0) {
                worker.failure = Some(Failure {
                    errno: Some(error.errno),
                    ..Failure::new(error.function.clone(), error.line.clone())
                });
            }
        }
        results
    }
}

/// Builds a step of the usable jobs, with renumbered dependencies.
fn usable_step(step: &model::plan::Step, origins: &[Origin]) -> model::plan::Step {
    let renumbered = |old: u32| {
        let position = origins.iter().position(|origin| origin.job == old as usize);
        position.map(|new| new as u32)
    };
    let usable_job = |origin: &Origin| {
        let mut job = step.jobs[origin.job].clone();
        let workers = &step.jobs[origin.job].workers;
        job.workers = origin.clones.iter().map(|clone| workers[*clone].clone()).collect();
        let after = job.after.iter().filter_map(|after| renumbered(after.0));
        job.after = after.map(Dependency).collect();
        for list in [&mut job.ends_with.jobs, &mut job.ends_with.on_failure] {
            *list = list.iter().filter_map(|old| renumbered(*old)).collect();
        }
        job
    };
    model::plan::Step {
        jobs: origins.iter().map(usable_job).collect(),
        ..step.clone()
    }
}

/// Marks unused targets as not examined. Removing them would change target numbers.
fn ignore_unused_targets(plan: &mut Plan) {
    for number in 0..plan.targets.len() {
        let id = TargetId(number as u32);
        if !(0..plan.steps.len()).any(|step| plan.uses(step, id)) {
            plan.targets[number].kind = TargetKind::Nothing { size: Bytes::kib(4) };
            plan.targets[number].prepare = Prepare::Existing;
        }
    }
}
