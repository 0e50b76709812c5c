//! Operations from a trace.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

/// The replay of a trace, whose operations replace those of mix and pattern. Mix and pattern then
/// only state which directions and lengths can occur.
///
/// A trace is replayed once. It is read while the worker runs, through a ring of no more than
/// 65,536 entries: whatever its length, it takes less than 4 MiB of memory for each worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// The file that holds it.
    pub trace: String,
    /// Its format.
    pub form: TraceForm,
    /// The names in the trace of the stream's targets, in their order.
    pub files: Vec<String>,
    /// All its files are the first target.
    #[serde(default)]
    pub redirected: bool,
    /// It has flushes.
    #[serde(default)]
    pub flushes: bool,
    /// Ignore the times and issue operations as fast as possible.
    #[serde(default)]
    pub without_times: bool,
    /// How much faster than recorded, in percent: 200 is twice as fast.
    #[serde(default = "hundred")]
    pub speed_percent: u32,
    /// Positions are divided by this.
    #[serde(default = "one")]
    pub scale: u32,
    /// Then they are rounded down to multiples of this, a power of two; 0 for none. Lengths of
    /// binary traces are rounded up.
    #[serde(default)]
    pub align: u32,
    /// What is left out.
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
    /// Binary records of blktrace.
    Blktrace {
        /// The byte order differs from this machine's.
        swapped: bool,
    },
}

/// Kinds of operation that are left out of a trace.
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
