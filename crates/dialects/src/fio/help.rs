//! Prints help on options and engines: usage, `--cmdhelp`, `--enghelp`, valid values, and
//! `--showcmd`.

use super::engines::ENGINES;
use super::flags::FLAGS;
use super::similar;
use super::table::{self, Kind, Row};
use super::values::Unit;

/// The version of fio whose options and reports fathom reproduces.
pub const VERSION: &str = "fio-3.42";

/// Help lines and the exit code.
#[derive(Default)]
pub(super) struct HelpOutput {
    pub(super) exit_code: u8,
    pub(super) stdout: Vec<String>,
    pub(super) stderr: Vec<String>,
}

/// The width of names in lists of options.
const NAME_WIDTH: usize = 24;

/// The usage of the program.
pub fn usage(program: &str) -> Vec<String> {
    let mut lines = vec![format!("{program} [options] [job options] <job file(s)>")];
    lines.extend(FLAGS.iter().map(|flag| format!("  {:<28}{}", flag.usage(), flag.help)));
    lines.push(String::new());
    lines.push("--name=NAME begins a job; its options follow. --cmdhelp lists the options.".into());
    lines
}

/// A line of a description: a label and its text.
pub(super) fn format_labelled(label: &str, text: impl std::fmt::Display) -> String {
    format!("{label:>20}: {text}")
}

/// The name, aliases and kind of an option.
pub fn describe_option(row: &Row) -> Vec<String> {
    let mut lines = vec![format_labelled(row.name, row.help)];
    lines.extend(row.aliases.iter().map(|alias| format_labelled("alias", alias)));
    lines.push(format_labelled("type", describe_kind(row)));
    let default = match row.default {
        "" => "no default",
        default => default,
    };
    lines.push(format_labelled("default", default));
    lines
}

/// The valid words of an option with their help; empty if its values are not words.
pub fn valid_values(row: &Row) -> Vec<String> {
    let (Kind::Word(words, _) | Kind::Words(words)) = row.kind else {
        return Vec::new();
    };
    let lines = words.iter().enumerate().map(|(index, word)| {
        let label = if index == 0 { "valid values" } else { "" };
        format_labelled(label, format!("{:<10} {}", word.text, word.help))
    });
    lines.collect()
}

/// The kind of value, with an example of it.
pub fn describe_kind(row: &Row) -> String {
    match row.kind {
        Kind::Int(_) | Kind::OptionalInt(_) | Kind::PerDirection(_, Unit::Bytes) => "integer value (opt=100)".into(),
        Kind::Word(..) | Kind::Text(_) => "string (opt=bla)".into(),
        Kind::Bool(_) => "boolean value (opt=1)".into(),
        Kind::Flag(_) => "nothing, 0 or 1".into(),
        Kind::Size(_) | Kind::OptionalSize(_) => "number with a suffix of size (opt=4k)".into(),
        Kind::Amount(_) => "size or percentage (opt=4k)".into(),
        Kind::Time(..) | Kind::PerDirection(..) => "time with a unit (opt=10s)".into(),
        Kind::Reals(_) | Kind::Real(_) => "numbers separated by colons (opt=5.9:7.8)".into(),
        Kind::Words(_) => "words separated by commas (opt=bla,blubb)".into(),
        Kind::Special(_) => format!("special value (opt={})", row.example),
        Kind::Removed | Kind::Ignored => "none (removed)".into(),
        Kind::Unread(kind) => kind.into(),
    }
}

/// The full description of an option.
fn full_description(row: &Row) -> Vec<String> {
    let mut lines = describe_option(row);
    match row.kind {
        Kind::Int(_) | Kind::OptionalInt(_) | Kind::Bool(_) | Kind::PerDirection(..) => {
            let (min, max) = (row.min.unwrap_or(0), row.max.unwrap_or(-1));
            lines.push(format_labelled("range", format!("min={min}, max={max}")));
        }
        Kind::Reals(_) | Kind::Real(_) => {
            let max = row.max.unwrap_or(0);
            lines.push(format_labelled("range", format!("min=0.000000, max={max}.000000")));
        }
        _ => lines.extend(valid_values(row)),
    }
    lines.push(String::new());
    lines
}

fn format_list_line(row: &Row) -> String {
    help_line(row.name, row.help)
}

/// A line of a list of options.
pub(super) fn help_line(name: &str, help: &str) -> String {
    format!("{name:<NAME_WIDTH$}: {help}")
}

/// `--cmdhelp`.
pub(super) fn option_help(name: &str) -> HelpOutput {
    let mut answer = HelpOutput::default();
    if name.is_empty() || name == "all" {
        let shown = table::common_rows().filter(|row| !matches!(row.kind, Kind::Removed | Kind::Ignored));
        answer.stdout.extend(shown.map(format_list_line));
        return answer;
    }
    if let Some(row) = table::find(name) {
        answer.stdout = full_description(row);
        return answer;
    }
    answer.stderr.push(format!("No such command: {name}"));
    match similar::similar_help_topic(name).and_then(table::find) {
        Some(row) => {
            answer.stdout.push(" - showing closest match".into());
            answer.stdout.extend(full_description(row));
        }
        None => answer.stdout.push(String::new()),
    }
    answer
}

/// `--enghelp`.
pub(super) fn engine_help(name: &str) -> HelpOutput {
    let mut answer = HelpOutput::default();
    if name.is_empty() {
        answer.stdout.push("Available IO engines:".into());
        let loadable = ENGINES.iter().filter(|engine| engine.is_loadable());
        answer
            .stdout
            .extend(loadable.map(|engine| format!("\t{}", engine.name)));
        return answer;
    }
    let (engine, option) = match name.split_once(',') {
        Some((engine, option)) => (engine, Some(option)),
        None => (name, None),
    };
    if super::engines::find(engine).is_none() {
        answer.exit_code = 1;
        answer.stdout.push(format!("IO engine {engine} not found"));
        answer.stderr.push(format!("fio: engine {engine} not loadable"));
        return answer;
    }
    let rows = || table::engine_rows().filter(|row| row.engines.contains(&engine));
    if rows().next().is_none() {
        answer.exit_code = 1;
        answer.stdout.push(format!("IO engine {engine} has no options"));
        return answer;
    }
    match option.map(|option| table::find_engine_option(engine, option)) {
        None => answer.stdout.extend(rows().map(format_list_line)),
        Some(Some(row)) => answer.stdout = full_description(row),
        Some(None) => {
            answer.exit_code = 1;
            answer.stdout.push(String::new());
            answer
                .stderr
                .push(format!("No such command: {}", option.unwrap_or_default()));
        }
    }
    answer
}

/// Adds options to the command line that `--showcmd` prints. For a global section, pass the options
/// of all global sections read so far.
pub(super) fn push_options(command: &mut String, options: &[(String, String)]) {
    for (name, value) in options {
        command.push_str(&match (name.as_str(), value.as_str()) {
            (name, "") => format!("--{name} "),
            ("description", value) => format!("--description=\"{value}\" "),
            (name, value) => format!("--{name}={value} "),
        });
    }
}
