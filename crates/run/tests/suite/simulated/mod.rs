//! Whole runs against the simulated device, whose truth is known to the nanosecond.

mod faults;

use crate::prelude::*;
use crate::support::{assert_near, constant};
use model::access::Once;
use model::event::Phase;
use model::plan::{Control, Flow, LatencyTarget, Phases, Precision, Think, ThinkCount, TrackedMetric};
use testbed::AssertContains;

/// Σ total / (N × T), which Little's law says is 1.
fn littles_law_ratio(job: &JobResults, depth: f64) -> f64 {
    job.total().total.sum() as f64 / (depth * job.measured().0 as f64)
}

/// Runs one worker with this stream.
fn run_stream(stop: Stop, stream: Stream) -> JobResults {
    run_stream_on(device(), stop, stream)
}

fn run_stream_on(device: SimulatedDevice, stop: Stop, stream: Stream) -> JobResults {
    run_job(plan(device, stop, vec![worker(vec![stream])]))
}

fn reads_and_writes(job: &JobResults) -> (u64, u64) {
    let directions = job.directions();
    let [reads, writes] = [directions.read, directions.write].map(|direction| direction.unwrap().operations);
    (reads, writes)
}

fn one_server(time_ns: Nanos) -> SimulatedDevice {
    device().with(|device| (device.servers, device.service) = (1, constant(time_ns)))
}

#[test]
fn littles_law_holds_at_every_depth() {
    for depth in [1u32, 2, 3, 8, 31, 32, 33, 64, 128] {
        let tested_stream = stream().with(|stream| stream.depth = depth);
        let job = run_stream(Stop::after(Nanos::secs(2)), tested_stream);
        let n = job.total().operations as f64;
        let label = format!("depth {depth}");
        let bound = 0.01 + f64::from(depth) / n;
        assert_near(littles_law_ratio(&job, f64::from(depth)), 1.0, bound, &label);
        // 32 servers of 100 µs: 10,000 IOPS for each operation in flight, up to 320,000.
        let expected = 10_000.0 * f64::from(depth.min(32));
        assert_near(n / 2.0, expected, 0.005, &label);
    }
}

/// A synchronous engine has one operation in flight, regardless of the depth.
#[test]
fn a_synchronous_engine_has_one_operation_in_flight() {
    let tested_stream = stream().with(|stream| stream.depth = 4);
    let tested_worker = worker(vec![tested_stream]).with(|tested_worker| tested_worker.engine.kind = EngineKind::Psync);
    let workers = vec![tested_worker; 2];
    let job = run_job(plan(device(), Stop::after(Nanos::secs(2)), workers));
    assert_eq!(job.workers[0].slots, 1);
    let total = job.total();
    // The operations of both workers that end with the window do not count.
    assert_eq!(total.operations, 2 * (2 * 10_000 - 1));
    let latency = &total.total;
    assert_eq!((latency.min(), latency.max()), (100_000, 100_000));
}

/// All operations go to the same block, so only one may be in flight.
#[test]
fn overlapping_operations_are_serialised_on_request() {
    for (apart, expected) in [(false, 80_000.0), (true, 10_000.0)] {
        let mut tested_stream = stream();
        tested_stream.depth = 8;
        tested_stream.region.length = Some(model::plan::Extent::bytes(4096));
        let all = worker(vec![tested_stream]).with(|all| all.batching.serialize_overlap = apart);
        let job = run_job(plan(device(), Stop::after(Nanos::secs(1)), vec![all]));
        let operations = job.total().operations as f64;
        assert_near(operations, expected, 0.01, &format!("operations, apart: {apart}"));
    }
}

#[test]
fn rates_are_kept_exactly() {
    for (rate, workers) in [(1000u64, 1u32), (4000, 3), (50_000, 4), (7, 2)] {
        let worker_of = |index| {
            let mut tested_stream = stream();
            tested_stream.depth = 16;
            tested_stream.pacing = Pacing::Together {
                rate: Rate::iops(rate).share(index, workers),
            };
            worker(vec![tested_stream])
        };
        let workers = (0..workers).map(worker_of).collect();
        let job = run_job(plan(device(), Stop::after(Nanos::secs(4)), workers));
        let issued: u64 = job.workers.iter().map(|w| w.streams[0].lifetime.read.operations).sum();
        assert!(issued.abs_diff(rate * 4) <= 1, "{rate}/s: {issued}");
        let delay = job.total().schedule_delay.as_ref().unwrap().max();
        assert!(delay < 1_000, "{rate}/s: {delay} ns late");
    }
}

#[test]
fn operations_beyond_the_capacity_are_counted_as_late() {
    // One server of 1 ms serves 1,000 a second of the 3,000 that are due.
    for write_percent in [0.0, 50.0, 100.0] {
        let mut tested_stream = stream();
        (tested_stream.depth, tested_stream.mix) = (4, Mix::Exact { write_percent });
        tested_stream.pacing = Pacing::Together { rate: Rate::iops(3000) };
        let slow = one_server(Nanos::millis(1));
        let job = run_stream_on(slow, Stop::after(Nanos::secs(3)), tested_stream);
        let total = job.total();
        assert!(total.operations.abs_diff(3000) <= 4, "{}", total.operations);
        assert!(total.late.abs_diff(6000) <= 8, "{}", total.late);
        assert!(total.response.as_ref().unwrap().max() > 1_900_000_000);
        // Each direction has its share.
        let late = |direction| job.directions()[direction].as_ref().map_or(0, |figures| figures.late);
        let writes = (60.0 * write_percent) as u64;
        assert!(
            late(Direction::Write).abs_diff(writes) <= 8,
            "{}",
            late(Direction::Write)
        );
        assert!(
            late(Direction::Read).abs_diff(6000 - writes) <= 8,
            "{}",
            late(Direction::Read)
        );
    }
}

/// Streams that share slots: each is served when it is due, and those without a rate get the rest.
#[test]
fn rates_of_streams_that_share_slots_are_kept() {
    for (weights, rates) in [([60, 40], [Some(300), Some(200)]), ([0, 1], [Some(500), None])] {
        let create_stream = |(rate, weight): (Option<u64>, u32)| Stream {
            weight,
            pacing: rate.map_or(Pacing::Unpaced, |rate| Pacing::Together { rate: Rate::iops(rate) }),
            ..stream()
        };
        let streams = rates.into_iter().zip(weights).map(create_stream).collect();
        let both = worker(streams).with(|worker| worker.depth = DepthScope::Shared { operations: 4 });
        let job = run_job(plan(device(), Stop::after(Nanos::secs(4)), vec![both]));
        for (found, rate) in job.workers[0].streams.iter().zip(rates) {
            let issued = found.lifetime.read.operations;
            match rate {
                Some(rate) => assert!(issued.abs_diff(rate * 4) <= 1, "{rate}/s: {issued}"),
                // Four at a time, 100 us each.
                None => assert!(issued.abs_diff(4 * 40_000 - 2000) < 100, "{issued}"),
            }
        }
        // It waits for one of four slots at most.
        let late = job.total().schedule_delay.as_ref().unwrap().max();
        assert!(late <= 100_000, "{late}");
    }
}

/// A worker with several streams has one share of a flow.
#[test]
fn streams_that_share_slots_have_one_share_of_a_flow() {
    let part = |weight: Option<u32>| Stream {
        flow: weight.map(|weight| Flow {
            id: 1,
            weight,
            pause_ns: Nanos(0),
        }),
        ..stream()
    };
    let two =
        worker(vec![part(Some(8)), part(None)]).with(|worker| worker.depth = DepthScope::Shared { operations: 4 });
    let workers = vec![two, worker(vec![part(Some(2))])];
    let job = run_job(plan(device(), Stop::after(Nanos::secs(2)), workers));
    let issued = |worker: usize| -> u64 {
        let streams = job.workers[worker].streams.iter();
        streams.map(|stream| stream.lifetime.read.operations).sum()
    };
    let ratio = issued(0) as f64 / issued(1) as f64;
    assert!((3.9..4.1).contains(&ratio), "{} to {}", issued(0), issued(1));
}

#[test]
fn directions_keep_their_own_rates() {
    let mut tested_stream = stream();
    tested_stream.depth = 8;
    tested_stream.mix = Mix::drawn(50.0, MixRule::Independent);
    tested_stream.pacing = Pacing::PerDirection {
        rates: PerDirection::new(Some(Rate::iops(700)), Some(Rate::iops(300)), None),
    };
    let job = run_stream(Stop::after(Nanos::secs(10)), tested_stream);
    let directions = job.directions();
    let operations_in = |direction: Direction| directions[direction].as_ref().unwrap().operations;
    assert!(operations_in(Direction::Read).abs_diff(7000) <= 1 && operations_in(Direction::Write).abs_diff(3000) <= 1);
}

#[test]
fn only_the_measured_window_counts() {
    let mut tested_plan = plan(device(), Stop::after(Nanos::secs(2)), vec![worker(vec![stream()])]);
    tested_plan.steps[0].jobs[0].phases = Phases::default()
        .with(|phases| (phases.warm_up_ns, phases.cool_down_ns) = (Nanos::millis(1500), Nanos::millis(700)));
    let (results, events) = try_run(tested_plan).unwrap();
    let job = &results.steps[0].jobs[0];
    let worker = &job.workers[0];
    assert_eq!(worker.started_ns, Nanos::millis(1500));
    assert_eq!(worker.measured_ns, Nanos::secs(2));
    assert!(job.total().operations.abs_diff(20_000) <= 1);
    // All phases.
    assert!(worker.streams[0].lifetime.read.operations.abs_diff(42_000) <= 2);
    assert_eq!(job.ended, Some(EndReason::Time));
    // The published events add up to the result.
    let measured = events.iter().filter_map(|event| match event {
        Event::Interval(interval) if interval.phase == Phase::Measured => Some(interval.counts.read.operations),
        _ => None,
    });
    assert_eq!(measured.sum::<u64>(), job.total().operations);
}

#[test]
fn counts_end_a_job_exactly() {
    let check = |stop: Stop, expected: u64| {
        let tested_stream = stream().with(|stream| stream.depth = 7);
        let job = run_stream(stop, tested_stream);
        assert_eq!(job.total().operations, expected, "{stop:?}");
        assert_eq!(job.ended, Some(EndReason::Done), "{stop:?}");
    };
    for operations in [1, 6, 7, 8, 1000] {
        check(Stop::after_operations(operations), operations);
    }
    check(Stop::after_bytes(Bytes(4096 * 50)), 50);
    // The last operation exceeds the limit.
    check(Stop::after_bytes(Bytes(4096 * 50 + 4095)), 51);
}

#[test]
fn operations_in_flight_at_the_end_count_on_request() {
    let time = Nanos::millis(12);
    let slow = device().with(|device| device.service = constant(Nanos::millis(5)));
    for counts_all in [false, true] {
        let stop = Stop::after(time).with(|stop| stop.counts_all = counts_all);
        let job = run_stream_on(slow.clone(), stop, stream().with(|stream| stream.depth = 4));
        let issued = job.workers[0].streams[0].lifetime.read.operations;
        let uncounted = if counts_all { 0 } else { 4 };
        assert_eq!(job.total().operations + uncounted, issued);
        assert_eq!(job.measured() > time, counts_all, "{:?}", job.measured());
        assert_eq!(job.ended, Some(EndReason::Time));
    }
}

/// A job that completes its amount in the warm-up ends there, and is measured from its start.
#[test]
fn amounts_include_the_warm_up_on_request() {
    let run = |warm_up: Nanos, stop: Stop| {
        let mut tested_plan = plan(device(), stop, vec![worker(vec![stream()])]);
        tested_plan.steps[0].jobs[0].phases.warm_up_ns = warm_up;
        let job = run_job(tested_plan);
        assert_eq!(job.ended, Some(EndReason::Done), "{stop:?}");
        (
            job.total().operations,
            job.workers[0].streams[0].lifetime.read.operations,
        )
    };
    let all = Stop::after_operations(1000).with(|stop| stop.counts_all = true);
    // An operation takes 100 us.
    assert_eq!(run(Nanos::secs(2), all), (1000, 1000));
    assert_eq!(
        run(Nanos::secs(2), all.with(|stop| stop.rounds = Some(2))),
        (2000, 2000)
    );
    let bytes = all.with(|stop| (stop.operations, stop.bytes) = (None, Some(Bytes(1000 * 4096))));
    let (measured, issued) = run(Nanos::micros(50_050), bytes);
    assert!(measured.abs_diff(500) <= 1 && issued == 1000, "{measured} of {issued}");
    // Operations are counted anew, from the first one issued in the window.
    let (measured, issued) = run(Nanos::micros(50_050), all);
    assert!(
        measured.abs_diff(1000) <= 1 && issued.abs_diff(1500) <= 1,
        "{measured} of {issued}"
    );
}

#[test]
fn a_pass_touches_every_block_once() {
    let small = device().with(|device| device.size = Bytes::mib(1));
    for access in [
        Access::random(Placement::Once(Once::default())),
        Access::Sequential(Sequential::default().with(|sequential| sequential.at_end = AtEnd::Finish)),
    ] {
        let tested_stream = stream().with(|stream| (stream.depth, stream.pattern.access) = (5, vec![access]));
        let job = run_stream_on(small.clone(), Stop::after_passes(3), tested_stream);
        assert_eq!(job.total().operations, 3 * 256);
    }
}

#[test]
fn an_exact_mix_is_exact() {
    let tested_stream = stream().with(|stream| (stream.mix, stream.depth) = (Mix::Exact { write_percent: 30.0 }, 4));
    let job = run_stream(Stop::after_operations(1000), tested_stream);
    assert_eq!(reads_and_writes(&job), (700, 300));
}

#[test]
fn pauses_come_after_the_right_operations() {
    // Ten operations of 100 µs, then 9 ms of rest: 1,000 operations a second.
    let think = |count| Think::new(Nanos::millis(9), 10, count);
    for count in [ThinkCount::Completed, ThinkCount::Issued] {
        let tested_stream = stream().with(|stream| stream.think = Some(think(count)));
        let job = run_stream(Stop::after(Nanos::secs(2)), tested_stream);
        // The pause after issuing overlaps with the last operation, which is 1 % of the cycle.
        assert_near(job.total().operations as f64, 2000.0, 0.02, &format!("{count:?}"));
    }
}

#[test]
fn flushes_follow_every_n_writes_and_are_counted_separately() {
    let mut tested_stream = stream();
    tested_stream.mix = Mix::WRITES;
    tested_stream.depth = 3;
    tested_stream.sync = SyncRule::default().with(|sync_rule| sync_rule.every_writes = 5);
    let job = run_stream(Stop::after_operations(100), tested_stream);
    assert_eq!(job.total().operations, 100);
    let sync = job.workers[0].streams[0].sync.as_ref().unwrap();
    // The last five writes end the job before their flush.
    assert_eq!(sync.operations, 19);
    assert_eq!(sync.latency.n(), 19);
}

#[test]
fn a_flush_follows_its_write_and_waits_for_no_schedule() {
    // A write every 10 ms. If its flush waited for the next of them, each write would start late by
    // that flush.
    let mut tested_stream = stream();
    tested_stream.mix = Mix::WRITES;
    tested_stream.sync = SyncRule::default().with(|sync_rule| sync_rule.every_writes = 1);
    tested_stream.pacing = Pacing::Together { rate: Rate::iops(100) };
    let job = run_stream(Stop::after(Nanos::secs(1)), tested_stream);
    let total = job.total();
    assert_eq!(total.operations, 100);
    assert!(job.workers[0].streams[0].sync.as_ref().unwrap().operations >= 99);
    let delay = total.schedule_delay.as_ref().unwrap();
    assert!(delay.max() < 1_000, "{} ns", delay.max());
}

#[test]
fn totals_are_the_sum_of_their_parts() {
    let tested_stream =
        stream().with(|stream| (stream.depth, stream.mix) = (9, Mix::drawn(40.0, MixRule::Independent)));
    let workers = vec![worker(vec![tested_stream]); 2];
    let job = run_job(plan(device(), Stop::after(Nanos::millis(3250)), workers));
    let total = job.total();
    assert_eq!(total.bytes.0, total.operations * 4096);
    for histogram in [&total.submission, &total.completion, &total.total] {
        assert_eq!(histogram.n(), total.operations);
    }
    assert_eq!(total.submission.sum() + total.completion.sum(), total.total.sum());
    let directions = job.directions();
    for series in &job.series {
        let intervals = Nanos::millis(3250).0.div_ceil(series.length_ns.0) as usize;
        // Empty and short intervals are included.
        assert_eq!(series.points.read.len(), intervals);
    }
    for direction in [Direction::Read, Direction::Write] {
        let expected = directions[direction].as_ref().unwrap();
        for whole in [true, false] {
            let series = || job.series.iter().filter(|series| series.source.is_none() == whole);
            let points = || series().flat_map(|series| &series.points[direction]);
            assert_eq!(points().map(|point| point.operations).sum::<u64>(), expected.operations);
            let latency: u128 = points().map(|point| u128::from(point.latency_ns)).sum();
            assert_eq!(latency, expected.total.sum());
            let max = points().map(|point| point.latency_ns_max).max();
            assert_eq!(max, Some(expected.total.max()));
        }
        let slices = job.histograms.iter();
        let by_interval = slices.filter_map(|slice| Some(slice.latency[direction].as_ref()?.n()));
        assert_eq!(by_interval.sum::<u64>(), expected.operations);
    }
    assert_eq!(job.lost_intervals, 0);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let random = SimulatedDevice {
            service: SimulatedService::Exponential {
                mean_ns: Nanos::micros(80),
            },
            ..device()
        };
        let mut tested_stream = stream();
        tested_stream.depth = 4;
        tested_stream.mix = Mix::drawn(30.0, MixRule::Independent);
        let job = run_stream_on(random, Stop::after(Nanos::secs(1)), tested_stream);
        job.total().into_owned()
    };
    assert_eq!(run(), run());
}

#[test]
fn weights_divide_a_shared_queue() {
    let (mut heavy, mut light) = (stream(), stream());
    (heavy.weight, light.weight) = (3, 1);
    light.mix = Mix::WRITES;
    let both = worker(vec![heavy, light]).with(|both| both.depth = DepthScope::Shared { operations: 16 });
    let job = run_job(plan(device(), Stop::after(Nanos::secs(1)), vec![both]));
    let (reads, writes) = reads_and_writes(&job);
    assert_near(reads as f64 / writes as f64, 3.0, 0.03, "reads per write");
    assert_near(littles_law_ratio(&job, 16.0), 1.0, 0.01, "in flight");
}

#[test]
fn each_stream_keeps_its_own_depth() {
    let (mut deep, mut shallow) = (stream(), stream());
    (deep.depth, shallow.depth) = (6, 2);
    shallow.mix = Mix::WRITES;
    let both = worker(vec![deep, shallow]);
    let job = run_job(plan(device(), Stop::after(Nanos::secs(1)), vec![both]));
    let (reads, writes) = reads_and_writes(&job);
    assert_near(reads as f64 / writes as f64, 3.0, 0.01, "reads per write");
}

#[test]
fn an_inline_target_is_detected_and_gets_one_operation_at_a_time() {
    let inline = SimulatedDevice {
        inline: true,
        service: constant(Nanos::micros(2)),
        ..device()
    };
    let tested_stream = stream().with(|stream| stream.depth = 32);
    let job = run_stream_on(inline, Stop::after(Nanos::secs(1)), tested_stream);
    let engine = &job.workers[0].engine;
    assert!(engine.inline && engine.submit_batch == 1, "{engine:?}");
    // Not 8 × 2 µs, which would be the latency in a batch of eight.
    assert_near(job.total().total.quantile(0.5) as f64, 2_000.0, 0.01, "median");
}

#[test]
fn interlocked_workers_share_one_walk() {
    let mut tested_stream = stream();
    tested_stream.pattern.access = vec![Access::Interlocked(Default::default())];
    tested_stream.pattern.sizes = PerDirection::all(BlockSizes::Fixed { size: Bytes::kib(64) });
    let small = device().with(|device| device.size = Bytes::mib(64));
    let stop = Stop::after_operations(256);
    let workers = vec![worker(vec![tested_stream]); 2];
    let job = run_job(plan(small, stop, workers));
    assert_eq!(job.total().bytes, Bytes(512 * 65_536));
}

#[test]
fn jobs_wait_for_others_and_end_with_them() {
    let mut first = plan(device(), Stop::after_operations(100), vec![worker(vec![stream()])]);
    let mut endless = first.steps[0].jobs[0].clone();
    endless.name = "ends with the first".into();
    endless.stop = Stop::after(Nanos::secs(1_000_000));
    let mut after = first.steps[0].jobs[0].clone();
    after.name = "after the first".into();
    after.after = vec![model::plan::Dependency(0)];
    first.steps[0].jobs[0].ends_with.jobs = vec![1];
    first.steps[0].jobs.extend([endless, after]);
    let (results, _) = try_run(first).unwrap();
    let jobs = &results.steps[0].jobs;
    assert_eq!(jobs[0].ended, Some(EndReason::Done));
    assert_eq!(jobs[1].ended, Some(EndReason::OtherJob));
    assert_eq!(jobs[2].total().operations, 100);
}

#[test]
fn rules_act_on_the_running_job() {
    let mut precise = plan(device(), Stop::after(Nanos::secs(600)), vec![worker(vec![stream()])]);
    precise.steps[0].jobs[0].control = vec![Control::Precision(Precision {
        metric: TrackedMetric::Iops,
        percent: 1.0,
        at_least_ns: Nanos::secs(10),
    })];
    let job = run_job(precise);
    assert!(matches!(job.ended, Some(EndReason::Control { .. })), "{:?}", job.ended);
    assert!(job.control[0].attained);
    let measured = job.measured();
    assert!((Nanos::secs(10)..Nanos::secs(600)).contains(&measured), "{measured}");

    // One server of 10 µs: at depth d an operation takes d × 10 µs, so 250 µs allow a depth of 25.
    let serial = one_server(Nanos::micros(10));
    let deep = stream().with(|deep| deep.depth = 128);
    let mut search = plan(serial, Stop::after(Nanos::secs(600)), vec![worker(vec![deep])]);
    search.steps[0].jobs[0].control = vec![Control::LatencyTarget(LatencyTarget {
        target_ns: Nanos::micros(250),
        window_ns: Nanos::millis(500),
        percentile: 99.0,
        keep_running: false,
    })];
    let job = run_job(search);
    assert!(job.control[0].attained, "{:?}", job.control);
    // Within the width of a histogram bucket.
    assert!((24..=25).contains(&job.control[0].depth.unwrap()), "{:?}", job.control);
    assert_eq!(job.workers[0].slots, job.control[0].depth.unwrap());
    // Statistics restarted for the last window.
    assert!(job.total().total.max() <= 260_000, "{}", job.total().total.max());
}

#[test]
fn a_plan_with_an_unsupported_feature_is_refused() {
    let mut asks = plan(device(), Stop::after(Nanos::secs(1)), vec![worker(vec![stream()])]);
    asks.steps[0].jobs[0].workers[0].streams[0].hint.temporary = true;
    let error = try_run(asks).unwrap_err().to_string();
    error.assert_contains(&["job `job`", "is not supported yet"]);
}

#[test]
fn a_maximum_of_completions_is_kept_and_loses_none() {
    // Eight operations end at the same instant; three at most are taken at a time.
    let tested_stream = stream().with(|stream| stream.depth = 8);
    let bounded = worker(vec![tested_stream])
        .with(|bounded| (bounded.batching.complete_max, bounded.batching.submit) = (Some(3), Some(8)));
    let stop = Stop::after_operations(8000);
    let job = run_job(plan(device(), stop, vec![bounded]));
    assert_eq!(job.total().operations, 8000);
    // Classes of 0, 1, 2, 3 to 4, and more.
    let turns = &job.workers[0].completed.classes;
    assert!(
        turns[2] + turns[3] > 1000 && turns[4..].iter().all(|count| *count == 0),
        "{turns:?}"
    );
}

#[test]
fn two_flush_rules_apply_together() {
    let flushes = |every_writes, data_every_writes| {
        let mut tested_stream = stream();
        tested_stream.mix = Mix::WRITES;
        tested_stream.sync = SyncRule::default().with(|sync_rule| {
            (sync_rule.every_writes, sync_rule.data_every_writes) = (every_writes, data_every_writes)
        });
        let job = run_stream(Stop::after_operations(121), tested_stream);
        assert_eq!(job.total().operations, 121);
        job.workers[0].streams[0].sync.as_ref().unwrap().operations
    };
    assert_eq!(flushes(0, 4), 30);
    // After every third and every fourth write; after every twelfth one flush serves for both.
    assert_eq!(flushes(3, 4), 40 + 30 - 10);
}

#[test]
fn a_part_of_the_region_ends_a_job() {
    let small = device().with(|device| device.size = Bytes::mib(8));
    for (percent, operations) in [(50, 1024), (100, 2048), (250, 5120)] {
        let stop = Stop::default().with(|stop| stop.region_percent = Some(percent));
        let job = run_stream_on(small.clone(), stop, stream());
        assert_eq!(job.total().operations, operations, "{percent} %");
        assert_eq!(job.ended, Some(EndReason::Done));
    }
    // The regions of all streams count, and the limit that is reached first ends the job.
    let both = worker(vec![stream(), stream()]);
    let stop = Stop::default().with(|stop| (stop.region_percent, stop.bytes) = (Some(25), Some(Bytes::mib(3))));
    assert_eq!(run_job(plan(small, stop, vec![both])).total().bytes, Bytes::mib(3));
}

#[test]
fn pauses_come_after_a_time_of_io_too() {
    // 1 ms of I/O at 100 µs each, then 9 ms of rest: a thousand operations a second.
    for (operations, expected) in [(0, 2000.0), (1_000_000, 2000.0), (5, 1053.0)] {
        let mut tested_stream = stream();
        tested_stream.think = Some(Think {
            after_ns: Some(Nanos::millis(1)),
            ..Think::new(Nanos::millis(9), operations, ThinkCount::Completed)
        });
        let job = run_stream(Stop::after(Nanos::secs(2)), tested_stream);
        assert_near(job.total().operations as f64, expected, 0.02, &format!("{operations}"));
    }
}

#[test]
fn completion_routines_keep_the_depth_and_call_for_each_operation() {
    let (mut first, mut second) = (stream(), stream());
    (first.weight, second.weight) = (1, 3);
    second.mix = Mix::WRITES;
    let both = worker(vec![first, second])
        .with(|both| (both.depth, both.batching.completion_routines) = (DepthScope::Shared { operations: 16 }, true));
    let stop = Stop::after_operations(16);
    let job = run_job(plan(device(), stop, vec![both.clone()]));
    // Each slot begins with the first stream.
    assert_eq!(job.directions().read.unwrap().operations, 16);
    let job = run_job(plan(device(), Stop::after(Nanos::secs(2)), vec![both]));
    let (reads, writes) = reads_and_writes(&job);
    assert_near(writes as f64 / reads as f64, 3.0, 0.03, "writes per read");
    assert_near(littles_law_ratio(&job, 16.0), 1.0, 0.01, "in flight");
    let calls = &job.workers[0].submitted.classes;
    assert!(calls[2..].iter().all(|count| *count == 0), "{calls:?}");
}

#[test]
fn trims_before_writes_are_counted_as_trims() {
    // The null target, one operation at a time.
    let tested_stream = stream().with(|stream| stream.mix = Mix::TrimThenWrite);
    let stop = Stop::after_operations(1000);
    let mut null = plan(device(), stop, vec![worker(vec![tested_stream])]);
    null.targets[0].kind = TargetKind::Nothing { size: Bytes::mib(64) };
    let job = run_job(null);
    let directions = job.directions();
    assert_eq!(directions.trim.unwrap().operations, 500);
    assert_eq!(directions.write.unwrap().operations, 500);
}
