//! From figures to outcomes.

use model::observation::Observation;

use super::census::Slump;
use super::doubt::Doubt;
use super::estimate::{self, Estimate, Unknown};
use super::{Case, Cause, ClauseVerdict, Context, Outcome, Reason, Verdict};
use crate::requirement::{Clause, Metric, Side};
use crate::shifts::Shift;

/// The chance of a wrong PASS over all clauses together.
pub const ALPHA: f64 = 0.01;
/// The chance of a wrong FAIL over all clauses together: a complaint has to stand.
pub const ALPHA_FAIL: f64 = 0.001;

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
                return case.availability(clause, &reasons);
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

/// Failed operations or a broken clause fail the whole; it passes if every clause that can pass
/// does.
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

/// The figure on which a clause turns: its target less the tolerance.
fn limit(clause: &Clause) -> f64 {
    match clause.side {
        Side::AtLeast => clause.target * (1.0 - clause.tolerance),
        Side::AtMost => clause.target * (1.0 + clause.tolerance),
    }
}

/// True if a figure does not keep a clause.
pub(super) fn breaks(clause: &Clause, value: f64) -> bool {
    match clause.side {
        Side::AtLeast => value < limit(clause),
        Side::AtMost => value > limit(clause),
    }
}

/// The probability of the figure if the clause were just kept, or just broken.
fn probability(clause: &Clause, estimate: &Estimate, if_kept: bool) -> f64 {
    let limit = limit(clause);
    match (clause.side, if_kept) {
        (Side::AtLeast, false) | (Side::AtMost, true) => estimate.above(limit),
        (Side::AtLeast, true) | (Side::AtMost, false) => estimate.below(limit),
    }
}

/// Holm's method (1979): the chance of any false alarm among several tests stays what it is for
/// one. Those without a figure are no tests.
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
        if let Some(unknown) = estimate::not_issued(observation, direction) {
            return Err(unknown);
        }
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
        let measured = match (unknown, clause.metric) {
            (Unknown::TooFew { .. }, Metric::Quantile { share }) => {
                estimate::unsupported_quantile(self.observation, clause.direction, share)
            }
            _ => None,
        };
        let (cause, reason) =
            match unknown {
                Unknown::Absent => (
                    Cause::Absent,
                    format!("{} does not report this figure", source(self.observation)),
                ),
                Unknown::NotIssued(direction) => (Cause::Mix, format!("not one {} was issued", direction.word())),
                Unknown::TooFew { needed, found } => spoilt(reasons)
                    .map(|doubt| (doubt.cause, doubt.why))
                    .unwrap_or_else(|| {
                        let why = format!(
                            "{found} operations are too few for {}: fewer than {} lie beyond it; {needed} are needed",
                            clause.metric.name(),
                            estimate::MIN_BEYOND
                        );
                        (Cause::Samples, why)
                    }),
            };
        let action = match (cause, unknown, self.observation.measured_ns) {
            (Cause::Samples, Unknown::TooFew { needed, found }, Some(measured)) if found > 0 => {
                let seconds = (measured.as_secs() * needed as f64 / found as f64).ceil();
                format!("measure for at least {seconds:.0} s, with --time {seconds:.0}s, or at a higher rate")
            }
            _ => self.action(clause, cause),
        };
        ClauseVerdict {
            clause: clause.clone(),
            outcome: Outcome::Inconclusive,
            value: None,
            interval: (None, None),
            probability_if_broken: None,
            probability_if_kept: None,
            cause: Some(cause),
            action: Some(action),
            reason: with_value(clause, measured, reason),
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
            .find_map(|reason| Some(Doubt::new(reason.cause?, reason.what.clone())));
        let outcome = match (if_broken <= ALPHA, if_kept <= ALPHA_FAIL) {
            (true, _) if self.slump(clause).is_none() => Outcome::Pass,
            (_, true) => Outcome::Fail,
            _ if self.fails_by_census(clause, estimate) => Outcome::Fail,
            _ if self.passes_by_census(clause, estimate) => Outcome::Pass,
            _ => Outcome::Inconclusive,
        };
        let against = match outcome {
            Outcome::Pass => whole.or_else(|| self.against_passing(clause)),
            Outcome::Fail => whole.or_else(|| self.against_failing(clause)),
            // A longer test does not mend one that went wrong.
            Outcome::Inconclusive | Outcome::Consistent => spoilt(reasons)
                .or_else(|| self.against_deciding(clause, estimate.value))
                .or_else(|| Some(Doubt::new(Cause::Spread, self.open(clause, estimate)))),
        };
        let (outcome, cause, reason, action) = match against {
            Some(doubt) => {
                let action = doubt.action.unwrap_or_else(|| self.action(clause, doubt.cause));
                let why = with_value(clause, Some(estimate.value), doubt.why);
                (Outcome::Inconclusive, Some(doubt.cause), why, Some(action))
            }
            None => (outcome, None, self.explain(clause, estimate, outcome), None),
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
            action,
        }
    }

    /// A figure held against its clause, with what else was observed.
    fn explain(&self, clause: &Clause, estimate: &Estimate, outcome: Outcome) -> String {
        let slump = self
            .slump(clause)
            .filter(|_| is_rate(clause) && outcome == Outcome::Fail);
        let mut text = match slump {
            Some(slump) => self.describe_slump(clause, estimate, &slump),
            None => plainly(clause, estimate, outcome),
        };
        if estimate::lacks_split(self.observation, clause.direction) && clause.metric == Metric::Mean {
            text += "; the source does not tell directions apart, so this is the mean of all operations";
        }
        // A slump says when and how much. What changed for the better is no matter of a promise
        // that is kept.
        let shift = self.shift(clause).filter(|_| slump.is_none());
        let shift = shift.filter(|shift| outcome == Outcome::Fail || is_adverse(shift));
        text += &shift.map(|shift| describe_shift(&shift)).unwrap_or_default();
        if outcome == Outcome::Fail
            && let Some(climb) = self.context.climb.filter(|climb| is_rate(clause) && climb.saturated)
            && let Some((slots, _)) = climb.probes.last()
        {
            text += &format!("; saturated: up to {slots} operations in flight brought no more");
        }
        if outcome == Outcome::Pass
            && let Some(credits) = self.on_credit(clause.metric, clause.target)
        {
            text += &format!("; credits were not exhausted: {credits}");
        }
        text
    }

    /// A rate with the seconds in which it was not there.
    fn describe_slump(&self, clause: &Clause, estimate: &Estimate, slump: &Slump) -> String {
        let measured = self.observation.measured_ns.map_or(0.0, |length| length.as_secs());
        let lasts = slump.count == 1 && slump.at + slump.seconds as f64 > measured - 1.0;
        if !lasts || !breaks(clause, estimate.value) {
            return describe_stretches(clause, estimate, slump);
        }
        let before = self.observation.seconds.iter().map(|second| &second.facts);
        let before = before.filter(|facts| facts.start_ns.as_secs() < slump.at);
        let (operations, time) = before.fold((0, 0.0), |sum, facts| {
            (sum.0 + facts.operations, sum.1 + facts.length_ns.as_secs())
        });
        let figure = plainly(clause, estimate, Outcome::Fail);
        match time >= 1.0 {
            true => {
                let show = |iops: f64| Metric::Iops.show(iops.round());
                let (before, after) = (show(operations as f64 / time), show(slump.iops));
                format!("{figure}; {before} IOPS for {:.0} s, then {after}", slump.at)
            }
            // It was so from the start.
            false => figure,
        }
    }

    /// Why the figure itself does not decide it.
    fn open(&self, clause: &Clause, estimate: &Estimate) -> String {
        let (figure, target) = (shown(clause, estimate), clause.metric.show(limit(clause)));
        let side = match estimate.interval() {
            (Some(low), _) if low > limit(clause) => "above",
            (_, Some(high)) if high < limit(clause) => "below",
            _ if clause.metric.show(estimate.value) == target => return format!("{figure} is on the limit itself"),
            _ => return format!("{figure} is too close to {target} to tell"),
        };
        let changed = self.shift(clause).map_or_else(
            || "; its seconds differ too much".to_owned(),
            |shift| describe_shift(&shift),
        );
        let measured = self.observation.measured_ns.map_or(0.0, |length| length.as_secs());
        format!("{figure} is {side} {target} here{changed}; {measured:.0} s cannot tell whether that lasts")
    }

    /// What to do about a clause that the test did not decide.
    pub(super) fn action(&self, clause: &Clause, cause: Cause) -> String {
        if matches!(cause, Cause::Stall | Cause::Burst | Cause::Spread) && !self.has_full_time() {
            return format!("repeat for the full time of {:.0} s", self.full_time_secs());
        }
        match cause {
            Cause::Generator => "raise --workers, or use a machine with more processors",
            Cause::Others => "stop the others, or repeat when they are idle",
            Cause::Stall | Cause::Spread => "measure for longer with --time",
            Cause::Burst => "measure for longer than the credits last, with --time",
            Cause::Uncapped => match self.promised_iops() {
                Some(rate) => return format!("repeat with the promised rate: --rate {rate:.0}"),
                None => "repeat with the promised rate, with --rate",
            },
            Cause::Mix if clause.direction.is_some() => "repeat with reads and writes: --read PERCENT",
            Cause::Load | Cause::Mix => "repeat with the load that the promise is about",
            Cause::Samples => "measure for longer with --time, or at a higher rate",
            Cause::Absent => match clause.metric {
                Metric::Availability => "use results that have a series of seconds",
                _ => "use results that have this figure",
            },
            Cause::Invalid => "remove what the finding names, then repeat",
            Cause::Interrupted => "let the test run to its end",
        }
        .to_owned()
    }
}

pub(super) fn is_rate(clause: &Clause) -> bool {
    matches!(clause.metric, Metric::Iops | Metric::Throughput)
}

/// The change within the window, after a figure.
fn describe_shift(shift: &Shift) -> String {
    let (rate, latency) = (|value| Metric::Iops.show(value), |value| Metric::Mean.show(value));
    match *shift {
        Shift::Rate {
            from,
            to,
            at,
            levels: 2,
        } => format!("; {} IOPS for {at:.0} s, then {}", rate(from), rate(to)),
        Shift::Rate { from, to, at, .. } => {
            let verb = if to < from { "fell" } else { "rose" };
            format!(
                "; the rate {verb} from {} to {} IOPS at {at:.0} s",
                rate(from),
                rate(to)
            )
        }
        Shift::RateDrift { from, to } => format!("; from {} IOPS at the start to {} at the end", rate(from), rate(to)),
        Shift::Latency { from, to, at } => {
            format!("; the mean was {} for {at:.0} s, then {}", latency(from), latency(to))
        }
        Shift::Drift { from, to } => format!(
            "; the mean went from {} at the start to {} at the end",
            latency(from),
            latency(to)
        ),
        Shift::Stalls { count: 1, at, longest } => format!("; one stall of {longest:.1} s at {at:.0} s"),
        Shift::Stalls { count, longest, .. } => format!("; {count} stalls of up to {longest:.1} s"),
    }
}

/// True if the storage became worse.
fn is_adverse(shift: &Shift) -> bool {
    match *shift {
        Shift::Rate { from, to, .. } | Shift::RateDrift { from, to } => to < from,
        Shift::Latency { from, to, .. } | Shift::Drift { from, to } => to > from,
        Shift::Stalls { .. } => true,
    }
}

/// The seconds in which a rate was not there.
fn describe_stretches(clause: &Clause, estimate: &Estimate, slump: &Slump) -> String {
    let (mean, target) = (clause.metric.show(estimate.value), clause.metric.show(clause.target));
    let served = match slump.iops.round() {
        0.0 => "nothing was served".to_owned(),
        iops => format!("only {iops:.0} IOPS were served"),
    };
    let stretches = match slump.count {
        1 => format!("for {} s from {:.0} s on", slump.seconds, slump.at),
        count => format!(
            "in {count} stretches of {} s together, the first at {:.0} s,",
            slump.seconds, slump.at
        ),
    };
    match breaks(clause, estimate.value) {
        true => format!("{}; {stretches} {served}", plainly(clause, estimate, Outcome::Fail)),
        false => {
            format!("{stretches} {served}; what was served later raised the mean to {mean}, against {target}")
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
fn spoilt(reasons: &[Reason]) -> Option<Doubt> {
    let spoils = |cause: &Cause| matches!(cause, Cause::Invalid | Cause::Interrupted);
    reasons.iter().find_map(|reason| {
        let cause = reason.cause.filter(spoils)?;
        Some(Doubt::new(cause, reason.what.clone()))
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

/// Why a clause is not decided, after the figure that was measured unless the reason names it.
fn with_value(clause: &Clause, value: Option<f64>, why: String) -> String {
    match value.map(|value| clause.metric.show(value)) {
        Some(figure) if !why.starts_with(&figure) => format!("measured {figure}; {why}"),
        _ => why,
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
    let tolerance = match clause.tolerance > 0.0 {
        true => {
            let (sign, passes) = (clause.side.sign(), clause.metric.show(limit(clause)));
            format!(" ({sign} {passes} passes: {:.0} % tolerance)", 100.0 * clause.tolerance)
        }
        false => String::new(),
    };
    format!("{figure} is {side} {target}{tolerance}")
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
    fn a_rate_may_fall_short_by_its_tolerance_and_a_latency_may_not() {
        let clause = crate::requirement::parse("iops>=1000").unwrap().remove(0);
        assert!(!breaks(&clause, 990.5) && breaks(&clause, 989.5));
        let clause = crate::requirement::parse("mean<=1ms").unwrap().remove(0);
        assert_eq!(limit(&clause), 1e6);
    }
}
