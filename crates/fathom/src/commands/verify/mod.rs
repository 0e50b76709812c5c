//! `fathom verify`: issues a promised load and judges the result.

mod args;
mod attempts;
mod created_files;
mod file_load;
mod report;
mod targets;

use ::report::junit;
use ::run::targets::guard::Permissions;
use analysis::diagnosis::{Answer, JobDiagnosis, Question};
use analysis::lint::Purpose;
use analysis::requirement::Metric;
use analysis::verdict::{Cause, ClauseVerdict, Outcome, Verdict};
use archive::history::EntryKind;
use jiff::Zoned;
use model::Nanos;
use model::access::Access;
use model::fleet::{Rank, expand_name};
use model::plan::{DividedSettings, Plan};
use study::diagnosis::KnownLimits;
use study::verify::{Attempt, Search};

use super::run;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::outputs::{self, Outputs, PAGE};
use crate::own_files;
use crate::permissions;
use crate::preflight;
use crate::screen;
use crate::session::Session;
use crate::silenced;
use args::{VerifyRequest, resolve_args};
use attempts::Attempts;

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
    let default_preflight = if args.quick { QUICK_PREFLIGHT } else { PREFLIGHT };
    let preflight = preflight::parse_time(&args.preflight, default_preflight)?;
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
        outputs::check_file(path, &plan.targets)?;
    }
    let started = Zoned::now();
    let quiet = args.output.measure.progress.quiet;
    let background_io = preflight::watch_and_report(session, &plan, &permissions, preflight, quiet)
        .map_err(|error| attempts::without_verdict(error.into()))?;
    let attempts = Attempts::new(session, (args, &silenced), &request, background_io, &mut outputs)?;
    let (mut results, shallower, mut verdict, issued) = attempts.run_until_judged()?;
    verdict.notes.extend(request.describe_environment(&results));
    verdict
        .notes
        .extend(request.file.iter().filter_map(|file| file.note.clone()));
    results
        .findings
        .extend(study::diagnosis::detect_cache_hits(&results, &request.known_limits));
    results.findings = analysis::lint::filter_silenced(results.findings, &silenced);
    if verdict.clauses.iter().any(is_missed) && !attempts::ended_early(&results) {
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
    let written = outputs.finish(&results, &[("text", &text), ("json", &json), (PAGE, &page)]);
    let word = study::verify::verdict_word(&verified.verdict);
    args.output.record(EntryKind::Verify, &results, Some(word));
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
    ::run::check(&plan)?;
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
