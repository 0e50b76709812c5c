//! `fathom help`.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};

use super::COMMANDS;
use crate::exit::{EXIT_CODES, Exit};
use crate::fault::Faults;
use crate::{command_line, screen};

/// The topic that is no command.
const EXIT_CODES_TOPIC: &str = "exit-codes";

/// Its command line.
pub fn command() -> Command {
    let topics = COMMANDS.iter().map(|row| row.name).chain([EXIT_CODES_TOPIC]);
    Command::new("help")
        .about("Print the help of a command, or the exit codes")
        .arg(
            Arg::new("topic")
                .value_name("COMMAND|exit-codes")
                .value_parser(PossibleValuesParser::new(topics))
                .hide_possible_values(true)
                .help("The command; without one, the list of commands"),
        )
}

/// Prints the help of a topic.
pub fn execute(args: &ArgMatches) -> Result<Exit, Faults> {
    let mut root = command_line::command();
    root.build();
    let text = match args.get_one::<String>("topic").map(String::as_str) {
        None => root.render_help().to_string(),
        Some(EXIT_CODES_TOPIC) => format!("{EXIT_CODES}\n"),
        Some(name) => {
            let command = root.find_subcommand_mut(name).expect("clap knows the names");
            command.render_long_help().to_string()
        }
    };
    screen::put(&text)
}
