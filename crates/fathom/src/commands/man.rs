//! `fathom man`.

use clap::ArgMatches;

use crate::exit::Exit;
use crate::fault::Faults;
use crate::{command_line, screen};

/// Prints a manual page.
pub fn print(given: &ArgMatches) -> Result<Exit, Faults> {
    let mut command = command_line::command();
    command.build();
    let page = match given.get_one::<String>("of") {
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
