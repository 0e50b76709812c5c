//! Every example runs as it stands, only shorter.

use std::fs;

use testbed::{Directory, need};

use crate::support::{command, finish, names, text};

#[test]
fn every_example_runs() {
    let Some(folder) = need(Directory::on_disk()) else {
        return;
    };
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    let mut count = 0;
    for entry in fs::read_dir(examples).unwrap().flatten() {
        let path = entry.path();
        assert_eq!(path.extension().and_then(|end| end.to_str()), Some("toml"));
        let run = |more: &[&str]| {
            let arguments = [&["run", text(&path)][..], more].concat();
            finish(command(&arguments).current_dir(folder.path()))
        };
        run(&["--dry-run"]).expect(0, &["dry run"]);
        let simulated = text(&path).contains("simulated");
        let shorter: &[&str] = if simulated {
            &[]
        } else {
            &["--time", "400ms", "--warm-up", "100ms", "--size", "32m"]
        };
        let ran = run(shorter);
        ran.expect(0, &["IOPS", "p99"]);
        if simulated {
            assert!(
                ran.out.contains("300 ms") || ran.out.contains("301 ms"),
                "the stall shows: {ran:#?}"
            );
        }
        count += 1;
    }
    assert!(count >= 5);
    assert_eq!(
        names(folder.path()),
        Vec::<String>::new(),
        "examples leave nothing behind"
    );
}

/// The job files of `docs/simulated-devices.md`. The first line of each says what it measures.
#[test]
fn every_simulated_example_measures_what_the_page_says() {
    let page = include_str!("../../../../docs/simulated-devices.md");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.toml");
    let examples: Vec<&str> = page
        .split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap())
        .collect();
    for example in &examples {
        fs::write(&file, example).unwrap();
        let ran = finish(command(&["run", text(&file), "--out", "json"]).current_dir(folder.path()));
        let fails = example.contains("fault = ");
        ran.expect(i32::from(fails), &[]);
        let summary = ran.json();
        let jobs = summary["jobs"].as_array().unwrap();
        assert_eq!(jobs[0]["total"]["errors"], u64::from(fails));
        let of_job = |job: &serde_json::Value| {
            let directions = ["read", "write"].into_iter();
            directions
                .filter_map(|direction| job[direction]["iops"].as_f64())
                .sum::<f64>()
        };
        let measured: f64 = jobs.iter().map(of_job).sum();
        let (stated, _) = example
            .strip_prefix("# ")
            .and_then(|line| line.split_once(" IOPS: "))
            .expect(example);
        let stated: f64 = stated.replace(',', "").parse().unwrap();
        assert!(
            (measured / stated - 1.0).abs() < 0.01,
            "{measured} IOPS were measured: {example}"
        );
    }
    assert!(examples.len() >= 14, "{}", examples.len());
}

#[test]
fn the_page_of_simulated_devices_has_every_key() {
    let page = include_str!("../../../../docs/simulated-devices.md");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job.toml");
    fs::write(&file, "[[job]]\ntarget = \"simulated:a\"\n[simulated.a]\nunknown = 1\n").unwrap();
    let ran = finish(&mut command(&["run", text(&file)]));
    let keys = ran.err.split("a simulated device has ").last().unwrap();
    let keys: Vec<&str> = keys.lines().next().unwrap().split(", ").collect();
    assert!(keys.len() >= 16, "{ran:#?}");
    for key in keys {
        assert!(
            page.contains(&format!("\n| `{key}` | ")),
            "`{key}` is missing on the page"
        );
    }
}
