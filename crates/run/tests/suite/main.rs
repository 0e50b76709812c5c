//! Plans executed by the public interface: on simulated devices, real files and recorded machines.

#![allow(clippy::unwrap_used, reason = "all of this is test code, helpers too")]

mod each_step;
mod engine_features;
#[cfg(target_os = "linux")]
mod file_sets;
#[cfg(target_os = "linux")]
mod file_trees;
#[cfg(target_os = "linux")]
mod guard_trees;
mod guard_windows;
#[cfg(target_os = "linux")]
mod names;
mod operation_log;
mod peers;
mod reopening;
mod replay;
mod saved_examples;
mod shared_devices;
mod sharing;
mod simulated;
mod support;
#[cfg(target_os = "linux")]
mod verification;
#[cfg(target_os = "linux")]
mod verification_rules;
mod windows;
