//! The preflight: watches the devices of a test for I/O of other programs, and checks their health.

use std::path::Path;
use std::time::Duration;

use ::run::RunError;
use ::run::targets::guard::Permissions;
use analysis::lint::{self, Purpose, Test};
use engine::probe::{self, System};
use model::Nanos;
use model::environment::{BackgroundIo, Clock, Environment};
use model::plan::{Plan, TargetKind};
use report::formats;

use crate::fault::Faults;
use crate::options;
use crate::screen;
use crate::session::Session;

/// Rules whose findings the preflight reports.
const RULES: [&str; 2] = ["BUSY-DISK", "DEGRADED-RAID"];

/// Parses the time of `--preflight`.
///
/// # Errors
/// The text is not a time.
pub fn parse_time(text: &Option<String>, default: Nanos) -> Result<Nanos, Faults> {
    Ok(options::parse_value("preflight", text, "for example --preflight 10s; 0 turns it off")?.unwrap_or(default))
}

/// Watches the devices under the targets of a plan; `None` without devices or time. Prints findings
/// before the test, so that the user can stop; the results contain them too.
///
/// # Errors
/// A target cannot be used, or the guard refuses it. The run would refuse it only after this time.
pub fn watch_and_report(
    session: &Session,
    plan: &Plan,
    permissions: &Permissions,
    time: Nanos,
    quiet: bool,
) -> Result<Option<BackgroundIo>, RunError> {
    if time == Nanos(0) {
        return Ok(None);
    }
    // Each host of a fleet examines its own targets.
    if !session.has_fleet() {
        ::run::check_targets(plan, permissions)?;
    }
    let Some(before) = watch(session, plan, time, quiet) else {
        return Ok(None);
    };
    let environment = Environment {
        targets: ::run::targets::survey(plan),
        before: Some(before),
        ..probe::environment(&System::live(), Clock::default())
    };
    let mut findings = lint::lint(&Test {
        plan,
        environment: &environment,
        purpose: &Purpose::default(),
    });
    findings.retain(|finding| RULES.contains(&finding.rule.as_str()));
    if !quiet {
        let text = screen::write_to_string(|out| formats::write_findings(&findings, out));
        screen::note(text.trim_end());
    }
    Ok(environment.before)
}

/// Watches the devices; `None` if no target is on a device.
pub fn watch(session: &Session, plan: &Plan, time: Nanos, quiet: bool) -> Option<BackgroundIo> {
    let system = System::live();
    let devices = list_devices(&system, plan);
    if devices.is_empty() {
        return None;
    }
    if !quiet {
        screen::note(&format!(
            "watching for {time} for I/O of other programs on {}",
            devices.join(", ")
        ));
    }
    let time = Duration::from_nanos(time.0);
    Some(probe::watch_background_io(&system, &devices, time, &|| {
        session.process.is_interrupted()
    }))
}

/// Lists the nearest device under each target, or under the directory of a new file.
fn list_devices(system: &System, plan: &Plan) -> Vec<String> {
    let real = plan
        .targets
        .iter()
        .filter(|target| matches!(target.kind, TargetKind::Path));
    let under = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let folder = parent.unwrap_or(Path::new("."));
        probe::devices_under(system, path).or_else(|| probe::devices_under(system, folder))
    };
    let mut names = Vec::new();
    for target in real {
        let nearest = under(Path::new(&target.path)).and_then(|devices| devices.into_iter().next());
        if let Some(device) = nearest.filter(|device| !names.contains(&device.name)) {
            names.push(device.name);
        }
    }
    names
}
