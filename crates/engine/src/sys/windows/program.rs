//! Child programs.

use std::process::Child;

/// Does nothing: Windows cannot ask a program to exit. It is killed after its grace period.
pub(crate) fn terminate(_: &Child) {}
