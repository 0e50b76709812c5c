//! Devices that fail, stall or are too slow, and hosts that pause.

use super::*;
use crate::prelude::*;

#[test]
fn a_frozen_host_is_charged_to_the_operations_that_were_due() {
    // 300 ms of 2 s at 4,000 operations a second: the late ones waited up to 300 ms, evenly spread.
    // 15 % of all waited, so the 99th percentile is 300 ms × (1 − 1/15) = 280 ms.
    let mut tested_stream = stream();
    tested_stream.depth = 32;
    tested_stream.pacing = Pacing::Together { rate: Rate::iops(4000) };
    let frozen = SimulatedDevice {
        host_pauses: vec![SimulatedPause::new(Nanos::secs(1), Nanos::millis(300))],
        service: constant(Nanos::micros(10)),
        ..device()
    };
    let job = run_stream_on(frozen, Stop::after(Nanos::secs(2)), tested_stream);
    let total = job.total();
    let response = total.response.as_ref().expect("a paced stream has response times");
    assert_eq!(total.operations, 8000);
    assert_near(response.quantile(0.99) as f64, 280e6, 0.01, "p99");
    assert_near(response.max() as f64, 300e6, 0.01, "max");
    assert_near(response.quantile(0.90) as f64, 100e6, 0.02, "p90");
    // Those outside the freeze did not wait.
    assert!(response.quantile(0.80) < 20_000);
    // The service itself was never slow, which is all that a closed loop would have shown.
    assert!(total.total.max() < 1_000_000, "{}", total.total.max());
}

#[test]
fn a_stalled_device_shows_in_both_latencies() {
    let stalled = SimulatedDevice {
        stalls: vec![SimulatedPause::new(Nanos::secs(4), Nanos::secs(1))],
        service: constant(Nanos::millis(1)),
        ..device()
    };
    let closed = stream().with(|closed| closed.depth = 32);
    let mut open = closed.clone();
    open.pacing = Pacing::Together { rate: Rate::iops(1000) };
    let run = |stream| {
        let job = run_stream_on(stalled.clone(), Stop::after(Nanos::secs(10)), stream);
        job.total().into_owned()
    };
    let closed = run(closed);
    // A closed loop hides the stall.
    assert_near(closed.total.quantile(0.99) as f64, 1e6, 0.01, "p99");
    assert!(closed.total.max() > 900_000_000);
    let open = run(open);
    let p99 = open.latency().quantile(0.99) as f64;
    // 10 % of the operations were due in the stall, or before its backlog was processed.
    assert!((0.85e9..1.0e9).contains(&p99), "{p99}");
}

/// The device hangs for the last second of the window, so nothing that is due then completes in it.
#[test]
fn operations_that_do_not_complete_in_the_window_have_ages() {
    let hung = SimulatedDevice {
        stalls: vec![SimulatedPause::new(Nanos::secs(4), Nanos::secs(3))],
        service: constant(Nanos::millis(1)),
        ..device()
    };
    let run = |stream: Stream, kind: EngineKind| {
        let worker = worker(vec![stream]).with(|worker| worker.engine.kind = kind);
        run_job(plan(hung.clone(), Stop::after(Nanos::secs(5)), vec![worker]))
    };
    let assert_unfinished = |job: &JobResults, expected: u64| {
        let total = job.total();
        let ages = total.unfinished.as_ref().expect("operations were in flight");
        assert!(ages.n().abs_diff(expected) <= 2, "{} of {expected}", ages.n());
        assert_near(ages.max() as f64, 1e9, 0.01, "the oldest");
    };
    let closed = stream().with(|closed| closed.depth = 32);
    for (kind, depth) in [(EngineKind::default(), 32), (EngineKind::Psync, 1)] {
        let job = run(closed.clone(), kind);
        assert_unfinished(&job, depth);
        let in_flight = job.in_flight().expect("measured");
        assert_near(in_flight.average, depth as f64, 0.01, "in flight");
    }
    let paced = closed.with(|paced| paced.pacing = Pacing::Together { rate: Rate::iops(1000) });
    for mix in [Mix::READS, Mix::WRITES] {
        let stream = paced.clone().with(|stream| stream.mix = mix);
        assert_unfinished(&run(stream, EngineKind::default()), 1000);
    }
    // Those in flight extend the window of a job that counts all; the others stay due.
    let stop = Stop::after(Nanos::secs(5)).with(|stop| stop.counts_all = true);
    let shallow = paced.clone().with(|paced| paced.depth = 4);
    assert_unfinished(&run_stream_on(hung.clone(), stop, shallow), 996);
    // A device that serves until the end leaves no old operations.
    let job = run_stream_on(device(), Stop::after(Nanos::secs(5)), paced);
    assert_eq!(job.total().unfinished, None);
}

#[test]
fn every_single_fault_is_reported_and_nothing_is_lost() {
    let operations = 40;
    for nth in 1..=operations + 1 {
        let faulty = device().with(|device| device.faults = vec![SimulatedFault::nth(nth, 5)]);
        let tested_stream = stream().with(|stream| stream.depth = 6);
        let stop = Stop::after_operations(operations);
        let job = run_stream_on(faulty, stop, tested_stream);
        let failure = &job.workers[0].failure;
        if nth > operations {
            assert_eq!(*failure, None);
            assert_eq!(job.total().operations, operations);
            continue;
        }
        let failure = failure.as_ref().expect("the fault is reported");
        assert_eq!(failure.errno, Some(5));
        failure.what.assert_contains(&["read failed"]);
        failure.location.assert_contains(&["offset"]);
        assert_eq!(job.ended, Some(EndReason::Failed));
        // All issued operations came back, in the window or while draining. The failed one does not
        // count as completed.
        let lifetime = job.workers[0].streams[0].lifetime.read.operations;
        assert!((nth - 1..nth + 6).contains(&lifetime), "fault {nth}: {lifetime}");
    }
}

#[test]
fn tolerated_errors_and_short_transfers_are_counted() {
    let faults = vec![
        SimulatedFault::Nth { operation: 3, errno: 5 },
        SimulatedFault::nth(10, 0),
        SimulatedFault::Bytes {
            offset: 0,
            length: 4096 * 1000,
            errno: 5,
        },
    ];
    let faulty = SimulatedDevice { faults, ..device() };
    let tested_stream = stream().with(|stream| stream.on_error.tolerate_read = vec![5]);
    let stop = Stop::after_operations(500);
    let job = run_stream_on(faulty, stop, tested_stream);
    let total = job.total();
    assert_eq!(job.workers[0].failure, None);
    assert!(total.errors >= 1 && total.first_error == Some(5));
    assert_eq!(total.operations + total.errors, 500);
    assert_eq!(total.short, 1);
    assert_eq!(total.bytes.0, (total.operations - 1) * 4096 + 2048);
}

#[test]
fn an_operation_that_takes_too_long_counts_as_failed() {
    // The 500th operation begins at 49.9 ms and is delayed by 20 ms.
    let stalled =
        device().with(|device| device.stalls = vec![SimulatedPause::new(Nanos::micros(49_950), Nanos::millis(20))]);
    let stop = Stop::after_operations(1000);
    let run = |most: Option<Nanos>, tolerate: Vec<i32>| {
        let mut tested_stream = stream();
        tested_stream.on_error.latency_ns_max.read = most;
        tested_stream.on_error.latency_ns_max.write = Some(Nanos(1));
        tested_stream.on_error.tolerate_read = tolerate;
        run_stream_on(stalled.clone(), stop, tested_stream)
    };
    let job = run(Some(Nanos::millis(1)), Vec::new());
    let failure = job.workers[0].failure.as_ref().expect("it has failed");
    failure
        .what
        .assert_contains(&["a read took 20.1 ms, longer than the limit of 1 ms"]);
    assert_eq!(job.ended, Some(EndReason::Failed));
    // The slow operation is counted too, because it transferred its data.
    assert_eq!(job.total().operations, 500);

    let job = run(Some(Nanos::millis(1)), vec![110]);
    assert_eq!(job.workers[0].failure, None);
    let total = job.total();
    assert_eq!((total.operations, total.errors, total.first_error), (999, 1, Some(110)));
    let job = run(Some(Nanos::millis(21)), Vec::new());
    assert_eq!(job.total().operations, 1000);
}

#[test]
fn a_failed_write_is_reported_as_a_write() {
    let faulty = device().with(|device| device.faults = vec![SimulatedFault::Nth { operation: 3, errno: 5 }]);
    let tested_stream = stream().with(|stream| (stream.mix, stream.on_error.tolerate_read) = (Mix::WRITES, vec![5]));
    let job = run_stream_on(faulty, Stop::after(Nanos::secs(1)), tested_stream);
    let failure = job.workers[0].failure.as_ref();
    let failure = failure.expect("only failed reads are tolerated");
    assert!(failure.what.contains("write failed"), "{failure:?}");
}
