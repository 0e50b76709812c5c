//! DiskSpd's result reports: text for people and shell scripts, XML for test frameworks.
//!
//! The layout follows version 2.2.0; the text can also follow 2.0.17 to 2.0.20. It is
//! exact because public parsers rely on positions, titles and the number of spaces. `figures`
//! computes DiskSpd's figures once for both reports; `text` and `xml` only print. The user's
//! settings are echoed from [`Origin`](model::plan::Origin): this module parses neither switches
//! nor profiles.
//!
//! # What a plan's origin must hold
//! * `arguments`: the command line with the program name, one entry per argument. If empty, the
//!   line is omitted.
//! * `profile`: the lines of the text profile between the command line and `System information:`,
//!   in the layout of the report's version.
//! * `profile_markup`: the lines from `<Profile>` to `</Profile>`, the outermost without indent.
//! * `presentation.latency` and `presentation.iops_deviation`: DiskSpd's `-L` and `-D`, for every
//!   time span without a setting of its own.
//! * `presentation.other`, by name. A name with the suffix `.1`, `.2` … applies to that time span
//!   only and takes precedence:
//!
//! | name | value |
//! | --- | --- |
//! | `diskspd_text` | `2.0` for the text of versions 2.0.17 to 2.0.20; for the whole report |
//! | `wait_statistics` | `true`: wait statistics of each thread (`-vs`); for the whole report |
//! | `requests` | operations in flight that the targets of a thread share (`-O` with `-F`) |
//! | `latency` | `true` or `false` instead of `presentation.latency` |
//! | `deviation` | `true` or `false` instead of `presentation.iops_deviation` |
//! | `bucket_ms` | length of the intervals in which operations are counted (`-D`) |
//! | `expected_ms` | planned length of the measured window: intervals beyond it do not count |
//!
//! Results of tests in other dialects can be printed too: with latencies, without the echoed
//! profile.
//!
//! # Intended differences from DiskSpd
//! * Latencies are counted in buckets less than 0.8 % wide; a percentile is the upper edge of its
//!   bucket, at most the maximum. Means, deviations, minimum and maximum are exact.
//! * The start time is the start of the run; DiskSpd prints its end.
//! * XML is escaped, an unknown power scheme is called `unknown`, and each target has the
//!   latency of its reads and writes together, as up to version 2.1.
//! * Threads that share an effective distribution are listed once each.
//! * Trims, which DiskSpd lacks, are omitted.

mod buckets;
mod distributions;
mod figures;
mod latency;
mod machine;
mod markup;
mod settings;
mod sizes;
mod tables;
mod text;
mod xml;

use std::io::{self, Write};

use model::results::Results;

/// The message of both reports for a time span without measurements.
const NOT_MEASURED: &str = "The test was interrupted before the measurements began. No results are displayed.";
/// The version of the output.
const VERSION: &str = "2.2.0";
/// The date of that version, as DiskSpd prints it.
const VERSION_DATE: &str = "2024/6/3";

/// Writes the text report in the layout that the plan's origin requests.
///
/// # Errors
/// `out` cannot be written to.
pub fn text(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    text::write(results, out)
}

/// Writes only the description of the machine.
///
/// # Errors
/// `out` cannot be written to.
pub fn system(results: &Results, xml: bool, out: &mut dyn Write) -> io::Result<()> {
    let machine = machine::CpuTopology::from_results(results);
    match xml {
        true => xml::write_system(&mut markup::Markup::new(out), results, &machine),
        false => text::write_system(out, results, &machine),
    }
}

/// Writes the XML result, without an XML declaration and without a final newline.
///
/// # Errors
/// `out` cannot be written to.
pub fn xml(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    xml::write(results, out)
}
