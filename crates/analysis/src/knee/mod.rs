//! How much load a device bears before more only waits: bounds, knee, limit, scalability.
//!
//! A sweep gives points: operations in flight, rate, latency. Several ways of reading such a curve
//! are in use, and they do not always agree; each is worked out, and one sentence says what is
//! known, and between which points.

mod advice;
mod bounds;
mod kneedle;
mod limit;
mod usl;

use serde::Serialize;

pub use advice::{Advice, AdviceKind};
pub use bounds::{Bounds, bounds};
pub use kneedle::kneedle;
pub use limit::{Limit, LimitResult, LimitedFigure, evaluate_limit};
pub use usl::{Scalability, usl};

/// One measured load of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Operations that were kept in flight, or what else was varied: workers, targets, offered
    /// operations per second.
    pub load: f64,
    /// Operations per second.
    pub iops: f64,
    /// Half-width of its 95 % confidence interval, where there is one.
    pub iops_half_width: Option<f64>,
    /// Mean latency in nanoseconds.
    pub mean_ns: f64,
    /// The figure that a limit is put on, in nanoseconds, where there is a limit.
    pub limited_ns: Option<f64>,
    /// The upper bound of its 95 % confidence interval; absent where too few operations support
    /// one.
    pub limited_ns_high: Option<f64>,
}

impl Point {
    /// A closed loop of which only depth and rate are known: the mean latency follows by Little's
    /// law.
    pub fn from_closed_loop(depth: f64, iops: f64) -> Point {
        Point {
            load: depth,
            iops,
            mean_ns: if iops > 0.0 { depth / iops * 1e9 } else { 0.0 },
            ..Point::default()
        }
    }
}

/// What was varied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Operations in flight, by queue depth or by workers: a closed loop.
    InFlight,
    /// Targets, each with the same load.
    Targets,
    /// Operations per second that are due, whatever the device does: an open loop.
    Rate,
}

/// Everything that was read from a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knee {
    /// The points in the order of their load.
    pub points: Vec<Point>,
    /// What no device of this kind can exceed; absent for offered rates.
    pub bounds: Option<Bounds>,
    /// The load at which the curve bends most (Kneedle); absent where it does not bend enough to
    /// say so.
    pub kneedle: Option<f64>,
    /// The load with the largest rate for its latency (Kleinrock's power).
    pub power: Option<f64>,
    /// How far a limit on a latency is kept; absent without one.
    pub kept: Option<LimitResult>,
    /// The universal scalability law, fitted; absent for offered rates and fewer than three points.
    pub usl: Option<Scalability>,
    /// The rate falls again under more load, by more than its confidence intervals leave open.
    pub retrograde: bool,
    /// What to do, and what is known.
    pub advice: Advice,
}

/// Reads a curve. Points without operations are left out.
pub fn analyse(points: &[Point], axis: Axis, limit: Option<&Limit>) -> Knee {
    let mut points: Vec<Point> = points.iter().copied().filter(|point| point.iops > 0.0).collect();
    points.sort_by(|a, b| a.load.total_cmp(&b.load));
    let is_closed_loop = axis != Axis::Rate;
    let curve: Vec<(f64, f64)> = points.iter().map(|point| (point.load.log2(), point.iops)).collect();
    let knee = Knee {
        bounds: is_closed_loop.then(|| bounds(&points)).flatten(),
        kneedle: is_closed_loop
            .then(|| kneedle(&curve))
            .flatten()
            .map(|index| points[index].load),
        power: is_closed_loop.then(|| max_power_load(&points)).flatten(),
        kept: limit.map(|limit| evaluate_limit(&points, limit)),
        usl: is_closed_loop.then(|| usl(&points)).flatten(),
        retrograde: is_closed_loop && is_retrograde(&points),
        advice: Advice::default(),
        points,
    };
    let advice = advice::advice(&knee, axis, limit);
    Knee { advice, ..knee }
}

/// The point with the largest rate per latency (Kleinrock 1979).
fn max_power_load(points: &[Point]) -> Option<f64> {
    let of = |point: &Point| point.iops / point.mean_ns;
    let best = points.iter().filter(|point| point.mean_ns > 0.0);
    best.max_by(|a, b| of(a).total_cmp(&of(b))).map(|point| point.load)
}

/// Less than this share below the largest rate is no fall, however narrow the intervals.
const MIN_FALL: f64 = 0.02;

/// True if the last point lies below the best one by more than 2 %, and their intervals do not even
/// touch: the best of many points is partly luck.
fn is_retrograde(points: &[Point]) -> bool {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return false;
    };
    let best = points
        .iter()
        .fold(first, |best, point| if point.iops > best.iops { point } else { best });
    let error = |point: &Point| point.iops_half_width.unwrap_or(0.0);
    let doubt = error(best) + error(last);
    best.load < last.load && best.iops - last.iops > doubt.max(MIN_FALL * best.iops)
}

/// Where to measure once more: half as much again as the knee and as the point below it, so that
/// the knee is enclosed on both sides. With a limit the same holds for the smallest load that
/// reaches the rate, which is recommended, and for the largest that keeps the limit. Whole numbers
/// in rising order, none of them measured already.
pub fn refinement(knee: &Knee) -> Vec<u64> {
    let edge_loads = match (&knee.kept, knee.kneedle.or(knee.power)) {
        (Some(kept), _) if kept.depth.is_some() => [kept.smallest_at, kept.kept_at],
        (_, at) => [at, None],
    };
    let loads: Vec<f64> = knee.points.iter().map(|point| point.load).collect();
    let between = |(low, high): (f64, f64)| {
        let middle = (low * 1.5).round();
        (high / low > 1.6 && middle > low && middle < high).then_some(middle as u64)
    };
    // Beyond the last point nothing was asked for; beside a point that is as near, there is nothing
    // to learn.
    let midpoints_around = |at: f64| {
        let pairs = loads.windows(2).map(|pair| (pair[0], pair[1]));
        pairs
            .filter(move |(low, high)| *low == at || *high == at)
            .filter_map(between)
    };
    let mut found: Vec<u64> = edge_loads.into_iter().flatten().flat_map(midpoints_around).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[cfg(test)]
mod tests;
