//! Output formats: each has a row in [`FORMATS`] and a function that writes results.

mod csv;
pub mod diskspd;
pub mod fio;
pub mod iometer;
mod json;
mod markdown;
pub(crate) mod openmetrics;
mod tables;
mod text;
pub mod vdbench;

use std::io::{self, Write};

use model::results::Results;

pub use markdown::escape_markdown as markdown_text;
pub use text::{write_findings, write_head};

/// An output format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name in `--out`.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// Writes results in this format.
    pub write: fn(&Results, &mut dyn Write) -> io::Result<()>,
}

impl Format {
    const fn about(mut self, about: &'static str) -> Format {
        self.about = about;
        self
    }
}

const fn format(name: &'static str, write: fn(&Results, &mut dyn Write) -> io::Result<()>) -> Format {
    Format { name, about: "", write }
}

/// All formats of finished results.
pub const FORMATS: &[Format] = &[
    format("text", text::write).about("tables and sentences for people"),
    format("json", json::write).about("the same figures for programs; `fathom schema summary` describes them"),
    format("csv", csv::write).about("one line for each interval and direction"),
    format("csv-percentiles", tables::percentiles).about("one line for each percentile, with its interval"),
    format("csv-histogram", tables::histogram).about("one line for each bucket of the latencies"),
    format("csv-ranks", tables::ranks).about("one line for each rank of a test on several hosts"),
    format("markdown", markdown::write).about("a table for an issue, with its caveats"),
    format("openmetrics", openmetrics::write).about("OpenMetrics text, for node_exporter's textfile collector"),
    format("diskspd", diskspd::text).about("DiskSpd 2.2's text report"),
    format("diskspd-xml", diskspd::xml).about("DiskSpd 2.2's XML result"),
    format("fio", fio::text).about("fio 3.42's normal report"),
    format("fio-json", fio::json).about("fio 3.42's JSON report"),
    format("fio-json+", fio::json_plus).about("the JSON report with the bins of each latency histogram"),
    format("fio-terse", fio::terse).about("fio 3.42's terse report, version 3: a line for each job"),
    format("iometer", iometer::write).about("Iometer 1.1.0's result file"),
];

/// Finds a format by name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
