//! Programs that run beside this one.

use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

/// Asks a program to end (`SIGTERM`). One that has ended already is let be: its number belongs to
/// it until it is waited for.
pub(crate) fn terminate(child: &Child) {
    if let Ok(Some(pid)) = i32::try_from(child.id()).map(Pid::from_raw) {
        let _ = kill_process(pid, Signal::TERM);
    }
}
