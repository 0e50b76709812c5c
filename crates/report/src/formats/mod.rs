//! Output formats: each a function from results to bytes, one row of [`FORMATS`] for each.

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

pub use markdown::plain as markdown_text;
pub use text::{findings, head};

/// An output format.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// The name in `--out`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// Writes results in this format.
    pub write: fn(&Results, &mut dyn Write) -> io::Result<()>,
}

/// All formats that are made from finished results.
pub const FORMATS: &[Format] = &[
    Format {
        name: "text",
        about: "tables and sentences for people",
        write: text::write,
    },
    Format {
        name: "json",
        about: "the same figures for programs; `fathom schema summary` describes it",
        write: json::write,
    },
    Format {
        name: "csv",
        about: "one line for each interval and direction",
        write: csv::write,
    },
    Format {
        name: "csv-percentiles",
        about: "one line for each percentile, with its interval",
        write: tables::percentiles,
    },
    Format {
        name: "csv-histogram",
        about: "one line for each bucket of the latencies",
        write: tables::histogram,
    },
    Format {
        name: "csv-ranks",
        about: "one line for each rank of a test on several hosts",
        write: tables::ranks,
    },
    Format {
        name: "markdown",
        about: "a table for an issue, with what weakens it",
        write: markdown::write,
    },
    Format {
        name: "openmetrics",
        about: "OpenMetrics text, for node_exporter's textfile collector",
        write: openmetrics::write,
    },
    Format {
        name: "diskspd",
        about: "the text report of DiskSpd 2.2",
        write: diskspd::text,
    },
    Format {
        name: "diskspd-xml",
        about: "the XML result of DiskSpd 2.2",
        write: diskspd::xml,
    },
    Format {
        name: "fio",
        about: "the normal report of fio 3.42",
        write: fio::text,
    },
    Format {
        name: "fio-json",
        about: "the JSON report of fio 3.42",
        write: fio::json,
    },
    Format {
        name: "fio-json+",
        about: "the same with the bins of each latency histogram",
        write: fio::json_plus,
    },
    Format {
        name: "fio-terse",
        about: "the terse report of fio 3.42, version 3: a line for each job",
        write: fio::terse,
    },
    Format {
        name: "iometer",
        about: "the result file of Iometer 1.1.0",
        write: iometer::write,
    },
];

/// The format of the given name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
