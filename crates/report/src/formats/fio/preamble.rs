//! The lines that fio prints before jobs run.

use std::io::{self, Write};

use model::plan::Plan;
use model::results::Results;

use super::settings::{self, Settings};

/// Writes the banners of the jobs, the version, and the number of workers.
pub(super) fn write(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    for line in &plan.origin.profile {
        writeln!(out, "{line}")?;
    }
    write_starting(plan, out)
}

/// Writes the version and the number of workers.
pub(super) fn write_starting(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", Settings::from_plan(plan).version)?;
    write_start(plan, out)
}

/// Writes the preamble for results of another dialect, with the tool that measured.
pub(super) fn write_foreign(results: &Results, out: &mut dyn Write) -> io::Result<()> {
    let (tool, version) = (&results.tool, Settings::from_plan(&results.plan).version);
    writeln!(out, "{} {}, in the format of {version}", tool.name, tool.version)?;
    write_start(&results.plan, out)
}

fn write_start(plan: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let (mut threads, mut processes) = (0, 0);
    for (number, (_, job)) in plan.jobs().enumerate() {
        match settings::is_thread(plan, number) {
            true => threads += job.workers.len(),
            false => processes += job.workers.len(),
        }
    }
    let threads = (threads > 0).then(|| pluralize(threads, "thread", "threads"));
    let processes = (processes > 0).then(|| pluralize(processes, "process", "processes"));
    let all: Vec<String> = threads.into_iter().chain(processes).collect();
    writeln!(out, "Starting {}", all.join(" and "))
}

fn pluralize(count: usize, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}

/// Formats the line that announces the layout of a job's files; `bytes` is their total size.
pub(super) fn laying_out(job: &str, files: u64, bytes: u64) -> String {
    let mib = bytes >> 20;
    match files {
        1 => format!("{job}: Laying out IO file (1 file / {mib}MiB)"),
        _ => format!("{job}: Laying out IO files ({files} files / total {mib}MiB)"),
    }
}
