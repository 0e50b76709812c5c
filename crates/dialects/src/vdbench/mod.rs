//! Vdbench's parameter files and command line, as of 5.04.07.
//!
//! Command line → [`Command`]; files → items → [`Parameters`], which is what the user wrote →
//! [`Run`]s, one for each turn of each run definition → [`lower()`] → [`model::plan::Plan`]. The
//! runs are executed one after the other, because the rates of a curve are known only when its
//! first run has ended.

pub mod values;

mod blocks;
mod command;
mod commands;
mod concatenation;
mod data;
mod definitions;
mod file_refusals;
mod file_runs;
mod files;
mod general;
mod hosts;
mod lower;
mod notes;
mod refusals;
mod rows;
mod runs;
mod scan;
mod streams;
mod table;
mod tree_formats;
mod validation;
mod whole_sds;
mod workloads;

pub use command::{Command, read_command};
pub use commands::{CommandOutput, Commands, UserCommand};
pub use data::Dedup;
pub use definitions::{General, Parameters, Rd, Sd, Transfer, Wd, read_parameters};
pub use file_runs::{FileLoad, FileRun};
pub use files::{Fsd, Fwd, OPERATIONS, TreeFormat};
pub use hosts::Host;
pub use lower::{JobLabel, Lowered, lower, lower_all};
pub use rows::ROWS;
pub use runs::{MaxData, Run, RunRate, expand, rate_of_point};
pub use scan::CopiedLines;
pub use table::{Kind, Row, RunKind, Section, Status};
pub use tree_formats::{is_layout, with_tree_formats};
pub use validation::{Journal, Validation};
pub use whole_sds::{Format, format_plan, needs_format, recovery_plan};

/// Access to the machine for the parser.
pub trait VdbenchEnv {
    /// The text of a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read_file(&mut self, path: &str) -> Result<String, String>;

    /// True if a path exists.
    fn exists(&self, path: &str) -> bool {
        self.read_size(path).is_some()
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn read_bytes(&mut self, path: &str) -> Result<Vec<u8>, String>;

    /// Size of a file or device; `None` if it does not exist.
    fn read_size(&self, path: &str) -> Option<u64>;

    /// True if the names lead to one file or device, which need not exist yet.
    fn is_same_file(&self, a: &str, b: &str) -> bool {
        a == b
    }

    /// True for names of this machine.
    fn is_local(&self, host: &str) -> bool;
}
