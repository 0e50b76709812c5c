//! Limits that stand between a program and its data, and which of them binds.
//!
//! A virtual machine, a disk, a control group, a network each allow so many operations and so many bytes per second. What
//! can be reached is the smallest of them; which one that is depends on the length of an operation.

use model::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Below a limit by less than this share, or above it by less than [`ABOVE`], a figure is *at* the limit: sources round
/// their figures, count units differently and let short bursts pass.
pub const BELOW: f64 = 0.03;
/// See [`BELOW`].
pub const ABOVE: f64 = 0.05;

/// One limit with its name and source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Layer {
    /// What has the limit, such as `VM Standard_B2ms, uncached` or `4 × P30`.
    pub name: String,
    /// What kind of thing it is.
    pub kind: LayerKind,
    /// Operations per second, over all of `count`.
    #[serde(default)]
    pub iops: Option<Limit>,
    /// Bytes per second, over all of `count`.
    #[serde(default)]
    pub bytes_per_sec: Option<Limit>,
    /// Longer operations count as several: one for each begun unit of this many bytes.
    #[serde(default)]
    pub unit: Option<Bytes>,
    /// Which operations it limits.
    #[serde(default)]
    pub applies: Applies,
    /// Where the figures come from, with the date.
    #[serde(default)]
    pub source: String,
}

/// What kind of thing limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayerKind {
    /// A rate that the test itself asks for.
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
    /// The largest.
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

    /// Whether a figure lies at this limit: from 3 % below its smallest reading to 5 % above its largest.
    pub fn is_met_by(&self, value: f64) -> bool {
        value >= self.low * (1.0 - BELOW) && value <= self.high * (1.0 + ABOVE)
    }

    /// The share of the limit that a figure makes: of the nearer bound, 1 within the range.
    pub fn share(&self, value: f64) -> f64 {
        value / value.clamp(self.low, self.high)
    }
}
