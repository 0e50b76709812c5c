//! The schedule of a plan: steps, jobs, and how long each takes.

use model::Nanos;
use model::plan::{Job, Pacing, Plan, Step};

/// The schedule of a plan.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    pub(super) name: String,
    /// Identifies this run among several.
    pub(super) run_label: Option<String>,
    pub(super) steps: Vec<PlannedStep>,
    pub(super) targets: Vec<String>,
    /// Index of the running step.
    pub(super) step: usize,
}

#[derive(Debug, Default)]
pub(super) struct PlannedStep {
    /// Start and targets of each job.
    pub(super) jobs: Vec<PlannedJob>,
    /// `None` if it does not end by time.
    pub(super) length: Option<Nanos>,
}

#[derive(Debug, Default)]
pub(super) struct PlannedJob {
    pub(super) starts: Option<Nanos>,
    pub(super) delay: Nanos,
    pub(super) warm_up: Nanos,
    pub(super) measured: Option<Nanos>,
    pub(super) paced: bool,
    pub(super) targets: Vec<u32>,
}

impl Schedule {
    pub(super) fn from_plan(plan: &Plan, run_label: Option<String>) -> Schedule {
        Schedule {
            name: plan.name.clone(),
            run_label,
            steps: plan.steps.iter().map(PlannedStep::from_step).collect(),
            targets: plan.targets.iter().map(|target| target.path.clone()).collect(),
            step: 0,
        }
    }
}

impl PlannedStep {
    fn from_step(step: &Step) -> PlannedStep {
        let mut jobs: Vec<PlannedJob> = Vec::new();
        for job in &step.jobs {
            // A valid plan lists jobs after those that they wait for. In other plans the start is
            // unknown.
            let mut after = job
                .after
                .iter()
                .map(|other| jobs.get(other.0 as usize).and_then(PlannedJob::end));
            let starts = after.try_fold(Nanos(0), |latest, end| Some(latest.max(end?)));
            jobs.push(PlannedJob::from_job(job, starts));
        }
        let mut length = jobs
            .iter()
            .zip(&step.jobs)
            .map(|(planned, job)| Some(planned.end()? + job.phases.cool_down_ns));
        PlannedStep {
            length: length.try_fold(Nanos(0), |longest, length| Some(longest.max(length?))),
            jobs,
        }
    }
}

impl PlannedJob {
    fn from_job(job: &Job, starts: Option<Nanos>) -> PlannedJob {
        let mut targets: Vec<u32> = Vec::new();
        let streams = || job.workers.iter().flat_map(|worker| &worker.streams);
        for id in streams().flat_map(|stream| stream.target.ids()) {
            if !targets.contains(&id.0) {
                targets.push(id.0);
            }
        }
        PlannedJob {
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
