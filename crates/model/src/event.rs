//! Events of a run: the only interface between a run and its viewers.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::PerDirection;
use crate::finding::Finding;
use crate::histogram::Histogram;
use crate::plan::FileOperationKind;
use crate::results::StepResults;
use crate::units::{Bytes, Nanos};

/// An event. Watchers consume events at their own pace and never slow down the workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A target is being prepared.
    Preparing {
        /// Path of the target.
        target: String,
        /// Bytes written so far.
        done: Bytes,
        /// Bytes to write.
        total: Bytes,
        /// Estimated time left.
        left_ns: Nanos,
    },
    /// A target is ready.
    Prepared {
        /// Path of the target.
        target: String,
        /// How, in words.
        how: String,
        /// Time it took.
        took_ns: Nanos,
    },
    /// All workers of a step are set up and wait for the start. A watcher delays them until it
    /// returns.
    Ready {
        /// Index of the step.
        step: u32,
        /// Block devices under its targets, by the kernel's names.
        #[serde(default)]
        devices: Vec<DeviceUnder>,
    },
    /// A job entered a phase.
    Phase {
        /// Index of the step.
        step: u32,
        /// Index of the job in its step.
        job: u32,
        /// Name of the job.
        name: String,
        /// The phase that begins.
        phase: Phase,
        /// Its planned length; absent if it ends otherwise.
        length_ns: Option<Nanos>,
    },
    /// An interval of the measured window or of warm-up is complete.
    Interval(Box<Interval>),
    /// The results of a step so far, if requested. The last snapshot follows the end of the step.
    /// Event streams omit snapshots, since they have the intervals.
    #[serde(skip)]
    #[schemars(skip)]
    Snapshot {
        /// Index of the step.
        step: u32,
        /// The step has ended, and this is its last snapshot.
        last: bool,
        /// Its results, without those that workers report only at their end.
        results: Box<StepResults>,
    },
    /// The progress of one process of a fleet; all other figures are sums. Event streams omit it.
    #[serde(skip)]
    #[schemars(skip)]
    Rank(Box<RankProgress>),
    /// A finding to report immediately.
    Notice {
        /// The finding, with its reason and remedy.
        finding: Finding,
    },
    /// A job ended.
    JobEnded {
        /// Index of the step.
        step: u32,
        /// Index of the job in its step.
        job: u32,
        /// Why.
        reason: EndReason,
    },
}

/// The phases of a job, in order of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the first operation.
    #[default]
    Delay,
    /// I/O that is not measured yet.
    WarmUp,
    /// The measured window.
    Measured,
    /// I/O after the measured window.
    CoolDown,
    /// Written data is verified.
    Verify,
    /// No new operations; those in flight complete.
    Draining,
}

impl Phase {
    /// All phases, in order of time.
    pub const ALL: [Phase; 6] = [
        Phase::Delay,
        Phase::WarmUp,
        Phase::Measured,
        Phase::CoolDown,
        Phase::Verify,
        Phase::Draining,
    ];

    /// The words shown to people.
    pub fn label(self) -> &'static str {
        match self {
            Phase::Delay => "start delay",
            Phase::WarmUp => "warm-up",
            Phase::Measured => "measuring",
            Phase::CoolDown => "cool-down",
            Phase::Verify => "verification",
            Phase::Draining => "draining",
        }
    }
}

/// One interval of one job, merged over its workers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Index of the step.
    pub step: u32,
    /// Index of the job in its step.
    pub job: u32,
    /// Name of the job.
    pub name: String,
    /// The phase it belongs to.
    pub phase: Phase,
    /// The number of statistics resets before it.
    pub epoch: u32,
    /// Start of the interval from the start of its phase.
    pub start_ns: Nanos,
    /// Length.
    pub length_ns: Nanos,
    /// Counters for each direction.
    pub counts: PerDirection<Counts>,
    /// Total latency, or response time when paced, of each direction with completed operations.
    pub latency: PerDirection<Option<Histogram>>,
    /// The sum of the times from queued to completed; divided by the length it is the average
    /// number in flight.
    pub in_flight_ns: Nanos,
    /// The target queue depth of the job.
    pub depth: u64,
    /// The same for each target, if the job has streams on more than one.
    pub targets: Vec<TargetInterval>,
    /// Operations of each kind on files, if the job works on files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_operations: Vec<FileOperationInterval>,
    /// Time left until the planned end of the phase, if it has one.
    pub left_ns: Option<Nanos>,
}

/// Operations of one kind on files in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileOperationInterval {
    /// Kind of operation on files.
    pub kind: FileOperationKind,
    /// Operations and bytes.
    pub counts: Counts,
    /// Their latencies, added up: response times when paced.
    pub latency_ns: Nanos,
}

/// The progress of one process of a fleet.
#[derive(Clone, Debug, PartialEq)]
pub struct RankProgress {
    /// Rank of the process, from 0.
    pub rank: u32,
    /// The number of processes.
    pub rank_count: u32,
    /// Name of its host.
    pub host: String,
    /// What the process does at present.
    pub state: RankState,
    /// The figures of its last interval, if new.
    pub figures: Option<RankFigures>,
}

/// The state of a process of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankState {
    /// It prepares its targets.
    #[default]
    Preparing,
    /// It waits for the others.
    Ready,
    /// It runs the load.
    Running,
    /// It has been silent longer than usual.
    Late,
    /// It has done its part.
    Ended,
    /// It no longer takes part.
    Lost,
}

impl RankState {
    /// The word shown to people.
    pub fn word(self) -> &'static str {
        match self {
            RankState::Preparing => "preparing",
            RankState::Ready => "ready",
            RankState::Running => "running",
            RankState::Late => "late",
            RankState::Ended => "ended",
            RankState::Lost => "lost",
        }
    }
}

/// The figures of a process in an interval of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RankFigures {
    /// Index of the step.
    pub step: u32,
    /// Index of the job in its step.
    pub job: u32,
    /// Operations per second.
    pub iops: f64,
    /// The 99th percentile of its latencies; absent if nothing completed.
    pub p99_ns: Option<u64>,
}

impl RankFigures {
    /// The figures of an interval.
    pub fn from_interval(interval: &Interval) -> RankFigures {
        let operations: u64 = interval.counts.iter().map(|(_, counts)| counts.operations).sum();
        let latency = interval.total_latency();
        RankFigures {
            step: interval.step,
            job: interval.job,
            iops: operations as f64 / interval.length_ns.as_secs().max(1e-9),
            p99_ns: (!latency.is_empty()).then(|| latency.quantile(0.99)),
        }
    }
}

impl Interval {
    /// The latency of all directions together.
    pub fn total_latency(&self) -> Histogram {
        let mut merged = Histogram::new();
        for (_, histogram) in self.latency.iter() {
            histogram.iter().for_each(|histogram| merged.merge(histogram));
        }
        merged
    }
}

/// The figures of a job on one target, or on a stream's set of files, in an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetInterval {
    /// Indexes of the plan's targets: several are files that a stream chooses from.
    pub targets: Vec<u32>,
    /// Counters for each direction.
    pub counts: PerDirection<Counts>,
    /// Sum of the latencies, as in the interval itself.
    pub latency_ns: Nanos,
}

/// A block device with targets on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceUnder {
    /// Its name in the kernel.
    pub name: String,
    /// Indexes of the plan's targets that are on it.
    pub targets: Vec<u32>,
}

/// Operations and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Operations completed.
    pub operations: u64,
    /// Bytes transferred.
    pub bytes: Bytes,
}

impl Counts {
    /// Counts of this many operations and bytes.
    pub fn new(operations: u64, bytes: Bytes) -> Counts {
        Counts { operations, bytes }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: Counts) {
        self.operations += other.operations;
        self.bytes.0 += other.bytes.0;
    }
}

/// Why a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum EndReason {
    /// Its time was over.
    Time,
    /// It completed its bytes, operations or passes.
    Done,
    /// A control rule ended it.
    Control {
        /// The rule, in words.
        rule: String,
    },
    /// Another job ended it.
    OtherJob,
    /// The user or the system interrupted it.
    Interrupted,
    /// A worker failed.
    Failed,
}
