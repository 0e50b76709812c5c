//! The native command line. Its options are rows of the dialect's table; flags, help, man pages and
//! completions are derived from them.

use std::process::ExitCode;

use clap::Command;
use clap::builder::{StyledStr, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::commands::{self, COMMANDS, CommandRow};
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::screen;

const ABOUT: &str = "Measure any disk: get the numbers, what they mean, and how far to trust them";

const USAGE: &str = "Usage: fathom <COMMAND>. Start with `fathom quick`. Help: `fathom help COMMAND`.";

const EXIT_CODES: &str = "Exit codes: see `fathom help exit-codes`.";

/// Builds the whole command line, for help, manual pages and completions.
pub fn command() -> Command {
    let subcommands: Vec<Command> = COMMANDS.iter().map(build_subcommand).collect();
    let help = grouped_help(&subcommands);
    root().override_help(help).subcommands(subcommands)
}

/// Builds only the subcommand that `arguments` name: building all of them takes longer than parsing
/// one.
pub fn command_for(arguments: &[String]) -> Command {
    let row = arguments.get(1).and_then(|name| commands::find(name));
    row.map_or_else(command, |row| root().subcommand(build_subcommand(row)))
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

fn build_subcommand(row: &CommandRow) -> Command {
    let command = (row.command)().aliases(row.former_name);
    let examples = command
        .get_after_help()
        .map(|text| format!("{text}\n\n"))
        .unwrap_or_default();
    command.after_help(format!("{examples}{EXIT_CODES}"))
}

/// Formats the help of the program: one line per command, in groups, on one screen.
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

/// Prints a clap error. Help and version go to stdout and are not errors.
pub fn print_error(mut error: clap::Error, arguments: &[String]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match screen::put_bytes(&error.render().to_string()) {
            Ok(()) => Exit::Done.code(),
            Err(faults) => {
                faults.print(screen::colour_on_stderr());
                faults.exit().code()
            }
        },
        _ => {
            if let Some(fault) = missing_argument(&error) {
                Faults::usage(fault).print(screen::colour_on_stderr());
                return Exit::Usage.code();
            }
            // An argument that begins with a dash is usually a mistyped flag, not a file.
            error.remove(ContextKind::Suggested);
            suggest_command(&mut error);
            suggest_option(&mut error, arguments);
            screen::note(&rewrite_number_errors(&error.render().to_string()));
            Exit::Usage.code()
        }
    }
}

/// The fault of a command line that lacks an argument; `None` for other errors.
fn missing_argument(error: &clap::Error) -> Option<Fault> {
    let ErrorKind::MissingRequiredArgument = error.kind() else {
        return None;
    };
    let (Some(ContextValue::Strings(missing)), Some(ContextValue::StyledStr(usage))) =
        (error.get(ContextKind::InvalidArg), error.get(ContextKind::Usage))
    else {
        return None;
    };
    let verb = if missing.len() > 1 { "are" } else { "is" };
    let usage = usage.to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    Some(Fault::new(format!("{} {verb} missing", missing.join(" and "))).help(usage))
}

/// Converts the first line of a clap error. Used for command lines within an argument.
pub fn fault_from_clap(error: &clap::Error) -> Fault {
    let text = rewrite_number_errors(&error.to_string());
    Fault::new(text.lines().next().unwrap_or_default().trim_start_matches("error: "))
}

/// Replaces messages of Rust's number parser with readable ones.
fn rewrite_number_errors(text: &str) -> String {
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

/// Suggests a command for short names; clap does so only for longer ones.
fn suggest_command(error: &mut clap::Error) {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    if let Some(name) = dialects::nearest(typed, COMMANDS.iter().map(|row| row.name)) {
        let suggestion = ContextValue::Strings(vec![name.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, suggestion);
    }
}

/// Names of one idea in several commands, and words that users try for it.
const RELATED_OPTIONS: &[&[&str]] = &[
    &["require", "requires", "slo", "objective", "limit", "sla"],
    &["save", "out", "report", "output"],
];

/// Suggests this command's equivalent of an fio option, or a similarly spelt option. clap's own
/// suggestion only shares some letters: `--trim` for `--runtime`.
fn suggest_option(error: &mut clap::Error, arguments: &[String]) {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let Some(word) = typed
        .strip_prefix("--")
        .filter(|_| error.kind() == ErrorKind::UnknownArgument)
    else {
        return;
    };
    let options = long_options(&command_for(arguments), arguments);
    let native_option = dialects::native::option_called(word);
    let is_fio_option = native_option.is_some_and(|option| option.other_tools.contains(word));
    let suggestion = native_option
        .map(|option| option.name)
        .filter(|name| options.iter().any(|option| option == name))
        .or_else(|| {
            let related = RELATED_OPTIONS.iter().find(|names| names.contains(&word))?;
            related
                .iter()
                .copied()
                .find(|name| options.iter().any(|option| option == name))
        })
        .or_else(|| dialects::nearest(word, options.iter().map(String::as_str)));
    match suggestion {
        Some(name) => error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{name}"))),
        None => error.remove(ContextKind::SuggestedArg),
    };
    // The usage line repeats clap's own suggestion.
    error.remove(ContextKind::Usage);
    if is_fio_option {
        let tip = StyledStr::from("`fathom fio` takes fio's own options");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
}

/// Lists the visible long options of the command that `arguments` name.
fn long_options(root: &Command, arguments: &[String]) -> Vec<String> {
    let command = arguments
        .iter()
        .skip(1)
        .try_fold(root, |command, word| command.find_subcommand(word).ok_or(command));
    let (Ok(command) | Err(command)) = command;
    let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
    shown
        .filter_map(|argument| argument.get_long().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_table_is_a_valid_clap_command() {
        command().debug_assert();
    }

    #[test]
    fn each_command_is_found_by_its_name() {
        for row in COMMANDS {
            assert_eq!((row.command)().get_name(), row.name);
        }
    }

    #[test]
    fn a_single_subcommand_parses_like_the_whole_command_line() {
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
