//! Errors of a report entry, in fio's format.

use model::plan::{Control, Effect, EngineKind, ErrorPolicy, Job};
use model::results::{ControlOutcome, FailedOperation, Failure, JobResults, WorkerResults};

use super::codes::error_text;
use super::entries::Member;

/// `EIO`, for errors without a number.
const EIO: i32 = 5;
/// `EILSEQ`, for a verification mismatch.
const EILSEQ: i32 = 84;
const ETIMEDOUT: i32 = 110;
/// No space left, quota exceeded.
const NO_SPACE: [i32; 2] = [28, 122];

/// The first error of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EntryError {
    pub number: i32,
    /// The part of fio that reports the error; absent if fio omits that.
    error_source: Option<String>,
}

/// Tolerated errors, if the job tolerates any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tolerated {
    pub total: u64,
    pub first: i32,
}

impl EntryError {
    /// The text in parentheses after the number.
    pub(super) fn text(&self) -> String {
        match &self.error_source {
            Some(error_source) => format!("file:fathom:0, func={error_source}, error={}", error_text(self.number)),
            None => String::new(),
        }
    }
}

/// The error that ended a worker, or the first one that it tolerated.
pub(super) fn member_error(member: &Member) -> Option<EntryError> {
    let worker = member.worker?;
    if let Some(failure) = &worker.failure {
        // Some jobs that fio cannot start have no error in the report, only a line on stderr.
        if failure.operation.is_none() && failure.what.is_empty() {
            return None;
        }
        let number = failure.errno.unwrap_or(EIO);
        let error_source = error_source(failure, worker.engine.kind);
        return Some(EntryError {
            number,
            error_source: Some(error_source),
        });
    }
    let mut streams = member.job.workers.iter().flat_map(|worker| &worker.streams);
    let mut full_is_end = || streams.any(|stream| stream.on_error.stop_when_full);
    let directions = worker.streams.iter().flat_map(|stream| stream.directions.iter());
    let errors = directions.filter_map(|(_, results)| results.as_ref()?.first_error);
    let mut tolerated = errors.filter(|number| !NO_SPACE.contains(number) || !full_is_end());
    if let Some(number) = tolerated.next() {
        // fio names the place only for synchronous engines, and not for verification.
        let named = worker.engine.kind.is_synchronous() && number != EILSEQ;
        let error_source = named.then(|| "xfer".to_owned());
        return Some(EntryError { number, error_source });
    }
    missed_rule(member.job, member.job_results).map(|(rule, _)| {
        let (number, error_source) = error_of_rule(rule);
        EntryError {
            number,
            error_source: Some(error_source.to_owned()),
        }
    })
}

/// The part of fio that reports the error that ended a worker.
pub fn error_source(failure: &Failure, engine: EngineKind) -> String {
    match (&failure.operation, failure.errno) {
        (Some(operation), _) if operation.too_slow.is_some() => "max latency exceeded".into(),
        (Some(operation), _) if engine.is_metadata_engine() => format!("{}({})", call(engine), operation.path),
        // All operations of this engine are writes.
        (Some(_), _) if engine == EngineKind::Truncate => "td_io_queue".into(),
        (Some(_), Some(EILSEQ)) => "io_u_sync_complete".into(),
        (Some(_), _) => "io_u error".into(),
        (None, _) => failure.what.clone(),
    }
}

/// fio's name for the call of a metadata engine.
fn call(engine: EngineKind) -> &'static str {
    match engine.info().effect {
        Effect::LookUp => "stat",
        Effect::Remove => "delete",
        _ => "open",
    }
}

/// The rule that made a job fail, with its outcome: a missed minimum rate, or a latency target for
/// all operations that was missed even at depth 1.
pub fn missed_rule<'a>(job: &'a Job, results: &'a JobResults) -> Option<(&'a Control, &'a ControlOutcome)> {
    let fails = |(rule, outcome): &(&Control, &ControlOutcome)| match rule {
        Control::MinimumRate(_) => !outcome.attained,
        Control::LatencyTarget(target) => {
            target.percentile >= 100.0 && outcome.depth.is_none() && !outcome.series.is_empty()
        }
        Control::Precision(_) | Control::SteadyState(_) => false,
    };
    job.control.iter().zip(&results.control).find(fails)
}

/// The error number of a missed rule and the part of fio that reports it.
pub fn error_of_rule(rule: &Control) -> (i32, &'static str) {
    match rule {
        Control::LatencyTarget(_) => (ETIMEDOUT, "max latency exceeded"),
        _ => (EIO, "check_min_rate"),
    }
}

/// The failed operation that ended a worker, if the results do not count it.
pub(super) fn failed_operation(worker: &WorkerResults) -> Option<&FailedOperation> {
    let failure = worker.failure.as_ref()?;
    // A failure to open a file is not an operation.
    let operation = failure
        .operation
        .as_ref()
        .filter(|_| !worker.engine.kind.is_metadata_engine())?;
    (operation.too_slow.is_none() && failure.errno != Some(EILSEQ)).then_some(operation)
}

/// Number of tolerated verification mismatches.
pub(super) fn tolerated_mismatches(worker: &WorkerResults) -> u64 {
    let streams = worker.streams.iter();
    let errors = streams.filter_map(|stream| Some(stream.directions.read.as_ref()?.errors));
    worker.mismatch_count.min(errors.sum())
}

/// Tolerated errors; `None` if no job tolerates any.
pub(super) fn count_tolerated_errors(members: &[Member]) -> Option<Tolerated> {
    let streams = members
        .iter()
        .flat_map(|member| member.job.workers.iter().flat_map(|worker| &worker.streams));
    if !streams.map(|stream| &stream.on_error).any(tolerates_errors) {
        return None;
    }
    let mut sum = Tolerated::default();
    for member in members {
        let Some(worker) = member.worker else { continue };
        for (_, results) in worker.streams.iter().flat_map(|stream| stream.directions.iter()) {
            let Some(results) = results else { continue };
            sum.total += results.errors;
            if sum.first == 0 {
                sum.first = results.first_error.unwrap_or(0);
            }
        }
        if let Some(failure) = &worker.failure {
            // The error that exceeded the limit counts too.
            sum.total += u64::from(failure.operation.is_some());
            if sum.first == 0 {
                sum.first = failure.errno.unwrap_or(EIO);
            }
        }
    }
    Some(sum)
}

fn tolerates_errors(policy: &ErrorPolicy) -> bool {
    !(policy.tolerate_read.is_empty() && policy.tolerate_write.is_empty() && policy.tolerate_verify.is_empty())
}
