//! DiskSpd's latency figures from our histograms.

use std::ops::{Index, IndexMut};

use model::histogram::{BUCKETS, Histogram, bucket_high};

/// Nanoseconds of a millisecond.
const MILLISECOND: f64 = 1e6;

/// The operations in a table or column, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DirectionPart {
    Total,
    Read,
    Write,
}

impl DirectionPart {
    pub(super) const ALL: [DirectionPart; 3] = [DirectionPart::Total, DirectionPart::Read, DirectionPart::Write];
    /// The order of XML and of chart columns.
    pub(super) const COLUMNS: [DirectionPart; 3] = [DirectionPart::Read, DirectionPart::Write, DirectionPart::Total];
}

/// Reads, writes, and both together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Split<T> {
    pub read: T,
    pub write: T,
    pub total: T,
}

impl<T> Index<DirectionPart> for Split<T> {
    type Output = T;
    fn index(&self, part: DirectionPart) -> &T {
        match part {
            DirectionPart::Total => &self.total,
            DirectionPart::Read => &self.read,
            DirectionPart::Write => &self.write,
        }
    }
}

impl<T> IndexMut<DirectionPart> for Split<T> {
    fn index_mut(&mut self, part: DirectionPart) -> &mut T {
        match part {
            DirectionPart::Total => &mut self.total,
            DirectionPart::Read => &mut self.read,
            DirectionPart::Write => &mut self.write,
        }
    }
}

/// Mean and deviation of latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spread {
    pub operations: u64,
    pub mean_ms: f64,
    /// Population deviation.
    pub deviation_ms: f64,
}

impl Spread {
    pub(super) fn from_histogram(histogram: &Histogram) -> Spread {
        Spread {
            operations: histogram.n(),
            mean_ms: histogram.mean() / MILLISECOND,
            deviation_ms: histogram.population_deviation() / MILLISECOND,
        }
    }
}

/// Converts to milliseconds in single precision, as DiskSpd does, for the same last digit.
fn to_milliseconds(nanos: u64) -> f32 {
    (nanos as f64 / 1e3) as f32 / 1e3
}

pub(super) fn min_ms(histogram: &Histogram) -> f32 {
    to_milliseconds(histogram.min())
}

pub(super) fn max_ms(histogram: &Histogram) -> f32 {
    to_milliseconds(histogram.max())
}

/// The latency that at least `fraction` of the operations do not exceed.
///
/// DiskSpd takes the first value whose cumulative count reaches `fraction` × n, in double
/// precision: 0.07 × 100 is above 7 there and asks for the eighth value.
/// [`model::histogram::quantile_rank`] would correct that, so it is not used here. Each bucket
/// counts as its upper edge, so that at least `fraction` of the operations are within the result.
pub(super) fn percentile_ms(histogram: &Histogram, fraction: f64) -> f32 {
    let rank = (fraction * histogram.n() as f64).ceil() as u64;
    to_milliseconds(match histogram.bucket_of_rank(rank) {
        None => 0,
        Some(BUCKETS) => histogram.max(),
        Some(bucket) => bucket_high(bucket).min(histogram.max()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build_histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    #[test]
    fn percentiles_are_upper_edges_within_the_maximum() {
        // Values below 256 ns have a bucket each; 1000 is in 1000..=1003.
        let histogram = build_histogram((1..=99).chain([1000, 2000]));
        assert_eq!(percentile_ms(&histogram, 0.5), to_milliseconds(51));
        assert_eq!(percentile_ms(&histogram, 0.99), to_milliseconds(1003));
        assert_eq!(percentile_ms(&histogram, 0.999), to_milliseconds(2000));
        assert_eq!(percentile_ms(&Histogram::new(), 0.5), 0.0);
    }

    #[test]
    fn ranks_come_from_double_precision() {
        let histogram = build_histogram(1..=100);
        assert_eq!(percentile_ms(&histogram, 7.0 / 100.0), to_milliseconds(8));
        assert_eq!(percentile_ms(&histogram, 0.25), to_milliseconds(25));
        assert_eq!(percentile_ms(&histogram, 0.999_999_999), to_milliseconds(100));
    }

    #[test]
    fn times_beyond_the_last_bucket_are_the_maximum() {
        let histogram = build_histogram([5, 1 << 41]);
        assert_eq!(percentile_ms(&histogram, 0.9), to_milliseconds(1 << 41));
    }
}
