//! Verdicts on a throttled or shared real device, and on a busy machine.
//!
//! Other programs may run at the same time as these tests. If they may have caused a miss, a FAIL
//! may become INCONCLUSIVE because of others. A disturbance must not turn a verdict into its
//! opposite.

use std::os::unix::fs::symlink;
use std::sync::{MutexGuard, PoisonError};
use std::thread;

use testbed::{Limit, LoopDevice, LoopFs, LoopOptions, Throttle};

use crate::prelude::*;

/// Runs one such test at a time, because they would disturb each other.
fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a program that runs during a test.
pub fn start_in_background(command: &mut Command) -> KilledOnDrop {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    KilledOnDrop(quiet.spawn().expect("the program exists"))
}

/// A device of 64 MiB bypassing the page cache. A control group limits it to `reads` per second.
fn throttled_device(reads: u64) -> Option<(LoopDevice, Throttle)> {
    let device = need(LoopDevice::filled(64 << 20, LoopOptions::DIRECT))?;
    let throttle = need(Throttle::new())?;
    need(throttle.set(device.path(), Limit::ReadOperations(reads)))?;
    Some((device, throttle))
}

/// Verifies a rate at a fixed depth, without a preflight.
fn verify_rate(device: &LoopDevice, iops: u32, seconds: u32) -> (Option<i32>, Value) {
    verify(&[PROGRAM], device, &format!("iops>={iops}"), seconds)
}

/// Verifies any requirement. `program` is the command that starts `fathom`, including its path.
fn verify(program: &[&str], device: &LoopDevice, require: &str, seconds: u32) -> (Option<i32>, Value) {
    let time = format!("{seconds}s");
    let load = ["verify", text(device.path()), "--require", require, "--time", &time];
    // The data of the loop devices is in memory.
    let shape = split_words("--depth 32 --warm-up 1s --preflight 0 --silence IN-MEMORY");
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).args(load).args(shape);
    let quiet = command.args(["--quiet", "--out", "json"]).env("FATHOM_HISTORY", "off");
    let ran = finish(quiet);
    assert!(!ran.err.contains("panicked"), "{ran:#?}");
    (ran.code, ran.json())
}

/// The reason of the last clause, which is INCONCLUSIVE because of others.
fn reason_of_others(code: Option<i32>, json: &Value) -> &str {
    let clauses = json["verdict"]["clauses"].as_array().expect("a verdict has clauses");
    let clause = clauses.last().expect("a requirement has a clause");
    assert_eq!(code, Some(2), "{json:#}");
    assert_eq!(clause["outcome"], "inconclusive", "{json:#}");
    assert_eq!(clause["cause"], "others", "{json:#}");
    clause["reason"].as_str().expect("a clause has a reason")
}

#[test]
fn a_cap_that_is_lowered_halfway_fails_with_the_change() {
    let _turn = take_turn();
    let (device, throttle) = need!(throttled_device(2000));
    let inside = need!(throttle.enter());
    let (code, json) = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_secs(11));
            throttle
                .set(device.path(), Limit::ReadOperations(500))
                .expect("a limit that could be set can be lowered");
        });
        verify_rate(&device, 1500, 20)
    });
    drop(inside);
    let clause = &json["verdict"]["clauses"][0];
    let reason = clause["reason"].as_str().unwrap();
    if clause["outcome"] == "inconclusive" {
        reason_of_others(code, &json);
        return;
    }
    assert_eq!((code, &clause["outcome"]), (Some(1), &"fail".into()), "{json:#}");
    // `1500 IOPS for 9 s, then 501`, or `for 10 s from 9 s on only 500 IOPS were served`.
    let after = |word: &str| {
        let rest = &reason[reason.find(word)? + word.len()..];
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse::<f64>().ok()
    };
    let low = after("IOPS for ").and(after(", then ")).or_else(|| after(" only "));
    let low = low.unwrap_or_else(|| panic!("no change is named: {reason}"));
    // The second in which the cap was lowered may be included.
    assert!((400.0..=600.0).contains(&low), "{reason}");
}

/// The kernel's throttle allows 2,000 reads per second at depth 32. With 256 in flight on a loop
/// device, it allows only 1,300.
#[test]
fn a_throttle_that_is_slower_under_a_deep_queue_fails_no_rate() {
    let _turn = take_turn();
    let (device, throttle) = need!(throttled_device(2000));
    let _inside = need!(throttle.enter());
    let line = format!(
        "verify {} --require iops>=2015 --time 30s --warm-up 5s --preflight 0 --silence IN-MEMORY --quiet --out json",
        text(device.path())
    );
    let ran = fathom_line(&line);
    assert!(!ran.err.contains("panicked"), "{ran:#?}");
    let json = ran.json();
    // 2,000 is within the tolerance of 2,015, and close to its end.
    assert!(matches!(ran.code, Some(0 | 2)), "{json:#}");
    assert_ne!(json["verdict"]["outcome"], "fail", "{json:#}");
    // A short pause may or may not fill the queue.
    if json["issued"]["concurrency"] == 32 {
        let notes = json["verdict"]["notes"].to_string();
        assert!(notes.contains("a deeper queue slows it down"), "{json:#}");
    }
}

#[test]
fn a_second_program_on_the_same_disk_is_named() {
    let _turn = take_turn();
    let (device, throttle) = need!(throttled_device(2000));
    let folder = need!(Directory::fast());
    let _inside = need!(throttle.enter());
    // The kernel names a program by its file name.
    let hammer = folder.path().join("hammer");
    symlink(PROGRAM, &hammer).unwrap();
    let load = ["run", "--target", text(device.path()), "--block", "64k"];
    let shape = ["--depth", "64", "--time", "60s", "--warm-up", "0s"];
    let mut hammer_command = Command::new(&hammer);
    let _hammer = start_in_background(hammer_command.args(load).args(shape).env("FATHOM_HISTORY", "off"));
    thread::sleep(Duration::from_secs(1));
    let (code, json) = verify_rate(&device, 1500, 8);
    reason_of_others(code, &json).assert_contains(&["other programs moved", "hammer"]);
}

#[test]
fn processors_that_other_programs_keep_busy_are_attributed_to_them() {
    let _turn = take_turn();
    let device = need!(LoopDevice::filled(64 << 20, LoopOptions::DIRECT));
    let folder = need!(Directory::fast());
    let spin = folder.path().join("spin");
    symlink("/bin/sh", &spin).unwrap();
    let processors = thread::available_parallelism().unwrap().get();
    let loops: Vec<KilledOnDrop> = (0..processors)
        .map(|_| start_in_background(Command::new(&spin).args(["-c", "while :; do :; done"])))
        .collect();
    // The idle scheduling class waits for the loops at any niceness of the tests. Between two waits
    // the program may catch up with the rate, but never with the latency.
    let require = "iops>=4000, p95<=2ms";
    let (code, json) = verify(&["chrt", "--idle", "0", PROGRAM], &device, require, 6);
    drop(loops);
    reason_of_others(code, &json).assert_contains(&["other programs used", "spin "]);
    let diagnosis = &json["diagnoses"][0]["diagnosis"];
    let sentence = diagnosis["sentence"].as_str().unwrap();
    if diagnosis["answer"] == "processor" {
        assert!(sentence.contains("other programs used"), "{diagnosis:#}");
    }
    sentence.assert_lacks(&["every processor of this machine was fully busy"]);
}

/// The whole process is in a control group that limits reads to 1000 per second.
#[test]
fn a_limit_of_the_kernel_is_found_on_a_real_file() {
    let _turn = take_turn();
    let disk = need!(LoopFs::ext4(256 << 20));
    let throttle = need!(Throttle::new());
    // The file is created before the limit applies, and used by both tests.
    let file = disk.path().join("f");
    let file = text(&file);
    fathom_line(&format!("run --target {file} --size 64m --time 1s --warm-up 0 --quiet")).expect(0, &[]);
    need!(throttle.set(disk.device().path(), Limit::ReadOperations(1000)));
    let _inside = need!(throttle.enter());
    let verify = |require: &str| {
        let how = "--quick --silence IN-MEMORY --quiet --out json";
        let ran = fathom_line(&format!("verify {file} --require {require} {how}"));
        assert!(!ran.err.contains("panicked"), "{ran:#?}");
        ran
    };
    let json = verify("iops>=900").expect(0, &[]).json();
    assert_eq!(json["verdict"]["outcome"], "pass", "{json:#}");
    let json = verify("iops>=1200").expect(1, &[]).json();
    let iops = &json["verdict"]["clauses"][0];
    assert_eq!(iops["outcome"], "fail", "{json:#}");
    let found = iops["value"].as_f64().unwrap();
    assert!((980.0..=1020.0).contains(&found), "{found} of 1000: {json:#}");
    // The probe before had half as much in flight, which distinguishes a limit from latency.
    assert_eq!(json["climb"]["saturated"], true, "{json:#}");
    let diagnosis = &json["diagnoses"][0]["diagnosis"];
    assert_eq!(diagnosis["confirmed"], true, "{json:#}");
    let layer = diagnosis["layer"].as_str().unwrap_or_default();
    assert!(layer.starts_with("control group, reads"), "{json:#}");
    // The diagnosis is about the window, not about the preceding probe.
    let mut evidence = diagnosis["evidence"].as_array().unwrap().iter();
    let in_flight = evidence
        .find(|evidence| evidence["what"] == "operations in flight")
        .unwrap();
    let issued = json["issued"]["concurrency"].as_f64().unwrap();
    assert_eq!(in_flight["against"], issued, "{json:#}");
}

/// Two devices are limited to 500 reads per second each.
#[test]
fn several_targets_share_a_promise() {
    let _turn = take_turn();
    let device = || LoopDevice::filled(32 << 20, LoopOptions::default());
    let (first, second) = (need!(device()), need!(device()));
    let throttle = need!(Throttle::new());
    for device in [&first, &second] {
        need!(throttle.set(device.path(), Limit::ReadOperations(500)));
    }
    let _inside = need!(throttle.enter());
    let verify = |targets: &[&str], require: &str, time: &str| {
        let how = format!("--require {require} --time {time} --warm-up 1s --preflight 0 --silence IN-MEMORY");
        fathom_line(&format!("verify {} {how} --quiet --out json", targets.join(" ")))
    };
    let (first, second) = (text(first.path()), text(second.path()));
    let notes = |json: &Value| json["verdict"]["notes"].to_string();

    let json = verify(&[first], "iops>=800", "2s").expect(1, &[]).json();
    assert!(!notes(&json).contains("were in use"), "it is not an array: {json:#}");
    let both = verify(&[first, second], "iops>=800", "6s");
    let json = both.expect(0, &[]).json();
    assert_eq!(json["issued"]["targets"], 2, "{json:#}");
    // 800 are more than the limit of either device, and less than the sum of both limits.
    assert!(!both.out.contains("DEVICE-CACHE-HIT"), "{json:#}");
    assert!(!notes(&json).contains("were in use"), "{json:#}");
    let json = verify(&[first, second], "iops>=1500", "2s").expect(1, &[]).json();
    let found = json["verdict"]["clauses"][0]["value"].as_f64().unwrap();
    // More than the limit of one device. A busy machine might not issue all that both allow.
    assert!((600.0..=1050.0).contains(&found), "{found} of twice 500");
    assert!(notes(&json).contains("all 2 named targets were in use"), "{json:#}");

    fathom(&["verify", first, first, "--require", "iops>=1"]).expect(4, &["is named twice"]);
}
