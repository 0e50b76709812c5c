//! The state of a clone during lowering. Rows of the option table fill in its parts. An option that
//! equals one field of the plan names that field, so the row defines lowering and printing.

use model::draws::GeneratorChoice;
use model::plan::{Job as PlanJob, Stream, Worker};
use model::{Bytes, Nanos};

use super::disk::Disk;
use super::flags::Flags;
use super::jobs::Job;
use super::options::JobOptions;
use crate::Diagnostic;

/// The parts of a plan for a clone: a job without workers, a worker without streams, and a stream.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) job: PlanJob,
    pub(crate) worker: Worker,
    pub(crate) stream: Stream,
}

/// A clone of a job.
#[derive(Clone, Copy)]
pub(super) struct JobClone<'a> {
    pub(super) job: &'a Job,
    /// Number in the job, from 0.
    pub(super) index: u32,
    /// Its number in the run, from 1.
    pub(super) number: u32,
    /// The source of its random numbers.
    pub(super) draws: GeneratorChoice,
}

/// The options of a clone, and the parts that they fill in.
pub(super) struct Draft<'a> {
    pub(super) options: &'a mut JobOptions,
    pub(super) clone: JobClone<'a>,
    pub(super) flags: &'a Flags,
    /// Options that the global sections set.
    pub(super) globals: &'a [(String, String)],
    pub(super) disk: &'a dyn Disk,
    pub(super) parts: Parts,
    /// Diagnostics for unsupported options.
    pub(super) errors: &'a mut Vec<Diagnostic>,
}

impl Draft<'_> {
    /// Adds a diagnostic, once.
    pub(super) fn push_error(&mut self, what: impl Into<String>) {
        push_error(self.errors, what);
    }

    /// Adds the diagnostic that something is unsupported.
    pub(super) fn refuse(&mut self, what: impl std::fmt::Display) {
        self.push_error(format!("fio: {what} is not supported by this program"));
    }

    /// Whether the job or a global section sets an option.
    pub(super) fn is_option_set(&self, name: &str) -> bool {
        is_option_set(self.clone.job, self.globals, name)
    }
}

pub(super) fn is_option_set(job: &Job, globals: &[(String, String)], name: &str) -> bool {
    job.given
        .iter()
        .chain(globals)
        .any(|(given_name, _)| given_name == name)
}

pub(super) fn push_error(errors: &mut Vec<Diagnostic>, what: impl Into<String>) {
    let diagnostic = Diagnostic::new(what.into());
    if !errors.contains(&diagnostic) {
        errors.push(diagnostic);
    }
}

/// Converts microseconds.
pub(super) fn from_micros(time: u64) -> Nanos {
    Nanos(time.saturating_mul(1000))
}

/// Access to a field of a part; some parts are optional.
pub(crate) type PartField<T> = fn(&mut Parts) -> Option<&mut T>;

/// The plan field of an option.
#[derive(Clone, Copy)]
pub(crate) enum PlanField {
    /// The field has the value of the option.
    Flag(PartField<bool>),
    /// The field has the opposite value.
    Not(PartField<bool>),
    /// A number from 0.
    Count(PartField<u32>),
    /// A number from 0, with 64 bits.
    LongCount(PartField<u64>),
    /// A number from 0, if there is one.
    OptionalCount(PartField<Option<u32>>),
    /// A number of bytes.
    Size(PartField<u32>),
    /// A number of bytes, with 64 bits.
    Bytes(PartField<Bytes>),
    /// A text, if there is one.
    Text(PartField<Option<String>>),
}

/// `field_of_plan!(Flag: stream.cache.direct)`; a question mark follows an optional part.
macro_rules! field_of_plan {
    ($kind:ident: $part:ident.$field:ident ?. $inner:ident) => {
        $crate::fio::draft::PlanField::$kind(|parts| parts.$part.$field.as_mut().map(|there| &mut there.$inner))
    };
    ($kind:ident: $part:ident.$($field:ident).+) => {
        $crate::fio::draft::PlanField::$kind(|parts| Some(&mut parts.$part.$($field).+))
    };
}

pub(super) use field_of_plan;
