//! Detects two kinds of operation under one name: a latency distribution with two modes.

use model::Nanos;
use model::finding::{Finding, Severity};
use model::observation::{Latency, Observation};
use model::stats;

use super::Rule;
use crate::checks::level_changes;
use crate::figures;

/// Minimum ratio of the typical latencies of two modes; a lower ratio is ordinary variation.
const MIN_RATIO: f64 = 3.0;

pub(super) const MODES: Rule = Rule {
    names: &["TWO-MODES"],
    about: "Whether the latencies have two modes, such as hits and misses of a cache.",
    detect: |load, _, findings| findings.extend(find_two_modes(load)),
};

/// Reports directions whose latencies have two modes. Only full histograms show them, not
/// percentiles. Directions are judged separately, because reads and writes of different latency
/// would show two modes together.
pub(crate) fn find_two_modes(load: &Observation) -> Option<Finding> {
    let directions = [
        ("reads", load.directions.read.as_ref()),
        ("writes", load.directions.write.as_ref()),
        ("trims", load.directions.trim.as_ref()),
    ];
    let flows: Vec<_> = directions
        .into_iter()
        .filter_map(|(name, flow)| Some((name, flow?.latency.as_ref()?)))
        .collect();
    let flows = match (flows.is_empty(), &load.total.latency) {
        (true, Some(all)) => vec![("operations", all)],
        _ => flows,
    };
    let change = level_changes(load).first().copied();
    let described: Vec<String> = flows
        .into_iter()
        .filter_map(|(name, latency)| describe(name, latency))
        .collect();
    if described.is_empty() {
        return None;
    }
    let message = format!("two modes: {}", described.join("; "));
    let finding = Finding::new("TWO-MODES", Severity::Note, message).at(&*load.name);
    Some(match change {
        Some(change) => finding
            .why(format!(
                "the rate changed after {} s: the modes are probably the latencies before and after the change",
                change.at_secs
            ))
            .help("judge each level separately"),
        None => finding
            .why(
                "two kinds of operation are mixed, such as cache hits and misses, or operations that a throttle \
                     passes and delays; the mean describes neither kind",
            )
            .help(
                "use the median and p99 instead of the mean; to avoid one of the two, use a range much larger than \
                 all caches, or a rate below the throttle",
            ),
    })
}

/// Describes both modes with their shares: the median of the operations on each side of the valley.
fn describe(name: &str, latency: &Latency) -> Option<String> {
    let histogram = latency.histogram.as_ref()?;
    let slow = stats::find_two_modes(histogram)?.share_above;
    let fast = 1.0 - slow;
    let median_of = |from: f64, share: f64| histogram.quantile(from + share / 2.0);
    let (low, high) = (median_of(0.0, fast), median_of(fast, slow));
    (high as f64 >= MIN_RATIO * low as f64).then(|| {
        format!(
            "{} % of the {name} take about {}, the other {} % about {}",
            figures::format_number(100.0 * fast),
            Nanos(low),
            figures::format_number(100.0 * slow),
            Nanos(high)
        )
    })
}

#[cfg(test)]
mod tests {
    use model::histogram::Histogram;
    use model::observation::Latency;

    use super::super::samples::sound;
    use super::*;

    fn observed(parts: &[(u64, u64)]) -> Observation {
        let mut histogram = Histogram::new();
        for (ns, count) in parts {
            histogram.record_times(*ns, *count);
        }
        let mut load = sound();
        let latency = Latency::from_histogram(&histogram);
        load.directions.read.as_mut().unwrap().latency.clone_from(&latency);
        load.total.latency = latency;
        load
    }

    #[test]
    fn a_cache_and_the_disk_behind_it_are_two_modes() {
        let what = find_two_modes(&observed(&[(50_000, 90_000), (5_000_000, 10_000)]))
            .unwrap()
            .what;
        assert!(what.starts_with("two modes: 90 % of the reads take about 50"), "{what}");
        assert!(what.contains("the other 10 % about 5"), "{what}");
    }

    #[test]
    fn one_mode_and_modes_close_together_are_silent() {
        assert_eq!(find_two_modes(&observed(&[(50_000, 100_000)])), None);
        assert_eq!(find_two_modes(&observed(&[(50_000, 50_000), (100_000, 50_000)])), None);
        assert_eq!(find_two_modes(&sound()), None, "percentiles alone show no modes");
    }
}
