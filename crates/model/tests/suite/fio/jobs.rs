//! Combinations of job settings that were never recorded: groups, rates, pauses, amounts, and
//! everything except the pattern.

use std::collections::BTreeSet;

use model::plan::{
    Batching, Control, Dependency, EndPropagation, ErrorPolicy, FileRangeFlags, FlushKind, Group, LatencyTarget,
    MinimumRate, Process, Span, SteadyState, SyncRule, TrackedMetric, TrimWritten, Verify, VerifyMethod,
};

use super::parts::{
    K, M, MAP, NO_MAP, amount, assert_share, assert_tiles, clone, files, fixed, job, offsets, pattern, plan, random,
    reads, region, single, stream,
};
use crate::drive::{execute, only_worker, whole};
use crate::prelude::*;

/// Clone numbers, and with them the seeds, count over all jobs and steps: a job that comes second
/// has the sequence of a second clone, regardless of its step.
#[test]
fn stonewalls_groups_and_dependencies() {
    let reader = |target: u32| {
        let pattern = pattern(random(MAP), fixed(4 * K));
        stream(target, Mix::READS, pattern, region(0, 64 * K))
    };
    let stop = amount(64 * K, Some(1));
    let clone_job = |name: &str, number: u32| job(name, stop, vec![clone(number, reader(number - 1))]);
    let warm = Job {
        ends_with: EndPropagation {
            // exitall with exit_what=stonewall, and exitall_on_error with exit_what=all.
            jobs: vec![1, 2],
            on_failure: vec![1, 2],
            ..EndPropagation::default()
        },
        ..clone_job("first", 1)
    };
    let waits = clone_job("wait_for=first", 2).with(|job| job.after = vec![Dependency(0)]);
    let chained = Job {
        after: vec![Dependency(0), Dependency(1)],
        phases: Phases {
            start_delay: Span {
                low_ns: Nanos::secs(1),
                high_ns: Nanos::secs(5),
            },
            ..Phases::default()
        },
        ..clone_job("wait_for=wait_for=first, startdelay=1-5", 3)
    };
    let clones = vec![clone(4, reader(3)), clone(5, reader(4))];
    let after_stonewall = job("stonewall numjobs=2", stop, clones)
        .with(|job| job.ends_with = EndPropagation::default().with(|ends_with| ends_with.plan = true));
    let steps = vec![vec![warm, waits, chained], vec![after_stonewall]];
    let mut plan = plan("groups", files(5, 64 * K), steps);
    // new_group on the second job; only adjacent jobs with group_reporting are merged.
    let group = |name: &str, jobs: &[(u32, u32)], merged: bool| Group {
        name: name.into(),
        jobs: jobs.to_vec(),
        merged,
    };
    plan.groups = vec![
        group("0", &[(0, 0)], false),
        group("1", &[(0, 1), (0, 2)], true),
        group("2", &[(1, 0)], true),
    ];
    let plan = whole(plan);
    let sizes = [64 * K; 5];
    let mut seen = BTreeSet::new();
    for ((step, index), job) in plan.jobs() {
        for issued in execute(&plan, step, index, &sizes, 100) {
            assert_tiles(&issued, 0, 64 * K, &job.name);
            assert!(seen.insert(offsets(&issued)), "{}: a seed was used twice", job.name);
        }
    }
    // The operations that fio 3.42 issued for the second of two clones.
    let second = [12, 8, 16, 24, 52, 36, 44, 32, 20, 28, 40, 56, 48, 60, 0, 4].map(|offset| offset * K);
    assert_eq!(offsets(&execute(&plan, 0, 1, &sizes, 100)[0]), second);
}

/// `rate_iops=700,300`, `rate_process=poisson`, and a linear rate in bytes for one direction of
/// three: the mix follows from the rates, regardless of the configured one.
#[test]
fn separate_rates_determine_the_mix() {
    const N: usize = 20_000;
    let paced = |rates: PerDirection<Option<Rate>>| Stream {
        pacing: Pacing::PerDirection { rates },
        ..stream(0, reads(50.0), pattern(random(NO_MAP), fixed(4 * K)), region(0, M))
    };
    let poisson = |rate: Rate| {
        Some(Rate {
            process: Process::Poisson,
            ..rate
        })
    };
    let stop = Stop::after(Nanos::secs(100));
    let rates = PerDirection::new(poisson(Rate::iops(700)), poisson(Rate::iops(300)), None);
    let plan = single("poisson", stop, paced(rates), M);
    let issued = only_worker(&plan, &[M], N);
    assert!(issued.is_sorted_by_key(|issued| issued.due));
    for (direction, per_second) in [(Direction::Read, 700.0), (Direction::Write, 300.0)] {
        let issued = issued.iter().filter(|issued| issued.operation.direction == direction);
        let due: Vec<f64> = issued.map(|issued| issued.due.as_secs()).collect();
        assert_share(due.len(), N, per_second / 1000.0, direction.word());
        let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let squares: f64 = gaps.iter().map(|gap| (gap - mean).powi(2)).sum();
        let deviation = (squares / gaps.len() as f64).sqrt();
        // Both are 1/λ for exponential gaps; their standard errors are 1/(λ√n) and √2/(λ√n).
        let error = 5.0 * 1.5 / (gaps.len() as f64).sqrt();
        assert!((mean * per_second - 1.0).abs() < error, "{direction:?}: mean {mean}");
        assert!(
            (deviation * per_second - 1.0).abs() < error,
            "{direction:?}: deviation {deviation}"
        );
    }
    // Three reads of 4 KiB per second alongside five writes: due at 0, 1/3, 2/3 … and at 0, 1/5,
    // 2/5 …
    let rates = PerDirection::new(Some(Rate::bytes(12 * K)), Some(Rate::iops(5)), None);
    let plan = single("linear", stop, paced(rates), M);
    let issued = only_worker(&plan, &[M], 8);
    let words = issued.iter().map(|issued| {
        let word = if issued.operation.direction == Direction::Read {
            "r"
        } else {
            "w"
        };
        format!("{word}{}", issued.due.0 / 1_000_000)
    });
    let words: Vec<String> = words.collect();
    assert_eq!(words.join(" "), "r0 w0 w200 r333 w400 w600 r666 w800");
}

/// `thinktime` and related options: after blocks, after issued blocks, after a time, with a spin,
/// with a rate that does not make up for it.
#[test]
fn pauses_of_all_kinds() {
    let think = |operations: u32, after_ns: Option<Nanos>, count: ThinkCount, shifts_schedule: bool| Think {
        pause_ns: Nanos::millis(5),
        spin_ns: Nanos::millis(2),
        operations,
        after_ns,
        count,
        shifts_schedule,
        cycles_each: 0,
    };
    let pausing = |think: Think| Stream {
        think: Some(think),
        depth: 4,
        ..stream(0, Mix::READS, pattern(random(NO_MAP), fixed(4 * K)), region(0, M))
    };
    let stop = Stop::after(Nanos::secs(1));
    for (operations, count) in [
        (1, ThinkCount::Completed),
        (7, ThinkCount::Completed),
        (3, ThinkCount::Issued),
    ] {
        let pausing = pausing(think(operations, None, count, true));
        let plan = single("thinktime_blocks", stop, pausing, M);
        for (number, issued) in only_worker(&plan, &[M], 100).iter().enumerate() {
            let pauses = number as u64 / u64::from(operations);
            assert_eq!(issued.due, Nanos::millis(5 * pauses), "{operations} {count:?}");
        }
    }
    // By time alone, and both: in the first, a pause is never due by count.
    let by_time = think(0, Some(Nanos::secs(1)), ThinkCount::Completed, false);
    let plan = single("thinktime_iotime", stop, pausing(by_time), M);
    let issued = only_worker(&plan, &[M], 100);
    assert!(issued.iter().all(|issued| issued.due == Nanos(0)));
    let by_both = think(4, Some(Nanos::secs(1)), ThinkCount::Completed, false);
    single("both", stop, pausing(by_both), M);
}

/// Amounts that are percentages of an unknown target size end the job after that many bytes,
/// however large the target turns out to be.
#[test]
fn amounts_are_percentages_of_an_unknown_size() {
    let stop = Stop::default().with(|stop| stop.region_percent = Some(50));
    let walk = stream(0, Mix::READS, pattern(random(NO_MAP), fixed(4 * K)), Region::default());
    let plan = single("io_size=50%", stop, walk, 0);
    for size in [8 * K, 64 * K, M] {
        let issued = only_worker(&plan, &[size], 100_000);
        assert_eq!(issued.len() as u64 * 4 * K, size / 2);
    }
    // fio issues while the amount is not reached, so the last operation may exceed it.
    let walk = stream(0, Mix::READS, pattern(random(NO_MAP), fixed(12 * K)), region(0, 64 * K));
    let plan = single("bs=12k size=64k", amount(64 * K, None), walk, 64 * K);
    assert_eq!(only_worker(&plan, &[64 * K], 100).len(), 6);
}

/// Everything except the pattern: verification with a backlog, all flushes together, error rules,
/// batches, logs, controls.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, or one table")]
fn other_settings_are_kept() {
    let verified = Stream {
        content: Content::Fresh,
        verify: Some(Verify {
            interval: 4096,
            pattern: b"\xde\xad".to_vec(),
            after_writes: true,
            backlog: 1024,
            backlog_batch: 64,
            any_seed: true,
            any_order: true,
            save_state: true,
            fatal: true,
            dump: true,
            threads: 2,
            processors: vec![0, 2],
            header_at: 512,
            flushed_only: true,
            load_state: true,
            state_file: "local-x-0-verify.state".into(),
            directory: "aux".into(),
            trims: Some(TrimWritten {
                percent: 30,
                backlog: 100,
                batch: 10,
                read_as_zeros: true,
            }),
            ..Verify::new(VerifyMethod::Crc32c)
        }),
        sync: SyncRule {
            every_writes: 32,
            kind: FlushKind::Full,
            data_every_writes: 8,
            file_range: Some((
                16,
                FileRangeFlags {
                    wait_before: true,
                    write: true,
                    wait_after: false,
                },
            )),
            at_end: true,
            on_close: true,
            file_system_at_end: true,
        },
        on_error: ErrorPolicy {
            tolerate_read: vec![5, 84],
            tolerate_write: vec![5, 28],
            tolerate_verify: vec![84],
            stop_when_full: true,
            latency_ns_max: PerDirection::new(Some(Nanos::millis(10)), Some(Nanos::secs(1)), None),
            report_tolerated: true,
            block_lifetimes: true,
            errors_max: None,
        },
        depth: 32,
        ..stream(0, Mix::WRITES, pattern(random(MAP), fixed(4 * K)), region(0, 4 * M))
    };
    let mut worker = clone(1, verified);
    worker.batching = Batching {
        submit: Some(16),
        complete_min: Some(0),
        complete_max: Some(8),
        refill_below: Some(4),
        completion_routines: false,
        serialize_overlap: false,
        count_waits: false,
    };
    worker.engine.atomic = true;
    worker.engine.offload = true;
    let slope = SteadyState {
        metric: TrackedMetric::Latency,
        slope: true,
        limit: 0.3,
        percent: true,
        window_ns: Nanos::secs(10),
        interval_ns: Nanos::secs(1),
        ramp_ns: Nanos::secs(5),
    };
    let watched = Job {
        phases: Phases::default()
            .with(|phases| (phases.warm_up_ns, phases.warm_up_bytes) = (Nanos::secs(10), Some(Bytes::mib(64)))),
        control: vec![
            Control::LatencyTarget(LatencyTarget {
                target_ns: Nanos::micros(500),
                window_ns: Nanos::millis(250),
                percentile: 99.9,
                keep_running: true,
            }),
            Control::SteadyState(slope),
            Control::MinimumRate(MinimumRate {
                metric: TrackedMetric::Throughput,
                direction: Some(Direction::Write),
                min_per_sec: 1e6,
                cycle_ns: Nanos::secs(1),
            }),
        ],
        operation_log: Some("log".into()),
        ..job(
            "everything",
            amount(4 * M, Some(1)).with(|stop| (stop.after_ns, stop.repeat_until_time) = (Some(Nanos::secs(60)), true)),
            vec![worker],
        )
    };
    let mut plan = plan("everything", files(1, 4 * M), vec![vec![watched]]);
    plan.grids = [500, 1000]
        .map(|ms| Grid::new(Nanos::millis(ms), GridScope::Stream))
        .to_vec();
    let plan = whole(plan);
    let issued = only_worker(&plan, &[4 * M], 100_000);
    assert_tiles(&issued, 0, 4 * M, "each block is written once");
}
