//! What a stream has written and not yet read back.
//!
//! Blocks are read back in the order in which they were written. Where a block can be written again, a later write
//! replaces all that it touches, and blocks are read back by position, as fio does it.

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
}

#[derive(Debug)]
enum Kept {
    /// Nothing is written twice: the oldest comes first, and the number of the first one.
    InOrder(VecDeque<Entry>, u64),
    ByPlace(BTreeMap<(u32, u64), Entry>),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    written: Written,
    id: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Done,
    /// It failed.
    Gone,
}

/// Names a write until it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    file: u32,
    offset: u64,
    id: u64,
}

impl History {
    /// An empty history. `repeats` says that blocks may be written more than once.
    pub(crate) fn new(repeats: bool) -> History {
        let kept = match repeats {
            false => Kept::InOrder(VecDeque::new(), 0),
            true => Kept::ByPlace(BTreeMap::new()),
        };
        History { kept, noted: 0 }
    }

    /// How many blocks there are to read back.
    pub(crate) fn len(&self) -> usize {
        match &self.kept {
            Kept::InOrder(entries, _) => entries.len(),
            Kept::ByPlace(entries) => entries.len(),
        }
    }

    /// A write goes out.
    pub(crate) fn issued(&mut self, written: Written) -> Note {
        let id = self.noted;
        self.noted += 1;
        let entry = Entry {
            written,
            id,
            state: State::InFlight,
        };
        let (file, offset) = (written.file, written.block.offset);
        match &mut self.kept {
            Kept::InOrder(entries, _) => entries.push_back(entry),
            Kept::ByPlace(entries) => {
                remove_overlapping(entries, &written);
                entries.insert((file, offset), entry);
            }
        }
        Note { file, offset, id }
    }

    /// A write has ended; one that failed need not be read back.
    pub(crate) fn ended(&mut self, note: Note, well: bool) {
        let state = if well { State::Done } else { State::Gone };
        match &mut self.kept {
            Kept::InOrder(entries, first) => {
                if let Some(entry) = entries.get_mut((note.id - *first) as usize) {
                    entry.state = state;
                }
            }
            Kept::ByPlace(entries) => {
                let key = (note.file, note.offset);
                match entries.get_mut(&key).filter(|entry| entry.id == note.id) {
                    Some(entry) if well => entry.state = state,
                    Some(_) => drop(entries.remove(&key)),
                    None => {}
                }
            }
        }
    }

    /// The file of the next block to read back, if its write has ended.
    pub(crate) fn next_file(&mut self) -> Option<u32> {
        match &mut self.kept {
            Kept::InOrder(entries, first) => {
                while entries.pop_front_if(|entry| entry.state == State::Gone).is_some() {
                    *first += 1;
                }
                let entry = entries.front().filter(|entry| entry.state == State::Done)?;
                Some(entry.written.file)
            }
            Kept::ByPlace(entries) => {
                let done = entries.iter().find(|(_, entry)| entry.state == State::Done);
                done.map(|(key, _)| key.0)
            }
        }
    }

    /// Takes the block whose file [`History::next_file`] has named.
    pub(crate) fn take(&mut self) -> Option<Written> {
        match &mut self.kept {
            Kept::InOrder(entries, first) => {
                let entry = entries.pop_front_if(|entry| entry.state == State::Done)?;
                *first += 1;
                Some(entry.written)
            }
            Kept::ByPlace(entries) => {
                let (key, _) = entries.iter().find(|(_, entry)| entry.state == State::Done)?;
                let key = *key;
                entries.remove(&key).map(|entry| entry.written)
            }
        }
    }
}

/// What a write touches is not what it was: it is forgotten, as in fio, even where only a part of it was touched.
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
