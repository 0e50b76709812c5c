//! One file for each command.

pub mod completions;
pub mod convert;
mod fio_plan;
pub mod man;
pub mod quick;
pub mod run;
pub mod schema;
pub mod selftest;
pub mod targets;
