//! The summary as JSON.

use std::io::{self, Write};

use model::results::Results;

use crate::summary::Summary;

pub(super) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &Summary::from_results(results))?;
    writeln!(out)
}
