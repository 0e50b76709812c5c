//! One command from plan to results: clock, signals, guard, watching, self-checks.

use std::sync::atomic::AtomicBool;

use clap::ArgMatches;
use engine::clock::ClockStart;
use engine::sys::signals;
use model::environment::Before;
use model::event::Event;
use model::plan::Plan;
use model::results::{Equivalent, Results};
use run::targets::guard::Permissions;
use run::{Conditions, RunError, Wishes};

use crate::fault::{Fault, Faults};

/// What every command has.
#[derive(Debug)]
pub struct Session {
    clock: ClockStart,
    /// Words of the command line.
    pub arguments: Vec<String>,
    interrupt: &'static AtomicBool,
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
        }
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
        Ok(self.run(before, plan, permissions, Wishes::default(), watcher)?)
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
        self.attempt_with(plan, permissions, Wishes::default(), watcher)
    }

    /// The same for who has wishes while it goes on.
    ///
    /// # Errors
    /// [`RunError`] if nothing could be measured.
    pub fn attempt_with(
        &self,
        plan: Plan,
        permissions: &Permissions,
        wishes: Wishes<'_>,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<Results, RunError> {
        self.run(None, plan, permissions, wishes, watcher)
    }

    fn run(
        &self,
        before: Option<Before>,
        plan: Plan,
        permissions: &Permissions,
        wishes: Wishes<'_>,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<Results, RunError> {
        let conditions = Conditions {
            clock: self.clock.settle(),
            interrupt: self.interrupt,
            permissions,
        };
        // Nothing that could go wrong here is to stand between a measurement and its results.
        let equivalents = equivalents(&plan);
        let mut results = run::carry_out_with(plan, conditions, wishes, watcher)?;
        results.equivalents = equivalents;
        if let Some(host) = results.hosts.first_mut() {
            host.environment.before = before;
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
