//! Runs the program under the name `diskspd`, and reads the recordings of DiskSpd itself.

use crate::prelude::*;
pub use crate::sandbox::split_words;

/// The line before [`RUN_FAILED`] if a thread failed.
pub const THREADS_FAILED: &str = "There has been an error during threads execution";
/// The last line of a run that failed.
pub const RUN_FAILED: &str = "Error generating I/O requests";
/// Replaces the figures of the report if nothing was measured.
pub const NOT_MEASURED: &str = "The test was interrupted before the measurements began. No results are displayed.\n";
/// Recordings of DiskSpd 2.2.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/diskspd");

/// A folder to run in.
pub type Sandbox = sandbox::Sandbox<sandbox::Diskspd>;

/// Lines of stderr, without those that fathom adds.
pub fn diskspd_lines(stderr: &str) -> Vec<&str> {
    let ours = |line: &&str| line.starts_with("hint: ") || line.starts_with("note: ");
    stderr.lines().filter(|line| !ours(line)).collect()
}

pub fn arguments(case: &Path) -> Vec<String> {
    let text = fs::read_to_string(case.join("argv.txt")).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// The folders of recorded cases of a kind, in order.
pub fn cases(kind: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("{DATA}/{kind}")).unwrap();
    let mut cases: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    cases.sort();
    cases
}

pub fn name(case: &Path) -> &str {
    case.file_name().unwrap().to_str().unwrap()
}

/// Reads a file that must exist.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fails at the first line that differs, with some lines around it.
#[track_caller]
pub fn assert_same_lines<A: AsRef<str>, B: AsRef<str>>(label: &str, expected: &[A], found: &[B]) {
    let expected: Vec<&str> = expected.iter().map(AsRef::as_ref).collect();
    let found: Vec<&str> = found.iter().map(AsRef::as_ref).collect();
    let differ = |number: &usize| expected.get(*number) != found.get(*number);
    let Some(first) = (0..expected.len().max(found.len())).find(differ) else {
        return;
    };
    let context = |lines: &[&str]| {
        let from = first.saturating_sub(3).min(lines.len());
        lines[from..lines.len().min(first + 4)].join("\n")
    };
    panic!(
        "{label}, line {}\n--- expected\n{}\n--- found\n{}",
        first + 1,
        context(&expected),
        context(&found)
    );
}

/// Runs a line that must fail soon, and checks its output. The exit code is 1, and the report on
/// stdout has no figures.
#[track_caller]
pub fn check_failed(sandbox: &Sandbox, line: &str, expected: &[&str]) -> Ran {
    let began = Instant::now();
    let ran = sandbox.noted(line);
    let took = began.elapsed();
    assert!(
        took < Duration::from_secs(8),
        "{line}: it waited for the end of the test"
    );
    assert_eq!(ran.code, Some(1), "{line}: {ran:#?}");
    let mut expected = expected.to_vec();
    let is_xml = line.contains("-Rxml");
    if is_xml {
        expected.push("");
    }
    expected.push(RUN_FAILED);
    assert_same_lines(line, &expected, &diskspd_lines(&ran.err));
    if is_xml {
        assert!(ran.out.contains("  <TimeSpan>\n    <Error>"), "{line}: {}", ran.out);
    } else {
        let echo = format!("\nCommand Line: diskspd.exe {line}\n\nInput parameters:\n");
        ran.out.assert_contains(&[&echo, "\nSystem information:\n"]);
        let end = format!("{}\n{NOT_MEASURED}", "*".repeat(79));
        assert!(ran.out.ends_with(&end), "{line}: {}", ran.out);
    }
    ran
}
