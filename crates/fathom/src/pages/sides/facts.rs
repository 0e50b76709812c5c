//! What compared results share, and where they differ.

use analysis::compare::{Difference, Fact, INVALIDATING_FINDINGS};
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
    let is_read_only = first.iter().any(|fact| fact.name == "mix" && fact.value == "reads");
    // A load that only reads writes no contents, and the verdict names other findings.
    let means_nothing = |fact: &Fact| {
        fact.name == "written contents" && is_read_only || fact.name == INVALIDATING_FINDINGS && fact.value == "none"
    };
    let is_shared = |fact: &&Fact| {
        !EXACT_FACTS.contains(&&*fact.name) && !means_nothing(fact) && facts.iter().all(|side| side.contains(fact))
    };
    let rows = first.iter().filter(is_shared);
    let rows: Vec<(String, String)> = rows.map(|fact| (fact.name.clone(), fact.value.clone())).collect();
    const TITLE: &str = "Settings and environment that all results share";
    (!rows.is_empty()).then(|| Section::folded(TITLE, vec![Block::Table(Table::from_pairs(TITLE, rows))]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::compare::FactKind;

    #[test]
    fn facts_without_a_meaning_are_left_out() {
        let facts = |mix: &str| {
            let pairs = [
                ("mix", mix),
                ("written contents", "fresh"),
                (INVALIDATING_FINDINGS, "none"),
                ("in flight", "8"),
            ];
            let facts = pairs.map(|(name, value)| Fact {
                name: name.into(),
                value: value.into(),
                kind: FactKind::Load,
            });
            vec![facts.to_vec()]
        };
        let names = |mix: &str| -> Vec<String> {
            let section = shared_facts(&facts(mix)).unwrap();
            let [Block::Table(table)] = &section.blocks[..] else {
                panic!("{section:?}")
            };
            table.rows.iter().map(|row| row[0].clone()).collect()
        };
        assert_eq!(names("reads"), ["in flight"]);
        assert_eq!(names("exactly 30 % writes"), ["written contents", "in flight"]);
    }
}
