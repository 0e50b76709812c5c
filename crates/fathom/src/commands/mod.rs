//! One file for each command.

pub mod completions;
pub mod convert;
mod fio_plan;
pub mod lint;
pub mod man;
pub mod quick;
pub mod run;
pub mod schema;
pub mod selftest;
mod source;
pub mod targets;
