//! Carrying out a plan: preparing targets, workers, phases, pacing, gathering.
//!
//! [`carry_out`] takes a plan and gives results; on the way it tells whoever watches through [`model::event::Event`]s, and
//! knows no viewer. Nothing is printed here.

#![deny(unsafe_code)]

mod control;
mod control_groups;
mod file_lock;
mod flow;
mod gather;
mod governor;
pub mod hosts;
mod issue_trace;
mod line_log;
mod operation_log;
mod sampler;
mod schedulers;
mod sources;
mod step;
pub mod targets;
mod trace_source;
mod unsupported;
mod verify;
mod worker;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use engine::probe::{self, System, SystemTimes};
use engine::{Clock, Simulation, sys};
use model::environment::TargetFacts;
use model::event::{EndReason, Event};
use model::finding::{Finding, Severity};
use model::plan::{Plan, PlanError, TargetKind};
use model::results::{FORMAT_VERSION, HostResults, JobResults, Kind, Results, StepResults, Tool};

use control_groups::ControlGroups;
use schedulers::Schedulers;
use targets::guard::{Permissions, Refusal};
use targets::{Objection, Preparation, TargetError};
pub use worker::{Setting, SetupError};

/// Raised whenever a change of the measuring code may change figures.
pub const ENGINE_REVISION: u32 = 1;

/// Why a plan could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The plan is not whole, or says something that cannot be carried out yet.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Targets cannot be used or prepared.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Targets(Vec<TargetError>),
    /// The guard does not give targets away. Nothing was touched.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Refused(Vec<Refusal>),
    /// Workers could not be set up. Nothing was issued.
    #[error("{}", .0.first().map(|fault| fault.why.to_string()).unwrap_or_default())]
    Setup(Vec<WorkerFault>),
    /// Hosts of a fleet cannot take part, or were lost before anything was measured.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Hosts(Vec<hosts::Trouble>),
    /// The user or the system asked to stop before anything was measured.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

/// A worker that could not be set up.
#[derive(Debug)]
pub struct WorkerFault {
    /// Index of its job in the step.
    pub job: usize,
    /// Number of the worker in its job.
    pub worker: usize,
    /// Why.
    pub why: SetupError,
}

/// What a run may do and by which clock.
#[derive(Clone, Copy, Debug)]
pub struct Conditions<'a> {
    /// The clock that stamps operations.
    pub clock: Clock,
    /// Becomes true when the user or the system asks to stop.
    pub interrupt: &'a AtomicBool,
    /// What the user allows to be lost.
    pub permissions: &'a Permissions,
}

/// What whoever watches a run may ask of it while it goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes<'a> {
    /// Raised for each look at the results so far ([`Event::Snapshot`]) that is wanted; there is one at the end of each step
    /// too.
    pub snapshots: Option<&'a AtomicBool>,
    /// Jobs, by step and number, that must not begin. It is looked at once a step is ready ([`Event::Ready`]).
    pub called_off: Option<&'a Mutex<Vec<(usize, usize)>>>,
    /// Others that carry out parts of the same test, and may want the same files.
    pub others: Option<&'a dyn targets::Peers>,
}

/// Carries out a plan.
///
/// # Errors
/// [`RunError`] if nothing could be measured at all. Errors of single operations are in the results.
pub fn carry_out(plan: Plan, conditions: Conditions<'_>, watcher: &mut dyn FnMut(Event)) -> Result<Results, RunError> {
    carry_out_with(plan, conditions, Wishes::default(), watcher)
}

/// The same for who has wishes while it goes on.
///
/// # Errors
/// Those of [`carry_out`].
pub fn carry_out_with(
    plan: Plan,
    conditions: Conditions<'_>,
    wishes: Wishes<'_>,
    watcher: &mut dyn FnMut(Event),
) -> Result<Results, RunError> {
    check(&plan)?;
    check_engines(&plan)?;
    unsupported::unpermitted(&plan, conditions.permissions)?;
    sys::signals::ignore_file_size_signal();
    let started_unix_ns = unix_now();
    let system = System::live();
    let system_then = SystemTimes::read(&system);
    let Conditions {
        clock,
        interrupt,
        permissions,
    } = conditions;
    let begun = clock.now();
    let mut permitted = targets::permit(&plan, permissions).map_err(|objection| match objection {
        Objection::Unusable(errors) => RunError::Targets(errors),
        Objection::Refused(refusals) => RunError::Refused(refusals),
    })?;
    let mut findings: Vec<Finding> = permitted.notes.iter().map(note).collect();
    for finding in findings.clone() {
        watcher(Event::Notice { finding });
    }
    if let Some(others) = wishes.others {
        others.await_examined();
        if interrupt.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
    }
    let others = wishes.others.map(|others| (others, permissions));
    let plan = Arc::new(plan);
    let preparation = Preparation {
        plan: &plan,
        system: &system,
        permitted: &permitted.targets,
        clock,
        interrupt,
        others,
    };
    let mut ready = targets::prepare(&preparation, watcher).map_err(unprepared)?;
    permitted.let_go_of_names(&plan);
    let preparation = Preparation {
        plan: &plan,
        system: &system,
        permitted: &permitted.targets,
        clock,
        interrupt,
        others,
    };
    let mut around = step::Surroundings {
        spin: may_spin(&plan),
        simulated: plan
            .targets
            .iter()
            .all(|target| matches!(target.kind, TargetKind::Simulated { .. })),
        simulation: Simulation::new(plan.targets.iter().filter_map(|target| match &target.kind {
            TargetKind::Simulated { device } => Some(device.clone()),
            _ => None,
        })),
        control_groups: Arc::new(ControlGroups::of(&plan)),
        plan: Arc::clone(&plan),
        clock,
        interrupt,
        wishes,
        devices: Vec::new(),
        facts: Vec::new(),
        schedulers: Schedulers::default(),
    };
    let mut environment = probe::environment(&system, clock.describe());
    let outcome = run_steps(&mut around, &preparation, &mut ready, watcher);
    environment.targets.clone_from(&ready.facts);
    look_again(&mut environment.targets);
    let cleanup = ready.finish();
    match wishes.others {
        Some(others) => others.defer_cleanup(cleanup),
        None => drop(cleanup),
    }
    // From here on others may have the devices.
    drop(permitted);
    let (mut steps, noticed) = outcome?;
    if !around.simulated {
        // A process may have had other runs before, or have waited for this one.
        let workers = steps
            .iter_mut()
            .flat_map(|step| &mut step.jobs)
            .flat_map(|job| &mut job.workers);
        workers.for_each(|worker| worker.started_ns = worker.started_ns.since(begun));
    }
    findings.extend(noticed);
    findings.extend(not_kept(&steps));
    environment.clock.drift_ppm = if around.simulated { None } else { clock.drift_ppm() };
    let (interrupted, around_is_simulated) = (interrupt.load(Ordering::Relaxed), around.simulated);
    drop(around);
    Ok(Results {
        format_version: FORMAT_VERSION,
        kind: Kind::Run,
        tool: tool(),
        plan: Arc::unwrap_or_clone(plan),
        hosts: vec![HostResults {
            environment,
            started_unix_ns,
            ended_unix_ns: unix_now(),
            system: (!around_is_simulated).then(|| SystemTimes::read(&System::live()).since(&system_then)),
            idleness: None,
        }],
        steps,
        findings,
        interrupted,
        equivalents: Vec::new(),
        diagnoses: Vec::new(),
        shared_limits: Vec::new(),
        fleet: None,
    })
}

/// The results of a plan of which nothing could be carried out: the plan, and the machine. Reports that echo what was asked
/// for are made of it.
pub fn nothing_measured(plan: Plan, clock: &Clock) -> Results {
    let now = unix_now();
    Results {
        format_version: FORMAT_VERSION,
        kind: Kind::Run,
        tool: tool(),
        steps: plan.steps.iter().map(StepResults::not_started).collect(),
        plan,
        hosts: vec![HostResults {
            environment: probe::environment(&System::live(), clock.describe()),
            started_unix_ns: now,
            ended_unix_ns: now,
            system: None,
            idleness: None,
        }],
        findings: Vec::new(),
        interrupted: false,
        equivalents: Vec::new(),
        diagnoses: Vec::new(),
        shared_limits: Vec::new(),
        fleet: None,
    }
}

/// How the devices are after the test.
fn look_again(targets: &mut [TargetFacts]) {
    let system = System::live();
    for target in targets.iter_mut().filter(|target| target.owner.is_some()) {
        target.owner_after = sys::told::cluster_volume(Path::new(&target.path)).map(|volume| volume.owner);
    }
    for device in targets.iter_mut().flat_map(|target| &mut target.devices) {
        if device.health.is_some() {
            device.health_after = probe::health_of(&system, &device.name);
        }
    }
}

fn tool() -> Tool {
    Tool {
        name: "fathom".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        engine_revision: ENGINE_REVISION,
    }
}

fn note((path, note): &(String, targets::guard::Note)) -> Finding {
    Finding::new("GUARD", Severity::Note, note.to_string()).at(path.as_str())
}

/// Block devices under the targets, each with the targets that lie on it.
fn devices_of(facts: &[TargetFacts]) -> Vec<(String, Vec<u32>)> {
    let mut devices: Vec<(String, Vec<u32>)> = Vec::new();
    for (number, target) in facts.iter().enumerate() {
        for device in &target.devices {
            match devices.iter_mut().find(|(name, _)| *name == device.name) {
                Some((_, targets)) => targets.push(number as u32),
                None => devices.push((device.name.clone(), vec![number as u32])),
            }
        }
    }
    devices
}

/// Checks that a plan is whole and that everything it says will be done.
///
/// # Errors
/// [`PlanError`] with every complaint.
pub fn check(plan: &Plan) -> Result<(), PlanError> {
    plan.check()?;
    let faults = unsupported::faults(plan);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(PlanError(faults))
    }
}

/// Checks that this system has the engines of a plan, as far as that is known before anything is opened.
///
/// # Errors
/// [`RunError::Setup`] with every worker that cannot be.
pub fn check_engines(plan: &Plan) -> Result<(), RunError> {
    let faults = unsupported::without_engine(plan);
    match faults.is_empty() {
        true => Ok(()),
        false => Err(RunError::Setup(faults)),
    }
}

type StepsDone = (Vec<StepResults>, Vec<Finding>);

fn unprepared(error: TargetError) -> RunError {
    match error {
        TargetError::Fill(targets::FillError::Interrupted(_)) => RunError::Interrupted,
        error => RunError::Targets(vec![error]),
    }
}

fn run_steps(
    around: &mut step::Surroundings<'_>,
    preparation: &Preparation<'_>,
    ready: &mut targets::ReadyTargets,
    watcher: &mut dyn FnMut(Event),
) -> Result<StepsDone, RunError> {
    let (mut steps, mut findings) = (Vec::new(), Vec::new());
    for (number, plan) in preparation.plan.steps.iter().enumerate() {
        match preparation.prepare_step(number, ready, watcher).map_err(unprepared) {
            Ok(()) => {}
            Err(RunError::Interrupted) if !steps.is_empty() => break,
            // What the steps before have measured is not thrown away.
            Err(RunError::Targets(errors)) if !steps.is_empty() => {
                steps.push(StepResults::not_started(plan));
                findings.extend(errors.iter().map(|error| unprepared_finding(plan, error)));
                break;
            }
            Err(error) => return Err(error),
        }
        around.devices = devices_of(&ready.facts);
        // Interlocked positions begin anew in each step.
        ready
            .list
            .iter()
            .for_each(|target| target.shared_position.store(0, Ordering::Relaxed));
        around.facts.clone_from(&ready.facts);
        let targets = &Arc::new(ready.list.clone());
        let mut noting = |event: Event| {
            if let Event::Notice { finding } = &event {
                findings.push(finding.clone());
            }
            watcher(event);
        };
        let results = match step::run_step(around, number, targets, &mut noting) {
            Ok(results) => results,
            Err(RunError::Setup(faults)) if !steps.is_empty() => {
                steps.push(StepResults::not_started(plan));
                findings.extend(not_started(plan, &faults));
                break;
            }
            Err(error) => return Err(error),
        };
        let failed = |job: &JobResults| job.ended == Some(EndReason::Failed);
        let stops = plan
            .jobs
            .iter()
            .zip(&results.jobs)
            .any(|(plan, job)| plan.ends_with.plan_always || plan.ends_with.plan && failed(job));
        steps.push(results);
        if stops || around.interrupt.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok((steps, findings))
}

fn unprepared_finding(plan: &model::plan::Step, error: &TargetError) -> Finding {
    let job = plan.jobs.first().map(|job| job.name.clone()).unwrap_or_default();
    let finding = Finding::new("NOT-STARTED", Severity::Error, error.to_string()).at(&*job);
    Finding {
        help: error.help(),
        ..finding
    }
}

/// Why a step did not start, once for each reason.
fn not_started(plan: &model::plan::Step, faults: &[WorkerFault]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for fault in faults {
        let why = format!("it could not be set up: {}", fault.why);
        let finding = Finding {
            help: fault.why.help(),
            ..Finding::new("NOT-STARTED", Severity::Error, why).at(&*plan.jobs[fault.job].name)
        };
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    findings
}

/// Spinning before a deadline makes due times exact, but takes a processor from others: only where each paced worker can
/// have one to itself.
fn may_spin(plan: &Plan) -> bool {
    let workers = plan
        .steps
        .iter()
        .map(|step| step.jobs.iter().map(|job| job.workers.len()).sum::<usize>());
    workers.max().unwrap_or(0) < sys::thread::usable_cpus().len().max(1)
}

fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}

/// What verification was to keep for a later check and could not.
fn not_kept(steps: &[StepResults]) -> Vec<Finding> {
    let jobs = steps.iter().flat_map(|step| &step.jobs);
    let told = jobs.flat_map(|job| job.workers.iter().map(move |worker| (job, worker)));
    let told = told.flat_map(|(job, worker)| worker.not_kept.iter().map(move |what| (job, what)));
    let finding = |(job, what): (&JobResults, &String)| {
        let finding = Finding::new("VERIFY", Severity::Warning, what.clone());
        finding.at(&*job.name)
    };
    told.map(finding).collect()
}
