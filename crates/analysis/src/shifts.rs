//! Finds change points, trends and stalls within the measured window. A confidence interval of a
//! mean assumes a single state of the storage. If the window shows two, its mean describes only
//! that window and is not a sample.

use model::Nanos;
use model::observation::{Observation, SeriesPoint};
use model::stats::{Segment, mean, sample_deviation, segments};

/// Minimum length of a level.
const MIN_LEVEL_SECONDS: usize = 10;
const MIN_LEVEL_DIFFERENCE: f64 = 0.03;
/// Batches that a latency series is cut into.
const BATCHES: usize = 16;
/// Minimum t statistic of a latency change. Chance alone produces values up to 4 in the correlated
/// batches of a nearly saturated queue, but never this one.
const MIN_T_STATISTIC: f64 = 9.0;
/// Latency levels that differ by less than this share count as one.
const MIN_LATENCY_DIFFERENCE: f64 = 0.10;
/// Minimum length of a stall, in seconds.
const MIN_STALL_SECS: f64 = 0.2;
/// Minimum number of expected operations for a gap to be significant.
const MIN_STALL_OPERATIONS: f64 = 10.0;

/// A change of the storage's state within the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shift {
    /// The rate moved to another level: operations per second before and after, and when, in
    /// seconds.
    Rate {
        /// Before.
        from: f64,
        /// After.
        to: f64,
        /// When.
        at: f64,
        /// Number of levels in the window.
        levels: usize,
    },
    /// The rate fell or rose steadily: operations per second in the first and the last sixteenth of
    /// the window.
    RateDrift {
        /// First.
        from: f64,
        /// Last.
        to: f64,
    },
    /// The mean latency moved to another level: nanoseconds before and after, and when, in seconds.
    Latency {
        /// Before.
        from: f64,
        /// After.
        to: f64,
        /// When.
        at: f64,
    },
    /// The mean latency rose or fell steadily: nanoseconds in the first and the last sixteenth of
    /// the window.
    LatencyDrift {
        /// First.
        from: f64,
        /// Last.
        to: f64,
    },
    /// Nothing completed for some time.
    Stalls {
        /// Number of stalls.
        count: usize,
        /// Start of the first stall, in seconds.
        at: f64,
        /// Length of the longest stall, in seconds.
        longest: f64,
        /// Wall-clock start of the measured window, if known.
        start_unix_ns: Option<u64>,
    },
}

/// Finds a change within the window: of the rate, else of the latency, else stalls. `None` if the
/// load was stationary or the data cannot show a change.
pub fn shift(observation: &Observation) -> Option<Shift> {
    rate_change(observation)
        .or_else(|| latency_shift(observation))
        .or_else(|| stall_shift(observation))
}

/// Like [`shift`], for the rate alone.
pub fn rate_shift_or_stalls(observation: &Observation) -> Option<Shift> {
    rate_change(observation).or_else(|| stall_shift(observation))
}

/// The largest fall of the rate between levels, or the largest rise if the rate never fell.
fn rate_change(observation: &Observation) -> Option<Shift> {
    let seconds = rates_by_second(observation);
    if seconds.len() < 2 * MIN_LEVEL_SECONDS {
        return None;
    }
    let levels = segments(&seconds, MIN_LEVEL_SECONDS);
    let fall = |pair: &[Segment]| (pair[0].mean - pair[1].mean) / pair[0].mean.max(pair[1].mean).max(1e-9);
    let falls = levels.windows(2).filter(|pair| fall(pair) >= MIN_LEVEL_DIFFERENCE);
    let rises = levels.windows(2).filter(|pair| -fall(pair) >= MIN_LEVEL_DIFFERENCE);
    let largest = falls
        .max_by(|a, b| fall(a).total_cmp(&fall(b)))
        .or_else(|| rises.min_by(|a, b| fall(a).total_cmp(&fall(b))));
    if let Some(largest) = largest.filter(|_| !is_linear(&seconds, &levels)) {
        return Some(Shift::Rate {
            from: largest[0].mean,
            to: largest[1].mean,
            at: largest[1].start as f64,
            levels: levels.len(),
        });
    }
    let length = seconds.len() / BATCHES;
    let skipped = seconds.len() - length * BATCHES;
    let means: Vec<f64> = seconds[skipped..].chunks_exact(length.max(1)).map(mean).collect();
    let (from, to) = (*means.first()?, *means.last()?);
    let differ = (to - from).abs() >= MIN_LEVEL_DIFFERENCE * from.max(to);
    (length > 0 && slope_t_statistic(&means) >= MIN_T_STATISTIC && differ).then_some(Shift::RateDrift { from, to })
}

/// True if a line fits a series better than its levels. The Bayesian information criterion (Schwarz
/// 1978) decides. Segmentation often splits a drift into steps.
fn is_linear(values: &[f64], levels: &[Segment]) -> bool {
    let n = values.len() as f64;
    let (middle, mean_value) = ((n - 1.0) / 2.0, mean(values));
    let spread: f64 = (0..values.len()).map(|index| (index as f64 - middle).powi(2)).sum();
    let slope = values
        .iter()
        .enumerate()
        .map(|(index, value)| (index as f64 - middle) * (value - mean_value))
        .sum::<f64>()
        / spread;
    let line = |index: usize| mean_value + slope * (index as f64 - middle);
    let step = |index: usize| {
        levels
            .iter()
            .find(|segment| index < segment.end)
            .map_or(mean_value, |segment| segment.mean)
    };
    let criterion = |model: &dyn Fn(usize) -> f64, parameters: f64| {
        let squares = values
            .iter()
            .enumerate()
            .map(|(index, value)| (value - model(index)).powi(2));
        n * (squares.sum::<f64>() / n).max(1e-9).ln() + parameters * n.ln()
    };
    criterion(&line, 2.0) < criterion(&step, 2.0 * levels.len() as f64 - 1.0)
}

/// The best split of the latency series in two, if significant (Welch's t over batch means).
/// Otherwise a significant trend (t statistic of the least-squares slope).
fn latency_shift(observation: &Observation) -> Option<Shift> {
    let (means, starts) = latency_batches(&observation.series)?;
    let welch = |at: usize| {
        let (before, after) = means.split_at(at);
        let variance = |values: &[f64]| sample_deviation(values).powi(2) / values.len() as f64;
        let (from, to) = (mean(before), mean(after));
        let error = (variance(before) + variance(after)).sqrt().max(1e-4 * from.max(to));
        ((to - from).abs() / error, from, to, at)
    };
    let differ = |from: f64, to: f64| (to - from).abs() >= MIN_LATENCY_DIFFERENCE * from.max(to);
    let best = (4..=BATCHES - 4).map(welch).max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (t_statistic, from, to, at) = best;
    if t_statistic >= MIN_T_STATISTIC && differ(from, to) {
        return Some(Shift::Latency {
            from,
            to,
            at: starts[at],
        });
    }
    let (from, to) = (means[0], means[BATCHES - 1]);
    (slope_t_statistic(&means) >= MIN_T_STATISTIC && differ(from, to)).then_some(Shift::LatencyDrift { from, to })
}

/// Mean latencies of equal parts of a series, and the start of each in seconds.
fn latency_batches(points: &[SeriesPoint]) -> Option<(Vec<f64>, Vec<f64>)> {
    let length = points.len() / BATCHES;
    let skipped = points.len() - length * BATCHES;
    let batch = |points: &[SeriesPoint]| {
        let sums = points.iter().map(|point| {
            let operations = point.operations.iter().sum::<u64>() as f64;
            (point.mean_ns.unwrap_or(0.0) * operations, operations)
        });
        let (sum, n) = sums.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        if n > 0.0 { sum / n } else { 0.0 }
    };
    let batches = || points[skipped..].chunks_exact(length);
    let starts = |points: &[SeriesPoint]| points[0].start_ns.as_secs();
    (length > 0).then(|| (batches().map(batch).collect(), batches().map(starts).collect()))
}

/// The slope of the least-squares line through equally spaced values, in standard errors.
fn slope_t_statistic(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let (middle, mean_value) = ((n - 1.0) / 2.0, mean(values));
    let offset = |index: usize| index as f64 - middle;
    let spread: f64 = (0..values.len()).map(|index| offset(index).powi(2)).sum();
    let numbered = || values.iter().enumerate();
    let slope = numbered()
        .map(|(index, value)| offset(index) * (value - mean_value))
        .sum::<f64>()
        / spread;
    let residual = numbered()
        .map(|(index, value)| (value - mean_value - slope * offset(index)).powi(2))
        .sum::<f64>();
    let error = (residual / (n - 2.0) / spread).sqrt().max(1e-5 * mean_value);
    slope.abs() / error
}

/// Finds gaps in which nothing completed although operations were due or in flight.
fn stall_shift(observation: &Observation) -> Option<Shift> {
    let stalls = find_stalls(observation);
    let longest = stalls.iter().map(|(_, length)| *length).fold(0.0, f64::max);
    let (at, _) = *stalls.first()?;
    Some(Shift::Stalls {
        count: stalls.len(),
        at,
        longest,
        start_unix_ns: observation.started_unix_ns,
    })
}

/// Finds the start and length of each stall, in seconds. A gap no longer than one operation is not
/// a stall, because operations of equal latency complete in waves.
pub fn find_stalls(observation: &Observation) -> Vec<(f64, f64)> {
    let rate = observation.total.iops.unwrap_or(0.0);
    let service = observation.total.latency.as_ref().and_then(|latency| latency.mean_ns);
    let longest_wave = service.map_or(0.0, |ns| ns / 1e9);
    let gaps = find_gaps(observation).map(|gap| (gap.start_ns.as_secs(), gap.length_ns.as_secs()));
    let is_stall =
        |(_, length): &(f64, f64)| *length >= MIN_STALL_SECS.max(longest_wave) && length * rate >= MIN_STALL_OPERATIONS;
    gaps.filter(is_stall).collect()
}

/// A time without completions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    pub(crate) start_ns: Nanos,
    pub(crate) length_ns: Nanos,
}

/// Finds each run of intervals without completions.
pub(crate) fn find_gaps(observation: &Observation) -> impl Iterator<Item = Gap> {
    let is_empty = |point: &SeriesPoint| point.operations.iter().all(|count| *count == 0);
    let same = move |point: &SeriesPoint, next: &SeriesPoint| is_empty(point) == is_empty(next);
    let gaps = observation.series.chunk_by(same).filter(move |run| is_empty(&run[0]));
    gaps.map(|run| Gap {
        start_ns: run[0].start_ns,
        length_ns: Nanos(run.iter().map(|point| point.length_ns.0).sum()),
    })
}

/// Operations per second in each whole second.
fn rates_by_second(observation: &Observation) -> Vec<f64> {
    let Some(first) = observation.series.first() else {
        return Vec::new();
    };
    let length = first.length_ns;
    let full_points = observation.series.iter().take_while(|point| point.length_ns == length);
    let rates: Vec<f64> = full_points.map(|point| point.iops()).collect();
    let per_second = ((1.0 / length.as_secs()).round() as usize).max(1);
    let chunks = rates.chunks_exact(per_second);
    chunks
        .map(|chunk| chunk.iter().sum::<f64>() / per_second as f64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::draws::{GeneratorChoice, Purpose};

    /// Ten points per second with this many operations and this mean latency in each.
    fn observed(seconds: usize, point: impl Fn(usize) -> (u64, f64)) -> Observation {
        let point_at = |number: usize| {
            let (operations, mean) = point(number);
            SeriesPoint {
                start_ns: Nanos::millis(100 * number as u64),
                length_ns: Nanos::millis(100),
                operations: [operations, 0, 0],
                mean_ns: (operations > 0).then_some(mean),
                ..SeriesPoint::default()
            }
        };
        let mut observation = Observation {
            series: (0..10 * seconds).map(point_at).collect(),
            ..Observation::default()
        };
        observation.total.iops = Some(1000.0);
        observation
    }

    #[test]
    fn credits_that_run_out_are_a_change_of_the_rate() {
        let observation = observed(300, |n| if n < 980 { (600, 1e6) } else { (300, 1e8) });
        let found = shift(&observation);
        assert_eq!(
            found,
            Some(Shift::Rate {
                from: 6000.0,
                to: 3000.0,
                at: 98.0,
                levels: 2
            })
        );
    }

    #[test]
    fn a_latency_that_doubles_is_a_change() {
        let observation = observed(300, |n| (100, if n < 1500 { 1e6 } else { 2e6 } + (n % 7) as f64 * 1e4));
        assert!(matches!(shift(&observation), Some(Shift::Latency { to, .. }) if to > 1.9e6));
    }

    #[test]
    fn a_steadily_rising_latency_drifts() {
        let observation = observed(300, |n| (100, 1e6 + 100.0 * n as f64 + (n % 7) as f64 * 1e4));
        assert!(matches!(shift(&observation), Some(Shift::LatencyDrift { from, to }) if to > 1.2 * from));
    }

    #[test]
    fn a_steadily_falling_rate_drifts() {
        let observation = observed(300, |n| (100 - n as u64 / 150, 1e6));
        assert!(matches!(shift(&observation), Some(Shift::RateDrift { from, to }) if to < 0.85 * from));
    }

    /// First-order autoregression with a correlation time of two seconds, like a queue near
    /// saturation.
    #[test]
    fn a_wandering_latency_is_not_a_change() {
        let mut found = 0;
        for seed in 0..200 {
            let mut draws = GeneratorChoice::Native { seed }.start();
            let mut previous = 0.0;
            let levels: Vec<f64> = (0..3000)
                .map(|_| {
                    let bell = (0..12).map(|_| draws.next_f64(Purpose::Content)).sum::<f64>() - 6.0;
                    previous = 0.95 * previous + bell;
                    1e6 * (5.0 + previous).max(0.5)
                })
                .collect();
            found += usize::from(shift(&observed(300, |n| (100, levels[n]))).is_some());
        }
        assert_eq!(found, 0);
    }

    #[test]
    fn stalls_are_counted() {
        let observation = observed(30, |n| if (100..103).contains(&n) { (0, 0.0) } else { (100, 1e6) });
        assert!(
            matches!(shift(&observation), Some(Shift::Stalls { count: 1, at, longest, .. }) if at == 10.0 && (longest - 0.3).abs() < 1e-9)
        );
        assert_eq!(shift(&observed(300, |_| (100, 1e6))), None);
    }
}
