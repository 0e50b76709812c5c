//! Saved results: one complete file per run, from which every report can be generated again. The
//! [`history`] automatically collects the results of all runs. This crate also holds the schemas of
//! all files that programs may read.
//!
//! This crate neither measures nor judges. It writes all files atomically.
//!
//! The history opens its database only to record or to query, and its errors never fail a run.
//! `serve/connections` limits the number and duration of connections to the server, and
//! `serve/auth` authorizes every request. The caller supplies the pages of results.

#![forbid(unsafe_code)]

mod atomic;
mod bounds;
mod compressed;
mod document_store;
mod fio_logs;
pub mod history;
mod saved;
mod schema;
#[cfg(feature = "serve")]
pub mod serve;
mod warmed;

pub use atomic::{stop_waiting_on, write_whole, write_whole_with};
pub use compressed::inflate_fio_log;
pub use document_store::DocumentStore;
pub use fio_logs::{write_fio_logs, write_fio_logs_with_suffix, write_fio_totals};
pub use saved::{
    ArchiveError, Saved, is_saved, is_saved_head, load, load_any, load_any_bytes, load_bytes, load_study,
    load_study_bytes, save, save_study,
};
pub use schema::{JudgedSummary, SCHEMAS, Schema};
pub use warmed::{WarmMarker, WarmRange};
