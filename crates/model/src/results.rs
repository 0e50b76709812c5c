//! What a test found, complete and in units that add up: counters, histograms, interval series, environment, findings.
//!
//! Every report is rendered from this. Merging is addition: counters and histograms of workers add, device counters and
//! CPU time count once for each host. Nothing here is rounded or divided; rates are computed by whoever shows them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block_lifetimes::BlockLifetimes;
use crate::diagnosis::{JobDiagnosis, LimitTable};
use crate::direction::{Direction, PerDirection};
use crate::environment::{CoreUse, DeviceUse, Environment, SystemUse, VolumeUse};
use crate::event::{Counts, EndReason, Interval, Phase};
use crate::finding::Finding;
use crate::fleet::Fleet;
use crate::histogram::{Histogram, PackedHistogram};
use crate::mismatch::Mismatch;
use crate::plan::{Dialect, EngineKind, Plan};
use crate::seconds::{HostSample, IntervalFacts};
use crate::units::{Bytes, Nanos};

/// Version of the saved format. Readers accept this one and the one before.
pub const FORMAT_VERSION: u32 = 1;

/// The results of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// See [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Always `run`; a saved study says `study`.
    pub kind: Kind,
    /// What made it.
    pub tool: Tool,
    /// What was asked for.
    pub plan: Plan,
    /// One entry for each host that took part.
    pub hosts: Vec<HostResults>,
    /// What was measured, step by step.
    pub steps: Vec<StepResults>,
    /// What the checks found.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The run was cut short by the user or the system.
    #[serde(default)]
    pub interrupted: bool,
    /// The same test in the words of the dialects that it was not written in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equivalents: Vec<Equivalent>,
    /// What limited each job, where that was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnoses: Vec<JobDiagnosis>,
    /// Limits that jobs share which ran at the same time, where a diagnosis was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_limits: Vec<LimitTable>,
    /// The processes that carried it out together, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
}

/// The same test in the words of another dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Equivalent {
    /// Whose words these are.
    pub dialect: Dialect,
    /// What the text is.
    pub form: EquivalentForm,
    /// The text.
    pub text: String,
    /// The same in one line, where a job file has only one job.
    #[serde(default)]
    pub one_line: Option<String>,
    /// What that dialect cannot say, or says only nearly: the test is another one there.
    #[serde(default)]
    pub lost: Vec<String>,
    /// What that dialect does in its own way whatever is said: the test is the same, its details are not.
    #[serde(default)]
    pub differs: Vec<String>,
}

/// What the text of an equivalent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EquivalentForm {
    /// A command line.
    CommandLine,
    /// A job file of fio, or one of ours in TOML.
    JobFile,
    /// A profile of DiskSpd.
    Xml,
}

/// What a saved file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One run.
    Run,
}

/// The program that made a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Raised whenever a change of the measuring code may change figures.
    pub engine_revision: u32,
}

/// One host of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostResults {
    /// What surrounded the test there.
    pub environment: Environment,
    /// Wall-clock start, in nanoseconds since 1970-01-01 UTC.
    pub started_unix_ns: u64,
    /// Wall-clock end.
    pub ended_unix_ns: u64,
    /// What the system counted from start to end; absent where it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<SystemUse>,
    /// How idle its processors were, where that was measured (fio `--idle-prof`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idleness: Option<Idleness>,
}

/// How idle processors were, measured by work that is done only while nothing else wants to run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Idleness {
    /// Each processor that the program may use.
    pub cpus: Vec<CpuIdleness>,
    /// How long a unit of that work takes on a processor that has nothing else to do: the mean over the processors.
    pub unit_ns_mean: f64,
    /// The standard deviation of that between the processors.
    pub unit_ns_deviation: f64,
}

/// How idle a processor was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuIdleness {
    /// Its number.
    pub cpu: u32,
    /// The part of the time in which nothing else ran on it, in percent.
    pub percent: f64,
}

impl Idleness {
    /// The mean over the processors, in percent.
    pub fn percent(&self) -> f64 {
        let sum: f64 = self.cpus.iter().map(|cpu| cpu.percent).sum();
        sum / self.cpus.len().max(1) as f64
    }
}

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepResults {
    /// Its jobs in plan order.
    pub jobs: Vec<JobResults>,
    /// Kernel counters of the devices under the targets, from before the first operation to after the last.
    #[serde(default)]
    pub devices: Vec<HostDeviceUse>,
    /// Kernel counters of the same devices over the time in which every job of the step was measuring.
    #[serde(default)]
    pub devices_measured: Vec<HostDeviceUse>,
    /// CPU time by core over the same time.
    #[serde(default)]
    pub cores: Vec<HostCoreUse>,
    /// What providers of virtual disks counted over the same time, where they tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<HostVolumeUse>,
    /// That time.
    #[serde(default)]
    pub observed_ns: Nanos,
    /// What the kernel counted second by second over the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<HostSample>,
}

/// Device counters with the host they belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostDeviceUse {
    /// Index of the host.
    pub host: u32,
    /// The counters.
    #[serde(flatten)]
    pub counters: DeviceUse,
}

/// Counters of a provider with the host they belong to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostVolumeUse {
    /// Index of the host.
    pub host: u32,
    /// The counters.
    #[serde(flatten)]
    pub volume: VolumeUse,
}

/// CPU time with the host it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostCoreUse {
    /// Index of the host.
    pub host: u32,
    /// The time.
    #[serde(flatten)]
    pub core: CoreUse,
}

/// One job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobResults {
    /// Its name.
    pub name: String,
    /// Its workers in plan order.
    pub workers: Vec<WorkerResults>,
    /// Interval series.
    #[serde(default)]
    pub series: Vec<Series>,
    /// Histograms by interval, in time order.
    #[serde(default)]
    pub histograms: Vec<IntervalHistogram>,
    /// How the workers used their queues and threads, second by second, in time order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<IntervalFacts>,
    /// What was done before and after the measured window, in time order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<PhaseInterval>,
    /// Operations of each rank by interval, where several carried it out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rank_series: Vec<RankSeries>,
    /// Latencies of each worker window by window, where the plan asks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<WindowSeries>,
    /// Intervals whose histogram had to be joined to the next because the gatherer was late.
    #[serde(default)]
    pub lost_intervals: u64,
    /// Times a worker had to wait for its operation log, or for the trace that it writes.
    #[serde(default)]
    pub log_waits: u64,
    /// Why it ended; absent if it never started.
    #[serde(default)]
    pub ended: Option<EndReason>,
    /// What the rules of the job concluded.
    #[serde(default)]
    pub control: Vec<ControlOutcome>,
}

/// An interval outside of the measured window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseInterval {
    /// The phase.
    pub phase: Phase,
    /// Start, from the start of that phase.
    pub start_ns: Nanos,
    /// Length.
    pub length_ns: Nanos,
    /// Operations and bytes of each direction.
    pub counts: PerDirection<Counts>,
}

impl PhaseInterval {
    /// The figures of an interval that was told while it happened; `None` for those of the measured window.
    pub fn of(interval: &Interval) -> Option<PhaseInterval> {
        (interval.phase != Phase::Measured).then_some(PhaseInterval {
            phase: interval.phase,
            start_ns: interval.start_ns,
            length_ns: interval.length_ns,
            counts: interval.counts,
        })
    }
}

/// What a rule of a job concluded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ControlOutcome {
    /// The rule, in words.
    pub rule: String,
    /// Its aim was reached.
    pub attained: bool,
    /// What it saw, in words.
    pub detail: String,
    /// The values it judged, in the unit it names.
    #[serde(default)]
    pub series: Vec<f64>,
    /// The queue depth it found, where it looked for one.
    #[serde(default)]
    pub depth: Option<u32>,
}

/// One worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerResults {
    /// Index of its host.
    pub host: u32,
    /// Rank of the process that had it, where there are several.
    #[serde(default)]
    pub rank: u32,
    /// Number of the worker in its job.
    pub worker: u32,
    /// The engine that carried it.
    pub engine: EngineUsed,
    /// Start of its measured window, from the start of the run.
    pub started_ns: Nanos,
    /// Length of its measured window: to the planned end, or to its last completion if it ended by count.
    pub measured_ns: Nanos,
    /// Time that reading back took after the measured window; 0 if nothing was. What was read then is counted among the
    /// reads of its stream, as is what a backlog read within the window.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verified_ns: Nanos,
    /// Times it had caught up with the reader of the trace that it carries out, and waited for more.
    #[serde(default, skip_serializing_if = "none_found")]
    pub trace_waits: u64,
    /// Time from its first operation to its last completion, all phases.
    pub active_ns: Nanos,
    /// Streams in plan order.
    pub streams: Vec<StreamResults>,
    /// Operations in flight when each operation was issued.
    #[serde(default)]
    pub depth: Distribution,
    /// Operations handed over per submitting call, in the classes of batches.
    #[serde(default)]
    pub submitted: Distribution,
    /// Completions taken per look, in the classes of batches.
    #[serde(default)]
    pub completed: Distribution,
    /// What the worker waited for.
    #[serde(default)]
    pub waits: Waits,
    /// Queue depth in force at the end.
    pub slots: u32,
    /// CPU time and the like over the measured window.
    #[serde(default)]
    pub usage: Usage,
    /// Intervals of a series that were joined to the next because too many came at once.
    #[serde(default)]
    pub joined_rows: u64,
    /// Bytes of memory for maps of used blocks.
    #[serde(default)]
    pub map_bytes: Bytes,
    /// What verification found, the first [`MOST_MISMATCHES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<Mismatch>,
    /// How many it found in all.
    #[serde(default, skip_serializing_if = "none_found")]
    pub mismatch_count: u64,
    /// How often blocks were trimmed before something failed there, where the plan asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_lifetimes: Option<BlockLifetimes>,
    /// What verification was to keep for a later check and could not, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<String>,
    /// Failures that were tolerated, where they are to be told: the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerated: Vec<Failure>,
    /// What ended it early.
    #[serde(default)]
    pub failure: Option<Failure>,
}

// Results of jobs that verify nothing, which is nearly all, stay as they were before there was verification.
fn is_zero(time: &Nanos) -> bool {
    *time == Nanos(0)
}

fn none_found(count: &u64) -> bool {
    *count == 0
}

/// So many mismatches of a worker are kept.
pub const MOST_MISMATCHES: usize = 1000;

/// The engine that carried a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineUsed {
    /// Which.
    pub kind: EngineKind,
    /// Why, where it was left to the tool.
    #[serde(default)]
    pub reason: String,
    /// Features in use, such as `registered buffers`.
    #[serde(default)]
    pub features: Vec<String>,
    /// What was asked for or usual and could not be had, with the reason.
    #[serde(default)]
    pub without: Vec<String>,
    /// Most operations handed over at once.
    pub submit_batch: u32,
    /// Operations complete inside the submitting call.
    #[serde(default)]
    pub inline: bool,
}

impl WorkerResults {
    /// Fills in the distributions of a worker that had one operation in flight at a time, and so never counted them.
    pub fn count_one_at_a_time(&mut self) {
        let operations: u64 = self
            .streams
            .iter()
            .flat_map(|stream| stream.directions.iter())
            .map(|(_, d)| d.as_ref().map_or(0, |d| d.operations))
            .sum();
        for distribution in [&mut self.depth, &mut self.submitted, &mut self.completed] {
            *distribution = Distribution {
                classes: if operations > 0 {
                    vec![0, operations]
                } else {
                    Vec::new()
                },
            };
        }
    }
}

/// One stream of a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamResults {
    /// Indexes of its targets.
    pub targets: Vec<u32>,
    /// Results for each direction that occurred or could have.
    pub directions: PerDirection<Option<DirectionResults>>,
    /// Flushes.
    #[serde(default)]
    pub sync: Option<SyncResults>,
    /// Operations and bytes over all phases, for comparison with the kernel's counters.
    pub lifetime: PerDirection<Counts>,
    /// Ranges in effect where a stepped distribution was asked for.
    #[serde(default)]
    pub effective_ranges: Vec<EffectiveShare>,
}

/// One range of a distribution as it was in effect on the real target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EffectiveShare {
    /// Share of the operations in percent.
    pub operations_percent: f64,
    /// First byte from the base of the region.
    pub start: Bytes,
    /// Bytes.
    pub length: Bytes,
}

/// One direction of a stream over the measured window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionResults {
    /// Operations completed.
    pub operations: u64,
    /// Bytes really transferred.
    pub bytes: Bytes,
    /// Operations that transferred less than asked for.
    #[serde(default)]
    pub short: u64,
    /// Operations that failed and were tolerated.
    #[serde(default)]
    pub errors: u64,
    /// Error number of the first of them.
    #[serde(default)]
    pub first_error: Option<i32>,
    /// Paced operations that were due in the window and were not issued in it, or were given up.
    #[serde(default)]
    pub late: u64,
    /// Queued → issued.
    pub submission: Histogram,
    /// Issued → reaped.
    pub completion: Histogram,
    /// Queued → reaped.
    pub total: Histogram,
    /// Due → queued, when paced.
    #[serde(default)]
    pub schedule_delay: Option<Histogram>,
    /// Due → reaped, when paced.
    #[serde(default)]
    pub response: Option<Histogram>,
    /// The same operations by I/O priority, where parts of them have one of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityResults>,
}

/// Operations of one direction with the same I/O priority.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriorityResults {
    /// The kernel's number of the class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// Level within the class.
    pub level: u8,
    /// Hint to the device.
    #[serde(default)]
    pub hint: u16,
    /// Operations completed.
    pub operations: u64,
    /// Issued → reaped.
    pub completion: Histogram,
    /// Queued → reaped.
    pub total: Histogram,
}

impl PriorityResults {
    fn is_like(&self, other: &PriorityResults) -> bool {
        (self.class, self.level, self.hint) == (other.class, other.level, other.hint)
    }
}

impl DirectionResults {
    /// The latency that percentiles default to: response time when paced, total otherwise.
    pub fn latency(&self) -> &Histogram {
        self.response.as_ref().unwrap_or(&self.total)
    }

    /// Adds results of the same direction.
    pub fn merge(&mut self, other: &DirectionResults) {
        self.operations += other.operations;
        self.bytes.0 += other.bytes.0;
        self.short += other.short;
        self.errors += other.errors;
        self.first_error = self.first_error.or(other.first_error);
        self.late += other.late;
        self.submission.merge(&other.submission);
        self.completion.merge(&other.completion);
        self.total.merge(&other.total);
        for (mine, theirs) in [
            (&mut self.schedule_delay, &other.schedule_delay),
            (&mut self.response, &other.response),
        ] {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (None, Some(theirs)) => *mine = Some(theirs.clone()),
                (_, None) => {}
            }
        }
        for theirs in &other.priorities {
            match self.priorities.iter_mut().find(|mine| mine.is_like(theirs)) {
                Some(mine) => {
                    mine.operations += theirs.operations;
                    mine.completion.merge(&theirs.completion);
                    mine.total.merge(&theirs.total);
                }
                None => self.priorities.push(theirs.clone()),
            }
        }
    }
}

/// Flushes of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncResults {
    /// Flushes completed.
    pub operations: u64,
    /// Issued → reaped.
    pub latency: Histogram,
}

/// How often each small count occurred, by classes that double: queue depths in 0, 1, 2–3, 4–7, 8–15 and so on, sizes of
/// batches in 0, 1, 2, 3–4, 5–8, 9–16 and so on. fio shows both in these classes, with 1–4 as one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Distribution {
    /// Occurrences of each class. Entry 0 counts zeros. Of depths, entry k counts 2^(k−1) to 2^k − 1; of batches, entry 1
    /// counts ones and entry k counts 2^(k−2) + 1 to 2^(k−1).
    pub classes: Vec<u64>,
}

impl Distribution {
    /// Counts a queue depth.
    #[inline(always)]
    pub fn record(&mut self, value: u32, times: u64) {
        self.count((32 - value.leading_zeros()) as usize, times);
    }

    /// Counts the size of a batch. A full batch is a power of two most of the time, so that such a value ends a class
    /// instead of beginning one.
    #[inline(always)]
    pub fn record_batch(&mut self, size: u32) {
        let class = match size {
            0 => 0,
            size => 33 - (size - 1).leading_zeros(),
        };
        self.count(class as usize, 1);
    }

    #[inline(always)]
    fn count(&mut self, class: usize, times: u64) {
        if let Some(slot) = self.classes.get_mut(class) {
            *slot += times;
        }
    }

    /// A distribution with room for all values.
    pub fn ready() -> Distribution {
        Distribution { classes: vec![0; 34] }
    }

    /// Adds another distribution.
    pub fn merge(&mut self, other: &Distribution) {
        if self.classes.len() < other.classes.len() {
            self.classes.resize(other.classes.len(), 0);
        }
        for (mine, theirs) in self.classes.iter_mut().zip(&other.classes) {
            *mine += theirs;
        }
    }

    /// Drops empty classes at the end.
    pub fn trim(&mut self) {
        while self.classes.last() == Some(&0) {
            self.classes.pop();
        }
    }
}

/// What a worker waited for in the measured window, turn by turn (DiskSpd `-vs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Waits for a completion with nothing left that could be issued.
    pub completion: u64,
    /// Waits for a completion while pacing or a pause held operations back.
    pub throttled: u64,
    /// Waits with nothing in flight until the next operation was due.
    pub slept: u64,
    /// Looks for completions that did not wait.
    pub looks: u64,
    /// How many of those looks brought 0, 1, … 6, and 7 or more completions.
    pub completions_per_look: [u64; 8],
}

impl Waits {
    /// Adds those of another window.
    pub fn add(&mut self, other: &Waits) {
        self.completion += other.completion;
        self.throttled += other.throttled;
        self.slept += other.slept;
        self.looks += other.looks;
        for (mine, theirs) in self.completions_per_look.iter_mut().zip(other.completions_per_look) {
            *mine += theirs;
        }
    }
}

/// What a thread used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// CPU time in the program.
    pub user_ns: Nanos,
    /// CPU time in the kernel.
    pub system_ns: Nanos,
    /// Times it gave up the CPU.
    pub voluntary_switches: u64,
    /// Times the CPU was taken from it.
    pub involuntary_switches: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
}

impl Usage {
    /// The use between two readings.
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            user_ns: self.user_ns - earlier.user_ns,
            system_ns: self.system_ns - earlier.system_ns,
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
        }
    }

    /// Adds the use of another thread.
    pub fn add(&mut self, other: Usage) {
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
    }

    /// CPU time in program and kernel.
    pub fn cpu(self) -> Nanos {
        self.user_ns + self.system_ns
    }
}

/// What ended a worker early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// What failed, in a sentence.
    pub what: String,
    /// Where: target, direction, offset, length.
    pub at: String,
    /// Error number, if it came from the system.
    #[serde(default)]
    pub errno: Option<i32>,
    /// The operation that failed, if it was one.
    #[serde(default)]
    pub operation: Option<FailedOperation>,
    /// What to do.
    #[serde(default)]
    pub help: Option<String>,
}

/// An operation that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedOperation {
    /// Slot of the queue that it used, counted over the whole worker.
    pub slot: u32,
    /// Index of its stream.
    pub stream: u32,
    /// What it was.
    pub direction: Direction,
    /// The file or device.
    #[serde(default)]
    pub path: String,
    /// Where it began there.
    #[serde(default)]
    pub offset: Bytes,
    /// Bytes that were asked for.
    #[serde(default)]
    pub length: u32,
    /// It did what it should, only too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_slow: Option<TooSlow>,
}

/// A latency beyond what was allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TooSlow {
    /// What it took.
    pub took_ns: Nanos,
    /// What it might take.
    pub most_ns: Nanos,
}

/// An interval series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of an interval.
    pub length_ns: Nanos,
    /// Worker and stream it belongs to; absent for the whole job.
    #[serde(default)]
    pub of: Option<(u32, u32)>,
    /// One entry for each interval since the start of the measured window; empty intervals are there as zeros. The last
    /// one may be shorter.
    pub points: PerDirection<Vec<Point>>,
}

/// One interval of a series: operations, bytes, and total latency where it was kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Operations completed.
    #[serde(rename = "n")]
    pub operations: u64,
    /// Bytes transferred.
    #[serde(rename = "b")]
    pub bytes: u64,
    /// Sum of the latencies.
    #[serde(rename = "l", default)]
    pub latency_ns: u64,
    /// Sum of the squares of the latencies in ns².
    #[serde(rename = "q", default)]
    pub latency_squares_ns2: f64,
    /// Smallest latency; 0 if there was none.
    #[serde(rename = "min", default)]
    pub latency_ns_min: u64,
    /// Largest latency.
    #[serde(rename = "max", default)]
    pub latency_ns_max: u64,
}

impl Point {
    /// Adds the same interval of another series.
    pub fn merge(&mut self, other: &Point) {
        if other.operations == 0 {
            return;
        }
        self.latency_ns_min = match self.operations {
            0 => other.latency_ns_min,
            _ => self.latency_ns_min.min(other.latency_ns_min),
        };
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.latency_ns += other.latency_ns;
        self.latency_squares_ns2 += other.latency_squares_ns2;
        self.latency_ns_max = self.latency_ns_max.max(other.latency_ns_max);
    }
}

/// What a rank did of a job in each interval of the measured window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankSeries {
    /// Which rank.
    pub rank: u32,
    /// Length of an interval; the last one may be shorter.
    pub length_ns: Nanos,
    /// Operations completed in each interval, all directions together.
    pub operations: Vec<u64>,
}

impl RankSeries {
    /// Of what one rank has measured by itself; `None` if it kept no intervals.
    pub fn of(rank: u32, job: &JobResults) -> Option<RankSeries> {
        let series = job.series.iter().find(|series| series.of.is_none())?;
        let directions = || series.points.iter().map(|(_, points)| points);
        let length = directions().map(Vec::len).max().unwrap_or_default();
        let mut operations = vec![0; length];
        for points in directions() {
            for (sum, point) in operations.iter_mut().zip(points) {
                *sum += point.operations;
            }
        }
        (length > 0).then_some(RankSeries {
            rank,
            length_ns: series.length_ns,
            operations,
        })
    }
}

/// What a worker kept of each window, over all its streams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowSeries {
    /// Number of the worker in its job.
    pub worker: u32,
    /// Length of a window. The last one may be shorter.
    pub length_ns: Nanos,
    /// Each window has the histogram of its completion latencies.
    #[serde(default)]
    pub histograms: bool,
    /// The windows with I/O in each direction, in time order.
    pub windows: PerDirection<Vec<Window>>,
}

/// One window of a worker: operations in one direction, with each of their latencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// Number of the window: it begins so many lengths after the start of the measured window.
    #[serde(rename = "w")]
    pub number: u64,
    /// Operations completed.
    #[serde(rename = "n")]
    pub operations: u64,
    /// Bytes transferred.
    #[serde(rename = "b")]
    pub bytes: u64,
    /// Queued → issued.
    pub submission: WindowLatency,
    /// Issued → reaped.
    pub completion: WindowLatency,
    /// Queued → reaped.
    pub total: WindowLatency,
    /// Completion latencies in the buckets of a histogram, ascending: bucket and count. Empty where none were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buckets: Vec<(u32, u64)>,
}

/// One latency of the operations of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowLatency {
    /// Sum.
    #[serde(rename = "l")]
    pub sum_ns: u64,
    /// Largest.
    #[serde(rename = "max")]
    pub max_ns: u64,
}

impl WindowLatency {
    /// Adds that of other operations.
    pub fn merge(&mut self, other: WindowLatency) {
        self.sum_ns += other.sum_ns;
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

impl Window {
    /// Adds other operations of the same window; the number stays.
    pub fn merge(&mut self, other: &Window) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.submission.merge(other.submission);
        self.completion.merge(other.completion);
        self.total.merge(other.total);
        for (bucket, count) in &other.buckets {
            match self.buckets.binary_search_by_key(bucket, |(mine, _)| *mine) {
                Ok(place) => self.buckets[place].1 += count,
                Err(place) => self.buckets.insert(place, (*bucket, *count)),
            }
        }
    }
}

/// Total latency (response time when paced) of one interval of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IntervalHistogram {
    /// Start, from the start of the measured window.
    pub start_ns: Nanos,
    /// Length.
    pub length_ns: Nanos,
    /// The histogram of each direction that had operations.
    pub latency: PerDirection<Option<PackedHistogram>>,
}

impl IntervalHistogram {
    /// Adds what others did in the same interval.
    pub fn add(&mut self, mut other: IntervalHistogram) {
        self.length_ns = self.length_ns.max(other.length_ns);
        for direction in Direction::ALL {
            match (&mut self.latency[direction], other.latency[direction].take()) {
                (Some(mine), Some(theirs)) => mine.merge(&theirs),
                (mine @ None, theirs) => *mine = theirs,
                (Some(_), None) => {}
            }
        }
    }
}

impl StepResults {
    /// There is something that counts once for a machine.
    pub(crate) fn has_counters(&self) -> bool {
        let has_devices = !self.devices.is_empty() || !self.devices_measured.is_empty();
        has_devices || !self.cores.is_empty() || !self.volumes.is_empty()
    }

    /// Results of a step none of whose jobs started.
    pub fn not_started(plan: &crate::plan::Step) -> StepResults {
        let job = |job: &crate::plan::Job| JobResults {
            name: job.name.clone(),
            ..JobResults::default()
        };
        StepResults {
            jobs: plan.jobs.iter().map(job).collect(),
            ..StepResults::default()
        }
    }
}

impl JobResults {
    /// The results of each direction over all workers and streams, for directions that could occur.
    pub fn directions(&self) -> PerDirection<Option<DirectionResults>> {
        let mut merged = PerDirection::<Option<DirectionResults>>::default();
        for stream in self.workers.iter().flat_map(|worker| &worker.streams) {
            for (direction, results) in stream.directions.iter() {
                match (&mut merged[direction], results) {
                    (Some(mine), Some(theirs)) => mine.merge(theirs),
                    (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
                    (_, None) => {}
                }
            }
        }
        merged
    }

    /// All directions together; a job without any operation gives an empty result.
    pub fn total(&self) -> DirectionResults {
        let mut total = DirectionResults::default();
        for (_, results) in self.directions().iter() {
            if let Some(results) = results {
                total.merge(results);
            }
        }
        total
    }

    /// The longest measured window of its workers.
    pub fn measured(&self) -> Nanos {
        self.workers
            .iter()
            .map(|worker| worker.measured_ns)
            .max()
            .unwrap_or_default()
    }

    /// Operations in flight on average over the measured window, by Little's law (1961): the sum of all latencies divided
    /// by the time. Each worker counts with the depth it had and over its own window. `None` if nothing was measured.
    pub fn in_flight(&self) -> Option<InFlight> {
        InFlight::of(&self.workers)
    }

    /// CPU time and the like of all workers.
    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        self.workers.iter().for_each(|worker| sum.add(worker.usage));
        sum
    }
}

/// Operations in flight, on average and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InFlight {
    /// On average.
    pub average: f64,
    /// The queue depth that the engines kept.
    pub depth: u64,
    /// Operations completed.
    pub operations: u64,
}

impl InFlight {
    /// That of some workers, as in [`JobResults::in_flight`].
    pub fn of<'a>(workers: impl IntoIterator<Item = &'a WorkerResults>) -> Option<InFlight> {
        let (mut latency, mut area, mut found) = (0.0, 0.0, InFlight::default());
        for worker in workers {
            area += f64::from(worker.slots) * (worker.measured_ns + worker.verified_ns).0 as f64;
            found.depth += u64::from(worker.slots);
            for (_, direction) in worker.streams.iter().flat_map(|stream| stream.directions.iter()) {
                let Some(direction) = direction else { continue };
                latency += direction.total.sum() as f64;
                found.operations += direction.operations;
            }
        }
        if found.operations == 0 || area == 0.0 {
            return None;
        }
        found.average = latency / area * found.depth as f64;
        Some(found)
    }
}

/// What this test moved to and from a device, over all phases of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Operations and bytes for each direction.
    pub counts: PerDirection<Counts>,
    /// Some of them went past the page cache.
    pub direct: PerDirection<bool>,
    /// Some of them went through it.
    pub buffered: PerDirection<bool>,
}

impl Results {
    /// What this test moved to and from a device on which targets lie directly. `None` where no target does, or where a
    /// stream also used targets elsewhere, so that its share is not known. A device that only lies beneath another one
    /// is not counted: the layer between them may write twice, or compress.
    pub fn moved(&self, step: usize, device: &HostDeviceUse) -> Option<Moved> {
        let environment = &self.hosts.get(device.host as usize)?.environment;
        let lies_on = |target: &u32| {
            let first = environment.target(*target).and_then(|facts| facts.devices.first());
            first.is_some_and(|first| first.name == device.counters.name)
        };
        let (mut moved, mut any) = (Moved::default(), false);
        let jobs = self.plan.steps.get(step)?.jobs.iter().zip(&self.steps.get(step)?.jobs);
        let workers = jobs.flat_map(|(plan, results)| plan.workers.iter().zip(&results.workers));
        let here = workers.filter(|(_, results)| results.host == device.host);
        let streams = here.flat_map(|(plan, results)| plan.streams.iter().zip(&results.streams));
        for (plan, results) in streams.filter(|(_, results)| results.targets.iter().any(lies_on)) {
            if !results.targets.iter().all(lies_on) {
                return None;
            }
            any = true;
            for (direction, counts) in results.lifetime.iter().filter(|(_, counts)| counts.operations > 0) {
                moved.counts[direction].add(*counts);
                moved.direct[direction] |= plan.cache.direct;
                moved.buffered[direction] |= !plan.cache.direct;
            }
        }
        any.then_some(moved)
    }
}

/// How a job ended that ran on two hosts: what cut it short on one of them counts for both.
fn graver(mine: Option<EndReason>, theirs: Option<EndReason>) -> Option<EndReason> {
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

impl StepResults {
    /// The same as what there is of a step that was cut short: whatever had begun was interrupted.
    pub fn cut_short(mut self) -> StepResults {
        let has_begun = |job: &&mut JobResults| !job.workers.is_empty() && job.ended.is_none();
        for job in self.jobs.iter_mut().filter(has_begun) {
            job.ended = Some(EndReason::Interrupted);
        }
        self
    }
}

impl JobResults {
    /// Adds what another rank did of the same job: its workers join, with their host and rank as they are; interval series and histograms
    /// are added.
    pub fn add(&mut self, other: JobResults) {
        let worker_shift = self.workers.len() as u32;
        self.workers.extend(other.workers);
        self.ended = graver(self.ended.take(), other.ended);
        self.lost_intervals += other.lost_intervals;
        self.log_waits += other.log_waits;
        self.control.extend(other.control);
        for series in other.series {
            match series.of {
                Some((worker, stream)) => {
                    self.series.push(Series {
                        of: Some((worker + worker_shift, stream)),
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
                .binary_search_by_key(&facts.start_ns, |known| known.start_ns)
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
        let key = |one: &PhaseInterval| (one.phase, one.start_ns);
        let places: BTreeMap<(Phase, Nanos), usize> = self
            .around
            .iter()
            .enumerate()
            .map(|(place, one)| (key(one), place))
            .collect();
        let so_far = self.around.len();
        for interval in other {
            match places.get(&key(&interval)) {
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
        let same = self
            .series
            .iter_mut()
            .find(|mine| mine.of.is_none() && mine.length_ns == other.length_ns);
        let Some(mine) = same else {
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
            Ok(index) => self.histograms[index].add(other),
        }
    }
}
