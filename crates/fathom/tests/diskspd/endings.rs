//! How a run ends when it does not end by itself: interrupted, refused, failed, signalled.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testbed::{Directory, FaultFs, LoopDevice, LoopFs, LoopOptions, TmpFs, need};

use crate::calling::{self, PROGRAM, Ran, end, text};
use crate::diskspd::support::{NOTHING, OF_RUN, OF_THREADS, Place, check_failed, theirs, words};

const MIB: u64 = 1 << 20;
const EIO: i32 = 5;
const CTRL_C: &str = "\n*** Interrupted by Ctrl-C. Stopping I/O Request Generator. ***\n";

fn interrupt(child: &Child) {
    let sent = Command::new("kill")
        .args(["-s", "INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Presses Ctrl-C after a while.
fn interrupted(place: &Place, line: &str, after: Duration) -> Ran {
    let child = place.start(line);
    std::thread::sleep(after);
    interrupt(&child);
    let pressed = Instant::now();
    let ran = end(child);
    assert!(pressed.elapsed() < Duration::from_secs(5), "{line}");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{line}: {ran:#?}");
    ran
}

/// The seconds in the line about the test time.
fn test_time(out: &str, label: &str) -> f64 {
    let line = out
        .lines()
        .find(|line| line.starts_with(label))
        .expect("it was measured");
    line[label.len()..]
        .trim_start_matches(":\t")
        .trim_end_matches('s')
        .parse()
        .unwrap()
}

#[test]
fn ctrl_c_ends_the_measuring_and_what_was_measured_is_reported() {
    let place = Place::new();
    place.file("f", 1 << 20);
    let second = Duration::from_secs(1);
    let ran = interrupted(&place, "-d60 -W0 -r -b4k -L f", second);
    assert!(ran.out.starts_with(&format!("{CTRL_C}\nCommand Line: ")), "{}", ran.out);
    let measured = test_time(&ran.out, "actual test time");
    assert!((0.3..5.0).contains(&measured), "{measured}");
    ran.expect(0, &["\nTotal latency distribution:\n"]);

    let ran = interrupted(&place, "-Rxml -d60 -W0 -r -b4k f", second);
    assert!(ran.out.starts_with(&format!("{CTRL_C}<Results>\n")), "{}", ran.out);
    assert!(ran.out.contains("<IOCount>") && ran.out.ends_with("\n</Results>"));

    // Nothing was measured yet.
    let ran = interrupted(&place, "-d60 -W60 f", second);
    assert!(
        ran.out.starts_with(CTRL_C) && ran.out.ends_with(&format!("***\n{NOTHING}")),
        "{}",
        ran.out
    );
    let ran = interrupted(&place, "-Rxml -d60 -W60 f", second);
    let error = format!(
        "  <TimeSpan>\n    <Error>{}</Error>\n  </TimeSpan>\n</Results>",
        NOTHING.trim_end()
    );
    assert!(ran.out.ends_with(&error), "{}", ran.out);

    // All was measured.
    let ran = interrupted(&place, "-d1 -W0 -C60 f", 2 * second);
    assert!(ran.out.starts_with(CTRL_C), "{}", ran.out);
    assert!(
        (0.9..1.9).contains(&test_time(&ran.out, "actual test time")),
        "{}",
        ran.out
    );
}

#[test]
fn ctrl_c_ends_the_making_of_a_file_and_leaves_no_part_of_it() {
    let Some(place) = need(Place::on_disk()) else { return };
    let child = place.start("-c8G -d60 big.dat");
    let began = Instant::now();
    while place.names().is_empty() && began.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(5));
    }
    interrupt(&child);
    let ran = end(child);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.out.starts_with(CTRL_C) && ran.out.ends_with(NOTHING), "{ran:#?}");
    assert_eq!(place.names(), Vec::<String>::new());
}

/// A profile of time spans, each with its warm-up and duration.
fn profile(place: &Place, spans: &[(u32, u32)]) {
    let span = |(warm_up, duration): &(u32, u32)| {
        format!(
            "<TimeSpan><Duration>{duration}</Duration><Warmup>{warm_up}</Warmup><Targets><Target><Path>f</Path></Target>\
             </Targets></TimeSpan>"
        )
    };
    let spans: String = spans.iter().map(span).collect();
    let text = format!("<Profile><TimeSpans>{spans}</TimeSpans></Profile>");
    fs::write(place.path().join("spans.xml"), text).unwrap();
}

#[test]
fn later_time_spans_are_interrupted_too() {
    let place = Place::new();
    place.file("f", 1 << 20);
    profile(&place, &[(0, 1), (0, 60), (1, 60)]);
    let ran = interrupted(&place, "-Xspans.xml", Duration::from_secs(2));
    let third = format!("\nResults for timespan 3:\n{}\n{NOTHING}\n\nTotals:\n", "*".repeat(79));
    ran.expect(
        0,
        &["\nResults for timespan 1:\n", "\nResults for timespan 2:\n", &third],
    );
    assert_eq!(ran.out.matches("actual test time:").count(), 2);
    let total = test_time(&ran.out, "total test time");
    assert!((1.3..6.0).contains(&total), "{total}");
}

/// Each time span has its place in the report, whatever became of it.
#[test]
fn time_spans_after_a_failure_are_reported() {
    let Some(faulty) = need(FaultFs::of_size(16 * MIB)) else {
        return;
    };
    let place = Place::new();
    place.file("f", 1 << 20);
    profile(&place, &[(0, 1); 3]);
    let profile = fs::read_to_string(place.path().join("spans.xml")).unwrap();
    let blocks = |expected: [bool; 3], out: &str| {
        let parts: Vec<&str> = out.split("\nResults for timespan ").skip(1).collect();
        let measured: Vec<bool> = parts.iter().map(|part| !part.contains(NOTHING)).collect();
        assert_eq!(measured, expected, "{out}");
        assert!(out.contains("\n\nTotals:\n"), "{out}");
    };
    // The second reads what fails.
    let spans: Vec<&str> = profile.split("<Path>f</Path>").collect();
    let bad = format!("<Path>{}</Path>", text(faulty.file()));
    let second = [
        spans[0], "<Path>f</Path>", spans[1], &bad, spans[2], "<Path>f</Path>", spans[3],
    ]
    .concat();
    faulty.fail_reads(0..16 * MIB, EIO);
    fs::write(place.path().join("spans.xml"), second).unwrap();
    let ran = place.line("-Xspans.xml");
    assert_eq!(
        (ran.code, theirs(&ran.err).last()),
        (Some(1), Some(&OF_RUN)),
        "{ran:#?}"
    );
    blocks([true, false, false], &ran.out);
    // Nothing can begin.
    fs::write(
        place.path().join("spans.xml"),
        profile.replace("<Path>f<", "<Path>missing<"),
    )
    .unwrap();
    let ran = place.line("-Xspans.xml");
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    blocks([false; 3], &ran.out);
    let ran = place.line("-Xspans.xml -d0");
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    blocks([false; 3], &ran.out);
}

#[test]
fn a_second_ctrl_c_kills() {
    let Some(faulty) = need(FaultFs::of_size(16 * MIB)) else {
        return;
    };
    let place = Place::new();
    faulty.hang();
    let mut child = place.start(&format!("-d60 -W0 -b4k -Sh {}", text(faulty.file())));
    std::thread::sleep(Duration::from_millis(700));
    interrupt(&child);
    std::thread::sleep(Duration::from_millis(700));
    if child.try_wait().unwrap().is_none() {
        interrupt(&child);
        faulty.release();
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130));
    }
}

#[test]
fn targets_that_cannot_be_used() {
    let place = Place::new();
    place.file("f", 1 << 20);
    fs::write(place.path().join("empty"), "").unwrap();
    fs::create_dir(place.path().join("folder")).unwrap();
    let opening = |path: &str, code: i32| format!("Error opening file: {path} [{code}]");
    let before = place.names();
    check_failed(&place, "-d60 missing", &[&opening("missing", 2), OF_THREADS]).expect(1, &["hint: ", "-c1G"]);
    check_failed(&place, "-Rxml -d60 missing", &[&opening("missing", 2), OF_THREADS]);
    check_failed(&place, "-d60 f missing", &[&opening("missing", 2), OF_THREADS]);
    check_failed(&place, "-d60 folder", &[&opening("folder", 21), OF_THREADS]);
    check_failed(&place, "-d60 /dev/null", &[&opening("/dev/null", 15), OF_THREADS]);
    check_failed(&place, "-d60 #1", &[&opening("#1", 2), OF_THREADS]).expect(1, &["hint: ", "/dev/"]);
    check_failed(&place, "-d60 d:", &[&opening("d:", 2), OF_THREADS]).expect(1, &["hint: ", "/dev/"]);
    check_failed(
        &place,
        "-d60 empty",
        &["ERROR: target size could not be determined", OF_THREADS],
    );
    let none = "Could not create the file (error code: 2)";
    check_failed(&place, "-d60 -c1M no/such/file", &[none]).expect(1, &["hint: ", "directory"]);
    check_failed(
        &place,
        "-d60 -c1M folder",
        &["Could not create the file (error code: 21)"],
    );
    let small = "The file is too small. File: 'f' relative thread 2: file size: 1048576, base offset: 0, thread stride: 524288, \
                 block size: 65536";
    check_failed(&place, "-d60 -t3 -T512K f", &[small, OF_THREADS]);
    assert_eq!(place.names(), before, "nothing was made");
    assert_eq!(fs::read(place.path().join("f")).unwrap().len(), 1 << 20);
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(place) = need(Place::on_disk()) else { return };
    place.file("f", 1 << 20);
    let refused = |line: &str, said: &str| {
        let ran = place.line(line);
        assert_eq!(
            (ran.code, theirs(&ran.err)[0], ran.out.as_str()),
            (Some(3), said, ""),
            "{line}"
        );
    };
    refused(
        "-w101 f",
        "ERROR: write ratio passed to -w must be between 0 and 100 (percent)",
    );
    refused("-o0 f", "ERROR: incorrectly provided option: '-o0'");
    refused("-d-1 f", "ERROR: invalid measured duration time (-d): '-1'");
    refused(
        "-B2M -f1M f",
        "ERROR: maximum (-f) target offset must be greater than base (-B)",
    );
    refused("-b4294967295 f", "ERROR: invalid block size passed to -b");
    let read = "t[0] error during read error code: 22)";
    check_failed(&place, "-d60 -b1000 -Sh f", &[read, OF_THREADS]).expect(1, &["hint: ", "multiple of"]);
    let write = "t[0] error during write error code: 22)";
    check_failed(&place, "-d60 -b1000 -w100 -Su f", &[write, OF_THREADS]);
    check_failed(
        &place,
        "-d0 f",
        &["ERROR: a measured duration of 0 seconds (-d0) measures nothing"],
    );
    check_failed(
        &place,
        "-b0 f",
        &["ERROR: a block size of 0 bytes (-b0) transfers nothing"],
    );
    // Where the system has huge pages to give there is nothing to report.
    if place.line("-d1 -W0 -l f").code != Some(0) {
        let none = "ERROR: Could not allocate a buffer for target 'f'. Error code: 0xc";
        check_failed(&place, "-d60 -l f", &[none, OF_THREADS]).expect(1, &["hint: ", "huge pages"]);
    }
    let local = "Failed to disable local caching (error 95). NOTE: only supported on remote filesystems with Windows 8 or newer.";
    check_failed(&place, "-d60 -Sr f", &[local, OF_THREADS]);
    let ran = check_failed(&place, "-d60 -w100 -Z1M,nothing f", &[OF_THREADS]);
    assert!(
        ran.out
            .starts_with("\n\nERROR: Unable to open entropy file 'nothing'\n\n"),
        "{}",
        ran.out
    );
}

#[test]
fn an_end_beyond_the_end_is_warned_of() {
    let place = Place::new();
    place.file("f", 1 << 20);
    for line in ["-d1 -W0 -f2M f", "-d1 -W0 -B512K:1536K f"] {
        let ran = place.line(line);
        let warning = "WARNING: file size 1048576 is less than MaxFileSize 2097152\n";
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), warning), "{line}");
    }
    let ran = place.line("-d1 -W0 -f1M f");
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn a_missing_permission_to_open_is_reported() {
    let Some(folder) = need(Directory::fast()) else { return };
    let (program, secret) = (folder.path().join("diskspd"), folder.path().join("secret"));
    fs::copy(PROGRAM, &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&secret, vec![1; 65536]).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    let as_nobody = |line: &str| {
        let mut command = Command::new(&program);
        command.args(words(line)).current_dir("/").uid(65534).gid(65534);
        calling::finish(&mut command)
    };
    if as_nobody("-?").code != Some(0) {
        testbed::skip("another user cannot run programs from the directory for temporary files");
        return;
    }
    let file = text(&secret);
    let ran = as_nobody(&format!("-d60 {file}"));
    let opening = format!("Error opening file: {file} [13]");
    assert_eq!(
        (ran.code, theirs(&ran.err)),
        (Some(1), vec![opening.as_str(), OF_THREADS, OF_RUN])
    );
    let new = folder.path().join("new");
    let ran = as_nobody(&format!("-d60 -c1M {}", text(&new)));
    let creating = "Could not create the file (error code: 13)";
    assert_eq!((ran.code, theirs(&ran.err)), (Some(1), vec![creating, OF_RUN]));
    assert!(!new.exists());
}

#[test]
fn a_full_disk() {
    let Some(small) = need(TmpFs::of_size(16 * MIB)) else {
        return;
    };
    let place = Place::new();
    let path = small.path().join("f");
    let file = text(&path);
    // Said before anything is written, as where the length of the file is set first.
    let full = "Error setting end of file (error code: 28)";
    check_failed(&place, &format!("-d60 -c64M {file}"), &[full]).expect(1, &["hint: "]);
    check_failed(&place, &format!("-Rxml -d60 -c64M {file}"), &[full]);
    assert_eq!(
        calling::names(small.path()),
        Vec::<String>::new(),
        "no half of a file is left"
    );
    // A file that promises more than there is.
    fs::File::create(&path).unwrap().set_len(64 * MIB).unwrap();
    let write = "t[0] error during write error code: 28)";
    check_failed(&place, &format!("-d60 -W0 -w100 -o1 {file}"), &[write, OF_THREADS]);
}

/// What is kept free for others in our own runs is not the concern of DiskSpd's users.
#[test]
fn a_disk_that_is_nearly_full_afterwards() {
    let Some(small) = need(TmpFs::of_size(16 * MIB)) else {
        return;
    };
    let path = small.path().join("f");
    let ran = Place::new().line(&format!("-d1 -W0 -c15M {}", text(&path)));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn errors_of_a_file_system_end_the_run_at_once() {
    let Some(faulty) = need(FaultFs::of_size(16 * MIB)) else {
        return;
    };
    let place = Place::new();
    let file = text(faulty.file());
    faulty.fail_reads(8 * MIB..8 * MIB + 4096, EIO);
    let read = "t[0] error during read error code: 5)";
    let ran = check_failed(&place, &format!("-d60 -W0 -b4K -o1 {file}"), &[read, OF_THREADS]);
    ran.expect(1, &["hint: ", "dmesg"]);
    check_failed(&place, &format!("-d60 -W60 -b4K -o1 -L -D {file}"), &[read, OF_THREADS]);
    check_failed(&place, &format!("-Rxml -d60 -W0 -b4K -o1 {file}"), &[read, OF_THREADS]);
    // Whichever of the four requests meets it.
    let ran = place.line(&format!("-d60 -W0 -b4K -r -o4 -t2 {file}"));
    let lines = theirs(&ran.err);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    assert!(
        lines[0].starts_with("t[") && lines[0].ends_with("] error during read error code: 5)"),
        "{lines:?}"
    );
    assert_eq!(lines[lines.len() - 2..], [OF_THREADS, OF_RUN]);
    let routine = "Thread 0 failed executing an I/O operation (error code: 5)";
    check_failed(&place, &format!("-d60 -W0 -b4K -o4 -x {file}"), &[routine, OF_THREADS]);
    faulty.clear();
    faulty.fail_writes(0..16 * MIB, EIO);
    let write = "t[0] error during write error code: 5)";
    check_failed(
        &place,
        &format!("-d60 -W0 -w100 -b4K -o1 -Sh {file}"),
        &[write, OF_THREADS],
    );
}

#[test]
fn errors_of_a_device_end_the_run_and_are_in_the_saved_result() {
    let Some((folder, device)) = calling::device_that_ends() else {
        return;
    };
    let place = Place::new();
    let line = format!("-d60 -W0 -b64K -o1 {}", text(device.path()));
    let ran = check_failed(&place, &line, &["t[0] error during read error code: 5)", OF_THREADS]);
    // Where it was, which DiskSpd does not tell, and then what to do.
    let hints: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("hint: ")).collect();
    let place_of_it = format!("{}, ", text(device.path()));
    assert_eq!(hints.len(), 2, "{hints:#?}");
    assert!(
        hints[0].contains(&place_of_it) && hints[0].contains("offset 8388608") && hints[1].contains("dmesg"),
        "{hints:#?}"
    );
    let saved = folder.path().join("saved");
    let ran = calling::finish(place.command(&words(&line)).env("FATHOM_RESULT", &saved));
    assert_eq!(ran.code, Some(1));
    // 8 MiB in blocks of 64 KiB came before it. The report has no figures, as DiskSpd's has none.
    let results = archive::load(&saved).unwrap();
    assert_eq!(results.steps[0].jobs[0].total().operations, 128);
    assert!(ran.out.ends_with(NOTHING));
}

#[test]
fn devices_in_use_are_refused_and_blank_ones_are_not() {
    let Some(mounted) = need(LoopFs::ext4(32 * MIB)) else {
        return;
    };
    let place = Place::new();
    let device = text(mounted.device().path());
    for line in [format!("-w100 -d60 {device}"), format!("-w1 -c1M -d60 {device}")] {
        let ran = place.line(&line);
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        let lines: Vec<&str> = ran.err.lines().collect();
        assert_eq!((lines.len(), lines[1]), (2, OF_RUN), "{lines:?}");
        assert!(
            lines[0].contains(device) && lines[0].contains("is mounted at"),
            "{lines:?}"
        );
    }
    // Whatever is named again.
    let line = format!("-w100 -d60 {device}");
    let ran = calling::finish(place.command(&words(&line)).env("FATHOM_ALLOW_DESTROY", device));
    ran.expect(1, &["is mounted at"]);
    // Reading does no harm.
    place.line(&format!("-d1 -W0 {device}")).expect(0, &[]);

    let Some(blank) = need(LoopDevice::of_size(16 * MIB, LoopOptions::default())) else {
        return;
    };
    let ran = place.line(&format!("-w100 -d1 -W0 -Sh -b64K -o4 {}", text(blank.path())));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:#?}");
    assert!(
        ran.out.contains(&format!("{} (16MiB)", text(blank.path()))),
        "{}",
        ran.out
    );
    // What holds a file system has to be named.
    drop(mounted);
    let made = Command::new("mkfs.ext4")
        .args(["-q", "-F", text(blank.path())])
        .status();
    if !made.is_ok_and(|made| made.success()) {
        return testbed::skip("mkfs.ext4 is not installed");
    }
    let line = format!("-w100 -d1 -W0 -Sh -b64K {}", text(blank.path()));
    let ran = place.line(&line);
    assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 2), "{ran:#?}");
    ran.expect(1, &["ext4", "FATHOM_ALLOW_DESTROY"]);
    let ran = calling::finish(place.command(&words(&line)).env("FATHOM_ALLOW_DESTROY", blank.path()));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:#?}");
}

#[test]
fn results_are_kept_and_notes_are_reported_where_that_is_asked_for() {
    let place = Place::new();
    place.file("f", 1 << 20);
    let (saved, line) = (place.path().join("saved"), "-d1 -W0 -r -b4K -ft f");
    let mut command = place.command(&words(line));
    let ran = calling::finish(command.env("FATHOM_RESULT", &saved).env("FATHOM_NOTES", "1"));
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("note: -ft has no effect"), "{}", ran.err);
    assert!(ran.err.lines().all(|line| line.starts_with("note: ")), "{}", ran.err);
    let results = archive::load(&saved).unwrap();
    assert_eq!(
        results.plan.origin.arguments[1..],
        words(line).iter().map(ToString::to_string).collect::<Vec<_>>()
    );
    let operations = results.steps[0].jobs[0].total().operations;
    assert!(
        ran.out.contains(&format!("| {operations:>12} |")),
        "{operations} in {}",
        ran.out
    );
    assert_eq!(place.names(), ["f", "saved"]);
    // Nothing of it otherwise.
    fs::remove_file(&saved).unwrap();
    let ran = place.line(line);
    assert_eq!(
        (ran.code, ran.err.as_str(), place.names()),
        (Some(0), "", vec!["f".to_owned()])
    );
    // A report that was asked for and cannot be kept is a failure.
    let nowhere = place.path().join("no/such/place");
    let ran = calling::finish(place.command(&words(line)).env("FATHOM_RESULT", &nowhere));
    ran.expect(1, &["ERROR: FATHOM_RESULT: ", "No such file"]);
    assert!(
        !ran.out.contains("Total IO"),
        "it is reported before anything is measured"
    );
    let ran = calling::finish(place.command(&words(line)).env("FATHOM_DISKSPD_TEXT", "2.1"));
    ran.expect(3, &["ERROR: invalid value `2.1` of FATHOM_DISKSPD_TEXT"]);
}

#[test]
fn a_report_that_cannot_be_written_is_a_failure() {
    let place = Place::new();
    place.file("f", 1 << 20);
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let child = place
        .command(&words("-d1 -W0 f"))
        .stdout(full)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    end(child).expect(1, &["cannot write to standard output: ", "No space left on device"]);
}

/// The name of an event that no other test has.
fn event(name: &str) -> String {
    format!("Global\\fathom-{}-{name}", std::process::id())
}

fn set(place: &Place, event: &str) {
    let ran = place.line(&format!("-ye{event}"));
    let said = format!("Succesfully set event: '{event}'\nNow exiting...\n");
    assert_eq!(
        (ran.code, ran.out.as_str(), ran.err.as_str()),
        (Some(1), said.as_str(), "")
    );
}

#[test]
fn an_event_that_is_not_there_cannot_be_set() {
    let event = event("missing");
    let ran = Place::new().line(&format!("-ye{event} -d1 f"));
    assert_eq!(
        (ran.code, ran.err),
        (Some(1), format!("Error opening event '{event}'\n"))
    );
    assert_eq!(ran.out, "");
}

#[test]
fn a_run_waits_for_an_event_and_stops_at_another() {
    let place = Place::new();
    place.file("f", 1 << 20);
    let (go, stop) = (event("go"), event("stop"));
    let mut child = place.start(&format!("-yr{go} -yp{stop} -d60 -W0 f"));
    std::thread::sleep(Duration::from_millis(1200));
    assert!(child.try_wait().unwrap().is_none(), "it waits");
    set(&place, &go);
    std::thread::sleep(Duration::from_millis(1000));
    assert!(child.try_wait().unwrap().is_none(), "it runs");
    set(&place, &stop);
    let stopped = Instant::now();
    let ran = end(child);
    assert!(stopped.elapsed() < Duration::from_secs(5));
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    // Ctrl-C was not pressed, and nothing may stand before a report in XML.
    assert!(ran.out.starts_with("\nCommand Line:"), "{}", ran.out);
    // The waiting is not measured.
    let measured = test_time(&ran.out, "actual test time");
    assert!((0.3..3.0).contains(&measured), "{measured}");
    // They went with the process.
    let gone = place.line(&format!("-ye{go}"));
    assert_eq!(gone.err, format!("Error opening event '{go}'\n"));
}

/// One run begins when another measures, and a third when that has measured.
#[test]
fn runs_follow_the_phases_of_another() {
    let place = Place::new();
    place.file("f", 1 << 20);
    let (start, finish) = (event("start"), event("finish"));
    let third = place.start(&format!("-yr{finish} -d1 -W0 f"));
    let second = place.start(&format!("-yr{start} -d60 -W0 -yp{finish} f"));
    std::thread::sleep(Duration::from_millis(700));
    let began = Instant::now();
    let first = place.start(&format!("-ys{start} -yf{finish} -d2 -W1 -C1 f"));
    // The second measures for as long as the first does.
    let ran = end(second);
    assert!(began.elapsed() > Duration::from_millis(2900), "{:?}", began.elapsed());
    let measured = test_time(&ran.out, "actual test time");
    assert!((1.5..3.5).contains(&measured), "{measured}");
    end(first).expect(0, &["actual test time:\t2."]);
    end(third).expect(0, &["actual test time:\t1."]);
}

/// Windows keeps an event as long as a process has it open, whichever made it.
#[test]
fn an_event_outlives_the_process_that_made_it_while_others_wait() {
    let place = Place::new();
    place.file("f", 1 << 20);
    let go = event("handed-on");
    let maker = place.start(&format!("-yr{go} -d60 -W0 f"));
    std::thread::sleep(Duration::from_millis(700));
    let waiting = place.start(&format!("-yr{go} -d1 -W0 f"));
    std::thread::sleep(Duration::from_millis(700));
    interrupt(&maker);
    end(maker).expect(0, &[]);
    set(&place, &go);
    end(waiting).expect(0, &["actual test time:\t1."]);
    assert_eq!(
        place.line(&format!("-ye{go}")).err,
        format!("Error opening event '{go}'\n")
    );
}

/// An event goes with the last process that has it, also if that is killed.
#[test]
fn a_killed_run_leaves_no_event_behind() {
    let place = Place::new();
    place.file("f", 1 << 20);
    let go = event("killed");
    let mut child = place.start(&format!("-yr{go} -d60 -W0 f"));
    std::thread::sleep(Duration::from_millis(700));
    set(&place, &go);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        place.line(&format!("-ye{go}")).err,
        format!("Error opening event '{go}'\n")
    );
    let mut again = place.start(&format!("-yr{go} -d60 -W60 f"));
    std::thread::sleep(Duration::from_millis(700));
    assert!(again.try_wait().unwrap().is_none());
    interrupt(&again);
    // Nothing was measured: it waited.
    let ran = end(again);
    assert!(ran.out.ends_with(NOTHING), "{}", ran.out);
}

/// What is not needed of the machine is not asked of it.
#[test]
fn nothing_but_the_targets_is_made() {
    let place = Place::new();
    let ran = place.line("-c1M -d1 -W0 -w50 -r -b4K a.dat b.dat");
    assert_eq!(
        (ran.code, place.names()),
        (Some(0), vec!["a.dat".to_owned(), "b.dat".to_owned()])
    );
    let size = |name: &str| fs::metadata(place.path().join(name)).unwrap().len();
    assert_eq!((size("a.dat"), size("b.dat")), (MIB, MIB));
    assert!(Path::new(&place.path()).is_dir());
}
