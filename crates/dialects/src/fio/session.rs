//! The state while a command line and its job files are read.

use super::flags::StandaloneAction;
use super::jobs::{Job, Jobs};
use super::options::JobOptions;
use super::table::{Notice, OptionError, ParseEnv, Reader, Row};
use super::unsupported_engines::UnsupportedEngineOption;
use super::{checks, engines};
use crate::Location;

/// The exit code with which reading ends.
pub(super) struct ExitCode(pub(super) u8);

/// The state of reading.
pub(super) struct Session<'a> {
    pub(super) env: &'a mut dyn ParseEnv,
    pub(super) read: Jobs,
    /// The defaults that global sections set.
    pub(super) defaults: Draft,
    /// The action instead of running jobs.
    pub(super) action: Option<StandaloneAction>,
}

/// A section while it is read.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) section: String,
    pub(super) location: Location,
    pub(super) options: JobOptions,
    pub(super) given: Vec<(String, String)>,
    pub(super) begins_file: bool,
    pub(super) include_missing: bool,
}

impl Draft {
    /// A section that starts with the current defaults.
    pub(super) fn from(defaults: &Draft, section: &str, location: Location) -> Draft {
        Draft::new(section, location, defaults.options.clone())
    }

    /// The global section with fio's defaults.
    pub(super) fn built_in() -> Draft {
        Draft::new("global", command_line(""), JobOptions::new())
    }

    fn new(section: &str, location: Location, options: JobOptions) -> Draft {
        Draft {
            section: section.to_string(),
            location,
            options,
            given: Vec::new(),
            begins_file: false,
            include_missing: false,
        }
    }

    /// Applies an option and records it.
    pub(super) fn apply_option(
        &mut self,
        session: &mut ReaderContext<'_>,
        row: &'static Row,
        written: Option<&str>,
        in_file: bool,
    ) -> Result<(), OptionError> {
        let mut reader = Reader {
            job: &mut self.options,
            env: Some(&mut *session.env),
            notices: session.notices,
            readonly: session.readonly,
            is_dry: session.is_dry,
            debugs_parsing: session.debugs_parsing,
        };
        reader.apply_option(row, written, in_file)?;
        let value = written.unwrap_or_default().to_string();
        self.given.push((row.name.to_string(), value));
        Ok(())
    }

    /// Applies an option of an engine that fathom lacks.
    pub(super) fn apply_unsupported_option(
        &mut self,
        option: UnsupportedEngineOption,
        written: Option<&str>,
    ) -> Result<(), OptionError> {
        match option.accepts(written, self.options.kb_base()) {
            true => self
                .given
                .push((option.name.into(), written.unwrap_or_default().into())),
            false => return Err(OptionError::Failed),
        }
        Ok(())
    }
}

/// The parts of a session that options need.
pub(super) struct ReaderContext<'a> {
    pub(super) env: &'a mut dyn ParseEnv,
    pub(super) notices: &'a mut Vec<Notice>,
    pub(super) readonly: bool,
    pub(super) is_dry: bool,
    pub(super) debugs_parsing: bool,
}

impl<'a> Session<'a> {
    pub(super) fn new(env: &'a mut dyn ParseEnv) -> Session<'a> {
        Session {
            env,
            read: Jobs::default(),
            defaults: Draft::built_in(),
            action: None,
        }
    }

    pub(super) fn push_stderr(&mut self, line: impl Into<String>) {
        self.read.notices.push(Notice::Err(line.into()));
    }

    pub(super) fn push_stdout(&mut self, line: impl Into<String>) {
        self.read.notices.push(Notice::Out(line.into()));
    }

    /// Reports the error that ends the program.
    pub(super) fn halt(&mut self, line: impl Into<String>) -> ExitCode {
        self.push_stderr(line);
        ExitCode(1)
    }

    pub(super) fn env(&mut self) -> ReaderContext<'_> {
        let is_dry = self.is_dry();
        ReaderContext {
            env: &mut *self.env,
            notices: &mut self.read.notices,
            readonly: self.read.flags.readonly,
            is_dry,
            debugs_parsing: self.read.flags.is_debug_enabled("parse"),
        }
    }

    /// Whether nothing runs: `--parse-only` or `--showcmd`.
    fn is_dry(&self) -> bool {
        self.read.flags.parse_only || self.read.flags.show_command
    }

    /// Reports an engine that cannot be loaded. If it is an fio engine that fathom lacks, the
    /// program exits only if jobs are to run.
    pub(super) fn load_engine(&mut self, name: &str) -> Result<(), ExitCode> {
        if engines::find(name).is_some() {
            return Ok(());
        }
        let (out, errors) = engines::unloadable_messages(name);
        if self.is_dry() && engines::is_known(name) {
            let [line, _] = errors.map(Notice::Err);
            if !self.read.notices.contains(&line) {
                self.read.notices.push(line);
            }
            return Ok(());
        }
        self.push_stdout(out);
        errors.into_iter().for_each(|line| self.push_stderr(line));
        let hint = engines::alternative_to(name)
            .map(|alternative| Notice::Hint(format!("{name} is not available: {alternative}")));
        self.read.notices.extend(hint);
        Err(ExitCode(1))
    }

    /// Whether `--section` excludes a section.
    pub(super) fn skips(&self, section: &str) -> bool {
        let selected = &self.read.flags.sections;
        !selected.is_empty() && !selected.iter().any(|name| name == section) && !section.starts_with("global")
    }

    /// Adds the job of a section. Contradictions are reported now, unless only the syntax is
    /// checked.
    pub(super) fn add(&mut self, draft: Draft) -> Result<(), ExitCode> {
        let mut job = Job {
            section: draft.section,
            location: draft.location,
            options: draft.options,
            given: draft.given,
            begins_file: draft.begins_file,
            include_missing: draft.include_missing,
        };
        if job.options.job.name.is_none() {
            job.options.job.name = Some(job.section.clone());
        }
        let engine = job.options.queue.ioengine.clone();
        if !self.is_dry() || engines::is_known(&engine) {
            self.load_engine(&engine)?;
        }
        if !self.is_dry() {
            checks::check_job(self, &job)?;
            self.read.notices.push(Notice::Added(self.read.jobs.len()));
        }
        self.read.jobs.push(job);
        Ok(())
    }
}

/// A location on the command line.
pub(super) fn command_line(text: &str) -> Location {
    Location::on_command_line(text)
}
