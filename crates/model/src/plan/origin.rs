//! The user's input, for reports that echo it. Nothing here affects the run.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// The origin of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// Tool whose input the plan was made from.
    pub dialect: Dialect,
    /// The command line, one argument an entry.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// The directory in which the command ran; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The job file, if there was one.
    #[serde(default)]
    pub file: Option<String>,
    /// Options as written, for each job in plan order.
    #[serde(default)]
    pub jobs: Vec<JobEcho>,
    /// Options of all global sections as written.
    #[serde(default)]
    pub global_options: Vec<(String, String)>,
    /// Settings of the report.
    #[serde(default)]
    pub presentation: Presentation,
    /// The profile as the dialect prints it, line by line.
    #[serde(default)]
    pub profile: Vec<String>,
    /// The same in the dialect's markup, where it has one (DiskSpd `-Rpxml`).
    #[serde(default)]
    pub profile_markup: Vec<String>,
    /// The objective of the test, as stated by the user or the preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// The preset on which it is based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetUse>,
}

/// A preset and the changes to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PresetUse {
    /// Its name with its version, such as `oltp@1`.
    pub name: String,
    /// Names of the options that the user changed, in order. Targets do not count as changes.
    #[serde(default)]
    pub changed: Vec<String>,
}

/// The dialect in which a plan was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// Our own flags or job file.
    #[default]
    Native,
    /// fio command line or job file.
    Fio,
    /// DiskSpd command line or XML profile.
    Diskspd,
    /// Iometer configuration file.
    Iometer,
    /// Vdbench parameter file.
    Vdbench,
}

/// One job as the user wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobEcho {
    /// The section or job name.
    pub name: String,
    /// Option names and values in the order written.
    pub options: Vec<(String, String)>,
}

/// Settings that change only how figures are shown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Presentation {
    /// 1000 or 1024 where the dialect has the choice.
    #[serde(default)]
    pub kilo: Option<u32>,
    /// Bits instead of bytes.
    #[serde(default)]
    pub bits: bool,
    /// Significant figures.
    #[serde(default)]
    pub significant_figures: Option<u8>,
    /// Percentiles to print, in percent.
    #[serde(default)]
    pub percentiles: Vec<f64>,
    /// Latencies that get percentiles, by the dialect's names.
    #[serde(default)]
    pub percentiles_of: Vec<String>,
    /// Latencies and figures that are hidden, by the dialect's names.
    #[serde(default)]
    pub disabled: Vec<String>,
    /// Show latencies at all (DiskSpd `-L`).
    #[serde(default)]
    pub latency: bool,
    /// Show the deviation of IOPS (DiskSpd `-D`).
    #[serde(default)]
    pub iops_deviation: bool,
    /// How directions are combined (fio `unified_rw_reporting`): `none`, `mixed` or `both`.
    #[serde(default)]
    pub unified: Option<String>,
    /// Anything else the dialect's report needs, by its own names.
    #[serde(default)]
    pub other: Vec<(String, String)>,
}
