//! Locks and flow that jobs share, and I/O priorities of some operations, as in fio.

use crate::fio::support::Sandbox;
use crate::prelude::*;

#[test]
fn each_priority_has_its_own_figures() {
    let sandbox = Sandbox::new();
    let job = "--name=x --size=4m --rw=randrw --direct=1 --iodepth=4 --percentile_list=50:99";
    for engine in ["libaio", "io_uring"] {
        let line = format!(
            "{job} --ioengine={engine} --cmdprio_percentage=20,40 --cmdprio_class=2 --cmdprio=1,3 --cmdprio_hint=0"
        );
        let report = sandbox.first_job(&format!("{line} --output-format=json"));
        for (direction, level, percent) in [("read", 1, 20), ("write", 3, 40)] {
            let part = &report[direction];
            let all = part["total_ios"].as_u64().unwrap();
            let priorities = part["prios"].as_array().unwrap();
            let numbers = |entry: &Value| ["prioclass", "prio", "priohint"].map(|name| entry[name].as_u64().unwrap());
            assert_eq!(priorities.len(), 2, "{part}");
            assert_eq!(numbers(&priorities[0]), [0, 0, 0]);
            assert_eq!(numbers(&priorities[1]), [2, level, 0]);
            let counts = [0, 1].map(|index: usize| priorities[index]["clat_ns"]["N"].as_u64().unwrap());
            assert_eq!(counts[0] + counts[1], all);
            assert!((counts[1] * 100).abs_diff(all * percent) <= 100, "{counts:?}");
            assert!(priorities[1]["clat_ns"]["percentile"]["99.000000"].is_u64());
        }
        sandbox.line(&line).exits(0).out.assert_contains(&[
            "clat prio 0/0/0 (",
            "clat prio 2/1/0 (",
            "clat prio 2/3/0 (",
            "% of IOs) percentiles (",
        ]);
    }
    // If all operations have one priority, the report has no breakdown.
    let one = "--ioengine=libaio --cmdprio_percentage=100 --cmdprio_class=2 --output-format=json";
    let report = sandbox.first_job(&format!("{job} {one}"));
    assert!(report["read"]["prios"].is_null());
}

#[test]
fn priorities_depend_on_the_block_size() {
    let sandbox = Sandbox::new();
    let line = "--name=x --size=4m --rw=randread --bssplit=4k/50:8k/50 --direct=1 --ioengine=libaio --iodepth=4 \
                --cmdprio_bssplit=4k/100/2/5:8k/0 --write_iolog=trace --output-format=json";
    let job = sandbox.first_job(line);
    let trace = fs::read_to_string(sandbox.path().join("trace")).unwrap();
    let short = trace.lines().filter(|line| line.ends_with(" 4096")).count() as u64;
    let priorities = job["read"]["prios"].clone();
    assert_eq!(priorities[1]["prio"], 5);
    assert_eq!(priorities[1]["clat_ns"]["N"].as_u64(), Some(short));
}

#[test]
fn jobs_with_file_locks_or_flow_complete_all_their_io() {
    let sandbox = Sandbox::new();
    for options in [
        "--lockfile=exclusive",
        "--lockfile=readwrite",
        "--flow=3 --flow_id=1",
        "--flow=3 --flow_sleep=50",
    ] {
        for engine in ["psync", "libaio", "io_uring --iodepth=8"] {
            let line = format!(
                "--name=a --filename=f --size=256k --rw=randrw --numjobs=3 --group_reporting --ioengine={engine} {options} \
                 --output-format=json"
            );
            let job = sandbox.first_job(&line);
            let bytes = |direction: &str| job[direction]["io_bytes"].as_u64().unwrap();
            assert_eq!(bytes("read") + bytes("write"), (3 * 256) << 10, "{line}");
        }
    }
}
