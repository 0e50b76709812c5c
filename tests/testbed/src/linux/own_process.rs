//! Tests that change their process: limits, signals, capabilities.

use std::io::Write;
use std::process::Command;

const NAME: &str = "FATHOM_TESTBED_OWN_PROCESS";
const DONE: &str = "the body in its own process is done";

/// Runs the body of the test called `test` in a process of its own, so that changes to the process
/// affect no other test. The name is that by which the harness knows the test, with its modules.
///
/// The process is this very program, called for one test; there this function simply runs the body.
/// Only what the body does itself happens once: what precedes the call happens in both processes.
///
/// # Panics
/// If the body does not run to its end: it panicked, or a signal ended the process.
pub fn in_own_process(test: &str, body: impl FnOnce()) {
    if std::env::var(NAME).is_ok_and(|name| name == test) {
        body();
        println!("{DONE}");
        return;
    }
    let program = std::env::current_exe().expect("a running program has a path");
    let output = Command::new(program)
        .args(["--exact", test, "--nocapture", "--include-ignored", "--test-threads=1"])
        .env(NAME, test)
        .output()
        .expect("this program can be started once more");
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    for line in err
        .lines()
        .filter(|line| line.starts_with("skipped: ") || line.starts_with("note: "))
    {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    assert!(
        output.status.success() && out.contains(DONE),
        "{test} in its own process: {}\n{out}\n{err}",
        output.status
    );
}
