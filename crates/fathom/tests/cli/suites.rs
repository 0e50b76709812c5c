//! Suites of workloads, on simulated devices, whose truth is known, and on a real file.

use model::observation::Observation;
use model::study::{Question, StudyRun};

use crate::prelude::*;

/// Runs a suite of these lines on a device capped at 4000 per second. It serves 8 operations at a
/// time in 2 ms each on average.
fn on_device(folder: &Directory, workloads: &str, more: &[&str]) -> Ran {
    let file = folder.path().join("suite.toml");
    let head = "name = \"trial\"\nobjective = \"the device is understood\"\n[defaults]\ntarget = \"simulated:disk\"\nwarm-up = \"1s\"\ntime = \"30s\"\n";
    let device = "[simulated.disk]\nsize = \"8GiB\"\nservers = 8\nservice = \"exponential 2ms\"\n";
    fs::write(&file, format!("{head}{workloads}\n{device}")).unwrap();
    fathom(&[&["suite", text(&file), "--quiet"][..], more].concat())
}

fn verdicts(json: &Value) -> Vec<(&str, Vec<&str>)> {
    let workloads = json["workloads"].as_array().unwrap().iter();
    let verdicts = workloads.map(|workload| {
        let clauses = workload["verdict"]["clauses"].as_array().unwrap().iter();
        let outcomes = clauses.map(|clause| clause["outcome"].as_str().unwrap());
        (workload["name"].as_str().unwrap(), outcomes.collect::<Vec<_>>())
    });
    verdicts.collect()
}

/// The measured value of a clause.
fn value(json: &Value, workload: usize, clause: usize) -> f64 {
    let clause = &json["workloads"][workload]["verdict"]["clauses"][clause];
    clause["value"].as_f64().unwrap()
}

#[test]
fn every_workload_is_judged_by_its_requirement() {
    let folder = folder();
    let kept = "[[workload]]\nname = \"kept\"\nblock = \"8KiB\"\nread = 70\nrequire = \"iops>=1000,mean<=4ms\"\n";
    let broken = "[[workload]]\nname = \"broken\"\nrequire = \"iops>=1000,p90<=3ms\"\n";
    let stands = "[[workload]]\nname = \"as it stands\"\ndepth = 8\nrequire = \"iops>=3800\"\n";
    let page = folder.path().join("page.md");
    let junit = folder.path().join("junit.xml");
    let all = format!("{kept}{broken}{stands}");
    let outputs = ["--json", "--sign-off", text(&page), "--junit", text(&junit)];
    let json = on_device(&folder, &all, &outputs).expect(1, &[]).json();
    assert_eq!(json["outcome"], "fail");
    let expected = [
        ("kept", vec!["pass", "pass"]),
        ("broken", vec!["pass", "fail"]),
        ("as it stands", vec!["pass"]),
    ];
    assert_eq!(verdicts(&json), expected);
    // With a required latency, the load has the required rate. Otherwise it has no rate.
    for (workload, range) in [990.0..1010.0, 990.0..1010.0, 3900.0..4100.0].iter().enumerate() {
        let measured = value(&json, workload, 0);
        assert!(range.contains(&measured), "{workload}: {measured}");
    }
    fs::read_to_string(page).unwrap().assert_contains(&[
        "# Sign-off: trial",
        "| Result | FAIL |",
        "| To show | the device is understood |",
        "| kept | iops >= 1000 | 1000 |",
        "| broken | p90 <= 3 ms |",
        "| the customer | | | |",
        "exact-mix = true",
        "| Processors and memory |",
    ]);
    let junit = fs::read_to_string(junit).unwrap();
    let document = roxmltree::Document::parse(&junit).unwrap();
    let cases = || document.descendants().filter(|node| node.has_tag_name("testcase"));
    assert_eq!(cases().count(), 5);
    let failed = cases().filter(|case| case.children().any(|node| node.has_tag_name("failure")));
    let failed: Vec<_> = failed.map(|case| case.attribute("name")).collect();
    assert_eq!(failed, [Some("broken: p90 <= 3 ms")]);
}

#[test]
fn a_row_of_csv_has_the_figures_of_its_workload() {
    let folder = folder();
    let two = "[[workload]]\nname = \"kept, well\"\nblock = \"8KiB\"\nrequire = \"iops>=1000,mean<=4ms\"\n\
               [[workload]]\nname = \"broken\"\nrequire = \"iops>=1000,p90<=3ms\"\n";
    let [json, page] = ["suite.json", "suite.html"].map(|name| folder.path().join(name));
    let out = format!("csv,json={}", text(&json));
    let ran = on_device(&folder, two, &["--out", &out, "--report", text(&page)]);
    let table = ran.expect(1, &[]).out.clone();
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let head = reader.headers().unwrap().clone();
    let figures: Vec<&str> = head.iter().skip(3).take(6).collect();
    assert_eq!(
        figures,
        ["iops", "bytes_per_sec", "mean_ns", "p50_ns", "p99_ns", "p999_ns"]
    );
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let words: Vec<[&str; 3]> = rows.iter().map(|row| [&row[0], &row[1], &row[2]]).collect();
    let kept = ["kept, well", "PASS", "iops>=1000,mean<=4ms"];
    assert_eq!(words, [kept, ["broken", "FAIL", "iops>=1000,p90<=3ms"]]);
    let json: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    for (row, block) in rows.iter().zip([8192.0, 4096.0]) {
        let figure = |column: usize| row[column].parse::<f64>().unwrap();
        assert_eq!(figure(4), figure(3) * block);
        assert!((1.8e6..2.2e6).contains(&figure(5)) && figure(6) < figure(7), "{row:?}");
    }
    // The JSON document agrees.
    assert_eq!(rows[0][5].parse::<f64>().unwrap(), value(&json, 0, 1));
    fs::read_to_string(page).unwrap().assert_contains(&[
        "<title>SIMULATION: no real storage — trial: workload “broken” misses p90 &lt;= 3 ms by ",
        "Scope of this verdict: each workload was measured for",
        "<p>Use faster storage, or a limit that this storage can meet: p90 of ",
        " or more. After a change, repeat for 5 minutes.",
        "The storage itself takes that long: ",
        "1 of 2 workloads fails: “broken”.",
        "id=\"chart-limits\"",
        "<th scope=\"col\">p90</th><th scope=\"col\">p99</th>",
        "broken: p90 &lt;= 3 ms</text>",
        "Every verdict (JSON)",
        "Settings and environment",
        "<th scope=\"row\">“kept, well”</th>",
        "<th scope=\"row\">“broken”</th>",
        "<h2>What next</h2>",
        "fathom suite ",
    ]);
    on_device(&folder, two, &["--json", "--out", "csv"]).expect(4, &["--json", "--out"]);
}

#[test]
fn the_worst_verdict_decides_the_exit_code() {
    let folder = folder();
    let kept = "[[workload]]\nname = \"kept\"\nrequire = \"iops>=1000,mean<=4ms\"\n";
    on_device(&folder, kept, &[]).exits(0).prints(&[
        "trial, 20",
        "objective: the device is understood",
        "kept      PASS          iops >= 1000",
    ]);
    let unknown = "[[workload]]\nname = \"unknown\"\nrequire = \"iops>=1000,p99.999<=90ms\"\n";
    on_device(&folder, &format!("{kept}{unknown}"), &[])
        .expect(2, &["INCONCLUSIVE  p99.999 <= 90 ms", "\nINCONCLUSIVE\n"]);
}

#[test]
fn pacing_can_be_set_explicitly() {
    let folder = folder();
    // Without pacing, a latency at a promised rate cannot be judged as missed.
    let free = "[[workload]]\nname = \"free\"\ndepth = 32\npace = false\nrequire = \"iops>=1000,mean<=4ms\"\n";
    let json = on_device(&folder, free, &["--json"]).expect(2, &[]).json();
    let clause = &json["workloads"][0]["verdict"]["clauses"][1];
    assert_eq!(clause["cause"], "uncapped", "{json:#}");
    let paced = "[[workload]]\nname = \"paced\"\npace = true\nrequire = \"iops>=1000\"\n";
    let json = on_device(&folder, paced, &["--json"]).expect(0, &[]).json();
    let rate = value(&json, 0, 0);
    assert!((990.0..1010.0).contains(&rate), "{rate}");
}

#[test]
fn a_preset_and_a_job_file_can_be_workloads() {
    let folder = folder();
    let log = "[[job]]\nwrite = 100\nblock = \"16KiB\"\n";
    fs::write(folder.path().join("log.toml"), log).unwrap();
    let both = "[[workload]]\nname = \"database\"\npreset = \"oltp\"\nworkers = 1\nrequire = \"iops>=500,mean<=5ms\"\n\
                [[workload]]\nname = \"log\"\njob = \"log.toml\"\nrequire = \"mbps>=1,mean<=5ms\"\n\
                [[workload]]\nname = \"limit\"\npreset = \"sql-20ms\"\nworkers = 1\n";
    let json = on_device(&folder, both, &["--json"]).expect(0, &[]).json();
    let workloads = json["workloads"].as_array().unwrap();
    assert_eq!(workloads[0]["preset"], "oltp@1, changed: workers, time, warm-up");
    assert_eq!(workloads[2]["required"], "mean<=20ms", "what the preset is judged by");
    assert!(workloads[1]["load"].as_str().unwrap().contains("16 KiB"), "{json:#}");
    assert!(workloads[0]["objective"].as_str().unwrap().contains("bearable"));
}

#[test]
fn mistakes_are_reported_before_anything_runs() {
    let folder = folder();
    let on = |keys: &str, require: &str, more: &[&str]| {
        let workload = format!("[[workload]]\n{keys}require = \"{require}\"\n");
        on_device(&folder, &workload, more)
    };
    on_device(&folder, "[[workload]]\nname = \"x\"\n", &[]).expect(4, &["the workload `x`", "suite.toml:"]);
    on("", "p99<=3", &[]).expect(4, &["has no unit"]);
    on("preset = \"genral\"\n", "iops>=3", &[]).expect(4, &["did you mean `general`?"]);
    let several = ["has 6 jobs", "make each a separate workload"];
    on("preset = \"general\"\n", "iops>=3", &[]).expect(4, &several);
    on("job = \"none.toml\"\n", "iops>=3", &[]).expect(3, &["none.toml"]);
    on("rate = \"100\"\npace = true\n", "iops>=3", &[]).expect(4, &["sets a rate"]);
    on("pace = true\n", "mean<=3ms", &[]).expect(4, &["a latency but no rate"]);
    let page = ["--sign-off", "/nowhere/page.md"];
    on("", "iops>=3", &page).expect(3, &["cannot write /nowhere/page.md"]);
    let log = folder.path().join("precious.txt");
    fs::write(&log, "precious").unwrap();
    let exists = ["it exists and is not an operation log", "--allow-overwrite"];
    on(&format!("log = \"{}\"\n", text(&log)), "iops>=3", &[]).expect(3, &exists);
    fathom(&["suite", "/nowhere.toml"]).expect(3, &["cannot read /nowhere.toml"]);
    fathom(&["suite"]).expect(4, &["FILE.toml"]);
    let example = fathom(&["suite", "--example"]);
    let file = folder.path().join("example.toml");
    fs::write(&file, &example.expect(0, &["[[workload]]"]).out).unwrap();
    fathom(&["suite", text(&file)]).expect(4, &["no target"]);
    let place = ["--target", text(folder.path()), "--size", "1m", "--dry-run"];
    let dry = fathom(&[&["suite", text(&file)], &place[..]].concat());
    let database = "database: required: iops>=4000,mean<=3ms,p99<=10ms (paced at that rate)";
    dry.expect(0, &[database, "dry run", "preset: oltp@1"]);
    // The log only writes, as its preset says; the others read.
    dry.out.assert_lacks(&["SIMPLE-TEST", "WRITE-ONLY-SUITE"]);
}

#[test]
fn all_workloads_share_one_file_which_is_removed() {
    let folder = need!(Directory::fast());
    let file = folder.path().join("suite.toml");
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let suite = "[defaults]\nwarm-up = \"0s\"\ntime = \"1s\"\n[[workload]]\nname = \"reads\"\nrequire = \"iops>=1\"\n\
                 [[workload]]\nname = \"writes\"\nwrite = 100\nrequire = \"iops>=1\"\n";
    fs::write(&file, suite).unwrap();
    let ran = fathom(&["suite", text(&file), "--target", text(&data), "--size", "16m"]);
    // On a machine that pauses, the verdict may be undecided. Only the file matters here.
    assert!(matches!(ran.code, Some(0 | 2)), "{ran:?}");
    ran.expect(ran.code.unwrap(), &["[2/2] writes", "iops >= 1", "file of 16 MiB"]);
    assert_eq!(names(&data), Vec::<String>::new());
    // A workload that must not write is refused before the first one runs.
    let own = data.join("mine");
    fs::write(&own, vec![1; 16 << 20]).unwrap();
    let ran = fathom(&["suite", text(&file), "--target", text(&own)]);
    ran.expect(3, &["must not be", "--allow-overwrite"]);
    assert!(!ran.err.contains("[1/2]"), "{}", ran.err);
}

#[test]
fn a_suite_without_storage_is_not_signed_off() {
    let folder = folder();
    let (file, page) = (folder.path().join("suite.toml"), folder.path().join("page.md"));
    let suite = "[defaults]\ntarget = \"null\"\ntime = \"300ms\"\nwarm-up = \"0s\"\n\
                 [[workload]]\nname = \"a\"\nrequire = \"iops>=100\"\n";
    fs::write(&file, suite).unwrap();
    fathom(&["suite", text(&file), "-q", "--sign-off", text(&page)]).expect(2, &["the null engine does no I/O"]);
    let page = fs::read_to_string(page).unwrap();
    page.assert_contains(&["| Result | INCONCLUSIVE |", "the null engine does no I/O"]);
}

#[test]
fn every_run_is_saved_with_its_requirement() {
    let folder = folder();
    let kept = "[[workload]]\nname = \"kept\"\nrequire = \"iops>=1000,mean<=4ms\"\n";
    // 8 servers of 2 ms are not enough for this rate.
    let broken = "[[workload]]\nname = \"broken\"\nrequire = \"iops>=9000\"\npace = true\n";
    let saved = folder.path().join("suite.json");
    on_device(&folder, &format!("{kept}{broken}"), &["--save", text(&saved)]).expect(1, &[]);
    let study = archive::load_study(&saved).unwrap();
    let Question::Suite { workloads } = &study.question else {
        panic!("{:?}", study.question)
    };
    let required: Vec<(&str, &str)> = workloads
        .iter()
        .map(|workload| (workload.workload.as_str(), workload.required.as_str()))
        .collect();
    assert_eq!(required, [("kept", "iops>=1000,mean<=4ms"), ("broken", "iops>=9000")]);
    let values = |run: &StudyRun| {
        let values: Vec<&str> = run.settings.iter().map(|setting| setting.value.as_str()).collect();
        values.join(" ")
    };
    let runs: Vec<String> = study.runs.iter().map(values).collect();
    // With few slots, storage of 20 ms would miss the rate too, so the run was repeated with more.
    assert_eq!(runs, ["kept 1", "broken 1", "broken 2"]);
    let observed = |run: &StudyRun| Observation::from_results(&run.results, 0, 0).unwrap();
    let rates: Vec<f64> = study.runs.iter().map(|run| observed(run).total.iops.unwrap()).collect();
    assert!((990.0..1010.0).contains(&rates[0]), "{rates:?}");
    assert!(
        rates[1..].iter().all(|rate| (3900.0..4100.0).contains(rate)),
        "{rates:?}"
    );
    // A study that cannot be saved is refused first.
    on_device(&folder, kept, &["--save", "/nowhere/at/all"]).expect(3, &["/nowhere/at/all"]);
}
