//! Commands from the coordinating thread to the workers of a job. They are a few words that workers
//! read once per turn and, except for their start time, never write.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use model::Nanos;
use model::event::EndReason;

/// Commands to the workers of a job.
#[derive(Debug, Default)]
pub(crate) struct JobControl {
    /// Incremented with every command; a worker that sees a new value reads the others.
    commands: AtomicU32,
    /// 0, or one more than each worker's current depth.
    depth: AtomicU32,
    /// Incremented to reset the statistics.
    epoch: AtomicU32,
    stopping: AtomicU32,
    reason: Mutex<Option<EndReason>>,
    /// 0, or one more than the start time of the first worker.
    began: AtomicU64,
}

impl JobControl {
    /// A counter that changes with every command.
    #[inline(always)]
    pub(crate) fn commands(&self) -> u32 {
        self.commands.load(Ordering::Relaxed)
    }

    /// Asks all workers to end.
    pub(crate) fn stop(&self, reason: EndReason) {
        if let Ok(mut slot) = self.reason.lock() {
            slot.get_or_insert(reason);
        }
        self.stopping.store(1, Ordering::Release);
        self.announce_command();
    }

    /// Why the job must end, if it must.
    pub(crate) fn stop_requested(&self) -> Option<EndReason> {
        if self.stopping.load(Ordering::Acquire) == 0 {
            return None;
        }
        self.reason
            .lock()
            .ok()
            .and_then(|slot| slot.clone())
            .or(Some(EndReason::Interrupted))
    }

    /// Sets the queue depth of each worker.
    pub(crate) fn set_depth(&self, depth: u32) {
        self.depth.store(depth + 1, Ordering::Release);
        self.announce_command();
    }

    /// The queue depth of each worker, if it was ever set.
    pub(crate) fn depth(&self) -> Option<u32> {
        self.depth.load(Ordering::Acquire).checked_sub(1)
    }

    /// Makes all workers restart their measured window.
    pub(crate) fn restart_statistics(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.announce_command();
    }

    /// How often the statistics were reset.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Records the start time of a worker.
    pub(crate) fn note_start(&self, at: Nanos) {
        let earliest = |noted: u64| match noted {
            0 => Some(at.0 + 1),
            _ => Some(noted.min(at.0 + 1)),
        };
        let _ = self.began.fetch_update(Ordering::Relaxed, Ordering::Relaxed, earliest);
    }

    /// The start time of the first worker.
    pub(crate) fn first_start(&self) -> Option<Nanos> {
        self.began.load(Ordering::Relaxed).checked_sub(1).map(Nanos)
    }

    fn announce_command(&self) {
        self.commands.fetch_add(1, Ordering::Release);
    }
}
