//! `fathom completions`.

use clap_complete::{Shell, generate};

use crate::exit::Exit;
use crate::fault::Faults;
use crate::session::Session;
use crate::{command_line, screen};

/// Print completions for a shell
#[derive(clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let mut bytes = Vec::new();
    generate(args.shell, &mut command_line::command(), "fathom", &mut bytes);
    screen::put_document(&String::from_utf8_lossy(&bytes))
}
