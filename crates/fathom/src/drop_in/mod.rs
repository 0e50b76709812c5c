//! Drop-in modes for other tools, with their command lines, outputs and exit codes.
//!
//! A drop-in mode has no options of its own, because every argument belongs to the other tool.
//! Environment variables add the rest: `FATHOM_NOTES=1` prints notes on stderr even if it is not a
//! terminal, `FATHOM_RESULT=FILE` saves the native result, `FATHOM_REPORT=FILE` writes its page,
//! `FATHOM_HISTORY=on` records it in the history, `FATHOM_ALLOW_EXEC=1` allows the commands in
//! files of fio and Vdbench. `fathom TOOL --report FILE` is the exception: it also writes the page.

pub mod diskspd;
pub mod fio;
pub mod iometer;
#[cfg(not(windows))]
mod named_events;
#[cfg(windows)]
#[path = "named_events_of_windows.rs"]
mod named_events;
pub mod report_page;
pub mod vdbench;

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};
use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};

use ::run::targets::guard::Refusal;
use archive::history::{EntryKind, Recording, Subject};
use model::finding::{Finding, Severity};
use model::plan::{Plan, TargetKind, Verify};
use model::results::Results;

use crate::named_files::is_same_file;
use crate::outputs::find_protected;
use crate::{history, own_files};

/// A tool that has a drop-in mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// `diskspd`, `diskspd.exe`.
    Diskspd,
    /// `fio`, `fio.exe`.
    Fio,
    /// `iometer`, `Iometer.exe`.
    Iometer,
    Vdbench,
}

/// True if a host name or address belongs to this machine.
fn is_this_machine(host: &str) -> bool {
    let own = engine::probe::host(&engine::probe::System::live()).name;
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    match host.parse::<IpAddr>() {
        // Only addresses of this machine can be bound.
        Ok(address) => !address.is_unspecified() && UdpSocket::bind((address, 0)).is_ok(),
        Err(_) => host.eq_ignore_ascii_case("localhost") || !host.is_empty() && short(host) == short(&own),
    }
}

impl Tool {
    fn from_name(name: &str) -> Option<Tool> {
        match name {
            "diskspd" => Some(Tool::Diskspd),
            "fio" => Some(Tool::Fio),
            "iometer" => Some(Tool::Iometer),
            "vdbench" => Some(Tool::Vdbench),
            _ => None,
        }
    }
}

/// Detects the tool by the program's name (a copy or link) or by the subcommand. Returns it with
/// the number of leading arguments that name it.
pub fn detect_tool(words: &[String]) -> Option<(Tool, usize)> {
    let program = words.first()?;
    // `fathom agent --stdio` starts an agent, even from a copy named `fio`.
    if words.get(1..3).is_some_and(|words| words == ["agent", "--stdio"]) {
        return None;
    }
    let name = program
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(program)
        .to_ascii_lowercase();
    if let Some(tool) = Tool::from_name(name.strip_suffix(".exe").unwrap_or(&name)) {
        return Some((tool, 1));
    }
    Some((Tool::from_name(words.get(1)?)?, 2))
}

/// The help topic that `fathom TOOL -h` asks for, if the tool itself has no such option. A copy or
/// link with the name of the tool prints the tool's own error.
pub fn requested_help(tool: Tool, arguments: &[String]) -> Option<&'static str> {
    let topic = match tool {
        Tool::Diskspd => "diskspd",
        Tool::Vdbench => "vdbench",
        Tool::Iometer => "iometer",
        Tool::Fio => return None,
    };
    match arguments {
        [_, name, option] if name == topic && ["-h", "-help", "--help"].contains(&&**option) => Some(topic),
        _ => None,
    }
}

/// Prints a note for the user.
fn note(text: &str) {
    print_notes(&[format!("note: {text}")]);
}

/// Prints lines that the other tool would not print. They appear only on a terminal or with
/// `FATHOM_NOTES=1`, because some callers treat any output on stderr as a failure.
fn print_notes(lines: &[String]) {
    let is_enabled = std::env::var_os("FATHOM_NOTES").is_some_and(|value| value == "1");
    if is_enabled || std::io::stderr().is_terminal() {
        print_stderr(lines);
    }
}

/// Formats a line for each host that was lost during the test: reports of the other tools have no
/// place for it.
fn lost_host_lines(results: &Results) -> Vec<String> {
    let lost = results.findings.iter().filter(|finding| finding.rule == "HOST-LOST");
    let line = |finding: &Finding| {
        let host = finding.at.as_deref().unwrap_or("a host");
        format!("{host}: {}; the report includes its results until then", finding.what)
    };
    lost.map(line).collect()
}

/// Prints findings and refusals of io_uring as notes, and warnings of the guard always. Workers
/// that did not start are reported in the other tool's form.
fn print_findings(results: &Results) {
    let mut refusals: Vec<&str> = Vec::new();
    for used in results.workers().map(|worker| &worker.engine) {
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
            true => print_stderr(&[format!("warning: {line}")]),
            false => note(&line),
        }
    }
}

/// Describes a refusal by the guard, for which the other tools have no message.
fn describe_refusal(refusal: &Refusal) -> String {
    let reasons: Vec<String> = refusal.reasons.iter().map(ToString::to_string).collect();
    format!(
        "{} must not be {}: {}; {}",
        refusal.path.display(),
        refusal.intent,
        reasons.join("; "),
        refusal.help
    )
}

/// Prints lines on stderr. If it is closed, they are lost.
fn print_stderr(lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let _ = std::io::stderr().write_all(text_mode(&model::visible_lines(&text)).as_bytes());
}

/// Prints text on stdout, with control characters of names escaped. A reader that has closed the
/// pipe is not an error.
fn print_stdout(text: &str) -> std::io::Result<()> {
    crate::screen::print(&text_mode(&model::visible_report(text)))
}

/// Converts line ends to the system's.
fn text_mode(text: &str) -> String {
    match cfg!(windows) {
        true => text.replace('\n', "\r\n"),
        false => text.to_owned(),
    }
}

/// Checks before the run whether the native result and the page can be written. Prints an error if
/// not.
fn can_save_result() -> bool {
    let checked = check_own_outputs();
    if let Err(why) = &checked {
        print_stderr(&[format!("ERROR: {why}")]);
    }
    checked.is_ok()
}

/// The variable with the file of the native result.
const RESULT: &str = "FATHOM_RESULT";

/// Returns the file of the native result, if requested.
fn result_path() -> Option<PathBuf> {
    std::env::var_os(RESULT).map(PathBuf::from)
}

/// Returns the files that the tool itself would not write, each with its name for messages.
fn own_outputs() -> Vec<(&'static str, PathBuf)> {
    let result = result_path().map(|path| (RESULT, path));
    result.into_iter().chain(report_page::requested()).collect()
}

/// Checks whether the native result and the page can be written.
///
/// # Errors
/// A sentence with the reason.
fn check_own_outputs() -> Result<(), String> {
    let outputs = own_outputs();
    outputs
        .iter()
        .try_for_each(|(name, path)| check_output_path(name, path))
}

fn check_output_path(name: &str, path: &Path) -> Result<(), String> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let why = match tempfile::tempfile_in(folder) {
        Ok(_) if path.is_dir() => "the path is a directory".to_owned(),
        Ok(_) => return Ok(()),
        Err(error) => error.raw_os_error().map_or(error.to_string(), engine::os_error_name),
    };
    Err(format!("{name}: cannot write {}: {why}", path.display()))
}

/// Refuses to replace a file that fathom did not write.
fn check_replaceable(name: &str, path: &Path) -> Result<(), String> {
    let refuse = |error| {
        let path = path.display();
        format!("{name}: cannot write {path}: {error}; choose another name, or remove it")
    };
    own_files::check(path).map_err(refuse)
}

/// Refuses outputs that would replace an input or target of the run, each other, a block device or
/// the history, and a native result or page that would replace a file of another program. Checks
/// `outputs`, those of the plan, the native result and the page. Links are followed. The other
/// tools overwrite such files.
///
/// # Errors
/// A sentence about the output that cannot be written.
fn check_outputs(outputs: &[(&str, &Path)], inputs: &[PathBuf], plan: &Plan) -> Result<(), String> {
    let own = own_outputs();
    let job_files = plan.jobs().flat_map(|(_, job)| [&job.trace, &job.operation_log]);
    let all = outputs.iter().copied();
    let all = all.chain(own.iter().map(|(name, path)| (*name, &**path))).chain(
        job_files
            .flatten()
            .map(|path| ("the log of operations", Path::new(path))),
    );
    let workers = plan.jobs().flat_map(|(_, job)| &job.workers);
    let streams: Vec<_> = workers.flat_map(|worker| &worker.streams).collect();
    let verified = streams.iter().filter_map(|stream| stream.verify.as_ref());
    let verified = verified.filter(|verify| verify.save_state && !verify.only);
    let states: BTreeSet<PathBuf> = verified.map(Verify::state_path).collect();
    let all = all.chain(states.iter().map(|path| ("the verify state", &**path)));
    let replays = streams.iter().filter_map(|stream| stream.replay.as_ref());
    let traces: Vec<&Path> = replays.map(|replay| Path::new(&replay.trace)).collect();
    let all: Vec<_> = all.collect();
    for (number, (role, path)) in all.iter().copied().enumerate() {
        let mut read = inputs.iter().map(|input| &**input).chain(traces.iter().copied());
        let is_input = read.any(|input| is_same_file(path, input));
        let mut targets = plan.targets.iter().filter(|target| target.kind == TargetKind::Path);
        let other = all[..number].iter().find(|(_, other)| is_same_file(path, other));
        let conflict = match (is_input, other) {
            (true, _) => "also an input".to_owned(),
            _ if targets.any(|target| is_same_file(path, Path::new(&target.path))) => "a target of the test".into(),
            (false, Some((other, _))) => format!("also the file of {other}"),
            (false, None) => match find_protected(path) {
                Some(kind) => kind.into(),
                None => continue,
            },
        };
        return Err(format!("cannot write {role} to {}: it is {conflict}", path.display()));
    }
    // Only a plan with jobs writes a native result and a page.
    let is_run = plan.jobs().next().is_some();
    let mut written = own.iter().filter(|_| is_run);
    written.try_for_each(|(name, path)| check_replaceable(name, path))
}

/// True if something stores or shows the native result: a file, a page or the history.
pub fn is_keeping_results() -> bool {
    !own_outputs().is_empty() || history::is_recording_drop_ins()
}

/// Saves and records the native result and writes its page, each if requested. Returns false if a
/// file could not be written; an error of the history is only a warning.
fn record_results(results: &Results, kind: EntryKind) -> bool {
    let saved = save_result(results);
    let has_page = write_page(results);
    let file = result_path().filter(|_| saved);
    let file = file.and_then(|path| std::fs::canonicalize(path).ok());
    let recording = Recording {
        subject: Subject::Run(results),
        kind,
        name: None,
        verdict: None,
        file: file.as_deref(),
    };
    if let Err(why) = history::record_drop_in(&recording) {
        print_stderr(&[format!("WARNING: this result is not in the history: {why}")]);
    }
    saved && has_page
}

fn save_result(results: &Results) -> bool {
    let save = |path: PathBuf| {
        own_files::save(results, &path).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    let saved = result_path().map_or(Ok(()), save);
    if let Err(why) = &saved {
        print_stderr(&[format!("ERROR: {RESULT}: {why}")]);
    }
    saved.is_ok()
}

fn write_page(results: &Results) -> bool {
    let written = report_page::requested().map_or(Ok(()), |(_, path)| report_page::write(results, &path));
    if let Err(why) = &written {
        print_stderr(&[format!("ERROR: {why}")]);
    }
    written.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_this_machine_are_recognised() {
        for host in ["localhost", "LOCALHOST", "127.0.0.1", "127.0.0.2"] {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["0.0.0.0", "", "no-such-machine"] {
            assert!(!is_this_machine(host), "{host}");
        }
        // 192.0.2.7 is reserved for documentation. Wine binds to any address.
        assert!(cfg!(windows) || !is_this_machine("192.0.2.7"));
    }

    #[test]
    fn the_tool_is_detected_by_program_or_subcommand() {
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
