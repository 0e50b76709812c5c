//! What limited a load: an answer with its evidence. Plain data; `analysis` makes it.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::StoragePath;

/// What limited one measured load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// The answer.
    pub answer: Answer,
    /// The answer in a sentence.
    pub sentence: String,
    /// The layer that limits, where one does.
    #[serde(default)]
    pub layer: Option<String>,
    /// The share of that layer's limit that was reached; 1 is all of it.
    #[serde(default)]
    pub share: Option<f64>,
    /// Whether a second run at twice the depth bore the answer out; absent where there was none.
    #[serde(default)]
    pub confirmed: Option<bool>,
    /// The figures behind the answer.
    pub evidence: Vec<Evidence>,
    /// Every known limit, and how much of it was used.
    #[serde(default)]
    pub layers: Vec<LayerUse>,
    /// What else was seen, with the name of its rule.
    #[serde(default)]
    pub also: Vec<Remark>,
    /// What could not be judged, because its figures were not there.
    #[serde(default)]
    pub missing: Vec<String>,
    /// What to do.
    pub advice: Vec<String>,
}

/// What can limit a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The program that measured, or its worker threads.
    Generator,
    /// The processors of this machine.
    Processor,
    /// A limit of a known layer.
    Cap,
    /// The device, or something before it with an unknown limit: more depth brings no more.
    Saturated,
    /// The time of one operation: more depth would bring more.
    LatencyBound,
    /// A queue between the program and the device.
    QueueAbove,
    /// The network between them.
    Network,
    /// Saved-up credits ran out.
    BurstEnd,
    /// The fast part of a flash disk was full.
    SlcCliff,
    /// The storage became slower all the time.
    Drift,
    /// Operations are let through in portions.
    ThrottleQuantum,
    /// The device was too hot.
    Thermal,
    /// The device collected garbage after writes.
    GarbageCollection,
    /// Another user shared the storage.
    Noisy,
    /// For some time nothing was served at all.
    Stall,
    /// The figures do not tell.
    #[default]
    Undetermined,
}

impl Answer {
    /// The name of the rule in findings.
    pub fn rule(self) -> &'static str {
        match self {
            Answer::Generator => "D-GENERATOR",
            Answer::Processor => "D-CPU",
            Answer::Cap => "D-CAP",
            Answer::Saturated => "D-SATURATED",
            Answer::LatencyBound => "D-LATENCY-BOUND",
            Answer::QueueAbove => "D-QUEUE-ABOVE",
            Answer::Network => "D-NETWORK",
            Answer::BurstEnd => "D-BURST-END",
            Answer::SlcCliff => "D-SLC-CLIFF",
            Answer::Drift => "D-DRIFT",
            Answer::ThrottleQuantum => "D-THROTTLE-QUANTUM",
            Answer::Thermal => "D-THERMAL",
            Answer::GarbageCollection => "D-GC",
            Answer::Noisy => "D-NOISY",
            Answer::Stall => "D-STALL",
            Answer::Undetermined => "D-UNDETERMINED",
        }
    }
}

/// A figure and what it was held against.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// What the figure is.
    pub what: String,
    /// The figure.
    pub value: f64,
    /// Its unit, such as `IOPS`, `ms`, `%`; empty for a plain number.
    pub unit: String,
    /// What it was held against, in the same unit.
    #[serde(default)]
    pub against: Option<f64>,
    /// What that is.
    #[serde(default)]
    pub which: String,
}

/// A known limit and how much of it was used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerUse {
    /// The layer.
    pub layer: String,
    /// What is limited, and the unit of the figures: `IOPS` or `bytes/s`.
    pub unit: String,
    /// The limit, in its own unit.
    pub limit: f64,
    /// What was used of it: operations as the layer counts them, or bytes.
    pub used: f64,
    /// The share of the limit that was used; 1 is all.
    pub share: f64,
    /// What is out of reach, because another layer allows less: in the unit of the limit.
    #[serde(default)]
    pub stranded: Option<f64>,
    /// It is the least of all for this load.
    #[serde(default)]
    pub binds: bool,
    /// The use lies at the limit: from 3 % below to 5 % above.
    #[serde(default)]
    pub met: bool,
    /// The jobs whose operations count, where several ran at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
    /// Where the limit comes from.
    #[serde(default)]
    pub source: String,
}

/// Limits that jobs share which ran at the same time, and limits that one of them has to itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitTable {
    /// Index of the step of a plan, or the number of the group of jobs in another tool's report.
    pub group: u32,
    /// The jobs, each with what is known of the storage below it.
    pub jobs: Vec<JobPath>,
    /// Every limit that one of the jobs counts against.
    pub limits: Vec<LayerUse>,
    /// What follows, in sentences.
    pub sentences: Vec<String>,
}

/// What is known of the storage below a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobPath {
    /// The job.
    pub job: String,
    /// Operations per second that it did.
    pub iops: f64,
    /// The storage below it.
    #[serde(flatten)]
    pub storage: StoragePath,
}

/// Something else that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remark {
    /// Name of the rule.
    pub rule: String,
    /// What was seen, in a sentence.
    pub what: String,
}

/// The diagnosis of one job of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobDiagnosis {
    /// Index of its step.
    pub step: u32,
    /// Index of the job in its step.
    pub job: u32,
    /// Its name.
    pub name: String,
    /// What limited it.
    pub diagnosis: Diagnosis,
}
