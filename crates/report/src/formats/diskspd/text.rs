//! The text report: the order of its parts, and the differences between the two layouts.

use std::borrow::Cow;
use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::results::Results;

use super::NOT_MEASURED;
use super::distributions::{distinct_distributions, format_number_ranges, rescale_factor};
use super::figures::Span;
use super::latency::DirectionPart;
use super::machine::CpuTopology;
use super::settings::{Form, Settings};
use super::{sizes, tables};

/// The line below a title.
pub(super) const STARS: &str = "*******************************************************************************";

pub(super) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let settings = Settings::from_plan(&results.plan);
    let machine = CpuTopology::from_results(results);
    let origin = &results.plan.origin;
    if !origin.arguments.is_empty() {
        writeln!(out, "\nCommand Line: {}\n", origin.arguments.join(" "))?;
    }
    for line in &origin.profile {
        writeln!(out, "{line}")?;
    }
    if settings.form == Form::V2_2 {
        write_system(out, results, &machine)?;
    }
    let spans: Vec<Option<Span>> = (0..results.steps.len())
        .map(|step| Span::for_step(results, &machine, step))
        .collect();
    for (index, span) in spans.iter().enumerate() {
        let leading_newline = match settings.form {
            Form::V2_2 => "",
            Form::V2_0 => "\n",
        };
        writeln!(out, "{leading_newline}\nResults for timespan {}:\n{STARS}", index + 1)?;
        match span {
            None => writeln!(out, "{NOT_MEASURED}")?,
            Some(span) => write_time_span(out, span, &machine, settings)?,
        }
    }
    match spans.len() {
        0 | 1 => Ok(()),
        _ => tables::write_totals(out, spans.iter().flatten()),
    }
}

pub(super) fn write_system(out: &mut dyn Write, results: &Results, machine: &CpuTopology) -> io::Result<()> {
    writeln!(out, "System information:\n")?;
    writeln!(out, "\tcomputer name: {}", computer_name(results))?;
    writeln!(out, "\tstart time: {}\n", start_time(results))?;
    let counts = [
        ("cpu", machine.cpus.len()),
        ("core", machine.cores()),
        ("group", machine.count(|place| place.group)),
        ("node", machine.count(|place| place.node)),
        ("socket", machine.count(|place| place.socket)),
    ];
    for (what, count) in counts {
        writeln!(out, "\t{what} count:\t\t{count}")?;
    }
    let heterogeneous = if machine.is_heterogeneous() { "y" } else { "n" };
    writeln!(out, "\theterogeneous cores:\t{heterogeneous}\n")?;
    match power_scheme(results) {
        Some((name, guid)) => writeln!(out, "\tactive power scheme:\t{name} ({guid})"),
        None => writeln!(out, "\tactive power scheme:\t<unknown>"),
    }
}

/// Name and GUID of the Windows power scheme. Other systems have CPU governors, without a GUID.
pub(super) fn power_scheme(results: &Results) -> Option<(&str, &str)> {
    let governor = results.hosts.first()?.environment.cpu.governor.as_deref()?;
    let (name, guid) = governor.strip_suffix(')')?.rsplit_once(" (")?;
    let is_guid = guid.len() == 36 && guid.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    is_guid.then_some((name, guid))
}

pub(super) fn computer_name(results: &Results) -> &str {
    let host = results.hosts.first();
    host.map_or("", |host| &host.environment.host.name)
}

/// The start of the run as DiskSpd writes times: `2024/06/30 11:59:03 UTC`.
pub(super) fn start_time(results: &Results) -> Cow<'static, str> {
    let nanos = results.hosts.first().map_or(0, |host| host.started_unix_ns);
    let Ok(timestamp) = Timestamp::from_nanosecond(i128::from(nanos)) else {
        return Cow::Borrowed("1970/01/01 00:00:00 UTC");
    };
    let timestamp = timestamp.to_zoned(TimeZone::UTC);
    Cow::Owned(format!(
        "{}/{:02}/{:02} {:02}:{:02}:{:02} UTC",
        timestamp.year(),
        timestamp.month(),
        timestamp.day(),
        timestamp.hour(),
        timestamp.minute(),
        timestamp.second()
    ))
}

fn write_time_span(out: &mut dyn Write, span: &Span, machine: &CpuTopology, settings: Settings) -> io::Result<()> {
    let form = settings.form;
    writeln!(out, "\nactual test time:\t{:.2}s", span.seconds)?;
    writeln!(out, "thread count:\t\t{}", span.threads.len())?;
    if span.settings.requests > 0 {
        writeln!(out, "request count:\t\t{}", span.settings.requests)?;
    }
    if form == Form::V2_0 {
        writeln!(out, "proc count:\t\t{}", machine.cpus.len())?;
    }
    tables::write_cpu_table(out, machine, &span.cpus, form)?;
    if form == Form::V2_2 {
        write_effective_distributions(out, span)?;
    }
    for part in DirectionPart::ALL {
        tables::write_io_table(out, span, part, form)?;
    }
    if span.settings.latency {
        write_latencies(out, span, form)?;
    }
    match form == Form::V2_2 && settings.wait_statistics {
        true => tables::write_wait_table(out, span),
        false => Ok(()),
    }
}

fn write_latencies(out: &mut dyn Write, span: &Span, form: Form) -> io::Result<()> {
    let (path_heading, total_heading) = match form {
        Form::V2_2 => ("Latency distribution: ", "Total latency distribution:"),
        Form::V2_0 => ("", "total:"),
    };
    if form == Form::V2_0 {
        writeln!(out, "\n")?;
    }
    if span.paths.len() > 1 {
        for (path, latency) in &span.paths {
            writeln!(out, "\n{path_heading}{path}")?;
            tables::write_latency_table(out, latency)?;
        }
    }
    writeln!(out, "\n{total_heading}")?;
    tables::write_latency_table(out, &span.latency)
}

fn write_effective_distributions(out: &mut dyn Write, span: &Span) -> io::Result<()> {
    let distributions = distinct_distributions(&span.threads);
    if distributions.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nEffective IO Distributions\n{}", "-".repeat(26))?;
    for shared in distributions {
        for (path, threads) in &shared.users {
            writeln!(out, "target: {path} [thread: {}]", format_number_ranges(threads))?;
        }
        let percent_scale = rescale_factor(shared.ranges);
        for range in shared.ranges {
            let percent = match percent_scale {
                None => format!("   {:>3.0}", range.operations_percent),
                Some(factor) => format!("    {:.1}", range.operations_percent * factor),
            };
            let start = match range.start.0 {
                // Padded to align with sizes that have a unit.
                0 => format!("{:>6}   ", 0),
                start => sizes::format_aligned(start),
            };
            let end = sizes::format_aligned(range.start.0 + range.length.0);
            writeln!(out, "{percent}% of IO => [{start} - {end})")?;
        }
    }
    Ok(())
}
