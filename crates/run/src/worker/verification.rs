//! Writes that will be checked, and checks of what is read back: after the writes, from a backlog among them, or where a
//! stream does nothing but read.
//!
//! Workers that verify are careful ones: all of this is asked only for operations that are looked at one by one.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use engine::{Action, Request, Slot};
use model::draws::{Draws, Purpose};
use model::mismatch::BlockFault;
use model::plan::{Job, Stream, Verify};
use model::results::{FailedOperation, Failure, MOST_MISMATCHES};
use model::sequence::Operation;
use model::{Bytes, Direction, Nanos};

use super::recorder::SlotRecord;
use super::{Lane, Worker};
use crate::verify::history::{History, Note, Written};
use crate::verify::{Block, Checker, mismatch};

/// EILSEQ of Linux, the number that fio gives to what is not as it was written.
pub(crate) const MISMATCH: i32 = 84;
/// So many writes of a replay are passed over before the worker looks whether it should stop.
const REPLAYED_AT_ONCE: u64 = 1024;

/// The verification of one stream.
#[derive(Debug)]
pub(crate) struct Verification {
    checker: Checker,
    history: History,
    /// What each slot carries.
    carried: Vec<Carried>,
    writes: u64,
    /// Blocks of the backlog that are still to be read at present.
    backlog_left: u64,
    /// The last operation was a read of the backlog.
    has_just_read: bool,
    /// The stream only reads: what it reads is checked.
    checks_reads: bool,
    any_seed: bool,
    any_order: bool,
    backlog: u64,
    backlog_batch: u64,
    only: bool,
    after_writes: bool,
}

/// What an operation in flight is to verification.
#[derive(Clone, Copy, Debug)]
enum Carried {
    Nothing,
    Write(Note),
    Check(Block),
}

impl Verification {
    /// The verification that a stream wants, in a worker with so many slots whose number in the run is `number`.
    pub(super) fn new(stream: &Stream, verify: &Verify, job: &Job, slots: u32, number: u16) -> Verification {
        let once = job.stop.passes == Some(1) && !job.stop.repeat_until_time;
        let ends = stream.pattern.access.iter().all(model::access::Access::ends);
        Verification {
            checker: Checker::new(verify, number),
            history: History::new(!(once && ends)),
            carried: vec![Carried::Nothing; slots as usize],
            writes: 0,
            backlog_left: 0,
            has_just_read: false,
            checks_reads: !stream.mix.includes(Direction::Write),
            any_seed: verify.any_seed,
            any_order: verify.any_order,
            backlog: verify.backlog,
            backlog_batch: verify.backlog_batch,
            only: verify.only,
            after_writes: verify.after_writes,
        }
    }

    /// The least that a block or an interval must hold.
    pub(super) fn least_length(&self) -> usize {
        self.checker.least_length()
    }

    /// The next write, or the next block of those that were written before.
    fn next_block(&mut self, operation: &Operation, draws: &mut Draws) -> Block {
        // As fio draws it: two numbers, multiplied.
        let seed = match self.checker.needs_seed() {
            true => u64::from(draws.half(Purpose::Verify)).wrapping_mul(u64::from(draws.half(Purpose::Verify))),
            false => 0,
        };
        let number = self.writes;
        self.writes += 1;
        Block {
            offset: operation.offset,
            length: operation.length,
            seed: Some(seed),
            number: Some(number).filter(|_| !self.checks_reads),
            hash: None,
        }
    }

    /// What is expected of a block when it is read.
    fn expected(&self, block: Block) -> Block {
        Block {
            seed: block.seed.filter(|_| !self.any_seed),
            number: block.number.filter(|_| !self.any_order),
            // What was written in another run has another hash.
            hash: block.hash.filter(|_| !self.only),
            ..block
        }
    }

    /// fio's rule: after every so many writes, so many of the oldest blocks are read back.
    fn backlog_is_due(&mut self) -> bool {
        if self.backlog == 0 || self.history.len() == 0 {
            return false;
        }
        if self.backlog_left == 0 && !self.has_just_read && (self.history.len() as u64).is_multiple_of(self.backlog) {
            self.backlog_left = match self.backlog_batch {
                0 => self.backlog,
                batch => batch,
            };
        }
        self.backlog_left > 0
    }
}

impl Worker<'_> {
    /// Fills the buffer of a write.
    pub(super) fn fill_write(&mut self, number: usize, slot: Slot, operation: &Operation) {
        let stream = &mut self.streams[number];
        let Some(filler) = &mut stream.filler else { return };
        let buffer = &mut self.engine.buffer(slot)[..operation.length as usize];
        let now = self.batch.reaped;
        match &mut stream.verification {
            None => filler.fill(buffer, operation.offset, now, &mut self.draws),
            Some(verification) => {
                let mut block = verification.next_block(operation, &mut self.draws);
                verification.checker.fill(buffer, &mut block, now.0, filler);
                let file = stream.set.as_ref().map_or(0, |set| set.present()) as u32;
                let note = verification.history.issued(Written { file, block });
                verification.carried[slot.0 as usize] = Carried::Write(note);
                verification.has_just_read = false;
            }
        }
        self.batch.reaped = self.engine.now();
        self.round = self.round.wrapping_add(1);
    }

    /// A read goes out that is none of the backlog.
    pub(super) fn expect_read(&mut self, number: usize, slot: Slot, operation: &Operation) {
        let Some(verification) = &mut self.streams[number].verification else {
            return;
        };
        verification.carried[slot.0 as usize] = match verification.checks_reads {
            true => {
                let block = verification.next_block(operation, &mut self.draws);
                Carried::Check(verification.expected(block))
            }
            false => Carried::Nothing,
        };
        verification.has_just_read = false;
    }

    /// Passes over a write of a stream that only replays what was written before. `None` if the write must go out;
    /// otherwise whether more may be passed over at once.
    pub(super) fn replay(&mut self, number: usize, operation: &Operation) -> Option<bool> {
        let stream = &mut self.streams[number];
        let verification = stream.verification.as_mut()?;
        if !verification.only || operation.direction != Direction::Write {
            return None;
        }
        let block = verification.next_block(operation, &mut self.draws);
        let file = stream.set.as_ref().map_or(0, |set| set.present()) as u32;
        if let Some(set) = &mut stream.set {
            set.passed_over();
        }
        let note = verification.history.issued(Written { file, block });
        verification.history.ended(note, true);
        stream.idle_pass = false;
        self.budget.operations -= 1;
        self.budget.bytes = self.budget.bytes.saturating_sub(u64::from(operation.length));
        self.winding_down |= self.budget.operations == 0;
        Some(!verification.writes.is_multiple_of(REPLAYED_AT_ONCE))
    }

    /// Reads a block of the backlog if that is due now.
    pub(super) fn read_backlog(&mut self, lane: usize, number: usize, slot: Slot) -> bool {
        let Some(verification) = &mut self.streams[number].verification else {
            return false;
        };
        verification.backlog_is_due() && self.read_back(lane, number, slot)
    }

    /// Queues reads of everything that was written and not yet read back.
    #[inline(never)]
    pub(super) fn issue_checks(&mut self) {
        self.round = self.round.wrapping_add(1);
        for index in 0..self.lanes.len() {
            while self.lanes[index].has_room() && (self.requests.is_empty() || !self.inline.seen) {
                let Lane { free, free_count, .. } = &self.lanes[index];
                let slot = free[free_count - 1];
                let mut streams = self.lanes[index].streams.clone();
                if !streams.any(|number| self.read_back(index, number, slot)) {
                    break;
                }
            }
        }
        self.winding_down |= !self.has_to_verify();
    }

    /// Something was written that is to be read back.
    pub(super) fn has_to_verify(&self) -> bool {
        let verifications = self.streams.iter().filter_map(|stream| stream.verification.as_ref());
        verifications
            .into_iter()
            .any(|verification| verification.after_writes && verification.history.len() > 0)
    }

    /// Queues a read of the oldest block that was written. False if there is none now.
    fn read_back(&mut self, lane: usize, number: usize, slot: Slot) -> bool {
        let Some(verification) = &mut self.streams[number].verification else {
            return false;
        };
        let Some(file) = verification.history.next_file() else {
            return false;
        };
        let file = match self.file_to_read(number, file as usize) {
            Ok(Some(file)) => file,
            Ok(None) => return false,
            Err(failure) => {
                self.fail(*failure);
                return false;
            }
        };
        let stream = &mut self.streams[number];
        let Some(verification) = &mut stream.verification else {
            return false;
        };
        let Some(written) = verification.history.take() else {
            return false;
        };
        let block = verification.expected(written.block);
        verification.carried[slot.0 as usize] = Carried::Check(block);
        verification.has_just_read = true;
        verification.backlog_left = verification.backlog_left.saturating_sub(1);
        if let Some(gate) = &mut stream.gate {
            gate.issued_beside();
        }
        self.round = self.round.wrapping_add(1);
        *self.slots.get_mut(slot) = SlotRecord {
            key: u64::from(self.round) << 32 | u64::from(stream.cells[Direction::Read]),
            queued: self.batch.reaped,
            issued: Nanos(0),
            due: self.batch.reaped,
            offset: block.offset,
            length: block.length,
            lane: lane as u32,
            stream: number as u32,
            file,
            used: true,
        };
        self.requests.push(Request {
            offset: block.offset,
            length: block.length,
            slot,
            file,
            action: Action::Read,
        });
        self.lanes[lane].free_count -= 1;
        if self.tracing.is_some() {
            self.trace_queued(file, Action::Read, block.offset, block.length);
        }
        true
    }

    /// An operation of a stream that verifies has ended, and its buffer is still as it was left.
    pub(super) fn verify_ended(&mut self, slot: Slot, record: &SlotRecord, result: i64) {
        let number = record.stream as usize;
        let Some(verification) = &mut self.streams[number].verification else {
            return;
        };
        let whole = result == i64::from(record.length);
        match std::mem::replace(&mut verification.carried[slot.0 as usize], Carried::Nothing) {
            Carried::Nothing => {}
            Carried::Write(note) => verification.history.ended(note, whole),
            Carried::Check(block) if whole => {
                let buffer = &self.engine.buffer(slot)[..record.length as usize];
                let faults = verification.checker.check(buffer, &block);
                if !faults.is_empty() {
                    self.note_mismatches(slot, record, &block, faults);
                }
            }
            // What could not be read is an error of its own.
            Carried::Check(_) => {}
        }
    }

    #[cold]
    fn note_mismatches(&mut self, slot: Slot, record: &SlotRecord, block: &Block, faults: Vec<(u64, u32, BlockFault)>) {
        let path = self.files[usize::from(record.file)].0.clone();
        let Some(plan) = &self.plan.streams[record.stream as usize].verify else {
            return;
        };
        if plan.dump && self.mismatches.len() < MOST_MISMATCHES {
            self.dump(slot, record, block, &path);
        }
        let (offset, length, fault) = &faults[0];
        let failure = Failure {
            what: format!("what was read is not what was written: {fault}"),
            at: format!("{path}, {length} bytes at offset {offset}"),
            errno: Some(MISMATCH),
            operation: Some(FailedOperation {
                slot: slot.0,
                stream: record.stream,
                direction: Direction::Read,
                path: path.clone(),
                offset: Bytes(record.offset),
                length: record.length,
                too_slow: None,
            }),
            help: Some("the data are wrong on the device, or another program has written there".into()),
        };
        self.mismatch_count += faults.len() as u64;
        let room = MOST_MISMATCHES.saturating_sub(self.mismatches.len());
        let found = faults.into_iter().take(room);
        self.mismatches
            .extend(found.map(|fault| mismatch(record.stream, &path, block, fault)));
        let tolerated = &self.plan.streams[record.stream as usize].on_error.tolerate_verify;
        if plan.fatal || !tolerated.contains(&MISMATCH) {
            self.fail(failure);
            return;
        }
        let cell = &mut self.recorder.cells[record.key as u32 as usize];
        cell.errors += 1;
        cell.first_error.get_or_insert(MISMATCH);
    }

    /// Keeps what was read and, where its seed is known, what was expected, in files of the working directory that are
    /// named as fio names them.
    fn dump(&mut self, slot: Slot, record: &SlotRecord, block: &Block, path: &str) {
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        let file = |kind: &str| PathBuf::from(format!("{name}.{}.{kind}", block.offset));
        let keep = |path: PathBuf, bytes: &[u8]| std::fs::File::create(path).and_then(|mut file| file.write_all(bytes));
        let buffer = &self.engine.buffer(slot)[..record.length as usize];
        let stream = &self.streams[record.stream as usize];
        // What cannot be kept is no reason to end the run: the mismatch itself is told in any case.
        let _ = keep(file("received"), buffer);
        let (Some(verification), Some(_)) = (&stream.verification, block.seed) else {
            return;
        };
        let mut expected = vec![0; buffer.len()];
        verification
            .checker
            .fill_expected(&mut expected, block, stream.filler.as_ref());
        let _ = keep(file("expected"), &expected);
    }
}
