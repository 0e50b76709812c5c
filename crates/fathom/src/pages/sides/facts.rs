//! What compared results share, and where they differ.

use analysis::compare::{Difference, Fact};
use report::html::page::{Block, Section, Table};

/// Builds the table of differences in the environment.
pub(super) fn differences_block(files: &[String], differences: &[Difference]) -> Block {
    let rows = differences.iter().map(|difference| {
        let values = difference.values.iter();
        let values = values.map(|value| value.clone().unwrap_or_else(|| "not known".into()));
        std::iter::once(difference.name.clone()).chain(values).collect()
    });
    let rows: Vec<Vec<String>> = rows.collect();
    match rows.is_empty() {
        true => Block::Text("The results have the same machine and settings.".into()),
        false => Block::Table(Table {
            caption: "Differences between the environments".into(),
            head: std::iter::once(String::new()).chain(files.iter().cloned()).collect(),
            rows,
        }),
    }
}

/// Facts that state others more exactly, shown only if they differ.
const EXACT_FACTS: [&str; 5] = ["positions", "block sizes", "mix", "caches", "pacing"];

/// Builds the folded section of the facts that all results share.
pub(super) fn shared_facts(facts: &[Vec<Fact>]) -> Option<Section> {
    let first = facts.first()?;
    let is_shared = |fact: &&Fact| !EXACT_FACTS.contains(&&*fact.name) && facts.iter().all(|side| side.contains(fact));
    let rows = first.iter().filter(is_shared);
    let rows: Vec<(String, String)> = rows.map(|fact| (fact.name.clone(), fact.value.clone())).collect();
    const TITLE: &str = "Settings and environment that all results share";
    (!rows.is_empty()).then(|| Section {
        title: TITLE.into(),
        folded: true,
        blocks: vec![Block::Table(Table::from_pairs(TITLE, rows))],
        ..Section::default()
    })
}
