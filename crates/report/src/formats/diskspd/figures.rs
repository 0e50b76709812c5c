//! DiskSpd's view of results: time spans, threads, and the targets of each thread, with every
//! figure computed once.
//!
//! A step is a time span, the workers of its jobs are its threads in order, and a worker's streams
//! are the targets of the thread. A step of another dialect may have several jobs, whose workers
//! are numbered consecutively.

use std::borrow::Cow;

use model::histogram::Histogram;
use model::plan::Plan;
use model::results::{DirectionResults, EffectiveShare, JobResults, Results, Series, StreamResults, Waits};
use model::{Direction, Nanos};

use super::buckets::Buckets;
use super::latency::{DirectionPart, Split, Spread};
use super::machine::{CpuTopology, Shares};
use super::settings::{BucketGrid, SpanSettings};

/// DiskSpd treats a shorter window as not measured.
const MIN_TIME: Nanos = Nanos(100);
/// A window that a signal closed sooner has no figures: its time is printed as 0.00s.
const MIN_INTERRUPTED: Nanos = Nanos::millis(5);

/// A time span in which something was measured.
pub(super) struct Span<'a> {
    pub settings: SpanSettings,
    /// Length of the measured window.
    pub seconds: f64,
    pub cpus: Vec<Shares>,
    pub threads: Vec<Thread<'a>>,
    pub totals: Split<Figures>,
    /// Latencies of each distinct path, in order of first appearance.
    pub paths: Vec<(Cow<'a, str>, Split<Histogram>)>,
    /// Latencies of all paths.
    pub latency: Split<Histogram>,
}

/// A thread.
pub(super) struct Thread<'a> {
    pub rows: Vec<Row<'a>>,
    pub waits: &'a Waits,
}

/// A target of a thread.
pub(super) struct Row<'a> {
    pub path: Cow<'a, str>,
    pub size: u64,
    pub figures: Split<Figures>,
    pub ranges: &'a [EffectiveShare],
}

/// Figures of reads, of writes, or of both.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub bytes: u64,
    pub operations: u64,
    pub latency: Spread,
    /// Intervals, if counted.
    pub buckets: Option<Buckets>,
}

impl Figures {
    pub(super) fn iops_deviation(&self) -> f64 {
        self.buckets.as_ref().map_or(0.0, Buckets::deviation)
    }

    /// Adds everything except latencies, whose deviations cannot be added.
    fn merge(&mut self, other: &Figures) {
        self.bytes += other.bytes;
        self.operations += other.operations;
        match (&mut self.buckets, &other.buckets) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (_, None) => {}
        }
    }
}

impl<'a> Span<'a> {
    /// Creates the time span of a step. `None` if it failed, or was interrupted before it measured
    /// anything: DiskSpd prints no figures then.
    pub(super) fn for_step(results: &'a Results, machine: &CpuTopology, step: usize) -> Option<Span<'a>> {
        let step_results = results.steps.get(step)?;
        if !step_results.jobs.iter().any(was_measured) {
            return None;
        }
        let measured = step_results.jobs.iter().map(JobResults::measured).max()?;
        let mut span = Span {
            settings: SpanSettings::for_step(&results.plan, step),
            seconds: measured.as_secs(),
            cpus: machine.shares(step_results),
            threads: Vec::new(),
            totals: Split::default(),
            paths: Vec::new(),
            latency: Split::default(),
        };
        for job in &step_results.jobs {
            for index in 0..job.workers.len() {
                span.add_worker(results, job, index);
            }
        }
        for part in DirectionPart::ALL {
            span.totals[part].latency = Spread::from_histogram(&span.latency[part]);
        }
        Some(span)
    }

    fn add_worker(&mut self, results: &'a Results, job: &'a JobResults, index: usize) {
        let worker = &job.workers[index];
        let mut thread = Thread {
            rows: Vec::new(),
            waits: &worker.waits,
        };
        for (number, stream) in worker.streams.iter().enumerate() {
            let series = |grid: &BucketGrid| find_series(job, (index, number), grid);
            let row = self.collect_row(results, stream, series);
            for part in DirectionPart::ALL {
                self.totals[part].merge(&row.figures[part]);
            }
            thread.rows.push(row);
        }
        self.threads.push(thread);
    }

    fn collect_row(
        &mut self,
        results: &'a Results,
        stream: &'a StreamResults,
        series: impl Fn(&BucketGrid) -> Option<&'a Series>,
    ) -> Row<'a> {
        let (path, size) = path_and_size(results, stream);
        let mut figures: Split<Figures> = Split::default();
        let mut latency: Split<Histogram> = Split::default();
        for (part, direction) in [
            (DirectionPart::Read, Direction::Read),
            (DirectionPart::Write, Direction::Write),
        ] {
            let direction_results = stream.directions[direction].as_ref();
            figures[part] = self.direction_figures(direction_results, direction, &series);
            let counted = figures[part].clone();
            figures.total.merge(&counted);
            if let Some(direction_results) = direction_results {
                latency[part].merge(&direction_results.completion);
                latency.total.merge(&direction_results.completion);
            }
        }
        for part in DirectionPart::ALL {
            figures[part].latency = Spread::from_histogram(&latency[part]);
        }
        self.add_latency(path.clone(), &latency);
        Row {
            path,
            size,
            figures,
            ranges: &stream.effective_ranges,
        }
    }

    fn direction_figures(
        &self,
        direction_results: Option<&DirectionResults>,
        direction: Direction,
        series: &impl Fn(&BucketGrid) -> Option<&'a Series>,
    ) -> Figures {
        let buckets = self.settings.deviation.map(|grid| {
            let points = series(&grid).map_or(&[][..], |series| &series.points[direction]);
            Buckets::from_points(points, grid)
        });
        Figures {
            bytes: direction_results.map_or(0, |direction_results| direction_results.bytes.0),
            operations: direction_results.map_or(0, |direction_results| direction_results.operations),
            latency: Spread::default(),
            buckets,
        }
    }

    fn add_latency(&mut self, path: Cow<'a, str>, latency: &Split<Histogram>) {
        let index = self.paths.iter().position(|(known_path, _)| *known_path == path);
        let index = index.unwrap_or_else(|| {
            self.paths.push((path, Split::default()));
            self.paths.len() - 1
        });
        for part in DirectionPart::ALL {
            self.paths[index].1[part].merge(&latency[part]);
            self.latency[part].merge(&latency[part]);
        }
    }
}

/// True if the measured window opened and no worker failed.
fn was_measured(job: &JobResults) -> bool {
    use model::event::EndReason;
    match &job.ended {
        None | Some(EndReason::Failed) => false,
        Some(EndReason::Time | EndReason::Done | EndReason::Control { .. } | EndReason::OtherJob) => {
            job.measured() >= MIN_TIME
        }
        // The window opened only to be closed: the signal came while threads waited to start.
        Some(EndReason::Interrupted) => job.measured() >= MIN_INTERRUPTED,
    }
}

fn find_series<'a>(job: &'a JobResults, (worker, stream): (usize, usize), grid: &BucketGrid) -> Option<&'a Series> {
    let scope = Some((worker as u32, stream as u32));
    let length = Nanos::millis(grid.length_ms);
    let fits = |series: &&Series| series.source == scope && series.length_ns == length;
    job.series.iter().find(fits)
}

/// The path as written and the size in bytes. A stream on several files, which DiskSpd lacks, has
/// the first path and the total size.
fn path_and_size<'a>(results: &'a Results, stream: &StreamResults) -> (Cow<'a, str>, u64) {
    let facts = |target: u32| results.hosts.iter().find_map(|host| host.environment.target(target));
    let size = |target: &u32| Some(facts(*target)?.size.0);
    let bytes = stream.targets.iter().filter_map(size).sum();
    let path = |plan: &'a Plan, target: &u32| plan.targets.get(*target as usize).map(|target| target.path.as_str());
    let first = stream.targets.first().and_then(|target| path(&results.plan, target));
    let first = first.unwrap_or_default();
    match stream.targets.len() {
        0 | 1 => (Cow::Borrowed(first), bytes),
        files => (Cow::Owned(format!("{first} and {} more", files - 1)), bytes),
    }
}

/// Count per second; 0 if `seconds` is 0.
pub(super) fn per_second_or_zero(count: u64, seconds: f64) -> f64 {
    match seconds > 0.0 {
        true => count as f64 / seconds,
        false => 0.0,
    }
}

/// Bytes as MiB.
pub(super) fn to_mebibytes(bytes: f64) -> f64 {
    bytes / 1024.0 / 1024.0
}
