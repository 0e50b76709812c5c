//! Streams on sets of files. Each file has its own sequence, and the number of open files is
//! limited. The stream holds the sequence and the engine's file of the current file, where the loop
//! expects them, and a change of file swaps them. So a stream with a single file has no overhead.

use engine::{File, OpenOptions};
use model::Direction;
use model::draws::Draws;
use model::file_choice::{FileChoice, NextFile};
use model::plan::{EngineKind, Stream, SyncRule};
use model::results::Failure;
use model::sequence::Sequence;

use super::{FileWatchers, NextOperation, flush};
use crate::worker::ReadyTarget;
use crate::worker::errors::FileLabel;
use crate::worker::io_loop::IoLoop;
use crate::worker::setup::{OpenedStream, open_target};
use crate::worker::stream::LiveStream;

/// The file sets of a worker's streams.
#[derive(Debug)]
pub(crate) struct FileSets {
    streams: Vec<Option<FileSet>>,
}

impl FileSets {
    /// Returns `None` if no stream has a set.
    pub(crate) fn from_streams(streams: Vec<Option<FileSet>>) -> Option<FileSets> {
        streams.iter().any(Option::is_some).then_some(FileSets { streams })
    }

    pub(super) fn get(&self, number: usize) -> Option<&FileSet> {
        self.streams[number].as_ref()
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut FileSet> {
        self.streams[number].as_mut()
    }

    /// True if files are opened and closed during the run.
    pub(crate) fn exchanges_files(&self) -> bool {
        self.streams.iter().flatten().any(FileSet::exchanges_files)
    }

    /// Returns the memory in bytes of the patterns of all files except the current ones.
    pub(crate) fn extra_bytes(&self) -> u64 {
        self.other_sequences().map(Sequence::extra_bytes).sum()
    }

    /// Returns the zone resets of all files except the current ones.
    pub(crate) fn zone_resets(&self) -> u64 {
        self.other_sequences().map(Sequence::zone_resets).sum()
    }

    /// Returns the sequences of all files except the current ones.
    fn other_sequences(&self) -> impl Iterator<Item = &Sequence> {
        let files = self.streams.iter().flatten().flat_map(|set| &set.files);
        files.flat_map(|file| &file.sequence)
    }

    /// Detects idle files from the completions.
    #[inline(never)]
    pub(super) fn after_reaping(&mut self, io: &IoLoop) {
        for completion in io.batch.done.iter() {
            let record = io.slots.get(completion.slot);
            // Flushes are not counted as in flight.
            if record.length > 0
                && let Some(set) = self.get_mut(record.stream as usize)
            {
                set.on_completed(record.file);
            }
        }
    }
}

/// The files of a stream while it runs.
#[derive(Debug)]
pub(crate) struct FileSet {
    choice: FileChoice,
    files: Vec<SetFile>,
    /// Index of the current file.
    current: usize,
    /// File slots of the engine for this set, if files are opened and closed; empty if all stay
    /// open.
    slots: Vec<FileSlot>,
    options: OpenOptions,
    priority: u16,
    engine: EngineKind,
    sync: SyncRule,
}

/// One file of a set.
#[derive(Debug)]
struct SetFile {
    /// The number of the file's target.
    id: u32,
    target: ReadyTarget,
    /// The operations on the file; the stream has them while this is the current file.
    sequence: Option<Sequence>,
    /// The engine's index of the open file; absent while it is closed.
    file: Option<u16>,
    /// Operations on the file in flight, counted only if files are opened and closed.
    in_flight: u32,
}

/// A file slot of the engine that files of a set use in turn.
#[derive(Clone, Copy, Debug)]
struct FileSlot {
    /// The engine's index of the slot.
    file: u16,
    /// Index of the set's file that is open in the slot.
    occupant: usize,
}

impl FileSet {
    /// Creates a set from the sequences of its files. Returns the first sequence separately: the
    /// stream takes it.
    pub(crate) fn new(
        mut choice: FileChoice,
        mut sequences: Vec<Sequence>,
        targets: Vec<ReadyTarget>,
        (stream, engine): (&Stream, EngineKind),
        opened: &OpenedStream,
    ) -> (FileSet, Sequence) {
        let first = sequences.remove(0);
        let other_sequences = std::iter::once(None).chain(sequences.into_iter().map(Some));
        let ids = stream.target.ids().iter();
        let files = targets.into_iter().zip(ids).zip(other_sequences).enumerate();
        let files: Vec<SetFile> = files
            .map(|(number, ((target, id), sequence))| SetFile {
                id: id.0,
                target,
                sequence,
                file: opened.files.get(number).copied(),
                in_flight: 0,
            })
            .collect();
        let has_closed_files = opened.files.len() < files.len();
        let mut slots = Vec::new();
        for (occupant, file) in opened.files.iter().enumerate() {
            if has_closed_files {
                slots.push(FileSlot { file: *file, occupant });
            } else {
                choice.mark_open(occupant);
            }
        }
        let set = FileSet {
            choice,
            files,
            current: 0,
            slots,
            options: opened.options,
            priority: opened.priority,
            engine,
            sync: stream.sync,
        };
        (set, first)
    }

    /// Returns the index of the current file.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Uncounts the last operation, which will not be issued.
    pub(crate) fn uncount_last(&mut self) {
        if self.exchanges_files() {
            self.files[self.current].in_flight -= 1;
        }
    }

    /// True if files are opened and closed while the worker runs.
    pub(crate) fn exchanges_files(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Counts a completed operation on a file of the engine.
    fn on_completed(&mut self, file: u16) {
        if let Some(slot) = self.slots.iter().find(|slot| slot.file == file) {
            self.files[slot.occupant].in_flight -= 1;
        }
    }

    /// Closes files that are done and idle, and frees their slots. Returns false if there are none.
    fn close_idle_files(&mut self) -> bool {
        let idle: Vec<usize> = self
            .choice
            .open_and_done()
            .filter(|file| self.exchanges_files() && self.files[*file].in_flight == 0)
            .collect();
        idle.iter().for_each(|file| self.choice.mark_closed(*file));
        !idle.is_empty()
    }

    /// Returns the slot in which to open a file: its previous slot, or the slot of a closed file.
    fn slot_for(&self, file: usize) -> Option<usize> {
        let previous = self.slots.iter().position(|slot| slot.occupant == file);
        previous.or_else(|| {
            let used = |slot: &FileSlot| self.choice.open().any(|open| open == slot.occupant);
            let in_flight = |slot: &FileSlot| self.files[slot.occupant].in_flight > 0;
            self.slots
                .iter()
                // The file to open already counts as open, without a slot.
                .position(|slot| !used(slot) && !in_flight(slot))
        })
    }

    /// Frees a slot for a file, if necessary by closing an idle one. Returns false if all are busy.
    fn free_slot_for(&mut self, file: usize) -> bool {
        if self.slot_for(file).is_some() {
            return true;
        }
        let idle = self.slots.iter().find(|slot| self.files[slot.occupant].in_flight == 0);
        let idle = idle.map(|slot| slot.occupant);
        idle.into_iter().for_each(|occupant| self.choice.mark_closed(occupant));
        idle.is_some()
    }

    /// Begins another pass over all files.
    pub(super) fn restart(&mut self, draws: &mut Draws) {
        self.choice.restart();
        for file in self.files.iter_mut().flat_map(|file| &mut file.sequence) {
            file.restart(draws);
        }
    }

    /// Returns the next operation of the set.
    #[inline(never)]
    pub(super) fn next_operation(
        &mut self,
        io: &mut IoLoop,
        watchers: &mut FileWatchers,
        number: usize,
        slot: u32,
        direction: Option<Direction>,
    ) -> NextOperation {
        let mut skipped_files = 0;
        loop {
            let file = match self.choice.next(&mut io.draws) {
                NextFile::Use(file) => file,
                NextFile::Open(file) => {
                    if let Err(failure) = self.open(io, watchers, file) {
                        io.fail(*failure);
                        return NextOperation::Wait;
                    }
                    file
                }
                NextFile::Wait if self.close_idle_files() => continue,
                NextFile::Wait => return NextOperation::Wait,
                NextFile::AllDone => return NextOperation::EndOfPass,
            };
            let stream = &mut io.streams[number];
            self.switch_to(stream, file);
            if let Some(operation) = stream.next(&mut io.draws, slot, direction) {
                self.files[file].in_flight += u32::from(self.exchanges_files());
                return NextOperation::Issue(operation);
            }
            self.choice.mark_done(file);
            if self.choice.restarts_files() {
                skipped_files += 1;
                stream.sequence.restart(&mut io.draws);
                // After this many attempts, no file has room for a block.
                if skipped_files > 64 * self.files.len() {
                    return NextOperation::EndOfPass;
                }
            } else {
                self.close_idle_files();
            }
        }
    }

    /// Makes a file of the set the current one of its stream.
    fn switch_to(&mut self, stream: &mut LiveStream, number: usize) {
        if self.current != number
            && let Some(sequence) = self.files[number].sequence.take()
        {
            let previous = std::mem::replace(&mut stream.sequence, sequence);
            self.files[self.current].sequence = Some(previous);
            self.current = number;
        }
        stream.file = self.files[number].file.unwrap_or(stream.file);
    }

    /// Opens a file of the set in a slot, after closing the slot's previous file.
    fn open(&mut self, io: &mut IoLoop, watchers: &mut FileWatchers, file: usize) -> Result<(), Box<Failure>> {
        if !self.exchanges_files() {
            return Ok(());
        }
        // A slot is always available, because the file in some slot counts as closed.
        let Some(slot) = self.slot_for(file) else {
            return Ok(());
        };
        let FileSlot { file: index, occupant } = self.slots[slot];
        if occupant == file {
            return Ok(());
        }
        if self.sync.on_close {
            flush(&self.files[occupant].target, self.sync.kind)?;
        }
        let (id, target) = (self.files[file].id, &self.files[file].target);
        let failed = |error: String, errno: Option<i32>| {
            Box::new(Failure {
                errno,
                ..Failure::new(format!("cannot use the next file of the set: {error}"), target.name())
            })
        };
        let mut exchange = |file: File| {
            let exchanged = io.engine.exchange_file(index, file);
            exchanged.map_err(|error| failed(error.to_string(), error.errno()))
        };
        // Close the old file before opening the new one, so that the limit always holds.
        exchange(File::placeholder(0))?;
        let mut opened = open_target(target, self.options, self.engine)
            .map_err(|error| failed(error.to_string(), error.source.raw_os_error()))?;
        opened
            .set_priority(self.priority)
            .map_err(|error| failed(error.to_string(), error.raw_os_error()))?;
        io.errors.files[usize::from(index)] = FileLabel::from(&opened);
        exchange(opened)?;
        watchers.on_exchanged(io, index, (id, target));
        self.files[occupant].file = None;
        self.files[file].file = Some(index);
        self.slots[slot].occupant = file;
        Ok(())
    }

    /// Returns the engine's index of a file to verify, after opening it if necessary. `None` while
    /// all slots are busy.
    pub(super) fn open_to_verify(
        &mut self,
        io: &mut IoLoop,
        watchers: &mut FileWatchers,
        file: usize,
    ) -> Result<Option<u16>, Box<Failure>> {
        if !self.exchanges_files() {
            return Ok(self.files[file].file);
        }
        if !self.free_slot_for(file) {
            return Ok(None);
        }
        self.open(io, watchers, file)?;
        self.choice.mark_open(file);
        self.files[file].in_flight += 1;
        Ok(self.files[file].file)
    }

    /// Returns the files that are not open in the engine.
    pub(super) fn closed_files(&self) -> Vec<&ReadyTarget> {
        let closed = self.files.iter().filter(|file| file.file.is_none());
        closed.map(|file| &file.target).collect()
    }

    /// Returns the engine's indexes of the open files.
    pub(super) fn open_files(&self) -> Vec<u16> {
        self.files.iter().filter_map(|file| file.file).collect()
    }
}
