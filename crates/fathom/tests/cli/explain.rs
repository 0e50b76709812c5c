//! `fathom explain` and `fathom show`: published reports and figures, whose right answers are
//! known.

use std::io::Write;

use crate::prelude::*;

/// Runs `explain` with a report on standard input.
fn explain_stdin(more: &[&str], report: &[u8]) -> Ran {
    let mut child = spawn(command(&[&["explain", "-"], more].concat()).stdin(Stdio::piped()));
    child.stdin.take().unwrap().write_all(report).unwrap();
    end(child)
}

/// Joins wrapped lines: every run of spaces and line ends becomes one space.
fn unwrap_lines(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_published_report_of_a_database_is_explained() {
    let ran = fathom(&["explain", &data("diskspd/legacy/report.txt")]);
    ran.expect(0, &["SHORT-RUN", "IRQ-SKEW", "OPTION-DEPRECATED", "REPORT-EDITED"]);
    let answer = unwrap_lines(&ran.out);
    answer.assert_contains(&[
        "64 KiB random operations, 80 % of them reads, without the page cache",
        "N = 63.98 operations were in flight on average, with a queue depth of 64: the queue was",
        "5,728 reads per second at 8.07 ms and 1,449 writes per second at 12.2 ms",
        // At four nines there are too few writes; at five nines, too few operations of any kind.
        "p99.99 ~260 ms ?324 ms ~299 ms",
        "p99.999 ?329 ms ?361 ms ?336 ms",
        "p99.9 (229 ms) is 9.6 times p99 (23.8 ms)",
        "is 1.35 times its mean",
        "processor 0 spent 12.29 % of its time in the kernel",
    ]);
    // Its figures agree with each other.
    answer.assert_lacks(&["MISMATCH"]);
    fathom(&["explain", "--strict", &data("diskspd/legacy/report.txt")]).expect(1, &[]);
}

#[test]
fn the_limit_of_a_virtual_machine_is_named() {
    let figures = data("figures/azure-stack-hci.toml");
    let ran = fathom_line(&format!("explain {figures} --vm Standard_B2ms --disk P30 --disks 4"));
    ran.expect(0, &[]);
    unwrap_lines(&ran.out).assert_contains(&[
        "N = 64.00 operations were in flight on average, with a queue depth of 64",
        "at the limit of VM Standard_B2ms, uncached: 1,953 IOPS of 1,920 IOPS is 101.7 %",
        "4 × P30 would allow 20,000 IOPS: 18,080 IOPS of them (90 %) are unreachable because of it",
    ]);
    // At depth 64 most of the latency is waiting, so it does not show whether the disk is slow.
    let folder = need!(Directory::fast());
    let page = folder.path().join("page.html");
    fathom(&["report", &figures, "-o", text(&page)]).expect(0, &[]);
    assert!(!fs::read_to_string(&page).unwrap().contains("which is slow"));
    let given = fathom(&["explain", &figures, "--cap", "iops=1920"]);
    assert!(unwrap_lines(&given.expect(0, &[]).out).contains("1,953 IOPS of 1,920 IOPS is 101.7 %"));
}

#[test]
fn limits_with_and_without_the_hosts_cache_are_distinguished() {
    let figures = data("figures/azure-d8ds-v4.csv");
    let plain = fathom(&["explain", &figures, "--vm", "Standard_D8ds_v4"]);
    unwrap_lines(&plain.expect(0, &["NO-LATENCY"]).out).assert_contains(&[
        "13,053 IOPS of 12,800 IOPS is 102.0 %",
        "The load exceeds the limit of VM Standard_D8ds_v4, uncached",
        "add --path cached. The load is below all other known limits",
    ]);
    // Each share is that of the limit in its row.
    let row = |used: &str, limit: &str| format!("{used:>14}{limit:>16}");
    assert!(plain.out.contains(&row("106.9 MB/s", "192.0 MB/s")), "{}", plain.out);
    let cached = fathom(&["explain", &figures, "--vm", "Standard_D8ds_v4", "--host-cache"]);
    let answer = unwrap_lines(&cached.expect(0, &[]).out);
    answer.assert_contains(&["78,521 IOPS of 77,000 IOPS is 102.0 %"]);
    // Bytes, counts, times and rates agree.
    answer.assert_lacks(&["MISMATCH"]);
}

/// Azure's combined test: one job reads through the host's cache while another writes past it. Its
/// figures are 118 % of the cached limit, which no load can reach, but they reach both limits of
/// the machine.
#[test]
fn paths_of_jobs_have_their_own_limits() {
    let figures = data("figures/azure-d8ds-v4-combined.toml");
    let with = |more: &[&str]| {
        let ran = fathom(&[&["explain", &figures, "--vm", "Standard_D8ds_v4"], more].concat());
        unwrap_lines(&ran.expect(0, &[]).out)
    };
    let both = [
        "The load is at the limit of VM Standard_D8ds_v4, cached: 78,300 IOPS of 77,000 IOPS is 101.7 %",
        "VM Standard_D8ds_v4, uncached writer1 12,600 IOPS 12,800 IOPS 98.4 % reached",
        "VM Standard_D8ds_v4, cached + uncached reader1 + writer1 90,900 IOPS 89,800 IOPS 101.2 % reached",
        "Both limits of the machine are reached",
        "118.1 % of the cached limit alone (77,000 IOPS)",
    ];
    with(&["--host-cache", "--path", "writer1=uncached"]).assert_contains(&both);
    with(&["--path", "reader1=cached"]).assert_contains(&both);
    with(&["--host-cache"]).assert_contains(&[
        "90,900 IOPS (reader1 + writer1 together) is 118.1 % of 77,000 IOPS",
        "101.2 % of the cached and uncached limits together (89,800 IOPS)",
        "Both limits of the machine are reached. All jobs together did 90,900 IOPS",
        "The load is at the limit of VM Standard_D8ds_v4, cached + uncached: 90,900 IOPS (reader1 + writer1 together) of \
         89,800 IOPS is 101.2 %",
        "name the path of each job (--path JOB=uncached",
    ]);
    let vm = ["explain", &figures, "--vm", "Standard_D8ds_v4", "--out", "json"];
    let json = fathom(&[&vm[..], &["--path", "reader1=cached"]].concat())
        .expect(0, &[])
        .json();
    let table = &json["shared_limits"][0];
    assert_eq!(table["jobs"][0]["path"], "cached");
    assert_eq!(table["limits"][0]["jobs"], serde_json::json!(["reader1"]));
    assert_eq!(table["limits"][4]["used"], 90_900.0);
    assert_eq!(table["limits"][4]["met"], true);
    fathom(&["explain", &figures, "--path", "reader=cached"]).expect(4, &["unknown job `reader`", "reader1"]);
    fathom(&["explain", &figures, "--path", "reader1=warm"]).expect(4, &["`warm` is not one of cached, uncached"]);
    fathom(&["explain", &figures, "--cap", "x:iops=5,role=log"]).expect(4, &["the limit `x` applies to no job"]);
}

/// The same test as fio reports it. The four clones of each job do not share an entry.
#[test]
fn clones_of_a_job_of_fio_share_its_path() {
    let folder = need!(Directory::fast());
    let clone = |name: &str, direction: &str, iops: f64| {
        let operations = (iops * 30.0) as u64;
        serde_json::json!({
            "jobname": name,
            "groupid": 0,
            "error": 0,
            "job options": {"rw": format!("rand{direction}"), "numjobs": "4"},
            direction: {
                "total_ios": operations, "io_bytes": operations * 4096, "iops": iops, "bw_bytes": iops * 4096.0,
                "runtime": 30_000,
                "lat_ns": {"N": operations, "min": 1000, "max": 9_000_000, "mean": 5_000_000.0, "stddev": 1000.0},
            },
        })
    };
    let reader = clone("reader1", "read", 78_300.0 / 4.0);
    let writer = clone("writer1", "write", 12_600.0 / 4.0);
    let jobs = [vec![reader; 4], vec![writer; 4]].concat();
    let report = serde_json::json!({
        "fio version": "fio-3.36",
        "global options": {"bs": "4k", "iodepth": "128", "ioengine": "libaio", "direct": "1"},
        "jobs": jobs,
    });
    let path = folder.path().join("combined.json");
    fs::write(&path, report.to_string()).unwrap();
    let line = format!("explain {} --vm Standard_D8ds_v4 --path reader1=cached", text(&path));
    let ran = fathom_line(&line);
    let answer = unwrap_lines(&ran.expect(0, &["all jobs of group 0 together"]).out);
    answer.assert_contains(&[
        "VM Standard_D8ds_v4, cached reader1 78,300 IOPS 77,000 IOPS 101.7 % reached",
        "VM Standard_D8ds_v4, uncached writer1 12,600 IOPS 12,800 IOPS 98.4 % reached",
        "Both limits of the machine are reached",
    ]);
    // The sum of both paths has no limit of one.
    answer.assert_lacks(&["The load exceeds"]);
}

#[test]
fn a_promise_is_judged() {
    let figures = data("figures/virtual-disk-sla.toml");
    let ran = fathom_line(&format!(
        "explain {figures} --require iops>=4000,mean<=3ms,read.mean<=3ms,write.mean<=3ms"
    ));
    // The latencies of DiskSpd are of all operations together, and its author judges by them.
    ran.expect(0, &[]);
    unwrap_lines(&ran.out).assert_contains(&[
        "so this is the mean of all operations",
        "PASS iops >= 4000: 4000 IOPS: at the required rate",
        "PASS read.mean <= 3 ms: 1.01 ms",
        "PASS write.mean <= 3 ms: 469 us",
        "N = 3.40 operations were in flight on average, with a queue depth of 4",
        "N = 1.44 operations were in flight on average, with a queue depth of 2",
        "a full queue would reach 5,618 operations per second",
    ]);
    let policy = fathom(&["explain", &figures, "--policy", "ssd-ultra", "--size", "400GB"]);
    unwrap_lines(&policy.expect(0, &[]).out)
        .assert_contains(&["The load was limited to 4,000 per second and reached that rate"]);
    fathom(&["explain", &figures, "--require", "mean<=3ms"]).expect(0, &["PASS"]);
    fathom(&["explain", &figures, "--require", "mean<=100us"]).expect(1, &["FAIL"]);
    let policy = ["--policy", "ssd-ultra", "--size", "400GB"];
    let other = fathom(&[&["explain", &data("figures/azure-stack-hci.toml")], &policy[..]].concat());
    let answer = unwrap_lines(&other.expect(2, &[]).out);
    let (referring, reason) = (answer.rfind("see below"), answer.rfind("operations had 4096 bytes"));
    assert!(referring.is_some() && referring < reason, "{answer}");
    let report = data("diskspd/legacy/report.txt");
    for (strict, code) in [(&["--strict"][..], 1), (&[], 0)] {
        let arguments = ["explain", &report, "--require", "mean<=20ms"];
        fathom(&[&arguments[..], strict].concat()).expect(code, &["PASS mean <= 20 ms", "SHORT-RUN"]);
    }
    // The page shows the layers that the limits name, and the same disclaimer as the text.
    assert!(ran.out.contains("A synthetic load never equals"), "{}", ran.out);
    let page = fathom_line(&format!("report {figures} --vm Standard_D8ds_v4 --disk P30 -o -"));
    let page = page.expect(0, &["A synthetic load never equals"]);
    page.out.replace('\u{a0}', " ").assert_contains(&["From ", "Limit: "]);
    fathom(&["explain", &figures, "--require", "speed>=3"]).expect(4, &["--require speed>=3"]);
}

#[test]
fn a_report_from_a_pipe_is_explained_as_json() {
    let report = fs::read(data("fio/golden/05-sla-70-30/out.json")).unwrap();
    let document = explain_stdin(&["--out", "json"], &report).expect(0, &[]).json();
    assert_eq!(document["kind"], "explanation");
    assert_eq!(document["source"]["file"], "standard input");
    let load = &document["loads"][0];
    assert_eq!(load["observation"]["load"]["depth"], 32);
    assert!(load["little"]["in_flight"].as_f64().unwrap() > 0.0, "{load}");
    assert_eq!(load["percentiles"][12]["name"], "p99");
    // All rows of the table are of the latency whose percentiles fio reports.
    let explained = explain_stdin(&[], &report);
    let lines = explained.expect(0, &["PCT-COMPLETION"]).out.lines();
    let table: Vec<String> = lines.map(unwrap_lines).collect();
    let start = table
        .iter()
        .position(|line| line == "clat read write all")
        .expect("a table");
    assert_eq!(table[start + 1], "min 932 ns 823 ns 823 ns");
    assert!(
        table[start + 2].starts_with("mean 82.5 us 86.5 us "),
        "{}",
        table[start + 2]
    );
}

/// As after runs of fathom, they weaken the figures.
#[test]
fn short_operations_of_fio_are_reported() {
    let folder = need!(Directory::fast());
    let report = folder.path().join("fio.json");
    let original = fs::read_to_string(data("fio/golden/05-sla-70-30/out.json")).unwrap();
    let changed = original.replacen("\"short_ios\" : 0", "\"short_ios\" : 5000", 1);
    fs::write(&report, changed).unwrap();
    fathom(&["explain", text(&report), "--require", "iops>=1000"])
        .exits(0)
        .prints(&["SHORT-TRANSFERS", "5000 operations transferred less than requested"]);
}

/// fio reports percentiles of reads and of writes, but not of all operations.
#[test]
fn the_page_of_a_report_of_fio_shows_how_it_can_be_judged() {
    let folder = need!(Directory::fast());
    let [report, page] = ["fio.json", "page.html"].map(|name| folder.path().join(name));
    fs::copy(data("fio/golden/05-sla-70-30/out.json"), &report).unwrap();
    let made = |require: &[&str], code: i32, parts: &[&str]| {
        fathom(&[&["report", text(&report), "-o", text(&page)], require].concat()).expect(code, &[]);
        let page = fs::read_to_string(&page).unwrap();
        let answer = page.split("id=\"findings\"").next().unwrap();
        let plain = answer.replace("<span class=\"option\">", "").replace("</span>", "");
        plain.replace('\u{a0}', " ").assert_contains(parts);
    };
    made(
        &[],
        0,
        &[
            "<strong class=\"word\">MEASURED</strong>",
            "--require &#39;iops&gt;=3500,read.p99&lt;=610us,write.p99&lt;=730us&#39;",
            "; this overwrites data05, whose data are lost: ",
            // fio reports no median of all operations.
            "Half of the reads took at most ",
            "fathom sweep data05 --block 32KiB --read 70 --report sweep.html --over depth=1..64 --allow-overwrite data05",
            "<strong>602 us</strong><span>writes, the slower ones",
        ],
    );
    made(
        &["--require", "iops>=3000,p99<=3ms"],
        0,
        &[
            ": meets iops &gt;= 3,000 and p99 &lt;= 3 ms in 3 s</title>",
            // The slower of reads and writes, which all operations together do not exceed.
            "602 us (clat) (95 %: ",
            // The limit is drawn in the chart of percentiles.
            "</svg>required</li>",
        ],
    );
    made(
        &["--require", "iops>=5000,mean<=3ms"],
        2,
        &[
            "fathom verify data05 --block 32KiB --read 70 --require &#39;iops&gt;=5000,mean&lt;=3ms&#39;",
            "<li>This overwrites data05, whose data are lost: ",
            "--report page.html --allow-overwrite data05",
            "To repeat it, with a larger size=: ",
            " --size=SIZE ",
            "fio --name=",
            "--filename=data05 --runtime=300 --time_based --ramp_time=30 --output-format=json",
            // One sentence, with options of fio instead of fathom.
            "Repeat the test with runtime=300, time_based",
        ],
    );
}

#[test]
fn figures_that_contradict_each_other_fail() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("r.txt");
    let report = fs::read_to_string(data("diskspd/legacy/report.txt")).unwrap();
    fs::write(&path, report.replace("| 7177.32 |", "| 9177.32 |")).unwrap();
    fathom(&["explain", text(&path)]).exits(1).prints(&[
        "error RATE-MISMATCH", "error LITTLE-MISMATCH", "error PARTS-MISMATCH", "that is impossible",
    ]);
}

#[test]
fn runs_of_vdbench_are_explained_and_judged() {
    let summary = data("vdbench/summary-50407.html");
    let ran = fathom(&["explain", &summary]);
    let answer = unwrap_lines(&ran.expect(0, &["SHORT-RUN"]).out);
    answer.assert_contains(&[
        "a summary of Vdbench",
        "rd1 (xfersize=4k threads=8)",
        "Vdbench 50407 issued 4 KiB operations for 25 s, after 5 s of warm-up.",
        "20,000 operations per second (IOPS), 78.1 MiB/s (81.9 MB/s); latency: 400 us on average (standard deviation 105 us).",
        "N = 8.00 operations were in flight on average (the report states 8.0); the result does not state the queue depth.",
        "All processors together were 21.4 % busy.",
        "8 KiB operations, 70 % of them reads, for 25 s, after 5 s of warm-up: limited to 5,000 per second.",
        "3,500 reads per second at 500 us and 1,500 writes per second at 1 ms",
        "N = 3.25 operations were in flight on average (the report states 3.3)",
    ]);
    assert!(!answer.contains("MISMATCH") && !answer.contains("p99"), "{}", ran.out);
    let require = |clauses: &str, code: i32, expected: &[&str]| {
        fathom(&["explain", &summary, "--require", clauses]).expect(code, expected);
    };
    require("iops>=4500,mean<=1ms", 0, &["PASS iops >= 4500", "PASS mean <= 1 ms"]);
    require("mean<=500us", 1, &["PASS mean <= 500 us", "FAIL mean <= 500 us"]);
    // The second run was limited to 5,000 per second.
    require("iops>=6000", 2, &["PASS iops >= 6000", "INCONCLUSIVE iops >= 6000"]);
    // A mean is not a percentile.
    require("p99<=10ms", 2, &["INCONCLUSIVE p99 <= 10 ms"]);
    let limits = fathom(&["explain", &summary, "--cap", "iops=20000"]);
    let answer = unwrap_lines(&limits.expect(0, &[]).out);
    assert!(answer.contains("20,000 IOPS of 20,000 IOPS is 100.0 %"), "{answer}");
    let flatfile = fathom(&["explain", &data("vdbench/flatfile-50407.html")]);
    let answer = unwrap_lines(&flatfile.expect(0, &["a flat file of Vdbench"]).out);
    assert!(answer.contains("issued 4 KiB random reads for 25 s"), "{answer}");
    let older = fathom(&["explain", &data("vdbench/summary-503.txt")]);
    let answer = unwrap_lines(&older.expect(0, &[]).out);
    let expected = "Vdbench 503 issued operations of 65,536 bytes on average for 3 s, after 1 s of warm-up.";
    assert!(answer.contains(expected), "{answer}");
}

#[test]
fn figures_of_vdbench_that_contradict_each_other_fail() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("summary.html");
    let text_of = fs::read_to_string(data("vdbench/summary-50407.html")).unwrap();
    let spoiled = |from: &str, to: &str, only_strict: bool, expected: &str| {
        assert!(text_of.contains(from));
        fs::write(&path, text_of.replace(from, to)).unwrap();
        let code = i32::from(!only_strict);
        fathom(&["explain", text(&path)]).expect(code, &[expected]);
        fathom(&["explain", text(&path), "--strict"]).expect(1, &[expected]);
    };
    // 20,000/s × 0.8 ms would mean 16 in flight, and 20,000/s × 4 KiB is not 88 MiB/s.
    spoiled(
        "avg_2-6    20000.00    78.13    4096 100.00    0.400",
        "avg_2-6    20000.00    78.13    4096 100.00    0.800",
        true,
        "warning IN-FLIGHT-MISMATCH",
    );
    spoiled(
        "avg_2-6    20000.00    78.13",
        "avg_2-6    20000.00    88.13",
        false,
        "error THROUGHPUT-MISMATCH",
    );
}

#[test]
fn results_of_iometer_are_explained_and_judged() {
    let results = data("iometer/results-2006.csv");
    let ran = fathom(&["explain", &results]);
    let answer = unwrap_lines(&ran.expect(0, &["results of Iometer"]).out);
    answer.assert_contains(&[
        "on TESTHOST, at 2026-11-23 10:00:00:123, 2 processors",
        "Iometer 2006.07.27 issued 4 KiB random reads on 2 targets: 2 workers, up to 32 in flight.",
        "16,000 operations per second (IOPS), 62.5 MiB/s (65.5 MB/s); latency: 2 ms on average.",
        "N = 32.00 operations were in flight on average, with a queue depth of 32: the queue was always full",
        "8 KiB random operations, 67 % of them reads, on 2 targets",
        "4,020 reads per second at 4 ms and 1,980 writes per second at 8.04 ms",
        "No processor was more than 31.0 % busy",
    ]);
    assert!(!answer.contains("MISMATCH") && !answer.contains("p99"), "{}", ran.out);
    fathom(&["explain", &results, "--require", "mean<=6ms"]).expect(0, &["PASS mean <= 6 ms"]);
    fathom(&["explain", &results, "--require", "p99<=60ms"]).expect(2, &["INCONCLUSIVE p99 <= 60 ms"]);
    let folder = need!(Directory::fast());
    let path = folder.path().join("results.csv");
    let report = fs::read_to_string(&results).unwrap();
    // Twice the queue depth in flight, and a total that is not the sum of the workers.
    fs::write(&path, report.replace("1,2,2,16000.000000,", "1,2,2,32000.000000,")).unwrap();
    fathom(&["explain", text(&path)]).exits(1).prints(&[
        "error LITTLE-MISMATCH",
        "error PARTS-MISMATCH",
        "error THROUGHPUT-MISMATCH",
    ]);
}

#[test]
fn reports_without_a_needed_column_are_refused_with_the_line() {
    let refused = |file: &str, expected: &[&str]| {
        fathom(&["explain", &data(file)]).expect(3, expected);
    };
    refused(
        "vdbench/no-response.txt",
        &[
            "no column is named `resp time`",
            "no-response.txt:4",
            "pass summary.html or flatfile.html",
        ],
    );
    refused("vdbench/no-header.txt", &["before any header", "no-header.txt:4"]);
    refused(
        "vdbench/file-system.txt",
        &["file system workload (fwd=)", "file-system.txt:4"],
    );
    refused(
        "iometer/other-titles.csv",
        &["no column is titled `iops`", "other-titles.csv:14", "results.csv"],
    );
    let cut = fathom(&["explain", &data("vdbench/cut.html")]);
    cut.exits(0)
        .prints(&["REPORT-TRUNCATED", "REPORT-UNREAD", "20,000 operations per second"]);
    fathom(&["explain", &data("iometer/cut.csv")]).expect(0, &["REPORT-UNREAD", "the row is truncated"]);
}

#[test]
fn files_that_cannot_be_explained_are_refused_with_the_reason() {
    let folder = need!(Directory::fast());
    let path = |name: &str, content: &str| {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        text(&path).to_owned()
    };
    fathom(&["explain", "/nowhere/at/all"]).expect(3, &["cannot read /nowhere/at/all"]);
    fathom(&["explain", &path("a", "hello")])
        .expect(3, &["contains no result that fathom knows", "a text report of DiskSpd"]);
    fathom(&["explain", &path("b", "10 bytes (10 B) copied, 1 s, 10 B/s")]).expect(3, &["dd is not a storage test"]);
    fathom(&["explain", &path("c", "{\"format_version\": 99}")]).expect(3, &["format 99"]);
    let cdm = "CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\n[Read]\n  RND    4KiB (Q= 32, T= 1):   300.100 MB/s [ 73266.6 IOPS] <   430.00 us>\n";
    let ran = fathom(&["explain", &path("d", cdm), "--require", "iops>=1000"]);
    ran.expect(2, &["NOT-ADMISSIBLE", "INCONCLUSIVE", "cannot issue the promised load"]);
    let report = data("diskspd/legacy/report.txt");
    fathom(&["explain", &report, "--disks", "4"]).expect(4, &["--disk <NAME>"]);
    fathom(&["explain", &report, "--host-cache"]).expect(4, &["--vm <NAME>"]);
    fathom(&["explain", &report, "--cap", "speed=4"]).expect(4, &["--cap speed=4", "for example"]);
    fathom(&["explain", &report, "--policy", "ssd-ultra"]).expect(4, &["--policy ssd-ultra", "size"]);
    fathom(&["explain", &report, "--vm", "Standard_Q99"]).expect(4, &["Standard_Q99"]);
}

#[test]
fn anti_patterns_are_reported() {
    fathom(&["explain", "anti-patterns"]).exits(0).prints(&[
        "file-copy", "drag-and-drop", "dd", "unzip", "mkfile", "rlarge-wlarge", "crystaldiskmark", "Instead:",
    ]);
    let explanation = fathom(&["explain", "anti-patterns", "dd"]);
    explanation.expect(0, &["compress or\n  skip zeros"]);
    assert!(!explanation.out.contains("file-copy\n"), "{}", explanation.out);
    fathom(&["explain", "anti-patterns", "fio"]).expect(4, &["anti-patterns: file-copy"]);
}

#[test]
fn saved_results_are_explained_and_shown_again() {
    let saved = data("results/mixed.json");
    let ran = fathom(&["explain", &saved]);
    ran.exits(0)
        .prints(&["a saved result of fathom", "N = 16.00", "160,137 operations per second"]);
    fathom(&["show", &saved]).expect(0, &["160,137"]);
    let fio = fathom(&["show", &saved, "--out", "fio-json"]);
    fio.expect(0, &["\"fio version\""]);
    // `explain` can read the output of `show` in fio's format.
    explain_stdin(&[], fio.out.as_bytes()).expect(0, &["160,137 operations per second"]);
    fathom(&["show", &saved, "--out", "ndjson"]).expect(4, &["the stream of a live run"]);
    let help = "help: name a file of `--save FILE`";
    fathom(&["show", &data("diskspd/legacy/report.txt")]).expect(3, &["is not a saved result of fathom", help]);
}

/// Figures in a file may lack even a rate and a time. A stated percentile is judged nevertheless.
#[test]
fn a_stated_percentile_is_a_figure() {
    let folder = need!(Directory::fast());
    let file = folder.path().join("figures.toml");
    let figures = "tool = \"DiskSpd\"\ndepth = 32\nworkers = 1\ndirect = true\nrandom = true\nblock = \"4k\"\nread = 100\n\
                   iops = 5000\nmean = \"2.3ms\"\np99 = \"4.2ms\"\n";
    let judged = |figures: &str, limit: &str| {
        fs::write(&file, figures).unwrap();
        fathom(&["explain", text(&file), "--require", limit])
    };
    for figures in [figures.to_owned(), format!("{figures}time = \"300s\"\n")] {
        judged(&figures, "p99<=5ms").expect(0, &["PASS p99 <= 5 ms: 4.2 ms"]);
        // Within the uncertainty of a figure of which only the value is known.
        judged(&figures, "p99<=4.3ms").expect(2, &["INCONCLUSIVE p99 <= 4.3 ms"]);
    }
    // 1,000 operations have one beyond p99.9.
    let few = format!("{figures}\"p99.9\" = \"9ms\"\ntime = \"0.2s\"\n");
    judged(&few, "p99.9<=20ms").expect(2, &["operations are too few"]);
}

/// A device capped at 3,000 gets a rate of 6,000, or has two latency modes. `explain` does not
/// repeat the findings of the run, and does not call the load limited.
#[test]
fn a_run_is_explained_without_repeating_its_findings() {
    let folder = need!(Directory::fast());
    let (job, saved) = (folder.path().join("job.toml"), folder.path().join("saved"));
    let explained = |load: &str, cap: &str, rule: &str| {
        let device = format!("servers = 64\nservice = \"bimodal 50us 5ms 0.3\"\n{cap}");
        let load = format!("depth = 16\ntime = \"60s\"\nwarm-up = \"5s\"\n{load}");
        let content = format!("[[job]]\ntarget = \"simulated:disk\"\n{load}[simulated.disk]\n{device}");
        fs::write(&job, content).unwrap();
        fathom(&["run", text(&job), "-q", "--save", text(&saved)]).expect(0, &[&format!("{rule} (job1)")]);
        let out = fathom(&["explain", text(&saved)]).out;
        assert_eq!(out.matches(&format!("{rule} (job1)")).count(), 1, "{rule}: {out}");
        out.assert_lacks(&["also (job1)"]);
        out
    };
    let starved = explained("rate = \"6000iops\"\n", "iops-cap = 3000\n", "RATE-NOT-KEPT");
    starved.assert_contains(&["6,000 per second were requested but not reached"]);
    starved.assert_lacks(&["limited intentionally"]);
    explained("", "", "TWO-MODES");
}

/// Figures from before an error do not fulfil a promise.
#[test]
fn a_job_that_ended_with_an_error_fails_the_promise() {
    let folder = folder();
    // The null engine would prove nothing.
    let whole = fs::read_to_string(data("fio/golden/18-env-include/out.json")).unwrap();
    let whole = whole.replace("\"ioengine\" : \"null\"", "\"ioengine\" : \"psync\"");
    let judged = |name: &str, report: &str| {
        let path = folder.path().join(name);
        fs::write(&path, report).unwrap();
        fathom(&["explain", text(&path), "--require", "iops>=1000"])
    };
    // Its figures are those of the operating system's cache.
    judged("whole.json", &whole).expect(2, &["INCONCLUSIVE iops >= 1000", "BUFFERED"]);
    let failed = whole.replacen("\"error\" : 0", "\"error\" : 5", 1);
    assert_ne!(failed, whole);
    judged("failed.json", &failed).expect(1, &["the job ended with error 5", "JOB-FAILED"]);
}

/// A saved run passes no requirement that `verify`, `suite` and `report` would call INCONCLUSIVE.
#[test]
fn weak_runs_do_not_pass() {
    let folder = folder();
    let (saved, sparse) = (folder.path().join("saved"), folder.path().join("sparse"));
    File::create(&sparse).unwrap().set_len(64 << 20).unwrap();
    let judged = |reason: &str| {
        fathom(&["explain", text(&saved), "--require", "iops>=1"]).expect(2, &["INCONCLUSIVE iops >= 1", reason]);
    };
    for (target, reason) in [(text(&sparse), "HOLES"), ("null", "the null engine does no I/O")] {
        let line = "--time 500ms --warm-up 0s -q --save";
        let line = line.split(' ').chain([text(&saved), "--target", target]);
        fathom(&["run"].into_iter().chain(line).collect::<Vec<_>>()).expect(0, &[]);
        judged(reason);
    }
    let whole = fs::read_to_string(data("results/mixed.json")).unwrap();
    for (rule, at) in [("INTERRUPTED", "null"), ("CACHE-HITS", "\"vda, oltp and log\"")] {
        let finding =
            format!("\"findings\":[{{\"rule\":\"{rule}\",\"severity\":\"warning\",\"what\":\"found\",\"at\":{at}}}");
        let weak = whole.replacen("\"findings\":[", &finding, 1);
        assert_ne!(weak, whole);
        fs::write(&saved, weak).unwrap();
        judged(rule);
    }
}

/// With `time_based`, a job begins again after its size.
#[test]
fn a_job_file_ends_as_its_options_state() {
    let folder = folder();
    let job = folder.path().join("job.fio");
    for (option, end) in [
        ("", "(QD 1); 2 s or 16 MiB or 1 pass\n"),
        ("time_based\n", "(QD 1); 2 s\n"),
    ] {
        let lines = format!("[r]\nfilename=r\nrw=randread\nsize=16m\nruntime=2\n{option}");
        fs::write(&job, lines).unwrap();
        fathom(&["explain", text(&job)]).expect(0, &[end]);
    }
}
