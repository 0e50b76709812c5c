//! A measured load of any tool: the input of verdicts, diagnosis, explanation and comparison.
//!
//! [`Observation::from_results`] converts our own results; importers convert reports of other
//! tools. A figure that the source lacks is absent, never zero or guessed, so that judgements can
//! list missing figures.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::direction::PerDirection;
use crate::environment::CoreUse;
use crate::histogram::Histogram;
use crate::mix::Mix;
use crate::plan::{EngineKind, Job, Pacing, Plan, Rate, RateUnit, StoragePath, Stream};
use crate::results::{DirectionResults, JobResults, Results, StepResults, sum_directions};
use crate::seconds::{HostSample, IntervalFacts};
use crate::units::{Bytes, Nanos};

/// A measured load: its settings and its figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// The program that measured, such as `fathom`, `DiskSpd` or `fio`.
    pub tool: String,
    /// Its version, as it reports it.
    pub version: Option<String>,
    /// Name of the job or time span.
    pub name: String,
    /// Block size, mix, depth and duration of the load.
    pub load: Load,
    /// Wall-clock start of the measured window, in nanoseconds since 1970-01-01 UTC. Absent if it
    /// is unknown, or the time is simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_unix_ns: Option<u64>,
    /// Length of the measured window.
    pub measured_ns: Option<Nanos>,
    /// The figures of each direction; absent if it did not occur.
    pub directions: PerDirection<Option<IoStats>>,
    /// All directions together.
    pub total: IoStats,
    /// The same by thread or target, if the source reports it.
    #[serde(rename = "parts")]
    pub breakdown: Vec<BreakdownEntry>,
    /// Shares of each processor's time, sorted by number; empty if unknown.
    pub cores: Vec<CoreShare>,
    /// The cost of issuing the load.
    pub generator: Option<GeneratorCost>,
    /// The device's view, from the kernel's counters.
    pub device: Option<DeviceView>,
    /// The figures by interval, from the start of the measured window; empty if unknown.
    pub series: Vec<SeriesPoint>,
    /// The evidence by second, in time order; empty if it was not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<Second>,
    /// Operations that failed.
    pub errors: Option<u64>,
    /// Operations that transferred less than requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<u64>,
    /// Redundant figures, for display and comparison only.
    #[serde(default)]
    pub stated: StatedFigures,
    /// The loads that ran at the same time; absent if unknown.
    #[serde(rename = "at_once", default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// Operations that had not completed at the end of the measured window; other tools do not
    /// report them.
    #[serde(skip)]
    #[schemars(skip)]
    pub unfinished: Unfinished,
}

/// Operations that had not completed at the end of the measured window. No other figure of an
/// [`Observation`] contains them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unfinished {
    /// Their ages at the end, which are lower bounds of their latencies.
    pub ages: PerDirection<Option<Histogram>>,
    /// The time within the window that they were in flight, added up.
    pub in_flight_ns: Nanos,
}

/// The loads that ran at the same time as one load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Concurrency {
    /// Loads with the same group number ran side by side.
    pub group: u32,
    /// Start of the measured window on the clock of the group; 0 if unknown.
    #[serde(default)]
    pub start_ns: Nanos,
    /// It is the sum of the others.
    #[serde(default)]
    pub is_sum: bool,
}

/// Minimum overlap of loads that count as concurrent, as a share of the longer measured window.
/// Their rates then add up.
const MIN_OVERLAP: f64 = 0.9;

/// Redundant figures of a source. They are shown or compared with others, but never used in a
/// computation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatedFigures {
    /// Operations in flight on average, as the source counted them.
    pub in_flight: Option<f64>,
    /// Mean bytes of an operation of any size.
    pub bytes_per_operation: Option<f64>,
    /// Share of the time of all processors together that was used, from 0 to 1.
    pub processors_busy: Option<f64>,
}

/// The settings of a load. A setting that differs among its workers is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// Files and devices.
    pub targets: Vec<String>,
    /// Threads or processes that issue I/O, over all targets.
    pub workers: Option<u32>,
    /// Operations that may be in flight at the same time, over all workers and targets.
    pub depth: Option<u64>,
    /// Bytes of an operation, where all have the same.
    pub block: Option<Bytes>,
    /// The percentage of reads.
    pub read_percent: Option<f64>,
    /// Positions are random.
    pub random: Option<bool>,
    /// Each free slot immediately issues an operation: no rate, no pauses.
    pub closed_loop: Option<bool>,
    /// The target rate in operations per second, over all workers.
    pub rate_iops: Option<f64>,
    /// The operating system's cache is bypassed.
    pub direct: Option<bool>,
    /// The null engine completed operations without I/O.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_io: bool,
    /// I/O before the measured window.
    pub warm_up_ns: Option<Nanos>,
    /// Bytes used of each target, if all are equal.
    pub size: Option<Bytes>,
    /// The storage between the program and the disks.
    #[serde(default, skip_serializing_if = "StoragePath::is_unknown")]
    pub storage: StoragePath,
}

/// Operations of one kind over the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoStats {
    /// Operations completed.
    pub operations: Option<u64>,
    /// Bytes transferred.
    pub bytes: Option<Bytes>,
    /// Operations per second, as reported or as counted.
    pub iops: Option<f64>,
    /// Bytes per second, likewise.
    pub bytes_per_sec: Option<f64>,
    /// Standard deviation of operations per second between intervals.
    pub iops_deviation: Option<f64>,
    /// From queued to done.
    pub latency: Option<Latency>,
    /// From due to done, for paced loads.
    pub response: Option<Latency>,
    /// From due to queued, for paced loads.
    pub schedule_delay: Option<Latency>,
}

impl IoStats {
    /// The waiting time of a user: response time if paced, latency otherwise.
    pub fn user_latency(&self) -> Option<&Latency> {
        self.response.as_ref().or(self.latency.as_ref())
    }
}

/// One thread or target of a load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BreakdownEntry {
    /// Thread and target, as the source names them.
    pub name: String,
    /// Its direction; absent: all together.
    pub direction: Option<crate::direction::Direction>,
    /// Operations, bytes and latencies.
    pub flow: IoStats,
}

/// The known parts of a distribution of times, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Number of values.
    pub samples: Option<u64>,
    /// Arithmetic mean in nanoseconds.
    pub mean_ns: Option<f64>,
    /// Standard deviation in nanoseconds.
    pub deviation_ns: Option<f64>,
    /// Smallest value.
    pub min_ns: Option<f64>,
    /// Largest value.
    pub max_ns: Option<f64>,
    /// Quantiles that the source states: share of the values below (0.99 for p99) and nanoseconds,
    /// ascending.
    pub quantiles: Vec<(f64, f64)>,
    /// The whole distribution, if known, which yields any quantile and its interval.
    pub histogram: Option<Histogram>,
    /// The completion latency, if the quantiles are of it and the other figures are not.
    #[serde(skip)]
    #[schemars(skip)]
    pub completion: Option<CompletionLatency>,
}

/// The time from the submission of operations to their completion, in nanoseconds (fio's clat).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompletionLatency {
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Smallest value.
    pub min_ns: f64,
    /// Largest value.
    pub max_ns: f64,
    /// Largest time to submit an operation, which comes before.
    pub submission_max_ns: Option<f64>,
}

impl Latency {
    /// The figures of a histogram.
    pub fn from_histogram(histogram: &Histogram) -> Option<Latency> {
        (!histogram.is_empty()).then(|| Latency {
            samples: Some(histogram.n()),
            mean_ns: Some(histogram.mean()),
            deviation_ns: Some(histogram.population_deviation()),
            min_ns: Some(histogram.min() as f64),
            max_ns: Some(histogram.max() as f64),
            quantiles: Vec::new(),
            histogram: Some(histogram.clone()),
            completion: None,
        })
    }

    /// The quantile of a share of the values (0.99 for p99) in nanoseconds: from the histogram, or
    /// as the source states it.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let stated = || self.quantiles.iter().find(|(at, _)| (at - share).abs() < 1e-9);
        match &self.histogram {
            Some(histogram) => Some(histogram.quantile(share) as f64),
            None => stated().map(|(_, value)| *value),
        }
    }
}

/// Shares of one processor's time over the measured window, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CoreShare {
    /// CPU number.
    pub cpu: u32,
    /// In user mode.
    pub user: f64,
    /// In the kernel, interrupts included.
    pub kernel: f64,
    /// Taken by the hypervisor for others, where known.
    pub stolen: Option<f64>,
}

impl CoreShare {
    /// Busy in any way.
    pub fn busy(&self) -> f64 {
        self.user + self.kernel
    }

    fn from_use(core: &CoreUse, window: Nanos) -> CoreShare {
        let share = |time: Nanos| time.0 as f64 / window.0.max(1) as f64;
        CoreShare {
            cpu: core.cpu,
            user: share(core.user_ns),
            kernel: share(core.system_ns) + share(core.interrupt_ns),
            stolen: Some(share(core.stolen_ns)),
        }
    }
}

/// The cost of issuing the load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorCost {
    /// Share of the time in which the busiest worker ran on a processor, from 0 to 1.
    pub busiest_worker: f64,
    /// Processor time of all workers, in processors.
    pub processors: f64,
    /// Operations per second that this machine's engine reaches without a device, if measured.
    pub ceiling_iops: Option<f64>,
}

/// The device under a load, from the kernel's counters over the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceView {
    /// Requests in the device and its queue, averaged over time.
    pub in_flight: f64,
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_sec: f64,
    /// Share of the time in which it was busy.
    pub busy: f64,
}

/// One second of a load, with the activity of workers and machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Second {
    /// How the workers used their queues and threads.
    pub facts: IntervalFacts,
    /// The kernel's counters on the hosts in the same second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostSample>,
    /// Bytes that all jobs of the step transferred in it.
    #[serde(rename = "moved", default)]
    pub bytes_transferred: Bytes,
}

/// One interval of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeriesPoint {
    /// Start, from the start of the measured window.
    pub start_ns: Nanos,
    /// Length; the last may be shorter.
    pub length_ns: Nanos,
    /// Reads, writes, trims completed.
    pub operations: [u64; 3],
    /// Bytes read, written, trimmed.
    pub bytes: [u64; 3],
    /// Mean latency in nanoseconds of all operations (response time when paced), where known.
    pub mean_ns: Option<f64>,
    /// 99th percentile of the same, where known.
    pub p99_ns: Option<f64>,
}

impl SeriesPoint {
    /// Operations of all directions per second.
    pub fn iops(&self) -> f64 {
        self.operations.iter().sum::<u64>() as f64 / self.length_ns.as_secs()
    }

    /// Bytes of all directions per second.
    pub fn bytes_per_sec(&self) -> f64 {
        self.bytes.iter().sum::<u64>() as f64 / self.length_ns.as_secs()
    }
}

/// The wall-clock start of the measured window. Simulated time has none.
fn window_start(results: &Results, job: &JobResults) -> Option<u64> {
    let starts = job.workers.iter().filter_map(|worker| {
        let host = results.hosts.get(worker.host as usize)?;
        let is_known = host.started_unix_ns > 0 && !worker.engine.kind.simulates_io();
        is_known.then(|| host.started_unix_ns.saturating_add(worker.started_ns.0))
    });
    starts.min()
}

impl Observation {
    /// The measurements of job `job` in step `step`; `None` if there are none. The series has the
    /// finest grid of at least 100 ms that the plan records for whole jobs.
    pub fn from_results(results: &Results, step: usize, job: usize) -> Option<Observation> {
        let step_results = results.steps.get(step)?;
        let job_results = step_results.jobs.get(job)?;
        let planned_job = results.plan.steps.get(step)?.jobs.get(job)?;
        let measured = job_results.measured();
        if measured == Nanos(0) || job_results.operations() == 0 {
            return None;
        }
        let directions = job_results.directions();
        let stats = directions.map(|results| {
            results
                .as_ref()
                .and_then(|results| summarize_direction(results, measured))
        });
        let ages = directions.map(|results| results.as_ref().and_then(|results| results.unfinished.clone()));
        let total = sum_directions(directions);
        let usage = job_results.usage();
        let busiest = job_results.workers.iter().map(|worker| worker.usage.cpu().0).max();
        Some(Observation {
            tool: results.tool.name.clone(),
            version: Some(results.tool.version.clone()),
            name: job_results.name.clone(),
            load: Load {
                no_io: job_results
                    .workers
                    .iter()
                    .any(|worker| worker.engine.kind == EngineKind::Null),
                ..Load::from_job(&results.plan, planned_job)
            },
            started_unix_ns: window_start(results, job_results),
            measured_ns: Some(measured),
            directions: stats,
            total: summarize_direction(&total, measured)?,
            breakdown: Vec::new(),
            cores: core_shares(step_results),
            generator: Some(GeneratorCost {
                busiest_worker: busiest.unwrap_or(0) as f64 / measured.0 as f64,
                processors: usage.cpu().0 as f64 / measured.0 as f64,
                ceiling_iops: None,
            }),
            device: first_device_stats(step_results),
            series: collect_series(job_results),
            seconds: collect_seconds(step_results, job_results),
            errors: Some(total.errors),
            short: Some(total.short),
            stated: StatedFigures::default(),
            concurrency: planned_job.after.is_empty().then(|| Concurrency {
                group: step as u32,
                start_ns: planned_job.phases.start_delay.low_ns + planned_job.phases.warm_up_ns,
                is_sum: false,
            }),
            unfinished: Unfinished {
                ages,
                in_flight_ns: total.unfinished_ns,
            },
        })
    }

    /// Every job of every step that measured something, in order.
    pub fn all(results: &Results) -> Vec<Observation> {
        let jobs = results.steps.iter().enumerate();
        jobs.flat_map(|(step, step_results)| {
            (0..step_results.jobs.len()).filter_map(move |job| Observation::from_results(results, step, job))
        })
        .collect()
    }

    /// True if another load of the same source ran at the same time, so that their rates add up:
    /// both are in one group and share 90 % of the longer measured window. Sums of loads do not
    /// count.
    pub fn is_concurrent_with(&self, other: &Observation) -> bool {
        let (Some(ours), Some(theirs)) = (self.concurrency, other.concurrency) else {
            return false;
        };
        let is_in_group = ours.group == theirs.group && !ours.is_sum && !theirs.is_sum;
        let (Some(our_time), Some(their_time)) = (self.measured_ns, other.measured_ns) else {
            // Without times, the group alone decides.
            return is_in_group;
        };
        let end = (ours.start_ns + our_time).min(theirs.start_ns + their_time);
        let shared = end.since(ours.start_ns.max(theirs.start_ns));
        let longer = our_time.max(their_time);
        is_in_group && shared.as_secs() >= MIN_OVERLAP * longer.as_secs()
    }

    /// Average number of operations in flight by Little's law (1961): rate × mean latency. Absent
    /// if either is. Operations in flight at the end of the window count with their ages; they fill
    /// the queue at most.
    pub fn in_flight(&self) -> Option<f64> {
        let completed = self.total.iops? * self.total.latency.as_ref()?.mean_ns? / 1e9;
        let unfinished_ns = self.unfinished.in_flight_ns;
        let (Some(measured), Some(depth)) = (self.measured_ns, self.load.depth) else {
            return Some(completed);
        };
        let all = completed + unfinished_ns.0 as f64 / measured.0.max(1) as f64;
        Some(completed.max(all.min(depth as f64)))
    }

    /// Percentage of reads among the operations. Absent if directions are not distinguished.
    pub fn read_percent(&self) -> Option<f64> {
        if self.directions.iter().all(|(_, flow)| flow.is_none()) {
            return None;
        }
        let reads = self.directions.read.as_ref().map_or(Some(0.0), |reads| reads.iops)?;
        let total = self.total.iops?;
        (total > 0.0).then(|| 100.0 * reads / total)
    }
}

impl Load {
    fn from_job(plan: &Plan, job: &Job) -> Load {
        let streams = || job.workers.iter().flat_map(|worker| &worker.streams);
        let ids = streams().flat_map(|stream| stream.target.ids());
        let mut targets: Vec<String> = Vec::new();
        for path in ids.filter_map(|id| Some(&plan.targets.get(id.0 as usize)?.path)) {
            if !targets.contains(path) {
                targets.push(path.clone());
            }
        }
        Load {
            targets,
            workers: Some(job.workers.len() as u32),
            depth: Some(job.depth()),
            block: common_value(streams().map(fixed_block_size)).flatten(),
            read_percent: common_value(streams().map(requested_read_percent)).flatten(),
            random: common_value(streams().map(is_random)),
            closed_loop: Some(streams().all(|stream| stream.pacing == Pacing::Unpaced && stream.think.is_none())),
            rate_iops: rate_iops(job),
            direct: common_value(streams().map(|stream| stream.cache.direct)),
            warm_up_ns: Some(job.phases.warm_up_ns),
            storage: job.storage.clone(),
            ..Load::default()
        }
    }
}

/// The common value, if all are equal.
fn common_value<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

fn fixed_block_size(stream: &Stream) -> Option<Bytes> {
    // Operations on files have the lengths of the files, or none.
    if stream.files.is_some() {
        return None;
    }
    let (short, long) = (
        stream.pattern.shortest(&stream.mix),
        stream.pattern.longest(&stream.mix),
    );
    (short == long).then_some(long)
}

/// The percentage of reads that a stream requests. Rates for both directions determine it.
pub fn requested_read_percent(stream: &Stream) -> Option<f64> {
    use crate::direction::Direction::{Read, Trim, Write};
    match &stream.mix {
        Mix::Drawn { .. } if let Pacing::PerDirection { rates } = &stream.pacing => {
            let rate = |direction| operations_per_second(stream, rates[direction].as_ref()?);
            let (reads, writes) = (rate(Read)?, rate(Write)?);
            Some(100.0 * reads / (reads + writes))
        }
        Mix::Drawn { write_percent, .. } => Some(100.0 - write_percent),
        Mix::Exact { write_percent } => Some(100.0 - write_percent),
        mix if mix.includes(Read) && !mix.includes(Write) && !mix.includes(Trim) => Some(100.0),
        mix if !mix.includes(Read) => Some(0.0),
        _ => None,
    }
}

fn is_random(stream: &Stream) -> bool {
    stream.pattern.access.iter().any(Access::has_random_positions)
}

/// The target rate of a job over all its workers; absent if a stream has no target rate.
pub fn rate_iops(job: &Job) -> Option<f64> {
    let streams = job.workers.iter().flat_map(|worker| &worker.streams);
    streams.map(target_rate).sum()
}

/// The target rate of a stream in operations per second; absent if it is unpaced.
pub fn target_rate(stream: &Stream) -> Option<f64> {
    let operations = |rate: &Rate| operations_per_second(stream, rate);
    match &stream.pacing {
        Pacing::Unpaced => None,
        Pacing::Together { rate } => operations(rate),
        Pacing::PerDirection { rates } => {
            let planned = rates.iter().filter(|(direction, _)| stream.mix.includes(*direction));
            planned.map(|(_, rate)| rate.as_ref().and_then(operations)).sum()
        }
    }
}

fn operations_per_second(stream: &Stream, rate: &Rate) -> Option<f64> {
    match rate.unit {
        RateUnit::Operations => Some(rate.per_second()),
        RateUnit::Bytes => fixed_block_size(stream).map(|block| rate.per_second() / block.0 as f64),
    }
}

fn summarize_direction(results: &DirectionResults, measured: Nanos) -> Option<IoStats> {
    let seconds = measured.as_secs();
    (results.operations > 0).then(|| IoStats {
        operations: Some(results.operations),
        bytes: Some(results.bytes),
        iops: Some(results.operations as f64 / seconds),
        bytes_per_sec: Some(results.bytes.0 as f64 / seconds),
        iops_deviation: None,
        latency: Latency::from_histogram(&results.total),
        response: results.response.as_ref().and_then(Latency::from_histogram),
        schedule_delay: results.schedule_delay.as_ref().and_then(Latency::from_histogram),
    })
}

fn core_shares(step: &StepResults) -> Vec<CoreShare> {
    if step.observed_ns == Nanos(0) {
        return Vec::new();
    }
    let cores = step.cores.iter().filter(|core| core.host == 0);
    cores
        .map(|core| CoreShare::from_use(&core.core, step.observed_ns))
        .collect()
}

/// The seconds of a job, each with the samples that cover its middle.
fn collect_seconds(step: &StepResults, job: &JobResults) -> Vec<Second> {
    let mut samples: Vec<&HostSample> = step.samples.iter().collect();
    samples.sort_by_key(|sample| sample.start_ns);
    let host_count = 1 + samples.iter().map(|sample| sample.host).max().unwrap_or(0) as usize;
    let second = |facts: &IntervalFacts| {
        let middle = facts.start_ns + Nanos(facts.length_ns.0 / 2);
        let started_count = samples.partition_point(|sample| sample.start_ns <= middle);
        let candidates = samples[started_count.saturating_sub(host_count)..started_count].iter();
        let covering = candidates.filter(|sample| middle < sample.start_ns + sample.length_ns);
        Second {
            facts: *facts,
            hosts: covering.map(|sample| (*sample).clone()).collect(),
            bytes_transferred: Bytes(step.jobs.iter().map(|job| bytes_transferred(job, facts)).sum()),
        }
    };
    job.seconds.iter().map(second).collect()
}

/// Bytes that a job moved in an interval, from its finest series.
fn bytes_transferred(job: &JobResults, interval: &IntervalFacts) -> u64 {
    let whole_job = job.series.iter().filter(|series| series.source.is_none());
    let Some(series) = whole_job.min_by_key(|series| series.length_ns) else {
        return 0;
    };
    let index = |time: Nanos| ((time.0 + series.length_ns.0 / 2) / series.length_ns.0.max(1)) as usize;
    let (start, end) = (index(interval.start_ns), index(interval.start_ns + interval.length_ns));
    let directions = series.points.iter();
    let points = directions.flat_map(|(_, points)| points.get(start..end.min(points.len())).unwrap_or_default());
    points.map(|point| point.bytes).sum()
}

/// The first device under the targets of the step, which programs address. Devices below it count
/// the same I/O again.
fn first_device_stats(step: &StepResults) -> Option<DeviceView> {
    let window = step.observed_ns;
    let device = &step.devices_measured.first()?.counters;
    let seconds = window.as_secs();
    (window > Nanos(0)).then(|| DeviceView {
        in_flight: device.weighted_ns.0 as f64 / window.0 as f64,
        iops: device.operations.iter().sum::<u64>() as f64 / seconds,
        bytes_per_sec: device.bytes.iter().sum::<u64>() as f64 / seconds,
        busy: device.busy_ns.0 as f64 / window.0 as f64,
    })
}

fn collect_series(job: &JobResults) -> Vec<SeriesPoint> {
    const MIN_INTERVAL: Nanos = Nanos(100_000_000);
    let job_series = job.series.iter().filter(|series| series.source.is_none());
    let Some(series) = job_series
        .filter(|series| series.length_ns >= MIN_INTERVAL)
        .min_by_key(|series| series.length_ns)
    else {
        return Vec::new();
    };
    let points = [&series.points.read, &series.points.write, &series.points.trim];
    let count = points.iter().map(|points| points.len()).max().unwrap_or(0);
    let measured = job.measured();
    let point = |number: usize| {
        let point_at = |list: &Vec<crate::results::Point>| list.get(number).cloned().unwrap_or_default();
        let directions = points.map(point_at);
        let operations = [
            directions[0].operations, directions[1].operations, directions[2].operations,
        ];
        let operation_count: u64 = operations.iter().sum();
        let latency: u64 = directions.iter().map(|point| point.latency_ns).sum();
        let start = Nanos(series.length_ns.0 * number as u64);
        SeriesPoint {
            start_ns: start,
            length_ns: series.length_ns.min(measured.since(start)),
            operations,
            bytes: [directions[0].bytes, directions[1].bytes, directions[2].bytes],
            mean_ns: (operation_count > 0).then(|| latency as f64 / operation_count as f64),
            p99_ns: None,
        }
    };
    (0..count)
        .map(point)
        .filter(|point| point.length_ns > Nanos(0))
        .collect()
}
