//! Reports that this process waits for other hosts, and that the wait was interrupted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::process::start_thread;

/// Hosts that arrive within this time are not reported.
const NOTICE_DELAY: Duration = Duration::from_secs(2);

/// A line on stderr that is printed unless this value is dropped soon.
#[derive(Debug)]
pub struct Notice {
    _cancel: Option<Sender<()>>,
}

impl Notice {
    /// Prints the line after a delay, unless `quiet`.
    pub fn new(quiet: bool, line: String) -> Notice {
        if quiet {
            return Notice { _cancel: None };
        }
        let (sender, over) = channel();
        // Without a thread there is no notice.
        let _ = start_thread("notice", move || {
            if over.recv_timeout(NOTICE_DELAY) == Err(RecvTimeoutError::Timeout) {
                crate::screen::note(&format!("{line}; Ctrl-C ends it"));
            }
        });
        Notice { _cancel: Some(sender) }
    }
}

/// Converts a stop request during the wait to a fault; `None` without one.
pub fn interrupted(flag: &AtomicBool) -> Option<Faults> {
    let is_requested = flag.load(Ordering::Relaxed);
    is_requested.then(|| {
        let fault = Fault::new("interrupted while waiting for other hosts: nothing was measured");
        Faults::one(fault, Exit::interrupted())
    })
}
