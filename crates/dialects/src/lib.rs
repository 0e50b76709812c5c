//! Text to plan, and the results of other tools to observations. Each dialect reads its own grammar, says what is wrong with it in terms of that text, and lowers it into
//! [`model::plan::Plan`], which belongs to no dialect. Nothing here opens a file, knows a device or prints.

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
