//! Reads results of other tools: text → [`Observation`]s, one per time span, job or group.
//!
//! The form is recognised by content, so a page that quotes a report is accepted. Missing and
//! unreadable figures are reported with their line, and never filled in. Nothing is judged here.

mod crystal;
mod decode;
mod diskspd;
mod embedded;
mod figures;
mod fio;
mod flow_sum;
mod iometer;
mod numbers;
mod unsupported;
mod vdbench;

use model::finding::{Finding, Severity};
use model::observation::Observation;

pub use decode::{Decoded, decode};
pub use fio::logs;
pub use unsupported::recognise_test;

use crate::{Diagnostic, Location};

/// A form of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// DiskSpd's tables, of 2.0 to 2.2.
    DiskspdText,
    /// DiskSpd's XML, of 2.0 to 2.2.
    DiskspdXml,
    /// fio's JSON of 3.x, with or without bins.
    FioJson,
    /// fio's normal report, of 2.x and 3.x.
    FioNormal,
    /// The text that CrystalDiskMark copies.
    CrystalDiskMark,
    /// Vdbench's `summary.html`, of 5.03 to 5.04.07.
    VdbenchSummary,
    /// Vdbench's `flatfile.html`, of 5.03 to 5.04.07.
    VdbenchFlat,
    /// Iometer's results as CSV, of 2003 to 1.1.
    Iometer,
    /// Figures written down by hand, as TOML or CSV.
    Figures,
}

/// Is a text of this form?
type Recognise = fn(&str) -> bool;

/// Each form with its name in a sentence and the test of a text. The first form whose test succeeds
/// is the form of the text.
const FORMS: [(Form, &str, Recognise); 9] = [
    (Form::FioJson, "a JSON report of fio", |text| {
        embedded::find_fio_json(text).is_some()
    }),
    (Form::DiskspdXml, "an XML report of DiskSpd", |text| {
        embedded::find_diskspd_xml(text).is_some()
    }),
    (
        Form::CrystalDiskMark,
        "a text copied from CrystalDiskMark",
        crystal::is_report,
    ),
    (Form::DiskspdText, "a text report of DiskSpd", diskspd::text::is_report),
    (Form::FioNormal, "a normal report of fio", fio::normal::is_report),
    (Form::Iometer, "results of Iometer", iometer::is_report),
    (Form::VdbenchFlat, "a flat file of Vdbench", vdbench::flat::is_report),
    (
        Form::VdbenchSummary,
        "a summary of Vdbench",
        vdbench::summary::is_report,
    ),
    (Form::Figures, "figures written down by hand", figures::is_report),
];

impl Form {
    /// Name in a sentence.
    pub fn name(self) -> &'static str {
        let entry = FORMS.iter().find(|(form, ..)| *form == self);
        entry.map_or("", |(_, name, _)| name)
    }
}

/// The content of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Tool and format of the report.
    pub form: Form,
    /// The command lines that the report echoes, in order.
    pub commands: Vec<String>,
    /// The machine, as the report names it.
    pub host: Option<String>,
    /// The start time, as the report writes it.
    pub started: Option<String>,
    /// The start time in seconds since 1970 (UTC), if the report has it.
    pub started_unix_secs: Option<u64>,
    /// The options of the only job, as the tool names them; empty for several jobs or if the report
    /// has none.
    pub job_options: Vec<(String, String)>,
    /// The number of processors in the report.
    pub processors: Option<u32>,
    /// The source of figures written down by hand.
    pub source: Option<String>,
    /// The loads, one per time span, job or group, in order; then the sums of jobs that ran at the
    /// same time.
    pub loads: Vec<Observation>,
    /// Findings about the report itself: missing parts, contradictions, typing errors.
    pub findings: Vec<Finding>,
    /// Unreadable lines, which are skipped.
    pub unread: Vec<Diagnostic>,
}

impl Imported {
    fn new(form: Form) -> Imported {
        Imported {
            form,
            commands: Vec::new(),
            host: None,
            started: None,
            started_unix_secs: None,
            job_options: Vec::new(),
            processors: None,
            source: None,
            loads: Vec::new(),
            findings: Vec::new(),
            unread: Vec::new(),
        }
    }
}

/// Detects the form of a text; `None` if fathom cannot read it.
pub fn recognise(text: &str) -> Option<Form> {
    let entry = FORMS.iter().find(|(_, _, is_report)| is_report(text))?;
    Some(entry.0)
}

/// Reads a report in any known form. Messages name it `file`.
///
/// # Errors
/// Describes the expected text and its position, if the text has no readable result.
pub fn read(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    match recognise(text) {
        Some(form) => read_as(form, file, text),
        None => Err(vec![unknown_form(file, text)]),
    }
}

/// Reads a report in a form.
///
/// # Errors
/// Describes the expected text and its position.
pub fn read_as(form: Form, file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    let imported = match form {
        Form::DiskspdText => diskspd::text::read(file, text),
        Form::DiskspdXml => diskspd::xml::read(file, text)?,
        Form::FioJson => fio::json::read(file, text)?,
        Form::FioNormal => fio::normal::read(file, text),
        Form::CrystalDiskMark => crystal::read(text),
        Form::VdbenchSummary => vdbench::summary::read(file, text)?,
        Form::VdbenchFlat => vdbench::flat::read(file, text)?,
        Form::Iometer => iometer::read(file, text)?,
        Form::Figures => figures::read(file, text)?,
    };
    refuse_empty(imported, file)
}

/// Refuses a report without any load.
fn refuse_empty(imported: Imported, file: &str) -> Result<Imported, Vec<Diagnostic>> {
    if !imported.loads.is_empty() {
        return Ok(imported);
    }
    let mut problems = imported.unread;
    let findings = imported.findings.into_iter();
    problems.extend(
        findings
            .filter(|finding| finding.severity > Severity::Note)
            .map(|finding| Diagnostic {
                help: finding.help,
                ..Diagnostic::new(finding.what)
            }),
    );
    if problems.is_empty() {
        let message = format!("{file} contains no readable result (form: {})", imported.form.name());
        problems.push(Diagnostic::new(message).help("run the test again: the run was interrupted or failed"));
    }
    Err(problems)
}

fn unknown_form(file: &str, text: &str) -> Diagnostic {
    if let Some(foreign) = unsupported::recognise(text) {
        let message = format!(
            "{file} is {}, which fathom does not read: {}",
            foreign.name, foreign.why
        );
        return Diagnostic::new(message).help(foreign.advice.replace("FILE", file));
    }
    let place = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty());
    let form_names = FORMS.map(|(_, name, _)| name);
    let message = format!("{file} contains no result that fathom knows");
    let help = format!(
        "fathom reads {}, and its own saved results; write down figures from a picture or a page as in docs/explain.md",
        form_names.join(", ")
    );
    match place {
        Some((index, line)) => problem_at(file, index + 1, line, message).help(help),
        None => Diagnostic::new(format!("{file} is empty")),
    }
}

/// Reports that a part is missing.
fn truncated_finding(what: impl Into<String>) -> Finding {
    Finding::new("REPORT-TRUNCATED", Severity::Warning, what).help("copy the whole report, or run it again")
}

/// A problem with a line of the file.
fn problem_at(file: &str, line: usize, text: &str, what: impl Into<String>) -> Diagnostic {
    Diagnostic::new(what).at(build_location(file, line, text))
}

/// A place in the file, with its text shortened.
fn build_location(file: &str, line: usize, text: &str) -> Location {
    const MAX_SHOWN_CHARS: usize = 60;
    let trimmed = text.trim();
    let mut shown: String = trimmed.chars().take(MAX_SHOWN_CHARS).collect();
    if trimmed.chars().count() > MAX_SHOWN_CHARS {
        shown.push('…');
    }
    Location {
        file: file.to_owned(),
        line,
        text: shown,
    }
}
