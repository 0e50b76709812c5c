//! Runs blocking calls in a pool of threads, one for each slot, so that the operations of a worker
//! overlap (fio `io_submit_mode=offload`). A buffer moves with its operation and returns with the
//! result, so threads never share a buffer. Channels have room for every slot: neither end blocks,
//! and nothing is allocated during I/O.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use model::plan::EngineKind;
use model::results::EngineUsed;
use model::{Bytes, Nanos};

use crate::batch::{Action, Batch, Request, Slot};
use crate::clock::Clock;
use crate::error::EngineError;
use crate::flags::CallFlags;
use crate::sleep::PreciseSleep;
use crate::sys::{self, memory::Mapping};
use crate::{Engine, File, Setup};

/// More threads would only wait for processors.
const MAX_THREADS: u32 = 4096;
/// Limits each wait so that the caller can check for a stop request.
const MAX_WAIT: Duration = Duration::from_millis(100);

pub(crate) struct Offload {
    kind: EngineKind,
    /// The buffer of each slot, while it is free.
    buffers: Vec<Option<Mapping>>,
    buffer_bytes: usize,
    files: Vec<Arc<File>>,
    /// `None` once the pool is shutting down.
    tasks: Option<SyncSender<Task>>,
    results: Receiver<TaskResult>,
    threads: Vec<JoinHandle<()>>,
    in_flight: u32,
    submit_batch: u32,
    clock: Clock,
    sleep: PreciseSleep,
}

/// An operation for the pool.
struct Task {
    request: Request,
    buffer: Mapping,
    file: Arc<File>,
}

/// A completed operation.
struct TaskResult {
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
                "its operations cannot run in a pool of threads",
                "use engine psync, or do not use a pool",
            ));
        }
        let step = setup.buffer_alignment.max(Mapping::PAGE).next_power_of_two();
        let buffer_bytes = setup.buffer_bytes.max(1);
        let buffers = (0..setup.slots).map(|_| Mapping::new(buffer_bytes, step, setup.huge_page).map(Some));
        let buffers = buffers
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| EngineError::Memory {
                slots: setup.slots,
                each: Bytes(buffer_bytes as u64),
                needed: Bytes(buffer_bytes as u64 * u64::from(setup.slots)),
                free: crate::probe::memory_free(),
            })?;
        let (tasks, queue) = sync_channel(setup.slots as usize);
        let (sender, results) = sync_channel(setup.slots as usize);
        let queue = Arc::new(Mutex::new(queue));
        let flags = CallFlags::new(&setup.choice);
        let spawned = (0..setup.slots.min(MAX_THREADS)).map(|number| {
            let (queue, sender) = (Arc::clone(&queue), sender.clone());
            let builder = std::thread::Builder::new().name(format!("offload {number}"));
            builder.spawn(move || run_pool_thread(&queue, &sender, flags, kind == EngineKind::Null))
        });
        let threads = spawned
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| EngineError::system("starting a thread", error.raw_os_error().unwrap_or(0)))?;
        Ok(Offload {
            kind,
            buffers,
            buffer_bytes,
            files: setup.files.into_iter().map(Arc::new).collect(),
            tasks: Some(tasks),
            results,
            threads,
            in_flight: 0,
            submit_batch: setup.submit_batch,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
        })
    }

    fn complete(&mut self, finished: TaskResult, batch: &mut Batch) {
        self.buffers[finished.slot.0 as usize] = Some(finished.buffer);
        self.in_flight -= 1;
        batch.done.push(finished.slot, finished.result, Nanos(0));
    }

    /// Waits for one completion until the deadline. False if the deadline passes first.
    fn wait(&mut self, until: Nanos, batch: &mut Batch) -> bool {
        loop {
            let time_left = until.since(self.clock.now());
            let wait = Duration::from_nanos(time_left.0).min(MAX_WAIT);
            match self.results.recv_timeout(wait) {
                Ok(result) => {
                    self.complete(result, batch);
                    return true;
                }
                Err(RecvTimeoutError::Timeout) if until == Nanos::NEVER => {}
                Err(RecvTimeoutError::Timeout) if self.clock.now() < until => {}
                Err(_) => return false,
            }
        }
    }
}

/// Body of a pool thread.
fn run_pool_thread(
    queue: &Mutex<Receiver<Task>>,
    results: &SyncSender<TaskResult>,
    mut flags: CallFlags,
    is_null: bool,
) {
    sys::thread::request_precise_timers();
    loop {
        // The lock is held during the wait; the other threads wait for the lock instead of the
        // queue.
        let Ok(Ok(mut task)) = queue.lock().map(|queue| queue.recv()) else {
            return;
        };
        let result = perform(&mut task, &mut flags, is_null);
        let Task { request, buffer, .. } = task;
        let slot = request.slot;
        if results.send(TaskResult { slot, buffer, result }).is_err() {
            return;
        }
    }
}

fn perform(task: &mut Task, flags: &mut CallFlags, is_null: bool) -> i64 {
    let request = &task.request;
    let Some(handle) = task.file.handle().filter(|_| !is_null) else {
        return i64::from(request.length);
    };
    let length = request.length as usize;
    match request.action {
        Action::Read | Action::Write if !flags.are_empty() => {
            flags.transfer(handle, &mut task.buffer.bytes_mut()[..length], request)
        }
        Action::Read => sys::file::read_at(handle, &mut task.buffer.bytes_mut()[..length], request.offset),
        Action::Write => sys::file::write_at(handle, &task.buffer.bytes_mut()[..length], request.offset),
        _ => task.file.flush_or_trim(request),
    }
}

impl Engine for Offload {
    fn submit_and_reap(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError> {
        batch.done.clear();
        batch.submit_start = self.clock.now();
        batch.submitted = 0;
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
            batch.submitted += 1;
        }
        batch.submit_end = self.clock.now();
        if self.in_flight == 0 && wait_nr > 0 && until != Nanos::NEVER {
            self.sleep.sleep_until(until, &self.clock);
        }
        while (batch.done.len() as u32) < wait_nr && self.in_flight > 0 {
            if !self.wait(until, batch) {
                break;
            }
        }
        while let Ok(result) = self.results.try_recv() {
            self.complete(result, batch);
        }
        batch.reap_time = self.clock.now();
        batch.done.set_time(batch.reap_time);
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

    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        self.files[usize::from(index)] = Arc::new(replacement);
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: self.kind,
            features: vec![format!("a pool of {} threads makes the calls", self.threads.len())],
            submit_batch: self.submit_batch,
            ..EngineUsed::default()
        }
    }
}

impl Drop for Offload {
    fn drop(&mut self) {
        // The threads exit when the channel closes, after the tasks in flight.
        self.tasks = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
