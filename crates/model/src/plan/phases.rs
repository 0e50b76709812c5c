//! When a job starts, warms up, measures and ends.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Nanos};

/// The phases of a job. The measured window lies between warm-up and cool-down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Pause before the first operation; with a range each worker draws its own.
    #[serde(default)]
    pub start_delay: Span,
    /// I/O that is not measured, before the measured window.
    #[serde(default)]
    pub warm_up_ns: Nanos,
    /// Ends the warm-up when this many bytes have been transferred by each worker, if that comes
    /// first (fio `ramp_size`).
    #[serde(default)]
    pub warm_up_bytes: Option<Bytes>,
    /// I/O that is not measured, after the measured window.
    #[serde(default)]
    pub cool_down_ns: Nanos,
}

impl Phases {
    /// A warm-up before the measured window, and nothing else.
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
    /// When each worker has issued this many bytes: the last operation may go beyond.
    #[serde(default)]
    pub bytes: Option<Bytes>,
    /// The same in percent of the regions of the worker's streams, for a dialect that counts in
    /// parts of a target whose size it cannot know yet (fio `io_size=50%`, or no `size` at all).
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
    /// `bytes`, `region_percent`, `operations` and `passes` are executed this many times, each
    /// time from the beginning (fio `loops`); absent: once.
    #[serde(default)]
    pub rounds: Option<u32>,
}

impl Stop {
    /// After a time and nothing else.
    pub fn after(time: Nanos) -> Stop {
        Stop {
            after_ns: Some(time),
            ..Stop::default()
        }
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

/// What ends together with a job (fio `exitall`, `exit_what`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EndsWith {
    /// Indexes of jobs of the same step that are ended as soon as this one has ended.
    #[serde(default)]
    pub jobs: Vec<u32>,
    /// The same, only if this one has failed.
    #[serde(default)]
    pub on_failure: Vec<u32>,
    /// The failure of a worker ends the others of this job (DiskSpd).
    #[serde(default)]
    pub workers_on_failure: bool,
    /// The end of a worker ends the others of this job (fio `exitall`, where each clone is a job).
    #[serde(default)]
    pub workers: bool,
    /// No further step begins, if this one has failed.
    #[serde(default)]
    pub plan: bool,
    /// No further step begins after this one (fio `exit_what=all`).
    #[serde(default)]
    pub plan_always: bool,
}
