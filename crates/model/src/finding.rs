//! The result of a check: the problem, why it matters and what to do.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rules that find other programs: at the device during the test and before it, at the processors.
pub const OTHER_PROGRAMS: [&str; 3] = ["OTHER-LOAD", "BUSY-DISK", "D-CPU"];
/// Rule of a target that was removed, replaced or made smaller during the test.
pub const TARGET_LOST: &str = "TARGET-LOST";

/// One finding about a plan, an environment or results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Name of the rule, such as `QD-NOT-ACHIEVED`.
    pub rule: String,
    /// How strongly it affects the result.
    pub severity: Severity,
    /// The finding, in a sentence.
    pub what: String,
    /// The job, worker, target or option.
    #[serde(default)]
    pub at: Option<String>,
    /// Why it matters.
    #[serde(default)]
    pub why: Option<String>,
    /// Advice on what to do.
    #[serde(default)]
    pub help: Option<String>,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// The figures may mislead.
    Warning,
    /// The figures are not valid.
    Error,
}

impl Severity {
    /// The lower-case word.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

impl Finding {
    /// A finding with its rule and sentence; the other methods add the rest.
    pub fn new(rule: &str, severity: Severity, what: impl Into<String>) -> Finding {
        Finding {
            rule: rule.to_owned(),
            severity,
            what: what.into(),
            at: None,
            why: None,
            help: None,
        }
    }

    /// Adds the place.
    pub fn at(self, at: impl Into<String>) -> Finding {
        Finding {
            at: Some(at.into()),
            ..self
        }
    }

    /// Adds why it matters.
    pub fn why(self, why: impl Into<String>) -> Finding {
        Finding {
            why: Some(why.into()),
            ..self
        }
    }

    /// Adds what to do.
    pub fn help(self, help: impl Into<String>) -> Finding {
        Finding {
            help: Some(help.into()),
            ..self
        }
    }
}
