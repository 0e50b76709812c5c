//! DiskSpd's messages about failed runs, with fathom's hints.

use dialects::diskspd::assign_threads;
use dialects::diskspd::profile::{Profile, ResultFormat, Target};
use engine::EngineError;
use model::access::AccessError;
use model::finding::Severity;
use model::plan::{Plan, Prepare};
use model::results::{Failure, Results};
use run::targets::{FillError, TargetError};
use run::{RunError, SetupError, WorkerFault};

use super::error_codes;
use crate::drop_in::describe_refusal;

/// Messages about a failed run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// Lines for stdout, before the report.
    pub stdout: Vec<String>,
    pub stderr: Vec<String>,
    /// Texts of `hint: …` lines.
    pub hints: Vec<String>,
}

/// Line after a run in which a thread failed.
const THREAD_ERROR: &str = "There has been an error during threads execution";
/// Line after a run that failed.
const RUN_ERROR: &str = "Error generating I/O requests";

/// What to do about a missing target.
pub const CREATE_HELP: &str = "check the spelling, or create the file with -c<size>, such as -c1G";

impl Messages {
    fn line(&mut self, line: String) {
        if !self.stderr.contains(&line) {
            self.stderr.push(line);
        }
    }

    fn hint(&mut self, hint: Option<String>) {
        self.hints.extend(hint.filter(|hint| !self.hints.contains(hint)));
    }

    /// Adds the lines that end every failed run.
    fn with_final_lines(mut self, of_threads: bool, format: ResultFormat) -> Messages {
        if of_threads {
            self.stderr.push(THREAD_ERROR.into());
        }
        if format == ResultFormat::Xml {
            self.stderr.push(String::new());
        }
        self.stderr.push(RUN_ERROR.into());
        self
    }
}

/// Collects the messages about an unsupported profile.
pub fn messages_for_problems(problems: &[dialects::Diagnostic], format: ResultFormat) -> Messages {
    let mut messages = Messages::default();
    for problem in problems {
        messages.line(problem.what.clone());
        messages.hint(problem.help.clone());
    }
    let opened = messages
        .stderr
        .iter()
        .any(|line| line.starts_with("Error opening file") || line.starts_with("ERROR: Could not allocate a buffer"));
    messages.with_final_lines(opened, format)
}

/// Collects the messages about a run that failed; `None` if it was stopped.
pub fn messages_for_error(error: &RunError, plan: &Plan, profile: &Profile) -> Option<Messages> {
    let mut messages = Messages::default();
    let errors: Vec<String> = match error {
        RunError::Interrupted => return None,
        RunError::Plan(error) => error.0.iter().map(|fault| fault.what.clone()).collect(),
        RunError::Refused(refusals) => refusals.iter().map(describe_refusal).collect(),
        RunError::Hosts(troubles) | RunError::HostsLost(troubles) => troubles.iter().map(ToString::to_string).collect(),
        RunError::Targets(_) | RunError::Setup(_) => Vec::new(),
    };
    errors.iter().for_each(|error| messages.line(format!("ERROR: {error}")));
    let of_threads = match error {
        RunError::Targets(errors) => {
            let opened = errors.iter().map(|error| add_target_error(error, plan, &mut messages));
            opened.fold(false, |any, is_open| any | is_open)
        }
        RunError::Setup(faults) => {
            faults
                .iter()
                .for_each(|fault| add_setup_error(fault, profile, &mut messages));
            true
        }
        _ => false,
    };
    Some(messages.with_final_lines(of_threads, profile.result_format))
}

/// Collects the messages about failed threads and time spans; `None` on success.
pub fn messages_for_results(results: &Results, profile: &Profile) -> Option<Messages> {
    let mut messages = Messages::default();
    let mut of_threads = false;
    for (span, step) in results.plan.steps.iter().zip(&results.steps) {
        let routines = span.jobs.iter().flat_map(|job| &job.workers);
        let routines: Vec<bool> = routines.map(|worker| worker.batching.completion_routines).collect();
        for (number, worker) in step.jobs.iter().flat_map(|job| &job.workers).enumerate() {
            let Some(failure) = &worker.failure else { continue };
            of_threads = true;
            messages.line(worker_line(number, failure, routines.get(number) == Some(&true)));
            // DiskSpd's message lacks the file and position, so a hint adds fathom's own.
            let has_diskspd_message = failure.operation.is_some() || failure.errno.is_some();
            messages.hint(has_diskspd_message.then(|| format!("{}: {}", failure.what, failure.location)));
            messages.hint(failure.help.clone());
        }
    }
    for finding in results.findings.iter().filter(|finding| finding.rule == "NOT-STARTED") {
        debug_assert_eq!(finding.severity, Severity::Error);
        messages.line(format!("ERROR: {}", finding.what));
        messages.hint(finding.help.clone());
    }
    (!messages.stderr.is_empty()).then(|| messages.with_final_lines(of_threads, profile.result_format))
}

/// Formats lines about incompletely created files. New files are already removed.
pub fn incomplete_file_lines(plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for target in &plan.targets {
        let Prepare::Recreate { size, .. } = target.prepare else {
            continue;
        };
        let Ok(meta) = std::fs::metadata(&target.path) else {
            continue;
        };
        if meta.is_file() && meta.len() < size.0 {
            let (path, holds) = (&target.path, meta.len());
            lines.push(format!(
                "file '{path}' is incomplete: it has {holds} of {} bytes",
                size.0
            ));
        }
    }
    lines
}

/// Formats a line per thread about targets smaller than the requested area.
pub fn short_target_lines(results: &Results, profile: &Profile) -> Vec<String> {
    let mut lines = Vec::new();
    let Some(host) = results.hosts.first() else {
        return lines;
    };
    for ((span, plan), step) in profile.time_spans.iter().zip(&results.plan.steps).zip(&results.steps) {
        if step.jobs.iter().all(|job| job.ended.is_none()) {
            continue;
        }
        let workers = plan.jobs.iter().flat_map(|job| &job.workers);
        for (uses, worker) in assign_threads(span).iter().zip(workers) {
            for (target_use, stream) in uses.iter().zip(&worker.streams) {
                let end = span.targets[target_use.target].end;
                let facts = stream.target.ids().first().and_then(|id| host.environment.target(id.0));
                let size = facts.map_or(0, |facts| facts.size.0);
                if end > size {
                    lines.push(format!("WARNING: file size {size} is less than MaxFileSize {end}"));
                }
            }
        }
    }
    lines
}

/// Formats lines about short transfers, one for each thread and target.
pub fn short_transfer_lines(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for (plan, step) in results.plan.steps.iter().zip(&results.steps) {
        let workers = plan.jobs.iter().flat_map(|job| &job.workers);
        let worker_results = step.jobs.iter().flat_map(|job| &job.workers);
        for (number, (worker, worker_results)) in workers.zip(worker_results).enumerate() {
            for (stream, stream_results) in worker.streams.iter().zip(&worker_results.streams) {
                let short = stream_results
                    .directions
                    .iter()
                    .filter_map(|(_, results)| results.as_ref());
                let short: u64 = short.map(|results| results.short).sum();
                let block = stream.pattern.longest(&stream.mix).0;
                if short > 0 {
                    lines.push(format!(
                        "Warning: thread {number} transferred less than {block} bytes in {short} operations"
                    ));
                }
            }
        }
    }
    lines
}

fn worker_line(number: usize, failure: &Failure, routines: bool) -> String {
    match (&failure.operation, failure.errno) {
        (Some(_), Some(errno)) if routines => {
            format!("Thread {number} failed executing an I/O operation (error code: {errno})")
        }
        (Some(operation), errno) => {
            let (slot, word, errno) = (operation.slot, operation.direction.word(), errno.unwrap_or(0));
            format!("t[{slot}] error during {word} error code: {errno})")
        }
        (None, Some(errno)) => format!("error during overlapped IO operation (error code: {errno})"),
        (None, None) => format!("ERROR: {} ({})", failure.what, failure.location),
    }
}

/// Adds the message about a target. Returns true if DiskSpd reports it from a thread.
fn add_target_error(error: &TargetError, plan: &Plan, messages: &mut Messages) -> bool {
    let silent = matches!(error, TargetError::NoSpace { .. } | TargetError::Fill(_));
    messages.hint(silent.then(|| error.to_string()));
    messages.hint(match error {
        TargetError::NoSize(_) => Some(CREATE_HELP.into()),
        TargetError::Empty(_) => Some("fill the file with -c<size>, such as -c1G, or use another file".into()),
        TargetError::Directory(_) => Some("name a file in it".into()),
        _ => error.help(),
    });
    let is_created = |path: &str| {
        let mut targets = plan.targets.iter().filter(|target| target.path == path);
        targets.any(|target| matches!(target.prepare, Prepare::Recreate { .. }))
    };
    let mut opening = |path: &str, code: i32| {
        let made = is_created(path);
        messages.line(match made {
            true => format!("Could not create the file (error code: {code})"),
            false => format!("Error opening file: {path} [{code}]"),
        });
        !made
    };
    match error {
        TargetError::NoParent(path) => opening(path, error_codes::PATH_NOT_FOUND),
        TargetError::NoSize(path) | TargetError::Missing { path, .. } => opening(path, error_codes::FILE_NOT_FOUND),
        TargetError::Directory(path) => opening(path, error_codes::IS_DIRECTORY),
        TargetError::Empty(_) => {
            messages.line("ERROR: target size could not be determined".into());
            true
        }
        TargetError::Unsuitable { path, .. } => opening(path, error_codes::NO_TARGET_SIZE),
        TargetError::Examine { path, source } => opening(path, source.raw_os_error().unwrap_or(0)),
        TargetError::Fill(FillError::File {
            action: what, errno, ..
        }) => {
            let code = errno.unwrap_or(0);
            messages.line(match *what {
                "cannot create" | "cannot open" => format!("Could not create the file (error code: {code})"),
                "cannot write" => format!("Error while writng during file creation (error code: {code})"),
                _ => format!("Error setting end of file (error code: {code})"),
            });
            false
        }
        TargetError::Fill(FillError::Engine(error)) => {
            let code = error.errno().unwrap_or(0);
            messages.line(format!("Error while writng during file creation (error code: {code})"));
            false
        }
        TargetError::NoSpace { .. } => {
            messages.line(format!(
                "Error setting end of file (error code: {})",
                error_codes::DISK_FULL
            ));
            false
        }
        TargetError::Fill(_)
        | TargetError::TooSmall { .. }
        | TargetError::WouldFillFileSystem { .. }
        | TargetError::Replaced { .. }
        | TargetError::Refused { .. } => {
            messages.line(format!("ERROR: {error}"));
            false
        }
    }
}

/// Adds the message about a thread that could not start, in the first time span.
fn add_setup_error(fault: &WorkerFault, profile: &Profile, messages: &mut Messages) {
    // The cause comes first if DiskSpd's message does not contain it.
    let silent = matches!(
        fault.why,
        SetupError::Alignment { .. }
            | SetupError::Engine(EngineError::Memory { .. } | EngineError::HugePages { .. })
            | SetupError::Content { .. }
    );
    messages.hint(silent.then(|| fault.why.to_string()));
    messages.hint(fault.why.help().map(translate_help));
    let number = fault.worker;
    let used: Vec<(&Target, u32)> = profile.time_spans.first().map_or_else(Vec::new, |span| {
        let uses = assign_threads(span).into_iter().nth(number).unwrap_or_default();
        uses.iter()
            .map(|target_use| (&span.targets[target_use.target], target_use.relative))
            .collect()
    });
    let first = used.first().map_or("", |(target, _)| target.path.as_str());
    match &fault.why {
        SetupError::Open(error) => {
            let code = error.source.raw_os_error().unwrap_or(0);
            messages.line(format!("Error opening file: {} [{code}]", error.path.display()));
        }
        SetupError::Access {
            path,
            size,
            source: AccessError::TooSmall { base, block, .. },
        } => {
            let found_target = used.iter().find(|(target, _)| target.path == *path);
            let (stride, relative) =
                found_target.map_or((0, 0), |(target, relative)| (target.thread_stride, *relative));
            messages.line(format!(
                "The file is too small. File: '{path}' relative thread {relative}: file size: {}, base offset: {base}, \
                 thread stride: {stride}, block size: {block}",
                size.0
            ));
        }
        SetupError::Alignment { .. } => {
            let writes = used.iter().all(|(target, _)| target.write_percent == 100);
            let word = if writes { "write" } else { "read" };
            messages.line(format!(
                "t[0] error during {word} error code: {})",
                error_codes::INVALID_PARAMETER
            ));
        }
        SetupError::NotRemote { .. } => messages.line(cache_not_bypassed_line(error_codes::NOT_SUPPORTED)),
        SetupError::Placement { what, source } if what.contains("local cache") => {
            messages.line(cache_not_bypassed_line(source.raw_os_error().unwrap_or(0)));
        }
        // DiskSpd's message for this case is not published.
        SetupError::Placement { what, source } if what.contains("BypassIO") => {
            messages.line(format!("ERROR: {what}: {source}"));
        }
        SetupError::Engine(EngineError::Memory { .. } | EngineError::HugePages { .. }) => messages.line(format!(
            "ERROR: Could not allocate a buffer for target '{first}'. Error code: {:#x}",
            error_codes::NOT_ENOUGH_MEMORY
        )),
        SetupError::Content { path, .. } => {
            let line = format!("\n\nERROR: Unable to open entropy file '{path}'\n");
            if !messages.stdout.contains(&line) {
                messages.stdout.push(line);
            }
        }
        SetupError::Placement { what, source } if what.contains("priority") => {
            let code = source.raw_os_error().unwrap_or(0);
            messages.line(format!("Error setting IO priority for file: {first} [{code}]"));
        }
        SetupError::Placement { .. } => messages.line(format!("Error setting affinity mask in thread {number}")),
        SetupError::Engine(_)
        | SetupError::State { .. }
        | SetupError::Access { .. }
        | SetupError::Unsupported { .. }
        | SetupError::Log { .. }
        | SetupError::SystemSetting { .. }
        | SetupError::Common(_)
        | SetupError::Trace { .. }
        | SetupError::AddressSpace { .. }
        | SetupError::Thread(_) => messages.line(format!("ERROR: {}", fault.why)),
    }
}

fn cache_not_bypassed_line(code: i32) -> String {
    format!(
        "Failed to disable local caching (error {code}). NOTE: only supported on remote filesystems with Windows 8 or \
         newer."
    )
}

/// Replaces native options in help texts by DiskSpd's.
fn translate_help(help: String) -> String {
    [
        ("`cache buffered`", "omit -S, -Su and -Sh"),
        (
            "bypass every cache (`cache direct`, DiskSpd `-Su`)",
            "use -Su, which bypasses every cache",
        ),
        (
            "use a completion port: `--engine auto`, or the DiskSpd command line without -u",
            "omit -u to use a completion port",
        ),
        ("flush the view instead", "use -Nv, which writes back the pages"),
    ]
    .into_iter()
    .fold(help, |help, (native, diskspd)| help.replace(native, diskspd))
}
