//! Programs from PyPI that tests need, installed once for all runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Unavailable;

/// Installs these packages into a virtual environment in a folder, unless it has them.
///
/// # Errors
/// [`Unavailable`] without Python's module venv, or if they cannot be installed.
pub fn python_packages(folder: &Path, packages: &[&str]) -> Result<(), Unavailable> {
    let (mark, wanted) = (folder.join("installed"), packages.join(" "));
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    let made = Command::new("python3").arg("-m").arg("venv").arg(folder).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return Err(Unavailable::because("python3 with its module venv is not installed"));
    }
    let installed = Command::new(folder.join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(packages)
        .output();
    match installed {
        Ok(installed) if installed.status.success() => {
            fs::write(&mark, &wanted).map_err(|error| Unavailable::because(format!("{}: {error}", mark.display())))
        }
        Ok(installed) => {
            let why = String::from_utf8_lossy(&installed.stderr);
            Err(Unavailable::because(format!("{wanted} cannot be installed: {why}")))
        }
        Err(error) => Err(Unavailable::because(format!("pip cannot be called: {error}"))),
    }
}
