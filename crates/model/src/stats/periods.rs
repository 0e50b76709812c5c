//! Detects periodic series.

use super::intervals::mean;

/// A series that repeats itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// Its length in values.
    pub lag: usize,
    /// The correlation at that lag, at most 1.
    pub correlation: f64,
}

/// Correlation of a series with itself `lag` values later; 0 if the series is constant.
pub fn autocorrelation(series: &[f64], lag: usize) -> f64 {
    if lag >= series.len() {
        return 0.0;
    }
    let mean = mean(series);
    let variance = series.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / series.len() as f64;
    let pairs = series.iter().zip(&series[lag..]);
    let shared = pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (series.len() - lag) as f64;
    if variance > 0.0 { shared / variance } else { 0.0 }
}

/// The first peak of the autocorrelation above one half. Lags range from 2 to a third of the
/// series, so that every period occurs three times. Between lag 0 and the peak, the correlation
/// must fall below a quarter, which excludes trends and steps.
pub fn period(series: &[f64]) -> Option<Period> {
    let last = series.len() / 3;
    let correlations: Vec<f64> = (0..=last + 1).map(|lag| autocorrelation(series, lag)).collect();
    let unlike = (1..=last).find(|lag| correlations[*lag] < 0.25)?;
    let is_peak = |lag: &usize| {
        correlations[*lag] > 0.5
            && correlations[*lag] >= correlations[lag - 1]
            && correlations[*lag] >= correlations[lag + 1]
    };
    (unlike + 1..=last).find(is_peak).map(|lag| Period {
        lag,
        correlation: correlations[lag].min(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{GeneratorChoice, Purpose};
    use proptest::prelude::*;

    #[test]
    fn neither_noise_nor_steps_nor_trends_repeat() {
        for seed in 0..200 {
            let mut draws = GeneratorChoice::Native { seed }.start();
            let series: Vec<f64> = (0..200).map(|_| draws.next_f64(Purpose::Offset)).collect();
            assert_eq!(period(&series), None, "seed {seed}");
        }
        let step: Vec<f64> = (0..200)
            .map(|second| if second < 90 { 3000.0 } else { 1000.0 })
            .collect();
        assert_eq!(period(&step), None);
        let trend: Vec<f64> = (0..200).map(f64::from).collect();
        assert_eq!(period(&trend), None);
        assert_eq!(period(&[4.0; 50]), None);
        assert_eq!(period(&[]), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

        /// A pulse train with noise of a tenth of its height.
        #[test]
        fn a_pulse_train_has_its_period(lag in 3usize..20, seed in 0u64..1000) {
            let mut draws = GeneratorChoice::Native { seed }.start();
            let pulse = |correlations: usize| if correlations.is_multiple_of(lag) { 100.0 } else { 0.0 };
            let series: Vec<f64> = (0..lag * 8).map(|correlations| pulse(correlations) + 10.0 * draws.next_f64(Purpose::Offset)).collect();
            let dominant = period(&series).unwrap();
            prop_assert_eq!(dominant.lag, lag);
            prop_assert!(dominant.correlation > 0.8);
        }
    }
}
