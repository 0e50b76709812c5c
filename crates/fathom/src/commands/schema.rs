//! `fathom schema`.

use archive::{SCHEMAS, Schema};
use clap::builder::PossibleValuesParser;

use crate::exit::Exit;
use crate::fault::Faults;
use crate::screen;
use crate::session::Session;

/// Print the JSON Schema of a format
#[derive(clap::Args)]
pub struct Args {
    #[arg(value_name = "FORMAT", help = list_schemas(), value_parser = name_parser())]
    of: String,
}

fn name_parser() -> PossibleValuesParser {
    PossibleValuesParser::new(SCHEMAS.iter().map(|schema| schema.name))
}

fn list_schemas() -> String {
    let lines = SCHEMAS
        .iter()
        .map(|schema| format!("{}: {}", schema.name, schema.about));
    lines.collect::<Vec<_>>().join("; ")
}

pub fn execute(_: &Session, args: &Args) -> Result<Exit, Faults> {
    let schema = Schema::find(&args.of).expect("clap knows the names");
    screen::put_document(&schema.text())
}
