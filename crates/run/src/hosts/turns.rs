//! Who may make files, and when: nobody before all have looked at their targets, and whoever waits for a file that another one makes goes
//! on once nobody is making any. So each looks at what is there before the test, or at what is finished.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use model::Nanos;
use serde::{Deserialize, Serialize};

use super::LOOK;
use crate::targets::{Cleanup, Peers};

/// How far a rank is with its targets, when it has to wait for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Turn {
    /// It has looked at all.
    Looked,
    /// Another one makes a file that a step needs here too.
    Waits {
        /// The step.
        step: u32,
    },
}

/// What is known of a rank beside its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Standing {
    /// It has not ended and was not lost.
    pub(super) is_left: bool,
    /// The last step for which it was ready.
    pub(super) ready: Option<u32>,
}

/// The turns of all ranks of a run.
#[derive(Debug)]
pub(super) struct Turns {
    have_looked: Vec<bool>,
    /// All have: from then on files are made.
    making: bool,
    waiting: Vec<Option<u32>>,
}

impl Turns {
    pub(super) fn of(ranks: usize) -> Turns {
        Turns {
            have_looked: vec![false; ranks],
            making: false,
            waiting: vec![None; ranks],
        }
    }

    /// A rank says how far it is.
    pub(super) fn hear(&mut self, rank: u32, turn: Turn) {
        match turn {
            Turn::Looked => self.have_looked[rank as usize] = true,
            Turn::Waits { step } => self.waiting[rank as usize] = Some(step),
        }
    }

    /// Those that may go on now, and are waited for from here on.
    pub(super) fn due(&mut self, ranks: &[Standing]) -> Vec<u32> {
        let numbers = || (0..ranks.len() as u32).filter(|rank| ranks[*rank as usize].is_left);
        if !self.making {
            let all = numbers().all(|rank| self.have_looked[rank as usize]);
            self.making = all;
            return if all { numbers().collect() } else { Vec::new() };
        }
        let waits = |rank: u32| self.waiting[rank as usize];
        let nobody_makes = |step: u32| {
            let rests = |rank: u32| waits(rank).is_some() || ranks[rank as usize].ready >= Some(step);
            numbers().all(rests)
        };
        let due: Vec<u32> = numbers()
            .filter(|rank| waits(*rank).is_some_and(nobody_makes))
            .collect();
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
            let waited = self.changed.wait_timeout(opened, LOOK);
            opened = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The others of a fleet, as preparation sees them.
pub(super) struct OthersOf<'a> {
    pub(super) gate: &'a Gate,
    pub(super) stop: &'a AtomicBool,
    /// What goes once all have ended.
    pub(super) removals: &'a Mutex<Vec<Cleanup>>,
    /// Tells the process that leads.
    pub(super) tell: &'a (dyn Fn(Turn) + Sync),
    /// Is told when a step has really begun.
    pub(super) starts: &'a (dyn Fn(u32, Nanos) + Sync),
}

impl Peers for OthersOf<'_> {
    fn await_examined(&self) {
        self.gate.pass(|| (self.tell)(Turn::Looked), self.stop);
    }

    fn wait_for_file(&self, step: u32) {
        self.gate.pass(|| (self.tell)(Turn::Waits { step }), self.stop);
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

    const MAKES: Standing = Standing {
        is_left: true,
        ready: None,
    };
    const READY: Standing = Standing {
        is_left: true,
        ready: Some(0),
    };
    const LOST: Standing = Standing {
        is_left: false,
        ready: None,
    };

    #[test]
    fn nobody_makes_anything_before_all_have_looked() {
        let mut turns = Turns::of(3);
        turns.hear(0, Turn::Looked);
        turns.hear(2, Turn::Looked);
        assert!(turns.due(&[MAKES; 3]).is_empty());
        turns.hear(1, Turn::Looked);
        assert_eq!(turns.due(&[MAKES; 3]), [0, 1, 2]);
        assert!(turns.due(&[MAKES; 3]).is_empty(), "once");
        // One that was lost is not waited for.
        let mut turns = Turns::of(2);
        turns.hear(0, Turn::Looked);
        assert_eq!(turns.due(&[MAKES, LOST]), [0]);
    }

    #[test]
    fn whoever_waits_goes_on_once_nobody_is_making_files() {
        let mut turns = Turns::of(3);
        (0..3).for_each(|rank| turns.hear(rank, Turn::Looked));
        turns.due(&[MAKES; 3]);
        turns.hear(1, Turn::Waits { step: 0 });
        assert!(turns.due(&[MAKES; 3]).is_empty());
        turns.hear(2, Turn::Waits { step: 0 });
        assert!(turns.due(&[MAKES; 3]).is_empty(), "the first is still at it");
        assert_eq!(turns.due(&[READY, MAKES, MAKES]), [1, 2]);
        // The next file of one of them, which the other one makes.
        turns.hear(2, Turn::Waits { step: 0 });
        assert!(turns.due(&[READY, MAKES, MAKES]).is_empty());
        assert_eq!(turns.due(&[READY, READY, MAKES]), [2]);
        // For the second step, to have been ready for the first is not enough.
        turns.hear(0, Turn::Waits { step: 1 });
        assert!(turns.due(&[READY; 3]).is_empty());
        turns.hear(1, Turn::Waits { step: 1 });
        assert_eq!(
            turns.due(&[READY, READY, LOST]),
            [0, 1],
            "each waits for what the other has finished"
        );
    }
}
