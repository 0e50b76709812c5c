//! Simulated devices that several workers, jobs and steps share. Every run gives the same figures.

use model::plan::{
    CacheContents, Control, Dependency, FileLock, LatencyTarget, SimulatedCache, SimulatedGarbageCollection,
    SimulatedLayer, SimulatedNeighbour, SimulatedWriteBuffer, Step, Target,
};
use model::results::Usage;

use crate::prelude::*;

/// A device that could do more than its cap of 4,000 operations per second.
fn capped() -> SimulatedDevice {
    device().with(|device| device.iops_cap = 4000)
}

/// A worker with a closed loop of depth 8 on a target.
fn on_target(target: u32) -> Worker {
    let mut tested_stream = stream();
    tested_stream.depth = 8;
    tested_stream.target = StreamTarget::one(target);
    worker(vec![tested_stream])
}

fn paced(iops: u64) -> Worker {
    on_target(0).with(|paced| paced.streams[0].pacing = Pacing::Together { rate: Rate::iops(iops) })
}

/// Adds a second target like the first.
fn with_second_target(mut plan: Plan) -> Plan {
    let second = plan.targets[0].clone();
    plan.targets.push(Target {
        path: "second".into(),
        ..second
    });
    plan
}

/// The results of all jobs, without what the threads of this machine used.
fn figures(plan: Plan) -> Vec<JobResults> {
    let (results, _) = try_run(plan).expect("the plan can run");
    let mut jobs: Vec<JobResults> = results.steps.into_iter().flat_map(|step| step.jobs).collect();
    for worker in jobs.iter_mut().flat_map(|job| &mut job.workers) {
        worker.usage = Usage::default();
    }
    jobs
}

fn assert_operations(job: &JobResults, expected: u64) {
    let operations = job.total().operations;
    assert!(
        operations.abs_diff(expected) <= 40,
        "{}: {operations} operations instead of {expected}",
        job.name
    );
}

#[test]
fn workers_share_the_cap_of_a_device() {
    let two_seconds = || Stop::after(Nanos::secs(2));
    let closed = run_job(plan(capped(), two_seconds(), vec![on_target(0); 4]));
    assert_operations(&closed, 8000);
    // Together they request twice the cap.
    let rushed = run_job(plan(capped(), two_seconds(), vec![paced(2000); 4]));
    assert_operations(&rushed, 8000);
    for worker in &rushed.workers {
        let operations = worker.streams[0].lifetime.read.operations;
        assert!((1900..=2100).contains(&operations), "{operations}");
    }
    // Below the cap, each worker reaches its rate.
    let relaxed = run_job(plan(capped(), two_seconds(), vec![paced(500); 4]));
    assert_operations(&relaxed, 4000);
}

/// Four workers at depth 1 on one server wait for one another. So each operation takes four times
/// the service time.
#[test]
fn workers_wait_for_the_servers_of_a_device() {
    let serial = SimulatedDevice { servers: 1, ..device() };
    let workers = vec![worker(vec![stream()]); 4];
    let total = run_job(plan(serial, Stop::after(Nanos::secs(1)), workers))
        .total()
        .into_owned();
    assert!(total.operations.abs_diff(10_000) <= 4, "{}", total.operations);
    assert_eq!(total.completion.max(), 400_000);
}

#[test]
fn jobs_share_only_a_device_that_both_of_them_name() {
    for (second, expected) in [(0, 4000), (1, 8000)] {
        let mut both = with_second_target(plan(capped(), Stop::after(Nanos::secs(2)), vec![on_target(0)]));
        let mut other = both.steps[0].jobs[0].clone();
        other.name = "other".into();
        other.workers = vec![on_target(second)];
        both.steps[0].jobs.push(other);
        for job in figures(both) {
            assert_operations(&job, expected);
        }
    }
}

#[test]
fn a_worker_with_several_devices_uses_each_of_them() {
    let mut both = on_target(0);
    both.streams.extend(on_target(1).streams);
    let plan = with_second_target(plan(capped(), Stop::after(Nanos::secs(2)), vec![both.clone(), both]));
    let job = run_job(plan);
    assert_operations(&job, 16_000);
    for stream in 0..2 {
        let streams = job.workers.iter().map(|worker| &worker.streams[stream]);
        let operations: u64 = streams.map(|stream| stream.lifetime.read.operations).sum();
        assert!(operations.abs_diff(8000) <= 40, "stream {stream}: {operations}");
    }
}

/// 4,000 credits last for 4.44 s if each second uses 1,000 and refills 100. Then there are 100
/// operations per second.
#[test]
fn all_workers_share_a_burst_bucket() {
    let burst = || SimulatedDevice {
        layers: vec![
            SimulatedLayer {
                rate: 100,
                burst: 1000,
                bucket: 4000,
                ..SimulatedLayer::default()
            },
            SimulatedLayer::default().with(|simulated_layer| simulated_layer.rate = 20_000),
        ],
        ..device()
    };
    for workers in [1, 4] {
        let mut workers = vec![on_target(0); workers];
        workers[0].streams[0].depth = 32;
        assert_operations(&run_job(plan(burst(), Stop::after(Nanos::secs(10)), workers)), 5000);
    }
}

/// A device with every property, and jobs that start, wait and end in every way.
fn busy_plan() -> Plan {
    let device = SimulatedDevice {
        servers: 4,
        service: SimulatedService::Exponential {
            mean_ns: Nanos::micros(400),
        },
        iops_cap: 9000,
        stalls: vec![SimulatedPause::new(Nanos::millis(300), Nanos::millis(20))],
        host_pauses: vec![SimulatedPause::new(Nanos::millis(500), Nanos::millis(10))],
        faults: vec![SimulatedFault::nth(1000, 5)],
        submit_cost_ns: Nanos::micros(2),
        layers: vec![SimulatedLayer {
            rate: 5000,
            burst: 8000,
            bucket: 1000,
            ..SimulatedLayer::default()
        }],
        cache: Some(SimulatedCache {
            holds: CacheContents::Share { hits: 0.2 },
            time_ns: Nanos::micros(50),
        }),
        write_buffer: Some(SimulatedWriteBuffer {
            size: Bytes::mib(4),
            slowdown: 1.5,
        }),
        garbage_collection: Some(SimulatedGarbageCollection {
            interval_ns: Nanos::millis(200),
            first_ns: Nanos::millis(5),
            growth: 1.2,
        }),
        drift_per_second: 0.05,
        neighbour: Some(SimulatedNeighbour {
            interval_ns: Nanos::millis(150),
            length_ns: Nanos::millis(50),
            slowdown: 2.0,
        }),
        ..device()
    };
    let mut mixed = on_target(0);
    mixed.streams[0].mix = Mix::drawn(30.0, MixRule::Independent);
    mixed.streams[0].on_error.tolerate_read = vec![5];
    mixed.streams[0].on_error.tolerate_write = vec![5];
    let workers: Vec<Worker> = (0..4)
        .map(|number| {
            let mut worker = mixed.clone();
            worker.draws = GeneratorChoice::Native { seed: number };
            worker
        })
        .collect();
    let mut busy = with_second_target(plan(device, Stop::after(Nanos::millis(900)), workers));
    let first = busy.steps[0].jobs[0].clone();
    let job = |name: &str, workers: Vec<Worker>, stop: Stop| {
        let mut job = first.clone();
        (job.name, job.workers, job.stop) = (name.into(), workers, stop);
        job
    };
    let few = Stop::after_operations(200);
    let mut delayed = job("delayed", vec![paced(700)], Stop::after(Nanos::millis(400)));
    delayed.phases.start_delay.low_ns = Nanos::millis(100);
    delayed.phases.start_delay.high_ns = Nanos::millis(150);
    delayed.phases.warm_up_ns = Nanos::millis(50);
    let short = job("short", vec![mixed.clone(), on_target(1)], few);
    let mut endless = job("endless", vec![mixed.clone()], Stop::after(Nanos::secs(1_000_000)));
    endless.after = vec![Dependency(2)];
    let last = job("last", vec![mixed.clone(), mixed.clone()], few)
        .with(|last| (last.after, last.ends_with.jobs) = (vec![Dependency(1), Dependency(2)], vec![3]));
    busy.steps[0].jobs.extend([delayed, short, endless, last]);
    busy.steps.push(Step {
        jobs: vec![job(
            "second step",
            vec![mixed.clone(); 3],
            Stop::after(Nanos::millis(200)),
        )],
        prepare: None,
    });
    busy
}

#[test]
fn every_run_of_a_plan_gives_the_same_figures() {
    let first = figures(busy_plan());
    let ended: Vec<_> = first.iter().map(|job| job.ended.clone()).collect();
    assert_eq!(ended[3], Some(EndReason::OtherJob), "{ended:?}");
    assert!(first.iter().all(|job| job.total().operations > 100));
    assert_eq!(first.iter().map(|job| job.total().errors).sum::<u64>(), 1);
    for run in 1..20 {
        // Not `assert_eq`, which would show both in full.
        assert!(figures(busy_plan()) == first, "run {run} differs");
    }
}

/// The rule changes the depth of all workers at the same time in every run.
#[test]
fn rules_act_on_several_workers_at_the_same_time_in_every_run() {
    let search = || {
        let serial = SimulatedDevice {
            servers: 1,
            service: SimulatedService::Exponential {
                mean_ns: Nanos::micros(10),
            },
            ..device()
        };
        let mut workers = vec![on_target(0); 3];
        for worker in &mut workers {
            worker.streams[0].depth = 64;
        }
        let mut search = plan(serial, Stop::after(Nanos::secs(60)), workers);
        search.steps[0].jobs[0].control = vec![Control::LatencyTarget(LatencyTarget {
            target_ns: Nanos::micros(500),
            window_ns: Nanos::millis(50),
            percentile: 99.0,
            keep_running: false,
        })];
        figures(search)
    };
    let first = search();
    assert!(first[0].control[0].attained, "{:?}", first[0].control);
    for run in 1..5 {
        assert!(search() == first, "run {run} differs");
    }
}

#[test]
fn a_worker_that_ends_early_does_not_delay_the_others() {
    let mut both = plan(capped(), Stop::after(Nanos::secs(2)), vec![on_target(0); 2]);
    let mut short = both.steps[0].jobs[0].clone();
    short.name = "short".into();
    short.stop = Stop::after_operations(100);
    both.steps[0].jobs.push(short);
    let jobs = figures(both);
    assert_eq!(jobs[1].ended, Some(EndReason::Done));
    assert_operations(&jobs[1], 200);
    assert_operations(&jobs[0], 7800);

    // The fault hits one of them; the count of operations is the device's.
    let faulty = capped().with(|device| device.faults = vec![SimulatedFault::nth(50, 5)]);
    let job = run_job(plan(faulty, Stop::after(Nanos::secs(2)), vec![on_target(0); 3]));
    let failed = job.workers.iter().filter(|worker| worker.failure.is_some());
    assert_eq!(failed.count(), 1);
    assert_operations(&job, 8000);
}

/// A job that waits for another job begins at the simulated end of that job. The device keeps its
/// state.
#[test]
fn jobs_and_steps_follow_one_another_in_simulated_time() {
    let burst = SimulatedDevice {
        layers: vec![SimulatedLayer {
            rate: 100,
            burst: 1000,
            bucket: 1000,
            ..SimulatedLayer::default()
        }],
        ..device()
    };
    let mut steps = plan(burst, Stop::after(Nanos::secs(2)), vec![on_target(0); 2]);
    let mut after = steps.steps[0].jobs[0].clone();
    after.name = "after".into();
    after.after = vec![Dependency(0)];
    after.phases.start_delay.low_ns = Nanos::secs(1);
    let mut next = steps.steps[0].clone();
    next.jobs[0].name = "next step".into();
    steps.steps[0].jobs.push(after);
    steps.steps.push(next);
    let jobs = figures(steps);
    // 1,000 credits last for 1.1 s.
    assert_operations(&jobs[0], 1200);
    let ends = |job: &JobResults| {
        let ends = job.workers.iter().map(|worker| worker.started_ns + worker.measured_ns);
        ends.max().unwrap()
    };
    let start_of = |job: &JobResults| job.workers.iter().map(|worker| worker.started_ns).min().unwrap();
    // Operations in flight at the end are waited for: at most 16 at 100 per second.
    let since = |later: &JobResults, earlier: &JobResults| start_of(later).since(ends(earlier));
    let first = since(&jobs[1], &jobs[0]);
    assert!(first >= Nanos::secs(1) && first <= Nanos::millis(1170), "{first}");
    let second = since(&jobs[2], &jobs[1]);
    assert!(
        start_of(&jobs[2]) >= ends(&jobs[1]) && second <= Nanos::millis(170),
        "{second}"
    );
    // The second without load adds 100 credits. All earlier credits are used up.
    assert_operations(&jobs[1], 300);
    assert_operations(&jobs[2], 200);
}

#[test]
fn a_step_of_one_worker_and_one_of_several_measure_the_same_device() {
    let written = SimulatedDevice {
        write_buffer: Some(SimulatedWriteBuffer {
            size: Bytes::mib(16),
            slowdown: 4.0,
        }),
        ..device()
    };
    let writer = on_target(0).with(|writer| writer.streams[0].mix = Mix::WRITES);
    let mut steps = plan(written, Stop::after(Nanos::secs(1)), vec![writer.clone()]);
    let mut next = steps.steps[0].clone();
    next.jobs[0].workers = vec![writer; 2];
    steps.steps.push(next);
    let jobs = figures(steps);
    // The buffer takes 4,096 writes of 4 KiB, eight every 100 µs; all others take four times as
    // long.
    assert_operations(&jobs[0], 4096 + (80_000 - 4096) / 4);
    assert_operations(&jobs[1], 40_000);
}

#[test]
fn a_worker_cannot_mix_simulated_time_with_real_time() {
    let mut both = on_target(0);
    both.streams.extend(on_target(1).streams);
    let mut mixed = with_second_target(plan(device(), Stop::after(Nanos::secs(1)), vec![both]));
    mixed.targets[1].kind = TargetKind::Nothing { size: Bytes::gib(1) };
    let error = try_run(mixed).unwrap_err().to_string();
    error.assert_is("one worker cannot use simulated devices and null target together");
    let mut locked = plan(device(), Stop::after(Nanos::secs(1)), vec![on_target(0)]);
    locked.steps[0].jobs[0].workers[0].streams[0].lock = FileLock::Exclusive;
    assert_eq!(
        try_run(locked).unwrap_err().to_string(),
        "locks of files are not simulated"
    );
}
