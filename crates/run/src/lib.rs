//! Executes a plan: prepares targets, runs workers through their phases, gathers their
//! measurements.
//!
//! [`execute`] takes a plan and returns results. It publishes progress as [`model::event::Event`]s,
//! independent of any viewer, and prints nothing.
//!
//! `pipeline` is the main sequence: `Plan → CheckedPlan → PermittedTargets → PreparedTargets →
//! Results`, where each step consumes the previous one. Every path that a plan would change passes
//! `targets/guard`, which examines the open descriptor rather than the name; nothing is written
//! before all targets are permitted. `unsupported` refuses by name what a run cannot do. A run
//! restores the system settings that it changes (control groups, schedulers), however it ends.
//!
//! `step` starts jobs together, watches them and gathers their figures. `governor` has the rules
//! that end a job, change its depth or restart its statistics. `verify` writes data that can be
//! checked, in fio's format, and checks what is read.
//!
//! [`hosts`] runs a plan on several hosts: agents exchange messages with one coordinator through
//! `Comm`, over MPI (a library opened at run time), TCP or pipes of ssh. Over TCP, both peers and
//! every frame are authenticated. Only `Comm` knows which transport is in use. `barrier` lets no
//! host create files before all hosts have examined their targets.

#![deny(unsafe_code)]

mod context;
mod control;
mod control_groups;
mod descriptors;
mod error;
mod file_claims;
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
pub use pipeline::{CheckedPlan, check, check_engines, check_logs, check_targets, execute};
pub use results::{ENGINE_REVISION, nothing_measured};
pub use setup_error::{SetupError, SystemSetting};
pub use step::lost_target_finding;
pub use verify::{KeyMapFile, compute_checksum};
