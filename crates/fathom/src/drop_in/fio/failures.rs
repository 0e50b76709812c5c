//! fio's messages about failed jobs, with fathom's hints.

use std::fs::OpenOptions;
use std::path::Path;

use dialects::fio::Unusable;
use engine::{FileKind, sys};
use model::Direction;
use model::plan::{Control, EngineKind, Job, Plan, Prepare, Stream, StreamTarget, TargetKind, TrackedMetric, Worker};
use model::results::{ControlOutcome, FailedOperation, Failure, JobResults, Results, WorkerResults};
use report::formats::fio as reports;
use report::formats::fio::codes::{error_text, fio_error_number};
use report::formats::fio::errors::{error_of_rule, missed_rule};
use run::targets::{FillError, TargetError};
use run::{RunError, SetupError, SystemSetting};

use super::mismatches;
use super::output::Output;
use super::partial_plan::Origin;
use crate::drop_in::describe_refusal;

/// Messages about a run that failed completely or in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Messages {
    pub(super) stdout: Vec<String>,
    pub(super) stderr: Vec<String>,
    /// Texts of `hint: …` lines.
    pub(super) hints: Vec<String>,
    /// Workers without which the run can continue.
    pub(super) unusable: Vec<Unusable>,
}

impl Messages {
    /// Prints the messages of a finished run, with each line as `format` shows it.
    pub(super) fn print(&self, output: &mut Output, format: impl Fn(&str) -> String) {
        self.stdout
            .iter()
            .for_each(|line| output.print_error_line(&format(line)));
        self.stderr.iter().for_each(|line| output.print_problem(&format(line)));
        self.hints.iter().for_each(|hint| output.print_hint(hint));
    }
}

/// Converts a system error to fio's error number.
fn fio_errno(error: &std::io::Error) -> Option<i32> {
    error.raw_os_error().map(fio_error_number)
}

/// Converts all error numbers in results to fio's.
pub(super) fn number_as_fio(results: &mut Results) {
    let jobs = results.steps.iter_mut().flat_map(|step| &mut step.jobs);
    for worker in jobs.flat_map(|job| &mut job.workers) {
        for failure in worker.failure.iter_mut().chain(&mut worker.tolerated) {
            failure.errno = failure.errno.map(fio_error_number);
        }
        for stream in &mut worker.streams {
            let directions = &mut stream.directions;
            for results in [&mut directions.read, &mut directions.write, &mut directions.trim]
                .into_iter()
                .flatten()
            {
                results.first_error = results.first_error.map(fio_error_number);
            }
        }
    }
}

/// Formats the line about a clone that ended with an error.
pub(super) fn process_line(errno: i32, function: &str) -> String {
    format_error_line(std::process::id(), errno, function)
}

pub(super) fn format_error_line(process: u32, errno: i32, function: &str) -> String {
    format!("fio: pid={process}, err={errno}/{}", format_place(errno, function))
}

/// Formats the place at which fio reports an error.
fn format_place(errno: i32, function: &str) -> String {
    let why = match function {
        // Engines that lack a required option.
        "cpuio" => "cpu thread needs rate (cpuload=)".to_owned(),
        "exec" => "no program is defined, it is mandatory to define one".to_owned(),
        _ => error_text(errno),
    };
    format!("file:fathom:0, func={function}, error={why}")
}

/// Finds workers with unusable files, before any file is created.
pub(super) fn unusable_targets(plan: &Plan, reported: &[Unusable]) -> Vec<Unusable> {
    let mut unusable: Vec<Unusable> = Vec::new();
    for ((step, number), job) in plan.jobs() {
        for (clone, worker) in job.workers.iter().enumerate() {
            let reported = reported
                .iter()
                .any(|error| error.job == (step, number) && error.clone == clone);
            let Some(fault) = first_unusable(plan, worker).filter(|_| !reported) else {
                continue;
            };
            unusable.push(Unusable {
                job: (step, number),
                clone,
                ..fault
            });
        }
    }
    unusable
}

const ENOENT: i32 = 2;

fn first_unusable(plan: &Plan, worker: &Worker) -> Option<Unusable> {
    let fault = |line: String, errno: i32, function: String| Unusable {
        job: (0, 0),
        clone: 0,
        line,
        errno,
        function,
    };
    worker.streams.iter().find_map(|stream| {
        let writes = stream.mix.includes(Direction::Write) || stream.mix.includes(Direction::Trim);
        stream.target.ids().iter().find_map(|id| {
            let target = plan.target(*id);
            if target.kind != TargetKind::Path {
                return None;
            }
            let stat = std::fs::metadata(&target.path)
                .err()
                .and_then(|error| fio_errno(&error));
            match (stat, &target.prepare) {
                (Some(ENOENT), Prepare::LayOut { may_create: false, .. }) => {
                    let line = "fio: file creation disallowed by allow_file_create=0";
                    return Some(fault(line.into(), ENOENT, String::new()));
                }
                (Some(ENOENT), Prepare::LayOut { .. }) => return None,
                (Some(ENOENT) | None, _) => {}
                (Some(errno), _) => return Some(fault(format_place(errno, "fstat"), errno, "fstat".into())),
            }
            // The permissions of another user are only known when that user opens the file.
            if worker.placement.user.is_some() || worker.placement.group.is_some() {
                return None;
            }
            // Opening a pipe would block. Other file types are refused when targets are examined.
            if sys::facts::read_file_kind(Path::new(&target.path)).is_ok_and(|kind| kind == FileKind::Other) {
                return None;
            }
            let opened = OpenOptions::new().read(true).write(writes).open(&target.path);
            let errno = fio_errno(&opened.err()?)?;
            Some(fault(String::new(), errno, format!("open({})", target.path)))
        })
    })
}

/// Returns help for an error when files are opened or created.
pub(super) fn help_for_errno(errno: i32) -> Option<&'static str> {
    match errno {
        2 => Some("the file does not exist: check the spelling, or set a size to create it"),
        13 | 1 => Some("use a target that this user may open, or run as root"),
        20 => Some("use another path: a directory of this path is a file"),
        21 => Some("use a file in this directory"),
        28 => Some("free some space, or set a smaller size"),
        30 => Some("use another target, or only read: this one is read-only"),
        _ => None,
    }
}

/// Collects the messages about a run that failed, or that can continue without some workers.
pub(super) fn messages_for_error(error: &RunError, plan: &Plan, places: &[Vec<Origin>]) -> Messages {
    let mut messages = Messages::default();
    match error {
        RunError::Interrupted => {}
        RunError::Plan(error) => error
            .0
            .iter()
            .for_each(|fault| messages.stderr.push(format!("fio: {}: {}", fault.at, fault.what))),
        RunError::Hosts(troubles) | RunError::HostsLost(troubles) => troubles
            .iter()
            .for_each(|trouble| messages.stderr.push(format!("fio: {trouble}"))),
        RunError::Refused(refusals) => refusals
            .iter()
            .for_each(|refusal| messages.stderr.push(format!("fio: {}", describe_refusal(refusal)))),
        RunError::Targets(errors) => errors
            .iter()
            .for_each(|error| add_target_error(error, plan, &mut messages)),
        RunError::Setup(faults) => {
            for fault in faults {
                let Some(origin) = places.first().and_then(|step| step.get(fault.job)) else {
                    continue;
                };
                let (errno, function) = setup_error_place(&fault.why);
                if let SetupError::State { path, source } = &fault.why {
                    messages.stderr.extend(state_lines(path, source));
                }
                if !messages.hints.contains(&fault.why.to_string()) {
                    messages.hints.push(fault.why.to_string());
                    messages.hints.extend(fault.why.help());
                }
                let scheduler = &plan.steps[origin.step].jobs[origin.job].scheduler;
                if let Some(name) = scheduler.as_ref().filter(|_| function == SCHEDULER) {
                    messages
                        .stderr
                        .push(format!("fio: unable to set io scheduler to {name}"));
                }
                messages.stdout.push(process_line(errno, &function));
                messages.unusable.push(Unusable {
                    job: (origin.step, origin.job),
                    clone: origin.clones[fault.worker],
                    line: fault.why.to_string(),
                    errno,
                    function,
                });
            }
        }
    }
    messages
}

/// Formats fio's lines about a verify state that cannot be loaded.
fn state_lines(path: &str, why: &std::io::Error) -> Vec<String> {
    match fio_errno(why) {
        Some(errno) => vec![
            format!("fio: open state file: {}", error_text(errno)),
            format!("fio: state file: {path} (for_write=0)"),
        ],
        None => vec![format!("fio: verify state is corrupt: {path}: {why}")],
    }
}

fn add_target_error(error: &TargetError, plan: &Plan, messages: &mut Messages) {
    let (path, errno) = match error {
        TargetError::Missing { path, .. } | TargetError::NoParent(path) | TargetError::NoSize(path) => {
            (path.clone(), 2)
        }
        TargetError::Directory(path) => (path.clone(), 21),
        TargetError::Unsuitable { path, .. } | TargetError::Empty(path) => (path.clone(), 22),
        TargetError::Examine { path, source } => (path.clone(), fio_errno(source).unwrap_or(5)),
        TargetError::NoSpace { path, .. } | TargetError::WouldFillFileSystem { path, .. } => (path.clone(), 28),
        TargetError::Fill(FillError::File { path, errno, .. }) => (path.clone(), errno.map_or(5, fio_error_number)),
        TargetError::TooSmall { path, .. } | TargetError::Replaced { path } | TargetError::Refused { path, .. } => {
            (path.clone(), 5)
        }
        TargetError::Fill(error) => (String::new(), error.errno().map_or(5, fio_error_number)),
    };
    messages.hints.push(error.to_string());
    messages.hints.extend(error.help());
    let function = format!("open({path})");
    for ((step, number), job) in plan.jobs() {
        for (clone, worker) in job.workers.iter().enumerate() {
            let uses = worker.streams.iter().flat_map(|stream| target_ids(&stream.target));
            let mut uses = uses.map(|id| &plan.target(*id).path);
            if uses.any(|used| *used == path) {
                messages.stdout.push(process_line(errno, &function));
                messages.unusable.push(Unusable {
                    job: (step, number),
                    clone,
                    line: error.to_string(),
                    errno,
                    function: function.clone(),
                });
            }
        }
    }
    if messages.unusable.is_empty() {
        messages.stderr.push(format!("fio: {error}"));
    }
}

fn target_ids(target: &StreamTarget) -> impl Iterator<Item = &model::plan::TargetId> {
    target.ids().iter()
}

/// The function of fio that chooses an I/O scheduler.
const SCHEDULER: &str = "iosched_switch";

fn setup_error_place(why: &SetupError) -> (i32, String) {
    const INVALID: i32 = 22;
    match why {
        SetupError::Open(error) => (
            fio_errno(&error.source).unwrap_or(INVALID),
            format!("open({})", error.path.display()),
        ),
        SetupError::State { source, .. } => (fio_errno(source).unwrap_or(INVALID), "verify_load_state".into()),
        SetupError::Alignment { .. } => (INVALID, "io_u error".into()),
        SetupError::SystemSetting { setting, source, .. } => {
            let function = match setting {
                SystemSetting::ControlGroup => "cgroup",
                SystemSetting::Scheduler => SCHEDULER,
            };
            (fio_errno(source).unwrap_or(INVALID), function.into())
        }
        SetupError::Common(why) => setup_error_place(why),
        SetupError::Engine(error) => (error.errno().map_or(INVALID, fio_error_number), "setup".into()),
        SetupError::Thread(source) => (fio_errno(source).unwrap_or(INVALID), "setup".into()),
        SetupError::AddressSpace { .. } => (fio_error_number(sys::file::NO_MEMORY), "setup".into()),
        _ => (INVALID, "setup".into()),
    }
}

/// Counts the workers that ended with an error.
pub(super) fn count_failed_workers(results: &Results) -> usize {
    let jobs = jobs_with_results(results);
    jobs.map(|(plan, job)| match missed_rule(plan, job).is_some() {
        true => job.workers.len(),
        false => job.workers.iter().filter(|worker| worker.failure.is_some()).count(),
    })
    .sum()
}

fn jobs_with_results(results: &Results) -> impl Iterator<Item = (&Job, &JobResults)> {
    let steps = results.plan.steps.iter().zip(&results.steps);
    steps.flat_map(|(plan, step)| plan.jobs.iter().zip(&step.jobs))
}

/// Collects the messages about workers that failed during the run.
pub(super) fn messages_for_results(results: &Results) -> Messages {
    let mut messages = Messages::default();
    for (plan, job) in jobs_with_results(results) {
        for (number, worker) in job.workers.iter().enumerate() {
            for failure in &worker.tolerated {
                messages.stderr.extend(operation_line(failure));
            }
            for mismatch in &worker.mismatches {
                messages.stderr.extend(mismatches::format_lines(mismatch));
                let stream = plan
                    .workers
                    .get(number)
                    .and_then(|worker| worker.streams.get(mismatch.stream as usize));
                let verify = stream.and_then(|stream| stream.verify.as_ref());
                messages.stderr.extend(
                    verify
                        .map(|verify| mismatches::format_dumps(mismatch, verify))
                        .unwrap_or_default(),
                );
            }
            let not_kept = worker.not_kept.iter().map(|what| format!("fio: {what}"));
            messages.stderr.extend(not_kept);
            // Workers that never started were reported before the run.
            if let Some(failure) = worker.failure.as_ref().filter(|failure| failure.operation.is_some()) {
                let streams = plan.workers.get(number).map_or(&[][..], |worker| &worker.streams);
                add_failure(failure, streams, worker, &mut messages);
            } else if let Some(failure) = worker.failure.as_ref().filter(|_| worker.active_ns.0 > 0) {
                messages
                    .stderr
                    .push(format!("fio: {}: {}", failure.location, failure.what));
                messages
                    .stdout
                    .push(process_line(failure.errno.unwrap_or(5), &failure.what));
                add_help(failure.help.as_deref(), &mut messages);
            }
        }
        if let Some((rule, outcome)) = missed_rule(plan, job) {
            add_missed_rule(rule, outcome, plan, job, &mut messages);
        }
    }
    messages
}

fn operation_line(failure: &Failure) -> Option<String> {
    let operation = failure.operation.as_ref()?;
    let (errno, verb) = (failure.errno.unwrap_or(5), operation.direction.word());
    Some(format!(
        "fio: io_u error on file {}: {}: {verb} offset={}, buflen={}",
        operation.path,
        error_text(errno),
        operation.offset.0,
        operation.length
    ))
}

fn add_failure(failure: &Failure, streams: &[Stream], worker: &WorkerResults, messages: &mut Messages) {
    const INVALID: i32 = 22;
    const MISMATCH: i32 = 84;
    let (Some(operation), errno) = (&failure.operation, failure.errno.unwrap_or(5)) else {
        return;
    };
    let FailedOperation {
        path,
        direction,
        offset,
        length,
        too_slow,
        ..
    } = operation;
    let verb = direction.word();
    match too_slow {
        Some(too_slow) => messages.stderr.push(format!(
            "fio: latency of {} nsec exceeds specified max ({} nsec): {path} {verb} {} {length}",
            too_slow.latency_ns.0, too_slow.limit_ns.0, offset.0
        )),
        None if errno == MISMATCH || worker.engine.kind.is_metadata_engine() => {}
        None if worker.engine.kind == EngineKind::Truncate => {}
        None => messages.stderr.extend(operation_line(failure)),
    }
    let direct = streams
        .get(operation.stream as usize)
        .is_some_and(|stream| stream.cache.direct);
    let moved = worker
        .streams
        .iter()
        .map(|stream| stream.lifetime[*direction].operations);
    if direct && errno == INVALID && moved.sum::<u64>() == 0 {
        messages.stdout.push(NO_DIRECT.into());
    }
    messages.stdout.push(process_line(
        errno,
        &reports::errors::error_source(failure, worker.engine.kind),
    ));
    add_help(failure.help.as_deref().or(help_for_errno(errno)), messages);
}

/// fio's message if the first direct operation fails.
const NO_DIRECT: &str = "fio: first direct IO errored. File system may not support direct IO, or iomem_align= is bad, or invalid \
                         block size. Try setting direct=0.";

fn add_help(help: Option<&str>, messages: &mut Messages) {
    if let Some(help) = help
        && !messages.hints.iter().any(|hint| hint == help)
    {
        messages.hints.push(help.to_owned());
    }
}

/// Adds the lines about a missed rule. fio checks each clone separately; in fathom a rule covers
/// all clones, so the lines divide the rate equally.
fn add_missed_rule(rule: &Control, outcome: &ControlOutcome, plan: &Job, job: &JobResults, messages: &mut Messages) {
    let clones = job.workers.len().max(1);
    let name = &plan.name;
    let line = match rule {
        Control::LatencyTarget(target) => format!(
            "fio: latency of {} nsec exceeds specified max ({} nsec): {name}",
            job.total().total.max(),
            target.target_ns.0
        ),
        Control::MinimumRate(rate) => {
            let got = outcome.series.first().map_or(0.0, |sum| sum / clones as f64) as u64;
            let rate_min = rate.min_per_sec as u64;
            match rate.metric {
                TrackedMetric::Iops => format!("{name}: rate_iops_min={rate_min} not met, got {got} IOPS"),
                TrackedMetric::Throughput | TrackedMetric::Latency => {
                    format!("{name}: rate_min={rate_min}B/s not met, got {got}B/s")
                }
            }
        }
        Control::Precision(_) | Control::SteadyState(_) => return,
    };
    let (number, place) = error_of_rule(rule);
    for _ in 0..clones {
        messages.stderr.push(line.clone());
        messages.stdout.push(process_line(number, place));
    }
}
