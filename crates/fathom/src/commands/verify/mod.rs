//! `fathom verify`: issues a promised load and judges the result.

mod args;
mod created_files;
mod file_load;
mod report;
mod targets;

use ::report::junit;
use ::run::RunError;
use ::run::targets::SharedFiles;
use ::run::targets::guard::Permissions;
use analysis::diagnosis::{Answer, JobDiagnosis, Question};
use analysis::lint::Purpose;
use analysis::requirement::Metric;
use analysis::verdict::{Cause, ClauseVerdict, Outcome, Verdict};
use archive::history::EntryKind;
use jiff::Zoned;
use model::Nanos;
use model::access::Access;
use model::environment::BackgroundIo;
use model::fleet::{Rank, expand_name};
use model::observation::Observation;
use model::plan::{DividedSettings, Plan};
use model::results::Results;
use study::diagnosis::KnownLimits;
use study::verify::{Attempt, Search, Verification};

use super::run;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::judged;
use crate::outputs::{Outputs, PAGE};
use crate::own_files;
use crate::permissions;
use crate::preflight;
use crate::screen::{self, Screen};
use crate::session::Session;
use crate::silenced;
use args::{VerifyRequest, resolve_args};
use created_files::CreatedFiles;

pub use args::Args;

/// Default length of the preflight, which watches for I/O of other programs.
const PREFLIGHT: Nanos = Nanos::secs(10);
/// Default length of the preflight with `--quick`.
const QUICK_PREFLIGHT: Nanos = Nanos::secs(3);

/// Tests a promise.
pub fn execute(session: &Session, args: &Args) -> Result<Exit, Faults> {
    let request = resolve_args(session, args)?;
    let silenced = silenced::from_args(&args.output.silence)?;
    let permissions = permissions::from_args(&args.safety);
    let preflight = preflight::parse_time(
        args.preflight.as_ref(),
        if args.quick { QUICK_PREFLIGHT } else { PREFLIGHT },
    )?;
    let first = request
        .verification
        .next(&Search::default())
        .expect("nothing was issued yet");
    let plan = build_plan(session, &request, &first);
    if args.dry.dry_run {
        Outputs::parse(&args.output)?;
        return print_dry_run(session, &request, &first, &permissions, &silenced);
    }
    let mut outputs = Outputs::from_args(&args.output, &plan)?;
    if let Some(path) = &args.junit {
        outputs.check_file(path, &plan)?;
    }
    let started = Zoned::now();
    let background_io = preflight::watch_and_report(session, &plan, preflight, args.output.measure.progress.quiet);
    let (mut results, shallower, mut verdict, issued) =
        run_attempts(session, (args, &silenced), &request, &background_io, &mut outputs)?;
    verdict.notes.extend(request.describe_environment(&results));
    verdict
        .notes
        .extend(request.file.iter().filter_map(|file| file.note.clone()));
    results
        .findings
        .extend(study::diagnosis::detect_cache_hits(&results, &request.known_limits));
    results.findings = analysis::lint::filter_silenced(results.findings, &silenced);
    // An interrupted run cannot show its limit, and failed operations are not a limit.
    if verdict.clauses.iter().any(is_missed) && !Exit::is_cut_short(&results) {
        let known_limits = KnownLimits {
            question: choose_question(&verdict),
            ..request.known_limits.clone()
        };
        // Any of these may have limited the load: limits from the command line, the policy or the
        // system.
        results.diagnoses = match &shallower {
            // The probes do the work of --confirm in other commands.
            Some(shallower) => study::diagnosis::diagnoses_with_deeper_run(&results, shallower, &known_limits),
            None => study::diagnosis::diagnoses(&results, &known_limits),
        };
        if is_cause_elsewhere(&verdict) {
            let says_nothing = |diagnosis: &JobDiagnosis| diagnosis.diagnosis.answer == Answer::Undetermined;
            results.diagnoses.retain(|diagnosis| !says_nothing(diagnosis));
        }
    }
    let verified = report::build_document(&request, &results, verdict, &issued);
    let strict = args.output.strict;
    let text = report::format_text(&verified, strict);
    let json = screen::json_text(&verified);
    let page = match outputs.has_page() {
        true => report::build_page(&request, &results, &verified),
        false => String::new(),
    };
    let written = outputs.finish_with(&results, &[("text", &text), ("json", &json), (PAGE, &page)]);
    let word = Some(verified.verdict.outcome.word());
    args.output.record(EntryKind::Verify, &results, word);
    written?;
    if let Some(path) = &args.junit {
        let document = junit::document(&report::junit_suite(&verified, &started, &text));
        own_files::write(path, document.as_bytes())
            .map_err(|error| Faults::one(Fault::for_file("write", path, &error), Exit::Internal))?;
    }
    Ok(Exit::from_verdict(&results, verified.verdict.outcome, strict))
}

/// Prints what the test would do.
fn print_dry_run(
    session: &Session,
    request: &VerifyRequest,
    first: &Attempt,
    permissions: &Permissions,
    silenced: &[String],
) -> Result<Exit, Faults> {
    let window = Attempt {
        is_probe: false,
        ..*first
    };
    let plan = build_plan(session, request, &window);
    ::run::check(&plan).map_err(|error| Faults::from(::run::RunError::Plan(error)))?;
    let (mut text, exit) = run::dry_run(
        session.ranks(),
        [&plan, &plan],
        permissions,
        silenced,
        &Purpose::default(),
    )?;
    if first.is_probe {
        let probe = request.verification.issued(first).measured_ns;
        text += &format!(
            "\nprobes of {probe} find the depth of the window: from {} up\n",
            first.slots
        );
    }
    screen::put(&text)?;
    Ok(exit)
}

/// Chooses the figure that the diagnosis explains: latency if only latency clauses fail.
fn choose_question(verdict: &Verdict) -> Question {
    let is_rate = |judged: &ClauseVerdict| matches!(judged.clause.metric, Metric::Iops | Metric::Throughput);
    match verdict.clauses.iter().filter(|judged| is_missed(judged)).any(is_rate) {
        true => Question::MissedRate,
        false => Question::MissedLatency,
    }
}

/// True if a cause is of interest. Availability that is consistent was not missed.
fn is_missed(judged: &ClauseVerdict) -> bool {
    matches!(judged.outcome, Outcome::Fail | Outcome::Inconclusive)
}

/// True if the verdict blames fathom or other programs. An undetermined diagnosis then adds
/// nothing.
fn is_cause_elsewhere(verdict: &Verdict) -> bool {
    let clauses = verdict.clauses.iter().filter_map(|judged| judged.cause);
    let reasons = verdict.reasons.iter().filter_map(|reason| reason.cause);
    clauses
        .chain(reasons)
        .any(|cause| matches!(cause, Cause::Generator | Cause::Others))
}

/// The last attempt, and the probes before it.
struct LastAttempt {
    attempt: Attempt,
    search: Search,
}

/// Runs probes and windows until the promise is judged. If the probes found saturation, returns the
/// second-to-last probe as well: it had half the window's depth.
fn run_attempts(
    session: &Session,
    (args, silenced): (&Args, &[String]),
    request: &VerifyRequest,
    background_io: &Option<BackgroundIo>,
    outputs: &mut Outputs,
) -> Result<(Results, Option<Results>, Verdict, LastAttempt), Faults> {
    let permissions = permissions::from_args(&args.safety);
    let verification = &request.verification;
    let mut screen = Screen::from_args(session, &args.output.measure.progress, outputs.streams_to_stdout())?;
    let (mut shared_files, mut search) = (SharedFiles::default(), Search::default());
    let mut created = CreatedFiles::for_missing(&verification.paths);
    let (mut probed, mut shallower, mut judged) = (None, None, None);
    let mut has_run = false;
    while let Some(attempt) = verification.next(&search) {
        screen.print(&introduction(verification, &attempt));
        let mut plan = build_plan(session, request, &attempt);
        session.prepare_shared_files(&mut shared_files, &mut plan)?;
        let label = match attempt {
            Attempt {
                is_probe: true, slots, ..
            } => Some(format!("probe, depth {slots}")),
            Attempt { number: 1, .. } => None,
            Attempt { slots, .. } => Some(format!("again, depth {slots}")),
        };
        screen.begin(&plan, label);
        let results = session
            .execution(plan, &permissions)
            .with_background_io(background_io.clone())
            .with_silenced(silenced)
            .run(&mut |event| {
                shared_files.adopt_created(&event);
                screen.handle_event(&event);
                created.handle_event(&event);
                if !attempt.is_probe {
                    outputs.handle_event(&event).iter().for_each(|line| screen.print(line));
                }
            })
            .map_err(|error| match error {
                // All hosts took part in the previous run, so one was lost.
                RunError::Hosts(_) if has_run => Faults::from(error).with(Exit::Partial),
                error => without_verdict(error.into()),
            })?;
        has_run = true;
        let Some(observed) = Observation::from_results(&results, 0, 0) else {
            return Err(nothing_measured_fault(&results));
        };
        // A run that was cut short is judged without another attempt: it cannot find a depth, and a
        // lost host cannot run again.
        let cut_short = Exit::is_cut_short(&results);
        if attempt.is_probe && !cut_short && observed.errors.unwrap_or(0) == 0 {
            verification.record_probe(&mut search, &attempt, observed.total.iops.unwrap_or(0.0));
            shallower = probed.replace(results);
        } else if attempt.is_probe && judged.is_some() {
            // The window before this probe remains the result.
            break;
        } else {
            let Some(verdict) = verification.judge(&results, &search) else {
                return Err(nothing_measured_fault(&results));
            };
            verification.record_window(&mut search, &attempt, &verdict, &observed);
            judged = Some((results, verdict, attempt));
            if cut_short || attempt.is_probe {
                break;
            }
        }
    }
    let (results, mut verdict, attempt) = judged.expect("the loop ends with a judged window");
    verdict.notes.extend(search.describe_recheck());
    let shallower = shallower.filter(|_| search.depth_search().is_some_and(|depth_search| depth_search.saturated));
    Ok((results, shallower, verdict, LastAttempt { attempt, search }))
}

/// Changes the exit code of a test that could not begin. It must not look like a FAIL.
fn without_verdict(faults: Faults) -> Faults {
    match faults.exit() {
        Exit::Failed => faults.with(Exit::Refused),
        _ => faults,
    }
}

fn nothing_measured_fault(results: &Results) -> Faults {
    let exit = match Exit::from_results(results, false) {
        Exit::Done => Exit::Inconclusive,
        exit => exit,
    };
    Faults::one(judged::nothing_to_judge(results), exit)
}

/// Builds an attempt's plan and adds known facts about the storage below it.
fn build_plan(session: &Session, request: &VerifyRequest, attempt: &Attempt) -> Plan {
    let mut plan = request.verification.plan(attempt);
    if let Some(file) = &request.file {
        let issued = request.verification.issued(attempt);
        plan = file.plan(plan, (issued.warm_up_ns, issued.measured_ns));
    }
    let mut plan = divide_among_hosts(session.ranks(), plan);
    request.storage.apply_to_plan(&mut plan);
    plan.limits.clone_from(&request.caps);
    plan
}

/// Divides the rate among the hosts, because a promise applies to all of them together. Divides the
/// depth if each host gets at least one slot, and a shared target if its access is sequential.
pub(super) fn divide_among_hosts(ranks: Option<u32>, mut plan: Plan) -> Plan {
    let Some(ranks) = ranks else { return plan };
    let has_own = plan
        .targets
        .iter()
        .all(|target| expand_name(&target.path, &Rank::default()) != target.path);
    for job in plan.steps.iter_mut().flat_map(|step| &mut step.jobs) {
        let streams = || job.workers.iter().flat_map(|worker| &worker.streams);
        let in_order = |access: &Access| matches!(access, Access::Sequential(_));
        job.divide = DividedSettings {
            rate: true,
            depth: streams().all(|stream| stream.depth >= ranks),
            region: !has_own && streams().any(|stream| stream.pattern.access.iter().any(in_order)),
        };
    }
    plan
}

fn introduction(verification: &Verification, attempt: &Attempt) -> String {
    let issued = verification.issued(attempt);
    let purpose = match attempt {
        Attempt { is_probe: true, .. } => "searching the depth: ",
        Attempt { number: 1, .. } => "",
        Attempt { .. } => "repeating with another depth: ",
    };
    let warm_up = match issued.warm_up_ns {
        Nanos(0) => "no".to_owned(),
        time => format!("{time} of"),
    };
    format!(
        "{purpose}{:.0} operations per second of {}, up to {} in flight: {warm_up} warm-up, {} measured",
        issued.rate_iops, issued.block, issued.concurrency, issued.measured_ns
    )
}
