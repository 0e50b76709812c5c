//! Iometer: configuration files (`.icf`) of every version from 1998 to 1.1.0, run in batch mode.
//!
//! `command_line` reads the switches, `read` the file by the table of `keys`, `cycle` expands test
//! types into steps, and `lower` turns the configuration into a plan. The trait [`Machine`]
//! provides facts of the machine.

pub mod command_line;
mod config;
mod cycle;
pub mod keys;
mod lower;
mod read;
mod spec;
mod streams;
mod targets;

pub use command_line::{Arguments, Reading};
pub use config::Config;
pub use lower::{Lowered, lower};
pub use read::{Parsed, is_one, read};
pub use targets::{Machine, PathFacts};
