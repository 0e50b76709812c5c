//! DiskSpd's result reports: the text that people and shell scripts read, and the XML that test
//! frameworks read.
//!
//! The form is that of version 2.2.0, and of the text also that of 2.0.17 to 2.0.20, because public
//! parsers go by positions, titles and the number of blanks. `figures` turns results into DiskSpd's
//! figures, once for both reports; `text` and `xml` only print. What the user asked for is echoed
//! from [`Origin`](model::plan::Origin): this module knows no switch and no profile.
//!
//! # What a plan's origin must hold
//! * `arguments`: the command line with the program name, one argument an entry. Empty: no such
//!   line.
//! * `profile`: the lines of the text profile, from the line after the empty one below the command
//!   line up to and including the one before `System information:`, in the form of the version that
//!   the report has.
//! * `profile_markup`: the lines from `<Profile>` to `</Profile>`, the outermost without indent.
//! * `presentation.latency` and `presentation.iops_deviation`: DiskSpd's `-L` and `-D`, for every
//!   time span that does not say otherwise.
//! * `presentation.other`, by name; with `.1`, `.2` … behind it a value holds for that time span
//!   only, and comes first:
//!
//! | name | value |
//! | --- | --- |
//! | `diskspd_text` | `2.0` for the text of versions 2.0.17 to 2.0.20; not by time span |
//! | `wait_statistics` | `true`: what each thread waited for (`-vs`); not by time span |
//! | `requests` | operations in flight that the targets of a thread share (`-O` with `-F`) |
//! | `latency` | `true` or `false` instead of `presentation.latency` |
//! | `deviation` | `true` or `false` instead of `presentation.iops_deviation` |
//! | `bucket_ms` | length of an interval of which operations are counted (`-D`) |
//! | `expected_ms` | planned length of the measured window: intervals beyond it do not count |
//!
//! Results that began in another dialect can be shown as well: with latencies, and without the part
//! that echoes a profile.
//!
//! # Where it differs from DiskSpd on purpose
//! * Latencies stand in buckets less than 0.8 % wide; a percentile is the upper edge of its bucket,
//!   at most the maximum. Means, deviations, minimum and maximum are exact.
//! * The start time is the one at which the run began; DiskSpd prints when it ended.
//! * XML is escaped, an unknown power scheme is called `unknown`, and the latency of each target's
//!   reads and writes together is there, as it was up to version 2.1.
//! * Threads that share an effective distribution are listed once each.
//! * Trims, which DiskSpd does not know, are left out.

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

/// The text of both reports for a time span without measurements.
const NOT_MEASURED: &str = "The test was interrupted before the measurements began. No results are displayed.";
/// The version of the output.
const VERSION: &str = "2.2.0";
/// Its date, as that version prints it.
const VERSION_DATE: &str = "2024/6/3";

/// Writes the text report, in the form that the plan's origin asks for.
///
/// # Errors
/// `out` cannot be written to.
pub fn text(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    text::write(results, out)
}

/// Writes only the part of a report about the machine.
///
/// # Errors
/// `out` cannot be written to.
pub fn system(results: &Results, xml: bool, out: &mut dyn Write) -> io::Result<()> {
    let machine = machine::Machine::from_results(results);
    match xml {
        true => xml::system(&mut markup::Markup::new(out), results, &machine),
        false => text::system(out, results, &machine),
    }
}

/// Writes the XML result: no declaration before it and no line end behind it.
///
/// # Errors
/// `out` cannot be written to.
pub fn xml(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    xml::write(results, out)
}
