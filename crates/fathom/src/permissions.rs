//! What the user allows to be overwritten or run, by flags and by variables that also work in
//! scripts.

use clap::ValueHint;
use run::targets::guard::Permissions;

/// The variable that allows commands and programs of job files to be run.
pub const ALLOW_PROGRAMS: &str = "FATHOM_ALLOW_EXEC";

/// What the user names again.
#[derive(clap::Args)]
pub struct SafetyArgs {
    /// Everything on this device or file may be lost; also FATHOM_ALLOW_DESTROY
    #[arg(long, value_name = "DEVICE", value_hint = ValueHint::AnyPath, help_heading = "Safety")]
    allow_destroy: Vec<String>,
    /// This file may be written to although fathom did not make it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::AnyPath, help_heading = "Safety")]
    allow_overwrite: Vec<String>,
}

/// The confirmations by flags and variables.
pub fn from_args(args: &SafetyArgs) -> Permissions {
    let mut permissions = from_env();
    permissions.destroy.extend_from_slice(&args.allow_destroy);
    permissions.overwrite.extend_from_slice(&args.allow_overwrite);
    permissions
}

/// The confirmations by variables alone.
pub fn from_env() -> Permissions {
    let mut permissions = Permissions::default();
    if let Ok(text) = std::env::var("FATHOM_ALLOW_DESTROY") {
        permissions.allow_destroy_list(&text);
    }
    permissions.programs = are_programs_allowed();
    permissions
}

/// Commands and programs of job files may be run.
pub fn are_programs_allowed() -> bool {
    std::env::var_os(ALLOW_PROGRAMS).is_some_and(|value| value == "1")
}
