//! What is known while a command line and its job files are read, and how a job comes to be.

use super::flags::StandaloneAction;
use super::jobs::{Job, Jobs};
use super::options::JobOptions;
use super::table::{Notice, OptionError, ParseEnv, Reader, Row};
use super::unbuilt::UnbuiltOption;
use super::{checks, engines};
use crate::Place;

/// Reading ends with this exit code.
pub(super) struct ExitCode(pub(super) u8);

/// Everything so far.
pub(super) struct Session<'a> {
    pub(super) env: &'a mut dyn ParseEnv,
    pub(super) read: Jobs,
    /// What global sections have said.
    pub(super) defaults: Draft,
    /// What is done in place of jobs.
    pub(super) action: Option<StandaloneAction>,
}

/// A section that is being read.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) section: String,
    pub(super) place: Place,
    pub(super) options: JobOptions,
    pub(super) given: Vec<(String, String)>,
    pub(super) begins_file: bool,
    pub(super) include_missing: bool,
}

impl Draft {
    /// A job from the defaults as they are now.
    pub(super) fn from(defaults: &Draft, section: &str, place: Place) -> Draft {
        Draft {
            section: section.to_string(),
            place,
            given: Vec::new(),
            begins_file: false,
            include_missing: false,
            ..defaults.clone()
        }
    }

    /// Nothing but built-in values.
    pub(super) fn built_in() -> Draft {
        Draft {
            section: "global".into(),
            place: command_line(""),
            options: JobOptions::new(),
            given: Vec::new(),
            begins_file: false,
            include_missing: false,
        }
    }

    /// Takes an option and notes that it was given.
    pub(super) fn option(
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
        reader.option(row, written, in_file)?;
        let value = written.unwrap_or_default().to_string();
        self.given.push((row.name.to_string(), value));
        Ok(())
    }

    /// Takes the option of an engine that is not here.
    pub(super) fn unbuilt_option(&mut self, option: UnbuiltOption, written: Option<&str>) -> Result<(), OptionError> {
        match option.accepts(written, self.options.kb_base()) {
            true => self
                .given
                .push((option.name.into(), written.unwrap_or_default().into())),
            false => return Err(OptionError::Failed),
        }
        Ok(())
    }
}

/// The parts of a session that an option asks for.
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

    pub(super) fn say(&mut self, line: impl Into<String>) {
        self.read.notices.push(Notice::Err(line.into()));
    }

    pub(super) fn tell(&mut self, line: impl Into<String>) {
        self.read.notices.push(Notice::Out(line.into()));
    }

    /// Says why the program ends.
    pub(super) fn halt(&mut self, line: impl Into<String>) -> ExitCode {
        self.say(line);
        ExitCode(1)
    }

    pub(super) fn env(&mut self) -> ReaderContext<'_> {
        let is_dry = self.is_dry();
        ReaderContext {
            env: &mut *self.env,
            notices: &mut self.read.notices,
            readonly: self.read.flags.readonly,
            is_dry,
            debugs_parsing: self.read.flags.debugs("parse"),
        }
    }

    /// Nothing is to be run: `--parse-only` or `--showcmd`.
    fn is_dry(&self) -> bool {
        self.read.flags.parse_only || self.read.flags.show_command
    }

    /// Says that an engine cannot be loaded, if that is so. Only what is to run ends for an engine
    /// of fio's that is not here.
    pub(super) fn load_engine(&mut self, name: &str) -> Result<(), ExitCode> {
        if engines::find(name).is_some() {
            return Ok(());
        }
        let (out, errors) = engines::not_loadable(name);
        if self.is_dry() && engines::is_known(name) {
            let [line, _] = errors.map(Notice::Err);
            if !self.read.notices.contains(&line) {
                self.read.notices.push(line);
            }
            return Ok(());
        }
        self.tell(out);
        errors.into_iter().for_each(|line| self.say(line));
        let hint =
            engines::instead_of(name).map(|instead| Notice::Hint(format!("{name} is not built here: {instead}")));
        self.read.notices.extend(hint);
        Err(ExitCode(1))
    }

    /// Only sections that were asked for count, if any were.
    pub(super) fn skips(&self, section: &str) -> bool {
        let wanted = &self.read.flags.sections;
        !wanted.is_empty() && !wanted.iter().any(|name| name == section) && !section.starts_with("global")
    }

    /// Makes a job of a section. What contradicts itself is reported now, unless nothing but syntax
    /// is to be looked at.
    pub(super) fn add(&mut self, draft: Draft) -> Result<(), ExitCode> {
        let mut job = Job {
            section: draft.section,
            place: draft.place,
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
            checks::job(self, &job)?;
            self.read.notices.push(Notice::Added(self.read.jobs.len()));
        }
        self.read.jobs.push(job);
        Ok(())
    }
}

/// A place on the command line.
pub(super) fn command_line(text: &str) -> Place {
    Place {
        file: "command line".into(),
        line: 0,
        text: text.into(),
    }
}
