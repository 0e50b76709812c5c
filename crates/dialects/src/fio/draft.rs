//! A clone on its way into the plan.
//!
//! Rows of the table fill in the parts. An option that is one field of the plan, and nothing more,
//! names that field: then both its lowering and its printing follow from the row.

use model::draws::DrawsForm;
use model::plan::{Job as PlanJob, Stream, Worker};
use model::{Bytes, Nanos};

use super::disk::Disk;
use super::flags::Flags;
use super::jobs::Job;
use super::options::JobOptions;
use crate::Diagnostic;

/// The parts of a plan that a clone comes to: its job without workers, its worker without streams,
/// its stream.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) job: PlanJob,
    pub(crate) worker: Worker,
    pub(crate) stream: Stream,
}

/// A clone of a job.
#[derive(Clone, Copy)]
pub(super) struct Clone<'a> {
    pub(super) job: &'a Job,
    /// Its number in the job, from 0.
    pub(super) index: u32,
    /// Its number in the run, from 1.
    pub(super) number: u32,
    /// Where its random numbers come from.
    pub(super) draws: DrawsForm,
}

/// What a clone's options say, and the parts that they fill in.
pub(super) struct Draft<'a> {
    pub(super) options: &'a mut JobOptions,
    pub(super) clone: Clone<'a>,
    pub(super) flags: &'a Flags,
    /// Options of the global sections as they were given.
    pub(super) globals: &'a [(String, String)],
    pub(super) disk: &'a dyn Disk,
    pub(super) parts: Parts,
    /// What was read and is not supported.
    pub(super) complaints: &'a mut Vec<Diagnostic>,
}

impl Draft<'_> {
    /// Adds a complaint, once.
    pub(super) fn complain(&mut self, what: impl Into<String>) {
        complain(self.complaints, what);
    }

    /// Complains that nothing here does what is wanted.
    pub(super) fn refuse(&mut self, what: impl std::fmt::Display) {
        self.complain(format!("fio: {what} is not supported by this program"));
    }

    /// An option stands in the job or in a global section.
    pub(super) fn was_given(&self, name: &str) -> bool {
        was_given(self.clone.job, self.globals, name)
    }
}

pub(super) fn was_given(job: &Job, globals: &[(String, String)], name: &str) -> bool {
    job.given.iter().chain(globals).any(|(given, _)| given == name)
}

pub(super) fn complain(complaints: &mut Vec<Diagnostic>, what: impl Into<String>) {
    let diagnostic = Diagnostic::new(what.into());
    if !complaints.contains(&diagnostic) {
        complaints.push(diagnostic);
    }
}

/// Microseconds.
pub(super) fn us(time: u64) -> Nanos {
    Nanos(time.saturating_mul(1000))
}

/// Where a part has a field; some parts are not always there.
pub(crate) type Place<T> = fn(&mut Parts) -> Option<&mut T>;

/// A field of the plan that an option is.
#[derive(Clone, Copy)]
pub(crate) enum PlanField {
    /// The same.
    Flag(Place<bool>),
    /// The opposite.
    Not(Place<bool>),
    /// A number from 0.
    Count(Place<u32>),
    /// The same with more digits.
    LongCount(Place<u64>),
    /// A number from 0, if there is one.
    OptionalCount(Place<Option<u32>>),
    /// A number of bytes.
    Size(Place<u32>),
    /// The same with more digits.
    Bytes(Place<Bytes>),
    /// A text, if there is one.
    Text(Place<Option<String>>),
}

/// `field_of_plan!(Flag: stream.cache.direct)`; a question mark stands behind what is not always
/// there.
macro_rules! field_of_plan {
    ($kind:ident: $part:ident.$field:ident ?. $inner:ident) => {
        $crate::fio::draft::PlanField::$kind(|parts| parts.$part.$field.as_mut().map(|there| &mut there.$inner))
    };
    ($kind:ident: $part:ident.$($field:ident).+) => {
        $crate::fio::draft::PlanField::$kind(|parts| Some(&mut parts.$part.$($field).+))
    };
}

pub(super) use field_of_plan;
