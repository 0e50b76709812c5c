//! Executes a plan, and retries without the clones that could not start.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use ::run::targets::storage_facts;
use ::run::{RunError, RunHooks};
use dialects::fio::{Jobs, Unusable};
use engine::idle::IdleProfile;
use engine::probe::System;
use model::environment::DeviceUse;
use model::event::Event;
use model::plan::Plan;
use model::results::{HostDeviceUse, Results, StepResults};

use super::exec::Commands;
use super::output::Output;
use super::partial_plan::{Origin, PartialPlan};
use super::status::{self, Status};
use super::trigger::Trigger;
use super::{FAILED, failures, print_reports};
use crate::permissions;
use crate::session::Session;

/// The actions that accompany a run.
pub(super) struct RunActions<'a> {
    pub(super) jobs: &'a Jobs,
    pub(super) commands: Commands,
    pub(super) idle: Option<IdleProfile>,
    pub(super) trigger: Trigger,
}

/// Executes the usable part of a plan. Returns an exit code if nothing can be executed.
pub(super) fn execute_usable(
    session: &Session,
    actions: &mut RunActions<'_>,
    plan: &Plan,
    unusable: &[Unusable],
    output: &mut Output,
) -> Result<Results, u8> {
    let mut unusable = unusable.to_vec();
    let snapshots = status::start_report_watch(actions.jobs);
    loop {
        let partial = PartialPlan::new(plan, &unusable);
        if session.process.is_interrupted() {
            return Ok(partial.empty_results(session));
        }
        if partial.plan.steps.is_empty() {
            let mut nothing = partial.empty_results(session);
            add_disks(&mut nothing, &unusable);
            return Ok(nothing);
        }
        match execute(session, actions, &partial, snapshots, output) {
            Ok(mut results) => {
                actions.add_idleness(&mut results);
                failures::number_as_fio(&mut results);
                return Ok(match (session.ranks(), session.merge_fleet_plan(plan)) {
                    (Some(hosts), Ok(whole)) => partial.on_hosts(hosts, whole).restore(results),
                    _ => partial.restore(results),
                });
            }
            Err(RunError::Interrupted) => return Ok(partial.empty_results(session)),
            Err(error) => {
                let messages = failures::messages_for_error(&error, plan, &partial.origins);
                messages.stderr.iter().for_each(|line| output.print_problem(line));
                messages.stdout.iter().for_each(|line| output.print_error_line(line));
                messages.hints.iter().for_each(|hint| output.print_hint(hint));
                let unusable_count = unusable.len();
                for message in messages.unusable {
                    let is_same = |listed: &Unusable| (listed.job, listed.clone) == (message.job, message.clone);
                    if !unusable.iter().any(is_same) {
                        unusable.push(message);
                    }
                }
                if unusable.len() == unusable_count {
                    return Err(FAILED);
                }
            }
        }
    }
}

/// Executes a plan with fio's progress line, reports on request, and job commands.
fn execute(
    session: &Session,
    actions: &mut RunActions<'_>,
    partial: &PartialPlan<'_>,
    snapshots: &AtomicBool,
    output: &mut Output,
) -> Result<Results, RunError> {
    let jobs = actions.jobs;
    let mut status = Status::new(jobs, &partial.plan, session.process.interrupt_flag());
    let mut partial_results = PartialResults::new(session, &partial.plan);
    let cancelled = Mutex::new(Vec::new());
    let hooks = RunHooks {
        finished: None,
        snapshots: Some(snapshots),
        cancelled: Some(&cancelled),
        others: None,
    };
    let permissions = permissions::from_env();
    let execution = session.execution(partial.plan.clone(), &permissions).with_hooks(hooks);
    let outcome = execution.run(&mut |event: Event| {
        if let Event::Snapshot { step, last, results } = event {
            // No partial report follows the end of the last step.
            if last && step as usize + 1 == partial.plan.steps.len() {
                return;
            }
            let whole = partial_results.store(step as usize, *results);
            if !last {
                let mut results = whole.clone();
                status.clear();
                actions.add_idleness(&mut results);
                failures::number_as_fio(&mut results);
                print_reports(jobs, &partial.restore(results), output);
            }
            return;
        }
        status.handle_event(&event, output);
        match event {
            // The workers start only after this returns.
            Event::Ready { step, .. } => {
                let not = actions.run_before_step(step as usize, &partial.origins[step as usize], output);
                if let Ok(mut cancelled) = cancelled.lock() {
                    cancelled.extend(not.into_iter().map(|job| (step as usize, job)));
                }
            }
            Event::JobEnded { step, job, .. } => {
                let origin = &partial.origins[step as usize][job as usize];
                actions.commands.run_postrun((origin.step, origin.job), output);
            }
            _ => {}
        }
    });
    status.end(output);
    outcome
}

impl RunActions<'_> {
    /// Runs the commands before a step, while its workers wait. Returns the numbers of jobs that
    /// must not start.
    fn run_before_step(&mut self, step: usize, origins: &[Origin], output: &mut Output) -> Vec<usize> {
        if let Some(idle) = &mut self.idle {
            idle.start_counting();
        }
        let Some(origin) = origins.first().filter(|_| step > 0) else {
            return Vec::new();
        };
        let failed = self.commands.run_before_step(origin.step, output);
        let place = |job: &(usize, usize)| origins.iter().position(|origin| (origin.step, origin.job) == *job);
        failed.iter().filter_map(place).collect()
    }

    /// Adds the idleness of the processors, if measured.
    fn add_idleness(&self, results: &mut Results) {
        if let Some(host) = results.hosts.first_mut() {
            host.idleness = self.idle.as_ref().map(IdleProfile::snapshot);
        }
    }
}

/// The results of the steps so far. Absent until the first step reports, because most runs have
/// one step and need none.
struct PartialResults<'a> {
    session: &'a Session,
    plan: &'a Plan,
    started_unix_ns: u64,
    whole: Option<Results>,
}

impl<'a> PartialResults<'a> {
    fn new(session: &'a Session, plan: &'a Plan) -> PartialResults<'a> {
        PartialResults {
            session,
            plan,
            started_unix_ns: unix_now(),
            whole: None,
        }
    }

    /// Stores the partial results of a step. Returns all steps' partial results.
    fn store(&mut self, step: usize, results: StepResults) -> &Results {
        let nothing = || ::run::nothing_measured(self.plan.clone(), &self.session.process.clock());
        let whole = self.whole.get_or_insert_with(nothing);
        whole.steps[step] = results;
        whole.hosts[0].started_unix_ns = self.started_unix_ns;
        whole.hosts[0].ended_unix_ns = unix_now();
        whole
    }
}

fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos() as u64)
}

/// Adds the disks of files that could not be opened or trimmed, which have no I/O.
fn add_disks(results: &mut Results, unusable: &[Unusable]) {
    let system = System::live();
    let has_disk = |error: &&Unusable| error.function.starts_with("open(") || error.function == "td_io_queue";
    for error in unusable.iter().filter(has_disk) {
        let workers = &results.plan.steps[error.job.0].jobs[error.job.1].workers;
        let ids = workers[error.clone]
            .streams
            .iter()
            .flat_map(|stream| stream.target.ids());
        for id in ids {
            let path = &results.plan.target(*id).path;
            let Some(facts) = storage_facts(&system, Path::new(path)) else {
                continue;
            };
            for device in &facts.devices {
                let devices = &mut results.steps[error.job.0].devices;
                if devices.iter().any(|counted| counted.counters.name == device.name) {
                    continue;
                }
                devices.push(HostDeviceUse {
                    host: 0,
                    own_reads: None,
                    counters: DeviceUse {
                        name: device.name.clone(),
                        targets: vec![id.0],
                        ..DeviceUse::default()
                    },
                });
            }
            results.hosts[0].environment.targets.push(facts);
        }
    }
}
