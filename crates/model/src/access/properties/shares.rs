//! Compares how often each position is visited with the law of its distribution.

use super::*;

/// Operations in each test.
const OPERATIONS: usize = 200_000;

/// Counts how often each position of [`THOUSAND`] is drawn.
fn counts(placement: Placement) -> Vec<u64> {
    let mut counts = vec![0; 1000];
    for position in reads(&Access::Random { placement }, THOUSAND, 42, OPERATIONS) {
        counts[((position.offset - THOUSAND.base) / 4096) as usize] += 1;
    }
    counts
}

/// Compares χ² of the counts with its 99.99 % quantile (Wilson and Hilferty 1931).
fn assert_chances(what: &str, counts: &[u64], chances: &[f64]) {
    let n = counts.iter().sum::<u64>() as f64;
    assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{what}: not chances");
    let chi2: f64 = counts
        .iter()
        .zip(chances)
        .map(|(count, chance)| (*count as f64 - n * chance).powi(2) / (n * chance))
        .sum();
    let freedom = (chances.len() - 1) as f64;
    let correction = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - correction + 3.719 * correction.sqrt()).powi(3);
    assert!(chi2 < limit, "{what}: chi-square {chi2:.1}, limit {limit:.1}");
}

/// Combines cells with fewer than about twenty of `n` operations.
fn combine_rare(n: usize, counts: &mut Vec<u64>, chances: &mut Vec<f64>) {
    let is_frequent = |chance: &&f64| **chance * n as f64 > 20.0;
    let keep = chances.iter().take_while(is_frequent).count();
    if keep < chances.len() {
        let (rest, counted) = (chances[keep..].iter().sum(), counts[keep..].iter().sum());
        chances.truncate(keep);
        counts.truncate(keep);
        chances.push(rest);
        counts.push(counted);
    }
}

/// Checks that a share is within five standard deviations of the configured one.
fn assert_share(what: &str, hits: u64, total: u64, share: f64) {
    let deviation = (total as f64 * share * (1.0 - share)).sqrt();
    let off = hits as f64 - total as f64 * share;
    assert!(off.abs() <= 5.0 * deviation, "{what}: {hits} of {total} is not {share}");
}

#[test]
fn uniform_positions_are_equally_likely() {
    for (name, placement) in every_placement() {
        if matches!(placement, Placement::Uniform(_)) {
            assert_chances(name, &counts(placement), &[0.001; 1000]);
        }
    }
}

#[test]
fn stepped_distributions_have_their_shares() {
    let check = |what: &str, placement: Placement, parts: &[(f64, std::ops::Range<usize>)]| {
        let counts = counts(placement);
        // Within a range all positions are equally likely; outside all ranges none is.
        let mut chances = Vec::new();
        let mut found = Vec::new();
        for (share, range) in parts {
            chances.extend(range.clone().map(|_| share / range.len() as f64));
            found.extend_from_slice(&counts[range.clone()]);
        }
        assert_eq!(found.iter().sum::<u64>(), OPERATIONS as u64, "{what}: some are outside");
        assert_chances(what, &found, &chances);
    };
    for rule in [RangesRule::Native, RangesRule::Diskspd] {
        check(
            "percent",
            percent_ranges(rule, &[(60.0, 5.0), (0.0, 45.0), (30.0, 20.0), (10.0, 30.0)]),
            &[(0.6, 0..50), (0.3, 500..700), (0.1, 700..1000)],
        );
        let mib = 256.0 * 4096.0;
        check(
            "bytes",
            ranges(RangeBasis::Bytes, rule, &[(80.0, mib), (0.0, mib), (20.0, 0.0)]),
            &[(0.8, 0..256), (0.2, 512..1000)],
        );
    }
    // Shares that are not whole percentages are also exact.
    check(
        "fractions",
        percent_ranges(RangesRule::Native, &[(12.5, 10.0), (87.5, 90.0)]),
        &[(0.125, 0..100), (0.875, 100..1000)],
    );
}

#[test]
fn zipf_follows_its_law_at_every_rank() {
    for theta in [0.5, 0.99, 1.0, 1.2, 2.0] {
        let weights: Vec<f64> = (1..=1000).map(|rank| f64::from(rank).powf(-theta)).collect();
        let sum: f64 = weights.iter().sum();
        let mut chances: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        let mut at_start = counts(zipf(theta, Some(0.0)));
        // With a spread, the same counts occur at other positions.
        let mut spread = counts(zipf(theta, None));
        spread.sort_unstable_by(|a, b| b.cmp(a));
        assert_share("hottest", spread[0], OPERATIONS as u64, chances[0]);
        combine_rare(OPERATIONS, &mut at_start, &mut chances);
        assert_chances(&format!("zipf {theta}"), &at_start, &chances);
    }
}

#[test]
fn pareto_divides_operations_between_hot_and_cold() {
    for h in [0.1, 0.2, 0.4] {
        let at_start = counts(Placement::Pareto(Pareto { h, center: Some(0.0) }));
        let hot = (1000.0 * h) as usize;
        let total = OPERATIONS as u64;
        let hot_count: u64 = at_start[..hot].iter().sum();
        assert_share(&format!("h {h}"), hot_count, total, 1.0 - h);
        // The law is self-similar: it holds again within the hot part.
        let hotter: u64 = at_start[..(1000.0 * h * h).round() as usize].iter().sum();
        assert_share(&format!("h {h}, twice"), hotter, total, (1.0 - h) * (1.0 - h));
    }
}

#[test]
fn normal_has_its_configured_deviation() {
    let bell = counts(Placement::Normal(Normal {
        deviation_percent: 10.0,
        center: 0.4,
    }));
    let count_within = |deviations: usize| bell[400 - 100 * deviations..400 + 100 * deviations].iter().sum::<u64>();
    for (deviations, share) in [(1, 0.682_689), (2, 0.954_500), (3, 0.997_300)] {
        assert_share("normal", count_within(deviations), OPERATIONS as u64, share);
    }
    // Positions beyond one end of the area come back in at the other.
    let edge = counts(Placement::Normal(Normal {
        deviation_percent: 10.0,
        center: 0.0,
    }));
    assert_share("halves", edge[..500].iter().sum(), OPERATIONS as u64, 0.5);
}

#[test]
fn mixed_patterns_have_their_share_of_jumps() {
    for (continuation, percent) in [Continuation::Stride, Continuation::Length, Continuation::Aligned]
        .into_iter()
        .flat_map(|continuation| [0, 1, 10, 50, 95, 100].map(|percent| (continuation, percent)))
    {
        let mixed = Mixed::new(Placement::default(), PerDirection::all(percent), continuation);
        let access = Access::Mixed(mixed);
        let positions = reads(&access, LARGE, 7, OPERATIONS);
        let what = format!("{continuation:?} {percent} %");
        let jumps = positions.iter().filter(|position| !position.continues).count() as u64;
        let share = f64::from(percent) / 100.0;
        assert_share(&what, jumps, OPERATIONS as u64, share);
        for pair in positions.windows(2) {
            if pair[1].continues {
                assert_eq!(pair[1].offset, pair[0].offset + 4096, "{what}: a run is without gaps");
            }
        }
        // Lengths of runs are geometric: after each operation the run continues with the same
        // probability.
        if (10..100).contains(&percent) {
            let mut lengths = vec![0u64; 20];
            let mut run = None;
            for position in &positions {
                match (position.continues, run) {
                    (true, Some(length)) => run = Some(length + 1),
                    (true, None) => {}
                    (false, ended) => {
                        if let Some(length) = ended {
                            lengths[std::cmp::min(length, 20) - 1] += 1;
                        }
                        run = Some(1);
                    }
                }
            }
            let go_on = 1.0 - share;
            let mut chances: Vec<f64> = (0..19).map(|length| share * go_on.powi(length)).collect();
            chances.push(go_on.powi(19));
            combine_rare(jumps as usize, &mut lengths, &mut chances);
            assert_chances(&what, &lengths, &chances);
        }
    }
}

#[test]
fn each_direction_of_a_mixed_pattern_has_its_own_share() {
    for continuation in [Continuation::Stride, Continuation::Length, Continuation::Aligned] {
        let random_percent = PerDirection::new(20, 80, 0);
        let access = Access::Mixed(Mixed::new(Placement::default(), random_percent, continuation));
        let mut walk = walk(&access, LARGE, 3);
        let mut jumps = [0u64; 2];
        for number in 0..OPERATIONS {
            let direction = Direction::ALL[number % 2];
            let (position, _) = walk.next(direction, 0, 4096).expect("it never ends");
            jumps[number % 2] += u64::from(!position.continues);
        }
        assert_share("reads", jumps[0], OPERATIONS as u64 / 2, 0.2);
        assert_share("writes", jumps[1], OPERATIONS as u64 / 2, 0.8);
    }
}
