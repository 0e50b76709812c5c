//! The same jobs with Debian's fio 3.33 and with fathom. Operations, their order, amounts and the
//! keys of reports must match.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fio::support::Place;

/// Paths of the report keys that versions after 3.33, up to 3.42, have added.
const NEWER: [&str; 3] = ["/jobs/job_start", "/jobs/latency_target_ns", "/jobs/latency_window_us"];

/// The comparison that a job permits. From the same seed, version 3.33 draws other positions and
/// lengths than 3.42, whose order is recorded.
#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    /// The operations, in order.
    Order,
    /// The operations, in any order.
    Set,
    /// Bytes and operations.
    Amounts,
    /// Bytes only, because the lengths are random.
    Bytes,
    /// Bytes, operations and latencies. The two programs log operations on names in different ways.
    Names,
}
use Comparison::{Amounts, Bytes, Names, Order, Set};

/// Jobs whose amounts do not depend on time.
const JOBS: [(&str, Comparison); 42] = [
    ("--rw=read --bs=4k --size=1m", Order),
    ("--rw=randread --bs=4k --size=1m", Set),
    ("--rw=randread --bs=4k --size=1m --norandommap", Amounts),
    ("--rw=randread --bs=4k --size=1m --randseed=77", Set),
    ("--rw=randread --bs=4k --size=1m --loops=2", Set),
    ("--rw=randread --bs=4k --size=1m --numjobs=3", Set),
    ("--rw=randread --bs=8k --size=1m --offset=256k", Set),
    (
        "--rw=randread --bs=4k --size=1m --offset_increment=128k --numjobs=2",
        Amounts,
    ),
    ("--rw=randread --bs=4k --size=1m --io_size=300k", Amounts),
    ("--rw=randread --bs=4k --size=1m --io_size=2m", Amounts),
    ("--rw=randread --bsrange=4k-32k --size=1m", Bytes),
    ("--rw=randread --bssplit=4k/60:16k/40 --size=1m", Bytes),
    ("--rw=randwrite --bs=4k --size=1m --fsync=16", Set),
    ("--rw=write --bs=64k --size=1m --fsync=1", Order),
    ("--rw=write --bs=4k --size=1m --end_fsync=1 --overwrite=1", Order),
    ("--rw=write:4k --bs=4k --size=1m", Order),
    ("--rw=read:8k --bs=4k --size=1m --loops=2", Order),
    ("--rw=write:6k --bs=4k --size=1m --io_size=2m", Order),
    ("--rw=read:-12k --bs=4k --size=1m", Order),
    ("--rw=rw:8k --bs=4k --size=1m --rwmixread=70", Order),
    ("--rw=rw --bs=4k --size=1m --rwmixread=70", Amounts),
    ("--rw=randrw --bs=4k --size=1m --rwmixread=30", Amounts),
    ("--rw=randrw --bs=4k,8k --size=1m --norandommap", Amounts),
    ("--rw=randread:8 --bs=4k --size=1m", Amounts),
    ("--rw=randread --bs=4k --size=1m --percentage_random=40", Amounts),
    ("--rw=randread --bs=4k --size=1m --number_ios=100", Amounts),
    (
        "--rw=randread --bs=4k --nrfiles=4 --size=1m --file_service_type=roundrobin:2",
        Set,
    ),
    (
        "--rw=randread --bs=4k --size=1m --random_distribution=zipf:1.2",
        Amounts,
    ),
    ("--rw=randread --bs=4k --size=1m --random_generator=lfsr", Amounts),
    (
        "--rw=randread --bs=4k --size=1m --ioengine=libaio --direct=1 --iodepth=8",
        Set,
    ),
    ("--rw=write --ioengine=filecreate --nrfiles=20 --filesize=4k", Names),
    (
        "--rw=write --ioengine=filecreate --nrfiles=5 --filesize=16k --loops=3",
        Names,
    ),
    ("--rw=read --ioengine=filestat --nrfiles=20 --size=80k --loops=2", Names),
    (
        "--rw=write --ioengine=filestat --nrfiles=4 --filesize=12k --openfiles=2 --stat_type=lstat",
        Names,
    ),
    ("--rw=write --ioengine=filedelete --nrfiles=20 --filesize=8k", Names),
    (
        "--rw=randread --ioengine=filedelete --nrfiles=6 --filesize=8k --numjobs=2",
        Names,
    ),
    ("--rw=write --bs=4k --size=256k --ioengine=ftruncate", Order),
    ("--rw=write --bs=64k --size=1m --ioengine=splice", Order),
    ("--rw=randwrite --bs=4k --size=1m --ioengine=mmap", Set),
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

struct Outcome {
    report: Value,
    /// Direction, length and offset of each operation, per clone.
    operations: Vec<Vec<(u64, u64, u64)>>,
    files: Vec<(String, u64)>,
}

fn run_job(place: &Place, program: &str, job: &str) -> Outcome {
    let folder = place.path().join("run");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let words = format!("--name=t --thread --output-format=json --write_lat_log=log --log_offset=1 {job}");
    let output = Command::new(program)
        .args(words.split_whitespace())
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{program} {words}\n{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let (mut operations, mut files) = (Vec::new(), Vec::new());
    let mut names: Vec<_> = fs::read_dir(&folder).unwrap().flatten().collect();
    names.sort_by_key(fs::DirEntry::file_name);
    for entry in names {
        let name = entry.file_name().into_string().unwrap();
        if name.ends_with(".log") {
            if name.starts_with("log_clat.") {
                operations.push(parse_log(&fs::read_to_string(entry.path()).unwrap()));
            }
            continue;
        }
        files.push((name, entry.metadata().unwrap().len()));
    }
    Outcome {
        report,
        operations,
        files,
    }
}

fn parse_log(text: &str) -> Vec<(u64, u64, u64)> {
    let line = |line: &str| {
        let fields: Vec<u64> = line.split(',').map(|field| field.trim().parse().unwrap()).collect();
        // Time, latency, direction, length, offset, priority.
        (fields[2], fields[3], fields[4])
    };
    text.lines().map(line).collect()
}

/// Collects the path of every key, except those of percentiles, devices and options.
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
#[expect(clippy::too_many_lines, reason = "one story, or one table")]
fn jobs_do_the_same_io_as_with_debians_fio() {
    let place = Place::new();
    if !Command::new("/usr/bin/fio")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return testbed::skip("fio is not installed");
    }
    let ours = place.program();
    let mut failed = Vec::new();
    for (job, comparison) in JOBS {
        let theirs = run_job(&place, "/usr/bin/fio", job);
        let found = run_job(&place, ours.to_str().unwrap(), job);
        let mut compare = |item: &str, theirs: String, ours: String| {
            if theirs != ours {
                failed.push(format!("{job}: {item}\n  fio  {theirs:.300}\n  ours {ours:.300}"));
            }
        };
        compare("files", format!("{:?}", theirs.files), format!("{:?}", found.files));
        let jobs = |outcome: &Outcome| outcome.report["jobs"].as_array().unwrap().clone();
        compare(
            "entries",
            jobs(&theirs).len().to_string(),
            jobs(&found).len().to_string(),
        );
        for (number, (their, our)) in jobs(&theirs).iter().zip(&jobs(&found)).enumerate() {
            for direction in ["read", "write", "trim"] {
                for latency in ["slat_ns", "clat_ns", "lat_ns"] {
                    let samples = |job: &Value| job[direction][latency]["N"].to_string();
                    if comparison == Names {
                        compare(&format!("{direction} {latency}"), samples(their), samples(our));
                    }
                }
                for figure in ["total_ios", "io_bytes", "short_ios"] {
                    let drawn = comparison == Bytes || job.contains("=rw") || job.contains("=randrw");
                    if drawn && (figure == "total_ios" || comparison != Bytes) {
                        continue;
                    }
                    let value = |job: &Value| job[direction][figure].to_string();
                    compare(
                        &format!("entry {number}, {direction}, {figure}"),
                        value(their),
                        value(our),
                    );
                }
            }
            compare(
                "flushes",
                their["sync"]["total_ios"].to_string(),
                our["sync"]["total_ios"].to_string(),
            );
        }
        let order = |outcome: &Outcome| {
            let mut operations = outcome.operations.clone();
            match comparison {
                Order => {}
                Set => operations.iter_mut().for_each(|clone| clone.sort_unstable()),
                Names => return String::new(),
                Amounts => return format!("{:?}", operations.iter().map(Vec::len).collect::<Vec<_>>()),
                Bytes => {
                    let bytes = |clone: &Vec<(u64, u64, u64)>| clone.iter().map(|(_, length, _)| length).sum::<u64>();
                    return format!("{:?}", operations.iter().map(bytes).collect::<Vec<_>>());
                }
            }
            format!("{operations:?}")
        };
        if order(&theirs) != order(&found) {
            let pairs = theirs
                .operations
                .iter()
                .flatten()
                .zip(found.operations.iter().flatten());
            let first = pairs.enumerate().find(|(_, (one, other))| one != other);
            failed.push(format!(
                "{job}: operations, first at {first:?}, counts {:?} {:?}",
                theirs.operations.iter().map(Vec::len).collect::<Vec<_>>(),
                found.operations.iter().map(Vec::len).collect::<Vec<_>>()
            ));
        }
        let key_set = |report: &Value| {
            let mut found = BTreeSet::new();
            collect_keys(report, "", &mut found);
            found
        };
        let (theirs, found) = (key_set(&theirs.report), key_set(&found.report));
        let missing: Vec<_> = theirs.difference(&found).collect();
        let newer: Vec<_> = found
            .difference(&theirs)
            .filter(|key| !NEWER.contains(&key.as_str()))
            .collect();
        if !missing.is_empty() || !newer.is_empty() {
            failed.push(format!("{job}: keys missing {missing:?}, new {newer:?}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
