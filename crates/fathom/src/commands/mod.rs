//! One file for each command.

pub mod advise;
mod catalogue;
pub mod completions;
pub mod convert;
mod fio_plan;
pub mod man;
pub mod policies;
pub mod quick;
pub mod run;
pub mod schema;
pub mod selftest;
pub mod targets;
pub mod verify;
