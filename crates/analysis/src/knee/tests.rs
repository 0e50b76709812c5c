//! Published figures, and curves whose knee is known from their formula.

#![allow(clippy::unwrap_used, reason = "a test that meets the unexpected fails")]

use model::Nanos;
use model::testing::{assert_contains, assert_starts_with};

use super::*;

fn closed(points: &[(f64, f64)]) -> Vec<Point> {
    points.iter().map(|(n, x)| Point::from_closed_loop(*n, *x)).collect()
}

const DEPTHS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

/// A vendor's figures of an all-flash array: 30,000 IOPS at depth 1, 107,000 at 64, 146,000 at 512.
fn array() -> Vec<Point> {
    closed(&[(1.0, 30_000.0), (64.0, 107_000.0), (512.0, 146_000.0)])
}

#[test]
fn three_distant_points_do_not_locate_the_knee() {
    let knee = analyse(&array(), Axis::InFlight, None);
    let bounds = knee.bounds.unwrap();
    assert!((bounds.alone_ns - 33_333.3).abs() < 1.0, "{bounds:?}");
    assert_eq!((bounds.alone_at, bounds.most_at), (1.0, 512.0));
    assert!((bounds.meet_at - 4.866).abs() < 0.01, "{bounds:?}");
    assert_eq!(bounds.times_alone(&knee.points[1]).round(), 18.0);
    assert_eq!(bounds.times_alone(&knee.points[2]).round(), 105.0);
    assert_eq!(knee.points[1].mean_ns.round(), 598_131.0);
    assert_eq!(knee.kneedle, None);
    let usl = knee.usl.unwrap();
    assert_eq!((usl.beta, usl.peak_at, usl.beta_is_significant), (0.0, None, false));
    assert!(
        usl.alpha > 0.2 && usl.alpha < 0.28 && usl.roof_iops.unwrap() > 107_000.0,
        "{usl:?}"
    );
    assert!(!knee.retrograde);
    assert_eq!(knee.advice.kind, AdviceKind::Between);
    assert_eq!((knee.advice.at_least, knee.advice.at_most), (Some(1.0), Some(64.0)));
    assert_eq!(
        knee.advice.sentence,
        "The knee is between 1 and 64 in flight, but the points are too far apart to locate it: an \
        ideal device is saturated at 4.9. At 1 the latency is 33.3 us; at 64 it is 17.9 times as \
        long, for 3.6 times the rate. From 64 to 512 the rate changes by +36 %, and the latency \
        becomes 5.9 times as long. Measure between 1 and 64."
    );
}

#[test]
fn an_unconstrained_fit_would_have_a_negative_cost() {
    // (N·X₁/X_N − 1)/(N−1) = α + βN through the two points above 1: β = −1.45e-4, α = 0.278.
    let c = |n: f64, x: f64| (n * 30_000.0 / x - 1.0) / (n - 1.0);
    let beta = (c(512.0, 146_000.0) - c(64.0, 107_000.0)) / 448.0;
    assert!((beta + 1.45e-4).abs() < 1e-6, "{beta}");
    assert!((c(64.0, 107_000.0) - beta * 64.0 - 0.278).abs() < 1e-3);
}

/// Servers with equal service times: X = min(N, servers) / service.
fn servers(count: f64, service_us: f64) -> Vec<Point> {
    let point = |n: &f64| (*n, n.min(count) / service_us * 1e6);
    closed(&DEPTHS.iter().map(point).collect::<Vec<_>>())
}

#[test]
fn the_knee_of_equal_servers_is_their_number() {
    for count in [2.0, 4.0, 8.0, 16.0, 32.0, 64.0] {
        let knee = analyse(&servers(count, 100.0), Axis::InFlight, None);
        assert_eq!((knee.kneedle, knee.power), (Some(count), Some(count)));
        assert!((knee.bounds.unwrap().meet_at - count).abs() < 1e-9);
        assert_eq!(knee.advice.kind, AdviceKind::Knee);
        assert_eq!(
            (knee.advice.load, knee.advice.at_least),
            (Some(count), Some(count / 2.0))
        );
        assert!(!knee.retrograde);
    }
    let eight = analyse(&servers(8.0, 100.0), Axis::InFlight, None).advice.sentence;
    assert_eq!(
        eight,
        "Use 8 in flight: 80,000 operations per second, 100 % of the measured maximum. The latency \
        is 100 us, as at 1 in flight. From 8 to 16 in flight the rate changes by 0 % and the \
        latency by +100 %: the knee is near 8."
    );
}

/// Exact mean value analysis (Reiser and Lavenberg 1980) of a closed network. It has a delay of
/// `alone` and one queue with one server, so the bounds meet at (alone + service) / service.
fn mean_values(alone_us: f64, service_us: f64) -> Vec<Point> {
    let (mut queue, mut found) = (0.0, Vec::new());
    for n in 1..=512u32 {
        let wait = service_us * (1.0 + queue);
        let rate = f64::from(n) / (alone_us + wait);
        queue = rate * wait;
        if n.is_power_of_two() {
            found.push((f64::from(n), rate * 1e6));
        }
    }
    closed(&found)
}

#[test]
fn the_bounds_of_a_queueing_network_match_theory() {
    for servers in [4.0, 8.0, 16.0, 32.0] {
        // One stage takes 1/servers of the whole, like a bus or a controller in front of many
        // chips.
        let service = 100.0 / servers;
        let knee = analyse(&mean_values(100.0 - service, service), Axis::InFlight, None);
        let meet = knee.bounds.unwrap().meet_at;
        assert!((meet / servers - 1.0).abs() < 0.001, "{meet} for {servers}");
        // The queue bends the curve around the bound, within one step of the grid.
        let found = knee.kneedle.unwrap();
        assert!(
            (servers / 2.0..=servers * 2.0).contains(&found),
            "{found} for {servers}"
        );
        assert!(!knee.retrograde);
    }
}

#[test]
fn noise_does_not_move_the_knee_by_more_than_a_step() {
    use model::draws::{GeneratorChoice, Purpose};
    let mut draws = GeneratorChoice::Native { seed: 11 }.start();
    for _ in 0..200 {
        let mut points = servers(8.0, 100.0);
        for point in &mut points {
            // ±2 % on the rate is more than a sweep with 20 s per point has.
            point.iops *= 0.98 + 0.04 * draws.next_f64(Purpose::Content);
            point.mean_ns = point.load / point.iops * 1e9;
            point.iops_half_width = Some(0.02 * point.iops);
        }
        let knee = analyse(&points, Axis::InFlight, None);
        assert_eq!(knee.kneedle, Some(8.0), "{points:?}");
        assert!((7.0..=9.0).contains(&knee.bounds.unwrap().meet_at));
        assert!(!knee.retrograde);
    }
}

#[test]
fn a_curve_without_a_knee_has_none() {
    let rising = analyse(&servers(4096.0, 100.0), Axis::InFlight, None);
    assert_eq!((rising.kneedle, rising.advice.kind), (None, AdviceKind::StillRising));
    assert_starts_with(&rising.advice.sentence, "No knee up to 512 in flight");
    let flat = analyse(&servers(1.0, 100.0), Axis::InFlight, None);
    assert_eq!((flat.advice.kind, flat.advice.at_most), (AdviceKind::Flat, Some(1.0)));
    assert_eq!(
        analyse(&servers(8.0, 100.0)[..1], Axis::InFlight, None).advice.kind,
        AdviceKind::TooFew
    );
    assert_eq!(analyse(&[], Axis::InFlight, None).advice.kind, AdviceKind::TooFew);
}

/// Rates of a sweep that other programs disturbed: they bend sharply at 6, but rise to 1.8 times
/// that rate.
#[test]
fn scattered_rates_that_continue_to_rise_have_no_knee() {
    let rates = [
        6_920.0, 5_810.0, 19_400.0, 33_100.0, 25_800.0, 23_700.0, 28_500.0, 40_100.0, 59_300.0,
    ];
    let loads = [1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0];
    let points: Vec<(f64, f64)> = loads.into_iter().zip(rates).collect();
    let knee = analyse(&closed(&points), Axis::InFlight, None);
    assert_eq!(
        (knee.kneedle, knee.advice.kind),
        (None, AdviceKind::StillRising),
        "{}",
        knee.advice.sentence
    );
    // The same bend, after which the rate neither doubles nor falls.
    let level = |(load, rate): &(f64, f64)| {
        (
            *load,
            if *load > 6.0 {
                rate.clamp(33_100.0, 40_100.0)
            } else {
                *rate
            },
        )
    };
    let steady: Vec<(f64, f64)> = points.iter().map(level).collect();
    let knee = analyse(&closed(&steady), Axis::InFlight, None);
    assert_eq!(knee.kneedle, Some(6.0));
}

#[test]
fn the_law_behind_the_points_is_recovered() {
    let (lambda, alpha, beta) = (1000.0, 0.03, 0.0005);
    let law = |n: f64| lambda * n / (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0));
    let knee = analyse(&closed(&DEPTHS.map(|n| (n, law(n)))), Axis::InFlight, None);
    let usl = knee.usl.unwrap();
    for (found, truth) in [(usl.lambda, lambda), (usl.alpha, alpha), (usl.beta, beta)] {
        assert!((found / truth - 1.0).abs() < 1e-6, "{usl:?}");
    }
    // ⌊√(0.97/0.0005)⌋ = 44.
    assert_eq!(
        (usl.peak_at, usl.roof_iops, usl.beta_is_significant),
        (Some(44.0), None, true)
    );
    assert!(knee.retrograde);
    assert_contains(&knee.advice.sentence, "the rate falls again");
}

#[test]
fn a_fall_within_the_intervals_does_not_count() {
    let mut points = servers(8.0, 100.0);
    points[9].iops *= 0.96;
    assert!(analyse(&points, Axis::InFlight, None).retrograde);
    points
        .iter_mut()
        .for_each(|point| point.iops_half_width = Some(2_000.0));
    assert!(!analyse(&points, Axis::InFlight, None).retrograde);
}

/// Equal servers with a p99 of twice the mean, known to ±5 %.
fn limited() -> Vec<Point> {
    let mut points = servers(8.0, 100.0);
    for point in &mut points {
        point.limited_ns = Some(2.0 * point.mean_ns);
        point.limited_ns_high = Some(2.1 * point.mean_ns);
    }
    points
}

/// Analyses operations in flight within a limit.
fn analyse_within(points: &[Point], limit: &str) -> Knee {
    analyse(points, Axis::InFlight, Some(&limit.parse().unwrap()))
}

#[test]
fn the_maximum_within_a_limit_is_interpolated() {
    let knee = analyse_within(&limited(), "p99<=1ms");
    let kept = knee.kept.unwrap();
    // Upper bounds: 420 us at 16, 840 us at 32, 1680 us at 64. On log N, the limit is at 160/840 of
    // the way from 32 to 64.
    assert_eq!(
        (kept.kept_at, kept.missed_at, kept.unknown),
        (Some(32.0), Some(64.0), false)
    );
    let expected = 32.0 * 2f64.powf(160.0 / 840.0);
    assert!((kept.depth.unwrap() - expected).abs() < 1e-9, "{kept:?}");
    assert!((kept.iops.unwrap() - 80_000.0).abs() < 1e-6);
    assert_eq!(knee.advice.kind, AdviceKind::LimitKept);
}

/// Depth 12 reached 40,000 within the limit; depth 24 reached the same, at twice the latency.
#[test]
fn the_smallest_load_that_reaches_the_rate_within_a_limit_is_recommended() {
    let knee = analyse_within(&limited(), "p99<=1ms");
    assert_eq!(
        (knee.advice.load, knee.kept.unwrap().smallest_at),
        (Some(8.0), Some(8.0))
    );
    assert_eq!(
        knee.advice.sentence,
        "Use 8 in flight: 80,000 operations per second at a mean of 100 us. A higher load gains nothing: at 32 \
         in flight the mean is 400 us, for 80,000 operations per second. p99 <= 1 ms is met up to 32 in flight; 64 in \
         flight does not meet it."
    );
    let point = |load: f64, iops: f64| Point {
        limited_ns: Some(1e5),
        limited_ns_high: Some(1e5),
        ..Point::from_closed_loop(load, iops)
    };
    let advice = |points: &[Point]| analyse_within(points, "p99<=1ms").advice;
    let same = advice(&[point(6.0, 35_000.0), point(12.0, 39_500.0), point(24.0, 40_000.0)]);
    assert_eq!((same.kind, same.load), (AdviceKind::LimitNotReached, Some(12.0)));
    assert_starts_with(&same.sentence, "Use 12 in flight: 39,500");
    // 39,000 is 2.5 % less.
    let less = advice(&[point(12.0, 39_000.0), point(24.0, 40_000.0)]);
    assert_eq!(less.load, Some(24.0));
    // The rate falls again: the highest rate within the limit counts, not the last one.
    let falling = advice(&[point(6.0, 37_000.0), point(12.0, 40_000.0), point(24.0, 37_000.0)]);
    assert_eq!(falling.load, Some(12.0));
}

#[test]
fn a_growing_rate_is_interpolated_between_two_points() {
    let sentence = |points: &[Point]| analyse_within(points, "p99<=1ms").advice.sentence;
    let point = |load: f64, iops: f64, found: f64, high: f64| Point {
        limited_ns: Some(found),
        limited_ns_high: Some(high),
        ..Point::from_closed_loop(load, iops)
    };
    let first = point(8.0, 40_000.0, 4e5, 5e5);
    // Halfway from 500 us to 1500 us.
    assert_eq!(
        sentence(&[first, point(32.0, 60_000.0, 1.4e6, 1.5e6)]),
        "The maximum with p99 <= 1 ms is about 50,000 operations per second at about 16 in flight: 8 in flight meets \
         it with 40,000 per second, and 32 in flight does not meet it; the values in between are interpolated."
    );
    // The measured value meets the limit, but its upper bound does not.
    assert_eq!(
        sentence(&[first, point(32.0, 40_000.0, 0.9e6, 1.5e6)]),
        "The maximum with p99 <= 1 ms is 40,000 operations per second at 8 in flight; 32 in flight might miss it, \
         because its p99 could be as high as 1.5 ms."
    );
    // With three digits, the bound would equal the limit, which meets it.
    let close = sentence(&[first, point(32.0, 40_000.0, 0.9e6, 1.000_4e6)]);
    assert!(close.ends_with("its p99 could be as high as 1.0004 ms."), "{close}");
}

#[test]
fn nothing_is_interpolated_between_offered_rates() {
    let limit: Limit = "p99<=5ms".parse().unwrap();
    let point = |rate: f64, iops: f64, high: f64| Point {
        load: rate,
        iops,
        mean_ns: 1e6,
        limited_ns: Some(high),
        limited_ns_high: Some(high),
        ..Point::default()
    };
    let points = [point(4000.0, 4000.0, 3.3e6), point(8000.0, 6500.0, 9e8)];
    assert_eq!(
        analyse(&points, Axis::Rate, Some(&limit)).advice.sentence,
        "p99 <= 5 ms is met up to 4,000 per second; 8,000 per second does not meet it. The maximum is in between."
    );
}

#[test]
fn a_limit_can_be_met_everywhere_nowhere_or_unknown() {
    let kind = |limit: &str, points: &[Point]| analyse_within(points, limit).advice.kind;
    assert_eq!(kind("p99 <= 1s", &limited()), AdviceKind::LimitNotReached);
    assert_eq!(kind("p99<100us", &limited()), AdviceKind::LimitMissed);
    let missed = analyse_within(&limited(), "p99<100us");
    assert_eq!(
        missed.advice.sentence,
        "p99 <= 100 us is not met even at 1 in flight, the smallest measured load; the lowest p99 was 200 us \
         (100 % over), at 1 in flight. Fewer operations in flight do not help; the lowest limit that can be met is \
         210 us."
    );
    let mut points = limited();
    points[3].limited_ns_high = None;
    assert_eq!(kind("p99<=1ms", &points), AdviceKind::LimitUnknown);
    points.iter_mut().for_each(|point| point.limited_ns_high = None);
    assert_eq!(kind("p99<=1ms", &points), AdviceKind::LimitUnknown);
}

/// A shallow queue completes too few operations for a high percentile.
#[test]
fn a_first_point_with_too_few_operations_does_not_hide_a_limit() {
    let limit: Limit = "p99<=1ms".parse().unwrap();
    let mut points = limited();
    let kept = evaluate_limit(&points, &limit);
    points[0].limited_ns_high = None;
    assert_eq!(evaluate_limit(&points, &limit), kept);
    let advice = analyse_within(&points, "p99<=1ms").advice;
    assert_eq!(advice.kind, AdviceKind::LimitKept);
    let note = "At 1 in flight, too few operations lie beyond the percentile to decide this, but operations of a \
        smaller load are assumed to wait no longer.";
    assert!(advice.sentence.ends_with(note), "{}", advice.sentence);
    let advice = analyse_within(&points, "p99<100us").advice;
    assert_eq!(advice.kind, AdviceKind::LimitUnknown);
    assert!(
        advice.sentence.ends_with("to decide this; measure for longer."),
        "{}",
        advice.sentence
    );
}

#[test]
fn limits_are_parsed() {
    let limit: Limit = " P99.9 <= 2.5ms ".parse().unwrap();
    assert_eq!(limit.max_ns, Nanos::micros(2500));
    assert_eq!(limit.to_string(), "p99.9 <= 2.5 ms");
    assert_eq!("mean<=3ms".parse::<Limit>().unwrap().figure, LimitedFigure::Mean);
    assert_eq!(
        "median<1ms".parse::<Limit>().unwrap().figure,
        LimitedFigure::Quantile(0.5)
    );
    for (wrong, why) in [
        ("p99", "a clause needs a metric"),
        ("p99<=", "a clause needs a metric"),
        ("p100<=1ms", "no percentile 100"),
        ("iops>=6000", "not a latency limit"),
        ("p99<=5", "has no unit"),
        ("p99<=0ms", "not above 0"),
        ("p99>=3ms", "needs <="),
        ("read.p99<=3ms", "of all operations"),
        ("p99<=3ms,mean<=1ms", "only one latency limit"),
    ] {
        let error = wrong.parse::<Limit>().unwrap_err();
        assert!(error.why.contains(why), "{wrong}: {error}");
    }
}

#[test]
fn offered_rates_are_delivered_or_not() {
    let offered = |points: &[(f64, f64)]| {
        let point = |(load, iops): &(f64, f64)| Point {
            load: *load,
            iops: *iops,
            mean_ns: 150_000.0,
            ..Point::default()
        };
        analyse(&points.iter().map(point).collect::<Vec<_>>(), Axis::Rate, None).advice
    };
    let some = offered(&[(1000.0, 1000.0), (2000.0, 1999.0), (4000.0, 2600.0)]);
    assert_eq!(
        (some.kind, some.load, some.at_most),
        (AdviceKind::Delivered, Some(2000.0), Some(4000.0))
    );
    assert_eq!(
        offered(&[(1000.0, 1000.0), (2000.0, 2000.0)]).kind,
        AdviceKind::AllDelivered
    );
    assert_eq!(
        offered(&[(1000.0, 500.0), (2000.0, 500.0)]).kind,
        AdviceKind::NoneDelivered
    );
}

#[test]
fn refinement_encloses_the_knee() {
    let knee = analyse(&servers(8.0, 100.0), Axis::InFlight, None);
    assert_eq!(refinement(&knee), [6, 12]);
    // 8 in flight reach the same rate as 32, the largest load within the limit: both are enclosed.
    assert_eq!(refinement(&analyse_within(&limited(), "p99<=1ms")), [6, 12, 24, 48]);
    // Around a knee of 2, there is no whole number below, and 3 above.
    assert_eq!(refinement(&analyse(&servers(2.0, 100.0), Axis::InFlight, None)), [3]);
}

/// A page once drew a knee at 16, and claimed that the rate did not fall.
#[test]
fn points_that_fall_and_rise_again_have_no_knee() {
    // Depth, IOPS and half-width as measured next to other programs.
    let measured = [
        (1.0, 13_051.0, 3_328.0),
        (2.0, 13_896.0, 8_046.0),
        (4.0, 24_576.0, 8_602.0),
        (8.0, 32_998.0, 16_763.0),
        (16.0, 42_991.0, 14_359.0),
        (32.0, 49_121.0, 2_947.0),
        (48.0, 27_462.0, 6_289.0),
        (64.0, 58_362.0, 5_077.0),
    ];
    let point = |(depth, iops, half): (f64, f64, f64)| Point {
        iops_half_width: Some(half),
        ..Point::from_closed_loop(depth, iops)
    };
    let knee = analyse(&measured.map(point), Axis::InFlight, None);
    let (dip, higher) = knee.find_dip().unwrap();
    assert_eq!((dip.load, higher.load), (48.0, 64.0));
    assert_eq!((knee.kneedle, knee.retrograde), (None, false));
    let steady = servers(8.0, 100.0);
    assert!(analyse(&steady, Axis::InFlight, None).find_dip().is_none());
}
