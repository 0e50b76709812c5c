//! A stream whose operations come from a trace: each is tags out when it is due, on the file that it names, and files are
//! opened and closed where the trace says so.

use engine::{Action, File, OpenHow, Slot};
use model::plan::{FlushKind, Stream};
use model::results::Failure;
use model::trace::{Entry, What};
use model::{Direction, Nanos, PerDirection};

use crate::trace_source::{Next, TraceSource};
use crate::worker::features::file_set::flush;
use crate::worker::setup::files::{OpenedStream, open_target};
use crate::worker::stream::Ready;
use crate::worker::{ReadyTarget, Worker};

/// How long a worker that has caught up with the reader of its trace lets it go on.
const CATCH_UP: Nanos = Nanos::micros(20);

/// A trace while it is tags out.
#[derive(Debug)]
pub(crate) struct Replay {
    source: TraceSource,
    files: Vec<ReplayedFile>,
    how: OpenHow,
    /// The longest operation of each direction that there is room for; 0 where none was expected.
    longest: PerDirection<u32>,
    /// Flushes are expected.
    flushes: bool,
    start: Nanos,
    /// When the entry before the present one was tags out; times between entries count from there.
    last: Nanos,
    /// The present entry was waited for, so that it counts as tags out when it was due.
    waited: bool,
    /// Nothing more comes.
    pub(crate) over: bool,
    /// Times that the worker had to wait for the reader.
    pub(crate) waits: u64,
}

/// A file of a trace.
#[derive(Debug)]
struct ReplayedFile {
    target: ReadyTarget,
    /// Its place among the files of the engine.
    place: u16,
    open: bool,
    /// It is closed when nothing is in flight on it.
    closing: bool,
    in_flight: u32,
}

/// What is to be done now.
enum Due {
    This(Entry),
    Later,
    Over,
}

impl Replay {
    pub(crate) fn new(
        source: TraceSource,
        stream: &Stream,
        targets: impl Iterator<Item = ReadyTarget>,
        opened: &OpenedStream,
    ) -> Replay {
        let files = targets.zip(&opened.files).map(|(target, place)| ReplayedFile {
            target,
            place: *place,
            open: false,
            closing: false,
            in_flight: 0,
        });
        let mut longest = PerDirection::default();
        for direction in Direction::ALL.into_iter().filter(|of| stream.mix.includes(*of)) {
            longest[direction] = stream.pattern.longest_of(direction).0.min(u64::from(u32::MAX)) as u32;
        }
        Replay {
            source,
            files: files.collect(),
            how: opened.how,
            longest,
            flushes: stream.replay.as_ref().is_some_and(|replay| replay.flushes),
            start: Nanos(0),
            last: Nanos(0),
            waited: false,
            over: false,
            waits: 0,
        }
    }

    /// The trace begins.
    pub(crate) fn start(&mut self, at: Nanos) {
        (self.start, self.last) = (at, at);
    }

    fn due(&self, entry: &Entry) -> Nanos {
        match entry.what {
            What::WaitUntil(time) => self.start + time,
            _ => self.last + entry.gap,
        }
    }

    /// The present entry was tags out.
    fn done(&mut self, entry: &Entry, now: Nanos) {
        // Waking up a little late must not add up over a long trace.
        self.last = if self.waited { self.due(entry) } else { now };
        self.waited = false;
        self.source.advance();
    }

    /// True if the trace was expected to hold this.
    fn expects(&self, entry: &Entry) -> bool {
        let known = (entry.file as usize) < self.files.len();
        known
            && match entry.what {
                What::Move(operation) => operation.length <= self.longest[operation.direction],
                What::Flush { .. } => self.flushes,
                What::Open | What::Close | What::WaitUntil(_) => true,
            }
    }

    /// Numbers of files that can be closed now.
    fn idle_and_closing(&self) -> Option<usize> {
        self.files.iter().position(|file| file.closing && file.in_flight == 0)
    }

    /// Files that are open.
    pub(crate) fn open_places(&self) -> Vec<u16> {
        let open = self.files.iter().filter(|file| file.open);
        open.map(|file| file.place).collect()
    }

    /// Files that are not open.
    pub(crate) fn closed(&self) -> impl Iterator<Item = &ReadyTarget> {
        self.files.iter().filter(|file| !file.open).map(|file| &file.target)
    }
}

impl Worker<'_> {
    /// Carries out entries of a trace up to the first that takes a slot. False if none may do so now.
    #[inline(never)]
    pub(crate) fn issue_from_trace(&mut self, pool: usize, slot: Slot) -> bool {
        let number = self.io.pools[pool].streams.start;
        loop {
            let entry = match self.due_of_trace(number) {
                Due::This(entry) => entry,
                Due::Later => return false,
                Due::Over => return self.trace_ended(number),
            };
            let now = self.io.batch.reaped;
            let stream = &mut self.io.streams[number];
            let Some(replay) = &mut stream.replay else {
                return false;
            };
            let file = entry.file as usize;
            let taken = match entry.what {
                What::WaitUntil(_) => false,
                What::Open => {
                    if let Err(failure) = self.open_for_trace(number, file) {
                        self.fail(*failure);
                        return false;
                    }
                    false
                }
                What::Close => {
                    replay.files[file].closing = true;
                    if let Err(failure) = self.close_for_trace(number) {
                        self.fail(*failure);
                        return false;
                    }
                    false
                }
                What::Flush { data_only } => {
                    replay.files[file].in_flight += 1;
                    stream.file = replay.files[file].place;
                    let action = if data_only { Action::FlushData } else { Action::Flush };
                    self.flush_for_trace(pool, number, slot, action);
                    true
                }
                What::Move(operation) => {
                    stream.file = replay.files[file].place;
                    replay.files[file].in_flight += 1;
                    if self.features.overlap.is_some() && self.must_wait(pool, number, &operation, now) {
                        // It is kept for later there.
                        self.entry_done(number, &entry, now);
                        return false;
                    }
                    self.issue_one(pool, number, slot, &operation, now)
                }
            };
            self.entry_done(number, &entry, now);
            if taken {
                return true;
            }
        }
    }

    fn entry_done(&mut self, number: usize, entry: &Entry, now: Nanos) {
        if let Some(replay) = &mut self.io.streams[number].replay {
            replay.done(entry, now);
        }
    }

    /// The entry that is due now, if there is one.
    fn due_of_trace(&mut self, number: usize) -> Due {
        let now = self.io.batch.reaped;
        if let Some(gate) = &mut self.io.streams[number].gate {
            match gate.ready(now, &mut self.io.draws) {
                Ready::Now(..) => {}
                Ready::At(later) => {
                    self.io.pacing.next_due = self.io.pacing.next_due.min(later);
                    return Due::Later;
                }
                Ready::Spin => {
                    self.io.pacing.next_due = now;
                    return Due::Later;
                }
            }
        }
        let entry = loop {
            let Some(replay) = &mut self.io.streams[number].replay else {
                return Due::Over;
            };
            match replay.source.peek() {
                Next::Entry(entry) => break entry,
                Next::End => return Due::Over,
                Next::NotYet => {
                    replay.waits += 1;
                    if self.io.in_flight == 0 && self.io.requests.is_empty() {
                        // Nobody's latency grows by this; a simulated clock stands still meanwhile.
                        std::thread::sleep(std::time::Duration::from_nanos(CATCH_UP.0));
                        self.features.stalled_on_log = true;
                        if self.context.control.stop_requested().is_none() {
                            continue;
                        }
                    }
                    self.io.pacing.next_due = now + CATCH_UP;
                    return Due::Later;
                }
            }
        };
        let Some(replay) = &mut self.io.streams[number].replay else {
            return Due::Over;
        };
        if !replay.expects(&entry) {
            self.trace_broke_off("it has changed since it was looked at first");
            return Due::Later;
        }
        let due = replay.due(&entry);
        if due > now {
            replay.waited = true;
            self.io.pacing.next_due = self.io.pacing.next_due.min(due);
            return Due::Later;
        }
        Due::This(entry)
    }

    fn trace_ended(&mut self, number: usize) -> bool {
        let Some(replay) = &mut self.io.streams[number].replay else {
            return false;
        };
        replay.over = true;
        match replay.source.error() {
            None => self.pass_ended(number),
            Some(error) => {
                self.trace_broke_off(&error);
                false
            }
        }
    }

    fn trace_broke_off(&mut self, why: &str) {
        let replays = self
            .context
            .plan
            .streams
            .iter()
            .filter_map(|stream| stream.replay.as_ref());
        let at = replays.map(|replay| replay.trace.clone()).next().unwrap_or_default();
        self.fail(Failure {
            what: format!("the trace cannot be tags out to its end: {why}"),
            at,
            errno: None,
            operation: None,
            help: Some("nothing may change a trace while it is tags out".into()),
        });
    }

    fn flush_for_trace(&mut self, pool: usize, number: usize, slot: Slot, action: Action) {
        self.queue_flush(pool, number, slot, action);
        if let Some(gate) = &mut self.io.streams[number].gate {
            gate.issued_beside();
        }
    }

    fn open_for_trace(&mut self, number: usize, file: usize) -> Result<(), Box<Failure>> {
        let Some(replay) = &mut self.io.streams[number].replay else {
            return Ok(());
        };
        let how = replay.how;
        let played = &mut replay.files[file];
        played.closing = false;
        if played.open {
            return Ok(());
        }
        played.open = true;
        let (place, target) = (played.place, played.target.clone());
        let with = open_target(&target, how, self.context.plan.engine.kind)
            .map_err(|error| failed(&target, error.to_string(), error.source.raw_os_error()))?;
        self.io.errors.files[usize::from(place)] = crate::worker::setup::for_messages(&with);
        self.io
            .engine
            .exchange_file(place, with)
            .map_err(|error| failed(&target, error.to_string(), error.errno()))?;
        self.trace_opened(place);
        Ok(())
    }

    /// Closes what was to be closed and is not in use any more.
    pub(crate) fn close_for_trace(&mut self, number: usize) -> Result<(), Box<Failure>> {
        let sync = &self.context.plan.streams[number].sync;
        while let Some(replay) = &mut self.io.streams[number].replay
            && let Some(file) = replay.idle_and_closing()
        {
            let played = &mut replay.files[file];
            (played.open, played.closing) = (false, false);
            let (place, target) = (played.place, played.target.clone());
            if sync.on_close {
                flush(&target, FlushKind::Full)?;
            }
            self.io
                .engine
                .exchange_file(place, File::nothing(0))
                .map_err(|error| failed(&target, error.to_string(), error.errno()))?;
            self.trace_closed(place);
        }
        Ok(())
    }

    /// An operation on a file of a trace has ended.
    pub(crate) fn notify_replay(&mut self, number: usize, place: u16) {
        let Some(replay) = &mut self.io.streams[number].replay else {
            return;
        };
        let file = replay.files.iter_mut().find(|file| file.place == place);
        let Some(file) = file else { return };
        file.in_flight -= 1;
        if file.closing
            && file.in_flight == 0
            && let Err(failure) = self.close_for_trace(number)
        {
            self.fail(*failure);
        }
    }
}

fn failed(at: &ReadyTarget, error: String, errno: Option<i32>) -> Box<Failure> {
    Box::new(Failure {
        what: format!("a file of the trace cannot be used: {error}"),
        at: at.name(),
        errno,
        operation: None,
        help: None,
    })
}
