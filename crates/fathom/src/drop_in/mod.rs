//! Standing in for other tools: their command lines, outputs and exit codes, unchanged.
//!
//! A drop-in mode has no switches of ours, because every word belongs to the other tool. What there
//! is to say beyond that goes through environment variables: `FATHOM_NOTES=1` for notes on stderr
//! where that is no terminal, `FATHOM_RESULT=FILE` for the native result beside the other tool's
//! report, `FATHOM_HISTORY=on` to keep it in the history as well, `FATHOM_ALLOW_EXEC=1` for the
//! commands that job files of fio name.

pub mod diskspd;
pub mod fio;
pub mod iometer;
#[cfg(not(windows))]
mod named_events;
#[cfg(windows)]
#[path = "named_events_of_windows.rs"]
mod named_events;
pub mod vdbench;

use std::io::{IsTerminal, Write};
use std::path::Path;

use archive::history::{EntryKind, Recording, Subject};
use model::finding::{Finding, Severity};
use model::results::Results;

use crate::history;

/// A tool that this program can stand in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `diskspd`, `diskspd.exe`.
    Diskspd,
    /// `fio`, `fio.exe`.
    Fio,
    /// `iometer`, `Iometer.exe`.
    Iometer,
    /// `vdbench`.
    Vdbench,
}

impl Tool {
    fn named(name: &str) -> Option<Tool> {
        match name {
            "diskspd" => Some(Tool::Diskspd),
            "fio" => Some(Tool::Fio),
            "iometer" => Some(Tool::Iometer),
            "vdbench" => Some(Tool::Vdbench),
            _ => None,
        }
    }
}

/// The tool that is called for, and how many words of the command line its name takes: by the
/// program's own name, copied or linked, or by the subcommand.
pub fn detect_tool(words: &[String]) -> Option<(Tool, usize)> {
    let program = words.first()?;
    // An agent is started as `fathom agent --stdio`, from a copy named `fio` too.
    if words.get(1..3).is_some_and(|words| words == ["agent", "--stdio"]) {
        return None;
    }
    let name = program
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(program)
        .to_ascii_lowercase();
    if let Some(tool) = Tool::named(name.strip_suffix(".exe").unwrap_or(&name)) {
        return Some((tool, 1));
    }
    Some((Tool::named(words.get(1)?)?, 2))
}

/// A note for people.
fn note(text: &str) {
    advise(&[format!("note: {text}")]);
}

/// Lines on stderr that the other tool would not print. They appear on a terminal, or with
/// `FATHOM_NOTES=1`: some callers take any word on stderr for a failure.
fn advise(lines: &[String]) {
    let asked = std::env::var_os("FATHOM_NOTES").is_some_and(|value| value == "1");
    if asked || std::io::stderr().is_terminal() {
        complain(lines);
    }
}

/// Hosts that were lost while a test ran, each in a line: neither tool has a place for them in its
/// report.
fn lost_hosts(results: &Results) -> Vec<String> {
    let lost = results.findings.iter().filter(|finding| finding.rule == "HOST-LOST");
    let line = |finding: &Finding| {
        let host = finding.at.as_deref().unwrap_or("a host");
        format!("{host}: {}; the report has what was reported until then", finding.what)
    };
    lost.map(line).collect()
}

/// What was found, as notes; what the guard warns of even where notes were not asked for. Workers
/// that did not start are reported in the syntax of the other tool.
fn note_findings(results: &Results) {
    let mut refusals: Vec<&str> = Vec::new();
    let workers = results
        .steps
        .iter()
        .flat_map(|step| &step.jobs)
        .flat_map(|job| &job.workers);
    for used in workers.map(|worker| &worker.engine) {
        if used.reason.starts_with(engine::RING_REFUSED) && !refusals.contains(&&*used.reason) {
            note(&format!("the engine is {}: {}", used.kind.name(), used.reason));
            refusals.push(&used.reason);
        }
    }
    let findings = results.findings.iter();
    for finding in findings.filter(|finding| finding.severity >= Severity::Note && finding.rule != "NOT-STARTED") {
        let at = finding.at.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
        let line = format!("{at}{} [{}]", finding.what, finding.rule);
        match finding.rule == "GUARD" && finding.severity == Severity::Warning {
            true => complain(&[format!("warning: {line}")]),
            false => note(&line),
        }
    }
}

/// Lines on stderr. Where it is closed they are lost.
fn complain(lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let _ = std::io::stderr().write_all(text_mode(&model::visible_lines(&text)).as_bytes());
}

/// Text on stdout. A reader that has gone away is no error.
fn tell(text: &str) -> std::io::Result<()> {
    crate::screen::print(&text_mode(text))
}

/// Line ends as programs of the system write them.
fn text_mode(text: &str) -> String {
    match cfg!(windows) {
        true => text.replace('\n', "\r\n"),
        false => text.to_owned(),
    }
}

/// True if the native result can be saved where that is asked for. Checked before anything is
/// measured.
fn can_keep() -> bool {
    let Some(path) = std::env::var_os("FATHOM_RESULT") else {
        return true;
    };
    let path = Path::new(&path);
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let why = match tempfile::tempfile_in(folder) {
        Ok(_) if path.is_dir() => "it is a directory".to_owned(),
        Ok(_) => return true,
        Err(error) => error.raw_os_error().map_or(error.to_string(), engine::os_error_name),
    };
    complain(&[format!(
        "ERROR: FATHOM_RESULT: {} cannot be written: {why}",
        path.display()
    )]);
    false
}

/// Saves the native result where that is asked for, and keeps it in the history where that is.
/// False if it could not be saved; a history that fails is no more than a message.
fn keep(results: &Results, kind: EntryKind) -> bool {
    let saved = save(results);
    let file = std::env::var_os("FATHOM_RESULT").filter(|_| saved);
    let file = file.and_then(|path| std::fs::canonicalize(path).ok());
    let recording = Recording {
        subject: Subject::Run(results),
        kind,
        name: None,
        verdict: None,
        file: file.as_deref(),
    };
    if let Err(why) = history::keep_of_drop_in(&recording) {
        complain(&[format!("WARNING: this result is not in the history: {why}")]);
    }
    saved
}

fn save(results: &Results) -> bool {
    let Some(path) = std::env::var_os("FATHOM_RESULT") else {
        return true;
    };
    match archive::save(results, Path::new(&path)) {
        Ok(()) => true,
        Err(error) => {
            complain(&[format!("ERROR: FATHOM_RESULT: {error}")]);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_is_known_by_its_name() {
        let check = |words: &[&str], expected: Option<(Tool, usize)>| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            assert_eq!(detect_tool(&words), expected, "{words:?}");
        };
        check(&["fathom", "diskspd", "-d1"], Some((Tool::Diskspd, 2)));
        check(&["/usr/local/bin/diskspd", "-d1"], Some((Tool::Diskspd, 1)));
        check(&[r"C:\tools\DiskSpd.EXE"], Some((Tool::Diskspd, 1)));
        check(&["./diskspd.exe"], Some((Tool::Diskspd, 1)));
        check(&["/opt/fio", "job.fio"], Some((Tool::Fio, 1)));
        check(&["fathom", "fio", "job.fio"], Some((Tool::Fio, 2)));
        check(&["Iometer.exe", "/c", "x.icf"], Some((Tool::Iometer, 1)));
        check(&["fathom", "iometer"], Some((Tool::Iometer, 2)));
        check(&["fathom", "vdbench", "-t"], Some((Tool::Vdbench, 2)));
        check(&["fathom", "run", "diskspd"], None);
        check(&["diskspd-2"], None);
        check(&[], None);
    }
}
