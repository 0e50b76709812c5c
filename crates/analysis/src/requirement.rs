//! Requirements on storage: clauses such as `iops>=4000`, `p99<=3ms`, `read.mean<=1ms`,
//! `mbps>=200`, separated by commas. This module parses them; [`crate::verdict`] judges whether
//! they are met.

use std::fmt;

use model::JsonSchema;
use model::{Bytes, Direction, Nanos};
use serde::{Deserialize, Serialize};

use crate::figures::round_to_three_digits;

/// Tolerated shortfall of a minimum: token buckets count whole operations in short intervals.
pub const TOLERANCE: f64 = 0.01;
/// Maximum operations per second: one per nanosecond, the unit of every clock here.
pub const MAX_IOPS: f64 = 1e9;
/// Maximum bytes per second.
const MAX_BYTES_PER_SEC: f64 = 1e15;

/// One condition of a requirement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clause {
    /// The text, as written by the user or the policy.
    pub text: String,
    /// The judged figure.
    pub metric: Metric,
    /// Reads or writes alone; absent: all operations.
    pub direction: Option<Direction>,
    /// Whether the target is a minimum or a maximum.
    pub side: Side,
    /// Operations per second, bytes per second, nanoseconds, or a share.
    pub target: f64,
    /// Share of the target that may be missing.
    pub tolerance: f64,
    /// True if a policy promises the clause; false if the user added it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_policy: bool,
}

/// The figure that a clause limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "metric", rename_all = "kebab-case")]
pub enum Metric {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Throughput,
    /// Mean waiting time: the response time of a paced load, otherwise the latency.
    Mean,
    /// A quantile of the same.
    Quantile {
        /// Share of the operations below it: 0.99 for p99.
        share: f64,
    },
    /// Share of the seconds in which all other clauses on rates and means hold.
    Availability,
}

/// Whether a target is a minimum or a maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
}

impl Side {
    /// The sign in a requirement.
    pub fn sign(self) -> &'static str {
        match self {
            Side::AtLeast => ">=",
            Side::AtMost => "<=",
        }
    }
}

impl Metric {
    /// Whether its targets are minima or maxima.
    pub fn side(self) -> Side {
        match self {
            Metric::Iops | Metric::Throughput | Metric::Availability => Side::AtLeast,
            Metric::Mean | Metric::Quantile { .. } => Side::AtMost,
        }
    }

    /// Name in a requirement.
    pub fn name(self) -> String {
        match self {
            Metric::Iops => "iops".into(),
            Metric::Throughput => "mbps".into(),
            Metric::Mean => "mean".into(),
            Metric::Quantile { share } => format!("p{}", trim_zeros(share * 100.0)),
            Metric::Availability => "availability".into(),
        }
    }

    /// Formats a value with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Metric::Iops => trim_zeros(round_significant(value)),
            Metric::Throughput => format!("{} MB/s", trim_zeros(round_significant(value / 1e6))),
            Metric::Mean | Metric::Quantile { .. } => Nanos(value.max(0.0).round() as u64).to_string(),
            Metric::Availability => format!("{} %", trim_zeros((value * 1e6).round() / 1e4)),
        }
    }
}

impl Clause {
    /// Formats a measured value with three significant digits and the unit that suits it. More
    /// digits if it misses the limit but would look equal to it.
    pub fn show(&self, value: f64) -> String {
        let exact = self.metric.show(value);
        let rounded = match self.metric {
            Metric::Iops => trim_zeros(round_to_three_digits(value)),
            Metric::Throughput => format!("{} MB/s", trim_zeros(round_to_three_digits(value / 1e6))),
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability => return exact,
        };
        let misses_equal = rounded == self.metric.show(self.target) && value < self.target * (1.0 - self.tolerance);
        match value == self.target || misses_equal {
            true => exact,
            false => rounded,
        }
    }
}

/// Rounds to four or more significant digits.
fn round_significant(value: f64) -> f64 {
    match value.abs() {
        large if large >= 1000.0 => value.round(),
        middle if middle >= 10.0 => (value * 10.0).round() / 10.0,
        _ => (value * 1000.0).round() / 1000.0,
    }
}

fn trim_zeros(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for Clause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(direction) = self.direction {
            write!(out, "{}.", direction.word())?;
        }
        let (name, target) = (self.metric.name(), self.metric.show(self.target));
        write!(out, "{name} {} {target}", self.side.sign())
    }
}

/// The reason why a requirement could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequirementError {
    /// The faulty clause.
    pub clause: String,
    /// The problem.
    pub why: String,
    /// The correct form.
    pub help: String,
}

impl fmt::Display for RequirementError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}`: {}", self.clause, self.why)
    }
}

/// Parses clauses separated by commas.
///
/// # Errors
/// One [`RequirementError`] for each faulty clause.
pub fn parse(text: &str) -> Result<Vec<Clause>, Vec<RequirementError>> {
    let (mut clauses, mut errors) = (Vec::new(), Vec::new());
    for part in split_clauses(text) {
        match parse_clause(&part) {
            Ok(clause) => clauses.push(clause),
            Err((why, help)) => errors.push(RequirementError {
                clause: part,
                why,
                help,
            }),
        }
    }
    if clauses.is_empty() && errors.is_empty() {
        errors.push(RequirementError {
            clause: text.to_owned(),
            why: "it contains no clause".into(),
            help: "for example iops>=4000,p99<=3ms".into(),
        });
    }
    match errors.is_empty() {
        true => Ok(clauses),
        false => Err(errors),
    }
}

/// Splits a text into clauses. Digits after a comma belong to the number before it.
fn split_clauses(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let continues = part.starts_with(|letter: char| letter.is_ascii_digit()) && !part.contains(['<', '>', '=']);
        match parts.last_mut() {
            Some(last) if continues && last.ends_with(|letter: char| letter.is_ascii_digit()) => {
                last.push(',');
                last.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts
}

type WhyAndHelp = (String, String);

fn parse_clause(text: &str) -> Result<Clause, WhyAndHelp> {
    if text.contains(',') {
        return Err((
            "a number must not contain a comma: commas separate clauses".into(),
            format!("write {}", text.replace(',', "")),
        ));
    }
    let (name, side, value) = split_clause(text)?;
    let (metric, direction) = parse_metric(name)?;
    if side != metric.side() {
        let (right, wrong) = (metric.side().sign(), side.sign());
        return Err((
            format!("{} needs {right}, not {wrong}", metric.name()),
            format!("write {name}{right}{value}"),
        ));
    }
    let target = parse_target(metric, name, value)?;
    Ok(Clause {
        text: text.to_owned(),
        metric,
        direction,
        side,
        target,
        tolerance: default_tolerance(metric),
        of_policy: false,
    })
}

/// Default tolerance of a metric.
pub fn default_tolerance(metric: Metric) -> f64 {
    match metric {
        Metric::Iops | Metric::Throughput => TOLERANCE,
        Metric::Mean | Metric::Quantile { .. } | Metric::Availability => 0.0,
    }
}

/// Splits a clause into name, side and value.
fn split_clause(text: &str) -> Result<(&str, Side, &str), WhyAndHelp> {
    const SIGNS: [(&str, Side); 6] = [
        (">=", Side::AtLeast),
        ("<=", Side::AtMost),
        ("≥", Side::AtLeast),
        ("≤", Side::AtMost),
        // Measurements are not exact enough to distinguish "more than" from "at least".
        (">", Side::AtLeast),
        ("<", Side::AtMost),
    ];
    let incomplete = "a clause needs a metric, >= or <=, and a value".to_owned();
    let help = "write METRIC>=VALUE or METRIC<=VALUE, for example iops>=4000 or p99<=3ms".to_owned();
    for (sign, side) in SIGNS {
        if let Some((name, value)) = text.split_once(sign) {
            let (name, value) = (name.trim(), value.trim());
            return match name.is_empty() || value.is_empty() {
                true => Err((incomplete, help)),
                false => Ok((name, side, value)),
            };
        }
    }
    match text.contains('=') {
        true => Err(("a measured figure is never exactly equal to a target".into(), help)),
        false => Err((incomplete, help)),
    }
}

/// Parses a metric name with an optional direction before a dot.
///
/// # Errors
/// The problem, and the known names.
pub fn parse_metric(name: &str) -> Result<(Metric, Option<Direction>), (String, String)> {
    let lower = name.to_ascii_lowercase();
    let (direction, rest) = match lower.split_once('.') {
        Some((first, rest)) if !first.starts_with('p') => (Some(parse_direction(first)?), rest),
        _ => (None, lower.as_str()),
    };
    let metric = match rest {
        "iops" => Metric::Iops,
        "mbps" | "mb/s" | "mibps" | "mib/s" | "throughput" | "bandwidth" | "bw" => Metric::Throughput,
        "mean" | "latency" | "avg" | "average" | "response" | "lat" => Metric::Mean,
        "median" => Metric::Quantile { share: 0.5 },
        "availability" if direction.is_none() => Metric::Availability,
        "max" | "min" => {
            return Err((
                format!("`{rest}` is a single operation, which does not predict the next run"),
                "promise a percentile, for example p99.9<=10ms".into(),
            ));
        }
        rest => match rest.strip_prefix('p').and_then(|digits| digits.parse::<f64>().ok()) {
            Some(percent) if percent > 0.0 && percent < 100.0 => Metric::Quantile { share: percent / 100.0 },
            Some(percent) => {
                return Err((
                    format!("there is no percentile {percent}"),
                    "a percentile is between 0 and 100, for example p99.9".into(),
                ));
            }
            None if rest.ends_with('=') => {
                return Err((
                    "a limit needs `>=` or `<=`".into(),
                    "for example iops>=4000 or p99<=3ms".into(),
                ));
            }
            None => {
                return Err((
                    format!("there is no metric `{rest}`"),
                    "use iops, mbps, mibps, mean, median, p50 to p99.999 or availability; prefix read. or write. for \
                     one direction"
                        .into(),
                ));
            }
        },
    };
    // 99.9 / 100 is not the nearest number to 0.999.
    let metric = match metric {
        Metric::Quantile { share } => Metric::Quantile {
            share: (share * 1e12).round() / 1e12,
        },
        other => other,
    };
    Ok((metric, direction))
}

fn parse_direction(word: &str) -> Result<Direction, WhyAndHelp> {
    match word {
        "read" | "reads" => Ok(Direction::Read),
        "write" | "writes" => Ok(Direction::Write),
        _ => Err((
            format!("there is no direction `{word}`"),
            "write read.iops, write.p99, or iops for all operations".into(),
        )),
    }
}

fn parse_target(metric: Metric, name: &str, text: &str) -> Result<f64, WhyAndHelp> {
    let value = match metric {
        Metric::Iops => parse_iops(text),
        Metric::Throughput => parse_throughput(name, text),
        Metric::Mean | Metric::Quantile { .. } => parse_time(text),
        Metric::Availability => parse_share(text),
    }?;
    let max = match metric {
        Metric::Iops => MAX_IOPS,
        Metric::Throughput => MAX_BYTES_PER_SEC,
        Metric::Mean | Metric::Quantile { .. } | Metric::Availability => f64::INFINITY,
    };
    match value {
        value if value.is_nan() || value <= 0.0 => Err((
            format!("{text} is not above 0"),
            "use a value that can be missed".into(),
        )),
        value if value > max => Err((
            format!("{text} exceeds the supported maximum"),
            format!(
                "the maxima are iops>={MAX_IOPS} and mbps>={}; underscores may separate digits: iops>=100_000",
                MAX_BYTES_PER_SEC / 1e6
            ),
        )),
        value => Ok(value),
    }
}

/// Parses a number. Underscores can separate digits; commas cannot, because they separate clauses.
fn parse_number(text: &str) -> Option<f64> {
    let compact = text.trim().replace('_', "");
    compact.parse::<f64>().ok().filter(|value| value.is_finite())
}

fn parse_iops(text: &str) -> Result<f64, WhyAndHelp> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches("iops").trim();
    let (digits, factor) = match digits.strip_suffix('k') {
        Some(digits) => (digits, 1000.0),
        None => (digits, 1.0),
    };
    parse_number(digits).map(|value| value * factor).ok_or_else(|| {
        (
            format!("`{text}` is not a number of operations per second"),
            "for example iops>=4000 or iops>=4k".into(),
        )
    })
}

/// Plain numbers are MB/s (10⁶), or MiB/s (2²⁰) for `mibps`.
fn parse_throughput(name: &str, text: &str) -> Result<f64, WhyAndHelp> {
    let bytes_per_unit = match name.to_ascii_lowercase().contains("mib") {
        true => 1_048_576.0,
        false => 1e6,
    };
    if let Some(value) = parse_number(text) {
        return Ok(value * bytes_per_unit);
    }
    let size = text.trim_end_matches("/s").trim_end_matches("ps").trim();
    size.parse::<Bytes>().map(|bytes| bytes.0 as f64).map_err(|_| {
        let help = "for example mbps>=200 (MB/s, 10⁶), mibps>=200 (MiB/s, 2²⁰) or throughput>=200MiB/s";
        (format!("`{text}` is not a throughput"), help.into())
    })
}

/// Parses a time, in nanoseconds. The unit is required: `3` could mean seconds or milliseconds.
///
/// # Errors
/// The problem, and the correct form.
pub fn parse_time(text: &str) -> Result<f64, (String, String)> {
    let help = "a time needs its unit: p99<=3ms, mean<=500us".to_owned();
    if parse_number(text).is_some() {
        return Err((format!("`{text}` has no unit"), help));
    }
    text.parse::<Nanos>()
        .map(|time| time.0 as f64)
        .map_err(|_| (format!("`{text}` is not a time"), help))
}

fn parse_share(text: &str) -> Result<f64, WhyAndHelp> {
    let help = "for example availability>=99.9%".to_owned();
    let percent = text.strip_suffix('%').and_then(parse_number).map(|value| value / 100.0);
    match percent.or_else(|| parse_number(text)) {
        Some(value) if value > 0.0 && value < 1.0 => Ok(value),
        Some(value) if percent.is_none() && (1.0..100.0).contains(&value) => {
            Err((format!("`{text}` lacks its percent sign"), format!("write {text}%")))
        }
        _ => Err((format!("`{text}` is not a share below 100 %"), help)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_one(text: &str) -> Clause {
        let mut clauses = parse(text).unwrap();
        assert_eq!(clauses.len(), 1);
        clauses.remove(0)
    }

    #[track_caller]
    fn check(text: &str, metric: Metric, direction: Option<Direction>, target: f64) {
        let clause = parse_one(text);
        assert_eq!((clause.metric, clause.direction), (metric, direction), "{text}");
        assert!(
            (clause.target - target).abs() < 1e-6 * target,
            "{text}: {}",
            clause.target
        );
    }

    #[test]
    fn clauses_have_their_units() {
        check("iops>=4000", Metric::Iops, None, 4000.0);
        check("IOPS ≥ 4k", Metric::Iops, None, 4000.0);
        check("read.iops>=2_800", Metric::Iops, Some(Direction::Read), 2800.0);
        check("p99<=3ms", Metric::Quantile { share: 0.99 }, None, 3e6);
        check(
            "write.p99.9 <= 3 ms",
            Metric::Quantile { share: 0.999 },
            Some(Direction::Write),
            3e6,
        );
        check("read.mean<=1ms", Metric::Mean, Some(Direction::Read), 1e6);
        check("latency<500us", Metric::Mean, None, 5e5);
        check("mbps>=200", Metric::Throughput, None, 2e8);
        check("mibps>=200", Metric::Throughput, None, 209_715_200.0);
        check("throughput>=200MiB/s", Metric::Throughput, None, 209_715_200.0);
        check("bw>=1GB/s", Metric::Throughput, None, 1e9);
        check("availability>=99.9%", Metric::Availability, None, 0.999);
        assert_eq!(parse("iops>=4000, p99<=3ms,mbps>=200").unwrap().len(), 3);
    }

    #[test]
    fn errors_suggest_what_to_write() {
        for (text, why, help) in [
            ("", "no clause", "iops>=4000"),
            ("iops", "needs a metric", "METRIC>=VALUE"),
            ("iops=4000", "never exactly equal", ">="),
            ("iops<=4000", "needs >=", "iops>=4000"),
            ("p99>=3ms", "needs <=", "p99<=3ms"),
            ("p99<=3", "has no unit", "3ms"),
            ("p99<=fast", "is not a time", "3ms"),
            ("p100<=3ms", "no percentile 100", "between 0 and 100"),
            ("max<=3ms", "a single operation", "p99.9"),
            ("speed>=3", "no metric `speed`", "iops"),
            ("trim.iops>=3", "no direction `trim`", "read.iops"),
            ("iops>=many", "not a number of operations", "iops>=4000"),
            ("mbps>=fast", "is not a throughput", "mbps>=200"),
            ("iops>=0", "not above 0", "missed"),
            ("iops=>100", "a limit needs `>=`", "iops>=4000"),
            ("availability>=100%", "below 100 %", "99.9%"),
            ("iops>=6,000", "must not contain a comma", "write iops>=6000"),
            (
                "p99<=3ms,iops>=1,000,000",
                "must not contain a comma",
                "write iops>=1000000",
            ),
            ("iops>=1e10", "exceeds the supported maximum", "iops>=1000000000"),
            ("iops>=1e300", "exceeds the supported maximum", "iops>=1000000000"),
            ("read.iops>=1e15", "exceeds the supported maximum", "iops>=1000000000"),
            ("mbps>=1e10", "exceeds the supported maximum", "mbps>=1000000000"),
        ] {
            let errors = parse(text).unwrap_err();
            assert!(errors[0].why.contains(why), "{text}: {errors:?}");
            assert!(errors[0].help.contains(help), "{text}: {errors:?}");
        }
        assert_eq!(
            parse("p99<=3,iops>=1,iops<=2").unwrap_err().len(),
            2,
            "every error is reported"
        );
        assert_eq!(parse("iops>=6,000").unwrap_err().len(), 1, "one error for one number");
    }

    #[test]
    fn a_clause_is_displayed_in_its_syntax() {
        for text in [
            "iops >= 4000", "read.p99.9 <= 3 ms", "mbps >= 200 MB/s", "write.mean <= 1.5 ms", "availability >= 99.9 %",
        ] {
            let shown = parse_one(&text.replace(" %", "%")).to_string();
            assert_eq!(shown, text);
        }
    }
}
