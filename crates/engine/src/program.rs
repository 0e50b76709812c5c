//! Running a program beside the jobs and moving no data: the first operation starts it, each
//! further one looks at it for a while. It never outlives the engine.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use model::Nanos;
use model::plan::{EngineKind, Program};
use model::results::EngineUsed;

use crate::batch::{Request, Slot};
use crate::clock::Clock;
use crate::error::EngineError;
use crate::one_by_one::{Calls, used};
use crate::{File, Setup, sys};

/// How often it is seen whether a program that was asked to end has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(crate) struct Runner {
    program: Program,
    clock: Clock,
    running: Option<Child>,
    started: Option<Nanos>,
    asked_to_end: bool,
}

impl Runner {
    pub(crate) fn open(setup: Setup) -> Result<Runner, EngineError> {
        let Some(program) = setup.choice.program else {
            return Err(EngineError::unavailable(
                EngineKind::Program,
                "no program is named",
                "this is a fault of the program; please report it",
            ));
        };
        Ok(Runner {
            program,
            clock: setup.clock,
            running: None,
            started: None,
            asked_to_end: false,
        })
    }

    fn start(&mut self) -> io::Result<()> {
        let place = |file: &Option<String>| match file {
            None => Ok(Stdio::inherit()),
            Some(path) => fs::File::create(path).map(Stdio::from),
        };
        let child = Command::new(&self.program.path)
            .args(&self.program.arguments)
            .stdin(Stdio::null())
            .stdout(place(&self.program.output)?)
            .stderr(place(&self.program.errors)?)
            .spawn()?;
        (self.running, self.started) = (Some(child), Some(self.clock.now()));
        Ok(())
    }

    /// Looks at the program for a while, and sees to it that it ends when its time is over.
    fn watch_program(&mut self, started: Nanos) {
        std::thread::sleep(Duration::from_nanos(self.program.look_ns.0));
        if self.clock.now().since(started) > self.program.ends_after_ns && !self.asked_to_end {
            self.ask_to_end();
        }
    }

    /// Asks the program to end, and waits as long as it may take.
    fn ask_to_end(&mut self) {
        self.asked_to_end = true;
        let Some(child) = &mut self.running else { return };
        sys::program::ask_to_end(child);
        let patience = Instant::now() + Duration::from_nanos(self.program.grace_ns.0);
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < patience {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if !self.asked_to_end
            && self
                .running
                .as_mut()
                .is_some_and(|child| matches!(child.try_wait(), Ok(None)))
        {
            self.ask_to_end();
        }
        if let Some(child) = &mut self.running {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Calls for Runner {
    fn perform(&mut self, io: &Request) -> i64 {
        match self.started {
            Some(started) => self.watch_program(started),
            None => {
                if let Err(error) = self.start() {
                    return -i64::from(error.raw_os_error().unwrap_or(sys::file::IO_ERROR));
                }
            }
        }
        i64::from(io.length)
    }

    fn buffer(&mut self, _: Slot) -> &mut [u8] {
        &mut []
    }

    fn exchange_file(&mut self, _: u16, _: File) -> Result<(), EngineError> {
        // It touches none.
        Ok(())
    }

    fn describe(&self) -> EngineUsed {
        used(EngineKind::Program)
    }
}
