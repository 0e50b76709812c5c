//! Latencies by window agree with the log of single operations.

use std::collections::BTreeMap;

use model::fleet::{Gathering, Share};
use model::histogram::bucket_index;
use model::operation_log::LoggedOperation;
use model::plan::{LatencyPoints, Windows};
use model::results::{Window, WindowLatency, WindowSeries};

use crate::prelude::*;
use crate::support::{constant, run_logged};

/// 37 ms divide neither a second nor the measured time.
const SHORT: Nanos = Nanos::millis(37);
const LONG: Nanos = Nanos::millis(500);

/// Two workers, the first with two streams, over 1.7 s after a warm-up. Each operation takes 50 to
/// 150 µs.
fn two_workers() -> Plan {
    let service = SimulatedService::Uniform {
        low_ns: Nanos::micros(50),
        high_ns: Nanos::micros(150),
    };
    let mut mixed = stream();
    mixed.depth = 4;
    mixed.mix = Mix::drawn(30.0, MixRule::Independent);
    let mut workers = vec![worker(vec![mixed.clone(), stream()]), worker(vec![mixed])];
    for worker in &mut workers {
        worker.latency = LatencyPoints::AfterCall;
    }
    let device = SimulatedDevice { service, ..device() };
    let mut plan = plan(device, Stop::after(Nanos::millis(1700)), workers);
    let job = &mut plan.steps[0].jobs[0];
    job.phases.warm_up_ns = Nanos::millis(100);
    job.windows = vec![
        Windows {
            length_ns: SHORT,
            histograms: true,
        },
        Windows {
            length_ns: LONG,
            histograms: false,
        },
    ];
    plan
}

/// The windows of a worker, counted operation by operation.
fn expected(operations: &[LoggedOperation], worker: u32, length: Nanos, histograms: bool) -> PerDirection<Vec<Window>> {
    let mut windows: PerDirection<BTreeMap<u64, Window>> = PerDirection::default();
    for operation in operations.iter().filter(|operation| operation.worker == worker) {
        let Some(direction) = operation.direction else { continue };
        let number = operation.completed.0 / length.0;
        let window = windows[direction].entry(number).or_default();
        let latency = |latency: &mut WindowLatency, ns: Nanos| {
            latency.sum_ns += ns.0;
            latency.max_ns = latency.max_ns.max(ns.0);
        };
        (window.number, window.operations) = (number, window.operations + 1);
        window.bytes += u64::from(operation.moved);
        latency(&mut window.submission, operation.submission);
        latency(&mut window.completion, operation.completion());
        latency(&mut window.total, operation.total);
        if histograms {
            let bucket = bucket_index(operation.completion().0) as u32;
            match window.buckets.iter_mut().find(|(found, _)| *found == bucket) {
                Some((_, count)) => *count += 1,
                None => window.buckets.push((bucket, 1)),
            }
        }
    }
    windows.map(|windows| {
        let mut windows: Vec<Window> = windows.values().cloned().collect();
        windows.iter_mut().for_each(|window| window.buckets.sort_unstable());
        windows
    })
}

#[test]
fn windows_agree_with_single_operations() {
    let (job, operations) = run_logged(two_workers());
    assert!(operations.len() > 10_000, "{}", operations.len());
    assert_eq!(job.windows.len(), 4, "two of each worker");
    for series in &job.windows {
        let histograms = series.length_ns == SHORT;
        assert_eq!(series.histograms, histograms);
        let expected = expected(&operations, series.worker, series.length_ns, histograms);
        assert_eq!(
            series.windows, expected,
            "{} of worker {}",
            series.length_ns, series.worker
        );
        let count = 1700u64.div_ceil(series.length_ns.0 / 1_000_000) as usize;
        assert_eq!(series.windows.read.len(), count, "no window of such a device is idle");
        assert!(series.windows.trim.is_empty());
    }
    assert!(job.workers.iter().all(|worker| worker.merged_rows == 0));
}

/// The simulated device issues immediately. With the null engine, submission takes time.
#[test]
fn submission_and_completion_are_distinguished() {
    let mut plan = two_workers();
    plan.targets[0].kind = TargetKind::Nothing { size: Bytes::gib(1) };
    let job = &mut plan.steps[0].jobs[0];
    job.stop = Stop::after(Nanos::millis(100));
    job.workers
        .iter_mut()
        .for_each(|worker| worker.engine.kind = EngineKind::Null);
    let (job, operations) = run_logged(plan);
    for series in &job.windows {
        let expected = expected(&operations, series.worker, series.length_ns, series.histograms);
        assert_eq!(series.windows, expected);
        let writes = &series.windows.write;
        assert!(
            writes
                .iter()
                .any(|window| window.submission.sum_ns > 0 && window.completion != window.total)
        );
        let streams = job.workers[series.worker as usize].streams.iter();
        let write_results = streams.filter_map(|stream| stream.directions.write.as_ref());
        for results in write_results {
            let max_ns = |value: fn(&Window) -> WindowLatency| writes.iter().map(|window| value(window).max_ns).max();
            assert_eq!(max_ns(|window| window.submission), Some(results.submission.max()));
            assert_eq!(max_ns(|window| window.completion), Some(results.completion.max()));
            assert_eq!(max_ns(|window| window.total), Some(results.total.max()));
        }
    }
}

#[test]
fn windows_without_operations_are_left_out() {
    let mut plan = two_workers();
    plan.targets[0].kind = TargetKind::Simulated {
        device: device().with(|device| device.service = constant(Nanos::millis(130))),
    };
    let (job, operations) = run_logged(plan);
    let series = &job.windows[0];
    assert_eq!(series.windows, expected(&operations, 0, SHORT, true));
    assert!((10..20).contains(&series.windows.read.len()), "one in four at most");
}

#[test]
fn a_run_without_a_log_keeps_the_same_windows() {
    let (with, _) = run_logged(two_workers());
    let without = run_job(two_workers());
    assert_eq!(with.windows, without.windows);
}

/// The extremes for an open window are taken out of the histograms, and put back.
#[test]
fn windows_change_no_other_result() {
    let with = run_job(two_workers());
    let mut plan = two_workers();
    plan.steps[0].jobs[0].windows.clear();
    let without = run_job(plan);
    assert!(without.windows.is_empty());
    assert_eq!(with.series, without.series);
    assert_eq!(with.histograms, without.histograms);
    for (with_windows, without_windows) in with.workers.iter().zip(&without.workers) {
        assert_eq!(with_windows.streams, without_windows.streams);
    }
}

#[test]
fn windows_of_a_run_by_count_add_up() {
    let mut plan = two_workers();
    let job = &mut plan.steps[0].jobs[0];
    job.stop = Stop::after_operations(12_345);
    let job = run_job(plan);
    for series in &job.windows {
        let streams = &job.workers[series.worker as usize].streams;
        for direction in Direction::ALL {
            let windows = &series.windows[direction];
            let stream_results = streams
                .iter()
                .filter_map(|stream| stream.directions[direction].as_ref());
            let operations: u64 = stream_results.map(|results| results.operations).sum();
            assert_eq!(windows.iter().map(|window| window.operations).sum::<u64>(), operations);
            if series.histograms {
                let counted = windows.iter().flat_map(|window| &window.buckets);
                assert_eq!(counted.map(|(_, count)| count).sum::<u64>(), operations);
            }
        }
    }
}

#[test]
fn a_window_below_a_millisecond_is_refused() {
    let mut plan = two_workers();
    plan.steps[0].jobs[0].windows[0].length_ns = Nanos::micros(999);
    let error = try_run(plan).unwrap_err().to_string();
    assert!(error.contains("the shortest is 1 ms"), "{error}");
}

#[test]
fn windows_are_saved_and_merged_with_those_of_another_host() {
    let (results, _) = try_run(two_workers()).expect("the plan can run");
    let saved = serde_json::to_string(&results).expect("results can be saved");
    let read: Results = serde_json::from_str(&saved).expect("and read again");
    assert_eq!(read.steps[0].jobs[0].windows, results.steps[0].jobs[0].windows);
    let share = Share {
        plan: results.plan.clone(),
        jobs: vec![vec![0]],
    };
    let shares = [share.clone(), share];
    let mut both = Gathering::new(&results.plan, &shares, results.clone());
    both.add(0, results.clone());
    both.add(1, read);
    let both = both.finish();
    let (alone, together) = (&results.steps[0].jobs[0].windows, &both.steps[0].jobs[0].windows);
    let workers = |windows: &[WindowSeries]| windows.iter().map(|series| series.worker).collect::<Vec<u32>>();
    assert_eq!(workers(alone), [0, 0, 1, 1]);
    assert_eq!(workers(together), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(together[6].windows, alone[2].windows);
}
