//! Words that a reader has to read twice, and names that have a usual form.

use std::fs;

use crate::command::{output, root};

/// A word with what to write instead. In prose upper and lower case are the same.
const WORDS: [(&str, &str); 15] = [
    ("told", "report, print, notify"),
    ("whoever", "the user, the process, the caller"),
    ("somebody", "another user, another program"),
    ("nobody", "no user, no process"),
    ("so many", "a number, or the number of …"),
    ("goes on", "continues"),
    ("comes to grief", "fails"),
    ("in the words of", "in, as, with the syntax of"),
    ("carry_out", "execute, run"),
    ("fn of(", "from_…, for_…, parse_…"),
    ("fn look(", "check, detect, open"),
    ("MOST_", "MAX_"),
    ("LEAST_", "MIN_"),
    ("USUAL_", "DEFAULT_"),
    ("(given:", "args, options, or what it is"),
];

/// What was recorded from other tools, or has these words as its subject.
const EXEMPT: [&str; 3] = ["tests/data/", "tests/fuzz/corpus/", "xtask/src/check/words.rs"];

/// Looks for the words in every file of ours that has names or prose.
///
/// # Errors
/// Names each place and what to write there.
pub(super) fn check() -> Result<(), String> {
    let listed = output(
        std::process::Command::new("git")
            .current_dir(root())
            .args(["ls-files", "*.rs", "*.md", "*.toml", "*.html", "*.js"]),
    )?;
    let mut found = Vec::new();
    for file in listed
        .lines()
        .filter(|file| !EXEMPT.iter().any(|part| file.contains(part)))
    {
        let text = fs::read_to_string(root().join(file)).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            let words = WORDS.iter().filter(|(word, _)| has_word(line, word));
            found.extend(words.map(|(word, better)| format!("{file}:{}: `{word}`: write {better}", number + 1)));
        }
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!("{} unwanted words\n{}", found.len(), found.join("\n"))),
    }
}

/// The word is not part of a longer one; one that ends with `_` begins a name.
fn has_word(line: &str, word: &str) -> bool {
    let is_letter = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let lower = line.to_lowercase();
    let line = if word == word.to_lowercase() {
        lower.as_str()
    } else {
        line
    };
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
        let begins = word.starts_with('(') || !is_letter(before);
        begins && (word.ends_with(['_', '(', ':']) || !is_letter(after))
    })
}

#[test]
fn a_word_is_found_only_where_it_stands_by_itself() {
    assert!(has_word("Whoever reads", "whoever") && has_word("const MOST_ROWS: u32", "MOST_"));
    assert!(has_word("fn of(x: u8)", "fn of(") && has_word("fn f(given: u8)", "(given:"));
    assert!(!has_word("ALMOST_ALL", "MOST_") && !has_word("as_nobody", "nobody"));
}

#[test]
fn unwanted_words_do_not_come_back() {
    check().unwrap();
}
