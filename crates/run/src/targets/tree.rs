//! Creates trees of files for a run. A tree is in a directory that the user named, and is removed
//! at the end of the command.
//!
//! A tree has its own root directory, accessible only to this user. A marker file in the root is a
//! [`TempFile`], which also identifies the tree: an unlocked marker belongs to a killed run. Only
//! files and directories with the names of a tree are removed. If there are others, the root stays.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::sys::OpenFor;
use engine::sys::tree::TreeRoot;
use engine::{FileKind, OpenTree, sys};
use model::Nanos;
use model::content::WideRandom;
use model::event::Event;
use model::finding::{Finding, Severity};
use model::plan::{
    CacheMode, FileGroup, FileOperationKind, FilePart, FileTree, FileWork, KeptTree, Plan, Stream, Target, TargetId,
    TargetKind,
};

use super::examine::{fillable_bytes, size_in};
use super::prepare::{Preparation, ReadyTargets};
use super::temp_file::{self, TempFile};
use super::{ExaminedTarget, FillError, PrepareAction, TargetError, cannot_examine, parent_directory};
use crate::file_claims::{FileClaims, FileState};
use crate::worker::ReadyKind;

/// The name of the marker. It has the form of temporary files, so that its mark is read in the
/// same way.
const MARKER: &str = "fathom-0-0.dat";
/// The suffix of a root's name.
const SUFFIX: &str = ".tree";
/// The name of the root of a kept tree, different from temporary trees' names.
const KEPT_ROOT: &str = "fathom-kept.tree";
/// The rule of the finding that some files are not used.
pub const SHORT_FILES: &str = "SHORT-FILES";
/// Bytes written at once.
const CHUNK: usize = 1 << 20;
/// The minimum age of an empty root to remove. A younger root may not have its marker yet.
const EMPTY_ROOT_GRACE: Duration = Duration::from_secs(60);

/// A tree on the disk. Dropping it removes it.
#[derive(Debug)]
pub(super) struct TempTree {
    path: PathBuf,
    root: Arc<TreeRoot>,
    marker: Option<TempFile>,
    /// The tree is kept at the end.
    is_kept: bool,
    /// Other hosts use the tree as well.
    is_shared: bool,
}

/// The role of a process for a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TreeRole {
    /// It alone uses the tree.
    Owner,
    /// It creates and removes the tree, which other processes use as well.
    Creator,
    /// It uses a tree that another process creates.
    User,
}

impl TempTree {
    fn create(path: &Path, is_kept: bool, role: TreeRole) -> std::io::Result<TempTree> {
        let root = Arc::new(TreeRoot::create(path)?);
        let mut tree = TempTree {
            path: path.to_owned(),
            root,
            marker: None,
            is_kept,
            is_shared: role != TreeRole::Owner,
        };
        let marker = path.join(MARKER);
        tree.marker = Some(match tree.is_shared {
            true => TempFile::create_shared_marker(&marker)?,
            false => TempFile::create(&marker, 0, false)?,
        });
        Ok(tree)
    }

    /// True if it must be removed, but other hosts may still use it.
    pub(super) fn awaits_peers(&self) -> bool {
        self.is_shared && !self.is_kept
    }

    /// Opens a tree that another process has created, or the kept tree of an earlier run. It must
    /// have a marker of fathom that no other run has locked, unless both share the tree.
    fn open(path: &Path, role: TreeRole) -> Result<TempTree, TargetError> {
        let root = TreeRoot::open(path).map_err(cannot_examine(path.display()))?;
        let marker = path.join(MARKER);
        let marker = match role {
            TreeRole::Owner => temp_file::open_leftover(&marker),
            TreeRole::Creator => temp_file::open_shared_marker(&marker, false),
            TreeRole::User => temp_file::open_shared_marker(&marker, true),
        };
        let marker = marker.ok_or_else(|| {
            TargetError::unsuitable(
                path.display(),
                "not a tree that fathom created, or in use by another run",
                "wait for the other run, or name another directory; this one was not changed",
            )
        })?;
        Ok(TempTree {
            path: path.to_owned(),
            root: Arc::new(root),
            marker: Some(marker),
            is_kept: true,
            is_shared: role != TreeRole::Owner,
        })
    }

    /// Removes the tree unless it is kept. Returns a finding if foreign files remain.
    pub(super) fn remove(&mut self) -> Option<Finding> {
        if self.is_kept {
            if let Some(marker) = self.marker.take() {
                marker.leave();
            }
            return None;
        }
        let kept = remove_root(&self.root, &self.path, self.marker.take())?;
        Some(Finding::new("LEFTOVER", Severity::Warning, kept))
    }
}

impl Drop for TempTree {
    fn drop(&mut self) {
        if self.path.exists() {
            let _ = self.remove();
        }
    }
}

/// Removes a tree with its marker. Returns a sentence about what remains, if anything.
fn remove_root(root: &TreeRoot, path: &Path, marker: Option<TempFile>) -> Option<String> {
    let name = path.display();
    match root.remove_contents(MARKER) {
        Ok(0) => {
            drop(marker);
            let error = fs::remove_dir(path).err()?;
            (error.kind() != std::io::ErrorKind::NotFound).then(|| format!("cannot remove {name}: {error}"))
        }
        left => {
            // Keep the marker, so that the next run in this directory reports it again.
            if let Some(marker) = marker {
                marker.leave();
            }
            Some(match left {
                Ok(left) => {
                    format!("{name} stays: {left} of its entries do not belong to the test, or cannot be removed")
                }
                Err(error) => format!("cannot remove {name}: {error}"),
            })
        }
    }
}

/// Returns an unused path for a root. The root of an earlier run of this process may still exist.
fn unused_root_path(folder: &Path, number: usize) -> PathBuf {
    let path = |round: usize| temp_file::path_in(folder, number + (round << 16)).with_extension(&SUFFIX[1..]);
    (0..).map(path).find(|path| !path.exists()).unwrap_or_else(|| path(0))
}

/// Examines the directory in which a tree will be created.
pub(super) fn examine_tree(
    plan: &Plan,
    number: usize,
    target: &Target,
    tree: &FileTree,
) -> Result<ExaminedTarget, TargetError> {
    let folder = PathBuf::from(&target.path);
    let path = target.path.clone();
    let is_formatted = tree.kept != Some(KeptTree::Existing);
    let parent = parent_directory(&folder);
    match sys::facts::read_file_kind(&folder) {
        Ok(FileKind::Directory) => {}
        // A format creates its directory.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && creates_folder(tree) && parent.is_dir() => {}
        Ok(_) => {
            let help = "a file tree needs a directory; name one";
            return Err(TargetError::unsuitable(path, "not a directory", help));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let help = "a file tree needs an existing directory; check the spelling";
            return Err(TargetError::missing(&path, help));
        }
        Err(source) => return Err(TargetError::Examine { path, source }),
    }
    if is_formatted && tree.kept != Some(KeptTree::Removed) {
        let existing = if folder.is_dir() { &*folder } else { parent };
        let allocation = sys::file::allocation(existing).map_err(cannot_examine(&path))?;
        let size = max_tree_size(plan, number, tree, allocation.block);
        let check = |(bytes, entries): (u64, u64)| {
            size_in(existing, Some(size.saturating_sub(bytes)), &path)?;
            refuse_too_many_files(&path, tree, entries, allocation.files)
        };
        // An earlier tree makes room for the new one.
        check((0, 0)).or_else(|_| check(count_existing(&folder.join(KEPT_ROOT), tree)))?;
    }
    let root = match tree.kept {
        Some(_) => folder.join(KEPT_ROOT),
        None => unused_root_path(&folder, number),
    };
    let action = PrepareAction::CreateTree {
        directories: tree.directory_count(),
        files: tree.prefilled_count(),
    };
    Ok(ExaminedTarget::new((plan, number), root, None, 0, action))
}

/// True if the tree is kept, and its directory may be missing.
fn creates_folder(tree: &FileTree) -> bool {
    tree.kept.is_some_and(|kept| kept != KeptTree::Existing)
}

/// Allocated bytes and number of the files of a tree that exist below a root.
fn count_existing(root: &Path, tree: &FileTree) -> (u64, u64) {
    /// More missing files in succession end the count: the rest of the tree is missing as well.
    const MAX_MISSING: u64 = 10_000;
    let (mut bytes, mut files, mut missing) = (0, 0, 0);
    let mut name = String::new();
    for file in 0..tree.file_count().min(u64::from(u32::MAX)) {
        tree.write_file_path(file as u32, false, &mut name);
        match fs::symlink_metadata(root.join(&name)) {
            Ok(meta) => {
                bytes += sys::file::allocated(&meta);
                files += 1;
                missing = 0;
            }
            Err(_) => missing += 1,
        }
        if missing > MAX_MISSING {
            break;
        }
    }
    (bytes, files)
}

/// Refuses a tree that would leave less than a fifth of the file system's inodes free. `replaced`
/// files exist already.
fn refuse_too_many_files(
    path: &str,
    tree: &FileTree,
    replaced: u64,
    inodes: Option<(u64, u64)>,
) -> Result<(), TargetError> {
    let entries = tree.file_count().saturating_add(tree.directory_count());
    let entries = entries.saturating_sub(replaced);
    match inodes {
        Some((total, available)) if entries > fillable_bytes(total, available) => Err(TargetError::unsuitable(
            path,
            "on a file system with too few free inodes",
            format!(
                "the tree has {entries} files and directories; {available} of {total} inodes are free, and a fifth \
                 of them must remain: define fewer files, or test on another file system"
            ),
        )),
        _ => Ok(()),
    }
}

/// Returns the maximum size of a tree's files. It includes the growth by `append`, see
/// [`OpenTree::append_limit`].
fn max_tree_size(plan: &Plan, number: usize, tree: &FileTree, allocation_block: u64) -> u64 {
    let bytes = tree.occupied_size(allocation_block).0;
    let block = file_works(plan, number).filter_map(|work| {
        let appends = |group: &FileGroup| group.operations.contains(&FileOperationKind::Append);
        work.groups.iter().any(appends).then_some(work.block.0)
    });
    block.max().map_or(bytes, |block| {
        OpenTree::append_limit(bytes, block.saturating_mul(tree.file_count()))
    })
}

impl Preparation<'_> {
    /// The role of this process for a tree.
    fn tree_role(&self, number: usize) -> TreeRole {
        let part = file_works(self.plan, number).find_map(|work| work.part);
        match part.filter(|_| self.others.is_some()) {
            None => TreeRole::Owner,
            Some(FilePart { index: 0, .. }) => TreeRole::Creator,
            Some(_) => TreeRole::User,
        }
    }

    /// Creates the trees that other hosts use as well. This comes before everything else, so that
    /// all of them exist once every process waits or is ready.
    pub(super) fn create_shared_trees(
        &self,
        ready: &mut ReadyTargets,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<BTreeMap<usize, ReadyKind>, TargetError> {
        let mut made = BTreeMap::new();
        for (number, target) in self.plan.targets.iter().enumerate() {
            if let TargetKind::Tree { tree } = &target.kind
                && self.tree_role(number) == TreeRole::Creator
            {
                made.insert(number, self.create_tree(number, tree, ready, watcher)?);
            }
        }
        Ok(made)
    }

    /// Waits until another process has created the tree at a path.
    fn await_creator(&self, path: &Path) -> Result<(), TargetError> {
        if let Some((peers, _)) = self.others {
            peers.wait_for_file(0);
        }
        refuse_if_interrupted(path, self.interrupt)?;
        // Listing the directory discards what a network file system has cached about it.
        let entries = fs::read_dir(parent_directory(path)).map(Iterator::count);
        match entries.and_then(|_| path.symlink_metadata()) {
            Ok(_) => Ok(()),
            Err(_) => Err(TargetError::unsuitable(
                path.display(),
                "missing on this host, although another host has created it: they do not share this directory",
                "name a directory of a file system that all hosts have mounted at the same path",
            )),
        }
    }

    /// Creates a tree, and removes leftovers of killed runs in the same directory.
    pub(super) fn create_tree(
        &self,
        number: usize,
        tree: &FileTree,
        ready: &mut ReadyTargets,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<ReadyKind, TargetError> {
        let (examined, _) = self.require_permitted(number)?;
        remove_leftover_trees(&examined.path, watcher);
        let failed = |path: PathBuf, written: u64| {
            move |error: std::io::Error| match error.kind() {
                std::io::ErrorKind::Interrupted => FillError::Interrupted(examined.path.display().to_string()),
                _ => FillError::file("cannot create", &path, &error, written),
            }
        };
        let start = self.clock.now();
        if let Some(kept) = tree.kept {
            return self.open_kept_tree(&examined.path, (number, tree, kept), ready, watcher);
        }
        let role = self.tree_role(number);
        let path = match (role, self.others, tree.shared) {
            (TreeRole::Creator | TreeRole::User, Some((peers, _)), Some(shared)) => {
                let name = format!("fathom-{}-{shared}{SUFFIX}", peers.run_id());
                parent_directory(&examined.path).join(name)
            }
            _ => examined.path.clone(),
        };
        if role == TreeRole::User {
            self.await_creator(&path)?;
            let opened = TempTree::open(&path, role)?;
            let root = Arc::clone(&opened.root);
            ready.cleanup.add_tree(opened);
            return Ok(new_tree(path, root, tree));
        }
        let temporary = TempTree::create(&path, false, role).map_err(failed(path.clone(), 0))?;
        let root = Arc::clone(&temporary.root);
        ready.cleanup.add_tree(temporary);
        fill_tree(&root, tree, self.plan.seed, self.interrupt)
            .map_err(|(name, written, error)| failed(path.join(name), written)(error))?;
        watcher(Event::Prepared {
            target: path.display().to_string(),
            how: format!(
                "{} files in {} directories created for this run",
                tree.prefilled_count(),
                tree.directory_count() + 1
            ),
            took_ns: Nanos(self.clock.now().0 - start.0),
        });
        Ok(new_tree(path, root, tree))
    }
}

/// A tree that was created for this run.
fn new_tree(path: PathBuf, root: Arc<TreeRoot>, tree: &FileTree) -> ReadyKind {
    ReadyKind::Tree {
        path,
        tree: OpenTree {
            root,
            shape: tree.clone(),
        },
        claims: Arc::new(FileClaims::new(tree)),
    }
}

/// Refuses a tree with a symbolic link in place of a directory. Operations would follow the link
/// out of the tree.
fn refuse_links(path: &Path, root: &TreeRoot, tree: &FileTree, interrupt: &AtomicBool) -> Result<(), TargetError> {
    let mut name = String::new();
    for directory in 0..tree.directory_count() {
        refuse_if_interrupted(path, interrupt)?;
        tree.write_numbered_directory_path(directory, &mut name);
        if root.is_symbolic_link(&name) {
            return Err(TargetError::unsuitable(
                path.join(name).display(),
                "a symbolic link in place of a directory of the tree",
                "remove the link, or name another directory",
            ));
        }
    }
    Ok(())
}

impl Preparation<'_> {
    /// Prepares a kept tree: the files of an earlier run are removed, completed or used.
    fn open_kept_tree(
        &self,
        path: &Path,
        (number, tree, kept): (usize, &FileTree, KeptTree),
        ready: &mut ReadyTargets,
        watcher: &mut dyn FnMut(Event),
    ) -> Result<ReadyKind, TargetError> {
        let failed = cannot_examine(path.display());
        let folder = parent_directory(path);
        if creates_folder(tree) && !folder.exists() {
            fs::create_dir(folder).map_err(&failed)?;
        }
        let role = self.tree_role(number);
        if role == TreeRole::User {
            self.await_creator(path)?;
        }
        let is_missing = path.symlink_metadata().is_err();
        let mut opened = match is_missing {
            false => TempTree::open(path, role)?,
            true => TempTree::create(path, true, role).map_err(&failed)?,
        };
        let root = Arc::clone(&opened.root);
        // A tree that was never created has no operations and leaves nothing behind.
        let has_nothing = is_missing && kept == KeptTree::Existing && !creates_directories(self.plan, number);
        // Only the creator removes it. Of two hosts that remove it at the same time, each would
        // report the files that the other removed first.
        let is_removed = kept == KeptTree::Removed || has_nothing;
        opened.is_kept = !is_removed || role == TreeRole::User;
        ready.cleanup.add_tree(opened);
        refuse_links(path, &root, tree, self.interrupt)?;
        if kept == KeptTree::Emptied {
            root.remove_contents(MARKER).map_err(&failed)?;
        }
        let sizes = existing_sizes(path, &root, tree, self.interrupt)?;
        let is_short = |file: u32| sizes[file as usize].is_some_and(|size| size < tree.file_size(file));
        let skips_short = kept == KeptTree::Existing && needs_whole_files(self.plan, number);
        let short: Vec<u32> = (0..sizes.len() as u32).filter(|file| is_short(*file)).collect();
        let too_long = (0..sizes.len() as u32).find(|file| sizes[*file as usize] > Some(tree.file_size(*file)));
        let is_other_tree = skips_short && short.len() == sizes.iter().flatten().count();
        let wrong = too_long.or(short.first().copied().filter(|_| is_other_tree));
        let mut name = String::new();
        if let Some(file) = wrong.filter(|_| kept != KeptTree::Removed) {
            tree.write_file_path(file, false, &mut name);
            let size = sizes[file as usize].unwrap_or_default();
            let help = format!(
                "it has {size} bytes instead of {}; format the tree again, or describe the existing one",
                tree.file_size(file)
            );
            let kind = "not of the size that the tree defines";
            return Err(TargetError::unsuitable(path.join(name).display(), kind, help));
        }
        if skips_short && !short.is_empty() {
            report_short_files(path, short.len(), sizes.len(), watcher);
        }
        if kept == KeptTree::Completed {
            for file in short {
                tree.write_file_path(file, false, &mut name);
                root.remove_file(&name).map_err(&failed)?;
            }
        }
        Ok(ReadyKind::Tree {
            path: path.to_owned(),
            claims: Arc::new(FileClaims::from_existing(
                tree,
                |file| match sizes[file as usize] {
                    Some(_) if is_short(file) && skips_short => FileState::Lost,
                    Some(_) if is_short(file) && kept == KeptTree::Completed => FileState::Absent,
                    Some(_) => FileState::Present,
                    None => FileState::Absent,
                },
                |directory| {
                    let mut name = String::new();
                    tree.write_numbered_directory_path(directory, &mut name);
                    root.file_size(&name).is_ok()
                },
            )),
            tree: OpenTree {
                root,
                shape: tree.clone(),
            },
        })
    }
}

/// Reports files that are too short to be used.
fn report_short_files(path: &Path, short: usize, all: usize, watcher: &mut dyn FnMut(Event)) {
    let what = format!(
        "{short} of {all} files in {} are shorter than the tree defines, so they are not used",
        path.display()
    );
    watcher(Event::Notice {
        finding: Finding::new(SHORT_FILES, Severity::Warning, what),
    });
}

/// Returns the size of each file of a tree. `None` if the file does not exist.
fn existing_sizes(
    path: &Path,
    root: &TreeRoot,
    tree: &FileTree,
    interrupt: &AtomicBool,
) -> Result<Vec<Option<u64>>, TargetError> {
    let mut name = String::new();
    (0..tree.file_count() as u32)
        .map(|file| {
            refuse_if_interrupted(path, interrupt)?;
            tree.write_file_path(file, false, &mut name);
            Ok(root.file_size(&name).ok())
        })
        .collect()
}

/// A loop over millions of files takes minutes.
fn refuse_if_interrupted(path: &Path, interrupt: &AtomicBool) -> Result<(), TargetError> {
    match interrupt.load(Ordering::Relaxed) {
        true => Err(FillError::Interrupted(path.display().to_string()).into()),
        false => Ok(()),
    }
}

/// Returns all streams on a target.
pub(super) fn streams_on(plan: &Plan, number: usize) -> impl Iterator<Item = &Stream> {
    plan.streams_on(TargetId(number as u32)).map(|(_, stream)| stream)
}

/// Returns the file operations of all streams on this tree.
fn file_works(plan: &Plan, number: usize) -> impl Iterator<Item = &FileWork> {
    streams_on(plan, number).filter_map(|stream| stream.files.as_ref())
}

/// Returns the path of a kept tree's file in the directory that the user named.
pub fn kept_file_path(folder: &Path, tree: &FileTree, file: u32) -> PathBuf {
    let mut name = String::new();
    tree.write_file_path(file, false, &mut name);
    folder.join(KEPT_ROOT).join(name)
}

/// True if a job reads files of this tree, or writes at random positions. Reads of known key blocks
/// need no other parts of a file.
fn needs_whole_files(plan: &Plan, number: usize) -> bool {
    let streams = streams_on(plan, number).filter(|stream| {
        let keys = stream.verify.as_ref().and_then(|verify| verify.keys.as_ref());
        !keys.is_some_and(|keys| keys.known_only)
    });
    let works = streams.filter_map(|stream| stream.files.as_ref());
    let sessions = works.filter_map(|work| work.session.as_ref());
    let mut transfers = sessions.filter_map(|session| session.transfers.as_ref());
    transfers.any(|transfers| transfers.write_percent < 100 || transfers.random)
}

/// True if a job creates directories of this tree.
fn creates_directories(plan: &Plan, number: usize) -> bool {
    file_works(plan, number).any(|work| work.kinds().contains(&FileOperationKind::Mkdir))
}

/// Creates the directories, and the files that exist when the run starts.
fn fill_tree(
    root: &TreeRoot,
    tree: &FileTree,
    seed: u64,
    interrupt: &AtomicBool,
) -> Result<(), (String, u64, std::io::Error)> {
    let mut buffer = vec![0; CHUNK];
    let (mut random, fill_random) = (WideRandom::new(seed), engine::fill::random_fill());
    let mut path = String::new();
    let mut written = 0;
    create_directories(root, tree, interrupt).map_err(|(path, error)| (path, 0, error))?;
    for file in 0..tree.file_count() as u32 {
        if interrupt.load(Ordering::Relaxed) {
            return Err((path, written, std::io::ErrorKind::Interrupted.into()));
        }
        if !tree.is_prefilled(file) {
            continue;
        }
        tree.write_file_path(file, false, &mut path);
        let mut write = || {
            let mut opened = root.open_file(&path, OpenFor::Create, &CacheMode::BUFFERED)?;
            let mut bytes_left = tree.file_size(file);
            while bytes_left > 0 {
                let chunk = &mut buffer[..bytes_left.min(CHUNK as u64) as usize];
                fill_random(&mut random, chunk);
                opened.write_all(chunk)?;
                bytes_left -= chunk.len() as u64;
            }
            Ok(())
        };
        write().map_err(|error| (path.clone(), written, error))?;
        written += tree.file_size(file);
    }
    // Flush, because later write-back would disturb the test.
    root.flush_file_system()
        .map_err(|error| (String::new(), written, error))
}

/// Creates missing directories.
fn create_directories(
    root: &TreeRoot,
    tree: &FileTree,
    interrupt: &AtomicBool,
) -> Result<(), (String, std::io::Error)> {
    let mut path = String::new();
    for directory in 0..tree.directory_count() {
        if interrupt.load(Ordering::Relaxed) {
            return Err((path, std::io::ErrorKind::Interrupted.into()));
        }
        tree.write_numbered_directory_path(directory, &mut path);
        match root.create_directory(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err((path, error)),
            _ => {}
        }
    }
    Ok(())
}

/// Removes trees of killed runs in the same directory, and reports each.
fn remove_leftover_trees(new_root: &Path, watcher: &mut dyn FnMut(Event)) {
    let Ok(entries) = fs::read_dir(parent_directory(new_root)) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if !temp_file::has_own_name(&path, SUFFIX) {
            continue;
        }
        let Ok(root) = TreeRoot::open(&path) else { continue };
        let changed = fs::symlink_metadata(&path).and_then(|meta| meta.modified());
        let age = changed.ok().and_then(|changed| changed.elapsed().ok());
        // The run was killed after removing the marker and before removing the root.
        if age.is_some_and(|age| age > EMPTY_ROOT_GRACE) && fs::remove_dir(&path).is_ok() {
            continue;
        }
        let Some(marker) = temp_file::open_leftover(&path.join(MARKER)) else {
            continue;
        };
        let what = remove_root(&root, &path, Some(marker))
            .unwrap_or_else(|| format!("removed {}, a file tree left by a killed run", path.display()));
        watcher(Event::Notice {
            finding: Finding::new("LEFTOVER", Severity::Note, what),
        });
    }
}
