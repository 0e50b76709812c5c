//! The published schemas match the types, and the documents that the program writes are valid.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::verdict::{
    Context, JudgedJob, JudgedResults, JudgedWorkload, Outcome, SuiteKind, SuiteReport, Verdict, judge,
};
#[cfg(feature = "schema")]
use archive::SCHEMAS;
use archive::{JudgedSummary, Schema};
use jsonschema::Validator;
use model::event::Event;
use model::observation::Observation;
use model::results::{Results, Tool};
use model::study::{
    DocumentKind, Parameter, Question, RunRole, Setting, SkippedPoint, Study, StudyRun, VariedParameter,
};
use report::{Summary, stream};
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `FATHOM_UPDATE=1` rewrites the files.
#[test]
#[cfg(feature = "schema")]
fn published_schemas_match_the_types() {
    for schema in SCHEMAS {
        let path = root().join(format!("docs/schema/{}.schema.json", schema.name));
        let text = (schema.derived)();
        if std::env::var_os("FATHOM_UPDATE").is_some() {
            fs::write(&path, &text).expect("written");
        }
        assert!(
            fs::read_to_string(&path).unwrap_or_default() == text,
            "{} does not match the types; FATHOM_UPDATE=1 rewrites it",
            path.display()
        );
    }
}

fn validator(name: &str) -> Validator {
    let text = Schema::find(name).expect("there is such a schema").text();
    let schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
    jsonschema::validator_for(&schema).expect("a schema is valid itself")
}

fn assert_valid(validator: &Validator, value: &Value, what: &str) {
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{what}:\n{}", errors.join("\n"));
}

/// Results of runs on the simulated device, with the text of each.
fn examples() -> Vec<(String, String)> {
    let folder = root().join("tests/data/results");
    let files = fs::read_dir(&folder).expect("there are examples");
    let mut examples: Vec<_> = files
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            let text = fs::read_to_string(&path).expect("read");
            (path.display().to_string(), text)
        })
        .collect();
    examples.sort();
    assert!(examples.len() >= 3, "too few examples in {}", folder.display());
    examples
}

#[test]
fn saved_results_and_their_summaries_are_valid() {
    let (of_results, of_plan, of_summary) = (validator("results"), validator("plan"), validator("summary"));
    for (name, text) in examples() {
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert_valid(&of_results, &value, &name);
        assert_valid(&of_plan, &value["plan"], &name);
        let results: Results = serde_json::from_value(value).expect("a result");
        let summary = serde_json::to_value(Summary::from_results(&results)).expect("plain data");
        assert_valid(&of_summary, &summary, &name);
    }
}

#[test]
fn studies_are_valid() {
    let of_study = validator("study");
    for (name, text) in examples() {
        let results: Results = serde_json::from_str(&text).expect("a result");
        let study = sweep_study(results);
        let value = serde_json::to_value(&study).expect("plain data");
        assert_valid(&of_study, &value, &name);
        let mut wrong = value;
        wrong["kind"] = "run".into();
        assert!(!of_study.is_valid(&wrong), "{name}");
    }
}

/// A verdict on one clause.
fn verdict() -> Verdict {
    let clauses = analysis::requirement::parse("iops>=900").expect("a clause");
    let observation = Observation {
        name: "job".into(),
        ..Observation::default()
    };
    judge(&clauses, &observation, &Context::default())
}

#[test]
fn figures_with_a_verdict_are_valid() {
    let of_summary = validator("summary");
    for (name, text) in examples() {
        let results: Results = serde_json::from_str(&text).expect("a result");
        let judged = |jobs: Vec<JudgedJob>| JudgedSummary {
            summary: Summary::from_results(&results),
            judged: Some(JudgedResults {
                required: vec!["iops >= 900".into()],
                outcome: Outcome::Inconclusive,
                jobs,
            }),
        };
        let job = |verdict| JudgedJob {
            name: "job".into(),
            verdict,
        };
        let value = serde_json::to_value(judged(vec![job(Some(verdict())), job(None)])).expect("plain data");
        assert_valid(&of_summary, &value, &name);
        let mut wrong = value;
        wrong["judged"]["outcome"] = "perhaps".into();
        assert!(!of_summary.is_valid(&wrong), "{name}");
    }
}

#[test]
fn reports_of_suites_are_valid() {
    let of_suite = validator("suite");
    let held = JudgedWorkload {
        name: "web".into(),
        objective: None,
        preset: Some("oltp".into()),
        load: "4 KiB random reads".into(),
        required: "iops>=900".into(),
        settings: "--read 70".into(),
        verdict: Some(verdict()),
        failure: None,
        findings: Vec::new(),
    };
    let report = SuiteReport {
        format_version: 1,
        kind: SuiteKind::Suite,
        tool: Tool {
            name: "fathom".into(),
            version: "1".into(),
            engine_revision: 1,
        },
        name: "acceptance".into(),
        objective: None,
        started: "2026-11-22 10:00:00 UTC".into(),
        ended: "2026-11-22 11:00:00 UTC".into(),
        environment: vec![("Machine".into(), "host".into())],
        outcome: Outcome::Inconclusive,
        workloads: vec![held],
    };
    let value = serde_json::to_value(&report).expect("plain data");
    assert_valid(&of_suite, &value, "a suite");
    let mut wrong = value;
    wrong["workloads"][0]["verdict"]["clauses"][0]["outcome"] = 7.into();
    assert!(!of_suite.is_valid(&wrong));
}

/// A sweep with one measured and one skipped point.
fn sweep_study(results: Results) -> Study {
    let depth = |number: f64| Setting {
        name: "depth".into(),
        value: number.to_string(),
        number: Some(number),
    };
    Study {
        format_version: 1,
        kind: DocumentKind::Study,
        tool: results.tool.clone(),
        name: "sweep".into(),
        question: Question::Sweep {
            varied: vec![VariedParameter {
                parameter: Parameter::Depth,
                values: vec![depth(1.0), depth(2.0)],
            }],
            limit: Some("p99 <= 3 ms".into()),
        },
        runs: vec![StudyRun {
            settings: vec![depth(1.0)],
            role: RunRole::Measured,
            results,
        }],
        skipped: vec![SkippedPoint {
            settings: vec![depth(2.0)],
            why: "the sweep was interrupted".into(),
        }],
        interrupted: true,
    }
}

#[test]
fn every_line_of_the_stream_is_valid() {
    let of_line = validator("stream");
    for (name, text) in examples() {
        let results: Results = serde_json::from_str(&text).expect("a result");
        // Merged results of several hosts have no events.
        let events = match results.fleet {
            Some(_) => String::new(),
            None => fs::read_to_string(name.replace(".json", ".events.ndjson")).expect("its events"),
        };
        let events = events
            .lines()
            .map(|line| serde_json::from_str::<Event>(line).expect("an event"));
        let lines = events
            .map(|event| stream::line(&event))
            .chain([stream::last_line(&results)]);
        for line in lines {
            let value: Value = serde_json::from_str(&line).expect("JSON");
            assert_valid(&of_line, &value, &line);
        }
    }
}

#[test]
fn other_objects_are_not_valid_lines() {
    let of_line = validator("stream");
    for wrong in [
        serde_json::json!({"event": "other"}),
        serde_json::json!({"event": "phase", "step": 0}),
        serde_json::json!([]),
    ] {
        assert!(!of_line.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn damaged_results_are_not_valid() {
    let (_, text) = examples().remove(0);
    let sound: Value = serde_json::from_str(&text).expect("JSON");
    let of_results = validator("results");
    for (pointer, wrong) in [
        ("/format_version", Value::from("1")),
        ("/kind", Value::from("study")),
        ("/plan/steps", Value::Null),
        ("/steps/0/jobs/0/workers/0/measured_ns", Value::from(-1)),
    ] {
        let mut value = sound.clone();
        *value.pointer_mut(pointer).expect("it is there") = wrong;
        assert!(!of_results.is_valid(&value), "{pointer}");
    }
}
