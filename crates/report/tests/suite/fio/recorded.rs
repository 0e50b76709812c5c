//! Every recorded run of fio 3.42, line by line: the same lines, labels, keys, order, types and
//! number formats. Measured figures are masked; what the job determines is compared.

use model::mix::Mix;
use model::plan::{JobEcho, LatencyTarget, SteadyState, TrackedMetric};
use model::results::ControlOutcome;

use crate::fio::builder::{self, Work, set, written};
use crate::fio::masks::{json_lines, normal_lines, terse_lines};
use crate::prelude::*;

/// All recorded cases.
pub const CASES: [&str; 23] = [
    "01-seqread-psync", "02-fiowrite", "03-fioread", "04-fioreadwrite", "05-sla-70-30", "06-etcd-fdatasync",
    "07-four-stonewalled", "08-bssplit-latpct", "09-verify-crc32c", "10-iouring-thread-ramp", "11-logs",
    "12-gtod-reduce", "13-groups-desc", "14-unified-mixed", "15-latency-target", "16-steadystate", "17-many-files",
    "18-env-include", "19-trim-null", "20-terse-style", "21-no-lat", "22-loops-number-ios", "23-two-globals-kb1000",
];

const K: u64 = 1024;
const VERSION: &str = "fio-3.42-135-gf5344";
const NONE: &str = "none";
const ALL: &str = "slat,clat,lat";

fn folder(number: usize) -> &'static str {
    CASES[number - 1]
}

/// Compares all outputs of the case with this number. `fixed`: the job determines how much is done.
fn check(number: usize, mut results: Results, fixed: bool) {
    let case = folder(number);
    let file = |name: &str| builder::recorded(&format!("golden/{case}/{name}"));
    let (normal, json, plus, terse) = (
        file("normal.txt"),
        file("out.json"),
        file("out.json+"),
        file("terse3.txt"),
    );
    set(&mut results, "fio_version", VERSION);
    add_recorded_origin(&mut results, &normal, &json);
    if !normal.contains("Disk stats") {
        set(&mut results, "disk_util", "false");
    }
    let ran_long = json.contains("\"eta\" : 0,");
    let started = results.hosts[0].started_unix_ns;
    results.hosts[0].ended_unix_ns = started + if ran_long { 4_000_000_000 } else { 500_000_000 };

    let text = written(&results, "fio");
    assert_same_lines(case, "normal", normal_lines(&normal, fixed), normal_lines(&text, fixed));
    let format = "fio-json";
    assert_same_lines(
        case,
        format,
        json_lines(&json, fixed),
        json_lines(&written(&results, format), fixed),
    );
    let format = "fio-json+";
    assert_same_lines(
        case,
        format,
        json_lines(&plus, fixed),
        json_lines(&written(&results, format), fixed),
    );
    assert_same_lines(
        case,
        "terse",
        terse_lines(&terse),
        terse_lines(&written(&results, "fio-terse")),
    );
}

/// Adds what the dialect would have recorded in the origin: banners and options.
fn add_recorded_origin(results: &mut Results, normal: &str, json: &str) {
    let origin = &mut results.plan.origin;
    let banners = normal.lines().take_while(|line| *line != VERSION);
    origin.profile = banners.map(str::to_owned).collect();
    let document: Value = serde_json::from_str(&json[json.find('{').unwrap()..]).unwrap();
    let pairs = |value: &Value| -> Vec<(String, String)> {
        let pairs = value.as_object().into_iter().flatten();
        pairs
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .collect()
    };
    origin.global_options = pairs(&document["global options"]);
    let entries = document["jobs"].as_array().unwrap();
    // A merged entry shows the options of its last member.
    let mut jobs: Vec<JobEcho> = Vec::new();
    for ((step, index), job) in results.plan.steps.iter().enumerate().flat_map(|(step, found)| {
        found
            .jobs
            .iter()
            .enumerate()
            .map(move |(index, job)| ((step as u32, index as u32), job))
    }) {
        let group = results
            .plan
            .groups
            .iter()
            .position(|group| group.jobs.contains(&(step, index)))
            .unwrap();
        let of_job = entries.iter().find(|entry| entry["jobname"] == job.name.as_str());
        let of_group = entries.iter().find(|entry| entry["groupid"] == group);
        jobs.push(JobEcho {
            name: job.name.clone(),
            options: pairs(&of_job.or(of_group).unwrap()["job options"]),
        });
    }
    if entries.len() < jobs.len() {
        // These options must not be shown: only the last member's may.
        jobs[0].options = vec![("wrong".into(), "member".into())];
    }
    results.plan.origin.jobs = match results.plan.groups[0].merged && results.plan.groups[0].jobs.len() > 1 {
        true => {
            jobs[1].options = pairs(&entries[0]["job options"]);
            jobs
        }
        false => jobs,
    };
}

fn assert_same_lines(case: &str, what: &str, expected: Vec<String>, written: Vec<String>) {
    for (number, (expected, written)) in expected.iter().zip(&written).enumerate() {
        assert_eq!(written, expected, "{case}, {what}, line {}", number + 1);
    }
    assert_eq!(written.len(), expected.len(), "{case}, {what}: lines");
}

fn libaio(work: Work, depth: u32) -> Work {
    work.queued(EngineKind::Libaio, depth)
}

fn long(mut work: Work, measured_ms: u64) -> Work {
    work.measured_ms = measured_ms;
    work
}

fn merged(mut work: Work, clones: usize) -> Work {
    (work.merged, work.clones) = (true, clones);
    work
}

/// With fio's null engine.
fn null(mut work: Work) -> Work {
    (work.engine, work.measured_ms) = (EngineKind::Null, 1);
    work
}

fn read(name: &'static str, operations: u64, block: u64) -> Work {
    Work::new(name, Direction::Read, operations, block)
}

fn write(name: &'static str, operations: u64, block: u64) -> Work {
    Work::new(name, Direction::Write, operations, block)
}

/// In the step and group with this number.
fn behind(mut work: Work, stonewalls: usize) -> Work {
    (work.step, work.group) = (stonewalls, stonewalls);
    work
}

fn without_latency(results: &mut Results) {
    set(results, "disabled", ALL);
    set(results, "percentiles_of", NONE);
}

#[test]
fn simple_jobs_match() {
    check(1, builder::results(&[read("reader", 256, 64 * K)]), true);
    let etcd = write("mytest", 102, 2300).with(|etcd| etcd.flushes = 102);
    check(6, builder::results(&[etcd]), true);
    let verify = Work::mixed("vfy", 1024, 1024, 4 * K);
    let mut results = builder::results(&[libaio(verify, 16)]);
    results.plan.steps[0].jobs[0].workers[0].streams[0].mix = Mix::WRITES;
    results.steps[0].jobs[0].workers[0].verified_ns = Nanos::millis(9);
    check(9, results, true);
    let files = write("files", 256, 4 * K).with(|files| files.flushes = 15);
    check(17, builder::results(&[files]), true);
    let trims = Work::new("trimmer", Direction::Trim, 64, 64 * K);
    check(19, builder::results(&[null(trims)]), true);
}

#[test]
fn clones_match_alone_and_merged() {
    let clones = long(libaio(write("fiowrite", 4000, 4 * K), 256), 2005).with(|clones| clones.clones = 4);
    check(2, builder::results(&[clones]), false);
    let reads = long(libaio(read("fioread", 4000, 4 * K), 256), 2003);
    check(3, builder::results(&[merged(reads, 4)]), false);
    let both = Work::mixed("fioreadwrite", 4000, 4000, 4 * K);
    check(4, builder::results(&[merged(long(libaio(both, 256), 2004), 4)]), false);
    let sla = Work::mixed("sla", 2100, 900, 32 * K);
    let sla = builder::results(&[merged(long(libaio(sla, 8), 3001), 4)]).with(|sla| sla.plan.name = "sla".into());
    check(5, sla, true);
    let uring = long(read("ur", 8000, 16 * K).queued(EngineKind::IoUring, 32), 2001);
    let mut uring = builder::results(&[merged(uring, 2)]);
    set(&mut uring, "thread", "true");
    check(10, uring, false);
    check(
        11,
        builder::results(&[long(libaio(Work::mixed("logged", 1200, 1200, 4 * K), 8), 3001)]),
        true,
    );
}

#[test]
fn disabled_latencies_match() {
    let stonewalled = [
        read("read_iops", 4000, 4 * K),
        write("write_iops", 4000, 4 * K),
        read("read_bw", 4000, 128 * K),
        write("write_bw", 4000, 128 * K),
    ];
    let works: Vec<Work> = (0..4)
        .map(|index| behind(long(libaio(stonewalled[index].clone(), 64), 1001), index))
        .collect();
    let mut results = builder::results(&works);
    without_latency(&mut results);
    check(7, results, false);
    let mut results = builder::results(&[libaio(Work::mixed("test", 3046, 1050, 4 * K), 64)]);
    without_latency(&mut results);
    check(12, results, true);
    let mut results = builder::results(&[merged(libaio(Work::mixed("rand_rw_4k", 1995, 2101, 4 * K), 64), 2)]);
    without_latency(&mut results);
    check(20, results, true);
    let test = long(read("test", 4000, 4 * K), 2001).with(|test| test.merged = true);
    let mut results = builder::results(&[test]);
    without_latency(&mut results);
    set(&mut results, "iodepth", "64");
    check(21, results, false);
}

#[test]
fn percentiles_of_all_latencies_match() {
    let mut results = builder::results(&[libaio(Work::mixed("mix", 909, 401, 8 * K), 4)]);
    set(&mut results, "percentiles_of", ALL);
    results.plan.origin.presentation.percentiles = vec![50.0, 90.0, 99.0, 99.9, 99.99, 99.999];
    check(8, results, false);
}

#[test]
fn groups_and_descriptions_match() {
    let mut works = [
        merged(null(read("a1", 1024, 4 * K)), 2),
        merged(null(write("a2", 512, 8 * K)), 1),
        merged(null(Work::mixed("b1", 494, 530, 4 * K)), 1),
        merged(null(behind(write("c1", 256, 16 * K), 1)), 1),
    ];
    works[0].description = Some("first group, two members");
    works[2].group = 1;
    (works[3].group, works[3].description) = (2, Some("last"));
    check(13, builder::results(&works), true);
}

#[test]
fn unified_directions_match() {
    let works = [
        null(Work::mixed("mixed", 486, 538, 4 * K)),
        null(behind(Work::mixed("both", 486, 538, 4 * K), 1)),
    ];
    let mut results = builder::results(&works);
    set(&mut results, "unified.0", "mixed");
    set(&mut results, "unified.1", "both");
    check(14, results, true);
}

#[test]
fn latency_targets_and_steady_states_match() {
    let mut target = long(libaio(read("lt", 6000, 4 * K), 32), 3001);
    target.control = vec![Control::LatencyTarget(LatencyTarget {
        target_ns: Nanos::millis(20),
        window_ns: Nanos::millis(500),
        percentile: 95.0,
        keep_running: false,
    })];
    check(15, builder::results(&[target]), false);

    let mut steady = null(read("ss", 7800, 4 * K));
    steady.measured_ms = 3899;
    steady.control = vec![Control::SteadyState(SteadyState {
        metric: TrackedMetric::Iops,
        slope: false,
        limit: 50.0,
        percent: true,
        window_ns: Nanos::secs(2),
        interval_ns: Nanos::secs(1),
        ramp_ns: Nanos::secs(1),
    })];
    let mut results = builder::results(&[steady]);
    let job = &mut results.steps[0].jobs[0];
    job.control = vec![ControlOutcome {
        rule: String::new(),
        attained: true,
        detail: String::new(),
        series: vec![2000.0, 2002.0],
        depth: None,
    }];
    let point = |operations: u64, bytes: u64| Point::new(operations, bytes);
    // As in the recorded JSON report; the last second is not whole.
    let reads = vec![
        point(1500, 0),
        point(2000, 8_192_000),
        point(2002, 8_204_267),
        point(1, 1),
    ];
    job.series
        .push(Series::new(Nanos::secs(1), None, PerDirection::from_reads(reads)));
    check(16, results.clone(), false);
    let json = builder::recorded("golden/16-steadystate/out.json");
    let steady = |text: &str| text[text.find("\"steadystate\" : {").unwrap()..].to_owned();
    let written = written(&results, "fio-json");
    assert_eq!(steady(&written)[..400], steady(&json)[..400]);
}

#[test]
fn environment_loops_and_units_match() {
    let env = null(write("envjob", 16, 4 * K)).queued(EngineKind::Null, 4);
    check(18, builder::results(&[merged(env, 1)]), true);
    let loops = long(read("loops", 48, 4 * K), 1);
    let works = [
        loops,
        null(behind(write("nios", 100, 4 * K), 1)),
        null(behind(write("iosz", 768, 4 * K), 2)),
    ];
    check(22, builder::results(&works), true);
    let works = [null(read("one", 976, 4 * K)), null(write("two", 62, 64_000))];
    let mut results = builder::results(&works);
    results.plan.origin.presentation.kilo = Some(1000);
    set(&mut results, "unit_base.1", "1");
    check(23, results, true);
}

/// No recorded run is missing from the tests above.
#[test]
fn every_case_is_checked() {
    let this: String = include_str!("recorded.rs").split_whitespace().collect();
    for number in 1..=CASES.len() {
        assert!(
            this.contains(&format!("check({number},")),
            "{} is not checked",
            folder(number)
        );
    }
}
