//! Writes that are checked later: which are kept or discarded again, and when they are read back.
//!
//! The rules of one stream are in `stream`, what becomes of data that were read in `check`.

mod check;
mod stream;

use engine::{Action, Request, Slot};
use model::event::Phase;
use model::mismatch::Mismatch;
use model::sequence::Operation;
use model::{Direction, Nanos};

use super::{EndedOperation, FeatureResults, Files};
use crate::verify::Block;
use crate::verify::state::Progress;
use crate::worker::io_loop::{Budget, IoLoop};
use crate::worker::slots::SlotRecord;
use crate::worker::stream::LiveStream;

pub(crate) use check::load_state;
pub(crate) use stream::{StreamVerification, VerifySetup};

/// A request to do something to a whole block.
fn request_for(block: Block, slot: Slot, file: u16, action: Action) -> Request {
    Request {
        offset: block.offset,
        length: block.length,
        slot,
        file,
        action,
    }
}

/// Writes of a replay that the worker skips before it checks whether to stop, and that it computes
/// ahead of reading back.
const REPLAYED_AT_ONCE: u64 = 1024;

/// The verification of a worker's streams.
#[derive(Debug)]
pub(crate) struct Verification {
    streams: Vec<Option<StreamVerification>>,
    /// Name of the job, for messages and state files.
    job: String,
    /// What was written is read back now, and nothing else happens.
    reading_back: bool,
    /// All is written, and only blocks that are due to be discarded again are left.
    trims_the_rest: bool,
    /// When the phase began in which everything is read back, and how long it took.
    phase: (Option<Nanos>, Nanos),
    /// The same for reading back between two rounds, which lies in the measured window.
    between_rounds: (Option<Nanos>, Nanos),
    mismatches: Vec<Mismatch>,
    mismatch_count: u64,
    /// Writes replayed but not issued, because the job only verifies.
    phantom_writes: u64,
}

/// What an operation in flight is to verification.
#[derive(Clone, Copy, Debug)]
enum SlotTag {
    Nothing,
    /// A write, where it is kept, and its file.
    Write(Option<crate::verify::history::Note>, u32),
    Check(Block),
    Trim(crate::verify::history::Note),
    Flush(crate::verify::history::FlushMark),
}

impl Verification {
    /// The verification of those streams that have one.
    pub(crate) fn from_streams(streams: Vec<Option<StreamVerification>>, job: &str) -> Option<Verification> {
        streams.iter().any(Option::is_some).then(|| Verification {
            streams,
            job: job.to_owned(),
            reading_back: false,
            trims_the_rest: false,
            phase: (None, Nanos(0)),
            between_rounds: (None, Nanos(0)),
            mismatches: Vec::new(),
            mismatch_count: 0,
            phantom_writes: 0,
        })
    }

    /// It decides alone what is issued now.
    pub(super) fn is_busy(&self) -> bool {
        self.reading_back || self.trims_the_rest
    }

    /// Queues what it has to issue while it is busy.
    pub(super) fn submit(&mut self, io: &mut IoLoop, files: &mut Files) {
        match self.reading_back {
            true => self.issue_checks(io, files),
            false => self.issue_last_trims(io, files),
        }
    }

    /// Queues reads of everything that was written and not yet read back.
    #[inline(never)]
    fn issue_checks(&mut self, io: &mut IoLoop, files: &mut Files) {
        io.round = io.round.wrapping_add(1);
        for pool in 0..io.pools.len() {
            while io.pools[pool].has_room() && (io.requests.is_empty() || !io.batching.inline.seen) {
                let slot = io.pools[pool].next_slot();
                let mut streams = io.pools[pool].streams.clone();
                if !streams.any(|number| self.read_back(io, files, pool, number, slot)) {
                    break;
                }
            }
        }
        io.winding_down |= !self.has_to_verify();
    }

    /// Queues trims of blocks that are due, as long as they are.
    #[inline(never)]
    fn issue_last_trims(&mut self, io: &mut IoLoop, files: &mut Files) {
        let mut has_room = false;
        for pool in 0..io.pools.len() {
            while io.pools[pool].has_room() {
                let slot = io.pools[pool].next_slot();
                let mut streams = io.pools[pool].streams.clone();
                if !streams.any(|number| self.trim_written(io, files, pool, number, slot)) {
                    has_room = true;
                    break;
                }
            }
        }
        io.winding_down |= has_room;
    }

    /// Reads a block of the backlog or discards one, if that is due now.
    pub(super) fn issue_instead(
        &mut self,
        io: &mut IoLoop,
        files: &mut Files,
        pool: usize,
        number: usize,
        slot: Slot,
    ) -> bool {
        let Some(stream) = &mut self.streams[number] else {
            return false;
        };
        stream.backlog_is_due() && self.read_back(io, files, pool, number, slot)
            || self.trim_written(io, files, pool, number, slot)
    }

    /// Queues a read of the oldest block that was written. False if there is none now.
    fn read_back(&mut self, io: &mut IoLoop, files: &mut Files, pool: usize, number: usize, slot: Slot) -> bool {
        if self.reading_back {
            self.work_out(io, number);
        }
        let Some(stream) = &mut self.streams[number] else {
            return false;
        };
        let Some(file) = stream.history.next_file() else {
            return false;
        };
        let Some(file) = files.open(io, number, file) else {
            return false;
        };
        let Some(written) = stream.history.take() else {
            return false;
        };
        let block = stream.expected(written.block);
        stream.tags[slot.0 as usize] = SlotTag::Check(block);
        stream.count_backlog_read();
        let request = request_for(block, slot, file, Action::Read);
        files.queue_unscheduled(io, pool, number, request);
        true
    }

    /// Discards a block that was written, if that is due now.
    fn trim_written(&mut self, io: &mut IoLoop, files: &mut Files, pool: usize, number: usize, slot: Slot) -> bool {
        let Some(stream) = &mut self.streams[number] else {
            return false;
        };
        if !stream.trim_is_due() {
            return false;
        }
        let Some(file) = stream.history.next_file_to_trim() else {
            return false;
        };
        let Some(file) = files.open(io, number, file) else {
            return false;
        };
        let Some((note, block)) = stream.history.take_to_trim() else {
            return false;
        };
        stream.tags[slot.0 as usize] = SlotTag::Trim(note);
        stream.has_just_read = false;
        let request = request_for(block, slot, file, Action::Trim);
        files.queue_unscheduled(io, pool, number, request);
        true
    }

    /// Works out again what was written: all of it where blocks may have been written again, and
    /// otherwise as much as is read back next.
    fn work_out(&mut self, io: &mut IoLoop, number: usize) {
        let Some(stream) = &mut self.streams[number] else {
            return;
        };
        let mut idle = false;
        while stream.has_to_work_out() {
            let Some(operation) = io.streams[number].next(&mut io.draws, 0, None) else {
                if std::mem::replace(&mut idle, true) {
                    return;
                }
                io.draws.begin_pass();
                io.streams[number].sequence.restart(&mut io.draws);
                continue;
            };
            idle = false;
            if operation.direction == Direction::Write {
                stream.work_out(&operation, &mut io.draws);
            }
        }
    }

    /// Passes over an operation that must not go out: a write of a stream that only repeats what
    /// was written before, or a read of what an earlier run did not record. `None` if it must;
    /// otherwise whether more may be passed over at once.
    pub(super) fn pass_over(
        &mut self,
        io: &mut IoLoop,
        files: &mut Files,
        number: usize,
        operation: &Operation,
    ) -> Option<bool> {
        let stream = self.streams[number].as_mut()?;
        let go_on = stream.pass_over(files.present(number), operation, &mut io.draws)?;
        self.phantom_writes += u64::from(operation.direction == Direction::Write);
        if let Some(set) = files.sets.as_mut().and_then(|sets| sets.set(number)) {
            set.passed_over();
        }
        io.streams[number].idle_pass = false;
        io.spend(operation.length);
        Some(go_on)
    }

    /// Fills the buffer of a write, or notes what a read should bring.
    pub(super) fn prepare(&mut self, io: &mut IoLoop, files: &Files, number: usize, slot: Slot, operation: &Operation) {
        let Some(stream) = &mut self.streams[number] else {
            return io.fill_write(number, slot, operation);
        };
        match operation.direction {
            Direction::Read => stream.on_read(slot, operation, &mut io.draws),
            Direction::Write => {
                let Some(filler) = &io.streams[number].filler else {
                    return;
                };
                let buffer = &mut io.engine.buffer(slot)[..operation.length as usize];
                let (file, now) = (files.present(number), io.batch.reap_time);
                stream.fill_write((slot, file), operation, (buffer, filler), now, &mut io.draws);
                io.stamp_filled();
            }
            Direction::Trim => {}
        }
    }

    /// A flush of a stream is queued.
    pub(super) fn on_flush(&mut self, number: usize, slot: Slot) {
        if let Some(stream) = &mut self.streams[number] {
            stream.tags[slot.0 as usize] = SlotTag::Flush(stream.history.flush_mark());
        }
    }

    /// An operation completed, and its buffer is still as it was left.
    pub(super) fn on_completed(&mut self, io: &mut IoLoop, ended: &EndedOperation) {
        let Some(stream) = &mut self.streams[ended.record.stream as usize] else {
            return;
        };
        if let Some(block) = stream.on_completed(ended) {
            self.check(io, ended, block);
        }
    }
}

/// What the lifecycle asks and announces.
impl Verification {
    /// Something was written that is to be read back.
    pub(crate) fn has_to_verify(&self) -> bool {
        let mut streams = self.streams.iter().flatten();
        streams.any(|stream| stream.after_writes && stream.has_blocks())
    }

    /// All is written. Lets blocks be discarded that are due now, once: true if there may be some.
    pub(crate) fn may_trim_the_rest(&mut self, io: &mut IoLoop) -> bool {
        let mut streams = self.streams.iter().flatten();
        if self.trims_the_rest || !streams.any(|stream| stream.history.has_to_trim()) {
            return false;
        }
        (self.trims_the_rest, io.winding_down) = (true, false);
        true
    }

    /// Nothing is written any more in this round. `flushed` says for each stream whether a flush at
    /// the end has just succeeded, which matters where only flushed writes count.
    pub(crate) fn end_writes(&mut self, flushed: impl Fn(usize) -> bool) {
        for (number, stream) in self.streams.iter_mut().enumerate() {
            if let Some(stream) = stream
                && stream.flushed_only
            {
                if flushed(number) {
                    stream.history.flushed(stream.history.flush_mark());
                }
                stream.history.forget_unflushed();
            }
        }
    }

    /// A stream reads back only what was flushed.
    pub(crate) fn is_flushed_only(&self, number: usize) -> bool {
        self.streams[number].as_ref().is_some_and(|stream| stream.flushed_only)
    }

    /// Budget and passes of the streams begin anew.
    pub(crate) fn on_reset(&mut self) {
        self.trims_the_rest = false;
    }

    /// The same operations begin anew.
    pub(crate) fn begin_round(&mut self) {
        self.streams
            .iter_mut()
            .flatten()
            .for_each(StreamVerification::begin_round);
    }

    pub(super) fn on_phase(&mut self, io: &mut IoLoop, next: Phase, at: Nanos) {
        if let Some(began) = self.phase.0.take() {
            (self.phase.1, self.reading_back) = (at.since(began), false);
        }
        match next {
            Phase::Verify => {
                self.phase.0 = Some(at);
                self.begin_reading_back(io);
            }
            Phase::Draining => (self.reading_back, self.trims_the_rest) = (false, false),
            Phase::Delay | Phase::WarmUp | Phase::Measured | Phase::CoolDown => {}
        }
    }

    /// fio reads back what each round has written before the next.
    pub(crate) fn begin_between_rounds(&mut self, io: &mut IoLoop, at: Nanos) {
        self.between_rounds.0 = Some(at);
        self.begin_reading_back(io);
    }

    /// Reading back between two rounds has ended. False if it was not under way.
    pub(crate) fn end_between_rounds(&mut self, at: Nanos) -> bool {
        let Some(began) = self.between_rounds.0.take() else {
            return false;
        };
        self.between_rounds.1 += at.since(began);
        self.reading_back = false;
        true
    }

    /// Those that work out again what they wrote begin anew.
    fn begin_reading_back(&mut self, io: &mut IoLoop) {
        self.reading_back = true;
        (io.winding_down, io.budget) = (false, Budget::OPEN);
        io.streams.iter().for_each(LiveStream::drop_caches);
        if self.streams.iter().flatten().any(|stream| stream.replayed.is_some()) {
            io.restart_streams(None);
        }
    }

    pub(super) fn at_end(&mut self, io: &IoLoop, results: &mut FeatureResults) {
        results.not_kept = self.save_states(io);
        results.verified = self.phase.1 + self.between_rounds.1;
        results.verified_between = self.between_rounds.1;
        results.mismatches = std::mem::take(&mut self.mismatches);
        results.mismatch_count = self.mismatch_count;
        results.phantom_writes = self.phantom_writes;
    }
}
