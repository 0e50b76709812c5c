//! The engine of a worker.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::EngineKind;

/// The engine of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineUsed {
    /// The engine that the worker used.
    pub kind: EngineKind,
    /// The reason, if the tool chose it.
    #[serde(default)]
    pub reason: String,
    /// Features in use, such as `registered buffers`.
    #[serde(default)]
    pub features: Vec<String>,
    /// Requested or default features that were unavailable, with the reason.
    #[serde(rename = "without", default)]
    pub unavailable_features: Vec<String>,
    /// The maximum number of operations submitted together.
    pub submit_batch: u32,
    /// Operations complete inside the submitting call.
    #[serde(default)]
    pub inline: bool,
}
