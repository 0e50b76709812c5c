//! The typed jobs of a command line and its job files.

use super::flags::{Flags, StandaloneAction};
use super::options::JobOptions;
use super::table::{Notice, OptionError, ParseResult};
use super::unsupported_engines::UnsupportedEngineOption;
use crate::Location;

/// The result of reading a command line.
#[derive(Clone, Debug, PartialEq)]
pub enum ParseOutcome {
    /// The process ends.
    End(ExitOutput),
    /// The jobs run.
    Run(Jobs),
}

/// How the process ends.
#[derive(Clone, Debug, PartialEq)]
pub struct ExitOutput {
    /// Exit code.
    pub code: u8,
    /// The jobs read so far; `notices` must be printed to `flags.output`.
    pub read: Jobs,
    /// The action to perform first; `code` applies if it succeeds.
    pub action: Option<StandaloneAction>,
}

/// Flags and jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jobs {
    /// The flags of the command line.
    pub flags: Flags,
    /// The jobs in order, without clones.
    pub jobs: Vec<Job>,
    /// The options that the global sections set: canonical name and value, which is empty for a
    /// bare flag.
    pub globals: Vec<(String, String)>,
    /// Lines to print in order, with the position of each job's banner.
    pub notices: Vec<Notice>,
    /// Suggestions, printed as `hint: …` after the other lines; fio has no such lines.
    pub hints: Vec<String>,
}

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The name of its section, or its `--name`. Generated file names contain it.
    pub section: String,
    /// Where the section begins.
    pub location: Location,
    /// Options, with the defaults of the global sections above it.
    pub options: JobOptions,
    /// The options that its own section sets: canonical name and value, which is empty for a bare
    /// flag.
    pub given: Vec<(String, String)>,
    /// The first job of the second or a later job file, which implies a `stonewall`.
    pub begins_file: bool,
    /// It includes a missing file.
    pub include_missing: bool,
}

impl Job {
    pub(super) fn new(section: &str, location: Location, options: JobOptions) -> Job {
        Job {
            section: section.to_string(),
            location,
            options,
            given: Vec::new(),
            begins_file: false,
            include_missing: false,
        }
    }

    /// The global section with fio's defaults.
    pub(super) fn global() -> Job {
        Job::new("global", Location::on_command_line(""), JobOptions::new())
    }

    /// Applies an option of an engine that fathom lacks.
    pub(super) fn apply_unsupported_option(
        &mut self,
        option: UnsupportedEngineOption,
        written: Option<&str>,
    ) -> ParseResult {
        if !option.accepts(written, self.options.kb_base()) {
            return Err(OptionError::Failed);
        }
        self.given
            .push((option.name.into(), written.unwrap_or_default().into()));
        Ok(())
    }

    /// Name in reports.
    pub fn name(&self) -> &str {
        self.options.job.name.as_deref().unwrap_or(&self.section)
    }

    /// Whether it waits for all jobs above.
    pub fn waits(&self) -> bool {
        self.options.job.stonewall || self.begins_file
    }
}

impl Jobs {
    /// The lines for stdout.
    pub fn stdout(&self) -> impl Iterator<Item = &str> {
        self.notices.iter().filter_map(|notice| match notice {
            Notice::Out(line) => Some(line.as_str()),
            Notice::Err(_) | Notice::Added(_) | Notice::Hint(_) => None,
        })
    }

    /// The lines for stderr.
    pub fn stderr(&self) -> impl Iterator<Item = &str> {
        self.notices.iter().filter_map(|notice| match notice {
            Notice::Err(line) => Some(line.as_str()),
            Notice::Out(_) | Notice::Added(_) | Notice::Hint(_) => None,
        })
    }
}
