//! DiskSpd's command line and XML profiles, as of version 2.2, optionally with the switches of 2.3.
//! Arguments → [`Profile`] (what the user wrote) → [`lower()`] → [`model::plan::Plan`] (what it
//! means). The profile can be printed as DiskSpd prints it, as text and as XML.

pub mod distribution;
pub mod newer;
pub mod profile;
pub mod text;
pub mod xml;

mod affinity;
mod arguments;
mod help;
mod hints;
mod line;
mod lower;
mod numbers;
mod options;
mod paths;
mod read;
mod refusals;
mod templates;
mod validate;

pub use help::{VERSION, VERSION_DATE, lines as help_lines};
pub(crate) use line::OfflineEnv;
pub use line::{EventRole, Events, ParseEnv};
pub use lower::{LowerEnv, Lowered, TargetUse, assign_threads, lower, origin};
pub use newer::Version;
pub use options::{Form, Group, Scope, Status, Switch, Value, find_switch, switches};
pub use profile::Profile;
pub use read::{ExitOutput, ParseOutcome, Request, read};
pub use validate::{Processors, Validation, validate};
