//! One command from plan to results: clock, signals, guard, watching, self-checks.

use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use engine::Clock;
use engine::clock::ClockStart;
use engine::probe::{self, System};
use engine::sys::signals;
use model::environment::Before;
use model::event::Event;
use model::plan::Plan;
use model::results::{Equivalent, PhaseInterval, Results};
use run::targets::SharedFiles;
use run::targets::guard::Permissions;
use run::{RunContext, RunError, RunHooks};

use crate::fault::{Fault, Faults};
use crate::fleet::Fleet;

/// Intervals outside of the measured window that are kept at most.
const MOST_AROUND: usize = 100_000;

/// What every command has.
#[derive(Debug)]
pub struct Session {
    clock: ClockStart,
    /// Words of the command line.
    pub arguments: Vec<String>,
    interrupt: &'static AtomicBool,
    /// The others, where it carries tests out with them.
    fleet: RefCell<Option<Fleet>>,
    /// Processors that a launcher had left it, where it is the only one that this has started.
    widened_from: Cell<Option<u32>>,
}

/// Takes the first reading of the clock. `FATHOM_CLOCK=system` chooses the system's own, for tools that cannot follow the
/// processor's.
pub fn start_clock() -> ClockStart {
    match std::env::var_os("FATHOM_CLOCK") {
        Some(choice) if choice == "system" => ClockStart::of_the_system(),
        _ => ClockStart::now(),
    }
}

impl Session {
    /// From now on requests to stop are heard.
    pub fn new(clock: ClockStart, arguments: Vec<String>) -> Session {
        Session {
            clock,
            arguments,
            interrupt: signals::catch_stop(),
            fleet: RefCell::new(None),
            widened_from: Cell::new(None),
        }
    }

    /// From now on it carries tests out with these others.
    pub fn lead(&self, fleet: Fleet) {
        *self.fleet.borrow_mut() = Some(fleet);
    }

    /// A launcher had left it so many processors, and it took all that it may have.
    pub fn was_widened(&self, from: Option<u32>) {
        self.widened_from.set(from);
    }

    /// It carries tests out with others.
    pub fn leads(&self) -> bool {
        self.fleet.borrow().is_some()
    }

    /// How many hosts carry a plan out together, if this process leads others.
    pub fn ranks(&self) -> Option<u32> {
        let fleet = self.fleet.borrow();
        Some(fleet.as_ref()?.head.as_ref()?.ranks())
    }

    /// Leads others from now on, if any; those before are given back.
    pub fn exchange(&self, fleet: Option<Fleet>) -> Option<Fleet> {
        self.fleet.replace(fleet)
    }

    /// Lets the others go.
    pub fn part(&self) {
        *self.fleet.borrow_mut() = None;
    }

    /// The plan of the whole, where several carry it out; else the plan itself.
    ///
    /// # Errors
    /// [`Faults`] if it cannot be shared with one of them.
    pub fn whole(&self, plan: &Plan) -> Result<Plan, Faults> {
        match self.fleet.borrow().as_ref().and_then(|fleet| fleet.head.as_ref()) {
            Some(head) => Ok(head.whole(plan)?),
            None => Ok(plan.clone()),
        }
    }

    /// Names the files that the runs of a study share in directories. Where several carry it out, each of them does so for its own.
    ///
    /// # Errors
    /// [`Faults`] with every target that cannot be used.
    pub fn settle(&self, shared_files: &mut SharedFiles, plan: &mut Plan) -> Result<(), Faults> {
        match self.fleet.borrow_mut().as_mut().and_then(|fleet| fleet.head.as_mut()) {
            Some(head) => head.hold_files(),
            None => shared_files.assign_paths(plan)?,
        }
        Ok(())
    }

    /// A clock of this process.
    pub fn clock(&self) -> Clock {
        self.clock.settle()
    }

    /// Carries out a plan and adds what the self-checks find.
    ///
    /// # Errors
    /// [`Faults`] if nothing could be measured.
    pub fn carry_out(
        &self,
        plan: Plan,
        permissions: &Permissions,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<Results, Faults> {
        Ok(self.attempt(plan, permissions, watcher)?)
    }

    /// The same, with what was seen of others before the test began.
    ///
    /// # Errors
    /// [`Faults`] if nothing could be measured.
    pub fn carry_out_after(
        &self,
        before: Option<Before>,
        plan: Plan,
        permissions: &Permissions,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<Results, Faults> {
        Ok(self.run(before, plan, permissions, RunHooks::default(), watcher)?)
    }

    /// The same for who tells errors in words of its own.
    ///
    /// # Errors
    /// [`RunError`] if nothing could be measured.
    pub fn attempt(
        &self,
        plan: Plan,
        permissions: &Permissions,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<Results, RunError> {
        self.attempt_with(plan, permissions, RunHooks::default(), watcher)
    }

    /// The same for who has hooks while it goes on.
    ///
    /// # Errors
    /// [`RunError`] if nothing could be measured.
    pub fn attempt_with(
        &self,
        plan: Plan,
        permissions: &Permissions,
        hooks: RunHooks<'_>,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<Results, RunError> {
        self.run(None, plan, permissions, hooks, watcher)
    }

    fn run(
        &self,
        before: Option<Before>,
        plan: Plan,
        permissions: &Permissions,
        hooks: RunHooks<'_>,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<Results, RunError> {
        let context = RunContext::new(self.clock.settle(), self.interrupt, permissions).with_hooks(hooks);
        // Nothing that could go wrong here is to stand between a measurement and its results.
        let equivalents = equivalents(&plan);
        // What is done outside of the measured window is told while it happens, and kept for those who look at it later.
        let mut around: Vec<((u32, u32), PhaseInterval)> = Vec::new();
        let mut noting = |event: Event| {
            if let Event::Interval(interval) = &event
                && let Some(one) = PhaseInterval::of(interval).filter(|_| around.len() < MOST_AROUND)
            {
                around.push(((interval.step, interval.job), one));
            }
            watcher(event);
        };
        let mut fleet = self.fleet.borrow_mut();
        let mut results = match fleet.as_mut() {
            Some(Fleet {
                head: Some(head),
                journal,
                ..
            }) => head.execute(plan, context, journal, &mut noting)?,
            _ => run::execute(plan, context, &mut noting)?,
        };
        drop(fleet);
        for ((step, job), one) in around {
            let found = results
                .steps
                .get_mut(step as usize)
                .and_then(|step| step.jobs.get_mut(job as usize));
            if let Some(found) = found {
                found.around.push(one);
            }
        }
        results.equivalents = equivalents;
        // What was seen here before the run is about this machine, which may only lead the others.
        let here = match &results.fleet {
            Some(_) => {
                let name = probe::host(&System::live()).name;
                results.hosts.iter_mut().find(|host| host.environment.host.name == name)
            }
            None => results.hosts.first_mut(),
        };
        if let Some(host) = here {
            host.environment.before = before;
            host.environment.widened_from = self.widened_from.get().filter(|_| results.fleet.is_none());
        }
        let found = analysis::check(&results);
        results.findings.extend(found);
        let found = analysis::lint::beside(&results);
        results.findings.extend(found);
        let silenced = silenced_by_environment();
        results.findings = analysis::lint::heard(results.findings, &silenced);
        Ok(results)
    }

    /// The results of a plan of which nothing could be carried out.
    pub fn nothing_measured(&self, plan: Plan) -> Results {
        let equivalents = equivalents(&plan);
        Results {
            equivalents,
            ..run::nothing_measured(plan, &self.clock.settle())
        }
    }

    /// The flag that asks the run to stop.
    pub fn interrupt_flag(&self) -> &'static AtomicBool {
        self.interrupt
    }

    /// True if the user or the system asked to stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// What this program is called by its user.
    pub fn program(&self) -> String {
        let called = self.arguments.first().map(String::as_str).unwrap_or("fathom");
        match called.contains(' ') || called.is_empty() {
            true => "fathom".to_owned(),
            false => called.to_owned(),
        }
    }
}

/// The same test in the words of the dialects that it was not written in.
fn equivalents(plan: &Plan) -> Vec<Equivalent> {
    dialects::convert::equivalents(plan)
        .into_iter()
        .map(Equivalent::from)
        .collect()
}

/// Rules that `FATHOM_SILENCE` names, for all commands and the drop-in modes.
fn silenced_by_environment() -> Vec<String> {
    let text = std::env::var("FATHOM_SILENCE").unwrap_or_default();
    let names = text.split([',', ' ']).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Rules that `--silence` names.
///
/// # Errors
/// A name that no rule has, with the nearest one.
pub fn silenced(given: &ArgMatches) -> Result<Vec<String>, Faults> {
    let values = given.get_many::<String>("silence").into_iter().flatten();
    let names: Vec<String> = values
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .map(str::to_owned)
        .collect();
    for name in &names {
        let known = analysis::lint::names().any(|rule| rule.eq_ignore_ascii_case(name));
        if !known {
            let fault = Fault::new(format!("no rule is called `{name}`"));
            let wanted = name.to_ascii_uppercase();
            let near = dialects::nearest(&wanted, analysis::lint::names());
            let help = near.map_or("docs/lint.md lists the rules".to_owned(), |near| {
                format!("did you mean {near}?")
            });
            return Err(Faults::usage(fault.help(help)));
        }
    }
    Ok(names)
}

/// What the user has named again: flags, and the variable that also works in scripts.
pub fn permissions(given: &ArgMatches) -> Permissions {
    let list = |name: &str| -> Vec<String> {
        let values = given.get_many::<String>(name);
        values.map(|values| values.cloned().collect()).unwrap_or_default()
    };
    let mut permissions = permissions_of_environment();
    permissions.destroy.extend(list("allow-destroy"));
    permissions.overwrite.extend(list("allow-overwrite"));
    permissions
}

/// What the variable alone names.
pub fn permissions_of_environment() -> Permissions {
    let mut permissions = Permissions::default();
    if let Ok(text) = std::env::var("FATHOM_ALLOW_DESTROY") {
        permissions.allow_destroy_list(&text);
    }
    permissions.programs = programs_allowed();
    permissions
}

/// The variable that allows commands and programs of job files to be run.
pub const ALLOW_PROGRAMS: &str = "FATHOM_ALLOW_EXEC";

/// The user allows it.
pub fn programs_allowed() -> bool {
    std::env::var_os(ALLOW_PROGRAMS).is_some_and(|value| value == "1")
}
