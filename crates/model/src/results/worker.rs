//! A worker: the operations, waits and resource usage of its thread.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Distribution, EngineUsed, Failure, StreamResults};
use crate::block_lifetimes::BlockLifetimes;
use crate::mismatch::Mismatch;
use crate::units::{Bytes, Nanos};

/// One worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerResults {
    /// Index of its host.
    pub host: u32,
    /// The rank of its process, in a fleet.
    #[serde(default)]
    pub rank: u32,
    /// Number of the worker in its job.
    pub worker: u32,
    /// Engine that the worker used, with its features.
    pub engine: EngineUsed,
    /// Start of its measured window, from the start of the run.
    pub started_ns: Nanos,
    /// Length of its measured window: to the planned end, or to its last completion if it ended by
    /// a count.
    pub measured_ns: Nanos,
    /// The time of verification after the measured window; 0 without it. Its reads count among the
    /// reads of the stream, as do backlog reads within the window.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verified_ns: Nanos,
    /// Resource usage of that verification.
    #[serde(default, skip_serializing_if = "is_unused")]
    pub verified_usage: Usage,
    /// Number of times it waited for the reader of its trace.
    #[serde(default, skip_serializing_if = "none_found")]
    pub trace_waits: u64,
    /// Number of zones it reset, with zoned access.
    #[serde(default, skip_serializing_if = "none_found")]
    pub zone_resets: u64,
    /// Time from its first operation to its last completion, all phases.
    pub active_ns: Nanos,
    /// Streams in plan order.
    pub streams: Vec<StreamResults>,
    /// Operations in flight when each operation was issued.
    #[serde(default)]
    pub depth: Distribution,
    /// Operations per submitting call, in the classes of batches.
    #[serde(default)]
    pub submitted: Distribution,
    /// Completions reaped per poll, in the classes of batches.
    #[serde(default)]
    pub completed: Distribution,
    /// Causes for which the worker waited.
    #[serde(default)]
    pub waits: Waits,
    /// Queue depth in force at the end.
    pub slots: u32,
    /// CPU time and the like over the measured window.
    #[serde(default)]
    pub usage: Usage,
    /// Intervals of a series that were merged into the next because too many ended together.
    #[serde(rename = "joined_rows", default)]
    pub merged_rows: u64,
    /// Bytes of memory for maps of used blocks.
    #[serde(default)]
    pub map_bytes: Bytes,
    /// The first [`MAX_MISMATCHES`] mismatches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<Mismatch>,
    /// The number of mismatches.
    #[serde(default, skip_serializing_if = "none_found")]
    pub mismatch_count: u64,
    /// Key blocks read and compared with their last write (Vdbench's data validation).
    #[serde(default, skip_serializing_if = "none_found")]
    pub compared_blocks: u64,
    /// Writes replayed but not issued, because the job only verifies (fio `verify_only`).
    #[serde(default, skip_serializing_if = "none_found")]
    pub phantom_writes: u64,
    /// How often blocks were trimmed before an error, if the plan records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_lifetimes: Option<BlockLifetimes>,
    /// Data that verification could not save for a later check, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<String>,
    /// The first tolerated failures, if they are to be reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerated: Vec<Failure>,
    /// The failure that ended it.
    #[serde(default)]
    pub failure: Option<Failure>,
}

// Omitted if zero or empty, so that results without verification are saved as before.
pub(super) fn is_zero(time: &Nanos) -> bool {
    *time == Nanos(0)
}

fn is_unused(usage: &Usage) -> bool {
    *usage == Usage::default()
}

fn none_found(count: &u64) -> bool {
    *count == 0
}

/// The maximum number of mismatches stored per worker.
pub const MAX_MISMATCHES: usize = 1000;

impl WorkerResults {
    /// Fills in the distributions of a synchronous worker, which never counts them.
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

/// The waits of a worker in the measured window, by turn (DiskSpd `-vs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// Waits for a completion when no operation could be issued.
    pub completion: u64,
    /// Waits for a completion while pacing or a pause delayed operations.
    pub throttled: u64,
    /// Waits with nothing in flight until the next operation was due.
    pub slept: u64,
    /// Polls for completions without waiting.
    #[serde(rename = "looks")]
    pub polls: u64,
    /// How many of those polls returned 0, 1, … 6, and 7 or more completions.
    #[serde(rename = "completions_per_look")]
    pub completions_per_poll: [u64; 8],
}

impl Waits {
    /// Adds the waits of another window.
    pub fn add(&mut self, other: &Waits) {
        self.completion += other.completion;
        self.throttled += other.throttled;
        self.slept += other.slept;
        self.polls += other.polls;
        for (mine, theirs) in self.completions_per_poll.iter_mut().zip(other.completions_per_poll) {
            *mine += theirs;
        }
    }
}

/// The resource usage of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// CPU time in user mode.
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

    /// CPU time in user mode and kernel.
    pub fn cpu(self) -> Nanos {
        self.user_ns + self.system_ns
    }
}
