//! Executes a plan: prepares targets, runs workers through their phases, gathers what they measured.
//!
//! [`execute`] takes a plan and returns results; on the way it publishes [`model::event::Event`]s and knows no viewer. Nothing
//! is printed here.
//!
//! `pipeline` is the spine: `Plan → CheckedPlan → PermittedTargets → PreparedTargets → Results`, each of which consumes the
//! one before. Every path that a plan would change passes `targets/guard` first, which decides on the opened descriptor and
//! not on the name; nothing is written before all targets of the plan have been permitted. What a plan says and a run
//! cannot do is refused by name (`unsupported`), never left out. What a run changes of the system (control groups,
//! schedulers) it restores, whatever ends it.
//!
//! `step` starts jobs together, watches and gathers; `governor` has the rules that see merged intervals and may end a job,
//! change its depth or restart its statistics; `verify` writes what can be checked, byte for byte as fio has it, and checks
//! what is read back.
//!
//! [`hosts`] runs a plan on several hosts: a coordinator leads agents; messages go in a star through `Comm`, behind which
//! are MPI (from a library opened at run time) and streams (TCP, pipes of ssh). Over TCP both sides are authenticated, and
//! every frame. No code outside `Comm` knows which transport is in use. `barrier` lets no host make files before all have examined their targets.

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
