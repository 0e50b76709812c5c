//! Checks that the workspace compiles for Windows, without a Windows machine.

use crate::command::run;
use crate::windows::cargo_for_windows;

/// Checks every package for Windows; a warning is a failure.
pub(crate) fn check() -> Result<(), String> {
    run(&mut cargo_for_windows(&["check", "--workspace"])?)
}
