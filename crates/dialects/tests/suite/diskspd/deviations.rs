//! Intended differences from DiskSpd: `tests/deviations.toml` is complete and up to date.

use std::fs;
use std::path::{Path, PathBuf};

use crate::diskspd::support::DATA;
use crate::pages::{ROOT, deviations};

/// The ids of the entries that name a case.
pub fn case_deviations(case: &str) -> Vec<String> {
    let entries = deviations("diskspd").into_iter();
    let named = entries.filter(|entry| entry.cases.iter().any(|named| named == case));
    named.map(|entry| entry.id).collect()
}

/// The texts of all tests, which use the cases of other groups, and of the handwritten pages.
fn texts_that_mention() -> Vec<String> {
    let mut files = Vec::new();
    for folder in ["crates", "docs"] {
        collect(&Path::new(ROOT).join(folder), &mut files);
    }
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let kind = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            collect(&path, files);
        } else if matches!(kind, Some("rs" | "md")) {
            files.push(path);
        }
    }
}

#[test]
fn entries_are_complete_and_their_cases_exist() {
    for entry in deviations("diskspd") {
        for case in &entry.cases {
            assert!(Path::new(&format!("{DATA}/{case}")).is_dir(), "{}: {case}", entry.id);
        }
    }
}

#[test]
fn every_entry_is_mentioned_and_every_case_is_used() {
    let texts = texts_that_mention();
    let mentioned = |word: &str| texts.iter().any(|text| text.contains(word));
    for entry in deviations("diskspd") {
        assert!(
            mentioned(&format!("`{}`", entry.id)),
            "{} is mentioned nowhere",
            entry.id
        );
        // Cases of profiles are used by the golden tests next to this file, which also report
        // unneeded ones.
        for case in entry.cases.iter().filter(|case| !case.starts_with("profiles/")) {
            let name = case.rsplit('/').next().unwrap();
            assert!(mentioned(&format!("\"{name}\"")), "{}: no test uses {case}", entry.id);
        }
    }
}
