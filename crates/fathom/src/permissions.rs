//! Permissions to overwrite targets and to run programs, from flags and environment variables.

use clap::ValueHint;
use run::targets::guard::Permissions;

/// Environment variable that allows commands and programs of job files.
pub const ALLOW_PROGRAMS_VARIABLE: &str = "FATHOM_ALLOW_EXEC";

/// Options that permit the loss of a target, which they name again.
#[derive(clap::Args)]
pub struct SafetyArgs {
    /// Allow data loss on this target; also FATHOM_ALLOW_DESTROY
    #[arg(long, value_name = "DEVICE", value_hint = ValueHint::AnyPath, help_heading = "Safety")]
    allow_destroy: Vec<String>,
    /// Allow writes to a file that fathom did not create
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath, help_heading = "Safety")]
    allow_overwrite: Vec<String>,
}

/// Reads permissions from flags and variables.
pub fn from_args(args: &SafetyArgs) -> Permissions {
    let mut permissions = from_env();
    permissions.destroy.extend_from_slice(&args.allow_destroy);
    permissions.overwrite.extend_from_slice(&args.allow_overwrite);
    permissions
}

/// Reads permissions from variables alone.
pub fn from_env() -> Permissions {
    let mut permissions = Permissions::default();
    if let Ok(text) = std::env::var("FATHOM_ALLOW_DESTROY") {
        permissions.allow_destroy_list(&text);
    }
    permissions.programs = are_programs_allowed();
    permissions
}

/// True if commands and programs of job files may be run.
pub fn are_programs_allowed() -> bool {
    std::env::var_os(ALLOW_PROGRAMS_VARIABLE).is_some_and(|value| value == "1")
}
