//! Who may make files, and when: none before all have examined their targets, and a rank that waits
//! for a file that another one makes continues once none is being made. So each looks at what is
//! there before the test, or at what is finished.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use model::Nanos;
use serde::{Deserialize, Serialize};

use super::POLL_INTERVAL;
use crate::targets::{Cleanup, Peers};

/// How far a rank is with its targets, when it has to wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Arrival {
    /// It has looked at all.
    Looked,
    /// Another one makes a file that a step needs here too.
    Waits {
        /// The step.
        step: u32,
    },
}

/// What is known of a rank beside its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AgentProgress {
    /// It has not ended and was not lost.
    pub(super) is_left: bool,
    /// The last step for which it was ready.
    pub(super) ready: Option<u32>,
}

/// The barrier of all ranks of a run.
#[derive(Debug)]
pub(super) struct Barrier {
    have_looked: Vec<bool>,
    /// All have: from then on files are made.
    making: bool,
    waiting: Vec<Option<u32>>,
}

impl Barrier {
    pub(super) fn new(ranks: usize) -> Barrier {
        Barrier {
            have_looked: vec![false; ranks],
            making: false,
            waiting: vec![None; ranks],
        }
    }

    /// A rank says how far it is.
    pub(super) fn record(&mut self, rank: u32, arrival: Arrival) {
        match arrival {
            Arrival::Looked => self.have_looked[rank as usize] = true,
            Arrival::Waits { step } => self.waiting[rank as usize] = Some(step),
        }
    }

    /// Those that may go on now, and are waited for from here on.
    pub(super) fn release(&mut self, ranks: &[AgentProgress]) -> Vec<u32> {
        let numbers = || (0..ranks.len() as u32).filter(|rank| ranks[*rank as usize].is_left);
        if !self.making {
            let all = numbers().all(|rank| self.have_looked[rank as usize]);
            self.making = all;
            return if all { numbers().collect() } else { Vec::new() };
        }
        let waits = |rank: u32| self.waiting[rank as usize];
        let all_rest_in = |step: u32| {
            let rests = |rank: u32| waits(rank).is_some() || ranks[rank as usize].ready >= Some(step);
            numbers().all(rests)
        };
        let due: Vec<u32> = numbers().filter(|rank| waits(*rank).is_some_and(all_rest_in)).collect();
        for rank in &due {
            self.waiting[*rank as usize] = None;
        }
        due
    }
}

/// Where a process waits until it may go on.
#[derive(Debug, Default)]
pub(super) struct Gate {
    /// How often it was opened.
    opened: Mutex<u64>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn open(&self) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.changed.notify_all();
    }

    /// Asks for it to be opened, and waits until it is, or the test is to stop.
    fn pass(&self, ask: impl FnOnce(), stop: &AtomicBool) {
        let before = *self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        ask();
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        while *opened == before && !stop.load(Ordering::Acquire) {
            let waited = self.changed.wait_timeout(opened, POLL_INTERVAL);
            opened = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The others of a fleet, as preparation sees them.
pub(super) struct FleetPeers<'a> {
    pub(super) gate: &'a Gate,
    pub(super) stop: &'a AtomicBool,
    /// What goes once all have ended.
    pub(super) removals: &'a Mutex<Vec<Cleanup>>,
    /// Tells the process that leads.
    pub(super) send: &'a (dyn Fn(Arrival) + Sync),
    /// Called when a step has really begun.
    pub(super) starts: &'a (dyn Fn(u32, Nanos) + Sync),
}

impl Peers for FleetPeers<'_> {
    fn await_examined(&self) {
        self.gate.pass(|| (self.send)(Arrival::Looked), self.stop);
    }

    fn wait_for_file(&self, step: u32) {
        self.gate.pass(|| (self.send)(Arrival::Waits { step }), self.stop);
    }

    fn defer_cleanup(&self, cleanup: Cleanup) {
        let mut removals = self.removals.lock().unwrap_or_else(PoisonError::into_inner);
        removals.push(cleanup);
    }

    fn began(&self, step: u32, at: Nanos) {
        (self.starts)(step, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAKES: AgentProgress = AgentProgress {
        is_left: true,
        ready: None,
    };
    const READY: AgentProgress = AgentProgress {
        is_left: true,
        ready: Some(0),
    };
    const LOST: AgentProgress = AgentProgress {
        is_left: false,
        ready: None,
    };

    #[test]
    fn nothing_is_made_before_all_have_examined() {
        let mut barrier = Barrier::new(3);
        barrier.record(0, Arrival::Looked);
        barrier.record(2, Arrival::Looked);
        assert!(barrier.release(&[MAKES; 3]).is_empty());
        barrier.record(1, Arrival::Looked);
        assert_eq!(barrier.release(&[MAKES; 3]), [0, 1, 2]);
        assert!(barrier.release(&[MAKES; 3]).is_empty(), "once");
        // One that was lost is not waited for.
        let mut barrier = Barrier::new(2);
        barrier.record(0, Arrival::Looked);
        assert_eq!(barrier.release(&[MAKES, LOST]), [0]);
    }

    #[test]
    fn a_waiting_rank_continues_once_no_files_are_made() {
        let mut barrier = Barrier::new(3);
        (0..3).for_each(|rank| barrier.record(rank, Arrival::Looked));
        barrier.release(&[MAKES; 3]);
        barrier.record(1, Arrival::Waits { step: 0 });
        assert!(barrier.release(&[MAKES; 3]).is_empty());
        barrier.record(2, Arrival::Waits { step: 0 });
        assert!(barrier.release(&[MAKES; 3]).is_empty(), "the first is still at it");
        assert_eq!(barrier.release(&[READY, MAKES, MAKES]), [1, 2]);
        // The next file of one of them, which the other one makes.
        barrier.record(2, Arrival::Waits { step: 0 });
        assert!(barrier.release(&[READY, MAKES, MAKES]).is_empty());
        assert_eq!(barrier.release(&[READY, READY, MAKES]), [2]);
        // For the second step, to have been ready for the first is not enough.
        barrier.record(0, Arrival::Waits { step: 1 });
        assert!(barrier.release(&[READY; 3]).is_empty());
        barrier.record(1, Arrival::Waits { step: 1 });
        assert_eq!(
            barrier.release(&[READY, READY, LOST]),
            [0, 1],
            "each waits for what the other has finished"
        );
    }
}
