//! A pool of threads that make the calls, one for each slot: operations of a worker overlap
//! although every call waits (fio `io_submit_mode=offload`).
//!
//! A buffer travels with its operation and comes back with the result, so no two threads ever share
//! one. Channels have room for every slot: neither end waits for the other, and nothing is
//! allocated while I/O runs.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use model::plan::EngineKind;
use model::results::EngineUsed;
use model::{Bytes, Nanos};

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::clock::Clock;
use crate::error::EngineError;
use crate::flags::CallFlags;
use crate::sleep::PreciseSleep;
use crate::sys::{self, memory::Mapping};
use crate::{Engine, File, Setup};

/// More threads than this would only wait for processors.
const MAX_THREADS: u32 = 4096;
/// Waits are cut, so that a stop request is seen: the caller looks for one after each turn.
const LONGEST_WAIT: Duration = Duration::from_millis(100);

pub(crate) struct Offload {
    kind: EngineKind,
    /// The buffer of each slot, while it is free.
    buffers: Vec<Option<Mapping>>,
    buffer_bytes: usize,
    files: Vec<Arc<File>>,
    /// Absent once the pool is asked to end.
    tasks: Option<SyncSender<Task>>,
    ended: Receiver<Ended>,
    pool: Vec<JoinHandle<()>>,
    in_flight: u32,
    submit_batch: u32,
    clock: Clock,
    sleep: PreciseSleep,
}

/// An operation on its way to the pool.
struct Task {
    request: Request,
    buffer: Mapping,
    file: Arc<File>,
}

/// An operation on its way back.
struct Ended {
    slot: Slot,
    buffer: Mapping,
    result: i64,
}

impl Offload {
    pub(crate) fn open(setup: Setup) -> Result<Offload, EngineError> {
        let kind = setup.choice.kind;
        if !kind.info().offloads {
            return Err(EngineError::unavailable(
                kind,
                "it makes no calls that a pool of threads could make for it",
                "use the engine psync, or do without the pool",
            ));
        }
        let step = setup.buffer_alignment.max(Mapping::PAGE).next_power_of_two();
        let each = setup.buffer_bytes.max(1);
        let buffers = (0..setup.slots).map(|_| Mapping::new(each, step, setup.huge_page).map(Some));
        let buffers = buffers
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| EngineError::Memory {
                slots: setup.slots,
                each: Bytes(each as u64),
                needed: Bytes(each as u64 * u64::from(setup.slots)),
                free: crate::probe::memory_free(),
            })?;
        let (tasks, queue) = sync_channel(setup.slots as usize);
        let (sender, ended) = sync_channel(setup.slots as usize);
        let queue = Arc::new(Mutex::new(queue));
        let calls = CallFlags::new(&setup.choice);
        let threads = (0..setup.slots.min(MAX_THREADS)).map(|number| {
            let (queue, sender) = (Arc::clone(&queue), sender.clone());
            let builder = std::thread::Builder::new().name(format!("offload {number}"));
            builder.spawn(move || serve(&queue, &sender, calls, kind == EngineKind::Null))
        });
        let pool = threads
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| EngineError::system("starting a thread", error.raw_os_error().unwrap_or(0)))?;
        Ok(Offload {
            kind,
            buffers,
            buffer_bytes: each,
            files: setup.files.into_iter().map(Arc::new).collect(),
            tasks: Some(tasks),
            ended,
            pool,
            in_flight: 0,
            submit_batch: setup.submit_batch,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    fn take_back(&mut self, ended: Ended, done: &mut Batch) {
        self.buffers[ended.slot.0 as usize] = Some(ended.buffer);
        self.in_flight -= 1;
        done.done.push(Completion::new(ended.slot, ended.result, Nanos(0)));
    }

    /// Waits for one operation at most until the deadline. False if none has ended by then.
    fn wait(&mut self, until: Nanos, done: &mut Batch) -> bool {
        loop {
            let left = until.since(self.clock.now());
            let wait = Duration::from_nanos(left.0).min(LONGEST_WAIT);
            match self.ended.recv_timeout(wait) {
                Ok(ended) => {
                    self.take_back(ended, done);
                    return true;
                }
                Err(RecvTimeoutError::Timeout) if until == Nanos::NEVER => {}
                Err(RecvTimeoutError::Timeout) if self.clock.now() < until => {}
                Err(_) => return false,
            }
        }
    }
}

/// One thread of the pool.
fn serve(queue: &Mutex<Receiver<Task>>, ended: &SyncSender<Ended>, mut calls: CallFlags, calls_nothing: bool) {
    sys::thread::sharpen_timers();
    loop {
        // Held while waiting: the others wait for the lock instead, which is all the same.
        let Ok(Ok(mut task)) = queue.lock().map(|queue| queue.recv()) else {
            return;
        };
        let result = perform(&mut task, &mut calls, calls_nothing);
        let Task { request, buffer, .. } = task;
        let slot = request.slot;
        if ended.send(Ended { slot, buffer, result }).is_err() {
            return;
        }
    }
}

fn perform(task: &mut Task, calls: &mut CallFlags, calls_nothing: bool) -> i64 {
    let request = &task.request;
    let Some(handle) = task.file.handle().filter(|_| !calls_nothing) else {
        return i64::from(request.length);
    };
    let length = request.length as usize;
    match request.action {
        Action::Read => {
            let buffer = &mut task.buffer.bytes_mut()[..length];
            match calls.are_empty() {
                false => sys::file::read_at_with_flags(handle, buffer, request.offset, calls.read | calls.poll()),
                true => sys::file::read_at(handle, buffer, request.offset),
            }
        }
        Action::Write => {
            let buffer = &mut task.buffer.bytes_mut()[..length];
            match calls.are_empty() {
                false => sys::file::write_at_with_flags(handle, buffer, request.offset, calls.write | calls.poll()),
                true => sys::file::write_at(handle, buffer, request.offset),
            }
        }
        _ => task.file.without_buffer(request),
    }
}

impl Engine for Offload {
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        done.before = self.clock.now();
        done.submitted = 0;
        for request in requests {
            let (Some(tasks), Some(buffer)) = (&self.tasks, self.buffers[request.slot.0 as usize].take()) else {
                break;
            };
            let file = Arc::clone(&self.files[usize::from(request.file)]);
            let task = Task {
                request: *request,
                buffer,
                file,
            };
            if tasks.send(task).is_err() {
                return Err(EngineError::system("a pool thread", 0));
            }
            self.in_flight += 1;
            done.submitted += 1;
        }
        done.returned = self.clock.now();
        if self.in_flight == 0 && at_least > 0 && until != Nanos::NEVER {
            self.sleep.sleep_until(until, &self.clock);
        }
        while (done.done.len() as u32) < at_least && self.in_flight > 0 {
            if !self.wait(until, done) {
                break;
            }
        }
        while let Ok(ended) = self.ended.try_recv() {
            self.take_back(ended, done);
        }
        done.reaped = self.clock.now();
        done.done.stamp(done.reaped);
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        let length = self.buffer_bytes;
        match &mut self.buffers[slot.0 as usize] {
            Some(buffer) => &mut buffer.bytes_mut()[..length],
            None => panic!("slot {} is in flight", slot.0),
        }
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        self.files[usize::from(index)] = Arc::new(with);
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: self.kind,
            features: vec![format!("calls made by a pool of {} threads", self.pool.len())],
            submit_batch: self.submit_batch,
            ..EngineUsed::default()
        }
    }
}

impl Drop for Offload {
    fn drop(&mut self) {
        // The threads end when they find no more tasks; what is in flight is waited for.
        self.tasks = None;
        for thread in self.pool.drain(..) {
            let _ = thread.join();
        }
    }
}
