//! Tests the engine over an emulated ring, which executes the operations with plain calls, so that
//! they run on systems without IoRing.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use model::Nanos;
use model::plan::CacheMode;
use windows_sys::Win32::Foundation::{
    E_INVALIDARG, ERROR_IO_INCOMPLETE, ERROR_IO_PENDING, ERROR_NOT_FOUND, HANDLE, IORING_E_CORRUPT,
    IORING_E_SUBMISSION_QUEUE_FULL,
};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLUSH_MODE, FILE_WRITE_FLAGS, FlushFileBuffers, HIORING, IORING_BUFFER_REF, IORING_CAPABILITIES, IORING_CQE,
    IORING_CREATE_FLAGS, IORING_HANDLE_REF, IORING_SQE_FLAGS, IORING_VERSION, ReadFile, WriteFile,
};
use windows_sys::Win32::System::IO::{CancelIoEx, GetOverlappedResult, OVERLAPPED};

use super::*;
use crate::Engine;
use crate::batch::{Action, Batch, Request, Slot};
use crate::file::{File, OpenOptions};
use crate::iocp::tests::{pipe, reads, setup_on};
use crate::sys::ioring::WriteCalls;
use crate::sys::overlapped::last_error;

const BLOCK: u32 = 4096;
const S_FALSE: i32 = 1;
const WAIT_TIMED_OUT: i32 = 0x8046_0009u32 as i32;

// Configuration and observations of the emulated rings of a test.
thread_local! {
    static CAPABILITIES: Cell<(IORING_VERSION, u32, u32)> = const { Cell::new((IORING_VERSION_3, 64, 128)) };
    /// Entries submitted by each call of SubmitIoRing, and the completions it waited for.
    static SUBMITTED: RefCell<Vec<(u32, u32)>> = const { RefCell::new(Vec::new()) };
    /// Number of coming calls that fail, and their code.
    static SUBMIT_FAILURES: Cell<(u32, i32)> = const { Cell::new((0, 0)) };
    /// Only SubmitIoRing notices completions.
    static COMPLETES_ON_SUBMIT: Cell<bool> = const { Cell::new(false) };
    /// Completions are returned in reverse order.
    static REVERSED: Cell<bool> = const { Cell::new(false) };
    /// Waits refused because nothing was in flight.
    static REFUSED_WAITS: Cell<u32> = const { Cell::new(0) };
    /// Operations cancelled.
    static CANCELLED: Cell<u32> = const { Cell::new(0) };
    /// Open rings, and operations in flight when one was closed.
    static OPEN: Cell<(u32, usize)> = const { Cell::new((0, 0)) };
}

/// A submission queue entry.
#[derive(Clone, Copy)]
struct Entry {
    operation: Operation,
    file: HANDLE,
    user_data: usize,
}

#[derive(Clone, Copy)]
enum Operation {
    Transfer {
        writes: bool,
        buffer: *mut u8,
        length: u32,
        offset: u64,
    },
    Flush,
    Cancel {
        user_data: usize,
    },
}

/// An operation in flight, at a fixed address.
struct StartedOperation {
    file: HANDLE,
    user_data: usize,
    overlapped: Box<OVERLAPPED>,
}

#[derive(Default)]
struct EmulatedRing {
    room: u32,
    entries: Vec<Entry>,
    started: Vec<StartedOperation>,
    ended: VecDeque<IORING_CQE>,
}

fn result_of_error(error: u32) -> i32 {
    (0x8007_0000 | error) as i32
}

impl EmulatedRing {
    /// # Safety
    /// `ring` came from [`create`] and is not closed.
    unsafe fn from_handle<'a>(ring: HIORING) -> &'a mut EmulatedRing {
        // SAFETY: the caller's promise; rings belong to one thread, which makes one call at a time.
        unsafe { &mut *ring.cast::<EmulatedRing>() }
    }

    fn push(&mut self, operation: Operation, file: IORING_HANDLE_REF, user_data: usize) -> i32 {
        if self.entries.len() == self.room as usize {
            return IORING_E_SUBMISSION_QUEUE_FULL;
        }
        // SAFETY: references to files are raw handles here.
        let file = unsafe { file.Handle.Handle };
        self.entries.push(Entry {
            operation,
            file,
            user_data,
        });
        0
    }

    fn end(&mut self, user_data: usize, code: i32, bytes: u32) {
        let ended = IORING_CQE {
            UserData: user_data,
            ResultCode: code,
            Information: bytes as usize,
        };
        match REVERSED.get() {
            true => self.ended.push_front(ended),
            false => self.ended.push_back(ended),
        }
    }

    fn begin(&mut self, entry: Entry) {
        match entry.operation {
            Operation::Cancel { user_data } => {
                let operation = self.started.iter().find(|started| started.user_data == user_data);
                // SAFETY: the structure belongs to an operation on this file.
                let reached = operation
                    .is_some_and(|operation| unsafe { CancelIoEx(operation.file, &*operation.overlapped) } != 0);
                CANCELLED.set(CANCELLED.get() + u32::from(reached));
                let code = if reached { 0 } else { result_of_error(ERROR_NOT_FOUND) };
                self.end(entry.user_data, code, 0);
            }
            Operation::Flush => {
                // SAFETY: the file is open.
                let code = match unsafe { FlushFileBuffers(entry.file) } {
                    0 => result_of_error(last_error()),
                    _ => 0,
                };
                self.end(entry.user_data, code, 0);
            }
            Operation::Transfer {
                writes,
                buffer,
                length,
                offset,
            } => {
                // SAFETY: zero is valid for all fields.
                let mut overlapped: Box<OVERLAPPED> = Box::new(unsafe { std::mem::zeroed() });
                overlapped.Anonymous.Anonymous.Offset = offset as u32;
                overlapped.Anonymous.Anonymous.OffsetHigh = (offset >> 32) as u32;
                let place = &raw mut *overlapped;
                // SAFETY: the structure stays where it is until the operation has ended, and the
                // engine keeps the buffer.
                let succeeded = unsafe {
                    match writes {
                        false => ReadFile(entry.file, buffer, length, null_mut(), place),
                        true => WriteFile(entry.file, buffer, length, null_mut(), place),
                    }
                };
                let error = if succeeded == 0 { last_error() } else { 0 };
                if succeeded == 0 && error != ERROR_IO_PENDING {
                    return self.end(entry.user_data, result_of_error(error), 0);
                }
                self.started.push(StartedOperation {
                    file: entry.file,
                    user_data: entry.user_data,
                    overlapped,
                });
            }
        }
    }

    /// Collects the operations that have completed.
    fn collect(&mut self) {
        for started in std::mem::take(&mut self.started) {
            let mut bytes = 0;
            // SAFETY: the structure belongs to an operation on this file.
            let ended = unsafe { GetOverlappedResult(started.file, &*started.overlapped, &mut bytes, 0) };
            match (ended, if ended == 0 { last_error() } else { 0 }) {
                (0, ERROR_IO_INCOMPLETE) => self.started.push(started),
                (0, error) => self.end(started.user_data, result_of_error(error), 0),
                _ => self.end(started.user_data, 0, bytes),
            }
        }
    }
}

unsafe extern "system" fn query(answer: *mut IORING_CAPABILITIES) -> i32 {
    let (version, submissions, completions) = CAPABILITIES.get();
    // SAFETY: the caller's structure is live.
    unsafe {
        *answer = IORING_CAPABILITIES {
            MaxVersion: version,
            MaxSubmissionQueueSize: submissions,
            MaxCompletionQueueSize: completions,
            FeatureFlags: 0,
        };
    }
    0
}

unsafe extern "system" fn create(
    version: IORING_VERSION,
    flags: IORING_CREATE_FLAGS,
    submissions: u32,
    completions: u32,
    ring: *mut HIORING,
) -> i32 {
    let capabilities = CAPABILITIES.get();
    assert_eq!((version, flags.Required, flags.Advisory), (capabilities.0, 0, 0));
    assert!(submissions <= capabilities.1 && completions <= capabilities.2 && submissions <= completions);
    let made = EmulatedRing {
        room: submissions,
        ..EmulatedRing::default()
    };
    // SAFETY: the caller's handle is live.
    unsafe { *ring = Box::into_raw(Box::new(made)).cast() };
    OPEN.set((OPEN.get().0 + 1, OPEN.get().1));
    0
}

unsafe extern "system" fn close(ring: HIORING) -> i32 {
    // SAFETY: the ring was made by `create` and is closed once.
    let ring = unsafe { Box::from_raw(ring.cast::<EmulatedRing>()) };
    OPEN.set((OPEN.get().0 - 1, OPEN.get().1 + ring.started.len()));
    // The system would still write to their structures.
    ring.started.into_iter().for_each(std::mem::forget);
    0
}

unsafe extern "system" fn submit(ring: HIORING, wait_for: u32, milliseconds: u32, taken: *mut u32) -> i32 {
    // SAFETY: the engine's ring is open.
    let ring = unsafe { EmulatedRing::from_handle(ring) };
    // SAFETY: the caller's number is live.
    unsafe { *taken = 0 };
    if let (times @ 1.., code) = SUBMIT_FAILURES.get() {
        SUBMIT_FAILURES.set((times - 1, code));
        return code;
    }
    ring.collect();
    if wait_for as usize > ring.entries.len() + ring.started.len() {
        REFUSED_WAITS.set(REFUSED_WAITS.get() + 1);
        return E_INVALIDARG;
    }
    let entries = std::mem::take(&mut ring.entries);
    // SAFETY: as above.
    unsafe { *taken = entries.len() as u32 };
    SUBMITTED.with_borrow_mut(|log| log.push((entries.len() as u32, wait_for)));
    entries.into_iter().for_each(|entry| ring.begin(entry));
    let until = Instant::now() + Duration::from_millis(u64::from(milliseconds));
    loop {
        ring.collect();
        if ring.ended.len() >= wait_for as usize {
            return 0;
        }
        if Instant::now() >= until {
            return WAIT_TIMED_OUT;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

unsafe extern "system" fn pop(ring: HIORING, into: *mut IORING_CQE) -> i32 {
    // SAFETY: the engine's ring is open.
    let ring = unsafe { EmulatedRing::from_handle(ring) };
    if !COMPLETES_ON_SUBMIT.get() {
        ring.collect();
    }
    match ring.ended.pop_front() {
        None => S_FALSE,
        Some(ended) => {
            // SAFETY: the caller's structure is live.
            unsafe { *into = ended };
            0
        }
    }
}

unsafe extern "system" fn read(
    ring: HIORING,
    file: IORING_HANDLE_REF,
    buffer: IORING_BUFFER_REF,
    length: u32,
    offset: u64,
    user_data: usize,
    _: IORING_SQE_FLAGS,
) -> i32 {
    // SAFETY: the engine's ring is open, and references to memory are addresses here.
    let (ring, buffer) = unsafe { (EmulatedRing::from_handle(ring), buffer.Buffer.Address.cast()) };
    let operation = Operation::Transfer {
        writes: false,
        buffer,
        length,
        offset,
    };
    ring.push(operation, file, user_data)
}

unsafe extern "system" fn write(
    ring: HIORING,
    file: IORING_HANDLE_REF,
    buffer: IORING_BUFFER_REF,
    length: u32,
    offset: u64,
    _: FILE_WRITE_FLAGS,
    user_data: usize,
    _: IORING_SQE_FLAGS,
) -> i32 {
    // SAFETY: the engine's ring is open, and references to memory are addresses here.
    let (ring, buffer) = unsafe { (EmulatedRing::from_handle(ring), buffer.Buffer.Address.cast()) };
    let operation = Operation::Transfer {
        writes: true,
        buffer,
        length,
        offset,
    };
    ring.push(operation, file, user_data)
}

unsafe extern "system" fn flush(
    ring: HIORING,
    file: IORING_HANDLE_REF,
    _: FILE_FLUSH_MODE,
    user_data: usize,
    _: IORING_SQE_FLAGS,
) -> i32 {
    // SAFETY: the engine's ring is open.
    unsafe { EmulatedRing::from_handle(ring) }.push(Operation::Flush, file, user_data)
}

unsafe extern "system" fn cancel(ring: HIORING, file: IORING_HANDLE_REF, operation: usize, user_data: usize) -> i32 {
    // SAFETY: the engine's ring is open.
    unsafe { EmulatedRing::from_handle(ring) }.push(Operation::Cancel { user_data: operation }, file, user_data)
}

const CALLS: Calls = Calls {
    query,
    create,
    close,
    submit,
    pop,
    read,
    cancel,
    write_calls: Some(WriteCalls { write, flush }),
};

/// The engine on an emulated ring.
fn engine(setup: Setup) -> QueueEngine<Ring> {
    let ring = Ring::with_calls(CALLS, setup.slots, setup.clock).unwrap();
    QueueEngine::with_queue(ring, setup).unwrap()
}

fn on_pipe(reading: std::fs::File, slots: u32) -> QueueEngine<Ring> {
    engine(setup_on(EngineKind::IoRing, File::from_handle(reading), slots))
}

/// A file of `bytes` bytes, and the engine on it.
fn on_file(bytes: usize, slots: u32) -> (tempfile::TempDir, QueueEngine<Ring>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring.dat");
    std::fs::write(&path, vec![7; bytes]).unwrap();
    let how = OpenOptions {
        overlapped: true,
        ..OpenOptions::new(Access::ReadWrite, CacheMode::BUFFERED)
    };
    let file = File::open(&path, how).unwrap();
    let setup = Setup {
        buffer_bytes: BLOCK as usize,
        ..setup_on(EngineKind::IoRing, file, slots)
    };
    (folder, engine(setup))
}

fn requests(action: Action, count: u32) -> Vec<Request> {
    let request = |slot| Request {
        offset: u64::from(slot) * u64::from(BLOCK),
        length: if action == Action::Flush { 0 } else { BLOCK },
        slot: Slot(slot),
        action,
        ..Request::NONE
    };
    (0..count).map(request).collect()
}

/// Entries submitted since the last call, by call, without calls that only waited.
fn submitted() -> Vec<u32> {
    let log = SUBMITTED.take();
    log.iter()
        .map(|(entries, _)| *entries)
        .filter(|entries| *entries > 0)
        .collect()
}

/// Submits, waits for all, and returns slots and results in order of completion.
fn submit_and_wait(engine: &mut QueueEngine<Ring>, requests: &[Request]) -> Vec<(u32, i64)> {
    let mut batch = Batch::new(64);
    let mut ended = Vec::new();
    engine
        .submit_and_reap(requests, requests.len() as u32, Nanos::NEVER, &mut batch)
        .unwrap();
    assert_eq!(batch.submitted as usize, requests.len());
    assert!(batch.submit_start <= batch.submit_end && batch.submit_end <= batch.reap_time);
    ended.extend(
        batch
            .done
            .iter()
            .map(|completion| (completion.slot.0, completion.result)),
    );
    assert_eq!(ended.len(), requests.len());
    ended
}

#[test]
fn a_turn_is_one_call_regardless_of_its_requests() {
    let (_folder, mut engine) = on_file(0, 8);
    for slot in 0..8 {
        engine.buffer(Slot(slot)).fill(slot as u8 + 1);
    }
    let completed_blocks =
        |count: u32| -> Vec<(u32, i64)> { (0..count).map(|slot| (slot, i64::from(BLOCK))).collect() };
    assert_eq!(
        submit_and_wait(&mut engine, &requests(Action::Write, 8)),
        completed_blocks(8)
    );
    for slot in 0..8 {
        engine.buffer(Slot(slot)).fill(0);
    }
    assert_eq!(submit_and_wait(&mut engine, &requests(Action::Flush, 1)), [(0, 0)]);
    // They may complete in any order.
    REVERSED.set(true);
    let mut turned = submit_and_wait(&mut engine, &requests(Action::Read, 8));
    assert_eq!(turned[0].0, 7);
    turned.sort();
    assert_eq!(turned, completed_blocks(8));
    for slot in 0..8 {
        assert!(engine.buffer(Slot(slot)).iter().all(|byte| *byte == slot as u8 + 1));
    }
    assert_eq!(submitted(), [8, 1, 8]);
    // Flushes among others go through the ring with them; a trim is executed by itself.
    let mut mixed = requests(Action::Write, 4);
    mixed[2] = Request {
        length: 0,
        action: Action::FlushData,
        ..mixed[2]
    };
    mixed[3].action = Action::Trim;
    let mut batch = Batch::new(8);
    engine.submit_and_reap(&mixed, 3, Nanos::NEVER, &mut batch).unwrap();
    assert_eq!((batch.submitted, batch.done.len()), (3, 3));
    engine
        .submit_and_reap(&mixed[3..], 1, Nanos::NEVER, &mut batch)
        .unwrap();
    assert_eq!((batch.submitted, batch.done.len()), (1, 1));
    assert_eq!(submitted(), [3]);
    assert_eq!(engine.describe().kind, EngineKind::IoRing);
    drop(engine);
    assert_eq!(OPEN.get(), (0, 0));
}

#[test]
fn a_stamp_between_submitting_and_waiting_costs_a_call() {
    let (mut writing, reading) = pipe();
    let mut engine = engine(Setup {
        split_stamps: true,
        ..setup_on(EngineKind::IoRing, File::from_handle(reading), 2)
    });
    let mut batch = Batch::new(2);
    let until = engine.now() + Nanos::millis(20);
    engine.submit_and_reap(&reads(2), 2, until, &mut batch).unwrap();
    // The first does not wait, the second does.
    assert_eq!(SUBMITTED.with_borrow(|log| log[..2].to_vec()), [(2, 0), (0, 1)]);
    assert!(batch.reap_time >= until && batch.submit_end < until, "{batch:?}");
    assert_eq!(submitted(), [2]);
    std::io::Write::write_all(&mut writing, &[1; 32]).unwrap();
    engine.submit_and_reap(&[], 2, Nanos::NEVER, &mut batch).unwrap();
    assert_eq!(batch.done.len(), 2);
}

#[test]
fn a_ring_smaller_than_a_turn_is_submitted_several_times() {
    CAPABILITIES.set((IORING_VERSION_3, 4, 128));
    let (_folder, mut engine) = on_file(10 * BLOCK as usize, 10);
    let mut ended = submit_and_wait(&mut engine, &requests(Action::Read, 10));
    ended.sort();
    assert_eq!(ended.len(), 10);
    assert!(ended.iter().all(|(_, result)| *result == i64::from(BLOCK)), "{ended:?}");
    assert_eq!(submitted(), [4, 4, 2]);
}

#[test]
fn short_transfers_and_the_end_of_a_file_are_not_errors() {
    let (_folder, mut engine) = on_file(BLOCK as usize + 100, 4);
    let ended = submit_and_wait(&mut engine, &requests(Action::Read, 3));
    assert_eq!(ended.len(), 3);
    for (slot, result) in [(0, i64::from(BLOCK)), (1, 100), (2, 0)] {
        assert!(ended.contains(&(slot, result)), "{ended:?}");
    }
    // The system refuses a negative offset.
    let mut wrong = requests(Action::Read, 1);
    wrong[0].offset = 1 << 63;
    const INVALID: i64 = 87;
    assert_eq!(submit_and_wait(&mut engine, &wrong), [(0, -INVALID)]);
    assert_eq!(
        submit_and_wait(&mut engine, &requests(Action::Read, 1)),
        [(0, i64::from(BLOCK))]
    );
}

#[test]
fn waits_for_operations_in_flight() {
    crate::iocp::tests::waits_for_operations_in_flight(on_pipe);
    assert_eq!(OPEN.get(), (0, 0));
}

#[test]
fn a_completion_before_the_wait_ends_the_wait() {
    let (mut writing, reading) = pipe();
    let mut engine = on_pipe(reading, 2);
    let mut batch = Batch::new(2);
    engine.submit_and_reap(&reads(1), 0, Nanos::NEVER, &mut batch).unwrap();
    COMPLETES_ON_SUBMIT.set(true);
    std::io::Write::write_all(&mut writing, b"0123456789abcdef").unwrap();
    // The ring reports no completion, and then that nothing is in flight.
    engine.submit_and_reap(&[], 1, Nanos::NEVER, &mut batch).unwrap();
    assert_eq!((batch.done.len(), batch.done[0].result), (1, 16));
    assert_eq!(REFUSED_WAITS.get(), 1);
}

#[test]
fn drop_ends_operations_in_flight() {
    crate::iocp::tests::drop_ends_operations_in_flight(on_pipe, true);
    assert_eq!(CANCELLED.get(), 50 * 8);
    assert_eq!(OPEN.get(), (0, 0));
}

#[test]
fn a_failed_call_ends_the_turn_and_no_operation_is_lost() {
    let (mut writing, reading) = pipe();
    let mut engine = on_pipe(reading, 4);
    let mut batch = Batch::new(4);
    engine.submit_and_reap(&reads(2), 0, Nanos::NEVER, &mut batch).unwrap();
    std::io::Write::write_all(&mut writing, b"0123456789abcdef").unwrap();
    SUBMIT_FAILURES.set((1, IORING_E_CORRUPT));
    let more: Vec<Request> = reads(4).drain(2..).collect();
    let error = engine.submit_and_reap(&more, 1, Nanos::NEVER, &mut batch).unwrap_err();
    let expected = EngineError::system("SubmitIoRing", IORING_E_CORRUPT);
    assert_eq!(error, expected);
    // One was reaped before. The entries left in the ring are submitted with the cancellations, and
    // all three operations end.
    assert_eq!((batch.done.len(), batch.done[0].slot), (1, Slot(0)));
    drop(engine);
    assert_eq!((CANCELLED.get(), OPEN.get()), (3, (0, 0)));
}

#[test]
fn a_ring_that_cannot_be_emptied_is_leaked() {
    let (_writing, reading) = pipe();
    let mut engine = on_pipe(reading, 1);
    let mut batch = Batch::new(1);
    engine.submit_and_reap(&reads(1), 0, Nanos::NEVER, &mut batch).unwrap();
    // The cancellation is refused, and so is the first poll.
    SUBMIT_FAILURES.set((2, IORING_E_CORRUPT));
    COMPLETES_ON_SUBMIT.set(true);
    drop(engine);
    assert_eq!(SUBMIT_FAILURES.get().0, 0);
    // The ring and the memory that the system may still write to are leaked.
    assert_eq!(OPEN.get(), (1, 0));
}

/// Capabilities of a system.
fn capabilities(version: IORING_VERSION, writes: bool) -> Option<Result<Capabilities, u32>> {
    Some(Ok(Capabilities {
        version,
        submissions: 16,
        completions: 32,
        writes,
        emulated: false,
    }))
}

#[test]
fn missing_features_are_named() {
    let check = |here, writes, part: &str| {
        let message = missing_capability(here, writes).expect("a feature is missing");
        assert!(message.contains(part), "{message}");
    };
    for writes in [false, true] {
        check(None, writes, "has no IoRing");
        check(Some(Err(5)), writes, "does not report");
        check(capabilities(0, false), writes, "supports no operations");
        assert_eq!(missing_capability(capabilities(300, true), writes), None);
    }
    for version in [1, 2] {
        assert_eq!(missing_capability(capabilities(version, false), false), None);
        let part = format!("is version {version} and can only read");
        check(capabilities(version, false), true, &part);
    }
    // The version supports writes, but the library lacks the call.
    check(capabilities(300, false), true, "is version 3 and");
    let deep = |slots| {
        capabilities(300, true)
            .and_then(Result::ok)
            .and_then(|capabilities| depth_error(capabilities, slots))
    };
    assert_eq!(deep(32), None);
    let message = deep(33).unwrap().to_string();
    assert!(message.contains("exceeds the capacity of a ring, 32"));
}

#[test]
fn only_version_3_writes() {
    CAPABILITIES.set((IORING_VERSION_1, 64, 128));
    let capabilities = CALLS.capabilities().unwrap();
    assert!(!capabilities.writes && capabilities.version == IORING_VERSION_1);
    CAPABILITIES.set((IORING_VERSION_3, 64, 128));
    assert!(CALLS.capabilities().unwrap().writes);
    let old = Calls {
        write_calls: None,
        ..CALLS
    };
    assert!(!old.capabilities().unwrap().writes);
}
