//! A job: its workers, its interval series, and how results of several hosts are merged.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    DirectionResults, FileOperationResults, IntervalHistogram, PhaseInterval, Point, RankSeries, Series, Usage,
    WindowSeries, WorkerResults,
};
use crate::direction::PerDirection;
use crate::event::{EndReason, Phase};
use crate::plan::FileOperationKind;
use crate::seconds::IntervalFacts;
use crate::units::Nanos;

/// One job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobResults {
    /// Name of the job in its file.
    pub name: String,
    /// Its workers in plan order.
    pub workers: Vec<WorkerResults>,
    /// Interval series.
    #[serde(default)]
    pub series: Vec<Series>,
    /// Histograms by interval, in time order.
    #[serde(default)]
    pub histograms: Vec<IntervalHistogram>,
    /// How the workers used their queues and threads, by second, in time order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<IntervalFacts>,
    /// Intervals before and after the measured window, in time order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<PhaseInterval>,
    /// Operations of each rank by interval, in a fleet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rank_series: Vec<RankSeries>,
    /// Latencies of each worker by window, if the plan records them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<WindowSeries>,
    /// Intervals whose histogram was merged into the next because the gatherer was late.
    #[serde(default)]
    pub lost_intervals: u64,
    /// Number of times a worker waited for its operation log or written trace.
    #[serde(default)]
    pub log_waits: u64,
    /// Why it ended; absent if it never started.
    #[serde(default)]
    pub ended: Option<EndReason>,
    /// The outcomes of the job's control rules.
    #[serde(default)]
    pub control: Vec<ControlOutcome>,
}

/// The outcome of a control rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlOutcome {
    /// The rule, in words.
    pub rule: String,
    /// It reached its goal.
    pub attained: bool,
    /// Its observation, as text.
    pub detail: String,
    /// The values it examined, in the unit of the rule.
    #[serde(default)]
    pub series: Vec<f64>,
    /// The queue depth it found, if it searched for one.
    #[serde(default)]
    pub depth: Option<u32>,
}

impl JobResults {
    /// The results of each possible direction over all workers and streams. Histograms are large,
    /// so those of a single stream are borrowed.
    pub fn directions(&self) -> PerDirection<Option<Cow<'_, DirectionResults>>> {
        let mut merged = PerDirection::<Option<Cow<DirectionResults>>>::default();
        for stream in self.workers.iter().flat_map(|worker| &worker.streams) {
            for (direction, results) in stream.directions.iter() {
                match (&mut merged[direction], results) {
                    (Some(mine), Some(theirs)) => mine.to_mut().merge(theirs),
                    (mine @ None, Some(theirs)) => *mine = Some(Cow::Borrowed(theirs)),
                    (_, None) => {}
                }
            }
        }
        merged
    }

    /// The results of each kind of operation on files, over all workers.
    pub fn file_operations(&self) -> Vec<FileOperationResults> {
        let mut merged: BTreeMap<FileOperationKind, DirectionResults> = BTreeMap::new();
        let streams = self.workers.iter().flat_map(|worker| &worker.streams);
        for FileOperationResults { kind, results } in streams.flat_map(|stream| &stream.files) {
            match merged.get_mut(kind) {
                Some(mine) => mine.merge(results),
                None => drop(merged.insert(*kind, results.clone())),
            }
        }
        let intervals = merged.into_iter();
        intervals
            .map(|(kind, results)| FileOperationResults { kind, results })
            .collect()
    }

    /// All directions together; empty for a job without operations.
    pub fn total(&self) -> Cow<'_, DirectionResults> {
        sum_directions(self.directions())
    }

    /// Operations completed, all directions together.
    pub fn operations(&self) -> u64 {
        let streams = self.workers.iter().flat_map(|worker| &worker.streams);
        let directions = streams.flat_map(|stream| stream.directions.iter());
        let operations = directions.filter_map(|(_, results)| Some(results.as_ref()?.operations));
        operations.sum()
    }

    /// The longest measured window of its workers.
    pub fn measured(&self) -> Nanos {
        self.workers
            .iter()
            .map(|worker| worker.measured_ns)
            .max()
            .unwrap_or_default()
    }

    /// Average number of operations in flight in the measured window, by Little's law (1961): sum
    /// of all latencies / time. Operations in flight at the end count with their ages. Each worker
    /// counts with its own depth and window. `None` if nothing was measured.
    pub fn in_flight(&self) -> Option<InFlight> {
        InFlight::from_workers(&self.workers)
    }

    /// CPU time and the like of all workers.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.workers.iter().for_each(|worker| sum.add(worker.usage));
        sum
    }
}

/// Sums all directions; a single one is returned unchanged.
pub(crate) fn sum_directions(directions: PerDirection<Option<Cow<'_, DirectionResults>>>) -> Cow<'_, DirectionResults> {
    let PerDirection { read, write, trim } = directions;
    let sum = [read, write, trim].into_iter().flatten().reduce(|mut sum, results| {
        sum.to_mut().merge(&results);
        sum
    });
    sum.unwrap_or_default()
}

/// Operations in flight: average and maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InFlight {
    /// On average.
    pub average: f64,
    /// The queue depth that the engines kept.
    pub depth: u64,
    /// The part of that depth used by flushes, which no operation latency includes.
    pub flushing: f64,
    /// Operations completed.
    pub operations: u64,
}

impl InFlight {
    /// The average, capped at the depth. Operations that began before the window count with their
    /// whole latency, which can exceed the depth slightly.
    pub fn within_depth(self) -> f64 {
        self.average.min(self.depth as f64)
    }

    /// The figures of some workers, as in [`JobResults::in_flight`].
    pub fn from_workers<'a>(workers: impl IntoIterator<Item = &'a WorkerResults>) -> Option<InFlight> {
        let (mut latency, mut unfinished, mut flushing, mut area) = (0.0, 0.0, 0.0, 0.0);
        let mut found = InFlight::default();
        for worker in workers {
            area += f64::from(worker.slots) * (worker.measured_ns + worker.verified_ns).0 as f64;
            found.depth += u64::from(worker.slots);
            let flushes = worker.streams.iter().filter_map(|stream| stream.sync.as_ref());
            flushing += flushes.map(|sync| sync.latency.sum() as f64).sum::<f64>();
            for (_, direction) in worker.streams.iter().flat_map(|stream| stream.directions.iter()) {
                let Some(direction) = direction else { continue };
                latency += direction.total.sum() as f64;
                unfinished += direction.unfinished_ns.0 as f64;
                found.operations += direction.operations;
            }
        }
        if found.operations == 0 || area == 0.0 {
            return None;
        }
        // Operations that began before the window already count with their whole latency, so the
        // others fill the queue at most.
        latency = f64::max(latency, f64::min(latency + unfinished, area));
        found.average = latency / area * found.depth as f64;
        found.flushing = flushing / area * found.depth as f64;
        Some(found)
    }
}

/// The end reason of a job that ran on two hosts: the more severe one.
fn more_severe_end(mine: Option<EndReason>, theirs: Option<EndReason>) -> Option<EndReason> {
    let gravity = |reason: &Option<EndReason>| match reason {
        None => 0,
        Some(EndReason::Time | EndReason::Done | EndReason::OtherJob | EndReason::Control { .. }) => 1,
        Some(EndReason::Interrupted) => 2,
        Some(EndReason::Failed) => 3,
    };
    match gravity(&theirs) > gravity(&mine) {
        true => theirs,
        false => mine,
    }
}

impl JobResults {
    /// Adds another rank's results of the same job: appends its workers unchanged, and sums
    /// interval series and histograms.
    pub fn add(&mut self, other: JobResults) {
        let worker_shift = self.workers.len() as u32;
        self.workers.extend(other.workers);
        self.ended = more_severe_end(self.ended.take(), other.ended);
        self.lost_intervals += other.lost_intervals;
        self.log_waits += other.log_waits;
        self.control.extend(other.control);
        for series in other.series {
            match series.source {
                Some((worker, stream)) => {
                    self.series.push(Series {
                        source: Some((worker + worker_shift, stream)),
                        ..series
                    });
                }
                None => self.merge_series(series),
            }
        }
        for histogram in other.histograms {
            self.merge_histogram(histogram);
        }
        for facts in other.seconds {
            match self
                .seconds
                .binary_search_by_key(&facts.start_ns, |existing| existing.start_ns)
            {
                Err(index) => self.seconds.insert(index, facts),
                Ok(index) => self.seconds[index].add(&facts),
            }
        }
        self.merge_around(other.around);
        self.rank_series.extend(other.rank_series);
        self.windows.extend(other.windows.into_iter().map(|mut series| {
            series.worker += worker_shift;
            series
        }));
    }

    fn merge_around(&mut self, other: Vec<PhaseInterval>) {
        let key = |interval: &PhaseInterval| (interval.phase, interval.start_ns);
        let indexes: BTreeMap<(Phase, Nanos), usize> = self
            .around
            .iter()
            .enumerate()
            .map(|(place, interval)| (key(interval), place))
            .collect();
        let so_far = self.around.len();
        for interval in other {
            match indexes.get(&key(&interval)) {
                Some(place) => {
                    for (direction, counts) in interval.counts.iter() {
                        self.around[*place].counts[direction].add(*counts);
                    }
                }
                None => self.around.push(interval),
            }
        }
        if so_far > 0 && self.around.len() > so_far {
            self.around.sort_by_key(key);
        }
    }

    fn merge_series(&mut self, other: Series) {
        let matching = self
            .series
            .iter_mut()
            .find(|mine| mine.source.is_none() && mine.length_ns == other.length_ns);
        let Some(mine) = matching else {
            self.series.push(other);
            return;
        };
        for (direction, points) in other.points.iter() {
            let target = &mut mine.points[direction];
            if target.len() < points.len() {
                target.resize(points.len(), Point::default());
            }
            target
                .iter_mut()
                .zip(points)
                .for_each(|(mine, theirs)| mine.merge(theirs));
        }
    }

    fn merge_histogram(&mut self, other: IntervalHistogram) {
        let place = self
            .histograms
            .binary_search_by_key(&other.start_ns, |entry| entry.start_ns);
        match place {
            Err(index) => self.histograms.insert(index, other),
            Ok(index) => self.histograms[index].merge(other),
        }
    }
}
