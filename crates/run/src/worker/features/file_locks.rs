//! File locks around each turn (fio `lockfile`), between the streams of a step.

use std::sync::Arc;

use engine::{Action, Request};
use model::plan::FileLock as Mode;

use crate::file_lock::FileLock;
use crate::worker::setup::{Assignment, OpenedFiles};

/// The locks that a worker takes around each turn.
#[derive(Debug)]
pub(crate) struct FileLocks {
    files: Vec<LockedFile>,
    /// The held locks: number of the target, file of the engine, and whether exclusively.
    held: Vec<(u32, u16, bool)>,
}

/// A file of the engine with its lock.
#[derive(Debug)]
struct LockedFile {
    /// Number of the target.
    target: u32,
    lock: Arc<FileLock>,
    mode: Mode,
}

impl FileLocks {
    pub(crate) fn from_plan(assignment: &Assignment<'_>, opened: &OpenedFiles, slots: u32) -> Option<FileLocks> {
        let streams = &assignment.worker.streams;
        if streams.iter().all(|stream| stream.lock.is_none()) {
            return None;
        }
        // Streams that use the same file in the same way share its entry; if one of them locks it,
        // the lock applies to both.
        let mode = |place: usize| {
            let users = streams.iter().zip(&opened.streams).filter(|(_, opened)| {
                let rule_files = opened.rules.iter().flat_map(|(_, files)| files);
                let mut files = opened.files.iter().chain(rule_files);
                files.any(|file| usize::from(*file) == place)
            });
            users.map(|(stream, _)| stream.lock).max().unwrap_or_default()
        };
        let files = opened.targets.iter().enumerate().map(|(place, target)| LockedFile {
            target: *target,
            lock: Arc::clone(&assignment.targets[*target as usize].lock),
            mode: mode(place),
        });
        Some(FileLocks {
            files: files.collect(),
            held: Vec::with_capacity(slots as usize),
        })
    }

    /// Called when another target takes over this file index of the engine.
    pub(super) fn exchange(&mut self, place: u16, target: u32, lock: &Arc<FileLock>) {
        let file = &mut self.files[usize::from(place)];
        (file.target, file.lock) = (target, Arc::clone(lock));
    }

    /// Acquires the locks of all files of these requests. Every worker does so in the order of
    /// targets, which prevents deadlocks.
    pub(super) fn acquire(&mut self, requests: &[Request]) {
        for request in requests {
            let file = &self.files[usize::from(request.file)];
            let exclusive = match file.mode {
                Mode::None => continue,
                Mode::Exclusive => true,
                Mode::ReadersTogether => request.action != Action::Read,
            };
            match self.held.iter_mut().find(|held| held.0 == file.target) {
                Some(held) => held.2 |= exclusive,
                None => self.held.push((file.target, request.file, exclusive)),
            }
        }
        self.held.sort_unstable();
        for (_, file, exclusive) in &self.held {
            self.files[usize::from(*file)].lock.acquire(*exclusive);
        }
    }

    /// Releases all held locks.
    pub(super) fn release(&mut self) {
        for (_, file, exclusive) in self.held.drain(..) {
            self.files[usize::from(file)].lock.release(exclusive);
        }
    }
}

impl Drop for FileLocks {
    /// A panic must release the locks.
    fn drop(&mut self) {
        self.release();
    }
}
