//! `fathom schema`.

use archive::SCHEMAS;
use archive::Schema;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};

use crate::exit::Exit;
use crate::fault::Faults;
use crate::screen;

/// Its command line.
pub fn command() -> Command {
    let explained = SCHEMAS
        .iter()
        .map(|schema| format!("{}: {}", schema.name, schema.about));
    Command::new("schema").about("Print the JSON Schema of a format").arg(
        Arg::new("of")
            .value_name("FORMAT")
            .required(true)
            .value_parser(PossibleValuesParser::new(SCHEMAS.iter().map(|schema| schema.name)))
            .help(explained.collect::<Vec<_>>().join("; ")),
    )
}

/// Prints the schema of a format.
pub fn execute(args: &ArgMatches) -> Result<Exit, Faults> {
    let name = args.get_one::<String>("of").expect("clap requires it");
    let schema = Schema::find(name).expect("clap knows the names");
    screen::put(&schema.text())
}
