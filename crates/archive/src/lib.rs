//! Saved results: one complete file for each run, from which every report can be made again; and the schemas of all
//! files that programs may read.
//!
//! Nothing here measures or judges. Files appear whole or not at all, whatever interrupts the writing.

#![forbid(unsafe_code)]

mod atomic;
mod compressed;
mod fio_logs;
mod saved;
mod schema;
mod shelf;
mod warmed;

pub use atomic::write_whole;
pub use compressed::inflate_fio_log;
pub use fio_logs::{write_fio_logs, write_fio_totals};
pub use saved::{ArchiveError, Saved, is_saved, load, load_any, load_bytes, load_study, save, save_study};
pub use schema::{SCHEMAS, Schema};
pub use shelf::Shelf;
pub use warmed::{WarmMarker, WarmRange};
