//! The results of a study: the varied parameters, and the complete results of each run. Tables,
//! knees and judgements are computed whenever they are shown, so that a saved study can be
//! re-evaluated.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::{Results, Tool};

/// A study of several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Study {
    /// See [`FORMAT_VERSION`](crate::results::FORMAT_VERSION).
    pub format_version: u32,
    /// Always `study`; a saved run has `run`.
    pub kind: DocumentKind,
    /// The program that made it.
    pub tool: Tool,
    /// Name of the study in reports and the history.
    pub name: String,
    /// The question that the runs answer.
    pub question: Question,
    /// The runs in order.
    pub runs: Vec<StudyRun>,
    /// Planned points that did not run, with the reason.
    #[serde(rename = "left_out", default)]
    pub skipped: Vec<SkippedPoint>,
    /// It was cut short by the user or the system.
    #[serde(default)]
    pub interrupted: bool,
}

/// The kind of a saved file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DocumentKind {
    /// Several runs.
    Study,
}

/// The question of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum Question {
    /// How figures depend on the load.
    Sweep {
        /// The varied parameters. The first that is a depth or a rate becomes the axis of the
        /// curves.
        varied: Vec<VariedParameter>,
        /// The latency limit, such as `p99<=3ms`.
        #[serde(default)]
        limit: Option<String>,
    },
    /// Which of two is better. Runs have the settings `side` (`A` or `B`) and `pair`.
    Ab {
        /// A, as the user wrote it.
        a: String,
        /// B.
        b: String,
    },
    /// Whether workloads meet their requirements. Runs have the settings `workload` and `attempt`:
    /// a second attempt has twice the depth.
    Suite {
        /// The requirement of each workload.
        workloads: Vec<WorkloadRequirement>,
    },
}

/// The requirement of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadRequirement {
    /// Name of the workload in the suite.
    pub workload: String,
    /// The requirement, as written.
    pub required: String,
}

/// A parameter that was varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariedParameter {
    /// The varied parameter.
    pub parameter: Parameter,
    /// Its values, as planned.
    pub values: Vec<Setting>,
}

/// A parameter of a load that can be varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// Operations that each worker keeps in flight.
    Depth,
    /// Threads.
    Workers,
    /// Bytes per operation.
    Block,
    /// Share of reads in percent.
    Read,
    /// The target rate in operations per second.
    Rate,
    /// How many of the targets are used.
    Targets,
    /// The order of positions, by name.
    Access,
}

impl Parameter {
    /// Every parameter.
    pub const ALL: [Parameter; 7] = [
        Parameter::Depth,
        Parameter::Workers,
        Parameter::Block,
        Parameter::Read,
        Parameter::Rate,
        Parameter::Targets,
        Parameter::Access,
    ];

    /// Its name: the option that it varies.
    pub fn name(self) -> &'static str {
        match self {
            Parameter::Depth => "depth",
            Parameter::Workers => "workers",
            Parameter::Block => "block",
            Parameter::Read => "read",
            Parameter::Rate => "rate",
            Parameter::Targets => "targets",
            Parameter::Access => "access",
        }
    }

    /// True if the parameter changes the load, so that its curve can have a knee.
    pub fn is_load(self) -> bool {
        match self {
            Parameter::Depth | Parameter::Workers | Parameter::Rate | Parameter::Targets => true,
            Parameter::Block | Parameter::Read | Parameter::Access => false,
        }
    }
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Name of the parameter's option, or `side` or `pair` in a comparison.
    pub name: String,
    /// Its value in the syntax of the option.
    pub value: String,
    /// The same as a number: count, bytes, percent, operations per second.
    #[serde(default)]
    pub number: Option<f64>,
}

/// One run of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyRun {
    /// Its settings, in the order of the varied parameters.
    pub settings: Vec<Setting>,
    /// Why the run was made, such as a repetition.
    #[serde(default)]
    pub role: RunRole,
    /// Everything that was measured in the run.
    pub results: Results,
}

/// The role of a run in a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunRole {
    /// A point of the table.
    #[default]
    #[serde(rename = "point")]
    Measured,
    /// The first point, repeated at the end to detect drift.
    Repeat,
    /// The run had too few operations; a longer one followed.
    TooShort,
    /// All queue slots were in use, so operations started late; a run with more slots followed.
    TooFewSlots,
    /// It missed the latency limit although higher loads met it; it was measured again.
    Contradicted,
    /// It was cut short, or failed.
    CutShort,
}

/// A planned point that did not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkippedPoint {
    /// Settings of the point, in the order of the varied parameters.
    pub settings: Vec<Setting>,
    /// Why it was not run.
    pub why: String,
}
