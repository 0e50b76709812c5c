//! Ctrl-C, SIGTERM and SIGKILL.

use crate::calling::{names, spawn, wait_until};
use crate::prelude::*;

fn start(arguments: &[&str]) -> Child {
    spawn(&mut command(arguments))
}

/// Starts a run of a minute, and signals it after half a second.
fn run_and_signal(name: &str, more: &[&str]) -> Ran {
    let arguments = [&["run", "--target", "null", "--warm-up", "0", "--time", "1m"][..], more].concat();
    let child = start(&arguments);
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, name);
    let began = Instant::now();
    let ran = end(child);
    assert!(began.elapsed() < Duration::from_secs(20));
    ran
}

#[test]
fn a_stopped_run_reports_its_results() {
    run_and_signal("INT", &[]).expect(130, &["INTERRUPTED", "IOPS"]);
    run_and_signal("TERM", &[]).expect(143, &["INTERRUPTED", "IOPS"]);
    let ran = run_and_signal("INT", &["--out", "json"]);
    assert_eq!(ran.json()["interrupted"], true);
    assert!(ran.json()["jobs"][0]["total"]["operations"].as_u64().unwrap() > 1000);
}

/// Sends a signal to a run of two seconds, and checks its exit code. The run is started with this
/// option of `env`.
#[track_caller]
fn expect_exit(disposition: &str, name: &str, arguments: &[&str], code: i32) {
    let mut command = Command::new("env");
    command.args([disposition, PROGRAM]).args(arguments);
    let child = spawn(command.env("FATHOM_HISTORY", "off").stdin(Stdio::null()));
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, name);
    end(child).expect(code, &["IOPS"]);
}

/// `nohup` ignores SIGHUP. A shell ignores SIGINT in background jobs of scripts, but scripts still
/// stop such jobs with SIGINT.
#[test]
fn an_ignored_hangup_stays_ignored() {
    let run = split_words("run --target null --warm-up 0 --time 2s");
    let fio = split_words("fio --name=x --ioengine=null --size=1m --runtime=2 --time_based");
    expect_exit("--ignore-signal=HUP", "HUP", &run, 0);
    expect_exit("--default-signal=HUP", "HUP", &run, 129);
    expect_exit("--ignore-signal=INT", "INT", &run, 130);
    expect_exit("--ignore-signal=HUP", "HUP", &fio, 0);
    expect_exit("--ignore-signal=INT", "INT", &fio, 128);
}

#[test]
fn an_interrupted_preparation_leaves_nothing() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("f");
    let child = start(&["run", "--target", text(&path), "--size", "1g", "--time", "1s"]);
    wait_until(10, || path.exists(), "the preparation has not begun");
    signal(&child, "INT");
    end(child).expect(130, &["interrupted"]);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

/// `timeout` signals its child and then the process group, as a stop script might.
#[test]
fn simultaneous_signals_are_one_request() {
    let folder = need!(Directory::fast());
    let line = format!("run --target {} --size 8m --warm-up 0 --time 1m", text(folder.path()));
    let child = start(&split_words(&line));
    wait_until(20, || !names(folder.path()).is_empty(), "the run has not begun");
    std::thread::sleep(Duration::from_millis(1500));
    let id = child.id().to_string();
    // The shell itself sends all signals. Separate programs might wait too long for a processor.
    let burst = format!("for each in 1 2 3 4 5 6 7 8 9; do kill -TERM {id}; done");
    let sent = Command::new("sh").args(["-c", &burst]).status();
    assert!(sent.unwrap().success());
    end(child).expect(143, &["INTERRUPTED", "IOPS"]);
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_killed_run_leaves_no_torn_result_and_the_next_one_removes_its_files() {
    let folder = need!(Directory::fast());
    let place = text(folder.path());
    let saved = folder.path().join("saved");
    let line = format!("run --target {place} --size 32m --time 2s --save {}", saved.display());
    let arguments = split_words(&line);
    // Before, during and at the end of the run.
    for after in [50, 400, 1500, 2600, 4100, 4150, 4200, 4250, 4300] {
        let child = start(&arguments);
        std::thread::sleep(Duration::from_millis(after));
        kill(child);
        if saved.exists() {
            archive::load(&saved).expect("an existing result is complete");
            fs::remove_file(&saved).unwrap();
        }
    }
    fathom(&arguments).expect(0, &[]);
    assert_eq!(names(folder.path()), ["saved"], "files of killed runs are removed");
    archive::load(&saved).unwrap();
}
