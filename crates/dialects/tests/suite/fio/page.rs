//! `docs/fio.md`, generated from the tables of options, flags and engines, the deviations, and the
//! handwritten `page.md`.

use std::fmt::Write as _;

use dialects::fio::engines::{ALTERNATIVES, ENGINES};
use dialects::fio::flags::FLAGS;
use dialects::fio::table::{GROUPS, Kind, Row, Status};
use dialects::fio::values::Unit;

use crate::pages::{check_page, deviations_as_table};

const BY_HAND: &str = include_str!("page.md");

fn options() -> String {
    let mut text = String::new();
    for (heading, rows) in GROUPS {
        let _ = write!(text, "### {heading}\n\n");
        text.push_str("| option | tier | kind | default | meaning | status |\n| --- | --- | --- | --- | --- | --- |\n");
        for row in *rows {
            let names: Vec<String> = row.names().map(|name| format!("`{name}`")).collect();
            let default = match row.default {
                "" => String::new(),
                default => format!("`{default}`"),
            };
            let engines: Vec<String> = row.engines.iter().map(|engine| format!("`{engine}`")).collect();
            let engines = match engines.is_empty() {
                true => String::new(),
                false => format!(" ({})", engines.join(", ")),
            };
            let (names, kind, help, status) = (names.join(", "), kind(row), row.help, status(row));
            let line = format!(
                "| {names}{engines} | {} | {kind} | {default} | {help}{} | {status} |",
                row.rank.tier,
                example(row)
            );
            text.push_str(&line.replace("  ", " "));
            text.push('\n');
        }
        text.push('\n');
    }
    text.trim_end().to_string()
}

fn kind(row: &Row) -> String {
    let unit = |unit: Unit| match unit {
        Unit::Bytes => "",
        Unit::Seconds => ", bare: seconds",
        Unit::Microseconds => ", bare: microseconds",
    };
    let words = |words: &[dialects::fio::options::Word]| {
        let words: Vec<String> = words.iter().map(|word| format!("`{}`", word.text)).collect();
        words.join(" ")
    };
    match row.kind {
        Kind::Flag(_) => "flag".into(),
        Kind::Bool(_) => "0 or 1".into(),
        Kind::Int(_) | Kind::OptionalInt(_) => bounded("number", row),
        Kind::Size(_) | Kind::OptionalSize(_) => "size".into(),
        Kind::Amount(_) => "size or percentage".into(),
        Kind::Time(_, bare) => format!("time{}", unit(bare)),
        Kind::PerDirection(_, bare) => format!("up to three, for reads, writes, trims{}", unit(bare)),
        Kind::Reals(_) => "numbers between colons".into(),
        Kind::Real(_) => "number with a fraction".into(),
        Kind::Text(_) => "text".into(),
        Kind::Word(these, None) | Kind::Words(these) => words(these),
        Kind::Word(these, Some(_)) => format!("{}, then `:` and more", words(these)),
        Kind::Special(_) => "see the example".into(),
        Kind::Removed | Kind::Ignored => String::new(),
        Kind::Unread(kind) => kind.into(),
    }
}

fn bounded(kind: &str, row: &Row) -> String {
    match (row.min, row.max) {
        (Some(least), Some(most)) => format!("{kind}, {least} to {most}"),
        (Some(least), None) => format!("{kind}, {least} or more"),
        (None, Some(most)) => format!("{kind}, at most {most}"),
        (None, None) => kind.into(),
    }
}

fn example(row: &Row) -> String {
    match (row.kind, row.example) {
        (Kind::Flag(_) | Kind::Bool(_) | Kind::Removed | Kind::Ignored, _) | (_, "") => String::new(),
        (_, example) => format!(" `{}={}`", row.name, example.replace('|', "\\|")),
    }
}

fn status(row: &Row) -> String {
    match (row.status, row.kind) {
        (_, Kind::Removed) => "an error, as in fio".into(),
        (Status::Supported, _) => String::new(),
        (Status::WithoutEffect(why), _) => format!("*without effect*: {why}"),
        (Status::Refused(needs), _) => format!("*refused*: it needs {needs}"),
    }
}

fn flags() -> String {
    let mut text = String::from("| flag | meaning |\n| --- | --- |\n");
    for flag in FLAGS {
        let _ = writeln!(text, "| `{}` | {} |", flag.usage().replace('|', "\\|"), flag.help);
    }
    text.trim_end().to_string()
}

fn engines() -> String {
    // The system determines which of them exist; the page lists those of Linux, and describes
    // Windows in a sentence.
    let list = || {
        let chosen = ENGINES.iter().filter(|engine| engine.is_loadable());
        let names: Vec<String> = chosen.map(|engine| format!("`{}`", engine.name)).collect();
        names.join(" ")
    };
    let quoted = |engines: &[&str]| {
        engines
            .iter()
            .map(|engine| format!("`{engine}`"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let instead: Vec<String> = ALTERNATIVES
        .iter()
        .map(|(engines, what)| format!("| {} | {what} |", quoted(engines)))
        .collect();
    format!(
        "Supported: {}. On Windows, `windowsaio` is a completion port, and `psync`, `vsync`, `pvsync`, `pvsync2`, \
         `ftruncate`, `posixaio`, `falloc`, `splice`, `io_uring` and `libaio` are refused as not loadable.\n\nThe \
         following engines are known, but refused as not loadable. `--parse-only` and `--showcmd` accept jobs that use \
         them, with their options; only running such a job is refused.\n\n| not supported | use instead |\n\
         | --- | --- |\n{}",
        list(),
        instead.join("\n")
    )
}

#[test]
#[cfg_attr(windows, ignore = "the page lists the engines of Linux")]
fn the_page_is_current() {
    let page = BY_HAND
        .replace("<!-- options -->", &options())
        .replace("<!-- flags -->", &flags())
        .replace("<!-- engines -->", &engines())
        .replace("<!-- deviations -->", &deviations_as_table("fio", "fio"));
    check_page("fio.md", &page);
}
