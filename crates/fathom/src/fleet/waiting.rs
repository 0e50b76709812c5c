//! What is reported while others are waited for, and where that is interrupted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::exit::Exit;
use crate::fault::{Fault, Faults};
use crate::process::start_thread;

/// Who comes within it is not worth a line.
const SOON: Duration = Duration::from_secs(2);

/// A line on stderr, unless this is dropped soon.
#[derive(Debug)]
pub struct Notice {
    _over: Option<Sender<()>>,
}

impl Notice {
    /// Prints it after a while, unless the user wants quiet.
    pub fn unless(quiet: bool, line: String) -> Notice {
        if quiet {
            return Notice { _over: None };
        }
        let (sender, over) = channel();
        // Without a thread there is no notice.
        let _ = start_thread("notice", move || {
            if over.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
                crate::screen::note(&format!("{line}; Ctrl-C ends it"));
            }
        });
        Notice { _over: Some(sender) }
    }
}

/// What is reported where this process is asked to stop before all are there; `None` if it is not.
pub fn interrupted(flag: &AtomicBool) -> Option<Faults> {
    let asked = flag.load(Ordering::Relaxed);
    asked.then(|| {
        let signal = engine::sys::signals::stop_signal().unwrap_or(2);
        let fault = Fault::new("interrupted while other hosts were waited for: nothing was measured");
        Faults::one(fault, Exit::Interrupted(signal))
    })
}
