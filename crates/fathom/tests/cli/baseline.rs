//! `fathom baseline` saves, lists, compares and removes baselines.

use std::fs;

use testbed::{Directory, need};

use crate::support::{Ran, command, finish, text};

fn data(path: &str) -> String {
    format!("{}/../../tests/data/{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn figures_are_saved_and_compared_with_a_baseline() {
    let Some(folder) = need(Directory::fast()) else { return };
    let kept = folder.path().join("kept");
    let baseline = |words: &[&str]| -> Ran {
        let mut line = vec!["baseline"];
        line.extend(words);
        finish(command(&line).env("FATHOM_DATA", &kept))
    };
    baseline(&["list"]).expect(0, &["no baselines yet"]);
    let report = data("diskspd/legacy/report.txt");
    baseline(&["import", &report, "--name", "disk-a"]).expect(0, &["disk-a: 1 load", "disk-a.json"]);
    baseline(&["import", &report, "--name", "disk-a"]).expect(3, &["baseline `disk-a` already exists", "--replace"]);
    baseline(&["import", &report, "--name", "disk-a", "--replace"]).expect(0, &[]);
    baseline(&["import", &report, "--name", "../x"]).expect(4, &["cannot be the name of a baseline"]);
    baseline(&["list"]).expect(0, &["disk-a", "a text report of DiskSpd"]);
    baseline(&["show", "disk-a"]).expect(0, &["7,177", "8.91 ms", "23.8 ms"]);

    // The same load at half the rate, on another machine.
    let slower = fs::read_to_string(&report)
        .unwrap()
        .replace("| 7177.32 |", "| 3588.66 |")
        .replace("proc count: 8", "proc count: 4");
    let path = folder.path().join("slower.txt");
    fs::write(&path, slower).unwrap();
    let ran = baseline(&["compare", "disk-a", text(&path)]);
    ran.expect(
        0,
        &["IOPS", "-50.0 %", "0.500x", "worse", "processors: 4 (baseline: 8)"],
    );
    assert!(!ran.out.contains("different:"), "{}", ran.out);
    let json = baseline(&["compare", "disk-a", text(&path), "--json"]);
    assert_eq!(json.expect(0, &[]).json()["pairs"][0]["rows"][0]["ratio"], 0.5);

    let other = baseline(&["compare", "disk-a", &data("figures/azure-stack-hci.toml")]);
    other.expect(0, &["different: block size: 4 KiB (baseline: 64 KiB)"]);
    baseline(&["compare", "disk-b", &report]).expect(4, &["no baseline is named `disk-b`", "baselines: disk-a"]);
    baseline(&["remove", "disk-a"]).expect(0, &["removed disk-a"]);
    baseline(&["remove", "disk-a"]).expect(4, &["no baseline is named"]);
}
