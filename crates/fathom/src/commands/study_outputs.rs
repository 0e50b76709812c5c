//! Writes study reports, each format to its destination: text for people, JSON and CSV for
//! programs.

use std::io::Write;
use std::path::{Path, PathBuf};

use archive::history::{EntryKind, Subject};
use clap::ValueHint;
use model::plan::Target;
use model::study::Study;
use report::html::{self, page::Page};
use serde::Serialize;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::options::MeasureArgs;
use crate::outputs::{self, OutputSpec};
use crate::{history, named_files, own_files, screen};

/// Options of studies, which have their own report formats.
#[derive(clap::Args)]
pub struct StudyArgs {
    #[command(flatten)]
    pub output: OutputSpec,
    /// Save every run in this file, to report the study again
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub save: Option<PathBuf>,
    #[command(flatten)]
    pub measure: MeasureArgs,
}

impl StudyArgs {
    /// Parses the destinations of the reports, each in one of these formats.
    pub fn outputs(&self, formats: &[Form]) -> Result<StudyOutputs, Faults> {
        StudyOutputs::new(&self.output, self.save.clone(), formats)
    }

    pub fn record(&self, kind: EntryKind, study: &Study) {
        let subject = Subject::Study(study);
        history::record(&self.measure, self.save.as_ref(), kind, subject, None, None);
    }
}

/// A report format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Text,
    Json,
    Csv,
    Markdown,
    Sarif,
    Junit,
    Html,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Form::Text => "text",
            Form::Json => "json",
            Form::Csv => "csv",
            Form::Markdown => "markdown",
            Form::Sarif => "sarif",
            Form::Junit => "junit",
            Form::Html => outputs::PAGE,
        }
    }
}

/// The formats of most studies.
pub const STUDY_FORMS: &[Form] = &[Form::Text, Form::Json, Form::Csv, Form::Html];
/// The formats of a list, which has no page.
pub const NO_PAGE: &[Form] = &[Form::Text, Form::Json, Form::Csv];

/// Formats a table as CSV. `columns` is the comma-separated first row.
pub fn csv_table(columns: &str, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = csv::Writer::from_writer(Vec::new());
    let in_memory = "writing to memory does not fail";
    table.write_record(columns.split(',')).expect(in_memory);
    for row in rows {
        table.write_record(row).expect(in_memory);
    }
    String::from_utf8_lossy(&table.into_inner().expect(in_memory)).into_owned()
}

/// Formats a number of a CSV table; empty if unknown.
pub fn csv_number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The requested reports.
#[derive(Debug)]
pub struct StudyOutputs {
    list: Vec<(Form, Option<PathBuf>)>,
    save: Option<PathBuf>,
}

pub struct Contents<'a, T: Serialize> {
    /// For people.
    pub text: String,
    /// For programs.
    pub json: &'a T,
    /// The command's other formats, as passed to [`StudyOutputs::new`].
    pub other_forms: &'a [(Form, &'a dyn Fn() -> String)],
    /// The page for browsers, rendered only on request; absent if the study has none.
    pub page: Option<&'a dyn Fn() -> Page>,
    /// The study that `--save` stores; absent if there is nothing new.
    pub study: Option<&'a Study>,
}

impl StudyOutputs {
    /// Parses the destinations of the reports, each in one of these formats.
    ///
    /// # Errors
    /// [`Faults`] about each wrong option or unusable file.
    pub fn new(spec: &OutputSpec, save: Option<PathBuf>, formats: &[Form]) -> Result<StudyOutputs, Faults> {
        let mut list = Vec::new();
        for output in spec.forms() {
            let (name, file) = output
                .split_once('=')
                .map_or((output, None), |(name, file)| (name, Some(file)));
            let form = formats.iter().find(|form| form.name() == name).ok_or_else(|| {
                let names: Vec<&str> = formats.iter().map(|form| form.name()).collect();
                let fault = Fault::new(format!("this command does not support the output format `{name}`"))
                    .at(format!("--out {output}"));
                fault.into_usage(format!("formats: {}", names.join(", ")))
            })?;
            if file == Some("") {
                let fault = Fault::new("the file name is missing").at(format!("--out {output}"));
                return Err(fault.into_usage(format!("for example --out {name}=report.{name}")));
            }
            list.push((*form, file.map(PathBuf::from)));
        }
        if list.is_empty() {
            list.push((Form::Text, None));
        }
        list.extend(spec.report.clone().map(|file| (Form::Html, Some(file))));
        if list.iter().filter(|(_, file)| file.is_none()).count() > 1 {
            let fault = Fault::new("only one output can go to standard output").at("--out");
            return Err(fault.into_usage("write each of the others to a file: --out text,json=report.json"));
        }
        Ok(StudyOutputs { list, save })
    }

    /// Adds a format that is written to a file, if one is given.
    pub fn add(&mut self, form: Form, file: Option<PathBuf>) {
        self.list.extend(file.map(|file| (form, Some(file))));
    }

    /// Writes one format in place of another.
    pub fn replace(&mut self, from: Form, to: Form) {
        for (form, _) in self.list.iter_mut().filter(|(form, _)| *form == from) {
            *form = to;
        }
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        let files = self.list.iter().filter_map(|(_, file)| file.as_deref());
        files.chain(self.save.as_deref())
    }

    /// Checks that no output names one of these inputs.
    ///
    /// # Errors
    /// [`Faults`] about the first output that does.
    pub fn check_inputs(&self, inputs: &[PathBuf]) -> Result<(), Faults> {
        named_files::check_inputs(self.files(), inputs)
    }

    /// Checks that every file is writable, and none is a target of the test.
    ///
    /// # Errors
    /// [`Faults`] about each wrong option or unusable file.
    pub fn check_files(&self, targets: &[Target]) -> Result<(), Faults> {
        outputs::check_not_target(self.files(), targets)?;
        outputs::check_writable(self.files())
    }

    /// Writes the reports and saves the study. Continues after a failure.
    ///
    /// # Errors
    /// [`Faults`] with the files that could not be written; the text for people is then written to
    /// stderr.
    pub fn finish<T: Serialize>(&self, contents: &Contents<'_, T>) -> Result<(), Faults> {
        let mut faults = Vec::new();
        for (form, file) in &self.list {
            let text = match form {
                Form::Text => contents.text.clone(),
                Form::Json => screen::json_text(contents.json),
                Form::Html => contents.page.map(|page| html::render_file(&page())).unwrap_or_default(),
                Form::Csv | Form::Markdown | Form::Sarif | Form::Junit => {
                    let other_form = contents.other_forms.iter().find(|(other, _)| other == form);
                    other_form.map(|(_, write)| write()).unwrap_or_default()
                }
            };
            faults.extend(outputs::write_report(&text, file.as_deref(), *form == Form::Text).err());
        }
        if let (Some(path), Some(study)) = (&self.save, contents.study)
            && let Err(error) = own_files::save_study(study, path)
        {
            faults.push(Fault::for_file("write", path, &error));
        }
        if faults.is_empty() {
            return Ok(());
        }
        // If the disk is full, the figures must not be lost.
        let _ = std::io::stderr().write_all(contents.text.as_bytes());
        Err(Faults::many(faults, Exit::Internal))
    }
}
