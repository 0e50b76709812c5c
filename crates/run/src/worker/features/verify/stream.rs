//! Decides which writes of a stream are recorded. Also decides when blocks are read back or
//! discarded.

use engine::Slot;
use model::Nanos;
use model::content::Filler;
use model::draws::{Draws, GeneratorChoice, Purpose};
use model::plan::{Job, Pacing, Stream, StreamTarget, TrimWritten, Verify, Worker as WorkerPlan};
use model::sequence::Operation;

use super::{EndedOperation, MAX_RECOMPUTED_IN_A_ROW, Progress, SlotRecord, SlotTag};
use crate::verify::history::{History, WriteId, WrittenBlock};
use crate::verify::pool::CheckerPool;
use crate::verify::{Block, Checker};

/// The verification of one stream.
#[derive(Debug)]
pub(crate) struct StreamVerification {
    pub(super) plan: Verify,
    /// Mismatches that do not end the worker have one of these error numbers.
    pub(super) tolerated: Vec<i32>,
    pub(super) checker: Checker,
    pub(super) history: History,
    /// The role of each slot's operation.
    pub(super) tags: Vec<SlotTag>,
    writes: u64,
    /// Remaining blocks of the current backlog batch.
    backlog_left: u64,
    /// The last operation was a read of the backlog.
    pub(super) has_just_read: bool,
    /// The stream only reads and checks.
    checks_reads: bool,
    pub(super) flushed_only: bool,
    pub(super) after_writes: bool,
    trims: Option<TrimWritten>,
    /// Remaining blocks of the current trim batch.
    trims_left: u64,
    /// Writes are recorded in the history; otherwise they are recomputed, or not verified at all.
    records_writes: bool,
    /// Writes since the stream restarted, if they are recomputed.
    pub(super) recomputation: Option<Recomputation>,
    /// The progress of the writes, for a later check.
    pub(super) progress: Option<Progress>,
    /// The progress in an earlier run; only that is checked.
    recorded: Option<Progress>,
    /// Checker threads, unless the worker checks by itself.
    pub(super) checkers: Option<CheckerPool<(Slot, SlotRecord)>>,
}

/// Progress of recomputing the writes of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recomputation {
    /// The number of writes issued since the stream restarted.
    issued: u64,
    /// The number of recomputed writes among them.
    recomputed: u64,
    /// The sequence number of the first of these writes.
    first: u64,
}

/// Data that a stream's verification needs besides its plan.
#[derive(Debug)]
pub(crate) struct VerifySetup {
    /// Slots of the worker.
    pub(crate) slots: u32,
    /// The number of the worker in the run.
    pub(crate) number: u16,
    pub(crate) recorded: Option<Progress>,
    pub(crate) checkers: Option<CheckerPool<(Slot, SlotRecord)>>,
}

impl StreamVerification {
    /// The verification of a stream.
    pub(crate) fn new(plan: &WorkerPlan, stream: &Stream, verify: &Verify, job: &Job, setup: VerifySetup) -> Self {
        let single_pass = job.stop.passes == Some(1) && !job.stop.repeat_until_time;
        let visits_once = stream.pattern.access.iter().all(model::access::Access::visits_once);
        // Without writes there is no flush, so all data of an earlier process counts.
        let flushed_only = verify.flushed_only && !verify.only;
        let reads_back = verify.after_writes || verify.backlog > 0;
        let recomputes = verify.work_out_again && can_be_recomputed(plan, stream, verify);
        let writes = stream.mix.includes(model::Direction::Write);
        let files = stream.target.ids().len() as u32;
        StreamVerification {
            plan: verify.clone(),
            tolerated: stream.on_error.tolerate_verify.clone(),
            checker: Checker::new(verify, setup.number),
            history: History::new(!(single_pass && visits_once), flushed_only),
            tags: vec![SlotTag::Nothing; setup.slots as usize],
            writes: 0,
            backlog_left: 0,
            has_just_read: false,
            checks_reads: !writes,
            flushed_only,
            after_writes: verify.after_writes,
            trims: verify.trims,
            trims_left: 0,
            records_writes: reads_back && !recomputes,
            recomputation: recomputes.then(Recomputation::default),
            progress: (verify.save_state && writes && !verify.only).then(|| Progress::new(stream.depth, files)),
            recorded: setup.recorded,
            checkers: setup.checkers,
        }
    }

    /// The minimum length of a block or an interval.
    pub(crate) fn min_length(&self) -> usize {
        self.checker.min_length()
    }

    /// The position of the header and its minimum, if the position is invalid.
    pub(crate) fn find_misplaced_header(&self) -> Option<(usize, usize)> {
        let (place, min) = (self.checker.header_position(), self.checker.min_header_offset());
        (place > 0 && place < min).then_some((place, min))
    }

    /// The block of the next write, or the next block that was written before.
    fn next_block(&mut self, operation: &Operation, draws: &mut Draws) -> Block {
        let number = self.writes;
        self.writes += 1;
        self.make_block(operation, number, draws)
    }

    /// Makes the block of an operation with this number.
    fn make_block(&self, operation: &Operation, number: u64, draws: &mut Draws) -> Block {
        Block {
            offset: operation.offset,
            length: operation.length,
            seed: Some(self.checker.draw_seed(draws)),
            number: Some(number).filter(|_| !self.checks_reads),
            ..Block::default()
        }
    }

    /// Records a block that is written to `file`, or counts as written. Returns its history entry.
    fn record_block(&mut self, file: u32, block: Block, draws: &mut Draws) -> Option<WriteId> {
        // Draw even if the result is unused, so that other draws stay the same.
        let trim = self.trims.is_some_and(|trims| {
            let max = u32::MAX / 100 * u32::from(trims.percent);
            trims.percent > 0 && draws.next_u32(Purpose::Trim) <= max
        });
        let number = block.number.unwrap_or(u64::MAX);
        let checked = self
            .recorded
            .as_ref()
            .is_none_or(|recorded| recorded.includes(number, (file, block.offset)));
        checked.then(|| self.history.record_issued(WrittenBlock { file, block }, trim))
    }

    /// The expected data of a block.
    pub(super) fn expected_block(&self, block: Block) -> Block {
        Block {
            seed: block.seed.filter(|_| !self.plan.any_seed),
            number: block.number.filter(|_| !self.plan.any_order),
            // Data of another run has another hash.
            hash: block.hash.filter(|_| !self.plan.only),
            ..block
        }
    }

    /// Fills the buffer of a write to `file`, and records the data for its check.
    pub(super) fn fill_write(
        &mut self,
        (slot, file): (Slot, u32),
        operation: &Operation,
        (buffer, filler): (&mut [u8], &Filler),
        now: Nanos,
        draws: &mut Draws,
    ) {
        let mut block = self.next_block(operation, draws);
        self.checker.fill(buffer, &mut block, now.0, filler);
        let write_id = self
            .records_writes
            .then(|| self.record_block(file, block, draws))
            .flatten();
        if let Some(recomputation) = &mut self.recomputation {
            recomputation.issued += 1;
        }
        if let Some(progress) = &mut self.progress {
            progress.issued += 1;
        }
        self.tags[slot.0 as usize] = SlotTag::Write(write_id, file);
        self.has_just_read = false;
    }

    /// Records a read that does not belong to the backlog.
    pub(super) fn on_read(&mut self, slot: Slot, operation: &Operation, draws: &mut Draws) {
        self.tags[slot.0 as usize] = match self.checks_reads {
            true => {
                let block = self.next_block(operation, draws);
                SlotTag::Check(self.expected_block(block))
            }
            false => SlotTag::Nothing,
        };
        self.has_just_read = false;
    }

    /// Skips an operation on `file` that must not be issued. `None` if it must be issued; otherwise
    /// whether more may be skipped immediately.
    pub(super) fn skip_operation(&mut self, file: u32, operation: &Operation, draws: &mut Draws) -> Option<bool> {
        if self.checks_reads {
            let recorded = self.recorded.as_ref()?;
            if recorded.includes(self.writes, (file, operation.offset)) {
                return None;
            }
        } else if !self.plan.only || operation.direction != model::Direction::Write {
            return None;
        }
        let block = self.next_block(operation, draws);
        if !self.checks_reads
            && let Some(write_id) = self.record_block(file, block, draws)
        {
            self.history.record_completed(write_id, true);
        }
        Some(!self.writes.is_multiple_of(MAX_RECOMPUTED_IN_A_ROW))
    }

    /// Processes a completed operation. Returns the block to check, if any.
    pub(super) fn on_completed(&mut self, ended: &EndedOperation) -> Option<Block> {
        let is_complete = ended.is_complete();
        let tag = std::mem::replace(&mut self.tags[ended.slot.0 as usize], SlotTag::Nothing);
        match tag {
            SlotTag::Nothing => {}
            SlotTag::Write(write_id, file) => {
                if let Some(write_id) = write_id {
                    self.history.record_completed(write_id, is_complete);
                }
                if let Some(progress) = self.progress.as_mut().filter(|_| is_complete) {
                    progress.record_completed((file, ended.record.offset));
                }
            }
            SlotTag::Trim(write_id) => {
                let zeros = self.trims.is_some_and(|trims| trims.read_as_zeros);
                self.history.record_trim(write_id, is_complete && zeros);
            }
            SlotTag::Flush(mark) if is_complete => self.history.record_flush(mark),
            SlotTag::Check(block) if is_complete => return Some(block),
            // Failed reads and flushes are reported separately.
            SlotTag::Check(_) | SlotTag::Flush(_) => {}
        }
        None
    }
}

/// Reading back and discarding blocks.
impl StreamVerification {
    /// Starts reading back the backlog if that is due; true while it lasts. By fio's rule, after
    /// every N writes, that many of the oldest blocks are read back.
    pub(super) fn start_backlog_if_due(&mut self) -> bool {
        let backlog = self.plan.backlog;
        if backlog == 0 || self.history.len() == 0 {
            return false;
        }
        if self.backlog_left == 0 && !self.has_just_read && (self.history.len() as u64).is_multiple_of(backlog) {
            self.backlog_left = match self.plan.backlog_batch {
                0 => backlog,
                batch => batch,
            };
        }
        self.backlog_left > 0
    }

    pub(super) fn count_backlog_read(&mut self) {
        self.has_just_read = true;
        self.backlog_left = self.backlog_left.saturating_sub(1);
    }

    /// Takes a due trim of the backlog; false if none is due. As in fio, the block that makes a
    /// batch due does not belong to it.
    pub(super) fn take_due_trim(&mut self) -> bool {
        let Some(trims) = self.trims.filter(|trims| trims.backlog > 0) else {
            return false;
        };
        if !self.history.has_to_trim() {
            return false;
        }
        if self.trims_left > 0 {
            self.trims_left -= 1;
            return true;
        }
        let due = !self.has_just_read && (self.history.len() as u64).is_multiple_of(trims.backlog);
        if due {
            self.trims_left = match trims.batch {
                0 => trims.backlog,
                batch => batch,
            };
        }
        due
    }

    /// True if there are blocks to verify or recompute.
    pub(super) fn has_blocks(&self) -> bool {
        let has_more = |recomputation: &Recomputation| recomputation.recomputed < recomputation.issued;
        self.history.len() > 0 || self.recomputation.as_ref().is_some_and(has_more)
    }

    /// True if more must be recomputed before the next block is read.
    pub(super) fn must_recompute(&self) -> bool {
        let enough = !self.history.has_rewrites() && self.history.len() as u64 >= MAX_RECOMPUTED_IN_A_ROW;
        let has_writes_left = |recomputation: &Recomputation| recomputation.recomputed < recomputation.issued;
        !enough && self.recomputation.as_ref().is_some_and(has_writes_left)
    }

    /// Records the next recomputed write.
    pub(super) fn recompute(&mut self, operation: &Operation, draws: &mut Draws) {
        let Some(recomputation) = &mut self.recomputation else {
            return;
        };
        let number = recomputation.first + recomputation.recomputed;
        recomputation.recomputed += 1;
        let block = self.make_block(operation, number, draws);
        if let Some(write_id) = self.record_block(0, block, draws) {
            self.history.record_completed(write_id, true);
        }
    }

    /// Called when the same operations restart.
    pub(super) fn begin_round(&mut self) {
        if let Some(recomputation) = &mut self.recomputation {
            *recomputation = Recomputation {
                first: self.writes,
                ..Recomputation::default()
            };
        }
    }
}

/// True if the seed of a stream is sufficient to recompute its operations.
fn can_be_recomputed(plan: &WorkerPlan, stream: &Stream, verify: &Verify) -> bool {
    let only_at_the_end = verify.backlog == 0 && verify.trims.is_none() && !verify.flushed_only && !verify.only;
    only_at_the_end
        && plan.streams.len() == 1
        && matches!(plan.draws, GeneratorChoice::Fio { .. })
        && matches!(stream.target, StreamTarget::One { .. })
        && !matches!(stream.pacing, Pacing::PerDirection { .. })
        && !plan.batching.serialize_overlap
}
