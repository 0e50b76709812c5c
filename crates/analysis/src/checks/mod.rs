//! Self-checks of every result.
//!
//! [`CHECKS`] lists them; a check reports only problems. Checks judge whether figures can be
//! trusted, not whether they are good.

mod affinity;
mod diagnosis;
mod fleet;
mod generator;
mod host_events;
mod kernel;
mod outcome;
mod plausible;
mod queue_depth;
pub(crate) mod schedule;
mod steadiness;
mod support;
mod target;
mod totals;
mod unfinished;

#[cfg(test)]
pub(crate) mod samples;

pub(crate) use generator::busiest_worker;
pub use plausible::detect_cache_hit;
pub use steadiness::{LevelChange, level_changes};

use std::cell::RefCell;
use std::rc::Rc;

use model::environment::Environment;
use model::finding::Finding;
use model::observation::Observation;
use model::plan::{self, Pacing, Stream, Worker};
use model::results::{JobResults, Results, StepResults};

/// A self-check of results.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Rule names of its findings.
    pub rules: &'static [&'static str],
    /// A sentence about the check.
    pub about: &'static str,
    detect: fn(&CheckInput<'_>, &mut Vec<Finding>),
}

/// All checks, in the order in which their findings are shown.
pub const CHECKS: &[Check] = &[
    outcome::OUTCOME,
    outcome::NOT_HONOURED,
    totals::TOTALS,
    queue_depth::QUEUE_DEPTH,
    unfinished::UNFINISHED,
    schedule::SCHEDULE,
    schedule::MIX,
    target::ALLOCATION,
    target::CACHED,
    kernel::KERNEL,
    generator::PROCESSOR,
    generator::CLOCK,
    generator::INTERVALS,
    steadiness::STEADINESS,
    steadiness::LEVEL_CHANGES,
    plausible::PLAUSIBLE,
    plausible::CACHE_HIT,
    target::OWNER,
    fleet::LOST,
    fleet::START_SKEW,
    fleet::HOST_DIFFERENCES,
    fleet::STRAGGLERS,
    affinity::AFFINITY_WIDENED,
    host_events::PACKET_LOSS,
    host_events::CPU_THROTTLING,
    host_events::DEVICE_HEALTH,
    host_events::LIMIT_CHANGED,
    support::PERCENTILES,
    support::MODES,
    support::FIGURES,
    diagnosis::DIAGNOSIS,
];

/// Runs every check on these results.
pub fn check(results: &Results) -> Vec<Finding> {
    let mut findings = Vec::new();
    let input = CheckInput::new(results);
    for check in CHECKS {
        (check.detect)(&input, &mut findings);
    }
    findings
}

/// Input of every check.
struct CheckInput<'a> {
    results: &'a Results,
    /// Observations are large, so only the latest is cached. Most runs have only one.
    latest: RefCell<Option<CachedObservation>>,
}

/// The cached observation of a job; `None` inside if it measured nothing.
struct CachedObservation {
    step: usize,
    job: usize,
    observation: Option<Rc<Observation>>,
}

/// A job of the plan with its results.
struct JobView<'a> {
    plan: &'a plan::Job,
    results: &'a JobResults,
}

impl<'a> CheckInput<'a> {
    fn new(results: &'a Results) -> CheckInput<'a> {
        CheckInput {
            results,
            latest: RefCell::default(),
        }
    }

    /// Every job that measured something, with its step and number.
    fn observations(&self) -> impl Iterator<Item = (usize, usize, Rc<Observation>)> {
        let steps = self.results.steps.iter().enumerate();
        let jobs = steps.flat_map(|(step, step_results)| (0..step_results.jobs.len()).map(move |job| (step, job)));
        jobs.filter_map(|(step, job)| Some((step, job, self.observation(step, job)?)))
    }

    fn observation(&self, step: usize, job: usize) -> Option<Rc<Observation>> {
        let mut latest = self.latest.borrow_mut();
        match &*latest {
            Some(latest) if (latest.step, latest.job) == (step, job) => latest.observation.clone(),
            _ => {
                let observation = Observation::from_results(self.results, step, job).map(Rc::new);
                *latest = Some(CachedObservation {
                    step,
                    job,
                    observation: observation.clone(),
                });
                observation
            }
        }
    }

    fn steps(&self) -> impl Iterator<Item = (&'a plan::Step, &'a StepResults)> {
        self.results.plan.steps.iter().zip(&self.results.steps)
    }

    /// Every job that has run.
    fn jobs(&self) -> impl Iterator<Item = JobView<'a>> {
        let jobs_of_step = |(plan, results): (&'a plan::Step, &'a StepResults)| plan.jobs.iter().zip(&results.jobs);
        self.steps()
            .flat_map(jobs_of_step)
            .filter(|(_, results)| results.ended.is_some())
            .map(|(plan, results)| JobView { plan, results })
    }

    /// A job's observation, by name; `None` if nothing was measured.
    fn observation_of(&self, job: &JobView<'_>) -> Option<Rc<Observation>> {
        let mut found = self.observations();
        found.find_map(|(_, _, observation)| (observation.name == job.plan.name).then_some(observation))
    }

    fn environments(&self) -> impl Iterator<Item = &'a Environment> {
        self.results.hosts.iter().map(|host| &host.environment)
    }
}

impl<'a> JobView<'a> {
    fn streams(&self) -> impl Iterator<Item = &'a Stream> {
        self.plan.workers.iter().flat_map(|worker| &worker.streams)
    }

    /// True if every free slot is refilled immediately.
    fn is_closed_loop(&self) -> bool {
        // Metadata operations lack some latencies, and engines without data pause in between.
        let has_plain_engine =
            |worker: &Worker| !worker.engine.kind.is_metadata_engine() && !worker.engine.kind.transfers_no_data();
        self.plan.workers.iter().all(has_plain_engine)
            && self
                .streams()
                .all(|stream| stream.pacing == Pacing::Unpaced && stream.think.is_none())
    }

    fn has_failed(&self) -> bool {
        self.results.workers.iter().any(|worker| worker.failure.is_some())
    }
}

/// True if operations of a job failed. They took slots and moved data, but count nowhere else.
fn has_errors(job: &JobResults) -> bool {
    let streams = job.workers.iter().flat_map(|worker| &worker.streams);
    let mut directions = streams.flat_map(|stream| stream.directions.iter());
    directions.any(|(_, direction)| direction.as_ref().is_some_and(|direction| direction.errors > 0))
}
