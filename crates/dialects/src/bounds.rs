//! Limits of one test, checked before lowering allocates anything: a typing error is an error
//! message, not an exhausted machine.

use crate::Diagnostic;

/// A limit of one test.
pub(crate) struct Bound {
    /// The quantity that is limited.
    what: &'static str,
    /// The largest number of them.
    pub(crate) max: u64,
}

/// Threads of all jobs.
pub(crate) const WORKERS: Bound = Bound {
    what: "workers",
    max: 65_536,
};

/// Pairs of a worker and a file.
pub(crate) const STREAMS: Bound = Bound {
    what: "streams",
    max: 1_048_576,
};

/// Jobs of one step of a native test: each may end all others.
pub(crate) const MAX_JOBS_OF_STEP: usize = 4096;

/// Operations that one worker may have in flight.
pub(crate) const MAX_WORKER_OPERATIONS: u64 = 1 << 20;

/// Operations that all workers together may have in flight.
pub(crate) const MAX_OPERATIONS: u64 = 1 << 24;

/// The largest number of a processor, and the most that one option may list.
pub(crate) const MAX_CPU: u32 = 65_535;

impl Bound {
    /// A problem if a test exceeds the limit. `option` is the option that raised `total` that
    /// far.
    pub(crate) fn check(&self, option: &str, value: impl std::fmt::Display, total: u64) -> Option<Diagnostic> {
        let Bound { what, max } = self;
        (total > *max).then(|| {
            Diagnostic::new(format!(
                "{option}={value}: the test would have {total} {what}; the limit is {max}"
            ))
            .help(format!(
                "lower {option} so that all jobs together have at most {max} {what}"
            ))
        })
    }
}
