//! Compares reads with the last write of each key block (Vdbench's data validation). A write marks
//! its key blocks in the map before it is issued and again when it has completed. `overlap`
//! separates operations on the same blocks. If blocks are read before they are written, the read
//! replaces the write, which follows in the next free slot.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::{Request, Slot};
use model::content::Filler;
use model::mismatch::Mismatch;
use model::plan::KeyBlocks as Plan;
use model::results::{Failure, MAX_MISMATCHES};
use model::sequence::Operation;
use model::{Bytes, Direction};

use super::{EndedOperation, FeatureResults, Overlap};
use crate::setup_error::SetupError;
use crate::verify::key_check::{Finding, check_key};
use crate::verify::key_map::KeyMap;
use crate::verify::{Checker, mismatch};
use crate::worker::io_loop::{IoLoop, action_for};
use crate::worker::setup::Assignment;

/// Maximum number of operations to skip before the worker checks for commands.
const MAX_SKIPPED_IN_A_ROW: u64 = 1024;

/// The key blocks of a worker's target.
#[derive(Debug)]
pub(crate) struct KeyBlocks {
    plan: Plan,
    checker: Checker,
    /// Generates the contents of blocks from their seeds.
    filler: Filler,
    map: KeyMap,
    /// The role of each slot's operation.
    tags: Vec<Tag>,
    /// Operations to issue before all others.
    follow_ups: VecDeque<FollowUp>,
    skipped: u64,
    compared: u64,
    mismatches: Vec<Mismatch>,
    mismatch_count: u64,
    /// Errors of all workers of the step.
    errors_of_step: Arc<AtomicU64>,
    /// The map could not be flushed.
    flush_error: Option<io::Error>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    Nothing,
    Read,
    /// A read that is followed by this write.
    ReadBefore(Operation),
    Write,
}

/// An operation that follows another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct FollowUp {
    pub(super) stream: usize,
    pub(super) file: u16,
    pub(super) operation: Operation,
}

impl KeyBlocks {
    /// The key blocks that the streams of a worker share. `slots` is the number of slots of the
    /// worker.
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
            return Err(SetupError::Unfit {
                what: format!(
                    "key blocks of {} bytes have no room for the {min}-byte header of data validation",
                    plan.length
                ),
                help: "use transfer sizes with a larger common divisor".into(),
            });
        }
        let ranges = streams.iter().map(|stream| {
            let target = stream.target.ids()[0];
            let (base, length) = stream.region.resolve(assignment.targets[target.0 as usize].size);
            base..base + length
        });
        let range = ranges
            .reduce(|all: Range<u64>, one| all.start.min(one.start)..all.end.max(one.end))
            .unwrap_or(0..0);
        let map = KeyMap::open(plan, range).map_err(|source| SetupError::State {
            path: plan.map.clone(),
            source,
        })?;
        Ok(Some(KeyBlocks {
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

    /// Skips a read of blocks whose contents are all unknown. `None` if the operation must be
    /// issued; otherwise whether another one may be tried immediately.
    pub(super) fn skip_if_unknown(&mut self, io: &mut IoLoop, number: usize, operation: &Operation) -> Option<bool> {
        let keys = self.map.keys_of(operation.offset, operation.length)?;
        if !self.plan.known_only || self.map.knows_any(keys) {
            return None;
        }
        io.streams[number].idle_pass = false;
        io.spend(operation.length);
        self.skipped += 1;
        Some(!self.skipped.is_multiple_of(MAX_SKIPPED_IN_A_ROW))
    }

    /// The read to issue before a write.
    pub(super) fn read_before(&self, operation: &Operation) -> Option<Operation> {
        let keys = self.map.keys_of(operation.offset, operation.length)?;
        let is_due = self.plan.read_before_write && operation.direction == Direction::Write && self.map.knows_any(keys);
        is_due.then_some(Operation {
            direction: Direction::Read,
            ..*operation
        })
    }

    /// Records that the operation in a slot is a read before this write.
    pub(super) fn set_read_before(&mut self, slot: Slot, write: Operation) {
        self.tags[slot.0 as usize] = Tag::ReadBefore(write);
    }

    /// Marks the blocks of an operation before it is queued, and fills its buffer.
    pub(super) fn prepare(&mut self, io: &mut IoLoop, slot: Slot, operation: &Operation) {
        let Some(keys) = self.map.keys_of(operation.offset, operation.length) else {
            return self.fail(io, operation.offset, "an operation does not cover whole key blocks");
        };
        self.tags[slot.0 as usize] = match operation.direction {
            Direction::Read => Tag::Read,
            Direction::Trim => Tag::Nothing,
            Direction::Write => {
                if let Err(error) = self.map.begin_write(keys.clone()) {
                    return self.fail_with_map(io, &error);
                }
                let buffer = &mut io.engine.buffer(slot)[..operation.length as usize];
                for (index, piece) in keys.zip(buffer.chunks_mut(self.plan.length as usize)) {
                    let mut block = self.map.block(index, self.map.key(index).generation());
                    self.checker.fill(piece, &mut block, 0, &self.filler);
                }
                io.stamp_filled();
                Tag::Write
            }
        };
    }

    /// The next operation that follows another one.
    pub(super) fn take_follow_up(&mut self) -> Option<FollowUp> {
        self.follow_ups.pop_front()
    }

    pub(in crate::worker) fn has_follow_ups(&self) -> bool {
        !self.follow_ups.is_empty()
    }

    /// Called before operations are submitted, because the marks of their blocks must be saved
    /// first.
    pub(super) fn before_turn(&mut self) {
        if let Err(error) = self.map.flush() {
            self.flush_error = Some(error);
        }
    }

    pub(super) fn after_turn(&mut self, io: &mut IoLoop) {
        if let Some(error) = self.flush_error.take() {
            self.fail_with_map(io, &error);
        }
    }

    /// Called when an operation has completed, with its buffer unchanged.
    pub(super) fn on_completed(&mut self, io: &mut IoLoop, ended: &EndedOperation) {
        let tag = std::mem::replace(&mut self.tags[ended.slot.0 as usize], Tag::Nothing);
        let (offset, length) = (ended.record.offset, ended.record.length);
        let Some(keys) = self.map.keys_of(offset, length).filter(|_| ended.is_complete()) else {
            return;
        };
        let follow_up = match tag {
            Tag::Nothing => None,
            Tag::Read => {
                self.check(io, ended, keys);
                None
            }
            // Leave a mismatching block unchanged.
            Tag::ReadBefore(write) => self.check(io, ended, keys).then_some(write),
            Tag::Write => {
                if let Err(error) = self.map.end_write(keys) {
                    return self.fail_with_map(io, &error);
                }
                self.plan.read_after_write.then_some(Operation {
                    direction: Direction::Read,
                    offset,
                    length,
                })
            }
        };
        self.follow_ups.extend(follow_up.map(|operation| FollowUp {
            stream: ended.record.stream as usize,
            file: ended.record.file,
            operation,
        }));
    }

    /// Compares the data of a read. True if nothing is wrong.
    fn check(&mut self, io: &mut IoLoop, ended: &EndedOperation, keys: Range<usize>) -> bool {
        let buffer = &mut io.engine.buffer(ended.slot)[..ended.record.length as usize];
        let mut faults = Vec::new();
        for (index, piece) in keys.zip(buffer.chunks_mut(self.plan.length as usize)) {
            let Finding { key, compared, fault } = check_key(&self.map, index, &self.checker, &self.filler, piece);
            self.compared += u64::from(compared);
            faults.extend(fault);
            if let Err(error) = self.map.set(index, key) {
                self.fail_with_map(io, &error);
                return false;
            }
        }
        if faults.is_empty() {
            return true;
        }
        let record = &ended.record;
        let path = io.errors.path(record.file).to_owned();
        let wrong = faults.len() as u64;
        self.mismatch_count += wrong;
        let before = self.errors_of_step.fetch_add(wrong, Ordering::Relaxed);
        let room = MAX_MISMATCHES.saturating_sub(self.mismatches.len());
        self.mismatches
            .extend(faults.into_iter().take(room).map(|fault| Mismatch {
                block_offset: Bytes(record.offset),
                block_length: record.length,
                ..mismatch(record.stream, &path, &self.map.block(0, 0), fault)
            }));
        // The worker with the last permitted error ends all.
        if before < self.plan.max_mismatches && before + wrong >= self.plan.max_mismatches {
            let what = format!("{} errors; key blocks do not contain their last writes", before + wrong);
            self.fail(io, record.offset, &what);
        }
        false
    }

    #[cold]
    fn fail(&self, io: &mut IoLoop, offset: u64, what: &str) {
        io.fail(Failure {
            what: what.to_owned(),
            at: format!("offset {offset}"),
            errno: None,
            operation: None,
            help: Some("the data on the device is wrong, or another program has written there".into()),
        });
    }

    #[cold]
    fn fail_with_map(&self, io: &mut IoLoop, error: &io::Error) {
        io.fail(Failure {
            what: format!("cannot write the map of key blocks: {error}"),
            at: self.plan.map.clone(),
            errno: error.raw_os_error(),
            operation: None,
            help: None,
        });
    }

    pub(super) fn at_end(&mut self, results: &mut FeatureResults) {
        if let Err(error) = self.map.save() {
            let what = format!("cannot save the map of key blocks in {}: {error}", self.plan.map);
            results.not_kept.push(what);
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

    /// Queues an operation that follows another one. False if there is none.
    pub(super) fn issue_follow_up(&mut self, io: &mut IoLoop, pool: usize, slot: Slot) -> bool {
        let Some(keys) = &mut self.key_blocks else { return false };
        let Some(FollowUp {
            stream,
            file,
            operation,
        }) = keys.take_follow_up()
        else {
            return false;
        };
        keys.prepare(io, slot, &operation);
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
