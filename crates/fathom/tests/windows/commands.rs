//! Our own commands, from a test to what is made of its result.

use std::fs;
use std::path::Path;

use crate::calling::{Ran, command, fathom, finish, text};
use crate::reported::diskspd;

/// With a history of its own.
fn kept(history: &Path, words: &[&str]) -> Ran {
    finish(command(words).env("FATHOM_HISTORY", history))
}

#[test]
fn a_run_and_what_is_made_of_it() {
    let place = diskspd();
    let path = |name: &str| text(&place.path().join(name)).to_owned();
    let (target, saved, page) = (path("target.dat"), path("saved.fathom"), path("page.html"));
    let history = place.path().join("history.sqlite");
    let words = [
        "run", "--target", &target, "--size", "8M", "--time", "1s", "--warm-up", "200ms", "--depth", "4", "--read",
        "70", "--save", &saved, "--out",
    ];
    let out = format!("text,html={page}");
    let ran = kept(&history, &[&words[..], &[&out]].concat());
    ran.expect(0, &["IOPS", "MiB/s", "recorded as history:1", &target]);
    assert_eq!(fs::metadata(&target).unwrap().len(), 8 << 20, "what has a name stays");
    let html = fs::read_to_string(&page).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.contains("target.dat"));

    let results = archive::load(Path::new(&saved)).unwrap();
    let operations = results.steps[0].jobs[0].total().operations;
    assert!(operations > 100);
    let json = kept(&history, &["show", "history:last", "--out", "json"])
        .expect(0, &[])
        .json();
    assert_eq!(json["jobs"][0]["total"]["operations"], operations);
    fathom(&["show", &saved]).expect(0, &["IOPS", &target]);
    kept(&history, &["history"]).expect(0, &["run", "target.dat"]);
    fathom(&["explain", &saved]).expect(0, &["target.dat"]);
}

#[test]
fn a_quick_look() {
    let place = diskspd();
    let target = place.path().join("quick.dat");
    let ran = fathom(&["quick", text(&target), "--size", "16M"]);
    ran.expect(0, &["IOPS"]);
}

#[test]
fn what_does_not_run_anything() {
    let place = diskspd();
    let job = place.path().join("job.toml");
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

/// The simulated device has its own clock, so that no machine makes a difference.
#[test]
fn simulated_results_are_the_same_as_elsewhere() {
    let place = diskspd();
    let (job, saved) = (place.path().join("job.toml"), place.path().join("saved.fathom"));
    let words = "[[job]]\ntarget = \"simulated:disk\"\ndepth = 4\ntime = \"2s\"\nwarm-up = \"3s\"\n\
                 [simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"100us\"\n";
    fs::write(&job, words).unwrap();
    fathom(&["run", text(&job), "--quiet", "--save", text(&saved)]).expect(0, &[]);
    let results = archive::load(&saved).unwrap();
    let operations = results.steps[0].jobs[0].total().operations;
    // 4 at a time, 100 us each, for two seconds.
    assert!((78_000..=82_000).contains(&operations), "{operations}");
}
