//! Limits between a program and its data, and which of them binds. A virtual machine, a disk, a
//! control group and a network each limit operations and bytes per second. The smallest limit
//! binds; the length of operations decides which one that is.

use std::ops::Add;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::direction::Direction;
use crate::plan::{CachePath, StoragePath};
use crate::units::Bytes;

/// A figure is *at* a limit if it is below by less than this share, or above by less than
/// [`TOLERANCE_ABOVE`]: sources round their figures, use different units and allow short bursts.
pub const TOLERANCE_BELOW: f64 = 0.03;
/// See [`TOLERANCE_BELOW`].
pub const TOLERANCE_ABOVE: f64 = 0.05;

/// One limit with its name and source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LimitLayer {
    /// Its name, such as `VM Standard_B2ms, uncached` or `4 × P30`.
    pub name: String,
    /// Kind of layer: disk, machine, network and so on.
    pub kind: LayerKind,
    /// Operations per second, for all of `count` together.
    #[serde(default)]
    pub iops: Option<Limit>,
    /// Bytes per second, for all of `count` together.
    #[serde(default)]
    pub bytes_per_sec: Option<Limit>,
    /// A longer operation counts once for each started unit of this size.
    #[serde(default)]
    pub unit: Option<Bytes>,
    /// Which operations it limits.
    #[serde(default)]
    pub applies: Applies,
    /// Only jobs on this path share the limit; absent: jobs on any path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<CachePath>,
    /// Only jobs with this role share the limit; absent: jobs with any role or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Only the job with this name has the limit; absent: all jobs share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The share of the load's operations that it limits; absent: all.
    #[serde(skip)]
    pub share: Option<f64>,
    /// Where the figures come from, with the date.
    #[serde(default)]
    pub source: String,
}

impl LimitLayer {
    /// True if operations of a job with this name and path count against the limit. A job without a
    /// path is uncached.
    pub fn covers(&self, job: &str, storage: &StoragePath) -> bool {
        let path = storage.cache.unwrap_or_default();
        self.path.is_none_or(|required| required == path)
            && self
                .role
                .as_ref()
                .is_none_or(|required| storage.role.as_ref() == Some(required))
            && self.job.as_ref().is_none_or(|required| required == job)
    }

    /// Device operations per client operation of this kind. Replicated storage writes every copy to
    /// a disk, but a machine, a link or a control group above the storage sees the client's
    /// operation once.
    pub fn copies(&self, direction: Direction, storage: &StoragePath) -> f64 {
        match (self.kind, direction) {
            (LayerKind::Disk, Direction::Write | Direction::Trim) => f64::from(storage.replicas.unwrap_or(1)),
            _ => 1.0,
        }
    }
}

/// The kind of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// A target rate of the test itself.
    Application,
    /// A control group of the operating system.
    ControlGroup,
    /// A virtual machine or instance.
    Machine,
    /// A disk or volume, or several of them together.
    #[default]
    Disk,
    /// A network or host bus adapter.
    Link,
}

/// Which operations a layer limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Applies {
    /// All.
    #[default]
    All,
    /// Reads alone.
    Reads,
    /// Writes alone.
    Writes,
}

/// A limit. Sources that disagree on units give a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// The smallest reading of the source.
    pub low: f64,
    /// The largest reading of the source.
    pub high: f64,
}

impl Limit {
    /// A limit that is known exactly.
    pub fn exactly(value: f64) -> Limit {
        Limit {
            low: value,
            high: value,
        }
    }

    /// True if a figure is at this limit: from 3 % below its smallest reading to 5 % above its
    /// largest.
    pub fn is_reached_by(&self, value: f64) -> bool {
        value >= self.low * (1.0 - TOLERANCE_BELOW) && value <= self.high * (1.0 + TOLERANCE_ABOVE)
    }

    /// True if a figure is more than 5 % above the largest reading of this limit.
    pub fn is_exceeded_by(&self, value: f64) -> bool {
        value > self.high * (1.0 + TOLERANCE_ABOVE)
    }

    /// The bound with which reports compare a figure: the largest reading only if it is exceeded.
    pub fn compared_with(&self, value: f64) -> f64 {
        if value > self.high { self.high } else { self.low }
    }

    /// A figure as a share of that bound.
    pub fn share(&self, value: f64) -> f64 {
        value / self.compared_with(value)
    }
}

impl Add for Limit {
    type Output = Limit;

    fn add(self, other: Limit) -> Limit {
        Limit {
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }
}
