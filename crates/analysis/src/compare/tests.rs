//! Comparisons of synthetic results with known differences.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

use model::draws::{Draws, GeneratorChoice, Purpose};
use model::histogram::Histogram;
use model::observation::{IoStats, Latency, Load, Observation, SeriesPoint};
use model::stats::{detectable_shift, normal_quantile};
use model::{Bytes, Nanos};

use super::*;

/// A synthetic run of 60 s with this rate and mean latency, and noise of ±5 % between seconds.
fn run(draws: &mut Draws, iops: f64, latency_us: f64) -> Observation {
    let mut noise = || 0.95 + 0.1 * draws.next_f64(Purpose::Content);
    let mut histogram = Histogram::new();
    for _ in 0..20_000 {
        histogram.record((latency_us * 1000.0 * noise()) as u64);
    }
    let series: Vec<SeriesPoint> = (0..60)
        .map(|second| SeriesPoint {
            start_ns: Nanos::secs(second),
            length_ns: Nanos::secs(1),
            operations: [(iops * noise()) as u64, 0, 0],
            mean_ns: Some(latency_us * 1000.0 * noise()),
            ..SeriesPoint::default()
        })
        .collect();
    let operations: u64 = series.iter().map(|point| point.operations[0]).sum();
    Observation {
        tool: "fathom".into(),
        load: Load {
            block: Some(Bytes::kib(4)),
            depth: Some(8),
            closed_loop: Some(true),
            ..Load::default()
        },
        measured_ns: Some(Nanos::secs(60)),
        total: IoStats {
            operations: Some(operations),
            iops: Some(operations as f64 / 60.0),
            latency: Latency::from_histogram(&histogram),
            ..IoStats::default()
        },
        series,
        ..Observation::default()
    }
}

fn draws() -> Draws {
    GeneratorChoice::Native { seed: 17 }.start()
}

fn judgement(changes: &[Change], figure: Figure) -> Judgement {
    changes.iter().find(|change| change.figure == figure).unwrap().word
}

#[test]
fn a_change_of_ten_percent_is_detected_in_every_figure() {
    let draws = &mut draws();
    let (slow, fast) = (run(draws, 10_000.0, 800.0), run(draws, 11_000.0, 720.0));
    let better = changes(&slow, &fast, MARGIN);
    assert_eq!(better.len(), 6);
    assert!(
        better.iter().all(|change| change.word == Judgement::Better),
        "{better:#?}"
    );
    let worse = changes(&fast, &slow, MARGIN);
    assert!(worse.iter().all(|change| change.word == Judgement::Worse), "{worse:#?}");
    let iops = &better[0];
    assert!(iops.low.unwrap() < 1.1 && iops.high.unwrap() > 1.1, "{iops:?}");
    let sentence = describe_change(iops, "B", "A", MARGIN);
    assert!(
        sentence.starts_with("B is better than A: +") && sentence.ends_with("operations per second."),
        "{sentence}"
    );
}

#[test]
fn changes_in_both_directions_are_described() {
    let change = |figure: Figure, word: Judgement, ratio: f64| Change {
        figure,
        from: 1.0,
        to: ratio,
        ratio,
        low: None,
        high: None,
        p: None,
        word,
    };
    let found = [
        change(Figure::Iops, Judgement::Better, 1.5),
        change(Figure::Quantile(0.99), Judgement::Worse, 3.0),
    ];
    assert_eq!(
        describe_contrary(Judgement::Better, &found).as_deref(),
        Some("better in IOPS +50 %; worse in p99 +200 %")
    );
    assert_eq!(describe_contrary(Judgement::Better, &found[..1]), None);
    // A rate that may differ by chance does not hide another figure.
    assert_eq!(
        describe_contrary(Judgement::Undecided, &found[1..]).as_deref(),
        Some("worse in p99 +200 %")
    );
    assert_eq!(describe_contrary(Judgement::Doubtful, &found), None);
    let wide = Change {
        low: Some(0.81),
        high: Some(4.7),
        ..change(Figure::Quantile(0.95), Judgement::Undecided, 1.96)
    };
    assert_eq!(wide.describe(), "1.96 times (0.81 to 4.70)");
    assert_eq!(wide.describe_judgement(), "not known");
    let apart = Change {
        low: Some(1.29),
        high: Some(12.4),
        ..change(Figure::Quantile(0.99), Judgement::Undecided, 3.99)
    };
    assert_eq!(apart.describe(), "3.99 times (1.29 to 12.4)");
    assert_eq!(apart.describe_judgement(), "may be chance");
}

#[test]
fn equal_runs_rarely_differ() {
    let draws = &mut draws();
    let mut wrong = 0;
    for _ in 0..100 {
        let (a, b) = (run(draws, 10_000.0, 800.0), run(draws, 10_000.0, 800.0));
        let found = changes(&a, &b, MARGIN);
        wrong += u32::from(
            found
                .iter()
                .any(|change| matches!(change.word, Judgement::Better | Judgement::Worse)),
        );
        assert_eq!(judgement(&found, Figure::Quantile(0.5)), Judgement::Same);
        assert_ne!(judgement(&found, Figure::Iops), Judgement::Better);
    }
    assert!(wrong <= 5, "{wrong} of 100");
}

#[test]
fn without_a_series_or_a_histogram_a_change_is_undecided() {
    let draws = &mut draws();
    let (a, mut b) = (run(draws, 10_000.0, 800.0), run(draws, 20_000.0, 400.0));
    b.series.clear();
    let found = changes(&a, &b, MARGIN);
    assert_eq!((found[0].word, found[0].low), (Judgement::Undecided, None));
    assert!(describe_change(&found[0], "B", "A", MARGIN).contains("it is unknown how much of that is chance"));
    b.total.latency.as_mut().unwrap().histogram = None;
    b.total.latency.as_mut().unwrap().quantiles = vec![(0.99, 400_000.0)];
    let found = changes(&a, &b, MARGIN);
    assert_eq!(judgement(&found, Figure::Quantile(0.99)), Judgement::Undecided);
    assert!(
        found.iter().all(|change| change.figure != Figure::Quantile(0.5)),
        "the report states no median"
    );
}

#[test]
fn pairs_detect_a_change_smaller_than_daily_variation() {
    let draws = &mut draws();
    // Each pair is measured on a different day, and rates of the days differ by up to a factor of
    // two. B is 5 % better on every day.
    let days: Vec<f64> = (0..8).map(|_| 1.0 + draws.next_f64(Purpose::Content)).collect();
    let made: Vec<(Observation, Observation)> = days
        .iter()
        .map(|day| (run(draws, 10_000.0 * day, 800.0), run(draws, 10_500.0 * day, 800.0)))
        .collect();
    let pairs: Vec<(&Observation, &Observation)> = made.iter().map(|(a, b)| (a, b)).collect();
    let found = compare_interleaved(&pairs, MARGIN).unwrap();
    assert_eq!(
        (found.primary, found.word, found.pairs),
        (Figure::Iops, Judgement::Better, 8)
    );
    assert_eq!(judgement(&found.changes, Figure::Mean), Judgement::Same);
    assert!(
        found.detectable.unwrap() < 0.02 && found.p_of_ranks.unwrap() < 0.01,
        "{found:?}"
    );
    assert!((found.changes[0].ratio - 1.05).abs() < 0.01);
    assert_eq!(compare_interleaved(&pairs[..1], MARGIN), None);
}

#[test]
fn one_contrary_pair_of_six_leaves_the_comparison_undecided() {
    let draws = &mut draws();
    let mut made: Vec<(Observation, Observation)> = (0..6)
        .map(|_| (run(draws, 10_000.0, 800.0), run(draws, 10_400.0, 800.0)))
        .collect();
    made[2].1 = run(draws, 9_000.0, 800.0);
    let pairs: Vec<(&Observation, &Observation)> = made.iter().map(|(a, b)| (a, b)).collect();
    assert_eq!(compare_interleaved(&pairs, MARGIN).unwrap().word, Judgement::Undecided);
}

/// With five pairs that all improve, Student's t-test is significant, but the signed-rank test
/// cannot be. A figure is better only if both are.
#[test]
fn a_judgement_needs_a_significant_signed_rank_test() {
    let draws = &mut draws();
    let made: Vec<(Observation, Observation)> = (0..5)
        .map(|_| (run(draws, 10_000.0, 800.0), run(draws, 20_000.0, 400.0)))
        .collect();
    let pairs: Vec<(&Observation, &Observation)> = made.iter().map(|(a, b)| (a, b)).collect();
    let found = compare_interleaved(&pairs, MARGIN).unwrap();
    assert!(found.changes.iter().all(|change| change.p.unwrap() < 0.05), "{found:?}");
    assert!(
        found.changes.iter().all(|change| change.word == Judgement::Undecided),
        "{found:?}"
    );
    assert_eq!((found.word, found.detectable), (Judgement::Undecided, None));
}

/// The change that the report calls detectable is detected in about four of five comparisons, here
/// of 300. Each has six pairs; the logarithms of their ratios have a standard deviation of 1 %.
#[test]
fn a_detectable_change_is_detected_in_four_of_five_comparisons() {
    let draws = &mut draws();
    let a = run(draws, 10_000.0, 800.0);
    let change = 0.01 * detectable_shift(6, 0.05 / 6.0, 0.05).unwrap();
    let found = (0..300).filter(|_| {
        let mut noise = || normal_quantile(draws.next_f64(Purpose::Content).max(1e-12)) * 0.01;
        // Only the rate changes. The unchanged figures raise its p-value through Holm's adjustment.
        let mut changed = || {
            let mut b = a.clone();
            b.total.iops = b.total.iops.map(|iops| iops * (change + noise()).exp());
            b
        };
        let made = [(); 6].map(|()| changed());
        let pairs: Vec<(&Observation, &Observation)> = made.iter().map(|b| (&a, b)).collect();
        compare_interleaved(&pairs, 0.0).unwrap().word == Judgement::Better
    });
    let found = found.count();
    assert!((225..=262).contains(&found), "{found} of 300");
}

#[test]
fn paced_loads_are_judged_by_latency() {
    let draws = &mut draws();
    let (mut a, b) = (run(draws, 4_000.0, 800.0), run(draws, 4_000.0, 400.0));
    a.load.closed_loop = Some(false);
    assert_eq!(primary(&[&a, &b]), Some(Figure::Mean));
    let ranked = rank(&[&a, &b], MARGIN);
    assert_eq!(ranked.iter().map(|result| result.index).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(ranked[1].to_best.as_ref().unwrap().word, Judgement::Worse);
    assert_eq!(primary(&[]), None);
}

#[test]
fn a_ranking_compares_each_result_with_the_best() {
    let draws = &mut draws();
    let made = [8_000.0, 12_000.0, 12_010.0, 10_000.0].map(|iops| run(draws, iops, 800.0));
    let ranked = rank(&made.iter().collect::<Vec<_>>(), MARGIN);
    assert_eq!(ranked[2].index, 3);
    assert_eq!(ranked[3].index, 0);
    let words: Vec<Option<Judgement>> = ranked
        .iter()
        .map(|result| result.to_best.as_ref().map(|change| change.word))
        .collect();
    assert!(
        matches!(words[1], Some(Judgement::Same | Judgement::Undecided)),
        "{words:?}"
    );
    assert_eq!(words[2..], [Some(Judgement::Worse), Some(Judgement::Worse)]);
}

#[test]
fn differences_are_sorted_by_importance_and_omit_unknown_values() {
    let draws = &mut draws();
    let (mut a, mut b) = (run(draws, 1_000.0, 800.0), run(draws, 1_000.0, 800.0));
    assert_eq!(
        list_differences(&[facts_of_observation(&a), facts_of_observation(&b)]),
        []
    );
    b.load.block = Some(Bytes::kib(8));
    b.version = Some("2".into());
    a.load.random = Some(true);
    let found = list_differences(&[facts_of_observation(&a), facts_of_observation(&b)]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].kind, &*found[0].name), (FactKind::Load, "block size"));
    assert_eq!(found[0].values, [Some("4 KiB".into()), Some("8 KiB".into())]);
    a.version = Some("1".into());
    b.tool = "fio".into();
    let found = list_differences(&[facts_of_observation(&a), facts_of_observation(&b)]);
    let kinds: Vec<FactKind> = found.iter().map(|difference| difference.kind).collect();
    assert_eq!(kinds, [FactKind::Load, FactKind::Measurement, FactKind::Other]);
    assert!(FactKind::Measurement.prevents_comparison() && !FactKind::System.prevents_comparison());
}
