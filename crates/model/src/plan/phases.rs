//! When a job starts, warms up, measures and ends.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// The phases of a job. The measured window is between warm-up and cool-down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Pause before the first operation; with a range each worker draws its own.
    #[serde(default)]
    pub start_delay: Span,
    /// I/O that is not measured, before the measured window.
    #[serde(default)]
    pub warm_up_ns: Nanos,
    /// Bytes transferred by each worker that end the warm-up, if that comes first (fio
    /// `ramp_size`).
    #[serde(default)]
    pub warm_up_bytes: Option<Bytes>,
    /// I/O that is not measured, after the measured window.
    #[serde(default)]
    pub cool_down_ns: Nanos,
}

impl Phases {
    /// Only a warm-up before the measured window.
    pub fn with_warm_up(warm_up_ns: Nanos) -> Phases {
        Phases {
            warm_up_ns,
            ..Phases::default()
        }
    }
}

/// A length of time, or a range of lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Shortest.
    pub low_ns: Nanos,
    /// Longest.
    pub high_ns: Nanos,
}

/// The stop rules of the measured window; the first that is met ends it. At least one must be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stop {
    /// After this time.
    #[serde(default)]
    pub after_ns: Option<Nanos>,
    /// When each worker has issued this many bytes; the last operation may exceed it.
    #[serde(default)]
    pub bytes: Option<Bytes>,
    /// Like `bytes`, as a percentage of the regions of the worker's streams. Dialects use it if the
    /// target's size is not known yet (fio `io_size=50%`, or no `size`).
    #[serde(default)]
    pub region_percent: Option<u32>,
    /// When each worker has issued this many operations.
    #[serde(default)]
    pub operations: Option<u64>,
    /// When each stream has passed over its region this many times.
    #[serde(default)]
    pub passes: Option<u32>,
    /// `bytes`, `region_percent`, `operations` and `passes` restart until the time is over (fio
    /// `time_based`). Random draws continue, so passes differ.
    #[serde(default)]
    pub repeat_until_time: bool,
    /// `bytes`, `region_percent`, `operations` and `passes` are executed this many times, each from
    /// the beginning (fio `loops`); absent: once.
    #[serde(default)]
    pub rounds: Option<u32>,
    /// Every operation counts (fio). Unless they repeat until the time is over, bytes and passes
    /// include the warm-up, and operations are counted anew after it. A job that ends in the
    /// warm-up is measured from its start. Operations in flight when the time is over extend the
    /// measured window until they complete.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub counts_all: bool,
}

impl Stop {
    /// Stops only after a time.
    pub fn after(time: Nanos) -> Stop {
        Stop {
            after_ns: Some(time),
            ..Stop::default()
        }
    }

    /// Whether the bytes and passes of the warm-up count towards the amounts.
    pub fn includes_warm_up(&self) -> bool {
        self.counts_all && !self.repeat_until_time
    }

    /// After this many operations of each worker.
    pub fn after_operations(operations: u64) -> Stop {
        Stop {
            operations: Some(operations),
            ..Stop::default()
        }
    }

    /// After this many bytes of each worker.
    pub fn after_bytes(bytes: Bytes) -> Stop {
        Stop {
            bytes: Some(bytes),
            ..Stop::default()
        }
    }

    /// After this many passes of each stream.
    pub fn after_passes(passes: u32) -> Stop {
        Stop {
            passes: Some(passes),
            ..Stop::default()
        }
    }
}

/// A job of the same step, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Dependency(pub u32);

/// The jobs that end together with a job (fio `exitall`, `exit_what`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndPropagation {
    /// Indexes of jobs of the same step that end when this one ends.
    #[serde(default)]
    pub jobs: Vec<u32>,
    /// Indexes of jobs that end if this one fails.
    #[serde(default)]
    pub on_failure: Vec<u32>,
    /// A failed worker ends the others of this job (DiskSpd).
    #[serde(default)]
    pub workers_on_failure: bool,
    /// A worker's end ends the others of this job (fio `exitall`, where each clone is a job).
    #[serde(default)]
    pub workers: bool,
    /// No further step begins if this job fails.
    #[serde(default)]
    pub plan: bool,
    /// No further step begins after this job (fio `exit_what=all`).
    #[serde(default)]
    pub plan_always: bool,
}
