//! The program under the name `diskspd`, and what was recorded from that tool.

use std::fs;
use std::path::{Path, PathBuf};

pub use crate::place::words;
use crate::place::{self, Tool};

/// What was recorded from DiskSpd 2.2.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/diskspd");

/// DiskSpd.
pub struct Diskspd;

impl Tool for Diskspd {
    const NAME: &'static str = "diskspd";
    const CALLED: &'static str = "diskspd.exe";
    const ENVIRONMENT: &'static [(&'static str, &'static str)] = &[];
}

/// A folder to run in.
pub type Place = place::Place<Diskspd>;

/// Lines of stderr, without what is ours.
pub fn theirs(stderr: &str) -> Vec<&str> {
    let ours = |line: &&str| line.starts_with("hint: ") || line.starts_with("note: ");
    stderr.lines().filter(|line| !ours(line)).collect()
}

/// The arguments of a recorded case.
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

/// What is needed of the text of a file, which is there.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Fails at the first line that differs, with some lines around it.
#[track_caller]
pub fn same_lines<A: AsRef<str>, B: AsRef<str>>(what: &str, expected: &[A], found: &[B]) {
    let expected: Vec<&str> = expected.iter().map(AsRef::as_ref).collect();
    let found: Vec<&str> = found.iter().map(AsRef::as_ref).collect();
    let differ = |number: &usize| expected.get(*number) != found.get(*number);
    let Some(first) = (0..expected.len().max(found.len())).find(differ) else {
        return;
    };
    let around = |lines: &[&str]| {
        let from = first.saturating_sub(3).min(lines.len());
        lines[from..lines.len().min(first + 4)].join("\n")
    };
    panic!(
        "{what}, line {}\n--- expected\n{}\n--- found\n{}",
        first + 1,
        around(&expected),
        around(&found)
    );
}
