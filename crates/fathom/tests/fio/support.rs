//! The program under the name `fio`, and what was recorded from that tool.

use std::fs;

use crate::place::{self, Tool};

/// What was recorded from fio 3.42.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/fio");

/// fio.
pub struct Fio;

impl Tool for Fio {
    const NAME: &'static str = "fio";
    const CALLED: &'static str = "fio";
    const ENVIRONMENT: &'static [(&'static str, &'static str)] = &[("TZ", "UTC")];
}

/// A folder to run in.
pub type Place = place::Place<Fio>;

/// A recorded file.
pub fn recorded(name: &str) -> String {
    let path = format!("{DATA}/{name}");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A row of percentiles with each in a line of its own: how many stand beside one another goes by
/// the widest, and so by the machine.
pub fn one_percentile_a_line(row: &str) -> String {
    format!("{}\n", row.trim_end_matches(',').replace(", ", "\n     | "))
}
