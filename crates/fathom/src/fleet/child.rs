//! Processes that reach a host, what they say on stderr, and how they ended.

use std::io::{BufRead, BufReader};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::process::start_thread;

/// How long the end of a process may come after that of its output.
const AFTER: Duration = Duration::from_secs(1);
/// Lines of it that are reported, the last ones: what comes first may be the words of a login.
const LINES: usize = 10;

/// A process that was started to reach a host.
#[derive(Debug)]
pub struct HostProcess {
    host: String,
    child: Child,
    said: Arc<Mutex<Said>>,
}

/// What a process says.
#[derive(Debug, Default)]
struct Said {
    lines: Vec<String>,
    /// It is passed on at once.
    passed_on: bool,
    over: bool,
}

impl HostProcess {
    /// Keeps what it says, until it is of use.
    pub fn new(host: &str, mut child: Child) -> HostProcess {
        let said = Arc::new(Mutex::new(Said::default()));
        match child.stderr.take() {
            None => lock(&said).over = true,
            Some(stderr) => {
                let lines = Arc::clone(&said);
                let reading = start_thread("stderr of a host", move || {
                    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
                        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                        let mut said = lock(&lines);
                        match said.passed_on {
                            true => pass_on(&line),
                            false => said.lines.push(line),
                        }
                    }
                    lock(&lines).over = true;
                });
                if reading.is_err() {
                    lock(&said).over = true;
                }
            }
        }
        HostProcess {
            host: host.to_owned(),
            child,
            said,
        }
    }

    /// It has reached its host: what it says is for the user as it comes.
    pub fn into_child(self) -> Child {
        let mut said = lock(&self.said);
        said.passed_on = true;
        said.lines.drain(..).for_each(|line| pass_on(&line));
        drop(said);
        self.child
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Why it did not reach its host; `None` where it is for another, continues, or has said
    /// nothing of its own accord.
    pub fn failure(&mut self, host: &str) -> Option<Fault> {
        if host != self.host || host == super::transport::LOCAL {
            return None;
        }
        let begun = Instant::now();
        let ended = loop {
            match self.child.try_wait() {
                Ok(Some(status)) if lock(&self.said).over || begun.elapsed() > AFTER => break status,
                Ok(None) if begun.elapsed() > AFTER => return None,
                Err(_) => return None,
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let said = lock(&self.said);
        let lines = said.lines.iter().filter(|line| !line.is_empty());
        let skipped = lines.clone().count().saturating_sub(LINES);
        let fault = Fault::new(format!("what should reach it ended: {ended}")).at(host);
        Some(Fault {
            why: lines.skip(skipped).cloned().collect(),
            ..fault.help(help(ended))
        })
    }
}

/// 127 is what a shell says of a program that it does not find, 255 what ssh says of its own
/// errors.
fn help(ended: ExitStatus) -> &'static str {
    match ended.code() {
        Some(127) => {
            "fathom is not found there: install it where the PATH of a login without a terminal leads, or name it in \
             FATHOM_REMOTE (FATHOM_REMOTE=/opt/fathom/bin/fathom)"
        }
        Some(255) => {
            "`ssh HOST` must reach it without asking anything: look at the name, the key and the firewall; FATHOM_SSH is what \
             reaches a host, `local` is a process of this machine"
        }
        _ => "FATHOM_SSH is what reaches a host, FATHOM_REMOTE what this program is called there",
    }
}

fn pass_on(line: &str) {
    crate::screen::note(line);
}

fn lock(said: &Mutex<Said>) -> std::sync::MutexGuard<'_, Said> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}
