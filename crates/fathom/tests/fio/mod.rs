//! The program in the place of fio: command lines and job files in, reports, words and exit codes
//! out, as that tool's users know them.

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
