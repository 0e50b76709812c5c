//! Sums flows that ran at the same time: adds counts and rates, weights means, pools deviations.
//! Percentiles cannot be combined, so they are omitted.

use model::observation::{CompletionLatency, IoStats, Latency};
use model::{Bytes, Direction, Nanos, PerDirection};

/// The sum of flows; `None` if there is none.
pub(super) fn sum(flows: &[&IoStats]) -> Option<IoStats> {
    if let [only] = flows {
        return Some((*only).clone());
    }
    let sum_of = |value: fn(&IoStats) -> Option<f64>| flows.iter().map(|flow| value(flow)).sum::<Option<f64>>();
    let counts = |value: fn(&IoStats) -> Option<u64>| {
        flows
            .iter()
            .map(|flow| value(flow))
            .try_fold(0u64, |sum, count| sum.checked_add(count?))
    };
    (!flows.is_empty()).then(|| IoStats {
        operations: counts(|flow| flow.operations),
        bytes: counts(|flow| flow.bytes.map(|bytes| bytes.0)).map(Bytes),
        iops: sum_of(|flow| flow.iops),
        bytes_per_sec: sum_of(|flow| flow.bytes_per_sec),
        // An upper bound: the deviations add up if all rates vary together.
        iops_deviation: sum_of(|flow| flow.iops_deviation),
        latency: pool_latency(flows),
        ..IoStats::default()
    })
}

/// The sum of one direction over all parts; `None` if no part has it.
pub(super) fn sum_direction<'a>(
    parts: impl Iterator<Item = &'a PerDirection<Option<IoStats>>>,
    direction: Direction,
) -> Option<IoStats> {
    let flows: Vec<&IoStats> = parts.filter_map(|part| part[direction].as_ref()).collect();
    sum(&flows)
}

/// Computes the common mean and deviation from the parts' means, deviations and counts.
fn pool_latency(flows: &[&IoStats]) -> Option<Latency> {
    let count = |flow: &IoStats| flow.latency.as_ref()?.samples.or(flow.operations);
    let samples = flows.iter().try_fold(0u64, |sum, flow| sum.checked_add(count(flow)?));
    let (mut weights, mut sum, mut squares) = (0.0, 0.0, Some(0.0));
    let (mut min_ns, mut max_ns): (Option<f64>, Option<f64>) = (None, None);
    let mut completions = Vec::new();
    for flow in flows {
        let latency = flow.latency.as_ref()?;
        // Without counts, the rates are in the same proportion.
        let weight = samples.map_or(flow.iops, |_| Some(count(flow)? as f64))?;
        let mean = latency.mean_ns?;
        weights += weight;
        sum += weight * mean;
        squares = squares
            .zip(latency.deviation_ns)
            .map(|(squares, deviation)| squares + weight * (deviation * deviation + mean * mean));
        min_ns = choose_known(min_ns, latency.min_ns, f64::min);
        max_ns = choose_known(max_ns, latency.max_ns, f64::max);
        completions.extend(latency.completion.map(|completion| (weight, completion)));
    }
    let mean = sum / weights;
    (weights > 0.0).then(|| Latency {
        samples,
        mean_ns: Some(mean),
        deviation_ns: squares.map(|squares| (squares / weights - mean * mean).max(0.0).sqrt()),
        min_ns,
        max_ns,
        completion: (completions.len() == flows.len()).then(|| pool_completions(&completions, weights)),
        ..Latency::default()
    })
}

fn pool_completions(parts: &[(f64, CompletionLatency)], weights: f64) -> CompletionLatency {
    CompletionLatency {
        mean_ns: parts.iter().map(|(weight, part)| weight * part.mean_ns).sum::<f64>() / weights,
        min_ns: parts.iter().map(|(_, part)| part.min_ns).fold(f64::INFINITY, f64::min),
        max_ns: parts.iter().map(|(_, part)| part.max_ns).fold(0.0, f64::max),
        submission_max_ns: (parts.iter().map(|(_, part)| part.submission_max_ns))
            .try_fold(0.0, |max: f64, part| Some(max.max(part?))),
    }
}

fn choose_known(a: Option<f64>, b: Option<f64>, choose: fn(f64, f64) -> f64) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(choose(a, b)),
        (a, b) => a.or(b),
    }
}

/// The longest time.
pub(super) fn longest_time(times: impl Iterator<Item = Option<Nanos>>) -> Option<Nanos> {
    times.flatten().max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_weighted_and_deviations_pooled() {
        let flow = |count: u64, mean: f64| IoStats {
            operations: Some(count),
            iops: Some(count as f64),
            latency: Some(Latency {
                samples: Some(count),
                mean_ns: Some(mean),
                deviation_ns: Some(0.0),
                ..Latency::default()
            }),
            ..IoStats::default()
        };
        let found = sum(&[&flow(1, 0.0), &flow(1, 10.0)]).expect("two flows");
        let latency = found.latency.expect("both have a latency");
        assert_eq!((latency.mean_ns, latency.deviation_ns), (Some(5.0), Some(5.0)));
        assert_eq!(found.operations, Some(2));
        assert_eq!(found.bytes, None, "one flow has no bytes");
        assert_eq!(sum(&[]), None);
        let without_count = |iops: f64, mean: f64| IoStats {
            iops: Some(iops),
            latency: Some(Latency {
                mean_ns: Some(mean),
                ..Latency::default()
            }),
            ..IoStats::default()
        };
        let found = sum(&[&without_count(2800.0, 4.0), &without_count(1200.0, 1.0)]).expect("two flows");
        let latency = found.latency.expect("both have a mean");
        assert_eq!((latency.samples, latency.mean_ns), (None, Some(3.1)));
    }
}
