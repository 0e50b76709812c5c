//! What a stream has written and not yet read back.
//!
//! Blocks are read back in the order in which they were written. Where a block can be written
//! again, a later write replaces all that it touches, and blocks are read back by position, as fio
//! does it. Some of the blocks may be discarded before that; what was not flushed may not count.

use std::collections::{BTreeMap, VecDeque};

use super::Block;

/// A block that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// The file, counted within the stream.
    pub(crate) file: u32,
    pub(crate) block: Block,
}

/// What was written and is to be read back.
#[derive(Debug)]
pub(crate) struct History {
    kept: Kept,
    /// How many writes were noted so far.
    noted: u64,
    /// How many of them have ended.
    ended: u64,
    /// This many of those that ended first were flushed; absent if it does not matter.
    flushed: Option<u64>,
    /// Blocks that are to be discarded, the oldest first.
    to_trim: VecDeque<Note>,
}

#[derive(Debug)]
enum Kept {
    /// Nothing is written twice: the oldest comes first.
    InOrder(Queue),
    ByPlace(BTreeMap<(u32, u64), Entry>),
}

/// Writes in the order in which they went out.
#[derive(Debug, Default)]
struct Queue {
    entries: VecDeque<Entry>,
    /// The number of the first one.
    first: u64,
    /// How many of them are gone.
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
    /// Its write or its trim is on its way.
    InFlight,
    /// This many writes had ended before it did.
    Done(u64),
    /// It failed, or it need not be read back any more.
    Gone,
}

/// Names a write until it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    file: u32,
    offset: u64,
    id: u64,
}

/// Those writes that had ended when a flush went out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushMark(u64);

impl History {
    /// An empty history. `repeats` says that blocks may be written more than once, `flushed_only`
    /// that only what was flushed is read back.
    pub(crate) fn new(repeats: bool, flushed_only: bool) -> History {
        let kept = match repeats {
            false => Kept::InOrder(Queue::default()),
            true => Kept::ByPlace(BTreeMap::new()),
        };
        History {
            kept,
            noted: 0,
            ended: 0,
            flushed: flushed_only.then_some(0),
            to_trim: VecDeque::new(),
        }
    }

    /// How many blocks there are to read back.
    pub(crate) fn len(&self) -> usize {
        match &self.kept {
            Kept::InOrder(queue) => queue.entries.len() - queue.gone,
            Kept::ByPlace(entries) => entries.len(),
        }
    }

    /// Blocks may be written more than once.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self.kept, Kept::ByPlace(_))
    }

    /// A write goes out. `trim` says that its block is to be discarded later.
    pub(crate) fn issued(&mut self, written: Written, trim: bool) -> Note {
        let id = self.noted;
        self.noted += 1;
        let entry = Entry {
            written,
            id,
            state: State::InFlight,
        };
        let (file, offset) = (written.file, written.block.offset);
        match &mut self.kept {
            Kept::InOrder(queue) => queue.entries.push_back(entry),
            Kept::ByPlace(entries) => {
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

    /// A write has ended; one that failed need not be read back.
    pub(crate) fn ended(&mut self, note: Note, well: bool) {
        let state = if well { State::Done(self.ended) } else { State::Gone };
        self.ended += 1;
        self.kept.change(note, |entry| entry.state = state);
    }

    /// The flush that is about to go out will flush these.
    pub(crate) fn flush_mark(&self) -> FlushMark {
        FlushMark(self.ended)
    }

    /// Such a flush has ended.
    pub(crate) fn flushed(&mut self, mark: FlushMark) {
        if let Some(flushed) = &mut self.flushed {
            *flushed = mark.0.max(*flushed);
        }
    }

    /// Nothing will be flushed any more: what was not need not be read back.
    pub(crate) fn forget_unflushed(&mut self) {
        let Some(flushed) = self.flushed else { return };
        let is_kept = |entry: &Entry| matches!(entry.state, State::Done(order) if order < flushed);
        match &mut self.kept {
            Kept::InOrder(queue) => {
                for entry in queue.entries.iter_mut().filter(|entry| !is_kept(entry)) {
                    queue.gone += usize::from(entry.state != State::Gone);
                    entry.state = State::Gone;
                }
            }
            Kept::ByPlace(entries) => entries.retain(|_, entry| is_kept(entry)),
        }
    }

    /// The file of the oldest block that is to be discarded, if its write has ended.
    pub(crate) fn next_file_to_trim(&mut self) -> Option<u32> {
        while let Some(note) = self.to_trim.front().copied() {
            match self.kept.find(note).map(|entry| entry.state) {
                Some(State::Done(_)) => return Some(note.file),
                Some(State::InFlight) => return None,
                // It was written again or read back meanwhile, or it failed.
                Some(State::Gone) | None => drop(self.to_trim.pop_front()),
            }
        }
        None
    }

    /// Something is to be discarded, now or later.
    pub(crate) fn has_to_trim(&self) -> bool {
        !self.to_trim.is_empty()
    }

    /// Takes the block whose file [`History::next_file_to_trim`] has named. Its trim goes out.
    pub(crate) fn take_to_trim(&mut self) -> Option<(Note, Block)> {
        let note = self.to_trim.pop_front()?;
        let entry = self.kept.find(note)?;
        let block = entry.written.block;
        self.kept.change(note, |entry| entry.state = State::InFlight);
        Some((note, block))
    }

    /// A trim has ended. The block is read back only if it was discarded and then has to read as
    /// zeros.
    pub(crate) fn trimmed(&mut self, note: Note, reads_as_zeros: bool) {
        let order = self.ended;
        self.ended += 1;
        self.kept.change(note, |entry| {
            entry.written.block.zeros = true;
            entry.state = match reads_as_zeros {
                true => State::Done(order),
                false => State::Gone,
            };
        });
    }

    /// The file of the next block to read back, if its write has ended.
    pub(crate) fn next_file(&mut self) -> Option<u32> {
        let flushed = self.flushed.unwrap_or(u64::MAX);
        match &mut self.kept {
            Kept::InOrder(queue) => {
                queue.drop_gone();
                let entry = queue.entries.front().filter(|entry| entry.is_ready(flushed))?;
                Some(entry.written.file)
            }
            Kept::ByPlace(entries) => {
                let done = entries.iter().find(|(_, entry)| entry.is_ready(flushed));
                done.map(|(key, _)| key.0)
            }
        }
    }

    /// Takes the block whose file [`History::next_file`] has named.
    pub(crate) fn take(&mut self) -> Option<Written> {
        let flushed = self.flushed.unwrap_or(u64::MAX);
        match &mut self.kept {
            Kept::InOrder(queue) => {
                let entry = queue.entries.pop_front_if(|entry| entry.is_ready(flushed))?;
                queue.first += 1;
                Some(entry.written)
            }
            Kept::ByPlace(entries) => {
                let (key, _) = entries.iter().find(|(_, entry)| entry.is_ready(flushed))?;
                let key = *key;
                entries.remove(&key).map(|entry| entry.written)
            }
        }
    }
}

impl Entry {
    /// It can be read back, where that many of the writes that ended first were flushed.
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

    /// The place of a write, if it was not taken yet.
    fn index_of(&self, note: Note) -> Option<usize> {
        note.id.checked_sub(self.first).map(|index| index as usize)
    }
}

impl Kept {
    /// A write that was not taken, forgotten or replaced.
    fn find(&self, note: Note) -> Option<&Entry> {
        match self {
            Kept::InOrder(queue) => queue.entries.get(queue.index_of(note)?),
            Kept::ByPlace(entries) => entries
                .get(&(note.file, note.offset))
                .filter(|entry| entry.id == note.id),
        }
    }

    /// Changes such a write, which is dropped if it is gone then.
    fn change(&mut self, note: Note, change: impl FnOnce(&mut Entry)) {
        match self {
            Kept::InOrder(queue) => {
                let Some(index) = queue.index_of(note) else { return };
                let Some(entry) = queue.entries.get_mut(index) else {
                    return;
                };
                let was_gone = entry.state == State::Gone;
                change(entry);
                queue.gone += usize::from(entry.state == State::Gone && !was_gone);
            }
            Kept::ByPlace(entries) => {
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

/// What a write touches is not what it was: it is forgotten, as in fio, even where only a part of
/// it was touched.
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
