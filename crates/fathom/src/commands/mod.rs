//! One file for each command.

pub mod advise;
pub mod baseline;
mod catalogue;
pub mod completions;
pub mod convert;
pub mod explain;
mod fio_plan;
pub mod man;
pub mod policies;
pub mod quick;
pub mod results;
pub mod run;
pub mod schema;
pub mod selftest;
pub mod show;
pub mod targets;
pub mod verify;
