//! Judges whether a promise is met: PASS, FAIL or INCONCLUSIVE for each clause, with the figure,
//! its precision and the reason. The confidence interval decides, by Holm's method over all
//! clauses, never the bare figure. A test that could not have shown the opposite is inconclusive.
//! docs/verify.md has the formulas.

mod availability;
mod census;
mod document;
mod doubt;
mod estimate;
mod judgement;
mod load;
mod shortfall;
mod unfinished;
mod wording;

use model::JsonSchema;
use model::finding::Finding;
use model::observation::Observation;
use model::results::IntervalHistogram;
use serde::Serialize;

use crate::caps::LimitLayer;
use crate::policies::{Burst, Workload};
use crate::requirement::Clause;

pub use document::{
    FORMAT_VERSION, IssuedLoad, JudgedJob, JudgedResults, JudgedWorkload, Machine, Promise, SuiteKind, SuiteReport,
    VerificationKind, VerificationReport,
};
pub use doubt::MAX_BLOCKED_OPS;
pub use estimate::{BARE_FIGURE_TOLERANCE, MIN_BEYOND};
pub use judgement::{ALPHA, ALPHA_FAIL, judge};
pub use load::list_doubts;
pub use shortfall::{Shortfall, enforced_limits, list_other_programs, name_other_programs};
pub use wording::VerdictText;

/// The verdict on a promise.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The outcome of all clauses together.
    pub outcome: Outcome,
    /// Each clause.
    pub clauses: Vec<ClauseVerdict>,
    /// Problems of the whole test, one sentence each; they apply to every clause.
    pub reasons: Vec<Reason>,
    /// Remarks about the verdict, one sentence each.
    pub notes: Vec<String>,
    /// A promised figure that the load cannot test; the last of the notes describes it.
    #[serde(skip)]
    #[schemars(skip)]
    pub untested: Option<UntestedFigure>,
}

/// A promised figure that a load cannot test, with the load that tests it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntestedFigure {
    /// Name of the promised figure.
    pub name: &'static str,
    /// The promise: `throughput >= 150 MB/s`.
    pub promised: String,
    /// Why the load does not test it, and how to.
    pub why: String,
    /// The option that tests it, with its value.
    pub option: (String, String),
}

impl UntestedFigure {
    /// The note about it.
    pub fn describe(&self) -> String {
        format!("{} was not tested: {}", self.promised, self.why)
    }
}

/// The outcome of a promise or of its test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is met.
    Pass,
    /// It is broken.
    Fail,
    /// The test does not decide.
    Inconclusive,
    /// Only for availability: the test does not contradict the promise. Neither passes nor fails
    /// the whole.
    Consistent,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Outcome; 4] = [Outcome::Pass, Outcome::Fail, Outcome::Inconclusive, Outcome::Consistent];

    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Outcome::Pass => "PASS",
            Outcome::Fail => "FAIL",
            Outcome::Inconclusive => "INCONCLUSIVE",
            Outcome::Consistent => "CONSISTENT",
        }
    }
}

/// The verdict on one clause.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClauseVerdict {
    /// The promised condition.
    pub clause: Clause,
    /// Whether the condition is met.
    pub outcome: Outcome,
    /// The figure: operations or bytes per second, nanoseconds, or a share.
    pub value: Option<f64>,
    /// Its 95 % confidence interval; a side that too few samples support is absent.
    pub interval: (Option<f64>, Option<f64>),
    /// The probability of this figure if the promise were just broken, after Holm. PASS needs 0.01
    /// or less.
    pub probability_if_broken: Option<f64>,
    /// The probability of this figure if the promise were just met, after Holm. FAIL needs 0.001 or
    /// less.
    pub probability_if_kept: Option<f64>,
    /// The reason why it is inconclusive.
    pub cause: Option<Cause>,
    /// The observation, in a sentence.
    pub reason: String,
    /// The end of the reason, which other clauses may share.
    #[serde(skip)]
    #[schemars(skip)]
    pub shared: Option<String>,
    /// The recommended action, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// How a headline states a miss.
    #[serde(skip)]
    #[schemars(skip)]
    pub shortfall: Shortfall,
    /// A limitation of a PASS, in a few words for the headline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limitation: Option<String>,
}

/// The reason why a test does not decide a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The generator could not issue the promised load, or was not configured to.
    Generator,
    /// Other programs used the device or the processors.
    Others,
    /// A single stall decides the clause, and the test is too short to show whether stalls recur.
    Stall,
    /// The load exceeded the promised rate, which alone makes operations wait.
    Uncapped,
    /// The load differs from that of the promise.
    Load,
    /// The shares of reads and writes differ from those of the promise.
    Mix,
    /// The interval of the figure includes the limit, or is within the margin of the rules.
    Spread,
    /// There are too few samples beyond the percentile.
    Samples,
    /// The source does not have the figure.
    Absent,
    /// Credits may have covered the whole test.
    Burst,
    /// The test is invalid; a finding explains why.
    Invalid,
    /// The test was stopped before its end.
    Interrupted,
}

/// A problem of the whole test.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reason {
    /// Its kind; absent for a failure of the storage.
    pub cause: Option<Cause>,
    /// Its description, in a sentence.
    pub what: String,
}

/// Facts other than the observation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// The load of the promise; if absent, any load.
    pub workload: Option<&'a Workload>,
    /// Interval histograms of the job, which show how slow operations cluster.
    pub intervals: &'a [IntervalHistogram],
    /// Findings of the self-checks.
    pub findings: &'a [Finding],
    /// Credits of the storage.
    pub bursts: &'a [Burst],
    /// The latency, in nanoseconds, that determines concurrency if no clause limits it.
    pub latency_ns: Option<f64>,
    /// The test was stopped before its end.
    pub interrupted: bool,
    /// The search for a sufficient depth, if there was one.
    pub depth_search: Option<&'a DepthSearch>,
    /// Limits that the system enforced on the load; see [`enforced_limits`].
    pub enforced: &'a [LimitLayer],
}

/// A search for the depth at which a rate is reached.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct DepthSearch {
    /// Each probe: operations that could be in flight, and the operations per second reached.
    pub probes: Vec<(u32, f64)>,
    /// The last probe reached the promised rate.
    pub met: bool,
    /// More operations in flight do not raise the rate.
    pub saturated: bool,
}

/// The input of all rules.
struct Case<'a> {
    clauses: &'a [Clause],
    observation: &'a Observation,
    context: &'a Context<'a>,
}
