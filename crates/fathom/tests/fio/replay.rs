//! Traces of operations: writing and replaying them, with fathom and with Debian's fio.

use crate::fio::support::Sandbox;
use crate::prelude::*;

/// File, action and position of each operation of a trace, in order. Times are left out, and so are
/// the lines that add, open and close files.
fn operations(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("fio version 3 iolog"));
    let line = |line: &str| {
        let mut fields: Vec<&str> = line.split_whitespace().skip(1).collect();
        // In lines about flushes, fio leaves the position of the previous operation.
        if fields.get(1).is_some_and(|action| action.contains("sync")) {
            fields.truncate(2);
        }
        fields.join(" ")
    };
    let is_operation = |line: &&str| line.split_whitespace().count() == 5;
    lines.filter(is_operation).map(line).collect()
}

/// Numbers of reads, writes, trims and flushes in a trace.
fn count_kinds(operations: &[String]) -> [u64; 4] {
    ["read", "write", "trim", "sync"].map(|word| {
        let matching = operations
            .iter()
            .filter(|line| line.split(' ').nth(1).is_some_and(|action| action.ends_with(word)));
        matching.count() as u64
    })
}

/// Bytes that a trace transfers in a direction.
fn bytes_in(operations: &[String], direction: &str) -> u64 {
    let fields = operations.iter().map(|line| line.split(' ').collect::<Vec<_>>());
    let matching = fields.filter(|fields| fields[1] == direction);
    matching.map(|fields| fields[3].parse::<u64>().unwrap()).sum()
}

/// The same numbers in the report of a job.
fn reported_counts(job: &Value) -> [u64; 4] {
    ["read", "write", "trim", "sync"].map(|direction| job[direction]["total_ios"].as_u64().unwrap())
}

/// Runs a program in the folder of a test and parses its report.
fn run(sandbox: &Sandbox, program: &str, line: &str) -> Value {
    let mut command = Command::new(program);
    command.args(line.split_whitespace()).arg("--output-format=json");
    let ran = finish(command.current_dir(sandbox.path()).stdin(Stdio::null()));
    assert_eq!(ran.code, Some(0), "{program} {line}\n{ran:#?}");
    serde_json::from_str(&ran.out[ran.out.find('{').unwrap()..]).unwrap()
}

/// Debian's fio, if it is installed.
const THEIRS: &str = "/usr/bin/fio";

fn has_theirs() -> bool {
    let ran = Command::new(THEIRS).arg("--version").output();
    ran.is_ok_and(|output| output.status.success())
}

fn our_fio(sandbox: &Sandbox) -> String {
    sandbox.programs().join("fio").display().to_string()
}

fn reads_of_jobs(report: &Value) -> Vec<u64> {
    let jobs = report["jobs"].as_array().unwrap().iter();
    jobs.map(|job| reported_counts(job)[0]).collect()
}

/// Bytes that the first job read and wrote.
fn transferred(report: &Value) -> [Option<u64>; 2] {
    ["read", "write"].map(|direction| report["jobs"][0][direction]["io_bytes"].as_u64())
}

#[test]
fn a_trace_holds_all_operations_and_can_be_replayed() {
    let sandbox = Sandbox::new();
    let job = "--name=a --size=256k --nrfiles=2 --rw=randrw --bs=4k --fsync=7 --ioengine=libaio --iodepth=4 \
               --write_iolog=first";
    let made = sandbox.line(&format!("{job} --output-format=json"));
    made.expect(0, &[]);
    let first = operations(&sandbox.path().join("first"));
    assert_eq!(count_kinds(&first), reported_counts(&made.json()["jobs"][0]));
    assert!(count_kinds(&first)[3] > 0, "{first:?}");
    let written = ["a.0.0", "a.0.1"].map(|name| {
        let before = fs::read(sandbox.path().join(name)).unwrap();
        fs::write(sandbox.path().join(name), vec![0; 128 << 10]).unwrap();
        before
    });
    let replay = "--name=b --read_iolog=first --write_iolog=second --ioengine=libaio --iodepth=4";
    let replayed = sandbox.first_job(&format!("{replay} --output-format=json"));
    assert_eq!(operations(&sandbox.path().join("second")), first);
    assert_eq!(reported_counts(&replayed), count_kinds(&first));
    // Exactly the blocks that the trace writes hold data again.
    for (number, before) in written.iter().enumerate() {
        let after = fs::read(sandbox.path().join(format!("a.0.{number}"))).unwrap();
        assert_eq!(after.len(), before.len());
        for (block, bytes) in after.chunks(4096).enumerate() {
            let line = format!("a.0.{number} write {} 4096", block * 4096);
            assert_eq!(bytes.iter().any(|byte| *byte != 0), first.contains(&line), "{line}");
        }
    }
}

#[test]
fn fathom_and_debians_fio_replay_the_traces_of_each_other() {
    let sandbox = Sandbox::new();
    if !has_theirs() {
        return testbed::skip("fio is not installed");
    }
    let ours = our_fio(&sandbox);
    let jobs = [
        "--rw=randrw --bs=4k --fsync=5",
        "--rw=write --bsrange=1k-16k --fdatasync=3",
        "--rw=randread --bs=8k --nrfiles=3 --openfiles=1",
        "--rw=randrw --bs=4k --direct=1 --ioengine=libaio --iodepth=8 --end_fsync=1",
    ];
    let pairs = jobs.map(|job| [(job, &*ours, THEIRS), (job, THEIRS, &*ours)]);
    for (job, writer, reader) in pairs.into_iter().flatten() {
        for name in sandbox.names() {
            fs::remove_file(sandbox.path().join(name)).unwrap();
        }
        let line = format!("--name=a --size=256k {job} --write_iolog=trace");
        let made = run(&sandbox, writer, &line);
        let trace = operations(&sandbox.path().join("trace"));
        let kinds = count_kinds(&trace);
        let reported = reported_counts(&made["jobs"][0]);
        assert_eq!(kinds[..3], reported[..3], "{writer} {job}");
        // A block was written if it does not consist of zeros.
        let names = sandbox.names().into_iter().filter(|name| name != "trace");
        let files: Vec<_> = names.map(|name| sandbox.path().join(name)).collect();
        let sizes: Vec<u64> = files.iter().map(|path| fs::metadata(path).unwrap().len()).collect();
        let zero_files = || {
            for (path, size) in files.iter().zip(&sizes) {
                fs::write(path, vec![0; *size as usize]).unwrap();
            }
        };
        let written_blocks = || -> Vec<bool> {
            let bytes = files.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>();
            let blocks = bytes.iter().flat_map(|bytes| bytes.chunks(512));
            blocks.map(|block| block.iter().any(|byte| *byte != 0)).collect()
        };
        let line = "--name=b --read_iolog=trace --replay_no_stall=1 --ioengine=libaio --iodepth=4";
        zero_files();
        let by_writer = run(&sandbox, writer, line);
        let expected = written_blocks();
        zero_files();
        let by_reader = run(&sandbox, reader, line);
        assert_eq!(written_blocks(), expected, "{writer} wrote, {reader} read: {job}");
        // fio's report of a replay omits the bytes of the last operations in flight, but counts the
        // operations.
        let found = reported_counts(&by_reader["jobs"][0]);
        let first = reported_counts(&by_writer["jobs"][0]);
        assert_eq!(found[..2], first[..2], "{writer} wrote, {reader} read: {job}");
        assert_eq!(found[..2], kinds[..2], "{job}");
        if reader == ours {
            let bytes = ["read", "write"].map(|direction| Some(bytes_in(&trace, direction)));
            assert_eq!(transferred(&by_reader), bytes, "{job}");
            assert_eq!(found[3], kinds[3], "{job}");
        }
    }
}

/// Writes a trace of version 3.
fn write_trace(sandbox: &Sandbox, lines: &str) {
    fs::write(sandbox.path().join("trace"), format!("fio version 3 iolog\n{lines}")).unwrap();
}

#[test]
fn a_replay_creates_missing_files() {
    let sandbox = Sandbox::new();
    let lines = "1 sub/x add\n2 sub/x open\n3 sub/x write 8192 4096\n4 sub/x datasync 0 0\n5 sub/x read 8192 4096\n\
                 6 sub/x close\n";
    write_trace(&sandbox, lines);
    let job = sandbox.first_job("--name=b --read_iolog=trace --output-format=json");
    assert_eq!(reported_counts(&job), [1, 1, 0, 1]);
    let bytes = fs::read(sandbox.path().join("sub/x")).unwrap();
    assert_eq!(bytes.len(), 12288);
    assert!(bytes[..8192].iter().all(|byte| *byte == 0) && bytes[8192..].iter().any(|byte| *byte != 0));
}

#[test]
fn options_change_the_positions_kinds_and_files_of_a_replay() {
    let sandbox = Sandbox::new();
    let lines = "1 x add\n2 x open\n3 x write 16384 4096\n4 x read 16384 4096\n5 x sync 0 0\n6 x write 20000 4096\n";
    write_trace(&sandbox, lines);
    let whole = "x write 16384 4096;x read 16384 4096;x sync;x write 20000 4096";
    let scaled = "x write 8192 4096;x read 8192 4096;x sync;x write 8192 4096";
    for (options, file, expected) in [
        ("", "x", whole),
        ("--replay_redirect=r", "r", &whole.replace('x', "r")),
        ("--replay_scale=2 --replay_align=4k", "x", scaled),
        ("--replay_skip=read,sync", "x", "x write 16384 4096;x write 20000 4096"),
    ] {
        for name in ["x", "r", "done"] {
            let _ = fs::remove_file(sandbox.path().join(name));
        }
        // The data to read must exist in the file that the options choose.
        fs::write(sandbox.path().join(file), vec![1; 32 << 10]).unwrap();
        let line = format!("--name=b --read_iolog=trace --write_iolog=done {options}");
        sandbox.line(&line).expect(0, &[]);
        let done = operations(&sandbox.path().join("done"));
        assert_eq!(done.join(";"), expected, "{options}");
        let other = if file == "x" { "r" } else { "x" };
        assert!(!sandbox.path().join(other).exists(), "{options}");
    }
}

#[test]
fn files_that_a_trace_writes_to_are_guarded_like_any_target() {
    let sandbox = Sandbox::new();
    let disk = Directory::fast().unwrap();
    let database = disk.path().join("data");
    let mut bytes = b"SQLite format 3\0".to_vec();
    bytes.resize(8192, 1);
    fs::write(&database, &bytes).unwrap();
    let name = database.display();
    let trace = |action: &str| format!("1 {name} add\n2 {name} open\n3 {name} {action} 0 4096\n");
    write_trace(&sandbox, &trace("write"));
    let ran = sandbox.line("--name=b --read_iolog=trace");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("data"), "{}", ran.err);
    assert_eq!(fs::read(&database).unwrap(), bytes, "nothing was written");
    // A trace that only reads the file is allowed.
    write_trace(&sandbox, &trace("read"));
    sandbox.line("--name=b --read_iolog=trace").expect(0, &[]);
}

#[test]
fn readonly_replays_only_the_reads_of_a_trace() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("x"), vec![5; 8192]).unwrap();
    let lines = "1 x add\n2 x open\n3 x write 0 4096\n4 x trim 0 4096\n5 x read 4096 4096\n";
    write_trace(&sandbox, lines);
    let ran = sandbox.line("--readonly --name=b --read_iolog=trace --output-format=json");
    ran.expect(0, &["fio: <b> skips replay of 1 writes due to read-only"]);
    assert_eq!(reported_counts(&ran.json()["jobs"][0]), [1, 0, 0, 0]);
    assert_eq!(fs::read(sandbox.path().join("x")).unwrap(), vec![5; 8192]);
}

/// fio fails with the trim and leaves the file as it is.
#[test]
fn a_trace_trims_no_file() {
    let sandbox = Sandbox::new();
    let path = sandbox.path().join("x");
    fs::write(&path, vec![5; 8192]).unwrap();
    write_trace(&sandbox, "1 x add\n2 x open\n3 x read 4096 4096\n4 x trim 0 4096\n");
    let ran = sandbox.line("--name=b --read_iolog=trace");
    ran.expect(1, &["func=td_io_queue, error=Inappropriate ioctl for device"]);
    sandbox
        .line("--name=b --read_iolog=trace --replay_skip=trim")
        .expect(0, &[]);
    assert_eq!(fs::read(&path).unwrap(), vec![5; 8192]);
    write_trace(&sandbox, "1 y add\n2 y open\n3 y trim 0 4096\n");
    let ran = sandbox.line("--name=b --read_iolog=trace");
    ran.expect(1, &["func=td_io_queue, error=Inappropriate ioctl for device"]);
    assert!(!sandbox.path().join("y").exists());
}

#[test]
fn clones_rotate_through_traces_or_read_standard_input() {
    let sandbox = Sandbox::new();
    for (name, count) in [("one", 1), ("two", 2)] {
        fs::write(sandbox.path().join("x"), vec![5; 8192]).unwrap();
        let reads = "3 x read 0 4096\n".repeat(count);
        let text = format!("fio version 3 iolog\n1 x add\n2 x open\n{reads}");
        fs::write(sandbox.path().join(name), text).unwrap();
    }
    let ran = sandbox.line("--name=b --numjobs=3 --read_iolog=one:two --output-format=json");
    assert_eq!(reads_of_jobs(&ran.expect(0, &[]).json()), [1, 2, 1]);
    let mut command = sandbox.command(&["--name=b", "--numjobs=2", "--read_iolog=-", "--output-format=json"]);
    command.stdin(fs::File::open(sandbox.path().join("two")).unwrap());
    assert_eq!(reads_of_jobs(&finish(&mut command).json()), [2, 2]);
}

#[test]
fn traces_of_several_jobs_and_runs_are_appended() {
    let sandbox = Sandbox::new();
    for _ in 0..2 {
        let line = "--name=a --numjobs=3 --filename=x --size=64k --bs=4k --rw=write --write_iolog=trace";
        sandbox.line(line).expect(0, &[]);
    }
    let text = fs::read_to_string(sandbox.path().join("trace")).unwrap();
    assert_eq!(text.matches("fio version 3 iolog").count(), 1);
    assert_eq!(operations(&sandbox.path().join("trace")).len(), 2 * 3 * 16);
    // A target cannot also be the log.
    let ran = sandbox.line("--name=a --filename=x --size=64k --rw=read --write_iolog=x");
    assert!(ran.code != Some(0), "{}", ran.err);
    ran.err.assert_contains(&["it is a target of the test"]);
    assert_eq!(fs::metadata(sandbox.path().join("x")).unwrap().len(), 65536);
}

/// A record of blktrace for a queued request.
fn record(time: u64, sector: u64, bytes: u32, kind: u32) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(0x6561_7407_u32.to_ne_bytes());
    record.extend(0_u32.to_ne_bytes());
    record.extend(time.to_ne_bytes());
    record.extend(sector.to_ne_bytes());
    record.extend(bytes.to_ne_bytes());
    record.extend((kind | 1).to_ne_bytes());
    record.extend(1_u32.to_ne_bytes());
    record.extend((8_u32 << 20).to_ne_bytes());
    record.extend([0; 8]);
    record
}

#[test]
fn binary_traces_are_replayed_on_another_file() {
    let sandbox = Sandbox::new();
    let (reads, writes) = (1 << 16, 1 << 17);
    let requests = [
        (1_000, 8, 4096, writes),
        (2_000, 16, 8192, reads),
        (3_000, 64, 4096, writes),
        (4_000, 8, 512, reads),
    ];
    let records = requests.map(|(time, sector, bytes, kind)| record(time, sector, bytes, kind));
    fs::write(sandbox.path().join("trace"), records.concat()).unwrap();
    let line = "--name=b --read_iolog=trace --replay_redirect=r --direct=0 --replay_scale=2";
    let expected: Vec<usize> = (4..12).chain(32..40).collect();
    let theirs = has_theirs().then(|| THEIRS.to_owned());
    for program in [our_fio(&sandbox)].into_iter().chain(theirs) {
        fs::write(sandbox.path().join("r"), vec![0; 64 << 10]).unwrap();
        let report = run(&sandbox, &program, line);
        let bytes = fs::read(sandbox.path().join("r")).unwrap();
        let has_data = |sector: &usize| bytes[sector * 512..][..512].iter().any(|byte| *byte != 0);
        assert_eq!(transferred(&report), [Some(8704), Some(8192)], "{program}");
        assert_eq!((0..128).filter(has_data).collect::<Vec<_>>(), expected, "{program}");
    }
}

#[test]
fn binary_traces_are_merged_into_one() {
    let sandbox = Sandbox::new();
    let (reads, writes) = (1 << 16, 1 << 17);
    let inside = |name: &str| sandbox.path().join(name);
    let first = [record(1_000, 8, 4096, writes), record(3_000, 16, 4096, writes)];
    let second = record(2_000, 64, 8192, reads);
    fs::write(inside("first"), first.concat()).unwrap();
    fs::write(inside("second"), &second).unwrap();
    fs::write(inside("r"), vec![0; 64 << 10]).unwrap();
    let merge = "--name=m --read_iolog=first:second --merge_blktrace_file=both";
    let only = sandbox.line(&format!("{merge} --merge-blktrace-only"));
    only.expect(0, &["m: (g=0): rw=read"]);
    let expected = [first[0].clone(), second, first[1].clone()];
    assert_eq!(fs::read(inside("both")).unwrap(), expected.concat());
    // The second runs twice, in half the time.
    let scaled = "--merge-blktrace-only --merge_blktrace_scalars=100:50 --merge_blktrace_iters=1:2";
    sandbox.line(&format!("{merge} {scaled}")).expect(0, &[]);
    let halved = |time| record(time, 64, 8192, reads);
    let expected = [first[0].clone(), halved(1_000), halved(2_000), first[1].clone()];
    assert_eq!(fs::read(inside("both")).unwrap(), expected.concat());
    let report = run(&sandbox, &our_fio(&sandbox), &format!("{merge} --replay_redirect=r"));
    assert_eq!(transferred(&report), [Some(8192); 2]);
    for (inputs, output, why) in [
        ("", "both", "merge_blktrace_file needs the traces"),
        (
            "--read_iolog=first",
            "first",
            "merge_blktrace_file: first is the input first",
        ),
        (
            "--read_iolog=first:r",
            "x",
            "read_iolog: r: record 1 is not a blktrace record",
        ),
        ("--read_iolog=first:gone", "x", "read_iolog: gone: No such file"),
        ("--read_iolog=first", "gone/x", "merge_blktrace_file: gone/x:"),
        (
            "--read_iolog=first",
            "x --merge_blktrace_scalars=1:2",
            "merge_blktrace_scalars(2) != nr_logs(1)",
        ),
        (
            "--read_iolog=first",
            "x --merge_blktrace_iters=0.5",
            "merge_blktrace_iters: invalid value 0.5",
        ),
    ] {
        let line = format!("--name=m {inputs} --merge_blktrace_file={output}");
        let ran = sandbox.line(&line);
        let is_refused = ran.code == Some(1) && ran.err.contains(&format!("fio: {why}"));
        assert!(is_refused, "{line}: {ran:?}");
        assert!(!inside("x").exists(), "{line}");
    }
    assert_eq!(fs::read(inside("first")).unwrap(), first.concat());
    // An interrupt ends a merge that would fill the disk, and no file is left.
    let endless = "--name=m --read_iolog=first --merge_blktrace_file=x --merge_blktrace_iters=4000000000";
    let child = sandbox.start(endless);
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    let ran = end(child);
    assert!(ran.code == Some(128) && !inside("x").exists(), "{ran:?}");
    let names = sandbox.names();
    assert!(names.iter().all(|name| !name.ends_with(".part")), "{names:?}");
}
