//! Detects distributions of times with two modes. Two kinds of service, such as hits and misses of
//! a cache, or operations that wait for tokens and others that do not, give a distribution with a
//! valley. Coefficients based on moments mistake every skewed distribution for one with two modes
//! (Pfister and others 2013, "Good things peak in pairs"). Latencies are skewed, so this module
//! searches for the valley itself.

use crate::histogram::{Histogram, bucket_high, bucket_low};

/// Bins for each doubling of the value.
const BINS: f64 = 8.0;
/// Peaks closer than this many bins (a factor of 1.4) count as one.
const MIN_PEAK_DISTANCE: usize = 4;
/// Maximum height of a valley, as a share of the lower peak.
const VALLEY: f64 = 0.5;
/// Minimum share of the values in each mode.
const MIN_SHARE: f64 = 0.01;
/// The minimum number of values.
const MIN_VALUES: u64 = 200;

/// A distribution with two peaks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoModes {
    /// Position of the lower peak.
    pub low: f64,
    /// Position of the upper peak.
    pub high: f64,
    /// Position of the valley.
    pub valley: f64,
    /// Share of the values above the valley.
    pub share_above: f64,
}

/// Finds the two highest peaks of a distribution on a logarithmic scale; `None` if it has one.
///
/// The bins are 9 % wide and smoothed over their neighbours. The valley must be at most half as
/// high as the lower peak, and lower by three standard deviations of counts, so that few values do
/// not create one by chance.
pub fn find_two_modes(histogram: &Histogram) -> Option<TwoModes> {
    if histogram.n() < MIN_VALUES {
        return None;
    }
    let first = bin_index(histogram.min().max(1) as f64);
    let last = bin_index(histogram.max().max(1) as f64);
    let mut counts = vec![0.0; last - first + 1];
    for (bucket, count) in histogram.buckets() {
        let middle = (bucket_low(bucket) as f64 + bucket_high(bucket) as f64) / 2.0;
        let bin = bin_index(middle.max(1.0)).clamp(first, last);
        counts[bin - first] += count as f64;
    }
    let smooth = smooth(&counts);
    let main = (0..smooth.len()).max_by(|a, b| smooth[*a].total_cmp(&smooth[*b]))?;
    let second = (0..smooth.len())
        .filter(|bin| bin.abs_diff(main) >= MIN_PEAK_DISTANCE)
        .filter_map(|bin| Some((bin, valley_between(&smooth, main, bin)?)))
        .max_by(|a, b| smooth[a.0].total_cmp(&smooth[b.0]))?;
    let (bin, valley) = second;
    let above = counts[valley..].iter().sum::<f64>() / histogram.n() as f64;
    let enough = (MIN_SHARE..=1.0 - MIN_SHARE).contains(&above);
    enough.then(|| TwoModes {
        low: bin_value(first + main.min(bin)),
        high: bin_value(first + main.max(bin)),
        valley: bin_value(first + valley),
        share_above: above,
    })
}

/// The lowest bin between two peaks, if it is low enough.
fn valley_between(smooth: &[f64], low_peak: usize, high_peak: usize) -> Option<usize> {
    let between = low_peak.min(high_peak) + 1..low_peak.max(high_peak);
    let valley = between.min_by(|a, b| smooth[*a].total_cmp(&smooth[*b]))?;
    let (peak, low) = (smooth[low_peak].min(smooth[high_peak]), smooth[valley]);
    // A bin without values is not a peak.
    (peak > 0.0 && low <= VALLEY * peak && peak - low >= 3.0 * (peak + low).sqrt()).then_some(valley)
}

fn smooth(counts: &[f64]) -> Vec<f64> {
    let bin_count = |bin: usize| counts.get(bin).copied().unwrap_or(0.0);
    let count_of_bin = |bin: usize| {
        let before = bin.checked_sub(1).map_or(0.0, bin_count);
        (before + 2.0 * bin_count(bin) + bin_count(bin + 1)) / 4.0
    };
    (0..counts.len()).map(count_of_bin).collect()
}

fn bin_index(value: f64) -> usize {
    (value.log2() * BINS) as usize
}

fn bin_value(bin: usize) -> f64 {
    ((bin as f64 + 0.5) / BINS).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{GeneratorChoice, Purpose};
    use proptest::prelude::*;

    /// Lognormal times.
    fn times(seed: u64, count: u64, median: f64, sigma: f64, into: &mut Histogram) {
        let mut draws = GeneratorChoice::Native { seed }.start();
        for _ in 0..count {
            let normal = (0..12).map(|_| draws.next_f64(Purpose::Offset)).sum::<f64>() - 6.0;
            into.record((median * (sigma * normal).exp()) as u64);
        }
    }

    #[test]
    fn hits_and_misses_are_two_modes() {
        let mut merged = Histogram::new();
        times(1, 8000, 100_000.0, 0.2, &mut merged);
        times(2, 2000, 4_000_000.0, 0.3, &mut merged);
        let modes = find_two_modes(&merged).unwrap();
        assert!((modes.low / 100_000.0 - 1.0).abs() < 0.15, "{modes:?}");
        assert!((modes.high / 4_000_000.0 - 1.0).abs() < 0.25, "{modes:?}");
        assert!((modes.share_above - 0.2).abs() < 0.01, "{modes:?}");
    }

    #[test]
    fn a_constant_has_one_mode_and_few_values_have_none() {
        let mut constant = Histogram::new();
        constant.record_times(100_000, 5000);
        assert_eq!(find_two_modes(&constant), None);
        let mut few = Histogram::new();
        few.record_times(100_000, 50);
        few.record_times(1_000_000, 50);
        assert_eq!(find_two_modes(&few), None);
        assert_eq!(find_two_modes(&Histogram::new()), None);
    }

    #[test]
    fn a_rare_tail_is_not_a_peak() {
        let mut tailed = Histogram::new();
        tailed.record_times(100_000, 100_000);
        tailed.record_times(9_000_000, 500);
        assert_eq!(find_two_modes(&tailed), None);
    }

    /// A gap among the few values of a tail, with more gaps before it.
    #[test]
    fn a_tail_with_gaps_is_not_a_peak() {
        for (seed, sigma, count) in [
            (1239, 0.937_408_716_342_947_4, 309),
            (1378, 1.020_397_944_280_542_6, 699),
        ] {
            let mut tailed = Histogram::new();
            times(seed, count, 500_000.0, sigma, &mut tailed);
            assert_eq!(find_two_modes(&tailed), None, "{seed}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

        /// A single peak stays single, however skewed it is.
        #[test]
        fn one_peak_stays_one(seed in 0u64..10_000, sigma in 0.05f64..1.2, count in 300u64..5000) {
            let mut histogram = Histogram::new();
            times(seed, count, 500_000.0, sigma, &mut histogram);
            prop_assert_eq!(find_two_modes(&histogram), None);
        }
    }
}
