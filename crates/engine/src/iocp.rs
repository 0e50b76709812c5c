//! The asynchronous Windows engines. Completions arrive through a completion port, through
//! completion routines (DiskSpd `-x`) or through a ring (`ioring.rs`). Each operation is one system
//! call, except on a ring. Windows has no asynchronous flush or trim, so these execute
//! synchronously while other operations stay in flight.

use model::Nanos;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Request, Slot};
use crate::buffers::SharedBuffers;
use crate::clock::Clock;
use crate::error::{EngineError, os_error_name};
use crate::sleep::PreciseSleep;
use crate::sys::overlapped::{CompletedOperation, INFINITE_MS, Queue, Transfer, cancel_all, error_result};
use crate::sys::port::Port;
use crate::sys::routines::Routines;
use crate::{Engine, File, Setup};

/// How long a drop waits for operations that cannot be cancelled.
const STUCK_TIMEOUT: Nanos = Nanos::secs(10);
/// Limits each wait, because the system may end a wait late by a part of its length.
const MAX_WAIT_MS: u64 = 100;

/// The engine on a completion port.
pub(crate) type Iocp = QueueEngine<Port>;
/// The engine on completion routines.
pub(crate) type RoutinesEngine = QueueEngine<Routines>;

pub(crate) struct QueueEngine<Q: Queue> {
    queue: Q,
    buffers: SharedBuffers,
    files: Vec<File>,
    /// Completions of the last poll.
    completed: Vec<CompletedOperation>,
    split_stamps: bool,
    submit_batch: u32,
    spin: bool,
    clock: Clock,
    /// For waits with nothing in flight.
    sleep: PreciseSleep,
    timeouts: Timeouts,
}

impl<Q: Queue> QueueEngine<Q> {
    pub(crate) fn open(setup: Setup) -> Result<QueueEngine<Q>, EngineError> {
        let queue = Q::new(setup.slots, setup.clock).map_err(|error| unavailable::<Q>(&error))?;
        QueueEngine::with_queue(queue, setup)
    }

    /// Starts the engine over an existing queue.
    pub(crate) fn with_queue(queue: Q, setup: Setup) -> Result<QueueEngine<Q>, EngineError> {
        let buffers = SharedBuffers::new(&setup)?;
        let mut engine = QueueEngine {
            queue,
            buffers,
            files: Vec::new(),
            completed: Vec::with_capacity(setup.slots as usize),
            split_stamps: setup.split_stamps,
            submit_batch: setup.submit_batch,
            spin: setup.spin,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
            timeouts: Timeouts::default(),
        };
        setup.files.iter().try_for_each(|file| engine.register_file(file))?;
        engine.files = setup.files;
        Ok(engine)
    }

    /// Registers a file with the queue. Mapped files do not use the queue.
    fn register_file(&mut self, file: &File) -> Result<(), EngineError> {
        let options = file.options();
        match file.handle().filter(|_| options.cache.mapping.is_none()) {
            None => Ok(()),
            Some(handle) if options.overlapped => self
                .queue
                .register_file(handle)
                .map_err(|error| unavailable::<Q>(&error)),
            Some(_) => {
                let why = format!("{} was not opened for it", file.path().display());
                Err(EngineError::internal(Q::KIND, why))
            }
        }
    }

    /// Starts operations, up to the first that the queue does not support. Returns how many were
    /// accepted.
    #[inline]
    fn submit(&mut self, requests: &[Request], batch: &mut Batch) -> u32 {
        let mut accepted = 0;
        for request in requests {
            let writes = match request.action {
                Action::Read => false,
                Action::Write => true,
                Action::Flush | Action::FlushData if self.queue.supports_flush() => {
                    self.start_flush(request, batch);
                    accepted += 1;
                    continue;
                }
                // An unsupported operation has a turn of its own.
                _ if accepted > 0 => break,
                _ => return self.execute_directly(request, batch),
            };
            self.start_transfer(request, writes, batch);
            accepted += 1;
        }
        accepted
    }

    #[inline]
    fn start_transfer(&mut self, request: &Request, writes: bool, batch: &mut Batch) {
        let Some(file) = self.files[usize::from(request.file)].handle() else {
            return self.complete_now(request, i64::from(request.length), batch);
        };
        let transfer = Transfer {
            file,
            writes,
            buffer: self.buffers.claim(request.slot, request.length),
            length: request.length,
            offset: request.offset,
            slot: request.slot,
        };
        // SAFETY: the slot was free and its buffer, of at least this length, belongs to this engine
        // (both checked by `claim`); the buffer is not accessible until the slot is reaped. `Drop`
        // cancels and reaps every outstanding slot, or abandons memory and queue, before buffers
        // and files are freed.
        if let Err(error) = unsafe { self.queue.start(&transfer) } {
            self.buffers.release(request.slot);
            self.complete_now(request, error_result(error), batch);
        }
    }

    #[inline(never)]
    fn start_flush(&mut self, request: &Request, batch: &mut Batch) {
        let Some(file) = self.files[usize::from(request.file)].handle() else {
            return self.complete_now(request, i64::from(request.length), batch);
        };
        self.buffers.claim(request.slot, 0);
        if let Err(error) = self.queue.start_flush(file, request.slot) {
            self.buffers.release(request.slot);
            self.complete_now(request, error_result(error), batch);
        }
    }

    #[cold]
    fn complete_now(&self, request: &Request, result: i64, batch: &mut Batch) {
        batch.done.push(request.slot, result, self.clock.now());
    }

    #[inline(never)]
    fn execute_directly(&mut self, request: &Request, batch: &mut Batch) -> u32 {
        let result = self.files[usize::from(request.file)].flush_or_trim(request);
        self.complete_now(request, result, batch);
        1
    }

    /// Reaps completions, waiting at most `milliseconds`. Returns how many.
    #[inline]
    fn reap_within(&mut self, milliseconds: u32, batch: &mut Batch) -> Result<u32, EngineError> {
        self.completed.clear();
        let polled = self.queue.reap_within(milliseconds, &mut self.completed);
        // These operations have completed even if the poll then failed.
        for completion in &self.completed {
            self.buffers.release(completion.slot);
            batch.done.push(completion.slot, completion.result, completion.at);
        }
        batch.reap_time = polled.map_err(reap_error::<Q>)?;
        Ok(self.completed.len() as u32)
    }

    /// Waits in the system. With a deadline, the wait ends shortly before it and polling follows.
    /// Polls at least once if anything is in flight.
    fn wait(&mut self, wait_nr: u32, until: Nanos, batch: &mut Batch) -> Result<(), EngineError> {
        let mut remaining = match until {
            // Requests that were not submitted cannot complete; waiting for them would never end.
            Nanos::NEVER => wait_nr.min(self.buffers.outstanding()),
            _ => wait_nr,
        };
        loop {
            if self.buffers.outstanding() == 0 {
                if remaining > 0 && until != Nanos::NEVER {
                    self.sleep.sleep_until(until, &self.clock);
                }
                batch.reap_time = self.clock.now();
                return Ok(());
            }
            let milliseconds = match (remaining, until) {
                (0, _) => 0,
                (_, Nanos::NEVER) => INFINITE_MS,
                _ => self.timeouts.timeout_ms(until.since(self.clock.now())),
            };
            let start = self.clock.now();
            let count = self.reap_within(milliseconds, batch)?;
            remaining = remaining.saturating_sub(count);
            if remaining == 0 || batch.reap_time >= until {
                return Ok(());
            }
            match (milliseconds, count) {
                (0, _) if self.spin => std::hint::spin_loop(),
                (0, _) => std::thread::yield_now(),
                (INFINITE_MS, _) | (_, 1..) => {}
                (_, 0) => self.timeouts.adjust_margin(milliseconds, batch.reap_time.since(start)),
            }
        }
    }
}

fn reap_error<Q: Queue>(error: u32) -> EngineError {
    EngineError::system(Q::REAP_CALL, error as i32)
}

fn unavailable<Q: Queue>(error: &std::io::Error) -> EngineError {
    let why = error.raw_os_error().map_or(error.to_string(), os_error_name);
    EngineError::unavailable(Q::KIND, why, "use `--engine psync`")
}

impl<Q: Queue> Engine for QueueEngine<Q> {
    #[inline]
    fn submit_and_reap(
        &mut self,
        requests: &[Request],
        wait_nr: u32,
        until: Nanos,
        batch: &mut Batch,
    ) -> Result<(), EngineError> {
        batch.done.clear();
        batch.submit_start = self.clock.now();
        batch.submitted = match requests.is_empty() {
            true => 0,
            false => self.submit(requests, batch),
        };
        if self.split_stamps {
            self.queue.submit_queued().map_err(reap_error::<Q>)?;
            batch.submit_end = self.clock.now();
        }
        let wait_nr = wait_nr.saturating_sub(batch.done.len() as u32);
        self.wait(wait_nr, until, batch)?;
        if !self.split_stamps {
            batch.submit_end = batch.reap_time;
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.idle_buffer(slot)
    }

    fn exchange_file(&mut self, index: u16, replacement: File) -> Result<(), EngineError> {
        self.register_file(&replacement)?;
        self.files[usize::from(index)] = replacement;
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        EngineUsed {
            kind: Q::KIND,
            features: vec![self.queue.describe().into()],
            submit_batch: self.submit_batch,
            ..EngineUsed::default()
        }
    }
}

impl<Q: Queue> Drop for QueueEngine<Q> {
    fn drop(&mut self) {
        if self.buffers.outstanding() > 0 {
            self.queue.cancel();
            self.files.iter().filter_map(File::handle).for_each(cancel_all);
        }
        let until = self.clock.now() + STUCK_TIMEOUT;
        while self.buffers.outstanding() > 0 {
            self.completed.clear();
            let polled = self.queue.reap_within(MAX_WAIT_MS as u32, &mut self.completed);
            self.completed
                .iter()
                .for_each(|completed| self.buffers.release(completed.slot));
            if polled.is_err() || self.clock.now() >= until {
                break;
            }
        }
        if self.buffers.outstanding() > 0 {
            self.queue.abandon();
            self.buffers.abandon();
        }
    }
}

/// Timeouts that make the system return before a deadline. System waits last whole milliseconds and
/// end at a tick of the system timer, every millisecond at best and every 15.6 ms otherwise. So the
/// engine ends a wait as early as earlier waits were late, and polls for the rest.
#[derive(Clone, Copy, Debug)]
struct Timeouts {
    margin: Nanos,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            margin: Nanos::millis(2),
        }
    }
}

impl Timeouts {
    const MIN_MARGIN: Nanos = Nanos::millis(1);
    const MAX_MARGIN: Nanos = Nanos::millis(32);

    /// Milliseconds to wait when `left` remains; 0 to poll without waiting.
    fn timeout_ms(&self, left: Nanos) -> u32 {
        ((left - self.margin).0 / 1_000_000).min(MAX_WAIT_MS) as u32
    }

    /// Adapts the margin to a wait of `milliseconds` that returned nothing after `elapsed`.
    fn adjust_margin(&mut self, milliseconds: u32, elapsed: Nanos) {
        let late = elapsed - Nanos::millis(u64::from(milliseconds));
        // Grow quickly after a late return and shrink slowly.
        let target = (late + Nanos(late.0 / 2)).max(Self::MIN_MARGIN).min(Self::MAX_MARGIN);
        self.margin = if target > self.margin {
            target
        } else {
            Nanos((self.margin.0 * 31 + target.0) / 32)
        };
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::windows::fs::OpenOptionsExt;
    use std::os::windows::io::FromRawHandle;
    use std::sync::atomic::{AtomicU32, Ordering};

    use model::plan::{EngineChoice, EngineKind};
    use windows_sys::Win32::Foundation::{ERROR_OPERATION_ABORTED, INVALID_HANDLE_VALUE};
    use windows_sys::Win32::Storage::FileSystem::{FILE_FLAG_OVERLAPPED, PIPE_ACCESS_OUTBOUND};
    use windows_sys::Win32::System::Pipes::{CreateNamedPipeW, PIPE_TYPE_BYTE, PIPE_WAIT};

    use super::*;
    use crate::clock::ClockStart;

    /// A pipe: the end to write to, and an overlapped end, whose reads stay in flight until data is
    /// written.
    pub(crate) fn pipe() -> (fs::File, fs::File) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!(r"\\.\pipe\fathom-{}-{number}", std::process::id());
        let wide: Vec<u16> = name.encode_utf16().chain([0]).collect();
        let form = PIPE_TYPE_BYTE | PIPE_WAIT;
        // SAFETY: the name is live and ends with a zero, and no security is given.
        let end = unsafe {
            CreateNamedPipeW(
                wide.as_ptr(),
                PIPE_ACCESS_OUTBOUND,
                form,
                1,
                65_536,
                65_536,
                0,
                std::ptr::null(),
            )
        };
        assert_ne!(end, INVALID_HANDLE_VALUE, "{}", std::io::Error::last_os_error());
        let mut options = fs::OpenOptions::new();
        let reading = options
            .read(true)
            .custom_flags(FILE_FLAG_OVERLAPPED)
            .open(name)
            .unwrap();
        // SAFETY: the handle is new and not shared.
        (unsafe { fs::File::from_raw_handle(end) }, reading)
    }

    fn on_pipe<Q: Queue>(reading: fs::File, slots: u32) -> QueueEngine<Q> {
        QueueEngine::open(setup_on(Q::KIND, File::from_handle(reading), slots)).unwrap()
    }

    pub(crate) fn setup_on(kind: EngineKind, file: File, slots: u32) -> Setup {
        let clock = ClockStart::now().calibrate();
        Setup {
            buffer_bytes: 16,
            seed: 1,
            ..Setup::new(EngineChoice::new(kind), vec![file], slots, clock)
        }
    }

    pub(crate) fn reads(slots: u32) -> Vec<Request> {
        let read = |slot| Request {
            length: 16,
            slot: Slot(slot),
            ..Request::NONE
        };
        (0..slots).map(read).collect()
    }

    pub(crate) fn waits_for_operations_in_flight<Q: Queue>(on_pipe: impl Fn(fs::File, u32) -> QueueEngine<Q>) {
        let (mut writing, reading) = pipe();
        let mut engine = on_pipe(reading, 4);
        let mut batch = Batch::new(4);
        // A deadline below a millisecond, and one above.
        for (requests, length) in [(&reads(4)[..], Nanos::micros(300)), (&[], Nanos::millis(7))] {
            let until = engine.now() + length;
            engine.submit_and_reap(requests, 1, until, &mut batch).unwrap();
            assert_eq!((batch.submitted as usize, batch.done.len()), (requests.len(), 0));
            assert!(batch.reap_time >= until);
        }
        // A poll does not wait.
        engine.submit_and_reap(&[], 0, Nanos::NEVER, &mut batch).unwrap();
        assert_eq!(batch.done.len(), 0);
        writing.write_all(b"0123456789abcdef01234").unwrap();
        let mut results = Vec::new();
        while results.len() < 2 {
            engine.submit_and_reap(&[], 1, Nanos::NEVER, &mut batch).unwrap();
            results.extend(batch.done.iter().map(|completion| (completion.result, completion.slot)));
        }
        // Operations complete in the order in which they started; the second is short.
        assert_eq!(results, [(16, Slot(0)), (5, Slot(1))]);
        assert_eq!(&engine.buffer(Slot(0))[..], b"0123456789abcdef");
        assert_eq!(&engine.buffer(Slot(1))[..5], b"01234");
        assert_eq!(engine.buffers.outstanding(), 2);
        // Closing the other end fails the remaining reads.
        drop(writing);
        results.clear();
        while results.len() < 2 {
            engine.submit_and_reap(&[], 2, Nanos::NEVER, &mut batch).unwrap();
            results.extend(batch.done.iter().map(|completion| (completion.result, completion.slot)));
        }
        const BROKEN_PIPE: i64 = -109;
        assert_eq!(results, [(BROKEN_PIPE, Slot(2)), (BROKEN_PIPE, Slot(3))]);
    }

    #[test]
    fn every_queue_waits_for_operations_in_flight() {
        waits_for_operations_in_flight(on_pipe::<Port>);
        waits_for_operations_in_flight(on_pipe::<Routines>);
    }

    pub(crate) fn drop_ends_operations_in_flight<Q: Queue>(
        on_pipe: impl Fn(fs::File, u32) -> QueueEngine<Q>,
        serves_again: bool,
    ) {
        for _ in 0..50 {
            let (mut writing, reading) = pipe();
            let other = reading.try_clone().unwrap();
            let mut engine = on_pipe(reading, 8);
            let mut batch = Batch::new(8);
            engine.submit_and_reap(&reads(8), 0, Nanos::NEVER, &mut batch).unwrap();
            assert_eq!(
                (batch.submitted, batch.done.len(), engine.buffers.outstanding()),
                (8, 0, 8)
            );
            let start = engine.now();
            let clock = engine.clock;
            drop(engine);
            assert!(
                clock.now().since(start) < STUCK_TIMEOUT,
                "they were abandoned instead of cancelled"
            );
            if !serves_again {
                continue;
            }
            // Data written now stays in the pipe until it is read.
            writing.write_all(b"0123456789abcdef").unwrap();
            let mut second_queue = on_pipe(other, 8);
            second_queue
                .submit_and_reap(&reads(1), 1, Nanos::NEVER, &mut batch)
                .unwrap();
            assert_eq!(batch.done[0].result, 16);
        }
    }

    #[test]
    fn drop_ends_operations_in_flight_in_every_queue() {
        // A file stays associated with its port, even after the port is closed.
        drop_ends_operations_in_flight(on_pipe::<Port>, false);
        drop_ends_operations_in_flight(on_pipe::<Routines>, true);
    }

    #[test]
    fn cancelled_operations_complete_with_an_error() {
        let (_writing, reading) = pipe();
        let mut engine = on_pipe::<Port>(reading, 2);
        let mut batch = Batch::new(2);
        engine.submit_and_reap(&reads(2), 0, Nanos::NEVER, &mut batch).unwrap();
        engine.files.iter().filter_map(File::handle).for_each(cancel_all);
        let mut ended = 0;
        while ended < 2 {
            engine.submit_and_reap(&[], 1, Nanos::NEVER, &mut batch).unwrap();
            for completion in batch.done.iter() {
                assert_eq!(completion.result, -i64::from(ERROR_OPERATION_ABORTED));
                ended += 1;
            }
        }
        assert_eq!(engine.describe().kind, EngineKind::Iocp);
    }

    #[test]
    fn waits_end_before_deadlines() {
        let timeouts = Timeouts::default();
        for (left_us, milliseconds) in [(0, 0), (900, 0), (2_999, 0), (3_000, 1), (10_500, 8), (10_000_000, 100)] {
            assert_eq!(timeouts.timeout_ms(Nanos::micros(left_us)), milliseconds, "{left_us}");
        }
    }

    #[test]
    fn the_margin_follows_late_returns() {
        let mut timeouts = Timeouts::default();
        timeouts.adjust_margin(1, Nanos::micros(15_600));
        assert_eq!(timeouts.timeout_ms(Nanos::millis(20)), 0);
        for _ in 0..200 {
            timeouts.adjust_margin(5, Nanos::millis(5));
        }
        assert_eq!(timeouts.timeout_ms(Nanos::millis(20)), 18);
        // The margin has a maximum.
        timeouts.adjust_margin(1, Nanos::secs(10));
        assert_eq!(timeouts.timeout_ms(Nanos::millis(40)), 8);
    }
}
