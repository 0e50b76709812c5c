//! `cargo xtask docs`: checks links and command lines of the documents, and builds the book.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::{output, root, run};

const SUMMARY: &str = "docs/SUMMARY.md";
/// Folder of the golden help texts, which a test compares with the program.
const HELP: &str = "crates/fathom/tests/golden";
/// After these words, options belong to a dialect, as in `fathom convert --to fio diskspd …`.
const DIALECTS: [&str; 5] = ["fio", "diskspd", "vdbench", "iometer", "native"];

/// Checks every document, and builds the book if `mdbook` is installed.
///
/// # Errors
/// Lists broken links, pages that the book lacks, and unknown options.
pub(crate) fn docs(_: &[String]) -> Result<(), String> {
    let listed = output(Command::new("git").current_dir(root()).args(["ls-files", "*.md"]))?;
    let pages = listed
        .lines()
        .filter(|page| !page.contains('/') || page.starts_with("docs/"));
    let summary = read(SUMMARY)?;
    let mut faults = Vec::new();
    for page in pages {
        let text = read(page)?;
        faults.extend(broken_links(page, &text));
        faults.extend(unknown_options(page, &text));
        let name = page.strip_prefix("docs/").filter(|name| *name != "SUMMARY.md");
        let is_missing = name.is_some_and(|name| !summary.contains(&format!("({name})")));
        faults.extend(is_missing.then(|| format!("{page}: not in {SUMMARY}")));
    }
    if !faults.is_empty() {
        return Err(faults.join("\n"));
    }
    match Command::new("mdbook").arg("--version").output() {
        Ok(_) => run(Command::new("mdbook").current_dir(root()).arg("build")),
        Err(_) => {
            eprintln!("mdbook is not installed: the book is not built");
            Ok(())
        }
    }
}

fn read(page: &str) -> Result<String, String> {
    fs::read_to_string(root().join(page)).map_err(|error| format!("cannot read {page}: {error}"))
}

/// Links to files and headings that do not exist.
fn broken_links(page: &str, text: &str) -> Vec<String> {
    let folder = root().join(page).parent().unwrap_or(Path::new("")).to_owned();
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    let is_broken = |target: &&str| {
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        let path = if file.is_empty() {
            root().join(page)
        } else {
            folder.join(file)
        };
        let has_heading = || {
            let text = fs::read_to_string(&path).unwrap_or_default();
            text.lines().any(|line| line.starts_with('#') && slug(line) == heading)
        };
        !path.exists() || !(heading.is_empty() || has_heading())
    };
    let ours = targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"));
    ours.filter(is_broken)
        .map(|target| format!("{page}: broken link {target}"))
        .collect()
}

/// The anchor of a heading, as GitHub and mdBook make it.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Subcommands and long options that the help of the program does not name.
fn unknown_options(page: &str, text: &str) -> Vec<String> {
    let shell = text.lines().filter_map(|line| line.strip_prefix("$ fathom "));
    let inline = text.split("`fathom ").skip(1).filter_map(|rest| rest.split('`').next());
    let mut faults = Vec::new();
    for line in shell.chain(inline) {
        let mut words = line
            .split_whitespace()
            .take_while(|word| !["|", "#", "&&"].contains(word));
        let command = words.next().unwrap_or_default();
        if DIALECTS.contains(&command) || command.starts_with('-') || command == "help" || line.contains(" -- ") {
            continue;
        }
        let nested = words.clone().next().unwrap_or_default();
        let help = read(&format!("{HELP}/{command}_{nested}_help.txt"));
        let Ok(help) = help.or_else(|_| read(&format!("{HELP}/{command}_help.txt"))) else {
            faults.push(format!("{page}: `fathom {line}`: no help of `{command}`"));
            continue;
        };
        let words = words.take_while(|word| !DIALECTS.contains(word));
        let options = words.filter_map(|word| word.strip_prefix("--")).map(|word| {
            let end = word
                .find(|c: char| !(c.is_alphanumeric() || c == '-'))
                .unwrap_or(word.len());
            &word[..end]
        });
        let unknown =
            options.filter(|name| !name.is_empty() && *name != "help" && !help.contains(&format!("--{name}")));
        faults.extend(unknown.map(|name| format!("{page}: `fathom {line}`: no option --{name}")));
    }
    faults
}

#[test]
fn an_unknown_option_and_a_missing_page_are_errors() {
    assert_eq!(unknown_options("x", "`fathom run a.toml --no-such-option`").len(), 1);
    assert!(unknown_options("x", "`fathom run a.toml --dry-run`").is_empty());
    assert_eq!(
        broken_links("docs/x.md", "[a](no-such.md) [b](fio.md#no-such) [c](fio.md)").len(),
        2
    );
}
