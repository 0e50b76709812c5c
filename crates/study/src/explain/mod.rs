//! Explains an existing result of any tool: its load, its figures and their units, their
//! reliability, and their distance from limits.

mod sentences;

use std::collections::BTreeMap;

use analysis::caps::LimitLayer;
use analysis::compare::names_place;
use analysis::diagnosis::{Context, Diagnosis, KnownBurst, diagnose};
use analysis::identities::{self, PercentileRow, Purpose, QueueFill};
use analysis::limit_use::{LimitUse, limit_uses};
use analysis::policies::{Burst, Workload};
use analysis::requirement::Clause;
use analysis::shared_limits::limit_tables;
use analysis::verdict::{self, Cause, Outcome, Reason, Verdict};
use model::diagnosis::LimitTable;
use model::finding::{Finding, Severity};
use model::observation::Observation;
use model::results::IntervalHistogram;
use serde::Serialize;

use crate::verify::{FULL_TIME_SECS, TestLength};

/// Version of the explanation's format.
pub const FORMAT_VERSION: u32 = 1;

/// What figures of any result do not show.
pub const DISCLAIMER: &str =
    "A synthetic load never equals that of a real program: compare these figures with others of the same load.";

/// The origin of a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Source {
    /// The file, or `standard input`.
    pub file: String,
    /// Description of its format.
    pub form: String,
    /// The machine that measured, according to the result.
    pub host: Option<String>,
    /// The start time, as text of the result.
    pub started: Option<String>,
    /// Number of CPUs according to the result.
    pub processors: Option<u32>,
    /// Command lines recorded in the result.
    pub commands: Vec<String>,
    /// The source of manually recorded figures.
    pub origin: Option<String>,
    /// The options of the only job, as its tool names them.
    #[serde(skip)]
    pub job_options: Vec<(String, String)>,
}

/// The limits and the promise to compare the result with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplainContext {
    /// Limits between the program and its data.
    pub layers: Vec<LimitLayer>,
    /// The promised requirements.
    pub clauses: Vec<Clause>,
    /// The load for which the promise holds; absent: any.
    pub workload: Option<Workload>,
    /// Burst credits of the promise.
    pub bursts: Vec<Burst>,
    /// Burst credits of the limits.
    pub credits: Vec<KnownBurst>,
    /// The latency for sizing concurrency if no clause limits it, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// The reason why the figures cannot be judged against a promise, if there is one.
    pub inadmissible: Option<String>,
    /// Interval histograms of each load, by its name, as far as the source has them.
    pub intervals: BTreeMap<String, Vec<IntervalHistogram>>,
}

/// An explanation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Version of this format.
    pub format_version: u32,
    /// Always `explanation`.
    pub kind: String,
    /// The origin of the result.
    pub source: Source,
    /// Findings from parsing it.
    #[serde(rename = "remarks")]
    pub import_findings: Vec<Finding>,
    /// Each load separately.
    pub loads: Vec<ExplainedLoad>,
    /// Limits that concurrent loads share.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_limits: Vec<LimitTable>,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedLoad {
    /// Figures of the load, from any tool.
    pub observation: Observation,
    /// Their explanation.
    pub sentences: Vec<String>,
    /// Operations in flight by Little's law.
    #[serde(rename = "little")]
    pub queue_fill: Option<QueueFill>,
    /// Percentiles, each with its reliability.
    pub percentiles: Vec<PercentileRow>,
    /// Its share of each limit, the nearest first.
    pub limits: Vec<LimitUse>,
    /// The verdict on the promise, if there is one.
    pub verdict: Option<Verdict>,
    /// The length of the test, with the length that a verdict needs.
    #[serde(skip)]
    pub length: Option<TestLength>,
    /// The limit of the load that its figures show.
    pub diagnosis: Diagnosis,
    /// Findings that weaken the load's figures.
    pub findings: Vec<Finding>,
}

/// Explains loads of a source. `remarks` are the findings of reading it.
pub fn explain(
    source: Source,
    import_findings: Vec<Finding>,
    loads: Vec<Observation>,
    context: &ExplainContext,
) -> Explanation {
    Explanation {
        format_version: FORMAT_VERSION,
        kind: "explanation".into(),
        source,
        shared_limits: limit_tables(&loads, &context.layers),
        loads: (0..loads.len())
            .map(|number| explain_load(&loads, number, &import_findings, context))
            .collect(),
        import_findings,
    }
}

fn explain_load(
    loads: &[Observation],
    number: usize,
    import_findings: &[Finding],
    context: &ExplainContext,
) -> ExplainedLoad {
    let observation = loads[number].clone();
    let others: Vec<&Observation> = loads[..number].iter().chain(&loads[number + 1..]).collect();
    let layers = applicable_layers(&observation, &others, &context.layers);
    let limits = limit_uses(&observation, &others, &layers);
    let has_promise = !context.clauses.is_empty();
    let mut findings = identities::examine(&observation, Purpose { promise: has_promise });
    let is_sum = observation.concurrency.is_some_and(|at_once| at_once.is_sum);
    // A warning about a device or a file concerns every load, unless it names other loads.
    let concerns_load = |finding: &&Finding| {
        let names = |name: &str| names_place(finding, name);
        let names_other = || finding.severity == Severity::Error || others.iter().any(|other| names(&other.name));
        is_sum || finding.at.is_none() || names(&observation.name) || !names_other()
    };
    let of_load = import_findings.iter().filter(concerns_load);
    let weakening: Vec<Finding> = of_load.chain(&findings).cloned().collect();
    let verdict = has_promise.then(|| judge_promise(&observation, context, &weakening));
    // The result's own finding takes precedence, because a saved result has more facts.
    let is_known = |finding: &Finding| {
        let mut same_rule = import_findings.iter().filter(|imported| imported.rule == finding.rule);
        same_rule.any(|imported| imported.at == finding.at)
    };
    findings.retain(|finding| !is_known(finding));
    ExplainedLoad {
        sentences: sentences::describe(&observation, &limits),
        queue_fill: identities::estimate_queue_fill(&observation),
        percentiles: identities::percentiles(&observation),
        diagnosis: diagnose_load(&observation, others, &layers, context),
        verdict,
        length: observation.measured_ns.map(|measured_ns| TestLength {
            measured_ns,
            full_secs: context
                .workload
                .map_or(FULL_TIME_SECS, |workload| workload.duration_secs),
        }),
        findings,
        limits,
        observation,
    }
}

fn diagnose_load(
    observation: &Observation,
    others: Vec<&Observation>,
    layers: &[LimitLayer],
    context: &ExplainContext,
) -> Diagnosis {
    let diagnosis_context = Context {
        bursts: context.credits.clone(),
        others,
        ..Context::default()
    };
    diagnose(observation, layers, &diagnosis_context)
}

/// The limits that apply to a load. For a sum of several loads, these are the limits that all of
/// them share.
fn applicable_layers(load: &Observation, others: &[&Observation], layers: &[LimitLayer]) -> Vec<LimitLayer> {
    let Some(at_once) = load.concurrency.filter(|at_once| at_once.is_sum) else {
        return layers.to_vec();
    };
    let is_member = |other: &&&Observation| {
        let group = other.concurrency.map(|at_once| at_once.group);
        group == Some(at_once.group)
    };
    let covers_all = |layer: &&LimitLayer| {
        let mut members = others.iter().filter(is_member);
        members.all(|member| layer.covers(&member.name, &member.load.storage))
    };
    layers.iter().filter(covers_all).cloned().collect()
}

fn judge_promise(observation: &Observation, context: &ExplainContext, findings: &[Finding]) -> Verdict {
    let verdict_context = verdict::Context {
        workload: context.workload.as_ref(),
        findings,
        bursts: &context.bursts,
        latency_ns: context.latency_ns,
        intervals: context.intervals.get(&observation.name).map_or(&[], Vec::as_slice),
        interrupted: findings.iter().any(|finding| finding.rule == "INTERRUPTED"),
        ..verdict::Context::default()
    };
    let mut verdict = verdict::judge(&context.clauses, observation, &verdict_context);
    if let Some(why) = &context.inadmissible {
        verdict.outcome = Outcome::Inconclusive;
        let reason = Reason {
            cause: Some(Cause::Load),
            what: why.clone(),
        };
        verdict.reasons.insert(0, reason);
    }
    verdict
}

impl Explanation {
    /// All findings, those from parsing first.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.import_findings
            .iter()
            .chain(self.loads.iter().flat_map(|load| &load.findings))
    }
}
