//! One stream of a worker, direction by direction.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use super::worker::is_zero;
use crate::direction::PerDirection;
use crate::event::Counts;
use crate::histogram::Histogram;
use crate::plan::FileOperationKind;
use crate::units::{Bytes, Nanos};

/// One stream of a worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamResults {
    /// Indexes of its targets.
    pub targets: Vec<u32>,
    /// Results of each direction that could occur.
    pub directions: PerDirection<Option<DirectionResults>>,
    /// Flushes.
    #[serde(default)]
    pub sync: Option<SyncResults>,
    /// Connections, if its target is closed and reopened, timed from before opening to after
    /// closing. Streams that share a file share them; the first stream counts all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<SyncResults>,
    /// Operations and bytes over all phases, for comparison with the kernel's counters.
    pub lifetime: PerDirection<Counts>,
    /// The effective ranges of a stepped distribution.
    #[serde(default)]
    pub effective_ranges: Vec<EffectiveShare>,
    /// The same operations by kind, if they work on a file tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileOperationResults>,
}

/// Operations of one kind on a tree of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileOperationResults {
    /// Kind of operation on files.
    #[serde(rename = "step")]
    pub kind: FileOperationKind,
    /// Their results.
    pub results: DirectionResults,
}

/// An effective range of a distribution on the real target.
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
    /// Bytes actually transferred.
    pub bytes: Bytes,
    /// Operations that transferred less than requested.
    #[serde(default)]
    pub short: u64,
    /// Operations that failed and were tolerated.
    #[serde(default)]
    pub errors: u64,
    /// Error number of the first of them.
    #[serde(default)]
    pub first_error: Option<i32>,
    /// Paced operations that were due in the window but not issued in it, or dropped.
    #[serde(default)]
    pub late: u64,
    /// Queued → issued.
    pub submission: Histogram,
    /// Issued → reaped.
    pub completion: Histogram,
    /// Queued → reaped.
    pub total: Histogram,
    /// Due → queued, if paced.
    #[serde(default)]
    pub schedule_delay: Option<Histogram>,
    /// Due → reaped, if paced.
    #[serde(default)]
    pub response: Option<Histogram>,
    /// Ages, at the end of the window, of operations in flight or due but not issued: from due if
    /// paced, otherwise from queued. No other figure contains them. Absent if none is older than
    /// twice the mean latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<Histogram>,
    /// The time within the window that they were in flight, added up.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished_ns: Nanos,
    /// The same operations by I/O priority, if it varies.
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
    fn has_same_priority(&self, other: &PriorityResults) -> bool {
        (self.class, self.level, self.hint) == (other.class, other.level, other.hint)
    }
}

impl DirectionResults {
    /// The latency of percentiles by default: response time if paced, total otherwise.
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
        self.unfinished_ns += other.unfinished_ns;
        self.submission.merge(&other.submission);
        self.completion.merge(&other.completion);
        self.total.merge(&other.total);
        for (mine, theirs) in [
            (&mut self.schedule_delay, &other.schedule_delay),
            (&mut self.response, &other.response),
            (&mut self.unfinished, &other.unfinished),
        ] {
            match (mine.as_mut(), theirs) {
                (Some(mine), Some(theirs)) => mine.merge(theirs),
                (None, Some(theirs)) => *mine = Some(theirs.clone()),
                (_, None) => {}
            }
        }
        for theirs in &other.priorities {
            match self.priorities.iter_mut().find(|mine| mine.has_same_priority(theirs)) {
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

/// Flushes or connections of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SyncResults {
    /// Operations that completed.
    pub operations: u64,
    /// Flushes: issued → reaped.
    pub latency: Histogram,
}
