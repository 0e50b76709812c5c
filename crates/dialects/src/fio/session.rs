//! The state while a command line and its job files are read.

use super::flags::StandaloneAction;
use super::jobs::{Job, Jobs};
use super::table::{Notice, ParseEnv, ParseResult, Reader, Row};
use super::{checks, engines};

/// The exit code with which reading ends.
pub(super) struct ExitCode(pub(super) u8);

/// The state of reading.
pub(super) struct Session<'a> {
    pub(super) env: &'a mut dyn ParseEnv,
    pub(super) read: Jobs,
    /// The defaults that global sections set.
    pub(super) defaults: Job,
    /// The action instead of running jobs.
    pub(super) action: Option<StandaloneAction>,
}

impl<'a> Session<'a> {
    pub(super) fn new(env: &'a mut dyn ParseEnv) -> Session<'a> {
        Session {
            env,
            read: Jobs::default(),
            defaults: Job::global(),
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

    /// Applies an option to a section and records it.
    pub(super) fn apply_option(
        &mut self,
        section: &mut Job,
        row: &'static Row,
        written: Option<&str>,
        in_file: bool,
    ) -> ParseResult {
        let mut reader = Reader {
            is_dry: self.is_dry(),
            job: &mut section.options,
            env: Some(&mut *self.env),
            notices: &mut self.read.notices,
            readonly: self.read.flags.readonly,
            debugs_parsing: self.read.flags.is_debug_enabled("parse"),
        };
        reader.apply_option(row, written, in_file)?;
        let value = written.unwrap_or_default().to_string();
        section.given.push((row.name.to_string(), value));
        Ok(())
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
    pub(super) fn add(&mut self, mut job: Job) -> Result<(), ExitCode> {
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
