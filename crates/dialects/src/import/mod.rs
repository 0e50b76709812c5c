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
pub use unsupported::{UnsupportedForm, recognise_test};

use crate::{Diagnostic, Location};

/// A form of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// DiskSpd's tables.
    DiskspdText,
    /// DiskSpd's XML.
    DiskspdXml,
    /// fio's JSON, with or without bins.
    FioJson,
    /// fio's normal report.
    FioNormal,
    /// The text that CrystalDiskMark copies.
    CrystalDiskMark,
    /// Vdbench's `summary.html`.
    VdbenchSummary,
    /// Vdbench's `flatfile.html`.
    VdbenchFlat,
    /// Iometer's results as CSV.
    Iometer,
    /// Figures written down by hand, as TOML or CSV.
    Figures,
}

impl Form {
    /// All forms.
    pub const ALL: [Form; 9] = [
        Form::DiskspdText,
        Form::DiskspdXml,
        Form::FioJson,
        Form::FioNormal,
        Form::CrystalDiskMark,
        Form::VdbenchSummary,
        Form::VdbenchFlat,
        Form::Iometer,
        Form::Figures,
    ];

    /// Name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Form::DiskspdText => "a text report of DiskSpd",
            Form::DiskspdXml => "an XML report of DiskSpd",
            Form::FioJson => "a JSON report of fio",
            Form::FioNormal => "a normal report of fio",
            Form::CrystalDiskMark => "a text copied from CrystalDiskMark",
            Form::VdbenchSummary => "a summary of Vdbench",
            Form::VdbenchFlat => "a flat file of Vdbench",
            Form::Iometer => "results of Iometer",
            Form::Figures => "figures written down by hand",
        }
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
    if embedded::find_fio_json(text).is_some() {
        Some(Form::FioJson)
    } else if embedded::find_diskspd_xml(text).is_some() {
        Some(Form::DiskspdXml)
    } else if crystal::is_report(text) {
        Some(Form::CrystalDiskMark)
    } else if diskspd::text::is_report(text) {
        Some(Form::DiskspdText)
    } else if fio::normal::is_report(text) {
        Some(Form::FioNormal)
    } else if iometer::is_report(text) {
        Some(Form::Iometer)
    } else if vdbench::flat::is_report(text) {
        Some(Form::VdbenchFlat)
    } else if vdbench::summary::is_report(text) {
        Some(Form::VdbenchSummary)
    } else {
        figures::is_report(text).then_some(Form::Figures)
    }
}

/// Reads a report in any known form. Messages name it `file`.
///
/// # Errors
/// Describes the expected text and its position, if the text has no readable result.
pub fn read(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    let Some(form) = recognise(text) else {
        return Err(vec![unknown_form(file, text)]);
    };
    match form {
        Form::DiskspdText => diskspd_text(file, text),
        Form::DiskspdXml => diskspd_xml(file, text),
        Form::FioJson => fio_json(file, text),
        Form::FioNormal => fio_normal(file, text),
        Form::CrystalDiskMark => crystal::read(file, text),
        Form::VdbenchSummary => vdbench_summary(file, text),
        Form::VdbenchFlat => vdbench_flat(file, text),
        Form::Iometer => iometer(file, text),
        Form::Figures => figures::read(file, text),
    }
}

/// Reads DiskSpd's text report of 2.0 to 2.2.
///
/// # Errors
/// Describes the expected text and its position.
pub fn diskspd_text(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finish_import(diskspd::text::read(file, text), file)
}

/// Reads DiskSpd's XML report of 2.0 to 2.2.
///
/// # Errors
/// Describes the expected text and its position.
pub fn diskspd_xml(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finish_import(diskspd::xml::read(file, text)?, file)
}

/// Reads fio's JSON of 3.x.
///
/// # Errors
/// Describes the expected text and its position.
pub fn fio_json(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finish_import(fio::json::read(file, text)?, file)
}

/// Reads fio's normal report of 2.x and 3.x.
///
/// # Errors
/// Describes the expected text and its position.
pub fn fio_normal(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finish_import(fio::normal::read(file, text), file)
}

/// Reads Vdbench's `summary.html` of 5.03 to 5.04.07.
///
/// # Errors
/// Describes the expected text and its position.
pub fn vdbench_summary(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finish_import(vdbench::summary::read(file, text)?, file)
}

/// Reads Vdbench's `flatfile.html` of 5.03 to 5.04.07.
///
/// # Errors
/// Describes the expected text and its position.
pub fn vdbench_flat(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finish_import(vdbench::flat::read(file, text)?, file)
}

/// Reads Iometer's results of 2003 to 1.1.
///
/// # Errors
/// Describes the expected text and its position.
pub fn iometer(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finish_import(iometer::read(file, text)?, file)
}

/// Refuses a report without any load.
fn finish_import(imported: Imported, file: &str) -> Result<Imported, Vec<Diagnostic>> {
    if !imported.loads.is_empty() {
        return Ok(imported);
    }
    let mut problems = imported.unread;
    for finding in imported
        .findings
        .into_iter()
        .filter(|finding| finding.severity > Severity::Note)
    {
        let problem = Diagnostic::new(finding.what);
        problems.push(match finding.help {
            Some(help) => problem.help(help),
            None => problem,
        });
    }
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
    let form_names: Vec<&str> = Form::ALL.iter().map(|form| form.name()).collect();
    let message = format!("{file} contains no result that fathom knows");
    let help = format!(
        "fathom reads {}, and its own saved results; write down figures from a picture or a page as in docs/explain.md",
        form_names.join(", ")
    );
    let problem = Diagnostic::new(message).help(help);
    match place {
        Some((index, line)) => problem.at(build_location(file, index + 1, line)),
        None => Diagnostic::new(format!("{file} is empty")),
    }
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
