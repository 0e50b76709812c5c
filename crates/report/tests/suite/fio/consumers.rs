//! Parses the reports as public programs do: each test relies on what one family of readers relies
//! on.

use model::plan::JobEcho;

use crate::fio::builder::{Work, json, results, written};
use crate::prelude::*;

const DIRECTIONS: [&str; 2] = ["read", "write"];

/// One entry for two clones of a mixed job, with options.
fn run() -> Results {
    let mut work = Work::mixed("randrw-job", 3000, 1000, 4096).queued(EngineKind::Libaio, 16);
    (work.merged, work.clones, work.measured_ms, work.flushes) = (true, 2, 1000, 10);
    let mut results = results(&[work]);
    let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let global = [("ioengine", "libaio"), ("iodepth", "16"), ("group_reporting", "")];
    let job = [("rw", "randrw"), ("bs", "4k"), ("numjobs", "2"), ("ramp_time", "1")];
    results.plan.origin.global_options = global.map(pair).to_vec();
    results.plan.origin.jobs = vec![JobEcho {
        name: "randrw-job".into(),
        options: job.map(pair).to_vec(),
    }];
    results
}

fn is_integer(value: &Value) -> bool {
    value.as_i64().is_some_and(|value| i32::try_from(value).is_ok())
}

/// It merges a job's options with the global ones, and reads rates, latencies and all latency
/// classes.
#[test]
fn fio_plot() {
    let document = json(&run(), "fio-json");
    assert!(document["fio version"].as_str().unwrap().starts_with("fio-3."));
    for job in document["jobs"].as_array().unwrap() {
        let mut options = document["global options"].as_object().unwrap().clone();
        options.extend(job["job options"].as_object().unwrap().clone());
        for name in ["rw", "bs", "iodepth", "numjobs"] {
            assert!(options[name].is_string(), "{name}");
        }
        for direction in DIRECTIONS {
            let found = &job[direction];
            assert!(found["bw"].as_u64().unwrap() > 0 && found["iops"].as_f64().unwrap() > 0.0);
            assert!(found["iops_stddev"].is_f64());
            assert!(found["lat_ns"]["mean"].is_f64() && found["lat_ns"]["stddev"].is_f64());
        }
        let classes = ["latency_ns", "latency_us", "latency_ms"].map(|name| job[name].as_object().unwrap());
        let shares = classes
            .iter()
            .flat_map(|class| class.values())
            .map(|share| share.as_f64().unwrap());
        assert!((shares.sum::<f64>() - 100.0).abs() < 0.1);
        assert!(job["usr_cpu"].is_f64() && job["sys_cpu"].is_f64());
    }
}

/// Go programs with typed fields: a fraction where an integer is expected fails, and in other
/// fields the reverse.
#[test]
fn typed_decoders() {
    let document = json(&run(), "fio-json");
    let job = &document["jobs"][0];
    for name in [
        "groupid", "error", "eta", "elapsed", "job_runtime", "ctx", "majf", "minf", "latency_depth",
    ] {
        assert!(is_integer(&job[name]), "{name}");
    }
    for name in ["latency_target", "latency_window"] {
        assert!(is_integer(&job[name]), "{name}");
    }
    for name in [
        "iops_min", "iops_max", "iops_samples", "bw_samples", "short_ios", "drop_ios", "runtime",
    ] {
        assert!(is_integer(&job["read"][name]), "{name}");
    }
    for name in ["io_bytes", "io_kbytes", "bw_bytes", "bw", "total_ios"] {
        assert!(job["read"][name].is_u64(), "{name}");
    }
    for name in ["iops", "bw_agg", "bw_mean", "bw_dev", "iops_mean", "iops_stddev"] {
        assert!(job["read"][name].is_f64(), "{name}");
    }
    for name in ["iodepth_level", "iodepth_submit", "iodepth_complete"] {
        let classes = job[name].as_object().unwrap();
        assert_eq!(classes.len(), 7);
        assert!(classes.values().all(Value::is_f64));
    }
    for options in [&document["global options"], &job["job options"]] {
        assert!(options.as_object().unwrap().values().all(Value::is_string));
    }
    assert!(document["disk_util"].is_array());
    assert!(document["timestamp"].is_u64() && document["timestamp_ms"].is_u64());
}

/// Scripts for databases read the 99th percentile of flushes as a whole number.
#[test]
fn flush_latency() {
    let document = json(&run(), "fio-json");
    let sync = &document["jobs"][0]["sync"];
    assert_eq!(sync["total_ios"], 20);
    assert!(sync["lat_ns"]["percentile"]["99.000000"].as_u64().unwrap() > 0);
    // JSON+ adds bins and changes nothing else.
    let plus = json(&run(), "fio-json+");
    let bins = plus["jobs"][0]["sync"]["lat_ns"]["bins"].as_object().unwrap();
    assert_eq!(bins.values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 20);
}

/// PerfKitBenchmarker, ceph cbt, lkp and the many others that read latencies and their percentiles.
#[test]
fn latency_readers() {
    let document = json(&run(), "fio-json");
    for direction in DIRECTIONS {
        let found = &document["jobs"][0][direction];
        for name in ["min", "max"] {
            assert!(found["clat_ns"][name].is_u64());
        }
        for latency in ["slat_ns", "clat_ns", "lat_ns"] {
            assert!(found[latency]["mean"].as_f64().unwrap() > 0.0);
        }
        let percentiles = found["clat_ns"]["percentile"].as_object().unwrap();
        assert_eq!(percentiles.len(), 17);
        for (name, value) in percentiles {
            assert!(name.split_once('.').unwrap().1.len() == 6 && value.is_u64(), "{name}");
        }
        assert!(found["lat_ns"].get("percentile").is_none() && found["slat_ns"].get("percentile").is_none());
    }
}

/// YABS: finds lines by their first fields, and four figures by field number.
#[test]
fn terse_by_field_number() {
    let text = written(&run(), "fio-terse");
    let line = text
        .lines()
        .find(|line| line.split(';').nth(2) == Some("randrw-job"))
        .unwrap();
    let field = |number: usize| line.split(';').nth(number - 1).unwrap().parse::<u64>().unwrap();
    assert_eq!(
        [field(7), field(8), field(48), field(49)],
        [24_000, 6_000, 8_000, 2_000]
    );
}

/// Phoronix Test Suite, dbench, LISA: match the text around figures in the normal report.
#[test]
fn normal_by_pattern() {
    let text = written(&run(), "fio");
    let after = |line: &str, mark: &str| line.split_once(mark).map(|(_, rest)| rest.to_owned());
    let number = |text: &str| -> f64 {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap();
        text[..end].parse().unwrap()
    };
    let iops: Vec<f64> = text
        .lines()
        .filter_map(|line| after(line, "IOPS="))
        .map(|rest| number(&rest))
        .collect();
    assert_eq!(iops, [6000.0, 2000.0]);
    let bandwidth = text.lines().filter_map(|line| after(line, ": bw=")).collect::<Vec<_>>();
    assert!(
        bandwidth[0].starts_with("23.4MiB/s") && bandwidth[1].starts_with("8000KiB/s"),
        "{bandwidth:?}"
    );
    let latency = text
        .lines()
        .find(|line| line.trim_start().starts_with("lat (") && line.contains("avg="))
        .unwrap();
    assert!(number(&after(latency, "avg=").unwrap()) > 0.0);
    // `read:` or `read :`, then both rates in one line.
    let reads = text
        .lines()
        .find(|line| line.trim_start().starts_with("read:"))
        .unwrap();
    assert_contains(reads, "IOPS=6000, BW=23.4MiB/s (24.6MB/s)(23.4MiB/1000msec)");
}

/// A job with one direction still has an object for each of the three, with zeros.
#[test]
fn directions_that_did_not_run_have_zeros() {
    let results = results(&[Work::new("job", Direction::Write, 10, 4096)]);
    let document = json(&results, "fio-json");
    for direction in ["read", "trim"] {
        let found = &document["jobs"][0][direction];
        assert_eq!((&found["bw"], &found["iops"]), (&0.into(), &0.0.into()));
        assert_eq!(found["lat_ns"]["mean"], 0.0);
    }
}
