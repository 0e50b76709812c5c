//! Detects changes of level in a series. The method is PELT (Killick, Fearnhead, Eckley 2012,
//! "Optimal detection of changepoints with a linear computational cost") with the absolute distance
//! from the median as cost, so that single outliers have no effect. It is exact and draws no random
//! number: equal series have equal segments.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::intervals::{mean, sample_deviation};

/// A part of a series with a constant level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Index of its first value.
    pub start: usize,
    /// Index behind its last.
    pub end: usize,
    /// Median of the points of the segment.
    pub level: f64,
    /// Its arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub deviation: f64,
}

impl Segment {
    /// The part of a series between two indexes, even if its level changes there.
    pub fn new(series: &[f64], start: usize, end: usize) -> Segment {
        let values = &series[start..end];
        Segment {
            start,
            end,
            level: median(values),
            mean: mean(values),
            deviation: sample_deviation(values),
        }
    }

    /// Coefficient of variation: deviation as a share of the mean; 0 where the mean is 0.
    pub fn variation(&self) -> f64 {
        share_of_whole(self.deviation, self.mean)
    }
}

/// Coefficient of variation of a series: deviation as a share of the mean; 0 where the mean is 0.
pub fn variation(series: &[f64]) -> f64 {
    share_of_whole(sample_deviation(series), mean(series))
}

/// The middle value; 0 for an empty list.
pub fn median(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

fn share_of_whole(part: f64, whole: f64) -> f64 {
    if whole == 0.0 { 0.0 } else { part / whole.abs() }
}

/// The segments of a series, each of at least `min_length` values; a single one if its level does
/// not change.
///
/// A change costs 3 ln n in units of the noise. The noise is estimated by the median absolute
/// difference between neighbours, which a change of level does not affect. In uncorrelated noise,
/// fewer than one series of 120 values in a hundred has a false change; shorter series have more,
/// because their noise is known less well. Noise below a thousandth of the level counts as a
/// thousandth.
pub fn segments(series: &[f64], min_length: usize) -> Vec<Segment> {
    let (n, min_length) = (series.len(), min_length.max(1));
    if n == 0 {
        return Vec::new();
    }
    if n < 2 * min_length {
        return vec![Segment::new(series, 0, n)];
    }
    let scaled: Vec<f64> = {
        let noise = estimate_noise(series);
        series.iter().map(|value| value / noise).collect()
    };
    let starts = best_starts(&scaled, min_length, 3.0 * (n as f64).ln());
    let mut segments_found = Vec::new();
    let mut end = n;
    while end > 0 {
        segments_found.push(Segment::new(series, starts[end], end));
        end = starts[end];
    }
    segments_found.reverse();
    segments_found
}

/// For each end of a series, the start of its last segment at minimum total cost.
fn best_starts(series: &[f64], min_length: usize, penalty: f64) -> Vec<usize> {
    let n = series.len();
    let mut best = vec![f64::INFINITY; n + 1];
    let mut starts = vec![0; n + 1];
    // The end from which a start can be ignored: a start that is better now is better for every end
    // at least a segment later.
    let mut useless_from = vec![usize::MAX; n + 1];
    best[0] = -penalty;
    let mut first = 0;
    for end in min_length..=n {
        while useless_from[first] <= end {
            first += 1;
        }
        let mut costs = Vec::new();
        let mut values = RunningMedian::default();
        for start in (first..end).rev() {
            values.add(series[start]);
            let admissible = end - start >= min_length && best[start].is_finite() && useless_from[start] > end;
            if !admissible {
                continue;
            }
            let cost = best[start] + values.distance();
            costs.push((start, cost));
            if cost + penalty < best[end] {
                (best[end], starts[end]) = (cost + penalty, start);
            }
        }
        for (start, cost) in costs {
            if cost > best[end] {
                useless_from[start] = useless_from[start].min(end + min_length);
            }
        }
    }
    starts
}

/// Standard deviation of the noise, from differences between neighbours.
fn estimate_noise(series: &[f64]) -> f64 {
    let differences: Vec<f64> = series.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let sizes: Vec<f64> = series.iter().map(|value| value.abs()).collect();
    // For normal noise the standard deviation is 1.4826 times the median absolute deviation; that
    // of a difference is √2 times larger.
    let from_differences = 1.4826 * median(&differences) / std::f64::consts::SQRT_2;
    let min_length = median(&sizes).max(mean(&sizes)) / 1000.0;
    from_differences.max(min_length).max(f64::MIN_POSITIVE)
}

/// A number with a total order.
#[derive(Clone, Copy, Debug, PartialEq)]
struct OrderedNumber(f64);

impl Eq for OrderedNumber {}

impl PartialOrd for OrderedNumber {
    fn partial_cmp(&self, other: &OrderedNumber) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OrderedNumber {
    fn cmp(&self, other: &OrderedNumber) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// The lower and the upper half of the values, and their sums.
#[derive(Debug, Default)]
struct RunningMedian {
    low: BinaryHeap<OrderedNumber>,
    high: BinaryHeap<Reverse<OrderedNumber>>,
    low_sum: f64,
    high_sum: f64,
}

impl RunningMedian {
    fn add(&mut self, value: f64) {
        if self.low.peek().is_none_or(|middle| value <= middle.0) {
            self.low.push(OrderedNumber(value));
            self.low_sum += value;
        } else {
            self.high.push(Reverse(OrderedNumber(value)));
            self.high_sum += value;
        }
        if self.low.len() > self.high.len() + 1 {
            if let Some(moved) = self.low.pop() {
                self.low_sum -= moved.0;
                self.high_sum += moved.0;
                self.high.push(Reverse(moved));
            }
        } else if self.high.len() > self.low.len()
            && let Some(Reverse(moved)) = self.high.pop()
        {
            self.high_sum -= moved.0;
            self.low_sum += moved.0;
            self.low.push(moved);
        }
    }

    /// Sum of the distances of all values from their median.
    fn distance(&self) -> f64 {
        let middle = self.low.peek().map_or(0.0, |middle| middle.0);
        let surplus = self.low.len() as f64 - self.high.len() as f64;
        (self.high_sum - self.low_sum + middle * surplus).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{GeneratorChoice, Purpose};
    use proptest::prelude::*;

    /// Computes the minimum that [`segments`] finds, by trying every partition.
    fn least_cost(series: &[f64], min_length: usize, penalty: f64) -> f64 {
        let cost = |values: &[f64]| {
            let middle = median(values);
            values.iter().map(|value| (value - middle).abs()).sum::<f64>()
        };
        let n = series.len();
        let mut best = vec![f64::INFINITY; n + 1];
        best[0] = -penalty;
        for end in min_length..=n {
            for start in 0..=(end - min_length) {
                best[end] = best[end].min(best[start] + cost(&series[start..end]) + penalty);
            }
        }
        best[n]
    }

    fn normal(seed: u64, n: usize, level: f64, deviation: f64) -> Vec<f64> {
        let mut draws = GeneratorChoice::Native { seed }.start();
        let mut unit = || draws.next_f64(Purpose::Offset);
        // The sum of twelve uniform numbers is nearly normal with a deviation of one.
        let draw = |_| level + deviation * ((0..12).map(|_| unit()).sum::<f64>() - 6.0);
        (0..n).map(draw).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let mut series = normal(1, 60, 3000.0, 20.0);
        series.extend(normal(2, 60, 1000.0, 20.0));
        let segments_found = segments(&series, 10);
        assert_eq!(segments_found.len(), 2, "{segments_found:?}");
        assert_eq!(
            (segments_found[0].start, segments_found[0].end, segments_found[1].end),
            (0, 60, 120)
        );
        assert!((segments_found[0].level - 3000.0).abs() < 20.0 && (segments_found[1].level - 1000.0).abs() < 20.0);
        assert!(segments_found[1].variation() < 0.05);
    }

    #[test]
    fn an_outlier_is_not_a_change() {
        let mut series = normal(3, 80, 1000.0, 10.0);
        series[40] = 0.0;
        series[41] = 9000.0;
        assert_eq!(segments(&series, 10).len(), 1);
    }

    #[test]
    fn steady_and_short_series_have_one_segment() {
        assert_eq!(segments(&[5.0; 100], 10).len(), 1);
        assert_eq!(segments(&[1.0, 9.0, 1.0], 10).len(), 1);
        assert_eq!(segments(&[], 10), []);
    }

    /// Checks the false alarm rate in the documentation.
    #[test]
    fn noise_has_no_changes() {
        let with_changes = (0..400).filter(|seed| segments(&normal(1000 + seed, 120, 1000.0, 50.0), 10).len() > 1);
        assert!(with_changes.count() <= 4);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// Checks that pruning loses nothing: no partition costs less.
        #[test]
        fn the_partition_has_minimum_cost(values in prop::collection::vec(-20i32..20, 1..40), min_length in 1usize..6) {
            let series: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            let starts = best_starts(&series, min_length, 5.0);
            prop_assume!(series.len() >= min_length);
            let (mut end, mut cost) = (series.len(), -5.0);
            while end > 0 {
                let segment = &series[starts[end]..end];
                prop_assert!(segment.len() >= min_length);
                let middle = median(segment);
                cost += 5.0 + segment.iter().map(|value| (value - middle).abs()).sum::<f64>();
                end = starts[end];
            }
            prop_assert!((cost - least_cost(&series, min_length, 5.0)).abs() < 1e-9);
        }

        /// Checks that the segments cover any series without gap or overlap.
        #[test]
        fn segments_cover_the_series(values in prop::collection::vec(0.0f64..1e6, 0..150), min_length in 1usize..20) {
            let segments_found = segments(&values, min_length);
            prop_assert_eq!(segments_found.first().map_or(0, |first| first.start), 0);
            prop_assert_eq!(segments_found.last().map_or(0, |last| last.end), values.len());
            prop_assert!(segments_found.windows(2).all(|pair| pair[0].end == pair[1].start));
            prop_assert!(segments_found.len() == 1 || segments_found.iter().all(|segment| segment.end - segment.start >= min_length));
        }

        /// Checks that the unit has no effect.
        #[test]
        fn units_do_not_matter(seed in 0u64..1000, factor in 0.001f64..1000.0) {
            let mut series = normal(seed, 40, 500.0, 10.0);
            series.extend(normal(seed + 7, 40, 420.0, 10.0));
            let scaled: Vec<f64> = series.iter().map(|value| value * factor).collect();
            let ends = |series: &[f64]| segments(series, 10).iter().map(|segment| segment.end).collect::<Vec<_>>();
            prop_assert_eq!(ends(&series), ends(&scaled));
        }
    }
}
