//! Checks the shape of latencies: order of percentiles, tail, spread, maximum.

use model::Nanos;
use model::finding::{Finding, Severity};
use model::observation::{Latency, Observation};
use model::stats::{Support, support};

use super::Rule;

/// Bins and rounding can reverse neighbouring percentiles by this share.
const MAX_ROUNDING: f64 = 0.01;
/// Bins and rounding can move a mean by this share, and by this time.
const MAX_MEAN_ERROR: f64 = 0.05;
const MEAN_ROUNDING_NS: f64 = 1000.0;
/// Tools whose percentiles are exact to a few percent.
const EXACT_TOOLS: [&str; 3] = ["DiskSpd", "fio", "fathom"];
/// From this ratio on, the tail is a second distribution.
const MIN_TAIL_RATIO: f64 = 5.0;

pub(super) const ORDER: Rule = Rule {
    names: &["PCT-DISORDER"],
    about: "Whether percentiles are in ascending order.",
    detect: |load, _, findings| {
        for (name, latency) in latencies_by_direction(load) {
            let mut values: Vec<(f64, f64)> = latency.quantiles.clone();
            values.extend(latency.max_ns.map(|max| (1.0, max)));
            let descending_pair = values
                .windows(2)
                .find(|pair| pair[1].1 < pair[0].1 * (1.0 - MAX_ROUNDING));
            let is_min_above_max = latency.min_ns.zip(latency.max_ns).is_some_and(|(min, max)| min > max);
            let message = match (descending_pair, is_min_above_max) {
                (Some(pair), _) => format!(
                    "{name}: {} at {:.4} % and {} at {:.4} %",
                    to_nanos(pair[0].1),
                    100.0 * pair[0].0,
                    to_nanos(pair[1].1),
                    100.0 * pair[1].0
                ),
                (None, true) => format!("{name}: the minimum is above the maximum"),
                (None, false) => continue,
            };
            let finding = Finding::new("PCT-DISORDER", Severity::Error, message).at(&*load.name);
            let finding = finding.why("percentiles must ascend: a row was changed, mistyped or comes from another run");
            findings.push(finding.help("use the original report of the tool"));
        }
    },
};

pub(super) const MEAN: Rule = Rule {
    names: &["MEAN-IMPOSSIBLE"],
    about: "Whether the mean is possible with the stated percentiles.",
    detect: |load, _, findings| {
        for (name, latency) in latencies_by_direction(load) {
            let Some((mean, (low, high))) = latency.mean_ns.zip(mean_bounds(load, latency)) else {
                continue;
            };
            let tolerance = MAX_MEAN_ERROR * mean + MEAN_ROUNDING_NS;
            if mean + tolerance >= low && high.is_none_or(|high| mean <= high + tolerance) {
                continue;
            }
            let permitted = match high {
                Some(high) => format!("from {} to {}", to_nanos(low), to_nanos(high)),
                None => format!("at least {}", to_nanos(low)),
            };
            let message = format!(
                "{name}: the mean is {}, but the percentiles permit only means of {permitted}",
                to_nanos(mean)
            );
            let finding = Finding::new("MEAN-IMPOSSIBLE", Severity::Error, message).at(&*load.name);
            let finding = finding.why("one of these figures was changed, mistyped or comes from another run");
            findings.push(finding.help("use the original report of the tool"));
        }
    },
};

/// The smallest and the largest mean that percentiles permit. Between two percentiles, every value
/// may equal the lower or the upper one.
fn mean_bounds(load: &Observation, latency: &Latency) -> Option<(f64, Option<f64>)> {
    // Other tools state the bounds of coarse bins.
    if !EXACT_TOOLS.contains(&load.tool.as_str()) || latency.quantiles.is_empty() {
        return None;
    }
    let (mut low, mut high, mut before) = (0.0, 0.0, (0.0, latency.min_ns.unwrap_or(0.0)));
    for (share, value) in latency.quantiles.iter().copied() {
        if share <= before.0 || value < before.1 {
            // PCT-DISORDER reports it, or the first row is the minimum.
            before.1 = value.max(before.1);
            continue;
        }
        low += (share - before.0) * before.1;
        high += (share - before.0) * value;
        before = (share, value);
    }
    low += (1.0 - before.0) * before.1;
    // fio's percentiles may lack the submission, which its mean includes.
    let max = latency.max_ns.filter(|_| load.tool != "fio");
    Some((low, max.map(|max| high + (1.0 - before.0) * max)))
}

pub(super) const TAIL: Rule = Rule {
    names: &["TAIL"],
    about: "p99.9 compared with p99: a jump indicates a second kind of operation.",
    detect: |load, _, findings| {
        let lines: Vec<String> = latencies_by_direction(load)
            .filter_map(|(name, latency)| describe_tail(name, latency))
            .collect();
        if lines.is_empty() {
            return;
        }
        let finding = Finding::new("TAIL", Severity::Warning, lines.join("; ")).at(&*load.name);
        let why = "such a jump is not the tail of one distribution: something else delays about one operation in a \
            thousand (a stall, a throttle, a full cache, another user)";
        findings.push(
            finding
                .why(why)
                .help("look for stalls, throttling and bursts in the latencies over time"),
        );
    },
};

fn describe_tail(name: &str, latency: &Latency) -> Option<String> {
    let (p99, p999) = (latency.quantile(0.99)?, latency.quantile(0.999)?);
    // Too few samples beyond p99.9 show nothing.
    if latency
        .samples
        .is_some_and(|samples| support(0.999, samples) == Support::None)
    {
        return None;
    }
    let ratio = p999 / p99.max(1.0);
    let of_direction = match name {
        "all" => String::new(),
        direction => format!("{direction}: "),
    };
    (ratio >= MIN_TAIL_RATIO).then(|| {
        format!(
            "{of_direction}p99.9 ({}) is {ratio:.1} times p99 ({})",
            to_nanos(p999),
            to_nanos(p99)
        )
    })
}

pub(super) const SPREAD: Rule = Rule {
    names: &["LATENCY-SPREAD"],
    about: "The standard deviation of the latency, compared with its mean.",
    detect: |load, _, findings| {
        let Some(latency) = &load.total.latency else { return };
        let (Some(mean), Some(deviation)) = (latency.mean_ns, latency.deviation_ns) else {
            return;
        };
        let ratio = deviation / mean.max(1.0);
        if ratio > 1.0 {
            let message = format!(
                "the standard deviation of the latency ({}) is {ratio:.2} times its mean ({})",
                to_nanos(deviation),
                to_nanos(mean)
            );
            let finding = Finding::new("LATENCY-SPREAD", Severity::Note, message).at(&*load.name);
            let finding =
                finding.why("a few operations take much longer than the others, and the mean describes neither group");
            findings.push(finding.help("read the percentiles"));
        }
    },
};

pub(super) const LARGEST: Rule = Rule {
    names: &["MAX-ONE-SAMPLE"],
    about: "The maximum latency, which is a single operation.",
    detect: |load, _, findings| {
        let Some(latency) = load.total.user_latency() else {
            return;
        };
        if let (Some(max), Some(samples)) = (latency.max_ns, latency.samples)
            && samples > 1
        {
            let latency_kind = match load.total.response {
                Some(_) => "response time",
                None => "latency",
            };
            let message = format!(
                "the largest {latency_kind} ({}) is one operation of {samples}",
                to_nanos(max)
            );
            let finding = Finding::new("MAX-ONE-SAMPLE", Severity::Note, message).at(&*load.name);
            let finding = finding.why("it grows with the length of a test and does not predict the next run");
            findings.push(finding.help("no action needed; compare percentiles instead"));
        }
    },
};

/// The latencies of all operations, and of each direction unless it is the only one.
fn latencies_by_direction(load: &Observation) -> impl Iterator<Item = (&'static str, &Latency)> {
    let flows = [
        ("all", Some(&load.total)),
        ("reads", load.directions.read.as_ref()),
        ("writes", load.directions.write.as_ref()),
    ];
    let total = load.total.user_latency();
    flows
        .into_iter()
        .filter_map(|(name, flow)| Some((name, flow?.user_latency()?)))
        .filter(move |(name, latency)| *name == "all" || total != Some(*latency))
}

fn to_nanos(ns: f64) -> Nanos {
    Nanos(ns.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, has_rule, sound};
    use model::observation::{Latency, Observation};

    #[track_caller]
    fn check(spoil: impl FnOnce(&mut Latency), expected: &str) {
        let spoil = |load: &mut Observation| spoil(load.total.latency.as_mut().expect("a latency"));
        samples::check(spoil, expected);
    }

    /// The table shows response times up to 115 s as well as the service time of 17.3 ms.
    #[test]
    fn the_largest_value_matches_the_table() {
        let mut load = sound();
        load.total.response.clone_from(&load.total.latency);
        load.total.response.as_mut().expect("a response time").max_ns = Some(115e9);
        let found = super::super::examine(&load, super::super::Purpose::default());
        let largest = found
            .iter()
            .find(|finding| finding.rule == "MAX-ONE-SAMPLE")
            .expect("the finding is always present");
        assert_eq!(
            largest.what,
            "the largest response time (115 s) is one operation of 3840000"
        );
    }

    #[test]
    fn unusual_shapes_are_reported() {
        check(|latency| latency.quantiles[1].1 = 1e6, "PCT-DISORDER");
        check(|latency| latency.min_ns = Some(3e7), "PCT-DISORDER");
        check(|latency| latency.max_ns = Some(8.5e6), "PCT-DISORDER");
        // Half of the values are at most 1.9 ms, half at least.
        check(|latency| latency.mean_ns = Some(0.9e6), "MEAN-IMPOSSIBLE");
        check(|latency| latency.mean_ns = Some(3.8e6), "MEAN-IMPOSSIBLE");
        check(|latency| latency.deviation_ns = Some(2.7e6), "LATENCY-SPREAD");
        let tail = |latency: &mut Latency| {
            (latency.quantiles[2].1, latency.quantiles[3].1, latency.max_ns) = (4e7, 5e7, Some(6e7));
        };
        check(tail, "TAIL");
        let mut load = sound();
        let latency = load.total.latency.as_mut().expect("it has one");
        tail(latency);
        latency.samples = Some(3000);
        load.directions.read = None;
        assert!(!has_rule(&load, "TAIL"), "three operations are not a tail");
    }
}
