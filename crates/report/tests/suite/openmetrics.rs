//! Checks the OpenMetrics text against the rules of the standard (OpenMetrics 1.0, "Overall
//! structure" and "Metric types") with an independent parser, and its values against the results.

use std::collections::{BTreeMap, BTreeSet};

use report::formats;

use crate::prelude::*;

fn results(name: &str) -> Results {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data/results")
        .join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn written(results: &Results) -> String {
    let mut bytes = Vec::new();
    (formats::find("openmetrics").unwrap().write)(results, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

type Labels = BTreeMap<String, String>;

#[derive(Debug, Default)]
struct Family {
    kind: String,
    unit: Option<String>,
    help: Option<String>,
    samples: Vec<(String, Labels, f64)>,
}

/// Parses a text; the error is the first violation of the rules.
fn read(text: &str) -> Result<BTreeMap<String, Family>, String> {
    let body = text.strip_suffix("# EOF\n").ok_or("the last line is not `# EOF`")?;
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let mut current = String::new();
    for line in body.lines() {
        let wrong = |why: &str| format!("{why}: {line}");
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (word, name, value) = (
                words.next().unwrap(),
                words.next().unwrap_or(""),
                words.next().unwrap_or(""),
            );
            if name != current && families.contains_key(name) {
                return Err(wrong("the lines of a family are not contiguous"));
            }
            current = name.to_owned();
            let family = families.entry(name.to_owned()).or_default();
            if !family.samples.is_empty() {
                return Err(wrong("metadata after samples"));
            }
            match word {
                "TYPE" if family.kind.is_empty() => family.kind = value.into(),
                "UNIT" if family.unit.is_none() && name.ends_with(&format!("_{value}")) => {
                    family.unit = Some(value.into())
                }
                "HELP" if family.help.is_none() && !value.is_empty() => family.help = Some(value.into()),
                _ => return Err(wrong("metadata is missing or repeated")),
            }
            continue;
        }
        let (name, rest) = line.split_once('{').ok_or_else(|| wrong("a sample without labels"))?;
        let (labels, rest) = labels(rest).ok_or_else(|| wrong("labels that cannot be read"))?;
        let value: f64 = rest
            .strip_prefix(' ')
            .and_then(|rest| rest.parse().ok())
            .ok_or_else(|| wrong("no value"))?;
        let family = families
            .get_mut(&current)
            .ok_or_else(|| wrong("a sample without a family"))?;
        let suffixes: &[&str] = match &*family.kind {
            "counter" => &["_total"],
            "gauge" => &[""],
            "summary" => &["", "_sum", "_count"],
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => return Err(wrong("a type that the textfile collector does not take")),
        };
        if !suffixes.iter().any(|suffix| name == format!("{current}{suffix}")) {
            return Err(wrong("a sample of another family"));
        }
        if family
            .samples
            .iter()
            .any(|(other, known, _)| other == name && *known == labels)
        {
            return Err(wrong("a series twice"));
        }
        if family.kind != "gauge" && (value.is_nan() || value < 0.0) {
            return Err(wrong("a negative count"));
        }
        family.samples.push((name.to_owned(), labels, value));
    }
    families
        .iter()
        .try_for_each(|(name, family)| check_family(name, family))?;
    Ok(families)
}

/// Parses `a="b",c="d"} rest`.
fn labels(text: &str) -> Option<(Labels, &str)> {
    let mut found = Labels::new();
    let mut rest = text;
    loop {
        let (name, after) = rest.split_once("=\"")?;
        let good = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        if name.is_empty() || !name.chars().all(good) || name.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let (mut value, mut letters) = (String::new(), after.char_indices());
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => match letters.next()?.1 {
                    'n' => value.push('\n'),
                    same @ ('\\' | '"') => value.push(same),
                    _ => return None,
                },
                (_, '\n') => return None,
                (_, other) => value.push(other),
            }
        };
        if found.insert(name.to_owned(), value).is_some() {
            return None;
        }
        rest = &after[end + 1..];
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None => return Some((found, rest.strip_prefix('}')?)),
        }
    }
}

fn check_family(name: &str, family: &Family) -> Result<(), String> {
    if family.kind.is_empty() || family.help.is_none() {
        return Err(format!("{name} has no type or no help"));
    }
    let without = |labels: &Labels, key: &str| {
        let mut rest = labels.clone();
        rest.remove(key);
        rest
    };
    let series: BTreeSet<Labels> = family
        .samples
        .iter()
        .map(|(_, labels, _)| without(&without(labels, "le"), "quantile"))
        .collect();
    for series in series {
        let samples_with = |suffix: &str, key: &'static str| -> Vec<(Option<String>, f64)> {
            let wanted = format!("{name}{suffix}");
            let samples = family
                .samples
                .iter()
                .filter(|(name, labels, _)| *name == wanted && without(labels, key) == series);
            samples
                .map(|(_, labels, value)| (labels.get(key).cloned(), *value))
                .collect()
        };
        if family.kind == "summary" {
            let quantiles = samples_with("", "quantile");
            let rising = quantiles.windows(2).all(|pair| pair[0].1 <= pair[1].1);
            let shares = quantiles
                .iter()
                .all(|(share, _)| (0.0..=1.0).contains(&share.as_ref().unwrap().parse::<f64>().unwrap()));
            if !rising || !shares || samples_with("_sum", "").len() != 1 || samples_with("_count", "").len() != 1 {
                return Err(format!("{name}: no summary: {series:?}"));
            }
        }
        if family.kind == "histogram" {
            let buckets = samples_with("_bucket", "le");
            let bound = |text: &Option<String>| match text.as_deref() {
                Some("+Inf") => f64::INFINITY,
                text => text.unwrap().parse().unwrap(),
            };
            let rising = buckets
                .windows(2)
                .all(|pair| pair[0].1 <= pair[1].1 && bound(&pair[0].0) < bound(&pair[1].0));
            let last = buckets.last().unwrap();
            if !rising
                || bound(&last.0) != f64::INFINITY
                || samples_with("_count", "")[0].1 != last.1
                || samples_with("_sum", "").len() != 1
            {
                return Err(format!("{name}: no histogram: {series:?}"));
            }
        }
    }
    Ok(())
}

#[test]
fn texts_follow_the_standard_and_have_the_values_of_the_results() {
    for name in ["mixed.json", "paced.json", "steps.json", "fleet.json"] {
        let found = results(name);
        let text = written(&found);
        let families = read(&text).unwrap_or_else(|why| panic!("{name}: {why}\n{text}"));
        let sum = |family: &str, sample: &str| -> f64 {
            let samples = families[family].samples.iter().filter(|(name, ..)| name == sample);
            samples.map(|(_, _, value)| value).sum()
        };
        let jobs = || found.steps.iter().flat_map(|step| &step.jobs);
        let operations: u64 = jobs().map(|job| job.total().operations).sum();
        assert_eq!(sum("fathom_operations", "fathom_operations_total"), operations as f64);
        assert_eq!(
            sum("fathom_latency_seconds", "fathom_latency_seconds_count"),
            operations as f64
        );
        let bytes: u64 = jobs().map(|job| job.total().bytes.0).sum();
        assert_eq!(
            sum("fathom_transferred_bytes", "fathom_transferred_bytes_total"),
            bytes as f64
        );
        if found.fleet.is_some() {
            let of_ranks = sum("fathom_rank_operations", "fathom_rank_operations_total");
            assert_eq!(of_ranks, operations as f64, "{name}: the ranks add up to the whole");
            assert_eq!(sum("fathom_rank_lost", "fathom_rank_lost"), 1.0);
        }
        let nanos: u128 = jobs().map(|job| job.total().latency().sum()).sum();
        let seconds = sum(
            "fathom_latency_distribution_seconds",
            "fathom_latency_distribution_seconds_sum",
        );
        assert!((seconds / (nanos as f64 / 1e9) - 1.0).abs() < 1e-9);
        let start = families["fathom_start_time_seconds"].samples[0].2;
        assert!((start - found.hosts[0].started_unix_ns as f64 / 1e9).abs() < 1e-3);
    }
}

#[test]
fn user_text_stays_in_its_label() {
    let mut found = results("steps.json");
    let name = "a\"} 1\n# EOF\n\\</script>";
    found.plan.name = name.into();
    for job in found.steps.iter_mut().flat_map(|step| &mut step.jobs) {
        job.name = name.into();
    }
    let families = read(&written(&found)).unwrap();
    let operations = &families["fathom_operations"].samples;
    assert!(operations.len() > 1, "two jobs with the same name are two series");
    assert!(
        operations
            .iter()
            .all(|(_, labels, _)| labels["name"] == name && labels["test"] == name)
    );
}

#[test]
fn a_text_without_measurements_follows_the_standard() {
    let mut found = results("mixed.json");
    (found.steps, found.hosts) = Default::default();
    let families = read(&written(&found)).unwrap();
    assert!(families["fathom_operations"].samples.is_empty());
    assert_eq!(families["fathom_run"].samples.len(), 1);
}

/// The parser itself finds violations.
#[test]
fn the_parser_is_strict() {
    let whole = written(&results("mixed.json"));
    let spoilt = |from: &str, to: &str| {
        assert!(whole.contains(from), "{from}");
        read(&whole.replacen(from, to, 1)).unwrap_err()
    };
    assert!(read(whole.trim_end()).unwrap_err().contains("EOF"));
    spoilt(
        "# UNIT fathom_latency_seconds seconds",
        "# UNIT fathom_latency_seconds ms",
    );
    spoilt("fathom_operations_total{", "fathom_operations{");
    spoilt("# TYPE fathom_operations counter", "# TYPE fathom_operations info");
    spoilt("le=\"+Inf\"} ", "le=\"+Inf\"} 9");
    spoilt("quantile=\"0.5\"", "quantile=\"1.5\"");
    spoilt("direction=\"read\"", "direction=\"re\"ad\"");
    spoilt("direction=\"write\"", "direction=\"read\"");
}

/// `docs/grafana.json` uses metrics that exist, after a run or live, and among them all rates and
/// latencies.
#[test]
fn the_dashboard_uses_metrics_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read_source = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let dashboard: Value = serde_json::from_str(&read_source("docs/grafana.json")).unwrap();
    let names_in = |text: &str| -> BTreeSet<String> {
        let parts = text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
        let names = parts.filter(|part| part.starts_with("fathom_")).map(str::to_owned);
        names.collect()
    };
    let mut asked = names_in("fathom_run");
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(
            panel["description"].as_str().is_some_and(|words| words.ends_with('.')),
            "{panel}"
        );
        for target in panel["targets"].as_array().unwrap() {
            asked.extend(names_in(target["expr"].as_str().unwrap()));
        }
    }
    let mut known: BTreeSet<String> = written(&results("mixed.json"))
        .lines()
        .filter_map(|line| line.split(['{', ' ']).next().map(str::to_owned))
        .collect();
    known.extend(names_in(&read_source("crates/report/src/live/metrics.rs")));
    assert!(asked.len() >= 12, "{asked:?}");
    let unknown: Vec<&String> = asked.difference(&known).collect();
    assert_eq!(unknown, Vec::<&String>::new());
}
