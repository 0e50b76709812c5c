//! Operations from a trace.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// The replay of a trace, which replaces the operations of mix and pattern. These then only state
/// which directions and lengths can occur.
///
/// A trace is replayed once. The worker reads it while it runs, through a ring of at most 65,536
/// entries, so even a long trace takes less than 4 MiB of memory per worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Path of the trace.
    pub trace: String,
    /// Format of the trace.
    pub form: TraceForm,
    /// The names of the stream's targets in the trace, in order.
    pub files: Vec<String>,
    /// All files of the trace are redirected to the first target.
    #[serde(default)]
    pub redirected: bool,
    /// The trace has flushes.
    #[serde(default)]
    pub flushes: bool,
    /// Ignore the times and issue operations as fast as possible.
    #[serde(default)]
    pub without_times: bool,
    /// How much faster than recorded, in percent: 200 is twice as fast.
    #[serde(default = "hundred")]
    pub speed_percent: u32,
    /// Divisor of positions.
    #[serde(default = "one")]
    pub scale: u32,
    /// Multiple to which the divided positions are rounded down, a power of two; 0 for none.
    /// Lengths in binary traces are rounded up.
    #[serde(default)]
    pub align: u32,
    /// Kinds of operation to skip.
    #[serde(default)]
    pub skip: TraceSkip,
}

fn hundred() -> u32 {
    100
}

fn one() -> u32 {
    1
}

/// Formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "form", rename_all = "snake_case")]
pub enum TraceForm {
    /// fio's text, version 2 or 3.
    FioText,
    /// blktrace's binary records.
    Blktrace {
        /// The byte order differs from this machine's.
        swapped: bool,
    },
}

/// Kinds of operation to skip in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceSkip {
    /// Reads.
    #[serde(default)]
    pub reads: bool,
    /// Writes.
    #[serde(default)]
    pub writes: bool,
    /// Trims.
    #[serde(default)]
    pub trims: bool,
    /// Flushes of data and metadata.
    #[serde(default)]
    pub flushes: bool,
}
