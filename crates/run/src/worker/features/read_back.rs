//! Reading back what was written, and what is done about blocks that are not as they were: checked by the worker or by
//! threads beside it, told, kept. And the state that is left for a later check.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use engine::{Action, Request, Slot};
use model::draws::Purpose;
use model::event::Phase;
use model::plan::Verify;
use model::results::{FailedOperation, Failure, MOST_MISMATCHES};
use model::{Bytes, Direction, Nanos};

use crate::verify::pool::{Checked, Gone};
use crate::verify::state::Progress;
use crate::verify::{Block, Fault, mismatch};
use crate::worker::features::verify::SlotTag;
use crate::worker::recorder::SlotRecord;
use crate::worker::{SlotPool, Worker};

/// EILSEQ of Linux, the number that fio gives to what is not as it was written.
pub(crate) const MISMATCH: i32 = 84;

impl Worker<'_> {
    /// Queues reads of everything that was written and not yet read back.
    #[inline(never)]
    pub(crate) fn issue_checks(&mut self) {
        self.io.round = self.io.round.wrapping_add(1);
        for index in 0..self.io.pools.len() {
            while self.io.pools[index].has_room() && (self.io.requests.is_empty() || !self.io.batching.inline.seen) {
                let SlotPool { free, free_count, .. } = &self.io.pools[index];
                let slot = free[free_count - 1];
                let mut streams = self.io.pools[index].streams.clone();
                if !streams.any(|number| self.read_back(index, number, slot)) {
                    break;
                }
            }
        }
        self.io.winding_down |= !self.has_to_verify();
    }

    /// Queues a read of the oldest block that was written. False if there is none now.
    pub(crate) fn read_back(&mut self, pool: usize, number: usize, slot: Slot) -> bool {
        if self.lifecycle.timeline.phase() == Phase::Verify || self.features.between_rounds.are_under_way() {
            self.work_out(number);
        }
        let Some(verification) = &mut self.io.streams[number].verification else {
            return false;
        };
        let Some(file) = verification.history.next_file() else {
            return false;
        };
        let Some(file) = self.file_beside(number, file) else {
            return false;
        };
        let Some(verification) = &mut self.io.streams[number].verification else {
            return false;
        };
        let Some(written) = verification.history.take() else {
            return false;
        };
        let block = verification.expected(written.block);
        verification.tags[slot.0 as usize] = SlotTag::Check(block);
        verification.has_just_read = true;
        verification.backlog_left = verification.backlog_left.saturating_sub(1);
        self.queue_beside(pool, number, slot, (file, Action::Read), (block.offset, block.length));
        true
    }

    /// The engine's file for an operation beside those of the sequence, opened if need be. `None` if that cannot be now.
    pub(crate) fn file_beside(&mut self, number: usize, file: u32) -> Option<u16> {
        match self.file_to_read(number, file as usize) {
            Ok(file) => file,
            Err(failure) => {
                self.fail(*failure);
                None
            }
        }
    }

    /// Queues an operation that no sequence has drawn and no schedule knows of.
    pub(crate) fn queue_beside(
        &mut self,
        pool: usize,
        number: usize,
        slot: Slot,
        (file, action): (u16, Action),
        (offset, length): (u64, u32),
    ) {
        let stream = &mut self.io.streams[number];
        let cell = match action {
            Action::Read => stream.cells[Direction::Read],
            Action::Write => stream.cells[Direction::Write],
            Action::Trim => stream.cells[Direction::Trim],
            Action::Flush | Action::FlushData | Action::FlushRange(_) => stream.sync_cell,
        };
        self.io.round = self.io.round.wrapping_add(1);
        *self.io.slots.get_mut(slot) = SlotRecord {
            key: u64::from(self.io.round) << 32 | u64::from(cell),
            queued: self.io.batch.reaped,
            issued: Nanos(0),
            due: self.io.batch.reaped,
            offset,
            length,
            pool: pool as u32,
            stream: number as u32,
            file,
            used: true,
        };
        if length > 0
            && let Some(gate) = &mut stream.gate
        {
            gate.issued_beside();
        }
        self.io.requests.push(Request {
            offset,
            length,
            slot,
            file,
            action,
        });
        self.io.pools[pool].free_count -= 1;
        if self.features.tracing.is_some() {
            self.trace_queued(file, action, offset, length);
        }
    }

    /// Checks what was read, or has it checked.
    pub(crate) fn check(&mut self, slot: Slot, record: &SlotRecord, block: Block) {
        let Some(verification) = &mut self.io.streams[record.stream as usize].verification else {
            return;
        };
        let buffer = &mut self.io.engine.buffer(slot)[..record.length as usize];
        if verification.pool.is_none() {
            let faults = verification.checker.check(buffer, &block);
            if !faults.is_empty() {
                let received = buffer.to_vec();
                self.note_mismatches((slot, record), &block, faults, &received);
            }
            return;
        }
        if !self.take_checked(record.stream as usize, false) {
            return;
        }
        let Some(verification) = &mut self.io.streams[record.stream as usize].verification else {
            return;
        };
        let Some(pool) = &mut verification.pool else { return };
        let buffer = &self.io.engine.buffer(slot)[..record.length as usize];
        if pool.give((slot, *record), block, buffer).is_err() {
            self.fail_with_checkers();
        }
    }

    /// Waits for everything that is being checked.
    pub(crate) fn await_checks(&mut self) {
        for number in 0..self.io.streams.len() {
            self.take_checked(number, true);
        }
    }

    /// Takes what was checked meanwhile, and waits for it: for all of it, or until there is room for another block. False if
    /// there is nobody who checks.
    fn take_checked(&mut self, number: usize, all: bool) -> bool {
        loop {
            let Some(verification) = &mut self.io.streams[number].verification else {
                return false;
            };
            let Some(pool) = &mut verification.pool else {
                return false;
            };
            let wait = all || !pool.has_room();
            let found = if wait { pool.wait() } else { pool.look() };
            let Checked {
                of: (slot, record),
                block,
                data,
                faults,
            } = match found {
                Ok(Some(checked)) => checked,
                Ok(None) => return true,
                Err(Gone) => {
                    self.fail_with_checkers();
                    return false;
                }
            };
            if !faults.is_empty() {
                self.note_mismatches((slot, &record), &block, faults, &data);
            }
            if let Some(verification) = &mut self.io.streams[number].verification
                && let Some(pool) = &mut verification.pool
            {
                pool.take_back(data);
            }
        }
    }

    #[cold]
    fn fail_with_checkers(&mut self) {
        self.fail(Failure {
            what: "a fault of this program: the threads that check what was read have ended".into(),
            at: format!("job `{}`", self.context.job.name),
            errno: None,
            operation: None,
            help: Some("please report it with the plan that led to it".into()),
        });
    }

    #[cold]
    fn note_mismatches(
        &mut self,
        (slot, record): (Slot, &SlotRecord),
        block: &Block,
        faults: Vec<Fault>,
        received: &[u8],
    ) {
        let path = self.io.errors.files[usize::from(record.file)].0.clone();
        let Some(plan) = &self.context.plan.streams[record.stream as usize].verify else {
            return;
        };
        if plan.dump && self.features.mismatches.len() < MOST_MISMATCHES {
            self.dump(plan, record, block, (&path, received));
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
        self.features.mismatch_count += faults.len() as u64;
        let room = MOST_MISMATCHES.saturating_sub(self.features.mismatches.len());
        let found = faults.into_iter().take(room);
        self.features
            .mismatches
            .extend(found.map(|fault| mismatch(record.stream, &path, block, fault)));
        let tolerated = &self.context.plan.streams[record.stream as usize]
            .on_error
            .tolerate_verify;
        if plan.fatal || !tolerated.contains(&MISMATCH) {
            self.fail(failure);
            return;
        }
        let cell = &mut self.io.recorder.cells[record.key as u32 as usize];
        cell.errors += 1;
        cell.first_error.get_or_insert(MISMATCH);
    }

    /// Keeps what was read and, where its seed is known, what was expected, in files that are named as fio names them.
    fn dump(&self, plan: &Verify, record: &SlotRecord, block: &Block, (path, received): (&str, &[u8])) {
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        let file = |kind: &str| Path::new(&plan.directory).join(format!("{name}.{}.{kind}", block.offset));
        let keep = |path: PathBuf, bytes: &[u8]| std::fs::File::create(path).and_then(|mut file| file.write_all(bytes));
        let stream = &self.io.streams[record.stream as usize];
        // What cannot be kept is no reason to end the run: the mismatch itself is told in any case.
        let _ = keep(file("received"), received);
        let (Some(verification), Some(_)) = (&stream.verification, block.seed) else {
            return;
        };
        let mut expected = vec![0; received.len()];
        verification
            .checker
            .fill_expected(&mut expected, block, stream.filler.as_ref());
        let _ = keep(file("expected"), &expected);
    }

    /// Leaves for a later check how far the writes came, whatever ended them. Returns what could not be kept, in sentences.
    pub(crate) fn save_states(&self) -> Vec<String> {
        let mut not_kept = Vec::new();
        for (stream, plan) in self.io.streams.iter().zip(&self.context.plan.streams) {
            let progress = stream.verification.as_ref().and_then(|of| of.progress());
            let (Some(progress), Some(verify)) = (progress, &plan.verify) else {
                continue;
            };
            let progress = Progress {
                generator: self.io.draws.words_of(Purpose::Offset).unwrap_or_default(),
                ..progress.clone()
            };
            let path = state_path(verify);
            if let Err(error) = std::fs::write(&path, progress.to_bytes(&self.context.job.name)) {
                not_kept.push(format!(
                    "how far the writes came could not be kept in {}: {error}",
                    path.display()
                ));
            }
        }
        not_kept
    }
}

/// The state file of a stream.
fn state_path(verify: &Verify) -> PathBuf {
    Path::new(&verify.directory).join(&verify.state_file)
}

/// What an earlier run recorded, and the file that should say so.
pub(crate) fn load_state(verify: &Verify) -> Result<Progress, (PathBuf, io::Error)> {
    let path = state_path(verify);
    let read = std::fs::read(&path).and_then(|bytes| Progress::of_bytes(&bytes));
    read.map_err(|error| (path, error))
}
