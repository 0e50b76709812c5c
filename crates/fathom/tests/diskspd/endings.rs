//! Runs that are interrupted, refused or controlled by events, and runs that fail.

use testbed::LoopFs;

use crate::calling::{faulty_fs, secret_file, wait_until};
use crate::diskspd::support::{
    NOT_MEASURED, RUN_FAILED, Sandbox, THREADS_FAILED, check_failed, diskspd_lines, split_words,
};
use crate::prelude::*;
use crate::sandbox::small_fs;

const MIB: u64 = 1 << 20;
const EIO: i32 = 5;
const CTRL_C: &str = "\n*** Interrupted by Ctrl-C. Stopping I/O Request Generator. ***\n";

/// Runs a line and presses Ctrl-C after a while.
fn run_interrupted(sandbox: &Sandbox, line: &str, after: Duration) -> Ran {
    let child = sandbox.start(line);
    std::thread::sleep(after);
    signal(&child, "INT");
    let pressed = Instant::now();
    let ran = end(child);
    assert!(pressed.elapsed() < Duration::from_secs(5), "{line}");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{line}: {ran:#?}");
    ran
}

/// Checks a line that must fail soon with this message of a thread.
#[track_caller]
fn fail_thread(sandbox: &Sandbox, line: &str, message: &str) -> Ran {
    check_failed(sandbox, line, &[message, THREADS_FAILED])
}

/// The seconds in the line with this label.
fn test_time(out: &str, label: &str) -> f64 {
    let time = out
        .lines()
        .find_map(|line| line.strip_prefix(label)?.strip_prefix(":\t"));
    let time = time.expect("a line with the test time");
    time.trim_end_matches('s').parse().unwrap()
}

#[test]
fn ctrl_c_ends_the_run_with_a_report() {
    let sandbox = Sandbox::with_file(1 << 20);
    let second = Duration::from_secs(1);
    let ran = run_interrupted(&sandbox, "-d60 -W0 -r -b4k -L f", second);
    assert!(ran.out.starts_with(&format!("{CTRL_C}\nCommand Line: ")), "{}", ran.out);
    let measured = test_time(&ran.out, "actual test time");
    assert!((0.3..5.0).contains(&measured), "{measured}");
    ran.expect(0, &["\nTotal latency distribution:\n"]);

    let ran = run_interrupted(&sandbox, "-Rxml -d60 -W0 -r -b4k f", second);
    assert!(ran.out.starts_with(&format!("{CTRL_C}<Results>\n")), "{}", ran.out);
    assert!(ran.out.contains("<IOCount>") && ran.out.ends_with("\n</Results>"));

    // Nothing was measured yet.
    let ran = run_interrupted(&sandbox, "-d60 -W60 f", second);
    assert!(
        ran.out.starts_with(CTRL_C) && ran.out.ends_with(&format!("***\n{NOT_MEASURED}")),
        "{}",
        ran.out
    );
    let ran = run_interrupted(&sandbox, "-Rxml -d60 -W60 f", second);
    let error = NOT_MEASURED.trim_end();
    let error = format!("  <TimeSpan>\n    <Error>{error}</Error>\n  </TimeSpan>\n</Results>");
    assert!(ran.out.ends_with(&error), "{}", ran.out);

    // The measured window was complete.
    let ran = run_interrupted(&sandbox, "-d1 -W0 -C60 f", 2 * second);
    assert!(ran.out.starts_with(CTRL_C), "{}", ran.out);
    let measured = test_time(&ran.out, "actual test time");
    assert!((0.9..1.9).contains(&measured), "{measured}");
}

#[test]
fn ctrl_c_during_the_creation_of_a_file_leaves_no_file() {
    let sandbox = need!(Sandbox::on_disk());
    let child = sandbox.start("-c8G -d60 big.dat");
    wait_until(60, || !sandbox.names().is_empty(), "the file does not appear");
    signal(&child, "INT");
    let ran = end(child);
    let out = &ran.exits(0).out;
    assert!(out.starts_with(CTRL_C) && out.ends_with(NOT_MEASURED), "{out}");
    assert_eq!(sandbox.names(), Vec::<String>::new());
}

/// Writes a profile of time spans, each with its warm-up and duration.
fn write_profile(sandbox: &Sandbox, spans: &[(u32, u32)]) {
    let span = |(warm_up, duration): &(u32, u32)| {
        format!(
            "<TimeSpan><Duration>{duration}</Duration><Warmup>{warm_up}</Warmup><Targets><Target><Path>f</Path></Target>\
             </Targets></TimeSpan>"
        )
    };
    let spans: String = spans.iter().map(span).collect();
    let text = format!("<Profile><TimeSpans>{spans}</TimeSpans></Profile>");
    fs::write(sandbox.path().join("spans.xml"), text).unwrap();
}

#[test]
fn later_time_spans_are_interrupted_too() {
    let sandbox = Sandbox::with_file(1 << 20);
    write_profile(&sandbox, &[(0, 1), (0, 60), (1, 60)]);
    let ran = run_interrupted(&sandbox, "-Xspans.xml", Duration::from_secs(2));
    let stars = "*".repeat(79);
    let third = format!("\nResults for timespan 3:\n{stars}\n{NOT_MEASURED}\n\nTotals:\n");
    ran.exits(0)
        .prints(&["\nResults for timespan 1:\n", "\nResults for timespan 2:\n", &third]);
    assert_eq!(ran.out.matches("actual test time:").count(), 2);
    let total = test_time(&ran.out, "total test time");
    assert!((1.3..6.0).contains(&total), "{total}");
}

/// Every time span appears in the report, even if it did not run.
#[test]
fn time_spans_after_a_failure_are_reported() {
    let faulty = need!(faulty_fs());
    let sandbox = Sandbox::with_file(1 << 20);
    write_profile(&sandbox, &[(0, 1); 3]);
    let profile = fs::read_to_string(sandbox.path().join("spans.xml")).unwrap();
    let check_spans = |line: &str, expected: [bool; 3]| {
        let ran = sandbox.line(line);
        let out = &ran.exits(1).out;
        out.assert_contains(&["\n\nTotals:\n"]);
        let parts = out.split("\nResults for timespan ").skip(1);
        let measured: Vec<bool> = parts.map(|part| !part.contains(NOT_MEASURED)).collect();
        assert_eq!(measured, expected, "{line}: {out}");
        ran
    };
    // The second time span reads from a failing file.
    let (first, others) = profile.split_once("</TimeSpan>").unwrap();
    let others = others.replacen("<Path>f<", &format!("<Path>{}<", text(faulty.file())), 1);
    faulty.fail_reads(0..16 * MIB, EIO);
    let spans = sandbox.path().join("spans.xml");
    fs::write(&spans, format!("{first}</TimeSpan>{others}")).unwrap();
    let ran = check_spans("-Xspans.xml", [true, false, false]);
    assert_eq!(diskspd_lines(&ran.err).last(), Some(&RUN_FAILED), "{ran:#?}");
    // No time span can begin.
    fs::write(&spans, profile.replace("<Path>f<", "<Path>missing<")).unwrap();
    check_spans("-Xspans.xml", [false; 3]);
    check_spans("-Xspans.xml -d0", [false; 3]);
}

#[test]
fn a_second_ctrl_c_kills_the_run() {
    let faulty = need!(faulty_fs());
    let sandbox = Sandbox::new();
    faulty.hang();
    let mut child = sandbox.start(&format!("-d60 -W0 -b4k -Sh {}", text(faulty.file())));
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(700));
    if child.try_wait().unwrap().is_none() {
        signal(&child, "INT");
        faulty.release();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130));
    }
}

#[test]
fn targets_that_cannot_be_used_are_reported() {
    let sandbox = Sandbox::with_file(1 << 20);
    fs::write(sandbox.path().join("empty"), "").unwrap();
    fs::create_dir(sandbox.path().join("folder")).unwrap();
    let opening = |path: &str, code: i32| format!("Error opening file: {path} [{code}]");
    let before = sandbox.names();
    fail_thread(&sandbox, "-d60 missing", &opening("missing", 2)).expect(1, &["hint: ", "-c1G"]);
    fail_thread(&sandbox, "-Rxml -d60 missing", &opening("missing", 2));
    fail_thread(&sandbox, "-d60 f missing", &opening("missing", 2));
    fail_thread(&sandbox, "-d60 folder", &opening("folder", 21));
    fail_thread(&sandbox, "-d60 /dev/null", &opening("/dev/null", 15));
    fail_thread(&sandbox, "-d60 #1", &opening("#1", 2)).expect(1, &["hint: ", "/dev/"]);
    fail_thread(&sandbox, "-d60 d:", &opening("d:", 2)).expect(1, &["hint: ", "/dev/"]);
    fail_thread(&sandbox, "-d60 empty", "ERROR: target size could not be determined");
    let creating = "Could not create the file (error code: 2)";
    check_failed(&sandbox, "-d60 -c1M no/such/file", &[creating]).expect(1, &["hint: ", "directory"]);
    let creating = "Could not create the file (error code: 21)";
    check_failed(&sandbox, "-d60 -c1M folder", &[creating]);
    let small = "The file is too small. File: 'f' relative thread 2: file size: 1048576, base offset: 0, thread stride: 524288, \
                 block size: 65536";
    fail_thread(&sandbox, "-d60 -t3 -T512K f", small);
    assert_eq!(sandbox.names(), before, "no file was created");
    assert_eq!(fs::read(sandbox.path().join("f")).unwrap().len(), 1 << 20);
}

#[test]
fn invalid_values_are_refused() {
    let sandbox = need!(Sandbox::on_disk());
    sandbox.file("f", 1 << 20);
    let refused = |line: &str, message: &str| {
        let ran = sandbox.line(line);
        assert_eq!(ran.code, Some(3), "{line}");
        assert_eq!(diskspd_lines(&ran.err)[0], format!("ERROR: {message}"), "{line}");
        assert_eq!(ran.out.as_str(), "", "{line}");
    };
    refused(
        "-w101 f",
        "write ratio passed to -w must be between 0 and 100 (percent)",
    );
    refused("-o0 f", "incorrectly provided option: '-o0'");
    refused("-d-1 f", "invalid measured duration time (-d): '-1'");
    refused(
        "-B2M -f1M f",
        "maximum (-f) target offset must be greater than base (-B)",
    );
    refused("-b4294967295 f", "invalid block size passed to -b");
    let read = "t[0] error during read error code: 22)";
    fail_thread(&sandbox, "-d60 -b1000 -Sh f", read).expect(1, &["hint: ", "multiple of"]);
    let write = "t[0] error during write error code: 22)";
    fail_thread(&sandbox, "-d60 -b1000 -w100 -Su f", write);
    for (line, message) in [
        (
            "-d0 f",
            "ERROR: a measured duration of 0 seconds (-d0) measures nothing",
        ),
        ("-b0 f", "ERROR: a block size of 0 bytes (-b0) transfers nothing"),
    ] {
        check_failed(&sandbox, line, &[message]);
    }
    // If huge pages are available, the run succeeds.
    if sandbox.line("-d1 -W0 -l f").code != Some(0) {
        let message = "ERROR: Could not allocate a buffer for target 'f'. Error code: 0xc";
        fail_thread(&sandbox, "-d60 -l f", message).expect(1, &["hint: ", "huge pages"]);
    }
    let local = "Failed to disable local caching (error 95). NOTE: only supported on remote filesystems with Windows 8 or newer.";
    fail_thread(&sandbox, "-d60 -Sr f", local);
    let ran = check_failed(&sandbox, "-d60 -w100 -Z1M,nothing f", &[THREADS_FAILED]);
    let unable = "\n\nERROR: Unable to open entropy file 'nothing'\n\n";
    assert!(ran.out.starts_with(unable), "{}", ran.out);
}

#[test]
fn a_maximum_offset_beyond_the_file_is_reported() {
    let sandbox = Sandbox::with_file(1 << 20);
    for line in ["-d1 -W0 -f2M f", "-d1 -W0 -B512K:1536K f"] {
        let ran = sandbox.line(line);
        let warning = "WARNING: file size 1048576 is less than MaxFileSize 2097152\n";
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), warning), "{line}");
    }
    sandbox.line("-d1 -W0 -f1M f").succeeds_silently();
}

#[test]
fn a_missing_permission_to_open_is_reported() {
    let folder = need!(Directory::fast());
    let secret = secret_file(folder.path());
    let other_user = need!(testbed::as_other_user(PROGRAM, folder.path(), "diskspd", "-?"));
    let run_as_other = |line: &str| finish(&mut other_user(&split_words(line)));
    let file = text(&secret);
    let opening = format!("Error opening file: {file} [13]");
    let ran = run_as_other(&format!("-d60 {file}"));
    assert_eq!(
        diskspd_lines(&ran.exits(1).err),
        [&*opening, THREADS_FAILED, RUN_FAILED]
    );
    let new = folder.path().join("new");
    let ran = run_as_other(&format!("-d60 -c1M {}", text(&new)));
    let creating = "Could not create the file (error code: 13)";
    assert_eq!(diskspd_lines(&ran.exits(1).err), [creating, RUN_FAILED]);
    assert!(!new.exists());
}

#[test]
fn a_full_disk_fails_the_run() {
    let small = need!(small_fs());
    let sandbox = Sandbox::new();
    let path = small.path().join("f");
    let file = text(&path);
    // Reported before anything is written, as if the length of the file were set first.
    let full = "Error setting end of file (error code: 28)";
    check_failed(&sandbox, &format!("-d60 -c64M {file}"), &[full]).expect(1, &["hint: "]);
    check_failed(&sandbox, &format!("-Rxml -d60 -c64M {file}"), &[full]);
    assert!(calling::names(small.path()).is_empty(), "no partial file is left");
    // A sparse file that is larger than the file system.
    fs::File::create(&path).unwrap().set_len(64 * MIB).unwrap();
    let write = "t[0] error during write error code: 28)";
    fail_thread(&sandbox, &format!("-d60 -W0 -w100 -o1 {file}"), write);
}

/// Native runs keep some space free for others, but DiskSpd mode does not.
#[test]
fn a_file_may_fill_the_disk_almost_completely() {
    let small = need!(small_fs());
    let path = small.path().join("f");
    let line = format!("-d1 -W0 -c15M {}", text(&path));
    Sandbox::new().line(&line).succeeds_silently();
}

#[test]
fn errors_of_a_file_system_end_the_run_at_once() {
    let faulty = need!(faulty_fs());
    let sandbox = Sandbox::new();
    let file = text(faulty.file());
    faulty.fail_reads(8 * MIB..8 * MIB + 4096, EIO);
    let read = "t[0] error during read error code: 5)";
    fail_thread(&sandbox, &format!("-d60 -W0 -b4K -o1 {file}"), read).expect(1, &["hint: ", "dmesg"]);
    fail_thread(&sandbox, &format!("-d60 -W60 -b4K -o1 -L -D {file}"), read);
    fail_thread(&sandbox, &format!("-Rxml -d60 -W0 -b4K -o1 {file}"), read);
    // Any of the requests may fail first.
    let ran = sandbox.line(&format!("-d60 -W0 -b4K -r -o4 -t2 {file}"));
    let lines = diskspd_lines(&ran.exits(1).err);
    let error = "] error during read error code: 5)";
    assert!(lines[0].starts_with("t[") && lines[0].ends_with(error), "{lines:?}");
    assert_eq!(lines[lines.len() - 2..], [THREADS_FAILED, RUN_FAILED]);
    let routine = "Thread 0 failed executing an I/O operation (error code: 5)";
    fail_thread(&sandbox, &format!("-d60 -W0 -b4K -o4 -x {file}"), routine);
    faulty.clear();
    faulty.fail_writes(0..16 * MIB, EIO);
    let write = "t[0] error during write error code: 5)";
    fail_thread(&sandbox, &format!("-d60 -W0 -w100 -b4K -o1 -Sh {file}"), write);
}

#[test]
fn errors_of_a_device_end_the_run_and_are_in_the_saved_result() {
    let (folder, device) = need!(calling::device_that_ends());
    let sandbox = Sandbox::new();
    let line = format!("-d60 -W0 -b64K -o1 {}", text(device.path()));
    let ran = fail_thread(&sandbox, &line, "t[0] error during read error code: 5)");
    // The first hint states the position, which DiskSpd does not print; the second, the remedy.
    let hints: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("hint: ")).collect();
    let [position, remedy] = hints[..] else {
        panic!("{hints:#?}")
    };
    position.assert_contains(&[&format!("{}, ", text(device.path())), "offset 8388608"]);
    remedy.assert_contains(&["dmesg"]);
    let saved = folder.path().join("saved");
    let ran = finish(sandbox.command(&split_words(&line)).env("FATHOM_RESULT", &saved));
    assert_eq!(ran.code, Some(1));
    // 8 MiB in blocks of 64 KiB precede the error. The report has no figures, like DiskSpd's.
    assert_eq!(archive::load(&saved).unwrap().steps[0].jobs[0].total().operations, 128);
    assert!(ran.out.ends_with(NOT_MEASURED));
}

#[test]
fn devices_in_use_are_refused_and_blank_ones_are_not() {
    let mounted = need!(LoopFs::ext4(32 * MIB));
    let sandbox = Sandbox::new();
    let device = text(mounted.device().path());
    for options in ["-w100 -d60", "-w1 -c1M -d60"] {
        let ran = sandbox.line(&format!("{options} {device}"));
        let lines: Vec<&str> = ran.exits(1).err.lines().collect();
        assert_eq!((lines.len(), lines[1]), (2, RUN_FAILED), "{lines:?}");
        lines[0].assert_contains(&[device, "is mounted at"]);
    }
    // FATHOM_ALLOW_DESTROY does not help.
    let line = format!("-w100 -d60 {device}");
    finish(sandbox.command(&split_words(&line)).env("FATHOM_ALLOW_DESTROY", device)).expect(1, &["is mounted at"]);
    // Reading is allowed.
    sandbox.line(&format!("-d1 -W0 {device}")).expect(0, &[]);

    let blank = need!(loop_device(16));
    let ran = sandbox.line(&format!("-w100 -d1 -W0 -Sh -b64K -o4 {}", text(blank.path())));
    let sized = format!("{} (16MiB)", text(blank.path()));
    ran.succeeds_silently().out.assert_contains(&[&sized]);
    // A device with a file system needs FATHOM_ALLOW_DESTROY.
    drop(mounted);
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-F", text(blank.path())])
        .status();
    if !made.is_ok_and(|made| made.success()) {
        return testbed::skip("mkfs.ext4 is not installed");
    }
    let line = format!("-w100 -d1 -W0 -Sh -b64K {}", text(blank.path()));
    let ran = sandbox.line(&line);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 2), "{ran:#?}");
    ran.expect(1, &["ext4", "FATHOM_ALLOW_DESTROY"]);
    let mut command = sandbox.command(&split_words(&line));
    finish(command.env("FATHOM_ALLOW_DESTROY", blank.path())).succeeds_silently();
}

#[test]
fn results_and_notes_are_written_on_request() {
    let sandbox = Sandbox::with_file(1 << 20);
    let (saved, line) = (sandbox.path().join("saved"), "-d1 -W0 -r -b4K -ft f");
    let mut command = sandbox.command(&split_words(line));
    let ran = finish(command.env("FATHOM_RESULT", &saved).env("FATHOM_NOTES", "1"));
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("note: -ft has no effect"), "{}", ran.err);
    assert!(ran.err.lines().all(|line| line.starts_with("note: ")), "{}", ran.err);
    let results = archive::load(&saved).unwrap();
    assert_eq!(results.plan.origin.arguments[1..], split_words(line));
    let operations = results.steps[0].jobs[0].total().operations;
    ran.out.assert_contains(&[&format!("| {operations:>12} |")]);
    assert_eq!(sandbox.names(), ["f", "saved"]);
    // Without the variables, there is neither a result nor a note.
    fs::remove_file(&saved).unwrap();
    sandbox.line(line).succeeds_silently();
    assert_eq!(sandbox.names(), ["f"]);
    // The run fails if it cannot save a requested result.
    let missing = sandbox.path().join("no/such/place");
    let ran = finish(sandbox.command(&split_words(line)).env("FATHOM_RESULT", &missing));
    ran.expect(1, &["ERROR: FATHOM_RESULT: ", "No such file"]);
    // It is reported before anything is measured.
    ran.out.assert_lacks(&["Total IO"]);
    let ran = finish(sandbox.command(&split_words(line)).env("FATHOM_DISKSPD_TEXT", "2.1"));
    ran.expect(3, &["ERROR: invalid value `2.1` of FATHOM_DISKSPD_TEXT"]);
}

#[test]
fn a_report_that_cannot_be_written_is_a_failure() {
    let sandbox = Sandbox::with_file(1 << 20);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = sandbox.command(&split_words("-d1 -W0 f"));
    let child = command.stdout(full).stderr(Stdio::piped()).spawn();
    end(child.unwrap()).expect(1, &["cannot write to standard output: ", "No space left on device"]);
}

/// The name of an event that no other test uses.
fn unique_event(name: &str) -> String {
    format!("Global\\fathom-{}-{name}", std::process::id())
}

fn set_event(sandbox: &Sandbox, event: &str) {
    let ran = sandbox.line(&format!("-ye{event}"));
    assert_eq!(
        ran.exits(1).out,
        format!("Succesfully set event: '{event}'\nNow exiting...\n")
    );
    assert_eq!(ran.err, "");
}

/// Checks that no process has an event open.
#[track_caller]
fn assert_event_is_gone(sandbox: &Sandbox, event: &str) {
    let ran = sandbox.line(&format!("-ye{event}"));
    assert_eq!(ran.err, format!("Error opening event '{event}'\n"));
}

#[test]
fn a_missing_event_cannot_be_set() {
    let event = unique_event("missing");
    let ran = Sandbox::new().line(&format!("-ye{event} -d1 f"));
    assert_eq!(ran.code, Some(1));
    assert_eq!(ran.err, format!("Error opening event '{event}'\n"));
    assert_eq!(ran.out, "");
}

#[test]
fn a_run_waits_for_an_event_and_stops_at_another() {
    let sandbox = Sandbox::with_file(1 << 20);
    let (go, stop) = (unique_event("go"), unique_event("stop"));
    let mut child = sandbox.start(&format!("-yr{go} -yp{stop} -d60 -W0 f"));
    std::thread::sleep(Duration::from_millis(1200));
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    set_event(&sandbox, &go);
    std::thread::sleep(Duration::from_millis(1000));
    assert!(child.try_wait().unwrap().is_none(), "it runs");
    set_event(&sandbox, &stop);
    let stopped = Instant::now();
    let ran = end(child);
    assert!(stopped.elapsed() < Duration::from_secs(5));
    ran.succeeds_silently();
    // Without Ctrl-C, nothing may precede the report.
    assert!(ran.out.starts_with("\nCommand Line:"), "{}", ran.out);
    // The wait is not part of the measured time.
    let measured = test_time(&ran.out, "actual test time");
    assert!((0.3..3.0).contains(&measured), "{measured}");
    // The events ended with the process.
    assert_event_is_gone(&sandbox, &go);
}

/// The second run measures while the first does; the third begins after that.
#[test]
fn runs_follow_the_phases_of_another() {
    let sandbox = Sandbox::with_file(1 << 20);
    let (start, finish) = (unique_event("start"), unique_event("finish"));
    let third = sandbox.start(&format!("-yr{finish} -d1 -W0 f"));
    let second = sandbox.start(&format!("-yr{start} -d60 -W0 -yp{finish} f"));
    std::thread::sleep(Duration::from_millis(700));
    let began = Instant::now();
    let first = sandbox.start(&format!("-ys{start} -yf{finish} -d2 -W1 -C1 f"));
    // The second run measures for as long as the first.
    let ran = end(second);
    assert!(began.elapsed() > Duration::from_millis(2900), "{:?}", began.elapsed());
    let measured = test_time(&ran.out, "actual test time");
    assert!((1.5..3.5).contains(&measured), "{measured}");
    end(first).expect(0, &["actual test time:\t2."]);
    end(third).expect(0, &["actual test time:\t1."]);
}

/// Windows keeps an event as long as any process has it open.
#[test]
fn an_event_outlives_its_creator_while_others_wait() {
    let sandbox = Sandbox::with_file(1 << 20);
    let go = unique_event("handed-on");
    let creator = sandbox.start(&format!("-yr{go} -d60 -W0 f"));
    std::thread::sleep(Duration::from_millis(700));
    let waiting = sandbox.start(&format!("-yr{go} -d1 -W0 f"));
    std::thread::sleep(Duration::from_millis(700));
    signal(&creator, "INT");
    end(creator).expect(0, &[]);
    set_event(&sandbox, &go);
    end(waiting).expect(0, &["actual test time:\t1."]);
    assert_event_is_gone(&sandbox, &go);
}

/// An event ends with the last process that has it open, even a killed one.
#[test]
fn a_killed_run_leaves_no_event_behind() {
    let sandbox = Sandbox::with_file(1 << 20);
    let go = unique_event("killed");
    let child = sandbox.start(&format!("-yr{go} -d60 -W0 f"));
    std::thread::sleep(Duration::from_millis(700));
    set_event(&sandbox, &go);
    kill(child);
    assert_event_is_gone(&sandbox, &go);
    let mut again = sandbox.start(&format!("-yr{go} -d60 -W60 f"));
    std::thread::sleep(Duration::from_millis(700));
    assert!(again.try_wait().unwrap().is_none());
    signal(&again, "INT");
    // Nothing was measured, because the run was still waiting.
    let ran = end(again);
    assert!(ran.out.ends_with(NOT_MEASURED), "{}", ran.out);
}

#[test]
fn only_the_targets_are_created() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.line("-c1M -d1 -W0 -w50 -r -b4K a.dat b.dat").code, Some(0));
    assert_eq!(sandbox.names(), ["a.dat", "b.dat"]);
    let size = |name: &str| fs::metadata(sandbox.path().join(name)).unwrap().len();
    assert_eq!((size("a.dat"), size("b.dat")), (MIB, MIB));
    assert!(Path::new(&sandbox.path()).is_dir());
}
