//! Sweeps, alternating comparisons, comparisons of saved results, and calculations. The devices are
//! simulated, so the right answers are known.

use crate::prelude::*;

/// A job file with a device of `servers` servers and a service time.
fn device(folder: &Path, name: &str, servers: u32, service: &str) -> PathBuf {
    let path = folder.join(format!("{name}.toml"));
    let content = format!(
        "name = \"{name}\"\n[[job]]\ntarget = \"simulated:disk\"\ndepth = 8\nwarm-up = \"0s\"\n\
         [simulated.disk]\nsize = \"1GiB\"\nservers = {servers}\nservice = \"{service}\"\n"
    );
    fs::write(&path, content).unwrap();
    path
}

fn sweep(job: &Path, line: &str) -> Ran {
    fathom_line(&format!("sweep {} {line}", text(job)))
}

#[test]
fn a_sweep_finds_the_knee_of_a_device_with_eight_servers() {
    let folder = folder();
    let job = device(folder.path(), "eight", 8, "100us");
    let saved = folder.path().join("saved");
    let csv = folder.path().join("table.csv");
    let outputs = format!("--out json,csv={} --save {}", text(&csv), text(&saved));
    let ran = sweep(&job, &format!("--over depth=1..64 --time 300ms {outputs}"));
    let json = ran.expect(0, &["[1/", "left in all"]).json();
    let knee = &json["curves"][0]["knee"];
    assert_eq!(knee["kneedle"], 8.0);
    assert_eq!(knee["power"], 8.0);
    assert_eq!(knee["advice"]["at_least"], 6.0);
    assert_eq!(knee["advice"]["at_most"], 12.0);
    let meet = knee["bounds"]["meet_at"].as_f64().unwrap();
    assert!((meet - 8.0).abs() < 0.01, "{meet}");
    assert_eq!(knee["retrograde"], false);
    // The rates are those of the device: depth × 10,000 up to 80,000.
    for row in json["rows"].as_array().unwrap() {
        let depth = row["settings"][0]["number"].as_f64().unwrap();
        let iops = row["iops"].as_f64().unwrap();
        assert!((iops / (depth.min(8.0) * 10_000.0) - 1.0).abs() < 0.01, "{row}");
    }
    let table = fs::read_to_string(&csv).unwrap();
    assert!(table.starts_with("depth,order,in_flight,iops,"), "{table}");
    assert_eq!(table.lines().count(), 1 + json["rows"].as_array().unwrap().len());

    // The saved study gives the same answer again, and also answers another question.
    let page = folder.path().join("page.html");
    fathom(&["report", text(&saved), "-o", text(&page)]).expect(0, &[]);
    let page = fs::read_to_string(&page).unwrap();
    // A simulated device is not compared with real ones.
    page.assert_contains(&["Is it good?", "Settings and environment", "plan of the first point"]);
    page.assert_lacks(&["cloud providers"]);
    fathom(&["sweep", "--from", text(&saved)]).expect(0, &["Recommendation", "Use 8 in flight", "Kneedle"]);
    let limited = fathom(&["sweep", "--from", text(&saved), "--slo", "p99<=300us"]);
    limited.expect(0, &["Use 8 in flight", "p99 <= 300 us\n  is met up to 16 in flight"]);
    // A limit that no point meets.
    let page = folder.path().join("missed.html");
    let words = ["sweep", "--from", text(&saved), "--slo", "p99<=50us", "--report"];
    let missed = fathom(&[&words[..], &[text(&page)]].concat());
    missed.expect(0, &["SIMULATION: no real storage", "(100 % over), at 1 in flight"]);
    let page = fs::read_to_string(&page).unwrap();
    page.assert_contains(&[
        "NOT MET",
        "class=\"verdict bad\"",
        "Use faster storage, or a limit",
        "--slo</span> &#39;p99&lt;=",
    ]);
    assert!(!page.contains("as advised"), "{page}");
    fathom(&["ab", "--from", text(&saved)]).expect(4, &["another kind of study"]);
    fathom(&["compare", text(&saved), text(&saved)]).expect(4, &["a study of"]);
}

#[test]
fn a_saved_study_contains_every_run_completely() {
    let folder = folder();
    let job = device(folder.path(), "one", 1, "100us");
    let saved = folder.path().join("saved");
    let line = format!("--over depth=1,2 --time 100ms --grid-only -q --save {}", text(&saved));
    assert_eq!(sweep(&job, &line).expect(0, &["Recommendation"]).err, "");
    let study: Value = serde_json::from_slice(&fs::read(&saved).unwrap()).unwrap();
    assert_eq!((&study["kind"], &study["format_version"]), (&"study".into(), &1.into()));
    assert_eq!(study["question"]["asks"], "sweep");
    assert_eq!(study["runs"].as_array().unwrap().len(), 2);
    let loaded = archive::load_study(&saved).unwrap();
    assert!(loaded.runs.iter().all(|run| run.results.steps.len() == 1));
}

#[test]
fn points_beyond_saturation_are_skipped_and_named() {
    let folder = folder();
    let job = device(folder.path(), "two", 2, "100us");
    // In any order, some of the eleven points come after three that show the saturation.
    let ran = sweep(&job, "--over depth=1..1024 --time 100ms -q --seed 3");
    ran.expect(0, &["Left out", "the rate stopped rising", "Use 2 in flight"]);
    let all = sweep(&job, "--over depth=1..64 --time 100ms -q --all-points --seed 3");
    assert!(!all.expect(0, &[]).out.contains("Left out"), "{all:#?}");
}

#[test]
fn two_parameters_make_a_table_and_a_curve_for_each_row() {
    let folder = folder();
    let job = device(folder.path(), "four", 4, "100us");
    let ran = sweep(&job, "--over depth=1..16 --over block=4k,64k --time 100ms -q");
    ran.exits(0).prints(&[
        "IOPS over depth (across) and block (down)",
        "Recommendation (block 64 KiB)",
        "Use 4 in flight",
    ]);
    let line = "--over block=4k,64k --over access=sequential,random --time 100ms -q";
    let title = "IOPS over block (across) and access (down)\n";
    sweep(&job, line).expect(0, &[title, "\n    random", "\nsequential"]);
    sweep(&job, "--over access=random,sideways").expect(4, &["sideways"]);
    let csv = sweep(&job, "--over access=sequential,random --time 100ms -q --out csv");
    csv.expect(0, &["access,order,", "\nsequential,", "\nrandom,"]);
}

#[test]
fn offered_rates_are_swept_too() {
    let folder = folder();
    let job = device(folder.path(), "slow", 1, "1ms");
    sweep(&job, "--over rate=250..4000 --time 1s -q --grid-only --depth 64")
        .expect(0, &["1,000 operations per second are", "of 2,000"]);
}

/// A job file with a device of one table and no depth.
fn without_depth(folder: &Path, device: &str) -> PathBuf {
    let path = folder.join("device.toml");
    let job = "[[job]]\ntarget = \"simulated:disk\"\nwarm-up = \"0s\"\n[simulated.disk]\n";
    fs::write(&path, format!("{job}{device}\n")).unwrap();
    path
}

/// Runs a sweep with a second for each point. Returns the report as JSON.
fn run_sweep(job: &Path, more: &[&str]) -> Value {
    let words = ["sweep", text(job), "--time", "1s", "-q", "--out", "json"];
    fathom(&[&words[..], more].concat()).expect(0, &[]).json()
}

/// Setting, operations in flight and IOPS of each row.
fn rows(json: &Value) -> Vec<(f64, u64, f64)> {
    let rows = json["rows"].as_array().unwrap().iter();
    rows.map(|row| {
        let setting = row["settings"][0]["number"].as_f64().unwrap();
        let iops = row["iops"].as_f64().unwrap();
        (setting, row["in_flight"].as_u64().unwrap(), iops)
    })
    .collect()
}

/// 16 servers of 1 ms with a cap of 6,500. A closed loop at depth 1 would reach 1,000.
#[test]
fn an_offered_rate_gets_slots_for_its_operations_in_flight() {
    let folder = folder();
    let device = "servers = 16\nservice = \"lognormal 1ms 0.5\"\niops-cap = 6500";
    let job = without_depth(folder.path(), device);
    let json = run_sweep(&job, &["--over", "rate=2000..4000+1000", "--slo", "p99<=5ms"]);
    assert_eq!(json["left_out"].as_array().unwrap().len(), 0, "{json:#}");
    assert_eq!(json["curves"][0]["knee"]["kept"]["kept_at"], 4000.0, "{json:#}");
    let found = rows(&json);
    assert_eq!(found.len(), 3, "{found:?}");
    for (rate, slots, iops) in found {
        assert!((iops / rate - 1.0).abs() < 0.01, "{iops} of {rate}");
        // 4,000 per second at 5 ms keep 20 in flight; 20 + 4√20 are 38.
        let expected = if rate == 4000.0 { 38 } else { 32 };
        assert_eq!(slots, expected, "{rate}");
    }
    // A depth that the user gave is kept, even if it is too small.
    let fixed = run_sweep(&job, &["--over", "rate=2000..4000", "--depth", "1", "--all-points"]);
    for row in rows(&fixed) {
        assert!(row.1 == 1 && row.2 < 1500.0, "{row:?}");
    }
}

/// 400 servers of 20 ms: 8,000 per second keep 160 in flight.
#[test]
fn an_offered_rate_gets_more_slots_while_all_are_taken() {
    let folder = folder();
    let job = without_depth(folder.path(), "servers = 400\nservice = \"20ms\"");
    let json = run_sweep(&job, &["--over", "rate=1000,8000,40000"]);
    let found = rows(&json);
    let (_, slots, iops) = found[1];
    assert!(slots >= 160 && iops > 7800.0, "{found:?}");
    // 400 servers do 20,000 per second, so more slots have no effect.
    let (_, slots, iops) = found[2];
    assert!(
        (400..=1024).contains(&slots) && (iops / 20_000.0 - 1.0).abs() < 0.05,
        "{found:?}"
    );
}

/// 12 servers of 300 us reach 40,000 at a depth of 12. That is not a power of two.
#[test]
fn the_smallest_depth_that_reaches_the_rate_is_measured_and_recommended() {
    let folder = folder();
    let job = without_depth(folder.path(), "servers = 12\nservice = \"300us\"");
    let json = run_sweep(&job, &["--slo", "p99<=1ms"]);
    let advice = &json["curves"][0]["knee"]["advice"];
    assert_eq!(advice["load"], 12.0, "{advice:#}");
    let sentence = advice["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("Use 12 in flight: 40,000 "), "{sentence}");
    assert!(sentence.contains("at a mean of 300 us"), "{sentence}");
}

#[test]
fn skipped_points_are_named_once_and_in_order() {
    let folder = folder();
    let job = without_depth(folder.path(), "servers = 4\nservice = \"lognormal 1ms 0.3\"");
    for seed in ["1", "2", "5"] {
        let json = run_sweep(&job, &["--slo", "p99<=300us", "--seed", seed]);
        let left_out = json["left_out"].as_array().unwrap().iter();
        let depths = left_out.map(|left| left["settings"][0]["number"].as_f64().unwrap());
        let depths: Vec<f64> = depths.collect();
        assert!(!depths.is_empty(), "{json:#}");
        assert!(depths.windows(2).all(|pair| pair[0] < pair[1]), "{depths:?}");
    }
}

#[test]
fn slo_and_require_read_limits_alike() {
    let folder = folder();
    let job = without_depth(folder.path(), "service = \"1ms\"");
    let limit = |limit: &str| fathom(&["sweep", text(&job), "--slo", limit]);
    let require = |clause: &str| fathom(&["verify", text(&job), "--require", clause]);
    for (wrong, part) in [
        ("p99<=5", "`p99<=5`: `5` has no unit"),
        ("p99=5ms", "never exactly equal"),
        ("p99>=5ms", "write p99<=5ms"),
    ] {
        limit(wrong).expect(4, &[part]);
        require(wrong).expect(4, &[part]);
    }
    limit("iops>=6000").expect(4, &["this is not a latency limit", "for example p99<=3ms"]);
}

#[test]
fn mistakes_in_a_sweep_are_reported_before_anything_is_measured() {
    let folder = folder();
    let job = device(folder.path(), "one", 1, "100us");
    for (line, part) in [
        ("--over deep=1..4", "these can: depth"),
        ("--over depth=4..1", "empty"),
        ("--over depth=1 --over qd=2", "varied twice"),
        ("--slo p99=3ms", "p99<=3ms"),
        ("--out xml", "formats: text, json, csv"),
        ("--over targets=1,2 --all-points", "name each with --target"),
    ] {
        sweep(&job, line).expect(4, &[part]);
    }
    fathom(&["sweep"]).expect(4, &["no target"]);
}

#[test]
fn a_dry_run_shows_the_points_of_a_sweep() {
    let folder = folder();
    let job = device(folder.path(), "one", 1, "100us");
    sweep(&job, "--dry-run --over depth=1..8").expect(0, &["about 7 points", "depth: 1, 2, 4, 8", "dry run"]);
}

#[test]
fn files_of_other_tools_with_one_job_are_swept() {
    let folder = folder();
    let [file, disk] = ["test.parm", "disk"].map(|name| folder.path().join(name));
    let dry = |sd: &str, runs: &str| {
        let sd = format!("sd=sd1,lun={},size=1m{sd}\nwd=wd1,sd=sd1\n", text(&disk));
        fs::write(&file, sd + runs).unwrap();
        sweep(&file, "--dry-run --over depth=1..8")
    };
    dry("", "rd=rd1,wd=wd1,iorate=max\n").expect(0, &["depth: 1, 2, 4, 8", "4 KiB random reads"]);
    // The shares and the rate of several streams remain; hits in a part of an SD do not.
    let shares = dry("", "wd=wd2,sd=sd1,xfersize=(4k,60,16k,40)\nrd=rd1,wd=wd2,iorate=500\n");
    shares.expect(0, &["500 IOPS", "60 %", "16 KiB"]);
    let hits = dry(",hitarea=64k", "wd=wd2,sd=sd1,rhpct=50\nrd=rd1,wd=wd2,iorate=500\n");
    hits.expect(4, &["cannot sweep the load of", "64k from 0", "fathom vdbench -f"]);
    let two = dry("", "rd=rd1,wd=wd1,iorate=max\nrd=rd2,wd=wd1,iorate=9\n");
    two.expect(4, &["here are 2", "fathom convert --to native"]);
}

#[test]
fn a_directory_is_prepared_once_and_left_unchanged() {
    let folder = need!(Directory::fast());
    let words = split_words("sweep . --size 16m --over depth=1,2 --time 200ms --warm-up 0 --write 100");
    let ran = fathom_in(folder.path(), &words);
    ran.expect(0, &["Recommendation"]);
    let written = ran.err.matches("of random data written for this run").count();
    assert_eq!(written, 1, "{ran:#?}");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn equal_devices_compare_as_the_same_and_ten_percent_are_detected() {
    let folder = folder();
    let slow = device(folder.path(), "slow", 8, "exponential 100us");
    let fast = device(folder.path(), "fast", 8, "exponential 90us");
    let saved = folder.path().join("saved");
    let same = fathom(&["ab", text(&slow), text(&slow), "--time", "500ms", "-q"]);
    same.expect(0, &["B and A are the same within 2 %"]);
    let compared = format!("ab {} {} --time 500ms -q", text(&slow), text(&fast));
    let better = fathom_line(&format!("{compared} --out json --save {}", text(&saved)));
    let json = better.expect(0, &[]).json();
    assert_eq!(json["found"]["word"], "better");
    assert_eq!(json["found"]["pairs"], 6);
    let ratio = json["found"]["changes"][0]["ratio"].as_f64().unwrap();
    assert!((ratio - 1.0 / 0.9).abs() < 0.01, "{ratio}");
    let worse = fathom(&["ab", text(&fast), text(&slow), "--time", "500ms", "-q"]);
    worse.expect(0, &["B is worse than A: -10 %", "Wilcoxon"]);
    fathom(&["ab", "--from", text(&saved)]).expect(0, &["B is better than A"]);
    fathom(&["sweep", "--from", text(&saved)]).expect(4, &["not a sweep"]);
}

#[test]
fn two_sets_of_flags_are_compared_on_one_target() {
    let flags = ["ab", "--depth 1", "--depth 4 --name 'four at once'"];
    let ran = fathom(&[&flags[..], &["--target", "null", "--time", "50ms", "--warm-up", "0"]].concat());
    ran.expect(0, &["A: --depth 1", "12 alternating runs of 50 ms", "[12/12] A"]);
    let check = |words: &[&str], part: &str| {
        fathom(&[&["ab"][..], words].concat()).expect(4, &[part]);
    };
    let open = ["--depth 1", "--name 'open", "--target", "null"];
    check(&open, "a quote is not closed");
    check(&["--deep 1", "--depth 2", "--target", "null"], "deep");
    check(&["null", "null", "--target", "null", "--pairs", "5"], "pairs");
    check(&["/a", "/b", "--target", "/c"], "has a target");
    let log = ["--depth 1", "--depth 4", "--target", "null", "--log", "AB.csv"];
    check(&log, "each run would replace the log");
    fathom(&["sweep", "--target", "null", "--log", "S.csv"]).expect(4, &["each run would replace the log"]);
}

/// Saves the result of a run of a job file.
fn saved(job: &Path, name: &str, more: &[&str]) -> String {
    let path = job.with_file_name(name);
    let words = ["run", text(job), "--save", text(&path)];
    let words = [&words, &split_words("--time 2s -q --out json=/dev/null")[..], more].concat();
    fathom(&words).expect(0, &[]);
    text(&path).to_owned()
}

fn assert_page_ranks_three(page: &Path) {
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("id=\"chart-intervals\"").count(), 1);
    let tested = "Settings and environment that all results share";
    page.assert_contains(&[
        "3 results compared</h1>",
        "verdict plain\" id=\"verdict\">\n<p><strong class=\"word\">c.fathom WAS BEST (ONE RUN EACH)<",
        "SIMULATION: no real storage",
        "Compared with c.fathom, which has the best IOPS: ",
        " is worse in IOPS (",
        ") and p",
        " against ",
        ">p95</th>",
        "us ▲ worse</td>",
        ">baseline</td>",
        tested,
        "<th scope=\"row\">block size</th><td>4\u{a0}KiB</td>",
        "<th scope=\"row\">in flight</th><td>8</td>",
        "Command lines",
        "a.toml",
        "What next",
    ]);
    let row = between(&page, "class=\"plot rows\"", "</svg>");
    assert_eq!(row.matches("class=\"dots\"").count(), 3, "{row}");
}

#[test]
fn saved_results_are_compared_and_ranked() {
    let folder = folder();
    let disks = [("a", "100us"), ("b", "100us"), ("c", "80us")].map(|(name, service)| {
        let job = device(folder.path(), name, 8, service);
        saved(&job, &format!("{name}.fathom"), &[])
    });
    fathom(&["compare", &disks[0], &disks[2]]).expect(0, &["is better than", "+25 %", "fathom ab"]);
    let three = fathom(&["compare", &disks[0], &disks[1], &disks[2]]);
    three.exits(0).prints(&[
        "From the best to the worst",
        "IOPS change (95 %)",
        "b.fathom is worse than",
        "the order may be chance",
    ]);
    // One table: nothing is compared only with the first.
    let places = ["1. ", "2. ", "3. "].map(|place| three.out.matches(place).count());
    assert_eq!(places, [1, 1, 1], "{}", three.out);
    assert!(!three.out.contains("B against A"), "{}", three.out);
    let page = folder.path().join("page.html");
    let table = fathom_line(&format!(
        "compare {} --out csv --report {}",
        disks.join(" "),
        text(&page)
    ));
    let table = table.expect(0, &[]);
    let rows: Vec<Vec<&str>> = table.out.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{}", table.out);
    let number = |cell: &str| cell.parse::<f64>().unwrap();
    let of_iops: Vec<_> = rows.iter().filter(|row| row[3] == "iops").collect();
    let iops: Vec<f64> = of_iops.iter().map(|row| number(row[4])).collect();
    assert_eq!(iops.len(), 3);
    // The name of a time ends with its unit: depth 8 is rate × mean latency.
    let mean = rows.iter().find(|row| row[3] == "latency_mean_us").unwrap();
    let in_flight = iops[0] * number(mean[4]) / 1e6;
    assert!((in_flight - 8.0).abs() < 0.5, "{in_flight}");
    assert!(iops[0] > iops[1] && iops[1] >= iops[2], "{iops:?}");
    assert!((number(of_iops[2][7]) - iops[2] / iops[0]).abs() < 1e-9);
    assert_page_ranks_three(&page);
    let markdown = fathom(&["compare", &disks[0], &disks[1], &disks[2], "--out", "markdown"]);
    markdown.expect(0, &["| --- | ---: |", "c.fathom | 100,000 | 80 us"]);
    let json = fathom(&["compare", &disks[2], &disks[0], "--out", "json"]);
    let json = json.expect(0, &[]).json();
    assert_eq!(json["jobs"][0]["changes"][0]["changes"][0]["word"], "worse");
    assert_eq!(json["jobs"][0]["differences"][0]["kind"], Value::Null, "{json:#}");
}

#[test]
fn different_loads_are_not_compared_by_accident() {
    let folder = folder();
    let job = device(folder.path(), "a", 8, "100us");
    let four = saved(&job, "four", &[]);
    let eight = saved(&job, "eight", &["--block", "8k", "--seed", "5"]);
    let refused = fathom(&["compare", &four, &eight]);
    refused.expect(3, &["are not comparable", "block size: 4 KiB / 8 KiB", "--force"]);
    assert_eq!(refused.out, "");
    fathom(&["compare", &four, &eight, "--force"]).expect(0, &["Differences in conditions", "seed: 1 / 5"]);
    // A result of another revision of the measuring code.
    let text = fs::read_to_string(&four).unwrap();
    let other = folder.path().join("other");
    fs::write(&other, text.replace("\"engine_revision\":1", "\"engine_revision\":9")).unwrap();
    fathom(&["compare", &four, other.to_str().unwrap()]).expect(3, &["engine revision: 1 / 9"]);
    fathom(&["compare", &four, "/no/such/file"]).expect(3, &["cannot read"]);
    fathom(&["compare", &four]).expect(4, &["RESULT"]);
}

#[test]
fn reports_of_other_tools_are_compared() {
    let report = |name: &str| data(&format!("fio/golden/{name}"));
    let [json, normal] = ["out.json", "normal.txt"].map(|name| report(&format!("01-seqread-psync/{name}")));
    // The reports are of two runs and contain no series. So the figures are printed without a
    // decision.
    let ran = fathom(&["compare", &json, &normal]);
    ran.exits(0)
        .prints(&["21,300      16,000   -25 %", "not known", "how much of that is chance"]);
    let others = [report("02-fiowrite/out.json"), report("03-fioread/out.json")];
    fathom(&["compare", &others[0], &others[1]]).expect(3, &["are not comparable", "reads: 0 % / 100 %"]);
    // A has no facts that B lacks.
    let a = data("diskspd/legacy/report.txt");
    let b = data("diskspd/runs/02-latency-and-buckets-mixed/result.txt");
    let ran = fathom(&["compare", &a, &b, "--force"]);
    let answer = ran.expect(0, &[]).out.split_whitespace().collect::<Vec<_>>().join(" ");
    answer.assert_contains(&[&format!("A: {a} B: {b}: on testhost;")]);
    // A result of fathom and a report of fio.
    let folder = folder();
    let ours = saved(&device(folder.path(), "a", 8, "100us"), "ours", &[]);
    fathom(&["compare", &ours, &json, "--force"]).expect(0, &["Differences in conditions", "IOPS"]);
    let text = folder.path().join("text");
    fs::write(&text, "nothing that anybody measured\n").unwrap();
    fathom(&["compare", &ours, text.to_str().unwrap()]).expect(3, &["text"]);
}

#[test]
fn saved_examples_can_be_compared() {
    let [paced, mixed] = ["paced", "mixed"].map(|name| data(&format!("results/{name}.json")));
    // Half of the run is a stall, so its mean says little, but its median says much.
    let same = fathom(&["compare", &paced, &paced]);
    same.expect(0, &["none known", "p50", "same", "which may be chance"]);
    fathom(&["compare", &paced, &mixed]).expect(3, &["are not comparable", "block size: 4 KiB / 8 KiB"]);
}

#[test]
fn calculations_are_right() {
    let check = |line: &str, parts: &[&str]| {
        fathom_line(&format!("calc {line}")).expect(0, parts);
    };
    let little = ["12.00 in flight", "queue depth of 15"];
    check("little --iops 4000 --latency 3ms", &little);
    check("little --latency 1ms --depth 10", &["10,000 operations per second"]);
    let bandwidth = ["= 1.00 MB/s (10^6) = 0.95 MiB/s (2^20)", "8192 bytes"];
    check("bandwidth --iops 125 --block 8KB", &bandwidth);
    check("bandwidth --iops 2 --block 512KiB", &["= 1.00 MiB/s"]);
    check("bw --iops 125 --block 512kB", &["64.0 MB/s"]);
    check("percentile --p99.99 --iops 4000", &["36,887", "1,000,000", "4:10"]);
    let burst = "burst --capacity 5.4M --refill 300 --ceiling 3000";
    check(burst, &["(2000 s)", "(18000 s)"]);
    let bytes = "burst --capacity 1TiB --refill 40MiB/s --ceiling 250MiB/s";
    check(bytes, &["(4993 s)"]);
    check("crossover --iops 5000 --throughput 200MB/s", &["39.1 KiB"]);
    let knee = [
        "33.3 us",
        "17.9",
        "105.2",
        "4.9 in flight (N*)",
        "does not fit: it predicts at most",
        "The knee is between 1 and 64",
        "Kneedle): none",
    ];
    check("knee 1=30000 64=107000 512=146000", &knee);
    let peak = "knee 1=1000 2=1900 4=3500 8=6000 16=9500 32=12000";
    check(peak, &["49 in flight, which was not measured"]);
    let dip = "knee 1=1000 2=1900 4=3500 8=6000 16=8500 32=9100 64=9000";
    check(dip, &["does not clearly fall up to 64"]);
    let json = fathom(&["calc", "knee", "1=30000", "64=107000", "512=146000", "--json"]).json();
    assert_eq!((&json["usl"]["beta"], &json["kneedle"]), (&0.0.into(), &Value::Null));
    for wrong in [
        "little --iops 4000",
        "little --iops 0 --depth 3",
        "bandwidth --iops x --block 4k",
        "burst --capacity 1TiB --refill 300 --ceiling 3000",
        "knee 1=30000 64",
        "percentile --iops 0",
    ] {
        let ran = fathom_line(&format!("calc {wrong}"));
        assert_eq!(ran.expect(4, &["error: "]).out, "", "{wrong}");
    }
}

/// With a fixed rate the depth has no effect. The table shows the operations in flight, and no knee
/// is searched.
#[test]
fn a_paced_sweep_over_depth_reports_that_depth_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("paced.toml");
    let text_of = |rate: &str| {
        format!(
            "[[job]]\ntarget = \"simulated:disk\"\ndepth = 8\nwarm-up = \"0s\"\ntime = \"2s\"\n{rate}\
             [simulated.disk]\nsize = \"1GiB\"\nservers = 4\nservice = \"200us\"\n"
        )
    };
    fs::write(&job, text_of("rate = \"1000iops\"\n")).unwrap();
    let paced = fathom(&["sweep", text(&job), "--over", "depth=1,4,16", "-q"]);
    let parts = ["the depth has no effect", "--over rate=1000..64000", "16       0.20"];
    paced.expect(0, &parts).out.assert_lacks(&["Recommendation"]);

    // Saved runs of different plans are not better or worse than each other.
    let saved = |name: &str, rate: &str| {
        fs::write(&job, text_of(rate)).unwrap();
        let file = folder.path().join(name);
        fathom(&["run", text(&job), "-q", "--save", text(&file)]).expect(0, &[]);
        file
    };
    let (free, held) = (saved("free", ""), saved("held", "rate = \"10iops\"\n"));
    let compared = fathom(&["compare", text(&free), text(&held), "--force"]);
    let compared = compared.expect(0, &["-99.95 %", "different load", "so neither is better"]);
    compared.out.assert_lacks(&["  better", "  worse"]);
}

#[test]
fn the_page_of_a_sweep_shows_the_test_and_its_command_line() {
    let folder = folder();
    let job = "name = \"depths\"\n[[job]]\ntarget = \"simulated:disk\"\nblock = \"8KiB\"\nread = 70\ntime = \"200ms\"\n\
               warm-up = \"0s\"\n[simulated.disk]\nservers = 4\nservice = \"100us\"\n";
    let [file, page] = ["job.toml", "page.html"].map(|name| folder.path().join(name));
    fs::write(&file, job).unwrap();
    sweep(&file, &format!("--over depth=1..8 -q --report {}", text(&page))).expect(0, &[]);
    let page = fs::read_to_string(&page).unwrap();
    page.assert_contains(&[
        "8\u{a0}KiB random operations, 70\u{a0}% reads and 30\u{a0}% writes, direct; each point measured for 200\u{a0}ms",
        "Command line",
        "<span class=\"option\">--over</span> depth=1..8",
    ]);
    page.assert_contains(&[
        "8\u{a0}KiB random operations, 70\u{a0}% reads and 30\u{a0}% writes over depth",
        "depths: a sweep over depth",
        "<strong class=\"word\">AT MOST ",
        "Reached at depth 4; beyond it, operations only wait longer.",
    ]);
    // Eight in flight give no more operations than four, so there is nothing to choose.
    assert!(!page.contains("for the highest rate"), "{page}");
}
