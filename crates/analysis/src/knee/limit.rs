//! The largest load within a latency limit.

use std::fmt;
use std::str::FromStr;

use model::Nanos;
use serde::Serialize;

use super::Point;
use crate::requirement::{self, Metric, RequirementError};

/// The limited figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitedFigure {
    /// The mean latency.
    Mean,
    /// A quantile, as a share: 0.99 for p99.
    Quantile(f64),
}

/// A limit on a latency, such as `p99<=3ms`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// The limited figure.
    pub figure: LimitedFigure,
    /// Maximum that the figure may have.
    #[serde(rename = "most_ns")]
    pub max_ns: Nanos,
}

impl FromStr for Limit {
    type Err = RequirementError;

    /// Parses one requirement clause on the latency of all operations.
    fn from_str(text: &str) -> Result<Limit, RequirementError> {
        let refuse = |why: &str| RequirementError {
            clause: text.to_owned(),
            why: why.to_owned(),
            help: "for example p99<=3ms or mean<=500us".into(),
        };
        let clauses = requirement::parse(text).map_err(|mut errors| errors.remove(0))?;
        let [clause] = &clauses[..] else {
            return Err(refuse("only one latency limit is allowed"));
        };
        let figure = match clause.metric {
            Metric::Mean => LimitedFigure::Mean,
            Metric::Quantile { share } => LimitedFigure::Quantile(share),
            Metric::Iops | Metric::Throughput | Metric::Availability => {
                return Err(refuse("this is not a latency limit"));
            }
        };
        if clause.direction.is_some() {
            return Err(refuse("the limit must apply to the latency of all operations"));
        }
        Ok(Limit {
            figure,
            max_ns: Nanos(clause.target as u64),
        })
    }
}

impl fmt::Display for LimitedFigure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitedFigure::Mean => out.pad("mean"),
            // Prints 99.9, not 99.90000000000001.
            LimitedFigure::Quantile(fraction) => out.pad(&format!("p{}", (fraction * 1e8).round() / 1e6)),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} <= {}", self.figure, self.max_ns)
    }
}

/// The largest load within a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct LimitResult {
    /// The largest measured load up to which every point meets the limit. The upper bounds of the
    /// intervals decide.
    pub kept_at: Option<f64>,
    /// The next measured load, which may exceed the limit.
    pub missed_at: Option<f64>,
    /// The largest measured load that meets the limit although the load `missed_at` exceeds it.
    pub met_again_at: Option<f64>,
    /// True if the next point has too few operations to decide.
    pub unknown: bool,
    /// The load at which the upper bound equals the limit, interpolated on the logarithm of the
    /// load. The largest measured load if all loads meet the limit; absent if none does.
    pub depth: Option<f64>,
    /// The rate at that load, interpolated.
    pub iops: Option<f64>,
    /// The smallest measured load that meets the limit and reaches the highest rate within it, to 2
    /// %; absent if none does.
    pub smallest_at: Option<f64>,
}

/// Rates that differ by less than this share count as equal.
const RATE_TOLERANCE: f64 = 0.02;

/// The points from the first one with enough operations to decide. If that point meets the limit,
/// smaller loads are assumed to meet it too, because they complete fewer operations and wait no
/// longer.
pub(super) fn decided_points(points: &[Point]) -> &[Point] {
    let first = points.iter().position(|point| point.limited_ns_high.is_some());
    &points[first.unwrap_or(0)..]
}

/// Finds the load up to which all points meet a limit. The upper bounds of their 95 % intervals
/// decide; the points are in order of load.
pub fn evaluate_limit(points: &[Point], limit: &Limit) -> LimitResult {
    let max_ns = limit.max_ns.0 as f64;
    let points = decided_points(points);
    let meets_limit = |point: &Point| point.limited_ns_high.is_some_and(|high| high <= max_ns);
    let count = points.iter().take_while(|point| meets_limit(point)).count();
    let next = points.get(count);
    let unknown = next.is_some_and(|next| next.limited_ns_high.is_none());
    let missed_at = next.map(|next| next.load);
    let met_again = points.iter().skip(count).rfind(|point| !unknown && meets_limit(point));
    let met_again_at = met_again.map(|point| point.load);
    let Some(last) = count.checked_sub(1).map(|index| &points[index]) else {
        return LimitResult {
            missed_at,
            met_again_at,
            unknown,
            ..LimitResult::default()
        };
    };
    let fraction = match (next.and_then(|next| next.limited_ns_high), last.limited_ns_high) {
        (Some(above), Some(below)) if above > below => ((max_ns - below) / (above - below)).clamp(0.0, 1.0),
        _ => 0.0,
    };
    let between = |from: f64, to: f64| from + fraction * (to - from);
    let (load, iops) = next.map_or((last.load, last.iops), |next| {
        (
            between(last.load.ln(), next.load.ln()).exp(),
            between(last.iops, next.iops),
        )
    });
    let within_limit = &points[..count];
    let most_iops = within_limit.iter().map(|point| point.iops).fold(iops, f64::max);
    let reaches = |point: &&Point| point.iops >= (1.0 - RATE_TOLERANCE) * most_iops;
    LimitResult {
        kept_at: Some(last.load),
        missed_at,
        met_again_at,
        unknown,
        depth: Some(load),
        iops: Some(iops),
        smallest_at: within_limit.iter().find(reaches).map(|point| point.load),
    }
}
