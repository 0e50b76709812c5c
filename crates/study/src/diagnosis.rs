//! What limited each job of a run: the diagnosis of `analysis` with everything that a result tells.

use analysis::caps::Layer;
use analysis::checks;
use analysis::diagnosis::{Context, JobDiagnosis, KnownBurst, Question, diagnose, system_layers};
use analysis::shared_limits;
use model::diagnosis::LimitTable;
use model::finding::Finding;
use model::observation::Observation;
use model::results::Results;

use crate::confirm::Confirmed;

/// What the user knows of the limits between the program and the disks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// Limits.
    pub layers: Vec<Layer>,
    /// Credits.
    pub bursts: Vec<KnownBurst>,
    /// What the diagnosis is to explain.
    pub question: Question,
}

impl Known {
    /// With the limits that the plan of these results names beside those of the user.
    fn with_plan(&self, results: &Results) -> Known {
        let mut known = self.clone();
        let named = &results.plan.limits;
        known
            .layers
            .extend(named.iter().filter(|layer| !self.layers.contains(layer)).cloned());
        known
    }
}

/// What limited each job. The limits that the system itself knows of and those of the plan join
/// those given; steps that confirm others are not judged on their own.
pub fn diagnoses(results: &Results, known: &Known, confirmed: Option<&Confirmed>) -> Vec<JobDiagnosis> {
    let known = &known.with_plan(results);
    let mut found = Vec::new();
    for step in judged_steps(results, confirmed) {
        let deeper = confirmed.and_then(|confirmed| confirmed.deeper(step));
        found.extend(of_step(results, step, known, deeper.map(|deeper| (results, deeper))));
    }
    found
}

/// The same where the whole test was repeated at another depth.
pub fn diagnoses_repeated(results: &Results, repeated: &Results, known: &Known) -> Vec<JobDiagnosis> {
    let known = &known.with_plan(results);
    let steps = 0..results.steps.len();
    steps
        .flat_map(|step| of_step(results, step, known, Some((repeated, step))))
        .collect()
}

/// Which limits the jobs of each step share, and what they make of them together.
pub fn limit_tables(results: &Results, known: &Known, confirmed: Option<&Confirmed>) -> Vec<LimitTable> {
    let known = known.with_plan(results);
    let of_step = |step: usize| {
        let loads: Vec<Observation> = loads_of(results, step).into_iter().map(|(_, load)| load).collect();
        shared_limits::limit_tables(&loads, &known.layers)
    };
    judged_steps(results, confirmed).into_iter().flat_map(of_step).collect()
}

/// The steps that do not only repeat others at twice the depth.
fn judged_steps(results: &Results, confirmed: Option<&Confirmed>) -> Vec<usize> {
    let pairs = confirmed.map(|confirmed| &confirmed.pairs[..]).unwrap_or_default();
    let confirms = |step: &usize| pairs.iter().any(|(_, second)| second == step);
    (0..results.steps.len()).filter(|step| !confirms(step)).collect()
}

/// What each job of a step measured, with its number.
fn loads_of(results: &Results, step: usize) -> Vec<(usize, Observation)> {
    let jobs = results.steps.get(step).map_or(0, |step| step.jobs.len());
    (0..jobs)
        .filter_map(|job| Some((job, Observation::from_results(results, step, job)?)))
        .collect()
}

/// All loads but that of one job.
fn others(loads: &[(usize, Observation)], job: usize) -> Vec<&Observation> {
    let others = loads.iter().filter(|(other, _)| *other != job);
    others.map(|(_, load)| load).collect()
}

/// What limited each job of a step; `deeper` is the step that ran the same at twice the depth.
fn of_step(results: &Results, step: usize, known: &Known, deeper: Option<(&Results, usize)>) -> Vec<JobDiagnosis> {
    let loads = loads_of(results, step);
    let loads_deeper = deeper.map_or_else(Vec::new, |(results, step)| loads_of(results, step));
    let mut found = Vec::new();
    for (job, observation) in &loads {
        let job = *job;
        let deeper = loads_deeper.iter().find(|(other, _)| *other == job);
        let context = Context {
            deeper: deeper.map(|(_, deeper)| deeper),
            others: others(&loads, job),
            others_deeper: others(&loads_deeper, job),
            bursts: known.bursts.clone(),
            question: known.question,
            ..Context::for_job(results, step, job)
        };
        let mut layers = known.layers.clone();
        layers.extend(system_layers(results, step, job));
        found.push(JobDiagnosis {
            step: step as u32,
            job: job as u32,
            name: observation.name.clone(),
            diagnosis: diagnose(observation, &layers, &context),
        });
    }
    found
}

/// Jobs that passed far more than the limits that the user knows of let through.
pub fn beyond_limits(results: &Results, known: &Known) -> Vec<Finding> {
    let seen = Observation::all(results);
    let known = known.with_plan(results);
    let beyond = seen
        .iter()
        .filter_map(|seen| checks::beyond_limits(seen, &known.layers, &known.bursts));
    beyond.collect()
}
