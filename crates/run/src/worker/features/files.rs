//! The files of a worker that are opened and closed while it runs.

use engine::Request;
use model::trace::iolog::Action;

use super::Features;
use super::file_locks::FileLocks;
use super::file_set::{FileSet, FileSets};
use super::issue_trace::IssueTrace;
use crate::worker::ReadyTarget;
use crate::worker::io_loop::IoLoop;

/// Files that are opened and closed while the worker runs, and the features that track them.
#[derive(Debug, Default)]
pub(in crate::worker) struct Files {
    pub(in crate::worker) sets: Option<FileSets>,
    pub(in crate::worker) watchers: FileWatchers,
}

/// The features that track open files: locks, which belong to targets, and the trace of issued
/// operations.
#[derive(Debug, Default)]
pub(in crate::worker) struct FileWatchers {
    pub(in crate::worker) locks: Option<FileLocks>,
    pub(in crate::worker) trace: Option<IssueTrace>,
}

impl Features {
    /// Returns the engine's indexes of the files that the streams have open.
    pub(super) fn open_files(&self, io: &IoLoop) -> Vec<u16> {
        let streams = 0..io.streams.len();
        let mut open: Vec<u16> = streams.flat_map(|number| self.list_open_files(io, number)).collect();
        open.sort_unstable();
        open.dedup();
        open
    }

    /// Returns the engine's indexes of the files that a stream has open.
    pub(in crate::worker) fn list_open_files(&self, io: &IoLoop, number: usize) -> Vec<u16> {
        if let Some(replay) = &self.replay {
            return replay.open_files(number);
        }
        let sets = self.files.sets.as_ref();
        match sets.and_then(|sets| sets.get(number)) {
            Some(set) => set.open_files(),
            None => vec![io.streams[number].file],
        }
    }

    /// Returns the files of a stream that are not open in the engine.
    pub(in crate::worker) fn list_closed_files(&self, number: usize) -> Vec<&ReadyTarget> {
        if let Some(replay) = &self.replay {
            return replay.closed_files(number);
        }
        let sets = self.files.sets.as_ref();
        sets.and_then(|sets| sets.get(number))
            .map_or(Vec::new(), FileSet::closed_files)
    }
}

impl Files {
    /// Queues an operation that does not come from a sequence.
    pub(super) fn queue_unscheduled(&mut self, io: &mut IoLoop, pool: usize, number: usize, request: Request) {
        io.queue_unscheduled(pool, number, request);
        self.watchers.on_queued(io, &request);
    }

    /// Returns the index of a stream's current file within the stream.
    pub(super) fn current(&self, number: usize) -> u32 {
        let sets = self.sets.as_ref();
        sets.and_then(|sets| sets.get(number)).map_or(0, FileSet::current) as u32
    }

    /// Returns the engine's index of a stream's file, after opening it if necessary. `None` if it
    /// cannot be opened now.
    pub(super) fn open(&mut self, io: &mut IoLoop, number: usize, file: u32) -> Option<u16> {
        let Some(set) = self.sets.as_mut().and_then(|sets| sets.get_mut(number)) else {
            return Some(io.streams[number].file);
        };
        match set.open_to_verify(io, &mut self.watchers, file as usize) {
            Ok(file) => file,
            Err(failure) => {
                io.fail(*failure);
                None
            }
        }
    }
}

impl FileWatchers {
    /// Called after a request was queued.
    pub(in crate::worker) fn on_queued(&mut self, io: &IoLoop, request: &Request) {
        if let Some(trace) = &mut self.trace {
            trace.on_queued(request, io.batch.reap_time);
        }
    }

    pub(super) fn on_opened(&mut self, io: &IoLoop, slot: u16) {
        if let Some(trace) = &mut self.trace {
            trace.write(io.batch.reap_time, slot, Action::Open, None);
        }
    }

    pub(super) fn on_closed(&mut self, io: &IoLoop, slot: u16) {
        if let Some(trace) = &mut self.trace {
            trace.write(io.batch.reap_time, slot, Action::Close, None);
        }
    }

    /// Called after the file in a slot of the engine was closed and another target was opened
    /// there.
    pub(super) fn on_exchanged(&mut self, io: &IoLoop, slot: u16, (target, ready): (u32, &ReadyTarget)) {
        if let Some(locks) = &mut self.locks {
            locks.exchange(slot, target, &ready.lock);
        }
        self.on_closed(io, slot);
        if let Some(trace) = &mut self.trace {
            trace.set_target(slot, target);
        }
        self.on_opened(io, slot);
    }
}
