//! `docs/explain.md` explains every rule.

use std::fs;

/// The page also explains the findings of parsing.
const FINDINGS_OF_PARSING: &[&str] = &[
    "REPORT-TRUNCATED", "REPORT-EDITED", "REPORT-UNREAD", "RUN-INTERRUPTED", "DECIMAL-COMMA", "ENCODING",
    "OPTION-TYPO", "OPTION-DEPRECATED", "PCT-COMPLETION", "PCT-PER-CLONE", "SYNC-ENGINE", "JOB-FAILED", "JOBS-MERGED",
    "NOT-ADMISSIBLE",
];

#[test]
fn every_rule_is_explained() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/explain.md");
    let page = fs::read_to_string(path).expect("docs/explain.md");
    let rules = analysis::identities::RULES.iter().flat_map(|rule| rule.names);
    for name in rules.chain(FINDINGS_OF_PARSING) {
        assert!(
            page.contains(&format!("| `{name}` |")),
            "docs/explain.md does not explain {name}"
        );
    }
}
