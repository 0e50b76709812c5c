//! Trends of a series, and the beginning of its settled part.

use super::changes::median;
use super::intervals::{lag_one_correlation, mean};
use super::quantiles::{normal_quantile, upper_tail_of_normal};

/// The result of the Mann–Kendall test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// Pairs that rise minus pairs that fall.
    pub score: i64,
    /// The score in standard deviations, with the continuity correction; positive for a rise.
    pub z: f64,
    /// Two-sided p-value: the probability of so large a |score| if there is no trend.
    pub p: f64,
    /// The median slope over all pairs of values (Sen 1968), per step of the series.
    pub slope: f64,
}

/// Tests for a monotonic trend (Mann 1945, Kendall 1975), with the variance corrected for ties.
/// Values must be independent, so use batch means of a correlated series. `None` for fewer than
/// four values.
pub fn mann_kendall(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < 4 {
        return None;
    }
    let mut score = 0i64;
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (i, first) in values.iter().enumerate() {
        for (distance, second) in values[i + 1..].iter().enumerate() {
            score += match second.total_cmp(first) {
                std::cmp::Ordering::Greater => 1,
                std::cmp::Ordering::Less => -1,
                std::cmp::Ordering::Equal => 0,
            };
            slopes.push((second - first) / (distance + 1) as f64);
        }
    }
    let variance_term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let variance = (variance_term(n as f64) - tie_sizes(values).map(variance_term).sum::<f64>()) / 18.0;
    let z = match variance > 0.0 {
        true => (score as f64 - score.signum() as f64) / variance.sqrt(),
        false => 0.0,
    };
    Some(Trend {
        score,
        z,
        p: (2.0 * upper_tail_of_normal(z.abs())).min(1.0),
        slope: median(&slopes),
    })
}

/// How often each value occurs, for those that occur more than once.
fn tie_sizes(values: &[f64]) -> impl Iterator<Item = f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let sizes: Vec<f64> = sorted.chunk_by(|a, b| a == b).map(|group| group.len() as f64).collect();
    sizes.into_iter().filter(|size| *size > 1.0)
}

/// The beginning of the settled part of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitialTransient {
    /// The number of values at the start to omit.
    pub length: usize,
    /// The series never settled: more than half of it would have to be omitted, so its mean should
    /// not be used.
    pub is_unsettled: bool,
}

/// Values in a batch of MSER-5.
const BATCH: usize = 5;
/// Minimum number of remaining batches; the error of fewer is meaningless.
const MIN_REMAINING: usize = 5;

/// MSER-5 (White 1997; White, Cobb and Spratt 2000): omits as many batches of five at the start as
/// minimise the standard error of the mean of the rest. `None` for fewer than ten batches.
pub fn mser5(series: &[f64]) -> Option<InitialTransient> {
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(mean).collect();
    let k = batches.len();
    if k < 2 * MIN_REMAINING {
        return None;
    }
    let squared_standard_error = |cut: usize| {
        let rest = &batches[cut..];
        let mean = mean(rest);
        rest.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (rest.len() as f64).powi(2)
    };
    // Use the first of equal minima, so that a constant series loses nothing.
    let cut =
        (0..=k - MIN_REMAINING).min_by(|a, b| squared_standard_error(*a).total_cmp(&squared_standard_error(*b)))?;
    Some(InitialTransient {
        length: cut * BATCH,
        is_unsettled: cut > k / 2,
    })
}

/// The effective sample size of a correlated series, for a first-order process: n (1 − r₁) / (1 +
/// r₁), clamped to 1 … n for negative correlations.
pub fn effective_sample_size(series: &[f64]) -> f64 {
    let n = series.len() as f64;
    let r = lag_one_correlation(series).clamp(-0.999, 0.999);
    (n * (1.0 - r) / (1.0 + r)).clamp(n.min(1.0), n)
}

/// The smallest |z| that a two-sided test of this level calls significant.
pub fn critical_z(level: f64) -> f64 {
    normal_quantile(1.0 - (1.0 - level) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{GeneratorChoice, Purpose};

    #[test]
    fn a_steady_rise_has_the_score_of_theory() {
        // n = 10: S = 45, variance 10·9·25/18 = 125, z = 44/√125.
        let rising: Vec<f64> = (0..10).map(|value| 3.0 * f64::from(value)).collect();
        let trend = mann_kendall(&rising).unwrap();
        assert_eq!((trend.score, trend.slope), (45, 3.0));
        assert!((trend.z - 3.935_479).abs() < 1e-6, "{}", trend.z);
        assert!((trend.p - 8.3e-5).abs() < 1e-6, "{}", trend.p);
        let falling: Vec<f64> = rising.iter().rev().copied().collect();
        assert_eq!(mann_kendall(&falling).unwrap().z, -trend.z);
    }

    #[test]
    fn ties_lower_the_variance() {
        // 1 2 2 3: S = 5; variance (4·3·13 − 2·1·9)/18 = 138/18.
        let trend = mann_kendall(&[1.0, 2.0, 2.0, 3.0]).unwrap();
        assert_eq!(trend.score, 5);
        assert!((trend.z - 4.0 / (138.0f64 / 18.0).sqrt()).abs() < 1e-12);
        let flat = mann_kendall(&[7.0; 8]).unwrap();
        assert_eq!((flat.score, flat.z, flat.p), (0, 0.0, 1.0));
        assert_eq!(mann_kendall(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn false_trends_are_as_rare_as_the_level() {
        let mut draws = GeneratorChoice::Native { seed: 3 }.start();
        let called = (0..1000).filter(|_| {
            let values: Vec<f64> = (0..20).map(|_| draws.next_f64(Purpose::Content)).collect();
            mann_kendall(&values).unwrap().z.abs() > critical_z(0.95)
        });
        let called = called.count();
        assert!((25..=75).contains(&called), "{called} of 1000");
    }

    #[test]
    fn a_slow_start_is_omitted_and_an_unsettled_series_detected() {
        // A start of 60 values at a third of the level, then 240 with a small wave.
        let wave = |index: usize| 100.0 + (index % 7) as f64;
        let series: Vec<f64> = (0..300).map(|i| if i < 60 { 33.0 } else { wave(i) }).collect();
        let settling = mser5(&series).unwrap();
        assert!(
            (60..=70).contains(&settling.length) && !settling.is_unsettled,
            "{settling:?}"
        );
        let steps: Vec<f64> = (0..300).map(|i| if i < 200 { wave(i) } else { 300.0 }).collect();
        assert!(mser5(&steps).unwrap().is_unsettled);
        assert_eq!(mser5(&[5.0; 100]).unwrap().length, 0, "nothing varies");
        assert_eq!(mser5(&[5.0; 49]), None);
    }

    #[test]
    fn correlated_values_count_less() {
        let mut draws = GeneratorChoice::Native { seed: 9 }.start();
        let mut previous = 0.0;
        // A first-order process with r = 0.8: its values count for a ninth.
        let series: Vec<f64> = (0..20_000)
            .map(|_| {
                previous = 0.8 * previous + draws.next_f64(Purpose::Content) - 0.5;
                previous
            })
            .collect();
        let share = effective_sample_size(&series) / 20_000.0;
        assert!((share - 1.0 / 9.0).abs() < 0.02, "{share}");
        let alternating: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(effective_sample_size(&alternating), 100.0);
        assert_eq!(effective_sample_size(&[]), 0.0);
    }
}
