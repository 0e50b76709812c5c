//! Everything that can go wrong is reported with its place, reason and remedy. It has an exit code,
//! and loses no results.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;

use testbed::LoopFs;

use crate::prelude::*;
use crate::support::{device_that_ends, faulty_fs, make_pipe, secret_file};

const MIB: u64 = 1 << 20;
const EIO: i32 = 5;

/// A short run without warm-up.
fn short<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run", "--target", target, "--time", "1s", "--warm-up", "0", "--quiet"];
    arguments.extend(more);
    arguments
}

#[test]
fn invalid_arguments_are_usage_errors() {
    fathom(&["run", "--target", "null", "--blok", "4k"]).expect(4, &["--blok", "--block"]);
    // The message repeats the arguments as they were typed; a flag has no value.
    fathom(&["run", "--target", "null", "--block", "4k true"]).expect(4, &["--block 4k true"]);
    fathom(&["run", "--target", "null", "--block", "4q"])
        .expect(4, &["`block`", "--> command line: --block 4q", "help:"]);
    fathom(&["run"]).expect(4, &["no target", "help:"]);
    fathom(&["run", "/tmp"]).expect(3, &["cannot read /tmp", "Is a directory", "--target /tmp"]);
    fathom(&["run", "--target", "null", "--out", "yaml"])
        .expect(4, &["unknown output format `yaml`", "text, json, csv"]);
    fathom(&["run", "--target", "null", "--out", "text,json"]).expect(4, &["only one output", "json=result.json"]);
    fathom(&["run", "--target", "null", "--read", "70", "--trim"]).expect(4, &["--read", "--trim"]);
    fathom(&["run", "--target", "null", "--dry-run", "--out", "yaml"]).expect(4, &["unknown output format"]);
    fathom(&["run", "--target", "null", "--workers", "65536"]).expect(4, &["`workers`", "4096"]);
    fathom(&["quick", "--size", "many"]).expect(4, &["`size`", "help:"]);
    fathom(&["quick", "--size", "4k"]).expect(4, &["--size must be at least 1 MiB"]);
    fathom(&["run", "--target", "null", "--read", "150"]).expect(4, &["Example: --read 70"]);
    fathom(&["run", "--target", "null", "--rate", "fast"]).expect(4, &["Example: --rate '4000 iops'"]);
}

/// A missing input file has the same exit code in every command.
#[test]
fn a_file_that_cannot_be_read_has_the_same_exit_code_everywhere() {
    let lines = "run F.toml;sweep F.toml;sweep --from F;ab F.toml null;ab --from F;explain F;compare F F;report F;show F;\
        convert F --to fio;convert F.fio --to fio;convert F.toml --to fio;convert F.xml --to fio;lint F;lint F.toml;\
        lint F.xml;lint F.fio;lint fio F.fio;lint diskspd -XF.xml;suite F.toml;advise --from F;warm-up F;recover F;\
        policies --catalogue F;verify /tmp --require iops>=1 --policy F.toml;verify F.toml --require iops>=1;\
        run --target null --hosts @F";
    for line in lines.replace('F', "/no/such/file").split(';') {
        fathom_line(line).expect(3, &["error", "/no/such/file"]);
    }
}

#[test]
fn errors_of_other_dialects_have_their_own_lines() {
    let folder = folder();
    let job = folder.path().join("wrong.fio");
    fs::write(&job, "[a]\nrw=randraed\n").unwrap();
    let ended = fathom(&["lint", text(&job)]);
    let why = "why: valid values: read, write, trim, randread";
    ended.expect(4, &["error: fio: failed parsing rw=randraed", why]);
    ended.err.assert_lacks(&["\\n"]);
    fathom(&["ab", "--bogus 3", "null"]).expect(4, &["error: unexpected argument '--bogus' found"]);
    fathom(&["quick", "--seed", "abc"]).expect(4, &["'abc' for '--seed <NUMBER>': expected a number"]);
    fathom(&["lint", "foo", "bar"]).expect(4, &["name one file"]);
    fathom(&["lint", "foo", "--json"]).expect(4, &["write options before the file"]);
    let ended = fathom(&["quick", "--time", "3"]);
    ended.expect(4, &["unexpected argument '--time'"]);
    assert!(!ended.err.contains("tip:"), "{}", ended.err);
    let unit = ["`3` has no unit", "write 3ms or 500us"];
    fathom(&["calc", "little", "--iops", "4000", "--latency", "3"]).expect(4, &unit);
    fathom(&["lint", "--promised-latency", "3", "--target", "null"]).expect(4, &unit);
    fathom(&["verify", "null", "--require", "iops=>100"]).expect(4, &["a limit needs `>=` or `<=`"]);
    fathom_line("calc burst --capacity 5M --refill 4000 --ceiling 3000").expect(0, &["The burst never ends"]);
}

/// Each of these used to allocate for minutes, or until memory ran out.
#[test]
fn excessive_counts_are_refused_immediately() {
    let fio = |option: &str| fathom(&["fio", "--name=a", "--ioengine=null", "--size=1m", option]);
    fio("--numjobs=1000000000").expect(1, &["numjobs=1000000000", "65536"]);
    fio("--nrfiles=1000000000").expect(1, &["nrfiles=1000000000", "1048576"]);
    fio("--cpus_allowed=0-4294967295").expect(1, &["too large (max=", "cpus_allowed=0-4294967295"]);
    fio("--random_distribution=zipf:nan").expect(1, &["random_distribution=zipf:nan"]);
    fathom(&["diskspd", "-t4294967295", "-d1", "-c1M", "x"]).expect(1, &["(-t)=2147483647", "65536"]);

    let folder = folder();
    let profile = folder.path().join("p.xml");
    let target = "<Target><Path>x</Path><ThreadsPerFile>2147483648</ThreadsPerFile></Target>";
    let span = format!("<TimeSpan><Duration>1</Duration><Targets>{target}</Targets></TimeSpan>");
    fs::write(&profile, format!("<Profile><TimeSpans>{span}</TimeSpans></Profile>")).unwrap();
    fathom(&["diskspd", &format!("-X{}", text(&profile))]).expect(1, &["(-t)=2147483648", "65536"]);
}

/// Each clone once took 560 KiB, mostly for unused histograms that the allocator had cleared.
#[test]
fn a_clone_takes_less_memory_than_its_histograms() {
    let resident_kib = |clones: u32| {
        let count = format!("--numjobs={clones}");
        let job = split_words("--name=a --thread=1 --ioengine=null --size=1m --rw=randread --rate_iops=10");
        let line = [&["fio"], &job[..], &[&count, "--time_based", "--runtime=4"]].concat();
        let mut running = command(&line).stdout(Stdio::null()).spawn().unwrap();
        // The last value that is read includes all clones.
        let mut peak = 0;
        let ended = loop {
            let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
            if let Some((_, resident)) = status.split_once("VmHWM:") {
                peak = resident.split_whitespace().next().unwrap().parse::<u64>().unwrap();
            }
            if let Some(ended) = running.try_wait().unwrap() {
                break ended;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        assert!(ended.success());
        peak
    };
    let kib_per_job = (resident_kib(201) - resident_kib(1)) / 200;
    assert!(kib_per_job < 350, "{kib_per_job} KiB");
}

/// Opening a named pipe blocks until it has a writer; reading `/dev/zero` never ends.
#[test]
fn pipes_and_devices_are_not_accepted_as_job_files() {
    let folder = folder();
    let pipe = folder.path().join("pipe.toml");
    make_pipe(&pipe);
    let socket = folder.path().join("socket.toml");
    let _socket = UnixListener::bind(&socket).unwrap();
    for command in ["run", "lint"] {
        fathom(&[command, text(&pipe)]).expect(3, &["pipe.toml", "named pipe"]);
        fathom(&[command, text(&socket)]).expect(3, &["socket.toml", "a socket"]);
        fathom(&[command, "/dev/zero"]).expect(3, &["/dev/zero", "character device"]);
    }
    fathom(&["fio", text(&pipe)]).expect(1, &["unable to open", "named pipe"]);
    fathom(&["fio", "/dev/zero"]).expect(1, &["unable to open", "character device"]);
    let hosts = format!("@{}", text(&pipe));
    fathom(&["run", "--target", "null", "--hosts", &hosts]).expect(3, &["pipe.toml", "named pipe"]);
    let trace = format!("--read_iolog={}", text(&pipe));
    fathom(&["fio", "--name=a", "--ioengine=null", &trace]).expect(1, &["pipe.toml", "regular file"]);
    let pattern = format!("--buffer_pattern='{}'", text(&pipe));
    fathom(&["fio", "--name=a", "--ioengine=null", "--size=1m", &pattern]).expect(1, &["buffer_pattern"]);
}

/// A shell's process substitution is a pipe without a name.
#[test]
fn a_job_file_may_come_from_a_process_substitution() {
    let script = "\"$0\" fio --parse-only <(printf '[a]\\nsize=4k\\n')";
    let status = Command::new("bash").args(["-c", script, PROGRAM]).status().unwrap();
    assert!(status.success());
}

/// Such an argument, converted to Unicode, would be another name.
#[test]
fn arguments_that_are_not_unicode_are_refused() {
    let word = std::ffi::OsStr::from_bytes(b"/tmp/caf\xe9.dat");
    let words = ["run", "--target"].map(std::ffi::OsStr::new);
    fathom(&[&words[..], &[word]].concat())
        .expect(4, &[r#"argument 3 is not valid Unicode: "/tmp/caf\xE9.dat""#, "help:"]);
    for tool in ["diskspd", "fio"] {
        fathom(&[std::ffi::OsStr::new(tool), word]).expect(1, &["argument 2 is not valid Unicode"]);
    }
}

#[test]
fn missing_targets_are_refused() {
    fathom(&short("/no/such/folder/file", &[])).expect(3, &["/no/such/folder/file does not exist", "help:"]);
    let folder = need!(Directory::fast());
    let missing = folder.path().join("missing");
    fathom(&short(text(&missing), &[])).expect(3, &["does not exist", "set a size"]);
    let empty = folder.path().join("empty");
    fs::write(&empty, b"").unwrap();
    fathom(&short(text(&empty), &[])).expect(3, &["is an empty file", "help:"]);
    fathom(&short(text(folder.path()), &["--size", "0"])).expect(4, &["`size`", "help:"]);
    fathom(&short("/dev/tty", &[])).expect(3, &["/dev/tty", "help:"]);
    let directory = format!("{}/", text(&missing));
    for size in [&[][..], &["--size", "1m"]] {
        let message = format!("{directory} does not exist");
        fathom(&short(&directory, size)).expect(3, &[&message, "help: create this directory"]);
    }
    assert!(!missing.exists());
}

#[test]
fn a_file_created_in_a_directory_is_removed_afterwards() {
    let folder = need!(Directory::fast());
    let ran = fathom(&short(text(folder.path()), &["--size", "16m"]));
    ran.expect(0, &["16 MiB of random data written for this run", "IOPS"]);
    assert_eq!(names(folder.path()), Vec::<String>::new());
    fathom(&short(text(folder.path()), &["--size", "16m", "--keep"])).expect(0, &[]);
    assert_eq!(names(folder.path()).len(), 1, "kept");
}

#[test]
fn sizes_that_do_not_fit_are_explained() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("f");
    let file = text(&path);
    let run = |line: &str| fathom(&short(file, &split_words(line)));
    let advice = ["multiples of 512", "a block size that is a multiple of"];
    let odd = run("--size 16m --block 1000");
    odd.expect(3, &["1000 bytes", "cannot use direct I/O on", file])
        .expect(3, &advice);
    let large = "a block of 32 MiB does not fit in a size of 16 MiB";
    run("--size 16m --block 32m").expect(4, &[large, "help:"]);
    run("--size 16m --depth 100000000").expect(4, &["`depth`", "1 to", "help:"]);
    let buffers = "cannot allocate 10000 buffers of 32 MiB";
    run("--size 64m --block 32m --depth 10000").expect(3, &[buffers, "of memory", "reduce the queue depth"]);
}

#[test]
fn a_missing_permission_to_open_is_reported() {
    let folder = need!(Directory::fast());
    let secret = secret_file(folder.path());
    let other_user = need!(testbed::as_other_user(PROGRAM, folder.path(), "fathom", "--version"));
    let run_as_other = |arguments: &[&str]| finish(&mut other_user(arguments));
    run_as_other(&short(text(&secret), &[])).expect(3, &["Permission denied", text(&secret), "help:"]);
    let new = folder.path().join("new");
    run_as_other(&short(text(&new), &["--size", "16m"]))
        .expect(3, &["cannot create", text(&new), "Permission denied", "help:"]);
    run_as_other(&["run", "--target", "null", "--time", "100ms", "--save", text(&new)])
        .expect(3, &["cannot write", "Permission denied", "help:"]);
}

#[test]
fn a_full_file_system_is_reported_before_and_during_the_run() {
    let small = need!(TmpFs::with_size(32 * MIB));
    fathom(&short(text(small.path()), &["--size", "64m"])).expect(3, &["free", "a size of up to"]);
    // The sparse file is larger than the file system, so measured writes fill it.
    let path = small.path().join("sparse");
    File::create(&path).unwrap().set_len(64 * MIB).unwrap();
    let file = text(&path);
    let line = format!("--write 100 --cache buffered --access sequential --block 64k --allow-overwrite {file}");
    fathom(&short(file, &split_words(&line))).expect(1, &["WORKER-FAILED", "No space left on device", "IOPS", "help:"]);
}

#[test]
fn errors_of_a_device_end_the_job_and_keep_its_results() {
    let (folder, device) = need!(device_that_ends());
    let saved = folder.path().join("saved");
    let walk = ["--access", "sequential", "--block", "64k", "--save", text(&saved)];
    fathom(&short(text(device.path()), &walk)).expect(
        1,
        &["WORKER-FAILED", "read failed: Input/output error", "offset", "dmesg"],
    );
    // The first 8 MiB, in blocks of 64 KiB, were read before the error.
    let results = archive::load(&saved).unwrap();
    assert_eq!(results.steps[0].jobs[0].total().operations, 128);
    let tolerant = short(text(device.path()), &["--tolerate-errors"]);
    fathom(&tolerant).expect(1, &["IO-ERRORS", "read operations failed and were tolerated"]);
}

#[test]
fn errors_of_a_file_system_are_reported() {
    let faulty = need!(faulty_fs());
    faulty.fail_reads(4 * MIB..4 * MIB + 4096, EIO);
    let file = text(faulty.file());
    let walk = ["--access", "sequential", "--block", "4k"];
    fathom(&short(file, &walk)).expect(1, &["read failed: Input/output error", "offset 4194304"]);
    faulty.clear();
    faulty.fail_writes(0..16 * MIB, EIO);
    let writing = ["--write", "100", "--cache", "direct", "--allow-overwrite", file];
    fathom(&short(file, &writing)).expect(1, &["write failed: Input/output error"]);
}

/// No signal handler runs in a thread whose file system call does not return.
#[test]
fn the_first_signal_ends_the_examination_of_a_target_that_does_not_answer() {
    let faulty = need!(faulty_fs());
    faulty.hang();
    let line = format!("run --write 100 --time 60s --target {}", text(faulty.file()));
    let mut child = command(&split_words(&line)).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(20, || faulty.seen().hanging > 0, "nothing was read");
    signal(&child, "TERM");
    let signalled = Instant::now();
    let ended = loop {
        match child.try_wait().unwrap() {
            Some(ended) => break Some(ended),
            None if signalled.elapsed() > Duration::from_secs(20) => break None,
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    faulty.release();
    let ran = child.wait_with_output().unwrap();
    assert_eq!(ended.and_then(|status| status.code()), Some(143));
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(stderr.contains("waiting for a target"), "{stderr}");
}

/// A name could move the cursor or set the title of the terminal, and makes JSON invalid.
#[test]
fn reports_of_drop_ins_have_no_control_characters() {
    for format in ["normal", "json", "terse"] {
        let output_format = format!("--output-format={format}");
        let name = "--name=a\u{1b}]0;x\u{7}\u{9b}b";
        let description = "--description=\u{1b}[31m";
        let ran = fathom(&[
            "fio", name, "--ioengine=null", "--size=64k", description, &output_format,
        ]);
        ran.expect(0, &["\\u001b]0;x\\u0007\\u009bb"]);
        assert!(!ran.out.contains(['\u{1b}', '\u{7}', '\u{9b}']), "{ran:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let line = "fio --name=a\u{1b}b --ioengine=null --size=64k --output-format=json --output";
    fathom_line(&format!("{line}={}", text(&report))).expect(0, &[]);
    let report = fs::read_to_string(&report).unwrap();
    let report: Value = serde_json::from_str(&report).expect("the report is valid JSON");
    assert_eq!(report["jobs"][0]["jobname"], "a\u{1b}b");
}

/// Opening a pipe waits for its reader; the first signal once had no effect on that.
#[test]
fn the_first_signal_ends_the_wait_for_the_reader_of_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    make_pipe(&pipe);
    let mut child = spawn(&mut command(&short("null", &["--save", text(&pipe)])));
    std::thread::sleep(Duration::from_secs(3));
    assert!(child.try_wait().unwrap().is_none(), "it waits for a reader");
    signal(&child, "TERM");
    let signalled = Instant::now();
    while child.try_wait().unwrap().is_none() && signalled.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = child.kill();
    let ran = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    let waiting = stderr.matches("pipe: waiting for a process that reads").count();
    assert_eq!(waiting, 1, "{stderr}");
    assert!(stderr.contains("no process reads this pipe"), "{stderr}");
    // These are written during the run, so they need a reader from the start.
    let stream = format!("ndjson={}", text(&pipe));
    for output in [["--log", text(&pipe)], ["--out", &stream]] {
        fathom(&short("null", &output)).expect(3, &["no process reads this pipe"]);
    }
}

#[test]
fn a_file_that_vanishes_between_steps_costs_no_results() {
    let folder = need!(Directory::fast());
    let (file, job) = (folder.path().join("f"), folder.path().join("job.toml"));
    fs::write(&file, vec![7; MIB as usize]).unwrap();
    let jobs = format!(
        "[defaults]\ntarget = \"{}\"\ntime = \"4s\"\nwarm-up = \"0s\"\ncache = \"buffered\"\n\
         [[job]]\nname = \"first\"\n[[job]]\nname = \"second\"\nstep = 2\n",
        text(&file)
    );
    fs::write(&job, jobs).unwrap();
    let child = spawn(&mut command(&["run", text(&job)]));
    std::thread::sleep(Duration::from_secs(2));
    fs::remove_file(&file).unwrap();
    end(child).exits(1).prints(&[
        "NOT-STARTED (second)",
        "No such file",
        "first: 4 KiB random reads",
        "did not start",
    ]);
}

#[test]
fn a_file_that_would_fill_the_file_system_is_not_created() {
    let small = need!(LoopFs::ext4(64 * MIB));
    let path = small.path().join("f");
    // More than fits: refused before anything is written.
    fathom(&short(text(&path), &["--size", "60m"])).expect(3, &["help:"]);
    assert!(!path.exists());
}

#[test]
fn a_limit_on_file_sizes_is_reported_as_an_error() {
    let folder = need!(Directory::fast());
    let path = folder.path().join("f");
    let script = format!(
        "ulimit -f 4096; exec {PROGRAM} run --target {} --size 16m --time 1s",
        text(&path)
    );
    finish(Command::new("sh").args(["-c", &script])).expect(3, &["File too large", "ulimit -f"]);
    assert!(!path.exists(), "no incomplete file is left");
}

/// A name from outside can neither move the cursor nor forge a line. A long line is quoted in part.
#[test]
fn names_of_files_and_jobs_are_printed_escaped() {
    let folder = folder();
    let hostile = "x\u{1b}[2J\u{7}\nerror: forged\u{202e}";
    let file = folder.path().join(format!("{hostile}.fio"));
    fs::write(&file, "[j\u{1b}[2J\u{202e}]\nbogus\u{9b}=3\nioengine=null\nsize=1m\n").unwrap();
    let long = folder.path().join("long.toml");
    fs::write(&long, format!("target = {}\u{1b}[2J\n", "x".repeat(5_000))).unwrap();

    for command in ["run", "lint", "explain", "convert", "fio", "show", "report", "verify"] {
        for file in [&file, &long] {
            let ran = fathom(&[command, text(file)]);
            for stream in [&ran.out, &ran.err] {
                let hidden = stream.chars().find(|letter| {
                    *letter != '\n' && *letter != '\t' && (letter.is_control() || *letter == '\u{202e}')
                });
                assert_eq!(hidden, None, "{command}: {stream:?}");
                assert!(!stream.contains("\nerror: forged"), "{command}: {stream:?}");
                // fio quotes a wrong line in full, and scripts read that.
                let whole = command == "fio" || stream.lines().all(|line| line.len() < 1_000);
                assert!(whole, "{command}: {} bytes", stream.len());
            }
            assert!(ran.out.len() + ran.err.len() > 0, "{command}");
        }
    }
}

/// A misspelt device name would create a file in memory. The drop-in modes create it with a
/// warning; commands of fathom refuse.
#[test]
fn a_file_in_place_of_a_device_causes_a_warning_or_a_refusal() {
    let path = format!("/dev/fathom-misspelt-{}", std::process::id());
    let warning = format!("warning: {path}: no such device exists; a file is created in its place, in memory [GUARD]");
    let fio = format!("--filename={path}");
    let made = fathom(&["fio", "--name=a", &fio, "--rw=write", "--size=64k"]);
    fs::remove_file(&path).unwrap();
    made.expect(0, &[&warning]);
    let made = fathom(&["diskspd", "-c64k", "-d1", "-W0", "-w100", &path]);
    fs::remove_file(&path).unwrap();
    made.expect(0, &[&warning]);
    fathom(&["run", "--target", &path, "--size", "64k", "--time", "1s"]).expect(3, &["no such device exists"]);
    assert!(!fs::exists(&path).unwrap());
}

#[test]
fn a_limit_of_memory_is_named() {
    let script = "ulimit -v 3000000; exec \"$@\"";
    let run = |arguments: &[&str]| {
        let mut command = Command::new("bash");
        command.args(["-c", script, "bash", PROGRAM]).args(arguments);
        finish(command.env("FATHOM_NOTES", "1"))
    };
    let words = [
        "cannot allocate 64 buffers of 64 MiB (4 GiB in all)",
        "the limit on address space (ulimit -v) leaves 2.",
    ];
    run(&split_words("run --target null --block 64m --depth 64 --time 1s")).expect(3, &words);
    let fio = split_words("fio --name=a --ioengine=null --size=1g --bs=64m --iodepth=64");
    run(&fio).expect(1, &[words[1], "err=12"]);
    // Memory that is mapped before a thread can report an error.
    let refused = "cannot start 2000 workers: they need 7.";
    run(&split_words("run --target null --workers 2000 --time 1s")).expect(3, &[refused, "RLIMIT_AS", "ulimit -v"]);
    let fio = split_words("fio --name=a --ioengine=null --size=1m --numjobs=2000 --thread");
    let some_run = run(&fio);
    some_run.err.assert_contains(&[refused]);
    some_run.out.assert_contains(&["READ: bw="]);
}

#[test]
fn a_test_file_is_removed_after_its_folder_was_renamed() {
    let folder = need!(Directory::fast());
    let (before, after) = (folder.path().join("before"), folder.path().join("after"));
    fs::create_dir(&before).unwrap();
    let mut child = spawn(&mut command(&short(text(&before), &["--size", "16m"])));
    let deadline = Instant::now() + Duration::from_secs(30);
    while names(&before).is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::rename(&before, &after).unwrap();
    let ended = child.wait().unwrap();
    assert!(names(&after).is_empty(), "{ended}");
}

/// Options of fio, and everyday words, suggest the option with the same meaning. An option that
/// only shares some letters is not suggested (`--trim` for `--runtime`).
#[test]
fn options_of_fio_suggest_the_native_option() {
    for (typed, ours) in [
        ("--runtime", "--time"),
        ("--iodepth", "--depth"),
        ("--bs", "--block"),
        ("--numjobs", "--workers"),
        ("--filename", "--target"),
        ("--ramp_time", "--warm-up"),
    ] {
        let tip = format!("a similar argument exists: '{ours}'");
        fathom(&["run", typed, "4"]).expect(4, &[&tip, "`fathom fio` takes fio's own options"]);
    }
    fathom(&["run", "--duration", "4"]).expect(4, &["a similar argument exists: '--time'"]);
    fathom(&["run", "--tim", "4"]).expect(4, &["a similar argument exists: '--time'"]);
    fathom(&["sweep", "--require", "p99<=3ms"]).expect(4, &["a similar argument exists: '--slo'"]);
    // The command has no such option.
    let ran = fathom(&["quick", "--runtime", "4"]);
    ran.expect(4, &["unexpected argument '--runtime'"]);
    ran.err.assert_lacks(&["similar"]);
}
