//! The program on Windows: drives, names, keys and refusals, with native commands and in drop-in
//! modes.
//!
//! `cargo xtask check wine` runs these tests under Wine, and `cargo test --test windows` runs them
//! on Windows itself. There, tests are skipped unless these variables are set:
//! `FATHOM_TEST_DRIVE` to a drive to write to; `FATHOM_TEST_SMALL_DRIVE` to a drive with little
//! space; `FATHOM_TEST_PRESS` to the program compiled from `tests/wine/press.c`;
//! `FATHOM_TEST_DENIED` to a file that this user may read but not write.

#![cfg(windows)]
#![allow(clippy::unwrap_used, reason = "a test fails if something unexpected happens")]

#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "shared with the tests of our own command line")]
mod calling;
mod commands;
mod environment;
mod fio;
mod keys;
mod names;
mod refusals;
#[path = "../drop_in/sandbox.rs"]
#[allow(dead_code, reason = "shared by the tests of both drop-in modes")]
mod sandbox;
mod seeds;
