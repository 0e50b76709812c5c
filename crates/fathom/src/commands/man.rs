//! `fathom man`.

use clap::builder::PossibleValuesParser;

use super::COMMANDS;
use crate::exit::Exit;
use crate::fault::Faults;
use crate::session::Session;
use crate::{command_line, screen};

/// Print a manual page
#[derive(clap::Args)]
pub struct Args {
    /// Of one command; without it, of the program
    #[arg(value_name = "COMMAND", value_parser = page_parser())]
    of: Option<String>,
}

fn page_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(COMMANDS.iter().map(|row| row.name).filter(|name| *name != "man"))
}

/// Prints a manual page.
pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let mut command = command_line::command();
    command.build();
    let page = match &args.of {
        None => command,
        Some(name) => {
            let subcommand = command.find_subcommand(name).expect("clap knows the names");
            subcommand.clone().name(format!("fathom-{name}"))
        }
    };
    screen::put_document(&screen::write_to_string(|out| clap_mangen::Man::new(page).render(out)))
}
