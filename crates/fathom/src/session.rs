//! Runs a command from plan to results, on this process or its fleet, with self-checks.

use std::cell::{Cell, RefCell};

use analysis::lint::Purpose;
use engine::probe::{self, System};
use model::environment::BackgroundIo;
use model::event::Event;
use model::plan::{Dialect, Plan, temporary_file_directory};
use model::results::{Equivalent, PhaseInterval, Results};
use run::targets::SharedFiles;
use run::targets::guard::Permissions;
use run::{RunContext, RunError, RunHooks};

use crate::fault::Faults;
use crate::fleet::Fleet;
use crate::process::Process;
use crate::silenced;

/// Maximum intervals outside the measured window that are stored.
const MAX_INTERVALS_OUTSIDE_WINDOW: usize = 100_000;

/// This process, with the hosts that it executes plans on.
#[derive(Debug)]
pub struct Session {
    pub process: Process,
    /// The other hosts, if any.
    fleet: RefCell<Option<Fleet>>,
    /// CPUs that a launcher allowed, if this process runs alone and widened its affinity.
    launcher_cpu_count: Cell<Option<u32>>,
    /// Results contain the test in the other dialects.
    translates: Cell<bool>,
}

impl Session {
    /// Creates a session without a fleet.
    pub fn new(process: Process) -> Session {
        Session {
            process,
            fleet: RefCell::new(None),
            launcher_cpu_count: Cell::new(None),
            translates: Cell::new(true),
        }
    }

    /// Executes plans on these hosts from now on.
    pub fn set_fleet(&self, fleet: Fleet) {
        *self.fleet.borrow_mut() = Some(fleet);
    }

    /// Records the number of CPUs that a launcher allowed before this process widened its affinity.
    pub fn set_launcher_cpu_count(&self, count: Option<u32>) {
        self.launcher_cpu_count.set(count);
    }

    /// Sets whether results contain the test in the other dialects. Translating many jobs takes
    /// longer than preparing them, so it is omitted if no output would show it.
    pub fn set_translates(&self, translates: bool) {
        self.translates.set(translates);
    }

    /// True if plans are executed on a fleet.
    pub fn has_fleet(&self) -> bool {
        self.fleet.borrow().is_some()
    }

    /// Returns the number of hosts that execute a plan together; `None` without a fleet.
    pub fn ranks(&self) -> Option<u32> {
        let fleet = self.fleet.borrow();
        Some(fleet.as_ref()?.coordinator.as_ref()?.rank_count())
    }

    /// Uses another fleet, or none, from now on, and returns the previous one.
    pub fn replace_fleet(&self, fleet: Option<Fleet>) -> Option<Fleet> {
        self.fleet.replace(fleet)
    }

    /// Releases the other hosts.
    pub fn disconnect_fleet(&self) {
        *self.fleet.borrow_mut() = None;
    }

    /// Merges the plans of the whole fleet; without a fleet returns the plan itself.
    ///
    /// # Errors
    /// [`Faults`] if a host cannot execute its share.
    pub fn merge_fleet_plan(&self, plan: &Plan) -> Result<Plan, Faults> {
        match self
            .fleet
            .borrow()
            .as_ref()
            .and_then(|fleet| fleet.coordinator.as_ref())
        {
            Some(coordinator) => Ok(coordinator.merge_plans(plan)?),
            None => Ok(plan.clone()),
        }
    }

    /// Names the files in directories that all runs of a study share. In a fleet each host names
    /// its own.
    ///
    /// # Errors
    /// [`Faults`] with every target that cannot be used.
    pub fn prepare_shared_files(&self, shared_files: &mut SharedFiles, plan: &mut Plan) -> Result<(), Faults> {
        match self
            .fleet
            .borrow_mut()
            .as_mut()
            .and_then(|fleet| fleet.coordinator.as_mut())
        {
            Some(coordinator) => coordinator.keep_files(),
            None => shared_files.assign_paths(plan)?,
        }
        Ok(())
    }

    /// Prepares an execution of a plan, which [`Execution::run`] begins.
    pub fn execution<'a>(&'a self, mut plan: Plan, permissions: &'a Permissions) -> Execution<'a> {
        if plan.origin.dialect == Dialect::Native && !plan.origin.arguments.is_empty() {
            let directory = std::env::current_dir().ok();
            plan.origin.directory = directory.map(|directory| directory.display().to_string());
        }
        Execution {
            session: self,
            plan,
            permissions,
            background_io: None,
            hooks: RunHooks::default(),
            silenced: silenced::from_env(),
            purpose: Purpose::default(),
        }
    }

    /// Returns the results of a plan that was not executed.
    pub fn empty_results(&self, plan: Plan) -> Results {
        let equivalents = self.equivalents(&plan);
        Results {
            equivalents,
            ..run::nothing_measured(plan, &self.process.clock())
        }
    }
}

/// A plan that is about to be executed, here or on the fleet.
#[must_use]
#[derive(Debug)]
pub struct Execution<'a> {
    session: &'a Session,
    plan: Plan,
    permissions: &'a Permissions,
    background_io: Option<BackgroundIo>,
    hooks: RunHooks<'a>,
    silenced: Vec<String>,
    purpose: Purpose,
}

impl<'a> Execution<'a> {
    /// Adds the I/O of other programs that was observed before the test.
    pub fn with_background_io(self, background_io: Option<BackgroundIo>) -> Execution<'a> {
        Execution { background_io, ..self }
    }

    /// Sets what the test is for, for the rules of `lint`.
    pub fn with_purpose(self, purpose: Purpose) -> Execution<'a> {
        Execution { purpose, ..self }
    }

    /// Lets the caller act during the run.
    pub fn with_hooks(self, hooks: RunHooks<'a>) -> Execution<'a> {
        Execution { hooks, ..self }
    }

    /// Omits the findings of these rules, instead of those in `FATHOM_SILENCE`.
    pub fn with_silenced(self, rules: &[String]) -> Execution<'a> {
        Execution {
            silenced: rules.to_vec(),
            ..self
        }
    }

    /// Executes the plan and adds the findings of the self-checks.
    ///
    /// # Errors
    /// [`RunError`] if nothing could be measured.
    pub fn run(self, watcher: &mut dyn FnMut(Event)) -> Result<Results, RunError> {
        let Session { process, fleet, .. } = self.session;
        // This may fail, so it comes before the measurement: a later failure would lose the
        // results.
        let equivalents = self.session.equivalents(&self.plan);
        // Calibrates the clock as late as possible, because it spins until 2 ms after the start.
        let context =
            RunContext::new(process.clock(), process.interrupt_flag(), self.permissions).with_hooks(self.hooks);
        // Intervals outside the measured window are only published as events, so they are collected
        // here for reports.
        let mut outside: Vec<((u32, u32), PhaseInterval)> = Vec::new();
        let mut recording = |event: Event| {
            if let Event::Interval(interval) = &event
                && let Some(interval_outside) =
                    PhaseInterval::from_interval(interval).filter(|_| outside.len() < MAX_INTERVALS_OUTSIDE_WINDOW)
            {
                outside.push(((interval.step, interval.job), interval_outside));
            }
            watcher(event);
        };
        engine::sys::signals::set_examining(false);
        let mut results = match fleet.borrow_mut().as_mut() {
            Some(Fleet {
                coordinator: Some(coordinator),
                journal,
                ..
            }) => coordinator.execute(self.plan, context, journal, &mut recording)?,
            _ => run::execute(self.plan, context, &mut recording)?,
        };
        for ((step, job), interval) in outside {
            let step = results.steps.get_mut(step as usize);
            if let Some(job) = step.and_then(|step| step.jobs.get_mut(job as usize)) {
                job.around.push(interval);
            }
        }
        results.equivalents = equivalents;
        self.session.describe_host(self.background_io, &mut results);
        results.findings.extend(analysis::check(&results));
        results
            .findings
            .extend(analysis::lint::lint_results(&results, &self.purpose));
        results.findings = analysis::lint::filter_silenced(results.findings, &self.silenced);
        Ok(results)
    }
}

impl Session {
    /// Translates the test to the other dialects.
    fn equivalents(&self, plan: &Plan) -> Vec<Equivalent> {
        match self.translates.get() {
            true => dialects::convert::equivalents(&self.name_created_files(plan))
                .into_iter()
                .map(Equivalent::from)
                .collect(),
            false => Vec::new(),
        }
    }

    /// Names each file that a run creates in a directory, with its size. Other tools take no
    /// directory as a target.
    fn name_created_files(&self, plan: &Plan) -> Plan {
        let mut named = plan.clone();
        // The run itself reports targets that cannot be used. In a fleet, each host names its own.
        if !self.has_fleet() {
            let _ = SharedFiles::default().assign_paths(&mut named);
        }
        for (number, target) in named.targets.iter_mut().enumerate() {
            let number = if number == 0 { String::new() } else { number.to_string() };
            let path = temporary_file_directory(&target.path)
                .map(|directory| format!("{}/test{number}.dat", directory.trim_end_matches('/')));
            if let Some(path) = path {
                target.path = path;
            }
        }
        named
    }

    /// Adds facts of this process to the results of its host.
    fn describe_host(&self, background_io: Option<BackgroundIo>, results: &mut Results) {
        let is_alone = results.fleet.is_none();
        let host = match is_alone {
            true => results.hosts.first_mut(),
            false => {
                let name = probe::host(&System::live()).name;
                results.hosts.iter_mut().find(|host| host.environment.host.name == name)
            }
        };
        if let Some(host) = host {
            host.environment.before = background_io;
            host.environment.widened_from = self.launcher_cpu_count.get().filter(|_| is_alone);
        }
    }
}
