//! The published schemas (JSON Schema 2020-12), derived from the types themselves, so that they cannot lag behind.
//!
//! The files in `docs/schema` are these texts; a test compares them.

use analysis::baseline::Baseline;
use analysis::verdict::{Judged, SuiteReport, Verified};
use model::plan::Plan;
use model::results::Results;
use model::study::Study;
use report::Summary;
use report::stream::Line;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;

use crate::history::HistoryList;

/// A form of data that the program reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// Its name; the file is `docs/schema/<name>.schema.json`.
    pub name: &'static str,
    /// What has this form, in a sentence.
    pub about: &'static str,
    text: fn() -> String,
}

/// The `json` format of a run: the figures, and what a requirement makes of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JudgedSummary {
    /// The figures.
    #[serde(flatten)]
    pub summary: Summary,
    /// What came of the requirement that a preset or a job file is judged by; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
}

/// All of them.
pub const SCHEMAS: &[Schema] = &[
    Schema {
        name: "plan",
        about: "what a test will do: what every job file and command line is read into",
        text: text::<Plan>,
    },
    Schema {
        name: "results",
        about: "a saved result, before compression: everything that was measured",
        text: text::<Results>,
    },
    Schema {
        name: "study",
        about: "a saved study, before compression: what was varied, and the result of every run",
        text: text::<Study>,
    },
    Schema {
        name: "summary",
        about: "the `json` format: the figures that people read",
        text: text::<JudgedSummary>,
    },
    Schema {
        name: "stream",
        about: "one line of the NDJSON stream of a run in progress",
        text: text::<Line>,
    },
    Schema {
        name: "verdict",
        about: "the `json` format of `fathom verify`: a promise, what was issued, and what came of it",
        text: text::<Verified>,
    },
    Schema {
        name: "suite",
        about: "the `--json` report of `fathom suite`: what was required of each workload, and what came of it",
        text: text::<SuiteReport>,
    },
    Schema {
        name: "baseline",
        about: "figures that `fathom baseline` keeps: loads of any tool, with what they depend on",
        text: text::<Baseline>,
    },
    Schema {
        name: "history",
        about: "the `json` format of `fathom history`: entries with the figures that a list shows",
        text: text::<HistoryList>,
    },
];

impl Schema {
    /// The schema of the given name.
    pub fn find(name: &str) -> Option<&'static Schema> {
        SCHEMAS.iter().find(|schema| schema.name == name)
    }

    /// The schema itself, as indented JSON with a newline at the end.
    pub fn text(&self) -> String {
        (self.text)()
    }
}

fn text<T: JsonSchema>() -> String {
    let schema = schema_for!(T);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is plain JSON");
    text + "\n"
}
