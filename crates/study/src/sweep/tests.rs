//! Sweeps over a simulated device with a known formula.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

use analysis::knee::AdviceKind;
use model::event::EndReason;
use model::finding::{Finding, Severity};
use model::histogram::Histogram;
use model::plan::{Stop, TargetId, TargetKind, Workload};
use model::results::{DirectionResults, JobResults, Point, Series, StepResults, StreamResults, WorkerResults};
use model::testing;
use model::{Bytes, PerDirection};

use super::report::has_one_operation_each;
use super::*;

fn run_results(depth: u32, iops: f64, time: Nanos) -> Results {
    let seconds = time.as_secs();
    let operations = (iops * seconds) as u64;
    let latency = (f64::from(depth) / iops * 1e9) as u64;
    let mut total = Histogram::new();
    total.record_times(latency, operations);
    let per_second = Point {
        operations: iops as u64,
        bytes: iops as u64 * 4096,
        latency_ns: iops as u64 * latency,
        ..Point::default()
    };
    let workload = Workload {
        depth,
        ..Workload::new("point", vec![TargetId(0)], Stop::after(time))
    };
    let directions = PerDirection::from_reads(Some(DirectionResults {
        operations,
        bytes: Bytes(operations * 4096),
        total,
        ..DirectionResults::default()
    }));
    let job = JobResults {
        workers: vec![WorkerResults {
            measured_ns: time,
            streams: vec![StreamResults {
                directions,
                ..StreamResults::default()
            }],
            ..WorkerResults::default()
        }],
        series: vec![Series {
            length_ns: Nanos::secs(1),
            source: None,
            points: PerDirection::from_reads(vec![per_second; seconds as usize]),
        }],
        ended: Some(EndReason::Time),
        ..JobResults::default()
    };
    let target = testing::target("disk", TargetKind::Nothing { size: Bytes::gib(1) });
    let step = StepResults {
        jobs: vec![job],
        ..StepResults::default()
    };
    let steps = vec![testing::step(vec![workload.build_job(0)])];
    testing::results(testing::plan("", vec![target], steps), Vec::new(), vec![step])
}

fn settings(varied: &[&str]) -> SweepSettings {
    SweepSettings {
        varied: varied.iter().map(|text| parse_varied(text).unwrap()).collect(),
        limit: None,
        time: Nanos::secs(20),
        warm_up: Nanos::secs(5),
        min_operations: Some(MIN_OPERATIONS),
        refine: true,
        stop_early: true,
        slots_max: None,
        seed: 1,
    }
}

/// Runs a sweep on a device with `servers` servers, each of which takes `service_us` per operation.
/// Returns the study and the order of depths.
fn run_sweep(sweep_settings: SweepSettings, servers: f64, service_us: f64) -> (Study, Vec<f64>) {
    run_disturbed_sweep(sweep_settings, servers, service_us, |_| 1.0)
}

/// The same, where other load divides the rate of some runs, given the depths of all runs so far.
fn run_disturbed_sweep(
    sweep_settings: SweepSettings,
    servers: f64,
    service_us: f64,
    slowdown: impl Fn(&[f64]) -> f64,
) -> (Study, Vec<f64>) {
    let mut order = Vec::new();
    let study = measure_all(sweep_settings, |next| {
        let depth = next.settings[0].number.unwrap();
        order.push(depth);
        assert!(order.len() < 100, "it does not end: {order:?}");
        let iops = depth.min(servers) / service_us * 1e6 / slowdown(&order);
        run_results(depth as u32, iops, next.time)
    });
    (study, order)
}

/// Runs a sweep to its end with these results.
fn measure_all(settings: SweepSettings, mut measure: impl FnMut(&NextRun) -> Results) -> Study {
    let mut sweep = Sweep::new(settings);
    while let Some(next) = sweep.next_run() {
        let results = measure(&next);
        sweep.record(next, results);
    }
    sweep.finish("sweep", false).unwrap()
}

fn report(study: &Study) -> Report {
    Report::from_study(study, None).unwrap()
}

/// With one operation per worker, only more workers load a device further.
#[test]
fn a_sweep_over_single_operations_states_what_to_expect() {
    let report = |over: &str| report(&run_sweep(settings(&[over]), 8.0, 100.0).0);
    let states = |report: &Report| report.notes.iter().any(|note| note.contains("one operation in flight"));
    let mut workers = report("workers=1..16");
    assert!(states(&workers) && !states(&report("depth=1..16")));
    assert!(has_one_operation_each(&workers.rows));
    workers.rows[0].in_flight = Some(32);
    assert!(!has_one_operation_each(&workers.rows), "asynchronous");
}

/// Names have no number, so their words decide the order.
#[test]
fn patterns_are_sorted_by_name() {
    let coarse = SweepSettings {
        refine: false,
        ..settings(&["access=sequential,random"])
    };
    let report = report(&measure_all(coarse, |next| run_results(1, 1000.0, next.time)));
    let values: Vec<&str> = report.rows.iter().map(|row| &*row.settings[0].value).collect();
    assert_eq!((values, report.curves.len()), (vec!["random", "sequential"], 0));
}

#[test]
fn a_sweep_finds_the_knee_and_encloses_it() {
    let (study, order) = run_sweep(settings(&["depth=1..512"]), 8.0, 100.0);
    let report = report(&study);
    let curve = &report.curves[0];
    let advice = &curve.knee.advice;
    assert_eq!((curve.knee.kneedle, advice.kind), (Some(8.0), AdviceKind::Knee));
    assert_eq!((advice.at_least, advice.at_most), (Some(6.0), Some(12.0)));
    assert_eq!(curve.setting_at(8.0), Some(8.0));
    let repeat = study.runs.last().unwrap();
    let first = (RunRole::Repeat, Some(order[0]));
    assert_eq!((repeat.role, repeat.settings[0].number), first);
    let note = "depth 512, measured twice: 80,000 and 80,000 IOPS, p99 6.4 ms and 6.4 ms.";
    assert_eq!(report.notes, [note]);
    assert!(report.rows.windows(2).all(|two| two[0].in_flight < two[1].in_flight));
}

/// Depths up to 8 meet the limit, and 2 was disturbed when it was measured first.
#[test]
fn a_point_that_a_higher_load_contradicts_is_measured_again() {
    let limited = SweepSettings {
        limit: Some("p99<=150us".parse().unwrap()),
        ..settings(&["depth=1..64"])
    };
    let times = |order: &[f64], depth: f64| order.iter().filter(|value| **value == depth).count();
    let is_first_of_two = |order: &[f64]| order.last() == Some(&2.0) && times(order, 2.0) == 1;
    let slow_once = |order: &[f64]| if is_first_of_two(order) { 10.0 } else { 1.0 };
    let (study, order) = run_disturbed_sweep(limited.clone(), 8.0, 100.0, slow_once);
    let disturbed = report(&study);
    let kept = disturbed.curves[0].knee.kept.unwrap();
    assert_eq!((kept.kept_at, kept.met_again_at), (Some(8.0), None), "{order:?}");
    let note = "depth 2 missed p99 <= 150 us although a higher load met it, so it was measured again: 1 ms at first, \
                then 100 us. The table shows the second measurement.";
    assert_eq!(disturbed.notes[1], note);
    // One disturbed point does not end the sweep.
    assert!(order.contains(&16.0), "{order:?}");

    // A point that misses the limit twice stays, and the sweep ends.
    let always_slow = |order: &[f64]| if order.last() == Some(&2.0) { 10.0 } else { 1.0 };
    let (study, order) = run_disturbed_sweep(limited, 8.0, 100.0, always_slow);
    let knee = &report(&study).curves[0].knee;
    assert_eq!(knee.kept.unwrap().missed_at, Some(2.0));
    assert!(times(&order, 2.0) == 2, "{order:?}");
    let end = "8 in flight meets it again, so something disturbed 2 in flight or the limit is near: repeat the sweep.";
    assert!(knee.advice.sentence.ends_with(end), "{}", knee.advice.sentence);
}

/// A problem at every point has a cause outside of the points.
#[test]
fn a_warning_at_all_points_names_its_cause_and_help() {
    let (mut study, _) = run_sweep(settings(&["depth=1..4"]), 8.0, 100.0);
    let limited = |device: &str, limit: u32| {
        let what = format!("reads are limited to {limit} per second");
        let finding = Finding::new("CGROUP-LIMIT", Severity::Warning, what);
        finding.at(format!("device {device}")).help("raise the limit")
    };
    for run in &mut study.runs {
        run.results.findings = vec![limited("7:0", 2000), limited("8:0", 9000)];
    }
    let notes = report(&study).notes;
    let note = notes.last().unwrap();
    let end = " points: device 7:0: reads are limited to 2000 per second; device 8:0: reads are limited to 9000 \
               per second; raise the limit";
    assert!(
        note.starts_with("warning CGROUP-LIMIT at all ") && note.ends_with(end),
        "{note}"
    );
}

/// A depth was once recommended because of a point whose reads needed no device.
#[test]
fn points_with_invalidating_findings_recommend_nothing() {
    let (mut study, _) = run_sweep(settings(&["depth=1..4"]), 8.0, 100.0);
    study.runs[0].results.findings = vec![Finding::new("HOLES", Severity::Warning, "never written")];
    let limit = "p99<=10ms".parse().unwrap();
    for limit in [None, Some(limit)] {
        let report = Report::from_study(&study, limit).unwrap();
        let knee = &report.curves[0].knee;
        assert_eq!((knee.advice.kind, knee.advice.load), (AdviceKind::Doubtful, None));
        let sentence = &knee.advice.sentence;
        assert!(sentence.contains("HOLES at depth "), "{sentence}");
        assert_eq!(knee.kept.and_then(|kept| kept.kept_at), None);
    }
}

/// A depth was once recommended although other programs used the processors at every point.
#[test]
fn points_that_waited_for_processors_are_described() {
    let (mut study, _) = run_sweep(settings(&["depth=1..4"]), 8.0, 100.0);
    let described = |study: &Study| report(study).describe_disturbance();
    assert_eq!(described(&study), None);
    for run in &mut study.runs {
        run.results.findings = vec![Finding::new("D-CPU", Severity::Warning, "1.9 of 2 processors")];
    }
    let found = described(&study).unwrap();
    let end = " points, so operations waited for a processor; the storage may be faster.";
    let start = "Other programs kept the processors busy at ";
    assert!(found.starts_with(start) && found.ends_with(end), "{found}");
}

#[test]
fn the_order_is_drawn_from_the_seed() {
    let order = |seed| {
        let sweep_settings = SweepSettings {
            seed,
            stop_early: false,
            ..settings(&["depth=1..512"])
        };
        run_sweep(sweep_settings, 8.0, 100.0).1
    };
    let orders = [1, 2, 3, 4].map(order);
    assert_eq!(orders[0], order(1));
    assert!(
        orders.iter().skip(1).all(|order| order[..10] != orders[0][..10]),
        "{orders:?}"
    );
    for order in &orders {
        let mut grid = order[..10].to_vec();
        grid.sort_by(f64::total_cmp);
        assert_eq!(grid, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]);
        assert_eq!(order.len(), 13, "two near the knee, and the first again");
    }
}

#[test]
fn points_that_only_queue_are_skipped_with_the_reason() {
    let mut skipped_count = 0;
    for seed in 1..=20 {
        let seeded = SweepSettings {
            seed,
            ..settings(&["depth=1..4096"])
        };
        let (study, order) = run_sweep(seeded, 2.0, 100.0);
        skipped_count += study.skipped.len();
        for skipped in &study.skipped {
            assert!(skipped.why.contains("the rate stopped rising"), "{}", skipped.why);
            // 2, 4 and 8 show it at the earliest.
            assert!(skipped.settings[0].number.unwrap() > 8.0);
        }
        // Skipped points never hide the knee.
        assert!(order.contains(&1.0) && order.contains(&2.0) && order.contains(&4.0));
        assert_eq!(report(&study).curves[0].knee.kneedle, Some(2.0));
    }
    assert!(skipped_count > 20, "{skipped_count} of 20 sweeps");
}

#[test]
fn a_latency_far_beyond_the_limit_ends_the_rise() {
    let limited = SweepSettings {
        limit: Some("p99<=300us".parse().unwrap()),
        ..settings(&["depth=1..1024"])
    };
    let (study, _) = run_sweep(limited, 8.0, 100.0);
    let report = report(&study);
    let kept = report.curves[0].knee.kept.unwrap();
    // 8 servers at 100 us: 24 in flight take 300 us, slightly more in the buckets of the histogram.
    assert!(kept.kept_at == Some(16.0) || kept.kept_at == Some(24.0), "{kept:?}");
    assert_eq!(report.curves[0].knee.advice.kind, AdviceKind::LimitKept);
    // Another limit gives another answer from the same study.
    let with_more_slots = Report::from_study(&study, Some("p99<=1s".parse().unwrap())).unwrap();
    assert_eq!(with_more_slots.curves[0].knee.advice.kind, AdviceKind::LimitNotReached);
}

#[test]
fn slow_points_are_extended_until_they_have_enough_operations() {
    // 100 operations per second: 20 s have 2,000; 10,000 take 100 s.
    let (study, _) = run_sweep(settings(&["depth=1,2,4"]), 1.0, 10_000.0);
    let short = study.runs.iter().filter(|run| run.role == RunRole::TooShort).count();
    assert!((1..=3).contains(&short), "{short}");
    for run in study.runs.iter().filter(|run| run.role == RunRole::Measured) {
        let observation = Observation::from_results(&run.results, 0, 0).unwrap();
        let operations = observation.total.operations.unwrap();
        assert!(operations >= MIN_OPERATIONS, "{operations}");
    }
    // A length set by the user is kept.
    let set_by_user = SweepSettings {
        min_operations: None,
        ..settings(&["depth=1,2,4"])
    };
    let (study, _) = run_sweep(set_by_user, 1.0, 10_000.0);
    assert!(study.runs.iter().all(|run| run.role != RunRole::TooShort));
}

#[test]
fn a_matrix_has_a_curve_for_each_row() {
    let (study, _) = run_sweep(settings(&["depth=1..64", "block=4k,64k"]), 8.0, 100.0);
    let report = report(&study);
    assert_eq!(report.curves.len(), 2);
    assert_eq!(report.curves[1].fixed[0].value, "64 KiB");
    assert!(report.curves.iter().all(|curve| curve.knee.kneedle == Some(8.0)));
    assert_eq!(report.rows[0].settings[1].value, "4 KiB");
    assert_eq!(report.rows[0].settings[0].value, "1");
}

#[test]
fn drift_is_reported() {
    // Each run is 5 % slower than the previous one.
    let slowdown = |order: &[f64]| 0.95f64.powi(-(order.len() as i32));
    let (study, _) = run_disturbed_sweep(settings(&["depth=1,2,4,8"]), f64::INFINITY, 100.0, slowdown);
    let report = report(&study);
    assert!(report.notes[0].contains("something else changed"), "{:?}", report.notes);
}

/// A sweep over rates looks for those that are not reached; of a depth it is a warning.
#[test]
fn a_missed_rate_is_no_warning_where_rates_are_offered() {
    let warns = |over: &str| {
        let coarse = SweepSettings {
            refine: false,
            ..settings(&[over])
        };
        let study = measure_all(coarse, |next| Results {
            findings: vec![Finding::new("RATE-NOT-KEPT", Severity::Warning, "missed")],
            ..run_results(1, 1000.0, next.time)
        });
        report(&study).notes.iter().any(|note| note.contains("RATE-NOT-KEPT"))
    };
    assert_eq!([warns("rate=1000,64000"), warns("depth=1,2")], [false, true]);
}

#[test]
fn an_interrupted_sweep_keeps_its_results() {
    let mut sweep = Sweep::new(settings(&["depth=1..512"]));
    for cut in [false, false, true] {
        let next = sweep.next_run().unwrap();
        let depth = next.settings[0].number.unwrap();
        let results = Results {
            interrupted: cut,
            ..run_results(depth as u32, depth * 1000.0, next.time)
        };
        sweep.record(next, results);
    }
    let study = sweep.finish("sweep", true).unwrap();
    let report = report(&study);
    assert_eq!((report.rows.len(), report.interrupted), (2, true));
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    assert!(!study.skipped.is_empty());
    assert_eq!(Sweep::new(settings(&["depth=1"])).finish("sweep", true), None);
}

#[test]
fn a_failed_point_is_listed_with_its_error() {
    let study = measure_all(settings(&["depth=1,2"]), |next| {
        let depth = next.settings[0].number.unwrap();
        let mut results = run_results(depth as u32, depth * 1000.0, next.time);
        if depth > 1.0 {
            results.steps[0].jobs[0].ended = Some(EndReason::Failed);
            let failure = Finding::new("WORKER-FAILED", Severity::Error, "no such device");
            results.findings.push(failure);
        }
        results
    });
    let notes = report(&study).notes;
    let start = "depth 2 failed or ended early (no such device);";
    assert!(notes[0].starts_with(start), "{notes:?}");
}

#[test]
fn the_time_left_counts_the_remaining_runs() {
    let mut sweep = Sweep::new(settings(&["depth=1..8"]));
    let next = sweep.next_run().unwrap();
    // Four of the grid, two around the knee, one repetition: 25 s each.
    let planned = (next.number, next.expected_total, next.time_left);
    assert_eq!(planned, (1, 7, Nanos::secs(175)));
}
