//! Every finding has a section in the documents.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_rule_has_a_section_and_every_section_a_rule() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measuring.md");
    let text = fs::read_to_string(&path).expect("docs/measuring.md");
    let sections: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("### ")).collect();
    let rules: BTreeSet<&str> = analysis::checks::CHECKS
        .iter()
        .flat_map(|check| check.rules)
        .copied()
        .collect();
    let missing: Vec<_> = rules.difference(&sections).collect();
    let unknown: Vec<_> = sections.difference(&rules).collect();
    assert!(missing.is_empty(), "rules without a section: {missing:?}");
    assert!(unknown.is_empty(), "sections without a rule: {unknown:?}");
}

/// The page about rules is generated from the rules; `FATHOM_UPDATE=1` writes it.
#[test]
fn the_page_about_rules_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lint.md");
    let wanted = analysis::lint::page();
    if std::env::var_os("FATHOM_UPDATE").is_some() {
        fs::write(&path, &wanted).expect("written");
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == wanted,
        "docs/lint.md is not current: FATHOM_UPDATE=1 cargo test -p fathom-analysis --test documented"
    );
}
