//! Tests that take long or need much of the machine. They cover the drop-in modes of fio and
//! DiskSpd, reports in a browser, verdicts on simulated and throttled devices, and the protection
//! of data. They are one program, because each test program links everything.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

#[path = "../cli/support.rs"]
#[allow(dead_code, reason = "shared with the tests of our own command line")]
mod calling;
#[cfg(target_os = "linux")]
mod capture;
#[cfg(target_os = "linux")]
mod connections;
#[cfg(target_os = "linux")]
mod diagnosis;
#[path = "../diskspd/mod.rs"]
mod diskspd;
#[cfg(target_os = "linux")]
#[path = "../fio/mod.rs"]
mod fio;
#[cfg(target_os = "linux")]
#[path = "../fio_logs/mod.rs"]
mod fio_logs;
#[cfg(target_os = "linux")]
mod marks;
#[cfg(target_os = "linux")]
#[path = "../pages/mod.rs"]
mod pages;
#[cfg(target_os = "linux")]
mod preflight;
#[path = "../drop_in/sandbox.rs"]
#[allow(dead_code, reason = "shared by the tests of both drop-in modes")]
mod sandbox;
#[cfg(target_os = "linux")]
#[path = "../scenarios/mod.rs"]
mod scenarios;
#[cfg(target_os = "linux")]
mod stopping;
#[cfg(target_os = "linux")]
mod throttle;
#[cfg(target_os = "linux")]
mod truth;

/// Runs a plan in this process.
fn execute(plan: model::plan::Plan) -> model::results::Results {
    let interrupt = std::sync::atomic::AtomicBool::new(false);
    let permissions = run::targets::guard::Permissions::default();
    let clock = engine::clock::ClockStart::now().calibrate();
    let context = run::RunContext::new(clock, &interrupt, &permissions);
    run::execute(plan, context, &mut |_| {}).unwrap()
}

/// What most of these files use.
#[cfg_attr(
    not(target_os = "linux"),
    allow(unused_imports, reason = "most of these files are for Linux")
)]
mod prelude {
    #[cfg(target_os = "linux")]
    pub use crate::calling::{KilledOnDrop, folder, loop_device};
    pub use crate::calling::{
        PROGRAM, Ran, command, end, fathom, fathom_line, finish, kill, signal, split_words, text,
    };
    pub(crate) use crate::{calling, sandbox};
    pub use model::plan::Plan;
    pub use model::results::Results;
    pub use model::{Bytes, Nanos};
    pub use serde_json::Value;
    pub use std::fs;
    pub use std::io::BufReader;
    pub use std::path::{Path, PathBuf};
    pub use std::process::{Child, Command, Stdio};
    pub use std::sync::Mutex;
    pub use std::sync::atomic::AtomicBool;
    pub use std::time::{Duration, Instant};
    pub use testbed::{AssertContains, AssertIs, Directory, need};
}
