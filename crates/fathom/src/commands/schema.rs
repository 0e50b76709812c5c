//! `fathom schema`.

use archive::Schema;
use clap::ArgMatches;

use crate::exit::Exit;
use crate::fault::Faults;
use crate::screen;

/// Prints the schema of a format.
pub fn print(given: &ArgMatches) -> Result<Exit, Faults> {
    let name = given.get_one::<String>("of").expect("clap requires it");
    let schema = Schema::find(name).expect("clap knows the names");
    screen::put(&schema.text())
}
