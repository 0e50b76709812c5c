//! Iometer: configuration files (`.icf`) of every version from 1998 to 1.1.0, run in batch mode.
//!
//! `command_line` reads the switches, `read` the file by the table of `keys`, `cycle` expands test
//! types into steps, and `lower` turns the configuration into a plan. The trait [`Machine`]
//! provides facts of the machine. `write` turns a configuration into a file of version 1.1.0;
//! `convert::iometer` makes one from a plan.

pub mod command_line;
pub(crate) mod config;
pub(crate) mod cycle;
pub mod keys;
mod lower;
mod read;
pub(crate) mod spec;
mod streams;
pub(crate) mod targets;
mod write;

pub use command_line::{Arguments, ParseOutcome};
pub use config::Config;
pub(crate) use lower::worker_seed;
pub use lower::{Lowered, lower};
pub use read::{Parsed, is_one, read};
pub use targets::{Machine, PathFacts};
pub(crate) use write::write;
