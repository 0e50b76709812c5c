//! Results add up, regardless of which process obtained which part, and survive being saved.

use model::environment::{
    Allocation, BackgroundIo, BusyProgram, Clock, CoreUse, Cpu, Device, DeviceLimit, DeviceUse, Environment,
    FileSystem, Host, IdleState, Limits, LogicalCpu, TargetFacts,
};
use model::event::{Counts, EndReason, Phase};
use model::finding::{Finding, Severity};
use model::fleet::{Gathering, Share};
use model::histogram::Histogram;
use model::plan::{EngineKind, Plan, Stop, TargetId, Workload};
use model::results::{
    ControlOutcome, DirectionResults, Distribution, EffectiveShare, EngineUsed, Failure, HostCoreUse, HostDeviceUse,
    IntervalHistogram, JobResults, PhaseInterval, Point, Results, Series, StepResults, StreamResults, SyncResults,
    Usage, WorkerResults,
};
use model::{Bytes, Direction, Nanos, PerDirection, testing};
use proptest::prelude::*;
use testbed::With;

/// An operation as a worker would record it.
#[derive(Clone, Copy, Debug)]
struct Done {
    worker: usize,
    direction: Direction,
    at_ns: u64,
    latency_ns: u64,
    bytes: u64,
}

const WORKERS: usize = 2;
const INTERVAL: u64 = 1_000_000_000;

/// The results of one host with the operations it executed.
fn host(name: &str, operations: &[Done]) -> Results {
    let mut job = JobResults::default().with(|job| (job.name, job.ended) = ("job".into(), Some(EndReason::Time)));
    for worker in 0..WORKERS {
        job.workers.push(WorkerResults {
            worker: worker as u32,
            slots: 4,
            measured_ns: Nanos::secs(5),
            streams: vec![StreamResults::default()],
            ..WorkerResults::default()
        });
    }
    let mut series = Series::new(Nanos(INTERVAL), None, PerDirection::default());
    for done in operations {
        let stream = &mut job.workers[done.worker].streams[0];
        let found = stream.directions[done.direction].get_or_insert_with(DirectionResults::default);
        found.operations += 1;
        found.bytes.0 += done.bytes;
        for histogram in [&mut found.submission, &mut found.completion, &mut found.total] {
            histogram.record(done.latency_ns);
        }
        found
            .response
            .get_or_insert_with(Histogram::new)
            .record(done.latency_ns);
        let index = (done.at_ns / INTERVAL) as usize;
        let points = &mut series.points[done.direction];
        if points.len() <= index {
            points.resize(index + 1, Point::default());
        }
        points[index].merge(&Point {
            operations: 1,
            bytes: done.bytes,
            latency_ns: done.latency_ns,
            latency_squares_ns2: (done.latency_ns as f64).powi(2),
            latency_ns_min: done.latency_ns,
            latency_ns_max: done.latency_ns,
            in_flight_ns: None,
        });
        let start_ns = Nanos(index as u64 * INTERVAL);
        let place = job.histograms.binary_search_by_key(&start_ns, |entry| entry.start_ns);
        let place = place.unwrap_or_else(|place| {
            job.histograms.insert(
                place,
                IntervalHistogram {
                    start_ns,
                    length_ns: Nanos(INTERVAL),
                    latency: PerDirection::default(),
                },
            );
            place
        });
        let mut latency = Histogram::new();
        latency.record(done.latency_ns);
        latency.pack();
        match &mut job.histograms[place].latency[done.direction] {
            Some(merged) => merged.merge(&latency),
            none => *none = Some(latency),
        }
    }
    job.series = vec![
        series.clone(),
        Series {
            source: Some((1, 0)),
            ..series
        },
    ];
    let device = HostDeviceUse {
        host: 0,
        counters: DeviceUse::default().with(|device_use| device_use.name = "sda".into()),
        own_reads: Some(Bytes(7)),
    };
    let environment = Environment::default()
        .with(|environment| environment.host = Host::default().with(|host| host.name = name.into()));
    let step = StepResults {
        jobs: vec![job],
        devices: vec![device.clone()],
        devices_measured: vec![device],
        observed_ns: Nanos::secs(operations.len() as u64),
        ..StepResults::default()
    };
    testing::results(Plan::default(), vec![testing::host(environment, (0, 0))], vec![step])
}

/// The merged results of ranks, each of which executed the one job.
fn gathered(parts: impl IntoIterator<Item = Results>) -> Results {
    let mut parts: Vec<Results> = parts.into_iter().collect();
    let mut plan = Plan::default();
    plan.steps.push(Default::default());
    plan.steps[0].jobs.push(Default::default());
    let share = Share {
        plan: plan.clone(),
        jobs: vec![vec![0]],
    };
    let shares = vec![share; parts.len()];
    let mut whole = Gathering::new(&plan, &shares, parts[0].clone());
    for (rank, part) in parts.drain(..).enumerate() {
        whole.add(rank as u32, part);
    }
    whole.finish()
}

fn merge_pair(a: Results, b: Results) -> Results {
    gathered([a, b])
}

fn job(results: &Results) -> &JobResults {
    &results.steps[0].jobs[0]
}

fn operations() -> impl Strategy<Value = Vec<Done>> {
    let any_done = (0..WORKERS, 0usize..3, 0..5 * INTERVAL, 1u64..1 << 36, 1u64..1 << 20);
    let done = any_done.prop_map(|(worker, direction, at_ns, latency_ns, bytes)| Done {
        worker,
        direction: Direction::ALL[direction],
        at_ns,
        // Sums of squares are exact in an f64 if they are small.
        latency_ns: latency_ns >> 14,
        bytes,
    });
    prop::collection::vec(done, 0..60)
}

fn job_series(job: &JobResults) -> &Series {
    job.series
        .iter()
        .find(|series| series.source.is_none())
        .expect("there is one")
}

/// The series without the empty intervals at its end, which exist only if something came later.
fn points(job: &JobResults) -> PerDirection<Vec<Point>> {
    job_series(job).points.map(|points| {
        let used = points
            .iter()
            .rposition(|point| point.operations > 0)
            .map_or(0, |last| last + 1);
        points[..used].to_vec()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merging_is_addition(a in operations(), b in operations()) {
        let together = host("both", &[a.clone(), b.clone()].concat());
        let (ab, ba) = (merge_pair(host("a", &a), host("b", &b)), merge_pair(host("b", &b), host("a", &a)));
        for both in [&ab, &ba] {
            prop_assert_eq!(job(both).directions(), job(&together).directions());
            prop_assert_eq!(job(both).total(), job(&together).total());
            prop_assert_eq!(points(job(both)), points(job(&together)));
            prop_assert_eq!(&job(both).histograms, &job(&together).histograms);
            prop_assert_eq!(job(both).workers.len(), 2 * WORKERS);
            prop_assert_eq!(both.steps[0].observed_ns, Nanos::secs(a.len().max(b.len()) as u64));
        }
    }

    #[test]
    fn three_hosts_have_the_operations_of_one(a in operations(), b in operations(), c in operations()) {
        let together = host("all", &[a.clone(), b.clone(), c.clone()].concat());
        let three = gathered([host("a", &a), host("b", &b), host("c", &c)]);
        prop_assert_eq!(job(&three).directions(), job(&together).directions());
        prop_assert_eq!(points(job(&three)), points(job(&together)));
        prop_assert_eq!(&job(&three).histograms, &job(&together).histograms);
    }

    #[test]
    fn distributions_of_any_length_add_up(a in prop::collection::vec(any::<u32>(), 0..50), b in prop::collection::vec(any::<u32>(), 0..50)) {
        let count = |values: &[u32]| {
            let mut found = Distribution::ready();
            values.iter().for_each(|value| found.record(*value, 1));
            found.trim();
            found
        };
        let mut sum = count(&a);
        sum.merge(&count(&b));
        prop_assert_eq!(sum, count(&[a, b].concat()));
    }
}

#[test]
fn a_power_of_two_begins_a_depth_class_and_ends_a_batch_class() {
    let classes = |count: &dyn Fn(&mut Distribution)| {
        let mut found = Distribution::ready();
        count(&mut found);
        found.trim();
        found.classes
    };
    let values = [0, 1, 2, 3, 4, 5, 8, 9, 16, 17];
    let depths = |distribution: &mut Distribution| values.iter().for_each(|value| distribution.record(*value, 1));
    assert_eq!(classes(&depths), [1, 1, 2, 2, 2, 2]);
    let batches = |distribution: &mut Distribution| values.iter().for_each(|value| distribution.record_batch(*value));
    assert_eq!(classes(&batches), [1, 1, 1, 2, 2, 2, 1]);
    let largest = |distribution: &mut Distribution| {
        distribution.record(u32::MAX, 1);
        distribution.record_batch(u32::MAX);
    };
    assert_eq!(classes(&largest).iter().sum::<u64>(), 2);
}

#[test]
fn each_worker_and_device_still_belongs_to_its_host() {
    let three = gathered([host("a", &[]), host("b", &[]), host("c", &[])]);
    let hosts: Vec<u32> = job(&three).workers.iter().map(|worker| worker.host).collect();
    assert_eq!(hosts, [0, 0, 1, 1, 2, 2]);
    let numbers: Vec<u32> = job(&three).workers.iter().map(|worker| worker.worker).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    let step = &three.steps[0];
    for devices in [&step.devices, &step.devices_measured] {
        assert_eq!(devices.iter().map(|device| device.host).collect::<Vec<_>>(), [0, 1, 2]);
    }
    // Series of single workers are kept side by side, under the workers' new numbers.
    let of: Vec<_> = job(&three).series.iter().filter_map(|series| series.source).collect();
    assert_eq!(of, [(1, 0), (3, 0), (5, 0)]);
    let names: Vec<_> = three.hosts.iter().map(|host| &*host.environment.host.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn ranks_of_one_machine_share_its_devices() {
    let sum = gathered([host("a", &[]), host("b", &[]), host("a", &[])]);
    assert_eq!(sum.hosts.len(), 2);
    assert_eq!(sum.steps[0].devices.len(), 2);
    let origins: Vec<(u32, u32)> = job(&sum)
        .workers
        .iter()
        .map(|worker| (worker.host, worker.rank))
        .collect();
    assert_eq!(origins, [(0, 0), (0, 0), (1, 1), (1, 1), (0, 2), (0, 2)]);
}

#[test]
fn sums_of_a_thousand_ranks_are_exact() {
    let operations_on_rank = |rank: u64| -> Vec<Done> {
        let create_done = |number: u64| Done {
            worker: (number % 2) as usize,
            direction: Direction::ALL[(rank + number) as usize % 3],
            at_ns: (rank * 37 + number * 911) % 5 * INTERVAL,
            latency_ns: 1 + (rank * 1009 + number * 7919) % 1_000_000,
            bytes: 512 * (1 + rank % 8),
        };
        (0..5 + rank % 3).map(create_done).collect()
    };
    let all: Vec<Done> = (0..1000).flat_map(operations_on_rank).collect();
    let sum = gathered((0..1000).map(|rank| host(&format!("h{}", rank % 400), &operations_on_rank(rank))));
    let together = host("all", &all);
    assert_eq!(job(&sum).directions(), job(&together).directions());
    assert_eq!(points(job(&sum)), points(job(&together)));
    assert_eq!(&job(&sum).histograms, &job(&together).histograms);
    assert_eq!(sum.hosts.len(), 400);
    assert_eq!(sum.steps[0].devices.len(), 400);
    // The series of the ranks add up to the series of the whole.
    let ranks = &job(&sum).rank_series;
    assert_eq!(ranks.len(), 1000);
    let operations: u64 = ranks.iter().flat_map(|rank| &rank.operations).sum();
    assert_eq!(operations, all.len() as u64);
    let second = |number: usize| -> u64 {
        let found = ranks.iter().filter_map(|rank| rank.operations.get(number));
        found.sum()
    };
    for number in 0..5 {
        let done = all.iter().filter(|done| done.at_ns / INTERVAL == number as u64).count();
        assert_eq!(second(number), done as u64, "second {number}");
    }
}

#[test]
fn intervals_around_the_window_add_up_in_order() {
    let around = |starts: &[u64]| {
        let mut results = host("a", &[]);
        let create_interval = |start: &u64| PhaseInterval {
            phase: if *start < 10 { Phase::WarmUp } else { Phase::Verify },
            start_ns: Nanos(*start),
            length_ns: Nanos(1),
            counts: PerDirection::from_reads(Counts::new(1, Bytes(2))),
        };
        results.steps[0].jobs[0].around = starts.iter().map(create_interval).collect();
        results
    };
    let sum = gathered([around(&[0, 2, 11]), around(&[0, 1, 2, 3, 10]), around(&[])]);
    let found = job(&sum).around.iter();
    let found: Vec<(u64, u64)> = found
        .map(|interval| (interval.start_ns.0, interval.counts.read.operations))
        .collect();
    assert_eq!(found, [(0, 2), (1, 1), (2, 2), (3, 1), (10, 1), (11, 1)]);
}

#[test]
fn facts_of_targets_are_found_by_their_number_in_the_plan() {
    let facts = |path: &str| TargetFacts::default().with(|target_facts| target_facts.path = path.into());
    let mut plan = Plan::default();
    let target = testing::file("x");
    plan.targets = vec![target.clone(), target];
    let share = Share {
        plan: plan.clone(),
        jobs: Vec::new(),
    };
    let shares = vec![share; 3];
    let mut whole = Gathering::new(&plan, &shares, host("a", &[]));
    for (rank, name) in ["a", "b", "a"].into_iter().enumerate() {
        let mut results = host(name, &[]);
        results.hosts[0].environment.targets = vec![facts(&format!("{rank}.0")), facts(&format!("{rank}.1"))];
        whole.add(rank as u32, results);
    }
    let sum = whole.finish();
    let paths = |host: usize| -> Vec<(u32, &str)> {
        let targets = sum.hosts[host].environment.numbered_targets();
        targets.map(|(number, facts)| (number, &*facts.path)).collect()
    };
    assert_eq!(paths(0), [(0, "0.0"), (1, "0.1"), (4, "2.0"), (5, "2.1")]);
    assert_eq!(paths(1), [(2, "1.0"), (3, "1.1")]);
    let environment = &sum.hosts[1].environment;
    assert_eq!(environment.target(3).map(|facts| &*facts.path), Some("1.1"));
    assert_eq!(environment.target(4), None);
}

#[test]
fn a_machine_whose_first_rank_was_lost_is_counted_with_its_next() {
    let mut lost = host("a", &[]);
    (lost.steps[0].devices, lost.steps[0].devices_measured) = (Vec::new(), Vec::new());
    let sum = gathered([lost, host("a", &[])]);
    assert_eq!(sum.steps[0].devices.len(), 1);
}

/// The processes on a machine share its device, but each has its own reads.
#[test]
fn reads_of_all_processes_on_a_machine_are_added() {
    let own_reads = |second: Option<Bytes>| {
        let mut other = host("a", &[]);
        other.steps[0].devices[0].own_reads = second;
        gathered([host("a", &[]), other]).steps[0].devices[0].own_reads
    };
    assert_eq!(own_reads(Some(Bytes(5))), Some(Bytes(12)));
    assert_eq!(own_reads(None), None, "the sum is unknown");
}

#[test]
fn the_reason_that_ended_a_job_on_one_host_applies_to_all() {
    use EndReason::{Done, Failed, Interrupted, Time};
    let check = |a: Option<EndReason>, b: Option<EndReason>, expected: Option<EndReason>| {
        let results_ended =
            |ended: &Option<EndReason>| host("a", &[]).with(|results| results.steps[0].jobs[0].ended = ended.clone());
        for sum in [
            merge_pair(results_ended(&a), results_ended(&b)),
            merge_pair(results_ended(&b), results_ended(&a)),
        ] {
            assert_eq!(job(&sum).ended, expected, "{a:?} and {b:?}");
        }
    };
    check(None, Some(Time), Some(Time));
    check(Some(Time), Some(Failed), Some(Failed));
    check(Some(Interrupted), Some(Failed), Some(Failed));
    check(Some(Done), Some(Interrupted), Some(Interrupted));
}

#[test]
fn one_interrupted_host_makes_the_result_interrupted() {
    let mut cut = host("a", &[]);
    cut.interrupted = true;
    cut.findings.push(Finding::new("X", Severity::Note, "seen"));
    let sum = merge_pair(host("b", &[]), cut);
    assert!(sum.interrupted);
    assert_eq!(sum.findings.len(), 1);
}

/// Results with a value in every field.
#[expect(clippy::too_many_lines, reason = "one story, or one table")]
fn full() -> Results {
    let done = |number: u64| Done {
        worker: (number % 2) as usize,
        direction: Direction::ALL[(number % 3) as usize],
        at_ns: number * 100_000_000,
        latency_ns: 1 << (number % 45),
        bytes: 4096,
    };
    let operations: Vec<Done> = (0..50).map(done).collect();
    let mut results = host("a", &operations);
    let workload = Workload::new("job", vec![TargetId(0)], Stop::after(Nanos::secs(5)));
    results.plan.steps.push(Default::default());
    results.plan.steps[0].jobs.push(workload.build_job(0));
    results.plan.origin.arguments = vec!["fathom".into(), "run".into(), "größe=4k".into()];
    results.hosts[0].environment = environment();
    (results.hosts[0].started_unix_ns, results.hosts[0].ended_unix_ns) = (1_700_000_000_123_456_789, u64::MAX);
    let finding = Finding::new("QD-NOT-ACHIEVED", Severity::Warning, "what \"it\" was");
    results.findings = vec![finding.at("job").why("why\nin two lines").help("help")];
    results.interrupted = true;
    let step = &mut results.steps[0];
    step.devices[0].counters = DeviceUse {
        name: "nvme0n1".into(),
        targets: vec![0],
        operations: [1, 2, 3],
        bytes: [4, 5, 6],
        merged: [7, 8, 9],
        time_ns: [Nanos(10), Nanos(11), Nanos(12)],
        flushes: 13,
        busy_ns: Nanos(14),
        weighted_ns: Nanos(15),
    };
    step.cores.push(HostCoreUse {
        host: 0,
        core: CoreUse {
            cpu: 3,
            user_ns: Nanos(1),
            system_ns: Nanos(2),
            interrupt_ns: Nanos(3),
            stolen_ns: Nanos(4),
            idle_ns: Nanos(5),
        },
    });
    let job = &mut step.jobs[0];
    (job.lost_intervals, job.log_waits) = (1, 2);
    job.ended = Some(EndReason::Control {
        rule: "precision".into(),
    });
    job.control.push(ControlOutcome {
        rule: "steady state".into(),
        attained: true,
        detail: "slope 0.3 %".into(),
        series: vec![1.0, 0.1 + 0.2, 1e300],
        depth: Some(17),
    });
    let worker = &mut job.workers[0];
    worker.rank = 1;
    worker.engine = EngineUsed {
        kind: EngineKind::IoUring,
        reason: "the kernel has it".into(),
        features: vec!["registered buffers".into()],
        unavailable_features: vec!["registered files: no".into()],
        submit_batch: 8,
        inline: true,
    };
    (worker.started_ns, worker.active_ns) = (Nanos(1), Nanos(2));
    worker.depth.classes = vec![0, 1, 2];
    worker.submitted.classes = vec![0, 3];
    worker.completed.classes = vec![4];
    worker.usage = Usage {
        user_ns: Nanos(1),
        system_ns: Nanos(2),
        voluntary_switches: 3,
        involuntary_switches: 4,
        minor_faults: 5,
        major_faults: 6,
    };
    (worker.merged_rows, worker.map_bytes) = (7, Bytes(8));
    worker.failure = Some(Failure {
        errno: Some(5),
        help: Some("look at the log".into()),
        ..Failure::new("read failed", "offset 4096")
    });
    let stream = &mut worker.streams[0];
    stream.targets = vec![0];
    let mut flushes = SyncResults::default().with(|sync_results| sync_results.operations = 1);
    flushes.latency.record(123_456);
    stream.sync = Some(flushes);
    stream.lifetime.write = Counts::new(9, Bytes(10));
    stream.effective_ranges.push(EffectiveShare {
        operations_percent: 33.3,
        start: Bytes(0),
        length: Bytes(4096),
    });
    let read = stream.directions.read.as_mut().expect("there were reads");
    (read.short, read.errors, read.late, read.first_error) = (1, 2, 3, Some(5));
    read.schedule_delay = Some(Histogram::new());
    results
}

fn environment() -> Environment {
    Environment {
        host: Host {
            name: "box".into(),
            system: "Linux".into(),
            kernel: "6.12".into(),
            architecture: "x86_64".into(),
            boot_id: Some("id".into()),
            hypervisor: Some("kvm".into()),
            cloud: Some("Amazon EC2".into()),
            machine_type: Some("m6i.large".into()),
        },
        cpu: Cpu {
            model: "model".into(),
            logical: 8,
            usable: 4,
            numa_nodes: 1,
            governor: Some("performance".into()),
            topology: vec![LogicalCpu {
                cpu: 3,
                core: 1,
                socket: 1,
                node: 0,
                efficiency_class: 1,
            }],
            deepest_idle: Some(IdleState {
                name: "C6".into(),
                exit_ns: Nanos::micros(133),
            }),
        },
        memory: Bytes::gib(8),
        clock: Clock {
            source: "tsc".into(),
            reason: "it is invariant".into(),
            frequency_hz: 2_100_000_000,
            reading_ns: 7.25,
            drift_ppm: Some(-0.125),
        },
        limits: Limits {
            cpus: Some(1.5),
            memory: Some(Bytes::gib(1)),
            devices: vec![DeviceLimit {
                device: "259:0".into(),
                read_iops: Some(1000),
                ..DeviceLimit::default()
            }],
        },
        targets: vec![TargetFacts {
            path: "/mnt/a".into(),
            kind: "file".into(),
            size: Bytes::gib(1),
            direct_alignment: Bytes(512),
            prepared: "written".into(),
            file_system: Some(FileSystem::default().with(|file_system| file_system.kind = "ext4".into())),
            devices: vec![
                Device::default().with(|device| (device.name, device.model) = ("nvme0n1".into(), Some("disk".into()))),
            ],
            stored_in: vec!["tmpfs".into()],
            allocation: Some(Allocation {
                unwritten_unknown: true,
                holes: Bytes(1),
                unwritten: Bytes(2),
                extents: 3,
            }),
            cluster_volume: Some("Cluster Disk 1".into()),
            owner: Some("node1".into()),
            owner_after: Some("node2".into()),
        }],
        target_numbers: vec![0],
        before: Some(BackgroundIo {
            watched_ns: Nanos::secs(10),
            devices: Vec::new(),
            programs: vec![BusyProgram {
                process: 7,
                name: "cp".into(),
                bytes: Bytes::kib(4),
            }],
        }),
        widened_from: Some(1),
    }
}

#[test]
fn full_results_survive_a_round_trip_through_json() {
    let results = full();
    for text in [
        serde_json::to_string(&results).expect("written"),
        serde_json::to_string_pretty(&results).expect("written"),
    ] {
        assert_eq!(serde_json::from_str::<Results>(&text).expect("read"), results);
    }
}

#[test]
fn a_result_without_optional_fields_is_read() {
    let text = r#"{
        "format_version": 1, "kind": "run",
        "tool": {"name": "fathom", "version": "0.1.0", "engine_revision": 1},
        "plan": {"name": "", "seed": 1, "targets": [], "steps": []},
        "hosts": [], "steps": [{"jobs": [{"name": "job", "workers": []}]}]
    }"#;
    let results: Results = serde_json::from_str(text).expect("read");
    assert_eq!(*job(&results).total(), DirectionResults::default());
    assert_eq!(job(&results).ended, None);
    assert!(job(&results).in_flight().is_none());
}
