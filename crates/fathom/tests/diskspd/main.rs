//! The program in the place of DiskSpd: command lines in, reports, words and exit codes out, as that tool's users know
//! them.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "shared with the tests of our own command line")]
mod calling;
#[cfg(target_os = "linux")]
mod endings;
mod legacy;
mod masks;
mod offsets;
#[path = "../drop_in/place.rs"]
#[allow(dead_code, reason = "shared by the tests of both drop-in modes")]
mod place;
mod profiles;
mod readers;
mod runs;
mod seeds;
mod support;
