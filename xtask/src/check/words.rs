//! Checks for unclear words, unconventional names, and lines of prose that are too wide.

use std::fs;

use crate::command::{output, root};

/// A word, with what to write instead. Case is ignored in prose.
const WORDS: [(&str, &str); 18] = [
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
    ("const MOST:", "MAX_…, or what it is the most of"),
    ("const LEAST:", "MIN_…, or what it is the least of"),
    ("const LONGEST:", "MAX_…, with what is limited"),
    ("LEAST_", "MIN_"),
    ("USUAL_", "DEFAULT_"),
    ("(given:", "args, options, or what it is"),
];

/// Recorded data of other tools, and files about these words.
const EXEMPT: [&str; 3] = ["tests/data/", "tests/fuzz/corpus/", "xtask/src/check/words.rs"];

/// Columns of a line of prose, in comments and documents.
const PROSE_WIDTH: usize = 100;

/// Checks every file with names or prose.
///
/// # Errors
/// Lists each place, with what to write there.
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
        let wide = wide_lines(file, &text).into_iter();
        found.extend(wide.map(|number| format!("{file}:{number}: wrap the line at {PROSE_WIDTH} columns")));
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{} unwanted words or wide lines\n{}",
            found.len(),
            found.join("\n")
        )),
    }
}

/// True if a line has the word, not as part of a longer one. A word that ends with `_` is a prefix
/// of a name.
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

/// Numbers of the lines of prose that are too wide and could be broken: not lines of code, tables
/// and headings.
fn wide_lines(file: &str, text: &str) -> Vec<usize> {
    let is_rust = file.ends_with(".rs");
    // Generated pages have lines of tables, and records of measurements have command lines.
    let is_generated = text.lines().take(12).any(|line| line.starts_with("<!--"));
    if !is_rust && (!file.ends_with(".md") || is_generated || file.starts_with("bench/runs/")) {
        return Vec::new();
    }
    let mut in_code = false;
    let is_wide = |(number, line): (usize, &str)| {
        let comment = line.trim_start().strip_prefix("//");
        let Some(prose) = (if is_rust { comment } else { Some(line) }) else {
            in_code = false;
            return None;
        };
        let prose = prose.trim_start_matches(['/', '!', ' ']);
        in_code ^= prose.starts_with("```");
        let is_prose = !in_code && !prose.starts_with(['|', '#', '<']) && (is_rust || !line.starts_with("    "));
        (is_prose && line.chars().count() > PROSE_WIDTH && can_be_broken(line)).then_some(number + 1)
    };
    text.lines().enumerate().filter_map(is_wide).collect()
}

/// True if the line has a space between two words within the width. Code and links count as one
/// word.
fn can_be_broken(line: &str) -> bool {
    let is_first_of_word = |letter: char| letter.is_alphanumeric() || "`[(“\"".contains(letter);
    let start = line.find(is_first_of_word).unwrap_or(line.len());
    let (mut in_code, mut open) = (false, 0_i32);
    for (column, letter) in line.chars().take(PROSE_WIDTH).enumerate() {
        match letter {
            '`' => in_code = !in_code,
            '[' if !in_code => open += 1,
            ']' if !in_code => open -= 1,
            ' ' if !in_code && open <= 0 && column > start => return true,
            _ => {}
        }
    }
    false
}

#[test]
fn only_prose_that_can_be_broken_is_too_wide() {
    let words = "word ".repeat(30);
    let wide = |file: &str, text: &str| wide_lines(file, text);
    assert_eq!(wide("a.rs", &format!("let a;\n// {words}\n/// - `{words}`\n")), [2]);
    assert_eq!(
        wide(
            "a.md",
            &format!("{words}\n```\n{words}\n```\n| {words}\n# {words}\n- {words}")
        ),
        [1, 7]
    );
    assert_eq!(wide("a.toml", &words), [0_usize; 0]);
}

#[test]
fn a_word_is_found_only_if_it_is_a_whole_word() {
    assert!(has_word("Whoever reads", "whoever") && has_word("const MOST_ROWS: u32", "MOST_"));
    assert!(has_word("fn of(x: u8)", "fn of(") && has_word("fn f(given: u8)", "(given:"));
    assert!(!has_word("ALMOST_ALL", "MOST_") && !has_word("as_nobody", "nobody"));
}

#[test]
fn unwanted_words_do_not_return() {
    check().unwrap();
}
