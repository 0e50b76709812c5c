//! Tests that every command and option in fathom's texts exists.
//!
//! The texts are the string literals of all crates and the pages for users. A command line is
//! `fathom` with its arguments in backquotes, at the start of a line, or after a prompt; it must
//! match the clap commands. Any other `--option` must belong to a command, to fio (in lines about
//! fio also as a job option), or to another program on the same line. If the commands that print a
//! text are known, each of them must have the options that the text names alone, because the reader
//! adds them to the command that was run. Values of job options are parsed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;
use dialects::native::{self, JobSpec};
use dialects::{Location, fio};

/// Programs whose options occur in the pages.
const OTHER_PROGRAMS: [&str; 4] = ["cargo ", "losetup ", "mpirun ", "srun "];

/// Sources of texts, with the commands that print them.
const PRINTED_BY: [(&str, &[&str]); 6] = [
    ("crates/analysis/src/diagnosis/", &["run", "verify", "explain"]),
    ("crates/analysis/src/verdict/", &["verify"]),
    ("crates/study/src/verify/", &["verify"]),
    ("crates/fathom/src/commands/verify/", &["verify"]),
    ("crates/study/src/sweep/", &["sweep"]),
    ("crates/fathom/src/commands/sweep/", &["sweep"]),
];

/// A text with its place, for messages.
struct Text {
    place: String,
    text: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Lists the files below a directory whose names end with `end`.
fn list_files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(list_files(&path, end));
        } else if path.to_string_lossy().ends_with(end) {
            files.push(path);
        }
    }
    files.sort();
    files
}

fn collect_texts() -> Vec<Text> {
    let root = repository();
    let read = |path: &Path| fs::read_to_string(path).expect("the repository holds text");
    let name = |path: &Path| path.strip_prefix(&root).unwrap_or(path).display().to_string();
    let mut texts = Vec::new();
    for path in list_files(&root.join("crates"), ".rs") {
        // Tests contain words that must be refused.
        let shown = name(&path);
        let is_test = shown.ends_with("tests.rs") || shown.contains("/tests/");
        if !shown.contains("/src/") || is_test || shown.ends_with("recommendations.rs") {
            continue;
        }
        let source = read(&path);
        let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        texts.extend(string_literals(code).into_iter().map(|text| Text {
            place: shown.clone(),
            text,
        }));
    }
    let pages = list_files(&root.join("docs"), ".md");
    for path in pages.into_iter().chain([root.join("README.md")]) {
        texts.extend(read(&path).lines().enumerate().map(|(index, line)| Text {
            place: format!("{}:{}", name(&path), index + 1),
            text: line.to_owned(),
        }));
    }
    texts
}

/// Extracts the string literals of Rust source, with escapes and continued lines resolved.
fn string_literals(source: &str) -> Vec<String> {
    let mut literals = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let raw = rest
            .strip_prefix('r')
            .map(|after| (after, after.len() - after.trim_start_matches('#').len()));
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if let Some((after, marks)) = raw.filter(|(after, marks)| after[*marks..].starts_with('"')) {
            let end = format!("\"{}", "#".repeat(marks));
            let text = &after[marks + 1..];
            let length = text.find(&end).unwrap_or(text.len());
            literals.push(text[..length].to_owned());
            rest = text.get(length + end.len()..).unwrap_or("");
        } else if first == '"' {
            let (text, after) = parse_literal(&rest[1..]);
            literals.push(text);
            rest = after;
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\") {
            // A quotation mark in a character literal does not begin a string.
            let end = rest[2..].find('\'').map_or(rest.len(), |end| end + 3);
            rest = &rest[end..];
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    literals
}

/// Parses a literal after its opening quotation mark. Returns it with the rest of the source.
fn parse_literal(source: &str) -> (String, &str) {
    let mut text = String::new();
    let mut letters = source.char_indices();
    while let Some((index, letter)) = letters.next() {
        match letter {
            '"' => return (text, &source[index + 1..]),
            '\\' => match letters.next() {
                Some((index, '\n')) => {
                    let blank = source[index..].len() - source[index..].trim_start().len();
                    // The newline itself is already consumed.
                    let count = source[index..index + blank].chars().count() - 1;
                    for _ in 0..count {
                        letters.next();
                    }
                }
                Some((_, 'n')) => text.push('\n'),
                Some((_, letter)) => text.push(letter),
                None => break,
            },
            letter => text.push(letter),
        }
    }
    (text, "")
}

/// Collects the names of long options, including aliases and hidden options.
fn list_options(command: &Command) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for argument in command.get_arguments() {
        names.extend(argument.get_long().map(str::to_owned));
        names.extend(argument.get_all_aliases().into_iter().flatten().map(str::to_owned));
    }
    names
}

fn collect_options(command: &Command, names: &mut BTreeSet<String>) {
    names.extend(list_options(command));
    command
        .get_subcommands()
        .for_each(|inner| collect_options(inner, names));
}

/// Finds the long options that a text names, without their dashes.
fn find_options(text: &str) -> Vec<&str> {
    let mut options = Vec::new();
    for (index, _) in text.match_indices("--") {
        let before = text[..index].chars().next_back();
        let name = &text[index + 2..];
        let end = name
            .find(|letter: char| {
                !(letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-' || letter == '_')
            })
            .unwrap_or(name.len());
        let begins = before.is_none_or(|before| !before.is_alphanumeric() && before != '-');
        if begins && name.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            options.push(name[..end].trim_end_matches('-'));
        }
    }
    options
}

/// Finds the command lines of a text: the arguments after `fathom`, up to the end of the command.
fn find_command_lines(text: &str) -> Vec<&str> {
    let mut command_lines = Vec::new();
    for line in text.lines() {
        for (index, _) in line.match_indices("fathom ") {
            let before = line[..index].trim_end_matches("cargo run -- ");
            let quoted = before.ends_with('`');
            if !(quoted || before.ends_with("$ ") || before.ends_with("&& ")) {
                continue;
            }
            let rest = &line[index + "fathom ".len()..];
            let ends = ["`", " | ", " > ", " && ", "; ", " #"];
            let end = ends.iter().filter_map(|end| rest.find(end)).min();
            command_lines.push(&rest[..end.unwrap_or(rest.len())]);
        }
    }
    command_lines
}

fn find_fault(root: &Command, line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut path = vec![root];
    for word in &words {
        match path[path.len() - 1].find_subcommand(word) {
            Some(inner) => path.push(inner),
            None => break,
        }
    }
    let is_word = |word: &&&str| word.starts_with(|letter: char| letter.is_ascii_lowercase());
    if path.len() == 1 {
        return words
            .first()
            .filter(is_word)
            .map(|word| format!("there is no command `{word}`"));
    }
    // These commands take arguments of another dialect.
    if ["fio", "diskspd", "vdbench", "iometer", "convert", "lint"].contains(&path[1].get_name()) {
        return None;
    }
    let options: BTreeSet<String> = path.iter().flat_map(|command| list_options(command)).collect();
    let unknown = find_options(line)
        .into_iter()
        .find(|option| !options.contains(*option))?;
    Some(format!(
        "`{}` has no option --{unknown}",
        path[path.len() - 1].get_name()
    ))
}

/// Finds options in a text that are missing from a command that prints the text.
fn find_misplaced_options(root: &Command, Text { place, text }: &Text) -> Vec<String> {
    let printing = PRINTED_BY.iter().filter(|(source, _)| place.starts_with(source));
    let mut bare = text.clone();
    for line in find_command_lines(text) {
        bare = bare.replace(line, "");
    }
    let mut faults = Vec::new();
    for name in printing.flat_map(|(_, commands)| *commands) {
        let command = root.find_subcommand(name).expect("the table names commands");
        let options = list_options(command);
        let unknown = find_options(&bare)
            .into_iter()
            .filter(|option| !options.contains(*option));
        faults
            .extend(unknown.map(|option| format!("{place}: `{name}` prints it and has no option --{option}: {text}")));
    }
    faults
}

/// Finds the values of job options that a text recommends: `native content=random`, and those of a
/// command line of `run`.
fn find_recommended_values(text: &str) -> Vec<(&str, &str)> {
    let ends = |letter: char| letter.is_whitespace() || ",;)`'\"".contains(letter);
    let first_word = |rest: &str| rest.find(ends).unwrap_or(rest.len());
    let mut values = Vec::new();
    for (index, _) in text.match_indices("native ") {
        let rest = &text[index + "native ".len()..];
        values.extend(rest[..first_word(rest)].split_once('='));
    }
    for line in find_command_lines(text)
        .into_iter()
        .filter(|line| line.starts_with("run "))
    {
        let words: Vec<&str> = line.split_whitespace().collect();
        let options = words
            .windows(2)
            .filter_map(|pair| Some((pair[0].strip_prefix("--")?, pair[1])));
        values.extend(options.filter(|(name, _)| native::find(name).is_some()));
    }
    let is_placeholder = |value: &str| value == "…" || value.starts_with(|letter: char| letter.is_ascii_uppercase());
    values.retain(|(_, value)| !is_placeholder(value) && !value.starts_with("--"));
    values
}

fn find_refused_values(Text { place, text }: &Text) -> Vec<String> {
    let refused = find_recommended_values(text).into_iter().filter_map(|(name, value)| {
        let value = value.trim_matches('\'');
        let problem = native::apply(&mut JobSpec::default(), name, value, || Location::on_command_line(name)).err()?;
        Some(format!("{place}: {} in: {text}", problem.what))
    });
    refused.collect()
}

fn find_faults(texts: &[Text]) -> Vec<String> {
    let mut root = crate::command_line::command();
    root.build();
    let mut ours = BTreeSet::new();
    collect_options(&root, &mut ours);
    let is_flag_of_fio = |option: &str| fio::flags::FLAGS.iter().any(|flag| flag.name == option);
    // Includes options of engines.
    let is_job_option_of_fio = |option: &str| fio::table::rows().any(|row| row.is_called(option));
    let switches = dialects::iometer::command_line::SWITCHES;
    let is_switch_of_iometer = |option: &str| switches.iter().any(|switch| switch.name == option);
    let mut faults = Vec::new();
    for recommended in texts {
        let Text { place, text } = recommended;
        faults.extend(find_misplaced_options(&root, recommended));
        faults.extend(find_refused_values(recommended));
        let lines = find_command_lines(text).into_iter();
        faults
            .extend(lines.filter_map(|line| Some(format!("{place}: {} in `fathom {line}`", find_fault(&root, line)?))));
        for line in text.lines() {
            let about_fio = line.contains("fio") || place.contains("fio");
            let about_iometer = line.contains("iometer") || place.contains("iometer");
            let about_others = OTHER_PROGRAMS.iter().any(|program| line.contains(program));
            // Skips names of native job options, which other dialects lack.
            let is_known_option = |option: &&str| {
                ours.contains(*option)
                    || about_others
                    || is_flag_of_fio(option)
                    || about_fio && is_job_option_of_fio(option)
                    || about_iometer && is_switch_of_iometer(option)
            };
            let unknown = find_options(line).into_iter().filter(|option| !is_known_option(option));
            faults.extend(unknown.map(|option| format!("{place}: there is no option --{option} in: {line}")));
        }
    }
    faults
}

#[test]
fn every_recommended_command_and_option_exists() {
    let texts = collect_texts();
    let lines: usize = texts.iter().map(|text| find_command_lines(&text.text).len()).sum();
    let options: usize = texts.iter().map(|text| find_options(&text.text).len()).sum();
    // The scan must find enough texts: the pages alone have more than these.
    assert!(lines > 150 && options > 500, "{lines} command lines, {options} options");
    let faults = find_faults(&texts);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn recommendations_of_missing_commands_and_options_are_found() {
    let source = r##"let a = "`fathom run --target DIR \
                     --sequential`"; let b = '"'; // `fathom run --comment`
        let c = r#"`fathom measure x`"#; let d = "use --no-such-thing"; let e = "`fathom run --depth 8`";
        let f = "write random data (native content=fresh)"; let g = "`fathom run --time soon`";"##;
    let mut texts: Vec<Text> = string_literals(source)
        .into_iter()
        .map(|text| Text {
            place: "here".into(),
            text,
        })
        .collect();
    let in_verdict = |text: &str| Text {
        place: "crates/analysis/src/verdict/doubt.rs".into(),
        text: text.into(),
    };
    // `verify` prints it, and has --depth; `run` has --confirm.
    texts.extend(
        [
            "repeat with --confirm", "repeat with --depth 8", "`fathom run --confirm`",
        ]
        .map(in_verdict),
    );
    let faults = find_faults(&texts);
    let expected = [
        "`run` has no option --sequential",
        "there is no command `measure`",
        "there is no option --no-such-thing",
        "`content`: `fresh` is not one of",
        "`time`: ",
        "`verify` prints it and has no option --confirm",
    ];
    assert_eq!(faults.len(), expected.len(), "{faults:#?}");
    for (fault, part) in faults.iter().zip(expected) {
        assert!(fault.contains(part), "{fault}");
    }
}
