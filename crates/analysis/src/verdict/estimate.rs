//! How well a figure of an observation is known: its interval, and how probable the figure would be
//! if a promise were just kept or just broken.
//!
//! What is known decides the method: interval histograms, an interval series, a deviation, or
//! nothing but the figure.

use model::histogram::PackedHistogram;
use model::observation::{Flow, Latency, Observation};
use model::results::IntervalHistogram;
use model::stats::{batch_means, normal_cdf, quantile_interval, rank_interval, student_cdf, student_quantile};
use model::{Direction, PerDirection};

/// Confidence of the intervals that are shown.
const LEVEL: f64 = 0.95;
/// A figure of which nothing but its value over the whole run is known is taken as known to this
/// share.
pub const PLAIN: f64 = 0.10;
/// Neighbouring seconds resemble one another, and without a series it is unknown how much:
/// deviations between intervals are doubled, as for neighbours correlated by 0.6.
const UNKNOWN_CORRELATION: f64 = 2.0;
/// Fewer samples than this beyond a percentile say nothing about it.
pub const MIN_BEYOND: f64 = 10.0;
/// A rate that was asked for counts as kept if no more of it is missing than was under way at the
/// end, and this share for the edges of the window. Storage that can hardly keep it falls behind by
/// more.
const SCHEDULE_KEPT: f64 = 0.999;

/// A figure and what is known of its uncertainty.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) spread: Spread,
}

/// The uncertainty of a figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Spread {
    /// A standard error with its degrees of freedom.
    Student { error: f64, degrees: u32 },
    /// It lies between these.
    Between { low: f64, high: f64 },
    /// A quantile of a histogram: how many values lie beyond the target, of how many, and how they
    /// cluster in time.
    Counted {
        low: Option<f64>,
        high: Option<f64>,
        beyond: u64,
        n: u64,
        expected: f64,
        clustered: Option<Clustered>,
    },
}

/// The share of operations beyond a target, interval by interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Clustered {
    share: f64,
    error: f64,
    degrees: u32,
}

/// Why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unknown {
    /// The source does not have the figure.
    Absent,
    /// Not one operation of this direction was issued.
    NotIssued(Direction),
    /// This many values are needed; that many are there.
    TooFew { needed: u64, found: u64 },
}

impl Estimate {
    /// The interval that is shown: two-sided, 95 %.
    pub(super) fn interval(&self) -> (Option<f64>, Option<f64>) {
        match &self.spread {
            Spread::Student { error, degrees } => {
                let half = student_quantile(1.0 - (1.0 - LEVEL) / 2.0, *degrees) * error;
                (Some(self.value - half), Some(self.value + half))
            }
            Spread::Between { low, high } => (Some(*low), Some(*high)),
            Spread::Counted { low, high, .. } => (*low, *high),
        }
    }

    /// How probable a figure as large as this is, at most, if the true one were no larger than
    /// `limit`.
    pub(super) fn above(&self, limit: f64) -> f64 {
        match &self.spread {
            Spread::Student { error, degrees } => 1.0 - student_cdf(scaled(self.value - limit, *error), *degrees),
            Spread::Between { low, .. } => f64::from(u8::from(*low <= limit)),
            Spread::Counted {
                beyond,
                n,
                expected,
                clustered,
                ..
            } => {
                // The quantile lies above the limit if more values than expected lie beyond it.
                let counted = 1.0 - binomial_up_to(beyond.saturating_sub(1), *n, *expected);
                let counted = if *beyond == 0 { 1.0 } else { counted };
                clustered.map_or(counted, |of| counted.max(1.0 - of.below(*expected)))
            }
        }
    }

    /// How probable a figure as small as this is, at most, if the true one were no smaller than
    /// `limit`.
    pub(super) fn below(&self, limit: f64) -> f64 {
        match &self.spread {
            Spread::Student { error, degrees } => student_cdf(scaled(self.value - limit, *error), *degrees),
            Spread::Between { high, .. } => f64::from(u8::from(*high > limit)),
            Spread::Counted {
                beyond,
                n,
                expected,
                clustered,
                ..
            } => {
                let counted = binomial_up_to(*beyond, *n, *expected);
                clustered.map_or(counted, |of| counted.max(of.below(*expected)))
            }
        }
    }
}

impl Clustered {
    /// How probable so small a share is, if the true one were `expected`.
    fn below(&self, expected: f64) -> f64 {
        student_cdf(scaled(self.share - expected, self.error), self.degrees)
    }
}

/// A distance in standard errors. Without any error it is decided by its sign alone, and on the
/// limit itself by nothing.
fn scaled(distance: f64, error: f64) -> f64 {
    match error > 0.0 {
        true => distance / error,
        false if distance == 0.0 => 0.0,
        false => distance.signum() * f64::INFINITY,
    }
}

/// P(K ≤ k) for K binomial(n, share): exact in its lower tail while few are expected, else the
/// normal approximation with continuity correction.
fn binomial_up_to(k: u64, n: u64, share: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    let (n_real, expected) = (n as f64, n as f64 * share);
    if expected * (1.0 - share) >= 100.0 {
        let deviation = (expected * (1.0 - share)).sqrt();
        return normal_cdf((k as f64 + 0.5 - expected) / deviation);
    }
    let mut log_term = n_real * (-share).ln_1p();
    let log_odds = (share / (1.0 - share)).ln();
    let mut sum = 0.0;
    for i in 0..=k {
        sum += log_term.exp();
        // Far beyond the mean nothing is added any more.
        if i as f64 > expected + 60.0 * (expected + 1.0).sqrt() {
            break;
        }
        log_term += ((n - i) as f64).ln() - ((i + 1) as f64).ln() + log_odds;
    }
    sum.min(1.0)
}

/// The flow of a direction, or of all.
pub(super) fn flow(observation: &Observation, direction: Option<Direction>) -> Option<&Flow> {
    match direction {
        None => Some(&observation.total),
        Some(direction) => observation.directions[direction].as_ref(),
    }
}

/// Operations or bytes per second.
pub(super) fn rate(observation: &Observation, direction: Option<Direction>, bytes: bool) -> Result<Estimate, Unknown> {
    let flow = flow(observation, direction).ok_or(Unknown::Absent)?;
    let value = if bytes { flow.bytes_per_sec } else { flow.iops };
    let value = value.ok_or(Unknown::Absent)?;
    let iops = flow.iops.filter(|iops| *iops > 0.0);
    let each = if bytes {
        iops.map_or(1.0, |iops| value / iops)
    } else {
        1.0
    };
    let spread = kept_schedule(observation, value, each)
        .or_else(|| of_series(observation, direction, bytes))
        .or_else(|| of_deviation(observation, flow, each))
        .unwrap_or_else(|| plain(value));
    Ok(Estimate { value, spread })
}

/// Of a load whose rate was kept, no more is uncertain than the operations that were under way at
/// the edges of the window: the generator set the rate, and nothing fell behind.
fn kept_schedule(observation: &Observation, value: f64, each: f64) -> Option<Spread> {
    let asked = observation.load.rate_iops?;
    let (seconds, depth) = (observation.measured_ns?.as_secs(), observation.load.depth? as f64);
    // As many as usual, and three deviations of a Poisson distribution more.
    let under_way = observation.in_flight().map(|mean| 1.0 + mean + 3.0 * mean.sqrt());
    let edges = under_way.map_or(depth, |count| count.min(depth)) / seconds;
    (observation.total.iops? + edges >= asked * SCHEDULE_KEPT).then_some(Spread::Between {
        low: value - edges * each,
        high: value + edges * each,
    })
}

fn of_series(observation: &Observation, direction: Option<Direction>, bytes: bool) -> Option<Spread> {
    let usual = observation.series.first()?.length_ns;
    let whole = observation.series.iter().take_while(|point| point.length_ns == usual);
    let values = whole.map(|point| {
        let counted = if bytes { &point.bytes } else { &point.operations };
        let sum = match direction {
            None => counted.iter().sum::<u64>(),
            Some(direction) => counted[direction as usize],
        };
        sum as f64 / point.length_ns.as_secs()
    });
    student(&by_second(&values.collect::<Vec<_>>(), usual.as_secs()))
}

/// Means over a second each: storage that completes in pulses is even over a second. Where that
/// leaves too few values, the series as it is.
fn by_second(values: &[f64], length: f64) -> Vec<f64> {
    let together = ((1.0 / length).round() as usize).max(1);
    let seconds: Vec<f64> = values
        .chunks_exact(together)
        .map(|chunk| chunk.iter().sum::<f64>() / together as f64)
        .collect();
    if seconds.len() >= 10 { seconds } else { values.to_vec() }
}

/// The standard error of a mean by batch means.
fn student(values: &[f64]) -> Option<Spread> {
    let found = batch_means(values, LEVEL)?;
    let degrees = found.batches - 1;
    let error = found.half_width / student_quantile(1.0 - (1.0 - LEVEL) / 2.0, degrees);
    Some(Spread::Student { error, degrees })
}

/// The deviation between intervals of a second, as the other tools state it.
fn of_deviation(observation: &Observation, flow: &Flow, each: f64) -> Option<Spread> {
    let deviation = flow.iops_deviation?;
    let seconds = observation.measured_ns?.as_secs();
    (seconds >= 10.0).then(|| Spread::Student {
        error: UNKNOWN_CORRELATION * deviation * each / seconds.sqrt(),
        degrees: seconds as u32 - 1,
    })
}

fn plain(value: f64) -> Spread {
    Spread::Between {
        low: value * (1.0 - PLAIN),
        high: value * (1.0 + PLAIN),
    }
}

/// The direction of a clause, if all operations were of another.
pub(super) fn not_issued(observation: &Observation, direction: Option<Direction>) -> Option<Unknown> {
    let direction = direction?;
    let of_plan = observation.load.read_percent.filter(|_| direction != Direction::Trim);
    let share = of_plan.or_else(|| observation.read_percent())?;
    let share = if direction == Direction::Read {
        share
    } else {
        100.0 - share
    };
    (share == 0.0).then_some(Unknown::NotIssued(direction))
}

/// The mean of what a user waits: of a direction, or of all operations where the source does not
/// tell directions apart.
pub(super) fn mean(
    observation: &Observation,
    direction: Option<Direction>,
    intervals: &[IntervalHistogram],
) -> Result<Estimate, Unknown> {
    let direction = direction.filter(|_| !lacks_split(observation, direction));
    let flow = flow(observation, direction).ok_or(Unknown::Absent)?;
    let waited = flow.waited().ok_or(Unknown::Absent)?;
    let value = waited.mean_ns.ok_or(Unknown::Absent)?;
    let of_histograms = || {
        let sums = intervals.iter().map(|interval| sums(&interval.latency, direction));
        ratio(&sums.collect::<Vec<_>>(), value)
    };
    let of_series = || {
        if direction.is_some() {
            return None;
        }
        let sums = observation.series.iter().map(|point| {
            let operations = point.operations.iter().sum::<u64>() as f64;
            (point.mean_ns.unwrap_or(0.0) * operations, operations)
        });
        observation
            .series
            .iter()
            .any(|point| point.mean_ns.is_some())
            .then_some(())?;
        ratio(&sums.collect::<Vec<_>>(), value)
    };
    let spread = of_histograms()
        .or_else(of_series)
        .or_else(|| of_each_second(observation, waited))
        .unwrap_or_else(|| plain(value));
    Ok(Estimate { value, spread })
}

/// The latency of a direction is asked for, and only that of all operations is known.
pub(super) fn lacks_split(observation: &Observation, direction: Option<Direction>) -> bool {
    let known =
        |direction| flow(observation, direction).is_some_and(|flow| flow.waited().is_some_and(|w| w.mean_ns.is_some()));
    direction.is_some() && !known(direction) && known(None)
}

/// Sum of the latencies and number of operations of an interval.
fn sums(latency: &PerDirection<Option<PackedHistogram>>, direction: Option<Direction>) -> (f64, f64) {
    let add =
        |sum: (f64, f64), histogram: &PackedHistogram| (sum.0 + histogram.sum() as f64, sum.1 + histogram.n() as f64);
    of_direction(latency, direction).fold((0.0, 0.0), add)
}

pub(super) fn of_direction(
    latency: &PerDirection<Option<PackedHistogram>>,
    direction: Option<Direction>,
) -> impl Iterator<Item = &PackedHistogram> {
    let wanted = latency
        .iter()
        .filter(move |(of, _)| direction.is_none_or(|direction| direction == *of));
    wanted.filter_map(|(_, histogram)| histogram.as_ref())
}

/// The standard error of a ratio of two sums over intervals, by its linear form.
fn ratio(sums: &[(f64, f64)], value: f64) -> Option<Spread> {
    let size = sums.iter().map(|(_, n)| n).sum::<f64>() / sums.len().max(1) as f64;
    if size <= 0.0 {
        return None;
    }
    let linear: Vec<f64> = sums.iter().map(|(sum, n)| (sum - value * n) / size).collect();
    student(&linear)
}

/// Without a series it is unknown how operations of the same second depend on one another: each
/// second counts once.
fn of_each_second(observation: &Observation, waited: &Latency) -> Option<Spread> {
    let seconds = observation.measured_ns?.as_secs().min(waited.samples? as f64);
    let deviation = waited.deviation_ns?;
    (seconds >= 10.0).then(|| Spread::Student {
        error: deviation / seconds.sqrt(),
        degrees: seconds as u32 - 1,
    })
}

/// A quantile of what a user waits, however few operations lie beyond it.
pub(super) fn unsupported_quantile(observation: &Observation, direction: Option<Direction>, share: f64) -> Option<f64> {
    flow(observation, direction)?.waited()?.quantile(share)
}

/// A quantile of what a user waits, held against a target.
pub(super) fn quantile(
    observation: &Observation,
    direction: Option<Direction>,
    (share, target): (f64, f64),
    intervals: &[IntervalHistogram],
) -> Result<Estimate, Unknown> {
    let flow = flow(observation, direction).ok_or(Unknown::Absent)?;
    let waited = flow.waited().ok_or(Unknown::Absent)?;
    let by_rate = || Some((flow.iops? * observation.measured_ns?.as_secs()) as u64);
    let Some(n) = waited.samples.or(flow.operations).or_else(by_rate) else {
        // A percentile that is stated is a figure, whatever it rests on.
        let value = waited.quantile(share).ok_or(Unknown::Absent)?;
        return Ok(Estimate {
            value,
            spread: plain(value),
        });
    };
    let beyond = (1.0 - share) * n as f64;
    // Rounded, so that 0.99 of 1,000 values counts as exactly 10 beyond.
    if (beyond * 1e6).round() / 1e6 < MIN_BEYOND {
        let needed = (MIN_BEYOND / (1.0 - share) * (1.0 - 1e-9)).ceil() as u64;
        return Err(Unknown::TooFew { needed, found: n });
    }
    let value = waited.quantile(share).ok_or(Unknown::Absent)?;
    let spread = match &waited.histogram {
        Some(histogram) => {
            let (low, high) = quantile_interval(histogram, share, LEVEL);
            Spread::Counted {
                low: low.map(|value| value as f64),
                high: high.map(|value| value as f64),
                beyond: histogram.n() - histogram.count_up_to(target as u64),
                n: histogram.n(),
                expected: 1.0 - share,
                clustered: clustered(intervals, direction, target as u64),
            }
        }
        None => between_stated(waited, share, n, value),
    };
    Ok(Estimate { value, spread })
}

/// How the operations beyond a target are spread over time.
fn clustered(intervals: &[IntervalHistogram], direction: Option<Direction>, target: u64) -> Option<Clustered> {
    let count = |interval: &IntervalHistogram| {
        of_direction(&interval.latency, direction).fold((0.0, 0.0), |sum: (f64, f64), histogram| {
            let beyond = histogram.n() - histogram.count_up_to(target);
            (sum.0 + beyond as f64, sum.1 + histogram.n() as f64)
        })
    };
    let counts: Vec<(f64, f64)> = intervals.iter().map(count).collect();
    let (beyond, n) = counts
        .iter()
        .fold((0.0, 0.0), |sum: (f64, f64), one| (sum.0 + one.0, sum.1 + one.1));
    if n == 0.0 {
        return None;
    }
    match ratio(&counts, beyond / n)? {
        Spread::Student { error, degrees } => Some(Clustered {
            share: beyond / n,
            error,
            degrees,
        }),
        Spread::Between { .. } | Spread::Counted { .. } => None,
    }
}

/// Of stated percentiles, those next to the interval of ranks enclose the true one.
fn between_stated(waited: &Latency, share: f64, n: u64, value: f64) -> Spread {
    let (low, high) = rank_interval(share, n, LEVEL);
    let share_of = |rank: u64| rank as f64 / n as f64;
    let stated = || waited.quantiles.iter();
    let below = low.and_then(|rank| stated().rfind(|(at, _)| *at <= share_of(rank)));
    let above = high.and_then(|rank| stated().find(|(at, _)| *at >= share_of(rank)));
    let Spread::Between { low, high } = plain(value) else {
        unreachable!("a plain figure lies between two others")
    };
    Spread::Between {
        low: below.map_or(low, |(_, value)| *value),
        high: above.map_or(high, |(_, value)| *value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binomial_distribution_is_that_of_tables() {
        // K of 20 with 0.5: P(K ≤ 10) = 0.5881; of 100 with 0.05: P(K ≤ 5) = 0.6160.
        assert!((binomial_up_to(10, 20, 0.5) - 0.5881).abs() < 1e-4);
        assert!((binomial_up_to(5, 100, 0.05) - 0.6160).abs() < 1e-4);
        assert!((binomial_up_to(0, 1000, 0.01) - 0.99_f64.powi(1000)).abs() < 1e-12);
        // Both ways of counting meet.
        let exact: f64 = binomial_up_to(95, 10_000, 0.0099);
        let approximate = binomial_up_to(95, 10_100, 0.01);
        assert!((exact - approximate).abs() < 0.1, "{exact} {approximate}");
        assert_eq!(binomial_up_to(5, 5, 0.3), 1.0);
    }

    #[test]
    fn a_figure_without_error_is_decided_by_its_side() {
        let exact = Estimate {
            value: 1000.0,
            spread: Spread::Student { error: 0.0, degrees: 9 },
        };
        assert_eq!(exact.above(999.0), 0.0);
        assert_eq!(exact.above(1001.0), 1.0);
        assert_eq!(exact.below(1001.0), 0.0);
        assert_eq!(exact.above(1000.0), 0.5, "on the limit nothing is decided");
    }
}
