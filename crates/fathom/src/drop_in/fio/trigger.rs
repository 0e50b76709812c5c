//! Ends a run when a file appears or a time has passed, then runs a command. The options are
//! `--trigger-file`, `--trigger-timeout` and `--trigger`.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use dialects::fio::Jobs;

use super::exec::refusal_line;
use super::output::Output;
use crate::permissions::are_programs_allowed;
use crate::process::start_thread;

/// How often to check for the file.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A thread that waits for the trigger; dropping this stops it.
#[derive(Debug)]
pub(super) struct Trigger {
    state: Arc<State>,
    waiting: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    fired: AtomicBool,
    over: AtomicBool,
    /// A message about a command that failed to start.
    problem: Mutex<Option<String>>,
}

/// The conditions, and the command to run.
#[derive(Debug)]
struct TriggerRequest {
    file: Option<PathBuf>,
    at: Option<Instant>,
    command: Option<String>,
}

impl Trigger {
    /// Starts to wait if there is a trigger, and sets `interrupt` when it fires. The timeout begins
    /// at `started`.
    ///
    /// # Errors
    /// The message, if the command is not allowed.
    pub(super) fn from_jobs(jobs: &Jobs, started: Instant, interrupt: &'static AtomicBool) -> Result<Trigger, String> {
        let flags = &jobs.flags;
        let state = Arc::new(State::default());
        let request = TriggerRequest {
            file: flags.trigger_file.as_ref().map(PathBuf::from),
            at: (flags.trigger_timeout_us > 0).then(|| started + Duration::from_micros(flags.trigger_timeout_us)),
            command: flags.trigger.clone(),
        };
        if request.file.is_none() && request.at.is_none() {
            if request.command.is_some() {
                super::note("--trigger has no effect without --trigger-file or --trigger-timeout");
            }
            return Ok(Trigger { state, waiting: None });
        }
        if request.command.is_some() && !are_programs_allowed() {
            return Err(refusal_line("--trigger runs a command"));
        }
        let shared = Arc::clone(&state);
        let waiting = start_thread("trigger", move || request.wait(&shared, interrupt))
            .map_err(|error| format!("fio: cannot start a thread for the trigger: {error}"))?;
        Ok(Trigger {
            state,
            waiting: Some(waiting),
        })
    }

    /// True if the trigger has ended the run.
    pub(super) fn has_fired(&self) -> bool {
        self.state.fired.load(Ordering::Relaxed)
    }

    /// Stops waiting after the run. If the trigger fired, waits for its command.
    pub(super) fn end(&mut self, output: &mut Output) {
        self.state.over.store(true, Ordering::Relaxed);
        if let Some(waiting) = self.waiting.take() {
            let _ = waiting.join();
        }
        let problem = self.state.problem.lock().ok().and_then(|mut problem| problem.take());
        if let Some(line) = problem {
            output.print_problem(&line);
        }
    }
}

impl TriggerRequest {
    fn wait(&self, state: &State, interrupt: &AtomicBool) {
        while !self.is_due() {
            if state.over.load(Ordering::Relaxed) {
                return;
            }
            let left = self.at.map(|at| at.saturating_duration_since(Instant::now()));
            std::thread::sleep(left.map_or(POLL_INTERVAL, |left| left.min(POLL_INTERVAL)));
        }
        state.fired.store(true, Ordering::Relaxed);
        interrupt.store(true, Ordering::Relaxed);
        let Some(command) = &self.command else { return };
        let ran = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).status();
        if let (Err(error), Ok(mut problem)) = (ran, state.problem.lock()) {
            *problem = Some(format!("fio: failed executing trigger {command}: {error}"));
        }
    }

    /// True if the file exists or the timeout is over. Removes the file as fio does.
    fn is_due(&self) -> bool {
        let was_removed = |file: &PathBuf| file.exists() && std::fs::remove_file(file).is_ok();
        self.file.as_ref().is_some_and(was_removed) || self.at.is_some_and(|at| Instant::now() >= at)
    }
}
