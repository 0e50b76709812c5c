//! Gathers the recorders of a job's workers: totals per worker, interval series, histograms by
//! interval. The gatherer runs on the coordinator's thread during I/O, at its own pace. It merges
//! counters and never rounds.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use model::event::{Counts, FileOperationInterval, Interval, Phase, TargetInterval};
use model::histogram::Histogram;
use model::plan::{Grid, GridScope, Job, Windows};
use model::results::{
    DirectionResults, Distribution, FileOperationResults, IntervalHistogram, Point, PriorityResults, Series,
    StreamResults, SyncResults, Usage, Waits, WindowSeries,
};
use model::{Bytes, Direction, Nanos, PerDirection};

use model::seconds::{IntervalFacts, QueueUse, ThreadUse};

use crate::worker::{CellKey, CellKind, Inbox, Recorder};

/// Number of the grid; worker and stream, if each stream has its own series.
type SeriesKey = (usize, Option<(u32, u32)>);

/// Everything received from the workers of one job so far.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    workers: Vec<WorkerData>,
    /// Recorders that were received and not yet returned.
    held: Vec<(usize, Box<Recorder>)>,
    grids: Vec<Grid>,
    /// Series by grid and, if each stream has its own, by worker and stream.
    series: BTreeMap<SeriesKey, PerDirection<Vec<Point>>>,
    /// Histograms of the complete measured intervals, by number.
    histograms: BTreeMap<u64, IntervalHistogram>,
    /// How workers used queues and threads in each measured interval, by number.
    seconds: BTreeMap<u64, IntervalFacts>,
    /// Incomplete intervals, by phase and number.
    open: BTreeMap<IntervalKey, Slice>,
    groups: TargetGroups,
    /// Whether the warm-up of a worker counts until its measured window begins.
    counts_warm_up: bool,
    length: Nanos,
    epoch: u32,
    lost: u64,
}

/// The distinct lists of targets of a job's streams. A list is one target, or the files of a set.
#[derive(Clone, Debug, Default)]
struct TargetGroups {
    targets: Vec<Vec<u32>>,
    /// The list index of each stream of each worker.
    of_streams: Vec<Vec<usize>>,
}

/// The data received from a worker.
#[derive(Debug, Default)]
struct WorkerData {
    inbox: Option<Inbox>,
    keys: Vec<CellKey>,
    cells: Vec<CellTotal>,
    depth: Distribution,
    submitted: Distribution,
    completed: Distribution,
    waits: Waits,
    windows: Vec<WindowSeries>,
    /// Phase and number of its next interval.
    next: IntervalKey,
    /// Start and end of the received measured time.
    measured: (Nanos, Nanos),
    /// The end of its last received interval.
    reported_to: Nanos,
    /// The usage of its thread in that time.
    usage: Usage,
    /// Its totals are those of the warm-up.
    in_warm_up: bool,
    ended: bool,
}

/// Phase, epoch, and number of the interval in its phase.
type IntervalKey = (Phase, u32, u64);

/// The histograms are packed: with many workers they are most of the memory of a run.
#[derive(Clone, Debug, Default)]
struct CellTotal {
    /// Without the latencies in `immediate`.
    results: DirectionResults,
    immediate: Histogram,
    lifetime: Counts,
}

/// One interval of a job.
#[derive(Debug, Default)]
struct Slice {
    start: Nanos,
    length: Nanos,
    counts: PerDirection<Counts>,
    latency: PerDirection<Option<Histogram>>,
    in_flight: Nanos,
    /// By list of targets, if the job has several lists.
    targets: Vec<TargetInterval>,
    file_operations: Vec<FileOperationInterval>,
}

impl Slice {
    /// Adds operations of one kind on files.
    fn add_file_operation(&mut self, added: FileOperationInterval) {
        match self
            .file_operations
            .iter_mut()
            .find(|existing| existing.kind == added.kind)
        {
            None => self.file_operations.push(added),
            Some(existing) => {
                existing.counts.add(added.counts);
                existing.latency_ns.0 += added.latency_ns.0;
            }
        }
    }
}

/// The results of one worker's streams.
#[derive(Debug)]
pub(crate) struct WorkerTotals {
    pub(crate) streams: Vec<StreamResults>,
    pub(crate) depth: Distribution,
    pub(crate) submitted: Distribution,
    pub(crate) completed: Distribution,
    pub(crate) waits: Waits,
    /// The usage of the thread in the received measured time.
    pub(crate) usage: Usage,
}

impl Gather {
    /// A gatherer for the workers of a job. `length` is the interval of recorder exchanges.
    pub(crate) fn new(plan: &Job, grids: &[Grid], length: Nanos) -> Gather {
        let received = |worker: usize| WorkerData {
            windows: plan
                .windows
                .iter()
                .map(|windows| empty_windows(worker, windows))
                .collect(),
            ..WorkerData::default()
        };
        Gather {
            workers: (0..plan.workers.len()).map(received).collect(),
            grids: grids.to_vec(),
            groups: TargetGroups::from_job(plan),
            counts_warm_up: plan.stop.counts_all,
            length,
            ..Gather::default()
        }
    }

    /// Connects a worker: its recorders come through `inbox`, with these cells.
    pub(crate) fn connect(&mut self, worker: usize, inbox: Inbox, keys: Vec<CellKey>) {
        let received = &mut self.workers[worker];
        received.cells = keys.iter().map(|_| CellTotal::default()).collect();
        received.keys = keys;
        received.inbox = Some(inbox);
    }

    /// Receives all available recorders. Return them with [`Gather::release`] after the rules have
    /// seen the intervals.
    pub(crate) fn drain(&mut self) {
        (0..self.workers.len()).for_each(|worker| self.drain_worker(worker));
    }

    fn drain_worker(&mut self, worker: usize) {
        while let Some(recorder) = self.workers[worker].inbox.as_mut().and_then(Inbox::take) {
            self.absorb(worker, &recorder);
            self.held.push((worker, recorder));
        }
    }

    /// Returns the received recorders to their workers.
    pub(crate) fn release(&mut self) {
        for (worker, recorder) in self.held.drain(..) {
            if let Some(inbox) = &mut self.workers[worker].inbox {
                inbox.give_back(recorder);
            }
        }
    }

    /// Records that the worker has ended and will send nothing more.
    pub(crate) fn mark_ended(&mut self, worker: usize) {
        self.drain_worker(worker);
        self.workers[worker].ended = true;
        // Free its memory, which is no longer needed.
        self.workers[worker].inbox = None;
    }

    /// Whether all running workers have reported up to a moment.
    pub(crate) fn has_data_until(&self, moment: Nanos) -> bool {
        self.workers
            .iter()
            .all(|worker| worker.ended || worker.reported_to >= moment)
    }

    /// The earliest phase of all running workers; draining if none runs.
    pub(crate) fn phase(&self) -> Phase {
        let running = self
            .workers
            .iter()
            .filter(|worker| !worker.ended)
            .filter_map(|worker| worker.inbox.as_ref());
        running.map(Inbox::phase).min().unwrap_or(Phase::Draining)
    }

    /// True if some worker has left the measured window.
    pub(crate) fn has_worker_past_window(&self) -> bool {
        self.workers.iter().any(|worker| {
            worker.ended
                || worker
                    .inbox
                    .as_ref()
                    .is_some_and(|inbox| inbox.phase() > Phase::Measured)
        })
    }

    fn absorb(&mut self, worker: usize, recorder: &Recorder) {
        let received = &mut self.workers[worker];
        for (total, cell) in received.cells.iter_mut().zip(&recorder.cells) {
            total.lifetime.operations += cell.operations();
            total.lifetime.bytes.0 += cell.bytes;
        }
        let number = recorder.start.since(recorder.phase_start).0 / self.length.0;
        let key = (recorder.phase, recorder.epoch, number);
        let until = recorder.end.since(recorder.phase_start).0 / self.length.0;
        received.next = (key.0, key.1, until.max(number + 1));
        received.reported_to = recorder.end;
        if recorder.epoch > self.epoch {
            self.begin_epoch(recorder.epoch);
        }
        self.lost += recorder.merged_intervals;
        if matches!(recorder.phase, Phase::WarmUp | Phase::Measured | Phase::Verify) && recorder.end > recorder.start {
            self.add_interval(worker, recorder, key);
        }
        if recorder.epoch == self.epoch {
            let in_warm_up = recorder.phase == Phase::WarmUp && self.counts_warm_up;
            let received = &mut self.workers[worker];
            if in_warm_up {
                received.measured = (recorder.phase_start, recorder.end);
                (received.usage, received.in_warm_up) = (recorder.usage, true);
            } else if recorder.phase == Phase::Measured && std::mem::take(&mut received.in_warm_up) {
                received.reset();
            }
            if in_warm_up || matches!(recorder.phase, Phase::Measured | Phase::Verify) {
                self.add_totals(worker, recorder);
            }
            if recorder.phase == Phase::Measured {
                self.workers[worker].measured = (recorder.phase_start, recorder.end);
                self.workers[worker].usage = recorder.usage;
                self.add_rows(worker, recorder);
                self.workers[worker].add_windows(recorder);
                self.add_facts(worker, recorder, number);
            }
        }
    }

    /// Resets the statistics: earlier measurements are dropped.
    fn begin_epoch(&mut self, epoch: u32) {
        self.epoch = epoch;
        self.series.clear();
        self.histograms.clear();
        self.seconds.clear();
        self.workers.iter_mut().for_each(WorkerData::reset);
    }

    fn add_totals(&mut self, worker: usize, recorder: &Recorder) {
        let received = &mut self.workers[worker];
        for (total, cell) in received.cells.iter_mut().zip(&recorder.cells) {
            let results = &mut total.results;
            results.operations += cell.operations();
            results.bytes.0 += cell.bytes;
            results.short += cell.short;
            results.errors += cell.errors;
            results.first_error = results.first_error.or(cell.first_error);
            results.submission.merge_packed(&cell.submission);
            results.completion.merge_packed(&cell.completion);
            results.total.merge_packed(&cell.total);
            total.immediate.merge_packed(&cell.immediate);
            if let Some(paced) = &cell.paced {
                results.schedule_delay.get_or_insert_default().merge_packed(&paced.0);
                results.response.get_or_insert_default().merge_packed(&paced.1);
            }
        }
        received.depth.merge(&recorder.depth);
        received.submitted.merge(&recorder.submitted);
        received.completed.merge(&recorder.completed);
        received.waits.add(&recorder.waits);
    }

    fn add_rows(&mut self, worker: usize, recorder: &Recorder) {
        for row in &recorder.rows {
            let key = self.workers[worker].keys[row.cell as usize];
            let CellKind::Moves(direction) = key.kind else { continue };
            let scope_keys = match self.grids[row.grid as usize].scope {
                GridScope::Job => None,
                GridScope::Stream => Some((worker as u32, key.stream)),
            };
            let series = &mut self.series.entry((row.grid as usize, scope_keys)).or_default()[direction];
            let index = row.interval as usize;
            if series.len() <= index {
                series.resize(index + 1, Point::default());
            }
            series[index].merge(&row.point);
        }
    }

    /// Stores how a worker used its queue and its thread in an interval.
    fn add_facts(&mut self, worker: usize, recorder: &Recorder, number: u64) {
        let (queue, threads) = (recorder.queue, recorder.threads);
        if queue == QueueUse::default() && threads == ThreadUse::default() {
            return;
        }
        let mut facts = IntervalFacts {
            start_ns: recorder.start.since(recorder.phase_start),
            length_ns: recorder.end.since(recorder.start),
            queue,
            threads,
            ..IntervalFacts::default()
        };
        let cells = self.workers[worker].keys.iter().zip(&recorder.cells);
        for (_, cell) in cells.filter(|(key, _)| matches!(key.kind, CellKind::Moves(_))) {
            facts.operations += cell.operations();
            facts.service_ns.0 += (cell.immediate.sum() + cell.total.sum()) as u64;
        }
        match self.seconds.entry(number) {
            Entry::Vacant(place) => _ = place.insert(facts),
            Entry::Occupied(mut existing) => existing.get_mut().add(&facts),
        }
    }

    fn add_interval(&mut self, worker: usize, recorder: &Recorder, key: IntervalKey) {
        let received = &self.workers[worker];
        let start = recorder.start.since(recorder.phase_start);
        let length = recorder.end.since(recorder.start);
        for (cell_key, cell) in received.keys.iter().zip(&recorder.cells) {
            let in_flight = cell.immediate.sum() + cell.total.sum();
            let latency_ns = cell.paced.as_ref().map_or(in_flight, |paced| paced.1.sum());
            let counts = Counts::new(cell.operations(), Bytes(cell.bytes));
            let direction = match cell_key.kind {
                CellKind::Moves(direction) => direction,
                CellKind::FileOperation(kind) => {
                    self.open
                        .entry(key)
                        .or_default()
                        .add_file_operation(FileOperationInterval {
                            kind,
                            counts,
                            latency_ns: Nanos(latency_ns as u64),
                        });
                    continue;
                }
                CellKind::Sync | CellKind::Connection | CellKind::Priority(..) => continue,
            };
            let open = self.open.entry(key).or_default();
            open.start = start;
            open.length = open.length.max(length);
            open.counts[direction].add(counts);
            if cell.operations() > 0 {
                let latency = open.latency[direction].get_or_insert_default();
                match &cell.paced {
                    Some(paced) => latency.merge(&paced.1),
                    None => {
                        latency.merge(&cell.immediate);
                        latency.merge(&cell.total);
                    }
                }
            }
            open.in_flight.0 += in_flight as u64;
            if let Some(of_target) = self
                .groups
                .interval_of_stream(&mut open.targets, worker, cell_key.stream)
            {
                of_target.counts[direction].add(Counts::new(cell.operations(), Bytes(cell.bytes)));
                of_target.latency_ns.0 += latency_ns as u64;
            }
        }
    }

    /// Stores the latencies of a complete interval.
    fn store_histogram(&mut self, (phase, epoch, number): IntervalKey, slice: &Slice) {
        if phase != Phase::Measured || epoch != self.epoch {
            return;
        }
        let histogram = IntervalHistogram {
            start_ns: slice.start,
            length_ns: slice.length,
            latency: slice.latency.clone(),
        };
        match self.histograms.entry(number) {
            Entry::Vacant(place) => _ = place.insert(histogram),
            Entry::Occupied(mut existing) => existing.get_mut().merge(histogram),
        }
    }

    /// Returns the intervals that every running worker has passed. With `all`, includes incomplete
    /// ones.
    pub(crate) fn finished_intervals(&mut self, step: u32, job: u32, plan: &Job, all: bool) -> Vec<Interval> {
        let lagging = self
            .workers
            .iter()
            .filter(|worker| !worker.ended)
            .map(|worker| worker.next)
            .min();
        let mut finished = Vec::new();
        while let Some((&key, _)) = self.open.first_key_value() {
            if !all && lagging.is_some_and(|next| key >= next) {
                break;
            }
            let Some((_, slice)) = self.open.pop_first() else { break };
            self.store_histogram(key, &slice);
            let phase = key.0;
            let planned = match phase {
                Phase::WarmUp => Some(plan.phases.warm_up_ns),
                _ => plan.stop.after_ns,
            };
            finished.push(Interval {
                step,
                job,
                name: plan.name.clone(),
                phase,
                epoch: key.1,
                start_ns: slice.start,
                length_ns: slice.length,
                counts: slice.counts,
                latency: slice.latency,
                in_flight_ns: slice.in_flight,
                depth: plan.depth(),
                targets: slice.targets,
                file_operations: slice.file_operations,
                left_ns: planned.map(|planned| planned.since(slice.start + slice.length)),
            });
        }
        finished
    }

    /// The number of intervals merged with the next one.
    pub(crate) fn lost_intervals(&self) -> u64 {
        self.lost
    }

    pub(crate) fn take_totals(&mut self, plan: &Job) -> Vec<WorkerTotals> {
        let workers = std::mem::take(&mut self.workers);
        workers
            .into_iter()
            .zip(&plan.workers)
            .map(|(received, worker)| received.totals(worker))
            .collect()
    }

    /// The results so far. They are the totals of each worker, with the start and end of its
    /// measured time, and the interval series.
    pub(crate) fn partial_results(&self, plan: &Job) -> (Vec<(WorkerTotals, Nanos, Nanos)>, Vec<Series>) {
        let workers = self.workers.iter().zip(&plan.workers);
        let totals = workers.map(|(received, worker)| {
            let (start, end) = received.measured;
            (received.copy().totals(worker), start, end)
        });
        let totals: Vec<_> = totals.collect();
        let longest = totals.iter().map(|(_, start, end)| end.since(*start)).max();
        let mut series = Gather {
            grids: self.grids.clone(),
            series: self.series.clone(),
            ..Gather::default()
        };
        (totals, series.take_series(plan, longest.unwrap_or_default()))
    }

    /// The interval series, each extended with empty intervals to the measured length.
    pub(crate) fn take_series(&mut self, plan: &Job, measured: Nanos) -> Vec<Series> {
        let mut all = std::mem::take(&mut self.series);
        let mut series = Vec::new();
        let streams = plan.workers.iter().flat_map(|worker| &worker.streams);
        let mut occurs = PerDirection::<bool>::default();
        for (stream, direction) in streams.flat_map(|stream| Direction::ALL.map(|direction| (stream, direction))) {
            occurs[direction] |= stream.mix.includes(direction);
        }
        for (index, grid) in self.grids.iter().enumerate() {
            let intervals = measured.0.div_ceil(grid.length_ns.0) as usize;
            let keys: Vec<Option<(u32, u32)>> = match grid.scope {
                GridScope::Job => vec![None],
                GridScope::Stream => plan
                    .workers
                    .iter()
                    .enumerate()
                    .flat_map(|(w, worker)| (0..worker.streams.len()).map(move |s| Some((w as u32, s as u32))))
                    .collect(),
            };
            for key in keys {
                let mut points = all.remove(&(index, key)).unwrap_or_default();
                for direction in Direction::ALL.into_iter().filter(|direction| occurs[*direction]) {
                    let of_direction = &mut points[direction];
                    of_direction.resize(intervals.max(of_direction.len()), Point::default());
                }
                series.push(Series::new(grid.length_ns, key, points));
            }
        }
        series
    }

    /// The windows of each worker.
    pub(crate) fn take_windows(&mut self) -> Vec<WindowSeries> {
        let workers = self.workers.iter_mut();
        workers.flat_map(|worker| std::mem::take(&mut worker.windows)).collect()
    }

    /// How the workers used queues and threads, in time order.
    pub(crate) fn take_seconds(&mut self) -> Vec<IntervalFacts> {
        std::mem::take(&mut self.seconds).into_values().collect()
    }

    /// The histograms of all intervals, in time order.
    pub(crate) fn take_histograms(&mut self) -> Vec<IntervalHistogram> {
        while let Some((key, slice)) = self.open.pop_first() {
            self.store_histogram(key, &slice);
        }
        std::mem::take(&mut self.histograms).into_values().collect()
    }
}

impl TargetGroups {
    fn from_job(plan: &Job) -> TargetGroups {
        let mut groups = TargetGroups::default();
        for worker in &plan.workers {
            let target_group_index = |stream: &model::plan::Stream| {
                let ids: Vec<u32> = stream.target.ids().iter().map(|id| id.0).collect();
                let existing = groups.targets.iter().position(|existing| *existing == ids);
                existing.unwrap_or_else(|| {
                    groups.targets.push(ids);
                    groups.targets.len() - 1
                })
            };
            let of_streams = worker.streams.iter().map(target_group_index).collect();
            groups.of_streams.push(of_streams);
        }
        groups
    }

    /// The interval of a stream's targets in `list`. `None` if all streams have the same targets.
    fn interval_of_stream<'a>(
        &self,
        list: &'a mut Vec<TargetInterval>,
        worker: usize,
        stream: u32,
    ) -> Option<&'a mut TargetInterval> {
        if self.targets.len() < 2 {
            return None;
        }
        if list.is_empty() {
            let entry = |targets: &Vec<u32>| TargetInterval {
                targets: targets.clone(),
                ..TargetInterval::default()
            };
            list.extend(self.targets.iter().map(entry));
        }
        list.get_mut(self.of_streams[worker][stream as usize])
    }
}

fn empty_windows(worker: usize, windows: &Windows) -> WindowSeries {
    WindowSeries {
        worker: worker as u32,
        length_ns: windows.length_ns,
        histograms: windows.histograms,
        windows: PerDirection::default(),
    }
}

impl CellTotal {
    /// Operations that were issued when queued have a submission latency of zero.
    fn into_results(mut self) -> DirectionResults {
        let results = &mut self.results;
        results.submission.merge_packed(&Histogram::zeros(self.immediate.n()));
        results.completion.merge_packed(&self.immediate);
        results.total.merge_packed(&self.immediate);
        self.results
    }
}

impl WorkerData {
    /// Drops everything that was measured so far.
    fn reset(&mut self) {
        for total in &mut self.cells {
            (total.results, total.immediate) = (DirectionResults::default(), Histogram::new());
        }
        for distribution in [&mut self.depth, &mut self.submitted, &mut self.completed] {
            *distribution = Distribution::default();
        }
        (self.waits, self.usage) = (Waits::default(), Usage::default());
        for series in &mut self.windows {
            series.windows = PerDirection::default();
        }
    }

    /// A copy without the inbox and the windows.
    fn copy(&self) -> WorkerData {
        WorkerData {
            inbox: None,
            keys: self.keys.clone(),
            cells: self.cells.clone(),
            depth: self.depth.clone(),
            submitted: self.submitted.clone(),
            completed: self.completed.clone(),
            waits: self.waits,
            windows: Vec::new(),
            ..*self
        }
    }

    /// Windows arrive in the order of their ends. Windows of several streams with the same number
    /// are merged.
    fn add_windows(&mut self, recorder: &Recorder) {
        for row in &recorder.windows.rows {
            let CellKind::Moves(direction) = self.keys[row.cell as usize].kind else {
                continue;
            };
            let windows = &mut self.windows[row.series as usize].windows[direction];
            let window = recorder.windows.window(row);
            match windows.last_mut() {
                Some(last) if last.number == window.number => last.merge(&window),
                _ => windows.push(window),
            }
        }
    }

    fn totals(self, plan: &model::plan::Worker) -> WorkerTotals {
        let mut streams: Vec<StreamResults> = plan
            .streams
            .iter()
            .map(|stream| StreamResults {
                targets: stream.target.ids().iter().map(|id| id.0).collect(),
                ..StreamResults::default()
            })
            .collect();
        for (key, cell) in self.keys.iter().zip(self.cells) {
            let stream = &mut streams[key.stream as usize];
            let (lifetime, results) = (cell.lifetime, cell.into_results());
            match key.kind {
                CellKind::Moves(direction) => {
                    stream.lifetime[direction] = lifetime;
                    stream.directions[direction] = Some(results);
                }
                CellKind::Priority(direction, number) => {
                    let of_direction = stream.directions[direction].get_or_insert_default();
                    of_direction.priorities.push(PriorityResults {
                        class: (number >> 13) as u8,
                        level: (number & 7) as u8,
                        hint: number >> 3 & 0x3ff,
                        operations: results.operations,
                        completion: results.completion,
                        total: results.total,
                    });
                }
                CellKind::FileOperation(kind) => stream.files.push(FileOperationResults { kind, results }),
                CellKind::Sync | CellKind::Connection => {
                    let results = Some(SyncResults {
                        operations: results.operations,
                        latency: results.total,
                    });
                    match key.kind {
                        CellKind::Sync => stream.sync = results,
                        _ => stream.connections = results,
                    }
                }
            }
        }
        let [mut depth, mut submitted, mut completed] = [self.depth, self.submitted, self.completed];
        for distribution in [&mut depth, &mut submitted, &mut completed] {
            distribution.trim();
        }
        WorkerTotals {
            streams,
            depth,
            submitted,
            completed,
            waits: self.waits,
            usage: self.usage,
        }
    }
}
