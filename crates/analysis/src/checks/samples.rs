//! Sound results, as the starting point for tests of checks.

use model::environment::{Device, DeviceUse, Environment, TargetFacts};
use model::event::{Counts, EndReason};
use model::finding::Finding;
use model::histogram::Histogram;
use model::plan::{CacheMode, EngineKind, Rate, Stop, TargetId, Workload};
use model::results::{
    DirectionResults, EngineUsed, HostDeviceUse, JobResults, Point, Results, Series, StepResults, StreamResults,
    WorkerResults,
};
use model::{Bytes, Direction, Nanos, PerDirection, testing};

/// Rule names of the findings, in order.
pub(super) fn rules(results: &Results) -> Vec<String> {
    super::check(results)
        .into_iter()
        .map(|Finding { rule, .. }| rule)
        .collect()
}

/// The findings of a rule, in order.
pub(super) fn findings(results: &Results, rule: &str) -> impl Iterator<Item = Finding> {
    super::check(results)
        .into_iter()
        .filter(move |finding| finding.rule == rule)
}

/// The first finding of a rule.
#[track_caller]
pub(super) fn finding(results: &Results, rule: &str) -> Finding {
    findings(results, rule)
        .next()
        .unwrap_or_else(|| panic!("no finding {rule}"))
}

/// The reads of the only stream.
pub(super) fn reads(job: &mut JobResults) -> &mut DirectionResults {
    let reads = &mut job.workers[0].streams[0].directions[Direction::Read];
    reads.as_mut().expect("the samples read")
}

/// One worker that keeps `depth` reads of 4 KiB in flight for a second. It completes `operations`
/// of the given latency.
pub(crate) fn closed_loop(depth: u32, operations: u64, latency: Nanos) -> Results {
    let mut workload = Workload::new("job", vec![TargetId(0)], Stop::after(Nanos::secs(1)));
    workload.depth = depth;
    results(&workload, operations, latency)
}

/// The same worker, with a requested rate of 10,000 operations per second.
pub(super) fn paced(depth: u32, operations: u64, latency: Nanos) -> Results {
    let mut workload = Workload::new("job", vec![TargetId(0)], Stop::after(Nanos::secs(1)));
    (workload.depth, workload.rate) = (depth, Some(Rate::iops(10_000)));
    results(&workload, operations, latency)
}

/// Puts the target on a device for which the kernel reports this many bytes read.
pub(super) fn on_device(results: &mut Results, name: &str, cache: CacheMode, read: u64) {
    results.plan.steps[0].jobs[0].workers[0].streams[0].cache = cache;
    results.hosts[0].environment.targets = vec![TargetFacts {
        devices: vec![Device {
            name: name.into(),
            ..Device::default()
        }],
        ..TargetFacts::default()
    }];
    results.steps[0].devices = vec![HostDeviceUse {
        host: 0,
        own_reads: None,
        counters: DeviceUse {
            name: name.into(),
            targets: vec![0],
            bytes: [read, 0, 0],
            ..DeviceUse::default()
        },
    }];
}

/// A closed loop with a full queue and this many reads in each interval of 100 ms.
pub(super) fn with_series(workload: &Workload, time: Nanos, operations: &[u64]) -> Results {
    let total: u64 = operations.iter().sum();
    let latency = Nanos(time.0 * u64::from(workload.depth) / total.max(1));
    let mut results = results(workload, total, latency);
    let job = &mut results.steps[0].jobs[0];
    job.workers[0].measured_ns = time;
    let point = |operations: &u64| Point::new(*operations, operations * 4096);
    job.series = vec![Series {
        length_ns: Nanos::millis(100),
        source: None,
        points: PerDirection::from_reads(operations.iter().map(point).collect()),
    }];
    results
}

fn results(workload: &Workload, operations: u64, latency: Nanos) -> Results {
    let mut times = Histogram::new();
    times.record_times(latency.0, operations);
    let bytes = Bytes(operations * 4096);
    let reads = DirectionResults {
        operations,
        bytes,
        submission: times.clone(),
        completion: times.clone(),
        total: times.clone(),
        response: workload.rate.map(|_| times),
        ..DirectionResults::default()
    };
    let worker = WorkerResults {
        engine: EngineUsed {
            kind: EngineKind::IoUring,
            ..EngineUsed::default()
        },
        measured_ns: Nanos::secs(1),
        slots: workload.depth,
        streams: vec![StreamResults {
            targets: vec![0],
            directions: PerDirection::from_reads(Some(reads)),
            lifetime: PerDirection::from_reads(Counts { operations, bytes }),
            ..StreamResults::default()
        }],
        ..WorkerResults::default()
    };
    let point = Point::new(operations, bytes.0);
    let series = Series::new(Nanos::secs(1), None, PerDirection::from_reads(vec![point]));
    let job = JobResults {
        name: workload.name.clone(),
        workers: vec![worker],
        series: vec![series],
        ended: Some(EndReason::Time),
        ..JobResults::default()
    };
    let steps = vec![testing::step(vec![workload.build_job(0)])];
    let step = StepResults {
        jobs: vec![job],
        ..StepResults::default()
    };
    testing::results(
        testing::plan("", vec![testing::file("target")], steps),
        vec![testing::host(Environment::default(), (0, 1_000_000_000))],
        vec![step],
    )
}
