//! Tables and sentences for people.

use std::io::{self, Write};

use model::event::EndReason;
use model::finding::Finding;
use model::plan::EngineKind;
use model::results::Results;
use model::{Bytes, Nanos, visible, visible_lines};

use crate::numbers::{count, duration, format_time, pluralize, rate, signed_time, throughput};
use crate::summary::{
    DeviceSummary, Figures, JobSummary, LatencyFigures, Percentile, PercentileSupport, Summary, Transfers,
};
use crate::words;
use crate::{diagnosis, network};

/// User and kernel time are printed separately only above this sum.
///
/// The sum is exact, but the kernel divides it by sampling at its timer ticks, 100 to 1000 per
/// second: a share from few ticks is unreliable.
const MIN_SPLIT_CPU: Nanos = Nanos::secs(1);
/// Percentiles that the table shows.
const PERCENTILES: [f64; 5] = [50.0, 95.0, 99.0, 99.9, 99.99];

pub(super) fn write(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let mut text = Vec::new();
    write_raw(results, &mut text)?;
    out.write_all(visible_lines(&String::from_utf8_lossy(&text)).as_bytes())
}

/// Writes the report with names unescaped, except for line ends.
fn write_raw(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let summary = Summary::from_results(results);
    write_head(&summary, out)?;
    let several_steps = results.plan.steps.len() > 1;
    for (number, job) in summary.jobs.iter().enumerate() {
        writeln!(out)?;
        write_job(job, several_steps, out)?;
        // Kernel counters are per device and step, so they follow the last job of the step.
        if summary.jobs.get(number + 1).is_some_and(|next| next.step == job.step) {
            continue;
        }
        for device in summary.devices.iter().filter(|device| device.step == job.step) {
            write_device(device, out)?;
        }
        for entry in &results.steps[job.step as usize].network_mounts {
            network::write(&entry.mount, "  ", out)?;
        }
    }
    write_first_and_last_end(&summary.jobs, out)?;
    if !summary.findings.is_empty() {
        writeln!(out)?;
        write_findings(&summary.findings, out)?;
    }
    if !summary.diagnoses.is_empty() {
        writeln!(out)?;
        diagnosis::write(&summary.diagnoses, out)?;
    }
    if !summary.shared_limits.is_empty() {
        writeln!(out)?;
        diagnosis::write_tables(&summary.shared_limits, out)?;
    }
    Ok(())
}

/// Writes the first lines of a report: tool, test, time, machine, targets.
///
/// # Errors
/// `out` cannot be written to.
pub fn write_head(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let tool = &summary.tool;
    write!(
        out,
        "{} {}, {}, {}",
        tool.name,
        tool.version,
        visible(&summary.name),
        summary.started
    )?;
    if let Some(host) = summary.hosts.first().filter(|host| !host.name.is_empty()) {
        write!(
            out,
            ", {} ({} {}, {} CPUs)",
            visible(&host.name),
            host.system,
            host.kernel,
            host.cpus
        )?;
    }
    writeln!(out, ", seed {}", summary.seed)?;
    // Targets on several hosts may have the same names.
    let mut shown = std::collections::BTreeSet::new();
    for target in &summary.targets {
        let words = words::describe_target(target);
        let is_known = !target.kind.is_empty() || !target.path.is_empty();
        if is_known && (summary.transport.is_none() || shown.insert(words.clone())) {
            writeln!(out, "{}", visible(&words))?;
        }
    }
    if let Some(transport) = &summary.transport {
        let hosts: Vec<&str> = summary.hosts.iter().map(|host| host.name.as_str()).collect();
        let several = summary.jobs.iter().any(|job| !job.ranks.is_empty());
        let suffix = if several { " together" } else { "" };
        writeln!(out, "on {}{suffix}, by {transport}", hosts.join(", "))?;
        // Printed before the figures, which these differences may explain.
        for finding in summary.findings.iter().filter(|finding| finding.rule == "HOSTS-DIFFER") {
            let host = finding.at.as_deref().unwrap_or_default();
            writeln!(out, "  {}: {}", visible(host), visible(&finding.what))?;
        }
    }
    if let Some(preset) = &summary.preset {
        writeln!(out, "preset: {}", words::describe_preset(preset))?;
    }
    if let Some(objective) = &summary.objective {
        writeln!(out, "objective: {}", visible(objective))?;
    }
    Ok(())
}

fn write_job(job: &JobSummary, several_steps: bool, out: &mut dyn Write) -> io::Result<()> {
    let place = if several_steps {
        format!("step {}, ", job.step + 1)
    } else {
        String::new()
    };
    writeln!(out, "{place}{}: {}", visible(&job.name), job.operations)?;
    let Some(ended) = &job.ended else {
        return writeln!(out, "  did not start");
    };
    let reason = if job.engine_reason.is_empty() {
        String::new()
    } else {
        format!(" ({})", job.engine_reason)
    };
    writeln!(out, "  {}, {}{reason}", job.load, job.engine.name())?;
    writeln!(out, "  measured {}{}", duration(job.measured_ns), describe_end(ended))?;
    let total = &job.total;
    if total.operations == 0 && total.errors == 0 {
        return writeln!(out, "  no operation completed in this time");
    }
    writeln!(out)?;
    let rows = figures_by_direction(job);
    write_rates(job, &rows, out)?;
    writeln!(out)?;
    write_latencies(job, &rows, out)?;
    writeln!(out)?;
    if let Some(average) = job.in_flight {
        writeln!(
            out,
            "  queue    {} of {} operations in flight on average",
            format_in_flight(average),
            job.depth
        )?;
    }
    let cpu = &job.cpu;
    if cpu.processors > 0.0 {
        let (user, system) = (cpu.user_ns_per_operation, cpu.system_ns_per_operation);
        let enough = cpu.user_ns.0 + cpu.system_ns.0 >= MIN_SPLIT_CPU.0;
        let parts = match enough {
            true => format!(
                " ({} in user mode, {} in the kernel)",
                format_time(user),
                format_time(system)
            ),
            false => String::new(),
        };
        let (cpu_time, processors) = (format_time(user + system), cpu.processors);
        writeln!(
            out,
            "  cpu      {cpu_time} per operation{parts}, {processors:.2} processors busy"
        )?;
    }
    // Synchronous engines do not measure the submission.
    if total.submission_mean_ns > 0.0 && job.engine != EngineKind::Null {
        let (submission, completion) = (
            format_time(total.submission_mean_ns),
            format_time(total.completion_mean_ns),
        );
        writeln!(
            out,
            "  stages   submission {submission}, completion {completion} on average"
        )?;
    }
    write_ranks(job, out)?;
    for outcome in &job.control {
        let word = if outcome.attained { "attained" } else { "not attained" };
        writeln!(out, "  rule     {}: {word}; {}", outcome.rule, outcome.detail)?;
    }
    Ok(())
}

/// Writes a line for each rank of a job.
fn write_ranks(job: &JobSummary, out: &mut dyn Write) -> io::Result<()> {
    if job.ranks.is_empty() {
        return Ok(());
    }
    let widest = job
        .ranks
        .iter()
        .map(|rank| rank.host.chars().count())
        .max()
        .unwrap_or(0)
        .max(4);
    writeln!(
        out,
        "\n  rank  {:<widest$}  {:>10}  {:>9}  {:>8}  {:>8}  {:>14}  {:>8}  began after",
        "host", "IOPS", "MB/s", "p50", "p99", "in flight", "measured"
    )?;
    for rank in &job.ranks {
        let percentile = |percent: f64| {
            let percentile = rank.total.latency.percentile(percent);
            percentile.map_or("-".to_owned(), |percentile| format_time(percentile.ns as f64))
        };
        let began = rank.start_ns.map_or("-".to_owned(), signed_time);
        let queue = rank.in_flight.map_or("-".to_owned(), |average| {
            format!("{} of {}", format_in_flight(average), rank.depth)
        });
        writeln!(
            out,
            "  {:>4}  {:<widest$}  {:>10}  {:>9}  {:>8}  {:>8}  {queue:>14}  {:>8}  {began}{}",
            rank.rank,
            rank.host,
            rate(rank.total.iops),
            throughput(rank.total.mb_per_sec),
            percentile(50.0),
            percentile(99.0),
            duration(rank.measured_ns),
            if rank.lost.is_some() { ", lost" } else { "" }
        )?;
    }
    Ok(())
}

/// Writes when the first and the last rank finished. In between, only some ranks loaded the
/// storage.
fn write_first_and_last_end(jobs: &[JobSummary], out: &mut dyn Write) -> io::Result<()> {
    let ranks = jobs.iter().flat_map(|job| &job.ranks);
    let ended: Vec<_> = ranks.filter_map(|rank| Some((rank.ended_ns?, rank))).collect();
    let first = ended.iter().min_by_key(|(at, rank)| (*at, rank.rank));
    let last = ended.iter().max_by_key(|(at, rank)| (*at, rank.rank));
    if let (Some((first, first_results)), Some((last, last_results))) = (first, last)
        && duration(*first) != duration(*last)
    {
        writeln!(
            out,
            "\n  the first rank finished after {} ({}, rank {}), the last after {} ({}, rank {})",
            duration(*first),
            first_results.host,
            first_results.rank,
            duration(*last),
            last_results.host,
            last_results.rank
        )?;
    }
    Ok(())
}

fn describe_end(ended: &EndReason) -> String {
    match ended {
        EndReason::Time => String::new(),
        EndReason::Done => ", until all work was done".into(),
        EndReason::Control { rule } => format!(", ended by a rule: {rule}"),
        EndReason::OtherJob => ", stopped when another job ended".into(),
        EndReason::Interrupted => ", interrupted".into(),
        EndReason::Failed => ", ended by a failure".into(),
    }
}

fn format_in_flight(average: f64) -> String {
    match average {
        a if a >= 100.0 => format!("{a:.1}"),
        a => format!("{a:.2}"),
    }
}

/// The figures of each direction or kind of operation, and their total if there are several.
fn figures_by_direction(job: &JobSummary) -> Vec<(&'static str, &Figures)> {
    let mut rows = job.kinds();
    if rows.len() > 1 {
        rows.push(("total", &job.total));
    }
    rows
}

/// The width of the name column.
fn name_width(rows: &[(&str, &Figures)]) -> usize {
    let longest = rows.iter().map(|(name, _)| name.len() + 1).max();
    longest.unwrap_or(0).max(8)
}

fn write_rates(job: &JobSummary, rows: &[(&str, &Figures)], out: &mut dyn Write) -> io::Result<()> {
    let width = name_width(rows);
    writeln!(
        out,
        "  {:<width$}{:>11}{:>11}{:>11}{:>14}",
        "", "IOPS", "MiB/s", "MB/s", "operations"
    )?;
    for (name, figures) in rows {
        write!(
            out,
            "  {name:<width$}{:>11}{:>11}{:>11}{:>14}",
            rate(figures.iops),
            throughput(figures.mib_per_sec),
            throughput(figures.mb_per_sec),
            count(figures.operations)
        )?;
        let mut notes = Vec::new();
        if let Some(percent) = job.iops_confidence_percent.filter(|_| *name == rows[rows.len() - 1].0) {
            notes.push(format!("IOPS +-{percent:.1} %"));
        }
        for (number, word) in [(figures.errors, "error"), (figures.late, "late")] {
            match (number, word) {
                (0, _) => {}
                (number, "error") => notes.push(pluralize(number, word)),
                (number, word) => notes.push(format!("{} {word}", count(number))),
            }
        }
        match notes.is_empty() {
            true => writeln!(out)?,
            false => writeln!(out, "   {}", notes.join(", "))?,
        }
    }
    Ok(())
}

fn write_latencies(job: &JobSummary, rows: &[(&str, &Figures)], out: &mut dyn Write) -> io::Result<()> {
    let width = name_width(rows);
    write!(out, "  {:<width$}{:>9}", "latency", "mean")?;
    PERCENTILES
        .iter()
        .try_for_each(|percent| write!(out, "{:>10}", format!("p{percent}")))?;
    writeln!(out, "{:>10}", "max")?;
    let mut marks = [false; 2];
    for (name, figures) in rows.iter().filter(|(name, _)| *name != "total") {
        write_latency_row((name, width), &figures.latency, &mut marks, out)?;
        if let Some(service) = &figures.service {
            write_latency_row((" service", width), service, &mut marks, out)?;
        }
    }
    if let Some(flush) = &job.flush {
        write_latency_row(("flush", width), &flush.latency, &mut marks, out)?;
    }
    // A column for it would not fit in 80.
    let measured = rows
        .iter()
        .filter(|(name, figures)| *name != "total" && !figures.latency.percentiles.is_empty());
    let fastest = measured.map(|(name, figures)| format!("{name} {}", Nanos(figures.latency.min_ns)));
    let fastest: Vec<String> = fastest.collect();
    if !fastest.is_empty() {
        writeln!(out, "  {:<8} {}", "min", fastest.join(", "))?;
    }
    if rows.iter().any(|(_, figures)| figures.service.is_some()) {
        writeln!(
            out,
            "  Latency starts when an operation is due, service when it is queued."
        )?;
    }
    if marks[0] {
        writeln!(out, "  ~ fewer than 100 operations were slower")?;
    }
    if marks[1] {
        writeln!(
            out,
            "  ? fewer than 10 operations were slower: little better than the maximum"
        )?;
    }
    Ok(())
}

fn write_latency_row(
    (name, width): (&str, usize),
    latency: &LatencyFigures,
    marks: &mut [bool; 2],
    out: &mut dyn Write,
) -> io::Result<()> {
    if latency.percentiles.is_empty() {
        return writeln!(out, "  {name:<width$}{:>9}", "-");
    }
    write!(out, "  {name:<width$}{:>9}", format_time(latency.mean_ns))?;
    for percent in PERCENTILES {
        let cell = latency
            .percentile(percent)
            .map_or_else(|| "-".into(), |estimate| percentile(estimate, marks));
        write!(out, "{cell:>10}")?;
    }
    writeln!(out, "{:>10}", Nanos(latency.max_ns).to_string())
}

fn percentile(estimate: Percentile, marks: &mut [bool; 2]) -> String {
    let value = Nanos(estimate.ns);
    match estimate.support {
        PercentileSupport::Good => value.to_string(),
        PercentileSupport::Weak => {
            marks[0] = true;
            format!("~{value}")
        }
        PercentileSupport::None => {
            marks[1] = true;
            format!("?{value}")
        }
    }
}

fn write_device(device: &DeviceSummary, out: &mut dyn Write) -> io::Result<()> {
    let kernel = transfers(&device.kernel);
    write!(
        out,
        "  {:<8} kernel counters from first to last operation, warm-up included: {kernel}",
        device.full_name()
    )?;
    let merged: u64 = device.merged.iter().sum();
    match &device.ours {
        Some(_) if device.matches_test() && merged > 0 => {
            write!(out, ", equal to this test's own count with {merged} merged requests")?
        }
        Some(_) if device.matches_test() => write!(out, ", equal to this test's own count")?,
        Some(ours) => write!(out, "; this test issued {}", transfers(ours))?,
        None => {}
    }
    if let (Some(in_device), Some(busy)) = (device.in_device, device.busy_percent) {
        write!(
            out,
            "; {} in the device on average, {busy:.0} % busy",
            format_in_flight(in_device)
        )?;
    }
    writeln!(out)
}

fn transfers(transfers: &Transfers) -> String {
    let mut words = Vec::new();
    for (count, noun, bytes) in [
        (transfers.reads, "read", transfers.read_bytes),
        (transfers.writes, "write", transfers.written_bytes),
    ] {
        if count > 0 {
            words.push(format!("{} ({})", pluralize(count, noun), Bytes(bytes)));
        }
    }
    match words.is_empty() {
        true => "nothing".into(),
        false => words.join(" and "),
    }
}

/// Writes findings with reason and advice, the most severe first.
///
/// # Errors
/// `out` cannot be written to.
pub fn write_findings(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    // Findings of one rule form a group, which prints the reason and advice only once.
    sorted.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.rule.cmp(&b.rule)));
    for group in sorted.chunk_by(|a, b| a.severity == b.severity && a.rule == b.rule && a.why == b.why) {
        let first = group[0];
        writeln!(out, "{} {}{}", first.severity.word(), first.rule, sentence(first))?;
        for finding in &group[1..] {
            writeln!(out, "  also{}", sentence(finding))?;
        }
        if let Some(why) = &first.why {
            writeln!(out, "  why: {}", visible(why))?;
        }
        if let Some(help) = &first.help {
            writeln!(out, "  help: {}", visible(help))?;
        }
    }
    Ok(())
}

fn sentence(finding: &Finding) -> String {
    let what = visible(&finding.what);
    match &finding.at {
        Some(at) => format!(" ({}): {what}", visible(at)),
        None => format!(": {what}"),
    }
}
