//! Saved results: one complete file for each run, from which every report can be made again; and
//! the schemas of all files that programs may read. The [`history`] is a collection of such files
//! that keeps itself.
//!
//! Nothing here measures or judges. Files appear whole or not at all, whatever interrupts the
//! writing.
//!
//! The history opens its database only to record or to query, and its errors never fail a run.
//! `serve/connections` limits the number and duration of connections to the server, and
//! `serve/door` authorizes every request. The caller supplies the pages of results.

#![forbid(unsafe_code)]

mod atomic;
mod compressed;
mod document_store;
mod fio_logs;
pub mod history;
mod saved;
mod schema;
#[cfg(feature = "serve")]
pub mod serve;
mod warmed;

pub use atomic::{write_whole, write_whole_with};
pub use compressed::inflate_fio_log;
pub use document_store::DocumentStore;
pub use fio_logs::{write_fio_logs, write_fio_logs_of, write_fio_totals};
pub use saved::{
    ArchiveError, Saved, is_saved, load, load_any, load_any_bytes, load_bytes, load_study, load_study_bytes, save,
    save_study,
};
pub use schema::{JudgedSummary, SCHEMAS, Schema};
pub use warmed::{WarmMarker, WarmRange};
