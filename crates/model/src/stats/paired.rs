//! Paired comparisons, and corrections for several tests.

use super::changes::median;
use super::intervals::{mean, sample_deviation};
use super::quantiles::{normal_quantile, student_quantile, two_sided_student, upper_tail_of_normal};
use crate::draws::{GeneratorChoice, Purpose};

/// The ratio of the second to the first of each pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedRatio {
    /// The geometric mean of second / first.
    pub ratio: f64,
    /// Lower bound of its interval.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
    /// Probability of a ratio at least this far from 1 if both are the same (Student's paired
    /// test).
    pub p: f64,
    /// Standard deviation of the logarithms of the ratios.
    pub deviation: f64,
    /// Pairs.
    pub pairs: usize,
}

/// Student's paired test on the logarithms of second / first, because relative changes do not
/// depend on the speed of the day. `None` for fewer than two pairs, or if a value is not above 0.
pub fn paired_ratio(pairs: &[(f64, f64)], level: f64) -> Option<PairedRatio> {
    if pairs.len() < 2 || pairs.iter().any(|(a, b)| !(*a > 0.0 && *b > 0.0)) {
        return None;
    }
    let logs: Vec<f64> = pairs.iter().map(|(a, b)| (b / a).ln()).collect();
    let (m, degrees) = ((logs.len() as f64).sqrt(), logs.len() as u32 - 1);
    let (mean, deviation) = (mean(&logs), sample_deviation(&logs));
    let error = deviation / m;
    let half = student_quantile(1.0 - (1.0 - level) / 2.0, degrees) * error;
    let p = match error > 0.0 {
        true => two_sided_student(mean / error, degrees),
        // Identical ratios leave no uncertainty.
        false => f64::from(u8::from(mean == 0.0)),
    };
    Some(PairedRatio {
        ratio: mean.exp(),
        low: (mean - half).exp(),
        high: (mean + half).exp(),
        p,
        deviation,
        pairs: pairs.len(),
    })
}

/// The number of simulated comparisons of [`detectable_shift`], for an accuracy of about 1 %.
const SIMULATED: usize = 4_000;

/// The smallest shift that four of five attempts detect, in standard deviations of one difference.
///
/// An attempt must pass Student's paired test at level `student` and the signed-rank test at level
/// `ranks`, both two-sided. Few pairs need much more than the normal quantiles suggest (2.8/√m):
/// six must all have the same sign. `None` if so few pairs can never pass. The function simulates
/// normal differences with a fixed seed. A set passes once the shift exceeds what both tests
/// require; for the ranks this is one of the averages of two differences (Walsh 1949), because the
/// sum of positive ranks is the number of positive averages.
pub fn detectable_shift(pairs: usize, student: f64, ranks: f64) -> Option<f64> {
    let doubled: Vec<usize> = (1..=pairs).map(|rank| 2 * rank).collect();
    let averages = pairs * (pairs + 1) / 2;
    let passes = |positive: usize| probability_of_ranks(&doubled, 2 * positive) <= ranks;
    let min_positive = (averages / 2 + 1..=averages).find(|positive| passes(*positive))?;
    let degrees = pairs.checked_sub(1).filter(|degrees| *degrees > 0)? as u32;
    let critical = student_quantile(1.0 - student / 2.0, degrees) / (pairs as f64).sqrt();
    let mut draws = GeneratorChoice::Native { seed: 1 }.start();
    let mut shifts: Vec<f64> = Vec::with_capacity(SIMULATED);
    let mut walsh = Vec::with_capacity(averages);
    for _ in 0..SIMULATED {
        let mut normal = || normal_quantile(draws.next_f64(Purpose::Content).max(f64::EPSILON));
        let set: Vec<f64> = (0..pairs).map(|_| normal()).collect();
        walsh.clear();
        for (index, first) in set.iter().enumerate() {
            walsh.extend(set[index..].iter().map(|second| (first + second) / 2.0));
        }
        let (_, lacking, _) = walsh.select_nth_unstable_by(averages - min_positive, f64::total_cmp);
        shifts.push((critical * sample_deviation(&set) - mean(&set)).max(-*lacking));
    }
    let (_, shift, _) = shifts.select_nth_unstable_by(SIMULATED * 4 / 5, f64::total_cmp);
    Some(*shift)
}

/// The result of Wilcoxon's signed-rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRanks {
    /// Sum of the ranks of the positive differences.
    pub positive: f64,
    /// Differences that are not 0.
    pub counted: usize,
    /// Probability of a sum at least this far from its mean if differences are symmetric about 0.
    pub p: f64,
}

/// Maximum number of differences for exact counting, which would be slow beyond it.
const EXACT_UP_TO: usize = 60;

/// Wilcoxon's signed-rank test (1945), two-sided: differences of 0 are dropped, equal ones share
/// their ranks. Exact up to 60 differences, ties included; beyond that, normal with corrections for
/// ties and continuity. `None` if all differences are 0.
pub fn signed_ranks(differences: &[f64]) -> Option<SignedRanks> {
    let mut sorted: Vec<f64> = differences.iter().copied().filter(|value| *value != 0.0).collect();
    sorted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let n = sorted.len();
    if n == 0 {
        return None;
    }
    // Twice the rank is always an integer, even for shared ranks.
    let mut doubled: Vec<usize> = Vec::with_capacity(n);
    for group in sorted.chunk_by(|a, b| a.abs() == b.abs()) {
        let first = doubled.len() + 1;
        doubled.extend(std::iter::repeat_n(2 * first + group.len() - 1, group.len()));
    }
    let pairs = || sorted.iter().zip(&doubled);
    let positive: usize = pairs().filter(|(value, _)| **value > 0.0).map(|(_, rank)| rank).sum();
    Some(SignedRanks {
        positive: positive as f64 / 2.0,
        counted: n,
        p: probability_of_ranks(&doubled, positive),
    })
}

/// The two-sided probability of that sum of doubled ranks.
fn probability_of_ranks(doubled: &[usize], positive: usize) -> f64 {
    match doubled.len() <= EXACT_UP_TO {
        true => exact(doubled, positive),
        false => approximate(doubled, positive),
    }
}

/// Counts the assignments of signs by their sum of doubled ranks.
fn exact(doubled: &[usize], positive: usize) -> f64 {
    let total: usize = doubled.iter().sum();
    let mut ways = vec![0.0; total + 1];
    ways[0] = 1.0;
    for rank in doubled {
        for sum in (*rank..=total).rev() {
            ways[sum] += ways[sum - rank];
        }
    }
    let smaller = positive.min(total - positive);
    let tail: f64 = ways[..=smaller].iter().sum();
    (2.0 * tail / 2f64.powi(doubled.len() as i32)).min(1.0)
}

fn approximate(doubled: &[usize], positive: usize) -> f64 {
    let ranks = || doubled.iter().map(|rank| *rank as f64 / 2.0);
    let mean = ranks().sum::<f64>() / 2.0;
    let deviation = (ranks().map(|rank| rank * rank).sum::<f64>() / 4.0).sqrt();
    let away = ((positive as f64 / 2.0 - mean).abs() - 0.5).max(0.0);
    (2.0 * upper_tail_of_normal(away / deviation)).min(1.0)
}

/// Adjusts the probabilities of several tests so that a false alarm among them is as unlikely as in
/// one test (Holm 1979). Keeps their order.
pub fn adjust_by_holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut adjusted = vec![0.0; probabilities.len()];
    let mut running_max: f64 = 0.0;
    for (rank, index) in order.into_iter().enumerate() {
        running_max = running_max
            .max(probabilities[index] * (probabilities.len() - rank) as f64)
            .min(1.0);
        adjusted[index] = running_max;
    }
    adjusted
}

/// The median of a few runs with an interval that needs no distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianInterval {
    /// Lower bound: one of the values.
    pub low: f64,
    /// Median of the runs.
    pub median: f64,
    /// Upper bound: one of the values.
    pub high: f64,
    /// Probability that it covers the true median: at least the requested level.
    pub level: f64,
}

/// The narrowest interval between two values, as far from either end, that covers the true median
/// with at least `level` (Thompson 1936). From the smallest to the largest of m values the level is
/// 1 − 2^(1−m): 96.9 % for six. `None` if even that is too low.
pub fn median_interval(values: &[f64], level: f64) -> Option<MedianInterval> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let m = sorted.len();
    let (mut below, mut term, mut found) = (0.0, 0.5f64.powi(m as i32), None);
    for left_out in 0..m / 2 {
        below += term;
        let coverage = 1.0 - 2.0 * below;
        if coverage < level {
            break;
        }
        found = Some((left_out, coverage));
        term *= (m - left_out) as f64 / (left_out + 1) as f64;
    }
    let (left_out, coverage) = found?;
    Some(MedianInterval {
        low: sorted[left_out],
        median: median(values),
        high: sorted[m - 1 - left_out],
        level: coverage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_own_data() {
        // Student 1908, hours of sleep gained by two drugs: t = 4.0621, 9 degrees of freedom, p =
        // 0.002833, difference 1.58 (0.700 to 2.460).
        let first: [f64; 10] = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second: [f64; 10] = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let pairs: Vec<(f64, f64)> = first.iter().zip(second).map(|(a, b)| (a.exp(), b.exp())).collect();
        let ratio = paired_ratio(&pairs, 0.95).unwrap();
        assert!((ratio.ratio.ln() - 1.58).abs() < 1e-9);
        assert!((ratio.low.ln() - 0.700_11).abs() < 1e-4 && (ratio.high.ln() - 2.459_89).abs() < 1e-4);
        assert!((ratio.p - 0.002_833).abs() < 1e-6, "{}", ratio.p);
    }

    /// Six pairs pass the rank test only if all have the same sign: Φ(x)⁶ = 0.8 needs x = 1.793.
    /// Many pairs approach the normal quantiles, 1.960 + 0.842, at the efficiency of the ranks,
    /// √(3/π).
    #[test]
    fn few_pairs_find_only_large_changes() {
        let six = detectable_shift(6, 1.0, 0.05).unwrap();
        assert!((six / 1.793 - 1.0).abs() < 0.02, "{six}");
        let many = detectable_shift(100, 0.05, 0.05).unwrap() * 10.0;
        assert!((2.8..3.0).contains(&many), "{many}");
        assert_eq!(detectable_shift(5, 0.05, 0.05), None);
        // Student alone at 5 %: 2.571 + 0.920 for five degrees of freedom, as the sum of quantiles
        // has it.
        let student = detectable_shift(6, 0.05, 1.0).unwrap() * 6f64.sqrt();
        assert!((student / 3.49 - 1.0).abs() < 0.04, "{student}");
    }

    #[test]
    fn identical_ratios_have_no_uncertainty() {
        let equal = paired_ratio(&[(5.0, 5.0); 6], 0.95).unwrap();
        assert_eq!((equal.ratio, equal.low, equal.high, equal.p), (1.0, 1.0, 1.0, 1.0));
        let doubled = paired_ratio(&[(8.0, 16.0); 6], 0.95).unwrap();
        assert!((doubled.low - 2.0).abs() < 1e-12 && doubled.p == 0.0);
        assert_eq!(paired_ratio(&[(1.0, 0.0), (1.0, 1.0)], 0.95), None);
        assert_eq!(paired_ratio(&[(1.0, 1.0)], 0.95), None);
    }

    #[test]
    #[expect(clippy::approx_constant, reason = "a measured 3.14")]
    fn ranks_of_a_published_example() {
        // Hollander and Wolfe 1973, page 29: depression scores before and after; V = 40, one-sided
        // p = 0.01953.
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = before.iter().zip(after).map(|(a, b)| a - b).collect();
        let ranks = signed_ranks(&differences).unwrap();
        assert_eq!((ranks.positive, ranks.counted), (40.0, 9));
        assert!((ranks.p - 2.0 * 0.019_531_25).abs() < 1e-9, "{}", ranks.p);
        // Six differences of one sign are the fewest that reach 5 %.
        assert_eq!(signed_ranks(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap().p, 0.03125);
        assert_eq!(signed_ranks(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap().p, 0.0625);
        assert_eq!(signed_ranks(&[0.0; 6]), None);
    }

    #[test]
    fn shared_ranks_are_counted_exactly() {
        // |1| |1| |2|: ranks 1.5, 1.5, 3. All positive: one of eight assignments on each side.
        let ranks = signed_ranks(&[1.0, 1.0, 2.0]).unwrap();
        assert_eq!((ranks.positive, ranks.p), (6.0, 0.25));
        // Sums of 3 (both small ones, or the large one): half of all are at or below it.
        assert_eq!(signed_ranks(&[1.0, 1.0, -2.0]).unwrap().p, 1.0);
    }

    #[test]
    fn exact_and_approximate_ranks_meet() {
        let mut draws = GeneratorChoice::Native { seed: 4 }.start();
        let doubled: Vec<usize> = (1..=60).map(|rank| 2 * rank).collect();
        for _ in 0..50 {
            let kept = doubled.iter().filter(|_| draws.next_f64(Purpose::Content) < 0.4);
            let positive = kept.sum();
            let (a, b) = (exact(&doubled, positive), approximate(&doubled, positive));
            assert!((a - b).abs() < 0.01, "{a} {b}");
        }
    }

    #[test]
    fn holm_raises_in_steps() {
        let raised = adjust_by_holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in raised.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{raised:?}");
        }
        assert_eq!(adjust_by_holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert_eq!(adjust_by_holm(&[]), Vec::<f64>::new());
    }

    #[test]
    fn the_median_of_six_runs() {
        let six = median_interval(&[5.0, 1.0, 4.0, 2.0, 3.0, 9.0], 0.95).unwrap();
        assert_eq!((six.low, six.median, six.high, six.level), (1.0, 3.5, 9.0, 0.96875));
        assert_eq!(median_interval(&[1.0; 5], 0.95), None);
        // Of nine, one may be left out at either end: 1 − 2 (1 + 9)/512.
        let nine: Vec<f64> = (1..=9).map(f64::from).collect();
        let nine = median_interval(&nine, 0.95).unwrap();
        assert_eq!((nine.low, nine.median, nine.high), (2.0, 5.0, 8.0));
        assert!((nine.level - (1.0 - 20.0 / 512.0)).abs() < 1e-12);
    }

    #[test]
    fn the_interval_of_the_median_covers_it_as_often_as_promised() {
        let mut draws = GeneratorChoice::Native { seed: 8 }.start();
        let covered = (0..2000).filter(|_| {
            // Squares of uniform numbers are as skewed as run times. Their median is 0.25.
            let runs: Vec<f64> = (0..8).map(|_| draws.next_f64(Purpose::Content).powi(2)).collect();
            let interval = median_interval(&runs, 0.9).unwrap();
            (interval.low..=interval.high).contains(&0.25)
        });
        let covered = covered.count() as f64 / 2000.0;
        // Dropping one at either end: 1 − 2 (1 + 8)/256 = 0.930.
        assert!((covered - 0.930).abs() < 0.02, "{covered}");
    }
}
