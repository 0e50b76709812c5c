//! `fathom completions`.

use clap::ArgMatches;
use clap_complete::{Shell, generate};

use crate::exit::Exit;
use crate::fault::Faults;
use crate::{command_line, screen};

/// Prints completions for a shell.
pub fn print(given: &ArgMatches) -> Result<Exit, Faults> {
    let shell = *given.get_one::<Shell>("shell").expect("clap requires it");
    let mut bytes = Vec::new();
    generate(shell, &mut command_line::command(), "fathom", &mut bytes);
    screen::put(&String::from_utf8_lossy(&bytes))
}
