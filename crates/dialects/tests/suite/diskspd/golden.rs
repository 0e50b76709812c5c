//! Command lines, and the profiles that DiskSpd 2.2 made from them: the same text, apart from the
//! entries of `tests/deviations.toml`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use dialects::diskspd::text::{TextVersion, lines};
use dialects::diskspd::{LowerEnv, ParseOutcome, Request, lower, xml};
use model::Direction;
use model::plan::Target;
use testbed::With;

use crate::diskspd::deviations::case_deviations;
use crate::diskspd::support::{TestEnv, cases, request};
use crate::drive::{execute, whole};
use crate::pages::deviations;

fn arguments(case: &Path) -> Vec<String> {
    let text = fs::read_to_string(case.join("argv.txt")).unwrap();
    text.lines().map(str::to_string).collect()
}

/// Reads the command line of a case, with a switch before it, in the folder that has its XML files.
fn reading(case: &Path, before: &str) -> (ParseOutcome, String) {
    let mut env = TestEnv::default().with(|test_env| test_env.files = HashMap::new());
    for entry in fs::read_dir(case).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".xml") && name != "profile.xml" && name != "result.xml" {
            env.files.insert(name, fs::read_to_string(entry.path()).unwrap());
        }
    }
    let typed = arguments(case);
    let all: Vec<&str> = std::iter::once(before)
        .filter(|switch| !switch.is_empty())
        .chain(typed.iter().map(String::as_str))
        .collect();
    let line = all.join(" ");
    (env.read(&all), line)
}

/// The lines that a deviation adds to a printed profile.
fn added_by(id: &str) -> &'static str {
    match id {
        "xml-keeps-random-write-data" => "<RandomWriteData>true</RandomWriteData>",
        other => panic!("`{other}` does not affect printed profiles"),
    }
}

/// Compares the XML of a case. A deviation of the case must make a difference, and no other
/// difference is allowed.
fn check_xml(case: &Path, request: &Request) {
    let name = format!("profiles/{}", case.file_name().unwrap().to_str().unwrap());
    let mut written = xml::lines(&request.profile);
    for id in case_deviations(&name) {
        let before = written.len();
        written.retain(|line| line.trim() != added_by(&id));
        assert!(written.len() < before, "{name} does not need the deviation {id}");
    }
    let recorded = fs::read_to_string(case.join("profile.xml")).unwrap();
    assert_eq!(written.join("\n") + "\n", recorded, "{name}");
}

#[test]
fn command_lines_become_the_recorded_profiles() {
    for case in cases("profiles") {
        let (as_xml, _) = reading(&case, "-Rpxml");
        assert!(matches!(as_xml, ParseOutcome::Print(_)), "{}", case.display());
        let as_xml = request(as_xml);
        check_xml(&case, &as_xml);

        let (as_text, line) = reading(&case, "-Rptext");
        let as_text = request(as_text);
        let words = lines(&as_text.profile, TextVersion::V2_2).join("\n");
        let recorded = fs::read_to_string(case.join("profile.txt")).unwrap();
        assert_eq!(
            format!("\nCommand Line: diskspd.exe {line}\n\n{words}\n"),
            recorded,
            "{}",
            case.display()
        );

        let stderr = fs::read_to_string(case.join("stderr.txt")).unwrap_or_default();
        let stderr: Vec<&str> = stderr.lines().collect();
        assert_eq!(as_xml.stderr, stderr, "{}", case.display());
        assert_eq!(as_text.stderr, stderr, "{}", case.display());
    }
}

#[test]
fn command_lines_of_runs_become_the_profiles_in_their_results() {
    for case in cases("runs") {
        let (reading, _) = reading(&case, "-Rxml");
        assert!(matches!(reading, ParseOutcome::Run(_)), "{}", case.display());
        let result = fs::read_to_string(case.join("result.xml")).unwrap();
        let inside = result.lines().skip_while(|line| *line != "  <Profile>");
        let recorded: Vec<&str> = inside
            .take_while(|line| *line != "  </Profile>")
            .map(|line| &line[2..])
            .collect();
        let mut written = xml::lines(&request(reading).profile);
        assert_eq!(written.pop().as_deref(), Some("</Profile>"));
        assert_eq!(written, recorded, "{}", case.display());
    }
}

/// DiskSpd sends every request of a pool to the first target; fathom sends each to its own
/// (`pool-drives-every-target` in `tests/deviations.toml`).
const POOL: &str = "20-pool-without-O-first-target-only";

/// Follows each command line through its plan to the operations that its threads issue.
#[test]
fn command_lines_issue_the_recorded_offsets() {
    let recorded = cases("offsets");
    assert_eq!(recorded.len(), 21);
    for case in recorded {
        let (reading, line) = reading(&case, "");
        assert!(matches!(reading, ParseOutcome::Run(_)), "{line}: {reading:?}");
        let env = LowerEnv {
            cpus: &[0, 1, 2, 3],
            arguments: &arguments(&case),
            ..LowerEnv::default()
        };
        let plan = whole(lower(&request(reading).profile, env).unwrap().plan);
        let text = fs::read_to_string(case.join("offsets.txt")).unwrap();
        let (files, operations) = text.split_once('\n').unwrap();
        let size_of = |target: &Target| {
            let (_, size) = files.split_once(&format!("{}=", target.path)).unwrap();
            size.split(',').next().unwrap().parse().unwrap()
        };
        let sizes: Vec<u64> = plan.targets.iter().map(size_of).collect();
        let issued = execute(&plan, 0, 0, &sizes, 64);
        let mut issued: Vec<_> = issued.iter().map(|thread| thread.iter()).collect();
        for recorded in operations.lines() {
            let thread: usize = recorded.split(' ').next().unwrap().parse().unwrap();
            let found = issued[thread].next().unwrap();
            let letter = if found.operation.direction == Direction::Write {
                "W"
            } else {
                "R"
            };
            let offset = found.operation.offset;
            if case.ends_with(POOL) {
                // The targets are 1 and 2 MiB, so the same random draw modulo 1 MiB is the same
                // offset on both.
                let number = 64 - issued[thread].len() - 1;
                assert_eq!(found.stream, number % 2, "{line}: operation {number}");
                assert_eq!(
                    format!("{thread} 0 {letter} {}", offset % (1 << 20)),
                    recorded,
                    "{line}"
                );
            } else {
                assert_eq!(
                    format!("{thread} {} {letter} {offset}", found.stream),
                    recorded,
                    "{line}"
                );
            }
        }
        assert!(
            issued.iter().all(|thread| thread.len() == 0),
            "{line}: more operations are issued than recorded"
        );
        if case.ends_with(POOL) {
            let all = execute(&plan, 0, 0, &sizes, 64).remove(0);
            let beyond = all.iter().filter(|issued| issued.operation.offset >= 1 << 20).count();
            assert!(
                beyond > 8,
                "the second half of the second target is used too: {beyond} of 32"
            );
        }
    }
}

#[test]
fn deviations_name_profiles_that_are_compared() {
    let compared: Vec<String> = cases("profiles")
        .iter()
        .map(|case| format!("profiles/{}", case.file_name().unwrap().to_str().unwrap()))
        .collect();
    for entry in deviations("diskspd") {
        for case in entry.cases.iter().filter(|case| case.starts_with("profiles/")) {
            assert!(compared.contains(case), "{}: {case}", entry.id);
        }
    }
}
