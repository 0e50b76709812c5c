//! Engines for other work than plain reads and writes: metadata, pipes, processor load, programs.

use crate::fio::support::Sandbox;
use crate::prelude::*;

/// The only entry of a report. Text before the report is skipped.
fn entry(out: &str) -> Value {
    let text = &out[out.find('{').unwrap_or_else(|| panic!("no report in {out}"))..];
    let report: Value = serde_json::from_str(text).unwrap();
    report["jobs"][0].clone()
}

/// Operations, bytes and number of latencies of a direction.
fn figures(entry: &Value, direction: &str) -> (u64, u64, u64) {
    let number = |path: &str| entry[direction].pointer(path).unwrap().as_u64().unwrap();
    (number("/total_ios"), number("/io_bytes"), number("/clat_ns/N"))
}

#[test]
fn files_and_directories_are_created_looked_up_and_removed() {
    let sandbox = Sandbox::new();
    let job = "--name=x --nrfiles=5 --filesize=8k --rw=write --output-format=json";
    let run = |engine: &str| {
        let ran = sandbox.line(&format!("{job} --ioengine={engine}"));
        ran.expect(0, &[]);
        let entry = entry(&ran.out);
        // Two blocks and one latency per file.
        assert_eq!(figures(&entry, "write"), (10, 40960, 5), "{engine}");
        assert_eq!(entry["write"]["lat_ns"]["N"], 0, "{engine}");
        assert_eq!(entry["iodepth_level"]["1"], 100.0, "{engine}");
    };
    let files: Vec<String> = (0..5).map(|number| format!("x.0.{number}")).collect();
    let size = || fs::metadata(sandbox.path().join("x.0.0")).unwrap().len();
    run("filecreate");
    assert_eq!(sandbox.names(), files);
    assert_eq!(size(), 0);
    run("filestat");
    assert_eq!(size(), 8192, "it was laid out");
    run("filedelete");
    assert_eq!(sandbox.names(), Vec::<String>::new());
    run("dircreate");
    assert_eq!(sandbox.names(), files);
    assert!(fs::metadata(sandbox.path().join("x.0.4")).unwrap().is_dir());
    run("dirstat");
    run("dirdelete");
    assert_eq!(sandbox.names(), Vec::<String>::new());
    // Directories to look up or remove are created first.
    run("dirstat");
    assert_eq!(sandbox.names(), files);
    run("dirdelete");
    run("dirdelete");
    assert_eq!(sandbox.names(), Vec::<String>::new());
}

#[test]
fn every_pass_looks_up_every_name() {
    let sandbox = Sandbox::new();
    let job = "--name=x --nrfiles=3 --filesize=4k --openfiles=1 --loops=4 --output-format=json --ioengine=filestat";
    let ran = sandbox.line(job);
    assert_eq!(figures(&entry(&ran.expect(0, &[]).out), "read"), (12, 49152, 12));
    // The second pass fails, because the first has removed the files.
    let ran = sandbox.line("--name=x --nrfiles=3 --filesize=4k --loops=2 --output-format=json --ioengine=filedelete");
    ran.exits(1)
        .prints(&["err=2/file:fathom:0, func=delete(x.0.0), error=No such file or directory"]);
    let entry = entry(&ran.out);
    assert_eq!(figures(&entry, "read"), (3, 12288, 3));
    assert_eq!(entry["error"], 2);
}

#[test]
fn more_files_than_can_be_open_are_created_and_removed() {
    let sandbox = Sandbox::new();
    let job = "--name=x --nrfiles=1500 --output-format=json";
    for engine in ["filecreate", "filedelete"] {
        let engine_job = format!("{job} --ioengine={engine} --filesize=4k --rw=write --fallocate=none");
        let ran = sandbox.line(&engine_job);
        assert_eq!(figures(&entry(&ran.expect(0, &[]).out), "write").2, 1500, "{engine}");
        assert_eq!(sandbox.names().len(), if engine == "filecreate" { 1500 } else { 0 });
    }
}

#[test]
fn a_database_is_neither_removed_nor_truncated() {
    let sandbox = Sandbox::new();
    let path = sandbox.path().join("data.sqlite");
    let mut database = b"SQLite format 3\0".to_vec();
    database.resize(65536, 1);
    fs::write(&path, &database).unwrap();
    for (engine, verb) in [("filedelete", "removed"), ("ftruncate", "truncated")] {
        let line = format!("--name=x --filename=data.sqlite --filesize=64k --rw=write --ioengine={engine}");
        let ran = sandbox.line(&line);
        ran.expect(1, &["must not be", verb, "FATHOM_ALLOW_DESTROY"]);
        assert_eq!(fs::read(&path).unwrap(), database, "{engine}");
        let mut allowed = sandbox.command(&split_words(&line));
        finish(allowed.env("FATHOM_ALLOW_DESTROY", &path)).expect(0, &[]);
        assert!(!path.exists() || fs::metadata(&path).unwrap().len() < 65536, "{engine}");
        fs::write(&path, &database).unwrap();
    }
    // Looking up or creating a file that exists does not change it.
    for engine in ["filestat", "filecreate"] {
        let line = format!("--name=x --filename=data.sqlite --filesize=64k --rw=write --ioengine={engine}");
        sandbox.line(&line).expect(0, &[]);
        assert_eq!(fs::read(&path).unwrap(), database, "{engine}");
    }
}

#[test]
fn ftruncate_sets_the_size_to_the_last_offset() {
    let sandbox = Sandbox::new();
    let job = "--name=x --filename=file --size=64k --bs=4k --ioengine=ftruncate --output-format=json";
    let ran = sandbox.line(&format!("{job} --rw=write"));
    assert_eq!(figures(&entry(&ran.expect(0, &[]).out), "write"), (16, 65536, 16));
    assert_eq!(fs::metadata(sandbox.path().join("file")).unwrap().len(), 61440);
    let ran = sandbox.line(&format!("{job} --rw=read"));
    ran.expect(1, &["func=td_io_queue, error=Invalid argument"]);
}

#[test]
fn data_of_splice_and_vsync_can_be_verified() {
    let sandbox = Sandbox::new();
    for engine in ["splice", "vsync"] {
        let job = format!("--name=x --filename={engine} --size=1m --bs=96k --ioengine={engine} --rw=write");
        let options = "--iodepth=4 --iodepth_batch=4 --verify=crc32c --output-format=json";
        let ran = sandbox.line(&format!("{job} {options}"));
        let found = entry(&ran.expect(0, &[]).out);
        assert_eq!(found["write"]["total_ios"], found["read"]["total_ios"], "{engine}");
        assert_eq!(found["error"], 0, "{engine}");
    }
}

#[test]
fn cpuio_uses_processors_and_transfers_no_data() {
    let sandbox = Sandbox::new();
    let job = "--name=x --ioengine=cpuio --cpuload=50 --cpuchunks=2000 --number_ios=3 --output-format=json";
    for (more, mode) in [("", "noop"), (" --cpumode=qsort", "qsort")] {
        let ran = sandbox.line(&format!("{job}{more}"));
        let entry = entry(&ran.expect(0, &[]).out);
        let banner = format!("x ({mode}): ioengine=cpuio, cpuload=50, cpucycle=2000\n");
        sandbox.line(&format!("{job},normal{more}")).expect(0, &[&banner]);
        assert_eq!(figures(&entry, "read"), (3, 0, 3), "{mode}");
        assert_eq!(entry["read"]["runtime"], 0);
        assert_eq!(entry["read"]["bw"], 0);
        let min = if mode == "noop" { 2_000_000 } else { 1 };
        assert!(entry["read"]["clat_ns"]["min"].as_u64().unwrap() >= min, "{mode}");
    }
    assert_eq!(sandbox.names(), Vec::<String>::new());
    let ran = sandbox.line("--name=x --ioengine=cpuio --cpuload=50 --number_ios=2 --cpuchunks=100");
    ran.expect(0, &["issued rwts: total=2,0,0,0"]);
    ran.out.assert_lacks(&["rw=read", "read:"]);
    sandbox.line("--name=x --ioengine=cpuio").exits(1).prints(&[
        "fio: io engine cpuio init failed.",
        "error=cpu thread needs rate (cpuload=)",
    ]);
}

#[test]
fn exit_on_io_done_ends_cpuio_with_the_io() {
    let sandbox = Sandbox::new();
    let line = "--output-format=json --name=cpu --ioengine=cpuio --cpuload=10 --cpuchunks=1000 --runtime=600 --exit_on_io_done=1 \
                --name=io --ioengine=null --size=1m";
    let before = Instant::now();
    sandbox.line(line).expect(0, &[]);
    assert!(before.elapsed() < Duration::from_secs(300), "it continued without I/O");
}

/// Runs a command line that may start programs.
fn run_allowed(sandbox: &Sandbox, line: &str) -> Ran {
    finish(sandbox.command(&split_words(line)).env("FATHOM_ALLOW_EXEC", "1"))
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

#[test]
fn programs_run_only_with_permission() {
    let sandbox = Sandbox::new();
    let line = "--name=x --ioengine=exec --program=/bin/echo --arguments=%n-%r --runtime=1";
    let ran = sandbox.line(line);
    let refusal = "ioengine=exec runs a program with the rights of this user; set FATHOM_ALLOW_EXEC=1 to allow it";
    ran.expect(1, &[&format!("fio: x: {refusal}")]);
    assert_eq!(sandbox.names(), Vec::<String>::new());
    run_allowed(&sandbox, line).exits(0).prints(&[
        "x : program=/bin/echo, arguments=%n-%r",
        "x : Saving output of /bin/echo x-1 : stdout=x.stdout stderr=x.stderr",
    ]);
    assert_eq!(sandbox.names(), ["x.stderr", "x.stdout"]);
    assert_eq!(text(&sandbox.path().join("x.stdout")), "x-1\n");
    let ran = run_allowed(&sandbox, &format!("{line} --output-format=json"));
    let (operations, bytes, latencies) = figures(&entry(&ran.out), "read");
    assert!(operations > 1 && bytes == 0 && latencies == operations, "{operations}");
}

#[test]
fn std_redirect_can_leave_the_output_of_a_program_on_stdout() {
    let sandbox = Sandbox::new();
    let line = "--name=x --ioengine=exec --program=/bin/echo --arguments=hello --runtime=1 --std_redirect=0";
    run_allowed(&sandbox, line).expect(0, &["hello\n"]);
    assert_eq!(sandbox.names(), Vec::<String>::new());
    let ran = run_allowed(&sandbox, "--name=x --ioengine=exec --runtime=1");
    ran.expect(1, &["error=no program is defined, it is mandatory to define one"]);
    let ran = run_allowed(&sandbox, "--name=x --ioengine=exec --program=/nowhere/p --runtime=9");
    ran.expect(1, &["No such file or directory"]);
}

#[test]
fn a_program_ends_with_its_job() {
    let sandbox = Sandbox::new();
    let script = sandbox.path().join("script");
    let commands = "trap 'echo asked; exit' TERM\necho $$\nwhile :; do sleep 0.01; done\n";
    fs::write(&script, commands).unwrap();
    let line = "--name=x --ioengine=exec --program=sh --arguments=script --runtime=1 --grace_time=20";
    let before = Instant::now();
    run_allowed(&sandbox, line).expect(0, &[]);
    // It ends before its grace time is over.
    assert!(before.elapsed() < Duration::from_secs(15));
    let output = text(&sandbox.path().join("x.stdout"));
    let (number, rest) = output.split_once('\n').unwrap();
    assert_eq!(rest, "asked\n");
    assert!(!Path::new(&format!("/proc/{number}")).exists(), "{number}");
}
