//! `fathom schema`.

use clap::ArgMatches;
use schemars::schema_for;

use crate::exit::Exit;
use crate::fault::Faults;
use crate::screen;

/// Prints the schema of a format.
pub fn print(given: &ArgMatches) -> Result<Exit, Faults> {
    let schema = match given.get_one::<String>("of").map(String::as_str) {
        Some("summary") => schema_for!(report::Summary),
        Some("plan") => schema_for!(model::plan::Plan),
        Some("stream") => schema_for!(report::stream::Line),
        _ => schema_for!(model::results::Results),
    };
    let text = serde_json::to_string_pretty(&schema).expect("a schema is valid JSON");
    screen::put(&format!("{text}\n"))
}
