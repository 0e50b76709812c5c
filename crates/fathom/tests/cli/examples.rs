//! Every example runs unchanged, except for a shorter time.

use crate::prelude::*;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

#[test]
fn every_example_runs() {
    let folder = need!(Directory::fast());
    let mut count = 0;
    let page = fs::read_to_string(format!("{EXAMPLES}/README.md")).unwrap();
    let files = fs::read_dir(EXAMPLES).unwrap().flatten().map(|entry| entry.path());
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        assert!(
            name == "README.md" || page.contains(name),
            "{name} is not in examples/README.md"
        );
        if path.extension().and_then(|end| end.to_str()) != Some("toml") {
            continue;
        }
        let run = |more: &[&str]| {
            let arguments = [&["run", text(&path)][..], more].concat();
            fathom_in(folder.path(), &arguments)
        };
        run(&["--dry-run"]).expect(0, &["dry run"]);
        let simulated = text(&path).contains("simulated");
        let shorter: &[&str] = match name {
            _ if simulated => &[],
            "files.toml" => &["--tree", "files=5", "--time", "400ms"],
            // Long enough for a disk that stalls for a second.
            _ => &["--time", "2s", "--warm-up", "100ms", "--size", "32m"],
        };
        let ran = run(shorter);
        ran.expect(0, &["IOPS", "p99"]);
        let stall = ran.out.contains("300 ms") || ran.out.contains("301 ms");
        assert!(stall || !simulated, "the stall shows: {ran:#?}");
        count += 1;
    }
    assert!(count >= 5);
    assert_eq!(names(folder.path()), Vec::<String>::new(), "examples leave no files");
}

#[test]
fn examples_of_other_tools_policies_and_suites_run() {
    let folder = need!(Directory::fast());
    let shorter = |name: &str, from: [&str; 2], to: [&str; 2]| {
        let whole = fs::read_to_string(format!("{EXAMPLES}/{name}")).unwrap();
        let short = whole.replace(from[0], to[0]).replace(from[1], to[1]);
        assert_ne!(short, whole);
        fs::write(folder.path().join(name), short).unwrap();
    };
    let run = |line: &str| fathom_in(folder.path(), &split_words(line));
    shorter("oltp.fio", ["runtime=30", "ramp_time=5"], ["runtime=1", "ramp_time=0"]);
    run("fio oltp.fio").expect(0, &["pages: (groupid=0", "fsync/fdatasync/sync_file_range"]);
    shorter("oltp.xml", ["<Duration>30", "<Warmup>5"], ["<Duration>1", "<Warmup>0"]);
    let mix = "performing mix test (read/write ratio: 70/30)";
    run("diskspd -Xoltp.xml").expect(0, &["block size: 8KiB", mix]);
    let explained = ["a JSON report of fio", "8 KiB random operations"];
    run(&format!("explain {EXAMPLES}/fio.json")).expect(0, &explained);
    let verify = format!("verify --policy {EXAMPLES}/policies/our-disk.toml --size 500GB --time 2s --warm-up 0s");
    run(&format!("{verify} {EXAMPLES}/simulated.toml")).expect(2, &["PASS          iops >= 5000", "INCONCLUSIVE"]);
    let suite = format!("{EXAMPLES}/suites/acceptance.toml");
    assert_eq!(fs::read_to_string(&suite).unwrap(), run("suite --example").out);
    run(&format!("suite {suite} --target . --size 64m --dry-run")).expect(0, &["web server"]);
}

/// A reader of these pages types the names as they are.
#[test]
fn pages_name_only_examples_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for page in [
        "README.md",
        "docs/getting-started.md",
        "docs/explain.md",
        "docs/verify.md",
    ] {
        let page = fs::read_to_string(root.join(page)).unwrap();
        let is_separator = |c: char| c.is_whitespace() || "`()[]".contains(c);
        for name in page.split(is_separator).filter(|word| word.starts_with("examples/")) {
            assert!(root.join(name).exists(), "{name}");
            count += 1;
        }
        assert!(!page.contains("fathom explain test01.txt`") && !page.contains("june.fathom"));
    }
    assert!(count >= 6);
}

/// The job files of `docs/simulated-devices.md`. The first line of each says what it measures.
#[test]
fn every_simulated_example_measures_the_stated_rate() {
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
        let ran = fathom_in(folder.path(), &["run", text(&file), "--out", "json"]);
        let fails = example.contains("fault = ");
        let summary = ran.expect(i32::from(fails), &[]).json();
        let jobs = summary["jobs"].as_array().unwrap();
        assert_eq!(jobs[0]["total"]["errors"], u64::from(fails));
        let directions = jobs.iter().flat_map(|job| [&job["read"], &job["write"]]);
        let measured: f64 = directions.filter_map(|direction| direction["iops"].as_f64()).sum();
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
    let keys = ran.err.split("valid properties: ").last().unwrap();
    let keys: Vec<&str> = keys.lines().next().unwrap().split(", ").collect();
    assert!(keys.len() >= 16, "{ran:#?}");
    for key in keys {
        assert!(
            page.contains(&format!("\n| `{key}` | ")),
            "`{key}` is missing on the page"
        );
    }
}
