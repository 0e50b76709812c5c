//! Prints files, regions, preparation and replay.

use model::Direction;
use model::plan::{
    AllocateMode, Extent, FileLock, FileService, Prepare, Region, StreamTarget, Target, TargetKind, Worker,
};

use super::{Section, join_chosen, on};
use crate::notation::format_size;

/// Escapes colons, which separate names.
fn escape_path(path: &str) -> String {
    path.replace(':', r"\:")
}

pub(in crate::fio) fn paths(section: &Section<'_>) -> Vec<String> {
    let ids = section.stream().target.ids().iter();
    ids.map(|id| escape_path(&section.plan.target(*id).path)).collect()
}

/// The directory, for a target whose path ends with a slash: fio generates the file names in it.
pub(in crate::fio) fn folder(section: &Section<'_>) -> Option<String> {
    match &paths(section)[..] {
        [folder] if folder.ends_with('/') => Some(folder.clone()),
        _ => None,
    }
}

pub(in crate::fio) fn file_service_type(section: &Section<'_>) -> Option<String> {
    let StreamTarget::Files {
        service, operations, ..
    } = &section.stream().target
    else {
        return None;
    };
    let (word, in_turn) = match service {
        FileService::RoundRobin => ("roundrobin".to_owned(), true),
        FileService::Random => ("random".into(), true),
        FileService::Sequential => ("sequential".into(), true),
        FileService::Zipf { theta } => (format!("zipf:{theta}"), false),
        FileService::Pareto { h } => (format!("pareto:{h}"), false),
        FileService::Normal { deviation_percent } => (format!("normal:{deviation_percent}"), false),
    };
    match (service, operations) {
        (FileService::RoundRobin, 1) => None,
        (_, 2..) if in_turn => Some(format!("{word}:{operations}")),
        _ => Some(word),
    }
}

pub(in crate::fio) fn openfiles(section: &Section<'_>) -> Option<String> {
    match &section.stream().target {
        StreamTarget::Files {
            targets, open_at_once, ..
        } if (*open_at_once as usize) < targets.len() => Some(open_at_once.to_string()),
        StreamTarget::Files { .. } | StreamTarget::One { .. } => None,
    }
}

fn format_extent(extent: Extent) -> String {
    match extent.percent {
        0.0 => format_size(extent.bytes.0),
        percent => format!("{percent}%"),
    }
}

/// The size to which a target is created.
fn created_size(target: &Target) -> Option<u64> {
    target.prepare.size().map(|size| size.0).or(match &target.kind {
        TargetKind::Nothing { size } | TargetKind::Name { size, .. } => Some(size.0),
        TargetKind::Path | TargetKind::Tree { .. } | TargetKind::Template { .. } | TargetKind::Simulated { .. } => None,
    })
}

fn targets<'a>(section: &Section<'a>) -> impl Iterator<Item = &'a Target> {
    let plan = section.plan;
    section.stream().target.ids().iter().map(|id| plan.target(*id))
}

/// The bytes that a clone uses of all its files, where known.
pub(super) fn bytes(section: &Section<'_>) -> Option<u64> {
    let Region { base, length } = section.stream().region;
    let rest =
        |target| created_size(target).map(|created_size: u64| created_size.saturating_sub(base.resolve(created_size)));
    match length {
        Some(length) if length.percent == 0.0 => Some(length.bytes.0 * targets(section).count() as u64),
        Some(_) => None,
        None => targets(section).map(rest).sum(),
    }
}

pub(in crate::fio) fn total(section: &Section<'_>) -> Option<String> {
    match section.stream().region.length {
        Some(length) if length.percent != 0.0 => Some(format_extent(length)),
        // A job without I/O has only a nominal size.
        _ if section.worker().engine.kind.transfers_no_data() => None,
        _ => bytes(section).map(format_size),
    }
}

pub(in crate::fio) fn offset(section: &Section<'_>) -> Option<String> {
    let base = section.stream().region.base;
    (base.bytes.0 > 0 || base.percent != 0.0).then(|| format_extent(base))
}

/// The offset increment between the regions of clones, if it is constant.
pub(crate) fn increment(clones: &[Worker]) -> Option<Extent> {
    let regions: Vec<_> = clones.iter().map(|worker| worker.streams[0].region).collect();
    let first = regions[0];
    let step = match regions.get(1) {
        None => Extent::default(),
        Some(second) => Extent {
            bytes: model::Bytes(second.base.bytes.0.checked_sub(first.base.bytes.0)?),
            percent: second.base.percent - first.base.percent,
            align: 0,
            round_up: false,
        },
    };
    let fits = regions.iter().enumerate().all(|(index, region)| {
        region.length == first.length
            && region.base.bytes.0 == first.base.bytes.0 + step.bytes.0 * index as u64
            && (region.base.percent - first.base.percent - step.percent * index as f64).abs() < 1e-9
    });
    let is_whole_percent =
        step.percent >= 0.0 && step.percent.fract() == 0.0 && (step.percent == 0.0 || step.bytes.0 == 0);
    (fits && is_whole_percent).then_some(step)
}

pub(in crate::fio) fn offset_increment(section: &Section<'_>) -> Option<String> {
    let step = increment(section.clones())?;
    (step.bytes.0 > 0 || step.percent > 0.0).then(|| format_extent(step))
}

pub(in crate::fio) fn fallocate(section: &Section<'_>) -> Option<String> {
    let Prepare::LayOut { allocate, .. } = section.target().prepare else {
        return None;
    };
    let word = match allocate {
        AllocateMode::None => "none",
        AllocateMode::Native => return None,
        AllocateMode::Posix => "posix",
        AllocateMode::KeepSize => "keep",
        AllocateMode::Truncate => "truncate",
    };
    Some(word.into())
}

/// Reads always need data.
pub(in crate::fio) fn overwrite(section: &Section<'_>) -> Option<String> {
    let filled = match &section.target().prepare {
        Prepare::Existing | Prepare::Filled { size: None } => false,
        Prepare::Filled { size: Some(_) } | Prepare::Recreate { .. } => true,
        Prepare::LayOut { content, .. } => content.is_some(),
    };
    on(filled && !section.stream().mix.includes(Direction::Read))
}

pub(in crate::fio) fn lockfile(section: &Section<'_>) -> Option<String> {
    match section.stream().lock {
        FileLock::None => None,
        FileLock::Exclusive => Some("exclusive".into()),
        FileLock::ReadersTogether => Some("readwrite".into()),
    }
}

/// The traces that clones replay, one after another.
pub(in crate::fio) fn read_iolog(section: &Section<'_>) -> Option<String> {
    section.stream().replay.as_ref()?;
    let replays = section
        .clones()
        .iter()
        .filter_map(|clone| clone.streams[0].replay.as_ref());
    let mut names: Vec<String> = replays.map(|replay| escape_path(&replay.trace)).collect();
    if names.iter().all(|name| *name == names[0]) {
        names.truncate(1);
    }
    Some(names.join(":"))
}

pub(in crate::fio) fn replay_skip(section: &Section<'_>) -> Option<String> {
    let skip = section.stream().replay.as_ref()?.skip;
    join_chosen([
        ("read", skip.reads),
        ("write", skip.writes),
        ("trim", skip.trims),
        ("sync", skip.flushes),
    ])
}
