//! A stream that goes to a set of files: each has a sequence of its own, and only so many are open at once.
//!
//! The sequence and the file of the present one lie in the stream itself, where the loop looks for them; a change of file
//! exchanges them. So a stream with a single file pays nothing for sets.

use engine::{File, OpenHow};
use model::Direction;
use model::file_choice::{FileChoice, NextFile};
use model::plan::FlushKind;
use model::results::Failure;
use model::sequence::{Operation, Sequence};

use crate::worker::features::priorities::Priorities;
use crate::worker::setup::files::{OpenedStream, open_target};
use crate::worker::stream::LiveStream;
use crate::worker::{ReadyTarget, Worker};

/// The files of a stream while it runs.
#[derive(Debug)]
pub(crate) struct FileSet {
    choice: FileChoice,
    files: Vec<SetFile>,
    /// Which of them is in the stream.
    present: usize,
    /// Places of the engine for files of this set, where they come and go; empty if all stay open.
    places: Vec<Place>,
    how: OpenHow,
    priority: u16,
}

/// One file of a set.
#[derive(Debug)]
struct SetFile {
    target: ReadyTarget,
    /// Its operations; with the stream while it is the present one.
    sequence: Option<Sequence>,
    /// Index of its file among those of the engine, while it has one.
    file: Option<u16>,
    priorities: Option<Box<Priorities>>,
    in_flight: u32,
}

/// A place of the engine that files of a set take in turn.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: u16,
    occupant: usize,
}

/// What a set answers to the question for another operation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FromSet {
    Operation(Operation),
    /// Not before something in flight has ended.
    Wait,
    PassOver,
}

impl FileSet {
    /// A set with the sequences of all its files. Returns it without the sequence of the first, which goes to the stream.
    pub(crate) fn new(
        mut choice: FileChoice,
        mut sequences: Vec<Sequence>,
        targets: Vec<ReadyTarget>,
        opened: &OpenedStream,
    ) -> (FileSet, Sequence) {
        let first = sequences.remove(0);
        let others = std::iter::once(None).chain(sequences.into_iter().map(Some));
        let files = targets.into_iter().zip(others).enumerate();
        let files: Vec<SetFile> = files
            .map(|(number, (target, sequence))| SetFile {
                target,
                sequence,
                file: opened.files.get(number).copied(),
                priorities: opened.priorities_of(number, &[]),
                in_flight: 0,
            })
            .collect();
        let come_and_go = opened.files.len() < files.len();
        let mut places = Vec::new();
        for (occupant, file) in opened.files.iter().enumerate() {
            if come_and_go {
                places.push(Place { file: *file, occupant });
            } else {
                choice.opened(occupant);
            }
        }
        let set = FileSet {
            choice,
            files,
            present: 0,
            places,
            how: opened.how,
            priority: opened.priority,
        };
        (set, first)
    }

    /// The file that operations go to at present.
    pub(crate) fn present(&self) -> usize {
        self.present
    }

    /// The operation that was chosen last will not be issued.
    pub(crate) fn passed_over(&mut self) {
        if self.exchanges_files() {
            self.files[self.present].in_flight -= 1;
        }
    }

    /// Files are opened and closed while the worker runs.
    pub(crate) fn exchanges_files(&self) -> bool {
        !self.places.is_empty()
    }

    /// Bytes of memory that the patterns of all files but the present one hold.
    pub(crate) fn extra_bytes(&self) -> u64 {
        self.files
            .iter()
            .flat_map(|file| &file.sequence)
            .map(Sequence::extra_bytes)
            .sum()
    }

    /// An operation on a file of the engine has ended.
    pub(crate) fn completed(&mut self, file: u16) {
        if let Some(place) = self.places.iter().find(|place| place.file == file) {
            self.files[place.occupant].in_flight -= 1;
        }
    }

    /// Closes files that are done and idle: they count as open no longer, and their places may be had. True if some were.
    fn close_idle(&mut self) -> bool {
        let idle: Vec<usize> = self
            .choice
            .open_and_done()
            .filter(|file| self.exchanges_files() && self.files[*file].in_flight == 0)
            .collect();
        idle.iter().for_each(|file| self.choice.closed(*file));
        !idle.is_empty()
    }

    /// A place for a file that is to be opened: its own if it still has one, else that of one that counts as closed.
    fn place_for(&self, file: usize) -> Option<usize> {
        let own = self.places.iter().position(|place| place.occupant == file);
        own.or_else(|| {
            let used = |place: &Place| self.choice.open().any(|open| open == place.occupant);
            let in_flight = |place: &Place| self.files[place.occupant].in_flight > 0;
            self.places
                .iter()
                // The file to be opened counts as open already; it has no place.
                .position(|place| !used(place) && !in_flight(place))
        })
    }

    /// Sees to it that some place may be had for a file, if need be by closing one that is idle. False if all are busy.
    fn make_room_for(&mut self, file: usize) -> bool {
        if self.place_for(file).is_some() {
            return true;
        }
        let idle = self
            .places
            .iter()
            .find(|place| self.files[place.occupant].in_flight == 0);
        let idle = idle.map(|place| place.occupant);
        idle.into_iter().for_each(|occupant| self.choice.closed(occupant));
        idle.is_some()
    }

    /// Begins another pass over all files.
    fn restart(&mut self, draws: &mut model::draws::Draws) {
        self.choice.restart();
        for file in self.files.iter_mut().flat_map(|file| &mut file.sequence) {
            file.restart(draws);
        }
    }
}

impl LiveStream {
    /// Begins another pass.
    pub(crate) fn restart(&mut self, draws: &mut model::draws::Draws) {
        self.sequence.restart(draws);
        if let Some(set) = &mut self.set {
            set.restart(draws);
        }
    }

    /// Makes a file of the set the present one.
    pub(crate) fn turn_to(&mut self, number: usize) {
        let Some(set) = &mut self.set else { return };
        if set.present != number
            && let Some(sequence) = set.files[number].sequence.take()
        {
            let before = std::mem::replace(&mut self.sequence, sequence);
            set.files[set.present].sequence = Some(before);
            // Shares go on where they were: they are those of the stream.
            if let Some((priorities, files)) = self.priorities.as_mut().zip(set.files[number].priorities.as_ref()) {
                priorities.on(files);
            }
            set.present = number;
        }
        self.file = set.files[number].file.unwrap_or(self.file);
    }
}

impl Worker<'_> {
    /// The next operation of a stream with a set of files.
    #[inline(never)]
    pub(crate) fn next_of_set(&mut self, number: usize, slot: u32, direction: Option<Direction>) -> FromSet {
        let mut passed_over = 0;
        loop {
            let stream = &mut self.io.streams[number];
            let Some(set) = &mut stream.set else {
                return FromSet::PassOver;
            };
            let file = match set.choice.next(&mut self.io.draws) {
                NextFile::Use(file) => file,
                NextFile::Open(file) => {
                    if let Err(failure) = self.open_in_set(number, file) {
                        self.fail(*failure);
                        return FromSet::Wait;
                    }
                    file
                }
                NextFile::Wait if set.close_idle() => continue,
                NextFile::Wait => return FromSet::Wait,
                NextFile::AllDone => return FromSet::PassOver,
            };
            let stream = &mut self.io.streams[number];
            stream.turn_to(file);
            let operation = match direction {
                Some(_) => stream.sequence.next(&mut self.io.draws, slot, direction),
                None => stream.sequence.take(&mut self.io.draws, slot, 1).first().copied(),
            };
            let Some(set) = &mut stream.set else {
                return FromSet::PassOver;
            };
            if let Some(operation) = operation {
                set.files[file].in_flight += u32::from(set.exchanges_files());
                return FromSet::Operation(operation);
            }
            set.choice.is_done(file);
            if set.choice.goes_on() {
                passed_over += 1;
                stream.sequence.restart(&mut self.io.draws);
                // So often in a row: no file holds even one block.
                if passed_over > 64 * set.files.len() {
                    return FromSet::PassOver;
                }
            } else {
                set.close_idle();
            }
        }
    }

    /// Opens a file of a set, closing one that counts as closed already.
    fn open_in_set(&mut self, number: usize, file: usize) -> Result<(), Box<Failure>> {
        let stream = &mut self.io.streams[number];
        let Some(set) = &mut stream.set else { return Ok(()) };
        if !set.exchanges_files() {
            return Ok(());
        }
        // While a file waits to be opened there is room for it: some place is taken by one that counts as closed.
        let Some(place) = set.place_for(file) else {
            return Ok(());
        };
        let Place { file: index, occupant } = set.places[place];
        if occupant == file {
            return Ok(());
        }
        let failed = |error: String, errno: Option<i32>, at: &ReadyTarget| {
            Box::new(Failure {
                what: format!("the next file of the set cannot be used: {error}"),
                at: at.name(),
                errno,
                operation: None,
                help: None,
            })
        };
        let sync = &self.context.plan.streams[number].sync;
        if sync.on_close {
            flush(&set.files[occupant].target, sync.kind)?;
        }
        let target = set.files[file].target.clone();
        let target = &target;
        let mut exchange = |with: File| {
            let exchanged = self.io.engine.exchange_file(index, with);
            exchanged.map_err(|error| failed(error.to_string(), error.errno(), target))
        };
        // One is closed before the other is opened: not even for a moment may there be more.
        exchange(File::nothing(0))?;
        let mut with = open_target(target, set.how, self.context.plan.engine.kind)
            .map_err(|error| failed(error.to_string(), error.source.raw_os_error(), target))?;
        with.set_priority(set.priority)
            .map_err(|error| failed(error.to_string(), error.raw_os_error(), target))?;
        self.io.errors.files[usize::from(index)] = crate::worker::setup::for_messages(&with);
        exchange(with)?;
        set.files[occupant].file = None;
        set.files[file].file = Some(index);
        set.places[place].occupant = file;
        let id = self.context.plan.streams[number].target.ids()[file].0;
        if let Some(locks) = &mut self.features.locks {
            locks.exchange(index, id, &target.lock);
        }
        self.trace_closed(index);
        self.trace_takes_place(index, id);
        self.trace_opened(index);
        Ok(())
    }

    /// Index of the file that a block is read back from, opened for that if need be; `None` while all places are busy.
    pub(crate) fn file_to_read(&mut self, number: usize, file: usize) -> Result<Option<u16>, Box<Failure>> {
        let stream = &mut self.io.streams[number];
        let Some(set) = &mut stream.set else {
            return Ok(Some(stream.file));
        };
        if !set.exchanges_files() {
            return Ok(set.files[file].file);
        }
        if !set.make_room_for(file) {
            return Ok(None);
        }
        self.open_in_set(number, file)?;
        let Some(set) = &mut self.io.streams[number].set else {
            return Ok(None);
        };
        set.choice.opened(file);
        set.files[file].in_flight += 1;
        Ok(set.files[file].file)
    }

    /// Flushes the files of a set that the engine does not hold at the end of the job.
    pub(crate) fn flush_closed_files(&self, number: usize) -> Result<(), Box<Failure>> {
        let kind = self.context.plan.streams[number].sync.kind;
        if let Some(replay) = &self.io.streams[number].replay {
            return replay.closed().try_for_each(|target| flush(target, kind));
        }
        let Some(set) = &self.io.streams[number].set else {
            return Ok(());
        };
        let closed = set.files.iter().filter(|file| file.file.is_none());
        closed.into_iter().try_for_each(|file| flush(&file.target, kind))
    }

    /// Files of the engine that a stream has open.
    pub(crate) fn open_files_of(&self, number: usize) -> Vec<u16> {
        let stream = &self.io.streams[number];
        if let Some(replay) = &stream.replay {
            return replay.open_places();
        }
        match &stream.set {
            None => vec![stream.file],
            Some(set) => set.files.iter().filter_map(|file| file.file).collect(),
        }
    }

    /// Sets must hear of what has ended, so that they know which of their files are idle.
    #[inline(never)]
    pub(crate) fn notify_file_sets(&mut self) {
        for completion in self.io.batch.done.iter() {
            let record = self.io.slots.get(completion.slot);
            if record.length == 0 {
                // A flush, which nobody has counted.
                continue;
            }
            if let Some(set) = &mut self.io.streams[record.stream as usize].set {
                set.completed(record.file);
            }
        }
    }
}

/// Flushes a file by its path.
pub(crate) fn flush(target: &ReadyTarget, kind: FlushKind) -> Result<(), Box<Failure>> {
    let crate::worker::ReadyKind::Path(path) = &target.what else {
        return Ok(());
    };
    let flushed = std::fs::File::open(path).and_then(|file| match kind {
        FlushKind::Full => file.sync_all(),
        FlushKind::Data => file.sync_data(),
    });
    flushed.map_err(|error| {
        Box::new(Failure {
            what: format!("a flush before closing failed: {error}"),
            at: path.display().to_string(),
            errno: error.raw_os_error(),
            operation: None,
            help: None,
        })
    })
}
