//! Ctrl-C and Ctrl-Break end a run, which reports its measurements.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testbed::need;

use crate::calling::{PROGRAM, Ran};
use crate::environment::{diskspd, press_program};
use crate::sandbox::split_words;

/// The exit code of `press` if the system lacks a key. Wine 8 has no Ctrl-Break.
const NO_KEYS: i32 = 252;

/// Returns the milliseconds after which a run has certainly begun. Measures how slowly programs
/// start.
pub fn startup_ms() -> u128 {
    let start = Instant::now();
    crate::calling::fathom(&["--version"]).expect(0, &[]);
    3000 + 5 * start.elapsed().as_millis().min(5000)
}

/// Runs a program in a folder, and presses a key after a while. `None` if keys cannot be pressed
/// here.
fn run_and_press(key: &str, program: &Path, line: &str, folder: &Path) -> Option<Ran> {
    run_and_press_at(&startup_ms().to_string(), key, program, line, folder)
}

/// Runs a program, and presses a key at times in the format of `press`.
fn run_and_press_at(when: &str, key: &str, program: &Path, line: &str, folder: &Path) -> Option<Ran> {
    let mut command = Command::new(press_program()?);
    command.args([key, when]).arg(program).args(split_words(line));
    command.current_dir(folder).env("FATHOM_HISTORY", "off");
    let start = Instant::now();
    let ran = crate::calling::finish(&mut command);
    if ran.code == Some(NO_KEYS) {
        testbed::note(format!("this system cannot press {key}: {}", ran.err));
        return None;
    }
    assert!(start.elapsed() < Duration::from_secs(50), "{line}: {ran:#?}");
    Some(ran)
}

/// The keys, and the exit code of native commands: 128 plus the number of the equivalent signal.
const KEYS: [(&str, i32); 2] = [("c", 130), ("break", 143)];

#[test]
fn a_stopped_run_reports_its_results() {
    for (key, code) in KEYS {
        let line = "run --target null --warm-up 0 --time 1m";
        let press = |line: &str| run_and_press(key, Path::new(PROGRAM), line, Path::new("."));
        let Some(ran) = press(line) else { continue };
        ran.expect(code, &["INTERRUPTED", "IOPS"]);
        let Some(ran) = press(&format!("{line} --out json")) else {
            continue;
        };
        let json = ran.json();
        assert_eq!((ran.code, json["interrupted"].as_bool()), (Some(code), Some(true)));
        assert!(json["jobs"][0]["total"]["operations"].as_u64().unwrap() > 100);
    }
}

#[test]
fn an_interrupted_preparation_leaves_no_file() {
    // A named file, and a temporary file in a directory.
    for (target, file) in [("f.dat", "f.dat"), (".", "fathom-*.dat")] {
        for (key, code) in KEYS {
            let sandbox = diskspd();
            let line = format!("run --target {target} --size 2g --time 1s");
            let begun = format!("@{file}");
            let ran = run_and_press_at(&begun, key, Path::new(PROGRAM), &line, &sandbox.path());
            // Without working keys, `press` has killed the run.
            let Some(ran) = ran else { continue };
            ran.expect(code, &["files that were being prepared are removed"]);
            assert_eq!(sandbox.names(), Vec::<String>::new(), "{line}");
        }
    }
}

/// The report is not read, so the program waits forever after the first key.
#[test]
fn a_second_ctrl_c_ends_the_program_immediately() {
    let press = need!(press_program());
    let sandbox = diskspd();
    let job = |number: u32| {
        format!("[[job]]\nname = \"job{number}\"\ntarget = \"null\"\nrate = 20\ntime = \"10m\"\nwarm-up = \"0\"\n")
    };
    let jobs: String = (0..40).map(job).collect();
    std::fs::write(sandbox.path().join("jobs.toml"), jobs).unwrap();
    let [first, second] = [startup_ms(), startup_ms()];
    let mut command = Command::new(press);
    command
        .args(["c", &format!("{first},{second}"), PROGRAM])
        .args(["run", "jobs.toml", "--quiet", "--out", "json"])
        .current_dir(sandbox.path())
        .env("FATHOM_HISTORY", "off")
        .stdout(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    let code = child.wait().unwrap().code();
    let took = start.elapsed().as_millis();
    let ran = crate::calling::end(child);
    assert_eq!(code, Some(130), "{ran:#?}");
    let report: Result<serde_json::Value, _> = serde_json::from_str(&ran.out);
    assert!(
        took >= first + second && report.is_err(),
        "{took} ms: the program must wait with its report"
    );
}

#[test]
fn the_next_run_removes_only_the_files_of_a_killed_run() {
    let sandbox = diskspd();
    sandbox.file("fathom-1-0.dat", 4096);
    let run = |size: &str, time: &str| {
        let mut command = crate::calling::command(&["run", "--target", ".", "--size", size, "--time", time]);
        command.args(["--warm-up", "0"]).current_dir(sandbox.path());
        command
    };
    let child = crate::calling::spawn(&mut run("8m", "10m"));
    let prefix = format!("fathom-{}-", child.id());
    let start = Instant::now();
    let (own, path) = loop {
        let names = sandbox.names();
        let own = names.iter().find(|name| name.starts_with(&prefix));
        let path = own.map(|name| sandbox.path().join(name));
        if let (Some(own), Some(path)) = (own, path)
            && std::fs::metadata(&path).is_ok_and(|meta| meta.len() >= 8 << 20)
        {
            break (own.clone(), path);
        }
        assert!(start.elapsed() < Duration::from_secs(50), "{names:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    let message = "), a leftover of a killed run";
    let second = crate::calling::finish(&mut run("1m", "300ms"));
    second.expect(0, &["IOPS"]);
    assert!(
        path.exists() && !second.err.contains(message),
        "a live run keeps its file: {second:#?}"
    );
    crate::calling::kill(child);
    assert!(path.exists());
    crate::calling::finish(&mut run("1m", "300ms")).expect(0, &[&own, message]);
    assert_eq!(sandbox.names(), ["fathom-1-0.dat"]);
}

#[test]
fn an_interrupted_drop_in_of_diskspd_prints_its_report() {
    const INTERRUPTED: &str = "\n*** Interrupted by Ctrl-C. Stopping I/O Request Generator. ***\n";
    for (key, _) in KEYS {
        let sandbox = diskspd();
        sandbox.file("f", 1 << 20);
        let press = |line: &str| {
            let ran = run_and_press(key, &sandbox.program(), line, &sandbox.path())?;
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{line}: {ran:#?}");
            Some(crate::sandbox::plain(ran))
        };
        let Some(ran) = press("-d60 -W0 -r -b4k -L f") else {
            continue;
        };
        assert!(
            ran.out.starts_with(&format!("{INTERRUPTED}\nCommand Line: ")),
            "{}",
            ran.out
        );
        ran.expect(0, &["\nTotal latency distribution:\n"]);
        let Some(ran) = press("-Rxml -d60 -W0 -r -b4k f") else {
            continue;
        };
        assert!(ran.out.starts_with(&format!("{INTERRUPTED}<Results>\n")), "{}", ran.out);
        assert!(ran.out.contains("<IOCount>") && ran.out.ends_with("\n</Results>"));
        // The measurement has not begun.
        let Some(ran) = press("-d60 -W60 f") else { continue };
        let nothing = "The test was interrupted before the measurements began. No results are displayed.\n";
        assert!(ran.out.ends_with(nothing), "{}", ran.out);
    }
}

/// As in scripts, a run waits until another process sets an event.
#[test]
fn named_events_start_and_stop_runs() {
    let sandbox = diskspd();
    sandbox.file("f", 1 << 20);
    let [go, stop] = ["go", "stop"].map(|what| format!("fathom-{}-{what}", std::process::id()));
    let missing = sandbox.line(&format!("-ye{go} -d1 f"));
    assert_eq!(missing.code, Some(1));
    assert_eq!(missing.err, format!("Error opening event '{go}'\n"));
    let mut waiting = sandbox.start(&format!("-yr{go} -yp{stop} -d60 -W0 f"));
    std::thread::sleep(Duration::from_millis(startup_ms() as u64));
    assert!(waiting.try_wait().unwrap().is_none(), "the run waits");
    for event in [&go, &stop] {
        let set = sandbox.line(&format!("-ye{event}"));
        set.expect(1, &[&format!("Succesfully set event: '{event}'\nNow exiting...\n")]);
        std::thread::sleep(Duration::from_millis(3000));
    }
    let ran = crate::sandbox::plain(crate::calling::end(waiting));
    ran.succeeds_silently();
    assert!(
        ran.out.starts_with("\nCommand Line:") && ran.out.contains("actual test time:"),
        "{ran:#?}"
    );
}
