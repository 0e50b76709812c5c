//! fio's job files and command line, as of version 3.42. Arguments and files → [`Jobs`] (what the
//! user wrote, typed by the table of options). Nothing is opened or printed here: [`ParseEnv`]
//! gives access to files and the machine, and messages are returned as lines.

pub mod engines;
pub mod flags;
pub mod help;
pub mod jobs;
pub mod options;
pub mod table;
pub mod values;

mod apply;
mod checks;
mod clients;
mod command_line;
mod disk;
mod draft;
mod expression;
mod job_file;
mod lower;
mod plan;
pub(crate) mod print;
mod profiles;
mod session;
mod similar;
mod substitute;
mod unsupported_engines;

pub use clients::{Address, HostArgs, split_by_host};
pub use command_line::read;
pub use disk::{Disk, PathFacts, PathKind, TraceFile};
pub use flags::Flags;
pub use help::VERSION;
pub use jobs::{ExitOutput, Job, Jobs, ParseOutcome};
pub use options::JobOptions;
pub use plan::{LowerEnv, Lowered, Unusable, lower};
pub use print::verify_method_name;
pub use table::{Notice, ParseEnv};
