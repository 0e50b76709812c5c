//! The program as users call it: its output, its exit codes, and its files.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

mod baseline;
mod convert;
mod dead_mounts;
mod drop_ins;
mod examples;
mod explain;
mod faults;
mod files;
mod fio_logs;
mod guard;
mod help;
mod history;
mod iometer;
mod live;
mod lost_targets;
mod outputs;
mod precondition;
mod presets;
mod serve;
mod studies;
mod suites;
mod support;
mod vdbench;
mod vdbench_lay_out;
mod vdbench_load;
mod vdbench_tree_validation;
mod vdbench_validation;
mod verify;
mod verify_faults;
mod verify_inputs;
mod warm_up;

/// What most of these files use.
mod prelude {
    pub use crate::support::{
        PROGRAM, Ran, between, command, data, end, fathom, fathom_in, fathom_line, finish, folder, kill, loop_device,
        names, signal, spawn, split_words, text, wait_until,
    };
    pub use crate::vdbench::run_vdbench;
    pub use serde_json::Value;
    pub use std::fs;
    pub use std::fs::File;
    pub use std::os::unix::fs::PermissionsExt;
    pub use std::path::{Path, PathBuf};
    pub use std::process::{Command, Stdio};
    pub use std::time::{Duration, Instant};
    pub use testbed::{AssertContains, AssertIs, Directory, TmpFs, need};
}
