//! Figures worked out by hand.

use model::environment::Device;
use model::mix::Mix;
use model::plan::{Verify, VerifyMethod};
use model::results::{Distribution, HostDeviceUse};

use crate::fio::builder::{Work, json, results, written};
use crate::prelude::*;

fn near(value: &Value, expected: f64) {
    let value = value.as_f64().unwrap();
    assert!(
        (value - expected).abs() < 1e-6 * expected.abs().max(1.0),
        "{value} is not {expected}"
    );
}

/// A job with one entry for its clones, all of which read.
fn clones(count: usize) -> Results {
    let mut work = Work::new("job", Direction::Read, 1, 4096);
    (work.merged, work.clones, work.measured_ms) = (true, count, 1000);
    results(&[work])
}

/// The read figures of a clone.
fn reads(results: &mut Results, clone: usize) -> &mut model::results::DirectionResults {
    let worker = &mut results.steps[0].jobs[0].workers[clone];
    worker.streams[0].directions.read.as_mut().unwrap()
}

#[test]
fn latencies_of_clones_are_one_population() {
    let mut results = clones(2);
    for (clone, values) in [(0, &[1000, 2000][..]), (1, &[4000])] {
        let found = reads(&mut results, clone);
        found.completion.clear();
        values.iter().for_each(|value| found.completion.record(*value));
    }
    let clat = &json(&results, "fio-json")["jobs"][0]["read"]["clat_ns"];
    assert_eq!(clat["N"], 3);
    assert_eq!(clat["min"], 1000);
    assert_eq!(clat["max"], 4000);
    near(&clat["mean"], 7000.0 / 3.0);
    // (1333.3² + 333.3² + 1666.7²) / 2
    near(&clat["stddev"], (7_000_000.0_f64 / 3.0).sqrt());
    // A single value has no deviation.
    let single_clone = clones(1);
    near(
        &json(&single_clone, "fio-json")["jobs"][0]["read"]["clat_ns"]["stddev"],
        0.0,
    );
}

#[test]
fn samples_of_clones_are_added() {
    let mut results = clones(2);
    let point = |operations: u64, kib: u64| Point::new(operations, kib << 10);
    // An idle window is not a sample, nor is one that was cut short.
    let windows = [
        vec![point(10, 50), point(0, 0), point(20, 100), point(1, 1)],
        vec![point(30, 150), point(50, 250), point(0, 0)],
    ];
    let job = &mut results.steps[0].jobs[0];
    for (clone, windows) in windows.into_iter().enumerate() {
        job.workers[clone].measured_ns = Nanos::millis(1_700);
        job.series[clone].points.read = windows;
    }
    let document = json(&results, "fio-json");
    let read = &document["jobs"][0]["read"];
    assert_eq!((&read["bw_min"], &read["bw_max"]), (&400.into(), &700.into()));
    assert_eq!((&read["bw_samples"], &read["iops_samples"]), (&4.into(), &4.into()));
    near(&read["bw_mean"], 150.0 + 400.0);
    // Distances of 50 and 100 from each clone's own mean; four samples.
    near(&read["bw_dev"], ((5_000.0 + 20_000.0_f64) / 3.0).sqrt());
    assert_eq!((&read["iops_min"], &read["iops_max"]), (&80.into(), &140.into()));
    near(&read["iops_mean"], 30.0 + 80.0);
    near(&read["iops_stddev"], ((200.0 + 800.0_f64) / 3.0).sqrt());
    let text = written(&results, "fio");
    let line = "   bw (  KiB/s): min=  400, max=  700, per=100.00%, avg=550.00, stdev=91.29, samples=4\n";
    assert!(text.contains(line), "{text}");
    let line = "   iops        : min=   80, max=  140, avg=110.00, stdev=18.26, samples=4\n";
    assert!(text.contains(line), "{text}");
}

#[test]
fn the_share_of_a_group_is_relative_to_its_bandwidth() {
    let work = Work::new("one", Direction::Read, 1000, 1 << 20).with(|work| work.measured_ms = 1000);
    let results = results(&[work.clone(), Work { name: "two", ..work }]);
    let read = &json(&results, "fio-json")["jobs"][0]["read"];
    // 500 of 1000 operations in each half second: half of the 2,048,000 KiB/s.
    near(&read["bw_mean"], 1_024_000.0);
    near(&read["bw_agg"], 50.0);
}

#[test]
fn rates_are_divided_by_whole_milliseconds() {
    let mut results = clones(1);
    let found = reads(&mut results, 0);
    (found.operations, found.bytes) = (100, Bytes(409_600));
    results.steps[0].jobs[0].workers[0].measured_ns = Nanos(16_200_000);
    results.steps[0].jobs[0].workers[0].usage.user_ns = Nanos(2_900_000);
    let document = json(&results, "fio-json");
    let (job, read) = (&document["jobs"][0], &document["jobs"][0]["read"]);
    assert_eq!((&read["runtime"], &job["job_runtime"]), (&17.into(), &16.into()));
    assert_eq!((&read["bw_bytes"], &read["bw"]), (&24_094_117.into(), &23_529.into()));
    near(&read["iops"], 100_000.0 / 17.0);
    near(&job["usr_cpu"], 2.0 / 16.0 * 100.0);
    let terse = written(&results, "fio-terse");
    let fields: Vec<&str> = terse.split(';').collect();
    assert_eq!(fields[5..9], ["400", "23529", "5882", "17"]);
    let text = written(&results, "fio");
    assert_contains(&text, "  read: IOPS=5882, BW=23.0MiB/s (24.1MB/s)(400KiB/17msec)\n");
}

#[test]
fn percentiles_reach_their_share() {
    let mut results = clones(1);
    let found = reads(&mut results, 0);
    found.completion.clear();
    (1..=100).for_each(|ns| found.completion.record(ns));
    let percentiles = &json(&results, "fio-json")["jobs"][0]["read"]["clat_ns"]["percentile"];
    let expected = [
        ("1.000000", 1),
        ("50.000000", 50),
        ("99.000000", 99),
        ("99.500000", 100),
        ("99.990000", 100),
    ];
    for (name, value) in expected {
        assert_eq!(percentiles[name], value, "{name}");
    }
}

#[test]
fn classes_are_percentages_of_all_operations() {
    let mut results = results(&[Work::mixed("job", 1, 1, 4096)]);
    let directions = &mut results.steps[0].jobs[0].workers[0].streams[0].directions;
    for (found, values) in [
        (&mut directions.read, &[100, 1_500, 3_000_000_000][..]),
        (&mut directions.write, &[40_000, 1_000_000]),
    ] {
        let found = found.as_mut().unwrap();
        found.operations = values.len() as u64;
        found.completion.clear();
        values.iter().for_each(|value| found.completion.record(*value));
    }
    let text = written(&results, "fio");
    let classes: Vec<&str> = text.lines().filter(|line| line.starts_with("  lat (")).collect();
    classes.assert_is(&[
        "  lat (nsec)   : 250=20.00%",
        "  lat (usec)   : 2=20.00%, 50=20.00%",
        "  lat (msec)   : 2=20.00%, >=2000=20.00%",
    ]);
    let terse = written(&results, "fio-terse");
    let fields: Vec<&str> = terse.split(';').collect();
    // Latencies below a microsecond are added to the first class.
    assert_eq!(fields[99..104], ["40.00%", "0.00%", "0.00%", "0.00%", "20.00%"]);
    assert_eq!((fields[109], fields[120]), ("20.00%", "20.00%"));
}

#[test]
fn depths_and_batches_are_percentages() {
    let work = Work::new("job", Direction::Read, 1000, 4096).queued(EngineKind::Libaio, 64);
    let mut results = results(&[work]);
    let worker = &mut results.steps[0].jobs[0].workers[0];
    worker.depth.classes = vec![0, 1, 2, 7, 90, 0, 0, 500, 400];
    let batches = |sizes: &[(u32, u64)]| {
        let mut found = Distribution::ready();
        for (size, times) in sizes {
            (0..*times).for_each(|_| found.record_batch(*size));
        }
        found
    };
    worker.submitted = batches(&[(1, 10), (4, 15), (5, 20), (8, 5), (9, 25), (16, 25)]);
    worker.completed = batches(&[(0, 50), (32, 20), (33, 10), (64, 10), (65, 5), (500, 5)]);
    let text = written(&results, "fio");
    for line in [
        "  IO depths    : 1=0.1%, 2=0.2%, 4=0.7%, 8=9.0%, 16=0.0%, 32=0.0%, >=64=90.0%",
        "     submit    : 0=0.0%, 4=25.0%, 8=25.0%, 16=50.0%, 32=0.0%, 64=0.0%, >=64=0.0%",
        "     complete  : 0=50.0%, 4=0.0%, 8=0.0%, 16=0.0%, 32=20.0%, 64=20.0%, >=64=10.0%",
    ] {
        assert!(text.contains(&format!("{line}\n")), "{text}");
    }
    // A depth that occurred at all has at least 0.1 %.
    results.steps[0].jobs[0].workers[0].depth.classes = vec![0, 0, 0, 0, 0, 0, 1000, 0];
    reads(&mut results, 0).operations = 1_000_000;
    let document = json(&results, "fio-json");
    near(&document["jobs"][0]["iodepth_level"]["32"], 0.1);
}

#[test]
fn group_lines_are_printed() {
    let mib = |name, mib: u64, measured_ms: u64| Work {
        measured_ms,
        ..Work::new(name, Direction::Write, mib, 1 << 20)
    };
    let text = written(&results(&[mib("one", 10, 1000), mib("two", 4, 500)]), "fio");
    let group = &text[text.find("Run status").unwrap()..];
    let lines: Vec<&str> = group.lines().take(2).collect();
    lines.assert_is(&[
            "Run status group 0 (all jobs):",
            "  WRITE: bw=14.0MiB/s (14.7MB/s), 8192KiB/s-10.0MiB/s (8389kB/s-10.5MB/s), io=14.0MiB (14.7MB), run=500-1000msec"
        ]);
}

fn counters(name: &str, of: u64) -> HostDeviceUse {
    HostDeviceUse {
        host: 0,
        own_reads: None,
        counters: DeviceUse {
            name: name.into(),
            operations: [of, 2 * of, 0],
            bytes: [of * 4096, of * 8192, 0],
            merged: [1, 2, 0],
            time_ns: [Nanos::millis(of), Nanos::millis(3 * of), Nanos(0)],
            busy_ns: Nanos::millis(of),
            weighted_ns: Nanos::millis(4 * of),
            ..DeviceUse::default()
        },
    }
}

fn device(name: &str, kind: &str) -> Device {
    Device::default().with(|device| (device.name, device.kind) = (name.into(), kind.into()))
}

#[test]
fn disks_beneath_partitions_and_mappings() {
    let mut results = clones(1);
    let facts = &mut results.hosts[0].environment.targets[0];
    facts.devices = vec![device("sda1", "partition"), device("sda", "disk")];
    results.steps[0].devices = vec![counters("sda1", 500), counters("sda", 900)];
    let text = written(&results, "fio");
    let disks = &text[text.find("\nDisk stats (read/write):\n").unwrap()..];
    let line = "  sda: ios=900/1800, sectors=7200/14400, merge=1/2, ticks=900/2700, in_queue=3600, util=90.00%\n";
    assert_eq!(disks, format!("\nDisk stats (read/write):\n{line}"));

    let facts = &mut results.hosts[0].environment.targets[0];
    facts.devices = vec![
        device("dm-0", "device mapper"),
        device("sda", "disk"),
        device("sdb", "disk"),
    ];
    results.steps[0].devices = vec![counters("dm-0", 900), counters("sda", 100), counters("sdb", 301)];
    let text = written(&results, "fio");
    let disks: Vec<&str> = text[text.find("  dm-0: ").unwrap()..].lines().collect();
    assert!(disks[0].ends_with(
        ", aggrios=200/401, aggrsectors=1604/3208, aggrmerge=1/2, aggrticks=200/601, aggrin_queue=802, aggrutil=30.10%"
    ));
    assert_eq!(
        disks[1..].iter().map(|line| &line[..9]).collect::<Vec<_>>(),
        ["    sda: ", "    sdb: "]
    );
    let document = json(&results, "fio-json");
    let list = document["disk_util"].as_array().unwrap();
    assert_eq!(
        list.iter().map(|disk| &disk["name"]).collect::<Vec<_>>(),
        ["dm-0", "sda", "sdb"]
    );
    assert_eq!(list[0]["aggr_write_merge"], 2);
    let terse = written(&results, "fio-terse");
    let fields: Vec<&str> = terse.trim_end().split(';').skip(121).collect();
    fields[..9].assert_is(&["dm-0", "900", "1800", "1", "2", "900", "2700", "3600", "90.00%"]);
    fields[9..].assert_is(&["slaves", "200", "401", "1", "2", "200", "601", "802", "30.10%"]);
}

/// A job that writes, then verifies what it wrote.
fn checked(mix: Mix, backlog: u64) -> Results {
    let mut results = results(&[Work::mixed("vfy", 1024, 1024, 4096)]);
    let stream = &mut results.plan.steps[0].jobs[0].workers[0].streams[0];
    stream.mix = mix;
    stream.verify =
        Some(Verify::new(VerifyMethod::Crc32c).with(|verify| (verify.after_writes, verify.backlog) = (true, backlog)));
    let worker = &mut results.steps[0].jobs[0].workers[0];
    worker.measured_ns = Nanos(8_200_000);
    worker.verified_ns = Nanos(6_400_000);
    worker.usage.user_ns = Nanos::millis(4);
    worker.verified_usage.user_ns = Nanos::millis(3);
    results
}

#[test]
fn verification_reads_have_their_own_time() {
    let runtimes = |results: &Results| {
        let job = &json(results, "fio-json")["jobs"][0];
        let runtime = |name: &str| job[name]["runtime"].as_u64().unwrap();
        (runtime("read"), runtime("write"), job["job_runtime"].as_u64().unwrap())
    };
    let only_checks = checked(Mix::WRITES, 0);
    assert_eq!(runtimes(&only_checks), (7, 9, 14));
    let job = &json(&only_checks, "fio-json")["jobs"][0];
    near(&job["read"]["iops"], 1_024_000.0 / 7.0);
    near(&job["write"]["iops"], 1_024_000.0 / 9.0);
    // 7 of 14 ms.
    near(&job["usr_cpu"], 50.0);
    let text = written(&only_checks, "fio");
    for part in [
        "  read: IOPS=146k, BW=571MiB/s (599MB/s)(4096KiB/7msec)\n",
        "  write: IOPS=114k, BW=444MiB/s (466MB/s)(4096KiB/9msec)\n",
        "io=4096KiB (4194kB), run=7-7msec\n",
    ] {
        assert!(text.contains(part), "{part} is missing: {text}");
    }
    // If the job also reads while it writes, its reads took the time of both.
    assert_eq!(runtimes(&checked(Mix::Exact { write_percent: 50.0 }, 0)), (15, 9, 14));
    assert_eq!(runtimes(&checked(Mix::WRITES, 32)), (15, 9, 14));
    let mut in_the_window = checked(Mix::WRITES, 32);
    in_the_window.steps[0].jobs[0].workers[0].verified_ns = Nanos(0);
    assert_eq!(runtimes(&in_the_window), (9, 9, 8));
}
