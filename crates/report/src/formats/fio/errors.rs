//! Errors of an entry in fio's words.

use model::plan::{Control, Effect, EngineKind, ErrorPolicy, Job};
use model::results::{FailedOperation, Failure, JobResults, WorkerResults};

use super::codes::words;
use super::entries::Member;

/// `EIO`: what fio reports where the system gave no number.
const UNNAMED: i32 = 5;
/// `EILSEQ`: what was read is not what was written.
const MISMATCH: i32 = 84;
/// No space left, quota exceeded.
const FULL: [i32; 2] = [28, 122];

/// The first error of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryError {
    pub number: i32,
    /// The part of fio that met it; absent where fio leaves it out.
    place: Option<String>,
}

/// What was tolerated, where anything may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tolerated {
    pub total: u64,
    pub first: i32,
}

impl EntryError {
    /// What stands in brackets behind the number.
    pub(super) fn text(&self) -> String {
        match &self.place {
            Some(place) => format!("file:fathom:0, func={place}, error={}", words(self.number)),
            None => String::new(),
        }
    }
}

/// What ended a worker, or the first error that it tolerated.
pub(super) fn of_member(member: &Member) -> Option<EntryError> {
    let worker = member.worker?;
    if let Some(failure) = &worker.failure {
        // Some jobs that fio cannot begin have no error of their own, only a line on stderr.
        if failure.operation.is_none() && failure.what.is_empty() {
            return None;
        }
        let number = failure.errno.unwrap_or(UNNAMED);
        let place = place(failure, worker.engine.kind);
        return Some(EntryError {
            number,
            place: Some(place),
        });
    }
    let mut streams = member.job.workers.iter().flat_map(|worker| &worker.streams);
    let full_is_end = streams.any(|stream| stream.on_error.full_is_end);
    let directions = worker.streams.iter().flat_map(|stream| stream.directions.iter());
    let errors = directions.filter_map(|(_, found)| found.as_ref()?.first_error);
    let mut tolerated = errors.filter(|number| !full_is_end || !FULL.contains(number));
    if let Some(number) = tolerated.next() {
        // fio names the place only where its engine waits for each operation, and not for what it
        // checks itself.
        let named = worker.engine.kind.is_synchronous() && number != MISMATCH;
        let place = named.then(|| "xfer".to_owned());
        return Some(EntryError { number, place });
    }
    missed_rate(member.job, member.found).then(|| EntryError {
        number: UNNAMED,
        place: Some("check_min_rate".to_owned()),
    })
}

/// The part of fio that would have met what ended a worker.
pub fn place(failure: &Failure, engine: EngineKind) -> String {
    match (&failure.operation, failure.errno) {
        (Some(operation), _) if operation.too_slow.is_some() => "max latency exceeded".into(),
        (Some(operation), _) if engine.is_metadata_engine() => format!("{}({})", call(engine), operation.path),
        // It knows no other operation than writes.
        (Some(_), _) if engine == EngineKind::Truncate => "td_io_queue".into(),
        (Some(_), Some(MISMATCH)) => "io_u_sync_complete".into(),
        (Some(_), _) => "io_u error".into(),
        (None, _) => failure.what.clone(),
    }
}

/// fio's word for what such an engine does when it opens a file.
fn call(engine: EngineKind) -> &'static str {
    match engine.info().effect {
        Effect::LookUp => "stat",
        Effect::Remove => "delete",
        _ => "open",
    }
}

/// A job was ended because it was slower than it had to be.
pub fn missed_rate(job: &Job, found: &JobResults) -> bool {
    let outcomes = job.control.iter().zip(&found.control);
    outcomes
        .into_iter()
        .any(|(rule, outcome)| matches!(rule, Control::MinimumRate(_)) && !outcome.attained)
}

/// The operation that ended a worker and is not among those that are counted.
pub(super) fn failed_operation(worker: &WorkerResults) -> Option<&FailedOperation> {
    let failure = worker.failure.as_ref()?;
    // What fails when a file is opened is no operation yet.
    let operation = failure
        .operation
        .as_ref()
        .filter(|_| !worker.engine.kind.is_metadata_engine())?;
    (operation.too_slow.is_none() && failure.errno != Some(MISMATCH)).then_some(operation)
}

/// Reads that were passed over although they were not what had been written.
pub(super) fn tolerated_mismatches(worker: &WorkerResults) -> u64 {
    let streams = worker.streams.iter();
    let errors = streams.filter_map(|stream| Some(stream.directions.read.as_ref()?.errors));
    worker.mismatch_count.min(errors.sum())
}

/// Errors that were passed over; `None` where none of the jobs may.
pub(super) fn tolerated(members: &[Member]) -> Option<Tolerated> {
    let streams = members
        .iter()
        .flat_map(|member| member.job.workers.iter().flat_map(|worker| &worker.streams));
    if !streams.map(|stream| &stream.on_error).any(may_go_on) {
        return None;
    }
    let mut sum = Tolerated::default();
    for member in members {
        let Some(worker) = member.worker else { continue };
        for (_, found) in worker.streams.iter().flat_map(|stream| stream.directions.iter()) {
            let Some(found) = found else { continue };
            sum.total += found.errors;
            if sum.first == 0 {
                sum.first = found.first_error.unwrap_or(0);
            }
        }
        if let Some(failure) = &worker.failure {
            // What was too much to go on is counted as well.
            sum.total += u64::from(failure.operation.is_some());
            if sum.first == 0 {
                sum.first = failure.errno.unwrap_or(UNNAMED);
            }
        }
    }
    Some(sum)
}

fn may_go_on(policy: &ErrorPolicy) -> bool {
    !(policy.tolerate_read.is_empty() && policy.tolerate_write.is_empty() && policy.tolerate_verify.is_empty())
}
