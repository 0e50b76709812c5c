//! The native command line. Its options are rows of the dialect's table; flags, help, man pages and completions follow.

use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command, ValueHint, value_parser};
use dialects::native::{Group, OPTIONS};

use crate::commands::{self, COMMANDS, CommandRow};
use crate::exit::Exit;
use crate::fault::Fault;
use crate::{history, outputs, screen};

const ABOUT: &str = "Measure any disk: get the numbers, what they mean, and how far to trust them";

/// Options of which only one can be meant.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

const USAGE: &str = "Usage: fathom <COMMAND>. Start with `fathom quick`. Help: `fathom help COMMAND`.";

const EXIT_CODES: &str = "Exit codes: see `fathom help exit-codes`.";

/// The whole command line, for help, manual pages and completions.
pub fn command() -> Command {
    let subcommands: Vec<Command> = COMMANDS.iter().map(build).collect();
    let help = grouped_help(&subcommands);
    root().override_help(help).subcommands(subcommands)
}

/// The command line without the subcommands that `arguments` do not name: building all of them takes longer than parsing one.
pub fn command_for(arguments: &[String]) -> Command {
    let row = arguments.get(1).and_then(|name| commands::find(name));
    row.map_or_else(command, |row| root().subcommand(build(row)))
}

fn root() -> Command {
    Command::new("fathom")
        .version(env!("CARGO_PKG_VERSION"))
        .about(ABOUT)
        .styles(Styles::plain())
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .max_term_width(110)
        .after_help(EXIT_CODES)
}

fn build(row: &CommandRow) -> Command {
    let command = (row.command)().aliases(row.former_name);
    let examples = command
        .get_after_help()
        .map(|text| format!("{text}\n\n"))
        .unwrap_or_default();
    command.after_help(format!("{examples}{EXIT_CODES}"))
}

/// The help of the program: one line per command, in groups, on one screen.
fn grouped_help(subcommands: &[Command]) -> String {
    let mut help = format!("{ABOUT}\n{USAGE}\n");
    let mut group = None;
    for (row, command) in COMMANDS.iter().zip(subcommands) {
        let is_first = group.replace(row.group) != Some(row.group);
        help += &match (row.group, is_first) {
            (commands::Group::Also, true) => format!("  {}: {}", row.group.heading().to_lowercase(), row.name),
            (commands::Group::Also, false) => format!(", {}", row.name),
            (_, true) => format!("\n{}:\n{}", row.group.heading(), help_line(row, command)),
            (_, false) => help_line(row, command),
        };
    }
    help + "\n"
}

fn help_line(row: &CommandRow, command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    format!("  {:<13} {about}\n", row.name)
}

/// Prints an error of clap's. Help and version go to stdout and are no error.
pub fn explain(mut error: clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = screen::print(&error.render().to_string());
            Exit::Done.code()
        }
        _ => {
            suggest_command(&mut error);
            // An argument that begins with a dash is a flag that was mistyped, hardly ever a file.
            error.remove(ContextKind::Suggested);
            screen::note(&readable(&error.render().to_string()));
            Exit::Usage.code()
        }
    }
}

/// The first line of an error of clap's, for a command line within another.
pub fn fault_of(error: &clap::Error) -> Fault {
    let text = readable(&error.to_string());
    Fault::new(text.lines().next().unwrap_or_default().trim_start_matches("error: "))
}

/// Says what a number must be where clap quotes Rust's parser.
fn readable(text: &str) -> String {
    let plain = [
        "invalid digit found in string",
        "cannot parse integer from empty string",
        "invalid float literal",
    ]
    .iter()
    .fold(text.trim_end().to_owned(), |text, words| {
        text.replace(words, "expected a number, such as 10")
    });
    plain.replace("number too large to fit in target type", "the number is too large")
}

/// Suggests the command that was probably meant: clap does so for longer names only.
fn suggest_command(error: &mut clap::Error) {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    if let Some(name) = dialects::nearest(typed, COMMANDS.iter().map(|row| row.name)) {
        let suggestion = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, suggestion);
    }
}

/// The options of the dialect's table: what a load is.
pub fn load_options() -> Vec<Arg> {
    let arg = |option: &'static dialects::native::NativeOption| {
        let arg = Arg::new(option.name)
            .long(option.name)
            .help(option.help.trim_end_matches('.'))
            .long_help(long_help(option))
            .help_heading(heading(option.group));
        let arg = match option.value {
            "" => arg.action(ArgAction::SetTrue),
            value if option.name == "target" => arg
                .action(ArgAction::Append)
                .value_name(value)
                .value_hint(ValueHint::AnyPath),
            value => arg.action(ArgAction::Set).value_name(value).allow_hyphen_values(true),
        };
        // Each of them says what the operations are.
        match DIRECTIONS.contains(&option.name) {
            true => arg.conflicts_with_all(DIRECTIONS.iter().filter(|name| **name != option.name)),
            false => arg,
        }
    };
    OPTIONS.iter().map(arg).collect()
}

/// `--name`.
pub fn name_option() -> Arg {
    Arg::new("name")
        .long("name")
        .value_name("NAME")
        .help("Name of the test, for reports")
        .help_heading("Output")
}

/// `--dry-run`.
pub fn dry_run_option() -> Arg {
    Arg::new("dry-run")
        .long("dry-run")
        .action(ArgAction::SetTrue)
        .help("Show what would be done and whether it may be; nothing is opened for writing")
        .help_heading("Safety")
}

/// `--out` and `--save` of studies, which have formats of their own, `--seed` and `--quiet`.
pub fn study_output_options() -> Vec<Arg> {
    let kept = |arg: &Arg| ["report", "seed", "live", "quiet", "no-history", "hosts"].contains(&arg.get_id().as_str());
    let output = |name: &'static str| Arg::new(name).long(name).help_heading("Output");
    let own = [
        output("out")
            .value_name("FORMAT[=FILE],…")
            .action(ArgAction::Append)
            .help("Reports to write, each to stdout or a file: text, json, csv, html [default: text]"),
        output("save")
            .value_name("FILE")
            .value_hint(ValueHint::FilePath)
            .help("Keep every run whole in this file, so that it can be asked anew"),
    ];
    own.into_iter()
        .chain(output_options().into_iter().filter(kept))
        .collect()
}

fn long_help(option: &dialects::native::NativeOption) -> String {
    let mut text = option.help.to_owned();
    let detail = option.detail();
    if !detail.is_empty() {
        text += &format!(" {detail}");
    }
    text += &format!("\nIn a job file: {}", option.example);
    if !option.elsewhere.is_empty() {
        text += &format!("\nElsewhere: {}", option.elsewhere);
    }
    text
}

fn heading(group: Group) -> &'static str {
    group.heading()
}

pub(crate) fn output_options() -> Vec<Arg> {
    let output = |name: &'static str| Arg::new(name).long(name).help_heading("Output");
    vec![
        output("out")
            .value_name("FORMAT[=FILE],…")
            .action(ArgAction::Append)
            .help("Reports to write, each to stdout or a file: text, json, csv, html, markdown, openmetrics, ndjson, … [default: text]")
            .long_help(format!(
                "Reports to write, each to standard output or to a file of its own; the default is text.\n{}",
                outputs::explained()
            )),
        outputs::page_option(),
        output("save")
            .value_name("FILE")
            .value_hint(ValueHint::FilePath)
            .help("Keep the whole result, with its histograms and intervals, in this file"),
        output("seed")
            .value_name("NUMBER")
            .value_parser(value_parser!(u64))
            .help("Seed of all random decisions [default: 1]"),
        live(),
        output("hosts")
            .visible_alias("host")
            .value_name("HOST,…")
            .help("Run on this host, or on these together, instead of here; @FILE lists one per line")
            .long_help(
                "Run on another host instead of here, or on several together, and report the sum. `db1` or `user@db1` is reached by ssh, `tcp://db1:7745` is a \
                 `fathom agent --listen` there, `listen://0.0.0.0:7745*16` waits for 16 workers that connect, `local` is a process on this \
                 machine; @FILE has a line for each. In names of targets %h is the host and %r its number. See docs/fleet.md. The \
                 variable FATHOM_HOSTS does the same, in the place of fio and DiskSpd too.",
            ),
        output("metrics")
            .value_name("ADDR")
            .help("Serve the live run over HTTP: a page, /metrics (OpenMetrics), /events; a port alone is this machine only")
            .long_help(
                "Serve the live run over HTTP: / is a page that shows it, /metrics is OpenMetrics text, \
                 /events is the NDJSON stream as server-sent events. A port alone (9101) listens on the loopback address, which no other host \
                 reaches; 0.0.0.0:9101 is every network, without a token. The server ends with the run. See docs/serve.md.",
            ),
        output("quiet")
            .short('q')
            .action(ArgAction::SetTrue)
            .help("No progress on stderr"),
        output("strict")
            .action(ArgAction::SetTrue)
            .help("Exit with 1 if there are warnings"),
        history::option(),
        commands::lint::silence().help_heading("Output"),
    ]
}

/// `--live`.
pub(crate) fn live() -> Arg {
    Arg::new("live")
        .long("live")
        .value_name("FORM")
        .value_parser(PossibleValuesParser::new(["auto", "view", "line"]))
        .hide_possible_values(true)
        .help("Progress on stderr: auto, view, line [default: auto]")
        .long_help(
            "Progress on stderr [default: auto]\n  \
             view       fills the terminal during the run; `q` stops and reports, as Ctrl-C does\n  \
             line       one line that is renewed; without a terminal a line every few seconds\n  \
             auto       the view on a terminal, for what takes more than 2 s; otherwise the line",
        )
        .help_heading("Output")
}

/// What the user names again.
pub(crate) fn safety_options() -> Vec<Arg> {
    let safety = |name: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::Append)
            .value_hint(ValueHint::AnyPath)
            .help_heading("Safety")
    };
    vec![
        safety("allow-destroy")
            .value_name("DEVICE")
            .help("Everything on this device or file may be lost; also FATHOM_ALLOW_DESTROY"),
        safety("allow-overwrite")
            .value_name("FILE")
            .help("This file may be written to although fathom did not make it"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_makes_a_command_line() {
        command().debug_assert();
    }

    #[test]
    fn each_command_is_found_by_its_name() {
        for row in COMMANDS {
            assert_eq!((row.command)().get_name(), row.name);
        }
    }

    #[test]
    fn one_command_parses_as_all_of_them_do() {
        let check = |line: &str| {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let whole = command().try_get_matches_from(&arguments);
            let part = command_for(&arguments).try_get_matches_from(&arguments);
            match (whole, part) {
                (Ok(whole), Ok(part)) => {
                    let words = |matches: &clap::ArgMatches| format!("{:?}", matches.subcommand());
                    assert_eq!(words(&whole), words(&part), "{line}");
                }
                (Err(whole), Err(part)) => assert_eq!(whole.to_string(), part.to_string(), "{line}"),
                (whole, part) => panic!("{line}: {whole:?}, {part:?}"),
            }
        };
        check("fathom run --target f --read 70");
        check("fathom run --nothing");
        check("fathom run --help");
        check("fathom history show 3");
        check("fathom man sweep");
        check("fathom nothing");
        check("fathom --version");
    }
}
