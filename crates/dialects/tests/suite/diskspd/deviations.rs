//! Intended differences from DiskSpd: `tests/deviations.toml` is complete and up to date.

use std::fs;
use std::path::{Path, PathBuf};

use crate::diskspd::support::DATA;

/// Root of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// An entry.
pub struct Deviation {
    pub id: String,
    pub about: String,
    pub theirs: String,
    pub ours: String,
    pub reason: String,
    pub cases: Vec<String>,
}

/// The entries for DiskSpd.
pub fn deviations() -> Vec<Deviation> {
    let text = fs::read_to_string(format!("{ROOT}/tests/deviations.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let entries = table["deviation"].as_array().unwrap();
    let text = |entry: &toml::Value, key: &str| {
        let value = entry.get(key).and_then(toml::Value::as_str);
        value
            .unwrap_or_else(|| panic!("{key} is missing in {entry}"))
            .to_string()
    };
    let of_diskspd = entries.iter().filter(|entry| text(entry, "tool") == "diskspd");
    of_diskspd
        .map(|entry| Deviation {
            id: text(entry, "id"),
            about: text(entry, "about"),
            theirs: text(entry, "theirs"),
            ours: text(entry, "ours"),
            reason: text(entry, "reason"),
            cases: entry["cases"]
                .as_array()
                .unwrap()
                .iter()
                .map(|case| case.as_str().unwrap().to_string())
                .collect(),
        })
        .collect()
}

/// The ids of the entries that name a case.
pub fn case_deviations(case: &str) -> Vec<String> {
    let entries = deviations().into_iter();
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
    let entries = deviations();
    let ids: std::collections::HashSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids.len(), entries.len(), "an id occurs twice");
    for entry in &entries {
        for text in [&entry.theirs, &entry.ours, &entry.reason] {
            assert!(text.ends_with('.'), "{}: {text}", entry.id);
        }
        for case in &entry.cases {
            assert!(Path::new(&format!("{DATA}/{case}")).is_dir(), "{}: {case}", entry.id);
        }
    }
}

#[test]
fn every_entry_is_mentioned_and_every_case_is_used() {
    let texts = texts_that_mention();
    let mentioned = |word: &str| texts.iter().any(|text| text.contains(word));
    for entry in deviations() {
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
