//! Confidence intervals of means and shares.

use super::quantiles::{normal_quantile, student_quantile};

/// The arithmetic mean; 0 for an empty list.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

/// Standard deviation of a sample; 0 for fewer than two values.
pub fn sample_deviation(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64).sqrt()
}

/// Correlation of neighbours in a series; 0 where it does not vary.
pub fn lag_one_correlation(values: &[f64]) -> f64 {
    lag_correlation(values, 1)
}

fn lag_correlation(values: &[f64], lag: usize) -> f64 {
    if values.len() <= lag + 1 {
        return 0.0;
    }
    let mean = mean(values);
    let variance: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    let covariance: f64 = values
        .iter()
        .zip(&values[lag..])
        .map(|(a, b)| (a - mean) * (b - mean))
        .sum();
    if variance > 0.0 { covariance / variance } else { 0.0 }
}

/// The mean of a series that may be correlated in time, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchMeansInterval {
    /// Mean of the series.
    pub mean: f64,
    /// Half-width of the interval.
    pub half_width: f64,
    /// Batches used.
    pub batches: u32,
    /// Even the largest batches were correlated, so the interval was widened.
    pub widened: bool,
}

/// Batch means (Law and Carson 1979). The series is cut into equal batches, at least ten, which
/// grow until neighbours are no longer correlated (|r₁| ≤ 0.3). If they still are, the variance is
/// multiplied by 1 + 2 Σ r_l for lags 1 to 5. `level` is the confidence, such as 0.95. `None` for
/// fewer than ten values.
pub fn batch_means(series: &[f64], level: f64) -> Option<BatchMeansInterval> {
    if series.len() < 10 {
        return None;
    }
    let mut batches = series.len().min(40);
    let (means, correlated) = loop {
        let length = series.len() / batches;
        // Values that do not fill a batch are dropped at the start, where a run is least settled.
        let skipped = series.len() - batches * length;
        let means: Vec<f64> = series[skipped..].chunks_exact(length).map(mean).collect();
        let correlated = lag_one_correlation(&means).abs() > 0.3;
        if !correlated || batches / 2 < 10 {
            break (means, correlated);
        }
        batches /= 2;
    };
    let k = means.len();
    let mut variance = sample_deviation(&means).powi(2);
    if correlated {
        let sum: f64 = (1..=5).map(|lag| lag_correlation(&means, lag)).sum();
        variance *= (1.0 + 2.0 * sum).max(1.0);
    }
    let quantile = student_quantile(1.0 - (1.0 - level) / 2.0, k as u32 - 1);
    let half_width = quantile * (variance / k as f64).sqrt();
    Some(BatchMeansInterval {
        mean: mean(series),
        half_width,
        batches: k as u32,
        widened: correlated,
    })
}

/// Wilson's confidence interval of the share `hits / n`. `n` may be fractional, such as an
/// effective sample size.
pub fn wilson_interval(hits: f64, n: f64, level: f64) -> (f64, f64) {
    if n <= 0.0 {
        return (0.0, 1.0);
    }
    let z = normal_quantile(1.0 - (1.0 - level) / 2.0);
    let p = hits / n;
    let centre = (p + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let half = z / (1.0 + z * z / n) * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    ((centre - half).max(0.0), (centre + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{GeneratorChoice, Purpose};

    /// Sum of twelve uniforms: close to normal with mean 0 and deviation 1.
    fn bell(draws: &mut crate::draws::Draws) -> f64 {
        (0..12).map(|_| draws.next_f64(Purpose::Content)).sum::<f64>() - 6.0
    }

    /// The share of series whose interval covers the true mean: about 95 of 100, even if
    /// autocorrelated.
    fn coverage(correlation: f64) -> f64 {
        let mut draws = GeneratorChoice::Native { seed: 21 }.start();
        let series = 400;
        let mut covered = 0;
        for _ in 0..series {
            let mut previous = 0.0;
            let values: Vec<f64> = (0..600)
                .map(|_| {
                    previous = correlation * previous + bell(&mut draws);
                    100.0 + previous
                })
                .collect();
            let result = batch_means(&values, 0.95).unwrap();
            covered += u32::from((result.mean - 100.0).abs() <= result.half_width);
        }
        f64::from(covered) / f64::from(series)
    }

    #[test]
    fn batch_means_cover_the_truth() {
        for correlation in [0.0, 0.5, 0.9] {
            let share = coverage(correlation);
            assert!((0.90..=0.99).contains(&share), "correlation {correlation}: {share}");
        }
    }

    #[test]
    fn too_few_values_give_no_interval() {
        assert_eq!(batch_means(&[1.0; 9], 0.95), None);
        assert_eq!(batch_means(&[1.0; 10], 0.95).unwrap().half_width, 0.0);
    }

    #[test]
    fn wilson_matches_a_known_case() {
        // 10 of 20 at 95 %: 0.2993 … 0.7007 (Wilson 1927; Newcombe 1998, table I method 3
        // arithmetic).
        let (low, high) = wilson_interval(10.0, 20.0, 0.95);
        assert!(
            (low - 0.2993).abs() < 1e-3 && (high - 0.7007).abs() < 1e-3,
            "{low} {high}"
        );
        let (low, high) = wilson_interval(0.0, 100.0, 0.95);
        assert!(low == 0.0 && (high - 0.0370).abs() < 1e-3, "{low} {high}");
    }
}
