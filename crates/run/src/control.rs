//! What the coordinator asks of the workers of a job: a few words that they read once a turn and,
//! but for the moment at which they begin, never write.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use model::Nanos;
use model::event::EndReason;

/// Requests to the workers of one job.
#[derive(Debug, Default)]
pub(crate) struct JobControl {
    /// Raised with every request; a worker that sees a new value looks at the rest.
    commands: AtomicU32,
    /// 0, or one more than the depth in force for each worker.
    depth: AtomicU32,
    /// Raised when statistics are to begin anew.
    epoch: AtomicU32,
    stopping: AtomicU32,
    reason: Mutex<Option<EndReason>>,
    /// 0, or one more than the moment at which the first worker began.
    began: AtomicU64,
}

impl JobControl {
    /// Changes whenever there is something new.
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
        self.raise();
    }

    /// Why the job is to end, if it is.
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
        self.raise();
    }

    /// The queue depth of each worker, if it was ever set.
    pub(crate) fn depth(&self) -> Option<u32> {
        self.depth.load(Ordering::Acquire).checked_sub(1)
    }

    /// Lets all workers begin their measured window anew.
    pub(crate) fn restart_statistics(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.raise();
    }

    /// How often statistics were begun anew.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// A worker begins with its operations at this moment.
    pub(crate) fn note_start(&self, at: Nanos) {
        let earliest = |noted: u64| match noted {
            0 => Some(at.0 + 1),
            _ => Some(noted.min(at.0 + 1)),
        };
        let _ = self.began.fetch_update(Ordering::Relaxed, Ordering::Relaxed, earliest);
    }

    /// When the first worker began, once one has.
    pub(crate) fn began(&self) -> Option<Nanos> {
        self.began.load(Ordering::Relaxed).checked_sub(1).map(Nanos)
    }

    fn raise(&self) {
        self.commands.fetch_add(1, Ordering::Release);
    }
}
