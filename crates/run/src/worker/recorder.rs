//! The counters of a worker. A recorder belongs to one worker and is exchanged for an empty one at
//! every interval and phase boundary, so that nothing is shared during I/O. Operations of one batch
//! often have the same stamps. They are collected in a [`OperationRun`] and counted together, which
//! saves time.

use engine::{Action, Completion, Request};
use model::event::Phase;
use model::histogram::Histogram;
use model::plan::{FileOperationKind, Windows};
use model::results::{Distribution, Point, Usage, Waits};
use model::seconds::{QueueUse, ThreadUse};
use model::{Direction, Nanos, PerDirection};

use super::slots::SlotRecord;
use super::windows::{OpenWindows, WindowRoom, WindowRows};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CellKey {
    /// Number of the stream in its worker.
    pub(crate) stream: u32,
    /// A direction, or flushes.
    pub(crate) kind: CellKind,
    /// Operations have due times.
    pub(crate) paced: bool,
    /// Interval series show completion latency.
    pub(crate) completion_in_series: bool,
    /// Latencies are recorded by window.
    pub(crate) in_windows: bool,
}

/// The kinds of operation that are counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellKind {
    /// Reads, writes or trims.
    Moves(Direction),
    /// Flushes of a stream.
    Sync,
    /// Connections to a target that is closed and opened again.
    Connection,
    /// Operations of a direction with this I/O priority. The cell of the direction counts them too.
    Priority(Direction, u16),
    /// File operations of this kind; the cell of the direction counts them too.
    FileOperation(FileOperationKind),
}

/// The cell of a stream that counts such operations.
#[inline(always)]
pub(crate) fn cell_for(cells: &PerDirection<u32>, action: Action) -> u32 {
    match action {
        Action::Read => cells.read,
        Action::Trim => cells.trim,
        _ => cells.write,
    }
}

/// Counters and histograms of one direction of one stream.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    /// The direction of its operations; absent for flushes.
    pub(crate) direction: Option<Direction>,
    pub(crate) bytes: u64,
    /// Operations without a latency.
    untimed: u64,
    pub(crate) short: u64,
    pub(crate) errors: u64,
    pub(crate) first_error: Option<i32>,
    /// Completion latency of operations that were issued when queued. Their total latency is the
    /// same, and their submission latency is zero. Synchronous engines have no others, so that the
    /// other histograms take no memory.
    pub(crate) immediate: Histogram,
    pub(crate) submission: Histogram,
    pub(crate) completion: Histogram,
    pub(crate) total: Histogram,
    /// Due → queued and due → reaped; only for paced streams.
    pub(crate) paced: Option<Box<(Histogram, Histogram)>>,
    /// Extremes of the watched histograms, up to the last tick of any series.
    extremes: Extremes,
    /// The histograms whose extremes are tracked per tick.
    watched: [bool; HISTOGRAMS],
    completion_in_series: bool,
}

/// The histograms of a cell that may be watched, by their index in [`Extremes`].
const HISTOGRAMS: usize = 5;
pub(super) const IMMEDIATE: usize = 0;
pub(super) const SUBMISSION: usize = 1;
pub(super) const COMPLETION: usize = 2;
pub(super) const TOTAL: usize = 3;
const RESPONSE: usize = 4;

/// Smallest and largest value of each histogram of a cell.
pub(super) type Extremes = [(u64, u64); HISTOGRAMS];

const NO_EXTREMES: Extremes = [(u64::MAX, 0); HISTOGRAMS];

/// Merges the extremes of two sets of values.
pub(super) fn merge_extremes(a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
    (a.0.min(b.0), a.1.max(b.1))
}

/// A row of an interval series that is complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) grid: u32,
    pub(crate) cell: u32,
    pub(crate) interval: u64,
    pub(crate) point: Point,
}

/// The contents of a worker's recorders.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecorderSetup<'a> {
    pub(crate) keys: &'a [CellKey],
    /// The maximum number of rows of interval series.
    pub(crate) rows: usize,
    pub(crate) windows: WindowRoom,
    /// Each operation is issued when queued, one at a time.
    pub(crate) one_at_a_time: bool,
}

/// The counters of one worker over one interval.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) cells: Vec<Cell>,
    pub(crate) rows: Vec<Row>,
    pub(crate) windows: WindowRows,
    pub(crate) depth: Distribution,
    pub(crate) submitted: Distribution,
    pub(crate) completed: Distribution,
    pub(crate) waits: Waits,
    pub(crate) phase: Phase,
    /// The number of statistics resets before this interval.
    pub(crate) epoch: u32,
    /// When the phase began, on the clock of the engine.
    pub(crate) phase_start: Nanos,
    /// The interval, on the clock of the engine.
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    /// The thread's usage from the start of the measured window to this interval's end.
    pub(crate) usage: Usage,
    /// Intervals merged into this one because there was no empty recorder.
    pub(crate) merged_intervals: u64,
    pub(crate) queue: QueueUse,
    pub(crate) threads: ThreadUse,
}

/// Operations of one batch with the same stamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperationRun {
    pub(crate) key: u64,
    queued: Nanos,
    issued: Nanos,
    due: Nanos,
    pub(crate) operations: u64,
    pub(crate) bytes: u64,
}

impl OperationRun {
    /// An empty run with the stamps of this operation.
    #[inline(always)]
    pub(crate) fn starting_with(record: &SlotRecord) -> OperationRun {
        OperationRun {
            key: record.key,
            queued: record.queued,
            issued: record.issued,
            due: record.due,
            operations: 0,
            bytes: 0,
        }
    }
}

impl Recorder {
    /// An empty recorder.
    pub(crate) fn new(setup: &RecorderSetup<'_>) -> Recorder {
        let distribution = || match setup.one_at_a_time {
            true => Distribution::default(),
            false => Distribution::ready(),
        };
        Recorder {
            cells: setup
                .keys
                .iter()
                .map(|key| Cell::new(key, setup.one_at_a_time))
                .collect(),
            rows: Vec::with_capacity(setup.rows),
            windows: WindowRows::new(setup.windows),
            depth: distribution(),
            submitted: distribution(),
            completed: distribution(),
            waits: Waits::default(),
            phase: Phase::WarmUp,
            epoch: 0,
            phase_start: Nanos(0),
            start: Nanos(0),
            end: Nanos(0),
            usage: Usage::default(),
            merged_intervals: 0,
            queue: QueueUse::default(),
            threads: ThreadUse::default(),
        }
    }

    /// Counts operations that ended when the batch was reaped.
    #[inline(always)]
    pub(crate) fn count(&mut self, run: &OperationRun, reaped: Nanos) {
        if run.operations == 0 {
            return;
        }
        let cell = &mut self.cells[run.key as u32 as usize];
        cell.bytes += run.bytes;
        let total = reaped.since(run.queued).0;
        if run.issued == run.queued {
            cell.immediate.record_times(total, run.operations);
        } else {
            cell.submission
                .record_times(run.issued.since(run.queued).0, run.operations);
            cell.completion.record_times(reaped.since(run.issued).0, run.operations);
            cell.total.record_times(total, run.operations);
        }
        if let Some(paced) = &mut cell.paced {
            paced.0.record_times(run.queued.since(run.due).0, run.operations);
            paced.1.record_times(reaped.since(run.due).0, run.operations);
        }
    }

    /// Counts consecutive operations of one stream, each starting at the end of the previous one.
    /// Stops at the first that crosses `boundary` or is short. Returns their number, and the end of
    /// the last.
    #[inline(always)]
    pub(crate) fn count_synchronous(
        &mut self,
        done: &[Completion],
        requests: &[Request],
        cells: &PerDirection<u32>,
        start: Nanos,
        boundary: Nanos,
    ) -> (usize, Nanos) {
        let (mut index, mut last) = (0, start);
        // Consecutive operations of one direction share a cell, so look it up once.
        while let Some(Request { action, .. }) = requests.get(index).filter(|_| index < done.len()) {
            let cell = cell_for(cells, *action);
            let cell = &mut self.cells[cell as usize];
            let begin = index;
            for (completion, request) in done[begin..].iter().zip(&requests[begin..]) {
                let usual = completion.at < boundary && completion.result == i64::from(request.length);
                if !usual || request.action != *action {
                    break;
                }
                cell.bytes += u64::from(request.length);
                cell.immediate.record(completion.at.since(last).0);
                last = completion.at;
                index += 1;
            }
            if index == begin {
                break;
            }
        }
        (index, last)
    }

    /// Counts an operation that was issued when queued.
    pub(crate) fn count_one(&mut self, cell: u32, length: u32, due: Nanos, queued: Nanos, reaped: Nanos) {
        let cell = &mut self.cells[cell as usize];
        cell.bytes += u64::from(length);
        cell.immediate.record(reaped.since(queued).0);
        if let Some(paced) = &mut cell.paced {
            paced.0.record(queued.since(due).0);
            paced.1.record(reaped.since(due).0);
        }
    }

    /// Counts an operation without effect and latency.
    pub(crate) fn count_untimed(&mut self, cell: u32, length: u32) {
        let cell = &mut self.cells[cell as usize];
        cell.bytes += u64::from(length);
        cell.untimed += 1;
    }

    /// Completes the recorder before it is sent.
    pub(crate) fn close(&mut self) {
        self.cells.iter_mut().for_each(Cell::close);
    }

    /// Empties the recorder for another interval.
    pub(crate) fn clear(&mut self) {
        for cell in &mut self.cells {
            (cell.bytes, cell.short, cell.errors, cell.first_error) = (0, 0, 0, None);
            cell.untimed = 0;
            for histogram in [
                &mut cell.immediate, &mut cell.submission, &mut cell.completion, &mut cell.total,
            ] {
                histogram.clear();
            }
            if let Some(paced) = &mut cell.paced {
                paced.0.clear();
                paced.1.clear();
            }
        }
        self.rows.clear();
        self.windows.clear();
        for distribution in [&mut self.depth, &mut self.submitted, &mut self.completed] {
            distribution.classes.fill(0);
        }
        self.waits = Waits::default();
        self.merged_intervals = 0;
        self.queue = QueueUse::default();
        self.threads = ThreadUse::default();
    }
}

impl Cell {
    fn new(key: &CellKey, one_at_a_time: bool) -> Cell {
        // Only operations that wait between queueing and issue need the other histograms.
        let histogram = || match one_at_a_time {
            true => Histogram::new(),
            false => Histogram::ready(),
        };
        let mut cell = Cell {
            immediate: Histogram::ready(),
            submission: histogram(),
            completion: histogram(),
            total: histogram(),
            direction: match key.kind {
                CellKind::Moves(direction) | CellKind::Priority(direction, _) => Some(direction),
                CellKind::FileOperation(kind) => Some(kind.direction()),
                CellKind::Sync | CellKind::Connection => None,
            },
            paced: key.paced.then(|| Box::new((Histogram::ready(), Histogram::ready()))),
            extremes: NO_EXTREMES,
            completion_in_series: key.completion_in_series,
            ..Cell::default()
        };
        if key.in_windows {
            for place in [IMMEDIATE, SUBMISSION, COMPLETION, TOTAL] {
                cell.watched[place] = true;
            }
        }
        for place in cell.series_histograms() {
            cell.watched[*place] = true;
        }
        cell
    }

    /// The number of completed operations.
    pub(crate) fn operations(&self) -> u64 {
        self.immediate.n() + self.total.n() + self.untimed
    }

    /// Indexes of the histograms that interval series show. These are response time when paced,
    /// total otherwise; or completion.
    fn series_histograms(&self) -> &'static [usize] {
        match (self.completion_in_series, &self.paced) {
            (true, _) => &[IMMEDIATE, COMPLETION],
            (false, Some(_)) => &[RESPONSE],
            (false, None) => &[IMMEDIATE, TOTAL],
        }
    }

    /// The watched histograms with their places.
    fn watched_histograms(&mut self) -> impl Iterator<Item = (usize, &mut Histogram)> {
        let response = self.paced.as_deref_mut().map(|paced| &mut paced.1);
        let lists = [
            Some(&mut self.immediate),
            Some(&mut self.submission),
            Some(&mut self.completion),
            Some(&mut self.total),
            response,
        ];
        let numbered_files = self.watched.into_iter().zip(lists).enumerate();
        numbered_files.filter_map(|(place, (watched, histogram))| Some((place, histogram.filter(|_| watched)?)))
    }

    /// The extremes of latencies since the last tick. During an interval, histograms track only
    /// these; [`Cell::close`] restores the extremes of the whole interval.
    fn take_tick_extremes(&mut self) -> Extremes {
        let (mut seen, mut tick) = (self.extremes, NO_EXTREMES);
        for (place, histogram) in self.watched_histograms() {
            tick[place] = histogram.take_extremes();
            seen[place] = merge_extremes(seen[place], tick[place]);
        }
        self.extremes = seen;
        tick
    }

    /// Restores the extremes of the histograms before the recorder is sent.
    fn close(&mut self) {
        let extremes = std::mem::replace(&mut self.extremes, NO_EXTREMES);
        for (place, histogram) in self.watched_histograms() {
            histogram.restore_extremes(extremes[place]);
        }
    }

    /// Σ of the times from queued to reaped; `None` if the latency of series is the same.
    fn in_flight_sum(&self) -> Option<u128> {
        let is_shown = self.completion_in_series || self.paced.is_none();
        (!is_shown).then(|| self.immediate.sum() + self.total.sum())
    }

    /// Σ and Σ² of the latency that interval series show.
    fn latency_sums(&self) -> (u128, u128) {
        let histograms = match (self.completion_in_series, &self.paced) {
            (true, _) => &self.completion,
            (false, Some(paced)) => return (paced.1.sum(), paced.1.sum_squares()),
            (false, None) => &self.total,
        };
        (
            self.immediate.sum() + histograms.sum(),
            self.immediate.sum_squares() + histograms.sum_squares(),
        )
    }
}

/// The interval series of a worker: its open intervals. The cumulative counters of the recorder are
/// read only at ticks, when an interval of a series ends. So the series have no cost per operation.
#[derive(Debug)]
pub(crate) struct Grids {
    series: Vec<OpenSeries>,
    last_totals: Vec<CellTotals>,
    /// When the next interval of any series ends.
    next: Nanos,
    /// Latencies by window, if the job records them.
    windows: OpenWindows,
    /// Rows without room that were merged with the next of their series.
    joined_rows: u64,
}

#[derive(Debug)]
struct OpenSeries {
    length: Nanos,
    end: Nanos,
    interval: u64,
    open: Vec<Point>,
}

/// Cumulative counters of a cell at the last tick.
#[derive(Clone, Copy, Debug, Default)]
struct CellTotals {
    operations: u64,
    bytes: u64,
    sum: u128,
    sum_squares: u128,
    in_flight: Option<u128>,
}

impl Grids {
    pub(crate) fn new(lengths: &[Nanos], windows: &[Windows], cells: usize) -> Grids {
        let open = |length: &Nanos| OpenSeries {
            length: *length,
            end: Nanos::NEVER,
            interval: 0,
            open: vec![Point::default(); cells],
        };
        Grids {
            series: lengths.iter().map(open).collect(),
            last_totals: vec![CellTotals::default(); cells],
            next: Nanos::NEVER,
            windows: OpenWindows::new(windows, cells),
            joined_rows: 0,
        }
    }

    /// Rows without room that were merged with the next of their series.
    pub(crate) fn joined_rows(&self) -> u64 {
        self.joined_rows + self.windows.joined_rows
    }

    /// When the next interval of any series ends.
    #[inline(always)]
    pub(crate) fn next(&self) -> Nanos {
        self.next
    }

    /// Begins all series at the start of the measured window.
    pub(crate) fn start(&mut self, start: Nanos) {
        for series in &mut self.series {
            (series.end, series.interval) = (start + series.length, 0);
            series.open.fill(Point::default());
        }
        self.last_totals.fill(CellTotals::default());
        self.windows.start(start);
        self.set_next();
    }

    fn set_next(&mut self) {
        let first = self.series.iter().map(|series| series.end).min();
        self.next = self.windows.next().min(first.unwrap_or(Nanos::NEVER));
    }

    /// Adds what was counted since the last tick to the open intervals.
    pub(crate) fn absorb(&mut self, recorder: &mut Recorder) {
        for (index, cell) in recorder.cells.iter_mut().enumerate() {
            let seen = &mut self.last_totals[index];
            let operations = cell.operations();
            if operations == seen.operations {
                continue;
            }
            let (sum, sum_squares) = cell.latency_sums();
            let in_flight = cell.in_flight_sum();
            let extremes = cell.take_tick_extremes();
            self.windows.absorb(index, cell, &extremes);
            let shown_extremes = cell.series_histograms().iter().map(|place| extremes[*place]);
            let (latency_ns_min, latency_ns_max) = shown_extremes.fold((u64::MAX, 0), merge_extremes);
            let delta = Point {
                operations: operations - seen.operations,
                bytes: cell.bytes - seen.bytes,
                latency_ns: (sum - seen.sum) as u64,
                latency_squares_ns2: (sum_squares - seen.sum_squares) as f64,
                latency_ns_min,
                latency_ns_max,
                in_flight_ns: in_flight.map(|sum| (sum - seen.in_flight.unwrap_or_default()) as u64),
            };
            *seen = CellTotals {
                operations,
                bytes: cell.bytes,
                sum,
                sum_squares,
                in_flight,
            };
            for series in &mut self.series {
                series.open[index].merge(&delta);
            }
        }
    }

    /// Ends every interval that is over at `now`.
    pub(crate) fn tick(&mut self, now: Nanos, recorder: &mut Recorder) {
        self.absorb(recorder);
        for (grid, series) in self.series.iter_mut().enumerate() {
            if now < series.end {
                continue;
            }
            let interval = series.interval;
            self.joined_rows += close(grid, series, interval, recorder);
            // Intervals that passed between ticks are empty and need no row.
            let passed = 1 + now.since(series.end).0 / series.length.0;
            series.interval += passed;
            series.end += Nanos(passed * series.length.0);
        }
        self.windows.tick(now, &mut recorder.windows);
        self.set_next();
    }

    /// Called after the exchange of the recorder, whose counters restart at zero.
    pub(crate) fn recorder_is_new(&mut self) {
        self.last_totals.fill(CellTotals::default());
        self.windows.recorder_is_new();
    }

    /// Ends the last interval of each series, which may be shorter, with the measured window.
    pub(crate) fn finish(&mut self, recorder: &mut Recorder) {
        self.absorb(recorder);
        for (grid, series) in self.series.iter_mut().enumerate() {
            let interval = series.interval;
            self.joined_rows += close(grid, series, interval, recorder);
            series.end = Nanos::NEVER;
        }
        self.windows.finish(&mut recorder.windows);
        self.next = Nanos::NEVER;
    }
}

/// Moves the open interval of a series into rows. Returns how many had no room; those stay open.
fn close(grid: usize, series: &mut OpenSeries, interval: u64, recorder: &mut Recorder) -> u64 {
    let mut without_room = 0;
    for (cell, point) in series.open.iter_mut().enumerate() {
        if point.operations == 0 {
            continue;
        }
        if recorder.rows.len() == recorder.rows.capacity() {
            without_room += 1;
            continue;
        }
        recorder.rows.push(Row {
            grid: grid as u32,
            cell: cell as u32,
            interval,
            point: std::mem::take(point),
        });
    }
    without_room
}
