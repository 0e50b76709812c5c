//! Compares two variants that were measured alternately.

use model::observation::Observation;
use model::stats::{detectable_shift, paired_ratio, signed_ranks};
use serde::Serialize;

use super::change::{CONFIDENCE, Change, FIGURES, Figure, Judgement, judge_all, primary};

/// The result of alternating runs of two variants.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InterleavedComparison {
    /// Changes from A to B. A figure is better or worse only if the rank test agrees. The intervals
    /// cover variation between runs.
    pub changes: Vec<Change>,
    /// The deciding figure.
    pub primary: Figure,
    /// The judgement of its change.
    pub word: Judgement,
    /// Number of pairs.
    pub pairs: usize,
    /// Wilcoxon's probability for the deciding figure; absent if all pairs are equal.
    pub p_of_ranks: Option<f64>,
    /// The smallest relative change that this number of pairs detects in four of five attempts.
    /// Absent if the pairs are too few to detect any change.
    pub detectable: Option<f64>,
}

/// Compares pairs (A, B) that were measured next to each other. `None` for fewer than two pairs, or
/// without the deciding figure.
pub fn compare_interleaved(pairs: &[(&Observation, &Observation)], margin: f64) -> Option<InterleavedComparison> {
    let both: Vec<&Observation> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    let primary = primary(&both)?;
    let values = |figure: Figure| -> Option<Vec<(f64, f64)>> {
        let figure_pair = |(a, b): &(&Observation, &Observation)| Some((figure.value_in(a)?, figure.value_in(b)?));
        pairs.iter().map(figure_pair).collect()
    };
    let change = |figure: &Figure| {
        let values = values(*figure)?;
        let paired = paired_ratio(&values, CONFIDENCE)?;
        // Geometric means, because their ratio is the mean of the ratios.
        let mean = |side: fn(&(f64, f64)) -> f64| {
            (values.iter().map(|pair| side(pair).ln()).sum::<f64>() / values.len() as f64).exp()
        };
        Some(Change {
            figure: *figure,
            from: mean(|pair| pair.0),
            to: mean(|pair| pair.1),
            ratio: paired.ratio,
            low: Some(paired.low),
            high: Some(paired.high),
            p: Some(paired.p),
            word: Judgement::Undecided,
        })
    };
    let p_of_ranks = |figure: Figure| {
        let logs: Vec<f64> = values(figure)?.iter().map(|(a, b)| (b / a).ln()).collect();
        Some(signed_ranks(&logs)?.p)
    };
    let mut changes = judge_all(FIGURES.iter().filter_map(change).collect(), margin);
    for change in &mut changes {
        let disagree = || p_of_ranks(change.figure).is_some_and(|p| p > 1.0 - CONFIDENCE);
        if matches!(change.word, Judgement::Better | Judgement::Worse) && disagree() {
            change.word = Judgement::Undecided;
        }
    }
    let deviation = paired_ratio(&values(primary)?, CONFIDENCE)?.deviation;
    let shift = detectable_shift(pairs.len(), (1.0 - CONFIDENCE) / changes.len() as f64, 1.0 - CONFIDENCE);
    Some(InterleavedComparison {
        primary,
        word: changes.iter().find(|change| change.figure == primary)?.word,
        pairs: pairs.len(),
        p_of_ranks: p_of_ranks(primary),
        detectable: shift.map(|shift| (shift * deviation).exp_m1()),
        changes,
    })
}
