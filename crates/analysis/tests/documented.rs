//! Every finding that a user can meet is explained where the text of the checks says that it is.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_rule_has_a_section_and_every_section_a_rule() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measuring.md");
    let text = fs::read_to_string(&path).expect("the document is there");
    let sections: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let rules: BTreeSet<&str> = analysis::checks::CHECKS
        .iter()
        .flat_map(|check| check.rules)
        .copied()
        .collect();
    let missing: Vec<_> = rules.difference(&sections).collect();
    let unknown: Vec<_> = sections.difference(&rules).collect();
    assert!(missing.is_empty(), "rules without a section: {missing:?}");
    assert!(unknown.is_empty(), "sections of no rule: {unknown:?}");
}

/// The page about rules is generated from them: `FATHOM_UPDATE=1` writes it.
#[test]
fn the_page_about_rules_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lint.md");
    let wanted = analysis::lint::page();
    if std::env::var_os("FATHOM_UPDATE").is_some() {
        fs::write(&path, &wanted).expect("the folder is there");
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == wanted,
        "docs/lint.md is not current: FATHOM_UPDATE=1 cargo test -p fathom-analysis --test documented"
    );
}

/// The page about what was asked for leaves nothing out, and the files that it names are there.
#[test]
fn the_page_about_requirements_is_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/requirements.md")).expect("the document is there");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| ") && line[2..].starts_with(|c: char| c.is_ascii_digit()))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let numbers: Vec<usize> = rows.iter().filter_map(|row| row[0].parse().ok()).collect();
    assert_eq!(numbers, (1..=148).collect::<Vec<_>>());
    for row in &rows {
        assert_eq!(row.len(), 5, "{row:?}");
        assert!(row.iter().all(|cell| !cell.is_empty()), "{row:?}");
        assert!(["done", "partly", "later", "cannot"].contains(&row[2]), "{row:?}");
        // What is done is held by a test.
        assert!(row[2] != "done" || row[4].contains('/'), "{row:?}");
        let named = row[3..].iter().flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let is_path = |word: &&str| word.contains('/') && !word.contains([' ', '\\', '<', '=']);
        for path in named.filter(is_path) {
            assert!(root.join(path).exists(), "requirement {}: {path} is not there", row[0]);
        }
    }
}
