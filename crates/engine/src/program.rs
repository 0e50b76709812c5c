//! The engine that runs a program instead of doing I/O. The first operation starts the program;
//! each later one waits and checks its time limit. The program never outlives the engine.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use model::Nanos;
use model::plan::{EngineKind, Program};

use crate::batch::Request;
use crate::clock::Clock;
use crate::error::{EngineError, operation_result};
use crate::sync_calls::SyncCalls;
use crate::{Setup, sys};

/// Interval between two checks whether a terminated program has exited.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(crate) struct ProgramRunner {
    program: Program,
    clock: Clock,
    running: Option<Child>,
    started: Option<Nanos>,
    is_terminated: bool,
}

impl ProgramRunner {
    pub(crate) fn open(setup: Setup) -> Result<ProgramRunner, EngineError> {
        let Some(program) = setup.choice.program else {
            return Err(EngineError::internal(EngineKind::Program, "the program is missing"));
        };
        Ok(ProgramRunner {
            program,
            clock: setup.clock,
            running: None,
            started: None,
            is_terminated: false,
        })
    }

    fn start(&mut self) -> io::Result<()> {
        let redirect = |file: &Option<String>| match file {
            None => Ok(Stdio::inherit()),
            Some(path) => fs::File::create(path).map(Stdio::from),
        };
        let mut command = Command::new(&self.program.path);
        command
            .args(&self.program.arguments)
            .stdin(Stdio::null())
            .stdout(redirect(&self.program.output)?)
            .stderr(redirect(&self.program.errors)?);
        let child = sys::signals::with_stop_signals_unblocked(|| command.spawn())?;
        (self.running, self.started) = (Some(child), Some(self.clock.now()));
        Ok(())
    }

    /// Waits one polling interval. Terminates the program once its time is over.
    fn poll_program(&mut self, started: Nanos) {
        std::thread::sleep(Duration::from_nanos(self.program.look_ns.0));
        if self.clock.now().since(started) > self.program.ends_after_ns && !self.is_terminated {
            self.terminate();
        }
    }

    /// Asks the program to exit, and waits for at most its grace period.
    fn terminate(&mut self) {
        self.is_terminated = true;
        let Some(child) = &mut self.running else { return };
        sys::program::terminate(child);
        let deadline = Instant::now() + Duration::from_nanos(self.program.grace_ns.0);
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for ProgramRunner {
    fn drop(&mut self) {
        if !self.is_terminated
            && self
                .running
                .as_mut()
                .is_some_and(|child| matches!(child.try_wait(), Ok(None)))
        {
            self.terminate();
        }
        if let Some(child) = &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl SyncCalls for ProgramRunner {
    fn perform(&mut self, io: &Request) -> i64 {
        match self.started {
            Some(started) => self.poll_program(started),
            None => {
                if let Err(error) = self.start() {
                    return operation_result(&error);
                }
            }
        }
        i64::from(io.length)
    }
}
