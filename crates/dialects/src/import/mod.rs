//! Results of other tools: text → [`Observation`]s, one for each time span, job or group.
//!
//! The form is recognised by what the text says, wherever in it the report stands: a page that
//! quotes one will do. What is there is used; what is missing or cannot be read is reported with
//! its line, and never filled in. Nothing is judged here.

mod anywhere;
mod crystal;
mod decode;
mod diskspd;
mod figures;
mod fio;
mod iometer;
mod numbers;
mod refused;
mod together;
mod vdbench;

use model::finding::{Finding, Severity};
use model::observation::Observation;

pub use decode::{Decoded, decode};
pub use fio::logs;
pub use refused::Foreign;

use crate::{Diagnostic, Place};

/// A form of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// DiskSpd's tables.
    DiskspdText,
    /// DiskSpd's XML.
    DiskspdXml,
    /// fio's JSON, with or without bins.
    FioJson,
    /// fio's report for people.
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
    /// Every form that is read.
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

    /// Its name in a sentence.
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
            Form::Figures => "written-down figures",
        }
    }
}

/// What a text holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Its form.
    pub form: Form,
    /// The command lines that the report echoes, in order.
    pub commands: Vec<String>,
    /// The machine, as the report names it.
    pub host: Option<String>,
    /// When it ran, as the report says it.
    pub started: Option<String>,
    /// Processors that the report counts.
    pub processors: Option<u32>,
    /// The source of figures written down by hand.
    pub source: Option<String>,
    /// One for each time span, job or group, in order; behind them those of jobs that ran at once.
    pub loads: Vec<Observation>,
    /// What reading it showed: what is missing, what does not fit together, what was meant
    /// otherwise.
    pub remarks: Vec<Finding>,
    /// Lines that could not be read; they are left out.
    pub unread: Vec<Diagnostic>,
}

impl Imported {
    fn new(form: Form) -> Imported {
        Imported {
            form,
            commands: Vec::new(),
            host: None,
            started: None,
            processors: None,
            source: None,
            loads: Vec::new(),
            remarks: Vec::new(),
            unread: Vec::new(),
        }
    }
}

/// The form of a text; `None` if it holds nothing that is read here.
pub fn recognise(text: &str) -> Option<Form> {
    if anywhere::json_of_fio(text).is_some() {
        Some(Form::FioJson)
    } else if anywhere::xml_of_diskspd(text).is_some() {
        Some(Form::DiskspdXml)
    } else if crystal::is_one(text) {
        Some(Form::CrystalDiskMark)
    } else if diskspd::text::is_one(text) {
        Some(Form::DiskspdText)
    } else if fio::normal::is_one(text) {
        Some(Form::FioNormal)
    } else if iometer::is_one(text) {
        Some(Form::Iometer)
    } else if vdbench::flat::is_one(text) {
        Some(Form::VdbenchFlat)
    } else if vdbench::summary::is_one(text) {
        Some(Form::VdbenchSummary)
    } else {
        figures::is_one(text).then_some(Form::Figures)
    }
}

/// Reads a text in whatever form it is. `file` is how messages call it.
///
/// # Errors
/// What was expected and where, if it holds no result that can be read.
pub fn read(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    let Some(form) = recognise(text) else {
        return Err(vec![nothing_known(file, text)]);
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
/// What was expected and where.
pub fn diskspd_text(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finished(diskspd::text::read(file, text), file)
}

/// Reads DiskSpd's XML report of 2.0 to 2.2.
///
/// # Errors
/// What was expected and where.
pub fn diskspd_xml(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finished(diskspd::xml::read(file, text)?, file)
}

/// Reads fio's JSON of 3.x.
///
/// # Errors
/// What was expected and where.
pub fn fio_json(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finished(fio::json::read(file, text)?, file)
}

/// Reads fio's normal report of 2.x and 3.x.
///
/// # Errors
/// What was expected and where.
pub fn fio_normal(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finished(fio::normal::read(file, text), file)
}

/// Reads Vdbench's `summary.html` of 5.03 to 5.04.07.
///
/// # Errors
/// What was expected and where.
pub fn vdbench_summary(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finished(vdbench::summary::read(file, text)?, file)
}

/// Reads Vdbench's `flatfile.html` of 5.03 to 5.04.07.
///
/// # Errors
/// What was expected and where.
pub fn vdbench_flat(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finished(vdbench::flat::read(file, text)?, file)
}

/// Reads Iometer's results of 2003 to 1.1.
///
/// # Errors
/// What was expected and where.
pub fn iometer(file: &str, text: &str) -> Result<Imported, Vec<Diagnostic>> {
    finished(iometer::read(file, text)?, file)
}

/// Nothing is a result that has not a single figure.
fn finished(imported: Imported, file: &str) -> Result<Imported, Vec<Diagnostic>> {
    if !imported.loads.is_empty() {
        return Ok(imported);
    }
    let mut complaints = imported.unread;
    for remark in imported
        .remarks
        .into_iter()
        .filter(|remark| remark.severity > Severity::Note)
    {
        let complaint = Diagnostic::new(remark.what);
        complaints.push(match remark.help {
            Some(help) => complaint.help(help),
            None => complaint,
        });
    }
    if complaints.is_empty() {
        let what = format!("{file} is {} without a single result", imported.form.name());
        complaints.push(Diagnostic::new(what).help("the run was interrupted or failed; run it again"));
    }
    Err(complaints)
}

fn nothing_known(file: &str, text: &str) -> Diagnostic {
    if let Some(foreign) = refused::recognise(text) {
        let what = format!("{file} is {}, which is not read here: {}", foreign.name, foreign.why);
        return Diagnostic::new(what).help(foreign.instead);
    }
    let place = text.lines().enumerate().find(|(_, line)| !line.trim().is_empty());
    let known: Vec<&str> = Form::ALL.iter().map(|form| form.name()).collect();
    let what = format!("{file} holds no result that fathom knows");
    let help = format!(
        "fathom reads {}, and its own saved results; figures from a picture or a page can be written down (docs/explain.md)",
        known.join(", ")
    );
    let complaint = Diagnostic::new(what).help(help);
    match place {
        Some((index, line)) => complaint.at(place_of(file, index + 1, line)),
        None => Diagnostic::new(format!("{file} is empty")),
    }
}

/// A place whose text fits on a line.
fn place_of(file: &str, line: usize, text: &str) -> Place {
    const SHOWN: usize = 60;
    let trimmed = text.trim();
    let mut shown: String = trimmed.chars().take(SHOWN).collect();
    if trimmed.chars().count() > SHOWN {
        shown.push('…');
    }
    Place {
        file: file.to_owned(),
        line,
        text: shown,
    }
}
