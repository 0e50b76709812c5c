//! `fathom help`.

use clap::builder::PossibleValuesParser;

use super::COMMANDS;
use crate::exit::{EXIT_CODES, Exit};
use crate::fault::Faults;
use crate::session::Session;
use crate::{command_line, screen};

/// The only topic that is not a command.
const EXIT_CODES_TOPIC: &str = "exit-codes";

/// Print the help of a command, or the exit codes
#[derive(clap::Args)]
pub struct Args {
    /// The command; without one, the list of commands
    #[arg(value_name = "COMMAND|exit-codes", value_parser = topic_parser(), hide_possible_values = true)]
    topic: Option<String>,
}

fn topic_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(COMMANDS.iter().map(|row| row.name).chain([EXIT_CODES_TOPIC]))
}

pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    print(args.topic.as_deref())
}

/// Prints the help of a topic; `None` is the list of commands.
pub fn print(topic: Option<&str>) -> Result<Exit, Faults> {
    let mut root = command_line::command();
    root.build();
    let text = match topic {
        None => root.render_help().to_string(),
        Some(EXIT_CODES_TOPIC) => format!("{EXIT_CODES}\n"),
        Some(name) => {
            let command = root.find_subcommand_mut(name).expect("clap knows the names");
            command.render_long_help().to_string()
        }
    };
    screen::put(&text)
}
