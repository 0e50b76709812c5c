//! Saved reference figures, such as a data sheet or last year's run. Comparisons are ratios, which
//! suit synthetic loads best.

use std::collections::BTreeMap;

use model::JsonSchema;
use model::observation::{IoStats, Observation};
use serde::{Deserialize, Serialize};

use crate::compare::INVALIDATING_FINDINGS;

/// Version of the saved format.
pub const FORMAT_VERSION: u32 = 1;

/// Reference figures with the facts on which they depend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// Version of this format.
    pub format_version: u32,
    /// `baseline`.
    pub kind: String,
    /// Name under which the baseline is stored.
    pub name: String,
    /// The file it was read from.
    pub file: String,
    /// The format of that file, in words.
    pub form: String,
    /// The source of the figures, if recorded.
    pub source: Option<String>,
    /// When it was saved, in seconds since 1970.
    pub kept_unix_s: u64,
    /// Facts on which the figures depend, by name: machine, processors, tool.
    pub fingerprint: BTreeMap<String, String>,
    /// Figures of each load.
    pub loads: Vec<Observation>,
}

/// Comparison of a load with the corresponding load of a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadComparison {
    /// Name of the load.
    pub name: String,
    /// The name of the baseline's load.
    pub base: String,
    /// Figures that both loads have.
    pub rows: Vec<FigureComparison>,
    /// Settings that differ between the two loads.
    pub differences: Vec<String>,
}

/// One figure of both loads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureComparison {
    /// Name of the figure.
    pub figure: String,
    /// Value in the baseline.
    pub base: f64,
    /// Value in the load.
    pub now: f64,
    /// Ratio of the second to the first.
    pub ratio: f64,
    /// Higher values are better.
    pub more_is_better: bool,
}

/// Comparison of a result with a baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The baseline's name.
    pub baseline: String,
    /// Loads that both have.
    pub pairs: Vec<LoadComparison>,
    /// Loads without a counterpart.
    pub alone: Vec<String>,
    /// Conditions that differ, or are known on one side only.
    pub fingerprint: Vec<String>,
    /// Findings that invalidate figures, with their side. With any, no figure is better or worse.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
}

/// Compares loads with a baseline.
pub fn compare(baseline: &Baseline, fingerprint: &BTreeMap<String, String>, loads: &[Observation]) -> Comparison {
    let mut unmatched: Vec<&Observation> = baseline.loads.iter().collect();
    let (mut pairs, mut unpaired) = (Vec::new(), Vec::new());
    for load in loads {
        let only = loads.len() == 1 && baseline.loads.len() == 1;
        let position = unmatched.iter().position(|base| has_same_load(base, load));
        let position = position.or_else(|| unmatched.iter().position(|base| base.name == load.name));
        match position.or(only.then_some(0)) {
            Some(index) => pairs.push(compare_load(unmatched.remove(index), load)),
            None => unpaired.push(format!("{} has no counterpart in the baseline", load.name)),
        }
    }
    unpaired.extend(
        unmatched
            .iter()
            .map(|base| format!("{} of the baseline has no counterpart", base.name)),
    );
    let sides = [("the result", fingerprint), ("the baseline", &baseline.fingerprint)];
    let doubts = sides.into_iter().filter_map(|(side, facts)| {
        let rules = facts.get(INVALIDATING_FINDINGS).filter(|rules| *rules != "none")?;
        Some(format!("{side} has {rules}"))
    });
    Comparison {
        doubts: doubts.collect(),
        baseline: baseline.name.clone(),
        pairs,
        alone: unpaired,
        fingerprint: fingerprint_differences(&baseline.fingerprint, fingerprint),
    }
}

/// True if both loads state block size and depth, and no stated setting differs.
fn has_same_load(base: &Observation, load: &Observation) -> bool {
    let states_load = |load: &Observation| load.load.block.is_some() && load.load.depth.is_some();
    states_load(base) && states_load(load) && differences(base, load).is_empty()
}

fn compare_load(base: &Observation, load: &Observation) -> LoadComparison {
    let mut rows = Vec::new();
    let pairs = [
        ("", Some(&base.total), Some(&load.total)),
        ("read ", base.directions.read.as_ref(), load.directions.read.as_ref()),
        ("write ", base.directions.write.as_ref(), load.directions.write.as_ref()),
    ];
    // A single direction equals the total.
    let mixed = load.directions.read.is_some() && load.directions.write.is_some();
    for (prefix, base, current) in pairs.into_iter().take(if mixed { 3 } else { 1 }) {
        if let (Some(base), Some(current)) = (base, current) {
            rows.extend(figures(prefix, base, current));
        }
    }
    LoadComparison {
        name: load.name.clone(),
        base: base.name.clone(),
        rows,
        differences: differences(base, load),
    }
}

fn figures(prefix: &str, base: &IoStats, now: &IoStats) -> Vec<FigureComparison> {
    let row = |figure: &str, more_is_better: bool, base: Option<f64>, now: Option<f64>| {
        let (base, now) = (base?, now?);
        (base > 0.0).then(|| FigureComparison {
            figure: format!("{prefix}{figure}"),
            base,
            now,
            ratio: now / base,
            more_is_better,
        })
    };
    let mean = |flow: &IoStats| flow.user_latency().and_then(|latency| latency.mean_ns);
    let quantile = |flow: &IoStats, share: f64| flow.user_latency().and_then(|latency| latency.quantile(share));
    [
        row("IOPS", true, base.iops, now.iops),
        row("bytes/s", true, base.bytes_per_sec, now.bytes_per_sec),
        row("mean latency", false, mean(base), mean(now)),
        row("p50", false, quantile(base, 0.5), quantile(now, 0.5)),
        row("p99", false, quantile(base, 0.99), quantile(now, 0.99)),
        row("p99.9", false, quantile(base, 0.999), quantile(now, 0.999)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn differences(base: &Observation, load: &Observation) -> Vec<String> {
    let (base_load, current_load) = (&base.load, &load.load);
    let mut list = Vec::new();
    let mut compare = |what: &str, base: Option<String>, now: Option<String>| {
        if let (Some(base), Some(now)) = (base, now)
            && base != now
        {
            list.push(format!("{what}: {now} (baseline: {base})"));
        }
    };
    let text = |value: Option<u64>| value.map(|value| value.to_string());
    let percent = |value: Option<f64>| value.map(|value| format!("{value:.0} % reads"));
    let flag = |value: Option<bool>, yes: &str, no: &str| value.map(|value| if value { yes } else { no }.to_owned());
    compare(
        "block size",
        base_load.block.map(|size| size.to_string()),
        current_load.block.map(|size| size.to_string()),
    );
    compare(
        "mix",
        percent(base_load.read_percent),
        percent(current_load.read_percent),
    );
    compare("operations in flight", text(base_load.depth), text(current_load.depth));
    compare(
        "order",
        flag(base_load.random, "random", "sequential"),
        flag(current_load.random, "random", "sequential"),
    );
    compare(
        "the system's cache",
        flag(base_load.direct, "bypassed", "in use"),
        flag(current_load.direct, "bypassed", "in use"),
    );
    let rate = |value: Option<f64>| value.map(|value| format!("{value:.0} per second"));
    compare("rate", rate(base_load.rate_iops), rate(current_load.rate_iops));
    list
}

/// Differences between two fingerprints, by name.
fn fingerprint_differences(base: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let mut names: Vec<&String> = base.keys().chain(now.keys()).collect();
    names.sort();
    names.dedup();
    let value_of = |names: &BTreeMap<String, String>, name: &String| {
        names.get(name).cloned().unwrap_or_else(|| "not known".into())
    };
    // Findings are no condition, and are named apart.
    let differs = names
        .into_iter()
        .filter(|name| *name != INVALIDATING_FINDINGS && base.get(*name) != now.get(*name));
    differs
        .map(|name| format!("{name}: {} (baseline: {})", value_of(now, name), value_of(base, name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Bytes;

    fn load(name: &str, depth: u64, iops: f64) -> Observation {
        let mut load = Observation {
            name: name.into(),
            ..Observation::default()
        };
        (load.load.block, load.load.depth, load.total.iops) = (Some(Bytes(4096)), Some(depth), Some(iops));
        load
    }

    fn baseline(loads: Vec<Observation>) -> Baseline {
        Baseline {
            format_version: FORMAT_VERSION,
            kind: "baseline".into(),
            name: "sheet".into(),
            file: "sheet.csv".into(),
            form: "figures written down by hand".into(),
            source: None,
            kept_unix_s: 0,
            fingerprint: BTreeMap::from([("host".to_owned(), "a".to_owned())]),
            loads,
        }
    }

    #[test]
    fn loads_are_paired_by_their_settings() {
        let base = baseline(vec![load("qd1", 1, 30_000.0), load("qd64", 64, 107_000.0)]);
        let found = compare(
            &base,
            &BTreeMap::new(),
            &[load("time span 1", 64, 53_500.0), load("x", 8, 1.0)],
        );
        let [pair] = &*found.pairs else { panic!("{found:?}") };
        assert_eq!((pair.base.as_str(), pair.rows[0].ratio), ("qd64", 0.5));
        assert_eq!(found.alone.len(), 2, "{found:?}");
        assert_eq!(found.fingerprint, ["host: not known (baseline: a)"]);
    }

    #[test]
    fn findings_of_both_sides_are_doubts() {
        let mut base = baseline(vec![load("qd1", 1, 30_000.0)]);
        let facts = |rules: &str| BTreeMap::from([(INVALIDATING_FINDINGS.to_owned(), rules.to_owned())]);
        base.fingerprint = facts("HOLES");
        let loads = [load("mine", 1, 60_000.0)];
        let doubts = |rules: &str| compare(&base, &facts(rules), &loads).doubts;
        assert_eq!(doubts("none"), ["the baseline has HOLES"]);
        assert_eq!(
            doubts("IN-MEMORY"),
            ["the result has IN-MEMORY", "the baseline has HOLES"]
        );
    }

    #[test]
    fn two_single_loads_are_compared_with_their_differences() {
        let base = baseline(vec![load("qd1", 1, 30_000.0)]);
        let found = compare(&base, &base.fingerprint, &[load("mine", 4, 60_000.0)]);
        assert_eq!(found.pairs[0].differences, ["operations in flight: 4 (baseline: 1)"]);
        assert_eq!(found.fingerprint, [""; 0]);
    }
}
