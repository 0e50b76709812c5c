//! Runs a program to its end and measures its usage.
//!
//! The system only reports the summed usage of all children of a process, and the largest memory of
//! any. So each program has its own parent: this program, as `cargo xtask measured FILE PROGRAM…`,
//! which writes the usage to FILE.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use serde::{Deserialize, Serialize};

use super::BenchError;

/// A program that runs longer is killed.
const MAX_TIME: Duration = Duration::from_secs(300);

/// Usage of a program and of all processes that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// From start to end.
    pub(crate) wall_secs: f64,
    /// Processor time in the program.
    pub(crate) user_secs: f64,
    /// Processor time in the kernel on its behalf.
    pub(crate) system_secs: f64,
    /// Peak memory; at least the memory of this program, about 3 MB.
    pub(crate) memory_bytes: u64,
}

impl Usage {
    /// Processor time altogether.
    pub(crate) fn cpu_secs(&self) -> f64 {
        self.user_secs + self.system_secs
    }
}

/// A program that has ended successfully.
#[derive(Clone, Debug)]
pub(crate) struct FinishedProgram {
    pub(crate) usage: Usage,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

pub(crate) fn run(line: &[String]) -> Result<FinishedProgram, BenchError> {
    let usage = tempfile::NamedTempFile::new()?;
    let child = Command::new(std::env::current_exe()?)
        .arg("measured")
        .arg(usage.path())
        .args(line)
        // A process group, so that it can be killed with its children.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let output = wait(child)?;
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    if !output.status.success() {
        let shown: Vec<&str> = stderr.lines().chain(stdout.lines().take(5)).take(10).collect();
        let line = line.join(" ");
        return Err(BenchError(format!("`{line}`: {}: {}", output.status, shown.join("; "))));
    }
    let usage = serde_json::from_slice(&std::fs::read(usage.path())?)?;
    Ok(FinishedProgram { usage, stdout, stderr })
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads its output until it ends, and kills it after a timeout.
fn wait(child: Child) -> Result<std::process::Output, BenchError> {
    let number = nix::unistd::Pid::from_raw(child.id().cast_signed());
    let (done, finished) = std::sync::mpsc::channel::<()>();
    let guard = std::thread::spawn(move || {
        if finished.recv_timeout(MAX_TIME) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = nix::sys::signal::killpg(number, nix::sys::signal::Signal::SIGKILL);
        }
    });
    let output = child.wait_with_output();
    drop(done);
    let _ = guard.join();
    Ok(output?)
}

/// `cargo xtask measured FILE PROGRAM…`
pub(crate) fn measured(arguments: &[String]) -> Result<(), String> {
    let [file, program, arguments @ ..] = arguments else {
        return Err("measured FILE PROGRAM ARGUMENT…".into());
    };
    let started = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .status()
        .map_err(|error| format!("`{program}` cannot be run: {error}"))?;
    let wall = started.elapsed();
    let taken = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let usage = Usage {
        wall_secs: wall.as_secs_f64(),
        user_secs: seconds(taken.user_time()),
        system_secs: seconds(taken.system_time()),
        // The kernel reports units of 1024 bytes.
        memory_bytes: taken.max_rss().cast_unsigned() * 1024,
    };
    let text = serde_json::to_string(&usage).map_err(|error| error.to_string())?;
    std::fs::write(file, text).map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("ended with {status}")),
    }
}
