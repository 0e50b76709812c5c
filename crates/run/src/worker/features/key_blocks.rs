//! Compares reads with the last write of each key block (Vdbench's data validation). A write marks
//! its key blocks in the map before it is issued and again after it has completed. `overlap`
//! separates operations on the same blocks. If blocks are read before they are written, the read
//! takes the place of the write, which follows in the next free slot. On a tree, a worker loads the
//! keys of the file that it uses, see [`TreeKeys`].

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Request, Slot};
use model::content::Filler;
use model::mismatch::Mismatch;
use model::plan::KeyBlocks as KeyBlocksPlan;
use model::results::{Failure, MAX_MISMATCHES};
use model::sequence::Operation;
use model::{Bytes, Direction};

use super::tree_keys::TreeKeys;
use super::{EndedOperation, FeatureResults, Overlap};
use crate::setup_error::SetupError;
use crate::verify::Checker;
use crate::verify::key_check::{KeyCheck, check_key};
use crate::verify::key_map::KeyMap;
use crate::worker::io_loop::{IoLoop, action_for};
use crate::worker::setup::Assignment;

/// Maximum number of operations to skip before the worker checks for commands.
const MAX_SKIPPED_IN_A_ROW: u64 = 1024;

/// The key blocks of a worker's target.
#[derive(Debug)]
pub(crate) struct KeyBlocks {
    plan: KeyBlocksPlan,
    checker: Checker,
    /// Generates the contents of blocks from their seeds.
    filler: Filler,
    pub(super) map: KeyMap,
    /// The files, if the worker uses a tree.
    pub(super) tree: Option<TreeKeys>,
    /// The role of each slot's operation.
    tags: Vec<Tag>,
    /// Follow-ups, which are issued before all other operations.
    follow_ups: VecDeque<FollowUp>,
    skipped: u64,
    compared: u64,
    mismatches: Vec<Mismatch>,
    mismatch_count: u64,
    /// Number of mismatches that all workers of the step have found.
    errors_of_step: Arc<AtomicU64>,
    /// The error of a failed flush of the map.
    flush_error: Option<io::Error>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Nothing,
    Read,
    /// A read before this write.
    ReadBefore(Operation),
    /// A read after a write.
    ReadAfter,
    Write,
}

/// An operation to issue after another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct FollowUp {
    pub(super) stream: usize,
    pub(super) file: u16,
    pub(super) operation: Operation,
}

/// Returns the range of bytes that the streams of a worker use.
fn byte_range(assignment: &Assignment<'_>) -> Range<u64> {
    let ranges = assignment.worker.streams.iter().map(|stream| {
        let target = stream.target.ids()[0];
        let (base, length) = stream.region.resolve(assignment.targets[target.0 as usize].size);
        base..base + length
    });
    ranges
        .reduce(|union: Range<u64>, range| union.start.min(range.start)..union.end.max(range.end))
        .unwrap_or(0..0)
}

impl KeyBlocks {
    /// Opens the map that the streams of a worker share; `None` without data validation. `slots` is
    /// the number of slots of the worker.
    pub(crate) fn from_plan(assignment: &Assignment<'_>, slots: u32) -> Result<Option<KeyBlocks>, SetupError> {
        let streams = &assignment.worker.streams;
        let keyed = streams.iter().find_map(|stream| {
            let verify = stream.verify.as_ref()?;
            Some((stream, verify, verify.keys.as_ref()?))
        });
        let Some((stream, verify, plan)) = keyed else {
            return Ok(None);
        };
        let checker = Checker::new(verify, 0);
        let min = checker.min_length();
        if (plan.length as usize) < min {
            return Err(SetupError::unsupported(
                format!(
                    "key blocks of {} bytes have no room for the {min}-byte header of data validation",
                    plan.length
                ),
                "use transfer sizes with a larger common divisor",
            ));
        }
        let tree = TreeKeys::from_plan(assignment, plan, min as u64);
        let map = match &tree {
            Some(_) => KeyMap::open(plan),
            None => KeyMap::open_part(plan, byte_range(assignment)),
        };
        let map = map.map_err(|source| SetupError::State {
            path: plan.map.clone(),
            source,
        })?;
        Ok(Some(KeyBlocks {
            tree,
            checker,
            filler: Filler::new(&stream.content, 0, engine::fill::random_fill(), Default::default(), 1),
            map,
            tags: vec![Tag::Nothing; slots as usize],
            follow_ups: VecDeque::new(),
            skipped: 0,
            compared: 0,
            mismatches: Vec::new(),
            mismatch_count: 0,
            errors_of_step: Arc::clone(assignment.errors),
            flush_error: None,
            plan: plan.clone(),
        }))
    }

    /// Returns the keys of an operation. `None` unless it covers whole key blocks.
    fn key_range(&self, offset: u64, length: u32) -> Option<Range<usize>> {
        self.map.key_range(self.address(offset)?, length)
    }

    /// Returns the position of an operation in the map.
    fn address(&self, offset: u64) -> Option<u64> {
        match &self.tree {
            Some(tree) => tree.address(offset),
            None => Some(offset),
        }
    }

    fn to_key_block_read(&self, operation: &Operation) -> Operation {
        let offset = match &self.tree {
            Some(tree) => tree.read_offset(operation.offset),
            None => operation.offset,
        };
        Operation::new(Direction::Read, offset, operation.length)
    }

    /// True if the operation in a slot is a read that the sequence does not contain.
    pub(super) fn is_extra_read(&self, slot: Slot) -> bool {
        matches!(self.tags[slot.0 as usize], Tag::ReadBefore(_) | Tag::ReadAfter)
    }

    /// Skips a read of blocks whose contents are all unknown. `None` if the operation must be
    /// issued; otherwise true if another operation may be tried immediately.
    pub(super) fn skip_if_unknown(&mut self, io: &mut IoLoop, number: usize, operation: &Operation) -> Option<bool> {
        if !self.plan.known_only || self.map.knows_any(self.key_range(operation.offset, operation.length)?) {
            return None;
        }
        io.streams[number].idle_pass = false;
        io.spend_budget(operation.length);
        self.skipped += 1;
        Some(!self.skipped.is_multiple_of(MAX_SKIPPED_IN_A_ROW))
    }

    /// Returns the read to issue before a write, if one is required.
    pub(super) fn read_before(&self, operation: &Operation) -> Option<Operation> {
        if !self.plan.read_before_write || operation.direction != Direction::Write {
            return None;
        }
        let keys = self.key_range(operation.offset, operation.length)?;
        self.map.knows_any(keys).then(|| self.to_key_block_read(operation))
    }

    /// Records that the operation in a slot is a read before this write.
    pub(super) fn set_read_before(&mut self, slot: Slot, write: Operation) {
        self.tags[slot.0 as usize] = Tag::ReadBefore(write);
    }

    /// Marks the blocks of an operation before it is queued, and fills its buffer.
    pub(super) fn prepare(&mut self, io: &mut IoLoop, slot: Slot, operation: &Operation) {
        self.tags[slot.0 as usize] = Tag::Nothing;
        if self.prepare_file(io, operation.offset) {
            return;
        }
        let Some(keys) = self.key_range(operation.offset, operation.length) else {
            let at = format!("offset {}", operation.offset);
            return self.fail(io, at, "an operation does not cover whole key blocks");
        };
        self.tags[slot.0 as usize] = match operation.direction {
            Direction::Read => Tag::Read,
            Direction::Trim => Tag::Nothing,
            Direction::Write => {
                if let Err(error) = self.map.begin_write(keys.clone()) {
                    return self.report_map_error(io, &error);
                }
                let buffer = &mut io.engine.buffer(slot)[..operation.length as usize];
                for (index, piece) in keys.zip(buffer.chunks_mut(self.plan.length as usize)) {
                    let mut block = self.map.block(index, self.map.key(index).generation());
                    self.checker.fill(piece, &mut block, 0, &self.filler);
                }
                io.start_new_round();
                Tag::Write
            }
        };
    }

    /// Prepares a follow-up before it is queued.
    fn prepare_follow_up(&mut self, io: &mut IoLoop, slot: Slot, operation: &Operation) {
        self.prepare(io, slot, operation);
        let tag = &mut self.tags[slot.0 as usize];
        if *tag == Tag::Read {
            *tag = Tag::ReadAfter;
        }
    }

    pub(in crate::worker) fn has_follow_ups(&self) -> bool {
        !self.follow_ups.is_empty()
    }

    /// Flushes the marks of blocks, before the operations on them are submitted.
    pub(super) fn before_turn(&mut self) {
        if let Err(error) = self.map.flush() {
            self.flush_error = Some(error);
        }
    }

    pub(super) fn after_turn(&mut self, io: &mut IoLoop) {
        if let Some(error) = self.flush_error.take() {
            self.report_map_error(io, &error);
        }
    }

    /// Called when an operation has completed, with its buffer unchanged. Returns the length of the
    /// write that is dropped, if the read before it found a mismatch.
    pub(super) fn on_completed(&mut self, io: &mut IoLoop, ended: &EndedOperation) -> Option<u32> {
        let tag = std::mem::replace(&mut self.tags[ended.slot.0 as usize], Tag::Nothing);
        let is_read = matches!(tag, Tag::Read | Tag::ReadBefore(_) | Tag::ReadAfter);
        let is_comparable = ended.is_complete() || is_read && self.zero_missing_end(io, ended);
        let (offset, length) = (ended.record.offset, ended.record.length);
        let keys = self.key_range(offset, length).filter(|_| is_comparable)?;
        let mut dropped_write = None;
        let follow_up = match tag {
            Tag::Nothing => None,
            Tag::Read | Tag::ReadAfter => {
                self.check(io, ended, keys);
                None
            }
            // Leave a mismatching block unchanged.
            Tag::ReadBefore(write) => {
                let is_correct = self.check(io, ended, keys);
                dropped_write = (!is_correct).then_some(write.length);
                is_correct.then_some(write)
            }
            Tag::Write => {
                if let Err(error) = self.map.end_write(keys) {
                    self.report_map_error(io, &error);
                    return None;
                }
                let write = Operation::new(Direction::Write, offset, length);
                self.plan.read_after_write.then(|| self.to_key_block_read(&write))
            }
        };
        self.follow_ups.extend(follow_up.map(|operation| FollowUp {
            stream: ended.record.stream as usize,
            file: ended.record.file,
            operation,
        }));
        dropped_write
    }

    /// Compares the data of a read with the map. Returns false on a mismatch.
    fn check(&mut self, io: &mut IoLoop, ended: &EndedOperation, keys: Range<usize>) -> bool {
        let buffer = &mut io.engine.buffer(ended.slot)[..ended.record.length as usize];
        let mut faults = Vec::new();
        for (index, piece) in keys.zip(buffer.chunks_mut(self.plan.length as usize)) {
            let KeyCheck { key, compared, fault } = check_key(&self.map, index, &self.checker, &self.filler, piece);
            self.compared += u64::from(compared);
            faults.extend(fault.map(|fault| (key.generation(), fault)));
            if let Err(error) = self.map.set(index, key) {
                self.report_map_error(io, &error);
                return false;
            }
        }
        if faults.is_empty() {
            return true;
        }
        let record = &ended.record;
        let (path, base) = match &self.tree {
            Some(tree) => (io.errors.describe_location(record), tree.file_start()),
            None => (io.errors.path(record.file).to_owned(), 0),
        };
        let block_offset = self.address(record.offset).unwrap_or(0) - base;
        let mismatches = faults.len() as u64;
        self.mismatch_count += mismatches;
        let before = self.errors_of_step.fetch_add(mismatches, Ordering::Relaxed);
        let room = MAX_MISMATCHES.saturating_sub(self.mismatches.len());
        let faults = faults.into_iter().take(room);
        self.mismatches
            .extend(faults.map(|(number, (offset, length, fault))| Mismatch {
                stream: record.stream,
                path: path.clone(),
                offset: Bytes(offset - base),
                length,
                block_offset: Bytes(block_offset),
                block_length: record.length,
                write_number: Some(u64::from(number)),
                fault,
            }));
        // Only the worker that reaches the limit ends the run.
        if before < self.plan.max_mismatches && before + mismatches >= self.plan.max_mismatches {
            let what = format!(
                "{} errors; key blocks do not contain their last writes",
                before + mismatches
            );
            let at = match &self.tree {
                Some(_) => format!("{path}, offset {block_offset}"),
                None => format!("offset {block_offset}"),
            };
            self.fail(io, at, &what);
        }
        false
    }

    #[cold]
    fn fail(&self, io: &mut IoLoop, location: String, what: &str) {
        io.fail(Failure {
            help: Some("the data on the device is wrong, or another program has written there".into()),
            ..Failure::new(what, location)
        });
    }

    #[cold]
    pub(super) fn report_map_error(&self, io: &mut IoLoop, error: &io::Error) {
        let what = format!("cannot write the map of key blocks: {error}");
        io.fail(Failure {
            errno: error.raw_os_error(),
            ..Failure::new(what, self.plan.map.clone())
        });
    }

    pub(super) fn at_end(&mut self, results: &mut FeatureResults) {
        if let Err(error) = self.map.save() {
            let what = format!("cannot save the map of key blocks in {}: {error}", self.plan.map);
            results.unsaved_states.push(what);
        }
        results.compared_blocks = self.compared;
        results.mismatches.append(&mut self.mismatches);
        results.mismatch_count += self.mismatch_count;
    }
}

impl super::Features {
    /// Queues the read that must precede an operation, or the operation itself.
    pub(super) fn issue_checked(
        &mut self,
        io: &mut IoLoop,
        (pool, number, slot): (usize, usize, Slot),
        operation: &Operation,
        due: model::Nanos,
    ) {
        let read = self.key_blocks.as_ref().and_then(|keys| keys.read_before(operation));
        io.issue(pool, number, slot, &read.unwrap_or(*operation), due, Some(self));
        if let Some(keys) = &mut self.key_blocks
            && read.is_some()
        {
            keys.set_read_before(slot, *operation);
        }
    }

    /// Queues the next follow-up. Returns false if there is none.
    pub(super) fn issue_follow_up(&mut self, io: &mut IoLoop, pool: usize, slot: Slot) -> bool {
        let Some(keys) = &mut self.key_blocks else { return false };
        let Some(FollowUp {
            stream,
            file,
            operation,
        }) = keys.follow_ups.pop_front()
        else {
            return false;
        };
        keys.prepare_follow_up(io, slot, &operation);
        if let Some(overlap) = &mut self.overlap {
            overlap.begin(slot, Overlap::ONE_FILE, &operation);
        }
        let request = Request {
            offset: operation.offset,
            length: operation.length,
            slot,
            file,
            action: action_for(operation.direction),
        };
        self.files.queue_unscheduled(io, pool, stream, request);
        true
    }
}
