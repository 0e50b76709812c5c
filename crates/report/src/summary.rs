//! The figures of reports, each computed once from the results: rates, latencies with their
//! reliability, operations in flight, processor time, kernel counters.
//!
//! The text report shows a summary, and the `json` format is one.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::JsonSchema;
use model::diagnosis::{JobDiagnosis, LimitTable};
use model::environment::TargetFacts;
use model::event::EndReason;
use model::finding::Finding;
use model::fleet::{Fleet, RankFacts};
use model::histogram::Histogram;
use model::plan::{EngineKind, FileOperationKind, PresetUse};
use model::results::{
    ControlOutcome, DirectionResults, Equivalent, FORMAT_VERSION, FileOperationResults, HostDeviceUse, InFlight,
    JobResults, Results, StepResults, Tool, WorkerResults,
};
use model::stats::{Support, batch_means, quantile_interval, support};
use model::{Direction, Nanos};
use serde::{Deserialize, Serialize};

use crate::words;

/// The percentiles that every summary has, in percent.
pub const PERCENTILES: [f64; 9] = [1.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];

/// The figures of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Version of this form; the same as that of saved results.
    pub format_version: u32,
    /// Always `summary`.
    #[schemars(extend("const" = "summary"))]
    pub kind: String,
    /// The program that measured.
    pub tool: Tool,
    /// Name of the test.
    pub name: String,
    /// Objective of the test, by the user or the preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// The preset that was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<PresetUse>,
    /// Seed of every random decision.
    pub seed: u64,
    /// Start, as a date and time with its zone (RFC 3339).
    pub started: String,
    /// End.
    pub ended: String,
    /// The run was cut short by the user or the system.
    pub interrupted: bool,
    /// Transport of messages between several processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// Machines that took part.
    pub hosts: Vec<HostSummary>,
    /// Facts of each tested target.
    pub targets: Vec<TargetFacts>,
    /// Every job, in the order of the plan.
    pub jobs: Vec<JobSummary>,
    /// Kernel counters of the devices under the targets.
    pub devices: Vec<DeviceSummary>,
    /// Findings of the self-checks.
    pub findings: Vec<Finding>,
    /// The same test in the other dialects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equivalents: Vec<Equivalent>,
    /// The limit of each job, if a diagnosis was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnoses: Vec<JobDiagnosis>,
    /// Limits that concurrent jobs share, if a diagnosis was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_limits: Vec<LimitTable>,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostSummary {
    /// Host name.
    pub name: String,
    /// Operating system.
    pub system: String,
    /// Kernel.
    pub kernel: String,
    /// Processor.
    pub cpu: String,
    /// Logical CPUs that could be used.
    pub cpus: u32,
    /// The clock of all figures.
    pub clock: String,
    /// Its drift from the system's clock, in parts per million.
    pub clock_drift_ppm: Option<f64>,
}

/// A job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobSummary {
    /// Index of its step.
    pub step: u32,
    /// Name of the job.
    pub name: String,
    /// Description of its operations.
    pub operations: String,
    /// Description of its workers, depth and rate.
    pub load: String,
    /// Description of its warm-up and stop conditions.
    pub phases: String,
    /// The engine of its first worker.
    pub engine: EngineKind,
    /// Why this engine was chosen.
    pub engine_reason: String,
    /// Threads.
    pub workers: u32,
    /// Length of the measured window.
    pub measured_ns: Nanos,
    /// Why it ended; absent if it never started.
    pub ended: Option<EndReason>,
    /// Reads.
    pub read: Option<Figures>,
    /// Writes.
    pub write: Option<Figures>,
    /// Trims.
    pub trim: Option<Figures>,
    /// Each kind of file operation, if the job works on a tree of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileFigures>,
    /// All directions together.
    pub total: Figures,
    /// Flushes.
    pub flush: Option<FlushFigures>,
    /// 95 % confidence interval of the IOPS: half its width as a percentage of the mean. Absent for
    /// short runs.
    pub iops_confidence_percent: Option<f64>,
    /// Operations in flight on average, by Little's law.
    pub in_flight: Option<f64>,
    /// Operations in flight that the engines allowed.
    pub depth: u64,
    /// Processor time of the workers.
    pub cpu: CpuFigures,
    /// Conclusions of the job's rules.
    pub control: Vec<ControlOutcome>,
    /// The part of each process, if several executed the job together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankSummary>,
}

/// The part of one process in a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankSummary {
    /// Rank of the process.
    pub rank: u32,
    /// Name of its host.
    pub host: String,
    /// All directions together.
    pub total: Figures,
    /// Its start, in nanoseconds after the agreed start time.
    pub start_ns: Option<i64>,
    /// Length of its measured window.
    pub measured_ns: Nanos,
    /// Its end, from the agreed start of the first step; absent if it was lost.
    #[serde(default)]
    pub ended_ns: Option<Nanos>,
    /// Operations in flight on average, by Little's law.
    #[serde(default)]
    pub in_flight: Option<f64>,
    /// Operations in flight that its engines allowed.
    #[serde(default)]
    pub depth: u64,
    /// How far its clock is ahead of the coordinator's.
    #[serde(default)]
    pub clock_ahead_ns: i64,
    /// Uncertainty of this offset: half of the shortest round trip of a message.
    #[serde(default)]
    pub clock_error_ns: u64,
    /// It completed far fewer operations than the other ranks (STRAGGLER).
    #[serde(default)]
    pub straggles: bool,
    /// Why it was lost.
    pub lost: Option<String>,
}

/// The figures of one kind of operation on files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileFigures {
    /// Kind of operation on files.
    pub operation: FileOperationKind,
    /// Operations and latencies of that kind.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The figures of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Operations completed.
    pub operations: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// Operations per second.
    pub iops: f64,
    /// 2^20 bytes per second.
    pub mib_per_sec: f64,
    /// 10^6 bytes per second.
    pub mb_per_sec: f64,
    /// Failed operations that were tolerated.
    pub errors: u64,
    /// Operations that transferred fewer bytes than requested.
    pub short: u64,
    /// Operations that were due in the measured window but not issued in it, or dropped.
    pub late: u64,
    /// Queued → reaped; due → reaped where the job is paced.
    pub latency: LatencyFigures,
    /// Queued → reaped, where the job is paced.
    pub service: Option<LatencyFigures>,
    /// Due → queued, where the job is paced.
    pub schedule_delay: Option<LatencyFigures>,
    /// Mean of queued → issued.
    pub submission_mean_ns: f64,
    /// Mean of issued → reaped.
    pub completion_mean_ns: f64,
}

/// A distribution of latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyFigures {
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub deviation_ns: f64,
    /// Smallest.
    pub min_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// Percentiles, ascending.
    pub percentiles: Vec<Percentile>,
}

/// One percentile, with how far it can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentile {
    /// The rank in percent, such as 99.9.
    pub percent: f64,
    /// The latency, within 0.4 % of the exact value.
    pub ns: u64,
    /// How many operations were slower.
    pub support: PercentileSupport,
    /// Lower end of its 95 % confidence interval, if there are enough operations.
    pub low_ns: Option<u64>,
    /// Upper end.
    pub high_ns: Option<u64>,
}

/// How many operations were slower than a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PercentileSupport {
    /// A hundred or more.
    Good,
    /// Ten to a hundred: use it together with its confidence interval.
    Weak,
    /// Fewer than ten: little more reliable than the maximum.
    None,
}

/// Flushes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlushFigures {
    /// Number of flushes.
    pub operations: u64,
    /// Issued → reaped.
    pub latency: LatencyFigures,
}

/// Processor time of the workers of a job over the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuFigures {
    /// In user mode.
    pub user_ns: Nanos,
    /// In the kernel.
    pub system_ns: Nanos,
    /// In user mode, per operation.
    pub user_ns_per_operation: f64,
    /// In the kernel, per operation.
    pub system_ns_per_operation: f64,
    /// Processors kept busy on average.
    pub processors: f64,
}

/// Kernel counters of a device under the targets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceSummary {
    /// Index of the step.
    pub step: u32,
    /// Kernel name.
    pub name: String,
    /// Name of its host, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Requests and bytes over the whole step, by the kernel.
    pub kernel: Transfers,
    /// Reads and writes that the kernel merged with a neighbour in its queue; it does not count
    /// these as requests.
    #[serde(default)]
    pub merged: [u64; 2],
    /// Operations and bytes of this test over the same time; absent where its share is unknown.
    pub ours: Option<Transfers>,
    /// Requests in the device and its queue on average, while all jobs were measuring.
    pub in_device: Option<f64>,
    /// Percentage of that time during which it was busy.
    pub busy_percent: Option<f64>,
}

impl DeviceSummary {
    /// Name, with its host if there are several.
    pub fn full_name(&self) -> String {
        match &self.host {
            Some(host) => format!("{host}: {}", self.name),
            None => self.name.clone(),
        }
    }

    /// True if the kernel counted what this test issued, including merged operations.
    pub fn matches_test(&self) -> bool {
        let kernel = Transfers {
            reads: self.kernel.reads + self.merged[0],
            writes: self.kernel.writes + self.merged[1],
            ..self.kernel
        };
        self.ours == Some(kernel)
    }
}

/// Operations and bytes by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Transfers {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl Summary {
    /// Computes all figures of the results.
    pub fn from_results(results: &Results) -> Summary {
        let plan = &results.plan;
        let first = results.hosts.first();
        let fleet = results.fleet.as_ref();
        let all_results = results;
        let jobs = plan
            .steps
            .iter()
            .zip(&results.steps)
            .enumerate()
            .flat_map(|(step, (plan, results))| {
                let jobs = plan.jobs.iter().zip(&results.jobs);
                let findings = &all_results.findings;
                jobs.map(move |(plan, results)| summarize_job(step as u32, plan, results, fleet, findings))
            });
        let devices = results.steps.iter().enumerate().flat_map(|(number, step)| {
            let devices = step.devices.iter();
            devices.map(move |device| device_summary(results, number, step, device))
        });
        Summary {
            format_version: FORMAT_VERSION,
            kind: "summary".into(),
            tool: results.tool.clone(),
            name: plan.name.clone(),
            objective: plan.origin.objective.clone(),
            preset: plan.origin.preset.clone(),
            seed: plan.seed,
            started: first.map_or_else(String::new, |host| format_date(host.started_unix_ns)),
            ended: first.map_or_else(String::new, |host| format_date(host.ended_unix_ns)),
            interrupted: results.interrupted,
            transport: fleet.map(|fleet| fleet.transport.clone()),
            hosts: results.hosts.iter().map(summarize_host).collect(),
            targets: first.map(|host| host.environment.targets.clone()).unwrap_or_default(),
            jobs: jobs.collect(),
            devices: devices.collect(),
            findings: results.findings.clone(),
            equivalents: results.equivalents.clone(),
            diagnoses: results.diagnoses.clone(),
            shared_limits: results.shared_limits.clone(),
        }
    }
}

/// Formats a moment in UTC, to the second.
fn format_date(unix_ns: u64) -> String {
    let moment = Timestamp::from_second((unix_ns / 1_000_000_000) as i64);
    moment.map(|moment| moment.to_string()).unwrap_or_default()
}

fn summarize_host(host: &model::results::HostResults) -> HostSummary {
    let environment = &host.environment;
    HostSummary {
        name: environment.host.name.clone(),
        system: environment.host.system.clone(),
        kernel: environment.host.kernel.clone(),
        cpu: environment.cpu.model.clone(),
        cpus: environment.cpu.usable,
        clock: environment.clock.source.clone(),
        clock_drift_ppm: environment.clock.drift_ppm,
    }
}

fn summarize_job(
    step: u32,
    plan: &model::plan::Job,
    results: &JobResults,
    fleet: Option<&Fleet>,
    findings: &[Finding],
) -> JobSummary {
    let window = results.measured();
    let directions = results.directions();
    let direction_figures = |direction: Direction| {
        directions[direction]
            .as_ref()
            .map(|direction_results| summarize_direction(direction_results, window))
    };
    let total = results.total();
    let engine = results
        .workers
        .first()
        .map(|worker| worker.engine.clone())
        .unwrap_or_default();
    let in_flight = results.in_flight();
    JobSummary {
        step,
        name: plan.name.clone(),
        operations: words::describe_operations(plan),
        load: words::load(plan),
        phases: words::describe_phases(plan),
        engine: engine.kind,
        engine_reason: engine.reason,
        workers: results.workers.len() as u32,
        measured_ns: window,
        ended: results.ended.clone(),
        read: direction_figures(Direction::Read),
        write: direction_figures(Direction::Write),
        trim: direction_figures(Direction::Trim),
        files: file_figures(results, window),
        total: summarize_direction(&total, window),
        flush: summarize_flushes(results),
        iops_confidence_percent: iops_confidence(results),
        in_flight: in_flight.map(InFlight::within_depth),
        depth: in_flight.map_or_else(|| plan.depth(), |direction_results| direction_results.depth),
        cpu: summarize_cpu(results, &total, window),
        control: results.control.clone(),
        ranks: fleet
            .filter(|fleet| fleet.ranks.len() > 1)
            .map(|fleet| summarize_ranks(step, results, fleet, findings))
            .unwrap_or_default(),
    }
}

fn file_figures(results: &JobResults, window: Nanos) -> Vec<FileFigures> {
    let operations = results.file_operations();
    let summarize = |operation: &FileOperationResults| FileFigures {
        operation: operation.kind,
        figures: summarize_direction(&operation.results, window),
    };
    operations.iter().map(summarize).collect()
}

impl JobSummary {
    /// The mean time of a commit in nanoseconds: a write and its flush, one after the other. `None`
    /// unless each write has a flush.
    pub fn commit_ns(&self) -> Option<f64> {
        let (write, flush) = (self.write.as_ref()?, self.flush.as_ref()?);
        // The last writes may have none yet.
        let has_flush_each = flush.operations > 0 && flush.operations as f64 >= MIN_FLUSHED * write.operations as f64;
        has_flush_each.then_some(write.latency.mean_ns + flush.latency.mean_ns)
    }

    /// The figures of each kind of file operation, or else of each direction, without their sum.
    pub fn kinds(&self) -> Vec<(&'static str, &Figures)> {
        if !self.files.is_empty() {
            let files = self.files.iter();
            return files
                .map(|file_figures| (file_figures.operation.name(), &file_figures.figures))
                .collect();
        }
        let directions = [("read", &self.read), ("write", &self.write), ("trim", &self.trim)];
        directions
            .into_iter()
            .filter_map(|(name, figures)| Some((name, figures.as_ref()?)))
            .collect()
    }
}

/// The part of each process.
fn summarize_ranks(step: u32, results: &JobResults, fleet: &Fleet, findings: &[Finding]) -> Vec<RankSummary> {
    let mut parts: BTreeMap<usize, Vec<WorkerResults>> = BTreeMap::new();
    for worker in &results.workers {
        parts.entry(worker.rank as usize).or_default().push(worker.clone());
    }
    let is_about_job =
        |finding: &&Finding| finding.rule == "STRAGGLER" && finding.at.as_deref() == Some(&*results.name);
    let stragglers: Vec<&Finding> = findings.iter().filter(is_about_job).collect();
    let summarize = |(number, facts): (usize, &RankFacts)| {
        let rank_results = JobResults {
            workers: parts.remove(&number).unwrap_or_default(),
            ..JobResults::default()
        };
        // A rank may have had no worker in this job.
        let has_part = !rank_results.workers.is_empty() || facts.lost.is_some();
        let named = format!("{} (rank {number}) ", facts.host);
        let in_flight = rank_results.in_flight();
        has_part.then(|| RankSummary {
            rank: number as u32,
            host: facts.host.clone(),
            total: summarize_direction(&rank_results.total(), rank_results.measured()),
            start_ns: facts.starts_ns.get(step as usize).copied(),
            measured_ns: rank_results.measured(),
            ended_ns: facts.ended_ns,
            in_flight: in_flight.map(InFlight::within_depth),
            depth: in_flight.map_or(0, |in_flight| in_flight.depth),
            clock_ahead_ns: facts.clock_ahead_ns,
            clock_error_ns: facts.round_trip_ns.0 / 2,
            straggles: stragglers.iter().any(|finding| finding.what.starts_with(&named)),
            lost: facts.lost.clone(),
        })
    };
    fleet.ranks.iter().enumerate().filter_map(summarize).collect()
}

fn summarize_direction(results: &DirectionResults, window: Nanos) -> Figures {
    let seconds = window.as_secs();
    let per_second = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
    let bytes_per_sec = per_second(results.bytes.0);
    let paced = results.response.is_some();
    Figures {
        operations: results.operations,
        bytes: results.bytes.0,
        iops: per_second(results.operations),
        mib_per_sec: bytes_per_sec / f64::from(1 << 20),
        mb_per_sec: bytes_per_sec / 1e6,
        errors: results.errors,
        short: results.short,
        late: results.late,
        latency: summarize_latency(results.latency()),
        service: paced.then(|| summarize_latency(&results.total)),
        schedule_delay: results.schedule_delay.as_ref().map(summarize_latency),
        submission_mean_ns: results.submission.mean(),
        completion_mean_ns: results.completion.mean(),
    }
}

fn summarize_latency(histogram: &Histogram) -> LatencyFigures {
    let n = histogram.n();
    if n == 0 {
        return LatencyFigures::default();
    }
    let percentile_of = |percent: f64| {
        let fraction = percent / 100.0;
        let (low_ns, high_ns) = quantile_interval(histogram, fraction, 0.95);
        let support = match support(fraction, n) {
            Support::Good => PercentileSupport::Good,
            Support::Weak => PercentileSupport::Weak,
            Support::None => PercentileSupport::None,
        };
        let ns = histogram.quantile(fraction);
        Percentile {
            percent,
            ns,
            support,
            low_ns,
            high_ns,
        }
    };
    LatencyFigures {
        mean_ns: histogram.mean(),
        deviation_ns: histogram.sample_deviation(),
        min_ns: histogram.min(),
        max_ns: histogram.max(),
        percentiles: PERCENTILES.into_iter().map(percentile_of).collect(),
    }
}

impl LatencyFigures {
    /// Finds one of the [`PERCENTILES`]; `None` for other ranks, or without operations.
    pub fn percentile(&self, percent: f64) -> Option<Percentile> {
        self.percentiles
            .iter()
            .find(|percentile| percentile.percent == percent)
            .copied()
    }
}

fn summarize_flushes(results: &JobResults) -> Option<FlushFigures> {
    let mut sum: Option<(u64, Histogram)> = None;
    for flushes in results
        .workers
        .iter()
        .flat_map(|worker| &worker.streams)
        .filter_map(|stream| stream.sync.as_ref())
    {
        let (operations, latency) = sum.get_or_insert_with(Default::default);
        *operations += flushes.operations;
        latency.merge(&flushes.latency);
    }
    let (operations, histogram) = sum?;
    let latency = summarize_latency(&histogram);
    Some(FlushFigures { operations, latency })
}

/// Uses the finest series of the whole job, without an incomplete last interval.
fn iops_confidence(results: &JobResults) -> Option<f64> {
    let job_series = results.series.iter().filter(|series| series.source.is_none());
    let series = job_series.min_by_key(|series| series.length_ns)?;
    let intervals = (results.measured().0 / series.length_ns.0.max(1)) as usize;
    let mut counts = vec![0.0; intervals];
    for (_, points) in series.points.iter() {
        counts
            .iter_mut()
            .zip(points)
            .for_each(|(sum, point)| *sum += point.operations as f64);
    }
    let batches = batch_means(&counts, 0.95)?;
    (batches.mean > 0.0).then(|| 100.0 * batches.half_width / batches.mean)
}

fn summarize_cpu(results: &JobResults, total: &DirectionResults, window: Nanos) -> CpuFigures {
    let usage = results.usage();
    let operations = total.operations.max(1) as f64;
    CpuFigures {
        user_ns: usage.user_ns,
        system_ns: usage.system_ns,
        user_ns_per_operation: usage.user_ns.0 as f64 / operations,
        system_ns_per_operation: usage.system_ns.0 as f64 / operations,
        processors: usage.cpu().0 as f64 / (window.0 as f64).max(1.0),
    }
}

/// Minimum share of writes with a flush for each write to count as a commit.
const MIN_FLUSHED: f64 = 0.99;
/// Shortest window for shares of time: the kernel counts a device's time in milliseconds.
const MIN_DEVICE_WINDOW: Nanos = Nanos::millis(100);

fn device_summary(results: &Results, number: usize, step: &StepResults, device: &HostDeviceUse) -> DeviceSummary {
    let counters = &device.counters;
    let is_same_device = |other: &&HostDeviceUse| other.host == device.host && other.counters.name == counters.name;
    let measured = step
        .devices_measured
        .iter()
        .find(is_same_device)
        .filter(|_| step.observed_ns >= MIN_DEVICE_WINDOW);
    let window = step.observed_ns.0 as f64;
    DeviceSummary {
        step: number as u32,
        name: counters.name.clone(),
        host: results
            .hosts
            .get(device.host as usize)
            .filter(|_| results.hosts.len() > 1)
            .map(|host| host.environment.host.name.clone()),
        kernel: Transfers {
            reads: counters.operations[0],
            read_bytes: counters.bytes[0],
            writes: counters.operations[1],
            written_bytes: counters.bytes[1],
        },
        merged: [counters.merged[0], counters.merged[1]],
        ours: results.moved(number, device).map(|moved| Transfers {
            reads: moved.counts.read.operations,
            read_bytes: moved.counts.read.bytes.0,
            writes: moved.counts.write.operations,
            written_bytes: moved.counts.write.bytes.0,
        }),
        in_device: measured.map(|measured| measured.counters.weighted_ns.0 as f64 / window),
        busy_percent: measured.map(|measured| 100.0 * measured.counters.busy_ns.0 as f64 / window),
    }
}
