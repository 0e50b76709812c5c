//! The effect of each option on the plan.
//!
//! Rows of the option table have command lines with that option, and facts that, according to fio's
//! manual, the plan must then satisfy. Without the option they must not hold, because the entry
//! would prove nothing. `cargo xtask mutate fio` goes further: it removes the option from each line
//! that reads it, and these tests must fail.
//!
//! An entry has one or more facts, separated by semicolons: a path, `=`, `!=` or `>`, and a value.
//! A path starts at the plan, or at its first job, worker, stream or target, or at what reports
//! show (`shown`); `*` matches every element of a list. Values are JSON without quotes and spaces,
//! with object keys sorted; an absent value is null.

mod elsewhere;
mod expected_messages;

use std::path::Path;

use dialects::Diagnostic;
use dialects::fio::table::{Kind, Row, Status, rows};
use dialects::fio::{Disk, LowerEnv, Lowered, ParseOutcome, PathFacts, PathKind, TraceFile, lower};
use model::plan::{Job, Plan, Stream, Target, Worker};
use serde_json::{Value, json};
use testbed::With;

use self::elsewhere::ELSEWHERE;
use self::expected_messages::{NOTES, PROBLEMS, SILENCED};
use crate::fio::support::{TestEnv, lower_env, split};

const K: u64 = 1024;
const M: u64 = 1024 * K;

/// Has a file `f` of 128 KiB, a device `dev` of 1 MiB, a file `bytes` that holds `ab`, and a
/// directory `d` with two names.
pub struct FakeDisk;

impl Disk for FakeDisk {
    fn find(&self, path: &str) -> Option<PathFacts> {
        let (kind, size) = match path {
            "f" => (PathKind::File, 128 * K),
            "dev" => (PathKind::Device, M),
            "bytes" => (PathKind::File, 2),
            "trace" | "other" | "records" => (PathKind::File, 100),
            _ => return None,
        };
        Some(PathFacts { kind, size })
    }

    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "bytes" => Ok(b"ab".to_vec()),
            _ => Err("No such file or directory".into()),
        }
    }

    fn list_files_below(&self, folder: &str) -> Result<Vec<String>, String> {
        match folder {
            "d" => Ok(["d/a", "d/b"].map(String::from).to_vec()),
            _ => Ok(Vec::new()),
        }
    }

    fn trace(&self, path: &str) -> Result<TraceFile, String> {
        let bytes = match path {
            "trace" => TRACE.as_bytes().to_vec(),
            "other" => b"fio version 2 iolog\nz add\nz open\nz read 0 512\nz close\n".to_vec(),
            "records" => records(),
            _ => return Err("No such file or directory".into()),
        };
        Ok(TraceFile {
            path: path.into(),
            bytes: Box::new(std::io::Cursor::new(bytes)),
        })
    }

    fn device(&self, major: u32, minor: u32) -> Option<String> {
        ((major, minor) == (8, 16)).then(|| "dev".into())
    }
}

/// A trace of two files, of which only `f` exists.
const TRACE: &str = "fio version 3 iolog\n1 f add\n1 y add\n2 f open\n3 f read 0 8192\n4 y open\n5 y write 4096 4096\n\
                     6 f read 8192 512\n7 f sync 0 0\n";

/// Two reads of the device 8:16 in blktrace's format, in flight together.
fn records() -> Vec<u8> {
    let record = |time: u64, sector: u64, action: u32| {
        let mut record = Vec::new();
        record.extend(0x6561_7407_u32.to_ne_bytes());
        record.extend(1_u32.to_ne_bytes());
        record.extend(time.to_ne_bytes());
        record.extend(sector.to_ne_bytes());
        record.extend(4096_u32.to_ne_bytes());
        record.extend((action | 1 << 16).to_ne_bytes());
        record.extend(1_u32.to_ne_bytes());
        record.extend((8_u32 << 20 | 16).to_ne_bytes());
        record.extend([0; 8]);
        record
    };
    [record(1, 0, 1), record(2, 8, 1), record(3, 0, 8), record(4, 8, 8)].concat()
}

/// The plan of a command line, or the reasons for its refusal; `None` if it does not even parse.
fn attempt(words: &[String]) -> Option<Result<Lowered, Vec<Diagnostic>>> {
    let mut env = TestEnv::default().with(|test_env| test_env.folders = ["d", "e"].map(String::from).to_vec());
    let borrowed: Vec<&str> = words.iter().map(String::as_str).collect();
    let ParseOutcome::Run(jobs) = env.read(&borrowed) else {
        return None;
    };
    let env = LowerEnv {
        arguments: words,
        ..lower_env(&FakeDisk)
    };
    Some(lower(&jobs, env))
}

/// The plan of a command line; `None` if it is refused.
pub fn lowered(words: &[String]) -> Option<Lowered> {
    attempt(words)?.ok()
}

pub fn job(plan: &Plan) -> &Job {
    &plan.steps[0].jobs[0]
}

pub fn worker(plan: &Plan) -> &Worker {
    &job(plan).workers[0]
}

pub fn stream(plan: &Plan) -> &Stream {
    &worker(plan).streams[0]
}

pub fn target(plan: &Plan) -> &Target {
    plan.target(stream(plan).target.ids()[0])
}

/// The entries of all rows: option, command line, facts.
fn effects() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    rows().flat_map(|row| row.effects.iter().map(|(line, facts)| (row.name, *line, *facts)))
}

/// A plan as the JSON object in which the paths of facts start.
struct Facts(Value);

impl Facts {
    fn new(plan: &Plan) -> Facts {
        let shown: serde_json::Map<String, Value> = {
            let settings = plan.origin.presentation.other.iter();
            settings.map(|(name, value)| (name.clone(), json!(value))).collect()
        };
        Facts(json!({
            "plan": plan,
            "job": job(plan),
            "worker": worker(plan),
            "stream": stream(plan),
            "target": target(plan),
            "shown": shown,
        }))
    }

    fn hold(&self, facts: &str) -> bool {
        facts.split("; ").all(|fact| self.holds(fact))
    }

    fn holds(&self, fact: &str) -> bool {
        let end = fact
            .find(['=', '!', '>'])
            .unwrap_or_else(|| panic!("{fact} contains no comparison"));
        let (path, condition) = fact.split_at(end);
        let found = match path.strip_prefix("shown.") {
            Some(setting) => self.0["shown"][setting].clone(),
            None => at(&self.0, &path.split('.').collect::<Vec<_>>()),
        };
        let number = |text: &str| text.parse::<f64>().unwrap();
        match (condition.strip_prefix("!="), condition.strip_prefix('>')) {
            (Some(other), _) => text(&found) != other,
            (None, Some(less)) => found.as_f64().is_some_and(|found| found > number(less)),
            (None, None) => text(&found) == condition[1..],
        }
    }
}

fn at(value: &Value, path: &[&str]) -> Value {
    match (path, value) {
        ([], found) => found.clone(),
        (["*", rest @ ..], Value::Array(list)) => list.iter().map(|element| at(element, rest)).collect(),
        ([index, rest @ ..], Value::Array(list)) => list
            .get(index.parse::<usize>().unwrap())
            .map_or(Value::Null, |element| at(element, rest)),
        ([key, rest @ ..], value) => at(&value[*key], rest),
    }
}

/// JSON without quotes and spaces, with object keys sorted.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => format!("[{}]", list.iter().map(text).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let mut fields: Vec<String> = fields
                .iter()
                .map(|(key, value)| format!("{key}:{}", text(value)))
                .collect();
            fields.sort();
            format!("{{{}}}", fields.join(","))
        }
        other => other.to_string(),
    }
}

fn row(name: &str) -> &'static Row {
    rows()
        .find(|row| row.is_called(name))
        .unwrap_or_else(|| panic!("there is no option {name}"))
}

/// Splits an entry into arguments, and starts a job if no argument does.
pub fn split_words(line: &str) -> Vec<String> {
    let mut words = split(line);
    if !words.iter().any(|word| word.starts_with("--name=")) {
        words.insert(0, "--name=x".into());
    }
    words
}

/// The same arguments without those that set an option.
fn without(words: &[String], option: &str) -> Vec<String> {
    let row = row(option);
    let gives = |word: &&String| {
        let name = word.trim_start_matches('-').split('=').next().unwrap();
        row.is_called(name)
    };
    let gone = words.iter().filter(gives).count();
    assert!(gone > 0, "{words:?} has no {option}");
    words.iter().filter(|word| !gives(word)).cloned().collect()
}

#[test]
fn every_option_has_its_documented_effect() {
    let mut wrong = Vec::new();
    for (option, line, facts) in effects() {
        match lowered(&split_words(line)) {
            Some(lowered) if Facts::new(&lowered.plan).hold(facts) => {}
            Some(_) => wrong.push(format!("{option}: {line}: {facts}")),
            None => wrong.push(format!("{option}: {line} is refused")),
        }
    }
    assert!(
        wrong.is_empty(),
        "the plan does not satisfy this:\n{}",
        wrong.join("\n")
    );
}

/// In most options a negative number wraps, as in fio; in the others it is refused. The other
/// options of the line are values to which it may be added.
#[test]
fn extreme_numbers_do_not_panic() {
    const OTHERS: &str = "--size=64k --rw=randrw --runtime=1 --numjobs=2 --rate=1m --ss=iops:5% --ss_dur=10 \
                          --offset=4k --offset_increment=4k --zonemode=strided --zonesize=8k";
    let mut panicked = Vec::new();
    for row in rows() {
        let engine = row.engines.first().map(|engine| format!("--ioengine={engine} "));
        for value in ["-5", "-1k", "-5%", "9223372036854775806"] {
            let line = format!("{} {OTHERS} --{}={value}", engine.clone().unwrap_or_default(), row.name);
            let checked = std::panic::catch_unwind(|| lowered(&split_words(&line)).map(|lowered| lowered.plan.check()));
            if checked.is_err() {
                panicked.push(line);
            }
        }
    }
    assert!(panicked.is_empty(), "{}", panicked.join("\n"));
}

#[test]
fn no_fact_holds_without_its_option() {
    let mut idle = Vec::new();
    for (option, line, facts) in effects() {
        let blanked = lowered(&without(&split_words(line), option));
        if blanked.is_some_and(|lowered| Facts::new(&lowered.plan).hold(facts)) {
            idle.push(format!("{option}: {line}"));
        }
    }
    assert!(idle.is_empty(), "the same without the option:\n{}", idle.join("\n"));
}

/// All messages about a command line: lines for stdout, notes, and why clones cannot be prepared;
/// or the reasons for its refusal.
fn messages(words: &[String]) -> Vec<String> {
    match attempt(words) {
        Some(Ok(lowered)) => {
            let unusable = lowered.unusable.into_iter().map(|unusable| unusable.line);
            [lowered.stdout, lowered.notes, unusable.collect()].concat()
        }
        Some(Err(problems)) => problems.into_iter().map(|problem| problem.what).collect(),
        None => Vec::new(),
    }
}

#[test]
fn every_message_depends_on_its_option() {
    let mut wrong = Vec::new();
    for (option, line, expected) in NOTES.iter().chain(PROBLEMS) {
        let (with, without) = (split_words(line), without(&split_words(line), option));
        let holds = |words: &[String]| messages(words).iter().any(|message| message == expected);
        if !holds(&with) || holds(&without) {
            wrong.push(format!("{option}: {line}: {:?}", messages(&with)));
        }
    }
    for (option, line, unexpected) in SILENCED {
        let (with, without) = (split_words(line), without(&split_words(line), option));
        let silent = |words: &[String]| !messages(words).iter().any(|message| message.contains(unexpected));
        if !silent(&with) || silent(&without) {
            wrong.push(format!("{option}: {line}: {:?}", messages(&with)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_option_is_in_a_list() {
    let mut missing = Vec::new();
    for row in rows() {
        let elsewhere = ELSEWHERE.iter().any(|(.., options)| options.contains(&row.name));
        let listed = match row.status {
            Status::Supported => matches!(row.kind, Kind::Removed) || !row.effects.is_empty() || elsewhere,
            Status::WithoutEffect(_) | Status::Refused(_) => true,
        };
        if !listed {
            missing.push(row.name);
        }
    }
    assert!(missing.is_empty(), "not tested by any of the lists: {missing:?}");
}

#[test]
fn tests_in_other_files_exist() {
    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    for (file, test, options) in ELSEWHERE {
        for option in *options {
            assert!(rows().any(|row| row.is_called(option)), "{option}");
        }
        let text = std::fs::read_to_string(Path::new(ROOT).join(file)).unwrap();
        assert!(
            text.contains(&format!("fn {test}()")),
            "{options:?}: no {test} in {file}"
        );
    }
}
