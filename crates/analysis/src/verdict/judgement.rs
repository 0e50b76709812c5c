//! From figures to outcomes.

use model::observation::Observation;

use super::estimate::{self, Estimate, Unknown};
use super::load::block;
use super::{Case, Cause, ClauseVerdict, Context, Outcome, Reason, Verdict};
use crate::requirement::{Clause, Metric, Side};

/// The chance of a wrong PASS, and of a wrong FAIL, over all clauses together.
pub const ALPHA: f64 = 0.05;
/// A rate fails only further below its target than it may miss it by: between the two nobody would call it broken.
const LEFT_OPEN: f64 = 0.02;
/// Latencies at a rate that falls short of the promised one by more than this say nothing about the promise.
const RATE_SHORT: f64 = 0.03;

/// Judges every clause, and the whole.
pub fn judge(clauses: &[Clause], observation: &Observation, context: &Context<'_>) -> Verdict {
    let case = Case {
        clauses,
        observation,
        context,
    };
    let reasons = case.reasons();
    let estimates: Vec<Result<Estimate, Unknown>> = clauses.iter().map(|clause| case.estimate(clause)).collect();
    let probabilities = |if_kept: bool| {
        let of = clauses.iter().zip(&estimates);
        let of = of.map(|(clause, estimate)| {
            estimate
                .as_ref()
                .ok()
                .map(|estimate| probability(clause, estimate, if_kept))
        });
        holm(&of.collect::<Vec<_>>())
    };
    let (if_broken, if_kept) = (probabilities(false), probabilities(true));
    let judged = clauses
        .iter()
        .zip(&estimates)
        .enumerate()
        .map(|(number, (clause, estimate))| {
            if clause.metric == Metric::Availability {
                return case.availability(clause);
            }
            match estimate {
                Ok(estimate) => case.decide(clause, estimate, if_broken[number], if_kept[number], &reasons),
                Err(unknown) => case.unknown(clause, *unknown, &reasons),
            }
        });
    let judged: Vec<ClauseVerdict> = judged.collect();
    Verdict {
        outcome: together(&judged, &reasons),
        clauses: judged,
        reasons,
        notes: case.notes(),
    }
}

/// Failed operations or a broken clause fail the whole; it passes if every clause that can pass does.
fn together(clauses: &[ClauseVerdict], reasons: &[Reason]) -> Outcome {
    let any = |outcome: Outcome| clauses.iter().any(|clause| clause.outcome == outcome);
    if reasons.iter().any(|reason| reason.cause.is_none()) || any(Outcome::Fail) {
        Outcome::Fail
    } else if any(Outcome::Inconclusive) && judgeable(clauses) || !any(Outcome::Pass) {
        Outcome::Inconclusive
    } else {
        Outcome::Pass
    }
}

/// True if a clause other than one about a long time is inconclusive.
fn judgeable(clauses: &[ClauseVerdict]) -> bool {
    let open = |judged: &&ClauseVerdict| judged.outcome == Outcome::Inconclusive;
    clauses
        .iter()
        .filter(open)
        .any(|judged| judged.clause.metric != Metric::Availability)
}

/// Where a clause passes, and where it fails.
fn limits(clause: &Clause) -> (f64, f64) {
    let open = if clause.tolerance > 0.0 { LEFT_OPEN } else { 0.0 };
    match clause.side {
        Side::AtLeast => (
            clause.target * (1.0 - clause.tolerance),
            clause.target * (1.0 - clause.tolerance - open),
        ),
        Side::AtMost => (
            clause.target * (1.0 + clause.tolerance),
            clause.target * (1.0 + clause.tolerance + open),
        ),
    }
}

/// The probability of the figure if the clause were just kept, or just broken.
fn probability(clause: &Clause, estimate: &Estimate, if_kept: bool) -> f64 {
    let (passes, fails) = limits(clause);
    match (clause.side, if_kept) {
        (Side::AtLeast, false) => estimate.above(passes),
        (Side::AtLeast, true) => estimate.below(fails),
        (Side::AtMost, false) => estimate.below(passes),
        (Side::AtMost, true) => estimate.above(fails),
    }
}

/// Holm's method (1979): the chance of any false alarm among several tests stays what it is for one. Those without a figure
/// are no tests.
fn holm(probabilities: &[Option<f64>]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len())
        .filter(|index| probabilities[*index].is_some())
        .collect();
    let of = |index: usize| probabilities[index].unwrap_or(1.0);
    order.sort_by(|a, b| of(*a).total_cmp(&of(*b)));
    let (mut adjusted, mut least, tests) = (vec![1.0; probabilities.len()], 0.0_f64, order.len());
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max(of(index) * (tests - rank) as f64).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

impl Case<'_> {
    fn estimate(&self, clause: &Clause) -> Result<Estimate, Unknown> {
        let (observation, direction) = (self.observation, clause.direction);
        match clause.metric {
            Metric::Iops => estimate::rate(observation, direction, false),
            Metric::Throughput => estimate::rate(observation, direction, true),
            Metric::Mean => estimate::mean(observation, direction, self.context.intervals),
            Metric::Quantile { share } => {
                estimate::quantile(observation, direction, (share, clause.target), self.context.intervals)
            }
            // It is counted, not estimated.
            Metric::Availability => Err(Unknown::Absent),
        }
    }

    fn unknown(&self, clause: &Clause, unknown: Unknown, reasons: &[Reason]) -> ClauseVerdict {
        let (cause, reason) = match unknown {
            Unknown::Absent => (Cause::Absent, format!("{} does not tell it", source(self.observation))),
            Unknown::TooFew { needed, found } => spoilt(reasons).unwrap_or_else(|| {
                let why = format!(
                    "{found} operations are too few for {}: fewer than {} lie beyond it; {needed} are needed",
                    clause.metric.name(),
                    estimate::LEAST_BEYOND
                );
                (Cause::Samples, why)
            }),
        };
        ClauseVerdict {
            clause: clause.clone(),
            outcome: Outcome::Inconclusive,
            value: None,
            interval: (None, None),
            probability_if_broken: None,
            probability_if_kept: None,
            cause: Some(cause),
            reason,
        }
    }

    fn decide(
        &self,
        clause: &Clause,
        estimate: &Estimate,
        if_broken: f64,
        if_kept: f64,
        reasons: &[Reason],
    ) -> ClauseVerdict {
        let whole = reasons
            .iter()
            .find_map(|reason| reason.cause.map(|cause| (cause, reason.what.clone())));
        let by_figure = match (if_broken <= ALPHA, if_kept <= ALPHA) {
            (true, _) => Outcome::Pass,
            (false, true) => Outcome::Fail,
            (false, false) => Outcome::Inconclusive,
        };
        // A test that did not go as it should is not mended by a longer one.
        let spoilt = spoilt(reasons);
        let against = match by_figure {
            Outcome::Pass => whole.or_else(|| self.against_passing(clause)),
            Outcome::Fail => whole.or_else(|| self.against_failing(clause)),
            Outcome::Inconclusive | Outcome::Consistent => {
                Some(spoilt.unwrap_or_else(|| (Cause::Spread, open(clause, estimate))))
            }
        };
        let (outcome, cause, reason) = match against {
            Some((cause, why)) => (Outcome::Inconclusive, Some(cause), why),
            None => (by_figure, None, plainly(clause, estimate, by_figure)),
        };
        ClauseVerdict {
            clause: clause.clone(),
            outcome,
            value: Some(estimate.value),
            interval: estimate.interval(),
            probability_if_broken: Some(if_broken),
            probability_if_kept: Some(if_kept),
            cause,
            reason,
        }
    }

    /// Why a good figure does not show that the clause is kept.
    fn against_passing(&self, clause: &Clause) -> Option<(Cause, String)> {
        if let Some(finding) = self.answered_elsewhere() {
            return Some((Cause::Invalid, finding));
        }
        match clause.metric {
            Metric::Iops | Metric::Throughput => Some((Cause::Burst, self.on_credit(clause.metric, clause.target)?)),
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability => {
                let (promised, found) = (self.promised_iops()?, self.observation.total.iops?);
                (found < promised * (1.0 - RATE_SHORT)).then(|| {
                    let why =
                        format!("it was measured at {found:.0} operations per second, and {promised:.0} are promised");
                    (Cause::Load, why)
                })
            }
        }
    }

    /// Why a bad figure does not show that the clause is broken.
    fn against_failing(&self, clause: &Clause) -> Option<(Cause, String)> {
        if let Some(finding) = self.held_up_elsewhere() {
            return Some((Cause::Invalid, finding));
        }
        match clause.metric {
            Metric::Iops | Metric::Throughput => {
                // All directions share the queue, so the whole load is what the generator has to issue.
                let each = match clause.metric {
                    Metric::Throughput => block(self.observation)?,
                    _ => 1.0,
                };
                let target = match clause.direction {
                    None => clause.target / each,
                    Some(_) => self.promised_iops().unwrap_or(clause.target / each),
                };
                Some((Cause::Generator, self.not_free(target)?))
            }
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability if self.is_uncapped() => {
                let why = "the load was not held at the promised rate, and beyond it operations wait for one another: repeat \
                           it with a rate";
                Some((Cause::Uncapped, why.to_owned()))
            }
            // Operations that are due wait for a free place as well as for the storage.
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability => {
                let waits = self.observation.total.response.is_some();
                let promised = self.promised_iops().filter(|_| waits)?;
                let rate = self.observation.total.iops?;
                let kept = rate >= promised * (1.0 - RATE_SHORT);
                Some((Cause::Generator, self.not_free(promised).filter(|_| !kept)?))
            }
        }
    }
}

fn source(observation: &Observation) -> &str {
    match observation.tool.is_empty() {
        true => "the source",
        false => &observation.tool,
    }
}

/// What went wrong with the test itself, if anything did.
fn spoilt(reasons: &[Reason]) -> Option<(Cause, String)> {
    reasons.iter().find_map(|reason| match reason.cause? {
        cause @ (Cause::Invalid | Cause::Interrupted) => Some((cause, reason.what.clone())),
        Cause::Generator
        | Cause::Uncapped
        | Cause::Load
        | Cause::Mix
        | Cause::Spread
        | Cause::Samples
        | Cause::Absent
        | Cause::Burst => None,
    })
}

/// The figure with its interval, for people.
fn shown(clause: &Clause, estimate: &Estimate) -> String {
    let show = |value: f64| clause.metric.show(value);
    match estimate.interval() {
        (Some(low), Some(high)) => format!("{} ({} to {})", show(estimate.value), show(low), show(high)),
        (Some(low), None) => format!("{} (at least {})", show(estimate.value), show(low)),
        (None, Some(high)) => format!("{} (at most {})", show(estimate.value), show(high)),
        (None, None) => show(estimate.value),
    }
}

fn plainly(clause: &Clause, estimate: &Estimate, outcome: Outcome) -> String {
    let (figure, target) = (shown(clause, estimate), clause.metric.show(clause.target));
    let side = match (clause.side, outcome) {
        // Counted to the operation a rate misses its own target by those under way at the end.
        (Side::AtLeast, Outcome::Pass) if clause.metric.show(estimate.value) == target => "at",
        (Side::AtLeast, Outcome::Pass) if estimate.value < clause.target => "within the tolerance of",
        (Side::AtLeast, Outcome::Pass) => "above",
        (Side::AtLeast, _) => "below",
        (Side::AtMost, Outcome::Pass) => "at or below",
        (Side::AtMost, _) => "above",
    };
    format!("{figure} is {side} {target}")
}

/// Why the figure itself leaves it open, and what would help.
fn open(clause: &Clause, estimate: &Estimate) -> String {
    let figure = shown(clause, estimate);
    let (passes, fails) = limits(clause);
    let (low, high) = (passes.min(fails), passes.max(fails));
    if low < high && (low..=high).contains(&estimate.value) {
        let show = |value: f64| clause.metric.show(value);
        return format!(
            "{figure} lies between {} and {}, where it neither passes nor fails",
            show(low),
            show(high)
        );
    }
    format!(
        "{figure} is too near to {}: measure for longer",
        clause.metric.show(clause.target)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_raises_the_smallest_most() {
        let adjusted = holm(&[Some(0.01), None, Some(0.04), Some(0.03)]);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{adjusted:?}");
        near(adjusted[0], 0.03);
        near(adjusted[3], 0.06);
        near(adjusted[2], 0.06);
        near(adjusted[1], 1.0);
    }

    #[test]
    fn a_rate_passes_from_99_percent_and_fails_below_97() {
        let clause = crate::requirement::parse("iops>=1000").unwrap().remove(0);
        let (passes, fails) = limits(&clause);
        assert!((passes - 990.0).abs() < 1e-9 && (fails - 970.0).abs() < 1e-9);
        let clause = crate::requirement::parse("mean<=1ms").unwrap().remove(0);
        assert_eq!(limits(&clause), (1e6, 1e6));
    }
}
