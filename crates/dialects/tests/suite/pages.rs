//! What the tests of generated pages share: the comparison, and the deviations from other tools.

use std::collections::HashSet;
use std::fs;

/// Root of the repository.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Compares a page of `docs` with its text, which `FATHOM_UPDATE=1` writes first.
#[track_caller]
pub fn check_page(name: &str, page: &str) {
    let path = format!("{ROOT}/docs/{name}");
    if std::env::var_os("FATHOM_UPDATE").is_some() {
        fs::write(&path, page).unwrap();
    }
    let current = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        current == page,
        "docs/{name} is outdated; regenerate it with FATHOM_UPDATE=1"
    );
}

/// An entry of `tests/deviations.toml`.
pub struct Deviation {
    pub id: String,
    /// What differs, the tool's way, fathom's way, and the reason.
    pub cells: [String; 4],
    pub cases: Vec<String>,
}

/// The entries for a tool, which are complete.
pub fn deviations(tool: &str) -> Vec<Deviation> {
    let text = fs::read_to_string(format!("{ROOT}/tests/deviations.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let text = |entry: &toml::Value, key: &str| {
        let value = entry.get(key).and_then(toml::Value::as_str);
        value
            .unwrap_or_else(|| panic!("{key} is missing in {entry}"))
            .to_owned()
    };
    let of_tool = table["deviation"].as_array().unwrap().iter();
    let of_tool = of_tool.filter(|entry| text(entry, "tool") == tool);
    let cases = |entry: &toml::Value| entry["cases"].as_array().unwrap().clone();
    let entries: Vec<Deviation> = of_tool
        .map(|entry| Deviation {
            id: text(entry, "id"),
            cells: ["about", "theirs", "ours", "reason"].map(|key| text(entry, key)),
            cases: cases(entry)
                .iter()
                .map(|case| case.as_str().unwrap().to_owned())
                .collect(),
        })
        .collect();
    let ids: HashSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert!(!entries.is_empty() && ids.len() == entries.len(), "an id occurs twice");
    for entry in &entries {
        let mut sentences = entry.cells[1..].iter();
        assert!(
            sentences.all(|cell| cell.ends_with('.')),
            "{}: a sentence ends with a full stop",
            entry.id
        );
    }
    entries
}

/// The rows of the table of deviations in a page.
pub fn deviations_as_table(tool: &str, name: &str) -> String {
    let rows = deviations(tool).into_iter().map(|entry| {
        let [about, theirs, ours, reason] = entry.cells.map(|cell| cell.replace('|', "\\|"));
        format!("\n| {about} (`{}`) | {theirs} | {ours} | {reason} |", entry.id)
    });
    format!(
        "| what | {name} | fathom | why |\n| --- | --- | --- | --- |{}",
        rows.collect::<String>()
    )
}
