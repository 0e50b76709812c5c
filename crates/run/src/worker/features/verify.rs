//! Writes that will be checked: what is kept of them, which of them are discarded again, and when they are read back. The
//! reading itself, and what is found, is in `read_back`.
//!
//! Workers that verify are careful ones: all of this is asked only for operations that are looked at one by one.

use engine::{Action, Slot};
use model::draws::{Draws, DrawsForm, Purpose};
use model::plan::{Job, Pacing, Stream, StreamTarget, TrimWritten, Verify, Worker as Plan};
use model::sequence::Operation;
use model::{Direction, Nanos};

use crate::verify::history::{FlushMark, History, Note, Written};
use crate::verify::pool::Pool;
use crate::verify::state::Progress;
use crate::verify::{Block, Checker};
use crate::worker::Worker;
use crate::worker::recorder::SlotRecord;
use crate::worker::stream::LiveStream;

/// So many writes of a replay are passed over before the worker looks whether it should stop, and so many are worked out
/// ahead of reading back.
pub(crate) const REPLAYED_AT_ONCE: u64 = 1024;

/// The verification of one stream.
#[derive(Debug)]
pub(crate) struct Verification {
    pub(crate) checker: Checker,
    pub(crate) history: History,
    /// What each slot carries.
    pub(crate) tags: Vec<SlotTag>,
    writes: u64,
    /// Blocks of the backlog that are still to be read at present.
    pub(crate) backlog_left: u64,
    /// The last operation was a read of the backlog.
    pub(crate) has_just_read: bool,
    /// The stream only reads: what it reads is checked.
    pub(crate) checks_reads: bool,
    any_seed: bool,
    any_order: bool,
    backlog: u64,
    backlog_batch: u64,
    only: bool,
    pub(crate) after_writes: bool,
    trims: Option<TrimWritten>,
    /// Blocks that are still to be discarded at present.
    trims_left: u64,
    /// What is written is kept in the history; otherwise it is worked out again, or not read back at all.
    remembers: bool,
    /// What was written since the stream began anew, where it is worked out again.
    again: Option<Replayed>,
    /// How far the writes have come, where a later check is to know.
    progress: Option<Progress>,
    /// How far they had come in an earlier run; only that is checked.
    recorded: Option<Progress>,
    /// Threads that check.
    pub(crate) pool: Option<Pool<(Slot, SlotRecord)>>,
}

/// Writes that are worked out again.
#[derive(Clone, Copy, Debug, Default)]
struct Replayed {
    /// How many were issued since the stream began anew.
    issued: u64,
    /// How many of them have been worked out.
    worked_out: u64,
    /// The number of the first.
    first: u64,
}

/// What an operation in flight is to verification.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SlotTag {
    Nothing,
    /// A write, where it is kept, and its file.
    Write(Option<Note>, u32),
    Check(Block),
    Trim(Note),
    Flush(FlushMark),
}

/// What a verification is given besides the plan of its stream.
#[derive(Debug)]
pub(crate) struct VerifySetup {
    /// Slots of the worker.
    pub(crate) slots: u32,
    /// The number of the worker in the run.
    pub(crate) number: u16,
    pub(crate) recorded: Option<Progress>,
    pub(crate) pool: Option<Pool<(Slot, SlotRecord)>>,
}

impl Verification {
    /// The verification that a stream wants.
    pub(crate) fn new(worker: &Plan, stream: &Stream, verify: &Verify, job: &Job, given: VerifySetup) -> Verification {
        let once = job.stop.passes == Some(1) && !job.stop.repeat_until_time;
        let ends = stream.pattern.access.iter().all(model::access::Access::ends);
        let reads_back = verify.after_writes || verify.backlog > 0;
        let again = verify.work_out_again && can_be_worked_out(worker, stream, verify);
        let writes = stream.mix.includes(Direction::Write);
        let files = stream.target.ids().len() as u32;
        Verification {
            checker: Checker::new(verify, given.number),
            history: History::new(!(once && ends), verify.flushed_only),
            tags: vec![SlotTag::Nothing; given.slots as usize],
            writes: 0,
            backlog_left: 0,
            has_just_read: false,
            checks_reads: !writes,
            any_seed: verify.any_seed,
            any_order: verify.any_order,
            backlog: verify.backlog,
            backlog_batch: verify.backlog_batch,
            only: verify.only,
            after_writes: verify.after_writes,
            trims: verify.trims,
            trims_left: 0,
            remembers: reads_back && !again,
            again: again.then(Replayed::default),
            progress: (verify.save_state && writes && !verify.only).then(|| Progress::new(stream.depth, files)),
            recorded: given.recorded,
            pool: given.pool,
        }
    }

    /// The least that a block or an interval must hold.
    pub(crate) fn least_length(&self) -> usize {
        self.checker.least_length()
    }

    /// Where the header stands and where it may not stand before, if it stands elsewhere than at the beginning.
    pub(crate) fn misplaced(&self) -> Option<(usize, usize)> {
        let (place, least) = (self.checker.place(), self.checker.least_place());
        (place > 0 && place < least).then_some((place, least))
    }

    /// The next write, or the next block of those that were written before.
    fn next_block(&mut self, operation: &Operation, draws: &mut Draws) -> Block {
        let number = self.writes;
        self.writes += 1;
        self.block(operation, number, draws)
    }

    /// The block of an operation with this number.
    fn block(&self, operation: &Operation, number: u64, draws: &mut Draws) -> Block {
        Block {
            offset: operation.offset,
            length: operation.length,
            seed: Some(self.checker.draw_seed(draws)),
            number: Some(number).filter(|_| !self.checks_reads),
            hash: None,
            zeros: false,
        }
    }

    /// A block goes out to `file`, or is taken to have gone out. Returns what is kept of it.
    fn note(&mut self, file: u32, block: Block, draws: &mut Draws) -> Option<Note> {
        // Drawn even if nothing comes of it, so that the others stay as they are.
        let trim = self.trims.is_some_and(|trims| {
            let most = u32::MAX / 100 * u32::from(trims.percent);
            trims.percent > 0 && draws.half(Purpose::Trim) <= most
        });
        let number = block.number.unwrap_or(u64::MAX);
        let checked = self
            .recorded
            .as_ref()
            .is_none_or(|recorded| recorded.includes(number, (file, block.offset)));
        checked.then(|| self.history.issued(Written { file, block }, trim))
    }

    /// What is expected of a block when it is read.
    pub(crate) fn expected(&self, block: Block) -> Block {
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

    /// The same rule for blocks that are to be discarded. As in fio, the one that is found due begins a batch and is none of
    /// it.
    fn trim_is_due(&mut self) -> bool {
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

    /// Something is there to be read back, or will be worked out.
    pub(crate) fn has_blocks(&self) -> bool {
        let to_work_out = |again: &Replayed| again.worked_out < again.issued;
        self.history.len() > 0 || self.again.as_ref().is_some_and(to_work_out)
    }

    /// How far the writes have come, where a later check is to know.
    pub(crate) fn progress(&self) -> Option<&Progress> {
        self.progress.as_ref()
    }

    /// The same operations begin anew.
    pub(crate) fn begin_round(&mut self) {
        if let Some(again) = &mut self.again {
            *again = Replayed {
                first: self.writes,
                ..Replayed::default()
            };
        }
    }
}

/// The order of the operations of a stream depends on nothing but its seed, and nothing else has to be known of them.
fn can_be_worked_out(worker: &Plan, stream: &Stream, verify: &Verify) -> bool {
    let only_at_the_end = verify.backlog == 0 && verify.trims.is_none() && !verify.flushed_only && !verify.only;
    only_at_the_end
        && worker.streams.len() == 1
        && matches!(worker.draws, DrawsForm::PerPurpose { .. })
        && matches!(stream.target, StreamTarget::One { .. })
        && !matches!(stream.pacing, Pacing::PerDirection { .. })
        && !worker.batching.serialize_overlap
}

impl Worker<'_> {
    /// Fills the buffer of a write.
    pub(crate) fn fill_write(&mut self, number: usize, slot: Slot, operation: &Operation) {
        let stream = &mut self.io.streams[number];
        let Some(filler) = &mut stream.filler else { return };
        let buffer = &mut self.io.engine.buffer(slot)[..operation.length as usize];
        let now = self.io.batch.reaped;
        match &mut stream.verification {
            None => filler.fill(buffer, operation.offset, now, &mut self.io.draws),
            Some(verification) => {
                let mut block = verification.next_block(operation, &mut self.io.draws);
                verification.checker.fill(buffer, &mut block, now.0, filler);
                let file = stream.set.as_ref().map_or(0, |set| set.present()) as u32;
                let note = match verification.remembers {
                    true => verification.note(file, block, &mut self.io.draws),
                    false => None,
                };
                if let Some(again) = &mut verification.again {
                    again.issued += 1;
                }
                if let Some(progress) = &mut verification.progress {
                    progress.issued += 1;
                }
                verification.tags[slot.0 as usize] = SlotTag::Write(note, file);
                verification.has_just_read = false;
            }
        }
        self.io.batch.reaped = self.io.engine.now();
        self.io.round = self.io.round.wrapping_add(1);
    }

    /// A flush goes out.
    pub(crate) fn expect_flush(&mut self, number: usize, slot: Slot) {
        if let Some(verification) = &mut self.io.streams[number].verification {
            verification.tags[slot.0 as usize] = SlotTag::Flush(verification.history.flush_mark());
        }
    }

    /// A read goes out that is none of the backlog.
    pub(crate) fn expect_read(&mut self, number: usize, slot: Slot, operation: &Operation) {
        let Some(verification) = &mut self.io.streams[number].verification else {
            return;
        };
        verification.tags[slot.0 as usize] = match verification.checks_reads {
            true => {
                let block = verification.next_block(operation, &mut self.io.draws);
                SlotTag::Check(verification.expected(block))
            }
            false => SlotTag::Nothing,
        };
        verification.has_just_read = false;
    }

    /// Passes over an operation that must not go out: a write of a stream that only replays what was written before, or a
    /// read of what an earlier run did not record. `None` if it must; otherwise whether more may be passed over at once.
    pub(crate) fn pass_over(&mut self, number: usize, operation: &Operation) -> Option<bool> {
        let stream = &mut self.io.streams[number];
        let verification = stream.verification.as_mut()?;
        let file = stream.set.as_ref().map_or(0, |set| set.present()) as u32;
        if verification.checks_reads {
            let recorded = verification.recorded.as_ref()?;
            if recorded.includes(verification.writes, (file, operation.offset)) {
                return None;
            }
        } else if !verification.only || operation.direction != Direction::Write {
            return None;
        }
        let block = verification.next_block(operation, &mut self.io.draws);
        if let Some(set) = &mut stream.set {
            set.passed_over();
        }
        if !verification.checks_reads
            && let Some(note) = verification.note(file, block, &mut self.io.draws)
        {
            verification.history.ended(note, true);
        }
        stream.idle_pass = false;
        self.io.budget.operations -= 1;
        self.io.budget.bytes = self.io.budget.bytes.saturating_sub(u64::from(operation.length));
        if self.io.budget.bytes == 0 {
            self.io.budget.operations = 0;
        }
        self.io.winding_down |= self.io.budget.operations == 0;
        Some(!verification.writes.is_multiple_of(REPLAYED_AT_ONCE))
    }

    /// Works out again what was written: all of it where blocks may have been written again, and otherwise as much as is
    /// read back next.
    pub(crate) fn work_out(&mut self, number: usize) {
        let mut idle = false;
        loop {
            let stream = &mut self.io.streams[number];
            let Some(verification) = &mut stream.verification else {
                return;
            };
            let Some(again) = verification.again else { return };
            let enough = !verification.history.repeats() && verification.history.len() as u64 >= REPLAYED_AT_ONCE;
            if again.worked_out >= again.issued || enough {
                return;
            }
            let Some(operation) = stream.sequence.take(&mut self.io.draws, 0, 1).first().copied() else {
                if std::mem::replace(&mut idle, true) {
                    return;
                }
                self.restart_draws();
                self.io.streams[number].restart(&mut self.io.draws);
                continue;
            };
            idle = false;
            if operation.direction != Direction::Write {
                continue;
            }
            let block = verification.block(&operation, again.first + again.worked_out, &mut self.io.draws);
            if let Some(note) = verification.note(0, block, &mut self.io.draws) {
                verification.history.ended(note, true);
            }
            verification.again = Some(Replayed {
                worked_out: again.worked_out + 1,
                ..again
            });
        }
    }

    /// Reads a block of the backlog if that is due now.
    pub(crate) fn read_backlog(&mut self, pool: usize, number: usize, slot: Slot) -> bool {
        let Some(verification) = &mut self.io.streams[number].verification else {
            return false;
        };
        verification.backlog_is_due() && self.read_back(pool, number, slot)
    }

    /// Discards a block that was written, if that is due now.
    pub(crate) fn trim_written(&mut self, pool: usize, number: usize, slot: Slot) -> bool {
        let Some(verification) = &mut self.io.streams[number].verification else {
            return false;
        };
        if !verification.trim_is_due() {
            return false;
        }
        let Some(file) = verification.history.next_file_to_trim() else {
            return false;
        };
        let Some(file) = self.file_beside(number, file) else {
            return false;
        };
        let Some(verification) = &mut self.io.streams[number].verification else {
            return false;
        };
        let Some((note, block)) = verification.history.take_to_trim() else {
            return false;
        };
        verification.tags[slot.0 as usize] = SlotTag::Trim(note);
        verification.has_just_read = false;
        self.queue_beside(pool, number, slot, (file, Action::Trim), (block.offset, block.length));
        true
    }

    /// All is written. Lets blocks be discarded that are due now, once: true if there may be some.
    pub(crate) fn may_trim_the_rest(&mut self) -> bool {
        let has_some = |stream: &LiveStream| {
            let verification = stream.verification.as_ref();
            verification.is_some_and(|verification| verification.history.has_to_trim())
        };
        if self.features.trims_the_rest || !self.io.streams.iter().any(has_some) {
            return false;
        }
        (self.features.trims_the_rest, self.io.winding_down) = (true, false);
        true
    }

    /// Queues trims of blocks that are due, as long as they are.
    #[inline(never)]
    pub(crate) fn issue_last_trims(&mut self) {
        let mut has_room = false;
        for index in 0..self.io.pools.len() {
            while self.io.pools[index].has_room() {
                let pool = &self.io.pools[index];
                let slot = pool.free[pool.free_count - 1];
                let mut streams = pool.streams.clone();
                if !streams.any(|number| self.trim_written(index, number, slot)) {
                    has_room = true;
                    break;
                }
            }
        }
        self.io.winding_down |= has_room;
    }

    /// Something was written that is to be read back.
    pub(crate) fn has_to_verify(&self) -> bool {
        let verifications = self.io.streams.iter().filter_map(|stream| stream.verification.as_ref());
        verifications
            .into_iter()
            .any(|verification| verification.after_writes && verification.has_blocks())
    }

    /// Nothing is written any more in this round. Where only flushed writes count, this is when a flush at the end counts.
    pub(crate) fn writes_are_over(&mut self) {
        let flushed_only = |number: &usize| {
            let verify = &self.context.plan.streams[*number].verify;
            verify.as_ref().is_some_and(|verify| verify.flushed_only)
        };
        let flushed_only: Vec<usize> = (0..self.io.streams.len()).filter(flushed_only).collect();
        if flushed_only
            .iter()
            .any(|number| self.context.plan.streams[*number].sync.at_end)
        {
            self.flush_at_end();
        }
        for number in flushed_only {
            let flushed = self.context.plan.streams[number].sync.at_end && self.io.errors.failure.is_none();
            let Some(verification) = &mut self.io.streams[number].verification else {
                continue;
            };
            if flushed {
                verification.history.flushed(verification.history.flush_mark());
            }
            verification.history.forget_unflushed();
        }
    }

    /// Everything begins anew for those who work out again what they wrote.
    pub(crate) fn begin_reading_back(&mut self) {
        let works_out = |stream: &LiveStream| {
            let verification = stream.verification.as_ref();
            verification.is_some_and(|verification| verification.again.is_some())
        };
        if !self.io.streams.iter().any(works_out) {
            return;
        }
        self.restart_draws();
        for stream in &mut self.io.streams {
            stream.restart(&mut self.io.draws);
        }
    }

    /// An operation of a stream that verifies has ended, and its buffer is still as it was left.
    pub(crate) fn verify_ended(&mut self, slot: Slot, record: &SlotRecord, result: i64) {
        let number = record.stream as usize;
        let Some(verification) = &mut self.io.streams[number].verification else {
            return;
        };
        let whole = result == i64::from(record.length);
        match std::mem::replace(&mut verification.tags[slot.0 as usize], SlotTag::Nothing) {
            SlotTag::Nothing => {}
            SlotTag::Write(note, file) => {
                if let Some(note) = note {
                    verification.history.ended(note, whole);
                }
                if let Some(progress) = verification.progress.as_mut().filter(|_| whole) {
                    progress.complete((file, record.offset));
                }
            }
            SlotTag::Trim(note) => {
                let zeros = verification.trims.is_some_and(|trims| trims.read_as_zeros);
                verification.history.trimmed(note, whole && zeros);
            }
            SlotTag::Flush(mark) if whole => verification.history.flushed(mark),
            SlotTag::Check(block) if whole => self.check(slot, record, block),
            // What could not be read or flushed is an error of its own.
            SlotTag::Check(_) | SlotTag::Flush(_) => {}
        }
    }
}

/// Time that checks between two rounds of the measured window took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BetweenRounds {
    /// When the present ones began.
    since: Option<Nanos>,
    /// How long those before took.
    pub(crate) took: Nanos,
}

impl BetweenRounds {
    pub(crate) fn begin(&mut self, at: Nanos) {
        self.since = Some(at);
    }

    pub(crate) fn are_under_way(&self) -> bool {
        self.since.is_some()
    }

    /// They have ended. False if none were under way.
    pub(crate) fn end(&mut self, at: Nanos) -> bool {
        let Some(since) = self.since.take() else { return false };
        self.took += at.since(since);
        true
    }
}
