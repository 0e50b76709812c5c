//! Child programs.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

/// Sends `SIGTERM` to a program. An exited program keeps its process id until its parent waits for
/// it, so no other process receives the signal.
pub(crate) fn terminate(child: &Child) {
    if let Ok(Some(pid)) = i32::try_from(child.id()).map(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
}
