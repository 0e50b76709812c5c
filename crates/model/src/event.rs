//! What happens while a plan is carried out: the whole interface between a run and whoever watches it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::PerDirection;
use crate::finding::Finding;
use crate::histogram::Histogram;
use crate::results::StepResults;
use crate::units::{Bytes, Nanos};

/// One happening. Watchers consume events at their own pace and cannot slow down the workers.
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
    /// All workers of a step are set up and wait to be let go. A watcher that does not return holds them back.
    Ready {
        /// Index of the step.
        step: u32,
    },
    /// A job entered a phase.
    Phase {
        /// Index of the step.
        step: u32,
        /// Index of the job in its step.
        job: u32,
        /// Name of the job.
        name: String,
        /// The phase.
        phase: Phase,
        /// Its planned length; absent if it ends otherwise.
        length_ns: Option<Nanos>,
    },
    /// An interval of the measured window or of warm-up is complete.
    Interval(Box<Interval>),
    /// What a step has measured so far, where that was asked for; the last one of a step comes when it has ended. It is not
    /// written to streams of events, which tell the same by intervals.
    #[serde(skip)]
    #[schemars(skip)]
    Snapshot {
        /// Index of the step.
        step: u32,
        /// It has ended: there is none after this one.
        last: bool,
        /// Its results: without what workers tell only at their end.
        results: Box<StepResults>,
    },
    /// Something worth telling at once.
    Notice {
        /// The finding.
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
    /// I/O that is not measured any more.
    CoolDown,
    /// What was written is read back and checked.
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
    pub fn words(self) -> &'static str {
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Index of the step.
    pub step: u32,
    /// Index of the job in its step.
    pub job: u32,
    /// Name of the job.
    pub name: String,
    /// The phase it belongs to.
    pub phase: Phase,
    /// Start of the interval from the start of its phase.
    pub start_ns: Nanos,
    /// Length.
    pub length_ns: Nanos,
    /// Counters for each direction.
    pub counts: PerDirection<Counts>,
    /// Total latency, or response time when paced, of all directions.
    pub latency: Histogram,
    /// Time left until the planned end of the phase, if it has one.
    pub left_ns: Option<Nanos>,
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
    /// Its bytes, operations or passes were done.
    Done,
    /// A rule of its own ended it.
    Control {
        /// Which, in words.
        rule: String,
    },
    /// Another job ended it.
    OtherJob,
    /// The user or the system asked.
    Interrupted,
    /// A worker failed.
    Failed,
}
