//! Runs probes and windows until the promise is judged, also if the target is lost on the way.

use ::run::targets::SharedFiles;
use ::run::targets::guard::Permissions;
use ::run::{RunError, SetupError, lost_target_finding};
use analysis::verdict::Verdict;
use model::Nanos;
use model::environment::BackgroundIo;
use model::finding::{Finding, Severity};
use model::observation::Observation;
use model::results::Results;
use study::verify::{Attempt, Search, Verification};

use super::args::{Args, VerifyRequest};
use super::build_plan;
use super::created_files::CreatedFiles;
use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::judged;
use crate::outputs::Outputs;
use crate::permissions;
use crate::screen::Screen;
use crate::session::Session;

/// The last attempt, and the probes before it.
pub(super) struct LastAttempt {
    pub(super) attempt: Attempt,
    pub(super) search: Search,
}

/// The judged results; those of the second-to-last probe, if the probes found saturation: it had
/// half the window's depth; the verdict; the judged attempt.
type JudgedWindow = (Results, Option<Results>, Verdict, LastAttempt);

/// Why an attempt has no results.
enum AttemptError {
    /// The target could be used before, but not any more.
    TargetLost(String),
    Faults(Faults),
}

pub(super) struct Attempts<'a> {
    session: &'a Session,
    request: &'a VerifyRequest,
    silenced: &'a [String],
    permissions: Permissions,
    background_io: Option<BackgroundIo>,
    outputs: &'a mut Outputs,
    screen: Screen,
    shared_files: SharedFiles,
    created: CreatedFiles,
    has_run: bool,
}

impl<'a> Attempts<'a> {
    pub(super) fn new(
        session: &'a Session,
        (args, silenced): (&Args, &'a [String]),
        request: &'a VerifyRequest,
        background_io: Option<BackgroundIo>,
        outputs: &'a mut Outputs,
    ) -> Result<Attempts<'a>, Faults> {
        Ok(Attempts {
            session,
            request,
            silenced,
            permissions: permissions::from_args(&args.safety),
            background_io,
            screen: Screen::from_args(session, &args.output.measure.progress, outputs.streams_to_stdout())?,
            outputs,
            shared_files: SharedFiles::default(),
            created: CreatedFiles::for_missing(&request.verification.paths),
            has_run: false,
        })
    }

    /// Runs probes and windows until the promise is judged.
    pub(super) fn run_until_judged(mut self) -> Result<JudgedWindow, Faults> {
        let verification = &self.request.verification;
        let mut search = Search::default();
        let mut shallower = None;
        let mut probed: Option<(Results, Attempt)> = None;
        let mut judged: Option<(Results, Verdict, Attempt)> = None;
        while let Some(attempt) = verification.next(&search) {
            let outcome = self.run(&attempt);
            // The results of a window remain if nothing can follow it.
            if let Some((_, verdict, _)) = judged.as_mut().filter(|_| is_without_figures(&outcome)) {
                verdict.notes.extend(describe_missing_attempt(&outcome));
                break;
            }
            let (mut results, attempt, is_over) = match outcome {
                Ok(results) if !is_empty(&results) => (results, attempt, false),
                outcome => {
                    let (results, attempt) = judge_last_probe(outcome, probed.take())?;
                    (results, attempt, true)
                }
            };
            let before = probed.as_ref().map(|(results, _)| results);
            let shrunk = before.and_then(|before| find_shrunk_target(before, &results));
            results.findings.extend(shrunk);
            let is_last = is_over || ended_early(&results);
            let Some(observed) = Observation::from_results(&results, 0, 0) else {
                return Err(nothing_measured_fault(&results));
            };
            if attempt.is_probe && !is_last && observed.errors.unwrap_or(0) == 0 {
                verification.record_probe(&mut search, &attempt, observed.total.iops.unwrap_or(0.0));
                shallower = probed.replace((results, attempt)).map(|(results, _)| results);
            } else if attempt.is_probe && judged.is_some() {
                // The window before this probe remains the result.
                break;
            } else {
                let Some(verdict) = verification.judge(&results, &search) else {
                    return Err(nothing_measured_fault(&results));
                };
                verification.record_window(&mut search, &attempt, &verdict, &observed);
                judged = Some((results, verdict, attempt));
                if is_last || attempt.is_probe {
                    break;
                }
            }
        }
        let (results, mut verdict, attempt) = judged.expect("the loop ends with a judged window");
        verdict.notes.extend(search.describe_recheck());
        let shallower = shallower.filter(|_| search.depth_search().is_some_and(|depth_search| depth_search.saturated));
        Ok((results, shallower, verdict, LastAttempt { attempt, search }))
    }

    fn run(&mut self, attempt: &Attempt) -> Result<Results, AttemptError> {
        let verification = &self.request.verification;
        self.screen.print(&introduction(verification, attempt));
        let mut plan = build_plan(self.session, self.request, attempt);
        if let Err(faults) = self.session.prepare_shared_files(&mut self.shared_files, &mut plan) {
            return Err(match self.has_run {
                true => AttemptError::TargetLost(faults.first()),
                false => AttemptError::Faults(faults),
            });
        }
        let label = match *attempt {
            Attempt {
                is_probe: true, slots, ..
            } => Some(format!("probe, depth {slots}")),
            Attempt { number: 1, .. } => None,
            Attempt { slots, .. } => Some(format!("again, depth {slots}")),
        };
        self.screen.begin(&plan, label);
        let Attempts {
            screen,
            outputs,
            shared_files,
            created,
            ..
        } = self;
        let outcome = self
            .session
            .execution(plan, &self.permissions)
            .with_background_io(self.background_io.clone())
            .with_silenced(self.silenced)
            .run(&mut |event| {
                shared_files.adopt_created(&event);
                screen.handle_event(&event);
                created.handle_event(&event);
                if !attempt.is_probe {
                    outputs.handle_event(&event).iter().for_each(|line| screen.print(line));
                }
            });
        let had_run = std::mem::replace(&mut self.has_run, true);
        outcome.map_err(|error| match is_lost_target(&error) && had_run {
            true => AttemptError::TargetLost(describe_error(error)),
            false => AttemptError::Faults(without_verdict(error.into())),
        })
    }
}

/// True if an attempt ended without an operation.
fn is_empty(results: &Results) -> bool {
    Observation::from_results(results, 0, 0).is_none()
}

fn is_without_figures(outcome: &Result<Results, AttemptError>) -> bool {
    match outcome {
        Ok(results) => is_empty(results),
        Err(AttemptError::TargetLost(_)) => true,
        Err(AttemptError::Faults(_)) => false,
    }
}

/// A note about an attempt that would have followed a judged window.
fn describe_missing_attempt(outcome: &Result<Results, AttemptError>) -> Option<String> {
    let why = match outcome {
        Err(AttemptError::TargetLost(why)) => why.clone(),
        Ok(results) => judged::nothing_to_judge(results).what,
        Err(AttemptError::Faults(_)) => return None,
    };
    Some(format!("the test with another depth was not possible: {why}"))
}

/// Returns the results of the last probe, with the reason why nothing followed it.
///
/// # Errors
/// Why there is nothing to judge.
fn judge_last_probe(
    outcome: Result<Results, AttemptError>,
    probed: Option<(Results, Attempt)>,
) -> Result<(Results, Attempt), Faults> {
    let (findings, faults) = match outcome {
        Ok(results) => (results.findings.clone(), nothing_measured_fault(&results)),
        Err(AttemptError::TargetLost(why)) => {
            let finding = lost_target_finding(format!("the test could not continue: {why}"));
            (vec![finding], Faults::refused(Fault::new(why)))
        }
        Err(AttemptError::Faults(faults)) => return Err(faults),
    };
    // Interruptions and lost hosts say nothing about the storage.
    let is_cause_elsewhere = matches!(faults.exit(), Exit::Interrupted(_)) || has_finding(&findings, "HOST-LOST");
    let is_failure = |finding: &Finding| finding.severity == Severity::Error && finding.rule != "NOTHING-MEASURED";
    let failures: Vec<Finding> = findings.into_iter().filter(is_failure).collect();
    match probed {
        Some((mut results, attempt)) if !is_cause_elsewhere && !failures.is_empty() => {
            results.findings.extend(failures);
            Ok((results, attempt))
        }
        _ => Err(faults),
    }
}

fn has_finding(findings: &[Finding], rule: &str) -> bool {
    findings.iter().any(|finding| finding.rule == rule)
}

/// True if a run was cut short, failed, or lost its target. It can find neither a depth nor a
/// limit, and a lost host or target cannot run again.
pub(super) fn ended_early(results: &Results) -> bool {
    Exit::is_cut_short(results)
        || results.workers().any(|worker| worker.failure.is_some())
        || ["WORKER-FAILED", "TARGET-LOST"]
            .iter()
            .any(|rule| has_finding(&results.findings, rule))
}

/// Finds a target that became smaller between two attempts.
fn find_shrunk_target(before: &Results, now: &Results) -> Option<Finding> {
    let targets = |results: &'_ Results| -> Vec<(String, u64)> {
        let targets = results.hosts.iter().flat_map(|host| &host.environment.targets);
        targets.map(|target| (target.path.clone(), target.size.0)).collect()
    };
    let (before, now) = (targets(before), targets(now));
    before.into_iter().zip(now).find_map(|((path, size), (same, smaller))| {
        let what = format!("{path} became smaller ({smaller} of {size} bytes) during the test");
        (path == same && smaller < size).then(|| lost_target_finding(what))
    })
}

/// True if an error shows that a target cannot be used any more.
fn is_lost_target(error: &RunError) -> bool {
    match error {
        RunError::Targets(_) | RunError::Refused(_) => true,
        RunError::Setup(faults) => faults.iter().any(|fault| matches!(fault.why, SetupError::Open(_))),
        RunError::Plan(_) | RunError::Hosts(_) | RunError::HostsLost(_) | RunError::Interrupted => false,
    }
}

fn describe_error(error: RunError) -> String {
    let fault = Faults::from(error).into_first();
    match fault.why.first() {
        Some(why) => format!("{}: {why}", fault.what),
        None => fault.what,
    }
}

/// Changes the exit code of a test that could not begin. It must not look like a FAIL.
pub(super) fn without_verdict(faults: Faults) -> Faults {
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
