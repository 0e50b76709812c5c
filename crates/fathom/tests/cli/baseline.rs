//! `fathom baseline` saves, lists, compares and removes baselines.

use crate::prelude::*;

#[test]
fn figures_are_saved_and_compared_with_a_baseline() {
    let folder = need!(Directory::fast());
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
    fs::write(kept.join("baselines/foreign.json"), "{}").unwrap();
    baseline(&["list"]).expect(6, &["disk-a", "a text report of DiskSpd", "foreign.json"]);
    fs::remove_file(kept.join("baselines/foreign.json")).unwrap();
    baseline(&["show", "disk-a"]).expect(0, &["7,177", "8.91 ms", "23.8 ms"]);

    // The same load at half the rate, on another machine.
    let slower = fs::read_to_string(&report)
        .unwrap()
        .replace("| 7177.32 |", "| 3588.66 |")
        .replace("proc count: 8", "proc count: 4");
    let path = folder.path().join("slower.txt");
    fs::write(&path, slower).unwrap();
    let ran = baseline(&["compare", "disk-a", text(&path)]);
    ran.exits(0)
        .prints(&["IOPS", "-50.0 %", "0.500x", "worse", "processors: 4 (baseline: 8)"]);
    assert!(!ran.out.contains("different:"), "{}", ran.out);
    let json = baseline(&["compare", "disk-a", text(&path), "--json"]);
    assert_eq!(json.expect(0, &[]).json()["pairs"][0]["rows"][0]["ratio"], 0.5);

    let other = baseline(&["compare", "disk-a", &data("figures/azure-stack-hci.toml")]);
    other.expect(0, &["different: block size: 4 KiB (baseline: 64 KiB)"]);
    baseline(&["compare", "disk-b", &report]).expect(4, &["no baseline is named `disk-b`", "baselines: disk-a"]);
    baseline(&["remove", "disk-a"]).expect(0, &["removed disk-a"]);
    baseline(&["remove", "disk-a"]).expect(4, &["no baseline is named"]);
}

/// The reads of a sparse file need no device, so `ab`, `compare` and `baseline` call it no better.
#[test]
fn figures_with_invalidating_findings_are_not_judged() {
    let folder = folder();
    let run = |line: &str| -> Ran {
        let words: Vec<&str> = line.split(' ').collect();
        let mut command = command(&words);
        finish(
            command
                .current_dir(folder.path())
                .env("FATHOM_DATA", folder.path().join("kept")),
        )
    };
    let sparse = File::create(folder.path().join("sparse")).unwrap();
    sparse.set_len(16 << 20).unwrap();
    fs::write(folder.path().join("full"), vec![7; 16 << 20]).unwrap();
    for (target, saved) in [("full", "a.fathom"), ("sparse", "b.fathom"), ("full", "c.fathom")] {
        let flags = "--silence IN-MEMORY --time 300ms --warm-up 0s -q";
        run(&format!("run --target {target} {flags} --save {saved}")).expect(0, &[]);
    }
    run("baseline import a.fathom --name full").expect(0, &[]);
    let ran = run("baseline compare full b.fathom");
    ran.expect(0, &["Neither is better", "the result has HOLES"]);
    ran.out.assert_lacks(&["  better", "  worse"]);
    run("compare a.fathom b.fathom").expect(0, &["doubtful", "invalidating findings", "HOLES"]);
    run("report a.fathom b.fathom c.fathom -o three.html").expect(0, &[]);
    let page = fs::read_to_string(folder.path().join("three.html")).unwrap();
    assert!(page.contains("DOUBTFUL") && page.contains("b.fathom"), "{page}");
    run("compare a.fathom b.fathom c.fathom").expect(0, &["doubtful"]);
    let ran = run("ab sparse full --time 100ms --warm-up 0s -q --save ab.fathom --report ab.html");
    let expected = [
        "but findings invalidate the figures",
        "Warnings",
        "HOLES (A)",
        "never written",
    ];
    ran.expect(0, &expected);
    run("ab --from ab.fathom --out json").expect(0, &["\"rule\": \"HOLES\"", "\"word\": \"doubtful\""]);
    let page = fs::read_to_string(folder.path().join("ab.html")).unwrap();
    assert!(page.contains("DOUBTFUL") && page.contains("HOLES"), "{page}");
}

/// `ab` once ended with 1 and no reason.
#[test]
fn a_comparison_whose_runs_failed_names_the_error() {
    let (_folder, device) = need!(crate::support::device_that_ends());
    let flags = "--time 300ms --warm-up 0s -q --target".split(' ');
    let words = ["ab", "--block 4k", "--block 8k"].into_iter().chain(flags);
    let ran = fathom(&words.chain([text(device.path())]).collect::<Vec<_>>());
    ran.expect(1, &["No comparison", "WORKER-FAILED: ", "(A; also in B)"]);
    ran.err.assert_contains(&["error: no two pairs of runs are complete: "]);
}
