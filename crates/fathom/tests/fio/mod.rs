//! Fathom as a drop-in replacement for fio. The same command lines and job files must give the same
//! reports, messages and exit codes.

mod clients;
mod differential;
mod endings;
mod engines;
mod errors;
mod flags;
mod golden;
mod logs;
#[path = "../../../report/tests/suite/fio/masks.rs"]
mod masks;
mod options;
mod replay;
mod seeds;
mod shared;
mod status;
pub mod support;
mod verify;
mod zones;
