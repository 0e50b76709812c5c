//! The program on Windows: drives, names, keys, refusals, in our own words and in those of the
//! tools that it stands in for.
//!
//! `cargo xtask check wine` runs it under Wine, and `cargo test --test windows` on Windows itself.
//! There some things have to be named, or their tests are skipped: `FATHOM_TEST_DRIVE` and
//! `FATHOM_TEST_SMALL_DRIVE`, drives to write to, the second with little room; `FATHOM_TEST_PRESS`,
//! the program that `tests/wine/press.c` makes; `FATHOM_TEST_DENIED`, a file that this user may
//! read and not write.

#![cfg(windows)]
#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "shared with the tests of our own command line")]
mod calling;
mod commands;
mod fio;
mod keys;
mod names;
#[path = "../drop_in/place.rs"]
#[allow(dead_code, reason = "shared by the tests of both drop-in modes")]
mod place;
mod refusals;
mod reported;
mod seeds;
