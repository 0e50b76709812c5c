//! The limit of a load: an answer with its evidence, as plain data that `analysis` produces.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::StoragePath;

/// The limit of one measured load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// What limits the load.
    pub answer: Answer,
    /// The answer in a sentence.
    pub sentence: String,
    /// The layer that limits, if one does.
    #[serde(default)]
    pub layer: Option<String>,
    /// The share of that layer's limit that the load reached; 1 is all of it.
    #[serde(default)]
    pub share: Option<f64>,
    /// Whether a second run at twice the depth confirmed the answer; absent without one.
    #[serde(default)]
    pub confirmed: Option<bool>,
    /// The figures behind the answer.
    pub evidence: Vec<Evidence>,
    /// Every known limit and its use.
    #[serde(default)]
    pub layers: Vec<LayerUse>,
    /// Other observations, with their rules.
    #[serde(default)]
    pub also: Vec<DiagnosisNote>,
    /// Causes that could not be checked for lack of data.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Advice on what to do.
    pub advice: Vec<String>,
}

/// The possible limits of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The program that measured, or its worker threads.
    Generator,
    /// The processors of this machine.
    Processor,
    /// A limit of a known layer.
    Cap,
    /// The device, or an unknown limit in front of it: more depth does not help.
    Saturated,
    /// The latency of an operation: more depth would help.
    LatencyBound,
    /// A queue between the program and the device.
    QueueAbove,
    /// Round trips or bandwidth of the network.
    Network,
    /// Burst credits were exhausted.
    BurstEnd,
    /// The SLC cache of a flash disk was full.
    SlcCliff,
    /// The storage became steadily slower.
    Drift,
    /// A throttle passes operations in bursts.
    ThrottleQuantum,
    /// The device was too hot.
    Thermal,
    /// The device collected garbage after writes.
    GarbageCollection,
    /// Another user shared the storage.
    Noisy,
    /// No operation completed for some time.
    Stall,
    /// The data does not decide.
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

/// A figure and its reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Name of the figure.
    pub what: String,
    /// Measured value, in `unit`.
    pub value: f64,
    /// Its unit, such as `IOPS`, `ms`, `%`; empty for a plain number.
    pub unit: String,
    /// The reference, in the same unit.
    #[serde(default)]
    pub against: Option<f64>,
    /// The name of the reference.
    #[serde(default)]
    pub which: String,
}

/// A known limit and its use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerUse {
    /// Name of the layer with the limit.
    pub layer: String,
    /// The unit of the figures: `IOPS` or `bytes/s`.
    pub unit: String,
    /// The limit, in its own unit.
    pub limit: f64,
    /// Its use: operations as the layer counts them, or bytes.
    pub used: f64,
    /// The share of the limit that was used; 1 is all.
    pub share: f64,
    /// The part of the limit that another layer makes unreachable, in the unit of the limit.
    #[serde(default)]
    pub stranded: Option<f64>,
    /// It is the lowest limit for this load.
    #[serde(default)]
    pub binds: bool,
    /// The use is at the limit: from 3 % below to 5 % above.
    #[serde(default)]
    pub met: bool,
    /// The jobs whose operations count, if several ran at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
    /// Where the limit comes from.
    #[serde(default)]
    pub source: String,
}

/// The limits, shared or not, of jobs that ran at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitTable {
    /// Index of the step of a plan, or the number of the group of jobs in another tool's report.
    pub group: u32,
    /// The jobs with the storage below them.
    pub jobs: Vec<JobPath>,
    /// Every limit that applies to one of the jobs.
    pub limits: Vec<LayerUse>,
    /// Conclusions, in sentences.
    pub sentences: Vec<String>,
}

/// A job and the storage below it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobPath {
    /// Name of the job.
    pub job: String,
    /// Operations per second that it did.
    pub iops: f64,
    /// The storage below it.
    #[serde(flatten)]
    pub storage: StoragePath,
}

/// Another observation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosisNote {
    /// Name of the rule.
    pub rule: String,
    /// The observation, in a sentence.
    pub what: String,
}

/// The diagnosis of one job of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobDiagnosis {
    /// Index of its step.
    pub step: u32,
    /// Index of the job in its step.
    pub job: u32,
    /// Name of the job.
    pub name: String,
    /// What limits the job.
    pub diagnosis: Diagnosis,
}
