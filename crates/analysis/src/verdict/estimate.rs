//! Estimates a figure: its confidence interval, and its probability if a promise were just met or
//! just broken. The method depends on the data: interval histograms, an interval series, a
//! deviation, or the bare figure.

use model::histogram::Histogram;
use model::observation::{IoStats, Latency, Observation};
use model::results::IntervalHistogram;
use model::stats::{batch_means, normal_cdf, quantile_interval, rank_interval, student_cdf, student_quantile};
use model::{Direction, PerDirection};

/// Confidence of the intervals that are shown.
const CONFIDENCE: f64 = 0.95;
/// Assumed uncertainty of a figure known only as one value over the whole run.
pub const BARE_FIGURE_TOLERANCE: f64 = 0.10;
/// Only a series shows the correlation of neighbouring seconds. Without one, deviations are
/// doubled, which corresponds to a correlation of 0.6.
const UNKNOWN_CORRELATION_FACTOR: f64 = 2.0;
/// Minimum number of samples beyond a percentile.
pub const MIN_BEYOND: f64 = 10.0;
/// A rate that reaches this share counts as met: only operations in flight at the window's edges
/// are missing. Storage that cannot reach the rate falls further behind.
const MIN_MET_SHARE: f64 = 0.999;

/// A figure and its uncertainty.
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
    /// A range.
    Between { low: f64, high: f64 },
    /// A quantile of a histogram: values beyond the target, all values, and their clustering in
    /// time.
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

/// The reason why there is no estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NoEstimate {
    /// The source does not have the figure.
    Absent,
    /// No operation of this direction was issued.
    NotIssued(Direction),
    /// Too few values: needed and found.
    TooFew { needed: u64, found: u64 },
}

impl Estimate {
    /// The displayed interval: two-sided, 95 %. No figure is below 0.
    pub(super) fn interval(&self) -> (Option<f64>, Option<f64>) {
        match &self.spread {
            Spread::Student { error, degrees } => {
                let half = student_quantile(1.0 - (1.0 - CONFIDENCE) / 2.0, *degrees) * error;
                (Some((self.value - half).max(0.0)), Some(self.value + half))
            }
            Spread::Between { low, high } => (Some(*low), Some(*high)),
            Spread::Counted { low, high, .. } => (*low, *high),
        }
    }

    /// Upper bound of the probability of this or a larger figure if the true one were ≤ `limit`.
    pub(super) fn p_if_at_most(&self, limit: f64) -> f64 {
        match &self.spread {
            Spread::Student { error, degrees } => {
                1.0 - student_cdf(in_standard_errors(self.value - limit, *error), *degrees)
            }
            Spread::Between { low, .. } => f64::from(u8::from(*low <= limit)),
            Spread::Counted {
                beyond,
                n,
                expected,
                clustered,
                ..
            } => {
                // The quantile is above the limit if more values than expected are beyond it.
                let counted = 1.0 - binomial_up_to(beyond.saturating_sub(1), *n, *expected);
                let counted = if *beyond == 0 { 1.0 } else { counted };
                clustered.map_or(counted, |cluster| counted.max(1.0 - cluster.p_if_expected(*expected)))
            }
        }
    }

    /// Upper bound of the probability of this or a smaller figure if the true one were ≥ `limit`.
    pub(super) fn p_if_at_least(&self, limit: f64) -> f64 {
        match &self.spread {
            Spread::Student { error, degrees } => student_cdf(in_standard_errors(self.value - limit, *error), *degrees),
            Spread::Between { high, .. } => f64::from(u8::from(*high > limit)),
            Spread::Counted {
                beyond,
                n,
                expected,
                clustered,
                ..
            } => {
                let counted = binomial_up_to(*beyond, *n, *expected);
                clustered.map_or(counted, |cluster| counted.max(cluster.p_if_expected(*expected)))
            }
        }
    }
}

impl Clustered {
    /// Probability of a share this small if the true one were `expected`.
    fn p_if_expected(&self, expected: f64) -> f64 {
        student_cdf(in_standard_errors(self.share - expected, self.error), self.degrees)
    }
}

/// A distance in standard errors; infinite if the error is 0, unless the distance is 0 too.
fn in_standard_errors(distance: f64, error: f64) -> f64 {
    match error > 0.0 {
        true => distance / error,
        false if distance == 0.0 => 0.0,
        false => distance.signum() * f64::INFINITY,
    }
}

/// P(K ≤ k) for K binomial(n, share): exact in the lower tail if few are expected, otherwise the
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
        // Terms far beyond the mean are negligible.
        if i as f64 > expected + 60.0 * (expected + 1.0).sqrt() {
            break;
        }
        log_term += ((n - i) as f64).ln() - ((i + 1) as f64).ln() + log_odds;
    }
    sum.min(1.0)
}

/// The flow of a direction, or the total.
pub(super) fn direction_flow(observation: &Observation, direction: Option<Direction>) -> Option<&IoStats> {
    match direction {
        None => Some(&observation.total),
        Some(direction) => observation.directions[direction].as_ref(),
    }
}

/// Operations or bytes per second.
pub(super) fn rate(
    observation: &Observation,
    direction: Option<Direction>,
    bytes: bool,
) -> Result<Estimate, NoEstimate> {
    let flow = direction_flow(observation, direction).ok_or(NoEstimate::Absent)?;
    let value = if bytes { flow.bytes_per_sec } else { flow.iops };
    let value = value.ok_or(NoEstimate::Absent)?;
    let iops = flow.iops.filter(|iops| *iops > 0.0);
    let unit_size = if bytes {
        iops.map_or(1.0, |iops| value / iops)
    } else {
        1.0
    };
    let spread = met_schedule_spread(observation, value, unit_size)
        .or_else(|| series_spread(observation, direction, bytes))
        .or_else(|| deviation_spread(observation, flow, unit_size))
        .unwrap_or_else(|| plain_spread(value));
    Ok(Estimate { value, spread })
}

/// The spread of a rate that was met. The generator determined that rate, so only the operations in
/// flight at the window's edges are uncertain.
fn met_schedule_spread(observation: &Observation, value: f64, batch_length: f64) -> Option<Spread> {
    let requested_iops = observation.load.rate_iops?;
    let (seconds, depth) = (observation.measured_ns?.as_secs(), observation.load.depth? as f64);
    // The mean plus three deviations of a Poisson distribution.
    let under_way = observation.in_flight().map(|mean| 1.0 + mean + 3.0 * mean.sqrt());
    let edges = under_way.map_or(depth, |count| count.min(depth)) / seconds;
    (observation.total.iops? + edges >= requested_iops * MIN_MET_SHARE).then_some(Spread::Between {
        low: value - edges * batch_length,
        high: value + edges * batch_length,
    })
}

fn series_spread(observation: &Observation, direction: Option<Direction>, bytes: bool) -> Option<Spread> {
    let interval_length = observation.series.first()?.length_ns;
    let whole = observation
        .series
        .iter()
        .take_while(|point| point.length_ns == interval_length);
    let values = whole.map(|point| {
        let counted = if bytes { &point.bytes } else { &point.operations };
        let sum = match direction {
            None => counted.iter().sum::<u64>(),
            Some(direction) => counted[direction as usize],
        };
        sum as f64 / point.length_ns.as_secs()
    });
    mean_spread(&means_by_second(&values.collect::<Vec<_>>(), interval_length.as_secs()))
}

/// Means per second, which smooth out bursts of completions; the original series if that leaves too
/// few values.
fn means_by_second(values: &[f64], length: f64) -> Vec<f64> {
    let per_second = ((1.0 / length).round() as usize).max(1);
    let seconds: Vec<f64> = values
        .chunks_exact(per_second)
        .map(|chunk| chunk.iter().sum::<f64>() / per_second as f64)
        .collect();
    if seconds.len() >= 10 { seconds } else { values.to_vec() }
}

/// The standard error of a mean by batch means.
fn mean_spread(values: &[f64]) -> Option<Spread> {
    let means = batch_means(values, CONFIDENCE)?;
    let degrees = means.batches - 1;
    let error = means.half_width / student_quantile(1.0 - (1.0 - CONFIDENCE) / 2.0, degrees);
    Some(Spread::Student { error, degrees })
}

/// Spread from the deviation between seconds that other tools state.
fn deviation_spread(observation: &Observation, flow: &IoStats, batch_length: f64) -> Option<Spread> {
    let deviation = flow.iops_deviation?;
    let seconds = observation.measured_ns?.as_secs();
    (seconds >= 10.0).then(|| Spread::Student {
        error: UNKNOWN_CORRELATION_FACTOR * deviation * batch_length / seconds.sqrt(),
        degrees: seconds as u32 - 1,
    })
}

fn plain_spread(value: f64) -> Spread {
    Spread::Between {
        low: value * (1.0 - BARE_FIGURE_TOLERANCE),
        high: value * (1.0 + BARE_FIGURE_TOLERANCE),
    }
}

/// The direction of a clause, if no operation had it.
pub(super) fn not_issued(observation: &Observation, direction: Option<Direction>) -> Option<NoEstimate> {
    let direction = direction?;
    let planned_percent = observation.load.read_percent.filter(|_| direction != Direction::Trim);
    let share = planned_percent.or_else(|| observation.read_percent())?;
    let share = if direction == Direction::Read {
        share
    } else {
        100.0 - share
    };
    (share == 0.0).then_some(NoEstimate::NotIssued(direction))
}

/// The mean waiting time of a user: of a direction, or of all operations if the source does not
/// separate directions.
pub(super) fn mean(
    observation: &Observation,
    direction: Option<Direction>,
    intervals: &[IntervalHistogram],
) -> Result<Estimate, NoEstimate> {
    let direction = direction.filter(|_| !lacks_split(observation, direction));
    let flow = direction_flow(observation, direction).ok_or(NoEstimate::Absent)?;
    let waited = flow.user_latency().ok_or(NoEstimate::Absent)?;
    let value = waited.mean_ns.ok_or(NoEstimate::Absent)?;
    let histogram_spread = || {
        let sums = intervals.iter().map(|interval| sums(&interval.latency, direction));
        ratio_spread(&sums.collect::<Vec<_>>(), value)
    };
    let series_spread = || {
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
        ratio_spread(&sums.collect::<Vec<_>>(), value)
    };
    let spread = histogram_spread()
        .or_else(series_spread)
        .or_else(|| per_second_spread(observation, waited))
        .unwrap_or_else(|| plain_spread(value));
    Ok(Estimate { value, spread })
}

/// True if a clause needs the latency of a direction, but the source does not separate directions.
pub(super) fn lacks_split(observation: &Observation, direction: Option<Direction>) -> bool {
    let has_latency = |direction| {
        direction_flow(observation, direction)
            .is_some_and(|flow| flow.user_latency().is_some_and(|w| w.mean_ns.is_some()))
    };
    direction.is_some() && !has_latency(direction) && has_latency(None)
}

/// Sum of the latencies and number of operations of an interval.
fn sums(latency: &PerDirection<Option<Histogram>>, direction: Option<Direction>) -> (f64, f64) {
    let add = |sum: (f64, f64), histogram: &Histogram| (sum.0 + histogram.sum() as f64, sum.1 + histogram.n() as f64);
    select_histograms(latency, direction).fold((0.0, 0.0), add)
}

pub(super) fn select_histograms(
    latency: &PerDirection<Option<Histogram>>,
    direction: Option<Direction>,
) -> impl Iterator<Item = &Histogram> {
    let wanted = latency
        .iter()
        .filter(move |(of, _)| direction.is_none_or(|direction| direction == *of));
    wanted.filter_map(|(_, histogram)| histogram.as_ref())
}

/// Spread of a ratio of two sums over intervals, by linearisation.
fn ratio_spread(sums: &[(f64, f64)], value: f64) -> Option<Spread> {
    let size = sums.iter().map(|(_, n)| n).sum::<f64>() / sums.len().max(1) as f64;
    if size <= 0.0 {
        return None;
    }
    let linear: Vec<f64> = sums.iter().map(|(sum, n)| (sum - value * n) / size).collect();
    mean_spread(&linear)
}

/// Without a series, the correlation within a second is unknown, so each second counts as one
/// sample.
fn per_second_spread(observation: &Observation, waited: &Latency) -> Option<Spread> {
    let seconds = observation.measured_ns?.as_secs().min(waited.samples? as f64);
    let deviation = waited.deviation_ns?;
    (seconds >= 10.0).then(|| Spread::Student {
        error: deviation / seconds.sqrt(),
        degrees: seconds as u32 - 1,
    })
}

/// A quantile of the waiting time, even if few operations are beyond it.
pub(super) fn unsupported_quantile(observation: &Observation, direction: Option<Direction>, share: f64) -> Option<f64> {
    direction_flow(observation, direction)?.user_latency()?.quantile(share)
}

/// A quantile of the waiting time, with the count of operations beyond a target.
pub(super) fn quantile(
    observation: &Observation,
    direction: Option<Direction>,
    (share, target): (f64, f64),
    intervals: &[IntervalHistogram],
) -> Result<Estimate, NoEstimate> {
    let flow = direction_flow(observation, direction).ok_or(NoEstimate::Absent)?;
    let waited = flow.user_latency().ok_or(NoEstimate::Absent)?;
    let by_rate = || Some((flow.iops? * observation.measured_ns?.as_secs()) as u64);
    let Some(n) = waited.samples.or(flow.operations).or_else(by_rate) else {
        // A stated percentile counts as a bare figure if the number of samples is unknown.
        let value = waited.quantile(share).ok_or(NoEstimate::Absent)?;
        return Ok(Estimate {
            value,
            spread: plain_spread(value),
        });
    };
    let beyond = (1.0 - share) * n as f64;
    // Round, so that 0.99 of 1,000 values counts as exactly 10 beyond.
    if (beyond * 1e6).round() / 1e6 < MIN_BEYOND {
        let needed = (MIN_BEYOND / (1.0 - share) * (1.0 - 1e-9)).ceil() as u64;
        return Err(NoEstimate::TooFew { needed, found: n });
    }
    let Some(value) = waited.quantile(share) else {
        let of_both = direction
            .is_none()
            .then(|| quantile_of_directions(observation, (share, target), intervals));
        return of_both.flatten().ok_or(NoEstimate::Absent);
    };
    let spread = match &waited.histogram {
        Some(histogram) => {
            let (low, high) = quantile_interval(histogram, share, CONFIDENCE);
            Spread::Counted {
                low: low.map(|value| value as f64),
                high: high.map(|value| value as f64),
                beyond: histogram.n() - histogram.count_up_to(target as u64),
                n: histogram.n(),
                expected: 1.0 - share,
                clustered: cluster_by_interval(intervals, direction, target as u64),
            }
        }
        None => stated_spread(waited, share, n, value),
    };
    Ok(Estimate { value, spread })
}

/// A quantile of all operations, from the quantiles of each direction that fio reports. It is
/// between them, so the slower one is its upper bound and the value.
fn quantile_of_directions(
    observation: &Observation,
    figure: (f64, f64),
    intervals: &[IntervalHistogram],
) -> Option<Estimate> {
    let issued = observation.directions.iter();
    let issued = issued.filter(|(_, flow)| flow.as_ref().is_some_and(|flow| flow.operations != Some(0)));
    let estimates = issued.map(|(direction, _)| quantile(observation, Some(direction), figure, intervals).ok());
    let estimates: Vec<Estimate> = estimates.collect::<Option<_>>()?;
    let bounds: Vec<(f64, f64)> = estimates
        .iter()
        .map(|estimate| match estimate.interval() {
            (Some(low), Some(high)) => Some((low, high)),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let ends = |pick: fn(f64, f64) -> f64, ends: &mut dyn Iterator<Item = f64>| ends.reduce(pick);
    Some(Estimate {
        value: ends(f64::max, &mut estimates.iter().map(|estimate| estimate.value))?,
        spread: Spread::Between {
            low: ends(f64::min, &mut bounds.iter().map(|bound| bound.0))?,
            high: ends(f64::max, &mut bounds.iter().map(|bound| bound.1))?,
        },
    })
}

/// The clustering in time of operations beyond a target.
fn cluster_by_interval(
    intervals: &[IntervalHistogram],
    direction: Option<Direction>,
    target: u64,
) -> Option<Clustered> {
    let count = |interval: &IntervalHistogram| {
        select_histograms(&interval.latency, direction).fold((0.0, 0.0), |sum: (f64, f64), histogram| {
            let beyond = histogram.n() - histogram.count_up_to(target);
            (sum.0 + beyond as f64, sum.1 + histogram.n() as f64)
        })
    };
    let counts: Vec<(f64, f64)> = intervals.iter().map(count).collect();
    let (beyond, n) = counts
        .iter()
        .fold((0.0, 0.0), |sum: (f64, f64), pair| (sum.0 + pair.0, sum.1 + pair.1));
    if n == 0.0 {
        return None;
    }
    match ratio_spread(&counts, beyond / n)? {
        Spread::Student { error, degrees } => Some(Clustered {
            share: beyond / n,
            error,
            degrees,
        }),
        Spread::Between { .. } | Spread::Counted { .. } => None,
    }
}

/// The stated percentiles on each side of the rank interval enclose the true value.
fn stated_spread(waited: &Latency, share: f64, n: u64, value: f64) -> Spread {
    let (low, high) = rank_interval(share, n, CONFIDENCE);
    let share_of = |rank: u64| rank as f64 / n as f64;
    let stated = || waited.quantiles.iter();
    let below = low.and_then(|rank| stated().rfind(|(at, _)| *at <= share_of(rank)));
    let above = high.and_then(|rank| stated().find(|(at, _)| *at >= share_of(rank)));
    let Spread::Between { low, high } = plain_spread(value) else {
        unreachable!("a bare figure has a range")
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
    fn the_binomial_distribution_matches_tables() {
        // K of 20 with 0.5: P(K ≤ 10) = 0.5881; of 100 with 0.05: P(K ≤ 5) = 0.6160.
        assert!((binomial_up_to(10, 20, 0.5) - 0.5881).abs() < 1e-4);
        assert!((binomial_up_to(5, 100, 0.05) - 0.6160).abs() < 1e-4);
        assert!((binomial_up_to(0, 1000, 0.01) - 0.99_f64.powi(1000)).abs() < 1e-12);
        // Both methods agree.
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
        assert_eq!(exact.p_if_at_most(999.0), 0.0);
        assert_eq!(exact.p_if_at_most(1001.0), 1.0);
        assert_eq!(exact.p_if_at_least(1001.0), 0.0);
        assert_eq!(
            exact.p_if_at_most(1000.0),
            0.5,
            "a figure exactly at the limit decides nothing"
        );
    }
}
