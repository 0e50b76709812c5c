//! What a worker shares with others of its step while I/O runs: locks of files, and operations that are divided. Workers that
//! share nothing never come here.

use std::sync::Arc;

use engine::{Action, Request};
use model::Nanos;
use model::plan::FileLock as Wanted;

use crate::file_lock::FileLock;
use crate::flow::Share;
use crate::worker::Worker;

/// The locks that a worker takes around each turn.
#[derive(Debug)]
pub(crate) struct Locks {
    /// For each file of the engine: number of its target, its lock, and how it is wanted.
    of_files: Vec<(u32, Arc<FileLock>, Wanted)>,
    /// Those that are held: number of the target, file of the engine, and whether alone.
    held: Vec<(u32, u16, bool)>,
}

/// A stream's part of a flow.
#[derive(Debug)]
pub(crate) struct LiveFlow {
    share: Share,
    /// It does not look again before this time.
    sleeps_until: Nanos,
}

impl Locks {
    pub(crate) fn new(of_files: Vec<(u32, Arc<FileLock>, Wanted)>, most: usize) -> Locks {
        Locks {
            of_files,
            held: Vec::with_capacity(most),
        }
    }

    /// Another target takes this place of the engine.
    pub(crate) fn exchange(&mut self, place: u16, target: u32, lock: &Arc<FileLock>) {
        let of_file = &mut self.of_files[usize::from(place)];
        (of_file.0, of_file.1) = (target, Arc::clone(lock));
    }

    /// Waits until all files of these operations may be used. Everybody takes locks in the order of targets, so that no two
    /// wait for each other.
    pub(crate) fn take(&mut self, requests: &[Request]) {
        for request in requests {
            let (target, _, wanted) = &self.of_files[usize::from(request.file)];
            let alone = match wanted {
                Wanted::None => continue,
                Wanted::Exclusive => true,
                Wanted::ReadersTogether => request.action != Action::Read,
            };
            match self.held.iter_mut().find(|held| held.0 == *target) {
                Some(held) => held.2 |= alone,
                None => self.held.push((*target, request.file, alone)),
            }
        }
        self.held.sort_unstable();
        for (_, file, alone) in &self.held {
            self.of_files[usize::from(*file)].1.take(*alone);
        }
    }

    /// Gives back what is held.
    pub(crate) fn give_back(&mut self) {
        for (_, file, alone) in self.held.drain(..) {
            self.of_files[usize::from(file)].1.give_back(alone);
        }
    }
}

impl Drop for Locks {
    /// A worker that comes to grief must not keep others waiting for ever.
    fn drop(&mut self) {
        self.give_back();
    }
}

impl LiveFlow {
    pub(crate) fn new(share: Share) -> LiveFlow {
        LiveFlow {
            share,
            sleeps_until: Nanos(0),
        }
    }

    /// An operation of the stream was issued.
    pub(crate) fn issued(&mut self) {
        self.share.count();
    }
}

/// How soon a stream that is ahead of its share looks again where nothing is said: soon enough for the fastest devices.
const LOOK_AGAIN: Nanos = Nanos::micros(2);

impl Worker<'_> {
    /// True if a stream is ahead of its share and has to wait.
    #[inline(never)]
    pub(crate) fn is_ahead_of_flow(&mut self, number: usize) -> bool {
        let now = self.io.batch.reaped;
        let Some(flow) = &mut self.io.streams[number].flow else {
            return false;
        };
        if now < flow.sleeps_until {
            self.io.pacing.next_due = self.io.pacing.next_due.min(flow.sleeps_until);
            return true;
        }
        if !flow.share.is_exceeded() {
            return false;
        }
        let pause = flow.share.pause();
        if pause == Nanos(0) {
            self.io.pacing.next_due = self.io.pacing.next_due.min(now + LOOK_AGAIN);
        } else if self.io.in_flight == 0 && self.io.requests.is_empty() {
            flow.sleeps_until = now + pause;
            self.io.pacing.next_due = self.io.pacing.next_due.min(flow.sleeps_until);
        }
        // Else it sleeps once everything that is in flight has ended.
        true
    }
}
