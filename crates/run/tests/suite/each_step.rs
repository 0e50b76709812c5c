//! Targets that steps recreate, failures that end other workers, counts of waits, effective ranges.

use model::access::{RangeBasis, RangeShare, Ranges, RangesRule};
use model::plan::{EndPropagation, LatencyPoints, PrepareWhen, Step, Target, TargetCleanup};

use crate::prelude::*;

fn recreated(path: &str, size: Bytes, content: Content) -> Target {
    Target {
        path: path.into(),
        kind: TargetKind::Path,
        prepare: Prepare::Recreate { size, content },
        at_end: TargetCleanup::Keep,
    }
}

/// A step for each target, a hundred operations each.
fn steps_on(targets: Vec<Target>, mix: Mix) -> Plan {
    let stop = Stop::after_operations(100);
    let mut plan = plan_on("", EngineKind::Psync, stop, vec![worker(vec![stream()])]);
    let job = plan.steps[0].jobs[0].clone();
    plan.prepare = PrepareWhen::EachStep;
    plan.steps = (0..targets.len())
        .map(|number| {
            let mut job = job.clone();
            let stream = &mut job.workers[0].streams[0];
            stream.target = StreamTarget::one(number as u32);
            stream.mix = mix;
            stream.content = Content::Zeros;
            Step {
                jobs: vec![job],
                prepare: None,
            }
        })
        .collect();
    plan.targets = targets;
    plan
}

#[test]
fn each_step_recreates_its_file_with_the_size_of_that_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dat").display().to_string();
    let existing = recreated(&path, Bytes(0), Content::Zeros).with(|target| target.prepare = Prepare::Existing);
    let targets = vec![
        recreated(&path, Bytes::mib(2), Content::Counting),
        // The file that the first step has created and written to.
        existing,
        recreated(&path, Bytes(600 << 10), Content::Counting),
    ];
    let (results, _) = try_run(steps_on(targets, Mix::WRITES)).unwrap();
    let targets = results.hosts[0].environment.targets.iter();
    let sizes: Vec<u64> = targets.map(|facts| facts.size.0).collect();
    assert_eq!(sizes, [2 << 20, 2 << 20, 600 << 10]);
    assert!(results.steps.iter().all(|step| step.jobs[0].total().operations == 100));
    // The last step wrote zeros into a file with new contents, so no zeros of the first step
    // remain.
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), 600 << 10);
    let counting = |block: &&[u8]| block.iter().enumerate().all(|(index, byte)| *byte == index as u8);
    let (counting, zeros) = (bytes.chunks(4096).filter(counting).count(), count_zeros(&bytes));
    assert_eq!(counting + zeros, 150);
    assert!(counting > 30 && zeros > 30, "{counting} {zeros}");
}

#[test]
fn a_target_that_is_prepared_once_is_not_recreated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.dat").display().to_string();
    let once = recreated(&path, Bytes::mib(1), Content::Counting);
    let mut plan = steps_on(vec![once.clone(), once], Mix::WRITES);
    plan.steps[1].jobs[0].workers[0].streams[0].target = StreamTarget::one(0);
    plan.targets.truncate(1);
    plan.prepare_once = vec![TargetId(0)];
    let (_, events) = try_run(plan).unwrap();
    let prepared = |event: &&Event| matches!(event, Event::Prepared { .. });
    assert_eq!(events.iter().filter(prepared).count(), 1);
}

#[test]
fn a_step_that_cannot_be_prepared_keeps_earlier_results() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::create_dir(folder.path().join("gone")).unwrap();
    let targets = vec![
        recreated(&path("a.dat"), Bytes::mib(1), Content::Counting),
        recreated(&path("gone/b.dat"), Bytes::mib(1), Content::Counting),
    ];
    let impossible = steps_on(targets, Mix::READS);
    let gone = folder.path().join("gone");
    let results = run_watched(impossible, &Permissions::default(), &mut |event| {
        if matches!(event, Event::JobEnded { .. }) {
            let _ = fs::remove_dir(&gone);
        }
    })
    .unwrap();
    assert_eq!(results.steps.len(), 2);
    assert_eq!(results.steps[0].jobs[0].total().operations, 100);
    assert_eq!(results.steps[1].jobs[0].ended, None);
    assert!(results.findings.iter().any(|finding| finding.rule == "NOT-STARTED"));
}

#[test]
fn a_directory_is_not_recreated_as_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let targets = vec![recreated(&path, Bytes::mib(1), Content::Zeros)];
    let error = try_run(steps_on(targets, Mix::READS)).unwrap_err();
    assert!(matches!(error, RunError::Targets(_)), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Blocks that consist of zeros.
fn count_zeros(bytes: &[u8]) -> usize {
    let is_zero = |block: &&[u8]| block.iter().all(|byte| *byte == 0);
    bytes.chunks(4096).filter(is_zero).count()
}

fn failing_late() -> SimulatedDevice {
    device().with(|device| device.faults = vec![SimulatedFault::nth(50, 5)])
}

#[test]
fn the_failure_of_one_worker_ends_the_others_if_the_plan_says_so() {
    // Each worker has its own simulated device; only the first one's has a fault.
    for (together, ends) in [(false, Some(EndReason::Time)), (true, None)] {
        let mut workers = vec![worker(vec![stream()]), worker(vec![stream()])];
        workers[1].streams[0].target = StreamTarget::one(1);
        let mut both = plan(failing_late(), Stop::after(Nanos::secs(600)), workers);
        let mut sound = both.targets[0].clone();
        sound.kind = TargetKind::Simulated { device: device() };
        both.targets.push(sound);
        both.steps[0].jobs[0].ends_with =
            EndPropagation::default().with(|ends_with| ends_with.workers_on_failure = together);
        let job = run_job(both);
        let failure = job.workers[0].failure.as_ref().unwrap();
        let operation = failure.operation.as_ref().unwrap();
        assert_eq!((operation.slot, operation.stream), (0, 0));
        assert_eq!(operation.direction, Direction::Read);
        assert_eq!(job.ended, Some(EndReason::Failed));
        let measured = job.workers[1].measured_ns;
        match ends {
            Some(_) => assert_eq!(measured, Nanos::secs(600)),
            None => assert!(measured < Nanos::secs(600), "{measured}"),
        }
    }
}

#[test]
fn waits_are_counted_by_their_kind() {
    let run = |change: &dyn Fn(&mut Worker)| {
        let tested_stream = stream().with(|tested_stream| tested_stream.depth = 4);
        let mut counting = worker(vec![tested_stream]);
        counting.batching.count_waits = true;
        counting.batching.submit = Some(8);
        change(&mut counting);
        let job = run_job(plan(device(), Stop::after(Nanos::millis(100)), vec![counting]));
        job.workers[0].waits
    };
    let full = run(&|_| {});
    assert!(full.completion > 900 && full.slept + full.throttled == 0, "{full:?}");
    // 1,000 per second of 100 µs each: nothing is in flight nine tenths of the time.
    let paced = run(&|worker| {
        worker.streams[0].pacing = Pacing::Together { rate: Rate::iops(1000) };
    });
    assert!((90..=110).contains(&paced.slept), "{paced:?}");
    assert!((90..=110).contains(&paced.throttled), "{paced:?}");
    let uncounted = run(&|worker| worker.batching.count_waits = false);
    assert_eq!(uncounted, Default::default());
}

#[test]
fn ranges_in_effect_are_reported() {
    let mut ranged = stream();
    let shares = [(60.0, 10.0), (0.0, 20.0), (40.0, 70.0)];
    let share = |(operations_percent, span): (f64, f64)| RangeShare::new(operations_percent, span);
    ranged.pattern.access = vec![Access::random(Placement::Ranges(Ranges {
        basis: RangeBasis::Percent,
        rule: RangesRule::Diskspd,
        shares: PerDirection::all(shares.into_iter().map(share).collect()),
    }))];
    let stop = Stop::after(Nanos::millis(10));
    let job = run_job(plan(device(), stop, vec![worker(vec![ranged])]));
    let ranges = &job.workers[0].streams[0].effective_ranges;
    let shares = ranges.iter().map(|range| (range.operations_percent, range.start.0));
    // A tenth and three tenths of 1 GiB, down to whole blocks.
    assert_eq!(shares.collect::<Vec<_>>(), [(60.0, 0), (40.0, 322_121_728)]);
    assert_eq!(ranges[1].start.0 + ranges[1].length.0, 1 << 30);
}

/// Interval series show completion latency if the plan says so. Otherwise they show response time
/// for paced streams, and total latency for others.
#[test]
fn interval_series_show_the_requested_latency() {
    let extremes = |points: LatencyPoints, paced: bool| {
        let mut tested_stream = stream();
        tested_stream.depth = 8;
        if paced {
            // The rate is more than the device serves at one operation at a time, so operations
            // wait.
            tested_stream.pacing = Pacing::Together {
                rate: Rate::iops(20_000),
            };
            tested_stream.depth = 1;
        }
        let mut workers = vec![worker(vec![tested_stream])];
        workers[0].latency = points;
        let costly = device().with(|costly| costly.submit_cost_ns = Nanos::micros(5));
        let job = run_job(plan(costly, Stop::after(Nanos::secs(2)), workers));
        let total = job.total().into_owned();
        let points: Vec<_> = job.series.iter().flat_map(|series| series.points.read.iter()).collect();
        let min = points.iter().map(|point| point.latency_ns_min).min().unwrap();
        let max = points.iter().map(|point| point.latency_ns_max).max().unwrap();
        (total, min, max)
    };
    let (total, least, most) = extremes(LatencyPoints::BeforeCall, false);
    assert_eq!((least, most), (total.total.min(), total.total.max()));
    let (total, least, most) = extremes(LatencyPoints::CompletionInSeries, false);
    assert_eq!((least, most), (total.completion.min(), total.completion.max()));
    let (total, least, most) = extremes(LatencyPoints::BeforeCall, true);
    let response = total.response.unwrap();
    assert_eq!((least, most), (response.min(), response.max()));
    assert!(most > total.total.max());
    let (total, least, most) = extremes(LatencyPoints::CompletionInSeries, true);
    assert_eq!((least, most), (total.completion.min(), total.completion.max()));
}

/// There are a thousand intervals per second, and none is merged with the next.
#[test]
fn short_intervals_are_all_kept() {
    let mut short = plan(device(), Stop::after(Nanos::secs(2)), vec![worker(vec![stream()])]);
    short.grids = vec![Grid::new(Nanos::millis(1), GridScope::Stream)];
    let job = run_job(short);
    assert_eq!(job.workers[0].merged_rows, 0);
    let points = &job.series[0].points.read;
    assert_eq!(points.len(), 2000);
    // 100 us each, one at a time.
    assert!(points.iter().all(|point| (9..=11).contains(&point.operations)));
}

/// A worker has a mapped file and a file that it accesses with calls. Each engine that supports
/// both is tested.
#[cfg(target_os = "linux")]
#[test]
fn mapped_streams_run_alongside_others() {
    for (engine, shared) in [
        (EngineKind::Auto, false),
        (EngineKind::IoUring, false),
        (EngineKind::IoUring, true),
        (EngineKind::Psync, false),
        (EngineKind::Psync, true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let targets = vec![
            recreated(&path("mapped.dat"), Bytes::mib(1), Content::Counting),
            recreated(&path("called.dat"), Bytes::mib(1), Content::Counting),
        ];
        let mut both = steps_on(targets, Mix::WRITES);
        both.steps.truncate(1);
        both.steps[0].prepare = Some(PrepareWhen::BeforeAll);
        let worker = &mut both.steps[0].jobs[0].workers[0];
        worker.engine.kind = engine;
        let mut called = worker.streams[0].clone();
        called.target = StreamTarget::one(1);
        (worker.streams[0].depth, called.depth) = (2, 3);
        worker.streams[0].cache.mapping = Some(model::plan::Mapping::default());
        worker.streams.push(called);
        if shared {
            worker.depth = DepthScope::Shared { operations: 4 };
        }
        both.steps[0].jobs[0].stop.operations = Some(600);
        let (results, _) = try_run(both).unwrap();
        let worker = &results.steps[0].jobs[0].workers[0];
        assert_eq!(worker.failure, None, "{engine:?}");
        let written = |stream: usize| worker.streams[stream].directions.write.as_ref().unwrap();
        assert_eq!(written(0).operations + written(1).operations, 600, "{engine:?}");
        // A copy is faster than a call, so the mapped file gets more operations.
        assert!(written(0).operations > 100 && written(1).operations >= 3, "{engine:?}");
        for (stream, name) in ["mapped.dat", "called.dat"].into_iter().enumerate() {
            let zeros = count_zeros(&fs::read(path(name)).unwrap());
            // The expected number of distinct blocks after n writes to 256 random blocks.
            let n = written(stream).operations as f64;
            let expected = 256.0 * (1.0 - (-n / 256.0).exp());
            assert!(
                (zeros as f64 - expected).abs() < 40.0,
                "{engine:?} {name}: {zeros}, not {expected}"
            );
        }
    }
}

/// A device that completes inside the call frees a slot immediately. The streams of a worker must
/// still alternate.
#[test]
fn no_stream_starves_on_a_device_that_completes_inside_the_call() {
    for depth in [1, 4] {
        let inline = device().with(|device| device.inline = true);
        let tested_stream = stream().with(|tested_stream| tested_stream.depth = depth);
        let workers = vec![worker(vec![tested_stream; 2])];
        let job = run_job(plan(inline, Stop::after(Nanos::secs(1)), workers));
        let streams = job.workers[0].streams.iter();
        let reads: Vec<u64> = streams
            .map(|stream| stream.directions.read.as_ref().unwrap().operations)
            .collect();
        let (first, second) = (reads[0], reads[1]);
        assert!(
            first > 1000 && first.abs_diff(second) < first / 10,
            "{first} and {second}"
        );
    }
}
