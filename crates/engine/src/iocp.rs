//! The queues of Windows: operations that the system completes while the thread continues, whose
//! ends it learns of through a completion port, by routines that it lets the system call (DiskSpd
//! `-x`), or through a ring (`ioring.rs`).
//!
//! Except on a ring, each operation is a call of its own. Flushes and trims have no such call: they
//! are executed where they stand, and what is in flight continues meanwhile.

use model::Nanos;
use model::results::EngineUsed;

use crate::batch::{Action, Batch, Completion, Request, Slot};
use crate::buffers::SharedBuffers;
use crate::clock::Clock;
use crate::error::{EngineError, os_error_name};
use crate::sleep::PreciseSleep;
use crate::sys::overlapped::{Completed, FOR_EVER, Queue, Transfer, cancel_all, of_error};
use crate::sys::port::Port;
use crate::sys::routines::Routines;
use crate::{Engine, File, Setup};

/// How long a drop waits for operations that cannot be cancelled.
const STUCK_TIMEOUT: Nanos = Nanos::secs(10);
/// Longer waits are cut, since they may be late by a part of their length.
const LONGEST_MS: u64 = 100;

/// The engine on a completion port.
pub(crate) type Iocp = Queued<Port>;
/// The engine on completion routines.
pub(crate) type ByRoutines = Queued<Routines>;

pub(crate) struct Queued<Q: Queue> {
    queue: Q,
    buffers: SharedBuffers,
    files: Vec<File>,
    /// What one look has found.
    found: Vec<Completed>,
    split_stamps: bool,
    submit_batch: u32,
    spin: bool,
    clock: Clock,
    /// For waits with nothing in flight.
    sleep: PreciseSleep,
    timeouts: Timeouts,
}

impl<Q: Queue> Queued<Q> {
    pub(crate) fn open(setup: Setup) -> Result<Queued<Q>, EngineError> {
        let queue = Q::new(setup.slots, setup.clock).map_err(|error| unavailable::<Q>(&error))?;
        Queued::over(queue, setup)
    }

    /// The same over a queue that is there.
    pub(crate) fn over(queue: Q, setup: Setup) -> Result<Queued<Q>, EngineError> {
        let buffers = SharedBuffers::new(&setup)?;
        let mut engine = Queued {
            queue,
            buffers,
            files: Vec::new(),
            found: Vec::with_capacity(setup.slots as usize),
            split_stamps: setup.split_stamps,
            submit_batch: setup.submit_batch,
            spin: setup.spin,
            clock: setup.clock,
            sleep: PreciseSleep::new(setup.spin),
            timeouts: Timeouts::default(),
        };
        setup.files.iter().try_for_each(|file| engine.add(file))?;
        engine.files = setup.files;
        Ok(engine)
    }

    /// Tells the queue of a file. What is mapped is used by other means.
    fn add(&mut self, file: &File) -> Result<(), EngineError> {
        let how = file.how();
        match file.handle().filter(|_| how.cache.mapping.is_none()) {
            None => Ok(()),
            Some(handle) if how.overlapped => self.queue.add(handle).map_err(|error| unavailable::<Q>(&error)),
            Some(_) => Err(EngineError::unavailable(
                Q::KIND,
                format!("{} was not opened for it", file.path().display()),
                "this is an internal error; please report it",
            )),
        }
    }

    /// Begins operations, up to one that cannot be begun so. Returns how many were taken over.
    #[inline]
    fn submit(&mut self, requests: &[Request], done: &mut Batch) -> u32 {
        let mut taken = 0;
        for request in requests {
            let writes = match request.action {
                Action::Read => false,
                Action::Write => true,
                Action::Flush | Action::FlushData if self.queue.flushes() => {
                    self.begin_flush(request, done);
                    taken += 1;
                    continue;
                }
                // By itself, in its turn.
                _ if taken > 0 => break,
                _ => return self.perform_directly(request, done),
            };
            self.begin(request, writes, done);
            taken += 1;
        }
        taken
    }

    #[inline]
    fn begin(&mut self, request: &Request, writes: bool, done: &mut Batch) {
        let Some(file) = self.files[usize::from(request.file)].handle() else {
            return self.end_at_once(request, i64::from(request.length), done);
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
        // (both checked by `claim`); having been claimed, it is lent to no one until the slot is
        // found. `Drop` cancels and finds every outstanding slot, or abandons memory and queue,
        // before buffers and files go.
        if let Err(error) = unsafe { self.queue.start(&transfer) } {
            self.buffers.release(request.slot);
            self.end_at_once(request, of_error(error), done);
        }
    }

    #[inline(never)]
    fn begin_flush(&mut self, request: &Request, done: &mut Batch) {
        let Some(file) = self.files[usize::from(request.file)].handle() else {
            return self.end_at_once(request, i64::from(request.length), done);
        };
        self.buffers.claim(request.slot, 0);
        if let Err(error) = self.queue.start_flush(file, request.slot) {
            self.buffers.release(request.slot);
            self.end_at_once(request, of_error(error), done);
        }
    }

    #[cold]
    fn end_at_once(&self, request: &Request, result: i64, done: &mut Batch) {
        done.done.push(Completion {
            slot: request.slot,
            result,
            at: self.clock.now(),
        });
    }

    #[inline(never)]
    fn perform_directly(&mut self, request: &Request, done: &mut Batch) -> u32 {
        let result = self.files[usize::from(request.file)].without_buffer(request);
        self.end_at_once(request, result, done);
        1
    }

    /// Takes what has ended, after that many milliseconds at most. Returns how many that are.
    #[inline]
    fn reap_within(&mut self, milliseconds: u32, done: &mut Batch) -> Result<u32, EngineError> {
        self.found.clear();
        let looked = self.queue.reap_within(milliseconds, &mut self.found);
        // What a look has found has ended, also where the look then failed.
        for found in &self.found {
            self.buffers.release(found.slot);
            done.done.push(Completion {
                slot: found.slot,
                result: found.result,
                at: found.at,
            });
        }
        done.reaped = looked.map_err(failed::<Q>)?;
        Ok(self.found.len() as u32)
    }

    /// Waits in the system; with a deadline, until shortly before it and then looking again and
    /// again. Looks once in any case, if there is anything to look for.
    fn wait(&mut self, at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        let mut wanted = match until {
            // What was not handed over cannot end, and would be waited for until the end of time.
            Nanos::NEVER => at_least.min(self.buffers.outstanding()),
            _ => at_least,
        };
        loop {
            if self.buffers.outstanding() == 0 {
                if wanted > 0 && until != Nanos::NEVER {
                    self.sleep.sleep_until(until, &self.clock);
                }
                done.reaped = self.clock.now();
                return Ok(());
            }
            let milliseconds = match (wanted, until) {
                (0, _) => 0,
                (_, Nanos::NEVER) => FOR_EVER,
                _ => self.timeouts.before(until.since(self.clock.now())),
            };
            let begun = self.clock.now();
            let found = self.reap_within(milliseconds, done)?;
            wanted = wanted.saturating_sub(found);
            if wanted == 0 || done.reaped >= until {
                return Ok(());
            }
            match (milliseconds, found) {
                (0, _) if self.spin => std::hint::spin_loop(),
                (0, _) => std::thread::yield_now(),
                (FOR_EVER, _) | (_, 1..) => {}
                (_, 0) => self.timeouts.learn(milliseconds, done.reaped.since(begun)),
            }
        }
    }
}

fn failed<Q: Queue>(error: u32) -> EngineError {
    EngineError::System {
        call: Q::LOOKS_BY,
        errno: error as i32,
    }
}

fn unavailable<Q: Queue>(error: &std::io::Error) -> EngineError {
    let why = error.raw_os_error().map_or(error.to_string(), os_error_name);
    EngineError::unavailable(Q::KIND, why, "use `--engine psync`")
}

impl<Q: Queue> Engine for Queued<Q> {
    #[inline]
    fn turn(&mut self, requests: &[Request], at_least: u32, until: Nanos, done: &mut Batch) -> Result<(), EngineError> {
        done.done.clear();
        done.before = self.clock.now();
        done.submitted = match requests.is_empty() {
            true => 0,
            false => self.submit(requests, done),
        };
        if self.split_stamps {
            self.queue.hand_over().map_err(failed::<Q>)?;
            done.returned = self.clock.now();
        }
        let at_least = at_least.saturating_sub(done.done.len() as u32);
        self.wait(at_least, until, done)?;
        if !self.split_stamps {
            done.returned = done.reaped;
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.buffers.of_free(slot)
    }

    fn exchange_file(&mut self, index: u16, with: File) -> Result<(), EngineError> {
        self.add(&with)?;
        self.files[usize::from(index)] = with;
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

impl<Q: Queue> Drop for Queued<Q> {
    fn drop(&mut self) {
        if self.buffers.outstanding() > 0 {
            self.queue.cancel();
            self.files.iter().filter_map(File::handle).for_each(cancel_all);
        }
        let deadline = self.clock.now() + STUCK_TIMEOUT;
        while self.buffers.outstanding() > 0 {
            self.found.clear();
            let looked = self.queue.reap_within(LONGEST_MS as u32, &mut self.found);
            self.found.iter().for_each(|found| self.buffers.release(found.slot));
            if looked.is_err() || self.clock.now() >= deadline {
                break;
            }
        }
        if self.buffers.outstanding() > 0 {
            self.queue.abandon();
            self.buffers.abandon();
        }
    }
}

/// How long the system may wait so that it is back before a deadline.
///
/// Its waits have whole milliseconds and end with a tick of its timer, which comes every
/// millisecond at best, and every 15.6 where it does not grant that. So a wait ends early by as
/// much as waits have been late, and the rest is looked through.
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

    /// Milliseconds to wait where so much time is left; 0 to look without waiting.
    fn before(&self, left: Nanos) -> u32 {
        ((left - self.margin).0 / 1_000_000).min(LONGEST_MS) as u32
    }

    /// Learns from a wait in vain that was to take that many milliseconds and took so long.
    fn learn(&mut self, milliseconds: u32, took: Nanos) {
        let late = took - Nanos::millis(u64::from(milliseconds));
        // Follow a late return quickly and forget it slowly.
        let wanted = (late + Nanos(late.0 / 2)).max(Self::MIN_MARGIN).min(Self::MAX_MARGIN);
        self.margin = if wanted > self.margin {
            wanted
        } else {
            Nanos((self.margin.0 * 31 + wanted.0) / 32)
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

    /// A pipe: an end to write to, and one for queues to read from, where a read stays in flight
    /// until something is written.
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

    fn on_pipe<Q: Queue>(reading: fs::File, slots: u32) -> Queued<Q> {
        Queued::open(setup_on(Q::KIND, File::of_handle(reading), slots)).unwrap()
    }

    pub(crate) fn setup_on(kind: EngineKind, file: File, slots: u32) -> Setup {
        Setup {
            choice: EngineChoice {
                kind,
                ..EngineChoice::default()
            },
            slots,
            one_at_a_time: false,
            one_buffer: false,
            submit_batch: slots,
            complete_max: None,
            buffer_bytes: 16,
            buffer_alignment: 4096,
            huge_page: None,
            files: vec![file],
            exchanges_files: false,
            split_stamps: false,
            spin: false,
            clock: ClockStart::now().settle(),
            simulated: None,
            tree: None,
            seed: 1,
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

    pub(crate) fn what_is_in_flight_is_waited_for<Q: Queue>(on_pipe: impl Fn(fs::File, u32) -> Queued<Q>) {
        let (mut writing, reading) = pipe();
        let mut engine = on_pipe(reading, 4);
        let mut done = Batch::new(4);
        // A deadline below a millisecond, and one above.
        for (requests, length) in [(&reads(4)[..], Nanos::micros(300)), (&[], Nanos::millis(7))] {
            let until = engine.now() + length;
            engine.turn(requests, 1, until, &mut done).unwrap();
            assert_eq!((done.submitted as usize, done.done.len()), (requests.len(), 0));
            assert!(done.reaped >= until);
        }
        // A look does not wait.
        engine.turn(&[], 0, Nanos::NEVER, &mut done).unwrap();
        assert_eq!(done.done.len(), 0);
        writing.write_all(b"0123456789abcdef01234").unwrap();
        let mut results = Vec::new();
        while results.len() < 2 {
            engine.turn(&[], 1, Nanos::NEVER, &mut done).unwrap();
            results.extend(done.done.iter().map(|completion| (completion.result, completion.slot)));
        }
        // They come in the order in which they were begun, and the second is short.
        assert_eq!(results, [(16, Slot(0)), (5, Slot(1))]);
        assert_eq!(&engine.buffer(Slot(0))[..], b"0123456789abcdef");
        assert_eq!(&engine.buffer(Slot(1))[..5], b"01234");
        assert_eq!(engine.buffers.outstanding(), 2);
        // What has ended lets the other side find its end; the rest fails.
        drop(writing);
        results.clear();
        while results.len() < 2 {
            engine.turn(&[], 2, Nanos::NEVER, &mut done).unwrap();
            results.extend(done.done.iter().map(|completion| (completion.result, completion.slot)));
        }
        const BROKEN_PIPE: i64 = -109;
        assert_eq!(results, [(BROKEN_PIPE, Slot(2)), (BROKEN_PIPE, Slot(3))]);
    }

    #[test]
    fn what_is_in_flight_is_waited_for_by_each_queue() {
        what_is_in_flight_is_waited_for(on_pipe::<Port>);
        what_is_in_flight_is_waited_for(on_pipe::<Routines>);
    }

    pub(crate) fn a_drop_ends_what_is_in_flight<Q: Queue>(
        on_pipe: impl Fn(fs::File, u32) -> Queued<Q>,
        serves_again: bool,
    ) {
        for _ in 0..50 {
            let (mut writing, reading) = pipe();
            let other = reading.try_clone().unwrap();
            let mut engine = on_pipe(reading, 8);
            let mut done = Batch::new(8);
            engine.turn(&reads(8), 0, Nanos::NEVER, &mut done).unwrap();
            assert_eq!(
                (done.submitted, done.done.len(), engine.buffers.outstanding()),
                (8, 0, 8)
            );
            let begun = engine.now();
            let clock = engine.clock;
            drop(engine);
            assert!(
                clock.now().since(begun) < STUCK_TIMEOUT,
                "they were given up instead of being ended"
            );
            if !serves_again {
                continue;
            }
            // What is written now stays in the pipe until it is read.
            writing.write_all(b"0123456789abcdef").unwrap();
            let mut again = on_pipe(other, 8);
            again.turn(&reads(1), 1, Nanos::NEVER, &mut done).unwrap();
            assert_eq!(done.done[0].result, 16);
        }
    }

    #[test]
    fn a_drop_ends_what_is_in_flight_in_each_queue() {
        // A file belongs to its port for good, even to one that is closed.
        a_drop_ends_what_is_in_flight(on_pipe::<Port>, false);
        a_drop_ends_what_is_in_flight(on_pipe::<Routines>, true);
    }

    #[test]
    fn a_queue_tells_of_what_was_cancelled() {
        let (_writing, reading) = pipe();
        let mut engine = on_pipe::<Port>(reading, 2);
        let mut done = Batch::new(2);
        engine.turn(&reads(2), 0, Nanos::NEVER, &mut done).unwrap();
        engine.files.iter().filter_map(File::handle).for_each(cancel_all);
        let mut ended = 0;
        while ended < 2 {
            engine.turn(&[], 1, Nanos::NEVER, &mut done).unwrap();
            for completion in done.done.iter() {
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
            assert_eq!(timeouts.before(Nanos::micros(left_us)), milliseconds, "{left_us}");
        }
    }

    #[test]
    fn late_returns_are_learnt_and_forgotten() {
        let mut timeouts = Timeouts::default();
        timeouts.learn(1, Nanos::micros(15_600));
        assert_eq!(timeouts.before(Nanos::millis(20)), 0);
        for _ in 0..200 {
            timeouts.learn(5, Nanos::millis(5));
        }
        assert_eq!(timeouts.before(Nanos::millis(20)), 18);
        // No wait is too late by more than this.
        timeouts.learn(1, Nanos::secs(10));
        assert_eq!(timeouts.before(Nanos::millis(40)), 8);
    }
}
