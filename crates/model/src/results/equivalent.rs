//! The same test in other dialects.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::Dialect;

/// The same test in another dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Equivalent {
    /// The dialect of the text.
    pub dialect: Dialect,
    /// The form of the text.
    pub form: EquivalentForm,
    /// The command line or file itself.
    pub text: String,
    /// The same in one line, if a job file has only one job.
    #[serde(default)]
    pub one_line: Option<String>,
    /// Settings that the dialect cannot express exactly, so that the test differs.
    #[serde(default)]
    pub lost: Vec<String>,
    /// Details in which the dialect differs without changing the test.
    #[serde(default)]
    pub differs: Vec<String>,
}

/// The form of the text of an equivalent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EquivalentForm {
    /// A command line.
    CommandLine,
    /// An fio job file, or a native one in TOML.
    JobFile,
    /// A DiskSpd profile.
    Xml,
}
