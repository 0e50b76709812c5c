//! Wrong and borderline inputs, with fio's recorded messages. Messages of a run are not compared:
//! those cases are listed in a table.

use std::collections::HashMap;

use dialects::fio::VERSION;
use testbed::With;

use crate::fio::support::{DATA, TestEnv, all, reading_in};

/// Cases that end with more messages than those of the parser, each with the source of the others.
/// They are parsed, and the recorded stderr must begin with the messages of the parser.
const RUN: &[(&str, &str)] = &[
    ("unique-abbreviation-ok", "report"),
    ("space-before-equals-ok", "report"),
    ("space-after-equals-number", "report"),
    ("include-missing", "the missing size is found when files are laid out"),
    (
        "include-with-section",
        "the missing size is found when files are laid out",
    ),
    (
        "size-missing-new-file",
        "the missing size is found when files are laid out",
    ),
    ("time-based-without-runtime", "report"),
    ("rate-min-not-met", "found by the run"),
    ("path-with-missing-dir", "report"),
    ("parent-is-a-file", "found when files are laid out"),
    ("permission-denied", "found when files are opened"),
    ("enospc", "found by the run"),
    ("enospc-continue", "found by the run"),
    ("enospc-ignore", "found by the run"),
    ("direct-bad-alignment", "found by the run"),
    ("verify-mismatch", "found by the run"),
    ("verify-mismatch-continue", "found by the run"),
    ("max-latency", "found by the run"),
    ("bssplit-over-100", "report"),
    ("bssplit-over-100-blank", "report"),
    ("percentile-over-100", "report"),
    ("percentile-too-many", "report"),
    ("offset-beyond-file", "found when files are laid out"),
    ("offset-plus-size-beyond-file-read", "report"),
    ("deprecated-soft", "report"),
    ("allow-file-create-0", "found when files are laid out"),
    (
        "two-jobs-one-fails",
        "the missing size is found when files are laid out",
    ),
    ("three-jobs-fail-exit-3", "found by the run"),
    ("sync-engine-iodepth-note", "report and a note of the run"),
    ("exec-prerun-fails", "found by the run"),
];

struct Case {
    name: String,
    line: String,
    env: TestEnv,
    exit: u8,
    stdout: Vec<String>,
    stderr: Vec<String>,
}

fn cases() -> Vec<Case> {
    let text = std::fs::read_to_string(format!("{DATA}/errors.txt")).unwrap();
    text.split("\n=== ")
        .map(|case| one(case.trim_start_matches("=== ")))
        .collect()
}

fn one(text: &str) -> Case {
    let mut lines = text.lines();
    let name = lines.next().unwrap().to_string();
    let line = lines.next().unwrap().trim_start_matches("$ fio").trim().to_string();
    let mut parts: HashMap<String, Vec<String>> = HashMap::new();
    let mut part = String::new();
    for text in lines {
        match text.strip_prefix("--- ") {
            Some(head) => {
                part = head.to_string();
                parts.entry(part.clone()).or_default();
            }
            None => parts.entry(part.clone()).or_default().push(text.to_string()),
        }
    }
    let mut env = TestEnv::default();
    let mut exit = 0;
    for (head, lines) in &parts {
        if let Some(path) = head.strip_prefix("file ") {
            env.files.insert(path.to_string(), lines.join("\n"));
        }
        if let Some(code) = head.strip_prefix("exit ") {
            exit = code.parse().unwrap();
        }
    }
    // A blank line follows each case and is not part of it.
    let mut take = |head: &str| {
        let mut lines = parts.remove(head).unwrap_or_default();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    };
    Case {
        name,
        line,
        env,
        exit,
        stdout: take("stdout"),
        stderr: take("stderr"),
    }
}

/// Without banners, with this program's version, and without fio's source locations.
fn comparable<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all = Vec::new();
    for line in lines {
        let line = line.replace("fio-3.42-135-gf5344", VERSION);
        let source = line.split_whitespace().find(|word| word.starts_with("file:"));
        let line = source.map_or(line.clone(), |source| line.replace(source, "file:,"));
        if line.contains(": (g=") {
            continue;
        }
        all.push(line);
        if all.last().unwrap().contains("[job options] <job file(s)>") {
            break;
        }
    }
    while all.last().is_some_and(String::is_empty) {
        all.pop();
    }
    all
}

#[test]
fn refused_inputs_have_the_recorded_messages() {
    let mut compared = 0;
    for mut case in cases()
        .into_iter()
        .filter(|case| RUN.iter().all(|(name, _)| *name != case.name))
    {
        let (code, read) = all(reading_in(&mut case.env, &case.line));
        let name = &case.name;
        assert_eq!(
            comparable(read.stderr()),
            comparable(case.stderr.iter().map(String::as_str)),
            "{name}"
        );
        let recorded = case
            .stdout
            .iter()
            .map(String::as_str)
            .filter(|line| *line != "<usage text>");
        assert_eq!(comparable(read.stdout()), comparable(recorded), "{name}");
        assert_eq!(code, case.exit, "{name}");
        compared += 1;
    }
    assert_eq!(compared + RUN.len(), 80);
}

#[test]
fn inputs_of_runs_are_accepted() {
    let cases = cases();
    for (name, reason) in RUN {
        let case = cases.iter().find(|case| case.name == *name);
        let case = case.unwrap_or_else(|| panic!("{name} ({reason}) is not recorded"));
        let mut env = TestEnv::default().with(|test_env| test_env.files = case.env.files.clone());
        let (code, read) = all(reading_in(&mut env, &case.line));
        assert_eq!(code, 0, "{name}: {:?}", read.notices);
        // Messages of the parser come before the messages of the run.
        let printed: Vec<&str> = read.stderr().collect();
        let recorded: Vec<&str> = case.stderr.iter().map(String::as_str).take(printed.len()).collect();
        assert_eq!(printed, recorded, "{name}");
    }
}
