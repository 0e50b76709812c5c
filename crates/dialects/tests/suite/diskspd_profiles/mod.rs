//! DiskSpd profiles: compared with DiskSpd 2.2's output, with small cases for every rule, and with
//! themselves after a round trip.

mod arbitrary;
mod read;
mod round_trip;
mod text;

use std::fs;
use std::path::Path;

fn file(case: &Path, name: &str) -> String {
    let path = case.join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
