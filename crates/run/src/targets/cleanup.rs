//! Cleanup of files at the end of a run: removes temporary ones and renews marks.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::thread;
use std::time::Instant;

use engine::{FileId, sys};
use model::finding::Finding;

use super::marker::{self, Sample};
use super::temp_file::TempFile;
use super::tree::TempTree;

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

    /// Leaves the marks as they are, because another program changed a file during the test.
    pub(crate) fn keep_marks(&mut self) {
        self.renewals.list.clear();
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

#[derive(Debug)]
struct Renewal {
    file: fs::File,
    id: FileId,
    /// Length when ready. A different length means that another program changed the file.
    length: Option<u64>,
    /// Samples of the parts that the test does not write. A difference means the same.
    unwritten: Vec<Sample>,
}

impl Renewals {
    /// Renews the mark of a file at the end.
    pub(super) fn add(&mut self, file: &fs::File) {
        let (Ok(file), Ok(stamp)) = (file.try_clone(), sys::file::file_stamp(file)) else {
            return;
        };
        self.list.retain(|renewal| renewal.id != stamp.id);
        self.list.push(Renewal {
            file,
            id: stamp.id,
            length: None,
            unwritten: Vec::new(),
        });
    }

    /// Records that a file is ready, will keep its length, and is written only in these parts.
    /// `seal` renews the mark of a file that is not written to immediately.
    pub(super) fn record_ready(&mut self, file: &fs::File, seal: bool, written: &[Range<u64>]) {
        let Ok(stamp) = sys::file::file_stamp(file) else { return };
        let Some(position) = self.list.iter().position(|renewal| renewal.id == stamp.id) else {
            return;
        };
        self.list[position].length = Some(stamp.length);
        self.list[position].unwritten = marker::samples_outside(file, stamp.length, written);
        if seal {
            let renewal = self.list.swap_remove(position);
            self.renew(&renewal);
        }
    }

    fn renew(&mut self, renewal: &Renewal) {
        let length = sys::file::file_stamp(&renewal.file).ok().map(|stamp| stamp.length);
        let is_unchanged = |sample: &Sample| sample.is_unchanged(&renewal.file);
        if renewal.length.is_some() && renewal.length != length || !renewal.unwritten.iter().all(is_unchanged) {
            return;
        }
        // The server of a remote file sets its times once it has all data.
        if sys::file::is_remote(&renewal.file) {
            let _ = renewal.file.sync_all();
        }
        // Without a mark the file counts as foreign, which is safe.
        if let Ok(settled) = marker::seal(&renewal.file) {
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
