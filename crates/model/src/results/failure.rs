//! The failure that ended a worker.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::units::{Bytes, Nanos};

/// The failure that ended a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The failure, in a sentence.
    pub what: String,
    /// Where: target, direction, offset, length.
    #[serde(rename = "at")]
    pub location: String,
    /// Error number, if it came from the system.
    #[serde(default)]
    pub errno: Option<i32>,
    /// The operation that failed, if it was one.
    #[serde(default)]
    pub operation: Option<FailedOperation>,
    /// Advice on what to do.
    #[serde(default)]
    pub help: Option<String>,
}

/// The cause of operations that transfer no data.
pub const BECAME_SHORTER: &str = "the target became shorter during the test";

impl Failure {
    /// True if an operation reached the end of a target that became shorter.
    pub fn is_beyond_end(&self) -> bool {
        self.what.ends_with(BECAME_SHORTER)
    }

    /// A failure without an error number, an operation or advice.
    pub fn new(what: impl Into<String>, location: impl Into<String>) -> Failure {
        Failure {
            what: what.into(),
            location: location.into(),
            errno: None,
            operation: None,
            help: None,
        }
    }
}

/// An operation that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedOperation {
    /// Slot of the queue that it used, counted over the whole worker.
    pub slot: u32,
    /// Index of its stream.
    pub stream: u32,
    /// Kind of the failed operation.
    pub direction: Direction,
    /// The file or device.
    #[serde(default)]
    pub path: String,
    /// First byte of the failed operation.
    #[serde(default)]
    pub offset: Bytes,
    /// Bytes requested.
    #[serde(default)]
    pub length: u32,
    /// It succeeded, but too late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub too_slow: Option<TooSlow>,
}

/// A latency above the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TooSlow {
    /// Latency of the slow operation.
    #[serde(rename = "took_ns")]
    pub latency_ns: Nanos,
    /// Limit that it exceeded.
    #[serde(rename = "most_ns")]
    pub limit_ns: Nanos,
}
