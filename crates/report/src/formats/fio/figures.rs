//! The figures of one direction of a report entry, and how figures of workers are merged.

use model::histogram::Histogram;
use model::results::{DirectionResults, Point, StreamResults, WorkerResults};
use model::{Direction, Nanos, PerDirection};

use super::entries::Member;
use super::errors;
use super::samples::{self, Samples};
use super::settings::{JobSettings, Latencies, Unified};

/// The figures of one direction, or of all directions together.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub bytes: u64,
    pub operations: u64,
    /// Including failed operations.
    pub issued: u64,
    pub short: u64,
    /// Whole milliseconds, rounded up; 0 without any bytes.
    pub runtime_ms: u64,
    pub latency: Latencies<Histogram>,
    /// Figures for each I/O priority, if the operations have different priorities.
    pub priorities: Vec<PriorityFigures>,
    /// KiB per second.
    pub bandwidth: Samples,
    pub iops: Samples,
}

/// Operations with the same I/O priority.
#[derive(Clone, Debug)]
pub(super) struct PriorityFigures {
    pub class: u8,
    pub level: u8,
    pub hint: u16,
    /// Total latency if its percentiles are requested, else completion latency.
    pub latency: Histogram,
}

impl Figures {
    /// The priorities that occurred, if there is more than one.
    pub(super) fn by_priority(&self) -> Vec<&PriorityFigures> {
        let occurred: Vec<&PriorityFigures> = self
            .priorities
            .iter()
            .filter(|figures| !figures.latency.is_empty())
            .collect();
        match occurred.len() {
            0 | 1 => Vec::new(),
            _ => occurred,
        }
    }

    fn add_priority(&mut self, class: u8, level: u8, hint: u16, latency: &Histogram) {
        let has_same_priority =
            |figures: &&mut PriorityFigures| (figures.class, figures.level, figures.hint) == (class, level, hint);
        match self.priorities.iter_mut().find(has_same_priority) {
            Some(figures) => figures.latency.merge(latency),
            None => self.priorities.push(PriorityFigures {
                class,
                level,
                hint,
                latency: latency.clone(),
            }),
        }
    }

    pub(super) fn bytes_per_second(&self) -> u64 {
        per_second(self.bytes, self.runtime_ms)
    }

    pub(super) fn whole_iops(&self) -> u64 {
        per_second(self.operations, self.runtime_ms)
    }

    pub(super) fn exact_iops(&self) -> f64 {
        match self.runtime_ms {
            0 => 0.0,
            runtime => self.operations as f64 * 1000.0 / runtime as f64,
        }
    }

    /// The mean of the bandwidth samples as a percentage of the group's bandwidth, at most 100.
    pub(super) fn percent_of_group(&self, group_bytes_per_second: u64) -> f64 {
        match group_bytes_per_second {
            _ if self.bandwidth.count == 0 => 0.0,
            0 => 100.0,
            group => (self.bandwidth.mean * 100.0 / (group as f64 / 1024.0)).min(100.0),
        }
    }

    /// Adds a concurrent worker: merges its latencies, and adds its samples of bandwidth and IOPS.
    pub(super) fn add(&mut self, other: &Figures) {
        self.bytes += other.bytes;
        self.operations += other.operations;
        self.issued += other.issued;
        self.short += other.short;
        self.runtime_ms = self.runtime_ms.max(other.runtime_ms);
        self.latency.slat.merge(&other.latency.slat);
        self.latency.clat.merge(&other.latency.clat);
        self.latency.lat.merge(&other.latency.lat);
        for figures in &other.priorities {
            self.add_priority(figures.class, figures.level, figures.hint, &figures.latency);
        }
        self.bandwidth.add(&other.bandwidth);
        self.iops.add(&other.iops);
    }

    /// Adds the results of a stream.
    fn add_stream(&mut self, results: &DirectionResults, has_slat: bool, (enabled, of_lat): (Latencies<bool>, bool)) {
        self.bytes += results.bytes.0;
        self.operations += results.operations;
        self.issued += results.operations + results.errors;
        self.short += results.short;
        for (mine, theirs, wanted) in [
            (&mut self.latency.slat, &results.submission, enabled.slat && has_slat),
            (&mut self.latency.clat, &results.completion, enabled.clat),
            (&mut self.latency.lat, &results.total, enabled.lat),
        ] {
            if wanted {
                mine.merge(theirs);
            }
        }
        for figures in &results.priorities {
            let (latency, wanted) = match of_lat {
                true => (&figures.total, enabled.lat),
                false => (&figures.completion, enabled.clat),
            };
            if wanted {
                self.add_priority(figures.class, figures.level, figures.hint, latency);
            }
        }
    }
}

fn per_second(amount: u64, runtime_ms: u64) -> u64 {
    let thousandfold = u128::from(amount) * 1000;
    thousandfold.checked_div(u128::from(runtime_ms)).unwrap_or(0) as u64
}

/// The figures of one worker. With mixed reporting, all directions are counted as reads.
pub(super) fn worker_figures(member: &Member, worker: &WorkerResults, settings: &JobSettings) -> PerDirection<Figures> {
    let mut figures: PerDirection<Figures> = PerDirection::default();
    for (direction, results) in worker.streams.iter().flat_map(directions) {
        let mine = &mut figures[reported_direction(direction, settings)];
        let enabled = Latencies {
            lat: settings.enabled.lat && !member.is_metadata_engine(),
            ..settings.enabled
        };
        mine.add_stream(results, member.has_slat(), (enabled, settings.percentiles_of.lat));
        if results.bytes.0 > 0 {
            let runtime = direction_runtime(direction, member, worker).0.div_ceil(1_000_000);
            mine.runtime_ms = mine.runtime_ms.max(runtime);
        }
    }
    // Reads that failed verification are already counted as operations.
    let mismatches = &mut figures[reported_direction(Direction::Read, settings)];
    mismatches.issued = mismatches.issued.saturating_sub(errors::tolerated_mismatches(worker));
    // With `verify_only`, fio counts the writes that it skipped as issued, without bytes.
    figures[reported_direction(Direction::Write, settings)].issued += worker.phantom_writes;
    if let Some(failed) = errors::failed_operation(worker) {
        figures[reported_direction(failed.direction, settings)].issued += 1;
    }
    let sampled = |length: Nanos| samples::sample_windows(member.job_results, member.index, length, worker.measured_ns);
    let bandwidth = sampled(settings.bandwidth_sample);
    let iops = match settings.iops_sample == settings.bandwidth_sample {
        true => bandwidth.clone(),
        false => sampled(settings.iops_sample),
    };
    for direction in Direction::ALL {
        let mine = &mut figures[direction];
        mine.bandwidth = samples::sample_bandwidth(
            &windows_of_direction(&bandwidth, direction, settings.unified),
            settings.bandwidth_sample,
        );
        mine.iops = samples::sample_iops(
            &windows_of_direction(&iops, direction, settings.unified),
            settings.iops_sample,
        );
    }
    figures
}

/// Run time of a direction. Verify reads follow the measured window.
fn direction_runtime(direction: Direction, member: &Member, worker: &WorkerResults) -> Nanos {
    match direction {
        Direction::Read if worker.verified_ns == Nanos(0) => worker.measured_ns,
        Direction::Read if member.reads_while_measuring() => worker.measured_ns + worker.verified_ns,
        Direction::Read => worker.verified_ns,
        Direction::Write | Direction::Trim => worker.measured_ns,
    }
}

fn directions(stream: &StreamResults) -> impl Iterator<Item = (Direction, &DirectionResults)> {
    let directions = stream.directions.iter();
    directions.filter_map(|(direction, results)| Some((direction, results.as_ref()?)))
}

fn reported_direction(direction: Direction, settings: &JobSettings) -> Direction {
    match settings.unified {
        Unified::Mixed => Direction::Read,
        Unified::No | Unified::Both => direction,
    }
}

fn windows_of_direction(windows: &PerDirection<Vec<Point>>, direction: Direction, unified: Unified) -> Vec<Point> {
    match (unified, direction) {
        (Unified::Mixed, Direction::Read) => samples::sum_directions(windows),
        (Unified::Mixed, _) => Vec::new(),
        (Unified::No | Unified::Both, direction) => windows[direction].clone(),
    }
}
