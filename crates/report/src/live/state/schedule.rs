//! What the plan says about the way ahead: steps, jobs, and how long each takes.

use model::Nanos;
use model::plan::{Job, Pacing, Plan, Step};

/// What the plan says about the way ahead.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    pub(super) name: String,
    /// Which of several runs this is.
    pub(super) about: Option<String>,
    pub(super) steps: Vec<StepAhead>,
    pub(super) targets: Vec<String>,
    /// The step that runs.
    pub(super) step: usize,
}

#[derive(Debug, Default)]
pub(super) struct StepAhead {
    /// When each job begins and which targets it has.
    pub(super) jobs: Vec<JobAhead>,
    /// Absent where something else than time ends it.
    pub(super) length: Option<Nanos>,
}

#[derive(Debug, Default)]
pub(super) struct JobAhead {
    pub(super) starts: Option<Nanos>,
    pub(super) delay: Nanos,
    pub(super) warm_up: Nanos,
    pub(super) measured: Option<Nanos>,
    pub(super) paced: bool,
    pub(super) targets: Vec<u32>,
}

impl Schedule {
    pub(super) fn from_plan(plan: &Plan, about: Option<String>) -> Schedule {
        Schedule {
            name: plan.name.clone(),
            about,
            steps: plan.steps.iter().map(StepAhead::from_step).collect(),
            targets: plan.targets.iter().map(|target| target.path.clone()).collect(),
            step: 0,
        }
    }
}

impl StepAhead {
    fn from_step(step: &Step) -> StepAhead {
        let mut jobs: Vec<JobAhead> = Vec::new();
        for job in &step.jobs {
            // Whom it waits for stands before it in every plan that can run; otherwise
            // nothing is promised.
            let mut after = job
                .after
                .iter()
                .map(|other| jobs.get(other.0 as usize).and_then(JobAhead::end));
            let starts = after.try_fold(Nanos(0), |latest, end| Some(latest.max(end?)));
            jobs.push(JobAhead::from_job(job, starts));
        }
        let mut length = jobs
            .iter()
            .zip(&step.jobs)
            .map(|(ahead, job)| Some(ahead.end()? + job.phases.cool_down_ns));
        StepAhead {
            length: length.try_fold(Nanos(0), |longest, one| Some(longest.max(one?))),
            jobs,
        }
    }
}

impl JobAhead {
    fn from_job(job: &Job, starts: Option<Nanos>) -> JobAhead {
        let mut targets: Vec<u32> = Vec::new();
        let streams = || job.workers.iter().flat_map(|worker| &worker.streams);
        for id in streams().flat_map(|stream| stream.target.ids()) {
            if !targets.contains(&id.0) {
                targets.push(id.0);
            }
        }
        JobAhead {
            starts,
            delay: job.phases.start_delay.low_ns,
            warm_up: job.phases.warm_up_ns,
            measured: job.stop.after_ns,
            paced: streams().any(|stream| stream.pacing != Pacing::Unpaced),
            targets,
        }
    }

    fn end(&self) -> Option<Nanos> {
        Some(self.starts? + self.delay + self.warm_up + self.measured?)
    }
}
