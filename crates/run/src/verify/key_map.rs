//! Maps of key blocks: how often each block was written, so that a read knows what to expect.
//!
//! A map is a file. A worker loads its part at the beginning; at the end, or around each write, it
//! writes what has changed, so the next run and the run after a kill know it as well.
//!
//! | bytes | what |
//! | --- | --- |
//! | 0 | `fathom key map 1` |
//! | 16, 24 | length of a key block; number of the map, which goes into all contents |
//! | 32 | 1 if the run that wrote it has ended |
//! | 4096 … | four bytes for each key block: its generation above two bits of state |
//!
//! All numbers are little-endian. In the file four bytes change at once, so a kill leaves the old
//! or the new ones.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use engine::sys::file::open_without_waiting;
use model::plan::{KeyBlocks, KeyJournal};

use super::Block;

const MAGIC: &[u8; 16] = b"fathom key map 1";
const FIXED: usize = 40;
const HEADER: u64 = 4096;
/// Keys that are read or written at once.
const CHUNK: usize = 16 * 1024;

/// What is known of the contents of a key block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyState {
    Unknown,
    /// The write of its generation has completed.
    Written,
    /// The write of its generation is on its way, over that of the generation before.
    Overwriting,
    /// The write of its generation is on its way, over unknown contents.
    Writing,
}

/// The last write of a key block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key(u32);

impl Key {
    pub(crate) fn new(generation: u32, state: KeyState) -> Key {
        Key(generation << 2 | state as u32)
    }

    pub(crate) fn generation(self) -> u32 {
        self.0 >> 2
    }

    pub(crate) fn state(self) -> KeyState {
        match self.0 & 3 {
            0 => KeyState::Unknown,
            1 => KeyState::Written,
            2 => KeyState::Overwriting,
            _ => KeyState::Writing,
        }
    }

    /// Something of its contents can be checked.
    pub(crate) fn is_known(self) -> bool {
        matches!(self.state(), KeyState::Written | KeyState::Overwriting)
    }

    /// The generation before. They are compared for equality only, so they may start again.
    pub(crate) fn previous_generation(self) -> u32 {
        self.generation().wrapping_sub(1) & (u32::MAX >> 2)
    }

    fn overwritten(self) -> Key {
        let state = match self.state() {
            KeyState::Written => KeyState::Overwriting,
            KeyState::Unknown | KeyState::Overwriting | KeyState::Writing => KeyState::Writing,
        };
        Key::new(self.generation().wrapping_add(1), state)
    }

    fn with(self, state: KeyState) -> Key {
        Key::new(self.generation(), state)
    }
}

/// The part of a map that a worker works on.
#[derive(Debug)]
pub(crate) struct KeyMap {
    file: File,
    /// Bytes of a key block.
    length: u64,
    /// Number of the first key block of the part.
    first: u64,
    keys: Vec<Key>,
    number: u64,
    journal: KeyJournal,
    /// Something was written to the file that is not flushed.
    unflushed: bool,
}

/// Allocates a map's room before the first write, so that a full disk ends a run before it begins.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    if file.metadata()?.len() >= length {
        return Ok(());
    }
    match engine::sys::file::allocate(file, length) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        outcome => outcome,
    }
}

impl KeyMap {
    /// Loads the keys of a range of bytes.
    ///
    /// # Errors
    /// The file cannot be read, or is a map of other key blocks.
    pub(crate) fn open(plan: &KeyBlocks, range: Range<u64>) -> io::Result<KeyMap> {
        let path = Path::new(&plan.map);
        let length = u64::from(plan.length.max(1));
        let found = KeyMapFile::read_header(&mut open_without_waiting(path)?)?;
        if found.length != length {
            let what = format!("its key blocks have {} bytes instead of {length}", found.length);
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let mut file = File::options().read(true).write(true).open(path)?;
        let first = range.start / length;
        let count = (range.end.div_ceil(length) - first) as usize;
        let mut keys = Vec::new();
        keys.try_reserve_exact(count).map_err(|_| io::ErrorKind::OutOfMemory)?;
        keys.resize(count, Key::default());
        file.seek(SeekFrom::Start(HEADER + 4 * first))?;
        let mut bytes = vec![0; 4 * CHUNK];
        for chunk in keys.chunks_mut(CHUNK) {
            let read = read_up_to(&mut file, &mut bytes[..4 * chunk.len()])?;
            for (key, word) in chunk.iter_mut().zip(bytes[..read].as_chunks::<4>().0) {
                *key = Key(u32::from_le_bytes(*word));
            }
            if read < 4 * chunk.len() {
                break;
            }
        }
        reserve(&file, HEADER + 4 * (first + count as u64))?;
        Ok(KeyMap {
            file,
            length,
            first,
            keys,
            number: found.number,
            journal: plan.journal,
            unflushed: false,
        })
    }

    /// The keys of an operation, by number; `None` if it does not cover whole ones of this part.
    pub(crate) fn keys_of(&self, offset: u64, length: u32) -> Option<Range<usize>> {
        let end = offset + u64::from(length);
        let whole = offset.is_multiple_of(self.length) && end.is_multiple_of(self.length);
        let start = (offset / self.length).checked_sub(self.first)? as usize;
        let end = (end / self.length).checked_sub(self.first)? as usize;
        (whole && end <= self.keys.len()).then_some(start..end)
    }

    pub(crate) fn key(&self, index: usize) -> Key {
        self.keys[index]
    }

    pub(crate) fn knows_any(&self, keys: Range<usize>) -> bool {
        self.keys[keys].iter().any(|key| key.is_known())
    }

    /// Writes of these keys are about to be issued.
    pub(crate) fn begin_write(&mut self, keys: Range<usize>) -> io::Result<()> {
        self.change(keys, Key::overwritten)
    }

    /// Writes of these keys have completed.
    pub(crate) fn end_write(&mut self, keys: Range<usize>) -> io::Result<()> {
        self.change(keys, |key| key.with(KeyState::Written))
    }

    /// What a read has shown of a key.
    pub(crate) fn set(&mut self, index: usize, key: Key) -> io::Result<()> {
        match self.keys[index] == key {
            true => Ok(()),
            false => self.change(index..index + 1, |_| key),
        }
    }

    fn change(&mut self, keys: Range<usize>, change: impl Fn(Key) -> Key) -> io::Result<()> {
        self.keys[keys.clone()].iter_mut().for_each(|key| *key = change(*key));
        match self.journal {
            KeyJournal::AtEnd => Ok(()),
            KeyJournal::EachWrite | KeyJournal::EachWriteFlushed => self.store(keys),
        }
    }

    fn store(&mut self, keys: Range<usize>) -> io::Result<()> {
        let place = HEADER + 4 * (self.first + keys.start as u64);
        let bytes: Vec<u8> = self.keys[keys].iter().flat_map(|key| key.0.to_le_bytes()).collect();
        self.unflushed = true;
        self.file.seek(SeekFrom::Start(place))?;
        self.file.write_all(&bytes)
    }

    /// Makes what was stored survive a crash of the system, where that is asked for.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.journal == KeyJournal::EachWriteFlushed && std::mem::take(&mut self.unflushed) {
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Leaves the keys for the next run.
    pub(crate) fn save(&mut self) -> io::Result<()> {
        if self.journal == KeyJournal::AtEnd {
            // A key that was written once is never 0 again, so what was left out is 0 in the file.
            for start in (0..self.keys.len()).step_by(CHUNK) {
                let keys = start..self.keys.len().min(start + CHUNK);
                if self.keys[keys.clone()].iter().any(|key| key.0 != 0) {
                    self.store(keys)?;
                }
            }
        }
        self.flush()
    }

    /// A key block with the contents of a generation.
    pub(crate) fn block(&self, index: usize, generation: u32) -> Block {
        let offset = (self.first + index as u64) * self.length;
        let words = [self.number, offset, u64::from(generation)].map(u64::to_le_bytes);
        Block {
            offset,
            length: self.length as u32,
            seed: Some(xxhash_rust::xxh64::xxh64(words.as_flattened(), 0)),
            number: Some(u64::from(generation)),
            hash: None,
            zeros: false,
        }
    }
}

fn read_up_to(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// The file of a map of key blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyMapFile {
    /// Bytes of a key block.
    pub length: u64,
    /// Key blocks of which something can be checked.
    pub known: u64,
    /// Where the last of them ends.
    pub known_end: u64,
    /// The run that wrote it has ended.
    pub complete: bool,
    number: u64,
}

impl KeyMapFile {
    /// Makes a map in which nothing is known, or empties one.
    ///
    /// # Errors
    /// The file cannot be written, or is something else than a map.
    pub fn create(path: &Path, length: u64) -> io::Result<()> {
        match open_without_waiting(path) {
            Ok(mut file) => drop(KeyMapFile::read_header(&mut file)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seed = now.map_or(0, |now| now.as_nanos() as u64) ^ u64::from(std::process::id()) << 32;
        let number = xxhash_rust::xxh64::xxh64(path.as_os_str().as_encoded_bytes(), seed);
        let mut header = MAGIC.to_vec();
        [length, number, 1]
            .iter()
            .for_each(|word| header.extend(word.to_le_bytes()));
        let mut file = File::create(path)?;
        file.write_all(&header)?;
        file.set_len(HEADER)?;
        file.sync_all()
    }

    /// Reads what a map knows.
    ///
    /// # Errors
    /// It cannot be read, or is something else than a map.
    pub fn read(path: &Path) -> io::Result<KeyMapFile> {
        let mut file = open_without_waiting(path)?;
        let mut found = KeyMapFile::read_header(&mut file)?;
        found.each_key(&mut file, |found, index, key| {
            if key.is_known() {
                found.known += 1;
                found.known_end = (index + 1) * found.length;
            }
            None
        })?;
        Ok(found)
    }

    /// Forgets blocks whose writes were on their way.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn forget_pending(path: &Path) -> io::Result<()> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let mut found = KeyMapFile::read_header(&mut file)?;
        found.each_key(&mut file, |_, _, key| match key.state() {
            KeyState::Unknown | KeyState::Written => None,
            KeyState::Overwriting | KeyState::Writing => Some(key.with(KeyState::Unknown)),
        })
    }

    /// Notes that the run that writes it has ended, or has not.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn set_complete(path: &Path, complete: bool) -> io::Result<()> {
        let mut file = File::options().write(true).open(path)?;
        file.seek(SeekFrom::Start(FIXED as u64 - 8))?;
        file.write_all(&u64::from(complete).to_le_bytes())?;
        file.sync_data()
    }

    fn read_header(file: &mut File) -> io::Result<KeyMapFile> {
        let mut header = [0; FIXED];
        let is_map = read_up_to(file, &mut header)? == FIXED && header.starts_with(MAGIC);
        let words: [u64; 3] = std::array::from_fn(|word| {
            let at = MAGIC.len() + 8 * word;
            u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte]))
        });
        if !is_map || words[0] == 0 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is not a map of key blocks of fathom",
            ));
        }
        Ok(KeyMapFile {
            length: words[0],
            number: words[1],
            complete: words[2] != 0,
            known: 0,
            known_end: 0,
        })
    }

    /// Visits all keys that are not 0, and writes those back for which there is another.
    fn each_key(
        &mut self,
        file: &mut File,
        mut visit: impl FnMut(&mut KeyMapFile, u64, Key) -> Option<Key>,
    ) -> io::Result<()> {
        let mut bytes = vec![0; 4 * CHUNK];
        for chunk in 0u64.. {
            let place = HEADER + chunk * bytes.len() as u64;
            file.seek(SeekFrom::Start(place))?;
            let read = read_up_to(file, &mut bytes)?;
            let mut changed = false;
            for (at, word) in bytes[..read].as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let key = Key(u32::from_le_bytes(*word));
                if key != Key::default()
                    && let Some(other) = visit(self, chunk * CHUNK as u64 + at as u64, key)
                {
                    (*word, changed) = (other.0.to_le_bytes(), true);
                }
            }
            if changed {
                file.seek(SeekFrom::Start(place))?;
                file.write_all(&bytes[..read])?;
            }
            if read < bytes.len() {
                break;
            }
        }
        Ok(())
    }
}
