//! Converts a plan to an Iometer configuration. The text is then parsed again, and differences are
//! reported.

mod config;
mod lines;

use model::plan::{Dialect, Plan, Target, TargetKind};

use super::{Conversion, Form, Lost, compare, dialect_name};
use crate::diagnostic::Diagnostic;
use crate::iometer::command_line::Arguments;
use crate::iometer::{self, Machine, PathFacts, targets};

/// The name under which the text is parsed again.
const FILE: &str = "plan.icf";

/// Converts a plan to Iometer.
pub fn to_iometer(plan: &Plan) -> Conversion {
    let mut names = Vec::new();
    let config = config::create_config(plan, &mut names);
    let text = iometer::write(&config);
    let mut differences = match parse(&text, plan, names) {
        Ok(got) => compare::compare(plan, &got, Dialect::Iometer),
        Err(problem) => compare::Differences::whole_test(format!("Iometer refuses it: {}", problem.what)),
    };
    if plan.origin.dialect != Dialect::Iometer {
        differences.lost.extend(paths_without_name(plan));
    }
    Conversion::new(Dialect::Iometer, Form::JobFile, text, differences)
}

/// Parses the text again. `maps` are names of targets with their paths.
fn parse(text: &str, plan: &Plan, maps: Vec<(String, String)>) -> Result<Plan, Diagnostic> {
    let first = |problems: Vec<Diagnostic>| problems.into_iter().next().unwrap_or_else(|| Diagnostic::new(""));
    let parsed = iometer::read(FILE, text).map_err(first)?;
    let arguments = Arguments {
        maps,
        ..Arguments::default()
    };
    let lowered = iometer::lower(&parsed.config, &arguments, &PlanTargets(plan), false, plan.seed);
    Ok(lowered.map_err(first)?.plan)
}

/// A machine with the targets of a plan, of which those that the plan creates do not exist yet.
struct PlanTargets<'a>(&'a Plan);

impl Machine for PlanTargets<'_> {
    fn is_here(&self, _: &str) -> bool {
        true
    }

    fn find(&self, path: &str) -> PathFacts {
        match self.0.targets.iter().find(|target| target.path == path) {
            None => PathFacts::Nothing,
            Some(target) if compare::is_device(&target.path) => PathFacts::Device,
            Some(target) if target.prepare.size().is_some() => PathFacts::Nothing,
            Some(_) => PathFacts::File(1),
        }
    }

    fn is_mount_point(&self, _: &str) -> bool {
        false
    }

    fn is_only_read(&self) -> bool {
        true
    }

    fn free_bytes(&self, _: &str) -> Option<u64> {
        None
    }

    fn cpus(&self) -> u32 {
        1
    }
}

/// The name of a target. A relative path must not look like the name of a disk.
fn target_name(target: &Target) -> String {
    let path = &target.path;
    let without_controls = || path.replace(|letter: char| letter.is_control(), " ");
    let is_file = !matches!(target.kind, TargetKind::Nothing { .. } | TargetKind::Simulated { .. });
    let has_root = ["/", "./", "../", r"\\"].iter().any(|start| path.starts_with(start)) || path.contains(':');
    match targets::disk_name(path) {
        Some(name) => name,
        None if is_file && path == "." => "./".into(),
        None if is_file && !has_root => format!("./{}", without_controls()),
        None => without_controls(),
    }
}

/// Targets that `fathom iometer` finds, and Iometer does not.
fn paths_without_name(plan: &Plan) -> Option<Lost> {
    let names = plan.targets.iter().map(target_name);
    let mut paths: Vec<String> = names.filter(|name| targets::is_path(name, true)).collect();
    paths.dedup();
    (!paths.is_empty()).then(|| Lost {
        job: None,
        what: format!("{} target: {}", dialect_name(plan.origin.dialect), paths.join(", ")),
        why: "Iometer tests disks, and the file iobw.tst of a file system (`/data [ext4]`, `D:`); \
              only `fathom iometer` takes paths"
            .into(),
    })
}
