//! Verdicts on devices that keep a promise despite disturbances, and on those that hide faults.

use crate::prelude::*;
use crate::verify::verify_device as on_device;

const FAST: &str = "servers = 64\nservice = \"lognormal 1ms 0.5\"\niops-cap = 8000";

/// Seconds that a single slot cannot fill are never a fault of the storage.
#[test]
fn seconds_missed_because_of_too_few_slots_do_not_fail_availability() {
    let policy = "--policy provider-sla/ssd-ultra --size 400GB --require availability>=99% --depth 1";
    let ran = on_device(FAST, &format!("{policy} --time 60s --warm-up 0"));
    ran.expect(2, &["INCONCLUSIVE  availability >= 99 %", "1 slot is too few"]);
    // The report recommends only one depth.
    ran.out.assert_contains(&["--depth 32"]);
    ran.out.assert_lacks(&["--depth 2\n"]);
}

/// A virtual machine is paused for 30 s. It issues the overdue operations afterwards, at twice the
/// rate.
#[test]
fn a_pause_of_the_host_fails_no_promise() {
    let paused = format!("{FAST}\nhost-pause = [\"100s 30s\"]");
    let ran = on_device(&paused, "--require iops>=4000,p99<=4ms,availability>=99%");
    let parts = [
        "INCONCLUSIVE  p99 <= 4 ms",
        "slots were free and fathom issued operations late",
        "INCONCLUSIVE  availability >= 99 %",
    ];
    ran.expect(2, &parts);
    // A stall of the same length in the storage is a fault of the storage.
    let stalled = format!("{FAST}\nstall = [\"100s 30s\"]");
    on_device(&stalled, "--require iops>=4000,p99<=4ms").expect(1, &["FAIL          p99 <= 4 ms"]);
}

/// A stall of 1.5 s exceeds the tolerance in 30 s but not in 300.
#[test]
fn one_stall_fails_no_rate_that_the_full_time_would_keep() {
    let device_spec = "servers = 64\nservice = \"500us\"\niops-cap = 2000\nstall = [\"7s 1500ms\"]";
    on_device(device_spec, "--require iops>=1990 --quick")
        .exits(2)
        .prints(&[
            "INCONCLUSIVE  iops >= 1990",
            "one stall of 1.5 s",
            "makes the difference",
        ]);
    on_device(device_spec, "--require iops>=1990").expect(0, &["PASS          iops >= 1990"]);
    // Even the full time does not make up for 4 s.
    let long = "servers = 64\nservice = \"500us\"\niops-cap = 2000\nstall = [\"12s 4s\"]";
    on_device(long, "--require iops>=1990 --quick").expect(1, &["FAIL          iops >= 1990"]);
}

/// The cause is the failed operation, not a limit of the storage.
#[test]
fn failed_operations_are_named_without_a_limit() {
    let tried = "--require iops>=1000 --time 30s --warm-up 0";
    let failing = |fault: &str| on_device(&format!("{FAST}\nfault = \"{fault} errno 5\""), tried);
    let ran = failing("from 1");
    ran.expect(1, &["no operation succeeded", "Input/output error", "offset", "dmesg"]);
    assert!(!ran.err.contains("measure for longer"), "{}", ran.err);
    // During a probe of the depth.
    let ran = failing("operation 3000");
    ran.exits(1).prints(&[
        "PASS          iops >= 1000",
        "FAIL\n",
        "read failed: Input/output error",
    ]);
    assert!(!ran.out.contains("What limits"), "{}", ran.out);
}

#[test]
fn stalls_that_a_kept_rate_hides_are_warned_about() {
    let stalling = "servers = 8\nservice = \"4ms\"\nstall = [\"9s 1s\", \"12s 1s\"]";
    let ran = on_device(stalling, "--require iops>=1000 --depth 4000 --time 60s --warm-up 0");
    let hidden = [
        "PASS          iops >= 1000",
        "PASS (in 60 s instead of 300 s), but nothing was served for 1.8 s (3 % of the time)",
        "STALLS",
        "2 times (",
    ];
    ran.expect(0, &hidden);
}

/// Such stalls are shorter than three seconds, and the window has the promised rate.
#[test]
fn many_short_outages_count_as_outages() {
    let stalling = |every: usize, length: &str| {
        let stalls: Vec<String> = (1..400)
            .step_by(every)
            .map(|at| format!("\"{at}s {length}\""))
            .collect();
        let lines = format!("servers = 64\nservice = \"500us\"\nstall = [{}]", stalls.join(", "));
        let arguments = "--require iops>=1000,availability>=99% --time 60s --warm-up 0";
        on_device(&lines, arguments)
    };
    let ran = stalling(5, "2400ms");
    let parts = [
        "FAIL          iops >= 1000             in 12 stretches of 24 s together",
        "FAIL          availability >= 99 %     31 of 60 seconds",
    ];
    ran.expect(1, &parts);
    // Every second served what was due in it, but not all of the time.
    let ran = stalling(1, "450ms");
    let parts = [
        "PASS          iops >= 1000",
        "59 stalls of up to 0.4 s",
        "FAIL          availability >= 99 %     36 of 60 seconds met the other clauses (nothing was served for 23.6 s)",
    ];
    ran.expect(1, &parts);
}

/// Every attempt on a simulated device begins with full credits, so probes do not help.
#[test]
fn credits_that_end_in_the_warm_up_are_named() {
    let credits = "servers = 64\nservice = \"500us\"\nlayer = \"iops 500 burst 3000 bucket 40000\"";
    let ran = on_device(credits, "--require iops>=2000 --time 60s --warm-up 30s");
    let parts = [
        "FAIL          iops >= 2000",
        "D-BURST-END: the rate fell from 2000 to 500 IOPS 27 s into the warm-up",
    ];
    ran.expect(1, &parts);
    assert!(!ran.out.contains("a deeper queue slows it down"), "{}", ran.out);
}

/// A gp2 disk of 100 GiB promises 300 operations per second.
#[test]
fn a_clause_of_a_policy_is_not_broken_by_an_additional_requirement() {
    let policy = "--policy aws/gp2 --size 100GiB --require iops>=3000";
    let slow = "servers = 64\nservice = \"1ms\"\niops-cap = 300";
    let ran = on_device(slow, &format!("{policy} --time 20s --warm-up 0"));
    ran.expect(1, &["PASS          iops >= 300", "FAIL          iops >= 3000"]);
    assert!(!ran.out.contains("FAIL          availability"), "{}", ran.out);
}

#[test]
fn a_clause_about_operations_that_are_not_issued_is_refused() {
    let slow = "servers = 64\nservice = \"1ms\"\nwrite-buffer = \"4KiB 50\"";
    for (clause, share) in [
        ("write.mean<=5ms", "100"),
        ("read.mean<=5ms", "0"),
        ("write.iops>=10", "100"),
    ] {
        on_device(
            slow,
            &format!("--require iops>=1000,{clause} --read {share} --time 20s"),
        )
        .expect(4, &["the load has none", "--read 70"]);
    }
    let mixed = "--require iops>=1000,write.mean<=5ms --read 50 --time 20s";
    on_device(slow, mixed).expect(1, &["FAIL          write.mean <= 5 ms"]);
}

/// A figure that worsens within its limit is reported with its first and last value.
#[test]
fn a_figure_that_becomes_worse_within_its_limit_is_reported() {
    let drift = "servers = 10\nservice = \"1ms\"\ndrift = 0.003";
    on_device(drift, "--require iops>=1000,mean<=1.6ms")
        .exits(0)
        .prints(&["below the limit; the mean went from 1.1", " ms at the start to 1.9"]);
    let stalls = "servers = 64\nservice = \"500us\"\nstall = [\"5s 400ms\", \"12s 400ms\"]";
    on_device(stalls, "--require iops>=1000 --time 20s --warm-up 0")
        .exits(0)
        .prints(&[
            "2 stalls of up to 0.4 s",
            "PASS (in 20 s instead of 300 s), but nothing was served for",
        ]);
}

/// 70,000 credits at 2,500 per second are spent after 28 s. The first 5 s are warm-up.
#[test]
fn the_end_of_credits_is_reported_to_the_second() {
    let credits = "servers = 64\nservice = \"500us\"\nlayer = \"iops 500 burst 3000 bucket 70000\"";
    on_device(credits, "--require iops>=3000 --time 30s --warm-up 5s --depth 64")
        .expect(1, &["FAIL          iops >= 3000", "3000 IOPS for 23 s, then 500"]);
}
