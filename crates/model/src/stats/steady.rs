//! Steady state of a series.

use serde::Serialize;

use super::intervals::mean;

/// A straight line through equally spaced values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Change per value.
    pub slope: f64,
    /// Value at index 0.
    pub start: f64,
}

/// The least-squares line; flat for fewer than two values.
pub fn fit_line(values: &[f64]) -> Line {
    let n = values.len() as f64;
    let mean_y = mean(values);
    if values.len() < 2 {
        return Line {
            slope: 0.0,
            start: mean_y,
        };
    }
    let mean_x = (n - 1.0) / 2.0;
    let (mut shared, mut squares) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let dx = index as f64 - mean_x;
        shared += dx * (value - mean_y);
        squares += dx * dx;
    }
    let slope = shared / squares;
    Line {
        slope,
        start: mean_y - slope * mean_x,
    }
}

/// The measurement window of SNIA's Solid State Storage Performance Test Specification 2.0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SniaWindow {
    /// Mean of the rounds.
    pub average: f64,
    /// Change of the fitted line per round.
    pub slope: f64,
    /// Largest minus smallest round, as a share of the mean: at most 0.20.
    pub range: f64,
    /// Rise or fall of the fitted line over the window, as a share of the mean: at most 0.10.
    pub excursion: f64,
    /// Largest distance of a round from the mean, as a share of it.
    pub deviation: f64,
}

impl SniaWindow {
    /// Largest range of a steady window, as a share of its mean.
    pub const RANGE: f64 = 0.20;
    /// Largest excursion of the line fitted to a steady window, as a share of its mean.
    pub const EXCURSION: f64 = 0.10;
    /// Largest distance of a round from the mean in the stricter reading of the first condition.
    pub const DEVIATION: f64 = 0.10;

    /// True if the range condition holds.
    pub fn keeps_range(&self) -> bool {
        self.range <= Self::RANGE
    }

    /// True if the excursion condition holds.
    pub fn keeps_excursion(&self) -> bool {
        self.excursion <= Self::EXCURSION
    }

    /// True if both conditions hold.
    pub fn is_steady(&self) -> bool {
        self.keeps_range() && self.keeps_excursion()
    }

    /// True if both hold in the stricter reading of some scripts: every round is within a tenth of
    /// the mean.
    pub fn is_strictly_steady(&self) -> bool {
        self.deviation <= Self::DEVIATION && self.keeps_excursion()
    }
}

/// The window over the given rounds (five by the specification). `None` if empty or of mean 0.
pub fn snia_window(rounds: &[f64]) -> Option<SniaWindow> {
    let average = mean(rounds);
    if average <= 0.0 {
        return None;
    }
    let largest = rounds.iter().copied().fold(f64::MIN, f64::max);
    let smallest = rounds.iter().copied().fold(f64::MAX, f64::min);
    let slope = fit_line(rounds).slope;
    let excursion = (slope * (rounds.len() - 1) as f64).abs();
    Some(SniaWindow {
        average,
        slope,
        range: (largest - smallest) / average,
        excursion: excursion / average,
        deviation: (largest - average).max(average - smallest) / average,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_exactly() {
        let line = fit_line(&[3.0, 5.0, 7.0, 9.0]);
        assert_eq!((line.slope, line.start), (2.0, 3.0));
        assert_eq!(fit_line(&[4.0]).slope, 0.0);
    }

    #[test]
    fn snia_conditions_hold_at_their_limits() {
        assert!(snia_window(&[90.0, 100.0, 110.0, 100.0, 100.0]).unwrap().is_steady());
        assert!(
            !snia_window(&[89.0, 100.0, 111.0, 100.0, 100.0]).unwrap().is_steady(),
            "range above 20 %"
        );
        assert!(
            !snia_window(&[94.0, 97.0, 100.0, 103.0, 106.0]).unwrap().is_steady(),
            "line rises by 12 %"
        );
        assert!(snia_window(&[0.0; 5]).is_none());
    }

    #[test]
    fn one_round_far_from_the_mean_is_reported_by_the_stricter_reading_alone() {
        let window = snia_window(&[100.0, 96.0, 114.0, 96.0, 94.0]).unwrap();
        assert_eq!(window.average, 100.0);
        assert!((window.range - 0.20).abs() < 1e-12 && (window.deviation - 0.14).abs() < 1e-12);
        // Σ (x − 2)(y − 100) / 10 = (−2·0 − 1·−4 + 0·14 + 1·−4 + 2·−6) / 10.
        assert!((window.slope + 1.2).abs() < 1e-12 && (window.excursion - 0.048).abs() < 1e-12);
        assert!(window.is_steady() && !window.is_strictly_steady());
    }
}
