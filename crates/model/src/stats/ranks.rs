//! The precision of percentiles: intervals by order statistics (Hahn and Meeker 1991, chapter 5).

use super::quantiles::normal_quantile;
use crate::histogram::Histogram;

/// The support of a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// At least a hundred values are beyond it.
    Good,
    /// Ten to a hundred values are beyond it: read it with its interval.
    Weak,
    /// Fewer than ten values are beyond it: it is hardly more reliable than the maximum.
    None,
}

/// Classifies the number of values beyond a quantile.
pub fn support(fraction: f64, n: u64) -> Support {
    // Round, so that 0.99 of 10,000 values counts as exactly 100 beyond.
    match ((1.0 - fraction) * n as f64 * 1e6).round() / 1e6 {
        beyond if beyond >= 100.0 => Support::Good,
        beyond if beyond >= 10.0 => Support::Weak,
        _ => Support::None,
    }
}

/// The ranks between which the true quantile is with the given confidence; `None` for a side with
/// too few values. Uses exact binomial tails below 30 expected values beyond the quantile, and the
/// normal approximation above.
pub fn rank_interval(fraction: f64, n: u64, level: f64) -> (Option<u64>, Option<u64>) {
    if n == 0 {
        return (None, None);
    }
    let tail = (1.0 - level) / 2.0;
    let (np, count_beyond) = (fraction * n as f64, (1.0 - fraction) * n as f64);
    if np.min(count_beyond) >= 30.0 {
        let half = normal_quantile(1.0 - tail) * (np * (1.0 - fraction)).sqrt();
        let low = (np - half).floor() as u64;
        let high = (np + half).ceil() as u64 + 1;
        return ((low >= 1).then_some(low), (high <= n).then_some(high));
    }
    // The number K of values below the true quantile is binomial(n, fraction). The quantile is
    // above the value of rank l unless K < l, and below that of rank u unless K ≥ u.
    let low = last_with_tail(n, fraction, tail);
    let high = last_with_tail(n, 1.0 - fraction, tail).map(|from_above| n + 1 - from_above);
    (low, high)
}

/// The largest l ≥ 1 with P(K < l) ≤ tail for K binomial(n, p). Iterates over the side with few
/// expected values, since the other has millions.
fn last_with_tail(n: u64, p: f64, tail: f64) -> Option<u64> {
    if p <= 0.0 {
        return None;
    }
    if p <= 0.5 {
        let mut below = 0.0;
        return BinomialTerms::new(n, p)
            .take_while(|term| {
                below += term;
                below <= tail
            })
            .zip(1..)
            .last()
            .map(|(_, rank)| rank);
    }
    // P(K < l) ≤ tail is P(n − K ≤ n − l) ≥ 1 − tail, and n − K is binomial(n, 1 − p).
    let mut up_to = 0.0;
    let complement = BinomialTerms::new(n, 1.0 - p).position(|term| {
        up_to += term;
        up_to >= 1.0 - tail
    })?;
    n.checked_sub(complement as u64).filter(|rank| *rank >= 1)
}

/// Probabilities of K = 0, 1, 2 … n for K binomial(n, p), by their ratio, in logarithms against
/// underflow.
struct BinomialTerms {
    n: u64,
    next: u64,
    log_term: f64,
    log_odds: f64,
}

impl BinomialTerms {
    fn new(n: u64, p: f64) -> BinomialTerms {
        BinomialTerms {
            n,
            next: 0,
            log_term: n as f64 * (-p).ln_1p(),
            log_odds: (p / (1.0 - p)).ln(),
        }
    }
}

impl Iterator for BinomialTerms {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        let k = self.next;
        if k > self.n {
            return None;
        }
        self.next += 1;
        let term = self.log_term.exp();
        self.log_term += ((self.n - k) as f64).ln() - ((k + 1) as f64).ln() + self.log_odds;
        Some(term)
    }
}

/// The interval of a quantile in nanoseconds, from the buckets of its ranks: the lower edge of the
/// lower bucket, and the middle of the upper one or `None` if there is no upper bound.
pub fn quantile_interval(histogram: &Histogram, fraction: f64, level: f64) -> (Option<u64>, Option<u64>) {
    let (low, high) = rank_interval(fraction, histogram.n(), level);
    (
        low.map(|rank| histogram.value_of_rank(rank)),
        high.map(|rank| histogram.value_of_rank(rank)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_published_report() {
        // n = 215,348: 99.9 % between ranks 215,103 and 215,162, 99.99 % between 215,317 and
        // 215,336, no upper bound for 99.999 %.
        let (low, high) = rank_interval(0.999, 215_348, 0.95);
        assert!(
            low.unwrap().abs_diff(215_103) <= 1 && high.unwrap().abs_diff(215_162) <= 1,
            "{low:?} {high:?}"
        );
        let (low, high) = rank_interval(0.9999, 215_348, 0.95);
        assert!(
            low.unwrap().abs_diff(215_317) <= 1 && high.unwrap().abs_diff(215_336) <= 1,
            "{low:?} {high:?}"
        );
        assert_eq!(rank_interval(0.99999, 215_348, 0.95).1, None);
    }

    #[test]
    fn an_upper_bound_exists_from_the_known_sample_size_on() {
        // ⌈ln 0.025 / ln p⌉
        for (fraction, n) in [(0.99, 368), (0.999, 3688), (0.9999, 36_887)] {
            assert_eq!(rank_interval(fraction, n - 2, 0.95).1, None, "{fraction}");
            assert!(rank_interval(fraction, n + 1, 0.95).1.is_some(), "{fraction}");
        }
    }

    #[test]
    fn exact_and_approximate_bounds_meet() {
        let n = 3_000;
        let exact = last_with_tail(n, 0.99, 0.025).unwrap();
        let (approximate, _) = rank_interval(0.99, n, 0.95);
        assert!(exact.abs_diff(approximate.unwrap()) <= 2, "{exact} {approximate:?}");
    }

    #[test]
    fn both_sides_of_a_distribution_give_the_same_rank() {
        for (n, p) in [(10, 0.5), (50, 0.9), (200, 0.99), (999, 0.995), (40, 0.51), (3, 0.999)] {
            // Sum from the larger side, which is slow.
            let mut below = 0.0;
            let slow = BinomialTerms::new(n, p).take_while(|term| {
                below += term;
                below <= 0.025
            });
            let slow = Some(slow.count() as u64).filter(|rank| *rank >= 1);
            assert_eq!(last_with_tail(n, p, 0.025), slow, "{n} {p}");
        }
    }

    #[test]
    fn support_counts_the_values_beyond() {
        assert_eq!(support(0.99, 10_000), Support::Good);
        assert_eq!(support(0.99, 9_999), Support::Weak);
        assert_eq!(support(0.999, 9_999), Support::None);
    }
}
