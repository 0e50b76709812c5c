//! Compares a load at two depths. A higher rate means latency-bound, an unchanged one a limit.

use model::diagnosis::Evidence;
use model::observation::Observation;

use super::bounds::total_iops;
use super::symptom::{Symptom, figure_vs};

/// The rate counts as unchanged within this share plus two standard errors of each operation count.
const RATE_TOLERANCE: f64 = 0.03;
const STANDARD_ERRORS: f64 = 2.0;
/// Minimum share of the added depth in flight for an unchanged rate to mean a limit.
const MIN_ADDED_IN_FLIGHT: f64 = 0.5;
/// Maximum excess of the operations in flight, as a share of the depth. Beyond it, the stated depth
/// is wrong and the comparison proves nothing.
const MAX_OVERFULL: f64 = 0.15;
/// Minimum share of the added depth that a latency-bound load converts to a higher rate.
const MIN_RATE_GAIN: f64 = 0.5;

/// The same load at two depths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Second depth divided by the first.
    pub depth: f64,
    /// Second rate divided by the first.
    pub rate: f64,
    /// Second mean latency divided by the first.
    pub latency: f64,
    /// True if at least half of the added depth was in flight, within the depth.
    pub queue_grew: bool,
    /// What the second depth shows.
    pub verdict: Verdict,
}

/// Conclusion from the second depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rate stayed within 3 % plus chance, and the added operations waited: a limit.
    Limit,
    /// The rate fell by more than that, and the added operations waited: beyond a limit, operations
    /// slow each other down.
    Decline,
    /// At least half of the added depth became a higher rate: only the latency of operations limits
    /// it.
    Latency,
    /// None of the above.
    Unclear,
}

/// Compares a load at two depths by Little's law: operations in flight = rate × latency, so added
/// depth must raise one of them. `None` if rate, latency or depth of either is unknown, or if the
/// depths are equal.
pub fn compare(observation: &Observation, deeper: &Observation) -> Option<Comparison> {
    let latency = |load: &Observation| load.total.latency.as_ref()?.mean_ns;
    let depths = (observation.load.depth? as f64, deeper.load.depth? as f64);
    let in_flight = (
        total_iops(observation)? * latency(observation)? / 1e9,
        total_iops(deeper)? * latency(deeper)? / 1e9,
    );
    let depth = depths.1 / depths.0;
    let rate = total_iops(deeper)? / total_iops(observation)?;
    let latency = latency(deeper)? / latency(observation)?;
    if !(depth > 1.0 && rate.is_finite() && latency.is_finite()) {
        return None;
    }
    let tolerance =
        RATE_TOLERANCE + STANDARD_ERRORS * (relative_variance(observation) + relative_variance(deeper)).sqrt();
    let queue_grew = in_flight.1 / in_flight.0 - 1.0 >= MIN_ADDED_IN_FLIGHT * (depth - 1.0)
        && in_flight.1 <= (1.0 + MAX_OVERFULL) * depths.1;
    let verdict = match rate - 1.0 {
        gain if queue_grew && gain < -tolerance => Verdict::Decline,
        gain if queue_grew && gain <= tolerance => Verdict::Limit,
        gain if gain >= MIN_RATE_GAIN * (depth - 1.0) => Verdict::Latency,
        _ => Verdict::Unclear,
    };
    Some(Comparison {
        depth,
        rate,
        latency,
        queue_grew,
        verdict,
    })
}

/// Relative variance of an operation count (Poisson): 1 / count.
fn relative_variance(load: &Observation) -> f64 {
    load.total
        .operations
        .map_or(0.0, |operations| 1.0 / operations.max(1) as f64)
}

impl Comparison {
    /// A symptom that the second depth confirms.
    pub(super) fn to_symptom(self) -> Symptom {
        Symptom {
            confirmed: Some(true),
            evidence: self.evidence().into(),
            ..Symptom::default()
        }
    }

    pub(super) fn evidence(&self) -> [Evidence; 2] {
        [
            figure_vs(
                "rate at the second depth",
                100.0 * self.rate,
                "%",
                100.0,
                "the rate at the first",
            ),
            figure_vs(
                "latency at the second depth",
                100.0 * self.latency,
                "%",
                100.0 * self.depth,
                "the depth itself",
            ),
        ]
    }
}
