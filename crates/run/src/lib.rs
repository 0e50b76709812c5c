//! Executes a plan: prepares targets, runs workers through their phases, gathers what they measured.
//!
//! [`execute`] takes a plan and returns results; on the way it publishes [`model::event::Event`]s and knows no viewer. Nothing
//! is printed here.

#![deny(unsafe_code)]

mod context;
mod control;
mod control_groups;
mod descriptors;
mod error;
mod file_lock;
mod flow;
mod gather;
mod governor;
pub mod hosts;
mod issue_trace;
mod line_log;
mod operation_log;
mod other_programs;
mod pipeline;
mod results;
mod sampler;
mod schedulers;
mod setup_error;
mod sources;
mod step;
pub mod targets;
mod trace_source;
mod unsupported;
mod verify;
mod worker;

pub use context::{RunContext, RunHooks};
pub use descriptors::descriptors_needed;
pub use error::{RunError, WorkerFault};
pub use pipeline::{CheckedPlan, check, check_engines, execute};
pub use results::{ENGINE_REVISION, nothing_measured};
pub use setup_error::{Setting, SetupError};
pub use verify::compute_checksum;
