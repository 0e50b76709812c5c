//! Prints engine, depth, batches, and options of single engines.

use model::Direction;
use model::plan::{CpuWork, EngineKind, LookupCall, PriorityClass, PriorityRule, Program, TargetKind};

use super::Section;

/// The engine kind that matches the section's.
fn kind(section: &Section<'_>) -> EngineKind {
    let (engine, stream) = (&section.worker().engine, section.stream());
    let is_file = |kind: &TargetKind| !matches!(kind, TargetKind::Nothing { .. } | TargetKind::Simulated { .. });
    let files = stream
        .target
        .ids()
        .iter()
        .all(|id| is_file(&section.plan.target(*id).kind));
    match (engine.kind, stream.depth) {
        (kind, _) if kind.transfers_no_data() => kind,
        // Without a file, fio would create one.
        _ if !files => EngineKind::Null,
        _ if stream.cache.mapping.is_some() => EngineKind::Mmap,
        (EngineKind::Auto, _) if engine.poll || engine.submission_thread => EngineKind::IoUring,
        (EngineKind::Auto, 0 | 1) => EngineKind::Psync,
        (EngineKind::Auto, _) if cfg!(windows) => EngineKind::Iocp,
        (EngineKind::Auto, _) => EngineKind::IoUring,
        (kind, _) => kind,
    }
}

/// fio's default engine.
const DEFAULT_ENGINE: &str = if cfg!(windows) { "windowsaio" } else { "psync" };

/// fio's name of the section's engine.
pub(super) fn name(section: &Section<'_>) -> &'static str {
    let names = kind(section).info().fio_names;
    names.first().copied().unwrap_or(DEFAULT_ENGINE)
}

pub(in crate::fio) fn ioengine(section: &Section<'_>) -> Option<String> {
    Some(name(section))
        .filter(|name| *name != DEFAULT_ENGINE)
        .map(str::to_owned)
}

pub(in crate::fio) fn stat_type(section: &Section<'_>) -> Option<String> {
    match section.worker().engine.lookup_call {
        LookupCall::Stat => None,
        LookupCall::Lstat => Some("lstat".into()),
        LookupCall::Statx => Some("statx".into()),
    }
}

pub(in crate::fio) fn cpuload(section: &Section<'_>) -> Option<String> {
    match section.worker().engine.work? {
        CpuWork::Spin { time_ns } => {
            let pause = section.stream().think.map_or(0, |think| think.pause_ns.0);
            let busy_percent = time_ns.0 * 100 / (time_ns.0 + pause).max(1);
            Some(busy_percent.max(1).to_string())
        }
        CpuWork::Sort { percent, .. } => Some(percent.to_string()),
    }
}

pub(in crate::fio) fn cpuchunks(section: &Section<'_>) -> Option<String> {
    match section.worker().engine.work? {
        CpuWork::Spin { time_ns } => Some((time_ns.0 / 1000).to_string()),
        CpuWork::Sort { .. } => None,
    }
}

pub(in crate::fio) fn program<'a>(section: &Section<'a>) -> Option<&'a Program> {
    section.worker().engine.program.as_ref()
}

/// The kernel's number of a priority class.
pub(in crate::fio) fn class_number(class: PriorityClass) -> u8 {
    match class {
        PriorityClass::RealTime => 1,
        PriorityClass::BestEffort => 2,
        PriorityClass::Idle => 3,
    }
}

/// The directions for which fio has priorities.
const DIRECTIONS: [Direction; 2] = [Direction::Read, Direction::Write];

fn priority_rules<'a>(section: &Section<'a>, direction: Direction) -> impl Iterator<Item = &'a PriorityRule> {
    section
        .stream()
        .priority_rules
        .iter()
        .filter(move |rule| rule.direction == direction)
}

/// Rules for operations of some lengths. fio cannot combine them with rules for all operations.
pub(in crate::fio) fn cmdprio_bssplit(section: &Section<'_>) -> Option<String> {
    section
        .stream()
        .priority_rules
        .iter()
        .find(|rule| rule.length.is_some())?;
    let entry = |rule: &PriorityRule| {
        let length = rule.length.map_or(0, |length| length.0);
        format!(
            "{length}/{}/{}/{}/{}",
            rule.percent,
            class_number(rule.class),
            rule.level,
            rule.hint
        )
    };
    let list = |direction| match priority_rules(section, direction).map(entry).collect::<Vec<_>>() {
        // A direction without rules needs an entry: a size that no operation has.
        entries if entries.is_empty() => "1/0".to_owned(),
        entries => entries.join(":"),
    };
    Some(DIRECTIONS.map(list).join(","))
}

/// A field of the rules for all operations of each direction.
pub(in crate::fio) fn common_rule_value(section: &Section<'_>, value_of: fn(&PriorityRule) -> u64) -> Option<String> {
    let rules_of_stream = &section.stream().priority_rules;
    if rules_of_stream.is_empty() || rules_of_stream.iter().any(|rule| rule.length.is_some()) {
        return None;
    }
    let first = |direction| {
        priority_rules(section, direction)
            .next()
            .map_or(0, value_of)
            .to_string()
    };
    Some(DIRECTIONS.map(first).join(","))
}
