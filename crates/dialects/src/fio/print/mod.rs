//! Prints parts of a plan as fio's options. The rows of the option table name the functions here,
//! or have a short expression of their own. Settings that fio lacks become the nearest equivalent;
//! `convert` parses the text again to report the differences.

pub(super) mod engine;
pub(super) mod files;
pub(super) mod job;
pub(super) mod pattern;
pub(super) mod stream;
pub(super) mod system;
pub(super) mod verify;

pub(crate) use files::increment;
use model::plan::{Dialect, Job, Plan, Stream, Target, Worker};
use model::{Nanos, PerDirection};
pub use verify::verify_method_name;

use super::draft::Parts;
use super::table::Row;
use crate::notation;

/// fio's default seed.
pub(crate) const DEFAULT_SEED: u64 = 0x89;

/// A section: clones of a job with one stream each.
pub(crate) struct Section<'a> {
    /// The plan; each of its jobs is a section.
    plan: &'a Plan,
    /// Number of its step.
    pub(in crate::fio) step: usize,
    /// Number in the step.
    pub(in crate::fio) index: usize,
    /// Job, its first clone and the clone's stream, for options that are plan fields.
    pub(crate) parts: Parts,
}

impl<'a> Section<'a> {
    pub(crate) fn new(plan: &'a Plan, (step, index): (usize, usize)) -> Section<'a> {
        let job = &plan.steps[step].jobs[index];
        let worker = &job.workers[0];
        let parts = Parts {
            job: Job {
                workers: Vec::new(),
                ..job.clone()
            },
            worker: Worker {
                streams: Vec::new(),
                ..worker.clone()
            },
            stream: worker.streams[0].clone(),
        };
        Section {
            plan,
            step,
            index,
            parts,
        }
    }

    /// The value of an option, if the section needs it and its engine has it.
    pub(crate) fn print(&mut self, row: &Row) -> Option<String> {
        let engine_has_it = row.engines.is_empty() || row.engines.contains(&engine::name(self));
        row.print(self).filter(|_| engine_has_it)
    }

    pub(in crate::fio) fn jobs(&self) -> &'a [Job] {
        &self.plan.steps[self.step].jobs
    }

    pub(in crate::fio) fn job(&self) -> &'a Job {
        &self.jobs()[self.index]
    }

    pub(in crate::fio) fn clones(&self) -> &'a [Worker] {
        &self.job().workers
    }

    pub(in crate::fio) fn worker(&self) -> &'a Worker {
        &self.clones()[0]
    }

    pub(in crate::fio) fn stream(&self) -> &'a Stream {
        &self.worker().streams[0]
    }

    /// The first of its targets.
    pub(in crate::fio) fn target(&self) -> &'a Target {
        self.plan.target(self.stream().target.ids()[0])
    }

    /// The seed of its random numbers; 0 for an unpredictable one.
    pub(in crate::fio) fn seed(&self) -> u64 {
        match (self.worker().draws, self.plan.origin.dialect, self.plan.seed) {
            (model::draws::GeneratorChoice::Fio { seed, .. }, _, _) => seed,
            (_, Dialect::Native, 1) | (_, Dialect::Diskspd, 0) => DEFAULT_SEED,
            (_, _, seed) => seed,
        }
    }
}

/// `1` for a true value.
pub(in crate::fio) fn on(is_on: bool) -> Option<String> {
    is_on.then(|| "1".into())
}

/// `0` for a false value, if the default is 1.
pub(in crate::fio) fn off(is_on: bool) -> Option<String> {
    (!is_on).then(|| "0".into())
}

/// An empty value for a flag that is set.
pub(in crate::fio) fn bare(is_on: bool) -> Option<String> {
    is_on.then(String::new)
}

/// A value that differs from the default.
pub(in crate::fio) fn non_default<T: PartialEq + ToString>(value: T, default: T) -> Option<String> {
    (value != default).then(|| value.to_string())
}

/// The chosen names, joined by commas.
pub(in crate::fio) fn join_chosen<const N: usize>(names: [(&str, bool); N]) -> Option<String> {
    let chosen: Vec<&str> = names
        .iter()
        .filter(|(_, chosen)| *chosen)
        .map(|(name, _)| *name)
        .collect();
    (!chosen.is_empty()).then(|| chosen.join(","))
}

/// A number above 0.
pub(in crate::fio) fn positive(number: u64) -> Option<String> {
    (number > 0).then(|| number.to_string())
}

/// A size above 0.
pub(in crate::fio) fn size(bytes: u64) -> Option<String> {
    (bytes > 0).then(|| notation::format_size(bytes))
}

/// A time above 0 in whole microseconds.
pub(in crate::fio) fn time(time: Nanos) -> Option<String> {
    (time.0 >= 1000).then(|| format_micros(time))
}

pub(in crate::fio) fn format_micros(time: Nanos) -> String {
    notation::format_time(Nanos(time.0 / 1000 * 1000))
}

/// One value if all directions agree, otherwise one for each.
pub(in crate::fio) fn list<T: PartialEq>(values: &PerDirection<T>, word: impl Fn(&T) -> String) -> String {
    match values.read == values.write && values.write == values.trim {
        true => word(&values.read),
        false => [&values.read, &values.write, &values.trim].map(word).join(","),
    }
}
