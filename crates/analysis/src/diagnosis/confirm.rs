//! Whether more depth brings more: the experiment that tells a limit from a latency.

use model::diagnosis::Evidence;
use model::observation::Observation;

use super::bounds::rate;
use super::sign::held;

/// The rate has not changed if it changed by less than this share, and by what chance adds to counts of so many
/// operations: two standard errors of each.
const SAME: f64 = 0.03;
const ERRORS: f64 = 2.0;
/// The latency has grown with the depth if it lies within this share of that.
const IN_STEP: f64 = 0.15;
/// Of a growth of the depth, at least this share must arrive in the rate for a load that waits for latency alone.
const MOST: f64 = 0.5;

/// The same load at two depths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Depth of the second by that of the first.
    pub depth: f64,
    /// Operations per second likewise.
    pub rate: f64,
    /// Mean latency likewise.
    pub latency: f64,
    /// What follows.
    pub verdict: Verdict,
}

/// What a second depth tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rate stayed within 3 % (and what chance adds), and the latency grew as the depth: something lets through so much and no more.
    Limit,
    /// At least half of the growth of the depth arrived in the rate: nothing limits but the time of an operation.
    Latency,
    /// Neither.
    Between,
}

/// Compares a load with the same at another depth, by Little's law: operations in flight = rate × latency, so what a depth
/// adds must show in one of them. `None` where rate, latency or depth of either is not known, or the depth is the same.
pub fn compare(observation: &Observation, deeper: &Observation) -> Option<Comparison> {
    let latency = |of: &Observation| of.total.latency.as_ref()?.mean_ns;
    let depth = deeper.load.depth? as f64 / observation.load.depth? as f64;
    let rate = rate(deeper)? / rate(observation)?;
    let latency = latency(deeper)? / latency(observation)?;
    if !(depth > 1.0 && rate.is_finite() && latency.is_finite()) {
        return None;
    }
    let chance = (inverse(observation) + inverse(deeper)).sqrt();
    let verdict = if (rate - 1.0).abs() <= SAME + ERRORS * chance && (latency / depth - 1.0).abs() <= IN_STEP {
        Verdict::Limit
    } else if rate - 1.0 >= MOST * (depth - 1.0) {
        Verdict::Latency
    } else {
        Verdict::Between
    };
    Some(Comparison {
        depth,
        rate,
        latency,
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
            held(
                "rate at the second depth",
                100.0 * self.rate,
                "%",
                100.0,
                "the rate at the first",
            ),
            held(
                "latency at the second depth",
                100.0 * self.latency,
                "%",
                100.0 * self.depth,
                "the depth itself",
            ),
        ]
    }
}
