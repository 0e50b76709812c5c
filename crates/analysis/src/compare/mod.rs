//! Compares results: is the second better than the first, the same or worse, and how certain is
//! that? One or two runs show only the variation within a run; repeated runs also show the
//! variation between runs. Each comparison states which of these its interval covers.

mod change;
mod describe;
mod fingerprint;
mod interleaved;
mod trend;

pub use change::{Change, Figure, Judgement, MARGIN, changes, describe_change, describe_contrary, primary};
pub use fingerprint::{
    Difference, Fact, FactKind, INVALIDATING_FINDINGS, changes_load, concerns_job, facts_of_observation,
    facts_of_results, format_invalidating_findings, has_invalidating_findings, list_differences, names_place,
};
pub use interleaved::{InterleavedComparison, compare_interleaved};
pub use trend::{Level, LevelChange, MIN_LEVEL, MIN_RUNS, RunRecord, Trend, TrendPoint, trend};

use model::observation::Observation;
use model::stats::adjust_by_holm;
use serde::Serialize;

/// A result in a ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedResult {
    /// Index in the input list.
    pub index: usize,
    /// Figures, the deciding one first.
    pub figures: Vec<RankedFigure>,
    /// Difference from the best; absent for the best itself.
    pub to_best: Option<Change>,
}

/// A figure of a ranked result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankedFigure {
    /// The ranked figure.
    pub figure: Figure,
    /// Operations per second or nanoseconds.
    pub value: f64,
    /// Its 95 % interval from the variation within the run, if there is one.
    pub interval: Option<(f64, f64)>,
}

/// The figures of one result in a ranking, `primary` first.
fn ranked_figures(primary: Figure, observation: &Observation) -> Vec<RankedFigure> {
    let shown = [
        Figure::Iops,
        Figure::Mean,
        Figure::Quantile(0.5),
        Figure::Quantile(0.95),
        Figure::Quantile(0.99),
        Figure::Quantile(0.999),
    ];
    let others = shown.into_iter().filter(|figure| *figure != primary);
    let rank_by_figure = |figure: Figure| {
        Some(RankedFigure {
            figure,
            value: figure.value_in(observation)?,
            interval: figure.interval_in(observation),
        })
    };
    std::iter::once(primary)
        .chain(others)
        .filter_map(rank_by_figure)
        .collect()
}

/// Ranks results by their [`primary`] figure, best first, with Holm's adjustment. Results without
/// that figure are omitted.
pub fn rank(observations: &[&Observation], margin: f64) -> Vec<RankedResult> {
    let Some(figure) = primary(observations) else {
        return Vec::new();
    };
    let mut order: Vec<(usize, f64)> = observations
        .iter()
        .enumerate()
        .filter_map(|(index, observation)| Some((index, figure.value_in(observation)?)))
        .collect();
    let sign = if figure.higher_is_better() { -1.0 } else { 1.0 };
    order.sort_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1)));
    let Some(best) = order.first().map(|(index, _)| observations[*index]) else {
        return Vec::new();
    };
    let mut ranked: Vec<RankedResult> = order
        .iter()
        .enumerate()
        .map(|(place, (index, _))| RankedResult {
            index: *index,
            figures: ranked_figures(figure, observations[*index]),
            to_best: (place > 0).then(|| figure.change(best, observations[*index])).flatten(),
        })
        .collect();
    let p_value = |result: &RankedResult| result.to_best.as_ref().and_then(|change| change.p);
    let raised = adjust_by_holm(&ranked.iter().filter_map(p_value).collect::<Vec<_>>());
    let with_p = ranked
        .iter_mut()
        .filter_map(|result| result.to_best.as_mut())
        .filter(|change| change.p.is_some());
    for (change, p) in with_p.zip(raised) {
        change.p = Some(p);
    }
    for change in ranked.iter_mut().filter_map(|result| result.to_best.as_mut()) {
        change.judge(margin);
    }
    ranked
}

#[cfg(test)]
mod tests;
