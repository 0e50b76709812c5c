//! The program in the place of fio: command lines and job files in, reports, words and exit codes out, as that tool's users
//! know them.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "shared with the tests of our own command line")]
mod calling;
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
#[path = "../drop_in/place.rs"]
#[allow(dead_code, reason = "shared by the tests of both drop-in modes")]
mod place;
mod replay;
mod seeds;
mod shared;
mod status;
mod support;
mod verify;
