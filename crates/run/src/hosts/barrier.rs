//! Synchronizes the creation of files and the removal of shared trees. No rank creates files before
//! all ranks have examined their targets. A rank that needs another rank's file continues once no
//! rank is creating files. So each rank sees either the files from before the test, or complete new
//! ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use model::Nanos;
use serde::{Deserialize, Serialize};

use super::POLL_INTERVAL;
use crate::targets::{Cleanup, Peers};

/// A step for which no rank is ever ready.
const AFTER_ALL_STEPS: u32 = u32::MAX;

/// The point at which a rank waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Arrival {
    /// It has examined all targets.
    Examined,
    /// It needs a file that another rank creates.
    WaitingForFile {
        /// Index of the step that needs the file.
        step: u32,
    },
    /// It has ended its work, and removes a tree once the others have ended theirs.
    Ended,
}

/// Progress of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AgentProgress {
    /// It has not ended and was not lost.
    pub(super) is_active: bool,
    /// The last step for which it was ready.
    pub(super) ready: Option<u32>,
}

/// The barrier of all ranks of a run.
#[derive(Debug)]
pub(super) struct Barrier {
    has_examined: Vec<bool>,
    /// All ranks have examined their targets and may create files.
    creating_files: bool,
    waiting: Vec<Option<u32>>,
}

impl Barrier {
    pub(super) fn new(ranks: usize) -> Barrier {
        Barrier {
            has_examined: vec![false; ranks],
            creating_files: false,
            waiting: vec![None; ranks],
        }
    }

    /// Records that a rank waits.
    pub(super) fn record(&mut self, rank: u32, arrival: Arrival) {
        match arrival {
            Arrival::Examined => self.has_examined[rank as usize] = true,
            Arrival::WaitingForFile { step } => self.waiting[rank as usize] = Some(step),
            Arrival::Ended => self.waiting[rank as usize] = Some(AFTER_ALL_STEPS),
        }
    }

    /// Releases the ranks that may continue now.
    pub(super) fn release(&mut self, ranks: &[AgentProgress]) -> Vec<u32> {
        let numbers = || (0..ranks.len() as u32).filter(|rank| ranks[*rank as usize].is_active);
        if !self.creating_files {
            let all_examined = numbers().all(|rank| self.has_examined[rank as usize]);
            self.creating_files = all_examined;
            return if all_examined { numbers().collect() } else { Vec::new() };
        }
        let waits = |rank: u32| self.waiting[rank as usize];
        let all_idle_in = |step: u32| {
            let is_idle = |rank: u32| waits(rank).is_some() || ranks[rank as usize].ready >= Some(step);
            numbers().all(is_idle)
        };
        let due: Vec<u32> = numbers().filter(|rank| waits(*rank).is_some_and(all_idle_in)).collect();
        for rank in &due {
            self.waiting[*rank as usize] = None;
        }
        due
    }
}

/// Blocks the preparing thread until the coordinator lets it continue.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// How many times it was opened.
    opened: Mutex<u64>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn open(&self) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    /// Sends the request and waits until the gate opens or the test must stop.
    fn pass(&self, request: impl FnOnce(), stop: &AtomicBool) {
        let before = *self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        request();
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        while *opened == before && !stop.load(Ordering::Acquire) {
            let waited = self.changed.wait_timeout(opened, POLL_INTERVAL);
            opened = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The other ranks, for preparing targets.
pub(super) struct FleetPeers<'a> {
    pub(super) run_id: &'a str,
    pub(super) gate: &'a Gate,
    pub(super) stop: &'a AtomicBool,
    /// Files to remove once all ranks have finished.
    pub(super) cleanups: &'a Mutex<Vec<Cleanup>>,
    /// Sends to the coordinator.
    pub(super) send: &'a (dyn Fn(Arrival) + Sync),
    /// Called when a step has actually begun.
    pub(super) on_begin: &'a (dyn Fn(u32, Nanos) + Sync),
}

impl Peers for FleetPeers<'_> {
    fn await_examined(&self) {
        self.gate.pass(|| (self.send)(Arrival::Examined), self.stop);
    }

    fn wait_for_file(&self, step: u32) {
        self.gate
            .pass(|| (self.send)(Arrival::WaitingForFile { step }), self.stop);
    }

    fn await_ended(&self) {
        self.gate.pass(|| (self.send)(Arrival::Ended), self.stop);
    }

    fn run_id(&self) -> &str {
        self.run_id
    }

    fn defer_cleanup(&self, cleanup: Cleanup) {
        let mut cleanups = self.cleanups.lock().unwrap_or_else(PoisonError::into_inner);
        cleanups.push(cleanup);
    }

    fn report_start(&self, step: u32, at: Nanos) {
        (self.on_begin)(step, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATING: AgentProgress = progress(true, None);
    const READY: AgentProgress = progress(true, Some(0));
    const LOST: AgentProgress = progress(false, None);

    const fn progress(is_active: bool, ready: Option<u32>) -> AgentProgress {
        AgentProgress { is_active, ready }
    }

    #[test]
    fn no_files_are_created_before_all_have_examined() {
        let mut barrier = Barrier::new(3);
        barrier.record(0, Arrival::Examined);
        barrier.record(2, Arrival::Examined);
        assert!(barrier.release(&[CREATING; 3]).is_empty());
        barrier.record(1, Arrival::Examined);
        assert_eq!(barrier.release(&[CREATING; 3]), [0, 1, 2]);
        assert!(barrier.release(&[CREATING; 3]).is_empty(), "once");
        // The barrier does not wait for a lost rank.
        let mut barrier = Barrier::new(2);
        barrier.record(0, Arrival::Examined);
        assert_eq!(barrier.release(&[CREATING, LOST]), [0]);
    }

    #[test]
    fn a_waiting_rank_continues_once_no_files_are_created() {
        let mut barrier = Barrier::new(3);
        (0..3).for_each(|rank| barrier.record(rank, Arrival::Examined));
        barrier.release(&[CREATING; 3]);
        barrier.record(1, Arrival::WaitingForFile { step: 0 });
        assert!(barrier.release(&[CREATING; 3]).is_empty());
        barrier.record(2, Arrival::WaitingForFile { step: 0 });
        assert!(
            barrier.release(&[CREATING; 3]).is_empty(),
            "the first rank is still creating files"
        );
        assert_eq!(barrier.release(&[READY, CREATING, CREATING]), [1, 2]);
        // A rank waits for its next file, which another rank is creating.
        barrier.record(2, Arrival::WaitingForFile { step: 0 });
        assert!(barrier.release(&[READY, CREATING, CREATING]).is_empty());
        assert_eq!(barrier.release(&[READY, READY, CREATING]), [2]);
        // Being ready for the first step is not enough for the second.
        barrier.record(0, Arrival::WaitingForFile { step: 1 });
        assert!(barrier.release(&[READY; 3]).is_empty());
        barrier.record(1, Arrival::WaitingForFile { step: 1 });
        assert_eq!(
            barrier.release(&[READY, READY, LOST]),
            [0, 1],
            "each waits for a file that the other has finished"
        );
    }

    #[test]
    fn a_rank_that_has_ended_waits_for_the_others_to_end() {
        let mut barrier = Barrier::new(3);
        (0..3).for_each(|rank| barrier.record(rank, Arrival::Examined));
        barrier.release(&[CREATING; 3]);
        barrier.record(0, Arrival::Ended);
        assert!(barrier.release(&[READY; 3]).is_empty(), "the others are still working");
        barrier.record(1, Arrival::Ended);
        assert!(barrier.release(&[READY; 3]).is_empty());
        assert_eq!(barrier.release(&[READY, READY, LOST]), [0, 1]);
    }
}
