//! Asymptotic bounds of a closed system (Denning and Buzen 1978; Lazowska and others, *Quantitative
//! System Performance*, 1984, chapter 5).

use serde::Serialize;

use super::Point;

/// Bounds for any load: with N operations in flight the rate is at most min(N / R₀, X_max), and the
/// latency at least max(R₀, N / X_max).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// R₀: latency in nanoseconds at the smallest measured load.
    pub alone_ns: f64,
    /// That load. If it is above 1, R₀ is an upper bound of the latency of a single operation.
    pub alone_at: f64,
    /// X_max: the largest measured rate. The device may be able to do more.
    pub most_iops: f64,
    /// The load at which it was measured.
    pub most_at: f64,
    /// N* = R₀ · X_max, where the two bounds meet. With fewer operations the device is sometimes
    /// idle; with more, some wait.
    pub meet_at: f64,
}

impl Bounds {
    /// Latency as a multiple of R₀.
    pub fn times_alone(&self, point: &Point) -> f64 {
        point.mean_ns / self.alone_ns
    }
}

/// The bounds from points in order of load. `None` for fewer than two.
pub fn bounds(points: &[Point]) -> Option<Bounds> {
    let (first, rest) = points.split_first()?;
    if rest.is_empty() || first.mean_ns <= 0.0 {
        return None;
    }
    // Take the first of equal maxima, because more load did not help.
    let peak = points
        .iter()
        .fold(first, |peak, point| if point.iops > peak.iops { point } else { peak });
    // A load is the operations in flight, or proportional to them, like targets.
    let in_flight_each = first.iops * first.mean_ns / 1e9 / first.load;
    let unit = if (0.9..1.1).contains(&in_flight_each) {
        1.0
    } else {
        in_flight_each
    };
    Some(Bounds {
        alone_ns: first.mean_ns,
        alone_at: first.load,
        most_iops: peak.iops,
        most_at: peak.load,
        meet_at: first.mean_ns * peak.iops / 1e9 / unit,
    })
}
