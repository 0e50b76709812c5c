//! Text to plan, and the results of other tools to observations.
//!
//! Each dialect reads its own grammar, says what is wrong with it in terms of that text, and lowers it into
//! [`model::plan::Plan`], which belongs to no dialect. Nothing here opens a file, knows a device or prints.
//!
//! Each dialect has a table of options, from which parser, help and documents follow. What a grammar needs beyond its text
//! (a profile's file, the processors, a named event) it asks for through a trait. Presets are job files in
//! `crates/dialects/presets`, whose texts are pinned by digests. [`import`] reads the results of other tools, wherever they
//! stand in a text, and fills no gap. [`convert`] writes a plan as text, reads that again and compares the two plans path by
//! path (`compare/rows.rs` has a row for every path), so that what a dialect cannot say is listed.

#![forbid(unsafe_code)]

pub mod convert;
pub mod diskspd;
pub mod fio;
pub mod import;
pub mod native;

mod bounds;
mod diagnostic;
mod nearest;
mod notation;

pub use diagnostic::{Diagnostic, Place};
pub use nearest::nearest;
