//! Renders results: every output format, and the progress line or full-screen view during a run.
//!
//! All formats are rendered from [`model::results::Results`], most of them through
//! [`summary::Summary`], in which each figure is computed once. This crate opens no device, reads
//! no clock and does not access the terminal.
//!
//! `live` draws the progress of a run from its events, either as one line (`line`) or full screen
//! (`view`, from `state`). `html` writes pages: `page` and `chart` are their data model, `svg`
//! draws the charts, `escape` escapes text from users. Each format has golden files.

#![forbid(unsafe_code)]

pub mod cells;
pub mod charts;
pub mod diagnosis;
pub mod formats;
pub mod html;
pub mod junit;
pub mod live;
pub mod network;
pub mod numbers;
pub mod sarif;
pub mod stream;
pub mod summary;
pub mod words;

pub use formats::{FORMATS, Format};
pub use summary::Summary;
