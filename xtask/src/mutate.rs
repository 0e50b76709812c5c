//! `cargo xtask mutate fio`: blanks each reading of an option in `fio/lower` and `fio/plan`, and
//! checks that the effects of the rows (`crates/dialects/tests/suite/fio/effects.rs`) fail.
//!
//! The sources are copied below `target/mutate`. There every reading of an option `queue.iodepth`
//! becomes `(*blank(17, &queue.iodepth, |options| &options.queue.iodepth))`, which yields the
//! built-in default if the environment names number 17, and the option otherwise. So one build
//! serves all of them, and each run takes a fraction of a second.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::command::{cannot, cargo, read, root, run, write};

/// Where options are read. `blank` goes into the first.
const READERS: [&str; 2] = ["crates/dialects/src/fio/lower", "crates/dialects/src/fio/plan"];
const OPTIONS: &str = "crates/dialects/src/fio/options";

/// The function that blanks the selected reading.
const BLANK: &str = r#"
/// The default instead of the option, if the environment selects it.
pub(super) fn blank<'a, T>(
    number: u32,
    option: &'a T,
    default: for<'d> fn(&'d super::options::JobOptions) -> &'d T,
) -> &'a T {
    use std::sync::LazyLock;
    static WHICH: LazyLock<Option<u32>> =
        LazyLock::new(|| std::env::var("FATHOM_MUTANT").ok().and_then(|text| text.parse().ok()));
    static DEFAULTS: LazyLock<&'static super::options::JobOptions> =
        LazyLock::new(|| Box::leak(Box::new(super::options::JobOptions::new())));
    match *WHICH == Some(number) {
        true => default(*DEFAULTS),
        false => option,
    }
}
"#;

/// A reading of an option.
struct Site {
    file: String,
    line: usize,
    text: String,
}

/// Runs `cargo xtask mutate`.
pub(crate) fn mutate(words: &[String]) -> Result<(), String> {
    match words {
        [only] if only == "fio" => fio(),
        _ => Err("usage: cargo xtask mutate fio".into()),
    }
}

fn fio() -> Result<(), String> {
    let copy = root().join("target/mutate/tree");
    copy_tree(&copy)?;
    let fields = fields(&copy.join(OPTIONS))?;
    let mut sites = Vec::new();
    for folder in READERS {
        for path in sources(&copy.join(folder))? {
            let text = read(&path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let mut changed = with_blanks(&name, &text, &fields, &mut sites);
            if folder == READERS[0] && name == "mod.rs" {
                changed.push_str(BLANK);
            }
            write(&path, &changed)?;
        }
    }
    let program = build(&copy)?;
    run(&mut effects_test(&program, &copy))?;
    println!("| line | reading | noticed |\n| --- | --- | --- |");
    let mut missed = 0;
    for (number, site) in sites.iter().enumerate() {
        let noticed = fails(effects_test(&program, &copy).env("FATHOM_MUTANT", number.to_string()))?;
        missed += usize::from(!noticed);
        let answer = if noticed { "yes" } else { "**no**" };
        println!("| {}:{} | `{}` | {answer} |", site.file, site.line, site.text);
    }
    println!("\n{} readings, {missed} of them not noticed", sites.len());
    match missed {
        0 => Ok(()),
        _ => Err(format!("{missed} readings of options are not covered by a test")),
    }
}

/// Builds the tests of fio's dialect and returns the path of the test program.
fn build(copy: &Path) -> Result<PathBuf, String> {
    let mut command = cargo();
    command
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", root().join("target/mutate/build"))
        .args(["test", "-p", "fathom-dialects", "--test", "suite", "--no-run"]);
    eprintln!("building {}", copy.display());
    let built = command.output().map_err(|error| error.to_string())?;
    let errors = String::from_utf8_lossy(&built.stderr);
    // The last line is `Executable tests/suite/main.rs (PATH)`.
    let program = errors.lines().rev().find(|line| line.contains("Executable"));
    let program = program
        .and_then(|line| line.split_once('('))
        .map(|(_, rest)| rest.trim_end_matches(')'));
    match (built.status.success(), program) {
        (true, Some(program)) => Ok(copy.join(program)),
        _ => Err(format!("the changed sources do not build\n{errors}")),
    }
}

fn effects_test(program: &Path, copy: &Path) -> Command {
    let mut command = Command::new(program);
    // The folder in which Cargo runs tests.
    command
        .current_dir(copy.join("crates/dialects"))
        .args(["-q", "fio::effects::every"]);
    command
}

fn fails(command: &mut Command) -> Result<bool, String> {
    let ended = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    ended.map(|status| !status.success()).map_err(|error| error.to_string())
}

/// Copies all versioned files, so that paths between crates work.
fn copy_tree(to: &Path) -> Result<(), String> {
    let listed = crate::command::output(Command::new("git").current_dir(root()).args(["ls-files"]))?;
    for name in listed.lines() {
        let (from, to) = (root().join(name), to.join(name));
        let Ok(bytes) = fs::read(&from) else { continue };
        // Unchanged files keep their modification time, so that little is rebuilt.
        if fs::read(&to).is_ok_and(|there| there == bytes) {
            continue;
        }
        let folder = to.parent().unwrap_or(&to);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&to, &bytes))
            .map_err(cannot("write", &to))?;
    }
    Ok(())
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(cannot("read", folder))?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    paths.sort();
    Ok(paths)
}

/// Maps every field to its group: `iodepth` to `queue`.
fn fields(options: &Path) -> Result<HashMap<String, String>, String> {
    let mut fields = HashMap::new();
    for path in sources(options)? {
        let group = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if ["mod", "typed"].contains(&group.as_str()) {
            continue;
        }
        let text = read(&path)?;
        // The first struct has the values.
        let body = text
            .split_once("pub struct ")
            .and_then(|(_, rest)| rest.split_once("\n}"))
            .map_or("", |(body, _)| body);
        for line in body.lines() {
            let field = line.trim().strip_prefix("pub ").and_then(|rest| rest.split_once(':'));
            if let Some((field, _)) = field {
                fields.insert(field.to_owned(), group.clone());
            }
        }
    }
    Ok(fields)
}

/// Wraps every reading of an option.
fn with_blanks(file: &str, text: &str, fields: &HashMap<String, String>, sites: &mut Vec<Site>) -> String {
    let mut changed = String::new();
    let mut at = 0;
    while let Some((from, to)) = next_path(text, at) {
        changed.push_str(&text[at..from]);
        let path = &text[from..to];
        at = to;
        match find_option_group(path, &text[to..], fields) {
            Some((group, end)) => {
                let (reading, rest) = path.split_at(end);
                let plain: String = reading.split_whitespace().collect();
                let field = plain.rsplit('.').next().unwrap_or_default().to_owned();
                let number = sites.len();
                changed.push_str(&format!(
                    "(*crate::fio::lower::blank({number}, &{plain}, |options| &options.{group}.{field})){rest}"
                ));
                sites.push(Site {
                    file: file.into(),
                    line: text[..from].lines().count(),
                    text: plain,
                });
            }
            None => changed.push_str(path),
        }
    }
    changed.push_str(&text[at..]);
    changed
}

/// Finds the next `one.two[three].four`, including blanks and line ends before its dots.
fn next_path(text: &str, start: usize) -> Option<(usize, usize)> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let from = start + text[start..].find(|letter: char| letter.is_alphabetic() || letter == '_')?;
    let mut to = from
        + text[from..]
            .find(|letter| !is_word(letter))
            .unwrap_or(text.len() - from);
    loop {
        let rest = &text[to..];
        if rest.starts_with('[') {
            match rest.find(']') {
                Some(end) if rest[..end].lines().count() == 1 => to += end + 1,
                _ => return Some((from, to)),
            }
            continue;
        }
        let trimmed = rest.trim_start();
        let Some(after) = trimmed.strip_prefix('.') else {
            return Some((from, to));
        };
        let length = after.find(|letter| !is_word(letter)).unwrap_or(after.len());
        let called = after[length..].starts_with(['(', ':']);
        if length == 0 || called || !after.starts_with(|letter: char| letter.is_alphabetic()) {
            return Some((from, to));
        }
        to += rest.len() - after.len() + length;
    }
}

/// The group of the option that a path reads, and the length of the path up to it.
fn find_option_group(path: &str, behind: &str, fields: &HashMap<String, String>) -> Option<(String, usize)> {
    // Names of aliases for groups, in addition to the groups' names.
    const ALIASES: [&str; 2] = ["options", "own"];
    let mut before: Option<&str> = None;
    let mut at = 0;
    for piece in path.split_inclusive(['.', '[']) {
        let word = piece.trim_end_matches(['.', '[']).trim();
        at += piece.trim_end_matches(['.', '[']).len();
        if let Some(group) = before.and_then(|_| fields.get(word)) {
            let last = before.unwrap_or_default();
            let is_group = fields.values().any(|known| known == word);
            let fits = last == group || !is_group && ALIASES.contains(&last);
            let called = at == path.len() && behind.starts_with('(');
            if fits && !called {
                return Some((group.clone(), at));
            }
        }
        before = Some(word);
        at += piece.len() - piece.trim_end_matches(['.', '[']).len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_readings_are_wrapped() {
        let fields = HashMap::from(
            [
                ("bs", "pattern"),
                ("verify", "verify"),
                ("pace", "none"),
                ("rate", "pace"),
            ]
            .map(|(field, group)| (field.to_owned(), group.to_owned())),
        );
        let check = |text: &str, expected: &str| {
            assert_eq!(with_blanks("a.rs", text, &fields, &mut Vec::new()), expected);
        };
        let blank = |reading: &str, place: &str| {
            format!("(*crate::fio::lower::blank(0, &{reading}, |options| &options.{place}))")
        };
        check(
            "pattern.bs[direction] == 1",
            &format!("{}[direction] == 1", blank("pattern.bs", "pattern.bs")),
        );
        check(
            "&options.verify.verify;",
            &format!("&{};", blank("options.verify.verify", "verify.verify")),
        );
        check(
            "options\n    .pace\n    .rate\n    .map(f)",
            &format!("{}\n    .map(f)", blank("options.pace.rate", "pace.rate")),
        );
        for text in ["options.verify;", "found.bs", "verify: verify(options)", "job.verify()"] {
            check(text, text);
        }
    }
}
