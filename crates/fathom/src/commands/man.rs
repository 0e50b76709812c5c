//! `fathom man`.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};

use super::COMMANDS;
use crate::exit::Exit;
use crate::fault::Faults;
use crate::{command_line, screen};

/// Its command line.
pub fn command() -> Command {
    let pages = COMMANDS.iter().map(|row| row.name).filter(|name| *name != "man");
    Command::new("man").about("Print a manual page").arg(
        Arg::new("of")
            .value_name("COMMAND")
            .value_parser(PossibleValuesParser::new(pages))
            .help("Of one command; without it, of the program"),
    )
}

/// Prints a manual page.
pub fn execute(args: &ArgMatches) -> Result<Exit, Faults> {
    let mut command = command_line::command();
    command.build();
    let page = match args.get_one::<String>("of") {
        None => command,
        Some(name) => {
            let found = command.find_subcommand(name).expect("clap knows the names");
            found.clone().name(format!("fathom-{name}"))
        }
    };
    let mut bytes = Vec::new();
    let rendered = clap_mangen::Man::new(page).render(&mut bytes);
    rendered.expect("writing to memory does not fail");
    screen::put(&String::from_utf8_lossy(&bytes))
}
