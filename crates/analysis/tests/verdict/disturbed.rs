//! Verdicts on tests during which other programs used the processors or the device.

use analysis::caps::{LayerKind, Limit, LimitLayer};
use analysis::verdict::{Cause, Context, Outcome, Verdict, judge};
use model::histogram::Histogram;
use model::observation::{Latency, Observation, Second, SeriesPoint};
use model::results::IntervalHistogram;
use model::seconds::{DeviceSample, HostSample, IntervalFacts, QueueUse, ThreadUse};
use model::testing::assert_contains;
use model::{Bytes, Nanos, PerDirection};
use testbed::With;

use super::{SeriesGenerator, assert_inconclusive, assert_outcome, clauses, judge_slow_storage};

/// A second with full slots and 3,000 operations. In a disturbed second, other programs keep the
/// processors busy while fathom's threads wait for them.
fn full_second(number: u64, is_disturbed: bool) -> Second {
    let run_delay = if is_disturbed { Nanos::millis(600) } else { Nanos(0) };
    Second {
        facts: IntervalFacts {
            start_ns: Nanos::secs(number),
            length_ns: Nanos::secs(1),
            operations: 3000,
            service_ns: Nanos::secs(128),
            queue: QueueUse {
                slots_ns: Nanos::secs(128),
                in_use_ns: Nanos::secs(128),
                queues_ns: Nanos::secs(1),
                full_ns: Nanos::secs(1),
                issued: 3000,
                ..QueueUse::default()
            },
            threads: ThreadUse::default().with(|thread_use| thread_use.run_delay_ns = run_delay),
        },
        hosts: vec![HostSample {
            cpus_ns: Nanos::secs(2),
            length_ns: Nanos::secs(1),
            busy_ns: Nanos::millis(1900),
            own_ns: Nanos::millis(100),
            ..HostSample::default()
        }],
        bytes_transferred: Bytes(3000 * 4096),
    }
}

/// The verdict on 60 seconds with 3,000 of 4,000 operations each and every slot in use. In the
/// first `seconds` of them, other programs use the processors.
fn judge_disturbed(seconds: u64) -> Verdict {
    judge_slow_storage(4000.0, |observed| {
        (observed.load.workers, observed.load.depth) = (Some(1), Some(128));
        observed.seconds = (0..60).map(|number| full_second(number, number < seconds)).collect();
    })
}

/// Storage at half the promised rate was once INCONCLUSIVE because of three seconds in twelve.
#[test]
fn a_few_disturbed_seconds_do_not_hide_a_broken_promise() {
    assert_outcome(&judge_disturbed(0), Outcome::Fail);
    assert_outcome(&judge_disturbed(12), Outcome::Fail);
    assert_inconclusive(
        &judge_disturbed(40),
        Cause::Others,
        "all 60 seconds missed the rate, 40 of them while other programs",
    );
}

/// The control group allows 3,000 operations per second, with or without other programs.
#[test]
fn a_limit_of_the_system_below_the_promise_fails_it_despite_other_programs() {
    let verdict = |limit: f64| {
        let mut observed = SeriesGenerator::new(3).observation(4000.0, 3000.0, 21.0, 60);
        (observed.load.workers, observed.load.depth) = (Some(1), Some(128));
        observed.seconds = (0..60).map(|number| full_second(number, number < 40)).collect();
        let enforced = [LimitLayer {
            name: "control group".into(),
            kind: LayerKind::ControlGroup,
            iops: Some(Limit::exactly(limit)),
            ..LimitLayer::default()
        }];
        let context = Context::default().with(|context| context.enforced = &enforced);
        judge(&clauses("iops>=4000"), &observed, &context)
    };
    let limited = verdict(3000.0);
    assert_outcome(&limited, Outcome::Fail);
    let reason = &limited.clauses[0].reason;
    assert_contains(reason, "the system allows only 3000 IOPS: control group");
    assert_inconclusive(&verdict(4000.0), Cause::Others, "all 60 seconds missed the rate");
}

/// A median beyond the limit was once INCONCLUSIVE because a fifth of the slow operations were
/// disturbed.
#[test]
fn a_latency_that_undisturbed_seconds_exceed_is_a_failure() {
    let mut slow = Histogram::new();
    slow.record_times(10_000_000, 3000);
    let intervals: Vec<IntervalHistogram> = (0..60)
        .map(|second| IntervalHistogram {
            start_ns: Nanos::secs(second),
            length_ns: Nanos::secs(1),
            latency: PerDirection::from_reads(Some(slow.clone())),
        })
        .collect();
    let verdict = |disturbed: u64| {
        let mut observed = SeriesGenerator::new(3).observation(3000.0, 3000.0, 10.0, 60);
        (observed.load.workers, observed.load.depth) = (Some(1), Some(128));
        observed.seconds = (0..60).map(|number| full_second(number, false)).collect();
        for second in &mut observed.seconds {
            let is_disturbed = second.facts.start_ns < Nanos::secs(disturbed);
            let operations = if is_disturbed { 6000 } else { 3000 };
            second.hosts[0].device = Some(DeviceSample {
                operations,
                bytes: Bytes(4096 * operations),
            });
        }
        let context = Context::default().with(|context| context.intervals = &intervals);
        judge(&clauses("p99<=5ms"), &observed, &context)
    };
    assert_outcome(&verdict(0), Outcome::Fail);
    assert_outcome(&verdict(40), Outcome::Fail);
    assert_inconclusive(
        &verdict(60),
        Cause::Others,
        "all operations beyond the limit occurred while",
    );
}

/// The figures of paced seconds, each with its operations. In those with fewer than `due`, other
/// programs keep the processors busy.
fn observe_paced(due: u64, operations: &[u64]) -> Observation {
    let length = operations.len() as u64;
    let mut observed = SeriesGenerator::new(3).observation(due as f64, 2.0 * due as f64, 1.0, length);
    (observed.load.workers, observed.load.depth) = (Some(1), Some(128));
    for (point, operations) in observed.series.iter_mut().zip(operations) {
        point.operations = [*operations, 0, 0];
    }
    let seconds = (0..length).zip(operations).map(|(number, operations)| {
        full_second(number, *operations < due).with(|second| {
            (second.facts.operations, second.facts.queue.issued) = (*operations, *operations);
            second.bytes_transferred = Bytes(operations * 4096);
        })
    });
    observed.seconds = seconds.collect();
    observed
}

#[test]
fn availability_names_the_missed_clauses_and_counts_their_seconds() {
    let operations: Vec<u64> = (0..60)
        .map(|second| if second % 3 == 0 { 4000 } else { 3000 })
        .collect();
    let observed = observe_paced(4000, &operations);
    let verdict = judge(&clauses("iops>=4000,availability>=99%"), &observed, &Context::default());
    let reason = &verdict.clauses[1].reason;
    let part = "20 of 60 seconds met the other clauses; in 40 the rate missed its limit while other programs used";
    assert!(reason.contains(part), "{verdict:#?}");
    assert!(!reason.contains("seconds missed the rate"), "{reason}");
}

/// The row of the rate once counted one of these two seconds, and availability both.
#[test]
fn a_rate_counts_its_missed_seconds_as_availability_does() {
    let mut operations = [2300; 30];
    operations[20..24].copy_from_slice(&[2220, 2380, 2040, 2560]);
    let observed = observe_paced(2300, &operations);
    let verdict = judge(&clauses("iops>=2300"), &observed, &Context::default());
    assert_outcome(&verdict, Outcome::Pass);
    let reason = &verdict.clauses[0].reason;
    assert!(reason.ends_with("below it in 2 of 30 seconds"), "{verdict:#?}");
}

/// Waits of 10 ms in each second explain a slow operation in a hundred, but not one in ten.
#[test]
fn a_tail_that_waits_for_processors_explain_does_not_fail() {
    let verdict = |slow: u64| {
        let mut second_latencies = Histogram::new();
        second_latencies.record_times(1_000_000, 1000 - slow);
        second_latencies.record_times(20_000_000, slow);
        let intervals: Vec<IntervalHistogram> = (0..60)
            .map(|second| IntervalHistogram {
                start_ns: Nanos::secs(second),
                length_ns: Nanos::secs(1),
                latency: PerDirection::from_reads(Some(second_latencies.clone())),
            })
            .collect();
        let mut all = Histogram::new();
        (0..60).for_each(|_| all.merge(&second_latencies));
        let mut observed = SeriesGenerator::new(3).observation(1000.0, 2000.0, 1.0, 60);
        observed.total.response = Latency::from_histogram(&all);
        observed.load.workers = Some(1);
        let seconds = (0..60).map(|number| {
            full_second(number, false).with(|second| {
                (second.facts.operations, second.facts.queue.issued) = (1000, 1000);
                second.facts.service_ns = Nanos(second_latencies.sum() as u64);
                second.facts.threads.run_delay_ns = Nanos::millis(10);
            })
        });
        observed.seconds = seconds.collect();
        let context = Context::default().with(|context| context.intervals = &intervals);
        judge(&clauses("p99<=5ms"), &observed, &context)
    };
    let explained = "which may explain 100 % of the operations beyond the limit";
    assert_inconclusive(&verdict(13), Cause::Others, explained);
    assert_outcome(&verdict(100), Outcome::Fail);
}

/// 16 slots serve the promised rate until the storage allows only half of it.
#[test]
fn a_rate_that_falls_to_a_constant_one_is_not_a_lack_of_slots() {
    let verdict = |spread: u64| {
        let operations: Vec<u64> = (0..60)
            .map(|second| match second {
                0..30 => 6000,
                _ => 3000 + second % 2 * spread,
            })
            .collect();
        let mut observed = observe_paced(6000, &operations);
        for second in &mut observed.seconds {
            second.facts.threads = ThreadUse::default();
        }
        observed.load.depth = Some(16);
        observed.total.iops = Some(4500.0);
        judge(&clauses("iops>=6000"), &observed, &Context::default())
    };
    let throttled = verdict(0);
    assert_outcome(&throttled, Outcome::Fail);
    assert_contains(&throttled.clauses[0].reason, "6000 IOPS for 30 s, then 3000");
    // The service of a device varies as much, so more in flight may raise the rate.
    let fell = "the rate fell from 6000 to 3040 IOPS at 30 s, as when credits run out";
    assert_inconclusive(&verdict(80), Cause::Generator, fell);
}

/// Two tenths of a second without completions, during which the thread waited for a processor.
#[test]
fn a_gap_without_a_free_processor_is_no_stall_of_the_storage() {
    let reason = |is_disturbed: bool| {
        let mut observed = observe_paced(200, &[200; 20]);
        observed.total.latency = observed.total.latency.map(|latency| Latency {
            mean_ns: Some(1e6),
            ..latency
        });
        let first = observed.series[0];
        let point = |tenth: u64| SeriesPoint {
            start_ns: Nanos::millis(100 * tenth),
            length_ns: Nanos::millis(100),
            operations: [if [100, 101].contains(&tenth) { 0 } else { 20 }, 0, 0],
            ..first
        };
        observed.series = (0..200).map(point).collect();
        if is_disturbed {
            observed.seconds[10].facts.threads.run_delay_ns = Nanos::millis(600);
        }
        let verdict = judge(&clauses("iops>=200"), &observed, &Context::default());
        assert_outcome(&verdict, Outcome::Pass);
        verdict.clauses[0].reason.clone()
    };
    let (stalled, waited) = (reason(false), reason(true));
    assert!(stalled.contains("one stall of 0.2 s at 10 s"), "{stalled}");
    assert_contains(&waited, "one gap of 0.2 s at 10 s, when no processor was free");
}
