//! Child processes that connect a host, their stderr, and their exit status.

use std::io::{BufRead, BufReader};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::process::start_thread;

/// How long a process may take to exit after its stderr was closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum lines of stderr to report, from the end: the first may be a login banner.
const MAX_LINES: usize = 10;

/// A child process that connects a host.
#[derive(Debug)]
pub struct HostProcess {
    host: String,
    child: Child,
    stderr_log: Arc<Mutex<StderrLog>>,
}

/// The stderr of a process.
#[derive(Debug, Default)]
struct StderrLog {
    lines: Vec<String>,
    /// Lines are forwarded immediately, not collected.
    forwards_lines: bool,
    is_closed: bool,
}

impl HostProcess {
    /// Starts to collect the stderr of a child process.
    pub fn new(host: &str, mut child: Child) -> HostProcess {
        let stderr_log = Arc::new(Mutex::new(StderrLog::default()));
        match child.stderr.take() {
            None => lock(&stderr_log).is_closed = true,
            Some(stderr) => {
                let lines = Arc::clone(&stderr_log);
                let reading = start_thread("stderr of a host", move || {
                    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                        let mut stderr_log = lock(&lines);
                        match stderr_log.forwards_lines {
                            true => forward(&line),
                            false => stderr_log.lines.push(line),
                        }
                    }
                    lock(&lines).is_closed = true;
                });
                if reading.is_err() {
                    lock(&stderr_log).is_closed = true;
                }
            }
        }
        HostProcess {
            host: host.to_owned(),
            child,
            stderr_log,
        }
    }

    /// Forwards stderr to the user from now on, because the host is connected.
    pub fn into_child(self) -> Child {
        let mut stderr_log = lock(&self.stderr_log);
        stderr_log.forwards_lines = true;
        stderr_log.lines.drain(..).for_each(|line| forward(&line));
        drop(stderr_log);
        self.child
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Explains why the process did not connect its host; `None` if it is for another host or still
    /// runs.
    pub fn failure(&mut self, host: &str) -> Option<Fault> {
        if host != self.host || host == super::transport::LOCAL {
            return None;
        }
        let begun = Instant::now();
        let ended = loop {
            match self.child.try_wait() {
                Ok(Some(status)) if lock(&self.stderr_log).is_closed || begun.elapsed() > EXIT_TIMEOUT => break status,
                Ok(None) if begun.elapsed() > EXIT_TIMEOUT => return None,
                Err(_) => return None,
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let stderr_log = lock(&self.stderr_log);
        let lines = stderr_log.lines.iter().filter(|line| !line.is_empty());
        let skipped = lines.clone().count().saturating_sub(MAX_LINES);
        let fault = Fault::new(format!("the process that connects this host exited: {ended}")).at(host);
        Some(Fault {
            why: lines.skip(skipped).cloned().collect(),
            ..fault.help(help_for_exit(ended))
        })
    }
}

/// Help for an unreachable host.
pub(super) const START_HELP: &str =
    "check FATHOM_SSH, the command that connects a host, and FATHOM_REMOTE, the path of fathom on that host";

/// Selects help by the exit code: 127 is a shell that does not find the program, 255 an error of
/// ssh.
fn help_for_exit(ended: ExitStatus) -> &'static str {
    match ended.code() {
        Some(127) => {
            "install fathom in the PATH of non-interactive logins of that host, or set \
            FATHOM_REMOTE (FATHOM_REMOTE=/opt/fathom/bin/fathom)"
        }
        Some(255) => {
            "`ssh HOST` must work without a prompt: check the name, the key and the firewall; \
            FATHOM_SSH sets another command, and the host `local` is a process on this machine"
        }
        _ => START_HELP,
    }
}

fn forward(line: &str) {
    crate::screen::note(line);
}

fn lock(stderr_log: &Mutex<StderrLog>) -> std::sync::MutexGuard<'_, StderrLog> {
    stderr_log.lock().unwrap_or_else(PoisonError::into_inner)
}
