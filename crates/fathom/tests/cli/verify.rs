//! Promises on simulated devices, whose limits are known.

use crate::prelude::*;

/// Verifies a promise on a simulated device, whose file it writes. The words of `line` are further
/// arguments. Time is simulated, so this returns immediately.
pub fn verify_device(device: &str, line: &str) -> Ran {
    let folder = folder();
    let file = folder.path().join("device.toml");
    fs::write(&file, format!("[simulated.disk]\nsize = \"8GiB\"\n{device}\n")).unwrap();
    fathom_line(&format!("verify {} --quiet {line}", text(&file)))
}

fn on_device(device: &str, line: &str) -> Ran {
    verify_device(device, &format!("--warm-up 1s {line}"))
}

/// Serves 4 operations in parallel, in 2 ms each on average. So it reaches up to 2000 per second if
/// nothing else limits it.
const DEVICE: &str = "servers = 4\nservice = \"exponential 2ms\"";

fn capped(iops: u32) -> String {
    format!("servers = 8\nservice = \"exponential 1ms\"\niops-cap = {iops}")
}

fn clause<'a>(json: &'a Value, start: &str) -> &'a Value {
    let clauses = json["verdict"]["clauses"].as_array().unwrap();
    let of = |clause: &&Value| clause["clause"]["text"].as_str().unwrap().starts_with(start);
    clauses.iter().find(of).unwrap_or_else(|| panic!("{start} in {json:#}"))
}

#[test]
fn one_file_with_two_names_is_named_twice() {
    let folder = folder();
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&file, "text").unwrap();
    fs::hard_link(&file, &link).unwrap();
    fathom(&["verify", text(&file), text(&link), "--require", "iops>=1"]).expect(4, &["link is named twice"]);
}

#[test]
fn a_promise_that_is_kept_passes() {
    // 10 IOPS for each GB: 400 of 32 KiB, 70 % reads, at most 3 ms.
    let policy = "--policy provider-sla/ssd-ultra --size 40GB";
    let ran = on_device(DEVICE, &format!("{policy} --time 60s --out json"));
    let json = ran.expect(0, &[]).json();
    assert_eq!(json["verdict"]["outcome"], "pass", "{json:#}");
    let issued = &json["issued"];
    assert_eq!(issued["block"].as_u64(), Some(32_768));
    assert_eq!(issued["rate_iops"].as_f64(), Some(400.0));
    assert_eq!(issued["concurrency"].as_u64(), Some(32));
    assert_eq!(issued["attempt"].as_u64(), Some(1));
    for start in ["iops", "mean", "read.mean", "write.mean"] {
        assert_eq!(clause(&json, start)["outcome"], "pass");
    }
    let mean = clause(&json, "mean")["value"].as_f64().unwrap();
    assert!((1.8e6..2.2e6).contains(&mean), "{mean} for 2 ms");
}

/// Regression: a short transfer gave PASS without a warning. `--strict` exited with 1 and gave no
/// reason.
#[test]
fn warnings_are_printed_below_the_verdict() {
    let device = "servers = 8\nservice = \"1ms\"\nfault = \"operation 3000 half\"";
    let arguments = "--require iops>=500 --time 20s";
    let parts = ["PASS", "Caveats", "warning SHORT-TRANSFERS"];
    on_device(device, arguments).expect(0, &parts);
    let ran = on_device(device, &format!("{arguments} --strict"));
    ran.expect(1, &parts);
    ran.expect(1, &["With --strict these findings cause exit code 1."]);
}

#[test]
fn a_promise_that_is_broken_fails_with_its_figures() {
    let policy = "--policy provider-sla/ssd-ultra --size 40GB --time 60s";
    on_device(&capped(360), policy).exits(1).prints(&[
        "FAIL          iops >= 400",
        "360",
        "below the required rate",
        "FAIL          mean <= 3 ms",
    ]);
    // The rate is kept, the latency is not.
    let slow = "servers = 16\nservice = \"exponential 5ms\"";
    let require = "--require iops>=200,mean<=3ms,p99<=100ms --depth 16 --time 60s";
    on_device(slow, require).exits(1).prints(&[
        "PASS          iops >= 200",
        "FAIL          mean <= 3 ms",
        "PASS          p99 <= 100 ms",
    ]);
}

#[test]
fn near_the_limit_the_tolerance_decides() {
    // The tolerance of a rate is 1 %, and it is stated.
    let folder = need!(Directory::fast());
    let page = folder.path().join("page.html");
    let arguments = format!("--require iops>=400 --time 60s --report {}", text(&page));
    on_device(&capped(392), &arguments).exits(1).prints(&[
        "FAIL          iops >= 400",
        "(>= 396 passes: 1 % tolerance)",
        "saturated",
    ]);
    // Title and first sentence say what is broken, and by how much.
    fs::read_to_string(&page).unwrap().assert_contains(&[
        ": misses iops &gt;= 400 by 2.0 %</title>",
        "The storage misses iops\u{a0}&gt;=\u{a0}400 by 2.0\u{a0}%.",
    ]);
    let tolerated = "below the required rate (>= 396 passes: 1 % tolerance)";
    on_device(&capped(398), "--require iops>=400 --time 60s").expect(0, &["PASS          iops >= 400", tolerated]);
    let arguments = format!("--require iops>=200,p99.99<=50ms --time 60s --report {}", text(&page));
    let ran = on_device(DEVICE, &arguments);
    // The suggested command has the time that the test needs.
    let page = fs::read_to_string(&page).unwrap();
    let next = between(&page, "<h2>What next</h2>", "</div>");
    assert!(next.contains("--time</span> 50") && !next.contains("60s"), "{next}");
    assert!(page.contains(": cannot tell whether p99.99 &lt;= 50 ms is met</title>"));
    ran.exits(2).prints(&[
        "PASS          iops >= 200",
        "INCONCLUSIVE  p99.99 <= 50 ms",
        "100000 are needed",
    ]);
}

/// Probes find what a device reaches at a greater depth.
#[test]
fn probes_raise_the_depth_for_a_required_rate() {
    // 20 ms, 256 wide: 12,800 operations per second, but 3,200 at a depth of 64.
    let require = "--require iops>=4000 --time 30s --out json";
    let ran = on_device("servers = 256\nservice = \"20ms\"", require);
    let json = ran.expect(0, &[]).json();
    let probes = json["climb"]["probes"].as_array().unwrap();
    let depths: Vec<u64> = probes.iter().map(|probe| probe[0].as_u64().unwrap()).collect();
    assert_eq!((depths, &json["climb"]["met"]), (vec![32, 64, 128], &Value::Bool(true)));
    assert_eq!(json["issued"]["concurrency"], 1024, "{json:#}");
    let auto = "--require iops>=100 --workers auto --time 60s";
    on_device("servers = 64\nservice = \"40ms\"", auto).expect(0, &["by 1 worker"]);
    // A depth that the user fixed is not changed; then the generator is the limit.
    let fixed = "--require iops>=1200 --depth 2 --time 30s";
    on_device("servers = 64\nservice = \"40ms\"", fixed)
        .expect(2, &["INCONCLUSIVE  iops >= 1200", "2 slots are too few"]);
}

/// Regression: operations of these loads waited for a slot. There were only 25 % more slots than
/// Little's law requires.
#[test]
fn enough_slots_are_used_to_judge_a_latency() {
    for (servers, service, require, rate) in [
        (64, "lognormal 1ms 0.5", "mean<=1.19ms", 2000),
        (64, "bimodal 50us 5ms 0.1", "mean<=600us", 2000),
        (256, "bimodal 0.3ms 45ms 0.05", "mean<=2.7ms", 4000),
    ] {
        let device = format!("servers = {servers}\nservice = \"{service}\"");
        let ran = on_device(&device, &format!("--require {require} --rate {rate} --time 30s"));
        ran.expect(0, &["PASS          mean <="]);
    }
}

/// 6,000 operations per second until the credits are spent, then 3,000.
#[test]
fn credits_that_run_out_fail_with_the_change() {
    let credits = "servers = 64\nservice = \"500us\"\nlayer = \"iops 3000 burst 6000 bucket 300000\"";
    on_device(credits, "--require iops>=6000 --time 300s")
        .exits(1)
        .prints(&[
            "FAIL          iops >= 6000",
            "6000 IOPS for 9",
            "s, then 3000",
            "help: compare with the burst credits of the volume that you bought",
            "D-BURST-END",
        ]);
}

/// A latency fails in a test that is too short only if it cannot recover.
#[test]
fn a_short_test_fails_a_latency_that_is_already_lost() {
    // In 300 s at 1,500 per second there are 450,000 operations; p99 lets 4,500 of them take
    // longer.
    let credits = "servers = 64\nservice = \"500us\"\nlayer = \"iops 500 burst 1500 bucket 30000\"";
    let missed = "missed: even without waiting, an operation took";
    on_device(credits, "--require iops>=1500,p99<=50ms --time 60s").expect(1, &["FAIL          p99 <= 50 ms", missed]);
    // Two stalls delay 700 of 60,000 operations: too many for 60 s, few for 300 s.
    let stalls = "servers = 64\nservice = \"500us\"\nstall = [\"20s 400ms\", \"40s 400ms\"]";
    let ran = on_device(stalls, "--require iops>=1000,p99<=50ms --time 60s");
    let shown = "times the limit; 2 stalls of up to 0.4 s, the first at 19 s: 60 s do not show";
    ran.expect(2, &["INCONCLUSIVE  p99 <= 50 ms", shown]);
    assert!(!ran.out.contains("too close"), "{ran:#?}");
}

/// A limit on writes breaks the promised total, but not either direction's promise.
#[test]
fn a_direction_clause_counts_only_its_operations() {
    let writes = "servers = 64\nservice = \"500us\"\nlayer = [\"iops 1000 writes\"]";
    let require = "read.iops>=1000,write.iops>=900,iops>=4000";
    let ran = on_device(writes, &format!("--require {require} --read 70 --time 30s"));
    ran.exits(1)
        .prints(&["PASS          read.iops >= 1000", "PASS          write.iops >= 900"]);
    ran.expect(1, &["FAIL          iops >= 4000"]);
    let outage = "servers = 64\nservice = \"500us\"\nstall = \"12s 5s\"";
    let arguments = "--require read.iops>=2000,iops>=4000 --read 70 --time 30s";
    on_device(outage, arguments).expect(1, &["FAIL          read.iops >= 2000", "for 5 s from 11 s on"]);
}

/// 16 KiB operations at the promised rate move less than the promised throughput.
#[test]
fn an_untested_throughput_is_reported() {
    let capped = "servers = 128\nservice = \"1ms\"\nlayer = [\"iops 6000\", \"bandwidth 100MB\"]";
    let policy = "--policy aws/gp3 --size 500GiB --iops 6000 --mbps 250";
    let untested = "NOT TESTED    throughput >= 262.1 MB/s (250 MiB/s) 6000 operations of 16 KiB per second move only";
    let ran = on_device(capped, &format!("{policy} --time 30s"));
    let headline = "PARTLY PROVEN (in 30 s instead of 300 s): 2 of 4 promises proven; ";
    ran.expect(0, &[headline, untested, "--block 64KiB"]);
    assert!(!ran.out.contains("What limits"), "nothing was missed: {}", ran.out);
    let ran = on_device(capped, &format!("{policy} --time 30s --block 64KiB"));
    let ran = ran.expect(1, &["FAIL"]);
    assert!(!ran.out.contains("NOT TESTED"), "{}", ran.out);
}

/// A Standard_B2ms moves 22.5 MB/s, its disks 800. Regression: the rate of the disks was required.
#[test]
fn the_lowest_limit_is_the_promise_to_test() {
    let device = "servers = 64\nservice = \"600us\"\nlayer = [\"iops 1930\", \"bandwidth 22.6MB\"]";
    let policy = "--policy azure/b2ms+p30 --time 20s";
    let untested = "NOT TESTED    throughput >= 22.5 MB/s";
    on_device(device, policy).expect(0, &["PASS          iops >= 1920", untested, "--block 16KiB"]);
    let bytes = "PASS          mbps >= 22.5 MB/s";
    on_device(device, &format!("{policy} --block 16KiB")).expect(0, &[bytes]);
    let behind = "--policy azure/premium --tier P30 --vm Standard_B2ms --time 20s";
    on_device(device, behind).expect(0, &[bytes, "PASS          mean <= 10 ms", "stranded: 3627 IOPS"]);
    on_device(device, &format!("{behind} --block 4KiB")).expect(0, &["PASS          iops >= 1920", untested]);
    on_device(device, "--policy azure/premium --tier P30 --disks 4").expect(4, &["--disk <NAME>"]);
}

/// Operations served late raise the mean rate, but were not served when due.
#[test]
fn an_outage_that_the_mean_hides_fails_the_rate() {
    let outage = "servers = 64\nservice = \"500us\"\niops-cap = 8000\nstall = \"100s 40s\"";
    let ran = on_device(outage, "--require iops>=6000 --time 300s");
    let parts = ["FAIL          iops >= 6000", "nothing was served", "raised the mean to"];
    ran.expect(1, &parts);
    let outage = "servers = 64\nservice = \"500us\"\niops-cap = 9000\nstall = \"12s 5s\"";
    on_device(outage, "--require iops>=6000 --time 30s")
        .expect(1, &["FAIL          iops >= 6000", "for 5 s from 11 s on"]);
    let neighbour = "servers = 4\nservice = \"lognormal 600us 0.3\"\nneighbour = \"20s 10s 3\"";
    on_device(neighbour, "--require iops>=4000 --time 120s")
        .expect(1, &["FAIL          iops >= 4000", "stretches of", "IOPS were served"]);
    // A stall of less than a second is no outage: latencies show it.
    let stall = "servers = 64\nservice = \"500us\"\nstall = \"100s 600ms\"";
    on_device(stall, "--require iops>=6000 --time 300s").expect(0, &["PASS          iops >= 6000"]);
}

/// During a stall, operations wait in the program only because of the storage.
#[test]
fn one_stall_fails_a_tail_in_a_full_test_and_is_inconclusive_in_a_short_one() {
    // 12,000 of 1,800,000 operations wait: too many for p99.9, few enough for p99.
    let stall = "servers = 64\nservice = \"500us\"\niops-cap = 20000\nstall = \"100s 2s\"";
    let full = |require: &str| on_device(stall, &format!("--require {require} --time 300s"));
    full("iops>=6000,p99.9<=5ms").expect(1, &["FAIL          p99.9 <= 5 ms", "one stall of 1.9 s at 99 s"]);
    full("iops>=6000,p99<=5ms").expect(0, &["PASS          p99 <= 5 ms"]);
    let short = "servers = 64\nservice = \"500us\"\nstall = \"15s 600ms\"";
    for clause in ["p99.9<=5ms", "mean<=1ms"] {
        let ran = on_device(short, &format!("--require iops>=1000,{clause} --time 30s"));
        let parts = [
            "INCONCLUSIVE",
            "one stall of 0.6 s at 14 s makes the difference",
            "do not show whether stalls recur",
        ];
        ran.expect(2, &parts);
    }
}

/// Operations that the storage still holds when the window ends are slow too. Regression: PASS.
#[test]
fn a_stall_at_the_end_of_the_window_passes_no_latency() {
    // The window ends at 301 s: 10,800 of 1,800,000 operations wait for up to 1.8 s.
    let stall = "servers = 64\nservice = \"500us\"\niops-cap = 20000\nstall = \"299200ms 60s\"";
    let full = |require: &str| on_device(stall, &format!("--rate 6000 --require {require} --time 300s"));
    full("p99.9<=5ms").expect(1, &["FAIL          p99.9 <= 5 ms", "UNFINISHED"]);
    full("mean<=1ms").expect(1, &["FAIL          mean <= 1 ms", "one stall of 1."]);
    full("p99<=5ms").expect(0, &["PASS          p99 <= 5 ms"]);
    // A stall of 0.2 s in a short test decides nothing.
    let short = "servers = 64\nservice = \"500us\"\nstall = \"30800ms 60s\"";
    for (clause, shown) in [("p99.9<=5ms", "p99.9 <= 5 ms"), ("mean<=1ms", "mean <= 1 ms")] {
        let ran = on_device(short, &format!("--rate 4000 --require {clause} --time 30s"));
        ran.expect(2, &[&format!("INCONCLUSIVE  {shown}"), "UNFINISHED"]);
    }
}

/// Regression: the queue was reported as half-empty, and fathom as too slow.
#[test]
fn a_stall_at_the_end_of_a_closed_loop_fills_the_queue() {
    let folder = folder();
    let file = folder.path().join("job.toml");
    let job = "[[job]]\ntarget = \"simulated:disk\"\ndepth = 32\ntime = \"10s\"\nwarm-up = \"1s\"";
    let device = "[simulated.disk]\nservers = 32\nservice = \"lognormal 600us 0.4\"\nstall = \"9s 60s\"";
    fs::write(&file, format!("{job}\n{device}\n")).unwrap();
    let ran = fathom(&["run", text(&file)]);
    ran.expect(0, &["32.00 of 32 operations in flight on average", "UNFINISHED"]);
    ran.out.assert_lacks(&["QD-NOT-ACHIEVED"]);
}

/// The verdict names the cause that was built into the device.
#[test]
fn a_change_in_the_window_is_named_as_the_cause() {
    let drifting = "servers = 10\nservice = \"1ms\"\ndrift = 0.002";
    let buffered = "servers = 8\nservice = \"lognormal 1ms 0.5\"\nwrite-buffer = \"2GiB 5\"";
    for (device, require, rule) in [
        (drifting, "iops>=9000 --read 100", "D-DRIFT"),
        (buffered, "iops>=6000 --read 0", "D-SLC-CLIFF"),
    ] {
        on_device(device, &format!("--require {require} --time 300s")).expect(1, &["FAIL          iops >=", rule]);
    }
    // A rate that was kept explains nothing about a latency; verify has no --confirm.
    let slow = "servers = 64\nservice = \"exponential 5ms\"";
    let ran = on_device(slow, "--require iops>=200,p99<=10ms --time 60s");
    let undetermined = "D-UNDETERMINED: at 200 IOPS, the storage took";
    ran.expect(1, &["FAIL          p99 <= 10 ms"]);
    ran.out.assert_contains(&[undetermined]);
    ran.out.assert_lacks(&["--confirm"]);
    // Regression: the promised rate as the storage's own limit, with "no action needed".
    let stalls: Vec<String> = (2..30).step_by(3).map(|at| format!("\"{at}s 400ms\"")).collect();
    let stalling = format!("servers = 64\nservice = \"500us\"\nstall = [{}]", stalls.join(", "));
    let require = "--require iops>=1000,availability>=99% --cap iops=1000 --time 30s";
    let ran = on_device(&stalling, require);
    ran.exits(1)
        .prints(&["PASS          iops >= 1000", "FAIL          availability", "D-STALL: "]);
    ran.out.assert_lacks(&["no action needed"]);
}

/// A latency that keeps rising stays beyond its limit.
#[test]
fn a_drifting_latency_fails_a_full_test() {
    let drift = "servers = 10\nservice = \"lognormal 1ms 0.3\"\ndrift = 0.001";
    on_device(drift, "--require iops>=8500,p99<=3ms --time 300s").expect(1, &["FAIL          p99 <= 3 ms"]);
}

/// Too few slots in the program are not a limit of the storage. It does not matter who set their
/// number.
#[test]
fn too_few_slots_make_a_rate_inconclusive() {
    // 20 ms, 256 wide, reaches 12,800; 64 slots reach 3,200 of them.
    let wide = "servers = 256\nservice = \"20ms\"";
    for (require, depth, enough) in [
        ("iops>=4000", "64", "--depth 116"),
        ("iops>=4000", "16", "--depth 116"),
        ("iops>=4000,p99<=25ms", "64", "--depth 140"),
    ] {
        on_device(wide, &format!("--require {require} --depth {depth} --time 30s"))
            .expect(2, &["INCONCLUSIVE  iops >= 4000", "slots are too few", enough]);
    }
    // 900 ms at 6,000 per second need 5,400 in flight; by default the program offers at most 4,096.
    let deep = "servers = 8192\nservice = \"900ms\"";
    let parts = ["INCONCLUSIVE  iops >= 6000", "4096 slots are too few", "--depth 60"];
    on_device(deep, "--require iops>=6000,p99<=950ms --time 30s").expect(2, &parts);
    // If the storage exceeds the promised latency, too few slots are no excuse.
    let slow = "servers = 32\nservice = \"20ms\"";
    on_device(slow, "--require iops>=4000,p99<=5ms --depth 64 --time 30s").expect(1, &["FAIL          iops >= 4000"]);
}

#[test]
fn a_file_without_a_device_is_refused() {
    let folder = need!(Directory::fast());
    let device = folder.path().join("device.toml");
    let speed = "[simulated.disk]\nsize = \"8GiB\"\nspeed = 1\n";
    for (lines, part) in [
        (speed, "unknown property `speed` of a simulated device"),
        ("name = \"x\"\n", "has no simulated device"),
    ] {
        fs::write(&device, lines).unwrap();
        fathom(&["verify", text(&device), "--require", "iops>=1"]).expect(4, &[part]);
    }
}

#[test]
fn a_verdict_is_written_for_people_programs_and_build_servers() {
    let folder = need!(Directory::fast());
    let (junit, json) = (folder.path().join("junit.xml"), folder.path().join("verdict.json"));
    let out = format!("text,json={}", text(&json));
    let line = format!(
        "--policy provider-sla/ssd-ultra --size 40GB --time 20s --junit {} --out {out} --vm B2ms \
         --disk P30 --disks 4",
        junit.display()
    );
    let short = "measured for 20 s instead of the 300 s that a verdict needs";
    on_device(&capped(300), &line).expect(1, &["limit: VM Standard_B2ms, uncached: 1920 IOPS", "stranded", short]);
    let verdict: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(verdict["kind"].as_str(), Some("verdict"));
    assert_eq!(verdict["format_version"].as_u64(), Some(1));
    // The policy's own limit binds.
    assert_eq!(verdict["machine"]["reach"]["iops"]["low"], 400.0, "{verdict:#}");
    let text = fs::read_to_string(&junit).unwrap();
    let tree = roxmltree::Document::parse(&text).unwrap();
    let suite = tree.root_element().first_element_child().unwrap();
    assert_eq!(suite.attribute("tests"), Some("4"), "{text}");
    assert_eq!(suite.attribute("errors"), Some("0"), "{text}");
    let failures = suite.attribute("failures").unwrap().parse::<u32>();
    assert!(failures.unwrap() >= 2, "{text}");
}

#[test]
fn bad_requirements_are_refused() {
    let fails = |line: &str, parts: &[&str]| {
        fathom_line(&format!("verify /tmp {line}")).expect(4, parts);
    };
    fails("", &["--policy"]);
    let unknown = ["there is no policy `aws/gp9`", "did you mean `aws/gp"];
    fails("--policy aws/gp9", &unknown);
    let incomplete = ["the policy needs `size`", "fathom policies aws/gp3"];
    fails("--policy aws/gp3", &incomplete);
    let outside = "but must be between 3000 and 80000";
    fails("--policy aws/gp3 --size 1TiB --iops 900000", &[outside]);
    fails("--require p99<=3ms", &["a latency but no rate", "--rate"]);
    let wrong = ["`p99<=3`: `3` has no unit", "`max<=1ms`", "a single operation"];
    fails("--require p99<=3,iops>3000,max<=1ms", &wrong);
    let size = ["--policy is missing", "--file-size"];
    fails("--require iops>=4000 --size 5g", &size);
    fails("--require iops>=4000 --vm D8ds_v9", &["unknown machine `D8ds_v9`"]);
    let nearest = "the nearest names are Standard_D8ds_v4,";
    fails("--require iops>=4000 --vm Standard_D8dsv4", &[nearest]);
    fails("--policy /none/policy", &["there is no policy"]);
}

#[test]
fn a_policy_can_be_a_file() {
    let folder = need!(Directory::fast());
    let file = folder.path().join("mine.toml");
    let policy = fathom(&["policies", "provider-sla/ssd-ultra", "--toml"]);
    let mine = policy
        .expect(0, &["[policy]"])
        .out
        .replace("provider-sla/ssd-ultra", "our/disk");
    fs::write(&file, mine.replace("10 * size_gb", "2 * size_gb")).unwrap();
    let line = format!("--policy {} --size 100GB --time 20s", text(&file));
    on_device(&capped(300), &line).expect(0, &["our/disk", "iops >= 200"]);
    fathom(&["policies", "--catalogue", text(folder.path())]).expect(0, &["our/disk", "mine.toml"]);
    fs::write(&file, "schema = 1\n[policy]\nid = 3\n").unwrap();
    fathom(&["policies", "--catalogue", text(folder.path())]).expect(4, &["mine.toml:3:"]);
}

#[test]
fn the_catalogue_is_listed_and_explained() {
    let listed = ["aws/gp3", "provider-sla/ssd-ultra", "azure/vm", "older than 12 months"];
    fathom(&["policies"]).expect(0, &listed);
    let tier = fathom(&["policies", "azure/premium", "--tier", "P30"]);
    tier.expect(0, &["5000 IOPS, 200 MB/s", "39.1 KiB", "iops >= 5000"]);
    assert!(!tier.out.contains("P40"), "the other tiers: {}", tier.out);
    fathom(&["policies", "gp2", "--size", "100GiB"]).expect(0, &["3000 IOPS for 2000 s, then 300 IOPS"]);
    fathom(&["policies", "aws/gp3"]).expect(0, &["--size SIZE", "Set these inputs"]);
    fathom(&["policies", "premium"]).expect(0, &["azure/premium"]);
    fathom(&["policies", "ssd-ultra"]).expect(0, &["site: Avantage data centre"]);
    fathom(&["policies", "nothing"]).expect(4, &["there is no policy `nothing`"]);
    let azure = fathom(&["policies", "azure"]);
    azure.expect(0, &["azure/premium-v2", "azure/vm"]);
    assert!(!azure.out.contains("aws/"), "{}", azure.out);
    fathom(&["policies", "azure/premium-ssd"]).expect(4, &["there is no policy `azure/premium-ssd`", "azure/premium"]);
    let json = fathom_line("policies azure/premium --set tier=P30 --json")
        .expect(0, &[])
        .json();
    assert_eq!(json["resolved"]["layers"][0]["iops"]["low"], 5000.0);
    let all = fathom(&["policies", "--json"]).expect(0, &[]).json();
    assert!(all.as_array().unwrap().len() >= 29);
}

#[test]
fn advice_names_the_disk_to_order() {
    let arguments = "advise --iops 6000 --mbps 300 --latency 10ms --size 500GiB";
    fathom_line(arguments).exits(0).prints(&[
        "aws/gp3",
        "size 500 GiB; iops 6000; mbps 287",
        "Does not meet the requirement",
        "at most 262.1 MB/s",
        "Test everything that this disk promises: fathom verify --policy aws/gp3 --size 500GiB --iops 6000",
        "Test the rate that you need: fathom verify --require 'iops>=6000,mean<=10ms' TARGET",
    ]);
    let advice = fathom_line(arguments).out;
    for repeated in ["the limits of a machine do not include latency", "--json"] {
        assert_eq!(advice.matches(repeated).count(), 1, "{advice}");
    }
    // The disk promises another rate than the requested one.
    let test = "Test the rate that you need: fathom verify --require 'iops>=6100' --block 8KiB TARGET";
    fathom_line("advise --iops 6100 --size 100GiB --block 8k").expect(0, &[test]);
    let json = fathom_line(&format!("{arguments} --json")).expect(0, &[]).json();
    assert_eq!(json["need"]["iops"], 6000.0);
    fathom(&["advise"]).expect(4, &["no requirement specified"]);
    fathom(&["advise", "--latency", "3"]).expect(4, &["has no unit"]);
    let saved = data("results/mixed.json");
    fathom(&["advise", "--from", &saved]).expect(0, &["Needed: ", "IOPS of", "MB/s", "on average"]);
    let changed = ["advise", "--from", &saved, "--iops", "90000000", "--block", "8k"];
    fathom(&changed).expect(1, &["Needed: 90000000 IOPS of 8 KiB, ", "on average"]);
    fathom(&["advise", "--from", &data("diskspd/legacy/report.txt")]).expect(0, &["Needed: "]);
    let disk = "provider-sla/ssd-ultra             size 373 GiB";
    let machines = "Machines that allow enough (the limits of a machine do not include latency)\n  aws/vm";
    fathom_line("advise --iops 4000 --latency 3ms").expect(0, &[disk, machines]);
    fathom_line("advise --iops 99000000").expect(1, &["Machines that do not allow enough\n  aws/vm"]);
    fathom(&["advise", "--from", "/none/results.json"]).expect(3, &["cannot read"]);
}

/// Three disks of 5,000 IOPS each hold three copies of the data. They allow a client 5,000 writes
/// or 15,000 reads per second.
#[test]
fn copies_lower_what_disks_can_reach() {
    for (read, replicas, expected) in [("0", "3", 5000.0), ("0", "1", 15_000.0), ("100", "3", 15_000.0)] {
        let load = format!("--require iops>=300 --read {read} --block 4k --time 10s --out json");
        let disks = format!("--disk P30 --disks 3 --replicas {replicas} --hops 2");
        let ran = on_device(&capped(400), &format!("{load} {disks}"));
        let json = ran.expect(0, &[]).json();
        let reach = &json["machine"]["reach"]["iops"]["low"];
        assert_eq!(*reach, expected, "{read} % reads, {replicas} copies");
    }
}
