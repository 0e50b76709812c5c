//! Runs other programs and prints their command lines.

use std::path::PathBuf;
use std::process::Command;

/// The root of the workspace.
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
