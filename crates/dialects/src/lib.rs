//! Text to plan, and the results of other tools to observations.
//!
//! Each dialect parses its own grammar, reports mistakes with their place in the text, and lowers
//! it into [`model::plan::Plan`], which belongs to no dialect. Nothing here opens files, accesses
//! devices or prints.
//!
//! Each dialect has a table of options, from which we generate parser, help and documents. A parser
//! gets anything outside its text (a profile's file, the processors, a named event) through a
//! trait. Presets are job files in `crates/dialects/presets`; a digest pins the text of each.
//! [`import`] finds results of other tools anywhere in a text and never fills in what is missing.
//! [`convert`] writes a plan as text, parses that text and compares the two plans field by field
//! (`compare/rows.rs`), which lists what the other dialect cannot express.

#![forbid(unsafe_code)]

#[macro_use]
mod defaults;

pub mod convert;
pub mod diskspd;
pub mod fio;
pub mod import;
pub mod iometer;
pub mod native;
pub mod vdbench;

mod bounds;
mod diagnostic;
mod nearest;
mod notation;
mod passes;

pub use diagnostic::{Diagnostic, Location};
pub use nearest::nearest;

/// The support of an option, a switch or a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has its effect.
    Supported,
    /// It is accepted and shown, but has no effect, for this reason.
    WithoutEffect(&'static str),
    /// A run with it is refused, for this reason.
    Refused(&'static str),
}

/// Stores a parsed value. Option tables do no more than this with most values.
fn assign<T, E>(field: &mut T, value: Result<T, E>) -> Result<(), E> {
    *field = value?;
    Ok(())
}
