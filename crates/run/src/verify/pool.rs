//! Threads that check the reads of a worker while the worker continues. The worker copies a block
//! into a buffer and submits it. A thread checks the block and returns it with the mismatches. The
//! number of buffers is fixed, so the queue is bounded: without a free buffer, the worker waits.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use engine::sys;

use super::{Block, Checker, Fault};

/// A block to check, with data of the worker that submitted it.
#[derive(Debug)]
pub(crate) struct CheckedBlock<T> {
    pub(crate) owner_data: T,
    pub(crate) block: Block,
    /// The data read.
    pub(crate) data: Vec<u8>,
    pub(crate) faults: Vec<Fault>,
}

/// Threads that check blocks, with their buffers.
#[derive(Debug)]
pub(crate) struct CheckerPool<T> {
    /// `None` while the pool is dropped, so that the threads end.
    work: Option<SyncSender<CheckedBlock<T>>>,
    checked: Receiver<CheckedBlock<T>>,
    threads: Vec<JoinHandle<()>>,
    free_buffers: Vec<Vec<u8>>,
    /// Number of submitted blocks that were not returned yet.
    pending: usize,
}

/// The threads have ended although blocks were pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadsEnded;

impl<T: Send + 'static> CheckerPool<T> {
    /// Starts the threads, with buffers for blocks of up to `length` bytes. Binds them to
    /// `processors` unless that is empty.
    ///
    /// # Errors
    /// The system cannot start a thread, or cannot bind it.
    pub(crate) fn new(
        checker: &Checker,
        threads: usize,
        processors: &[u32],
        buffers: usize,
        length: usize,
    ) -> io::Result<CheckerPool<T>> {
        let (work, to_check) = sync_channel::<CheckedBlock<T>>(buffers);
        let (done, checked) = sync_channel(buffers);
        let (pinned_tx, pinned_rx) = sync_channel(threads);
        let to_check = Arc::new(Mutex::new(to_check));
        let mut pool = CheckerPool {
            work: Some(work),
            checked,
            threads: Vec::new(),
            free_buffers: (0..buffers).map(|_| Vec::with_capacity(length)).collect(),
            pending: 0,
        };
        for _ in 0..threads {
            let (checker, to_check, done) = (checker.clone(), Arc::clone(&to_check), done.clone());
            let (processors, pinned_tx) = (processors.to_vec(), pinned_tx.clone());
            let thread = Builder::new().name("verify".into()).spawn(move || {
                let pinned = match processors.is_empty() {
                    true => Ok(()),
                    false => sys::thread::pin_to(&processors),
                };
                if pinned_tx.send(pinned).is_ok() {
                    check_all(&checker, &to_check, &done);
                }
            })?;
            pool.threads.push(thread);
        }
        pinned_rx.iter().take(threads).collect::<io::Result<()>>()?;
        Ok(pool)
    }

    /// True if there is a free buffer.
    pub(crate) fn has_room(&self) -> bool {
        !self.free_buffers.is_empty()
    }

    /// Submits a block for checking. There must be a free buffer.
    pub(crate) fn submit(&mut self, owner_data: T, block: Block, data: &[u8]) -> Result<(), ThreadsEnded> {
        debug_assert!(self.has_room(), "the caller checks for room first");
        let mut buffer = self.free_buffers.pop().unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(data);
        let work = CheckedBlock {
            owner_data,
            block,
            data: buffer,
            faults: Vec::new(),
        };
        self.pending += 1;
        let sender = self.work.as_ref().ok_or(ThreadsEnded)?;
        sender.send(work).map_err(|_| ThreadsEnded)
    }

    /// Returns a checked block, if one is ready.
    pub(crate) fn try_take(&mut self) -> Result<Option<CheckedBlock<T>>, ThreadsEnded> {
        match self.checked.try_recv() {
            Ok(checked) => {
                self.pending -= 1;
                Ok(Some(checked))
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) if self.pending == 0 => Ok(None),
            Err(TryRecvError::Disconnected) => Err(ThreadsEnded),
        }
    }

    /// Waits for the next checked block. `None` if no block is pending.
    pub(crate) fn wait(&mut self) -> Result<Option<CheckedBlock<T>>, ThreadsEnded> {
        if self.pending == 0 {
            return Ok(None);
        }
        let checked = self.checked.recv().map_err(|_| ThreadsEnded)?;
        self.pending -= 1;
        Ok(Some(checked))
    }

    /// Returns the buffer of a block to the pool.
    pub(crate) fn return_buffer(&mut self, data: Vec<u8>) {
        self.free_buffers.push(data);
    }
}

impl<T> Drop for CheckerPool<T> {
    fn drop(&mut self) {
        self.work = None;
        for thread in self.threads.drain(..) {
            // A panicking thread reports the panic itself.
            let _ = thread.join();
        }
    }
}

/// Checks blocks until the pool is dropped.
fn check_all<T>(checker: &Checker, to_check: &Mutex<Receiver<CheckedBlock<T>>>, done: &SyncSender<CheckedBlock<T>>) {
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
