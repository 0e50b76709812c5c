//! Runs each job with Debian's fio 3.33 and with fathom. Both must issue the same operations, and
//! their reports must have the same keys.

use std::collections::BTreeSet;

use crate::fio::support::Sandbox;
use crate::prelude::*;

/// Paths of report keys that fio added after 3.33.
const ADDED_KEYS: [&str; 3] = ["/jobs/job_start", "/jobs/latency_target_ns", "/jobs/latency_window_us"];

/// What is compared for a job. fathom follows 3.42, which for some jobs draws other positions and
/// lengths from a seed than 3.33 does.
#[derive(Clone, Copy, PartialEq)]
enum Compared {
    /// The operations, in their order.
    Order,
    /// The operations, in any order.
    AnyOrder,
    /// The numbers of bytes and of operations.
    Totals,
    /// The number of bytes only, because lengths are random.
    Bytes,
    /// The numbers of bytes, operations and latencies. The logs of metadata operations differ.
    Metadata,
}
use Compared::{AnyOrder, Bytes, Metadata, Order, Totals};

/// Jobs whose number of operations does not depend on time.
const JOBS: [(&str, Compared); 44] = [
    ("--rw=read --bs=4k --size=1m", Order),
    ("--rw=randread --bs=4k --size=1m", AnyOrder),
    ("--rw=randread --bs=4k --size=1m --norandommap", Totals),
    ("--rw=randread --bs=4k --size=1m --randseed=77", AnyOrder),
    ("--rw=randread --bs=4k --size=1m --loops=2", AnyOrder),
    ("--rw=randread --bs=4k --size=1m --numjobs=3", AnyOrder),
    ("--rw=randread --bs=8k --size=1m --offset=256k", AnyOrder),
    (
        "--rw=randread --bs=4k --size=1m --offset_increment=128k --numjobs=2",
        Totals,
    ),
    ("--rw=randread --bs=4k --size=1m --io_size=300k", Totals),
    ("--rw=randread --bs=4k --size=1m --io_size=2m", Totals),
    ("--rw=randread --bsrange=4k-32k --size=1m", Bytes),
    ("--rw=randread --bssplit=4k/60:16k/40 --size=1m", Bytes),
    ("--rw=randwrite --bs=4k --size=1m --fsync=16", AnyOrder),
    ("--rw=write --bs=64k --size=1m --fsync=1", Order),
    ("--rw=write --bs=4k --size=1m --end_fsync=1 --overwrite=1", Order),
    ("--rw=write:4k --bs=4k --size=1m", Order),
    ("--rw=read:8k --bs=4k --size=1m --loops=2", Order),
    ("--rw=write:6k --bs=4k --size=1m --io_size=2m", Order),
    ("--rw=read:-12k --bs=4k --size=1m", Order),
    ("--rw=rw:8k --bs=4k --size=1m --rwmixread=70", Order),
    ("--rw=rw --bs=4k --size=1m --rwmixread=70", Totals),
    ("--rw=randrw --bs=4k --size=1m --rwmixread=30", Totals),
    ("--rw=randrw --bs=4k,8k --size=1m --norandommap", Totals),
    ("--rw=randread:8 --bs=4k --size=1m", Totals),
    ("--rw=randread --bs=4k --size=1m --percentage_random=40", Totals),
    ("--rw=randread --bs=4k --size=1m --number_ios=100", Totals),
    (
        "--rw=randread --bs=4k --nrfiles=4 --size=1m --file_service_type=roundrobin:2",
        AnyOrder,
    ),
    // Both versions draw the same positions from such a seed.
    ("--rw=randread --bs=4k --size=1m --randrepeat=0 --randseed=5", Order),
    (
        "--rw=randread --bs=4k --nrfiles=4 --size=1m --randrepeat=0 --randseed=5",
        Order,
    ),
    ("--rw=randread --bs=4k --size=1m --random_distribution=zipf:1.2", Totals),
    ("--rw=randread --bs=4k --size=1m --random_generator=lfsr", Totals),
    (
        "--rw=randread --bs=4k --size=1m --ioengine=libaio --direct=1 --iodepth=8",
        AnyOrder,
    ),
    ("--rw=write --ioengine=filecreate --nrfiles=20 --filesize=4k", Metadata),
    (
        "--rw=write --ioengine=filecreate --nrfiles=5 --filesize=16k --loops=3",
        Metadata,
    ),
    (
        "--rw=read --ioengine=filestat --nrfiles=20 --size=80k --loops=2",
        Metadata,
    ),
    (
        "--rw=write --ioengine=filestat --nrfiles=4 --filesize=12k --openfiles=2 --stat_type=lstat",
        Metadata,
    ),
    ("--rw=write --ioengine=filedelete --nrfiles=20 --filesize=8k", Metadata),
    (
        "--rw=randread --ioengine=filedelete --nrfiles=6 --filesize=8k --numjobs=2",
        Metadata,
    ),
    ("--rw=write --bs=4k --size=256k --ioengine=ftruncate", Order),
    ("--rw=write --bs=64k --size=1m --ioengine=splice", Order),
    ("--rw=randwrite --bs=4k --size=1m --ioengine=mmap", AnyOrder),
    ("--rw=read --bs=4k --size=1m --io_size=2560k --loops=2", Order),
    (
        "--rw=read --bs=4k --nrfiles=4 --filesize=64k-256k --size=50% --offset=25%",
        Order,
    ),
    (
        "--rw=write --bs=4k --size=256k --ioengine=vsync --iodepth=8 --iodepth_batch=8",
        Order,
    ),
];

/// What a job reported, logged and wrote.
struct JobOutput {
    report: Value,
    /// Direction, length and offset of each operation, for each clone.
    operations: Vec<Vec<(u64, u64, u64)>>,
    /// Name and size of each file that is left.
    files: Vec<(String, u64)>,
}

fn run_job(sandbox: &Sandbox, program: &str, job: &str) -> JobOutput {
    let folder = sandbox.path().join("run");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let words = format!("--name=t --thread --output-format=json --write_lat_log=log --log_offset=1 {job}");
    let mut command = Command::new(program);
    command.args(split_words(&words)).current_dir(&folder);
    let ran = finish(command.stdin(Stdio::null()));
    assert_eq!(ran.code, Some(0), "{program} {words}: {ran:#?}");
    let report = serde_json::from_str(&ran.out[ran.out.find('{').unwrap()..]).unwrap();
    let (mut operations, mut files) = (Vec::new(), Vec::new());
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    names.sort_by_key(fs::DirEntry::file_name);
    for entry in names {
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".log") {
            if name.starts_with("log_clat.") {
                operations.push(parse_latency_log(&fs::read_to_string(entry.path()).unwrap()));
            }
            continue;
        }
        files.push((name, entry.metadata().unwrap().len()));
    }
    JobOutput {
        report,
        operations,
        files,
    }
}

fn parse_latency_log(text: &str) -> Vec<(u64, u64, u64)> {
    let line = |line: &str| {
        let fields: Vec<u64> = line.split(',').map(|field| field.trim().parse().unwrap()).collect();
        // Time, latency, direction, length, offset, priority.
        (fields[2], fields[3], fields[4])
    };
    text.lines().map(line).collect()
}

/// Collects the path of every key, except percentiles, device names and options.
fn collect_keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let path = format!("{path}/{key}");
                if !path.contains("/percentile/") && !path.contains("/disk_util/") && !path.contains("options/") {
                    found.insert(path.clone());
                    collect_keys(value, &path, found);
                }
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| collect_keys(entry, path, found)),
        _ => {}
    }
}

#[test]
fn operations_and_reports_match_debians_fio() {
    let sandbox = Sandbox::new();
    let version = Command::new("/usr/bin/fio").arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return testbed::skip("fio is not installed");
    }
    let program = sandbox.program();
    let mut failed = Vec::new();
    for (job, compared) in JOBS {
        let theirs = run_job(&sandbox, "/usr/bin/fio", job);
        let ours = run_job(&sandbox, program.to_str().unwrap(), job);
        let mut differ = |what: &str, theirs: String, ours: String| {
            if theirs != ours {
                failed.push(format!("{job}: {what}\n  fio  {theirs:.300}\n  ours {ours:.300}"));
            }
        };
        differ("files", format!("{:?}", theirs.files), format!("{:?}", ours.files));
        let jobs = |output: &JobOutput| output.report["jobs"].as_array().unwrap().clone();
        let (their_jobs, our_jobs) = (jobs(&theirs), jobs(&ours));
        differ("entries", their_jobs.len().to_string(), our_jobs.len().to_string());
        for (number, (their, our)) in their_jobs.iter().zip(&our_jobs).enumerate() {
            for direction in ["read", "write", "trim"] {
                for latency in ["slat_ns", "clat_ns", "lat_ns"] {
                    let samples = |job: &Value| job[direction][latency]["N"].to_string();
                    if compared == Metadata {
                        differ(&format!("{direction} {latency}"), samples(their), samples(our));
                    }
                }
                for figure in ["total_ios", "io_bytes", "short_ios"] {
                    let is_random = compared == Bytes || job.contains("=rw") || job.contains("=randrw");
                    if is_random && (figure == "total_ios" || compared != Bytes) {
                        continue;
                    }
                    let value = |job: &Value| job[direction][figure].to_string();
                    let what = format!("entry {number}, {direction}, {figure}");
                    differ(&what, value(their), value(our));
                }
            }
            let flushes = |job: &Value| job["sync"]["total_ios"].to_string();
            differ("flushes", flushes(their), flushes(our));
        }
        let order = |output: &JobOutput| {
            let mut operations = output.operations.clone();
            match compared {
                Order => {}
                AnyOrder => operations.iter_mut().for_each(|clone| clone.sort_unstable()),
                Metadata => return String::new(),
                Totals => return format!("{:?}", operations.iter().map(Vec::len).collect::<Vec<_>>()),
                Bytes => {
                    let bytes = |clone: &Vec<(u64, u64, u64)>| clone.iter().map(|(_, length, _)| length).sum::<u64>();
                    return format!("{:?}", operations.iter().map(bytes).collect::<Vec<_>>());
                }
            }
            format!("{operations:?}")
        };
        if order(&theirs) != order(&ours) {
            let pairs = theirs.operations.iter().flatten().zip(ours.operations.iter().flatten());
            let first = pairs.enumerate().find(|(_, (a, b))| a != b);
            let counts = |output: &JobOutput| output.operations.iter().map(Vec::len).collect::<Vec<_>>();
            let (theirs, ours) = (counts(&theirs), counts(&ours));
            failed.push(format!(
                "{job}: operations, first at {first:?}, counts {theirs:?} {ours:?}"
            ));
        }
        let all_keys = |report: &Value| {
            let mut paths = BTreeSet::new();
            collect_keys(report, "", &mut paths);
            paths
        };
        let (theirs, ours) = (all_keys(&theirs.report), all_keys(&ours.report));
        let missing: Vec<_> = theirs.difference(&ours).collect();
        let added = ours.difference(&theirs);
        let added: Vec<_> = added.filter(|key| !ADDED_KEYS.contains(&key.as_str())).collect();
        if !missing.is_empty() || !added.is_empty() {
            failed.push(format!("{job}: keys missing {missing:?}, new {added:?}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
