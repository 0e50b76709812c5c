//! What the user allows to be lost or run, by flags and by variables that also work in scripts.

use clap::ArgMatches;
use run::targets::guard::Permissions;

/// The variable that allows commands and programs of job files to be run.
pub const ALLOW_PROGRAMS: &str = "FATHOM_ALLOW_EXEC";

/// What flags and variables name again.
pub fn from_args(args: &ArgMatches) -> Permissions {
    let list = |name: &str| args.get_many::<String>(name).into_iter().flatten().cloned();
    let mut permissions = from_env();
    permissions.destroy.extend(list("allow-destroy"));
    permissions.overwrite.extend(list("allow-overwrite"));
    permissions
}

/// What the variables alone name.
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
