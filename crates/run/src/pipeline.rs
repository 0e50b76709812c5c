//! Turns a plan into results, with a type for each stage: checked, permitted, prepared. Each stage
//! consumes the previous one, so that nothing is written before the guard has permitted every
//! target, and nothing runs before all targets are prepared.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use engine::probe::{self, System, SystemTimes};
use engine::{Simulation, sys};
use model::Nanos;
use model::environment::{BusyProgram, Environment, SystemUse, TargetFacts};
use model::event::{EndReason, Event};
use model::finding::{Finding, Severity, TARGET_LOST};
use model::plan::{Dialect, Plan, PlanError, Step, TargetKind};
use model::results::{BECAME_SHORTER, JobResults, Results, StepResults};

use crate::context::RunContext;
use crate::control_groups::ControlGroups;
use crate::error::{RunError, WorkerFault, require_no_faults};
use crate::results::{unix_now_ns, without_steps};
use crate::schedulers::Schedulers;
use crate::setup_error::SetupError;
use crate::step::{StepContext, lost_target_finding, run_step};
use crate::targets::guard::Permissions;
use crate::targets::{
    self, Cleanup, FillError, HeldTargets, Objection, Preparation, ReadyTargets, Sharing, TargetError,
};
use crate::{issue_trace, line_log, operation_log, unsupported};

/// Executes a plan.
///
/// # Errors
/// [`RunError`] if nothing could be measured at all. Errors of single operations are in the
/// results.
pub fn execute(plan: Plan, context: RunContext<'_>, watcher: &mut dyn FnMut(Event)) -> Result<Results, RunError> {
    CheckedPlan::new(plan, context.permissions)?
        .permit(context, watcher)?
        .prepare(watcher)?
        .execute(watcher)
}

/// A valid plan that this system supports.
#[derive(Debug)]
pub struct CheckedPlan(Plan);

impl CheckedPlan {
    /// Checks a plan.
    ///
    /// # Errors
    /// Faults of the plan, unsupported features, or missing permissions.
    pub fn new(plan: Plan, permissions: &Permissions) -> Result<CheckedPlan, RunError> {
        check(&plan)?;
        check_engines(&plan)?;
        unsupported::check_programs(&plan, permissions)?;
        // The first step opens its logs before it issues anything. fio opens those of later steps
        // only when these begin.
        if plan.origin.dialect == Dialect::Native {
            check_logs_of_steps(&plan, plan.steps.get(1..).unwrap_or_default(), permissions)?;
        }
        Ok(CheckedPlan(plan))
    }

    /// Requests all targets from the guard. Waits until the other processes of the test have done
    /// the same.
    pub(crate) fn permit<'a>(
        self,
        context: RunContext<'a>,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<PermittedTargets<'a>, RunError> {
        sys::signals::ignore_file_size_signal();
        let start = Start {
            unix_ns: unix_now_ns(),
            clock_ns: context.clock.now(),
            system: SystemTimes::read(&System::live()),
        };
        let sharing = match context.hooks.others {
            Some(_) => Sharing::WithPeers,
            None => Sharing::Alone,
        };
        let permitted = permit_targets(&self.0, context.permissions, sharing)?;
        let note = |(path, note): &(String, targets::guard::Note)| {
            let finding = Finding::new("GUARD", note.severity(), note.to_string()).at(path.as_str());
            match note.consequence() {
                Some((why, help)) => finding.why(why).help(help),
                None => finding,
            }
        };
        let findings: Vec<Finding> = permitted.notes.iter().map(note).collect();
        for finding in findings.clone() {
            watcher(Event::Notice { finding });
        }
        if let Some(others) = context.hooks.others {
            others.await_examined();
            if context.interrupt.load(Ordering::Relaxed) {
                return Err(RunError::Interrupted);
            }
        }
        Ok(PermittedTargets {
            run: Run {
                context,
                plan: Arc::new(self.0),
                system: System::live(),
                start,
                permitted,
            },
            findings,
        })
    }
}

fn permit_targets(plan: &Plan, permissions: &Permissions, sharing: Sharing) -> Result<HeldTargets, RunError> {
    sys::signals::set_examining(true);
    let permitted = targets::permit(plan, permissions, sharing);
    sys::signals::set_examining(false);
    permitted.map_err(|objection| match objection {
        Objection::Unusable(errors) => RunError::Targets(errors),
        Objection::Refused(refusals) => RunError::Refused(refusals),
    })
}

/// Times and counters at the start of a run. Its end computes the differences.
struct Start {
    unix_ns: u64,
    clock_ns: Nanos,
    system: SystemTimes,
}

/// The data that every later stage needs.
struct Run<'a> {
    context: RunContext<'a>,
    plan: Arc<Plan>,
    system: System,
    start: Start,
    /// Locks the targets against other runs until this one is over.
    permitted: HeldTargets,
}

impl Run<'_> {
    fn preparation(&self) -> Preparation<'_> {
        let RunContext { hooks, permissions, .. } = self.context;
        Preparation {
            plan: &self.plan,
            system: &self.system,
            permitted: &self.permitted.targets,
            clock: self.context.clock,
            interrupt: self.context.interrupt,
            others: hooks.others.map(|others| (others, permissions)),
        }
    }

    /// Removes the trees. Those that other hosts use are removed once all have ended; after a
    /// failure or an interruption, the deferred cleanup does that.
    fn remove_trees(&self, cleanup: &mut Cleanup, is_complete: bool) -> Vec<Finding> {
        let mut findings = cleanup.remove_trees(false);
        if let Some(others) = self.context.hooks.others
            && is_complete
            && cleanup.has_shared_trees()
        {
            others.await_ended();
            let may_be_in_use = self.context.interrupt.load(Ordering::Relaxed);
            findings.extend(cleanup.remove_trees(!may_be_in_use));
        }
        findings
    }

    fn is_simulated(&self) -> bool {
        let targets = &mut self.plan.targets.iter();
        targets.all(|target| matches!(target.kind, TargetKind::Simulated { .. }))
    }

    fn step_context(&self) -> StepContext<'_> {
        let devices = self.plan.targets.iter().filter_map(|target| match &target.kind {
            TargetKind::Simulated { device } => Some(device.clone()),
            _ => None,
        });
        StepContext {
            spin: may_spin(&self.plan),
            simulated: self.is_simulated(),
            simulation: Simulation::new(devices),
            control_groups: Arc::new(ControlGroups::from_plan(&self.plan)),
            plan: Arc::clone(&self.plan),
            clock: self.context.clock,
            interrupt: self.context.interrupt,
            hooks: self.context.hooks,
            permissions: self.context.permissions,
            devices: Vec::new(),
            facts: Vec::new(),
            schedulers: Schedulers::default(),
            other_programs: RefCell::default(),
        }
    }
}

/// Targets that the guard has permitted. Nothing is written yet.
pub(crate) struct PermittedTargets<'a> {
    run: Run<'a>,
    findings: Vec<Finding>,
}

impl<'a> PermittedTargets<'a> {
    /// Creates and fills the targets that do not belong to one step.
    pub(crate) fn prepare(mut self, watcher: &mut dyn FnMut(Event)) -> Result<PreparedTargets<'a>, RunError> {
        let ready = targets::prepare(&self.run.preparation(), watcher).map_err(run_error_of_target)?;
        self.run.permitted.close_names(&self.run.plan);
        Ok(PreparedTargets {
            run: self.run,
            ready,
            findings: self.findings,
        })
    }
}

/// Targets that are ready for the first step.
pub(crate) struct PreparedTargets<'a> {
    run: Run<'a>,
    ready: ReadyTargets,
    findings: Vec<Finding>,
}

impl PreparedTargets<'_> {
    /// Runs the steps and removes the temporary files of the run.
    pub(crate) fn execute(self, watcher: &mut dyn FnMut(Event)) -> Result<Results, RunError> {
        let PreparedTargets {
            run,
            mut ready,
            mut findings,
        } = self;
        let RunContext {
            clock,
            interrupt,
            hooks,
            ..
        } = run.context;
        let environment = probe::environment(&run.system, clock.describe());
        let outcome = run_steps(&run, &mut ready, watcher);
        let mut environment = Environment {
            targets: std::mem::take(&mut ready.facts),
            ..environment
        };
        probe_devices_again(&mut environment.targets);
        let mut cleanup = ready.finish();
        let is_complete = matches!(&outcome, Ok(done) if done.steps.len() == run.plan.steps.len());
        findings.extend(run.remove_trees(&mut cleanup, is_complete));
        if outcome.as_ref().is_ok_and(StepsDone::has_lost_target) {
            cleanup.mark_as_changed();
        }
        match hooks.others {
            Some(others) => others.defer_cleanup(cleanup),
            None => {
                findings.extend(cleanup.remove_temporary_files());
                drop(cleanup);
            }
        }
        let simulated = run.is_simulated();
        let Run {
            plan,
            system,
            start,
            permitted,
            ..
        } = run;
        // From here on, other runs may use the devices.
        drop(permitted);
        let mut done = outcome?;
        if !simulated {
            // The process may have executed earlier runs, or waited for this one.
            let jobs = done.steps.iter_mut().flat_map(|step| &mut step.jobs);
            let workers = jobs.flat_map(|job| &mut job.workers);
            workers.for_each(|worker| worker.started_ns = worker.started_ns.since(start.clock_ns));
            environment.clock.drift_ppm = clock.drift_ppm();
        }
        findings.extend(done.findings);
        findings.extend(verify_findings(&done.steps));
        let mut results = without_steps(Arc::unwrap_or_clone(plan), environment);
        let host = &mut results.hosts[0];
        host.started_unix_ns = start.unix_ns;
        host.system = (!simulated).then(|| SystemUse {
            programs: done.programs,
            ..start.system.since_this_reading(&system)
        });
        Ok(Results {
            steps: done.steps,
            findings,
            interrupted: interrupt.load(Ordering::Relaxed),
            ..results
        })
    }
}

/// Checks that a plan is valid and fully supported.
///
/// # Errors
/// [`PlanError`] with every fault.
pub fn check(plan: &Plan) -> Result<(), PlanError> {
    plan.check()?;
    let faults = unsupported::find_faults(plan);
    if faults.is_empty() {
        Ok(())
    } else {
        Err(PlanError(faults))
    }
}

/// Checks that this system has the engines of a plan. Opens no targets, so some faults stay
/// unknown.
///
/// # Errors
/// [`RunError::Setup`] with every worker whose engine is missing.
pub fn check_engines(plan: &Plan) -> Result<(), RunError> {
    require_no_faults(unsupported::find_missing_engines(plan))
}

/// Asks the guard about every target, for a command that waits before its run. The run asks again.
///
/// # Errors
/// [`RunError::Targets`] and [`RunError::Refused`], as for [`execute`].
pub fn check_targets(plan: &Plan, permissions: &Permissions) -> Result<(), RunError> {
    permit_targets(plan, permissions, Sharing::Alone).map(drop)
}

/// Refuses operation logs that would replace other files, and traces that cannot be appended. A job
/// checks its logs again when it opens them.
///
/// # Errors
/// [`RunError::Setup`] with every such log.
pub fn check_logs(plan: &Plan, permissions: &Permissions) -> Result<(), RunError> {
    check_logs_of_steps(plan, &plan.steps, permissions)
}

fn check_logs_of_steps(plan: &Plan, steps: &[Step], permissions: &Permissions) -> Result<(), RunError> {
    let jobs = steps.iter().flat_map(|step| step.jobs.iter().enumerate());
    let logs = jobs.flat_map(|(number, job)| {
        let (log, trace) = (job.operation_log.as_ref(), job.trace.as_ref());
        let log = log.map(|path| (path, operation_log::log_format()));
        let trace = trace.map(|path| (path, issue_trace::log_format(plan, job)));
        [log, trace].into_iter().flatten().map(move |log| (number, log))
    });
    let faults = logs.filter_map(|(job, (path, log_format))| {
        let source = line_log::inspect(Path::new(path), &log_format, permissions).err()?;
        let (what, path) = (log_format.name, path.clone());
        let why = SetupError::Log { what, path, source };
        Some(WorkerFault { job, worker: 0, why })
    });
    require_no_faults(faults.collect())
}

fn run_error_of_target(error: TargetError) -> RunError {
    match error {
        TargetError::Fill(FillError::Interrupted(_)) => RunError::Interrupted,
        error => RunError::Targets(vec![error]),
    }
}

/// The results of the steps that ran.
#[derive(Default)]
struct StepsDone {
    steps: Vec<StepResults>,
    findings: Vec<Finding>,
    /// Other programs that used the devices during the run.
    programs: Vec<BusyProgram>,
}

impl StepsDone {
    /// True if another program removed, replaced or truncated a target.
    fn has_lost_target(&self) -> bool {
        self.findings.iter().any(|finding| finding.rule == TARGET_LOST)
    }

    /// Replaces the advice about failures on a lost target. Operations beyond the end of a target
    /// that became smaller fail, although the device is healthy.
    fn correct_advice(&self, results: &mut StepResults) {
        let is_lost = |path: &str| {
            let names_path = |finding: &Finding| {
                let rest = finding.what.strip_prefix(path);
                finding.rule == TARGET_LOST && rest.is_some_and(|rest| rest.starts_with([' ', ',']))
            };
            self.findings.iter().any(names_path)
        };
        let workers = results.jobs.iter_mut().flat_map(|job| &mut job.workers);
        for failure in workers.filter_map(|worker| worker.failure.as_mut()) {
            let operation = failure.operation.as_ref();
            if operation.is_some_and(|operation| is_lost(&operation.path)) {
                failure.help = Some("find the program that truncates, replaces or resizes the target".into());
            }
        }
    }
}

fn run_steps(run: &Run<'_>, ready: &mut ReadyTargets, watcher: &mut dyn FnMut(Event)) -> Result<StepsDone, RunError> {
    let (preparation, mut context) = (run.preparation(), run.step_context());
    let mut done = StepsDone::default();
    for (number, plan) in run.plan.steps.iter().enumerate() {
        match preparation
            .prepare_step(number, ready, watcher)
            .map_err(run_error_of_target)
        {
            Ok(()) => {}
            Err(RunError::Interrupted) if !done.steps.is_empty() => break,
            // Keep the results of earlier steps.
            Err(RunError::Targets(errors)) if !done.steps.is_empty() => {
                done.steps.push(StepResults::not_started(plan));
                done.findings
                    .extend(errors.iter().map(|error| unprepared_finding(plan, error)));
                break;
            }
            Err(error) => return Err(error),
        }
        context.devices = list_devices(&ready.facts);
        context.facts.clone_from(&ready.facts);
        // Interlocked positions restart in each step.
        ready.list.iter().for_each(|target| target.shared.rewind());
        let targets = &Arc::new(ready.list.clone());
        let mut recording = |event: Event| {
            if let Event::Notice { finding } = &event {
                done.findings.push(finding.clone());
            }
            watcher(event);
        };
        let mut results = match run_step(&context, number, targets, &mut recording) {
            Ok(results) => results,
            Err(RunError::Setup(faults)) if !done.steps.is_empty() => {
                done.steps.push(StepResults::not_started(plan));
                done.findings.extend(setup_findings(plan, &faults));
                break;
            }
            Err(error) => return Err(error),
        };
        let mut failures = results
            .jobs
            .iter()
            .flat_map(|job| &job.workers)
            .filter_map(|worker| worker.failure.as_ref());
        if !done.has_lost_target()
            && let Some(failure) = failures.find(|failure| failure.is_beyond_end())
        {
            let finding = lost_target_finding(format!("{}: {BECAME_SHORTER}", failure.location));
            done.findings.push(finding.clone());
            watcher(Event::Notice { finding });
        }
        done.correct_advice(&mut results);
        let failed = |job: &JobResults| job.ended == Some(EndReason::Failed);
        let mut jobs = plan.jobs.iter().zip(&results.jobs);
        let stops = jobs.any(|(plan, job)| plan.ends_with.plan_always || plan.ends_with.plan && failed(job));
        done.steps.push(results);
        if stops || context.interrupt.load(Ordering::Relaxed) {
            break;
        }
    }
    done.programs = context.other_programs.into_inner().finish();
    Ok(done)
}

fn unprepared_finding(plan: &Step, error: &TargetError) -> Finding {
    let job = plan.jobs.first().map(|job| job.name.clone()).unwrap_or_default();
    let finding = Finding::new("NOT-STARTED", Severity::Error, error.to_string()).at(&*job);
    Finding {
        help: error.help(),
        ..finding
    }
}

/// Why a step did not start, once for each reason.
fn setup_findings(plan: &Step, faults: &[WorkerFault]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for fault in faults {
        let why = format!("the worker could not be set up: {}", fault.why);
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

/// Decides whether workers may spin before a deadline. Spinning makes due times exact but occupies
/// a processor, so each paced worker must be able to have its own.
fn may_spin(plan: &Plan) -> bool {
    let workers = plan
        .steps
        .iter()
        .map(|step| step.jobs.iter().map(|job| job.workers.len()).sum::<usize>());
    workers.max().unwrap_or(0) < sys::thread::usable_cpus().len().max(1)
}

/// Block devices under the targets, each with the targets that are on it.
fn list_devices(facts: &[TargetFacts]) -> Vec<(String, Vec<u32>)> {
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

/// Adds the state of the devices after the test.
fn probe_devices_again(targets: &mut [TargetFacts]) {
    let system = System::live();
    for target in targets.iter_mut().filter(|target| target.owner.is_some()) {
        target.owner_after = sys::native_facts::cluster_volume(Path::new(&target.path)).map(|volume| volume.owner);
    }
    for device in targets.iter_mut().flat_map(|target| &mut target.devices) {
        if device.health.is_some() {
            device.health_after = probe::read_health(&system, &device.name);
        }
    }
}

/// Findings about verification state that could not be saved.
fn verify_findings(steps: &[StepResults]) -> Vec<Finding> {
    let jobs = steps.iter().flat_map(|step| &step.jobs);
    let unsaved = jobs.flat_map(|job| job.workers.iter().map(move |worker| (job, worker)));
    let unsaved = unsaved.flat_map(|(job, worker)| worker.not_kept.iter().map(move |what| (job, what)));
    let finding = |(job, what): (&JobResults, &String)| {
        let finding = Finding::new("VERIFY", Severity::Warning, what.clone());
        finding.at(&*job.name)
    };
    unsaved.map(finding).collect()
}
