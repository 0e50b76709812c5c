//! The table of percentiles, with the reliability of each: with fewer than ten values beyond it, a
//! percentile is as random as the maximum.

use model::finding::{Finding, Severity};
use model::observation::{Latency, Observation};
use model::stats::{Support, support};
use serde::Serialize;

use super::Rule;

/// The reliability of a percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// At least a hundred values are beyond it.
    Good,
    /// Ten to a hundred values are beyond it.
    Weak,
    /// Fewer than ten values are beyond it.
    Unsupported,
    /// The number of values is unknown.
    Unknown,
}

/// One percentile of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PercentileValue {
    /// Nanoseconds.
    pub ns: f64,
    /// The number of values beyond it, if known.
    pub beyond: Option<f64>,
    /// How far the percentile can be trusted.
    pub mark: Trust,
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PercentileRow {
    /// The share of values below the percentile.
    pub share: f64,
    /// Usual name, such as `p99.9`.
    pub name: String,
    /// Of reads.
    pub read: Option<PercentileValue>,
    /// Of writes.
    pub write: Option<PercentileValue>,
    /// Of all operations.
    pub total: Option<PercentileValue>,
}

/// The percentiles for a histogram. If a report states percentiles, those are shown instead.
const DEFAULT_SHARES: [f64; 9] = [0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999];

/// Builds a row for every percentile that the source states, in ascending order.
pub fn percentiles(load: &Observation) -> Vec<PercentileRow> {
    let latency_of = |flow: Option<&model::observation::IoStats>| flow.and_then(|flow| flow.user_latency().cloned());
    let read = latency_of(load.directions.read.as_ref());
    let write = latency_of(load.directions.write.as_ref());
    let total = latency_of(Some(&load.total));
    let mut shares: Vec<f64> = Vec::new();
    for latency in [&read, &write, &total].into_iter().flatten() {
        shares.extend(latency.quantiles.iter().map(|(share, _)| *share));
        if latency.histogram.is_some() {
            shares.extend(DEFAULT_SHARES);
        }
    }
    shares.sort_by(f64::total_cmp);
    shares.dedup_by(|a, b| (*a - *b).abs() < 1e-12);
    let row = |share: f64| PercentileRow {
        share,
        name: percentile_name(share),
        read: percentile_value(read.as_ref(), share),
        write: percentile_value(write.as_ref(), share),
        total: percentile_value(total.as_ref(), share),
    };
    shares.into_iter().map(row).collect()
}

fn percentile_value(latency: Option<&Latency>, share: f64) -> Option<PercentileValue> {
    let latency = latency?;
    let ns = latency.quantile(share)?;
    Some(PercentileValue {
        ns,
        beyond: latency.samples.map(|samples| (1.0 - share) * samples as f64),
        mark: trust(latency.samples, share),
    })
}

fn trust(samples: Option<u64>, share: f64) -> Trust {
    match samples.map(|samples| support(share, samples)) {
        Some(Support::Good) => Trust::Good,
        Some(Support::Weak) => Trust::Weak,
        Some(Support::None) => Trust::Unsupported,
        None => Trust::Unknown,
    }
}

/// `p99.9` for 0.999.
fn percentile_name(share: f64) -> String {
    // Nines are computed as 1 - 10^-n, whose last bits are noise.
    let percent = (share * 100.0 * 1e8).round() / 1e8;
    format!("p{percent}")
}

/// Picks a column of a row.
type Column = fn(&PercentileRow) -> Option<PercentileValue>;

pub(super) const PERCENTILE_SUPPORT: Rule = Rule {
    names: &["PCT-UNSUPPORTED"],
    about: "Whether there were enough operations for the percentiles of the report.",
    detect: |load, _, findings| {
        let rows = percentiles(load);
        let columns: [(&str, Column); 3] = [
            ("all operations", |row| row.total),
            ("reads", |row| row.read),
            ("writes", |row| row.write),
        ];
        let mut parts = Vec::new();
        for (direction_name, column) in columns {
            let weak = |row: &&PercentileRow| column(row).is_some_and(|value| value.mark == Trust::Unsupported);
            if let Some(first) = rows.iter().find(weak)
                && let Some(PercentileValue {
                    beyond: Some(beyond), ..
                }) = column(first)
            {
                parts.push(format!(
                    "{} and above of {direction_name} (only {beyond:.1} operations are beyond it)",
                    first.name
                ));
            }
        }
        if parts.is_empty() {
            return;
        }
        let message = format!("too few operations for reliable percentiles: {}", parts.join(", "));
        let finding = Finding::new("PCT-UNSUPPORTED", Severity::Note, message).at(&*load.name);
        let finding =
            finding.why("fewer than ten operations are beyond each of them, so the next run will show other values");
        findings.push(finding.help("measure for longer, or judge lower percentiles"));
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples::{has_rule, sound};
    use super::*;

    #[test]
    fn trust_depends_on_the_values_beyond() {
        assert_eq!(trust(Some(215_348), 1.0 - 1e-4), Trust::Weak, "21.5 beyond");
        assert_eq!(trust(Some(43_476), 1.0 - 1e-4), Trust::Unsupported, "4.3 beyond");
        assert_eq!(trust(Some(215_348), 1.0 - 1e-5), Trust::Unsupported, "2.2 beyond");
        assert_eq!(trust(Some(215_348), 0.999), Trust::Good);
        assert_eq!(trust(None, 0.5), Trust::Unknown);
        assert_eq!(
            (
                percentile_name(1.0 - 1e-5),
                percentile_name(0.5),
                percentile_name(1.0 - 1e-9)
            ),
            ("p99.999".into(), "p50".into(), "p99.9999999".into())
        );
    }

    #[test]
    fn the_first_unsupported_row_is_reported() {
        let mut load = sound();
        let latency = load.total.latency.as_mut().expect("a latency");
        latency.samples = Some(5_000);
        assert!(has_rule(&load, "PCT-UNSUPPORTED"));
        let rows = percentiles(&load);
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[2].total.map(|value| value.mark), Some(Trust::Unsupported));
    }
}
