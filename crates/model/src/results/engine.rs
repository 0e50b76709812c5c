//! The engine that carried a worker.

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::EngineKind;

/// The engine that carried a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineUsed {
    /// Which.
    pub kind: EngineKind,
    /// Why, where it was left to the tool.
    #[serde(default)]
    pub reason: String,
    /// Features in use, such as `registered buffers`.
    #[serde(default)]
    pub features: Vec<String>,
    /// What was asked for or usual and could not be had, with the reason.
    #[serde(default)]
    pub without: Vec<String>,
    /// Most operations handed over at once.
    pub submit_batch: u32,
    /// Operations complete inside the submitting call.
    #[serde(default)]
    pub inline: bool,
}
