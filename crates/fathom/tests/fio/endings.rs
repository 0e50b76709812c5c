//! Runs that fail, are refused, are interrupted or are killed.

use testbed::LoopFs;

use crate::calling::{device_that_ends, faulty_fs, make_pipe, secret_file};
use crate::fio::support::Sandbox;
use crate::prelude::*;
use crate::sandbox::small_fs;

const MIB: u64 = 1 << 20;
const EIO: i32 = 5;
const JSON: &str = "--output-format=json";

#[test]
fn a_device_that_ends_too_early_fails_the_job() {
    let (_folder, device) = need!(device_that_ends());
    let path = text(device.path());
    let sandbox = Sandbox::new();
    let ran = sandbox.line(&format!("--name=x --filename={path} --rw=read --bs=1m --direct=1"));
    let error = format!("fio: io_u error on file {path}: Input/output error: read offset=8388608, buflen=1048576\n");
    let parts = [
        &error,
        "/file:fathom:0, func=io_u error, error=Input/output error\n",
        "err= 5 (file:fathom:0, func=io_u error, error=Input/output error)",
        "issued rwts: total=9,0,0,0",
        "hint: the device or file system reported an error; check `dmesg`",
    ];
    ran.expect(1, &parts);
}

/// A read of 1 MiB takes longer than a microsecond.
#[test]
fn a_latency_target_that_no_depth_meets_fails_the_job() {
    let sandbox = Sandbox::new();
    let load = "--name=x --filename=f --size=4m --rw=read --bs=1m --time_based --runtime=2 --latency_window=100ms";
    let ran = sandbox.line(&format!("{load} --latency_target=1"));
    let parts = [
        "exceeds specified max (1000 nsec)",
        "err=110/file:fathom:0, func=max latency exceeded, error=Connection timed out",
        "err=110 (file:fathom:0, func=max latency exceeded, error=Connection timed out)",
        "percentile=100.00%, depth=1",
    ];
    ran.expect(1, &parts);
    let met = sandbox.line(&format!("{load} --latency_target=10s"));
    met.expect(0, &["percentile=100.00%, depth=1"]);
    let with_percentile = sandbox.line(&format!("{load} --latency_target=1 --latency_percentile=90"));
    with_percentile.expect(0, &["percentile=90.00%, depth=1"]);
}

/// The same counts as fio 3.33, which ends these jobs at once as well.
#[test]
fn a_job_within_its_ramp_ends_with_its_amount() {
    let sandbox = Sandbox::new();
    for (options, operations) in [
        ("--ramp_time=600", 64),
        ("--ramp_time=600 --number_ios=20", 20),
        ("--ramp_time=600 --loops=2", 128),
        ("--ramp_time=999999999999 --runtime=1", 64),
    ] {
        let job = sandbox.first_job(&format!("{JSON} --name=x --size=256k --bs=4k --rw=write {options}"));
        assert_eq!(job["write"]["total_ios"], operations, "{options}");
        assert_eq!(job["write"]["io_bytes"], operations * 4096, "{options}");
    }
    // Every executed operation counts, also those in flight when the time is over.
    let line = "--name=y --size=4m --bs=64k --rw=randwrite --ioengine=libaio --iodepth=16 --runtime=1 --time_based";
    let job = sandbox.first_job(&format!("{JSON} {line} --write_iolog=trace"));
    let trace = fs::read_to_string(sandbox.path().join("trace")).unwrap();
    let executed = trace.lines().filter(|line| line.contains(" write ")).count();
    assert_eq!(job["write"]["total_ios"], executed);
}

/// Either the size of one file or the sum of all sizes is too large.
#[test]
fn sizes_beyond_any_file_are_refused() {
    let sandbox = Sandbox::new();
    for (size, line) in [
        ("25%", "fio: filesize: the size exceeds the maximum file size"),
        ("8000p", "fio: filesize: all files together exceed 8 EiB"),
    ] {
        let options = "--name=x --directory=. --rw=write --nrfiles=4";
        sandbox.line(&format!("{options} --filesize={size}")).expect(1, &[line]);
    }
}

#[test]
fn ignored_errors_are_counted() {
    let faulty = need!(faulty_fs());
    faulty.fail_reads(4 * MIB..5 * MIB, EIO);
    let sandbox = Sandbox::new();
    let path = text(faulty.file());
    let line = format!("--name=x --filename={path} --rw=read --bs=64k --continue_on_error=read");
    let ran = sandbox.line(&line);
    ran.exits(0).prints(&[
        "issued rwts: total=256,0,0,0",
        "errors    : total=16, first_error=5/<Input/output error>",
    ]);
    assert_eq!(ran.err, "");
}

#[test]
fn a_full_disk_fails_the_job() {
    let small = need!(small_fs());
    let sandbox = Sandbox::new();
    let file = small.path().join("f");
    let line = format!("--name=x --filename={} --rw=write --bs=1m --size=64m", text(&file));
    let hint = "hint: free some space, or set a smaller size";
    for more in [
        "",
        "--fallocate=none",
        "--ioengine=io_uring --iodepth=8 --fallocate=none",
    ] {
        let ran = sandbox.line(&format!("{line} {more}"));
        ran.expect(1, &["err=28", "No space left on device", hint]);
        let _ = fs::remove_file(&file);
    }
}

/// As in fio 3.33, the failed write is counted, but is not an error.
#[test]
fn fill_device_ends_without_an_error() {
    let small = need!(small_fs());
    let sandbox = Sandbox::new();
    let file = text(&small.path().join("f")).to_owned();
    let line = format!("--name=x --filename={file} --rw=write --bs=1m");
    for size in ["--size=64m", "--size=0", ""] {
        let ran = sandbox.line(&format!("{line} {size} --fill_device=1"));
        ran.exits(0).prints(&[
            &format!(
                "fio: io_u error on file {file}: No space left on device: write offset=16777216, buflen=1048576\n"
            ),
            "x: (groupid=0, jobs=1): err= 0:",
            "issued rwts: total=0,17,0,0",
        ]);
        assert_eq!(ran.err.lines().count(), 1, "{size}: {}", ran.err);
        fs::remove_file(&file).unwrap();
    }
    // A failed reservation is reported at once.
    let ran = sandbox.line(&format!("{line} --size=64m --fallocate=keep"));
    ran.expect(1, &["err=28", "cannot reserve space for"]);
}

/// A file is laid out again only if its file system has room for it. A mistyped size or offset must
/// not destroy the file, or take the space that others need.
#[test]
fn a_file_that_cannot_be_laid_out_keeps_its_content() {
    let small = need!(small_fs());
    let sandbox = Sandbox::new();
    let file = small.path().join("f");
    let content = vec![7; MIB as usize];
    fs::write(&file, &content).unwrap();
    let line = format!("--name=x --filename={} --rw=read --bs=64k", text(&file));
    for size in ["--size=64m", "--size=1m --offset=1t"] {
        let ran = sandbox.line(&format!("{line} {size}"));
        ran.expect(1, &["err=28", "cannot write ", "has 15 MiB left"]);
        assert!(fs::read(&file).unwrap() == content, "{size}");
    }
}

/// The errors are those of fio 3.33.
#[test]
fn jobs_that_cannot_begin_report_the_errors_of_fio() {
    let sandbox = Sandbox::new();
    let line = "--name=x --filename=f --rw=read";
    for (options, error, message) in [
        (
            "--size=64k --readonly",
            2,
            "fio: refusing extend of file due to read-only\n",
        ),
        (
            "--size=64k --allow_file_create=0",
            0,
            "fio: file creation disallowed by allow_file_create=0\n",
        ),
        (
            "--filesize=64k --offset=128k",
            0,
            "x: you need to specify valid offset=\n",
        ),
        ("", 22, "x: you need to specify size=\n"),
    ] {
        let ran = sandbox.line(&format!("{line} --output-format=json {options}"));
        let report = ran.expect(1, &[message]).json();
        assert_eq!(report["jobs"][0]["error"], error, "{options}");
    }
    let small = "fio: size too small, must not be less than minimum block size: -1 < 4096\n";
    sandbox.line(&format!("{line} --size=-1")).expect(1, &[small]);
}

#[test]
fn a_missing_directory_is_reported() {
    let sandbox = Sandbox::new();
    sandbox
        .line("--name=x --directory=none --size=64k --rw=write")
        .expect(1, &["fio: none is not a directory\n", "hint: ", "mkdir -p none"]);
    sandbox
        .line("--name=x --filename=none/f --rw=read")
        .expect(1, &["x: you need to specify size=\n", "hint: "]);
}

#[test]
fn a_missing_permission_to_open_is_reported() {
    let folder = need!(Directory::fast());
    let secret = secret_file(folder.path());
    let other_user = need!(testbed::as_other_user(PROGRAM, folder.path(), "fio", "--version"));
    let run_as_other = |arguments: &[&str]| finish(&mut other_user(arguments));
    let name = format!("--filename={}", text(&secret));
    let opening = format!("func=open({}), error=Permission denied\n", text(&secret));
    let hint = "hint: use a target that this user may open, or run as root\n";
    run_as_other(&["--name=x", &name, "--rw=read"]).expect(1, &["err=13/", &opening, hint]);
    // Only the job that becomes another user fails.
    let line = format!("--name=ours {name} --rw=read --name=theirs {name} --rw=read --uid=65534 --gid=65534");
    let ran = Sandbox::new().line(&line);
    ran.expect(1, &["err=13/", &opening, hint, "ours: (groupid=0, jobs=1): err= 0"]);
}

#[test]
fn a_misspelt_option_is_reported_with_its_line() {
    let sandbox = Sandbox::new();
    let job = "[a]\nioengine=null\n\nsize=1m\niodepht=4\n";
    fs::write(sandbox.path().join("a.fio"), job).unwrap();
    sandbox.line("a.fio").exits(1).prints(&[
        "Bad option <iodepht=4>\n",
        "Did you mean iodepth?\n",
        "hint: a.fio:5: `iodepht`: did you mean `iodepth`?\n",
    ]);
}

#[test]
fn ctrl_c_ends_the_run_with_a_report() {
    let sandbox = Sandbox::new();
    let line = "--name=x --ioengine=null --size=1g --time_based --runtime=60";
    let interrupted = |line: &str| {
        let child = sandbox.start(line);
        std::thread::sleep(Duration::from_secs(1));
        signal(&child, "INT");
        end(child)
    };
    let ran = interrupted(line);
    ran.exits(128)
        .out
        .assert_contains(&["\nfio: terminating on signal 2\n"]);
    // Also in the ramp, which then counts.
    for ramp in ["", " --ramp_time=30"] {
        let ran = interrupted(&format!("{line}{ramp} --output-format=json"));
        assert_eq!((ran.code, ran.err.as_str()), (Some(128), ""), "{ran:#?}");
        assert!(ran.json()["jobs"][0]["read"]["total_ios"].as_u64() > Some(0));
    }
}

#[test]
fn a_killed_run_leaves_no_partial_report() {
    let sandbox = Sandbox::new();
    let out = sandbox.path().join("out.json");
    let line = "--name=x --ioengine=null --size=1g --time_based --runtime=60 --output-format=json --output=out.json";
    for old in [None, Some("{\"old\": true}\n")] {
        if let Some(old) = old {
            fs::write(&out, old).unwrap();
        }
        let child = sandbox.start(line);
        std::thread::sleep(Duration::from_millis(600));
        kill(child);
        assert_eq!(fs::read_to_string(&out).ok().as_deref(), old);
        assert_eq!(sandbox.names(), Vec::from_iter(old.map(|_| "out.json")));
    }
    sandbox.line(&line.replace("60", "1")).expect(0, &[]);
    let document: Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    assert_eq!(document["jobs"][0]["error"], 0);
}

#[test]
fn reports_can_be_written_to_pipes_and_open_files() {
    let sandbox = Sandbox::new();
    let line = "--name=x --ioengine=null --size=64k --output-format=json --output";
    let ran = sandbox.line(&format!("{line}=/dev/stdout"));
    assert!(ran.code == Some(0) && ran.out.starts_with('{'), "{ran:#?}");
    let pipe = sandbox.path().join("pipe");
    make_pipe(&pipe);
    let child = sandbox.start(&format!("{line}=pipe"));
    let text = fs::read_to_string(&pipe).unwrap();
    assert!(text.starts_with('{'), "{text}");
    end(child).expect(0, &[]);
}

#[test]
fn a_signal_ends_the_wait_for_the_reader_of_a_pipe() {
    let sandbox = Sandbox::new();
    make_pipe(&sandbox.path().join("pipe"));
    let child = sandbox.start("--name=x --ioengine=null --size=64k --output=pipe");
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, "TERM");
    end(child).expect(
        1,
        &["fio: output file open error: interrupted before a program read it"],
    );
}

/// Opening the pipe would wait for its other end, and ignore the first signal.
#[test]
fn a_pipe_as_a_target_is_refused_at_once() {
    let sandbox = Sandbox::new();
    make_pipe(&sandbox.path().join("fifo"));
    for rw in ["read", "write"] {
        let begun = Instant::now();
        let ran = sandbox.line(&format!("--name=x --filename=fifo --rw={rw} --size=1m"));
        ran.expect(1, &["fifo"]);
        assert!(begun.elapsed() < Duration::from_secs(10), "{rw}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_mounted_device_is_never_written_to() {
    let mounted = need!(LoopFs::ext4(32 * MIB));
    let device = text(mounted.device().path());
    let sandbox = Sandbox::new();
    for more in ["", "--allow_mounted_write=1"] {
        let ran = sandbox.line(&format!("--name=x --filename={device} --rw=write --size=1m {more}"));
        ran.expect(1, &["is mounted at", text(mounted.path())]);
        let message = format!("fio: {device} must not be written");
        assert!(
            ran.err.lines().count() == 1 && ran.err.starts_with(&message),
            "{ran:#?}"
        );
    }
}

#[test]
fn commands_of_a_job_need_permission() {
    let sandbox = Sandbox::new();
    let arguments = [
        "--name=x",
        "--ioengine=null",
        "--size=64k",
        "--exec_prerun=echo before",
        "--exec_postrun=echo after; false",
    ];
    let ran = sandbox.run(&arguments);
    ran.expect(1, &["exec_prerun", "FATHOM_ALLOW_EXEC=1"]);
    ran.out.assert_lacks(&["x: (groupid=0"]);
    assert_eq!(ran.err.lines().count(), 1, "{ran:#?}");
    let ran = finish(sandbox.command(&arguments).env("FATHOM_ALLOW_EXEC", "1"));
    ran.exits(0).prints(&[
        "x : Saving output of prerun in x.prerun.txt\n",
        "x : Saving output of postrun in x.postrun.txt\n",
        "x: (groupid=0, jobs=1): err= 0",
    ]);
    let output = |when: &str| fs::read_to_string(sandbox.path().join(format!("x.{when}.txt"))).unwrap();
    assert_eq!(output("prerun"), "before\n");
    assert_eq!(output("postrun"), "after\n");
}

/// They are refused before anything is done.
#[test]
fn flags_without_an_effect_are_refused() {
    let sandbox = Sandbox::new();
    let ran = sandbox.line("--trigger-remote=x --name=a --size=64k --rw=write");
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    let refused = "fio: option trigger-remote is not supported by this program\n";
    assert_eq!(ran.err, refused, "{ran:#?}");
    assert!(!sandbox.path().join("a.0.0").exists());
}

/// A job whose command fails does nothing, but reports no error. The other jobs run.
#[test]
fn a_failing_command_cancels_only_its_job() {
    let sandbox = Sandbox::new();
    let words = "--ioengine=null --size=64k --output-format=json --name=first --name=second --stonewall \
                 --exec_prerun=false --exec_postrun=true --name=third --stonewall --exec_prerun=true";
    let ran = finish(sandbox.command(&split_words(words)).env("FATHOM_ALLOW_EXEC", "1"));
    ran.succeeds_silently();
    // Only normal output names the files with the output of the commands.
    let report = ran.json();
    let jobs = report["jobs"].as_array().unwrap().iter();
    let done = jobs.map(|job| [&job["read"]["total_ios"], &job["error"]].map(Value::as_u64));
    assert_eq!(
        done.collect::<Vec<_>>(),
        [[Some(16), Some(0)], [Some(0), Some(0)], [Some(16), Some(0)]]
    );
    assert!(sandbox.path().join("third.prerun.txt").exists());
    assert!(!sandbox.path().join("second.postrun.txt").exists());
}

/// fio 3.33 lists it with zeros in all formats except the normal one.
#[test]
fn a_job_that_never_starts_is_listed_with_zeros() {
    let sandbox = Sandbox::new();
    let jobs = "--name=first --ioengine=null --size=64k --exitall --exit_what=all --name=second --stonewall --ioengine=null \
                --size=64k";
    let json = sandbox.line(&format!("--output-format=json {jobs}"));
    let json = json.expect(0, &[]).json();
    assert_eq!(json["jobs"].as_array().unwrap().len(), 2);
    let second = &json["jobs"][1];
    assert_eq!(second["jobname"].as_str(), Some("second"));
    assert_eq!(second["groupid"].as_u64(), Some(1));
    assert_eq!(second["read"]["total_ios"].as_u64(), Some(0));
    assert_eq!(second["error"].as_u64(), Some(0));
    let terse = sandbox.line(&format!("--minimal {jobs}"));
    let lines: Vec<&str> = terse.expect(0, &[]).out.lines().collect();
    let [_, second] = lines[..] else { panic!("{lines:?}") };
    assert!(second.starts_with("3;fio-3.42;second;1;0;0;0;0;"), "{lines:?}");
    let normal = sandbox.line(jobs);
    normal.expect(0, &["first: (groupid=0"]);
    normal.out.assert_lacks(&["second: (groupid"]);
}

#[test]
fn checksums_and_copies_are_timed_instead_of_jobs() {
    let sandbox = Sandbox::new();
    let ran = sandbox.line("--crctest=md5,sha3-256");
    let lines: Vec<&str> = ran.expect(0, &[]).out.lines().collect();
    let [md5, sha3] = lines[..] else { panic!("{ran:#?}") };
    for (line, begin) in [(md5, "md5:\t\t"), (sha3, "sha3-256:\t")] {
        let speed = line.strip_prefix(begin).and_then(|rest| rest.strip_suffix(" MiB/sec"));
        assert!(speed.unwrap().trim().parse::<f64>().unwrap() > 0.0, "{line}");
    }
    let ran = sandbox.line("--crctest=murmur4");
    ran.expect(1, &["fio: unknown hash `murmur4`. Available:", "sha3-512\n"]);
    let ran = sandbox.line("--memcpytest=memmove");
    let lines: Vec<&str> = ran.expect(0, &["memmove\n\t8 bytes:\t"]).out.lines().collect();
    assert_eq!(lines.len(), 12);
}

#[test]
fn cpuclock_test_compares_processors_instead_of_running_jobs() {
    let sandbox = Sandbox::new();
    let ran = sandbox.line("--cpuclock-test");
    ran.expect(0, &["cs: reliable_tsc: ", " CPUs\n", "cs: Pass!\n"]);
}
