//! Judges the figures of a load without access to its device: whether they are consistent, and how
//! reliable they are. The figures may come from any tool, and may be rounded or incomplete. Missing
//! figures are not judged.

mod load;
mod modes;
mod percentiles;
mod sums;
mod times;
mod validity;

use model::finding::Finding;
use model::observation::Observation;

pub(crate) use load::QueueDeviation;
pub use load::{QueueFill, estimate_queue_fill};
pub(crate) use modes::find_two_modes;
pub use percentiles::{PercentileRow, PercentileValue, Trust, percentiles};
pub(crate) use validity::short_transfers_finding;

/// A rule about a load.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Rule names of its findings.
    pub names: &'static [&'static str],
    /// A sentence about the check.
    pub about: &'static str,
    detect: fn(&Observation, Purpose, &mut Vec<Finding>),
}

/// The purpose of the figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// The figures decide whether a promise is met, which needs longer measurements.
    pub promise: bool,
}

/// All rules, in the order in which their findings are shown.
pub const RULES: &[Rule] = &[
    sums::OPERATIONS,
    sums::RATES,
    sums::DIRECTIONS,
    sums::PARTS,
    load::QUEUE_DEPTH,
    load::STATED_IN_FLIGHT,
    load::RATE,
    load::MIX,
    times::ORDER,
    times::MEAN,
    times::TAIL,
    times::SPREAD,
    modes::MODES,
    times::LARGEST,
    percentiles::PERCENTILE_SUPPORT,
    validity::LENGTH,
    validity::CACHE,
    validity::SIZE,
    validity::PROCESSORS,
    validity::ERRORS,
    validity::SHORT,
    validity::LATENCY,
];

/// Applies every rule to a load.
pub fn examine(observation: &Observation, purpose: Purpose) -> Vec<Finding> {
    let mut findings = Vec::new();
    for rule in RULES {
        (rule.detect)(observation, purpose, &mut findings);
    }
    findings
}

/// Applies the rules that report findings with these names, and returns only those.
pub(crate) fn examine_only(observation: &Observation, names: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let chosen = RULES
        .iter()
        .filter(|rule| rule.names.iter().any(|name| names.contains(name)));
    for rule in chosen {
        (rule.detect)(observation, Purpose::default(), &mut findings);
    }
    findings.retain(|finding| names.contains(&&*finding.rule));
    findings
}

#[cfg(test)]
mod samples {
    use model::observation::{IoStats, Latency, Load, Observation};
    use model::{Bytes, Nanos, PerDirection};

    /// A sound load of 4 KiB random reads: 64 in flight, 32,000 per second at 2 ms, 120 s.
    pub(super) fn sound() -> Observation {
        let quantiles = [(0.5, 1.9e6), (0.99, 5e6), (0.999, 8e6), (0.9999, 9e6)];
        let flow = IoStats {
            operations: Some(3_840_000),
            bytes: Some(Bytes(3_840_000 * 4096)),
            iops: Some(32_000.0),
            bytes_per_sec: Some(125.0 * 1_048_576.0),
            latency: Some(Latency {
                samples: Some(3_840_000),
                mean_ns: Some(2e6),
                deviation_ns: Some(1e6),
                min_ns: Some(2e5),
                max_ns: Some(2e7),
                quantiles: quantiles.to_vec(),
                ..Latency::default()
            }),
            ..IoStats::default()
        };
        Observation {
            tool: "DiskSpd".into(),
            name: "time span 1".into(),
            load: Load {
                targets: vec!["a.dat".into()],
                workers: Some(2),
                depth: Some(64),
                block: Some(Bytes(4096)),
                read_percent: Some(100.0),
                random: Some(true),
                closed_loop: Some(true),
                direct: Some(true),
                warm_up_ns: Some(Nanos::secs(5)),
                size: Some(Bytes(100 << 30)),
                ..Load::default()
            },
            measured_ns: Some(Nanos::secs(120)),
            directions: PerDirection::from_reads(Some(flow.clone())),
            total: flow,
            ..Observation::default()
        }
    }

    pub(super) fn rules(observation: &Observation) -> Vec<String> {
        let findings = super::examine(observation, super::Purpose::default());
        findings.into_iter().map(|finding| finding.rule).collect()
    }

    pub(super) fn has_rule(observation: &Observation, rule: &str) -> bool {
        rules(observation).iter().any(|found| found == rule)
    }

    /// Asserts that a change of the sound load is reported.
    #[track_caller]
    pub(super) fn check(spoil: impl FnOnce(&mut Observation), expected: &str) {
        let mut load = sound();
        spoil(&mut load);
        let found = rules(&load);
        assert!(found.contains(&expected.to_owned()), "{found:?}");
    }

    #[test]
    fn a_sound_load_has_only_the_finding_about_its_maximum() {
        assert_eq!(rules(&sound()), ["MAX-ONE-SAMPLE"]);
    }
}
