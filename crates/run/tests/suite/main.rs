//! Plans executed by the public interface: on simulated devices, real files and recorded machines.

#![allow(clippy::unwrap_used, reason = "all of this is test code, helpers too")]

mod each_step;
mod engine_features;
#[cfg(target_os = "linux")]
mod file_sets;
#[cfg(target_os = "linux")]
mod file_trees;
#[cfg(target_os = "linux")]
mod guard_trees;
mod guard_windows;
#[cfg(target_os = "linux")]
mod names;
mod operation_log;
mod peers;
mod reopening;
mod replay;
mod saved_examples;
mod shared_devices;
mod sharing;
mod simulated;
mod support;
#[cfg(target_os = "linux")]
mod verification;
#[cfg(target_os = "linux")]
mod verification_rules;
mod windows;

/// What most of these files use.
#[cfg_attr(windows, allow(unused_imports, reason = "some of these files are for Linux"))]
mod prelude {
    pub use crate::support::{device, plan, plan_on, run_job, run_watched, stream, try_run, worker};
    pub use engine::clock::ClockStart;
    pub use model::access::{Access, AtEnd, Placement, Sequential};
    pub use model::block_size::BlockSizes;
    pub use model::content::Content;
    pub use model::draws::GeneratorChoice;
    pub use model::event::{EndReason, Event};
    pub use model::mix::{Mix, MixRule};
    pub use model::plan::{
        DepthScope, EngineKind, Grid, GridScope, Pacing, Pattern, Plan, Prepare, Rate, SimulatedDevice, SimulatedFault,
        SimulatedPause, SimulatedService, Stop, Stream, StreamTarget, SyncRule, TargetId, TargetKind, Verify, Worker,
    };
    pub use model::results::{JobResults, Results};
    pub use model::{Bytes, Direction, Nanos, PerDirection, testing};
    pub use run::targets::guard::Permissions;
    pub use run::{RunContext, RunError};
    pub use std::fs;
    pub use std::path::{Path, PathBuf};
    pub use std::process::Command;
    pub use std::sync::atomic::AtomicBool;
    pub use testbed::{AssertIs, With, need};
}
