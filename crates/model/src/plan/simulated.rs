//! The parameters of a simulated device.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::units::{Bytes, Nanos};

/// A device that exists only in the tool, with its own clock. Its properties are known, so tests
/// can check what the tool reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedDevice {
    /// Size.
    pub size: Bytes,
    /// Operations that it serves in parallel; further ones wait in order.
    pub servers: u32,
    /// Time to serve one operation.
    pub service: SimulatedService,
    /// Maximum operations per second over all servers; 0 for no limit.
    #[serde(default)]
    pub iops_cap: u64,
    /// Maximum bytes per second; 0 for no limit.
    #[serde(default)]
    pub bytes_per_second_cap: u64,
    /// Times at which the device does nothing.
    #[serde(default)]
    pub stalls: Vec<SimulatedPause>,
    /// Times at which the host does nothing: the worker is frozen, the device continues.
    #[serde(default)]
    pub host_pauses: Vec<SimulatedPause>,
    /// Operations that fail.
    #[serde(default)]
    pub faults: Vec<SimulatedFault>,
    /// Host time to submit one operation.
    #[serde(default)]
    pub submit_cost_ns: Nanos,
    /// Operations complete inside the submitting call.
    #[serde(default)]
    pub inline: bool,
    /// Limits that operations pass one after another before a server serves them, the outermost
    /// first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<SimulatedLayer>,
    /// A cache in front of the layers and the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<SimulatedCache>,
    /// Fast memory for writes, which fills up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_buffer: Option<SimulatedWriteBuffer>,
    /// Garbage collection pauses after writes.
    #[serde(rename = "collection", default, skip_serializing_if = "Option::is_none")]
    pub garbage_collection: Option<SimulatedGarbageCollection>,
    /// Share by which service time grows every second.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drift_per_second: f64,
    /// Occasional load of another user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbour: Option<SimulatedNeighbour>,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// How long one operation takes to serve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "law", rename_all = "snake_case")]
pub enum SimulatedService {
    /// Always the same.
    Constant {
        /// Service time.
        time_ns: Nanos,
    },
    /// Exponentially distributed.
    Exponential {
        /// Mean service time.
        mean_ns: Nanos,
    },
    /// Uniform between two times.
    Uniform {
        /// Shortest.
        low_ns: Nanos,
        /// Longest.
        high_ns: Nanos,
    },
    /// Lognormally distributed: its logarithm is normal.
    Lognormal {
        /// Half of the operations take less.
        median_ns: Nanos,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// One of two times.
    Bimodal {
        /// Service time of most operations.
        fast_ns: Nanos,
        /// Service time of the other operations.
        slow_ns: Nanos,
        /// Share of the others, from 0 to 1.
        slow_share: f64,
    },
}

impl SimulatedService {
    /// True if no operation takes any time.
    pub fn is_instant(&self) -> bool {
        let longest = match self {
            SimulatedService::Constant { time_ns } => *time_ns,
            SimulatedService::Exponential { mean_ns } => *mean_ns,
            SimulatedService::Uniform { high_ns, .. } => *high_ns,
            SimulatedService::Lognormal { median_ns, .. } => *median_ns,
            SimulatedService::Bimodal { fast_ns, slow_ns, .. } => *fast_ns.max(slow_ns),
        };
        longest == Nanos(0)
    }
}

impl Default for SimulatedService {
    fn default() -> Self {
        SimulatedService::Constant {
            time_ns: Nanos::micros(100),
        }
    }
}

/// A pause of the simulated device or host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedPause {
    /// When it begins, on the simulated clock.
    pub at_ns: Nanos,
    /// How long it lasts.
    #[serde(rename = "for_ns")]
    pub length_ns: Nanos,
}

impl SimulatedPause {
    /// A pause of this length from this time on.
    pub fn new(at_ns: Nanos, length_ns: Nanos) -> SimulatedPause {
        SimulatedPause { at_ns, length_ns }
    }
}

/// An operation of the simulated device that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "fault", rename_all = "snake_case")]
pub enum SimulatedFault {
    /// The n-th operation, counting from 1.
    Nth {
        /// n.
        operation: u64,
        /// Error number; 0 transfers only half of the bytes.
        errno: i32,
    },
    /// Every operation from the n-th on.
    From {
        /// n.
        operation: u64,
        /// Error number.
        errno: i32,
    },
    /// Every operation that touches these bytes.
    Bytes {
        /// First byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
        /// Error number.
        errno: i32,
    },
}

impl SimulatedFault {
    /// The n-th operation fails with this error number.
    pub fn nth(operation: u64, errno: i32) -> SimulatedFault {
        SimulatedFault::Nth { operation, errno }
    }
}

/// A rate limit with a token bucket, which is full at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedLayer {
    /// The quantity that is limited.
    pub counts: SimulatedCount,
    /// Number allowed per second.
    pub rate: u64,
    /// Number allowed per second until the bucket is empty; 0 for no limit.
    #[serde(default)]
    pub burst: u64,
    /// The size of the bucket; 0: no bucket, operations pass at even intervals.
    #[serde(default)]
    pub bucket: u64,
    /// The refill interval of the bucket; 0: continuously.
    #[serde(default)]
    pub quantum_ns: Nanos,
    /// A longer operation counts once for each started unit of this size; 0: once.
    #[serde(default)]
    pub unit: Bytes,
    /// The only direction that it limits.
    #[serde(default)]
    pub only: Option<Direction>,
    /// It also applies to cache hits.
    #[serde(default)]
    pub before_cache: bool,
}

/// The quantity that a limit counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SimulatedCount {
    /// Operations.
    #[default]
    Operations,
    /// Bytes.
    Bytes,
}

/// A read cache of unlimited size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedCache {
    /// Which reads hit the cache.
    pub holds: CacheContents,
    /// Time to serve a hit.
    pub time_ns: Nanos,
}

/// Which reads hit a cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum CacheContents {
    /// A random share of the reads hits it.
    Share {
        /// Share of reads that hit, from 0 to 1.
        hits: f64,
    },
    /// The first bytes of the device.
    First {
        /// Number of bytes that this rule covers.
        size: Bytes,
    },
}

/// Fast memory for writes. Once this many bytes have been written, writes take longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedWriteBuffer {
    /// Bytes that can be written fast.
    pub size: Bytes,
    /// Factor by which writes take longer afterwards.
    #[serde(rename = "slower")]
    pub slowdown: f64,
}

/// Pauses after writes, each longer than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedGarbageCollection {
    /// Mean distance between two pauses; each is random between 0.5 and 1.5 of it.
    #[serde(rename = "every_ns")]
    pub interval_ns: Nanos,
    /// Length of the first pause.
    pub first_ns: Nanos,
    /// Factor by which each pause is longer than the one before.
    pub growth: f64,
}

/// Another user of the device, active at random times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SimulatedNeighbour {
    /// Mean time between two visits; exponentially distributed.
    #[serde(rename = "every_ns")]
    pub interval_ns: Nanos,
    /// Mean length of a visit, uniformly distributed between 0.5 and 1.5 of it.
    #[serde(rename = "for_ns")]
    pub length_ns: Nanos,
    /// Factor by which service takes longer during a visit.
    #[serde(rename = "slower")]
    pub slowdown: f64,
}
