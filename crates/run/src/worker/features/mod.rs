//! Optional per-operation features of a worker. Each feature has a file with its state, `from_plan`
//! and hooks. This file calls the hooks in the order of their dependencies. A hook that must end
//! the worker records a failure in the loop, and the lifecycle leaves the phase right after.

mod block_lifetimes;
mod dataless;
mod file_locks;
mod file_operations;
mod file_set;
mod files;
mod flow;
mod issue_trace;
mod key_blocks;
mod latency_limit;
mod operation_log;
mod overlap;
pub(super) mod priorities;
mod reopening;
mod replay;
mod think_cycles;
mod tree_keys;
mod verify;
mod wait_counts;

use block_lifetimes::BlockLifetimes;
use dataless::Dataless;
use engine::{Action, Completion, Request, Slot, sys};
use file_locks::FileLocks;
use file_operations::FileOperations;
use flow::FlowShares;
use issue_trace::IssueTrace;
pub(super) use key_blocks::KeyBlocks;
use latency_limit::LatencyLimits;
use model::block_lifetimes::BlockLifetimes as Lifetimes;
use model::event::Phase;
use model::mismatch::Mismatch;
use model::plan::FlushKind;
use model::results::{Failure, Usage};
use model::sequence::Operation;
use model::{Direction, Nanos};
use operation_log::OperationLog;
use overlap::Overlap;
use priorities::Priorities;
use reopening::Reopening;
use replay::Replay;
use think_cycles::ThinkCycles;
use wait_counts::WaitCounts;

use super::io_loop::IoLoop;
use super::recorder::{CellKey, OperationRun};
use super::setup::{Assignment, OpenedFiles};
use super::slots::SlotRecord;
use super::{ReadyKind, ReadyTarget};
use crate::flow::Flows;
use crate::setup_error::SetupError;

pub(super) use file_set::{FileSet, FileSets};
pub(super) use files::{FileWatchers, Files};
pub(super) use verify::{StreamVerification, Verification, VerifySetup};

/// The features of a worker, at least one.
#[derive(Debug, Default)]
pub(crate) struct Features {
    pub(super) files: Files,
    pub(super) verification: Option<Verification>,
    pub(super) key_blocks: Option<KeyBlocks>,
    pub(super) replay: Option<Replay>,
    pub(super) overlap: Option<Overlap>,
    pub(super) flow: Option<FlowShares>,
    pub(super) operation_log: Option<OperationLog>,
    pub(super) priorities: Option<Priorities>,
    pub(super) latency_limits: Option<LatencyLimits>,
    pub(super) block_lifetimes: Option<BlockLifetimes>,
    /// Each completion issues the next operation of its slot (DiskSpd `-x`). If streams share a
    /// pool, the first stream issues the first operation of each slot.
    pub(super) completion_routines: bool,
    pub(super) wait_counts: Option<WaitCounts>,
    pub(super) think_cycles: Option<ThinkCycles>,
    pub(super) dataless: Option<Dataless>,
    pub(super) file_operations: Option<FileOperations>,
    pub(super) reopening: Option<Reopening>,
}

/// The next operation of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum NextOperation {
    Issue(Operation),
    /// No operation is available before a completion.
    Wait,
    /// The pass is over.
    EndOfPass,
}

impl From<Option<Operation>> for NextOperation {
    fn from(operation: Option<Operation>) -> NextOperation {
        operation.map_or(NextOperation::EndOfPass, NextOperation::Issue)
    }
}

/// An operation that completed; its slot is not free yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndedOperation {
    pub(super) slot: Slot,
    pub(super) record: SlotRecord,
    /// Absent for a flush.
    pub(super) direction: Option<Direction>,
    /// Bytes, or a negative error number.
    pub(super) result: i64,
    pub(super) at: Nanos,
}

impl EndedOperation {
    /// True if it transferred all its bytes.
    pub(super) fn is_complete(&self) -> bool {
        self.result == i64::from(self.record.length)
    }

    /// The time from queued to reaped.
    pub(super) fn total(&self) -> Nanos {
        self.at.since(self.record.queued)
    }

    /// The run that a recorder counts, with this many bytes.
    fn run(&self, bytes: u64) -> OperationRun {
        let mut run = OperationRun::starting_with(&self.record);
        (run.operations, run.bytes) = (1, bytes);
        run
    }
}

/// The results of features at the end of the worker.
#[derive(Debug, Default)]
pub(crate) struct FeatureResults {
    /// The time of verification.
    pub(crate) verify_time: Nanos,
    /// The part of that time in the measured window.
    pub(crate) verify_time_between_rounds: Nanos,
    /// The thread's usage for verification after the measured window.
    pub(crate) verify_usage: Usage,
    pub(crate) mismatches: Vec<Mismatch>,
    pub(crate) mismatch_count: u64,
    /// Key blocks whose contents were compared.
    pub(crate) compared_blocks: u64,
    /// Writes that were not issued, because the job only verifies.
    pub(crate) phantom_writes: u64,
    /// Messages about verification state that could not be saved.
    pub(crate) unsaved_states: Vec<String>,
    pub(crate) lifetimes: Option<Lifetimes>,
    /// How often the worker waited for the reader of its trace.
    pub(crate) trace_waits: u64,
}

/// Construction from a plan.
impl Features {
    /// The features of a plan, if it has any.
    pub(super) fn from_plan(
        assignment: &Assignment<'_>,
        keys: &[CellKey],
        opened: &OpenedFiles,
        sets: Option<FileSets>,
        slots: u32,
    ) -> Result<Option<Features>, SetupError> {
        let (plan, job) = (assignment.worker, assignment.job);
        let features = Features {
            files: Files {
                sets,
                watchers: FileWatchers {
                    locks: FileLocks::from_plan(assignment, opened, slots),
                    trace: IssueTrace::from_plan(job, &opened.targets),
                },
            },
            verification: Verification::from_plan(assignment, slots)?,
            key_blocks: KeyBlocks::from_plan(assignment, slots)?,
            replay: Replay::from_plan(assignment, opened)?,
            overlap: Overlap::from_plan(plan),
            flow: FlowShares::from_plan(plan),
            operation_log: OperationLog::from_plan(job),
            priorities: Priorities::from_plan(assignment, keys, opened),
            latency_limits: LatencyLimits::from_plan(plan),
            block_lifetimes: BlockLifetimes::from_plan(assignment)?,
            completion_routines: plan.batching.completion_routines,
            wait_counts: WaitCounts::from_plan(plan),
            think_cycles: ThinkCycles::from_plan(plan),
            dataless: Dataless::from_plan(plan),
            file_operations: FileOperations::from_plan(assignment, keys),
            reopening: Reopening::from_plan(assignment, keys, opened),
        };
        Ok(features.has_any().then_some(features))
    }

    fn has_any(&self) -> bool {
        let Features {
            files: Files { sets, watchers },
            verification,
            key_blocks,
            replay,
            overlap,
            flow,
            operation_log,
            priorities,
            latency_limits,
            block_lifetimes,
            completion_routines,
            wait_counts,
            think_cycles,
            dataless,
            file_operations,
            reopening,
        } = self;
        sets.is_some()
            || watchers.locks.is_some()
            || watchers.trace.is_some()
            || verification.is_some()
            || key_blocks.is_some()
            || replay.is_some()
            || overlap.is_some()
            || flow.is_some()
            || operation_log.is_some()
            || priorities.is_some()
            || latency_limits.is_some()
            || block_lifetimes.is_some()
            || *completion_routines
            || wait_counts.is_some()
            || think_cycles.is_some()
            || dataless.is_some()
            || file_operations.is_some()
            || reopening.is_some()
    }

    /// Attaches the operation log and the trace of the job.
    pub(super) fn attach_logs(
        &mut self,
        operations: Option<operation_log::LogWriter>,
        trace: Option<issue_trace::LogWriter>,
    ) {
        if let Some(log) = &mut self.operation_log {
            log.log = operations;
        }
        if let Some(issue_trace) = &mut self.files.watchers.trace {
            issue_trace.log = trace;
        }
    }

    /// True if files are opened and closed while the worker runs.
    pub(super) fn exchanges_files(&self) -> bool {
        let reopens = self.replay.is_some() || self.reopening.is_some();
        reopens || self.files.sets.as_ref().is_some_and(FileSets::exchanges_files)
    }

    /// Bytes of additional memory of the patterns of file sets.
    pub(super) fn extra_bytes(&self) -> u64 {
        self.files.sets.as_ref().map_or(0, FileSets::extra_bytes)
    }

    /// Zone resets in files of sets other than the current ones.
    pub(crate) fn zone_resets(&self) -> u64 {
        self.files.sets.as_ref().map_or(0, FileSets::zone_resets)
    }
}

/// Hooks for changes of the phase.
impl Features {
    /// Called when the start time is known.
    pub(super) fn schedule(&mut self, flows: &Flows, start: Nanos) {
        if let Some(flow) = &mut self.flow {
            flow.join(flows);
        }
        if let Some(replay) = &mut self.replay {
            replay.schedule(start);
        }
    }

    /// Called when I/O starts.
    pub(super) fn at_start(&mut self, io: &IoLoop, start: Nanos) {
        // A replay opens files when its trace does.
        let open = match self.replay {
            None => self.open_files(io),
            Some(_) => Vec::new(),
        };
        if let Some(trace) = &mut self.files.watchers.trace {
            trace.at_start(&open, start);
        }
    }

    /// True if verification alone decides what is issued now.
    pub(super) fn only_verifies(&self) -> bool {
        self.verification.as_ref().is_some_and(Verification::is_exclusive)
    }

    /// Called at the start of the measured window.
    pub(super) fn on_window_start(&mut self, at: Nanos) {
        if let Some(log) = &mut self.operation_log {
            log.window_start = Some(at);
        }
    }

    /// Called at the end of the measured window.
    pub(super) fn on_window_end(&mut self, at: Nanos) {
        if let Some(log) = &mut self.operation_log {
            log.window_start = None;
        }
        if let Some(verification) = &mut self.verification {
            verification.end_between_rounds(at);
        }
    }

    /// Called when the worker changes phase.
    pub(super) fn on_phase(&mut self, io: &mut IoLoop, next: Phase, at: Nanos) {
        if let Some(verification) = &mut self.verification {
            verification.on_phase(io, next, at);
        }
    }

    /// Collects the results.
    pub(super) fn at_end(&mut self, io: &IoLoop) -> FeatureResults {
        let open = self.open_files(io);
        if let Some(trace) = &mut self.files.watchers.trace {
            trace.at_end(&open, io.engine.now());
        }
        let mut results = FeatureResults {
            lifetimes: self.block_lifetimes.as_ref().map(BlockLifetimes::lifetimes),
            trace_waits: self.replay.as_ref().map_or(0, Replay::wait_count),
            ..FeatureResults::default()
        };
        if let Some(verification) = &mut self.verification {
            verification.collect_results(io, &mut results);
        }
        if let Some(keys) = &mut self.key_blocks {
            keys.at_end(&mut results);
        }
        if let Some(files) = &mut self.file_operations {
            files.release_file();
        }
        results
    }
}

/// Hooks before and after each call of the engine.
impl Features {
    /// Queues operations while there is room.
    pub(super) fn submit(&mut self, io: &mut IoLoop) {
        match &mut self.verification {
            Some(verification) if verification.is_exclusive() => {
                io.pacing.next_due = Nanos::NEVER;
                verification.submit(io, &mut self.files);
                io.update_meter();
            }
            _ => io.submit_general(Some(self)),
        }
    }

    pub(super) fn before_turn(&mut self, requests: &[Request]) {
        if let Some(locks) = &mut self.files.watchers.locks {
            locks.acquire(requests);
        }
        if let Some(keys) = &mut self.key_blocks {
            keys.before_turn();
        }
    }

    /// Called after a turn that waited for `at_least` completions until `until`.
    pub(super) fn after_turn(&mut self, io: &mut IoLoop, at_least: u32, until: Nanos) {
        if let Some(locks) = &mut self.files.watchers.locks {
            locks.release();
        }
        if let Some(keys) = &mut self.key_blocks {
            keys.after_turn(io);
        }
        if let Some(counts) = &self.wait_counts {
            counts.after_turn(io, at_least, until);
        }
    }

    /// Called after all completions of a turn were counted.
    pub(super) fn after_reaping(&mut self, io: &mut IoLoop) {
        if let Some(sets) = &mut self.files.sets {
            sets.after_reaping(io);
        }
        if let Some(replay) = &mut self.replay {
            replay.after_reaping(io, &mut self.files.watchers);
        }
    }

    /// True if a feature has stalled the loop since the last call. A full log does so, for example.
    /// The time of the stall counts for no operation.
    pub(super) fn take_stalls(&mut self) -> bool {
        let log = self.operation_log.as_mut().map(|log| &mut log.stalled);
        let trace = self.files.watchers.trace.as_mut().map(|trace| &mut trace.stalled);
        let think_cycles = self.think_cycles.as_mut().map(|think_cycles| &mut think_cycles.stalled);
        let replay = self.replay.as_mut().is_some_and(Replay::take_stalls);
        let stalls = [log, trace, think_cycles].into_iter().flatten();
        stalls.fold(replay, |any, stalled| any | std::mem::take(stalled))
    }

    pub(super) fn holds_locks(&self) -> bool {
        self.files.watchers.locks.is_some()
    }
}

/// Hooks before an operation is issued.
impl Features {
    /// Called for a free slot. `Some(queued)` if the next operation does not come from a sequence.
    pub(super) fn before_issue(&mut self, io: &mut IoLoop, pool: usize, slot: Slot) -> Option<bool> {
        if self.issue_follow_up(io, pool, slot) {
            return Some(true);
        }
        if let Some(reopening) = &mut self.reopening
            && !reopening.keep_open(io, &mut self.files.watchers, pool)
        {
            return Some(false);
        }
        let first_stream = io.pools[pool].streams.start;
        if let Some(flow) = &mut self.flow
            && flow.wait_if_ahead(io, first_stream)
        {
            return Some(false);
        }
        if let Some(overlap) = &mut self.overlap {
            match overlap.resume(pool, slot) {
                overlap::ResumeResult::Nothing => {}
                overlap::ResumeResult::Blocked => return Some(false),
                overlap::ResumeResult::Issue(waiting) => {
                    self.issue_checked(io, (pool, waiting.stream, slot), &waiting.operation, waiting.due);
                    return Some(true);
                }
            }
        }
        self.replay.is_some().then(|| self.issue_from_trace(io, pool, slot))
    }

    /// Replays entries of a trace up to the first that needs a slot. False if none is due.
    #[inline(never)]
    fn issue_from_trace(&mut self, io: &mut IoLoop, pool: usize, slot: Slot) -> bool {
        let number = io.pools[pool].streams.start;
        let now = io.batch.reap_time;
        let Some(replay) = &mut self.replay else { return false };
        match replay.next(io, &mut self.files.watchers, number) {
            replay::DueEntry::Later => return false,
            replay::DueEntry::Over => return io.end_pass(number, Some(self)),
            replay::DueEntry::Flush(action) => {
                self.queue_flush(io, pool, number, slot, action);
                if let Some(gate) = &mut io.streams[number].gate {
                    gate.issued_unscheduled();
                }
            }
            replay::DueEntry::Move(operation) => {
                let file = io.streams[number].file;
                if let Some(overlap) = &mut self.overlap
                    && overlap.must_wait(pool, number, (slot, file), &operation, now)
                {
                    return false;
                }
                io.issue(pool, number, slot, &operation, now, Some(self));
            }
        }
        true
    }

    /// True if a slot's first operation goes to its pool's first stream, regardless of weights.
    pub(super) fn begins_with_first_stream(&self, record: &SlotRecord) -> bool {
        self.completion_routines && !record.used
    }

    /// Queues another operation instead of the stream's next one, if it is due.
    pub(super) fn issue_instead(&mut self, io: &mut IoLoop, pool: usize, number: usize, slot: Slot) -> bool {
        if let Some(files) = &mut self.file_operations {
            return files.issue_open_or_close(io, (pool, number, slot), self.key_blocks.as_mut());
        }
        let Some(verification) = &mut self.verification else {
            return false;
        };
        verification.issue_backlog(io, &mut self.files, (pool, number, slot))
    }

    /// The next operation of a stream.
    pub(super) fn next_operation(
        &mut self,
        io: &mut IoLoop,
        number: usize,
        slot: u32,
        direction: Option<Direction>,
    ) -> NextOperation {
        if let Some(files) = &mut self.file_operations {
            return files.next_operation(io);
        }
        let Some(set) = self.files.sets.as_mut().and_then(|sets| sets.get_mut(number)) else {
            return io.streams[number].next(&mut io.draws, slot, direction).into();
        };
        let next = set.next_operation(io, &mut self.files.watchers, number, slot, direction);
        if let Some(priorities) = &mut self.priorities {
            priorities.switch_file(number, set.current());
        }
        next
    }

    /// Decides whether to withhold an operation. Then returns whether another one may be tried
    /// immediately; otherwise `None`.
    pub(super) fn withhold(
        &mut self,
        io: &mut IoLoop,
        pool: usize,
        number: usize,
        operation: &Operation,
        due: Nanos,
    ) -> Option<bool> {
        if let Some(verification) = &mut self.verification
            && let Some(may_try_another) = verification.skip_operation(io, &mut self.files, number, operation)
        {
            return Some(may_try_another);
        }
        if let Some(keys) = &mut self.key_blocks
            && let Some(may_try_another) = keys.skip_if_unknown(io, number, operation)
        {
            if let Some(files) = &mut self.file_operations {
                files.skip_transfer(operation.length);
            }
            return Some(may_try_another);
        }
        let slot = io.pools[pool].next_slot();
        let file = match self.key_blocks {
            Some(_) => Overlap::ONE_FILE,
            None => io.streams[number].file,
        };
        if let Some(overlap) = &mut self.overlap
            && overlap.must_wait(pool, number, (slot, file), operation, due)
        {
            return Some(false);
        }
        self.key_blocks.as_ref()?.read_before(operation)?;
        self.issue_checked(io, (pool, number, slot), operation, due);
        Some(true)
    }

    /// Prepares the buffer of an operation. Returns its file, and the bytes that it counts for.
    pub(super) fn prepare(&mut self, io: &mut IoLoop, number: usize, slot: Slot, operation: &Operation) -> (u16, u32) {
        match (&mut self.verification, &mut self.key_blocks) {
            (Some(verification), _) => verification.prepare(io, &self.files, number, slot, operation),
            (None, Some(keys)) => keys.prepare(io, slot, operation),
            (None, None) => io.fill_write(number, slot, operation),
        }
        let own_file = self
            .priorities
            .as_mut()
            .and_then(|priorities| priorities.choose(number, operation));
        let length = match &self.dataless {
            Some(dataless) => dataless.counted_bytes(operation.length),
            None => operation.length,
        };
        (own_file.unwrap_or(io.streams[number].file), length)
    }

    /// Called after an operation of a sequence was queued.
    pub(super) fn on_issued(&mut self, io: &IoLoop, number: usize, request: &Request) {
        self.files.watchers.on_queued(io, request);
        if let Some(flow) = &mut self.flow {
            flow.on_issued(number);
        }
        if let Some(reopening) = &mut self.reopening {
            reopening.on_issued(request.file);
        }
    }

    /// Queues a flush of a stream's current file.
    pub(super) fn queue_flush(&mut self, io: &mut IoLoop, pool: usize, number: usize, slot: Slot, action: Action) {
        if let Some(verification) = &mut self.verification {
            verification.on_flush(number, slot);
        }
        let file = io.streams[number].file;
        self.files
            .queue_unscheduled(io, pool, number, Request::flush(file, slot, action));
    }

    /// Called when a stream begins another pass.
    pub(super) fn on_restart(&mut self, io: &mut IoLoop, number: usize) {
        if let Some(set) = self.files.sets.as_mut().and_then(|sets| sets.get_mut(number)) {
            set.restart(&mut io.draws);
        }
    }
}

/// Hooks after an operation has completed.
impl Features {
    /// Counts an operation that completed.
    pub(super) fn on_completed(&mut self, io: &mut IoLoop, completion: Completion) {
        let Completion { slot, result, at } = completion;
        let record = *io.slots.get(slot);
        let ended = EndedOperation {
            slot,
            record,
            direction: io.slot_direction(&record),
            result,
            at,
        };
        if let Some(overlap) = &mut self.overlap {
            overlap.on_completed(slot);
        }
        if let Some(lifetimes) = &mut self.block_lifetimes {
            lifetimes.on_completed(&ended);
        }
        let is_extra_read = self.key_blocks.as_ref().is_some_and(|keys| keys.is_extra_read(slot));
        let too_slow = self
            .latency_limits
            .as_ref()
            .and_then(|limits| limits.check_latency(&ended));
        let timed = self.dataless.as_ref().is_none_or(|dataless| dataless.is_timed(&record));
        if timed && let Some(log) = &mut self.operation_log {
            let error = match too_slow {
                Some(_) => sys::file::TIMED_OUT,
                None => (-result).max(0) as i32,
            };
            log.on_completed(io, &ended, error);
        }
        if let Some(too_slow) = too_slow {
            latency_limit::reap_too_slow(io, &ended, too_slow);
        } else if !timed {
            io.recorder.count_untimed(record.key as u32, record.length);
        } else if let Some(files) = &mut self.file_operations {
            files.on_completed(io, &ended, is_extra_read);
        } else if ended.is_complete() {
            let run = ended.run(u64::from(record.length));
            io.recorder.count(&run, at);
            if let Some(priorities) = &self.priorities {
                priorities.on_completed(io, &ended, run);
            }
        } else {
            io.reap_failed_or_short(slot, result, at);
        }
        if let Some(think_cycles) = &mut self.think_cycles {
            think_cycles.on_completed(&ended);
        }
        if let Some(reopening) = &mut self.reopening {
            reopening.on_completed(record.file);
        }
        // A mismatch may end the worker, but the operation itself is counted first.
        if let Some(verification) = &mut self.verification {
            verification.on_completed(io, &ended);
        }
        if let Some(keys) = &mut self.key_blocks {
            let dropped_write = keys.on_completed(io, &ended);
            if let (Some(length), Some(files)) = (dropped_write, &mut self.file_operations) {
                files.skip_transfer(length);
            }
        }
        if let Some(files) = &mut self.file_operations
            && files.can_release()
        {
            if let Some(keys) = &mut self.key_blocks {
                keys.unload_file(io);
            }
            files.release_file();
        }
    }

    /// Called when the slot of a completed operation is free.
    pub(super) fn after_completion(&mut self, io: &mut IoLoop, pool: usize) {
        if self.completion_routines {
            // The slot just freed is used next.
            io.round = io.round.wrapping_add(1);
            io.submit_from(pool, Some(self));
        }
    }
}

/// Flushes a file by its path.
pub(super) fn flush(target: &ReadyTarget, kind: FlushKind) -> Result<(), Box<Failure>> {
    let ReadyKind::Path(path) = &target.what else {
        return Ok(());
    };
    let flushed = sys::file::open_without_waiting(path).and_then(|file| match kind {
        FlushKind::Full => file.sync_all(),
        FlushKind::Data => file.sync_data(),
    });
    flushed.map_err(|error| {
        Box::new(Failure {
            errno: error.raw_os_error(),
            ..Failure::new(
                format!("a flush before closing failed: {error}"),
                path.display().to_string(),
            )
        })
    })
}
