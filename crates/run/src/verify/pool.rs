//! Threads that check what a worker has read, so that the worker can go on.
//!
//! The worker copies a block into a buffer and gives it away; some thread checks it and gives it
//! back with what it found. There are that many buffers and no more: with none at hand the worker
//! waits, so nothing piles up.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use engine::sys;

use super::{Block, Checker, Fault};

/// A block on its way through a pool, with what its owner knows of it.
#[derive(Debug)]
pub(crate) struct Checked<T> {
    pub(crate) of: T,
    pub(crate) block: Block,
    /// What was read.
    pub(crate) data: Vec<u8>,
    pub(crate) faults: Vec<Fault>,
}

/// Threads that check blocks.
#[derive(Debug)]
pub(crate) struct Pool<T> {
    /// Absent once they are to end.
    work: Option<SyncSender<Checked<T>>>,
    checked: Receiver<Checked<T>>,
    threads: Vec<JoinHandle<()>>,
    spare: Vec<Vec<u8>>,
    /// Blocks given away and not taken back.
    open: usize,
}

/// The threads are gone although there was work for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

impl<T: Send + 'static> Pool<T> {
    /// This many threads, on these processors if any are named, with that many buffers for blocks
    /// of up to `length` bytes.
    ///
    /// # Errors
    /// The system has no more threads, or does not let them run there.
    pub(crate) fn new(
        checker: &Checker,
        threads: usize,
        processors: &[u32],
        buffers: usize,
        length: usize,
    ) -> io::Result<Pool<T>> {
        let (work, to_check) = sync_channel::<Checked<T>>(buffers);
        let (done, checked) = sync_channel(buffers);
        let (placed, places) = sync_channel(threads);
        let to_check = Arc::new(Mutex::new(to_check));
        let mut pool = Pool {
            work: Some(work),
            checked,
            threads: Vec::new(),
            spare: (0..buffers).map(|_| Vec::with_capacity(length)).collect(),
            open: 0,
        };
        for _ in 0..threads {
            let (checker, to_check, done) = (checker.clone(), Arc::clone(&to_check), done.clone());
            let (processors, placed) = (processors.to_vec(), placed.clone());
            let thread = Builder::new().name("verify".into()).spawn(move || {
                let place = match processors.is_empty() {
                    true => Ok(()),
                    false => sys::thread::pin_to(&processors),
                };
                if placed.send(place).is_ok() {
                    check_all(&checker, &to_check, &done);
                }
            })?;
            pool.threads.push(thread);
        }
        let answers = places.iter().take(threads);
        answers.into_iter().collect::<io::Result<()>>()?;
        Ok(pool)
    }

    /// There is a buffer at hand for another block.
    pub(crate) fn has_room(&self) -> bool {
        !self.spare.is_empty()
    }

    /// Has a block checked. There must be room.
    pub(crate) fn give(&mut self, of: T, block: Block, data: &[u8]) -> Result<(), Gone> {
        debug_assert!(self.has_room(), "the caller checks for room first");
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(data);
        let work = Checked {
            of,
            block,
            data: buffer,
            faults: Vec::new(),
        };
        self.open += 1;
        let sender = self.work.as_ref().ok_or(Gone)?;
        sender.send(work).map_err(|_| Gone)
    }

    /// A block that was checked, if there is one.
    pub(crate) fn try_take(&mut self) -> Result<Option<Checked<T>>, Gone> {
        match self.checked.try_recv() {
            Ok(checked) => {
                self.open -= 1;
                Ok(Some(checked))
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) if self.open == 0 => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Gone),
        }
    }

    /// The next block that was checked, as soon as there is one; `None` if there is nothing to wait
    /// for.
    pub(crate) fn wait(&mut self) -> Result<Option<Checked<T>>, Gone> {
        if self.open == 0 {
            return Ok(None);
        }
        let checked = self.checked.recv().map_err(|_| Gone)?;
        self.open -= 1;
        Ok(Some(checked))
    }

    /// Takes the buffer of a block back for others.
    pub(crate) fn take_back(&mut self, data: Vec<u8>) {
        self.spare.push(data);
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        self.work = None;
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Checks blocks until none will come any more.
fn check_all<T>(checker: &Checker, to_check: &Mutex<Receiver<Checked<T>>>, done: &SyncSender<Checked<T>>) {
    loop {
        // One thread waits for work and holds the lock; the others wait for the lock.
        let next = to_check.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut work) = next else { return };
        work.faults = checker.check(&mut work.data, &work.block);
        if done.send(work).is_err() {
            return;
        }
    }
}
