//! Runs the system's tools and reads their reports about devices.

use std::fs;
use std::io;
use std::os::linux::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use crate::Unavailable;

/// Runs a tool; returns its output, or why it could not be started or failed.
pub(crate) fn run(tool: &str, arguments: &[&str]) -> Result<String, Unavailable> {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(tool)
        .args(arguments)
        // Administrators' tools are not in every user's path.
        .env("PATH", format!("{path}:/usr/sbin:/sbin"))
        .env("LC_ALL", "C")
        .output()
        .map_err(|error| Unavailable::because(format!("`{tool}` cannot be run: {error}")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(Unavailable::because(format!(
        "`{tool} {}` failed: {words}",
        arguments.join(" ")
    )))
}

/// Fails for users other than root.
pub(crate) fn need_root(what: &str) -> Result<(), Unavailable> {
    match fs::metadata("/proc/self") {
        Ok(meta) if meta.st_uid() == 0 => Ok(()),
        _ => Err(Unavailable::because(format!("{what} needs root"))),
    }
}

/// Turns an error of the system into a reason to skip.
pub(crate) fn cannot(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> Unavailable {
    move |error| Unavailable::because(format!("{what}: {error}"))
}

/// A path as an argument of a tool.
///
/// # Panics
/// If it is not UTF-8, which cannot happen with the testbed's own paths.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().expect("paths of the testbed are plain text")
}

/// Major and minor number of a block or character device.
///
/// # Errors
/// The system's error if the path does not exist.
pub fn device_number(path: &Path) -> io::Result<(u32, u32)> {
    let number = fs::metadata(path)?.st_rdev();
    Ok((libc::major(number), libc::minor(number)))
}
