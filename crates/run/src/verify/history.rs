//! The writes of a stream that are not verified yet. Blocks are verified in the order of their
//! writes. If blocks may be rewritten, a later write replaces all blocks that it overlaps, and
//! blocks are verified by position, as in fio. Some blocks may be discarded before verification,
//! and unflushed ones excluded.

use std::collections::{BTreeMap, VecDeque};

use super::Block;

/// A written block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The file, counted within the stream.
    pub(crate) file: u32,
    pub(crate) block: Block,
}

/// The written blocks to verify.
#[derive(Debug)]
pub(crate) struct History {
    entries: Entries,
    /// The number of writes so far.
    noted: u64,
    /// How many of them have completed.
    ended: u64,
    /// Number of the first completed writes that were flushed; absent if irrelevant.
    flushed: Option<u64>,
    /// Blocks to discard, the oldest first.
    to_trim: VecDeque<Note>,
}

#[derive(Debug)]
enum Entries {
    /// No block is rewritten: ordered by age.
    InOrder(Queue),
    ByPosition(BTreeMap<(u32, u64), Entry>),
}

/// Writes in the order of submission.
#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// The number of the first one.
    first: u64,
    /// How many of them are removed.
    gone: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    written: Written,
    id: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its write or trim is in flight.
    InFlight,
    /// Completed, after this many other writes.
    Done(u64),
    /// It failed, or needs no verification any more.
    Gone,
}

/// Identifies a write until it has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    file: u32,
    offset: u64,
    id: u64,
}

/// The writes that had completed when a flush was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushMark(u64);

impl History {
    /// An empty history. `repeats`: blocks may be rewritten; `flushed_only`: only flushed blocks
    /// are verified.
    pub(crate) fn new(repeats: bool, flushed_only: bool) -> History {
        let entries = match repeats {
            false => Entries::InOrder(Queue::default()),
            true => Entries::ByPosition(BTreeMap::new()),
        };
        History {
            entries,
            noted: 0,
            ended: 0,
            flushed: flushed_only.then_some(0),
            to_trim: VecDeque::new(),
        }
    }

    /// The number of blocks to verify.
    pub(crate) fn len(&self) -> usize {
        match &self.entries {
            Entries::InOrder(queue) => queue.entries.len() - queue.gone,
            Entries::ByPosition(entries) => entries.len(),
        }
    }

    /// True if blocks may be rewritten.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self.entries, Entries::ByPosition(_))
    }

    /// Records a submitted write. `trim`: its block will be discarded later.
    pub(crate) fn record_issued(&mut self, written: Written, trim: bool) -> Note {
        let id = self.noted;
        self.noted += 1;
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
        let note = Note { file, offset, id };
        if trim {
            self.to_trim.push_back(note);
        }
        note
    }

    /// Records a completed write; a failed one needs no verification.
    pub(crate) fn record_completed(&mut self, note: Note, success: bool) {
        let state = if success { State::Done(self.ended) } else { State::Gone };
        self.ended += 1;
        self.entries.change(note, |entry| entry.state = state);
    }

    /// The writes that a flush submitted now will cover.
    pub(crate) fn flush_mark(&self) -> FlushMark {
        FlushMark(self.ended)
    }

    /// Records the completion of such a flush.
    pub(crate) fn record_flush(&mut self, mark: FlushMark) {
        if let Some(flushed) = &mut self.flushed {
            *flushed = mark.0.max(*flushed);
        }
    }

    /// Drops unflushed writes, since no more flush will follow.
    pub(crate) fn drop_unflushed(&mut self) {
        let Some(flushed) = self.flushed else { return };
        let is_kept = |entry: &Entry| matches!(entry.state, State::Done(order) if order < flushed);
        match &mut self.entries {
            Entries::InOrder(queue) => {
                for entry in queue.entries.iter_mut().filter(|entry| !is_kept(entry)) {
                    queue.gone += usize::from(entry.state != State::Gone);
                    entry.state = State::Gone;
                }
            }
            Entries::ByPosition(entries) => entries.retain(|_, entry| is_kept(entry)),
        }
    }

    /// The file of the oldest block to discard, if its write has completed.
    pub(crate) fn next_file_to_trim(&mut self) -> Option<u32> {
        while let Some(note) = self.to_trim.front().copied() {
            match self.entries.find(note).map(|entry| entry.state) {
                Some(State::Done(_)) => return Some(note.file),
                Some(State::InFlight) => return None,
                // It was rewritten or verified in the meantime, or its write failed.
                Some(State::Gone) | None => drop(self.to_trim.pop_front()),
            }
        }
        None
    }

    /// True if blocks must be discarded, now or later.
    pub(crate) fn has_to_trim(&self) -> bool {
        !self.to_trim.is_empty()
    }

    /// Takes the block of [`History::next_file_to_trim`] for its trim.
    pub(crate) fn take_to_trim(&mut self) -> Option<(Note, Block)> {
        let note = self.to_trim.pop_front()?;
        let entry = self.entries.find(note)?;
        let block = entry.written.block;
        self.entries.change(note, |entry| entry.state = State::InFlight);
        Some((note, block))
    }

    /// Records a completed trim. A discarded block is verified only if it must read as zeros.
    pub(crate) fn record_trim(&mut self, note: Note, reads_as_zeros: bool) {
        let order = self.ended;
        self.ended += 1;
        self.entries.change(note, |entry| {
            entry.written.block.zeros = true;
            entry.state = match reads_as_zeros {
                true => State::Done(order),
                false => State::Gone,
            };
        });
    }

    /// The file of the next block to verify, if its write has completed.
    pub(crate) fn next_file(&mut self) -> Option<u32> {
        let flushed = self.flushed.unwrap_or(u64::MAX);
        match &mut self.entries {
            Entries::InOrder(queue) => {
                queue.drop_gone();
                let entry = queue.entries.front().filter(|entry| entry.is_ready(flushed))?;
                Some(entry.written.file)
            }
            Entries::ByPosition(entries) => {
                let done = entries.iter().find(|(_, entry)| entry.is_ready(flushed));
                done.map(|(key, _)| key.0)
            }
        }
    }

    /// Takes the block of [`History::next_file`].
    pub(crate) fn take_next(&mut self) -> Option<Written> {
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
    /// True if it can be verified, if this many of the first completed writes were flushed.
    fn is_ready(&self, flushed: u64) -> bool {
        matches!(self.state, State::Done(order) if order < flushed)
    }
}

impl Queue {
    fn drop_gone(&mut self) {
        while self.entries.pop_front_if(|entry| entry.state == State::Gone).is_some() {
            self.first += 1;
            self.gone -= 1;
        }
    }

    /// The index of a write, if it is still there.
    fn index_of(&self, note: Note) -> Option<usize> {
        note.id.checked_sub(self.first).map(|index| index as usize)
    }
}

impl Entries {
    /// A write that was not taken, dropped or replaced.
    fn find(&self, note: Note) -> Option<&Entry> {
        match self {
            Entries::InOrder(queue) => queue.entries.get(queue.index_of(note)?),
            Entries::ByPosition(entries) => entries
                .get(&(note.file, note.offset))
                .filter(|entry| entry.id == note.id),
        }
    }

    /// Changes such a write, and removes it if it is gone.
    fn change(&mut self, note: Note, change: impl FnOnce(&mut Entry)) {
        match self {
            Entries::InOrder(queue) => {
                let Some(index) = queue.index_of(note) else { return };
                let Some(entry) = queue.entries.get_mut(index) else {
                    return;
                };
                let was_gone = entry.state == State::Gone;
                change(entry);
                queue.gone += usize::from(entry.state == State::Gone && !was_gone);
            }
            Entries::ByPosition(entries) => {
                let key = (note.file, note.offset);
                let Some(entry) = entries.get_mut(&key).filter(|entry| entry.id == note.id) else {
                    return;
                };
                change(entry);
                if entry.state == State::Gone {
                    entries.remove(&key);
                }
            }
        }
    }
}

/// Removes blocks that a write overlaps, even partly, as in fio.
fn remove_overlapping(entries: &mut BTreeMap<(u32, u64), Entry>, written: &Written) {
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
