//! Finds the load beyond which more load only adds waiting: bounds, knee, limit, scalability. A
//! sweep gives points with operations in flight, rate and latency. The common methods to find a
//! knee can disagree, so all are computed. One sentence states the conclusion and the two points
//! that enclose the knee.

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
    /// The varied quantity: operations in flight, workers, targets, or offered operations per
    /// second.
    pub load: f64,
    /// Operations per second.
    pub iops: f64,
    /// Half-width of its 95 % confidence interval, if there is one.
    pub iops_half_width: Option<f64>,
    /// Mean latency in nanoseconds.
    pub mean_ns: f64,
    /// The limited figure in nanoseconds, if there is a limit.
    pub limited_ns: Option<f64>,
    /// The upper bound of its 95 % confidence interval; absent with too few operations.
    pub limited_ns_high: Option<f64>,
}

impl Point {
    /// A point of a closed loop; its mean latency follows from depth and rate by Little's law.
    pub fn from_closed_loop(depth: f64, iops: f64) -> Point {
        Point {
            load: depth,
            iops,
            mean_ns: if iops > 0.0 { depth / iops * 1e9 } else { 0.0 },
            ..Point::default()
        }
    }
}

/// The varied quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Operations in flight, by queue depth or by workers: a closed loop.
    InFlight,
    /// Targets, each with the same load.
    Targets,
    /// Offered operations per second: an open loop.
    Rate,
}

/// The analysis of a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knee {
    /// The points in the order of their load.
    pub points: Vec<Point>,
    /// Asymptotic bounds; absent for offered rates.
    pub bounds: Option<Bounds>,
    /// The load at the sharpest bend (Kneedle); absent if no bend is sharp enough.
    pub kneedle: Option<f64>,
    /// The load with the largest ratio of rate to latency (Kleinrock's power).
    pub power: Option<f64>,
    /// The largest load within a latency limit; absent without a limit.
    pub kept: Option<LimitResult>,
    /// The fitted universal scalability law; absent for offered rates and for fewer than three
    /// points.
    pub usl: Option<Scalability>,
    /// The rate falls again under more load, by more than the confidence intervals.
    pub retrograde: bool,
    /// Load to use, and why.
    pub advice: Advice,
}

impl Knee {
    /// The fitted law, unless the measured rates contradict it.
    ///
    /// A device that saturates has a corner, but the law has a curve, so the fit may fall although
    /// the rate does not.
    pub fn fitting_law(&self) -> Option<&Scalability> {
        let law = self.usl.as_ref()?;
        let last = self.points.last().map_or(0.0, |point| point.load);
        let max_iops = self.points.iter().map(|point| point.iops).fold(0.0, f64::max);
        let falls_too_early = law.peak_at.is_some_and(|peak| peak < last) && !self.retrograde;
        let is_too_low = law.peak_at.is_none() && law.roof_iops.is_some_and(|roof| roof < max_iops);
        (!falls_too_early && !is_too_low).then_some(law)
    }

    /// A point whose rate is below that of a lower load and of a higher one, each by 10 % and more
    /// than their intervals, with that higher load: the points vary, so the curve has no clear
    /// shape.
    pub fn find_dip(&self) -> Option<(&Point, &Point)> {
        find_dip(&self.points)
    }

    /// The point with the lowest limited figure; `None` without a limit.
    pub fn lowest_limited(&self) -> Option<&Point> {
        let limited = self.points.iter().filter(|point| point.limited_ns.is_some());
        limited.min_by(|a, b| a.limited_ns.unwrap_or(0.0).total_cmp(&b.limited_ns.unwrap_or(0.0)))
    }

    /// The lowest limit in nanoseconds that a point meets, rounded up to two digits.
    pub fn attainable_limit(&self) -> Option<f64> {
        let highs = self.points.iter().filter_map(|point| point.limited_ns_high);
        let lowest = highs.min_by(f64::total_cmp)?;
        let unit = 10f64.powf(lowest.max(1.0).log10().floor() - 1.0);
        Some((lowest / unit - 1e-9).ceil() * unit)
    }
}

/// Analyses a curve. Points without operations are omitted.
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
            .filter(|index| is_flat_from(&points, *index) && find_dip(&points[*index..]).is_none())
            .map(|index| points[index].load),
        power: is_closed_loop.then(|| max_power_load(&points)).flatten(),
        kept: limit.map(|limit| evaluate_limit(&points, limit)),
        usl: is_closed_loop.then(|| usl(&points)).flatten(),
        // A curve that fell and rose before may rise once more.
        retrograde: is_closed_loop && is_retrograde(&points) && find_dip(&points).is_none(),
        advice: Advice::default(),
        points,
    };
    let advice = advice::advice(&knee, axis, limit);
    Knee { advice, ..knee }
}

/// Maximum factor by which later points may exceed the rate at a knee. Scattered rates can bend
/// sharply although the curve continues to rise.
const MAX_RISE_AFTER_KNEE: f64 = 1.5;

/// True if no later point has a much higher rate than the point at `index`.
fn is_flat_from(points: &[Point], index: usize) -> bool {
    let limit = MAX_RISE_AFTER_KNEE * points[index].iops;
    points[index..].iter().all(|point| point.iops <= limit)
}

/// The load with the largest ratio of rate to latency (Kleinrock 1979).
fn max_power_load(points: &[Point]) -> Option<f64> {
    let rate_per_latency = |point: &Point| point.iops / point.mean_ns;
    let best = points.iter().filter(|point| point.mean_ns > 0.0);
    best.max_by(|a, b| rate_per_latency(a).total_cmp(&rate_per_latency(b)))
        .map(|point| point.load)
}

/// Minimum fall from the largest rate, however narrow the intervals are.
const MIN_FALL: f64 = 0.02;

/// Minimum depth of a dip: smaller ones are usual between runs.
const MIN_DIP: f64 = 0.1;

/// Finds the dip of [`Knee::find_dip`].
fn find_dip(points: &[Point]) -> Option<(&Point, &Point)> {
    let exceeds = |above: &Point, below: &Point| {
        let error = |point: &Point| point.iops_half_width.unwrap_or(0.0);
        above.iops - below.iops > (error(above) + error(below)).max(MIN_DIP * above.iops)
    };
    points.iter().enumerate().find_map(|(at, dip)| {
        let (before, after) = (&points[..at], &points[at + 1..]);
        let higher = after.iter().find(|point| exceeds(point, dip))?;
        before.iter().any(|point| exceeds(point, dip)).then_some((dip, higher))
    })
}

/// True if the last point is more than 2 % below the best. Their intervals must not touch, because
/// the best of many points is partly luck.
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

/// Suggests further loads to measure, in ascending order: 1.5 times the knee and 1.5 times the
/// point below it, which enclose the knee. With a limit, does the same around the smallest load
/// that reaches the rate and the largest load within the limit.
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
    // Loads beyond the last point were not requested, and loads close to a measured one show
    // nothing new.
    let midpoints_around = |at: f64| {
        let pairs = loads.windows(2).map(|pair| (pair[0], pair[1]));
        pairs
            .filter(move |(low, high)| *low == at || *high == at)
            .filter_map(between)
    };
    let mut midpoints: Vec<u64> = edge_loads.into_iter().flatten().flat_map(midpoints_around).collect();
    midpoints.sort_unstable();
    midpoints.dedup();
    midpoints
}

#[cfg(test)]
mod tests;
