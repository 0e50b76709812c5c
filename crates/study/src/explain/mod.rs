//! What an existing result means, whichever tool measured it: its load, its figures with their
//! units, how far they can be trusted, and where they stand to limits.

mod sentences;

use analysis::caps::Layer;
use analysis::diagnosis::{Context, Diagnosis, KnownBurst, diagnose};
use analysis::identities::{self, Little, PercentileRow, Purpose};
use analysis::limit_use::{LimitUse, limit_uses};
use analysis::policies::{Burst, Workload};
use analysis::requirement::Clause;
use analysis::shared_limits::limit_tables;
use analysis::verdict::{self, Cause, Outcome, Reason, Verdict};
use model::diagnosis::LimitTable;
use model::finding::Finding;
use model::observation::Observation;
use serde::Serialize;

use crate::verify::TestLength;

/// Version of the explanation's form.
pub const FORMAT_VERSION: u32 = 1;

/// Where a result comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Source {
    /// The file, or `standard input`.
    pub file: String,
    /// Its form, in words.
    pub form: String,
    /// The machine that measured, as the result names it.
    pub host: Option<String>,
    /// When, as the result says it.
    pub started: Option<String>,
    /// Processors that the result counts.
    pub processors: Option<u32>,
    /// Command lines that it echoes.
    pub commands: Vec<String>,
    /// The source of figures written down by hand.
    pub origin: Option<String>,
}

/// What it is held against.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// Limits between the program and its data.
    pub layers: Vec<Layer>,
    /// What is promised.
    pub clauses: Vec<Clause>,
    /// The load that the promise is about; absent: any.
    pub workload: Option<Workload>,
    /// Credits of what the promise is about.
    pub bursts: Vec<Burst>,
    /// Credits of the limits.
    pub credits: Vec<KnownBurst>,
    /// The latency that concurrency is sized by where no clause limits it, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// Why the figures are not admissible for a promise, if they are not.
    pub not_admissible: Option<String>,
}

/// An explanation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// Version of this form.
    pub format_version: u32,
    /// `explanation`.
    pub kind: String,
    /// Where the result comes from.
    pub source: Source,
    /// What reading it showed.
    pub remarks: Vec<Finding>,
    /// Each load by itself.
    pub loads: Vec<Explained>,
    /// Limits that loads share which ran at the same time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared_limits: Vec<LimitTable>,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// What the result says of it.
    pub observation: Observation,
    /// What that means.
    pub sentences: Vec<String>,
    /// Operations in flight.
    pub little: Option<Little>,
    /// Percentiles, with how far each can be trusted.
    pub percentiles: Vec<PercentileRow>,
    /// Where it stands to each limit, the nearest first.
    pub limits: Vec<LimitUse>,
    /// Whether it keeps what is promised, where something is.
    pub verdict: Option<Verdict>,
    /// How long the test was, where the promise asks for a time.
    #[serde(skip)]
    pub length: Option<TestLength>,
    /// What limited it, as far as its figures tell.
    pub diagnosis: Diagnosis,
    /// What weakens it.
    pub findings: Vec<Finding>,
}

/// Explains loads of a source. `remarks` is what reading it showed.
pub fn explain(source: Source, remarks: Vec<Finding>, loads: Vec<Observation>, asked: &Asked) -> Explanation {
    Explanation {
        format_version: FORMAT_VERSION,
        kind: "explanation".into(),
        source,
        shared_limits: limit_tables(&loads, &asked.layers),
        loads: (0..loads.len())
            .map(|number| explained(&loads, number, &remarks, asked))
            .collect(),
        remarks,
    }
}

fn explained(loads: &[Observation], number: usize, remarks: &[Finding], asked: &Asked) -> Explained {
    let observation = loads[number].clone();
    let others: Vec<&Observation> = loads[..number].iter().chain(&loads[number + 1..]).collect();
    let layers = layers_of(&observation, &others, &asked.layers);
    let limits = limit_uses(&observation, &others, &layers);
    let promise = !asked.clauses.is_empty();
    let mut findings = identities::examine(&observation, Purpose { promise });
    let verdict = promise.then(|| judged(&observation, asked, &findings));
    // A saved result knows more than its figures: its own finding of the same rule is kept.
    let is_known = |finding: &Finding| {
        let mut of_rule = remarks.iter().filter(|remark| remark.rule == finding.rule);
        of_rule.any(|remark| remark.at == finding.at)
    };
    findings.retain(|finding| !is_known(finding));
    Explained {
        sentences: sentences::describe(&observation, &limits),
        little: identities::little(&observation),
        percentiles: identities::percentiles(&observation),
        diagnosis: diagnosed(&observation, others, &layers, asked),
        verdict,
        length: observation
            .measured_ns
            .zip(asked.workload)
            .map(|(measured_ns, workload)| TestLength {
                measured_ns,
                full_secs: workload.duration_secs,
            }),
        findings,
        limits,
        observation,
    }
}

fn diagnosed(observation: &Observation, others: Vec<&Observation>, layers: &[Layer], asked: &Asked) -> Diagnosis {
    let context = Context {
        bursts: asked.credits.clone(),
        others,
        ..Context::default()
    };
    diagnose(observation, layers, &context)
}

/// The limits that a load can be held against. The sum of several loads is held against those that
/// all of them share.
fn layers_of(load: &Observation, others: &[&Observation], layers: &[Layer]) -> Vec<Layer> {
    let Some(at_once) = load.at_once.filter(|at_once| at_once.is_sum) else {
        return layers.to_vec();
    };
    let is_member = |other: &&&Observation| {
        let group = other.at_once.map(|at_once| at_once.group);
        group == Some(at_once.group)
    };
    let covers_all = |layer: &&Layer| {
        let mut members = others.iter().filter(is_member);
        members.all(|member| layer.covers(&member.name, &member.load.storage))
    };
    layers.iter().filter(covers_all).cloned().collect()
}

fn judged(observation: &Observation, asked: &Asked, findings: &[Finding]) -> Verdict {
    let context = verdict::Context {
        workload: asked.workload.as_ref(),
        findings,
        bursts: &asked.bursts,
        latency_ns: asked.latency_ns,
        ..verdict::Context::default()
    };
    let mut verdict = verdict::judge(&asked.clauses, observation, &context);
    if let Some(why) = &asked.not_admissible {
        verdict.outcome = Outcome::Inconclusive;
        let what = why.clone();
        verdict.reasons.insert(
            0,
            Reason {
                cause: Some(Cause::Load),
                what,
            },
        );
    }
    verdict
}

impl Explanation {
    /// Every finding, those of reading first.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.remarks
            .iter()
            .chain(self.loads.iter().flat_map(|load| &load.findings))
    }
}
