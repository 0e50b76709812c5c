//! Maps of key blocks. A map counts the writes of each block, so that reads can be checked.
//!
//! A map is a file. A worker loads its part at the start. It saves changes at the end, or before
//! and after each write, so that the next run knows the blocks even after a kill. A tree of files
//! has one map, of which a worker loads the part of the file that it uses.
//!
//! | bytes | contents |
//! | --- | --- |
//! | 0 | `fathom key map 3` |
//! | 16 | bytes of a key block; number of the map; number of key blocks |
//! | 40 | [`MapState`]; compression ratio of the written data |
//! | 56 | checksum of the header |
//! | 4096 … | eight bytes per key block: generation above two bits of state; checksum |
//!
//! The number of the map is part of the contents of all blocks. On a tree, its low half is the
//! checksum of the tree's directory and shape: another tree has other files at the same key blocks.
//! All numbers are little-endian. The eight bytes of a key block change atomically. So a kill
//! leaves the old bytes or the new bytes, both with a valid checksum. Unwritten blocks have a
//! checksum too, so zeros mean damage.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use engine::sys::file::open_without_waiting;
use model::plan::{FileTree, KeyBlocks, KeyJournal, TreeKeyBlocks};

use super::Block;

const MAGIC: &[u8; 16] = b"fathom key map 3";
/// The first bytes of maps of any version.
const ANY_MAGIC: &[u8] = b"fathom key map ";
/// Number of words in the header before its checksum.
const WORDS: usize = 5;
const HEADER: u64 = 4096;
/// Bytes of a key in the file.
const ENTRY: u64 = 8;
/// Number of keys that are read or written at a time.
const CHUNK: usize = 16 * 1024;

/// The state of a key block's contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyState {
    Unknown,
    /// The write of its generation has completed.
    Written,
    /// The write of its generation is in flight, over the previous generation.
    Overwriting,
    /// The write of its generation is in flight, over unknown contents.
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

    /// True if some of its contents can be checked.
    pub(crate) fn is_known(self) -> bool {
        matches!(self.state(), KeyState::Written | KeyState::Overwriting)
    }

    /// Returns the previous generation. Generations are only compared for equality, so they may
    /// wrap around.
    pub(crate) fn previous_generation(self) -> u32 {
        self.generation().wrapping_sub(1) & (u32::MAX >> 2)
    }

    fn with_write_begun(self) -> Key {
        let state = match self.state() {
            KeyState::Written => KeyState::Overwriting,
            KeyState::Unknown | KeyState::Overwriting | KeyState::Writing => KeyState::Writing,
        };
        Key::new(self.generation().wrapping_add(1), state)
    }

    fn with_state(self, state: KeyState) -> Key {
        Key::new(self.generation(), state)
    }
}

/// The part of a map that belongs to a worker.
#[derive(Debug)]
pub(crate) struct KeyMap {
    file: File,
    header: KeyMapFile,
    /// Number of the first key block of the part.
    first: u64,
    /// End of the part in bytes, which may be inside its last key block.
    end: u64,
    keys: Vec<Key>,
    journal: KeyJournal,
    /// Changed keys that are not saved.
    unsaved: Option<Range<usize>>,
    /// Some saved keys are not flushed.
    unflushed: bool,
}

/// Encodes a key for the file. Its checksum covers the map's number and the key's index too.
fn encode_key(number: u64, index: u64, key: Key) -> [u8; ENTRY as usize] {
    let words = [number, index, u64::from(key.0)].map(u64::to_le_bytes);
    let checksum = xxhash_rust::xxh64::xxh64(words.as_flattened(), 0);
    (checksum & !u64::from(u32::MAX) | u64::from(key.0)).to_le_bytes()
}

fn decode_key(number: u64, index: u64, entry: [u8; ENTRY as usize]) -> io::Result<Key> {
    let key = Key(u64::from_le_bytes(entry) as u32);
    match entry == encode_key(number, index, key) {
        true => Ok(key),
        false => Err(invalid_data(format!(
            "it is damaged at byte {}: the entry of key block {index} does not match its checksum",
            HEADER + ENTRY * index
        ))),
    }
}

fn invalid_data(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl KeyMap {
    /// Opens a map, without loading keys.
    ///
    /// # Errors
    /// The file cannot be read, or is a map of different key blocks.
    pub(crate) fn open(plan: &KeyBlocks) -> io::Result<KeyMap> {
        let path = Path::new(&plan.map);
        let length = u64::from(plan.length.max(1));
        let header = KeyMapFile::read_header(&mut open_without_waiting(path)?)?;
        if header.length != length {
            return Err(invalid_data(format!(
                "its key blocks have {} bytes instead of {length}",
                header.length
            )));
        }
        Ok(KeyMap {
            file: File::options().read(true).write(true).open(path)?,
            header,
            first: 0,
            end: 0,
            keys: Vec::new(),
            journal: plan.journal,
            unsaved: None,
            unflushed: false,
        })
    }

    /// Opens a map, and loads the keys of a range of bytes.
    ///
    /// # Errors
    /// The file cannot be read, or is a map of different key blocks.
    pub(crate) fn open_part(plan: &KeyBlocks, range: Range<u64>) -> io::Result<KeyMap> {
        let mut map = KeyMap::open(plan)?;
        let length = map.header.length;
        map.load(range.start / length..range.end.div_ceil(length), range.end)?;
        Ok(map)
    }

    /// Loads other keys, up to the byte `end`, after saving the loaded ones.
    ///
    /// # Errors
    /// The file cannot be read or written, or is too short.
    pub(crate) fn load(&mut self, indexes: Range<u64>, end: u64) -> io::Result<()> {
        self.save()?;
        if indexes.end > self.header.count {
            return Err(invalid_data(format!(
                "it has {} key blocks, but {} are needed",
                self.header.count, indexes.end
            )));
        }
        let keys = &mut self.keys;
        keys.clear();
        keys.try_reserve_exact((indexes.end - indexes.start) as usize)
            .map_err(|_| io::ErrorKind::OutOfMemory)?;
        (self.first, self.end) = (indexes.start, end);
        let header = self.header;
        header.visit_keys(&mut self.file, indexes, |_, key| {
            keys.push(key);
            None
        })
    }

    /// Returns the indexes of an operation's keys. `None` unless the operation covers whole key
    /// blocks of the loaded part.
    pub(crate) fn key_range(&self, offset: u64, length: u32) -> Option<Range<usize>> {
        let block_length = self.header.length;
        let end = offset + u64::from(length);
        let start = (offset / block_length).checked_sub(self.first)? as usize;
        let last = match end == self.end {
            true => self.keys.len(),
            false => (end / block_length).checked_sub(self.first)? as usize,
        };
        let is_whole_blocks =
            offset.is_multiple_of(block_length) && (end.is_multiple_of(block_length) || end == self.end);
        (is_whole_blocks && last <= self.keys.len()).then_some(start.min(last)..last)
    }

    pub(crate) fn key(&self, index: usize) -> Key {
        self.keys[index]
    }

    /// True if some contents of these key blocks can be checked.
    pub(crate) fn knows_any(&self, keys: Range<usize>) -> bool {
        self.keys[keys].iter().any(|key| key.is_known())
    }

    /// Marks the keys of a write before it is issued.
    pub(crate) fn begin_write(&mut self, keys: Range<usize>) -> io::Result<()> {
        self.change(keys, Key::with_write_begun)
    }

    /// Marks the keys of a write after it has completed.
    pub(crate) fn end_write(&mut self, keys: Range<usize>) -> io::Result<()> {
        self.change(keys, |key| key.with_state(KeyState::Written))
    }

    /// Replaces a key after a read was checked.
    pub(crate) fn set(&mut self, index: usize, key: Key) -> io::Result<()> {
        match self.keys[index] == key {
            true => Ok(()),
            false => self.change(index..index + 1, |_| key),
        }
    }

    /// Forgets the contents of all loaded key blocks.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        match self.keys.iter().any(|key| key.state() != KeyState::Unknown) {
            true => self.change(0..self.keys.len(), |key| key.with_state(KeyState::Unknown)),
            false => Ok(()),
        }
    }

    fn change(&mut self, keys: Range<usize>, change: impl Fn(Key) -> Key) -> io::Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        self.keys[keys.clone()].iter_mut().for_each(|key| *key = change(*key));
        match self.journal {
            KeyJournal::AtEnd => {
                let unsaved = self.unsaved.get_or_insert(keys.clone());
                *unsaved = unsaved.start.min(keys.start)..unsaved.end.max(keys.end);
                Ok(())
            }
            KeyJournal::EachWrite | KeyJournal::EachWriteFlushed => self.store(keys),
        }
    }

    /// Writes keys to the file.
    fn store(&mut self, keys: Range<usize>) -> io::Result<()> {
        let position = HEADER + ENTRY * (self.first + keys.start as u64);
        let number = self.header.number;
        let entries = keys.map(|at| encode_key(number, self.first + at as u64, self.keys[at]));
        let bytes: Vec<u8> = entries.flatten().collect();
        self.unflushed = true;
        self.file.seek(SeekFrom::Start(position))?;
        self.file.write_all(&bytes)
    }

    /// Flushes the stored keys if they must survive a system crash.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.journal == KeyJournal::EachWriteFlushed && std::mem::take(&mut self.unflushed) {
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// Saves the keys, for another worker or the next run.
    pub(crate) fn save(&mut self) -> io::Result<()> {
        if let Some(keys) = self.unsaved.take() {
            for start in keys.clone().step_by(CHUNK) {
                self.store(start..keys.end.min(start + CHUNK))?;
            }
        }
        self.flush()
    }

    /// Returns a key block with the contents of a generation.
    pub(crate) fn block(&self, index: usize, generation: u32) -> Block {
        let length = self.header.length;
        let offset = (self.first + index as u64) * length;
        let words = [self.header.number, offset, u64::from(generation)].map(u64::to_le_bytes);
        Block {
            offset,
            length: length as u32,
            seed: Some(xxhash_rust::xxh64::xxh64(words.as_flattened(), 0)),
            number: Some(u64::from(generation)),
            ..Block::default()
        }
    }
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyMapFile {
    /// Bytes of a key block.
    pub length: u64,
    /// Number of key blocks with known contents.
    pub known: u64,
    /// End of the last known key block in bytes.
    pub known_end: u64,
    /// The last run that wrote the map has ended.
    pub complete: bool,
    /// The compression ratio of the written data.
    pub compratio: f64,
    number: u64,
    /// Number of entries.
    count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MapState {
    /// Its entries are not all written yet.
    Incomplete,
    /// A run that saves its keys only at the end has not ended.
    Stale,
    Complete,
}

/// Returns the checksum of a tree's directory, and of its shape, which determines the file of each
/// key block.
fn tree_checksum(anchor: &Path, tree: &FileTree) -> u64 {
    let shape = FileTree {
        kept: None,
        ..tree.clone()
    };
    // A tree has only values that can be serialized.
    let mut text = serde_json::to_vec(&shape).unwrap_or_default();
    let anchor = anchor.canonicalize().unwrap_or_else(|_| anchor.to_owned());
    text.extend(anchor.as_os_str().as_encoded_bytes());
    xxhash_rust::xxh64::xxh64(&text, 0) & TREE_BITS
}

/// The bits of a map's number that contain the checksum of a tree.
const TREE_BITS: u64 = u32::MAX as u64;

impl KeyMapFile {
    /// Creates or clears a map of `count` key blocks with unknown contents. The lock of the
    /// returned file excludes other processes.
    ///
    /// # Errors
    /// The file cannot be written, is not a map, or is in use by another process.
    pub fn create(path: &Path, length: u64, count: u64, compratio: f64) -> io::Result<File> {
        KeyMapFile::create_numbered(path, length, count, compratio, |number| number)
    }

    /// Creates a map of the files of the tree in `anchor`, as [`KeyMapFile::create`] does.
    ///
    /// # Errors
    /// The file cannot be written, is not a map, or is in use by another process.
    pub fn create_for_tree(path: &Path, anchor: &Path, blocks: &TreeKeyBlocks, compratio: f64) -> io::Result<File> {
        let tree = tree_checksum(anchor, blocks.tree());
        KeyMapFile::create_numbered(path, blocks.length(), blocks.count(), compratio, |number| {
            number & !TREE_BITS | tree
        })
    }

    /// True if this is the map of the files of the tree in `anchor`.
    pub fn belongs_to_tree(&self, anchor: &Path, tree: &FileTree) -> bool {
        self.number & TREE_BITS == tree_checksum(anchor, tree)
    }

    fn create_numbered(
        path: &Path,
        length: u64,
        count: u64,
        compratio: f64,
        set_tree: impl Fn(u64) -> u64,
    ) -> io::Result<File> {
        let is_new = match open_without_waiting(path) {
            Ok(mut file) => {
                let mut start = Vec::new();
                Read::by_ref(&mut file)
                    .take(ANY_MAGIC.len() as u64)
                    .read_to_end(&mut start)?;
                if !start.is_empty() && start != ANY_MAGIC {
                    return Err(invalid_data("it is not a map of key blocks of fathom".into()));
                }
                false
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(error),
        };
        let mut options = File::options();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        lock(&file)?;
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seed =
            since_epoch.map_or(0, |since_epoch| since_epoch.as_nanos() as u64) ^ u64::from(std::process::id()) << 32;
        let map_file = KeyMapFile {
            length,
            known: 0,
            known_end: 0,
            complete: true,
            compratio,
            number: set_tree(xxhash_rust::xxh64::xxh64(path.as_os_str().as_encoded_bytes(), seed)),
            count,
        };
        let written = map_file.write_entries(&mut file, 0..count);
        if written.is_err() && is_new {
            // Remove the incomplete file.
            let _ = std::fs::remove_file(path);
        }
        written.map(|()| file)
    }

    /// Writes entries of unknown blocks after the existing entries, and then the header.
    fn write_entries(&self, file: &mut File, indexes: Range<u64>) -> io::Result<()> {
        if indexes.start == 0 {
            file.set_len(0)?;
            self.write_header(file, MapState::Incomplete)?;
        }
        file.seek(SeekFrom::Start(HEADER + ENTRY * indexes.start))?;
        let mut bytes = Vec::with_capacity(ENTRY as usize * CHUNK);
        for start in indexes.clone().step_by(CHUNK) {
            bytes.clear();
            let chunk = start..indexes.end.min(start + CHUNK as u64);
            chunk.for_each(|index| bytes.extend(encode_key(self.number, index, Key::default())));
            file.write_all(&bytes)?;
        }
        file.set_len(HEADER + ENTRY * self.count)?;
        file.sync_all()?;
        self.write_header(file, MapState::Complete)?;
        file.sync_data()
    }

    /// Locks an existing map.
    ///
    /// # Errors
    /// It cannot be opened, or another process uses it.
    pub fn lock(path: &Path) -> io::Result<File> {
        let file = File::options().read(true).write(true).open(path)?;
        lock(&file).map(|()| file)
    }

    /// Reads a map, and counts its known key blocks.
    ///
    /// # Errors
    /// It cannot be read, is damaged, or is not a map.
    pub fn read(path: &Path) -> io::Result<KeyMapFile> {
        let mut file = open_without_waiting(path)?;
        let mut map_file = KeyMapFile::read_header(&mut file)?;
        let (length, all) = (map_file.length, 0..map_file.count);
        let (mut known, mut known_end) = (0, 0);
        map_file.visit_keys(&mut file, all, |index, key| {
            if key.is_known() {
                known += 1;
                known_end = (index + 1) * length;
            }
            None
        })?;
        (map_file.known, map_file.known_end) = (known, known_end);
        Ok(map_file)
    }

    /// Extends a map to `count` key blocks, if it has fewer.
    ///
    /// # Errors
    /// It cannot be read or written, or is damaged.
    pub fn extend(path: &Path, count: u64) -> io::Result<()> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let map_file = KeyMapFile::read_header(&mut file)?;
        match count > map_file.count {
            true => KeyMapFile { count, ..map_file }.write_entries(&mut file, map_file.count..count),
            false => Ok(()),
        }
    }

    /// Forgets the contents of blocks with writes in flight.
    ///
    /// # Errors
    /// It cannot be read or written, or is damaged.
    pub fn forget_pending(path: &Path) -> io::Result<()> {
        KeyMapFile::forget(path, |_, key| {
            matches!(key.state(), KeyState::Overwriting | KeyState::Writing)
        })
    }

    /// Forgets the contents of blocks that end after a position.
    ///
    /// # Errors
    /// It cannot be read or written, or is damaged.
    pub fn forget_from(path: &Path, offset: u64) -> io::Result<()> {
        let length = KeyMapFile::read_header(&mut open_without_waiting(path)?)?.length;
        KeyMapFile::forget(path, |index, _| (index + 1) * length > offset)
    }

    /// Forgets the contents of some files of a tree.
    ///
    /// # Errors
    /// It cannot be read or written, or is damaged.
    pub fn forget_files(path: &Path, blocks: &TreeKeyBlocks, files: &[u32]) -> io::Result<()> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let map_file = KeyMapFile::read_header(&mut file)?;
        for number in files {
            map_file.forget_in(&mut file, blocks.file_blocks(*number), |_, _| true)?;
        }
        file.sync_data()
    }

    /// Returns the files of a tree that have known key blocks. Each file has the end of its last
    /// known block in bytes.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn known_ends(path: &Path, blocks: &TreeKeyBlocks) -> io::Result<Vec<(u32, u64)>> {
        let mut opened = open_without_waiting(path)?;
        let map_file = KeyMapFile::read_header(&mut opened)?;
        let mut ends: Vec<(u32, u64)> = Vec::new();
        let (mut file, mut start, mut end) = (0, 0, blocks.count_in(0));
        map_file.visit_keys(&mut opened, 0..map_file.count.min(blocks.count()), |index, key| {
            while index >= end {
                file += 1;
                (start, end) = (end, end + blocks.count_in(file));
            }
            if key.is_known() {
                let known_end = ((index - start + 1) * map_file.length).min(blocks.tree().file_size(file));
                match ends.last_mut() {
                    Some(last) if last.0 == file => last.1 = known_end,
                    _ => ends.push((file, known_end)),
                }
            }
            None
        })?;
        Ok(ends)
    }

    fn forget(path: &Path, forgets: impl Fn(u64, Key) -> bool) -> io::Result<()> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let map_file = KeyMapFile::read_header(&mut file)?;
        map_file.forget_in(&mut file, 0..map_file.count, forgets)?;
        file.sync_data()
    }

    fn forget_in(&self, file: &mut File, indexes: Range<u64>, forgets: impl Fn(u64, Key) -> bool) -> io::Result<()> {
        self.visit_keys(file, indexes, |index, key| {
            let is_forgotten = key.state() != KeyState::Unknown && forgets(index, key);
            is_forgotten.then(|| key.with_state(KeyState::Unknown))
        })
    }

    /// Records whether the run that writes the map has ended, and the compression ratio of its
    /// data.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn mark(path: &Path, complete: bool, compratio: f64) -> io::Result<()> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let map_file = KeyMapFile::read_header(&mut file)?;
        if (map_file.complete, map_file.compratio) == (complete, compratio) {
            return Ok(());
        }
        let state = if complete { MapState::Complete } else { MapState::Stale };
        KeyMapFile { compratio, ..map_file }.write_header(&mut file, state)?;
        file.sync_data()
    }

    fn write_header(&self, file: &mut File, state: MapState) -> io::Result<()> {
        let words = [
            self.length,
            self.number,
            self.count,
            state as u64,
            self.compratio.to_bits(),
        ];
        let mut header = MAGIC.to_vec();
        words.iter().for_each(|word| header.extend(word.to_le_bytes()));
        let checksum = xxhash_rust::xxh64::xxh64(&header, 0);
        header.extend(checksum.to_le_bytes());
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header)
    }

    fn read_header(file: &mut File) -> io::Result<KeyMapFile> {
        let mut header = [0; MAGIC.len() + 8 * (WORDS + 1)];
        let read = read_up_to(file, &mut header)?;
        let words: [u64; WORDS + 1] = std::array::from_fn(|word| {
            let at = MAGIC.len() + 8 * word;
            u64::from_le_bytes(std::array::from_fn(|byte| header[at + byte]))
        });
        let [length, number, count, state, compratio, checksum] = words;
        let present = file.metadata()?.len();
        let needed = ENTRY.checked_mul(count).and_then(|bytes| bytes.checked_add(HEADER));
        let what = match needed {
            _ if read == 0 => "it is empty".into(),
            _ if !header.starts_with(ANY_MAGIC) => "it is not a map of key blocks of fathom".into(),
            _ if read < header.len() => format!("it is truncated: it has {present} bytes"),
            _ if !header.starts_with(MAGIC) => "it was written by another version of fathom".into(),
            _ if checksum != xxhash_rust::xxh64::xxh64(&header[..header.len() - 8], 0) || length == 0 => {
                "its header is damaged: it does not match its checksum".into()
            }
            _ if state == MapState::Incomplete as u64 => {
                "the run that created it was stopped before it was complete".into()
            }
            Some(needed) if present >= needed => {
                return Ok(KeyMapFile {
                    length,
                    known: 0,
                    known_end: 0,
                    complete: state == MapState::Complete as u64,
                    compratio: f64::from_bits(compratio),
                    number,
                    count,
                });
            }
            needed => format!(
                "it is truncated: it has {present} bytes instead of {}",
                needed.unwrap_or(u64::MAX)
            ),
        };
        Err(invalid_data(what))
    }

    /// Visits keys, and saves the changed ones that `visit` returns.
    fn visit_keys(
        &self,
        file: &mut File,
        indexes: Range<u64>,
        mut visit: impl FnMut(u64, Key) -> Option<Key>,
    ) -> io::Result<()> {
        let chunk_keys = (indexes.end.saturating_sub(indexes.start)).min(CHUNK as u64);
        let mut bytes = vec![0; (ENTRY * chunk_keys) as usize];
        for start in indexes.clone().step_by(CHUNK) {
            let position = HEADER + ENTRY * start;
            let chunk = &mut bytes[..(ENTRY * (indexes.end - start).min(CHUNK as u64)) as usize];
            file.seek(SeekFrom::Start(position))?;
            file.read_exact(chunk)?;
            let mut changed = false;
            for (index, entry) in (start..).zip(chunk.as_chunks_mut().0) {
                if let Some(new_key) = visit(index, decode_key(self.number, index, *entry)?) {
                    (*entry, changed) = (encode_key(self.number, index, new_key), true);
                }
            }
            if changed {
                file.seek(SeekFrom::Start(position))?;
                file.write_all(chunk)?;
            }
        }
        Ok(())
    }
}

/// Takes the lock that excludes other processes until the file is closed.
fn lock(file: &File) -> io::Result<()> {
    match engine::sys::file::try_lock(file) {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::WouldBlock, "another process is using it")),
    }
}
