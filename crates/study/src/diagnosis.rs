//! What limited each job of a run: the diagnosis of `analysis` with everything that a result tells.

use analysis::caps::Layer;
use analysis::checks;
use analysis::diagnosis::{Context, JobDiagnosis, KnownBurst, diagnose, system_layers};
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
}

/// What limited each job. The limits that the system itself knows of join those given; steps that confirm others are not
/// judged on their own.
pub fn diagnoses(results: &Results, known: &Known, confirmed: Option<&Confirmed>) -> Vec<JobDiagnosis> {
    let pairs = confirmed.map(|confirmed| &confirmed.pairs[..]).unwrap_or_default();
    let confirms = |step: usize| pairs.iter().any(|(_, second)| *second == step);
    let mut found = Vec::new();
    for step in (0..results.steps.len()).filter(|step| !confirms(*step)) {
        for job in 0..results.steps[step].jobs.len() {
            let second = confirmed.and_then(|confirmed| confirmed.deeper(step));
            let deeper = second.and_then(|second| Observation::of(results, second, job));
            found.extend(one(results, (step, job), known, deeper.as_ref()));
        }
    }
    found
}

/// The same where the whole test was repeated with twice as much in flight.
pub fn diagnoses_repeated(results: &Results, repeated: &Results, known: &Known) -> Vec<JobDiagnosis> {
    let mut found = Vec::new();
    for (step, seen) in results.steps.iter().enumerate() {
        for job in 0..seen.jobs.len() {
            let deeper = Observation::of(repeated, step, job);
            found.extend(one(results, (step, job), known, deeper.as_ref()));
        }
    }
    found
}

fn one(
    results: &Results,
    (step, job): (usize, usize),
    known: &Known,
    deeper: Option<&Observation>,
) -> Option<JobDiagnosis> {
    let observation = Observation::of(results, step, job)?;
    let context = Context {
        deeper,
        bursts: known.bursts.clone(),
        ..Context::of(results, step, job)
    };
    let mut layers = known.layers.clone();
    layers.extend(system_layers(results, step, job));
    Some(JobDiagnosis {
        step: step as u32,
        job: job as u32,
        name: observation.name.clone(),
        diagnosis: diagnose(&observation, &layers, &context),
    })
}

/// Jobs that passed far more than the limits that the user knows of let through.
pub fn beyond_limits(results: &Results, known: &Known) -> Vec<Finding> {
    let seen = Observation::all(results);
    let beyond = seen
        .iter()
        .filter_map(|seen| checks::beyond_limits(seen, &known.layers, &known.bursts));
    beyond.collect()
}
