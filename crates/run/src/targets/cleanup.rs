//! Cleanup of files at the end of a run: removes temporary ones and renews marks.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use engine::{FileId, sys};
use model::finding::Finding;

use super::marker;
use super::temp_file::TempFile;
use super::tree::TempTree;
use super::unwritten::{UnwrittenParts, join, subtract};

/// The cleanup at the end of a run, performed on drop.
#[derive(Debug, Default)]
pub struct Cleanup {
    /// Declared first, so that they are removed before any wait.
    temporary: Vec<TempFile>,
    trees: Vec<TempTree>,
    removals: Vec<Removal>,
    renewals: Renewals,
}

/// A file to remove according to the plan.
#[derive(Debug)]
struct Removal {
    path: PathBuf,
    /// Absent for a name on which an engine creates files. Then any file of that name is removed.
    id: Option<FileId>,
}

impl Cleanup {
    /// Adds a temporary file to remove.
    pub(super) fn add_temporary(&mut self, file: TempFile) -> &TempFile {
        self.temporary.push(file);
        &self.temporary[self.temporary.len() - 1]
    }

    /// Adds a tree to remove, unless it is kept.
    pub(super) fn add_tree(&mut self, tree: TempTree) {
        self.trees.push(tree);
    }

    /// Removes the temporary files immediately, and reports those that remain.
    pub(crate) fn remove_temporary_files(&mut self) -> Vec<Finding> {
        self.temporary.drain(..).filter_map(TempFile::remove).collect()
    }

    /// Removes the trees immediately, and reports what remains in them. Trees that other hosts may
    /// still use stay, unless `with_shared`.
    pub(crate) fn remove_trees(&mut self, with_shared: bool) -> Vec<Finding> {
        let due = self.trees.extract_if(.., |tree| with_shared || !tree.awaits_peers());
        due.filter_map(|mut tree| tree.remove()).collect()
    }

    /// True if a tree is left that other hosts may still use.
    pub(crate) fn has_shared_trees(&self) -> bool {
        self.trees.iter().any(TempTree::awaits_peers)
    }

    /// Adds a file to remove according to the plan.
    pub(super) fn add_named(&mut self, path: PathBuf, id: Option<FileId>) {
        self.removals.retain(|removal| removal.path != path);
        self.removals.push(Removal { path, id });
    }

    /// Keeps the files that the plan would remove, because nothing was executed.
    pub(super) fn keep_named(&mut self) {
        self.removals.clear();
    }

    /// Renews no mark, because another program changed a file during the test.
    pub(crate) fn mark_as_changed(&mut self) {
        for renewal in self.renewals.list.drain(..) {
            let _ = marker::mark_changed_during_run(&renewal.file);
        }
    }

    pub(super) fn renewals_mut(&mut self) -> &mut Renewals {
        &mut self.renewals
    }
}

impl Drop for Cleanup {
    fn drop(&mut self) {
        for Removal { path, id } in &self.removals {
            let _ = match id {
                Some(id) => sys::file::remove(path, *id),
                None => fs::remove_file(path),
            };
        }
    }
}

/// Marked files that are written to. Dropping it renews their marks.
#[derive(Debug, Default)]
pub(super) struct Renewals {
    list: Vec<Renewal>,
    /// Time from which changes by other programs have a later time stamp.
    settled: Option<Instant>,
}

/// The renewal of a file's mark.
#[derive(Debug)]
pub(super) struct Renewal {
    file: fs::File,
    id: FileId,
    /// Length when ready. A different length means that another program changed the file.
    length: Option<u64>,
    /// The parts that the run writes.
    written: Vec<Range<u64>>,
    /// Marked parts that the run does not write. A difference means that another program changed
    /// them.
    unwritten: UnwrittenParts,
}

impl Renewal {
    /// The renewal of an intact mark, for a run that writes only these parts of the file. `None` if
    /// the system cannot identify the file.
    pub(super) fn new(file: &fs::File, written: Vec<Range<u64>>) -> Option<Renewal> {
        let id = sys::file::file_stamp(file).ok()?.id;
        let file = file.try_clone().ok()?;
        let unwritten = subtract(&marker::marked_parts(&file), &written);
        Some(Renewal {
            unwritten: UnwrittenParts::read(&file, unwritten).unwrap_or_default(),
            file,
            id,
            length: None,
            written,
        })
    }
}

impl Renewals {
    /// True if the mark of this file will be renewed.
    pub(super) fn contains(&self, file: &fs::File) -> bool {
        let stamp = sys::file::file_stamp(file);
        stamp.is_ok_and(|stamp| self.list.iter().any(|renewal| renewal.id == stamp.id))
    }

    /// Renews the mark of a file at the end.
    pub(super) fn add(&mut self, renewal: Renewal) {
        let Some(known) = self.list.iter_mut().find(|known| known.id == renewal.id) else {
            self.list.push(renewal);
            return;
        };
        // Another target of the run is the same file, so each may write what the other does not.
        known.written = join([&known.written[..], &renewal.written[..]].concat());
        known.unwritten = UnwrittenParts::default();
    }

    /// Records that a file is ready and will keep its length. `seal` renews the mark of a file that
    /// is not written to immediately.
    pub(super) fn record_ready(&mut self, file: &fs::File, seal: bool) {
        let Ok(stamp) = sys::file::file_stamp(file) else { return };
        let Some(position) = self.list.iter().position(|renewal| renewal.id == stamp.id) else {
            return;
        };
        self.list[position].length = Some(stamp.length);
        if seal {
            let renewal = self.list.swap_remove(position);
            self.renew(&renewal);
        }
    }

    fn renew(&mut self, renewal: &Renewal) {
        let length = sys::file::file_stamp(&renewal.file).ok().map(|stamp| stamp.length);
        if renewal.length.is_some() && renewal.length != length {
            let _ = marker::mark_changed_during_run(&renewal.file);
            return;
        }
        // The server of a remote file sets its times once it has all data.
        if sys::file::is_remote(&renewal.file) {
            let _ = renewal.file.sync_all();
        }
        let marked = join([&renewal.written[..], renewal.unwritten.parts()].concat());
        // Without a mark the file counts as foreign, which is safe.
        if let Ok(settled) = marker::seal(&renewal.file, &marked, &renewal.unwritten) {
            self.settled = self.settled.max(Some(settled));
        }
    }
}

impl Drop for Renewals {
    fn drop(&mut self) {
        for renewal in std::mem::take(&mut self.list) {
            self.renew(&renewal);
        }
        if let Some(settled) = self.settled {
            thread::sleep(settled.saturating_duration_since(Instant::now()));
        }
    }
}
