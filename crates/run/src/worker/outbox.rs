//! Exchanges recorders between a worker and the gatherer. There are two bounded rings, one for full
//! recorders and one for empty ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use model::event::Phase;
use rtrb::{Consumer, Producer, RingBuffer};

use super::recorder::{Recorder, RecorderSetup};

/// Recorders of a worker: one in use, one on its way, one being read.
const RECORDERS: usize = 3;

/// The worker's end.
#[derive(Debug)]
pub(crate) struct Outbox {
    full: Producer<Box<Recorder>>,
    empty: Consumer<Box<Recorder>>,
    phase: Arc<AtomicU8>,
    /// Wait until each recorder has been processed. Engines with a simulated clock need this, so
    /// that the governor acts between two intervals and runs are reproducible.
    awaits_gatherer: bool,
}

/// The gatherer's end.
#[derive(Debug)]
pub(crate) struct Inbox {
    full: Consumer<Box<Recorder>>,
    empty: Producer<Box<Recorder>>,
    phase: Arc<AtomicU8>,
}

/// Creates both ends, and the recorder that the worker uses first.
pub(crate) fn create_mailbox(setup: &RecorderSetup<'_>, awaits_gatherer: bool) -> (Box<Recorder>, Outbox, Inbox) {
    let (full_in, full_out) = RingBuffer::new(RECORDERS);
    let (mut empty_in, empty_out) = RingBuffer::new(RECORDERS);
    for _ in 1..RECORDERS {
        // The ring has room for all of them.
        let _ = empty_in.push(Box::new(Recorder::new(setup)));
    }
    let phase = Arc::new(AtomicU8::new(Phase::Delay as u8));
    let outbox = Outbox {
        full: full_in,
        empty: empty_out,
        phase: Arc::clone(&phase),
        awaits_gatherer,
    };
    (
        Box::new(Recorder::new(setup)),
        outbox,
        Inbox {
            full: full_out,
            empty: empty_in,
            phase,
        },
    )
}

impl Outbox {
    /// Exchanges a full recorder for an empty one. Returns false without a change if there is none.
    pub(super) fn exchange(&mut self, recorder: &mut Box<Recorder>) -> bool {
        if self.awaits_gatherer {
            self.exchange_or_wait(recorder);
            return true;
        }
        let Ok(empty) = self.empty.pop() else { return false };
        self.send(std::mem::replace(recorder, empty));
        true
    }

    /// Exchanges a full recorder for an empty one, and waits if necessary.
    pub(super) fn exchange_or_wait(&mut self, recorder: &mut Box<Recorder>) {
        let mut attempts = 0u32;
        let empty = loop {
            if let Ok(empty) = self.empty.pop() {
                break empty;
            }
            if self.full.is_abandoned() {
                // The receiver has ended.
                recorder.clear();
                return;
            }
            attempts += 1;
            if attempts < 100 {
                std::thread::yield_now()
            } else {
                std::thread::sleep(std::time::Duration::from_micros(200))
            }
        };
        self.send(std::mem::replace(recorder, empty));
        while self.awaits_gatherer && self.empty.slots() < RECORDERS - 1 && !self.full.is_abandoned() {
            std::thread::yield_now();
        }
    }

    fn send(&mut self, mut full: Box<Recorder>) {
        full.close();
        // There are no more recorders than the ring holds, so there is always room.
        let _ = self.full.push(full);
    }

    /// Reports a new phase to the gatherer, for viewers.
    pub(super) fn publish_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }
}

impl Inbox {
    /// Receives a full recorder, if there is one. Return it with [`Inbox::give_back`].
    pub(crate) fn take(&mut self) -> Option<Box<Recorder>> {
        self.full.pop().ok()
    }

    /// Empties a recorder and returns it to the worker.
    pub(crate) fn give_back(&mut self, mut recorder: Box<Recorder>) {
        recorder.clear();
        // There are no more recorders than the ring holds, so there is always room.
        let _ = self.empty.push(recorder);
    }

    /// The phase that the worker has entered last.
    pub(crate) fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.phase.load(Ordering::Relaxed))]
    }
}
