//! Runs other programs and prints their command lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().map_or(here.clone(), PathBuf::from)
}

/// The folder that Cargo builds in: `CARGO_TARGET_DIR`, or `target` in the workspace.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The Cargo that runs this program.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// The program at this path, or a new one with a profile.
///
/// # Errors
/// There is no such file, or the program cannot be built.
pub(crate) fn fathom(path: Option<&Path>, profile: &str) -> Result<PathBuf, String> {
    if let Some(path) = path {
        return path.canonicalize().map_err(cannot("find", path));
    }
    run(cargo().args(["build", "--profile", profile, "--package", "fathom"]))?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target_folder().join(folder).join("fathom"))
}

/// The rows of a table with these names, or all.
///
/// # Errors
/// The table has no row with one of the names.
pub(crate) fn select<'t, T>(
    table: &'t [(&'static str, T)],
    names: &[String],
    what: &str,
) -> Result<Vec<&'t (&'static str, T)>, String> {
    if let Some(unknown) = names.iter().find(|name| !table.iter().any(|(known, _)| known == name)) {
        let known: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
        return Err(format!(
            "there is no {what} `{unknown}`; there are {}",
            known.join(", ")
        ));
    }
    let is_selected = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    Ok(table.iter().filter(|(name, _)| is_selected(name)).collect())
}

/// Turns a failure to `what` a file into a message.
pub(crate) fn cannot(what: &str, path: &Path) -> impl FnOnce(std::io::Error) -> String {
    move |error| format!("cannot {what} {}: {error}", path.display())
}

/// Reads a text file.
///
/// # Errors
/// A message with the path.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(cannot("read", path))
}

/// Writes a text file.
///
/// # Errors
/// A message with the path.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(cannot("write", path))
}

/// Runs a command with its output shown.
///
/// # Errors
/// The command cannot be started, or fails.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let line = line(command);
    eprintln!("+ {line}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{line}`: {status}")),
        Err(error) => Err(format!("`{line}` cannot be run: {error}")),
    }
}

/// Runs a command and returns its output.
///
/// # Errors
/// The command cannot be started, or fails.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let line = line(command);
    match command.output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        Ok(output) => Err(format!("`{line}`: {}", output.status)),
        Err(error) => Err(format!("`{line}` cannot be run: {error}")),
    }
}

/// The dependencies for a target, from `cargo metadata`.
///
/// # Errors
/// As [`output`], or its JSON is not as expected.
pub(crate) fn metadata<T: serde::de::DeserializeOwned>(target: &str) -> Result<T, String> {
    let arguments = [
        "metadata", "--format-version", "1", "--locked", "--filter-platform", target,
    ];
    let text = output(cargo().args(arguments))?;
    serde_json::from_str(&text).map_err(|error| format!("`cargo metadata`: {error}"))
}

/// A command line as typed in a shell, without the program's directory.
fn line(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command
        .get_args()
        .map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(name).chain(arguments).collect::<Vec<_>>().join(" ")
}
