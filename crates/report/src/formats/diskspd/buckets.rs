//! Operations counted in intervals, like DiskSpd's `-D`, and the deviation of their rate.

use model::results::Point;

use super::settings::BucketGrid;

/// The intervals of a series up to its last operation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Buckets {
    length_ms: u64,
    list: Vec<Bucket>,
}

/// Operations of an interval and their latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bucket {
    pub operations: u64,
    latency_ns: u64,
    latency_squares_ns2: f64,
    latency_ns_min: u64,
    latency_ns_max: u64,
}

impl Buckets {
    /// Drops empty intervals at the end, and operations after the planned end.
    pub(super) fn from_points(points: &[Point], grid: BucketGrid) -> Buckets {
        let last = points.iter().rposition(|point| point.operations > 0);
        let valid = last.map_or(0, |last| last + 1);
        let valid = valid.min(usize::try_from(grid.expected).unwrap_or(usize::MAX));
        Buckets {
            length_ms: grid.length_ms,
            list: points[..valid].iter().map(Bucket::from_point).collect(),
        }
    }

    pub(super) fn list(&self) -> &[Bucket] {
        &self.list
    }

    /// Adds a series interval by interval; the result is as long as the longer series.
    pub(super) fn merge(&mut self, other: &Buckets) {
        let longer = self.list.len().max(other.list.len());
        self.list.resize(longer, Bucket::default());
        for (index, mine) in self.list.iter_mut().enumerate() {
            mine.merge(&other.list.get(index).copied().unwrap_or_default());
        }
    }

    /// Population standard deviation of the operations per second. A shorter last interval counts
    /// as a full one, as in DiskSpd.
    pub(super) fn deviation(&self) -> f64 {
        if self.list.is_empty() {
            return 0.0;
        }
        let n = self.list.len() as f64;
        let counts = || self.list.iter().map(|bucket| bucket.operations as f64);
        let mean = counts().sum::<f64>() / n;
        let squares: f64 = counts().map(|count| (count - mean) * (count - mean)).sum();
        (squares / n).sqrt() / (self.length_ms as f64 / 1e3)
    }

    /// Converts the count of an interval to operations per second.
    pub(super) fn per_second(&self, operations: u64) -> f64 {
        operations as f64 / (self.length_ms as f64 / 1e3)
    }

    /// End of the interval with the given index.
    pub(super) fn end_ms(&self, index: usize) -> u64 {
        (index as u64 + 1) * self.length_ms
    }
}

impl Bucket {
    fn from_point(point: &Point) -> Bucket {
        Bucket {
            operations: point.operations,
            latency_ns: point.latency_ns,
            latency_squares_ns2: point.latency_squares_ns2,
            latency_ns_min: point.latency_ns_min,
            latency_ns_max: point.latency_ns_max,
        }
    }

    fn merge(&mut self, other: &Bucket) {
        self.operations += other.operations;
        self.latency_ns = self.latency_ns.saturating_add(other.latency_ns);
        self.latency_squares_ns2 += other.latency_squares_ns2;
        // In DiskSpd, an interval without operations has minimum 0, which is the smaller one.
        // `Point::merge` skips such intervals, so its result would differ from DiskSpd's.
        self.latency_ns_min = self.latency_ns_min.min(other.latency_ns_min);
        self.latency_ns_max = self.latency_ns_max.max(other.latency_ns_max);
    }

    pub(super) fn min_ms(&self) -> f64 {
        self.latency_ns_min as f64 / 1e6
    }

    pub(super) fn max_ms(&self) -> f64 {
        self.latency_ns_max as f64 / 1e6
    }

    pub(super) fn mean_ms(&self) -> f64 {
        self.mean_ns() / 1e6
    }

    fn mean_ns(&self) -> f64 {
        match self.operations {
            0 => 0.0,
            operations => self.latency_ns as f64 / operations as f64,
        }
    }

    pub(super) fn deviation_ms(&self) -> f64 {
        if self.operations == 0 {
            return 0.0;
        }
        let mean = self.mean_ns();
        let variance = self.latency_squares_ns2 / self.operations as f64 - mean * mean;
        // Rounding may result in a slightly negative value.
        variance.max(0.0).sqrt() / 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: BucketGrid = BucketGrid {
        length_ms: 500,
        expected: 4,
    };

    fn create_points(counts: &[u64]) -> Vec<Point> {
        let point = |operations: &u64| Point {
            operations: *operations,
            latency_ns: operations * 2_000_000,
            latency_squares_ns2: *operations as f64 * 4e12,
            latency_ns_min: if *operations == 0 { 0 } else { 1_000_000 },
            latency_ns_max: if *operations == 0 { 0 } else { 3_000_000 },
            ..Point::default()
        };
        counts.iter().map(point).collect()
    }

    fn create_buckets(counts: &[u64]) -> Buckets {
        Buckets::from_points(&create_points(counts), GRID)
    }

    #[test]
    fn idle_intervals_count_except_at_the_end() {
        assert_eq!(create_buckets(&[0, 4, 0, 0]).list().len(), 2);
        assert_eq!(create_buckets(&[0, 4, 0, 8]).list().len(), 4);
        // 0 and 4 in half a second each: ± 2 around 2, or ± 4 a second.
        assert!((create_buckets(&[0, 4, 0, 0]).deviation() - 4.0).abs() < 1e-12);
        assert!(create_buckets(&[0, 0]).list().is_empty());
        assert_eq!(create_buckets(&[]).deviation().to_bits(), 0);
    }

    #[test]
    fn operations_after_the_planned_end_are_dropped() {
        let late = create_buckets(&[6, 2, 0, 0, 5]);
        assert_eq!(late.list().len(), 4);
        assert_eq!(late.list().iter().map(|bucket| bucket.operations).sum::<u64>(), 8);
    }

    #[test]
    fn merged_deviation_is_that_of_the_summed_counts() {
        let mut sum = create_buckets(&[1, 3, 1, 3]);
        sum.merge(&create_buckets(&[3, 1, 3, 1]));
        assert!(sum.deviation().abs() < 1e-12);
        let mut longer = create_buckets(&[2]);
        longer.merge(&create_buckets(&[2, 2, 4]));
        let counts: Vec<u64> = longer.list().iter().map(|bucket| bucket.operations).collect();
        assert_eq!(counts, [4, 2, 4]);
    }

    #[test]
    fn an_idle_thread_makes_the_merged_minimum_zero() {
        let mut sum = create_buckets(&[1, 1, 1]);
        sum.merge(&create_buckets(&[1, 0, 1]));
        let bucket_mins_ms: Vec<f64> = sum.list().iter().map(Bucket::min_ms).collect();
        assert_eq!(bucket_mins_ms, [1.0, 0.0, 1.0]);
        let mut short = create_buckets(&[1]);
        short.merge(&create_buckets(&[1, 1]));
        assert_eq!(short.list()[1].latency_ns_min, 0);
        assert!((short.list()[1].mean_ms() - 2.0).abs() < 1e-12);
        assert!(short.list()[1].deviation_ms().abs() < 1e-12);
    }
}
