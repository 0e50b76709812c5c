//! The data model of tests and results.
//!
//! Plain data and pure arithmetic: units, the plan, access patterns, buffer contents, the latency
//! histogram, results, findings and events. Dialects parse text into the plan; reports render the
//! results. This crate has no files, threads, clocks or printing, so that other crates can be
//! tested without a disk.
//!
//! Counts are in bytes, nanoseconds and operations, and are never rounded or divided here, so
//! merging results is addition. [`fleet`] divides a plan among hosts and merges their results;
//! [`host_plans`] merges separate plans for each host (fio's `--client`). The parameters and the
//! generator of an access pattern share a file, take random numbers as an argument, and are tested
//! by `access/properties`. The schemas of serialised types are in `docs/schema`.

#![forbid(unsafe_code)]

pub mod access;
pub mod block_event;
pub mod block_lifetimes;
pub mod block_size;
pub mod caps;
pub mod content;
pub mod diagnosis;
pub mod draws;
pub mod environment;
pub mod event;
pub mod file_choice;
pub mod finding;
pub mod fleet;
pub mod histogram;
pub mod host_plans;
pub mod mismatch;
pub mod mix;
pub mod network_mount;
pub mod observation;
pub mod operation_log;
pub mod pace;
pub mod plan;
pub mod results;
pub mod seconds;
pub mod sequence;
pub mod stats;
pub mod study;
#[doc(hidden)]
pub mod testing;
pub mod trace;
pub mod units;
pub mod visible;

mod direction;

/// Derives the published schema of a saved type, if the feature `schema` is on.
#[cfg(not(feature = "schema"))]
pub use schema::JsonSchema;
#[cfg(feature = "schema")]
pub use schemars::JsonSchema;

pub use direction::{Direction, PerDirection};
pub use units::{Bytes, Nanos};
pub use visible::{shell_word, visible, visible_lines, visible_report};
