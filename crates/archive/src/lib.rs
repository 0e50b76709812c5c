//! Saved results: one complete file for each run, from which every report can be made again; and the schemas of all
//! files that programs may read. The [`history`] is a collection of such files that keeps itself.
//!
//! Nothing here measures or judges. Files appear whole or not at all, whatever interrupts the writing.
//!
//! The history is opened only when something is recorded or asked for, and its errors never fail a run. Every connection
//! to the server counts in `serve/connections`, which bounds their number and time, and every request passes `serve/door`
//! first; what stands on the pages of results is handed in.

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
