//! Checks read data, in the worker or in threads. Reports mismatches, writes dumps, and saves state
//! for a later check.

use std::io::Write as _;
use std::path::PathBuf;

use engine::Slot;
use model::Direction;
use model::draws::Purpose;
use model::mismatch::dump_path;
use model::results::{Failure, MAX_MISMATCHES};

use super::{EndedOperation, Progress, SlotRecord, StreamVerification, Verification};
use crate::verify::pool::{CheckedBlock, CheckerPool, ThreadsEnded};
use crate::verify::{Block, Fault, read_seed, report_mismatch};
use crate::worker::io_loop::IoLoop;

/// EILSEQ of Linux, fio's error number for mismatches.
const MISMATCH: i32 = 84;

impl Verification {
    /// Checks the data of a read, or submits it to a thread.
    pub(super) fn check(&mut self, io: &mut IoLoop, ended: &EndedOperation, block: Block) {
        let (slot, record) = (ended.slot, ended.record);
        let number = record.stream as usize;
        let Some(stream) = &mut self.streams[number] else {
            return;
        };
        let buffer = &mut io.engine.buffer(slot)[..record.length as usize];
        if stream.checkers.is_none() {
            let faults = stream.checker.check(buffer, &block);
            if !faults.is_empty() {
                let received = buffer.to_vec();
                self.record_mismatches(io, (slot, &record), &block, faults, &received);
            }
            return;
        }
        if !self.take_checked(io, number, false) {
            return;
        }
        let Some(checkers) = self.checkers(number) else { return };
        let buffer = &io.engine.buffer(slot)[..record.length as usize];
        if checkers.submit((slot, record), block, buffer).is_err() {
            self.fail_without_checkers(io);
        }
    }

    /// Waits for all submitted checks.
    pub(crate) fn await_checks(&mut self, io: &mut IoLoop) {
        for number in 0..self.streams.len() {
            self.take_checked(io, number, true);
        }
    }

    /// The checker threads of a stream.
    fn checkers(&mut self, number: usize) -> Option<&mut CheckerPool<(Slot, SlotRecord)>> {
        self.streams[number].as_mut()?.checkers.as_mut()
    }

    /// Processes finished checks, and waits for all of them or for a free buffer. Returns false if
    /// there are no checker threads.
    fn take_checked(&mut self, io: &mut IoLoop, number: usize, all: bool) -> bool {
        loop {
            let Some(checkers) = self.checkers(number) else {
                return false;
            };
            let wait = all || !checkers.has_room();
            let checked = if wait { checkers.wait() } else { checkers.try_take() };
            let CheckedBlock {
                owner_data: (slot, record),
                block,
                data,
                faults,
            } = match checked {
                Ok(Some(checked)) => checked,
                Ok(None) => return true,
                Err(ThreadsEnded) => {
                    self.fail_without_checkers(io);
                    return false;
                }
            };
            if !faults.is_empty() {
                self.record_mismatches(io, (slot, &record), &block, faults, &data);
            }
            if let Some(checkers) = self.checkers(number) {
                checkers.return_buffer(data);
            }
        }
    }

    #[cold]
    fn fail_without_checkers(&self, io: &mut IoLoop) {
        io.fail(Failure {
            help: Some("please report it with the plan that caused it".into()),
            ..Failure::new(
                "internal error: the checker threads have ended",
                format!("job `{}`", self.job),
            )
        });
    }

    #[cold]
    fn record_mismatches(
        &mut self,
        io: &mut IoLoop,
        (slot, record): (Slot, &SlotRecord),
        block: &Block,
        faults: Vec<Fault>,
        received: &[u8],
    ) {
        let Some(stream) = &self.streams[record.stream as usize] else {
            return;
        };
        if stream.plan.dump && self.mismatches.len() < MAX_MISMATCHES {
            write_dumps(io, stream, record, block, received);
        }
        let path = io.errors.path(record.file).to_owned();
        let (offset, length, fault) = &faults[0];
        let failure = Failure {
            what: format!("read data differs from the written data: {fault}"),
            location: format!("{path}, {length} bytes at offset {offset}"),
            errno: Some(MISMATCH),
            operation: Some(io.errors.failed_operation(slot, record, Direction::Read)),
            help: Some("the data on the device is wrong, or another program has written there".into()),
        };
        self.mismatch_count += faults.len() as u64;
        let room = MAX_MISMATCHES.saturating_sub(self.mismatches.len());
        let reported_faults = faults.into_iter().take(room);
        self.mismatches
            .extend(reported_faults.map(|fault| report_mismatch(record.stream, &path, block, fault)));
        if stream.plan.fatal || !stream.tolerated.contains(&MISMATCH) {
            io.fail(failure);
        } else {
            io.count_error(record, MISMATCH);
        }
    }

    /// Saves the progress of the writes for a later check. Returns what could not be saved, in
    /// sentences.
    pub(super) fn save_states(&self, io: &IoLoop) -> Vec<String> {
        let mut not_kept = Vec::new();
        for stream in self.streams.iter().flatten() {
            let Some(progress) = &stream.progress else { continue };
            let progress = Progress {
                generator: io.draws.generator_state(Purpose::Offset).unwrap_or_default(),
                ..progress.clone()
            };
            let path = stream.plan.state_path();
            if let Err(error) = std::fs::write(&path, progress.to_bytes(&self.job)) {
                not_kept.push(format!(
                    "cannot save the progress of the writes in {}: {error}",
                    path.display()
                ));
            }
        }
        not_kept
    }
}

/// Writes the received data to a file with fio's name. If the seed is known, also writes the
/// expected data.
fn write_dumps(io: &IoLoop, stream: &StreamVerification, record: &SlotRecord, block: &Block, received: &[u8]) {
    let file = |kind: &str| dump_path(&stream.plan.directory, io.errors.path(record.file), block.offset, kind);
    let write = |path: PathBuf, bytes: &[u8]| std::fs::File::create(path).and_then(|mut file| file.write_all(bytes));
    // A failed dump does not end the run, because the mismatch itself is reported anyway.
    let _ = write(file("received"), received);
    // Data of another process has its seed in its header, if that is intact.
    let Some(seed) = block.seed.or_else(|| read_seed(received)) else {
        return;
    };
    let block = &Block {
        seed: Some(seed),
        ..*block
    };
    let mut expected = vec![0; received.len()];
    let filler = io.streams[record.stream as usize].filler.as_ref();
    stream.checker.fill_expected(&mut expected, block, filler);
    let _ = write(file("expected"), &expected);
}
