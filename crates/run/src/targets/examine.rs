//! Examines targets: what exists at each path, and how it must be prepared. Changes nothing.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use engine::probe::{self, System};
use engine::{FileKind, sys};
use model::plan::{Effect, Plan, Prepare, Target, TargetId, TargetKind};
use model::{Bytes, Direction};

use super::marker::{self, MarkState};
use super::names::{self, check_for_engines, examine_name};
use super::tree::examine_tree;
use super::unwritten::whole;
use super::{PrepareAction, TargetError, cannot_examine, parent_directory, temp_file};

/// The default size of a temporary file, if the file system has room.
const DEFAULT_SIZE: u64 = 1 << 30;
/// Minimum size; smaller files do not show the performance of a disk.
const MIN_SIZE: u64 = 16 << 20;
/// The share of the file system that preparation leaves free.
const MIN_FREE_SHARE: f64 = 0.20;
/// The share of a nearly full file system that may still be used.
const NEGLIGIBLE_SHARE: f64 = 0.01;

/// An examined target, with its preparation.
#[derive(Clone, Debug)]
pub struct ExaminedTarget {
    /// Number of the target in the plan.
    pub number: usize,
    /// Path that will be opened.
    pub path: PathBuf,
    /// Kind, if it exists.
    pub kind: Option<FileKind>,
    /// Current size.
    pub size: u64,
    /// What preparation does with it.
    pub action: PrepareAction,
    /// Directions of the operations that the plan issues to the target.
    pub directions: Vec<Direction>,
    /// The state of its mark.
    pub mark: MarkState,
}

impl ExaminedTarget {
    /// A target without a mark.
    pub(super) fn new(
        (plan, number): (&Plan, usize),
        path: PathBuf,
        kind: Option<FileKind>,
        size: u64,
        action: PrepareAction,
    ) -> ExaminedTarget {
        ExaminedTarget {
            number,
            path,
            kind,
            size,
            action,
            directions: used_directions(plan, TargetId(number as u32)),
            mark: MarkState::Unmarked,
        }
    }
}

/// Directions of all operations that the plan issues to a target.
fn used_directions(plan: &Plan, target: TargetId) -> Vec<Direction> {
    let streams = || plan.streams_on(target);
    let occurs = |direction: &Direction| streams().any(|(_, stream)| stream.mix.includes(*direction));
    Direction::ALL.into_iter().filter(occurs).collect()
}

/// Examines every target that is a path, and decides its preparation. Changes nothing.
///
/// # Errors
/// Every [`TargetError`] found.
pub fn examine(plan: &Plan) -> Result<Vec<ExaminedTarget>, Vec<TargetError>> {
    let (mut examined, mut errors) = (Vec::new(), Vec::new());
    for (number, target) in plan.targets.iter().enumerate() {
        let result = match target.kind {
            TargetKind::Path => examine_one(plan, number, target),
            TargetKind::Name { directory, .. } => examine_name(plan, number, target, directory),
            TargetKind::Tree { ref tree } => examine_tree(plan, number, target, tree),
            TargetKind::Nothing { .. } | TargetKind::Simulated { .. } | TargetKind::Template { .. } => continue,
        };
        match result.and_then(|examined| check_for_engines(plan, target, examined)) {
            Ok(target) => examined.push(target),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(examined) } else { Err(errors) }
}

pub(super) fn examine_one(plan: &Plan, number: usize, target: &Target) -> Result<ExaminedTarget, TargetError> {
    let path = names::path_to_open(&target.path, plan.target_rules, cfg!(windows));
    let examined = |path, kind, size, action| ExaminedTarget::new((plan, number), path, kind, size, action);
    let kind = match sys::facts::read_file_kind(&path) {
        Ok(kind) => kind,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let action = match is_created_before(plan, number) {
                true if target.prepare == Prepare::Existing => PrepareAction::UseUnchanged,
                _ => action_for_missing(target, &path)?,
            };
            return Ok(examined(path, None, 0, action));
        }
        Err(source) => return Err(cannot_examine(&target.path)(source)),
    };
    if kind == FileKind::Directory {
        // In the drop-in modes, targets are files, as in the original tools.
        if !matches!(target.prepare, Prepare::Filled { .. }) {
            return Err(TargetError::Directory(target.path.clone()));
        }
        let size = Bytes(size_in(&path, requested_size(target), &target.path)?);
        let temp_path = temp_file::path_in(&path, number);
        let action = PrepareAction::Create { size, temporary: true };
        return Ok(examined(temp_path, None, 0, action));
    }
    // fio writes the size of the job to character devices as to files; the guard knows which
    // devices are harmless.
    if kind == FileKind::CharacterDevice && plan.target_rules.character_devices {
        let size = requested_size(target).unwrap_or(0);
        return Ok(examined(path, Some(kind), size, PrepareAction::UseUnchanged));
    }
    let facts = identify(&path, &target.path, |file| inspect_mark(plan, number, file))?;
    match facts.kind {
        FileKind::BlockDevice => {
            let action = PrepareAction::UseUnchanged;
            Ok(examined(path, Some(facts.kind), facts.size, action))
        }
        FileKind::Regular => {
            let action = action_for_file(target, &path, &facts)?;
            let mark = facts.mark;
            Ok(ExaminedTarget {
                mark,
                ..examined(path, Some(facts.kind), facts.size, action)
            })
        }
        kind => {
            let kind = match kind {
                FileKind::CharacterDevice => "a character device",
                _ => "neither a file nor a block device",
            };
            let help = "test a regular file, a directory or a block device";
            Err(TargetError::unsuitable(&target.path, kind, help))
        }
    }
}

/// True if an earlier entry of the plan creates a file at the same path.
fn is_created_before(plan: &Plan, number: usize) -> bool {
    let (before, path) = (&plan.targets[..number], &plan.targets[number].path);
    let mut earlier_targets = before.iter().filter(|earlier| earlier.path == *path);
    earlier_targets.any(|earlier| matches!(earlier.prepare, Prepare::Recreate { .. }))
}

pub(super) struct PathFacts {
    pub(super) kind: FileKind,
    pub(super) size: u64,
    mark: MarkState,
}

/// Determines kind and size of a path from its open file. Opens only storage: a pipe would wait for
/// its other end, and opening a terminal or a tape has side effects. `inspect` checks the mark.
pub(super) fn identify(
    path: &Path,
    name: &str,
    inspect: impl FnOnce(&fs::File) -> MarkState,
) -> Result<PathFacts, TargetError> {
    let examine_error = cannot_examine(name);
    let facts = |kind, size, mark| PathFacts { kind, size, mark };
    let kind = sys::facts::read_file_kind(path).map_err(&examine_error)?;
    if !matches!(kind, FileKind::Regular | FileKind::BlockDevice) {
        return Ok(facts(kind, 0, MarkState::Unmarked));
    }
    match sys::file::open_without_waiting(path) {
        Ok(file) => {
            let (kind, _, size) = sys::file::identify(&file).map_err(&examine_error)?;
            let mark = match kind {
                FileKind::Regular => inspect(&file),
                _ => MarkState::Unmarked,
            };
            Ok(facts(kind, size, mark))
        }
        // A device that cannot be opened is reported in more detail later.
        Err(_) if kind == FileKind::BlockDevice => Ok(facts(kind, 0, MarkState::Unmarked)),
        Err(error) => Err(examine_error(error)),
    }
}

/// Checks the mark of a file for what the plan will change in it.
pub(super) fn inspect_mark(plan: &Plan, number: usize, file: &fs::File) -> MarkState {
    marker::inspect(file, |length, random_len| {
        let target = &plan.targets[number];
        let requested = Bytes(requested_size(target).unwrap_or(0));
        let fills = requested > length || random_len.0 > 0 && requested > random_len;
        match fills || matches!(target.prepare, Prepare::Recreate { .. }) {
            true => whole(length.0),
            false => written_parts(plan, number, length.0),
        }
    })
}

/// The parts of a file of this size that the jobs may write or trim.
pub(super) fn written_parts(plan: &Plan, number: usize, size: u64) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    for (worker, stream) in plan.streams_on(TargetId(number as u32)) {
        let is_bounded = worker.engine.kind.info().effect == Effect::Transfer && stream.replay.is_none();
        if !is_bounded {
            parts.push(0..size);
        } else if stream.mix.includes(Direction::Write) || stream.mix.includes(Direction::Trim) {
            let (base, length) = stream.region.resolve(size);
            parts.push(base..base + length);
        }
    }
    parts
}

fn requested_size(target: &Target) -> Option<u64> {
    match &target.prepare {
        Prepare::Existing => None,
        Prepare::Filled { size } => size.map(|size| size.0),
        Prepare::Recreate { size, .. } | Prepare::LayOut { size, .. } => Some(size.0),
    }
}

fn action_for_missing(target: &Target, path: &Path) -> Result<PrepareAction, TargetError> {
    let missing = |help| TargetError::missing(&target.path, help);
    let created = |size| PrepareAction::Create { size, temporary: false };
    if sys::facts::names_a_device(path) {
        return Err(missing(
            "check the number or letter, and that the disk is attached (`fathom targets` lists them)",
        ));
    }
    let folder = parent_directory(path);
    // fio also creates missing directories.
    let with_folders = matches!(target.prepare, Prepare::LayOut { may_create: true, .. });
    if !folder.is_dir() && !with_folders {
        return Err(TargetError::NoParent(target.path.clone()));
    }
    if target.path.ends_with(std::path::is_separator) && !with_folders {
        return Err(missing(
            "create this directory, or omit the separator at its end so that fathom creates a file",
        ));
    }
    match &target.prepare {
        Prepare::Existing | Prepare::Filled { size: None } => Err(TargetError::NoSize(target.path.clone())),
        Prepare::LayOut { may_create: false, .. } => Err(missing("the job does not allow creating it")),
        Prepare::Filled { size: Some(size) } => {
            let size = size_in(folder, Some(size.0), &target.path)?;
            Ok(created(Bytes(size)))
        }
        Prepare::Recreate { size, .. } | Prepare::LayOut { size, .. } => Ok(created(*size)),
    }
}

/// Computes how many bytes of a file system may be filled. These are all but a fifth of its size.
/// If less is free already, a hundredth of its size, but at most half of the free space.
pub(super) fn fillable_bytes(total: u64, available: u64) -> u64 {
    let share_bytes = |share: f64| (total as f64 * share) as u64;
    let negligible = share_bytes(NEGLIGIBLE_SHARE).min(available / 2);
    available.saturating_sub(share_bytes(MIN_FREE_SHARE)).max(negligible)
}

/// The rule of [`fillable_bytes`] that a larger file would violate.
pub(super) fn broken_rule(total: u64, available: u64) -> &'static str {
    let fillable = fillable_bytes(total, available);
    match () {
        () if fillable + (total as f64 * MIN_FREE_SHARE) as u64 <= available => {
            "leave less than 20 % of its file system free"
        }
        () if fillable == available / 2 => {
            "take more than half of the free space of its file system, which is nearly full"
        }
        () => "take more than 1 % of its file system, which is nearly full",
    }
}

/// Size of the file system of a directory, and bytes available there. If it reports no size, as
/// ramfs does, it may be in memory, so the memory bounds it.
pub(super) fn read_space(folder: &Path) -> std::io::Result<(u64, u64)> {
    Ok(match sys::file::space(folder)? {
        (u64::MAX, _) => (probe::memory_total(&System::live()), probe::memory_free().bytes.0),
        known => known,
    })
}

/// The size of a file to create in a directory, checked against the free space.
pub(super) fn size_in(folder: &Path, requested_size: Option<u64>, name: &str) -> Result<u64, TargetError> {
    let (total, available) = read_space(folder).map_err(cannot_examine(name))?;
    let fillable = fillable_bytes(total, available);
    let size = match requested_size {
        Some(size) => size,
        // Use whole MiB, so that every common block size divides the size.
        None => DEFAULT_SIZE.min(available / 20).min(fillable).max(MIN_SIZE) >> 20 << 20,
    };
    if size > fillable {
        return Err(TargetError::WouldFillFileSystem {
            path: name.to_owned(),
            wanted: Bytes(size),
            available: Bytes(available),
            total: Bytes(total),
        });
    }
    Ok(size)
}

/// The bytes that the preparation of a file adds to its file system.
fn added_bytes(target: &ExaminedTarget) -> u64 {
    match target.action {
        PrepareAction::Create { size, .. } => size.0,
        PrepareAction::Extend { from, to } => to.0.saturating_sub(from.0),
        // The blocks of a file that is written again become free first.
        PrepareAction::Rewrite { size } => {
            let allocated = fs::metadata(&target.path).map_or(0, |meta| sys::file::allocated(&meta));
            size.0.saturating_sub(allocated)
        }
        _ => 0,
    }
}

/// Checks that the preparation of all targets leaves enough space free. A file system needs room
/// for all of its files.
///
/// # Errors
/// [`TargetError::WouldFillFileSystem`] for each file system without room.
pub(super) fn check_growth(targets: &[ExaminedTarget]) -> Result<(), Vec<TargetError>> {
    let mut file_systems: Vec<(u64, &Path, Vec<String>, u64)> = Vec::new();
    for (path, growth) in targets.iter().map(|target| (&target.path, added_bytes(target))) {
        if growth == 0 {
            continue;
        }
        // The lay-out also creates missing folders.
        let folder = path.ancestors().skip(1).find(|folder| folder.is_dir());
        let folder = folder.unwrap_or(Path::new("."));
        // Without an identity, all files count as files of one file system.
        let stamp = fs::File::open(folder).and_then(|folder| sys::file::file_stamp(&folder));
        let id = stamp.map_or(0, |stamp| stamp.id.file_system);
        let name = path.display().to_string();
        match file_systems.iter_mut().find(|(known, ..)| *known == id) {
            Some((_, _, names, sum)) => {
                names.push(name);
                *sum = sum.saturating_add(growth);
            }
            None => file_systems.push((id, folder, vec![name], growth)),
        }
    }
    let sizes = file_systems.into_iter();
    let errors = sizes.filter_map(|(_, folder, names, growth)| size_in(folder, Some(growth), &names.join(", ")).err());
    let errors: Vec<TargetError> = errors.collect();
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn action_for_file(target: &Target, path: &Path, facts: &PathFacts) -> Result<PrepareAction, TargetError> {
    let size = facts.size;
    match &target.prepare {
        Prepare::Existing if size == 0 => Err(TargetError::Empty(target.path.clone())),
        Prepare::Existing => Ok(PrepareAction::UseUnchanged),
        Prepare::Recreate { size, .. } => Ok(PrepareAction::Rewrite { size: *size }),
        Prepare::LayOut { on_open: true, .. } => Ok(PrepareAction::UseUnchanged),
        Prepare::LayOut {
            size: min_size, extend, ..
        } if size < min_size.0 => Ok(match extend {
            true => PrepareAction::Extend {
                from: Bytes(size),
                to: *min_size,
            },
            false => PrepareAction::Rewrite { size: *min_size },
        }),
        Prepare::LayOut { .. } => Ok(PrepareAction::UseUnchanged),
        Prepare::Filled { size: requested } => {
            action_for_file_to_fill(target, path, facts, requested.map(|requested| requested.0))
        }
    }
}

fn action_for_file_to_fill(
    target: &Target,
    path: &Path,
    facts: &PathFacts,
    requested: Option<u64>,
) -> Result<PrepareAction, TargetError> {
    let size = facts.size;
    let room = |needed: u64| size_in(parent_directory(path), Some(needed), &target.path);
    match (requested, facts.mark) {
        (None, _) if size == 0 => Err(TargetError::Empty(target.path.clone())),
        (Some(requested), _) if size == 0 => Ok(PrepareAction::Create {
            size: Bytes(room(requested)?),
            temporary: false,
        }),
        (_, MarkState::Intact { random_len })
            if random_len.0 > 0 && requested.is_none_or(|requested| requested <= random_len.0) =>
        {
            Ok(PrepareAction::Reuse { size: random_len })
        }
        (Some(requested), MarkState::Intact { random_len }) if random_len.0 > 0 || requested > size => {
            room(requested - random_len.0)?;
            let to = Bytes(requested);
            Ok(PrepareAction::Extend { from: random_len, to })
        }
        (Some(requested_size), mark) if requested_size > size => Err(TargetError::TooSmall {
            path: target.path.clone(),
            actual: Bytes(size),
            wanted: Bytes(requested_size),
            mark,
        }),
        _ => Ok(PrepareAction::UseUnchanged),
    }
}

#[cfg(test)]
mod tests {
    use super::{broken_rule, fillable_bytes};

    /// `/proc` reports no size, as ramfs does.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_memory_bounds_a_file_system_that_reports_no_size() {
        let folder = std::path::Path::new("/proc");
        assert!(super::size_in(folder, Some(1 << 20), "file").is_ok());
        assert!(super::size_in(folder, Some(1 << 50), "file").is_err());
    }

    #[test]
    fn filling_leaves_a_fifth_free_or_takes_little() {
        const TOTAL: u64 = 1000;
        let fillable_of = |available| fillable_bytes(TOTAL, available);
        assert_eq!(fillable_of(1000), 800);
        assert_eq!(fillable_of(500), 300);
        // Less than a fifth is free: a hundredth may still be used, but never more than half of the
        // free space.
        assert_eq!(fillable_of(205), 10);
        assert_eq!(fillable_of(200), 10);
        assert_eq!(fillable_of(21), 10);
        assert_eq!(fillable_of(8), 4);
        assert_eq!(fillable_of(0), 0);
    }

    #[test]
    fn a_refusal_names_the_violated_rule() {
        assert!(broken_rule(1000, 500).contains("less than 20 %"));
        assert!(broken_rule(1000, 205).contains("more than 1 %"));
        assert!(broken_rule(1000, 8).contains("half of the free space"));
    }
}
