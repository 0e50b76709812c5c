//! The published schemas (JSON Schema 2020-12): the files of `docs/schema`. A test compares them
//! with the schemas derived from the types.

use std::io::Read;

use analysis::verdict::JudgedResults;
use flate2::read::GzDecoder;
use model::JsonSchema;
use report::Summary;
use serde::Serialize;

/// The schema of a data format that the program reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// Name; the file is `docs/schema/<name>.schema.json`.
    pub name: &'static str,
    /// Description of the data, in a sentence.
    pub about: &'static str,
    compressed: &'static [u8],
    /// Derives the schema from the type, as indented JSON with a newline at the end.
    #[cfg(feature = "schema")]
    pub derived: fn() -> String,
}

/// The `json` format of a run: the figures, and their judgement by a requirement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct JudgedSummary {
    /// Figures of the run.
    #[serde(flatten)]
    pub summary: Summary,
    /// The judgement by the requirement of a preset or a job file; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judged: Option<JudgedResults>,
}

macro_rules! schema {
    ($name:literal, $form:ty, $about:literal) => {
        Schema {
            name: $name,
            about: $about,
            compressed: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".schema.json.gz")),
            #[cfg(feature = "schema")]
            derived: derived::<$form>,
        }
    };
}

/// All schemas.
pub const SCHEMAS: &[Schema] = &[
    schema!(
        "plan",
        model::plan::Plan,
        "the plan of a test, to which every job file and command line is converted"
    ),
    schema!(
        "results",
        model::results::Results,
        "a saved result with all measurements, before compression"
    ),
    schema!(
        "study",
        model::study::Study,
        "a saved study with the varied parameters and the results of every run, before compression"
    ),
    schema!(
        "summary",
        JudgedSummary,
        "the `json` format, with the figures that people read"
    ),
    schema!(
        "stream",
        report::stream::Line,
        "one line of the NDJSON stream of a run in progress"
    ),
    schema!(
        "verdict",
        analysis::verdict::VerificationReport,
        "the `json` format of `fathom verify`, with the promise, the issued load and the verdict"
    ),
    schema!(
        "suite",
        analysis::verdict::SuiteReport,
        "the `--json` report of `fathom suite`, with the requirement and the verdict of each workload"
    ),
    schema!(
        "baseline",
        analysis::baseline::Baseline,
        "reference figures saved by `fathom baseline`, with the facts on which they depend"
    ),
    schema!(
        "history",
        crate::history::HistoryList,
        "the `json` format of `fathom history`, with the figures of each entry"
    ),
];

impl Schema {
    /// The schema of the given name.
    pub fn find(name: &str) -> Option<&'static Schema> {
        SCHEMAS.iter().find(|schema| schema.name == name)
    }

    /// The text of the schema, as indented JSON with a newline at the end.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let result = GzDecoder::new(self.compressed).read_to_string(&mut text);
        result.expect("the program contains it");
        text
    }
}

#[cfg(feature = "schema")]
fn derived<T: JsonSchema>() -> String {
    let schema = schemars::schema_for!(T);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is plain JSON");
    text + "\n"
}
