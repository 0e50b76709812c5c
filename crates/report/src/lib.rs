//! Results to readers: every output format, and the line or view that is shown during a run.
//!
//! All formats are rendered from the one [`model::results::Results`], most of them by way of
//! [`summary::Summary`], in which each figure is computed once. Nothing here opens a device, reads
//! a clock or knows a terminal.
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
