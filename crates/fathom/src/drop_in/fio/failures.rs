//! Why jobs failed, in fio's words, with what to do about it in ours.

use std::fs::OpenOptions;

use dialects::fio::Unusable;
use model::Direction;
use model::plan::{Plan, Prepare, StreamTarget, TargetKind, Worker};
use model::results::{Failure, Results};
use run::targets::guard::Refusal;
use run::targets::{FillError, TargetError};
use run::{RunError, SetupError};

use super::Origin;

/// What is told about a run that failed, wholly or in part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    /// Lines for stdout.
    pub(super) stdout: Vec<String>,
    /// Lines for stderr.
    pub(super) stderr: Vec<String>,
    /// What to do, for lines `hint: …`.
    pub(super) hints: Vec<String>,
    /// Workers without which the others can go on.
    pub(super) unusable: Vec<Unusable>,
}

/// What the system says of an error number.
fn words(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.rsplit_once(" (os error ")
        .map_or(text.clone(), |(words, _)| words.to_owned())
}

/// The line about a clone that ended with an error.
pub(super) fn process_line(errno: i32, function: &str) -> String {
    let process = std::process::id();
    format!(
        "fio: pid={process}, err={errno}/file:fathom:0, func={function}, error={}",
        words(errno)
    )
}

/// Workers whose files are there and cannot be opened as they need them.
pub(super) fn unusable_targets(plan: &Plan, known: &[Unusable]) -> Vec<Unusable> {
    let mut found: Vec<Unusable> = Vec::new();
    for ((step, number), job) in plan.jobs() {
        for (clone, worker) in job.workers.iter().enumerate() {
            let known = known.iter().any(|one| one.job == (step, number) && one.clone == clone);
            let Some((path, errno)) = first_unusable(plan, worker).filter(|_| !known) else {
                continue;
            };
            found.push(Unusable {
                job: (step, number),
                clone,
                line: String::new(),
                errno,
                function: format!("open({path})"),
            });
        }
    }
    found
}

fn first_unusable(plan: &Plan, worker: &Worker) -> Option<(String, i32)> {
    worker.streams.iter().find_map(|stream| {
        let writes = stream.mix.includes(Direction::Write) || stream.mix.includes(Direction::Trim);
        stream.target.ids().iter().find_map(|id| {
            let target = plan.target(*id);
            if target.kind != TargetKind::Path {
                return None;
            }
            let may_create = matches!(target.prepare, Prepare::LayOut { may_create: true, .. });
            let opened = OpenOptions::new().read(true).write(writes).open(&target.path);
            let errno = opened.err()?.raw_os_error()?;
            const MISSING: i32 = 2;
            (errno != MISSING || !may_create).then(|| (target.path.clone(), errno))
        })
    })
}

/// A run that came to nothing, or that can go on without some workers.
pub(super) fn of_error(error: &RunError, plan: &Plan, places: &[Vec<Origin>]) -> Told {
    let mut told = Told::default();
    match error {
        RunError::Interrupted => {}
        RunError::Plan(error) => error
            .0
            .iter()
            .for_each(|fault| told.stderr.push(format!("fio: {}: {}", fault.at, fault.what))),
        RunError::Refused(refusals) => refusals
            .iter()
            .for_each(|refusal| told.stderr.push(of_refusal(refusal))),
        RunError::Targets(errors) => errors.iter().for_each(|error| of_target(error, plan, &mut told)),
        RunError::Setup(faults) => {
            for fault in faults {
                let Some(origin) = places.first().and_then(|step| step.get(fault.job)) else {
                    continue;
                };
                let (errno, function) = of_setup(&fault.why);
                if !told.hints.contains(&fault.why.to_string()) {
                    told.hints.push(fault.why.to_string());
                    told.hints.extend(fault.why.help());
                }
                told.stdout.push(process_line(errno, &function));
                told.unusable.push(Unusable {
                    job: (origin.step, origin.job),
                    clone: origin.clones[fault.worker],
                    line: fault.why.to_string(),
                    errno,
                    function,
                });
            }
        }
    }
    told
}

fn of_refusal(refusal: &Refusal) -> String {
    let reasons: Vec<String> = refusal.reasons.iter().map(ToString::to_string).collect();
    format!(
        "fio: {} must not be {}: {}; {}",
        refusal.path.display(),
        refusal.intent,
        reasons.join("; "),
        refusal.help
    )
}

fn of_target(error: &TargetError, plan: &Plan, told: &mut Told) {
    let (path, errno) = match error {
        TargetError::Missing { path, .. } => (path.clone(), 2),
        TargetError::Unfit { path, what, .. } if what.contains("directory") => (path.clone(), 21),
        TargetError::Unfit { path, .. } => (path.clone(), 22),
        TargetError::Look { path, source } => (path.clone(), source.raw_os_error().unwrap_or(5)),
        TargetError::NoSpace { path, .. } | TargetError::NoRoom { path, .. } => (path.clone(), 28),
        TargetError::Fill(FillError::File { path, errno, .. }) => (path.clone(), errno.unwrap_or(5)),
        TargetError::TooSmall { path, .. } | TargetError::Replaced { path } => (path.clone(), 5),
        TargetError::Fill(error) => (String::new(), error.errno().unwrap_or(5)),
    };
    told.hints.push(error.to_string());
    told.hints.extend(error.help());
    let function = format!("open({path})");
    for ((step, number), job) in plan.jobs() {
        for (clone, worker) in job.workers.iter().enumerate() {
            let uses = worker.streams.iter().flat_map(|stream| ids(&stream.target));
            let mut uses = uses.map(|id| &plan.target(*id).path);
            if uses.any(|used| *used == path) {
                told.stdout.push(process_line(errno, &function));
                told.unusable.push(Unusable {
                    job: (step, number),
                    clone,
                    line: error.to_string(),
                    errno,
                    function: function.clone(),
                });
            }
        }
    }
    if told.unusable.is_empty() {
        told.stderr.push(format!("fio: {error}"));
    }
}

fn ids(target: &StreamTarget) -> impl Iterator<Item = &model::plan::TargetId> {
    target.ids().iter()
}

fn of_setup(why: &SetupError) -> (i32, String) {
    const INVALID: i32 = 22;
    match why {
        SetupError::Open(error) => (
            error.source.raw_os_error().unwrap_or(INVALID),
            format!("open({})", error.path.display()),
        ),
        SetupError::Alignment { .. } => (INVALID, "io_u error".into()),
        _ => (INVALID, "setup".into()),
    }
}

/// Workers that ended with an error.
pub(super) fn count(results: &Results) -> usize {
    let jobs = results.steps.iter().flat_map(|step| &step.jobs);
    jobs.flat_map(|job| &job.workers)
        .filter(|worker| worker.failure.is_some())
        .count()
}

/// What is told of workers that failed while they ran.
pub(super) fn of_results(results: &Results) -> Told {
    let mut told = Told::default();
    let jobs = results.steps.iter().flat_map(|step| &step.jobs);
    for failure in jobs
        .clone()
        .flat_map(|job| &job.workers)
        .flat_map(|worker| &worker.tolerated)
    {
        let errno = failure.errno.unwrap_or(5);
        told.stderr
            .push(format!("fio: io_u error on file {}: {}", failure.at, words(errno)));
    }
    for failure in jobs
        .flat_map(|job| &job.workers)
        .filter_map(|worker| worker.failure.as_ref())
    {
        of_failure(failure, &mut told);
    }
    told
}

fn of_failure(failure: &Failure, told: &mut Told) {
    let errno = failure.errno.unwrap_or(5);
    if failure.operation.is_some() {
        told.stderr
            .push(format!("fio: io_u error on file {}: {}", failure.at, words(errno)));
        told.stdout.push(process_line(errno, "io_u error"));
    }
    if let Some(help) = &failure.help
        && !told.hints.contains(help)
    {
        told.hints.push(help.clone());
    }
}
