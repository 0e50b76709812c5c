//! The universal scalability law (Gunther 1993; *Guerrilla Capacity Planning*, 2007): X(N) = λN /
//! (1 + α(N−1) + βN(N−1)).

use model::stats::{Equation, least_squares, non_negative_least_squares, student_quantile};
use serde::Serialize;

use super::Point;

/// The law, fitted with α and β not negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Scalability {
    /// λ: operations per second with one operation in flight.
    pub lambda: f64,
    /// α: serial share of the work. If β = 0, the rate approaches λ / α.
    pub alpha: f64,
    /// β: cost of coherence between any two operations in flight. If it is above 0, the rate falls
    /// beyond its peak.
    pub beta: f64,
    /// True if an unconstrained fit has β above 0 by more than chance (one-sided, 95 %).
    pub beta_is_significant: bool,
    /// N_peak = ⌊√((1−α)/β)⌋; absent if β is 0.
    pub peak_at: Option<f64>,
    /// λ / α: the limit of the rate; absent unless β = 0 and α > 0.
    pub roof_iops: Option<f64>,
}

/// Fits the law to points of different loads. The form N/X = 1/λ + (α/λ)(N−1) + (β/λ)N(N−1) is
/// linear, so the optimum is exact. The relative errors of the rates weight the points. `None` for
/// fewer than three points.
pub fn usl(points: &[Point]) -> Option<Scalability> {
    if points.len() < 3 {
        return None;
    }
    let equation = |point: &Point| {
        let (n, value) = (point.load, point.load / point.iops);
        Equation {
            factors: [1.0, n - 1.0, n * (n - 1.0)],
            value,
            weight: 1.0 / (value * value),
        }
    };
    let equations: Vec<Equation<3>> = points.iter().map(equation).collect();
    let [per_rate, serial, agreement] = non_negative_least_squares(&equations)?.coefficients;
    if per_rate <= 0.0 {
        return None;
    }
    let (lambda, alpha, beta) = (1.0 / per_rate, serial / per_rate, agreement / per_rate);
    let significant = || {
        let free = least_squares(&equations)?;
        let error = free.errors?[2];
        let quantile = student_quantile(0.95, equations.len() as u32 - 3);
        Some(free.coefficients[2] > quantile * error && free.coefficients[2] > 0.0)
    };
    Some(Scalability {
        lambda,
        alpha,
        beta,
        beta_is_significant: beta > 0.0 && significant().unwrap_or(false),
        peak_at: (beta > 0.0).then(|| ((1.0 - alpha).max(0.0) / beta).sqrt().floor().max(1.0)),
        roof_iops: (beta == 0.0 && alpha > 0.0).then(|| lambda / alpha),
    })
}
