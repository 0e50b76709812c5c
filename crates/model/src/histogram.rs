//! The latency histogram: nanoseconds in log-linear buckets.
//!
//! The seven bits below the leading one select the bucket. So a bucket is at most 1/128 of its
//! value wide, and its middle is within 0.39 % of every value in it. 4352 buckets reach up to 2^40
//! ns (18 minutes); longer times are counted separately. Count, minimum, maximum, sum and sum of
//! squares are exact. Histograms merge by addition in any order. Every pair of neighbouring buckets
//! above 127 ns is within one of fio's bins.

mod packed;

use crate::JsonSchema;
use serde::{Deserialize, Serialize};

use packed::{MergedBuckets, PackedBuckets};

/// The number of bits below the leading one that select a bucket.
pub const SUB_BITS: u32 = 7;
/// Buckets below 2^40 ns.
pub const BUCKETS: usize = 4352;
/// Values from here on are counted in the last bucket, [`BUCKETS`].
const LIMIT: u64 = 1 << 40;

// A copy is packed; counting a value unpacks it.
/// How often each latency occurred.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "SavedHistogram", into = "SavedHistogram")]
#[schemars(with = "SavedHistogram")]
pub struct Histogram {
    /// One counter per bucket, and one for all values beyond the last. Has no counters while the
    /// histogram is empty or packed, so that counting needs to check only the bucket.
    counts: Box<[u64]>,
    /// The buckets in use, if packed.
    packed: PackedBuckets,
    n: u64,
    min: u64,
    max: u64,
    sum: u128,
    sum_squares: u128,
}

impl Clone for Histogram {
    fn clone(&self) -> Self {
        let mut copy = Histogram::new();
        copy.merge_packed(self);
        copy
    }
}

impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        let figures = |histogram: &Histogram| {
            (
                histogram.n, histogram.min, histogram.max, histogram.sum, histogram.sum_squares,
            )
        };
        figures(self) == figures(other) && self.buckets().eq(other.buckets())
    }
}

impl Eq for Histogram {}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

/// The bucket of a value. All values from 2^40 on share one, after the last.
#[inline(always)]
pub fn bucket_index(value: u64) -> usize {
    if value >= LIMIT {
        BUCKETS
    } else {
        bucket_below_limit(value)
    }
}

#[inline(always)]
fn bucket_below_limit(value: u64) -> usize {
    // Values below 128 have a bucket each; with the `or`, their exponent is zero.
    let exponent = 63 - SUB_BITS - (value | 1 << SUB_BITS).leading_zeros();
    ((exponent as usize) << SUB_BITS) + (value >> exponent) as usize
}

/// The smallest value of a bucket.
pub fn bucket_low(bucket: usize) -> u64 {
    if bucket < 2 << SUB_BITS {
        return bucket as u64;
    }
    let exponent = (bucket >> SUB_BITS) - 1;
    (((bucket & ((1 << SUB_BITS) - 1)) as u64) + (1 << SUB_BITS)) << exponent
}

/// The largest value of a bucket.
pub fn bucket_high(bucket: usize) -> u64 {
    bucket_low(bucket + 1) - 1
}

impl Histogram {
    /// An empty histogram, without memory for buckets.
    pub fn new() -> Histogram {
        Histogram {
            counts: Box::default(),
            packed: PackedBuckets::default(),
            n: 0,
            min: u64::MAX,
            max: 0,
            sum: 0,
            sum_squares: 0,
        }
    }

    /// An empty histogram that counts without allocating. The kernel provides memory only where
    /// values are counted.
    pub fn ready() -> Histogram {
        let mut histogram = Histogram::new();
        histogram.unpack();
        histogram
    }

    /// A packed histogram of `times` zeros.
    pub fn zeros(times: u64) -> Histogram {
        Histogram {
            packed: PackedBuckets::new([(0, times)].into_iter()),
            n: times,
            min: 0,
            ..Histogram::new()
        }
    }

    /// Counts a value.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        self.record_times(value, 1);
    }

    /// Counts a value that occurred `times` times.
    #[inline(always)]
    pub fn record_times(&mut self, value: u64, times: u64) {
        let Some(count) = self.counts.get_mut(bucket_below_limit(value)) else {
            return self.record_rare(value, times);
        };
        *count += times;
        self.n += times;
        // Rarely true after the start, so branches cost less here than conditional moves.
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
        // The product of values below 2^41 × 2^23 fits, so each sum needs one multiplication.
        let product = value * times;
        self.sum += u128::from(product);
        self.sum_squares += u128::from(product) * u128::from(value);
    }

    /// Counts a value beyond the last bucket, or in a histogram without counters.
    #[cold]
    fn record_rare(&mut self, value: u64, times: u64) {
        self.unpack()[bucket_index(value)] += times;
        self.n += times;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let product = u128::from(value) * u128::from(times);
        self.sum += product;
        self.sum_squares = self
            .sum_squares
            .saturating_add(product.saturating_mul(u128::from(value)));
    }

    /// Adds the values of `other`. Merged into an empty histogram, they are packed.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.is_empty() && self.n == 0 {
            return self.merge_packed(other);
        }
        if other.n == 0 {
            return;
        }
        let used = other.used();
        let counts = self.unpack();
        for (mine, theirs) in counts[used.clone()].iter_mut().zip(&other.counts[used]) {
            *mine += theirs;
        }
        for (bucket, count) in other.packed.buckets() {
            counts[bucket] += count;
        }
        self.add_sums(other);
    }

    /// Adds the values of `other` and packs the result.
    pub fn merge_packed(&mut self, other: &Histogram) {
        if other.n == 0 {
            return;
        }
        self.packed = PackedBuckets::new(MergedBuckets::new(self.buckets(), other.buckets()));
        self.counts = Box::default();
        self.add_sums(other);
    }

    fn add_sums(&mut self, other: &Histogram) {
        self.n += other.n;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.sum_squares = self.sum_squares.saturating_add(other.sum_squares);
    }

    /// Keeps only the buckets in use, which take a few hundred bytes instead of 34 KiB.
    pub fn pack(&mut self) {
        if !self.counts.is_empty() {
            self.packed = PackedBuckets::new(self.buckets());
            self.counts = Box::default();
        }
    }

    /// The counters, allocated and unpacked if they were not.
    fn unpack(&mut self) -> &mut [u64] {
        if self.counts.is_empty() {
            self.counts = vec![0; BUCKETS + 1].into();
            for (bucket, count) in std::mem::take(&mut self.packed).buckets() {
                self.counts[bucket] = count;
            }
        }
        &mut self.counts
    }

    /// The range of counters in use. Others are not touched, so that they need no memory.
    fn used(&self) -> std::ops::Range<usize> {
        match self.counts.is_empty() || self.n == 0 {
            true => 0..0,
            false => bucket_index(self.min)..bucket_index(self.max) + 1,
        }
    }

    /// Removes and returns the minimum and maximum, so that the caller can find those of the next
    /// values. [`Histogram::restore_extremes`] must restore them before any other call.
    pub fn take_extremes(&mut self) -> (u64, u64) {
        (
            std::mem::replace(&mut self.min, u64::MAX),
            std::mem::replace(&mut self.max, 0),
        )
    }

    /// Restores the result of [`Histogram::take_extremes`].
    pub fn restore_extremes(&mut self, (min, max): (u64, u64)) {
        self.min = self.min.min(min);
        self.max = self.max.max(max);
    }

    /// Empties the histogram. Touches only buckets between the smallest and largest value.
    pub fn clear(&mut self) {
        let used = self.used();
        self.counts[used].fill(0);
        self.packed = PackedBuckets::default();
        (self.n, self.min, self.max, self.sum, self.sum_squares) = (0, u64::MAX, 0, 0, 0);
    }

    /// The number of values counted.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// The smallest value; 0 if empty.
    pub fn min(&self) -> u64 {
        if self.n == 0 { 0 } else { self.min }
    }

    /// The largest value; 0 if empty.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The sum of the squares of all values.
    pub fn sum_squares(&self) -> u128 {
        self.sum_squares
    }

    /// The arithmetic mean; 0 if empty.
    pub fn mean(&self) -> f64 {
        if self.n == 0 {
            0.0
        } else {
            self.sum as f64 / self.n as f64
        }
    }

    /// Σ (x − mean)², without the cancellation of the textbook formula in floating point.
    fn centred_squares(&self) -> f64 {
        if self.n == 0 {
            return 0.0;
        }
        // n·Σx² − (Σx)² in integers if it fits, which it does below 2^128.
        match (
            self.sum_squares.checked_mul(u128::from(self.n)),
            self.sum.checked_mul(self.sum),
        ) {
            (Some(left), Some(right)) => left.saturating_sub(right) as f64 / self.n as f64,
            _ => (self.sum_squares as f64 - self.sum as f64 * self.mean()).max(0.0),
        }
    }

    /// Standard deviation of the values as a whole population (DiskSpd).
    pub fn population_deviation(&self) -> f64 {
        if self.n == 0 {
            0.0
        } else {
            (self.centred_squares() / self.n as f64).sqrt()
        }
    }

    /// Standard deviation of the values as a sample (fio, native); 0 for fewer than two.
    pub fn sample_deviation(&self) -> f64 {
        if self.n < 2 {
            0.0
        } else {
            (self.centred_squares() / (self.n - 1) as f64).sqrt()
        }
    }

    /// The bucket with the value of the given rank, counting from 1. Ranks beyond n give the last
    /// bucket.
    pub fn bucket_of_rank(&self, rank: u64) -> Option<usize> {
        if self.n == 0 {
            return None;
        }
        let rank = rank.clamp(1, self.n);
        let mut seen = 0;
        let found = self.buckets().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found.map(|(bucket, _)| bucket)
    }

    /// The value of a rank: the middle of its bucket, clamped to the minimum and maximum; 0 if
    /// empty.
    pub fn value_of_rank(&self, rank: u64) -> u64 {
        match self.bucket_of_rank(rank) {
            None => 0,
            Some(BUCKETS) => self.max,
            Some(bucket) => {
                let (low, high) = (bucket_low(bucket), bucket_high(bucket));
                (low + (high - low) / 2).clamp(self.min, self.max)
            }
        }
    }

    /// The value of rank ⌈fraction × n⌉: `fraction` of the values do not exceed it.
    pub fn quantile(&self, fraction: f64) -> u64 {
        self.value_of_rank(quantile_rank(fraction, self.n))
    }

    /// Non-empty buckets with their counts, ascending; the last may be [`BUCKETS`] for the
    /// overflow.
    pub fn buckets(&self) -> impl Iterator<Item = (usize, u64)> {
        let used = self.used();
        let counts = used.clone().zip(self.counts[used].iter().copied());
        counts.filter(|(_, count)| *count > 0).chain(self.packed.buckets())
    }

    /// The number of values in a bucket; [`BUCKETS`] is the overflow.
    #[inline]
    pub fn count_in(&self, bucket: usize) -> u64 {
        let packed = || self.packed.buckets().find(|(used, _)| *used == bucket);
        let count = self.counts.get(bucket).copied();
        count.unwrap_or_else(|| packed().map_or(0, |(_, count)| count))
    }

    /// The number of values in buckets up to and including the bucket of `value`.
    pub fn count_up_to(&self, value: u64) -> u64 {
        let last = bucket_index(value);
        let up_to = self.buckets().take_while(|(bucket, _)| *bucket <= last);
        up_to.map(|(_, count)| count).sum()
    }
}

/// The rank of a quantile among `n` values: ⌈fraction × n⌉, limited to 1 to n.
pub fn quantile_rank(fraction: f64, n: u64) -> u64 {
    // The margin prevents rounding from turning 0.99 × 100 into rank 100.
    let exact = fraction * n as f64;
    let rounded = exact.round();
    let rank = if (exact - rounded).abs() < 1e-9 * n as f64 {
        rounded
    } else {
        exact.ceil()
    };
    (rank as u64).clamp(1, n.max(1))
}

/// A histogram in a saved file: non-empty buckets only.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Histogram")]
struct SavedHistogram {
    /// Number of values.
    n: u64,
    /// Smallest value in ns; 0 if there is none.
    min_ns: u64,
    /// Largest value in ns.
    max_ns: u64,
    /// Sum of the values in ns, as a decimal string: it may exceed 64 bits.
    sum_ns: String,
    /// Sum of the squares in ns², as a decimal string.
    sum_squares_ns2: String,
    /// Pairs of bucket number and count, ascending. Bucket b below 256 holds the value b; above, it
    /// holds the 2^e values from ((b mod 128) + 128)·2^e with e = ⌊b/128⌋ − 1. Bucket 4352 holds
    /// all values of 2^40 ns and more.
    buckets: Vec<(u32, u64)>,
}

impl From<Histogram> for SavedHistogram {
    fn from(histogram: Histogram) -> SavedHistogram {
        SavedHistogram {
            n: histogram.n,
            min_ns: histogram.min(),
            max_ns: histogram.max,
            sum_ns: histogram.sum.to_string(),
            sum_squares_ns2: histogram.sum_squares.to_string(),
            buckets: histogram
                .buckets()
                .map(|(bucket, count)| (bucket as u32, count))
                .collect(),
        }
    }
}

impl TryFrom<SavedHistogram> for Histogram {
    type Error = String;

    fn try_from(saved: SavedHistogram) -> Result<Histogram, String> {
        /// Far beyond any real count; a million of these still add up without overflow.
        const MAX_COUNT: u64 = 1 << 44;
        const MAX_SUM: u128 = 1 << 108;
        let number = |text: &str| {
            let number = text.parse::<u128>().ok().filter(|number| *number <= MAX_SUM);
            number.ok_or_else(|| format!("`{text}` is not a whole number of at most 2^108"))
        };
        let mut counts = vec![0u64; BUCKETS + 1];
        for (bucket, count) in &saved.buckets {
            let slot = counts.get_mut(*bucket as usize);
            let slot = slot.ok_or_else(|| format!("there is no histogram bucket {bucket}"))?;
            *slot = slot.saturating_add(*count);
        }
        let counted = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        if counted > MAX_COUNT {
            return Err(format!("a histogram of {counted} values, more than 2^44"));
        }
        if counted != saved.n {
            return Err(format!(
                "the histogram has n = {} but its buckets hold {counted}",
                saved.n
            ));
        }
        let used: Vec<(usize, u64)> = counts.into_iter().enumerate().filter(|(_, count)| *count > 0).collect();
        // Loops run from the minimum's bucket to the maximum's.
        if let (Some((first, _)), Some((last, _))) = (used.first(), used.last()) {
            let (min, max) = (saved.min_ns, saved.max_ns);
            if (bucket_index(min), bucket_index(max)) != (*first, *last) || min > max {
                return Err(format!(
                    "the histogram has min_ns = {min} and max_ns = {max}, which its buckets {first} to {last} exclude"
                ));
            }
        }
        Ok(Histogram {
            counts: Box::default(),
            packed: PackedBuckets::new(used.into_iter()),
            n: saved.n,
            min: if saved.n == 0 { u64::MAX } else { saved.min_ns },
            max: if saved.n == 0 { 0 } else { saved.max_ns },
            sum: number(&saved.sum_ns)?,
            sum_squares: number(&saved.sum_squares_ns2)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Mutated results found this: counts were added without an overflow check.
    #[test]
    fn saved_counts_out_of_range_are_refused() {
        let saved = |n: u64, buckets: &[(u32, u64)], sum: &str| {
            let saved = SavedHistogram {
                n,
                min_ns: 1,
                max_ns: 2,
                sum_ns: sum.into(),
                sum_squares_ns2: "1".into(),
                buckets: buckets.to_vec(),
            };
            Histogram::try_from(saved)
        };
        assert!(saved(3, &[(1, 2), (2, 1)], "4").is_ok());
        assert!(saved(u64::MAX, &[(1, u64::MAX), (2, 1)], "3").is_err());
        assert!(saved(u64::MAX, &[(1, u64::MAX), (1, 1)], "3").is_err());
        assert!(saved(2, &[(1, 1), (2, 1)], &u128::MAX.to_string()).is_err());
    }

    #[test]
    fn buckets_tile_the_range_without_gaps() {
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_index(bucket_low(bucket)), bucket);
            assert_eq!(bucket_index(bucket_high(bucket)), bucket);
            assert_eq!(bucket_high(bucket) + 1, bucket_low(bucket + 1));
        }
        assert_eq!(bucket_low(BUCKETS), LIMIT);
        assert_eq!(bucket_index(LIMIT), BUCKETS);
        assert_eq!(bucket_index(u64::MAX), BUCKETS);
    }

    #[test]
    fn a_bucket_is_narrow() {
        for bucket in 128..BUCKETS {
            let (low, high) = (bucket_low(bucket) as f64, bucket_high(bucket) as f64);
            assert!((high - low) / 2.0 / low <= 0.0040, "{bucket}");
        }
    }

    #[test]
    fn rank_of_round_fractions_is_exact() {
        assert_eq!(quantile_rank(0.99, 100), 99);
        assert_eq!(quantile_rank(0.07, 100), 7);
        assert_eq!(quantile_rank(0.999, 1_000_000), 999_000);
        assert_eq!(quantile_rank(0.5, 3), 2);
        assert_eq!(quantile_rank(0.0, 10), 1);
        assert_eq!(quantile_rank(1.0, 10), 10);
    }

    #[test]
    fn a_saved_histogram_that_contradicts_itself_is_refused() {
        let mut histogram = Histogram::new();
        histogram.record(5);
        let text = serde_json::to_string(&histogram).unwrap();
        assert!(serde_json::from_str::<Histogram>(&text.replace("\"n\":1", "\"n\":2")).is_err());
        assert!(serde_json::from_str::<Histogram>(&text.replace("[5,1]", "[9999,1]")).is_err());
        for wrong in ["\"min_ns\":4", "\"min_ns\":6", "\"min_ns\":18446744073709551615"] {
            assert!(serde_json::from_str::<Histogram>(&text.replace("\"min_ns\":5", wrong)).is_err());
        }
        assert!(serde_json::from_str::<Histogram>(&text.replace("\"max_ns\":5", "\"max_ns\":6")).is_err());
        assert!(serde_json::from_str::<Histogram>(&text.replace("\"sum_ns\":\"5\"", "\"sum_ns\":\"x\"")).is_err());
    }

    /// Latencies of all magnitudes.
    fn values() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(
            (0u32..44, 0u64..1 << 20).prop_map(|(shift, low)| (1u64 << shift) + low),
            1..300,
        )
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(mut list in values(), fraction in 0.0f64..=1.0) {
            let mut histogram = Histogram::new();
            for value in &list {
                histogram.record(*value);
            }
            list.sort_unstable();
            let n = list.len() as u64;
            prop_assert_eq!(histogram.n(), n);
            prop_assert_eq!(histogram.min(), list[0]);
            prop_assert_eq!(histogram.max(), list[list.len() - 1]);
            prop_assert_eq!(histogram.sum(), list.iter().map(|v| u128::from(*v)).sum::<u128>());
            let exact = list[quantile_rank(fraction, n) as usize - 1];
            let quantile = histogram.quantile(fraction);
            prop_assert_eq!(bucket_index(exact), histogram.bucket_of_rank(quantile_rank(fraction, n)).unwrap());
            if exact < LIMIT {
                prop_assert!(quantile.abs_diff(exact) as f64 <= 0.004 * exact as f64 + 0.5);
            }
            let mean = histogram.mean();
            let squares: f64 = list.iter().map(|v| (*v as f64 - mean).powi(2)).sum();
            let deviation = (squares / n as f64).sqrt();
            prop_assert!((histogram.population_deviation() - deviation).abs() <= 1e-6 * deviation.max(1.0));
        }

        #[test]
        fn merging_equals_counting_together(a in values(), b in values()) {
            let count = |lists: &[&Vec<u64>]| {
                let mut histogram = Histogram::new();
                lists.iter().flat_map(|list| list.iter()).for_each(|value| histogram.record(*value));
                histogram
            };
            let mut merged = count(&[&a]);
            merged.merge(&count(&[&b]));
            prop_assert_eq!(&merged, &count(&[&b, &a]));
            let saved = serde_json::to_string(&merged).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Histogram>(&saved).unwrap(), &merged);
            merged.clear();
            prop_assert_eq!(merged, Histogram::new());
        }
    }
}
