//! The published schemas match the types, and the documents that the program writes are valid.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::verdict::{
    Context, JudgedJob, JudgedResults, JudgedWorkload, Outcome, SuiteKind, SuiteReport, Verdict, judge,
};
#[cfg(feature = "schema")]
use archive::SCHEMAS;
use archive::{JudgedSummary, Schema};
use model::event::Event;
use model::observation::Observation;
use model::results::{Results, Tool};
use model::study::{
    DocumentKind, Parameter, Question, RunRole, Setting, SkippedPoint, Study, StudyRun, VariedParameter,
};
use report::{Summary, stream};
use serde_json::{Map, Value, json};

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

/// A published schema. The rules are those of JSON Schema 2020-12; a keyword that no schema here
/// uses panics, so that none is skipped.
struct Validator(Value);

fn validator(name: &str) -> Validator {
    let text = Schema::find(name).expect("there is such a schema").text();
    Validator(serde_json::from_str(&text).expect("a schema is JSON"))
}

impl Validator {
    fn is_valid(&self, value: &Value) -> bool {
        self.errors(&self.0, value, "").is_empty()
    }

    /// Violations of `schema`, each after the pointer to the value.
    fn errors(&self, schema: &Value, value: &Value, pointer: &str) -> Vec<String> {
        let keywords = match schema {
            Value::Bool(true) => return Vec::new(),
            Value::Bool(false) => return vec![format!("{pointer}: not allowed")],
            _ => schema.as_object().expect("a schema is an object or a boolean"),
        };
        let mut errors = Vec::new();
        for (keyword, rule) in keywords {
            errors.extend(self.errors_of_keyword(keywords, keyword, rule, value, pointer));
        }
        errors
    }

    fn errors_of_keyword(
        &self,
        keywords: &Map<String, Value>,
        keyword: &str,
        rule: &Value,
        value: &Value,
        pointer: &str,
    ) -> Vec<String> {
        let matching = || {
            let alternatives = rule.as_array().expect("a list of schemas").iter();
            let fits = |schema: &&Value| self.errors(schema, value, pointer).is_empty();
            alternatives.filter(fits).count()
        };
        let limit = || rule.as_f64().expect("a number");
        let holds = match keyword {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
            "type" => match rule {
                Value::Array(types) => types.iter().any(|name| has_type(value, name)),
                name => has_type(value, name),
            },
            "const" => value == rule,
            "minimum" => value.as_f64().is_none_or(|number| number >= limit()),
            "maximum" => value.as_f64().is_none_or(|number| number <= limit()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as f64 >= limit()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as f64 <= limit()),
            "anyOf" => matching() > 0,
            "oneOf" => matching() == 1,
            "required" => value.as_object().is_none_or(|object| {
                let mut names = rule.as_array().expect("a list of names").iter();
                names.all(|name| object.contains_key(name.as_str().expect("a name")))
            }),
            _ => return self.errors_of_parts(keywords, keyword, rule, value, pointer),
        };
        match holds {
            true => Vec::new(),
            false => vec![format!("{pointer}: {keyword} {rule}: {value}")],
        }
    }

    /// Violations of the keywords that apply schemas to the members or items of a value.
    fn errors_of_parts(
        &self,
        keywords: &Map<String, Value>,
        keyword: &str,
        rule: &Value,
        value: &Value,
        pointer: &str,
    ) -> Vec<String> {
        let members = || value.as_object().into_iter().flatten();
        let items = || value.as_array().into_iter().flatten();
        let parts: Vec<(&Value, &Value, String)> = match keyword {
            "$ref" => {
                let path = rule.as_str().and_then(|name| name.strip_prefix('#'));
                let schema = self.0.pointer(path.expect("a local reference")).expect("it is defined");
                return self.errors(schema, value, pointer);
            }
            "properties" => members()
                .filter_map(|(name, member)| Some((rule.get(name)?, member, name.clone())))
                .collect(),
            "additionalProperties" => {
                let known = keywords.get("properties");
                let others = members().filter(|(name, _)| known.is_none_or(|known| known.get(name).is_none()));
                others.map(|(name, member)| (rule, member, name.clone())).collect()
            }
            "prefixItems" => {
                let pairs = rule.as_array().expect("a list of schemas").iter().zip(items());
                pairs.map(|(schema, item)| (schema, item, "item".into())).collect()
            }
            "items" => {
                let prefix = keywords.get("prefixItems").and_then(Value::as_array);
                let rest = items().skip(prefix.map_or(0, Vec::len));
                rest.map(|item| (rule, item, "item".into())).collect()
            }
            other => panic!("this validator does not know {other}"),
        };
        let errors = parts
            .iter()
            .flat_map(|(schema, part, name)| self.errors(schema, part, &format!("{pointer}/{name}")));
        errors.collect()
    }
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|number| number.fract() == 0.0),
        other => panic!("there is no type {other}"),
    }
}

fn assert_valid(validator: &Validator, value: &Value, what: &str) {
    let errors = validator.errors(&validator.0, value, "");
    assert!(errors.is_empty(), "{what}:\n{}", errors.join("\n"));
}

/// Results of runs on the simulated device, with the text of each.
fn examples() -> Vec<(String, String)> {
    let folder = root().join("tests/data/results");
    let files = fs::read_dir(&folder).expect("there are examples");
    let paths = files.map(|entry| entry.expect("an entry").path().display().to_string());
    let examples = paths.filter(|path| path.ends_with(".json"));
    let mut examples: Vec<_> = examples
        .map(|path| (path.clone(), fs::read_to_string(&path).expect("read")))
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
        let event = |line: &str| serde_json::from_str::<Event>(line).expect("an event");
        let lines = events.lines().map(|line| stream::line(&event(line)));
        for line in lines.chain([stream::last_line(&results)]) {
            let value: Value = serde_json::from_str(&line).expect("JSON");
            assert_valid(&of_line, &value, &line);
        }
    }
}

#[test]
fn other_objects_are_not_valid_lines() {
    let of_line = validator("stream");
    for wrong in [
        json!({"event": "other"}),
        json!({"event": "phase", "step": 0}),
        json!([]),
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

/// The validator itself: values that a schema of each keyword accepts and refuses.
#[test]
fn each_keyword_is_checked() {
    for (schema, valid, wrong) in [
        (
            json!({"type": ["string", "null"]}),
            json!([null, "a"]),
            json!([1, [], {}]),
        ),
        (
            json!({"type": "integer", "minimum": 1, "maximum": 3}),
            json!([1, 3, 2.0]),
            json!([0, 4, 1.5, "1"]),
        ),
        (json!({"const": "a"}), json!(["a"]), json!(["b", null])),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "number"}]}),
            json!([null, 1.5]),
            json!(["a"]),
        ),
        (
            json!({"oneOf": [{"type": "number"}, {"minimum": 0}]}),
            json!([-1, "a"]),
            json!([1]),
        ),
        (
            json!({"required": ["a"], "properties": {"a": {"type": "null"}}}),
            json!([{"a": null}]),
            json!([{}, {"a": 1}]),
        ),
        (
            json!({"properties": {"a": true}, "additionalProperties": false}),
            json!([{"a": 1}, {}]),
            json!([{"b": 1}]),
        ),
        (
            json!({"prefixItems": [{"const": 1}], "items": {"const": 2}}),
            json!([[1], [1, 2, 2]]),
            json!([[2], [1, 1]]),
        ),
        (
            json!({"minItems": 1, "maxItems": 2}),
            json!([[1], [1, 1]]),
            json!([[], [1, 1, 1]]),
        ),
        (
            json!({"$defs": {"a": {"type": "null"}}, "$ref": "#/$defs/a"}),
            json!([null]),
            json!([1]),
        ),
    ] {
        let validator = Validator(schema);
        for (values, expected) in [(&valid, true), (&wrong, false)] {
            for value in values.as_array().expect("a list") {
                assert_eq!(validator.is_valid(value), expected, "{}: {value}", validator.0);
            }
        }
    }
}
