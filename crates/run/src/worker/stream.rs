//! A running stream: its next operation, and when it may be issued.

use std::path::PathBuf;

use engine::{Action, File, OpenOptions, sys};
use model::content::Filler;
use model::draws::{Draws, Purpose};
use model::observation::requested_read_percent;
use model::pace::Schedule;
use model::plan::{FlushKind, Pacing, Stream, SyncRule, Think, ThinkCount};
use model::sequence::{Operation, Sequence};
use model::{Direction, Nanos, PerDirection};

/// A stream while it runs.
#[derive(Debug)]
pub(crate) struct LiveStream {
    /// Positions, directions, lengths; for a set of files those of the current file.
    pub(crate) sequence: Sequence,
    /// Index of its file in the engine's list.
    pub(crate) file: u16,
    /// Cell for each direction; `None` for a direction that cannot occur.
    pub(crate) cells: PerDirection<u32>,
    /// Cell for flushes.
    pub(crate) sync_cell: u32,
    /// Fills write buffers; absent if they do not change from write to write.
    pub(crate) filler: Option<Filler>,
    /// Files whose cached pages are dropped before each pass.
    pub(crate) uncached: Vec<PathBuf>,
    /// Passes over its region so far.
    pub(crate) passes: u32,
    /// Nothing was issued in the current pass.
    pub(crate) idle_pass: bool,
    /// It has nothing more to do.
    pub(crate) done: bool,
    /// Pacing, pauses and flushes. Usually absent.
    pub(crate) gate: Option<Box<Gate>>,
}

impl LiveStream {
    /// Drops the pages of its files from the cache. As in fio, dirty pages stay.
    pub(crate) fn drop_caches(&self) {
        for path in &self.uncached {
            if let Ok(file) = File::open(path, OpenOptions::to_inspect(false))
                && let Some(handle) = file.handle()
            {
                sys::file::drop_cache(handle);
            }
        }
    }

    /// The next operation: one planned ahead, unless a schedule decides the direction.
    #[inline(always)]
    pub(crate) fn next(&mut self, draws: &mut Draws, slot: u32, direction: Option<Direction>) -> Option<Operation> {
        match direction {
            Some(_) => self.sequence.next(draws, slot, direction),
            None => self.sequence.take(draws, slot, 1).first().copied(),
        }
    }
}

/// Decides when a stream may issue, and its flushes.
#[derive(Debug)]
pub(crate) struct Gate {
    pacing: LivePacing,
    think: Option<Think>,
    /// Operations since the last pause.
    since_pause: u32,
    /// The start of I/O after the last pause.
    io_since: Nanos,
    /// A due pause begins when nothing is in flight.
    pause_when_idle: bool,
    /// No operation before this time.
    closed_until: Nanos,
    /// The part of the pause before this time is spent spinning.
    spin_until: Nanos,
    /// The strongest flush comes first.
    flushes: Vec<FlushEvery>,
    in_flight: u32,
}

#[derive(Debug)]
enum LivePacing {
    Unpaced,
    /// With the share of each direction.
    Together(Schedule, PerDirection<f64>),
    /// The schedules, and a direction without one.
    PerDirection(PerDirection<Option<Schedule>>, Option<Direction>),
}

#[derive(Debug)]
struct FlushEvery {
    action: Action,
    writes: u32,
    since: u32,
}

/// Whether a stream may issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// It may issue an operation now, which was due at this time. The direction is present if the
    /// schedule decides it.
    Now(Nanos, Option<Direction>),
    /// Not before this time; [`Nanos::NEVER`] if only a completion can change that.
    At(Nanos),
    /// Not yet, and the thread must not sleep until then.
    Spin,
}

impl Gate {
    /// The gate of a stream whose I/O starts at `start`. `None` if nothing ever delays it.
    pub(crate) fn new(stream: &Stream, start: Nanos, draws: &mut Draws) -> Option<Box<Gate>> {
        let pacing = match &stream.pacing {
            Pacing::Unpaced => LivePacing::Unpaced,
            Pacing::Together { rate } => {
                let schedule = Schedule::new(*rate, start, Purpose::GapRead, draws);
                let schedule = schedule.with_rate_profile(start, stream.rate_profile.as_ref());
                LivePacing::Together(schedule, direction_shares(stream))
            }
            Pacing::PerDirection { rates } => {
                let schedules = PerDirection::from_fn(|direction| {
                    rates[direction].map(|rate| Schedule::new(rate, start, gap_purpose(direction), draws))
                });
                let mut occurring = stream.mix.directions();
                LivePacing::PerDirection(schedules, occurring.find(|direction| rates[*direction].is_none()))
            }
        };
        let flushes = flush_rules(&stream.sync);
        if matches!(pacing, LivePacing::Unpaced) && stream.think.is_none() && flushes.is_empty() {
            return None;
        }
        Some(Box::new(Gate {
            pacing,
            think: stream.think,
            since_pause: 0,
            io_since: start,
            pause_when_idle: false,
            closed_until: Nanos(0),
            spin_until: Nanos(0),
            flushes,
            in_flight: 0,
        }))
    }

    /// The due time of the next operation, if one schedule decides it for all directions.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        match &self.pacing {
            LivePacing::Together(schedule, _) => Some(schedule.due()),
            LivePacing::Unpaced | LivePacing::PerDirection(..) => None,
        }
    }

    /// Decides whether the stream may issue at `now`.
    pub(crate) fn check_ready(&mut self, now: Nanos, draws: &mut Draws) -> Ready {
        if self.pause_when_idle {
            return Ready::At(Nanos::NEVER);
        }
        if now < self.spin_until {
            return Ready::Spin;
        }
        if now < self.closed_until {
            return Ready::At(self.closed_until);
        }
        match &mut self.pacing {
            LivePacing::Unpaced => Ready::Now(now, None),
            LivePacing::Together(schedule, _) => {
                schedule.limit_backlog(now, draws);
                if schedule.due() <= now {
                    Ready::Now(schedule.due(), None)
                } else {
                    Ready::At(schedule.due())
                }
            }
            LivePacing::PerDirection(schedules, unpaced) => {
                let mut first: Option<(Nanos, Direction)> = None;
                for direction in Direction::ALL {
                    if let Some(schedule) = &mut schedules[direction] {
                        schedule.limit_backlog(now, draws);
                        if first.is_none_or(|(due, _)| schedule.due() < due) {
                            first = Some((schedule.due(), direction));
                        }
                    }
                }
                match (first, *unpaced) {
                    (Some((due, direction)), _) if due <= now => Ready::Now(due, Some(direction)),
                    (_, Some(direction)) => Ready::Now(now, Some(direction)),
                    (Some((due, _)), None) => Ready::At(due),
                    (None, None) => Ready::Now(now, None),
                }
            }
        }
    }

    /// The due flush, if any. As in fio, the strongest one replaces several.
    pub(crate) fn flush_due(&mut self) -> Option<Action> {
        let mut due = None;
        for flush in self.flushes.iter_mut().filter(|flush| flush.since >= flush.writes) {
            flush.since = 0;
            due = due.or(Some(flush.action));
        }
        self.in_flight += u32::from(due.is_some());
        due
    }

    /// Records an operation issued at `now`.
    pub(crate) fn record_issue(&mut self, direction: Direction, length: u32, now: Nanos, draws: &mut Draws) {
        self.in_flight += 1;
        match &mut self.pacing {
            LivePacing::Unpaced => {}
            LivePacing::Together(schedule, _) => schedule.advance(length, draws),
            LivePacing::PerDirection(schedules, _) => {
                if let Some(schedule) = &mut schedules[direction] {
                    schedule.advance(length, draws);
                }
            }
        }
        if direction == Direction::Write {
            self.flushes.iter_mut().for_each(|flush| flush.since += 1);
        }
        if self.think.is_some_and(|think| think.count == ThinkCount::Issued) {
            self.count_towards_pause(now);
        }
    }

    /// Records an unscheduled operation: a read of verification.
    pub(crate) fn issued_unscheduled(&mut self) {
        self.in_flight += 1;
    }

    /// Records an operation that completed at `now`.
    pub(crate) fn record_completion(&mut self, now: Nanos) {
        self.in_flight -= 1;
        if self.think.is_some_and(|think| think.count == ThinkCount::Completed) {
            self.count_towards_pause(now);
        }
    }

    fn count_towards_pause(&mut self, now: Nanos) {
        let Some(think) = self.think else { return };
        self.since_pause += 1;
        let enough = think.operations > 0 && self.since_pause >= think.operations;
        let long_enough = think.after_ns.is_some_and(|time| now.since(self.io_since) >= time);
        if !(self.pause_when_idle || enough || long_enough) {
            return;
        }
        match think.count {
            ThinkCount::Issued => self.begin_pause(now, think),
            ThinkCount::Completed => {
                self.pause_when_idle = true;
                if self.in_flight == 0 {
                    self.begin_pause(now, think);
                }
            }
        }
    }

    fn begin_pause(&mut self, now: Nanos, think: Think) {
        (self.since_pause, self.pause_when_idle) = (0, false);
        self.closed_until = now + think.pause_ns;
        self.io_since = self.closed_until;
        self.spin_until = now + think.spin_ns.min(think.pause_ns);
        if think.shifts_schedule {
            match &mut self.pacing {
                LivePacing::Unpaced => {}
                LivePacing::Together(schedule, _) => schedule.shift(think.pause_ns),
                LivePacing::PerDirection(schedules, _) => {
                    for direction in Direction::ALL {
                        if let Some(schedule) = &mut schedules[direction] {
                            schedule.shift(think.pause_ns);
                        }
                    }
                }
            }
        }
    }

    /// Operations due before `end` that were never issued, for each direction.
    pub(crate) fn count_late(&self, end: Nanos) -> PerDirection<u64> {
        let count_lost = |schedule: &Schedule| schedule.overdue(end) + schedule.dropped();
        match &self.pacing {
            LivePacing::Unpaced => PerDirection::default(),
            LivePacing::Together(schedule, shares) => divide(count_lost(schedule), shares),
            LivePacing::PerDirection(schedules, _) => schedules.map(|schedule| schedule.as_ref().map_or(0, count_lost)),
        }
    }

    /// Calls `record` with the ages at `end` of the operations that were due before it but not
    /// issued, and the number of operations of each age.
    pub(crate) fn each_overdue(&self, end: Nanos, mut record: impl FnMut(Direction, Nanos, u64)) {
        match &self.pacing {
            LivePacing::Unpaced => {}
            LivePacing::Together(schedule, shares) => {
                let (mut seen, mut recorded) = (0, PerDirection::<u64>::default());
                for (age, count) in schedule.overdue_ages(end) {
                    seen += count;
                    for (direction, until_now) in divide(seen, shares).iter() {
                        let new = until_now - std::mem::replace(&mut recorded[direction], *until_now);
                        if new > 0 {
                            record(direction, age, new);
                        }
                    }
                }
            }
            LivePacing::PerDirection(schedules, _) => {
                let planned = schedules
                    .iter()
                    .filter_map(|(of, schedule)| Some((of, schedule.as_ref()?)));
                for (direction, schedule) in planned {
                    let ages = schedule.overdue_ages(end);
                    ages.for_each(|(age, count)| record(direction, age, count));
                }
            }
        }
    }
}

/// The share of each direction of a stream.
fn direction_shares(stream: &Stream) -> PerDirection<f64> {
    let reads = requested_read_percent(stream).unwrap_or(100.0) / 100.0;
    match stream.mix.includes(Direction::Write) {
        true => PerDirection::new(reads, 1.0 - reads, 0.0),
        false => PerDirection::new(reads, 0.0, 1.0 - reads),
    }
}

/// Divides the operations of a common schedule by the shares of the directions.
fn divide(operations: u64, shares: &PerDirection<f64>) -> PerDirection<u64> {
    let reads = (operations as f64 * shares.read).round() as u64;
    match shares.trim > 0.0 {
        true => PerDirection::new(reads, 0, operations - reads),
        false => PerDirection::new(reads, operations - reads, 0),
    }
}

fn gap_purpose(direction: Direction) -> Purpose {
    match direction {
        Direction::Read => Purpose::GapRead,
        Direction::Write => Purpose::GapWrite,
        Direction::Trim => Purpose::GapTrim,
    }
}

/// The flush rules of a stream.
fn flush_rules(sync: &SyncRule) -> Vec<FlushEvery> {
    let action = match sync.kind {
        FlushKind::Full => Action::Flush,
        FlushKind::Data => Action::FlushData,
    };
    let (range_writes, range) = sync.file_range.unwrap_or_default();
    [
        (sync.every_writes, action),
        (sync.data_every_writes, Action::FlushData),
        (range_writes, Action::FlushRange(range.into())),
    ]
    .into_iter()
    .filter(|(writes, _)| *writes > 0)
    .map(|(writes, action)| FlushEvery {
        action,
        writes,
        since: 0,
    })
    .collect()
}

/// True if writes of a stream cause flushes.
pub(crate) fn flushes(sync: &SyncRule) -> bool {
    !flush_rules(sync).is_empty()
}
