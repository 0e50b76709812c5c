//! What a campaign of several runs found: the parameters that were varied, and the results of each
//! run, whole.
//!
//! Tables, knees and judgements are made from it again when it is shown, so that a saved study can
//! be asked anew.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::results::{Results, Tool};

/// A campaign of several runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Study {
    /// See [`FORMAT_VERSION`](crate::results::FORMAT_VERSION).
    pub format_version: u32,
    /// Always `study`; a saved run says `run`.
    pub kind: StudyKind,
    /// What made it.
    pub tool: Tool,
    /// Its name.
    pub name: String,
    /// What was asked.
    pub question: Question,
    /// The runs in the order in which they were made.
    pub runs: Vec<StudyRun>,
    /// What was planned and not run, with the reason.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// It was cut short by the user or the system.
    #[serde(default)]
    pub interrupted: bool,
}

/// What a saved file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StudyKind {
    /// Several runs.
    Study,
}

/// What a study asks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum Question {
    /// How figures follow the load.
    Sweep {
        /// What was varied. The first that counts something in flight, or a rate, makes the curves.
        varied: Vec<Varied>,
        /// The limit on a latency that was given, such as `p99<=3ms`.
        #[serde(default)]
        limit: Option<String>,
    },
    /// Which of two is better. Runs have the settings `side` (`A` or `B`) and `pair`.
    Ab {
        /// What A is, as the user wrote it.
        a: String,
        /// What B is.
        b: String,
    },
    /// Whether workloads keep what is required of them. Runs have the settings `workload` and
    /// `attempt`: a second attempt has twice as much in flight.
    Suite {
        /// What is required of each.
        workloads: Vec<RequiredOf>,
    },
}

/// What is required of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequiredOf {
    /// Its name.
    pub workload: String,
    /// The requirement, as written.
    pub required: String,
}

/// A parameter that was varied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Varied {
    /// Which.
    pub parameter: Parameter,
    /// Its values, as they were planned at first.
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
    /// Bytes of an operation.
    Block,
    /// Share of reads in percent.
    Read,
    /// Operations per second that are due.
    Rate,
    /// How many of the targets are used.
    Targets,
}

impl Parameter {
    /// Every parameter.
    pub const ALL: [Parameter; 6] = [
        Parameter::Depth,
        Parameter::Workers,
        Parameter::Block,
        Parameter::Read,
        Parameter::Rate,
        Parameter::Targets,
    ];

    /// Its name, which is also that of the option it varies.
    pub fn name(self) -> &'static str {
        match self {
            Parameter::Depth => "depth",
            Parameter::Workers => "workers",
            Parameter::Block => "block",
            Parameter::Read => "read",
            Parameter::Rate => "rate",
            Parameter::Targets => "targets",
        }
    }

    /// It says how much is asked of the device at once, so that figures over it make a curve with a
    /// knee.
    pub fn is_load(self) -> bool {
        match self {
            Parameter::Depth | Parameter::Workers | Parameter::Rate | Parameter::Targets => true,
            Parameter::Block | Parameter::Read => false,
        }
    }
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// Which parameter, by the name of its option; `side` and `pair` in comparisons.
    pub name: String,
    /// Its value as the option reads it.
    pub value: String,
    /// The same as a number: count, bytes, percent, operations per second.
    #[serde(default)]
    pub number: Option<f64>,
}

/// One run of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyRun {
    /// What was set for it, in the order of what was varied.
    pub settings: Vec<Setting>,
    /// What it is for.
    #[serde(default)]
    pub role: Role,
    /// What it found.
    pub results: Results,
}

/// What a run of a study is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A point of the table.
    #[default]
    Point,
    /// The first point once more at the end, to see whether something drifted meanwhile.
    Repeat,
    /// It had too few operations, and was followed by a longer one.
    TooShort,
    /// Operations that were due found every queue slot taken; another run had more slots.
    TooFewSlots,
    /// It was cut short, or failed.
    CutShort,
}

/// A point that was planned and not run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOut {
    /// What would have been set.
    pub settings: Vec<Setting>,
    /// Why it was not run.
    pub why: String,
}
