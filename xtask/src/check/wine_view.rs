//! Checks the live view on Wine's console, which draws on a terminal of tmux.
//!
//! The console of Wine 8 does not support every escape sequence, so lines are torn at random
//! places. The check is that the view appears with its figures, reacts to its key, and is replaced
//! by the report.

use std::process::Command;
use std::time::{Duration, Instant};

use super::optional_tool;
use crate::command::output;
use crate::wine::{Wine, program};

/// Timeout of each step.
const TIMEOUT: Duration = Duration::from_secs(90);
/// Name of our own tmux server.
const SERVER: &str = "fathom-wine-view";

/// Runs the program on Wine's console.
///
/// # Errors
/// The expected text did not appear; the message has the screen.
pub(crate) fn check(wine: &Wine) -> Result<(), String> {
    if optional_tool(output(Command::new("tmux").arg("-V")))?.is_none() {
        return Ok(());
    }
    let _ = output(&mut tmux(&["kill-server"]));
    let looked = check_view(wine);
    let _ = output(&mut tmux(&["kill-server"]));
    looked
}

fn check_view(wine: &Wine) -> Result<(), String> {
    let shell = ["-x", "100", "-y", "40", "-s", "view", "env PS1='$ ' ENV= sh"];
    let mut start = tmux(&[&["new-session", "-d"], &shell[..]].concat());
    wine.apply_settings(&mut start);
    output(start.env("LC_ALL", "C.UTF-8").env("FATHOM_HISTORY", "off"))?;
    let line = format!(
        "{} {} run --target null --depth 4 --warm-up 0 --time 10m; echo code=$?",
        wine.path().display(),
        program().display()
    );
    keys(&[&line, "Enter"])?;
    wait_for(&["IOPS", "MiB/s", "latency"])?;
    keys(&["q"])?;
    wait_for(&["INTERRUPTED", "p99.9", "code=130"])?;
    let shown = output(&mut tmux(&["capture-pane", "-p", "-t", "view"]))?;
    match joined(&shown).contains("qstops") {
        true => Err(format!("the view is still on the console:\n{shown}")),
        false => Ok(()),
    }
}

fn tmux(words: &[&str]) -> Command {
    let mut command = Command::new("tmux");
    command
        .args(["-L", SERVER, "-f", "/dev/null"])
        .args(words)
        .env_remove("TMUX");
    command
}

fn keys(keys: &[&str]) -> Result<(), String> {
    output(&mut tmux(&[&["send-keys", "-t", "view"], keys].concat())).map(drop)
}

/// Waits until each part has been shown, in any order; text that has scrolled away counts.
fn wait_for(parts: &[&str]) -> Result<(), String> {
    let began = Instant::now();
    let mut missing = parts.to_vec();
    loop {
        let shown = output(&mut tmux(&["capture-pane", "-p", "-S", "-200", "-t", "view"]))?;
        let read = joined(&shown);
        missing.retain(|part| !read.contains(part));
        let Some(first) = missing.first() else { return Ok(()) };
        if began.elapsed() > TIMEOUT {
            return Err(format!("`{first}` did not appear on Wine's console:\n{shown}"));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The screen without line ends and blanks, because words may be torn at them.
fn joined(shown: &str) -> String {
    shown.split_whitespace().collect()
}
