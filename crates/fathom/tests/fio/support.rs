//! Runs the program under the name `fio`, and reads the recordings of fio itself.

use crate::prelude::*;

/// Recordings of fio 3.42.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/fio");

/// A folder to run in.
pub type Sandbox = sandbox::Sandbox<sandbox::Fio>;

pub fn read_recording(name: &str) -> String {
    let path = format!("{DATA}/{name}");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Puts each percentile of a row on its own line. The number per row depends on the widest value,
/// and so on the machine.
pub fn split_percentiles(row: &str) -> String {
    format!("{}\n", row.trim_end_matches(',').replace(", ", "\n     | "))
}
