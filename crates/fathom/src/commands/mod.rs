//! One file for each command.

pub mod completions;
pub mod man;
pub mod quick;
pub mod run;
pub mod schema;
pub mod selftest;
pub mod targets;
