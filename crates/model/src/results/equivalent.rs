//! The same test in other dialects.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::Dialect;

/// The same test in another dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Equivalent {
    /// Whose words these are.
    pub dialect: Dialect,
    /// What the text is.
    pub form: EquivalentForm,
    /// The text.
    pub text: String,
    /// The same in one line, where a job file has only one job.
    #[serde(default)]
    pub one_line: Option<String>,
    /// What that dialect cannot say, or says only nearly: the test is another one there.
    #[serde(default)]
    pub lost: Vec<String>,
    /// What that dialect does in its own way whatever is said: the test is the same, its details
    /// are not.
    #[serde(default)]
    pub differs: Vec<String>,
}

/// What the text of an equivalent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EquivalentForm {
    /// A command line.
    CommandLine,
    /// A job file of fio, or one of ours in TOML.
    JobFile,
    /// A profile of DiskSpd.
    Xml,
}
