//! Diagnoses what limited each job of a run, with all facts of the result.

use analysis::caps::LimitLayer;
use analysis::checks;
use analysis::diagnosis::{Context, JobDiagnosis, KnownBurst, Question, cgroup_layers, diagnose};
use analysis::shared_limits;
use model::diagnosis::LimitTable;
use model::finding::Finding;
use model::observation::Observation;
use model::results::Results;

use crate::confirm::repeated_steps;

/// The user's limits between the program and the disks, and the question to answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownLimits {
    /// Limits, each with its layer.
    pub layers: Vec<LimitLayer>,
    /// Burst credits.
    pub bursts: Vec<KnownBurst>,
    /// The question: the limit, a missed rate or a missed latency.
    pub question: Question,
}

impl KnownLimits {
    /// Adds the limits of the plan.
    fn with_plan(&self, results: &Results) -> KnownLimits {
        let mut all_limits = self.clone();
        let plan_limits = &results.plan.limits;
        all_limits
            .layers
            .extend(plan_limits.iter().filter(|layer| !self.layers.contains(layer)).cloned());
        all_limits
    }
}

/// Diagnoses each job, with the limits of the user, the plan and the system. Steps that repeat
/// another at a greater depth are evidence and get no diagnosis.
pub fn diagnoses(results: &Results, limits: &KnownLimits) -> Vec<JobDiagnosis> {
    let all_limits = &limits.with_plan(results);
    let pairs = repeated_steps(&results.plan);
    let deeper = |step: usize| pairs.iter().find(|(first, _)| *first == step);
    judged_steps(results)
        .into_iter()
        .flat_map(|step| {
            diagnose_step(
                results,
                step,
                all_limits,
                deeper(step).map(|(_, deeper)| (results, *deeper)),
            )
        })
        .collect()
}

/// As [`diagnoses`], with a second run of the whole test at twice the depth as evidence.
pub fn diagnoses_with_deeper_run(results: &Results, repeated: &Results, limits: &KnownLimits) -> Vec<JobDiagnosis> {
    let all_limits = &limits.with_plan(results);
    let steps = 0..results.steps.len();
    steps
        .flat_map(|step| diagnose_step(results, step, all_limits, Some((repeated, step))))
        .collect()
}

/// The limits that the jobs of each step share, with their total use.
pub fn limit_tables(results: &Results, limits: &KnownLimits) -> Vec<LimitTable> {
    let all_limits = limits.with_plan(results);
    let step_tables = |step: usize| {
        let loads: Vec<Observation> = step_loads(results, step).into_iter().map(|(_, load)| load).collect();
        shared_limits::limit_tables(&loads, &all_limits.layers)
    };
    judged_steps(results).into_iter().flat_map(step_tables).collect()
}

/// The steps that are not repetitions of others.
fn judged_steps(results: &Results) -> Vec<usize> {
    let pairs = repeated_steps(&results.plan);
    let confirms = |step: &usize| pairs.iter().any(|(_, second)| second == step);
    (0..results.steps.len()).filter(|step| !confirms(step)).collect()
}

/// The number and the results of each job of a step.
fn step_loads(results: &Results, step: usize) -> Vec<(usize, Observation)> {
    let jobs = results.steps.get(step).map_or(0, |step| step.jobs.len());
    (0..jobs)
        .filter_map(|job| Some((job, Observation::from_results(results, step, job)?)))
        .collect()
}

/// The loads of all other jobs.
fn other_loads(loads: &[(usize, Observation)], job: usize) -> Vec<&Observation> {
    let others = loads.iter().filter(|(other, _)| *other != job);
    others.map(|(_, load)| load).collect()
}

/// Diagnoses each job of a step. `deeper` is its repetition at twice the depth.
fn diagnose_step(
    results: &Results,
    step: usize,
    limits: &KnownLimits,
    deeper: Option<(&Results, usize)>,
) -> Vec<JobDiagnosis> {
    let loads = step_loads(results, step);
    let loads_deeper = deeper.map_or_else(Vec::new, |(results, step)| step_loads(results, step));
    let mut diagnoses = Vec::new();
    for (job, observation) in &loads {
        let job = *job;
        let deeper = loads_deeper.iter().find(|(other, _)| *other == job);
        let context = Context {
            deeper: deeper.map(|(_, deeper)| deeper),
            others: other_loads(&loads, job),
            others_deeper: other_loads(&loads_deeper, job),
            bursts: limits.bursts.clone(),
            question: limits.question,
            ..Context::for_job(results, step, job)
        };
        let mut layers = limits.layers.clone();
        layers.extend(cgroup_layers(results, step, job));
        diagnoses.push(JobDiagnosis {
            step: step as u32,
            job: job as u32,
            name: observation.name.clone(),
            diagnosis: diagnose(observation, &layers, &context),
        });
    }
    diagnoses
}

/// Findings about jobs whose rate shows that a cache served them.
pub fn detect_cache_hits(results: &Results, limits: &KnownLimits) -> Vec<Finding> {
    let seen = Observation::all(results);
    let all_limits = limits.with_plan(results);
    let exceeded = seen
        .iter()
        .filter_map(|seen| checks::detect_cache_hit(seen, &all_limits.layers, &all_limits.bursts));
    exceeded.collect()
}
