//! Runs fio's own functional tests with this program in place of fio.
//!
//! The tests come from a checkout that the user names; the checkout is neither built nor stored.
//! `xtask/conformance.txt` lists the expected failures with their reasons, so that both a
//! regression and a fix show up as a difference.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::{cannot, fathom, root};

/// A script from fio's `t/`.
struct Suite {
    name: &'static str,
    script: &'static str,
    /// Its arguments; `{fio}`, `{source}` and `{out}` are replaced by the program, the checkout and
    /// a new folder.
    arguments: &'static [&'static str],
    /// It is newer than release 3.42, so older checkouts lack it.
    is_newer: bool,
}

const fn suite(name: &'static str, script: &'static str, arguments: &'static [&'static str]) -> Suite {
    Suite {
        name,
        script,
        arguments,
        is_newer: false,
    }
}

const fn mark_newer(suite: Suite) -> Suite {
    Suite {
        is_newer: true,
        ..suite
    }
}

const COMMON: &[&str] = &["-f", "{fio}", "-a", "{out}"];

/// Tests from number 1000 need helper programs of a fio build or a zoned null block device, or are
/// scripts of the other suites.
#[rustfmt::skip]
const RUN_FIO_TESTS: &[&str] = &[
    "-r", "{source}", "-f", "{fio}", "-a", "{out}", "-s",
    "1000", "1001", "1002", "1003", "1004", "1005", "1006", "1007", "1008", "1009", "1010", "1011", "1012",
    "1013", "1014", "1015", "1016", "1017", "1018", "1019", "1020", "1021", "1022", "1023", "1024", "1025",
];

const SUITES: &[Suite] = &[
    suite("readonly", "readonly.py", COMMON),
    suite("random_seed", "random_seed.py", COMMON),
    mark_newer(suite("sequence", "sequence.py", COMMON)),
    suite("strided", "strided.py", COMMON),
    suite(
        "jsonplus2csv",
        "jsonplus2csv_test.py",
        &["-f", "{fio}", "-s", "{source}/tools/fio_jsonplus_clat2csv"],
    ),
    suite("log_compression", "log_compression.py", &["-f", "{fio}"]),
    mark_newer(suite("numberio_overlap", "numberio_overlap.py", COMMON)),
    mark_newer(suite("verify_state_save", "verify_state_save.py", COMMON)),
    suite("client_server", "client_server.py", COMMON),
    suite("latency_percentiles", "latency_percentiles.py", COMMON),
    suite("sprandom", "sprandom.py", COMMON),
    suite("steadystate", "steadystate_tests.py", &["{fio}"]),
    suite("verify", "verify.py", COMMON),
    suite("run-fio-tests", "run-fio-tests.py", RUN_FIO_TESTS),
];

/// The suite of the job files in `examples/`, which `--parse-only` must accept.
const EXAMPLES: &str = "examples";

/// Variables that comments of the examples ask the user to set. Their values do not matter, because
/// nothing is run.
const EXAMPLE_VARIABLES: &[(&str, &str)] = &[
    ("CONT", "container"),
    ("FIO_BS", "4k"),
    ("FIO_DIR", "."),
    ("FIO_IODEPTH", "16"),
    ("FIO_RW", "read"),
    ("GPU_DEV_IDS", "0"),
    ("POOL", "pool"),
    ("S3_ID", "id"),
    ("S3_KEY", "key"),
    ("SSE_KEY", "key"),
    ("STORAGE_CLASS", "STANDARD"),
    ("SWIFT_id", "id"),
    ("uri", "nbd+unix:///?socket=socket"),
];

/// Engines that comments of some examples pass on the command line: prefix of the example's name,
/// and the argument.
const EXAMPLE_ENGINES: &[(&str, &str)] = &[("xnvme", "--ioengine=xnvme")];

/// The command line.
struct Options {
    source: PathBuf,
    program: Option<PathBuf>,
    python: String,
    suites: Vec<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Outcome {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// The names of the tests that failed.
    failures: BTreeSet<String>,
    /// Requirements of the skipped tests.
    needs: BTreeSet<String>,
}

/// `cargo xtask conformance`.
///
/// # Errors
/// The command line is wrong, a suite cannot be run, or the outcome is unexpected.
pub(crate) fn conformance(arguments: &[String]) -> Result<(), String> {
    let options = parse(arguments)?;
    let program = fathom(options.program.as_deref(), "release")?;
    let folder = root().join("target/conformance");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(cannot("make", &folder))?;
    let fio = folder.join("fio");
    fs::copy(&program, &fio).map_err(cannot("copy", &program))?;
    let expected = expected(include_str!("../conformance.txt"));
    if !options.source.join("config-host.h").exists() {
        println!(
            "the checkout has no config-host.h, so tests of libaio are skipped: write one with the line \
             `#define CONFIG_LIBAIO`"
        );
    }
    let names = SUITES.iter().map(|suite| suite.name).chain([EXAMPLES]);
    let mut differences = Vec::new();
    for name in names.filter(|name| options.suites.is_empty() || options.suites.iter().any(|wanted| wanted == name)) {
        let outcome = match SUITES.iter().find(|suite| suite.name == name) {
            Some(suite) => execute(suite, &options, &fio, &folder)?,
            None => Some(parse_examples(&options.source, &fio)?),
        };
        let Some(outcome) = outcome else { continue };
        let skipped = match outcome.skipped {
            0 => String::new(),
            skipped => {
                let needs: Vec<&str> = outcome.needs.iter().map(String::as_str).collect();
                format!(", {skipped} skipped: {}", needs.join(", "))
            }
        };
        let all = outcome.passed + outcome.failed;
        println!("{name} passed {} of {all}{skipped}", outcome.passed);
        differences.extend(compare(name, &outcome, expected.get(name)));
    }
    differences.iter().for_each(|line| println!("{line}"));
    match differences.is_empty() {
        true => Ok(()),
        false => Err(format!("{} differences from xtask/conformance.txt", differences.len())),
    }
}

fn parse(arguments: &[String]) -> Result<Options, String> {
    let mut options = Options {
        source: PathBuf::new(),
        program: None,
        python: "python3".into(),
        suites: Vec::new(),
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("`{word}` needs a value"))?;
        match word.as_str() {
            "--fio-source" => {
                options.source = std::path::absolute(value).map_err(|error| format!("{value}: {error}"))?
            }
            "--program" => options.program = Some(value.into()),
            "--python" => options.python.clone_from(value),
            "--suite" => match value == EXAMPLES || SUITES.iter().any(|suite| suite.name == value) {
                true => options.suites.push(value.clone()),
                false => {
                    let known: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
                    return Err(format!(
                        "there is no suite `{value}`; there are {}, {EXAMPLES}",
                        known.join(", ")
                    ));
                }
            },
            _ => return Err(format!("there is no option `{word}`")),
        }
    }
    match options.source.join("t").is_dir() {
        true => Ok(options),
        false => Err("--fio-source DIR names an fio checkout, with its folder t/".into()),
    }
}

/// Runs a suite; `None` if the checkout lacks its script.
fn execute(suite: &Suite, options: &Options, fio: &Path, folder: &Path) -> Result<Option<Outcome>, String> {
    let script = options.source.join("t").join(suite.script);
    if !script.is_file() {
        let why = if suite.is_newer { ": it came after fio 3.42" } else { "" };
        println!("{} is not in this checkout{why}", suite.name);
        return Ok(None);
    }
    let place = folder.join(suite.name);
    let fault = |error: std::io::Error| format!("{}: {error}", suite.name);
    fs::create_dir_all(&place).map_err(fault)?;
    let log = place.join("log");
    let file = fs::File::create(&log).map_err(fault)?;
    let words = suite.arguments.iter().map(|word| {
        word.replace("{fio}", &fio.display().to_string())
            .replace("{source}", &options.source.display().to_string())
            .replace("{out}", &place.join("out").display().to_string())
    });
    let mut command = Command::new(&options.python);
    command.arg(&script).args(words).current_dir(&place);
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone().map_err(fault)?)
        .stderr(file);
    command
        .status()
        .map_err(|error| format!("{} cannot be run: {error}", options.python))?;
    let text = fs::read(&log).map_err(fault)?;
    let outcome = read_outcome(&String::from_utf8_lossy(&text));
    outcome
        .map(Some)
        .ok_or(format!("{}: no summary in {}", suite.name, log.display()))
}

/// Parses the output of a script: a line for each failed test, and the counts at the end.
fn read_outcome(text: &str) -> Option<Outcome> {
    let lower = text.to_ascii_lowercase();
    let summary = lower
        .lines()
        .rev()
        .find(|line| line.contains("passed") && line.contains("failed"))?;
    let before = |word: &str| {
        let words: Vec<&str> = summary.split([' ', ',']).filter(|part| !part.is_empty()).collect();
        let place = words.iter().position(|part| *part == word)?;
        words[..place].iter().rev().find_map(|part| part.parse().ok())
    };
    let failures = text
        .lines()
        .filter(|line| line.contains("FAILED") && !line.contains("PASSED,"));
    let name = |line: &str| {
        let line = line.trim_matches('*');
        let number = line.strip_prefix("Test ").and_then(|rest| rest.split(' ').next());
        number.map_or_else(|| line.to_owned(), str::to_owned)
    };
    Some(Outcome {
        passed: before("passed")?,
        failed: before("failed")?,
        skipped: before("skipped").unwrap_or(0),
        failures: failures.map(name).collect(),
        needs: text
            .lines()
            .filter_map(requirement_of_skipped)
            .map(str::to_owned)
            .collect(),
    })
}

/// The requirement of a skipped test: the text in brackets.
fn requirement_of_skipped(line: &str) -> Option<&str> {
    let (_, after) = line.split_once("SKIPPED (")?;
    Some(after.split_once(')')?.0)
}

/// Parses every job file in `examples/`.
fn parse_examples(source: &Path, fio: &Path) -> Result<Outcome, String> {
    let folder = source.join(EXAMPLES);
    let entries = fs::read_dir(&folder).map_err(cannot("read", &folder))?;
    let mut outcome = Outcome::default();
    for entry in entries.filter_map(Result::ok) {
        let path = entry.path();
        if path.extension().is_none_or(|end| end != "fio") {
            continue;
        }
        let name = entry.file_name().to_string_lossy().into_owned();
        let engines = EXAMPLE_ENGINES.iter().filter(|(begin, _)| name.starts_with(begin));
        let mut command = Command::new(fio);
        command.arg("--parse-only").args(engines.map(|(_, argument)| argument));
        command
            .arg(&path)
            .current_dir(&folder)
            .envs(EXAMPLE_VARIABLES.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.status() {
            Ok(status) if status.success() => outcome.passed += 1,
            _ => {
                outcome.failed += 1;
                outcome.failures.insert(name);
            }
        }
    }
    Ok(outcome)
}

/// Parses the rows `SUITE TEST… # reason`, by suite.
fn expected(text: &str) -> BTreeMap<&str, BTreeSet<String>> {
    let mut expected: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap_or("").split_whitespace();
        if let Some(name) = words.next() {
            expected.entry(name).or_default().extend(words.map(str::to_owned));
        }
    }
    expected
}

fn compare(name: &str, outcome: &Outcome, expected: Option<&BTreeSet<String>>) -> Vec<String> {
    let none = BTreeSet::new();
    let expected = expected.unwrap_or(&none);
    let new = outcome
        .failures
        .difference(expected)
        .map(|test| format!("{name} {test}: fails"));
    let mended = expected
        .difference(&outcome.failures)
        .map(|test| format!("{name} {test}: passes now, take it out"));
    new.chain(mended).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_summaries_are_read() {
        let common = "Test 1 PASSED 1\nTest 14 FAILED:  non-zero return code, 14\nTest 15 SKIPPED (4+ CPUs required) 15\n\n\
                      12 test(s) passed, 1 failed, 3 skipped\n";
        let outcome = read_outcome(common).unwrap();
        assert_eq!((outcome.passed, outcome.failed, outcome.skipped), (12, 1, 3));
        assert_eq!(outcome.failures, BTreeSet::from(["14".to_owned()]));
        assert_eq!(outcome.needs, BTreeSet::from(["4+ CPUs required".to_owned()]));
        let steady = read_outcome("FAILED x\n7 test(s) PASSED, 1 test(s) FAILED\n").unwrap();
        assert_eq!((steady.passed, steady.failed, steady.skipped), (7, 1, 0));
        let stars = read_outcome("**********Test 5 FAILED**********\n1 tests passed, 1 failed, 0 skipped\n").unwrap();
        assert_eq!(stars.failures, BTreeSet::from(["5".to_owned()]));
        assert_eq!(read_outcome("Traceback\n"), None);
    }

    #[test]
    fn new_failures_and_fixed_tests_are_differences() {
        let table = expected("# why\nverify 1 2 # not yet\n\nverify 3\n");
        let outcome = Outcome {
            failures: ["2", "3", "9"].map(str::to_owned).into(),
            ..Outcome::default()
        };
        let lines = compare("verify", &outcome, table.get("verify"));
        assert_eq!(lines, ["verify 9: fails", "verify 1: passes now, take it out"]);
        assert!(compare("strided", &Outcome::default(), table.get("strided")).is_empty());
    }
}
