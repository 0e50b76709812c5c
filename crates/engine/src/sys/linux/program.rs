//! Child programs.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

/// Sends `SIGTERM` to a program. A program that has exited keeps its process id until it is waited
/// for, so no other process is hit.
pub(crate) fn terminate(child: &Child) {
    if let Ok(Some(pid)) = i32::try_from(child.id()).map(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
}
