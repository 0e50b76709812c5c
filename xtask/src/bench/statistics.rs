//! Statistics for comparisons.

/// The median; of an even number the mean of the middle two. `None` without values.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The median of the ratios of pairs, which cancels changes between pairs.
pub(crate) fn median_ratio(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios).filter(|ratio| ratio.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        // The machine was half as fast during the second pair; the quotient of medians would be
        // 100/60.
        assert_eq!(median_ratio(&[200.0, 100.0, 200.0], &[100.0, 50.0, 60.0]), Some(2.0));
        assert_eq!(median_ratio(&[1.0], &[0.0]), None);
        assert_eq!(median_ratio(&[], &[]), None);
    }
}
