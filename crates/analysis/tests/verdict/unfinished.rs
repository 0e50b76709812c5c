//! Operations that had not completed when the window ended.

use analysis::verdict::{Context, Outcome, Verdict, judge};
use model::histogram::Histogram;
use model::observation::{IoStats, Latency, Load, Observation, SeriesPoint, Unfinished};
use model::results::IntervalHistogram;
use model::testing::assert_contains;
use model::{Nanos, PerDirection};
use testbed::With;

use super::{assert_outcome, clauses};

const RATE: u64 = 4000;
const LATENCY: Nanos = Nanos::micros(650);

/// Reads at a rate for `seconds`, all of the same latency, until the storage hangs for the last
/// `hang` milliseconds. Returns the load, and its latencies by second.
fn hung(seconds: u64, hang: u64) -> (Observation, Vec<IntervalHistogram>) {
    let served_ms = 1000 * seconds - hang;
    let latencies = |operations: u64| {
        let mut histogram = Histogram::new();
        histogram.record_times(LATENCY.0, operations);
        histogram
    };
    let served_in = |start_ms: u64, length_ms: u64| served_ms.saturating_sub(start_ms).min(length_ms) * RATE / 1000;
    let intervals = (0..seconds).map(|second| IntervalHistogram {
        start_ns: Nanos::secs(second),
        length_ns: Nanos::secs(1),
        latency: PerDirection::from_reads(Some(latencies(served_in(1000 * second, 1000)))),
    });
    let series = (0..10 * seconds).map(|tenth| SeriesPoint {
        start_ns: Nanos::millis(100 * tenth),
        length_ns: Nanos::millis(100),
        operations: [served_in(100 * tenth, 100), 0, 0],
        ..SeriesPoint::default()
    });
    let served = served_ms * RATE / 1000;
    let mut ages = Histogram::new();
    (0..hang * RATE / 1000).for_each(|number| ages.record(number * (1_000_000_000 / RATE)));
    let total = IoStats {
        operations: Some(served),
        iops: Some(served as f64 / seconds as f64),
        latency: Latency::from_histogram(&latencies(served)),
        response: Latency::from_histogram(&latencies(served)),
        ..IoStats::default()
    };
    let observation = Observation {
        tool: "fathom".into(),
        load: Load {
            depth: Some(32),
            closed_loop: Some(false),
            rate_iops: Some(RATE as f64),
            ..Load::default()
        },
        measured_ns: Some(Nanos::secs(seconds)),
        directions: PerDirection::from_reads(Some(total.clone())),
        total,
        series: series.collect(),
        unfinished: Unfinished {
            ages: PerDirection::from_reads((!ages.is_empty()).then_some(ages)),
            in_flight_ns: Nanos::millis(32 * hang),
        },
        ..Observation::default()
    };
    (observation, intervals.collect())
}

fn verdict(text: &str, (observation, intervals): &(Observation, Vec<IntervalHistogram>)) -> Verdict {
    let context = Context::default().with(|context| context.intervals = intervals);
    judge(&clauses(text), observation, &context)
}

/// 0.9 % of the operations waited for up to 2.8 s.
#[test]
fn a_hang_at_the_end_passes_no_latency() {
    let load = hung(300, 2800);
    for text in ["p99.9<=10ms", "mean<=1ms", "read.p99.9<=10ms", "read.mean<=1ms"] {
        let verdict = verdict(text, &load);
        assert_ne!(verdict.outcome, Outcome::Pass, "{verdict:#?}");
        let note = verdict.notes.iter().find(|note| note.contains("had not completed"));
        let note = note.unwrap_or_else(|| panic!("a note: {verdict:#?}"));
        assert_contains(
            note,
            "11200 operations had not completed when the window ended, the oldest after 2.8 s",
        );
    }
    // They are few enough for these.
    for text in ["p99<=10ms", "p50<=1ms", "mean<=20ms"] {
        assert_outcome(&verdict(text, &load), Outcome::Pass);
    }
}

/// Even a hang that is too short for a stall.
#[test]
fn a_short_hang_at_the_end_passes_no_latency_either() {
    let load = hung(30, 200);
    for text in ["p99.9<=10ms", "mean<=1ms"] {
        let verdict = verdict(text, &load);
        assert_eq!(verdict.outcome, Outcome::Inconclusive, "{verdict:#?}");
    }
}

/// A busy queue always holds operations of usual ages when the window ends.
#[test]
fn operations_of_usual_ages_change_no_figure() {
    let verdict_with = |oldest: Nanos| {
        let mut load = hung(30, 0);
        let mut ages = Histogram::new();
        (1..=32).for_each(|number| ages.record(number * oldest.0 / 32));
        load.0.unfinished.ages.read = Some(ages);
        verdict("p99.9<=1ms,mean<=1ms", &load)
    };
    assert_eq!(verdict_with(LATENCY), verdict("p99.9<=1ms,mean<=1ms", &hung(30, 0)));
    let verdict = verdict_with(Nanos::millis(2));
    assert_outcome(&verdict, Outcome::Pass);
    assert!(
        verdict.notes.iter().all(|note| !note.contains("had not completed")),
        "{verdict:#?}"
    );
}
