//! Kneedle (Satopää, Albrecht, Irwin and Raghavan, *Finding a "Kneedle" in a Haystack*, ICDCS
//! workshops 2011).

/// The required fall of the difference after a knee; the authors use 1.
const SENSITIVITY: f64 = 1.0;

/// Finds the index of the knee of a rising, concave curve in order of x. With both axes scaled to 0
/// … 1, a knee is a local maximum of y − x after which that difference falls by one average step of
/// x before the next maximum. Returns the knee with the largest difference; `None` if there is none
/// or the curve does not rise.
pub fn kneedle(curve: &[(f64, f64)]) -> Option<usize> {
    let (first, last) = (curve.first()?, curve.last()?);
    let low = curve.iter().map(|(_, y)| *y).fold(f64::INFINITY, f64::min);
    let high = curve.iter().map(|(_, y)| *y).fold(f64::NEG_INFINITY, f64::max);
    let width = last.0 - first.0;
    if curve.len() < 3 || !(width > 0.0 && high > low) {
        return None;
    }
    let difference: Vec<f64> = curve
        .iter()
        .map(|(x, y)| (y - low) / (high - low) - (x - first.0) / width)
        .collect();
    let step = 1.0 / (curve.len() - 1) as f64;
    let is_maximum = |i: usize| difference[i] > difference[i - 1] && difference[i] >= difference[i + 1];
    let maxima: Vec<usize> = (1..curve.len() - 1).filter(|i| is_maximum(*i)).collect();
    let is_knee = |(number, at): (usize, &usize)| {
        // On a straight part the differences are equal, and rounding must not look like a fall.
        let threshold = difference[*at] - SENSITIVITY * step + 1e-12;
        let until = maxima.get(number + 1).copied().unwrap_or(curve.len());
        difference[at + 1..until].iter().any(|after| *after < threshold)
    };
    let knees = maxima.iter().enumerate().filter(|candidate| is_knee(*candidate));
    knees
        .map(|(_, at)| *at)
        .max_by(|a, b| difference[*a].total_cmp(&difference[*b]))
}
