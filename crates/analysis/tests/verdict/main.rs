//! Verdicts on loads with a known truth: published figures, and figures on either side of a limit.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

mod disturbed;
mod unfinished;

use analysis::policies::{Burst, BurstUnit, Catalogue, Inputs, ResolvedPolicy};
use analysis::requirement::{self, Clause};
use analysis::verdict::{Cause, ClauseVerdict, Context, Outcome, Verdict, judge};
use model::draws::{Draws, GeneratorChoice, Purpose};
use model::finding::{Finding, Severity};
use model::histogram::Histogram;
use model::observation::{CompletionLatency, GeneratorCost, IoStats, Latency, Load, Observation, Second, SeriesPoint};
use model::results::IntervalHistogram;
use model::testing::assert_contains;
use model::{Bytes, Nanos, PerDirection};
use testbed::With;

fn clauses(text: &str) -> Vec<Clause> {
    requirement::parse(text).unwrap()
}

fn ssd_ultra() -> ResolvedPolicy {
    let inputs = Inputs::from([("size".to_owned(), "400GB".to_owned())]);
    Catalogue::built_in()
        .find("provider-sla/ssd-ultra")
        .unwrap()
        .resolve(&inputs)
        .unwrap()
}

fn mean_latency(milliseconds: f64) -> Option<Latency> {
    Some(Latency::default().with(|latency| latency.mean_ns = Some(milliseconds * 1e6)))
}

/// The load of the provider's example: four jobs at depth 1, 700 and 300 operations per second
/// each, 32 KiB, 300 s.
fn provider_example(reads: f64, writes: f64) -> Observation {
    let (read_ms, write_ms) = (1.01146, 0.46878);
    let flow = |iops: f64, milliseconds: f64| IoStats {
        iops: Some(iops),
        bytes_per_sec: Some(iops * 32_768.0),
        latency: mean_latency(milliseconds),
        ..IoStats::default()
    };
    let all = reads + writes;
    Observation {
        tool: "fio".into(),
        load: Load {
            workers: Some(4),
            depth: Some(4),
            block: Some(Bytes::kib(32)),
            random: Some(true),
            direct: Some(true),
            closed_loop: Some(false),
            rate_iops: Some(4000.0),
            ..Load::default()
        },
        measured_ns: Some(Nanos::secs(300)),
        directions: PerDirection::new(Some(flow(reads, read_ms)), Some(flow(writes, write_ms)), None),
        total: flow(all, (reads * read_ms + writes * write_ms) / all),
        ..Observation::default()
    }
}

/// Judges the figures by a requirement, without further knowledge.
fn judge_alone(requirement: &str, observation: &Observation) -> Verdict {
    judge(&clauses(requirement), observation, &Context::default())
}

fn judge_by_policy(observation: &Observation, policy: &ResolvedPolicy) -> Verdict {
    let context = Context {
        workload: Some(&policy.workload),
        latency_ns: policy.latency_ns,
        bursts: &policy.bursts,
        ..Context::default()
    };
    judge(&policy.clauses, observation, &context)
}

#[track_caller]
fn assert_outcome(verdict: &Verdict, outcome: Outcome) {
    assert_eq!(verdict.outcome, outcome, "{verdict:#?}");
}

#[track_caller]
fn assert_note_begins(verdict: &Verdict, start: &str) {
    let notes = &verdict.notes;
    assert!(notes.iter().any(|note| note.starts_with(start)), "{notes:?}");
}

#[test]
fn the_published_example_of_the_provider_passes() {
    let verdict = judge_by_policy(&provider_example(2800.0, 1201.0), &ssd_ultra());
    assert_outcome(&verdict, Outcome::Pass);
    let outcomes: Vec<Outcome> = verdict.clauses.iter().map(|clause| clause.outcome).collect();
    assert_eq!(outcomes, [Outcome::Pass; 4]);
    // 4 ÷ 0.849 ms = 4713: a note mentions that so small a queue hides a part of every stall.
    assert_note_begins(&verdict, "with at most 4 in flight, ");
}

#[test]
fn the_second_published_example_passes() {
    let mut observation = provider_example(2833.0, 1211.0);
    observation.tool = "DiskSpd".into();
    observation.load.depth = Some(2);
    observation.total.latency = mean_latency(0.356);
    observation.directions.read.as_mut().unwrap().latency = None;
    observation.directions.write.as_mut().unwrap().latency = None;
    let verdict = judge_alone("iops>=4000,mean<=3ms", &observation);
    assert_outcome(&verdict, Outcome::Pass);
    // Its author concludes from the mean of all operations that the promise is met.
    let verdict = judge_by_policy(&observation, &ssd_ultra());
    assert_outcome(&verdict, Outcome::Pass);
    assert_contains(&verdict.clauses[2].reason, "so this is the mean of all operations");
}

/// 120 s at depth 64 on a machine that allows 1920 operations per second.
fn capped_machine() -> Observation {
    Observation {
        tool: "DiskSpd".into(),
        load: Load {
            workers: Some(2),
            depth: Some(64),
            block: Some(Bytes::kib(4)),
            random: Some(true),
            closed_loop: Some(true),
            ..Load::default()
        },
        measured_ns: Some(Nanos(120_006_000_000)),
        total: IoStats {
            operations: Some(234_408),
            iops: Some(1953.30),
            iops_deviation: Some(17.72),
            latency: Some(Latency {
                samples: Some(234_408),
                mean_ns: Some(32.763e6),
                deviation_ns: Some(20.994e6),
                ..Latency::default()
            }),
            ..IoStats::default()
        },
        ..Observation::default()
    }
}

#[test]
fn less_than_half_of_the_required_rate_fails() {
    let verdict = judge_alone("iops>=4000", &capped_machine());
    assert_outcome(&verdict, Outcome::Fail);
    let (low, high) = verdict.clauses[0].interval;
    assert!(low.unwrap() > 1940.0 && high.unwrap() < 1967.0, "{verdict:#?}");
    assert_outcome(&judge_alone("iops>=1900", &capped_machine()), Outcome::Pass);
    // The load was not limited to a rate, so its latency does not decide the promise. The rate
    // still fails.
    let verdict = judge_alone("iops>=4000,mean<=3ms", &capped_machine());
    assert_outcome(&verdict, Outcome::Fail);
    assert_eq!(verdict.clauses[1].cause, Some(Cause::Uncapped));
    // Without a required rate, the latency is judged as measured.
    assert_outcome(&judge_alone("mean<=3ms", &capped_machine()), Outcome::Fail);
}

/// A generator of series: seconds vary around a mean rate and are correlated with their neighbours.
struct SeriesGenerator {
    draws: Draws,
}

impl SeriesGenerator {
    fn new(seed: u64) -> SeriesGenerator {
        SeriesGenerator {
            draws: GeneratorChoice::Native { seed }.start(),
        }
    }

    fn draw_normal(&mut self) -> f64 {
        (0..12).map(|_| self.draws.next_f64(Purpose::Content)).sum::<f64>() - 6.0
    }

    /// A paced load of `requested` operations per second over `seconds`. The storage completes at
    /// most `iops` with this mean latency. Operations that do not complete in a second are due in
    /// the next.
    fn observation(&mut self, requested: f64, iops: f64, latency_ms: f64, seconds: u64) -> Observation {
        let (mut rate_level, mut wait_level, mut due) = (0.0, 0.0, 0.0);
        let mut histogram = Histogram::new();
        let series: Vec<SeriesPoint> = (0..seconds)
            .map(|second| {
                rate_level = 0.4 * rate_level + 0.03 * self.draw_normal();
                wait_level = 0.4 * wait_level + 0.05 * self.draw_normal();
                due += requested;
                let operations = (iops * (1.0 + rate_level)).min(due).round() as u64;
                due -= operations as f64;
                let mean = latency_ms * 1e6 * (1.0 + wait_level);
                histogram.record_times(mean as u64, operations);
                SeriesPoint {
                    start_ns: Nanos::secs(second),
                    length_ns: Nanos::secs(1),
                    operations: [operations, 0, 0],
                    bytes: [operations * 4096, 0, 0],
                    mean_ns: Some(mean),
                    p99_ns: None,
                }
            })
            .collect();
        let operations: u64 = series.iter().map(|point| point.operations[0]).sum();
        let depth = 64;
        let service = Latency {
            // The mean latency of a full queue.
            mean_ns: Some(depth as f64 / (operations as f64 / seconds as f64) * 1e9),
            ..Latency::default()
        };
        let total = IoStats {
            operations: Some(operations),
            bytes: Some(Bytes(operations * 4096)),
            iops: Some(operations as f64 / seconds as f64),
            bytes_per_sec: Some(operations as f64 / seconds as f64 * 4096.0),
            latency: Some(service),
            response: Latency::from_histogram(&histogram),
            ..IoStats::default()
        };
        Observation {
            tool: "fathom".into(),
            load: Load {
                depth: Some(depth),
                block: Some(Bytes::kib(4)),
                random: Some(true),
                closed_loop: Some(false),
                rate_iops: Some(requested),
                ..Load::default()
            },
            measured_ns: Some(Nanos::secs(seconds)),
            directions: PerDirection::from_reads(Some(total.clone())),
            total,
            series,
            ..Observation::default()
        }
    }
}

/// Outcomes of a hundred runs of a load. Its true figures are these shares of the promised ones.
fn outcomes(rate_share: f64, latency_share: f64) -> [u32; 3] {
    let mut found = [0; 3];
    for seed in 0..100 {
        let observed = SeriesGenerator::new(seed).observation(4000.0, 4000.0 * rate_share, 3.0 * latency_share, 120);
        let verdict = judge_alone("iops>=4000,mean<=3ms", &observed);
        found[match verdict.outcome {
            Outcome::Pass => 0,
            Outcome::Fail => 1,
            Outcome::Inconclusive | Outcome::Consistent => 2,
        }] += 1;
    }
    found
}

#[test]
fn figures_near_a_limit_are_inconclusive_rather_than_wrong() {
    // Figures far from any limit are judged correctly in every run.
    assert_eq!(outcomes(0.90, 0.5), [0, 100, 0], "rate far below");
    assert_eq!(outcomes(1.05, 1.1), [0, 100, 0], "latency far above");
    let [pass, fail, _] = outcomes(1.05, 0.9);
    assert!(pass >= 99 && fail == 0, "{pass} {fail}");
    // A rate has a tolerance of 1 %.
    for (share, is_met) in [(0.994, true), (0.98, false), (0.985, false)] {
        let [pass, fail, _] = outcomes(share, 0.5);
        let wrong = if is_met { fail } else { pass };
        assert_eq!(wrong, 0, "{share}: {pass} passed, {fail} failed");
    }
    // Just beyond a limit, wrong verdicts are rare.
    for (rate, latency) in [(0.98, 0.5), (1.0, 1.02), (0.985, 0.99)] {
        let [pass, ..] = outcomes(rate, latency);
        assert!(pass <= 1, "{rate} {latency}: {pass} passed wrongly");
    }
    for (rate, latency) in [(1.0, 0.98), (0.995, 0.98), (1.02, 0.99)] {
        let [_, fail, _] = outcomes(rate, latency);
        assert!(fail <= 1, "{rate} {latency}: {fail} failed wrongly");
    }
}

#[test]
fn figures_exactly_at_the_limit_are_rarely_decided() {
    for (rate, latency) in [(0.99, 0.5), (1.0, 1.0)] {
        let [pass, fail, _] = outcomes(rate, latency);
        assert!(pass <= 4 && fail <= 2, "{rate} {latency}: {pass} {fail}");
    }
}

fn judge_slow_storage(requested: f64, change: impl FnOnce(&mut Observation)) -> Verdict {
    let mut observed = SeriesGenerator::new(3).observation(requested, 3000.0, 21.0, 60);
    change(&mut observed);
    judge_alone("iops>=4000", &observed)
}

#[track_caller]
fn assert_inconclusive(verdict: &Verdict, cause: Cause, part: &str) {
    assert_outcome(verdict, Outcome::Inconclusive);
    let has_rule = verdict
        .clauses
        .iter()
        .any(|of: &ClauseVerdict| of.cause == Some(cause) && of.reason.contains(part));
    assert!(has_rule, "{cause:?} {part}: {verdict:#?}");
}

#[test]
fn a_busy_generator_does_not_fail_a_promise() {
    assert_outcome(&judge_slow_storage(4000.0, |_| {}), Outcome::Fail);
    assert_inconclusive(
        &judge_slow_storage(3000.0, |_| {}),
        Cause::Generator,
        "only 3000 operations per second",
    );
    // 4000 per second at the default latency of 2 ms need 8 slots.
    let verdict = judge_slow_storage(4000.0, |observed| {
        observed.load.depth = Some(7);
        observed.total.latency.as_mut().unwrap().mean_ns = Some(3e6);
    });
    assert_inconclusive(&verdict, Cause::Generator, "7 slots are too few");
    let verdict = judge_slow_storage(4000.0, |observed| {
        observed.total.latency.as_mut().unwrap().mean_ns = Some(1e6)
    });
    assert_inconclusive(&verdict, Cause::Generator, "on average 3.0 of 64 slots were in use");
    assert_inconclusive(
        &judge_slow_storage(4000.0, |observed| observed.load.depth = None),
        Cause::Generator,
        "the queue depth is unknown",
    );
    let verdict = judge_slow_storage(4000.0, |observed| {
        observed.load.rate_iops = None;
        observed.load.closed_loop = Some(true);
        observed.generator = Some(GeneratorCost::default().with(|generator| generator.busiest_worker = 0.97));
    });
    assert_inconclusive(&verdict, Cause::Generator, "97 % of a processor");
}

#[test]
fn a_latency_is_judged_only_at_the_promised_rate() {
    let above = SeriesGenerator::new(5).observation(6000.0, 7000.0, 4.0, 60);
    let verdict = judge_alone("iops>=4000,mean<=3ms", &above);
    assert_inconclusive(&verdict, Cause::Uncapped, "not limited to the promised rate");
    let action = "repeat with the promised rate: --rate 4000";
    assert_eq!(verdict.clauses[1].action.as_deref(), Some(action));
    // 4000 operations per second of 3 ms each are 12 in flight.
    let shallow = above.with(|observation| observation.load.depth = Some(8));
    let verdict = judge_alone("iops>=4000,mean<=3ms", &shallow);
    assert_eq!(verdict.clauses[1].action, Some(format!("{action} --depth 32")));
    let below = SeriesGenerator::new(5).observation(3000.0, 4000.0, 1.0, 60);
    let verdict = judge_alone("iops>=4000,mean<=3ms", &below);
    assert_inconclusive(&verdict, Cause::Load, "are promised");
    let action = "repeat with the load of the promise: --rate 4000";
    assert_eq!(verdict.clauses[1].action.as_deref(), Some(action));
}

/// Judged by its latency alone, the device would look slow.
#[test]
fn a_latency_at_a_rate_beyond_the_capacity_names_the_backlog() {
    let reason = |iops: f64| {
        let made = SeriesGenerator::new(5).observation(4000.0, iops, 900.0, 60);
        let verdict = judge_alone("mean<=3ms", &made);
        assert_outcome(&verdict, Outcome::Fail);
        verdict.clauses[0].reason.clone()
    };
    let backlog = "missed: even without waiting, an operation took ";
    assert!(reason(2500.0).starts_with(backlog), "{}", reason(2500.0));
    assert!(
        reason(2500.0).ends_with(" with the queue that built up"),
        "{}",
        reason(2500.0)
    );
    assert!(!reason(3990.0).contains("without waiting"), "{}", reason(3990.0));
}

#[test]
fn percentiles_need_samples_beyond_them() {
    let mut observed = SeriesGenerator::new(1).observation(100.0, 200.0, 1.0, 30);
    let verdict = judge_alone("p99.9<=3ms", &observed);
    assert_inconclusive(&verdict, Cause::Samples, "10000 are needed");
    assert_outcome(&judge_alone("p99<=3ms", &observed), Outcome::Pass);
    assert_outcome(&judge_alone("p99<=500us", &observed), Outcome::Fail);
    // The same with percentiles that another tool reports.
    let response = observed.total.response.as_mut().unwrap();
    response.histogram = None;
    response.quantiles = vec![(0.5, 1e6), (0.95, 1.2e6), (0.99, 1.3e6), (0.995, 2e6)];
    assert_outcome(&judge_alone("p99<=3ms", &observed), Outcome::Pass);
    assert_outcome(&judge_alone("p99<=1.1ms", &observed), Outcome::Fail);
    assert_inconclusive(
        &judge_alone("p99<=1.5ms", &observed),
        Cause::Spread,
        "this range includes the limit",
    );
    // fio reports percentiles of reads and of writes; the total's percentile is between them.
    let direction_observation = |p90: f64| {
        let waited = Latency::default().with(|latency| latency.quantiles = vec![(0.9, p90)]);
        let operations = Some(3000);
        Some(IoStats::default().with(|flow| (flow.operations, flow.latency) = (operations, Some(waited))))
    };
    (observed.directions.read, observed.directions.write) = (direction_observation(1e6), direction_observation(2e6));
    let judged = |text: &str| judge_alone(text, &observed);
    assert_outcome(&judged("p90<=3ms"), Outcome::Pass);
    assert_outcome(&judged("p90<=500us"), Outcome::Fail);
    assert_inconclusive(&judged("p90<=1.5ms"), Cause::Spread, "this range includes the limit");
    observed.directions = Default::default();
    observed.tool = "figures".into();
    assert_inconclusive(
        &judge_alone("p90<=3ms", &observed),
        Cause::Absent,
        "the source does not report this figure",
    );
}

/// 0.8 % slow operations: if they are spread evenly, p99 is known precisely; if they all occur in
/// one second, it is not.
#[test]
fn clustered_slow_operations_make_a_percentile_less_certain() {
    let interval = |second: u64, slow: u64| {
        let mut histogram = Histogram::new();
        histogram.record_times(1_000_000, 1000 - slow);
        histogram.record_times(50_000_000, slow);
        IntervalHistogram {
            start_ns: Nanos::secs(second),
            length_ns: Nanos::secs(1),
            latency: PerDirection::from_reads(Some(histogram)),
        }
    };
    let verdict = |slow: &dyn Fn(u64) -> u64| {
        let intervals: Vec<IntervalHistogram> = (0..60).map(|second| interval(second, slow(second))).collect();
        let mut all = Histogram::new();
        intervals
            .iter()
            .for_each(|of| all.merge(of.latency.read.as_ref().unwrap()));
        let mut observed = SeriesGenerator::new(1).observation(1000.0, 2000.0, 1.0, 60);
        observed.total.response = Latency::from_histogram(&all);
        let context = Context::default().with(|context| context.intervals = &intervals);
        judge(&clauses("p99<=5ms"), &observed, &context)
    };
    assert_outcome(&verdict(&|_| 8), Outcome::Pass);
    assert_inconclusive(
        &verdict(&|second| if second == 30 { 480 } else { 0 }),
        Cause::Spread,
        "it varied from second to second",
    );
}

#[test]
fn another_load_does_not_decide_a_promise() {
    let policy = ssd_ultra();
    let change = |change: fn(&mut Observation)| {
        let mut observation = provider_example(2800.0, 1201.0);
        change(&mut observation);
        judge_by_policy(&observation, &policy)
    };
    for (another_load, part) in [
        (change(|of| of.load.block = Some(Bytes::kib(4))), "had 4096 bytes"),
        (change(|of| of.load.random = Some(false)), "were sequential"),
        (change(|of| of.load.random = None), "is unknown whether"),
        (change(|of| of.load.direct = Some(false)), "the system's cache"),
    ] {
        assert_inconclusive(&another_load, Cause::Load, part);
    }
    let shallow = change(|of| of.load.depth = Some(1));
    assert_note_begins(&shallow, "with at most 1 in flight, ");
    // Figures without directions have only the requested mix.
    let with_mix = |percent: f64| {
        let mut observation = provider_example(2800.0, 1201.0);
        observation.directions = Default::default();
        observation.load.read_percent = Some(percent);
        judge_by_policy(&observation, &policy)
    };
    assert_eq!(with_mix(70.0).reasons, []);
    assert_inconclusive(&with_mix(50.0), Cause::Mix, "50.0 % of the operations were reads");
    assert_inconclusive(
        &judge_by_policy(&provider_example(2701.0, 1300.0), &policy),
        Cause::Mix,
        "67.5 % of the operations were reads",
    );
    // fathom issued the requested mix, so the storage completed fewer writes.
    let slow_writes = |issued: f64| {
        let mut observation = provider_example(2701.0, 1300.0);
        observation.load.read_percent = Some(issued);
        observation.seconds = vec![Second::default()];
        judge_by_policy(&observation, &policy)
    };
    assert_outcome(&slow_writes(70.0), Outcome::Pass);
    assert_inconclusive(&slow_writes(67.5), Cause::Mix, "67.5 % of the operations were reads");
    // A deviation of 1 percentage point is tolerated.
    assert_outcome(
        &judge_by_policy(&provider_example(2765.0, 1236.0), &policy),
        Outcome::Pass,
    );
}

#[test]
fn failed_operations_fail_the_whole_requirement() {
    let observation = provider_example(2800.0, 1201.0).with(|observation| observation.errors = Some(3));
    let verdict = judge_by_policy(&observation, &ssd_ultra());
    assert_outcome(&verdict, Outcome::Fail);
    assert!(verdict.reasons[0].what.contains("3 operations failed"), "{verdict:#?}");
}

#[test]
fn findings_make_figures_inconclusive() {
    let judge_with = |rule: &str, severity: Severity, iops: f64| {
        let findings = [Finding::new(rule, severity, "the finding of a check")];
        let observed = SeriesGenerator::new(1).observation(4000.0, iops, 1.0, 60);
        let context = Context::default().with(|context| context.findings = &findings);
        judge(&clauses("iops>=4000"), &observed, &context)
    };
    for (rule, severity, iops) in [
        ("CACHE-HITS", Severity::Warning, 5000.0),
        ("IN-MEMORY", Severity::Warning, 5000.0),
        ("OTHER-LOAD", Severity::Warning, 2000.0),
        ("LITTLE-MISMATCH", Severity::Error, 5000.0),
    ] {
        assert_inconclusive(&judge_with(rule, severity, iops), Cause::Invalid, rule);
    }
    // A cache does not make storage slow, and other load does not make it fast.
    assert_outcome(&judge_with("CACHE-HITS", Severity::Warning, 2000.0), Outcome::Fail);
    assert_outcome(&judge_with("OTHER-LOAD", Severity::Warning, 5000.0), Outcome::Pass);
    assert_outcome(&judge_with("WORKER-FAILED", Severity::Error, 5000.0), Outcome::Fail);
    let mut null = SeriesGenerator::new(1).observation(4000.0, 5000.0, 1.0, 60);
    null.load.no_io = true;
    for clause in ["iops>=4000", "iops>=6000"] {
        let verdict = judge(&clauses(clause), &null, &Context::default());
        assert_inconclusive(&verdict, Cause::Invalid, "no storage was tested");
    }
    let interrupted = Context::default().with(|context| context.interrupted = true);
    let observed = SeriesGenerator::new(1).observation(4000.0, 5000.0, 1.0, 60);
    assert_inconclusive(
        &judge(&clauses("iops>=4000"), &observed, &interrupted),
        Cause::Interrupted,
        "stopped before its end",
    );
}

#[test]
fn credits_that_last_for_the_whole_test_do_not_prove_the_rate() {
    let bursts = [Burst {
        unit: BurstUnit::Iops,
        ceiling: 3000.0,
        refill: 300.0,
        bucket: 5.4e6,
        full_after_secs: None,
    }];
    let verdict = |target: f64, seconds: u64| {
        let observed = SeriesGenerator::new(1).observation(target, target * 1.2, 1.0, seconds);
        let context = Context::default().with(|context| context.bursts = &bursts);
        judge(&clauses(&format!("iops>={target}")), &observed, &context)
    };
    assert_inconclusive(&verdict(3000.0, 300), Cause::Burst, "sustains 3000 for 2000 s");
    assert_outcome(&verdict(3000.0, 2300), Outcome::Pass);
    let at_baseline = verdict(300.0, 300);
    assert_outcome(&at_baseline, Outcome::Pass);
    assert!(
        at_baseline.notes.iter().any(|note| note.contains("credits")),
        "{at_baseline:#?}"
    );
}

#[test]
fn availability_fails_or_is_consistent_but_never_passes() {
    let with_bad = |bad: u64| {
        let mut observed = SeriesGenerator::new(1).observation(4000.0, 5000.0, 1.0, 300);
        for (second, point) in observed.series.iter_mut().enumerate() {
            point.operations[0] = if (second as u64 * 7) % 300 < bad { 100 } else { 4100 };
        }
        judge_alone("iops>=4000,availability>=99.9%", &observed)
    };
    let none = with_bad(0);
    assert_eq!(none.outcome, Outcome::Pass, "{none:#?}");
    assert_eq!(none.clauses[1].outcome, Outcome::Consistent, "{none:#?}");
    assert!(none.clauses[1].reason.contains("2995 s without a miss"), "{none:#?}");
    assert_eq!(with_bad(1).clauses[1].outcome, Outcome::Consistent);
    assert_eq!(with_bad(12).clauses[1].outcome, Outcome::Fail);
    assert_outcome(&with_bad(12), Outcome::Fail);
    let alone = judge_alone(
        "availability>=99%",
        &SeriesGenerator::new(1).observation(9.0, 20.0, 1.0, 60),
    );
    assert_outcome(&alone, Outcome::Inconclusive);
    // A series that is too short needs time, not another source.
    let short = SeriesGenerator::new(1).observation(4000.0, 5000.0, 1.0, 5);
    let short = judge_alone("iops>=4000,availability>=99%", &short).clauses.remove(1);
    assert_eq!(
        (short.outcome, short.cause),
        (Outcome::Inconclusive, Some(Cause::Samples))
    );
    assert!(short.reason.contains("5 whole seconds"), "{short:#?}");
    assert_eq!(short.action.as_deref(), Some("measure for at least 10 s: --time 10s"));
}

#[test]
fn a_figure_without_its_spread_passes_only_far_from_the_limit() {
    let bare = |iops: f64| {
        let observation = Observation {
            load: Load::default().with(|load| load.depth = Some(64)),
            total: IoStats::default().with(|flow| flow.iops = Some(iops)),
            ..Observation::default()
        };
        judge_alone("iops>=1000", &observation)
    };
    assert_outcome(&bare(1150.0), Outcome::Pass);
    assert_inconclusive(&bare(1050.0), Cause::Spread, "too close to");
    assert_inconclusive(&bare(950.0), Cause::Spread, "too close to");
    assert_outcome(&bare(800.0), Outcome::Fail);
}

/// fio's clat excludes the submission, which takes all the time of an extending direct write.
#[test]
fn a_percentile_of_the_completion_latency_passes_only_if_submissions_are_short() {
    let verdict_of = |requirement: &str, mean_us: f64, submission_max_us: Option<f64>| {
        let completion = CompletionLatency {
            mean_ns: 3e3,
            submission_max_ns: submission_max_us.map(|max| max * 1e3),
            ..CompletionLatency::default()
        };
        let latency = Latency {
            samples: Some(10_000),
            mean_ns: Some(mean_us * 1e3),
            min_ns: Some(43e3),
            quantiles: [0.4, 0.5, 0.6, 0.985, 0.99, 0.995].map(|share| (share, 2.7e3)).into(),
            completion: Some(completion),
            ..Latency::default()
        };
        let observation = Observation::default().with(|observation| observation.total.latency = Some(latency));
        judge_alone(requirement, &observation)
    };
    let verdict = |mean_us: f64| verdict_of("median<=40us", mean_us, None);
    // Few submissions that take the whole margin change p99, but hardly the mean.
    let few_slow = verdict_of("p99<=50ms", 2633.0, Some(112e3));
    let expected = "clat excludes the submission, which took 2.63 ms on average and up to 112 ms";
    assert_inconclusive(&few_slow, Cause::Absent, expected);
    assert_inconclusive(&verdict_of("p99<=40us", 4.0, None), Cause::Absent, "1 us on average");
    assert_outcome(&verdict_of("p99<=40us", 4.0, Some(30.0)), Outcome::Pass);
    let slow = verdict(151.0);
    assert_inconclusive(
        &slow,
        Cause::Absent,
        "clat excludes the submission, which took 148 us on average",
    );
    assert_contains(&slow.clauses[0].reason, "2.7 us (clat): 93 % below the limit");
    let fast = verdict(4.0);
    assert_outcome(&fast, Outcome::Pass);
    assert_contains(&fast.clauses[0].reason, "2.7 us (clat): 93 % below the limit");
}

#[test]
fn an_interrupted_test_names_the_interruption_and_not_its_length() {
    let few = Observation {
        load: Load::default().with(|load| load.depth = Some(64)),
        total: IoStats::default().with(|flow| flow.iops = Some(950.0)),
        ..Observation::default()
    };
    let lost = [Finding::new("HOST-LOST", Severity::Error, "this host was lost")];
    let context = Context::default().with(|context| context.findings = &lost);
    let verdict = judge(&clauses("iops>=1000"), &few, &context);
    assert_inconclusive(&verdict, Cause::Invalid, "HOST-LOST: this host was lost");
    let context = Context::default().with(|context| context.interrupted = true);
    let verdict = judge(&clauses("iops>=1000"), &few, &context);
    assert_inconclusive(&verdict, Cause::Interrupted, "stopped before its end");
    // The interruption also explains too few operations for a percentile.
    let few = SeriesGenerator::new(1).observation(9.0, 20.0, 1.0, 1);
    let verdict = judge(&clauses("p99.999<=1s"), &few, &context);
    assert_inconclusive(&verdict, Cause::Interrupted, "stopped before its end");
    let whole = judge_alone("p99.999<=1s", &few);
    assert_inconclusive(&whole, Cause::Samples, "too few");
}
