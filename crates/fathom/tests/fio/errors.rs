//! Recorded responses of fio to invalid and borderline inputs. Messages, streams and exit codes
//! must match.

use crate::fio::masks::normal_lines;
use crate::fio::support::{Sandbox, read_recording, split_percentiles};
use crate::prelude::*;

/// The version in the recording, and that of fathom.
const VERSIONS: [&str; 2] = ["fio-3.42-135-gf5344", "fio-3.42"];

#[derive(Default)]
struct Case {
    name: String,
    line: String,
    setup: Option<String>,
    files: Vec<(String, Vec<String>)>,
    exit: i32,
    stdout: Vec<String>,
    stderr: Vec<String>,
}

fn read_cases() -> Vec<Case> {
    let text = read_recording("errors.txt");
    let cases = text.split("\n=== ").map(|case| case.trim_start_matches("=== "));
    cases.map(parse_case).collect()
}

fn parse_case(text: &str) -> Case {
    let mut lines = text.lines();
    let mut case = Case {
        name: lines.next().unwrap().to_owned(),
        line: lines.next().unwrap().strip_prefix("$ ").unwrap().trim().to_owned(),
        ..Case::default()
    };
    let mut section: Option<&mut Vec<String>> = None;
    let mut files = Vec::new();
    for text in lines {
        let Some(head) = text.strip_prefix("--- ") else {
            if let Some(section) = &mut section {
                section.push(text.to_owned());
            }
            continue;
        };
        section = None;
        if let Some(path) = head.strip_prefix("file ") {
            files.push((path.to_owned(), Vec::new()));
            section = files.last_mut().map(|(_, lines)| lines);
        } else if let Some(setup) = head.strip_prefix("setup: ") {
            case.setup = Some(setup.to_owned());
        } else if let Some(code) = head.strip_prefix("exit ") {
            case.exit = code.parse().unwrap();
        } else if head == "stdout" {
            section = Some(&mut case.stdout);
        } else if head == "stderr" {
            section = Some(&mut case.stderr);
        }
    }
    case.files = files;
    case
}

/// Removes hints, positions in fio's source, and empty lines at the end. The version becomes that
/// of fathom.
fn remove_noise<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = lines
        .filter(|line| !line.starts_with("hint: "))
        .map(|line| {
            let line = line.replace(VERSIONS[0], VERSIONS[1]);
            let source = line.split_whitespace().find(|word| word.contains("file:"));
            let found = source.and_then(|word| word.split_once("file:"));
            match found {
                Some((_, address)) => line.replace(&format!("file:{address}"), "file:,"),
                None => line,
            }
        })
        .collect();
    while all.last().is_some_and(String::is_empty) {
        all.pop();
    }
    all
}

fn split_like_shell(line: &str) -> Vec<String> {
    // The recorded lines are shell commands.
    let split = finish(Command::new("sh").args(["-c", &format!("printf '%s\\n' {line}")]));
    split.out.lines().skip(1).map(str::to_owned).collect()
}

fn check(case: &Case) {
    let sandbox = Sandbox::on_disk().unwrap();
    for (path, lines) in &case.files {
        fs::write(sandbox.path().join(path), lines.join("\n") + "\n").unwrap();
    }
    if let Some(setup) = &case.setup {
        let mut shell = Command::new("sh");
        let done = finish(shell.args(["-c", setup]).current_dir(sandbox.path()));
        assert_eq!(done.code, Some(0), "{setup}: {done:#?}");
    }
    let mut command = sandbox.command(&split_like_shell(&case.line));
    if case.name == "exec-prerun-fails" {
        command.env("FATHOM_ALLOW_EXEC", "1");
    }
    let ran = finish(&mut command);
    let all = format!("{}\n--- stderr\n{}", ran.out, ran.err);
    assert_eq!(ran.code, Some(case.exit), "{}: {}\n{all}", case.name, case.line);
    let lines = |lines: Vec<String>| -> Vec<String> { lines.iter().map(|line| mask_measured(line)).collect() };
    let stderr = lines(remove_noise(case.stderr.iter().map(String::as_str)));
    let found = lines(remove_noise(ran.err.lines()));
    assert_eq!(found, stderr, "{}, stderr\n{all}", case.name);
    // The usage text is fathom's own.
    let before_usage = |lines: Vec<String>| -> Vec<String> {
        let is_usage = |line: &String| line.contains("[job options] <job file(s)>");
        let end = lines.iter().position(is_usage);
        lines[..end.unwrap_or(lines.len())].to_vec()
    };
    let stdout = case
        .stdout
        .join("\n")
        .replace(VERSIONS[0], VERSIONS[1])
        .replace("pid=PID", "pid=1")
        .replace(": DATE", ": Sat Nov 21 19:36:40 2026");
    let masked = |text: &str| {
        // The mask would take `: pid=` for the header of an entry, and keep only the form of the
        // date.
        let text = remove_timed(text).replace("fio: pid=", "fio process ");
        // The number of operations that this paced job issues before it is ended varies.
        let fixed = case.name != "rate-min-not-met";
        before_usage(remove_noise(normal_lines(&text, fixed).iter().map(String::as_str)))
    };
    assert_eq!(masked(&ran.out), masked(&stdout), "{}, stdout\n{all}", case.name);
}

/// Masks measured values: the rate of a job, the latency of an operation.
fn mask_measured(line: &str) -> String {
    for (before, after) in [(" not met, got ", "B/s"), ("fio: latency of ", " nsec exceeds")] {
        let Some((start, rest)) = line.split_once(before) else {
            continue;
        };
        let end = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if end.len() < rest.len() && end.starts_with(after) {
            return format!("{start}{before}#{end}");
        }
    }
    line.to_owned()
}

/// Removes lines whose presence depends on the speed of the machine.
fn remove_timed(text: &str) -> String {
    let timed = ["   bw (", "   iops  "];
    let is_kept = |line: &&str| !timed.iter().any(|timed| line.starts_with(timed));
    let lines = text.lines().filter(is_kept);
    lines
        .map(|line| match line.starts_with("     |") {
            true => split_percentiles(line),
            false => format!("{line}\n"),
        })
        .collect()
}

#[test]
fn responses_to_invalid_inputs_match_the_recording() {
    let wanted = std::env::var("FATHOM_CASE").unwrap_or_default();
    let cases = read_cases();
    assert_eq!(cases.len(), 80);
    let mut failed = Vec::new();
    for case in cases.iter().filter(|case| case.name.contains(&wanted)) {
        if let Err(error) = std::panic::catch_unwind(|| check(case)) {
            failed.push(error.downcast_ref::<String>().cloned().unwrap_or_default());
        }
    }
    assert!(failed.is_empty(), "{} of 80:\n{}", failed.len(), failed.join("\n\n"));
}
