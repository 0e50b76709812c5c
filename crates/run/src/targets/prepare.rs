//! Prepares permitted targets: creates, fills or extends files, and reopens them for examination.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::probe::{self, System};
use engine::{Clock, File, FileId, FileKind, Identity, OpenOptions, sys};
use model::content::Content;
use model::environment::TargetFacts;
use model::event::Event;
use model::plan::{AllocateMode, Consent, Dialect, Plan, Prepare, Target, TargetCleanup, TargetId, TargetKind};
use model::{Bytes, Direction};

use super::cleanup::{Cleanup, Renewal};
use super::examine::inspect_mark;
use super::fill::{self, ExpectedFile};
use super::guard::{Claim, ExistingTarget, Intent, Permissions};
use super::marker::{self, MarkState};
use super::temp_file::{self, TempFile};
use super::tree::streams_on;
use super::unwritten::whole;
use super::write_lock::{Sharing, WriteLock};
use super::{
    ExaminedTarget, FillError, Peers, PrepareAction, TargetError, cannot_examine, examine, parent_directory, peer_lock,
};
use crate::worker::{ReadyKind, ReadyTarget};

/// Prepared targets, and their cleanup.
#[derive(Debug, Default)]
pub(crate) struct ReadyTargets {
    pub(crate) list: Vec<ReadyTarget>,
    pub(crate) facts: Vec<TargetFacts>,
    pub(super) cleanup: Cleanup,
    /// Files that were created or rewritten here, with their identities.
    created_files: Vec<(PathBuf, Option<Identity>)>,
    /// Targets that another process of the test has created in the meantime.
    pub(super) created_by_peers: Vec<(ExaminedTarget, Option<Claim>)>,
    /// Files that were created here, locked against other runs.
    locked: Vec<(fs::File, WriteLock)>,
}

impl ReadyTargets {
    /// The identity of the file created at a path in this run, if known.
    fn created_at(&self, path: &Path) -> Option<Option<Identity>> {
        let made = self.created_files.iter().find(|(created, _)| created == path);
        made.map(|(_, identity)| *identity)
    }

    /// The cleanup for the end of the run.
    pub(crate) fn finish(self) -> Cleanup {
        self.cleanup
    }
}

/// The preparation of permitted targets.
pub(crate) struct Preparation<'a> {
    pub(crate) plan: &'a Plan,
    /// The source of system facts.
    pub(crate) system: &'a System,
    pub(crate) permitted: &'a [(ExaminedTarget, Option<Claim>)],
    pub(crate) clock: Clock,
    pub(crate) interrupt: &'a AtomicBool,
    /// Other processes that may need the same files, and the user's permissions.
    pub(crate) others: Option<(&'a dyn Peers, &'a Permissions)>,
}

/// Prepares targets as [`super::examine()`] decided and the guard permitted. Steps prepare some
/// targets themselves. On a failure, everything created so far is removed.
pub(crate) fn prepare(
    preparation: &Preparation<'_>,
    watcher: &mut dyn FnMut(Event),
) -> Result<ReadyTargets, TargetError> {
    let mut ready = ReadyTargets::default();
    match preparation.prepare_all(&mut ready, watcher) {
        Ok(()) => Ok(ready),
        Err(error) => {
            ready.cleanup.keep_named();
            Err(error)
        }
    }
}

impl Preparation<'_> {
    fn prepare_all(&self, ready: &mut ReadyTargets, watcher: &mut dyn FnMut(Event)) -> Result<(), TargetError> {
        let plan = self.plan;
        let mut devices = 0..;
        let mut shared_trees = self.create_shared_trees(ready, watcher)?;
        for (number, target) in plan.targets.iter().enumerate() {
            let id = TargetId(number as u32);
            let later = size_created_on_open(target).is_some()
                || (0..plan.steps.len()).any(|step| plan.prepares_anew(step, id));
            let (what, facts, identity) = match &target.kind {
                TargetKind::Nothing { size } => {
                    (ReadyKind::Nothing, facts_without_file(target, "nothing", *size), None)
                }
                TargetKind::Simulated { device } => {
                    let facts = facts_without_file(target, "simulated", device.size);
                    let device = devices.next().unwrap_or_default();
                    (ReadyKind::Simulated { device }, facts, None)
                }
                TargetKind::Path if !later => self.make_ready(number, 0, ready, watcher)?,
                TargetKind::Path => {
                    let path = self
                        .permitted_target(number)
                        .map(|(examined, _)| examined.path.clone())
                        .unwrap_or_default();
                    (ReadyKind::Path(path), facts_without_file(target, "", Bytes(0)), None)
                }
                TargetKind::Name { size, .. } => {
                    let path = self.make_name_ready(number, ready)?;
                    (ReadyKind::Path(path), facts_without_file(target, "name", *size), None)
                }
                TargetKind::Tree { tree } => {
                    let made = match shared_trees.remove(&number) {
                        Some(made) => made,
                        None => self.create_tree(number, tree, ready, watcher)?,
                    };
                    let facts = super::survey::tree_facts(self.system, &target.path, tree);
                    // Operations on trees go through the page cache, so counters of devices would
                    // show other I/O than the job's.
                    let devices = Vec::new();
                    (made, TargetFacts { devices, ..facts }, None)
                }
                // The examination has refused templates already.
                TargetKind::Template { .. } => (
                    ReadyKind::Nothing,
                    facts_without_file(target, "nothing", Bytes(0)),
                    None,
                ),
            };
            ready.list.push(ReadyTarget {
                what,
                identity,
                size: facts.size.0,
                shared: Arc::default(),
                lock: Arc::default(),
            });
            ready.facts.push(facts);
        }
        Ok(())
    }

    /// Prepares the targets that belong to a step.
    pub(crate) fn prepare_step(
        &self,
        step: usize,
        ready: &mut ReadyTargets,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<(), TargetError> {
        for (number, target) in self.plan.targets.iter().enumerate() {
            let id = TargetId(number as u32);
            let opened_first = || self.plan.uses(step, id) && !(0..step).any(|step| self.plan.uses(step, id));
            let anew = match size_created_on_open(target) {
                Some(_) => opened_first(),
                None => self.plan.prepares_anew(step, id),
            };
            if !anew || target.kind != TargetKind::Path {
                continue;
            }
            let (_, facts, identity) = self.make_ready(number, step as u32, ready, watcher)?;
            // The size of a file that grows during the job is its final size.
            let size = size_created_on_open(target).unwrap_or_default().max(facts.size.0);
            (ready.list[number].size, ready.list[number].identity) = (size, identity);
            ready.facts[number] = facts;
        }
        Ok(())
    }

    pub(super) fn permitted_target(&self, number: usize) -> Option<&(ExaminedTarget, Option<Claim>)> {
        self.permitted.iter().find(|(examined, _)| examined.number == number)
    }

    /// See [`Preparation::permitted_target`]. Fails if there is none.
    pub(super) fn require_permitted(&self, number: usize) -> Result<&(ExaminedTarget, Option<Claim>), TargetError> {
        let path = &self.plan.targets[number].path;
        self.permitted_target(number)
            .ok_or_else(|| TargetError::missing(path, "it was not examined before"))
    }

    fn make_ready(
        &self,
        number: usize,
        step: u32,
        ready: &mut ReadyTargets,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<(ReadyKind, TargetFacts, Option<Identity>), TargetError> {
        let target = &self.plan.targets[number];
        let permitted = self.require_permitted(number)?;
        let (examined, claim) = permitted;
        self.begin_mark(target, (examined, claim.as_ref()), ready)?;
        let done = match ready.was_created_by_peer(number) {
            true => Ok(peer_lock::CREATED_BY_PEER.to_owned()),
            false => self.fill(target, (examined, claim.as_ref()), ready, watcher),
        };
        let how = match (done, self.others) {
            (Err(TargetError::Fill(error)), Some((others, permissions))) if error.is_name_taken() => {
                others.wait_for_file(step);
                self.reexamine(number, permissions, ready)?
            }
            (done, _) => done?,
        };
        let created_by_peers = ready
            .created_by_peers
            .iter()
            .find(|(examined, _)| examined.number == number);
        let (examined, claim) = created_by_peers.unwrap_or(permitted);
        let expected = match (claim, ready.created_at(&examined.path)) {
            (Some(claim), _) => claim.file().identity(),
            (None, made) => made.flatten(),
        };
        let file = reopen(examined, expected)?;
        // The creator of a file removes it and renews its mark.
        if let (None, Some(handle)) = (created_by_peers, file.handle()) {
            self.renew_mark(target, examined, handle, &mut ready.cleanup);
            // A file without an identity stays, because its name may refer to another file later.
            if let Ok(stamp) = sys::file::file_stamp(handle) {
                schedule_removal(target, examined, Some(stamp.id), &mut ready.cleanup);
            }
            if claim.is_none() {
                self.lock_created(handle, &mut ready.locked);
            }
        }
        let mut facts = probe::read_target_facts(self.system, &file, &how);
        if examined.kind == Some(FileKind::CharacterDevice) {
            // A character device has no size of its own.
            facts.size = Bytes(examined.size);
        }
        Ok((ReadyKind::Path(examined.path.clone()), facts, file.identity()))
    }
}

impl Preparation<'_> {
    /// Locks a file that was created here; the guard has locked the existing files. Each lock needs
    /// a descriptor. The number is limited, because another run on the same files is already
    /// refused by the first locks.
    fn lock_created(&self, file: &fs::File, locked: &mut Vec<(fs::File, WriteLock)>) {
        const MAX_LOCKS: usize = 64;
        let sharing = match self.others {
            Some(_) => Sharing::WithPeers,
            None => Sharing::Alone,
        };
        if locked.len() < MAX_LOCKS
            && let Ok(file) = file.try_clone()
            && let Ok(Some(lock)) = WriteLock::take(&file, sharing)
        {
            locked.push((file, lock));
        }
    }
}

/// The size of a file that is created only when its job starts.
pub(super) fn size_created_on_open(target: &Target) -> Option<u64> {
    match &target.prepare {
        Prepare::LayOut {
            on_open: true, size, ..
        } => Some(size.0),
        _ => None,
    }
}

/// Facts of a target that is not a file.
pub(super) fn facts_without_file(target: &Target, kind: &str, size: Bytes) -> TargetFacts {
    TargetFacts {
        path: target.path.clone(),
        kind: kind.into(),
        size,
        ..TargetFacts::default()
    }
}

/// Opens a prepared target for examination.
fn reopen(examined: &ExaminedTarget, expected: Option<Identity>) -> Result<File, TargetError> {
    let path = &examined.path;
    let file = File::open(path, OpenOptions::to_inspect(false))
        .map_err(|error| cannot_examine(path.display())(error.source))?;
    if expected.is_some() && expected != file.identity() {
        return Err(TargetError::replaced(path));
    }
    Ok(file)
}

/// Checks that a file will fit. Otherwise it would use up all space before it failed.
fn fits(examined: &ExaminedTarget, size: u64) -> Result<(), TargetError> {
    let Ok((_, available)) = examine::read_space(parent_directory(&examined.path)) else {
        return Ok(());
    };
    // The space of an existing file becomes free when it is truncated; a file with holes uses less
    // than its size.
    let freed = fs::metadata(&examined.path).map_or(0, |meta| sys::file::allocated(&meta));
    if size > available.saturating_add(freed) {
        return Err(TargetError::NoSpace {
            path: examined.path.display().to_string(),
            wanted: Bytes(size),
            available: Bytes(available),
        });
    }
    Ok(())
}

impl Preparation<'_> {
    /// Performs the preparation. Returns a description.
    fn fill(
        &self,
        target: &Target,
        (examined, claim): (&ExaminedTarget, Option<&Claim>),
        ready: &mut ReadyTargets,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<String, TargetError> {
        let (from, size, how) = match &examined.action {
            PrepareAction::UseUnchanged | PrepareAction::CreateDirectory | PrepareAction::CreateTree { .. } => {
                return Ok("used unchanged".into());
            }
            PrepareAction::Reuse { size } => return Ok(format!("prepared earlier with {size} of random data")),
            PrepareAction::Create { size, .. } => (0, size.0, format!("{size} of random data written for this run")),
            PrepareAction::Extend { from, to } => {
                (from.0, to.0, format!("extended from {from} to {to} with random data"))
            }
            PrepareAction::Rewrite { size } => (0, size.0, format!("rewritten with {size}")),
        };
        let writes_all = match &target.prepare {
            Prepare::Recreate { .. } => true,
            Prepare::LayOut { content, on_open, .. } => content.is_some() && !on_open,
            Prepare::Filled { .. } | Prepare::Existing => false,
        };
        if writes_all {
            fits(examined, size)?;
        }
        if matches!(target.prepare, Prepare::LayOut { may_create: true, .. }) {
            create_parent_folder(&examined.path)?;
        }
        let made_before = ready.created_at(&examined.path);
        let temporary = matches!(examined.action, PrepareAction::Create { temporary: true, .. });
        let expected = match claim {
            Some(claim) => ExpectedFile::Existing(claim.file().identity()),
            None if temporary => ExpectedFile::Existing(create_temporary(target, examined, size, ready, watcher)?),
            None => made_before.map_or(ExpectedFile::Absent, ExpectedFile::Existing),
        };
        let size = size_created_on_open(target).map_or(size, |_| 0);
        let truncate = matches!(examined.action, PrepareAction::Rewrite { .. }) || made_before.is_some();
        let fill = self.fill_parameters(target, examined, from, size);
        let fill = fill::FillRequest {
            expected,
            truncate,
            ..fill
        };
        let filled = fill::fill(&fill, self.clock, self.interrupt, watcher)?;
        ready.created_files.retain(|(path, _)| *path != examined.path);
        ready.created_files.push((examined.path.clone(), filled.identity));
        let how = match filled.method {
            fill::FillMethod::Written => how,
            fill::FillMethod::Declared => format!(
                "declared valid at {}: it contains what the disk contained before",
                Bytes(size)
            ),
        };
        watcher(Event::Prepared {
            target: examined.path.display().to_string(),
            how: how.clone(),
            took_ns: filled.took,
        });
        Ok(how)
    }

    /// The fill parameters of a target.
    fn fill_parameters<'a>(
        &self,
        target: &'a Target,
        examined: &'a ExaminedTarget,
        from: u64,
        size: u64,
    ) -> fill::FillRequest<'a> {
        let (content, block, allocate) = match &target.prepare {
            Prepare::LayOut {
                content,
                block,
                allocate,
                on_open: false,
                ..
            } => (content.as_ref(), *block, *allocate),
            Prepare::LayOut { block, .. } => (None, *block, AllocateMode::None),
            Prepare::Recreate { content, .. } => (Some(content), fill::DEFAULT_BLOCK, AllocateMode::None),
            Prepare::Filled { .. } | Prepare::Existing => {
                (Some(&Content::Fresh), fill::DEFAULT_BLOCK, AllocateMode::Native)
            }
        };
        fill::FillRequest {
            path: &examined.path,
            expected: ExpectedFile::Absent,
            truncate: false,
            // A file that is only allocated needs no data.
            start: if content.is_some() { from } else { size },
            size,
            content: content.unwrap_or(&Content::Fresh),
            block,
            allocate,
            flush: !matches!(target.prepare, Prepare::LayOut { flush: false, .. }),
            // Verification needs existing data.
            declare_valid: matches!(target.prepare, Prepare::Recreate { .. }) && self.plan.target_rules.declare_valid,
            needs_direct: matches!(target.prepare, Prepare::Filled { .. }) && self.uses_direct_io(examined.number),
            is_marked: created_size(target, examined).is_some() && self.is_marked(target),
            seed: self.plan.seed ^ (examined.number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x00f1_11ed,
        }
    }
}

fn create_parent_folder(path: &Path) -> Result<(), FillError> {
    let folder = parent_directory(path);
    fs::create_dir_all(folder).map_err(|error| FillError::file("cannot create the directory", folder, &error, 0))
}

/// Creates an empty temporary file, and removes leftovers of killed runs in the same directory.
fn create_temporary(
    target: &Target,
    examined: &ExaminedTarget,
    size: u64,
    ready: &mut ReadyTargets,
    watcher: &mut dyn FnMut(Event),
) -> Result<Option<Identity>, FillError> {
    let keep = target.at_end == TargetCleanup::Keep;
    let file = TempFile::create(&examined.path, size, keep)
        .map_err(|error| FillError::file("cannot create", &examined.path, &error, 0))?;
    let identity = ready.cleanup.add_temporary(file).identity();
    temp_file::remove_leftovers(&examined.path, watcher);
    Ok(identity)
}

/// Schedules the removal of a file according to the plan.
pub(super) fn schedule_removal(target: &Target, examined: &ExaminedTarget, id: Option<FileId>, cleanup: &mut Cleanup) {
    if is_removed(target) && !matches!(examined.kind, Some(FileKind::BlockDevice | FileKind::CharacterDevice)) {
        cleanup.add_named(examined.path.clone(), id);
    }
}

fn is_removed(target: &Target) -> bool {
    matches!(target.at_end, TargetCleanup::Remove | TargetCleanup::RemoveEachPass)
}

/// The size of a file that is created here and not removed with its directory's other files.
fn created_size(target: &Target, examined: &ExaminedTarget) -> Option<Bytes> {
    match &examined.action {
        PrepareAction::Create { size, temporary } if !temporary || target.at_end == TargetCleanup::Keep => Some(*size),
        _ => None,
    }
}

fn is_filled(target: &Target) -> bool {
    matches!(target.prepare, Prepare::Filled { .. })
}

/// Marks of the files that a plan writes to.
impl Preparation<'_> {
    /// True if a file that fathom creates has a mark, so that later runs may write to it. Those of
    /// fio and DiskSpd have none, because they may be many.
    fn is_marked(&self, target: &Target) -> bool {
        let is_vdbench = self.plan.origin.dialect == Dialect::Vdbench;
        (is_filled(target) || is_vdbench) && !is_removed(target)
    }

    /// Marks a file as being written to before it is changed. If preparation fails, the mark is
    /// renewed for the unchanged part.
    fn begin_mark(
        &self,
        target: &Target,
        (examined, claim): (&ExaminedTarget, Option<&Claim>),
        ready: &mut ReadyTargets,
    ) -> Result<(), TargetError> {
        let (MarkState::Intact { random_len }, Some(file)) =
            (examined.mark, claim.and_then(|claim| claim.file().handle()))
        else {
            return Ok(());
        };
        let random_len = match &examined.action {
            PrepareAction::Reuse { .. } | PrepareAction::UseUnchanged
                if !self.changes(examined.number, examined.size) =>
            {
                return Ok(());
            }
            _ if is_removed(target) => return Ok(()),
            PrepareAction::Reuse { .. } | PrepareAction::UseUnchanged if !self.spoils_random_data(examined.number) => {
                random_len
            }
            PrepareAction::Extend { from, .. } if !self.spoils_random_data(examined.number) => random_len.min(*from),
            _ => Bytes(0),
        };
        let (filled, size) = match &examined.action {
            PrepareAction::Extend { from, to } => (from.0..to.0, to.0),
            PrepareAction::Rewrite { size } => (0..size.0, size.0),
            _ => (0..0, examined.size),
        };
        let mut written = self.written_parts(examined.number, size);
        written.push(filled);
        let renewals = ready.cleanup.renewals_mut();
        let is_begun = self.others.is_some() || renewals.contains(file);
        let renewal = Renewal::new(file, written);
        // It may have changed between the guard's decision and the reading of the unwritten parts.
        let is_intact = || matches!(inspect_mark(self.plan, examined.number, file), MarkState::Intact { .. });
        if !is_begun && !is_intact() {
            return match self.plan.target_rules.consent {
                Consent::Explicit => Err(TargetError::replaced(&examined.path)),
                Consent::Implied => Ok(()),
            };
        }
        if marker::begin_shared(file, random_len).is_ok()
            && let Some(renewal) = renewal
        {
            renewals.add(renewal);
        }
        Ok(())
    }

    /// Marks a filled file, and renews the marks of created files. That happens at the end, or
    /// immediately if nothing writes to them.
    fn renew_mark(&self, target: &Target, examined: &ExaminedTarget, file: &fs::File, cleanup: &mut Cleanup) {
        let filled = match &examined.action {
            PrepareAction::Extend { to: size, .. } | PrepareAction::Rewrite { size } if is_filled(target) => {
                Some(*size)
            }
            _ => created_size(target, examined),
        };
        let filled = filled.filter(|_| self.is_marked(target));
        if let Some(size) = filled {
            let random = match is_filled(target) && !self.spoils_random_data(examined.number) {
                true => size,
                false => Bytes(0),
            };
            let renewals = cleanup.renewals_mut();
            if marker::begin(file, random).is_ok() && !renewals.contains(file) {
                let written = match self.changes(examined.number, size.0) {
                    true => self.written_parts(examined.number, size.0),
                    false => whole(size.0),
                };
                if let Some(renewal) = Renewal::new(file, written) {
                    renewals.add(renewal);
                }
            }
        }
        let size = file.metadata().map_or(examined.size, |meta| meta.len());
        let seal = !self.changes(examined.number, size);
        cleanup.renewals_mut().record_ready(file, seal);
    }

    /// The parts of a file of this size that the jobs may write or trim. Other processes of the
    /// test may use all of it. A temporary file of a study is removed at its end, so all of it
    /// belongs to the runs, which may write different parts.
    fn written_parts(&self, number: usize, size: u64) -> Vec<Range<u64>> {
        let target = &self.plan.targets[number];
        let is_temporary =
            target.at_end != TargetCleanup::Keep && temp_file::is_of_this_process(Path::new(&target.path), number);
        match self.others.is_some() || is_temporary {
            true => whole(size),
            false => examine::written_parts(self.plan, number, size),
        }
    }

    /// True if jobs change the data of a file of this size.
    fn changes(&self, number: usize, size: u64) -> bool {
        let existing = ExistingTarget {
            kind: FileKind::Regular,
            size,
        };
        Intent::for_target(self.plan, TargetId(number as u32), Some(existing)).changes()
    }

    /// True if jobs write other than random data to a target, or trim it.
    pub(super) fn spoils_random_data(&self, number: usize) -> bool {
        streams_on(self.plan, number).any(|stream| {
            let random = matches!(
                stream.content,
                Content::Fresh | Content::Drawn | Content::Once | Content::Stamped
            );
            let writes = stream.mix.includes(Direction::Write) && !random;
            writes || stream.mix.includes(Direction::Trim)
        })
    }

    fn uses_direct_io(&self, number: usize) -> bool {
        streams_on(self.plan, number).any(|stream| stream.cache.direct)
    }
}
