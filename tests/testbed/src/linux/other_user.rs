//! A program that another user runs.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use super::tools::cannot;
use crate::{Unavailable, copy_program};

/// Commands of a copied program as an unprivileged user, in the root directory.
///
/// The folder of the copy is opened to all users. `probe` is an argument with which the program
/// succeeds at once.
///
/// # Errors
/// [`Unavailable`] if that user cannot run the copy.
pub fn as_other_user(
    program: &str,
    folder: &Path,
    name: &str,
    probe: &str,
) -> Result<impl Fn(&[&str]) -> Command + use<>, Unavailable> {
    let copy = folder.join(name);
    copy_program(program, &copy);
    for path in [folder, &copy] {
        set_permissions(path, Permissions::from_mode(0o755)).map_err(cannot("cannot open a folder to others"))?;
    }
    let command = move |arguments: &[&str]| {
        let mut command = Command::new(&copy);
        command.args(arguments).current_dir("/").uid(65534).gid(65534);
        command
    };
    match command(&[probe]).output() {
        Ok(output) if output.status.success() => Ok(command),
        _ => Err(Unavailable::because(
            "another user cannot run programs from the directory for temporary files",
        )),
    }
}
