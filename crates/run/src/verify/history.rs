//! The writes of a stream that are not verified yet. Blocks are verified in the order of their
//! writes. If blocks may be rewritten, a later write replaces all blocks that it overlaps, and
//! blocks are verified by position, as in fio. Blocks may be discarded before verification, and
//! unflushed blocks may be excluded.

use std::collections::{BTreeMap, VecDeque};

use super::Block;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WrittenBlock {
    /// The file, counted within the stream.
    pub(crate) file: u32,
    pub(crate) block: Block,
}

/// The written blocks to verify.
#[derive(Debug)]
pub(crate) struct History {
    entries: Entries,
    /// The number of submitted writes.
    issued: u64,
    /// The number of completed writes and trims.
    completed: u64,
    /// The number of flushed writes, in order of completion. Absent if unflushed writes are
    /// verified too.
    flushed: Option<u64>,
    /// Blocks to discard, the oldest first.
    to_trim: VecDeque<WriteId>,
}

#[derive(Debug)]
enum Entries {
    /// In the order of submission, because no block is rewritten.
    InOrder(Queue),
    /// By file and offset.
    ByPosition(BTreeMap<(u32, u64), Entry>),
}

/// Writes in the order of submission.
#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// The number of the first entry.
    first: u64,
    /// The number of entries in the state `Removed`.
    removed: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    written: WrittenBlock,
    id: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its write or trim is in flight.
    InFlight,
    /// It has completed, after this many other operations.
    Done(u64),
    /// It failed, or no longer needs verification.
    Removed,
}

/// Identifies a write in the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WriteId {
    file: u32,
    offset: u64,
    id: u64,
}

/// The writes that had completed when a flush was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushMark(u64);

impl History {
    /// Creates an empty history. `rewrites`: blocks may be rewritten. `flushed_only`: only flushed
    /// blocks are verified.
    pub(crate) fn new(rewrites: bool, flushed_only: bool) -> History {
        let entries = match rewrites {
            false => Entries::InOrder(Queue::default()),
            true => Entries::ByPosition(BTreeMap::new()),
        };
        History {
            entries,
            issued: 0,
            completed: 0,
            flushed: flushed_only.then_some(0),
            to_trim: VecDeque::new(),
        }
    }

    /// Returns the number of blocks to verify.
    pub(crate) fn len(&self) -> usize {
        match &self.entries {
            Entries::InOrder(queue) => queue.entries.len() - queue.removed,
            Entries::ByPosition(entries) => entries.len(),
        }
    }

    /// True if blocks may be rewritten.
    pub(crate) fn has_rewrites(&self) -> bool {
        matches!(self.entries, Entries::ByPosition(_))
    }

    /// Records a submitted write. `trim`: its block will be discarded before verification.
    pub(crate) fn record_issued(&mut self, written: WrittenBlock, trim: bool) -> WriteId {
        let id = self.issued;
        self.issued += 1;
        let entry = Entry {
            written,
            id,
            state: State::InFlight,
        };
        let (file, offset) = (written.file, written.block.offset);
        match &mut self.entries {
            Entries::InOrder(queue) => queue.entries.push_back(entry),
            Entries::ByPosition(entries) => {
                remove_overlapping(entries, &written);
                entries.insert((file, offset), entry);
            }
        }
        let note = WriteId { file, offset, id };
        if trim {
            self.to_trim.push_back(note);
        }
        note
    }

    /// Records a completed write. A failed write needs no verification.
    pub(crate) fn record_completed(&mut self, note: WriteId, success: bool) {
        let state = if success {
            State::Done(self.completed)
        } else {
            State::Removed
        };
        self.completed += 1;
        self.entries.change(note, |entry| entry.state = state);
    }

    /// Returns a mark for a flush that is submitted now.
    pub(crate) fn flush_mark(&self) -> FlushMark {
        FlushMark(self.completed)
    }

    /// Records the completion of a flush.
    pub(crate) fn record_flush(&mut self, mark: FlushMark) {
        if let Some(flushed) = &mut self.flushed {
            *flushed = mark.0.max(*flushed);
        }
    }

    /// Drops unflushed writes when no more flushes follow.
    pub(crate) fn drop_unflushed(&mut self) {
        let Some(flushed) = self.flushed else { return };
        let is_kept = |entry: &Entry| matches!(entry.state, State::Done(order) if order < flushed);
        match &mut self.entries {
            Entries::InOrder(queue) => {
                for entry in queue.entries.iter_mut().filter(|entry| !is_kept(entry)) {
                    queue.removed += usize::from(entry.state != State::Removed);
                    entry.state = State::Removed;
                }
            }
            Entries::ByPosition(entries) => entries.retain(|_, entry| is_kept(entry)),
        }
    }

    /// Returns the file of the oldest block to discard, if its write has completed.
    pub(crate) fn next_file_to_trim(&mut self) -> Option<u32> {
        while let Some(note) = self.to_trim.front().copied() {
            match self.entries.find(note).map(|entry| entry.state) {
                Some(State::Done(_)) => return Some(note.file),
                Some(State::InFlight) => return None,
                // It was rewritten or verified in the meantime, or its write failed.
                Some(State::Removed) | None => drop(self.to_trim.pop_front()),
            }
        }
        None
    }

    /// True if blocks must be discarded, now or later.
    pub(crate) fn has_to_trim(&self) -> bool {
        !self.to_trim.is_empty()
    }

    /// Takes the block of [`History::next_file_to_trim`] for its trim.
    pub(crate) fn take_to_trim(&mut self) -> Option<(WriteId, Block)> {
        let note = self.to_trim.pop_front()?;
        let entry = self.entries.find(note)?;
        let block = entry.written.block;
        self.entries.change(note, |entry| entry.state = State::InFlight);
        Some((note, block))
    }

    /// Records a completed trim. A discarded block is verified only if it must read as zeros.
    pub(crate) fn record_trim(&mut self, note: WriteId, reads_as_zeros: bool) {
        let order = self.completed;
        self.completed += 1;
        self.entries.change(note, |entry| {
            entry.written.block.zeros = true;
            entry.state = match reads_as_zeros {
                true => State::Done(order),
                false => State::Removed,
            };
        });
    }

    /// Returns the file of the next block to verify, if its write has completed.
    pub(crate) fn next_file(&mut self) -> Option<u32> {
        let flushed = self.flushed.unwrap_or(u64::MAX);
        match &mut self.entries {
            Entries::InOrder(queue) => {
                queue.drop_removed();
                let entry = queue.entries.front().filter(|entry| entry.is_ready(flushed))?;
                Some(entry.written.file)
            }
            Entries::ByPosition(entries) => {
                let done = entries.iter().find(|(_, entry)| entry.is_ready(flushed));
                done.map(|(key, _)| key.0)
            }
        }
    }

    /// Takes the next block to verify, see [`History::next_file`].
    pub(crate) fn take_next(&mut self) -> Option<WrittenBlock> {
        let flushed = self.flushed.unwrap_or(u64::MAX);
        match &mut self.entries {
            Entries::InOrder(queue) => {
                let entry = queue.entries.pop_front_if(|entry| entry.is_ready(flushed))?;
                queue.first += 1;
                Some(entry.written)
            }
            Entries::ByPosition(entries) => {
                let (key, _) = entries.iter().find(|(_, entry)| entry.is_ready(flushed))?;
                let key = *key;
                entries.remove(&key).map(|entry| entry.written)
            }
        }
    }
}

impl Entry {
    /// True if the block can be verified after the first `flushed` completions were flushed.
    fn is_ready(&self, flushed: u64) -> bool {
        matches!(self.state, State::Done(order) if order < flushed)
    }
}

impl Queue {
    fn drop_removed(&mut self) {
        while self
            .entries
            .pop_front_if(|entry| entry.state == State::Removed)
            .is_some()
        {
            self.first += 1;
            self.removed -= 1;
        }
    }

    /// Returns the index of a write. Its entry may no longer exist.
    fn entry_index(&self, note: WriteId) -> Option<usize> {
        note.id.checked_sub(self.first).map(|index| index as usize)
    }
}

impl Entries {
    /// Returns a write unless it was taken, dropped or replaced.
    fn find(&self, note: WriteId) -> Option<&Entry> {
        match self {
            Entries::InOrder(queue) => queue.entries.get(queue.entry_index(note)?),
            Entries::ByPosition(entries) => entries
                .get(&(note.file, note.offset))
                .filter(|entry| entry.id == note.id),
        }
    }

    /// Changes a write unless it was taken, dropped or replaced. Drops it if it is now `Removed`.
    fn change(&mut self, note: WriteId, change: impl FnOnce(&mut Entry)) {
        match self {
            Entries::InOrder(queue) => {
                let Some(index) = queue.entry_index(note) else { return };
                let Some(entry) = queue.entries.get_mut(index) else {
                    return;
                };
                let was_removed = entry.state == State::Removed;
                change(entry);
                queue.removed += usize::from(entry.state == State::Removed && !was_removed);
            }
            Entries::ByPosition(entries) => {
                let key = (note.file, note.offset);
                let Some(entry) = entries.get_mut(&key).filter(|entry| entry.id == note.id) else {
                    return;
                };
                change(entry);
                if entry.state == State::Removed {
                    entries.remove(&key);
                }
            }
        }
    }
}

/// Removes blocks that a write overlaps, even partly, as in fio.
fn remove_overlapping(entries: &mut BTreeMap<(u32, u64), Entry>, written: &WrittenBlock) {
    let Block { offset, length, .. } = written.block;
    let end = (written.file, offset + u64::from(length));
    while let Some((key, entry)) = entries.range(..end).next_back() {
        let block = entry.written.block;
        if key.0 != written.file || block.offset + u64::from(block.length) <= offset {
            return;
        }
        let key = *key;
        entries.remove(&key);
    }
}
