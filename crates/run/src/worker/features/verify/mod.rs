//! Decides which writes are recorded for verification, and when written blocks are read back or
//! trimmed. `stream` has the rules of a stream, `check` the checks of data.

mod check;
mod stream;

use engine::{Action, Request, Slot, sys};
use model::event::Phase;
use model::mismatch::Mismatch;
use model::results::Usage;
use model::sequence::Operation;
use model::{Direction, Nanos};

use super::{EndedOperation, FeatureResults, Files};
use crate::verify::Block;
use crate::verify::state::Progress;
use crate::worker::io_loop::{Budget, IoLoop};
use crate::worker::slots::SlotRecord;
use crate::worker::stream::LiveStream;

pub(crate) use stream::{StreamVerification, VerifySetup};

/// Where an operation is queued: a slot pool, a stream, and a free slot of the pool.
type SlotPlace = (usize, usize, Slot);

/// A request for a whole block.
fn request_for(block: Block, slot: Slot, file: u16, action: Action) -> Request {
    Request {
        offset: block.offset,
        length: block.length,
        slot,
        file,
        action,
    }
}

/// Maximum number of recomputed writes to skip before the worker checks for a stop. Also the
/// maximum to compute ahead of reads.
const MAX_RECOMPUTED_IN_A_ROW: u64 = 1024;

/// The verification of a worker's streams.
#[derive(Debug, Default)]
pub(crate) struct Verification {
    streams: Vec<Option<StreamVerification>>,
    /// Name of the job, for messages and state files.
    job: String,
    /// Written data is being read back, and nothing else is issued.
    reading_back: bool,
    /// Everything is written, and only trims of blocks remain.
    issues_final_trims: bool,
    /// Start and length of the verify phase.
    verify_phase: (Option<Nanos>, Nanos),
    /// Usage of the thread at the start of that phase. After its end, the usage within it.
    phase_usage: Usage,
    /// Start and length of verification between two rounds, within the measured window.
    between_rounds: (Option<Nanos>, Nanos),
    mismatches: Vec<Mismatch>,
    mismatch_count: u64,
    /// Writes replayed but not issued, because the job only verifies.
    phantom_writes: u64,
}

/// The role of an operation in flight.
#[derive(Clone, Copy, Debug)]
enum SlotTag {
    Nothing,
    /// A write with its history entry and its file.
    Write(Option<crate::verify::history::WriteId>, u32),
    Check(Block),
    Trim(crate::verify::history::WriteId),
    Flush(crate::verify::history::FlushMark),
}

impl Verification {
    /// The verification of the streams that have one.
    pub(crate) fn from_streams(streams: Vec<Option<StreamVerification>>, job: &str) -> Option<Verification> {
        streams.iter().any(Option::is_some).then(|| Verification {
            streams,
            job: job.to_owned(),
            ..Verification::default()
        })
    }

    /// True if verification alone decides what is issued now.
    pub(super) fn is_exclusive(&self) -> bool {
        self.reading_back || self.issues_final_trims
    }

    /// Queues verification reads or final trims, while nothing else is issued.
    pub(super) fn submit(&mut self, io: &mut IoLoop, files: &mut Files) {
        match self.reading_back {
            true => self.issue_checks(io, files),
            false => self.issue_final_trims(io, files),
        }
    }

    /// Queues reads of everything that is not yet verified.
    #[inline(never)]
    fn issue_checks(&mut self, io: &mut IoLoop, files: &mut Files) {
        io.round = io.round.wrapping_add(1);
        for pool in 0..io.pools.len() {
            while io.pools[pool].has_room() && (io.requests.is_empty() || !io.batching.inline.is_detected) {
                let slot = io.pools[pool].next_slot();
                let mut streams = io.pools[pool].streams.clone();
                if !streams.any(|stream_index| self.read_back(io, files, (pool, stream_index, slot)).is_some()) {
                    break;
                }
            }
        }
        io.winding_down |= !self.has_to_verify();
    }

    /// Queues the remaining due trims.
    #[inline(never)]
    fn issue_final_trims(&mut self, io: &mut IoLoop, files: &mut Files) {
        let mut has_room = false;
        for pool in 0..io.pools.len() {
            while io.pools[pool].has_room() {
                let slot = io.pools[pool].next_slot();
                let mut streams = io.pools[pool].streams.clone();
                if !streams.any(|stream_index| self.trim_written(io, files, (pool, stream_index, slot)).is_some()) {
                    has_room = true;
                    break;
                }
            }
        }
        io.winding_down |= has_room;
    }

    /// Queues a read or trim of a block of the backlog, if due. False if none is due.
    pub(super) fn issue_backlog(&mut self, io: &mut IoLoop, files: &mut Files, place: SlotPlace) -> bool {
        let (_, stream_index, _) = place;
        let Some(stream) = &mut self.streams[stream_index] else {
            return false;
        };
        stream.start_backlog_if_due() && self.read_back(io, files, place).is_some()
            || self.trim_written(io, files, place).is_some()
    }

    /// Queues a read of the oldest written block. `None` if there is none now.
    fn read_back(&mut self, io: &mut IoLoop, files: &mut Files, (pool, stream_index, slot): SlotPlace) -> Option<()> {
        if self.reading_back {
            self.recompute(io, stream_index);
        }
        let stream = self.streams[stream_index].as_mut()?;
        let file = stream.history.next_file()?;
        let file = files.open(io, stream_index, file)?;
        let written = stream.history.take_next()?;
        let block = stream.expected_block(written.block);
        stream.tags[slot.0 as usize] = SlotTag::Check(block);
        stream.count_backlog_read();
        let request = request_for(block, slot, file, Action::Read);
        files.queue_unscheduled(io, pool, stream_index, request);
        Some(())
    }

    /// Discards a written block. `None` if none is due.
    fn trim_written(
        &mut self,
        io: &mut IoLoop,
        files: &mut Files,
        (pool, stream_index, slot): SlotPlace,
    ) -> Option<()> {
        let stream = self.streams[stream_index].as_mut()?;
        stream.take_due_trim().then_some(())?;
        let file = stream.history.next_file_to_trim()?;
        let file = files.open(io, stream_index, file)?;
        let (write_id, block) = stream.history.take_to_trim()?;
        stream.tags[slot.0 as usize] = SlotTag::Trim(write_id);
        stream.has_just_read = false;
        let request = request_for(block, slot, file, Action::Trim);
        files.queue_unscheduled(io, pool, stream_index, request);
        Some(())
    }

    /// Recomputes written data. If blocks may have been rewritten, recomputes everything; otherwise
    /// as much as is read next.
    fn recompute(&mut self, io: &mut IoLoop, stream_index: usize) {
        let Some(stream) = &mut self.streams[stream_index] else {
            return;
        };
        let mut idle = false;
        while stream.must_recompute() {
            let Some(operation) = io.streams[stream_index].next(&mut io.draws, 0, None) else {
                if std::mem::replace(&mut idle, true) {
                    return;
                }
                io.draws.begin_pass();
                io.streams[stream_index].sequence.restart(&mut io.draws);
                continue;
            };
            idle = false;
            if operation.direction == Direction::Write {
                stream.recompute(&operation, &mut io.draws);
            }
        }
    }

    /// Skips an operation that must not be issued. It is a write of a stream that only verifies, or
    /// a read of data that an earlier run did not record. `None` if it must be issued; otherwise
    /// whether more may be skipped immediately.
    pub(super) fn skip_operation(
        &mut self,
        io: &mut IoLoop,
        files: &mut Files,
        stream_index: usize,
        operation: &Operation,
    ) -> Option<bool> {
        let stream = self.streams[stream_index].as_mut()?;
        let may_skip_more = stream.skip_operation(files.current(stream_index), operation, &mut io.draws)?;
        self.phantom_writes += u64::from(operation.direction == Direction::Write);
        if let Some(set) = files.sets.as_mut().and_then(|sets| sets.get_mut(stream_index)) {
            set.uncount_last();
        }
        io.streams[stream_index].idle_pass = false;
        io.spend_budget(operation.length);
        Some(may_skip_more)
    }

    /// Fills the buffer of a write, or records the expected data of a read.
    pub(super) fn prepare(
        &mut self,
        io: &mut IoLoop,
        files: &Files,
        stream_index: usize,
        slot: Slot,
        operation: &Operation,
    ) {
        let Some(stream) = &mut self.streams[stream_index] else {
            return io.fill_write(stream_index, slot, operation);
        };
        match operation.direction {
            Direction::Read => stream.on_read(slot, operation, &mut io.draws),
            Direction::Write => {
                let Some(filler) = &io.streams[stream_index].filler else {
                    return;
                };
                let buffer = &mut io.engine.buffer(slot)[..operation.length as usize];
                let (file, now) = (files.current(stream_index), io.batch.reap_time);
                stream.fill_write((slot, file), operation, (buffer, filler), now, &mut io.draws);
                io.start_new_round();
            }
            Direction::Trim => {}
        }
    }

    /// Called when a flush of a stream is queued.
    pub(super) fn on_flush(&mut self, stream_index: usize, slot: Slot) {
        if let Some(stream) = &mut self.streams[stream_index] {
            stream.tags[slot.0 as usize] = SlotTag::Flush(stream.history.flush_mark());
        }
    }

    /// Called when an operation has completed, with its buffer unchanged.
    pub(super) fn on_completed(&mut self, io: &mut IoLoop, ended: &EndedOperation) {
        let Some(stream) = &mut self.streams[ended.record.stream as usize] else {
            return;
        };
        if let Some(block) = stream.on_completed(ended) {
            self.check(io, ended, block);
        }
    }
}

/// Hooks of the lifecycle.
impl Verification {
    /// True if there is written data to verify.
    pub(crate) fn has_to_verify(&self) -> bool {
        let mut streams = self.streams.iter().flatten();
        streams.any(|stream| stream.after_writes && stream.has_blocks())
    }

    /// Called when everything is written. Starts the final trims, once per round; returns false if
    /// none is due.
    pub(crate) fn start_final_trims(&mut self, io: &mut IoLoop) -> bool {
        let mut streams = self.streams.iter().flatten();
        if self.issues_final_trims || !streams.any(|stream| stream.history.has_to_trim()) {
            return false;
        }
        (self.issues_final_trims, io.winding_down) = (true, false);
        true
    }

    /// Called at the end of the writes of a round. `flushed(stream)`: whether the final flush
    /// succeeded, for streams that verify only flushed writes.
    pub(crate) fn end_writes(&mut self, flushed: impl Fn(usize) -> bool) {
        for (stream_index, stream) in self.streams.iter_mut().enumerate() {
            if let Some(stream) = stream
                && stream.flushed_only
            {
                if flushed(stream_index) {
                    stream.history.record_flush(stream.history.flush_mark());
                }
                stream.history.drop_unflushed();
            }
        }
    }

    /// True if a stream only verifies flushed data.
    pub(crate) fn is_flushed_only(&self, stream_index: usize) -> bool {
        self.streams[stream_index]
            .as_ref()
            .is_some_and(|stream| stream.flushed_only)
    }

    /// Called when budget and passes of the streams are reset.
    pub(crate) fn on_reset(&mut self) {
        self.issues_final_trims = false;
    }

    /// Called when the same operations restart.
    pub(crate) fn begin_round(&mut self) {
        self.streams
            .iter_mut()
            .flatten()
            .for_each(StreamVerification::begin_round);
    }

    pub(super) fn on_phase(&mut self, io: &mut IoLoop, next: Phase, at: Nanos) {
        if let Some(start) = self.verify_phase.0.take() {
            (self.verify_phase.1, self.reading_back) = (at.since(start), false);
            self.phase_usage = sys::thread::usage().since(self.phase_usage);
        }
        match next {
            Phase::Verify => {
                (self.verify_phase.0, self.phase_usage) = (Some(at), sys::thread::usage());
                self.begin_reading_back(io);
            }
            Phase::Draining => (self.reading_back, self.issues_final_trims) = (false, false),
            Phase::Delay | Phase::WarmUp | Phase::Measured | Phase::CoolDown => {}
        }
    }

    /// Starts verification between two rounds: as in fio, each round is verified before the next.
    pub(crate) fn begin_between_rounds(&mut self, io: &mut IoLoop, at: Nanos) {
        self.between_rounds.0 = Some(at);
        self.begin_reading_back(io);
    }

    /// Ends verification between two rounds. False if there was none.
    pub(crate) fn end_between_rounds(&mut self, at: Nanos) -> bool {
        let Some(start) = self.between_rounds.0.take() else {
            return false;
        };
        self.between_rounds.1 += at.since(start);
        self.reading_back = false;
        true
    }

    /// Starts reading back. Lifts the budget, drops cached data, and restarts streams that
    /// recompute their writes.
    fn begin_reading_back(&mut self, io: &mut IoLoop) {
        self.reading_back = true;
        (io.winding_down, io.budget) = (false, Budget::UNLIMITED);
        io.streams.iter().for_each(LiveStream::drop_caches);
        if self
            .streams
            .iter()
            .flatten()
            .any(|stream| stream.recomputation.is_some())
        {
            io.restart_streams(None);
        }
    }

    pub(super) fn collect_results(&mut self, io: &IoLoop, results: &mut FeatureResults) {
        results.unsaved_states = self.save_states(io);
        results.verify_time = self.verify_phase.1 + self.between_rounds.1;
        results.verify_time_between_rounds = self.between_rounds.1;
        results.verify_usage = self.phase_usage;
        results.mismatches = std::mem::take(&mut self.mismatches);
        results.mismatch_count = self.mismatch_count;
        results.phantom_writes = self.phantom_writes;
    }
}
