//! The program as its users call it: what it prints, where, with which exit code, and what it leaves behind.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

mod baseline;
mod capture;
mod connections;
mod convert;
mod diagnosis;
mod examples;
mod explain;
mod faults;
mod guard;
mod help;
mod history;
mod live;
mod marks;
mod outputs;
mod precondition;
mod preflight;
mod presets;
mod serve;
mod stopping;
mod studies;
mod suites;
mod support;
mod throttle;
mod truth;
mod verify;
mod verify_faults;
mod verify_inputs;
mod warm_up;
