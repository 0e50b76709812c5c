//! Results to readers: every output format, and the line or view that is shown while a run goes on.
//!
//! All formats are rendered from the one [`model::results::Results`], most of them by way of [`summary::Summary`], in
//! which each figure is computed once. Nothing here opens a device, reads a clock or knows a terminal.
//!
//! `live` is what is shown while a run goes on, from events: `line` prints one line, `state` keeps what the view shows, and
//! `view` draws it on any number of cells. `html` makes pages: `page` says what can stand on one, `chart` what a chart shows,
//! `svg` draws it. What users wrote is escaped in one place. Each format has golden files.

#![forbid(unsafe_code)]

pub mod cells;
pub mod diagnosis;
pub mod formats;
pub mod html;
pub mod junit;
pub mod live;
pub mod numbers;
pub mod stream;
pub mod summary;
pub mod words;

pub use formats::{FORMATS, Format};
pub use summary::Summary;
