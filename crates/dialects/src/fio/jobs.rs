//! What a command line and its job files ask for, typed.

use super::flags::{Flags, StandaloneAction};
use super::options::JobOptions;
use super::table::Notice;
use crate::Place;

/// What a command line comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// The process ends, and nothing else happens.
    End(End),
    /// The jobs are to be run.
    Run(Jobs),
}

/// How the process ends.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Exit code.
    pub code: u8,
    /// What was read up to there: `notices` are what is to be printed, `flags.output` where.
    pub read: Jobs,
    /// What is to be done first; the code is that of an errand that went well.
    pub action: Option<StandaloneAction>,
}

/// Flags and jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Jobs {
    /// The flags of the command line.
    pub flags: Flags,
    /// The jobs in the order in which they start; clones are not counted.
    pub jobs: Vec<Job>,
    /// Options of all global sections as they were given: canonical name and value, which is empty
    /// for a bare flag.
    pub globals: Vec<(String, String)>,
    /// Lines to tell, in their order, and where among them the banner of each job stands.
    pub notices: Vec<Notice>,
    /// What was probably meant, for lines `hint: …` after the others; fio has no such lines.
    pub hints: Vec<String>,
}

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The name of its section, or of its `--name`: generated file names have it.
    pub section: String,
    /// Where the section begins.
    pub place: Place,
    /// Its options, with the defaults of the global sections above it.
    pub options: JobOptions,
    /// Those of its own section as they were given: canonical name and value, which is empty for a
    /// bare flag.
    pub given: Vec<(String, String)>,
    /// It is the first job of a job file that is not the first, which stands for a `stonewall`.
    pub begins_file: bool,
    /// It names an included file that is not there.
    pub include_missing: bool,
}

impl Job {
    /// Its name in reports.
    pub fn name(&self) -> &str {
        self.options.job.name.as_deref().unwrap_or(&self.section)
    }

    /// It waits for all jobs above.
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
