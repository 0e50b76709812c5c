//! Latencies of a worker by window and kind, for logs of averages and of histograms.
//!
//! There is no cost per operation. As with the interval series, the cumulative counters of the
//! recorder are read when a window ends, and their growth belongs to the window; so does the growth
//! of the histogram buckets between the extremes since the last reading. The cost per operation
//! does not depend on the length of the run. A job without windows has an empty list here and reads
//! nothing.

use model::Nanos;
use model::histogram::{BUCKETS, bucket_index};
use model::plan::Windows;
use model::results::{Window, WindowLatency};

use super::recorder::{COMPLETION, Cell, Extremes, IMMEDIATE, SUBMISSION, TOTAL, merge_extremes};

/// The average number of histogram buckets per window in a recorder. They hold latencies within
/// three powers of two. Windows with more buckets use the room of those with fewer.
const DEFAULT_BUCKETS: usize = 384;

/// The capacity of a recorder.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowRoom {
    rows: usize,
    buckets: usize,
}

/// Complete windows, which the worker hands over.
#[derive(Debug, Default)]
pub(crate) struct WindowRows {
    pub(crate) rows: Vec<WindowRow>,
    /// Buckets and counts of all rows, one after the other.
    buckets: Vec<(u32, u64)>,
}

/// A window of one cell.
#[derive(Debug)]
pub(crate) struct WindowRow {
    /// Number of the windows in the plan of the job.
    pub(crate) series: u32,
    pub(crate) cell: u32,
    /// Without its buckets.
    window: Window,
    buckets: std::ops::Range<usize>,
}

/// Windows that are still being filled.
#[derive(Debug)]
pub(super) struct OpenWindows {
    series: Vec<Series>,
    /// The counters of each cell at the last tick.
    last_totals: Vec<CellTotals>,
    /// Windows without room that were merged with the next.
    pub(super) joined_rows: u64,
}

#[derive(Debug)]
struct Series {
    length: Nanos,
    end: Nanos,
    number: u64,
    /// One for each cell.
    open: Vec<OpenWindow>,
}

#[derive(Debug, Default)]
struct OpenWindow {
    window: Window,
    /// A count for each bucket; empty where no histogram is wanted.
    counts: Vec<u64>,
}

/// Cumulative counters of a cell at the last tick.
#[derive(Debug, Default)]
struct CellTotals {
    operations: u64,
    bytes: u64,
    submission: u128,
    completion: u128,
    total: u128,
    counts: Vec<u64>,
}

impl WindowRoom {
    /// Room for the windows that end within `interval`, and for `spare` more. Also for those that
    /// are open at the end of the measured window.
    pub(super) fn new(windows: &[Windows], cells: usize, interval: Nanos, spare: u64) -> WindowRoom {
        let mut room = WindowRoom::default();
        for window in windows {
            let rows = (interval.0 / window.length_ns.0.max(1) + 2 + spare) as usize * cells;
            room.rows += rows + cells;
            if window.histograms {
                room.buckets += rows * DEFAULT_BUCKETS + cells * (BUCKETS + 1);
            }
        }
        room
    }
}

impl WindowRows {
    pub(super) fn new(room: WindowRoom) -> WindowRows {
        WindowRows {
            rows: Vec::with_capacity(room.rows),
            buckets: Vec::with_capacity(room.buckets),
        }
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.buckets.clear();
    }

    /// The complete window of a row.
    pub(crate) fn window(&self, row: &WindowRow) -> Window {
        Window {
            buckets: self.buckets[row.buckets.clone()].to_vec(),
            ..row.window.clone()
        }
    }

    /// Whether there is room for a window apart from the reserved room.
    fn has_room(&self, open: &OpenWindow, reserved: WindowRoom) -> bool {
        let buckets = open.counts.iter().filter(|count| **count > 0).count();
        self.rows.len() + reserved.rows < self.rows.capacity()
            && self.buckets.len() + buckets + reserved.buckets <= self.buckets.capacity()
    }

    /// Moves an open window here.
    fn push(&mut self, series: usize, cell: usize, number: u64, open: &mut OpenWindow) {
        let begin = self.buckets.len();
        for (bucket, count) in open.counts.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            self.buckets.push((bucket as u32, std::mem::take(count)));
        }
        self.rows.push(WindowRow {
            series: series as u32,
            cell: cell as u32,
            window: Window {
                number,
                ..std::mem::take(&mut open.window)
            },
            buckets: begin..self.buckets.len(),
        });
    }
}

impl OpenWindows {
    pub(super) fn new(windows: &[Windows], cells: usize) -> OpenWindows {
        let counts = |wanted: bool| vec![0; if wanted { BUCKETS + 1 } else { 0 }];
        let histograms = windows.iter().any(|window| window.histograms);
        let open = |window: &Windows| OpenWindow {
            counts: counts(window.histograms),
            ..OpenWindow::default()
        };
        let seen = || CellTotals {
            counts: counts(histograms),
            ..CellTotals::default()
        };
        let series = |window: &Windows| Series {
            length: window.length_ns,
            end: Nanos::NEVER,
            number: 0,
            open: (0..cells).map(|_| open(window)).collect(),
        };
        OpenWindows {
            series: windows.iter().map(series).collect(),
            last_totals: (0..if windows.is_empty() { 0 } else { cells })
                .map(|_| seen())
                .collect(),
            joined_rows: 0,
        }
    }

    /// When the next window ends.
    pub(super) fn next(&self) -> Nanos {
        let ends = self.series.iter().map(|series| series.end);
        ends.min().unwrap_or(Nanos::NEVER)
    }

    /// Begins at the start of the measured window.
    pub(super) fn start(&mut self, start: Nanos) {
        for series in &mut self.series {
            (series.end, series.number) = (start + series.length, 0);
            for open in &mut series.open {
                open.window = Window::default();
                open.counts.fill(0);
            }
        }
        self.recorder_is_new();
    }

    /// Called after the exchange of the recorder, whose counters restart at zero.
    pub(super) fn recorder_is_new(&mut self) {
        for seen in &mut self.last_totals {
            let mut counts = std::mem::take(&mut seen.counts);
            counts.fill(0);
            *seen = CellTotals {
                counts,
                ..CellTotals::default()
            };
        }
    }

    /// Adds the operations of a cell since the last tick. `extremes` has the smallest and largest
    /// latencies since then.
    pub(super) fn absorb(&mut self, index: usize, cell: &Cell, extremes: &Extremes) {
        let Some(seen) = self.last_totals.get_mut(index) else {
            return;
        };
        let delta = seen.advance(cell, extremes);
        for series in &mut self.series {
            series.open[index].window.merge(&delta);
        }
        if seen.counts.is_empty() {
            return;
        }
        let (min_ns, max_ns) = merge_extremes(extremes[IMMEDIATE], extremes[COMPLETION]);
        for bucket in bucket_index(min_ns)..=bucket_index(max_ns) {
            let counted = cell.immediate.count_in(bucket) + cell.completion.count_in(bucket);
            let grown = counted - std::mem::replace(&mut seen.counts[bucket], counted);
            for series in &mut self.series {
                if let Some(count) = series.open[index].counts.get_mut(bucket) {
                    *count += grown;
                }
            }
        }
    }

    /// Ends every window that is over at `now`.
    pub(super) fn tick(&mut self, now: Nanos, rows: &mut WindowRows) {
        let reserved = self.open_at_end();
        for (index, series) in self.series.iter_mut().enumerate() {
            if now < series.end {
                continue;
            }
            self.joined_rows += series.close(index, rows, reserved);
            // Windows that passed between ticks are empty: they need no row.
            let passed = 1 + now.since(series.end).0 / series.length.0;
            series.number += passed;
            series.end += Nanos(passed * series.length.0);
        }
    }

    /// Ends the last, possibly shorter windows at the end of the measured window. There is always
    /// room for them.
    pub(super) fn finish(&mut self, rows: &mut WindowRows) {
        for (index, series) in self.series.iter_mut().enumerate() {
            self.joined_rows += series.close(index, rows, WindowRoom::default());
            series.end = Nanos::NEVER;
        }
    }

    /// Room for one window of each cell with any contents.
    fn open_at_end(&self) -> WindowRoom {
        let mut room = WindowRoom::default();
        for open in self.series.iter().flat_map(|series| &series.open) {
            room.rows += 1;
            room.buckets += open.counts.len();
        }
        room
    }
}

impl Series {
    /// Moves open windows into rows. Returns how many had no room; those stay open.
    fn close(&mut self, index: usize, rows: &mut WindowRows, reserved: WindowRoom) -> u64 {
        let mut without_room = 0;
        for (cell, open) in self.open.iter_mut().enumerate() {
            if open.window.operations == 0 {
                continue;
            }
            match rows.has_room(open, reserved) {
                true => rows.push(index, cell, self.number, open),
                false => without_room += 1,
            }
        }
        without_room
    }
}

impl CellTotals {
    /// The growth of a cell's counters, as a window without number and buckets.
    fn advance(&mut self, cell: &Cell, extremes: &Extremes) -> Window {
        // Operations that were issued when queued have no submission latency.
        let submission = cell.submission.sum();
        let completion = cell.completion.sum() + cell.immediate.sum();
        let total = cell.total.sum() + cell.immediate.sum();
        let latency = |after: u128, before: u128, max_ns: u64| WindowLatency {
            sum_ns: (after - before) as u64,
            max_ns,
        };
        let max_ns = |place: usize| extremes[place].1;
        let delta = Window {
            number: 0,
            operations: cell.operations() - self.operations,
            bytes: cell.bytes - self.bytes,
            submission: latency(submission, self.submission, max_ns(SUBMISSION)),
            completion: latency(completion, self.completion, max_ns(COMPLETION).max(max_ns(IMMEDIATE))),
            total: latency(total, self.total, max_ns(TOTAL).max(max_ns(IMMEDIATE))),
            buckets: Vec::new(),
        };
        (self.operations, self.bytes) = (cell.operations(), cell.bytes);
        (self.submission, self.completion, self.total) = (submission, completion, total);
        delta
    }
}
