//! Streams whose operations come from a trace. Each entry is replayed when due, on its file. Files
//! are opened and closed as in the trace.

use std::sync::Arc;

use engine::{Action, File, OpenOptions};
use model::plan::{EngineKind, FlushKind, Stream, SyncRule};
use model::results::Failure;
use model::sequence::Operation;
use model::trace::{Entry, EntryAction};
use model::{Nanos, PerDirection};

use super::{FileWatchers, flush};
use crate::control::JobControl;
use crate::setup_error::SetupError;
use crate::trace_source::{NextEntry, TraceSource};
use crate::worker::ReadyTarget;
use crate::worker::errors::FileLabel;
use crate::worker::io_loop::IoLoop;
use crate::worker::setup::{Assignment, OpenedFiles, OpenedStream, open_target};

/// Sleep time of a worker that has caught up with the reader of its trace.
const READER_WAIT: Nanos = Nanos::micros(20);

/// The traces of a worker's streams.
#[derive(Debug)]
pub(crate) struct Replay {
    streams: Vec<Option<StreamReplay>>,
}

impl Replay {
    pub(crate) fn from_plan(assignment: &Assignment<'_>, opened: &OpenedFiles) -> Result<Option<Replay>, SetupError> {
        let plan = assignment.worker;
        let streams = plan.streams.iter().zip(&opened.streams).map(|(stream, opened)| {
            let Some(replay) = &stream.replay else { return Ok(None) };
            let failed = |source| SetupError::Trace {
                path: replay.trace.clone(),
                source,
            };
            let source = TraceSource::open(replay, assignment.job.workers.len()).map_err(failed)?;
            Ok(Some(StreamReplay::new(assignment, stream, source, opened)))
        });
        let streams = streams.collect::<Result<Vec<_>, SetupError>>()?;
        Ok(streams.iter().any(Option::is_some).then_some(Replay { streams }))
    }

    /// The traces begin at `start`.
    pub(super) fn schedule(&mut self, start: Nanos) {
        for stream in self.streams.iter_mut().flatten() {
            (stream.start, stream.last) = (start, start);
        }
    }

    /// Replays entries of a stream's trace up to the first that needs a slot.
    pub(super) fn next(&mut self, io: &mut IoLoop, watchers: &mut FileWatchers, number: usize) -> DueEntry {
        if io.pass_gate(number).is_none() {
            return DueEntry::Later;
        }
        match &mut self.streams[number] {
            Some(stream) => stream.next(io, watchers, number),
            None => DueEntry::Over,
        }
    }

    /// Closes idle files that the trace has closed.
    pub(super) fn after_reaping(&mut self, io: &mut IoLoop, watchers: &mut FileWatchers) {
        for index in 0..io.batch.done.len() {
            let record = *io.slots.get(io.batch.done[index].slot);
            if let Some(stream) = &mut self.streams[record.stream as usize] {
                stream.on_completed(io, watchers, record.file);
            }
        }
    }

    /// True if a trace was replayed to its end.
    pub(crate) fn is_over(&self) -> bool {
        self.streams.iter().flatten().any(|stream| stream.over)
    }

    /// Files of the engine that a stream has open.
    pub(super) fn open_files(&self, number: usize) -> Vec<u16> {
        let files = self.streams[number].iter().flat_map(|stream| &stream.files);
        files.filter(|file| file.open).map(|file| file.place).collect()
    }

    /// Files of a stream that are not open.
    pub(super) fn closed_files(&self, number: usize) -> Vec<&ReadyTarget> {
        let files = self.streams[number].iter().flat_map(|stream| &stream.files);
        files.filter(|file| !file.open).map(|file| &file.target).collect()
    }

    /// True if the worker has waited for a trace's reader since the last call.
    pub(super) fn take_stalls(&mut self) -> bool {
        let streams = self.streams.iter_mut().flatten();
        streams.fold(false, |any, stream| any | std::mem::take(&mut stream.stalled))
    }

    /// How often the worker waited for the reader of a trace.
    pub(super) fn wait_count(&self) -> u64 {
        self.streams.iter().flatten().map(|stream| stream.waits).sum()
    }
}

/// A trace while it is replayed.
#[derive(Debug)]
struct StreamReplay {
    source: TraceSource,
    /// Path of the trace.
    path: String,
    files: Vec<ReplayedFile>,
    options: OpenOptions,
    engine: EngineKind,
    sync: SyncRule,
    /// The maximum length of each direction's operations; 0 if none were expected.
    longest: PerDirection<u32>,
    /// Flushes are expected.
    flushes: bool,
    start: Nanos,
    /// When the previous entry was replayed. The gap to the next entry is measured from then.
    last: Nanos,
    /// The current entry was awaited, so it counts as replayed at its due time.
    waited: bool,
    /// The trace has ended.
    over: bool,
    /// How often the worker had to wait for the reader.
    waits: u64,
    /// Whether the worker slept since the last check.
    stalled: bool,
    control: Arc<JobControl>,
}

/// A file of a trace.
#[derive(Debug)]
struct ReplayedFile {
    target: ReadyTarget,
    /// Index among the files of the engine.
    place: u16,
    open: bool,
    /// It is closed when nothing is in flight on it.
    closing: bool,
    in_flight: u32,
}

/// The due entry of a trace.
pub(super) enum DueEntry {
    Flush(Action),
    Move(Operation),
    Later,
    /// The trace has ended.
    Over,
}

impl StreamReplay {
    fn new(assignment: &Assignment<'_>, stream: &Stream, source: TraceSource, opened: &OpenedStream) -> StreamReplay {
        let ids = stream.target.ids().iter();
        let targets = ids.map(|id| assignment.targets[id.0 as usize].clone());
        let files = targets.zip(&opened.files).map(|(target, place)| ReplayedFile {
            target,
            place: *place,
            open: false,
            closing: false,
            in_flight: 0,
        });
        let mut longest = PerDirection::default();
        for direction in stream.mix.directions() {
            longest[direction] = stream.pattern.longest_in(direction).0.min(u64::from(u32::MAX)) as u32;
        }
        StreamReplay {
            source,
            path: stream
                .replay
                .as_ref()
                .map_or(String::new(), |replay| replay.trace.clone()),
            files: files.collect(),
            options: opened.options,
            engine: assignment.worker.engine.kind,
            sync: stream.sync,
            longest,
            flushes: stream.replay.as_ref().is_some_and(|replay| replay.flushes),
            start: Nanos(0),
            last: Nanos(0),
            waited: false,
            over: false,
            waits: 0,
            stalled: false,
            control: Arc::clone(assignment.control),
        }
    }

    fn due_time(&self, entry: &Entry) -> Nanos {
        match entry.what {
            EntryAction::WaitUntil(time) => self.start + time,
            _ => self.last + entry.gap,
        }
    }

    /// Completes the current entry.
    fn finish(&mut self, entry: &Entry, now: Nanos) {
        // Wake-up delays must not accumulate over a long trace.
        self.last = if self.waited { self.due_time(entry) } else { now };
        self.waited = false;
        self.source.advance();
    }

    /// True if the survey of the trace expected this entry.
    fn expects(&self, entry: &Entry) -> bool {
        let has_file = (entry.file as usize) < self.files.len();
        has_file
            && match entry.what {
                EntryAction::Move(operation) => operation.length <= self.longest[operation.direction],
                EntryAction::Flush { .. } => self.flushes,
                EntryAction::Open | EntryAction::Close | EntryAction::WaitUntil(_) => true,
            }
    }

    /// Replays entries up to the first that needs a slot.
    fn next(&mut self, io: &mut IoLoop, watchers: &mut FileWatchers, number: usize) -> DueEntry {
        loop {
            let entry = match self.due_entry(io) {
                Ok(entry) => entry,
                Err(due) => return due,
            };
            let now = io.batch.reap_time;
            let file = entry.file as usize;
            let outcome = match entry.what {
                EntryAction::WaitUntil(_) => Ok(None),
                EntryAction::Open => self.open(io, watchers, file).map(|()| None),
                EntryAction::Close => {
                    self.files[file].closing = true;
                    self.close_idle(io, watchers).map(|()| None)
                }
                EntryAction::Flush { data_only: true } => Ok(Some(DueEntry::Flush(Action::FlushData))),
                EntryAction::Flush { data_only: false } => Ok(Some(DueEntry::Flush(Action::Flush))),
                EntryAction::Move(operation) => Ok(Some(DueEntry::Move(operation))),
            };
            let due = match outcome {
                Ok(due) => due,
                Err(failure) => {
                    io.fail(*failure);
                    return DueEntry::Later;
                }
            };
            self.finish(&entry, now);
            if let Some(due) = due {
                self.files[file].in_flight += 1;
                io.streams[number].file = self.files[file].place;
                return due;
            }
        }
    }

    /// The due entry, or what to do without one.
    fn due_entry(&mut self, io: &mut IoLoop) -> Result<Entry, DueEntry> {
        let now = io.batch.reap_time;
        let entry = loop {
            match self.source.peek() {
                NextEntry::Entry(entry) => break entry,
                NextEntry::End => {
                    self.over = true;
                    let Some(error) = self.source.error() else {
                        return Err(DueEntry::Over);
                    };
                    self.fail(io, &error);
                    return Err(DueEntry::Later);
                }
                NextEntry::NotYet => {
                    self.waits += 1;
                    if io.in_flight == 0 && io.requests.is_empty() {
                        // This affects no latency; a simulated clock does not advance meanwhile.
                        std::thread::sleep(std::time::Duration::from_nanos(READER_WAIT.0));
                        self.stalled = true;
                        if self.control.stop_requested().is_none() {
                            continue;
                        }
                    }
                    io.pacing.next_due = now + READER_WAIT;
                    return Err(DueEntry::Later);
                }
            }
        };
        if !self.expects(&entry) {
            self.fail(io, "the trace file changed after the test started");
            return Err(DueEntry::Later);
        }
        let due = self.due_time(&entry);
        if due > now {
            self.waited = true;
            io.pacing.next_due = io.pacing.next_due.min(due);
            return Err(DueEntry::Later);
        }
        Ok(entry)
    }

    fn fail(&self, io: &mut IoLoop, why: &str) {
        io.fail(Failure {
            help: Some("do not change a trace during its replay".into()),
            ..Failure::new(format!("cannot replay the trace to its end: {why}"), self.path.clone())
        });
    }

    fn open(&mut self, io: &mut IoLoop, watchers: &mut FileWatchers, file: usize) -> Result<(), Box<Failure>> {
        let replayed = &mut self.files[file];
        replayed.closing = false;
        if replayed.open {
            return Ok(());
        }
        replayed.open = true;
        let (place, target) = (replayed.place, &replayed.target);
        let opened = open_target(target, self.options, self.engine)
            .map_err(|error| trace_failure(target, error.to_string(), error.source.raw_os_error()))?;
        io.errors.files[usize::from(place)] = FileLabel::from(&opened);
        io.engine
            .exchange_file(place, opened)
            .map_err(|error| trace_failure(target, error.to_string(), error.errno()))?;
        watchers.on_opened(io, place);
        Ok(())
    }

    /// Closes files that the trace has closed and that are idle.
    fn close_idle(&mut self, io: &mut IoLoop, watchers: &mut FileWatchers) -> Result<(), Box<Failure>> {
        let idle = |file: &&mut ReplayedFile| file.closing && file.in_flight == 0;
        while let Some(replayed) = self.files.iter_mut().find(idle) {
            (replayed.open, replayed.closing) = (false, false);
            if self.sync.on_close {
                flush(&replayed.target, FlushKind::Full)?;
            }
            io.engine
                .exchange_file(replayed.place, File::placeholder(0))
                .map_err(|error| trace_failure(&replayed.target, error.to_string(), error.errno()))?;
            watchers.on_closed(io, replayed.place);
        }
        Ok(())
    }

    /// Counts a completion on one of the files.
    fn on_completed(&mut self, io: &mut IoLoop, watchers: &mut FileWatchers, place: u16) {
        let file = self.files.iter_mut().find(|file| file.place == place);
        let Some(file) = file else { return };
        file.in_flight -= 1;
        if file.closing
            && file.in_flight == 0
            && let Err(failure) = self.close_idle(io, watchers)
        {
            io.fail(*failure);
        }
    }
}

fn trace_failure(at: &ReadyTarget, error: String, errno: Option<i32>) -> Box<Failure> {
    Box::new(Failure {
        errno,
        ..Failure::new(format!("cannot use a file of the trace: {error}"), at.name())
    })
}
