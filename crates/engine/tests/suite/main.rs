//! One suite over all engines: it checks the guarantees of each engine on every kind of target.
//!
//! [`ENGINES`](model::plan::ENGINES) lists the engines, so a new one is tested automatically.
//! Devices and file systems are real and come from the testbed; what this machine lacks is skipped
//! with a reason.

#![cfg(any(target_os = "linux", windows))]
#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(dead_code, reason = "the suite grows test by test")]

mod driver;
#[cfg(target_os = "linux")]
mod endings;
mod every_engine;
mod pool;
#[cfg(target_os = "linux")]
mod special;
mod test_targets;
mod watchdog;
#[cfg(windows)]
mod windows;
