//! fio's latency histogram of 1856 bins, and the figures that fio computes from it. Each of our
//! finer buckets is within exactly one bin.

use model::histogram::{BUCKETS, Histogram, bucket_high, bucket_low};

/// Bits after the leading one that select a bin.
const SUB_BITS: u32 = 6;
/// 29 groups of 64.
pub const BIN_COUNT: usize = 29 << SUB_BITS;

/// The bin of a latency in nanoseconds. All latencies above 2^34 ns share the last bin.
pub fn bin_index(ns: u64) -> usize {
    let top = 63 - (ns | 1).leading_zeros();
    if top <= SUB_BITS {
        return ns as usize;
    }
    let exponent = top - SUB_BITS;
    let bin = ((exponent as usize + 1) << SUB_BITS) + (ns >> exponent) as usize - (1 << SUB_BITS);
    bin.min(BIN_COUNT - 1)
}

/// The latency that represents a bin: its midpoint, or its only value.
pub fn bin_value(bin: usize) -> u64 {
    if bin < 2 << SUB_BITS {
        return bin as u64;
    }
    let exponent = (bin >> SUB_BITS) - 1;
    let low = ((bin & ((1 << SUB_BITS) - 1)) as u64 + (1 << SUB_BITS)) << exponent;
    low + (1 << (exponent - 1))
}

/// Non-empty bins with their counts, ascending.
pub(super) fn count_bins(histogram: &Histogram) -> Vec<(usize, u64)> {
    let mut bins: Vec<(usize, u64)> = Vec::new();
    for (bucket, count) in histogram.buckets() {
        let bin = bin_index(bucket_low(bucket));
        match bins.last_mut() {
            Some((last, sum)) if *last == bin => *sum += count,
            _ => bins.push((bin, count)),
        }
    }
    bins
}

/// The latency of each percentile of an ascending list; empty without operations.
pub(super) fn percentiles_of_bins(histogram: &Histogram, list: &[f64]) -> Vec<u64> {
    let bins = count_bins(histogram);
    let mut reached = bins.iter().scan(0, |sum, (bin, count)| {
        *sum += count;
        Some((*bin, *sum))
    });
    let Some(mut at) = reached.next() else {
        return Vec::new();
    };
    let mut values = Vec::with_capacity(list.len());
    for percent in list {
        while !covers_percent(at.1, *percent, histogram.n()) {
            match reached.next() {
                Some(next) => at = next,
                None => break,
            }
        }
        values.push(bin_value(at.0));
    }
    values
}

/// True if `counted` is at least `percent` of `n`.
fn covers_percent(counted: u64, percent: f64, n: u64) -> bool {
    // fio compares in extended precision. In `f64`, 999 of 1000 would round to 99.9 %, although the
    // binary value of 99.9 is slightly larger. Integers avoid the rounding: they hold every digit
    // of a percentage down to 2^-12 and counts up to 2^56.
    const SHIFT: i32 = 64;
    let scaled = (percent * f64::powi(2.0, SHIFT)) as u128;
    (u128::from(counted) * 100) << SHIFT >= scaled * u128::from(n)
}

/// The classes of fio's latency distribution: below 1 µs, below 1 ms, and the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LatencyClasses {
    pub ns: [f64; 10],
    pub us: [f64; 10],
    pub ms: [f64; 12],
}

/// Upper ends of the classes of one unit. Milliseconds have two more: up to 2000, and the rest.
pub(super) const CLASS_ENDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// The last end of the milliseconds.
pub(super) const LAST_CLASS_END_MS: u64 = 2000;

impl LatencyClasses {
    /// Shares as percentages of `operations`; a class that is not empty has at least 0.01.
    pub(super) fn from_histogram(histogram: &Histogram, operations: u64) -> LatencyClasses {
        let mut counts = [0u64; 32];
        for (bucket, count) in histogram.buckets() {
            counts[class_index(bucket_midpoint(histogram, bucket))] += count;
        }
        let share = |index: usize| percent_of(counts[index], operations, 0.01);
        LatencyClasses {
            ns: std::array::from_fn(share),
            us: std::array::from_fn(|index| share(10 + index)),
            ms: std::array::from_fn(|index| share(20 + index)),
        }
    }
}

/// The middle of a bucket, clamped to minimum and maximum. It decides the class of a bucket that a
/// class boundary divides.
fn bucket_midpoint(histogram: &Histogram, bucket: usize) -> u64 {
    if bucket >= BUCKETS {
        return histogram.max();
    }
    let (low, high) = (bucket_low(bucket), bucket_high(bucket));
    (low + (high - low) / 2).clamp(histogram.min(), histogram.max())
}

fn class_index(ns: u64) -> usize {
    let class_below = |value: u64| CLASS_ENDS.iter().position(|end| value < *end);
    if let Some(class) = class_below(ns) {
        return class;
    }
    if let Some(class) = class_below(ns / 1000) {
        return 10 + class;
    }
    let ms = ns / 1_000_000;
    match class_below(ms) {
        Some(class) => 20 + class,
        None => 30 + usize::from(ms >= LAST_CLASS_END_MS),
    }
}

/// `part` as a percentage of `total`, at least `min` if `part` is not 0; 0 if `total` is 0.
pub(super) fn percent_of(part: u64, total: u64, min: f64) -> f64 {
    if part == 0 || total == 0 {
        return 0.0;
    }
    (part as f64 / total as f64 * 100.0).max(min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_latency_on_the_end_of_a_class_belongs_to_the_next() {
        assert_eq!(class_index(0), 0);
        assert_eq!(class_index(1), 0);
        assert_eq!(class_index(2), 1);
        assert_eq!(class_index(999), 9);
        assert_eq!(class_index(1000), 10);
        assert_eq!(class_index(1_999), 10);
        assert_eq!(class_index(2_000), 11);
        assert_eq!(class_index(999_999), 19);
        assert_eq!(class_index(1_000_000), 20);
        assert_eq!(class_index(1_999_999_999), 30);
        assert_eq!(class_index(2_000_000_000), 31);
    }

    #[test]
    fn a_percentile_covers_at_least_its_percentage() {
        assert!(covers_percent(50, 50.0, 100));
        assert!(!covers_percent(49, 50.0, 100));
        // The binary value of 99.9 is slightly above 99.9, which fio's extended precision detects.
        assert!(!covers_percent(999, 99.9, 1000));
        assert!(covers_percent(1000, 99.9, 1000));
        assert!(covers_percent(1000, 100.0, 1000));
        assert!(covers_percent(1, 0.5, 100));
    }

    #[test]
    fn our_buckets_are_within_one_bin() {
        for bucket in 0..BUCKETS {
            assert_eq!(
                bin_index(bucket_low(bucket)),
                bin_index(bucket_high(bucket)),
                "bucket {bucket}"
            );
        }
        for bin in 0..BIN_COUNT {
            assert_eq!(bin_index(bin_value(bin)), bin);
        }
    }
}
