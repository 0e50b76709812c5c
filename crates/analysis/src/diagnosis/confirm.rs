//! Whether more depth brings more: the experiment that distinguishes a limit from latency.

use model::diagnosis::Evidence;
use model::observation::Observation;

use super::bounds::rate;
use super::symptom::compared;

/// The rate has not changed if it changed by less than this share, and by what chance adds to
/// counts of that many operations: two standard errors of each.
const SAME: f64 = 0.03;
const ERRORS: f64 = 2.0;
/// At least this share of the added depth must be in flight before an unchanged rate means a limit.
const MIN_ADDED_IN_FLIGHT: f64 = 0.5;
/// More operations in flight than the depth allows, by this share, contradict the depth: nothing
/// follows from them.
const MAX_OVERFULL: f64 = 0.15;
/// Of a growth of the depth, at least this share must arrive in the rate for a load that waits for
/// latency alone.
const MIN_RATE_GAIN: f64 = 0.5;

/// The same load at two depths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Depth of the second by that of the first.
    pub depth: f64,
    /// Operations per second likewise.
    pub rate: f64,
    /// Mean latency likewise.
    pub latency: f64,
    /// At least half of the added depth was in flight, and no more than the depth allows.
    pub queue_grew: bool,
    /// What follows.
    pub verdict: Verdict,
}

/// What a second depth tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rate stayed within 3 % (and what chance adds), and the added operations waited:
    /// something limits the rate.
    Limit,
    /// The rate fell by more than that, and the added operations waited: beyond a limit, operations
    /// slow each other down.
    Decline,
    /// At least half of the growth of the depth arrived in the rate: nothing limits but the time of
    /// an operation.
    Latency,
    /// Neither.
    Between,
}

/// Compares a load with the same at another depth, by Little's law: operations in flight = rate ×
/// latency, so what a depth adds must show in one of them. `None` where rate, latency or depth of
/// either is not known, or the depth is the same.
pub fn compare(observation: &Observation, deeper: &Observation) -> Option<Comparison> {
    let latency = |of: &Observation| of.total.latency.as_ref()?.mean_ns;
    let depths = (observation.load.depth? as f64, deeper.load.depth? as f64);
    let in_flight = (
        rate(observation)? * latency(observation)? / 1e9,
        rate(deeper)? * latency(deeper)? / 1e9,
    );
    let depth = depths.1 / depths.0;
    let rate = rate(deeper)? / rate(observation)?;
    let latency = latency(deeper)? / latency(observation)?;
    if !(depth > 1.0 && rate.is_finite() && latency.is_finite()) {
        return None;
    }
    let tolerance = SAME + ERRORS * (inverse(observation) + inverse(deeper)).sqrt();
    let queue_grew = in_flight.1 / in_flight.0 - 1.0 >= MIN_ADDED_IN_FLIGHT * (depth - 1.0)
        && in_flight.1 <= (1.0 + MAX_OVERFULL) * depths.1;
    let verdict = match rate - 1.0 {
        gain if queue_grew && gain < -tolerance => Verdict::Decline,
        gain if queue_grew && gain <= tolerance => Verdict::Limit,
        gain if gain >= MIN_RATE_GAIN * (depth - 1.0) => Verdict::Latency,
        _ => Verdict::Between,
    };
    Some(Comparison {
        depth,
        rate,
        latency,
        queue_grew,
        verdict,
    })
}

/// One by the operations counted: the variance of their share.
fn inverse(of: &Observation) -> f64 {
    of.total
        .operations
        .map_or(0.0, |operations| 1.0 / operations.max(1) as f64)
}

impl Comparison {
    pub(super) fn evidence(&self) -> [Evidence; 2] {
        [
            compared(
                "rate at the second depth",
                100.0 * self.rate,
                "%",
                100.0,
                "the rate at the first",
            ),
            compared(
                "latency at the second depth",
                100.0 * self.latency,
                "%",
                100.0 * self.depth,
                "the depth itself",
            ),
        ]
    }
}
