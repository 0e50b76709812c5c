//! This process: its clock, its command line, and whether it was asked to stop.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use engine::Clock;
use engine::clock::ClockStart;
use engine::sys::signals;

/// What every command receives.
#[derive(Debug)]
pub struct Process {
    clock: ClockStart,
    /// Words of the command line.
    pub arguments: Vec<String>,
    interrupt: &'static AtomicBool,
}

/// Starts a thread beside the main one.
///
/// # Errors
/// The system's, where no more threads may be started.
pub fn start_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Takes the first reading of the clock. `FATHOM_CLOCK=system` chooses the system's own, for tools
/// that cannot follow the processor's.
pub fn start_clock() -> ClockStart {
    match std::env::var_os("FATHOM_CLOCK") {
        Some(choice) if choice == "system" => ClockStart::from_system(),
        _ => ClockStart::now(),
    }
}

impl Process {
    /// From now on requests to stop are noticed.
    pub fn new(clock: ClockStart, arguments: Vec<String>) -> Process {
        engine::map_large_blocks();
        Process {
            clock,
            arguments,
            interrupt: signals::catch_stop(),
        }
    }

    /// Its clock.
    pub fn clock(&self) -> Clock {
        self.clock.calibrate()
    }

    /// The flag that asks a run to stop.
    pub fn interrupt_flag(&self) -> &'static AtomicBool {
        self.interrupt
    }

    /// Whether the user or the system requested a stop.
    pub fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Only results and errors are wanted. The command line is not parsed yet while a fleet is
    /// connected.
    pub fn is_quiet(&self) -> bool {
        self.arguments.iter().any(|word| word == "--quiet" || word == "-q")
    }

    /// The name under which the user started this program.
    pub fn program(&self) -> String {
        let called = self.arguments.first().map(String::as_str).unwrap_or("fathom");
        match called.contains(' ') || called.is_empty() {
            true => "fathom".to_owned(),
            false => called.to_owned(),
        }
    }
}
