//! One file for each command.

pub mod ab;
pub mod advise;
pub mod baseline;
pub mod calc;
pub mod capture;
mod catalogue;
pub mod compare;
pub mod completions;
pub mod convert;
pub mod explain;
mod fio_plan;
pub mod lint;
pub mod man;
pub mod policies;
pub mod precondition;
pub mod quick;
pub mod results;
pub mod run;
pub mod schema;
pub mod selftest;
pub mod show;
mod source;
mod study_outputs;
pub mod sweep;
pub mod targets;
pub mod verify;
