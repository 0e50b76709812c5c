//! Verdicts where a real device is throttled or shared, and where other programs keep the processors busy.
//!
//! Other programs run beside these tests. Where such programs may have had a part in what was missed, a FAIL may
//! become INCONCLUSIVE because of others; no disturbance may turn a verdict into the opposite one.

use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use testbed::{Directory, Limit, LoopDevice, LoopOptions, Throttle, need};

use crate::calling::{PROGRAM, finish, text};

/// One such test at a time: they would disturb each other.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program that runs beside a test until this is dropped.
struct Beside(Child);

impl Beside {
    fn start(command: &mut Command) -> Beside {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Beside(quiet.spawn().expect("the program exists"))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It may have ended by itself, and has no more to say.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A device of 64 MiB bypassing the page cache, and a control group that lets `reads` a second through.
fn throttled_device(reads: u64) -> Option<(LoopDevice, Throttle)> {
    let options = LoopOptions {
        direct_io: true,
        ..LoopOptions::default()
    };
    let device = need(LoopDevice::of_size(64 << 20, options))?;
    let throttle = need(Throttle::new())?;
    need(throttle.set(device.path(), Limit::ReadOperations(reads)))?;
    Some((device, throttle))
}

/// Verifies a rate at a fixed depth, without a look at others first.
fn verify_rate(device: &LoopDevice, iops: u32, seconds: u32) -> (Option<i32>, Value) {
    verify(&[PROGRAM], device, &format!("iops>={iops}"), seconds)
}

/// Verifies any requirement. `program` is what starts `fathom`, its own path included.
fn verify(program: &[&str], device: &LoopDevice, require: &str, seconds: u32) -> (Option<i32>, Value) {
    let time = format!("{seconds}s");
    let load = ["verify", text(device.path()), "--require", require, "--time", &time];
    let shape = ["--depth", "32", "--warm-up", "1s", "--preflight", "0"];
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
    assert_eq!(
        (code, &clause["outcome"], &clause["cause"]),
        (Some(2), &"inconclusive".into(), &"others".into()),
        "{json:#}"
    );
    clause["reason"].as_str().expect("a clause has a reason")
}

#[test]
fn a_cap_that_is_lowered_halfway_fails_with_the_change() {
    let _turn = turn();
    let Some((device, throttle)) = throttled_device(2000) else {
        return;
    };
    let Some(inside) = need(throttle.enter()) else { return };
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
    assert!((400.0..=520.0).contains(&low), "{reason}");
}

#[test]
fn a_second_program_on_the_same_disk_is_named() {
    let _turn = turn();
    let Some((device, throttle)) = throttled_device(2000) else {
        return;
    };
    let Some(folder) = need(Directory::new()) else { return };
    let Some(_inside) = need(throttle.enter()) else { return };
    // The kernel calls a program by the name it was started with.
    let hammer = folder.path().join("hammer");
    symlink(PROGRAM, &hammer).unwrap();
    let load = ["run", "--target", text(device.path()), "--block", "64k"];
    let shape = ["--depth", "64", "--time", "60s", "--warm-up", "0s"];
    let mut beside = Command::new(&hammer);
    let _beside = Beside::start(beside.args(load).args(shape).env("FATHOM_HISTORY", "off"));
    thread::sleep(Duration::from_secs(1));
    let (code, json) = verify_rate(&device, 1500, 8);
    let reason = reason_of_others(code, &json);
    assert!(reason.contains("other programs moved"), "{reason}");
    assert!(reason.contains("hammer"), "{reason}");
}

#[test]
fn processors_that_other_programs_keep_busy_are_theirs() {
    let _turn = turn();
    let options = LoopOptions {
        direct_io: true,
        ..LoopOptions::default()
    };
    let Some(device) = need(LoopDevice::of_size(64 << 20, options)) else {
        return;
    };
    let Some(folder) = need(Directory::new()) else { return };
    let spin = folder.path().join("spin");
    symlink("/bin/sh", &spin).unwrap();
    let processors = thread::available_parallelism().unwrap().get();
    let loops: Vec<Beside> = (0..processors)
        .map(|_| Beside::start(Command::new(&spin).args(["-c", "while :; do :; done"])))
        .collect();
    // The idle scheduling class waits for the loops at any niceness of the tests. Between two waits the program may
    // catch up with the rate, but never with the latency.
    let require = "iops>=4000, p95<=2ms";
    let (code, json) = verify(&["chrt", "--idle", "0", PROGRAM], &device, require, 6);
    drop(loops);
    let reason = reason_of_others(code, &json);
    assert!(reason.contains("other programs used"), "{reason}");
    assert!(reason.contains("spin "), "{reason}");
    let diagnosis = &json["diagnoses"][0]["diagnosis"];
    let sentence = diagnosis["sentence"].as_str().unwrap();
    if diagnosis["answer"] == "processor" {
        assert!(sentence.contains("other programs used"), "{diagnosis:#}");
    }
    assert!(
        !sentence.contains("every processor of this machine was full"),
        "{diagnosis:#}"
    );
}
