//! Is a series steady?

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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SniaWindow {
    /// Mean of the rounds.
    pub average: f64,
    /// Largest minus smallest round, as a share of the mean: at most 0.20.
    pub range: f64,
    /// Rise or fall of the fitted line over the window, as a share of the mean: at most 0.10.
    pub excursion: f64,
}

impl SniaWindow {
    /// Both conditions hold.
    pub fn is_steady(&self) -> bool {
        self.range <= 0.20 && self.excursion <= 0.10
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
    let excursion = (fit_line(rounds).slope * (rounds.len() - 1) as f64).abs();
    Some(SniaWindow {
        average,
        range: (largest - smallest) / average,
        excursion: excursion / average,
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
}
