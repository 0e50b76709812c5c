//! Streams on sets of files: each file has its own sequence, and the number of open files is
//! limited. The stream itself holds the sequence and the engine's file of the current file, where
//! the loop expects them; a change of file swaps them. So a stream with a single file has no
//! overhead.

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

/// The sets of a worker's streams.
#[derive(Debug)]
pub(crate) struct FileSets {
    streams: Vec<Option<FileSet>>,
}

impl FileSets {
    /// The sets of those streams that have one.
    pub(crate) fn from_streams(streams: Vec<Option<FileSet>>) -> Option<FileSets> {
        streams.iter().any(Option::is_some).then_some(FileSets { streams })
    }

    pub(super) fn get(&self, number: usize) -> Option<&FileSet> {
        self.streams[number].as_ref()
    }

    pub(super) fn set(&mut self, number: usize) -> Option<&mut FileSet> {
        self.streams[number].as_mut()
    }

    /// True if files are opened and closed during the run.
    pub(crate) fn exchanges_files(&self) -> bool {
        self.streams.iter().flatten().any(FileSet::exchanges_files)
    }

    /// Bytes of memory of the patterns of all files but the current ones.
    pub(crate) fn extra_bytes(&self) -> u64 {
        self.others().map(Sequence::extra_bytes).sum()
    }

    /// Zone resets of all files but the current ones.
    pub(crate) fn zone_resets(&self) -> u64 {
        self.others().map(Sequence::zone_resets).sum()
    }

    /// The sequences of all files but the current ones.
    fn others(&self) -> impl Iterator<Item = &Sequence> {
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
                && let Some(set) = self.set(record.stream as usize)
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
    /// The current one.
    current: usize,
    /// File slots of the engine for this set, if files are opened and closed; empty if all stay
    /// open.
    places: Vec<Place>,
    options: OpenOptions,
    priority: u16,
    engine: EngineKind,
    sync: SyncRule,
}

/// One file of a set.
#[derive(Debug)]
struct SetFile {
    /// Number of the target.
    id: u32,
    target: ReadyTarget,
    /// Its operations; moved to the stream while it is the current one.
    sequence: Option<Sequence>,
    /// Index of its file among those of the engine, while it has one.
    file: Option<u16>,
    in_flight: u32,
}

/// A file slot of the engine that files of a set use in turn.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: u16,
    occupant: usize,
}

impl FileSet {
    /// A set with the sequences of all its files. Returns it without the sequence of the first,
    /// which goes to the stream.
    pub(crate) fn new(
        mut choice: FileChoice,
        mut sequences: Vec<Sequence>,
        targets: Vec<ReadyTarget>,
        (stream, engine): (&Stream, EngineKind),
        opened: &OpenedStream,
    ) -> (FileSet, Sequence) {
        let first = sequences.remove(0);
        let others = std::iter::once(None).chain(sequences.into_iter().map(Some));
        let ids = stream.target.ids().iter();
        let files = targets.into_iter().zip(ids).zip(others).enumerate();
        let files: Vec<SetFile> = files
            .map(|(number, ((target, id), sequence))| SetFile {
                id: id.0,
                target,
                sequence,
                file: opened.files.get(number).copied(),
                in_flight: 0,
            })
            .collect();
        let come_and_go = opened.files.len() < files.len();
        let mut places = Vec::new();
        for (occupant, file) in opened.files.iter().enumerate() {
            if come_and_go {
                places.push(Place { file: *file, occupant });
            } else {
                choice.mark_open(occupant);
            }
        }
        let set = FileSet {
            choice,
            files,
            current: 0,
            places,
            options: opened.options,
            priority: opened.priority,
            engine,
            sync: stream.sync,
        };
        (set, first)
    }

    /// The current file.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// Undoes the count of the last operation, which will not be issued.
    pub(crate) fn undo_last(&mut self) {
        if self.exchanges_files() {
            self.files[self.current].in_flight -= 1;
        }
    }

    /// Whether files are opened and closed while the worker runs.
    pub(crate) fn exchanges_files(&self) -> bool {
        !self.places.is_empty()
    }

    /// Counts a completion on a file of the engine.
    fn on_completed(&mut self, file: u16) {
        if let Some(place) = self.places.iter().find(|place| place.file == file) {
            self.files[place.occupant].in_flight -= 1;
        }
    }

    /// Closes files that are done and idle, and frees their slots. Returns whether there were any.
    fn close_idle(&mut self) -> bool {
        let idle: Vec<usize> = self
            .choice
            .open_and_done()
            .filter(|file| self.exchanges_files() && self.files[*file].in_flight == 0)
            .collect();
        idle.iter().for_each(|file| self.choice.mark_closed(*file));
        !idle.is_empty()
    }

    /// The slot for a file to open: its own if it still has one, otherwise that of a closed file.
    fn place_for(&self, file: usize) -> Option<usize> {
        let own = self.places.iter().position(|place| place.occupant == file);
        own.or_else(|| {
            let used = |place: &Place| self.choice.open().any(|open| open == place.occupant);
            let in_flight = |place: &Place| self.files[place.occupant].in_flight > 0;
            self.places
                .iter()
                // The file to open already counts as open, without a slot.
                .position(|place| !used(place) && !in_flight(place))
        })
    }

    /// Frees a slot for a file, if necessary by closing an idle one. Returns false if all are busy.
    fn make_room_for(&mut self, file: usize) -> bool {
        if self.place_for(file).is_some() {
            return true;
        }
        let idle = self
            .places
            .iter()
            .find(|place| self.files[place.occupant].in_flight == 0);
        let idle = idle.map(|place| place.occupant);
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
}

impl FileSet {
    /// The next operation of the set.
    #[inline(never)]
    pub(super) fn next_operation(
        &mut self,
        io: &mut IoLoop,
        watchers: &mut FileWatchers,
        number: usize,
        slot: u32,
        direction: Option<Direction>,
    ) -> NextOperation {
        let mut passed_over = 0;
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
                NextFile::Wait if self.close_idle() => continue,
                NextFile::Wait => return NextOperation::Wait,
                NextFile::AllDone => return NextOperation::EndOfPass,
            };
            let stream = &mut io.streams[number];
            self.turn_to(stream, file);
            if let Some(operation) = stream.next(&mut io.draws, slot, direction) {
                self.files[file].in_flight += u32::from(self.exchanges_files());
                return NextOperation::Issue(operation);
            }
            self.choice.mark_done(file);
            if self.choice.restarts_files() {
                passed_over += 1;
                stream.sequence.restart(&mut io.draws);
                // After this many attempts, no file has room for a block.
                if passed_over > 64 * self.files.len() {
                    return NextOperation::EndOfPass;
                }
            } else {
                self.close_idle();
            }
        }
    }

    /// Makes a file of the set the current one of its stream.
    fn turn_to(&mut self, stream: &mut LiveStream, number: usize) {
        if self.current != number
            && let Some(sequence) = self.files[number].sequence.take()
        {
            let before = std::mem::replace(&mut stream.sequence, sequence);
            self.files[self.current].sequence = Some(before);
            self.current = number;
        }
        stream.file = self.files[number].file.unwrap_or(stream.file);
    }

    /// Opens a file of the set, closing one that counts as closed.
    fn open(&mut self, io: &mut IoLoop, watchers: &mut FileWatchers, file: usize) -> Result<(), Box<Failure>> {
        if !self.exchanges_files() {
            return Ok(());
        }
        // There is always a slot for a file to open, because some slot has a file that counts as
        // closed.
        let Some(place) = self.place_for(file) else {
            return Ok(());
        };
        let Place { file: index, occupant } = self.places[place];
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
        let mut exchange = |with: File| {
            let exchanged = io.engine.exchange_file(index, with);
            exchanged.map_err(|error| failed(error.to_string(), error.errno()))
        };
        // Close one file before opening the other, so that the limit always holds.
        exchange(File::nothing(0))?;
        let mut with = open_target(target, self.options, self.engine)
            .map_err(|error| failed(error.to_string(), error.source.raw_os_error()))?;
        with.set_priority(self.priority)
            .map_err(|error| failed(error.to_string(), error.raw_os_error()))?;
        io.errors.files[usize::from(index)] = FileLabel::from(&with);
        exchange(with)?;
        watchers.on_exchanged(io, index, (id, target));
        self.files[occupant].file = None;
        self.files[file].file = Some(index);
        self.places[place].occupant = file;
        Ok(())
    }

    /// The engine's index of a file to verify, opened if necessary; `None` while all slots are
    /// busy.
    pub(super) fn open_to_read(
        &mut self,
        io: &mut IoLoop,
        watchers: &mut FileWatchers,
        file: usize,
    ) -> Result<Option<u16>, Box<Failure>> {
        if !self.exchanges_files() {
            return Ok(self.files[file].file);
        }
        if !self.make_room_for(file) {
            return Ok(None);
        }
        self.open(io, watchers, file)?;
        self.choice.mark_open(file);
        self.files[file].in_flight += 1;
        Ok(self.files[file].file)
    }

    /// Files that are not open in the engine.
    pub(super) fn closed_files(&self) -> Vec<&ReadyTarget> {
        let closed = self.files.iter().filter(|file| file.file.is_none());
        closed.map(|file| &file.target).collect()
    }

    /// Files of the engine that the set has open.
    pub(super) fn open_files(&self) -> Vec<u16> {
        self.files.iter().filter_map(|file| file.file).collect()
    }
}
