//! Native commands, from a run to reports of its result.

use std::fs;
use std::path::Path;

use crate::calling::{Ran, command, fathom, finish, text};
use crate::environment::diskspd;

fn run_with_history(history: &Path, words: &[&str]) -> Ran {
    finish(command(words).env("FATHOM_HISTORY", history))
}

#[test]
fn a_result_is_saved_recorded_and_reported() {
    let sandbox = diskspd();
    let path = |name: &str| text(&sandbox.path().join(name)).to_owned();
    let (target, saved, page) = (path("target.dat"), path("saved.fathom"), path("page.html"));
    let history = sandbox.path().join("history.sqlite");
    let words = [
        "run", "--target", &target, "--size", "8M", "--time", "1s", "--warm-up", "200ms", "--depth", "4", "--read",
        "70", "--save", &saved, "--out",
    ];
    let out = format!("text,html={page}");
    let ran = run_with_history(&history, &[&words[..], &[&out]].concat());
    ran.expect(0, &["IOPS", "MiB/s", "recorded as history:1", &target]);
    assert_eq!(fs::metadata(&target).unwrap().len(), 8 << 20, "a named target stays");
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("target.dat"));

    let results = archive::load(Path::new(&saved)).unwrap();
    let operations = results.steps[0].jobs[0].total().operations;
    assert!(operations > 100);
    let json = run_with_history(&history, &["show", "history:last", "--out", "json"])
        .expect(0, &[])
        .json();
    assert_eq!(json["jobs"][0]["total"]["operations"], operations);
    fathom(&["show", &saved]).expect(0, &["IOPS", &target]);
    run_with_history(&history, &["history"]).expect(0, &["run", "target.dat"]);
    fathom(&["explain", &saved]).expect(0, &["target.dat"]);
}

#[test]
fn quick_reports_iops() {
    let sandbox = diskspd();
    let target = sandbox.path().join("quick.dat");
    fathom(&["quick", text(&target), "--size", "16M"]).expect(0, &["IOPS"]);
}

#[test]
fn commands_without_a_run_print_their_output() {
    let sandbox = diskspd();
    let job = sandbox.path().join("job.toml");
    fs::write(
        &job,
        "[[job]]\r\ntarget = 'C:\\none.dat'\r\nsize = \"16M\"\r\nread = 70\r\ntime = \"1s\"\r\n",
    )
    .unwrap();
    fathom(&["lint", text(&job)]).expect(0, &["SHORT-RUN"]);
    fathom(&["targets"]).expect(0, &[r"C:\"]);
    fathom(&["man", "run"]).expect(0, &[".TH fathom-run"]);
    fathom(&["completions", "powershell"]).expect(0, &["Register-ArgumentCompleter"]);
    fathom(&["selftest", "--help"]).expect(0, &["Usage:"]);
}

/// The simulated device has its own clock, so results do not depend on the machine.
#[test]
fn simulated_results_are_the_same_as_on_other_systems() {
    let sandbox = diskspd();
    let (job, saved) = (sandbox.path().join("job.toml"), sandbox.path().join("saved.fathom"));
    let words = "[[job]]\ntarget = \"simulated:disk\"\ndepth = 4\ntime = \"2s\"\nwarm-up = \"3s\"\n\
                 [simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"100us\"\n";
    fs::write(&job, words).unwrap();
    fathom(&["run", text(&job), "--quiet", "--save", text(&saved)]).expect(0, &[]);
    let results = archive::load(&saved).unwrap();
    let operations = results.steps[0].jobs[0].total().operations;
    // Four operations at a time, each of 100 us, for two seconds.
    assert!((78_000..=82_000).contains(&operations), "{operations}");
}
