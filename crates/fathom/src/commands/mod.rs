//! One file for each command.

pub mod ab;
pub mod calc;
pub mod compare;
pub mod advise;
mod catalogue;
pub mod baseline;
pub mod completions;
pub mod convert;
pub mod explain;
mod fio_plan;
pub mod lint;
pub mod man;
pub mod policies;
pub mod quick;
pub mod results;
pub mod run;
pub mod schema;
pub mod selftest;
mod source;
mod study_outputs;
pub mod sweep;
pub mod show;
pub mod targets;
pub mod verify;
