//! This process: its clock, its command line, and stop requests.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use engine::Clock;
use engine::clock::ClockStart;
use engine::sys::signals;

use crate::screen;

/// The process facts that every command receives.
#[derive(Debug)]
pub struct Process {
    clock: ClockStart,
    /// Arguments of the command line.
    pub arguments: Vec<String>,
    interrupt: &'static AtomicBool,
}

/// Starts a named thread.
///
/// # Errors
/// The system allows no more threads.
pub fn start_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Starts the clock. `FATHOM_CLOCK=system` chooses the system's clock, for tools that cannot follow
/// the processor's.
pub fn start_clock() -> ClockStart {
    match std::env::var_os("FATHOM_CLOCK") {
        Some(choice) if choice == "system" => ClockStart::from_system(),
        _ => ClockStart::now(),
    }
}

impl Process {
    /// Starts to catch stop requests.
    pub fn new(clock: ClockStart, arguments: Vec<String>) -> Process {
        engine::map_large_blocks();
        // Unlike other programs, fio ends if it receives SIGINT in the background of a script.
        let interrupt = signals::catch_stop();
        archive::stop_waiting_on(interrupt, |path| {
            screen::note(&format!(
                "{}: waiting for a process that reads this pipe",
                path.display()
            ));
        });
        Process {
            clock,
            arguments,
            interrupt,
        }
    }

    pub fn clock(&self) -> Clock {
        self.clock.calibrate()
    }

    /// Returns the flag that asks a run to stop.
    pub fn interrupt_flag(&self) -> &'static AtomicBool {
        self.interrupt
    }

    /// True if the user or the system requested a stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// True with `--quiet`. Reads the raw arguments, because the fleet is connected before the
    /// command line is parsed.
    pub fn is_quiet(&self) -> bool {
        self.arguments.iter().any(|word| word == "--quiet" || word == "-q")
    }

    /// Returns the name under which the user started this program.
    pub fn program(&self) -> String {
        let name = self.arguments.first().map(String::as_str).unwrap_or("fathom");
        match name.contains(' ') || name.is_empty() {
            true => "fathom".to_owned(),
            false => name.to_owned(),
        }
    }
}
