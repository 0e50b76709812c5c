//! `fathom completions`.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::{Shell, generate};

use crate::exit::Exit;
use crate::fault::Faults;
use crate::{command_line, screen};

/// Its command line.
pub fn command() -> Command {
    Command::new("completions").about("Print completions for a shell").arg(
        Arg::new("shell")
            .value_name("SHELL")
            .required(true)
            .value_parser(value_parser!(Shell))
            .help("The shell"),
    )
}

/// Prints completions for a shell.
pub fn execute(args: &ArgMatches) -> Result<Exit, Faults> {
    let shell = *args.get_one::<Shell>("shell").expect("clap requires it");
    let mut bytes = Vec::new();
    generate(shell, &mut command_line::command(), "fathom", &mut bytes);
    screen::put(&String::from_utf8_lossy(&bytes))
}
