//! Turns estimates into outcomes.

use model::Nanos;
use model::finding::{Finding, OTHER_PROGRAMS};
use model::observation::Observation;

use super::census::Slump;
use super::doubt::Doubt;
use super::estimate::{self, Estimate, NoEstimate};
use super::shortfall::name_other_programs;
use super::unfinished::count_unfinished;
use super::wording::{compare, describe_shift, format_estimate, format_with_distance, format_with_unit};
use super::{Case, Cause, ClauseVerdict, Context, Outcome, Reason, Shortfall, Verdict};
use crate::attribution::{self, Fault};
use crate::figures::{count, three_digits};
use crate::requirement::{Clause, Metric, Side};
use crate::shifts::{self, Shift};

/// Probability of a wrong PASS over all clauses together.
pub const ALPHA: f64 = 0.01;
/// Probability of a wrong FAIL over all clauses together. It is lower, because a complaint to a
/// provider must be justified.
pub const ALPHA_FAIL: f64 = 0.001;
/// A figure whose interval is wider than this share of the limit is not close to it.
const MAX_CLOSE_WIDTH: f64 = 0.5;

/// Judges every clause and the whole requirement.
pub fn judge(clauses: &[Clause], observation: &Observation, context: &Context<'_>) -> Verdict {
    let completed = Case {
        clauses,
        observation,
        context,
    };
    let Some((observation, intervals)) = count_unfinished(observation, context.intervals) else {
        return judge_case(&completed);
    };
    let case = Case {
        clauses,
        observation: &observation,
        context: &Context {
            intervals: &intervals,
            ..*context
        },
    };
    let mut verdict = judge_case(&case);
    verdict.notes.extend(case.describe_unfinished(&completed));
    verdict
}

fn judge_case(case: &Case<'_>) -> Verdict {
    let clauses = case.clauses;
    let reasons = case.reasons();
    let estimates: Vec<Result<Estimate, NoEstimate>> = clauses.iter().map(|clause| case.estimate(clause)).collect();
    let probabilities = |if_met: bool| {
        let pairs = clauses.iter().zip(&estimates);
        let probabilities_of_clauses = pairs.map(|(clause, estimate)| {
            estimate
                .as_ref()
                .ok()
                .map(|estimate| probability(clause, estimate, if_met))
        });
        adjust_by_holm(&probabilities_of_clauses.collect::<Vec<_>>())
    };
    let (if_broken, if_met) = (probabilities(false), probabilities(true));
    let judged = clauses
        .iter()
        .zip(&estimates)
        .enumerate()
        .map(|(number, (clause, estimate))| {
            if clause.metric == Metric::Availability {
                return case.judge_availability(clause, &reasons);
            }
            match estimate {
                Ok(estimate) => case.decide(clause, estimate, if_broken[number], if_met[number], &reasons),
                Err(unknown) => case.judge_without_estimate(clause, *unknown, &reasons),
            }
        });
    let judged: Vec<ClauseVerdict> = judged.collect();
    let outcome = combine_outcomes(&judged, &reasons);
    let mut notes = case.notes();
    notes.extend(case.describe_harmless_load(outcome));
    Verdict {
        outcome,
        clauses: judged,
        reasons,
        notes,
        untested: None,
    }
}

/// Combines the outcomes of all clauses. Failed operations or a broken clause fail the whole
/// requirement; it passes if every clause that can pass does.
fn combine_outcomes(clauses: &[ClauseVerdict], reasons: &[Reason]) -> Outcome {
    let any = |outcome: Outcome| clauses.iter().any(|clause| clause.outcome == outcome);
    if reasons.iter().any(|reason| reason.cause.is_none()) || any(Outcome::Fail) {
        Outcome::Fail
    } else if any(Outcome::Inconclusive) && has_open_clause(clauses) || !any(Outcome::Pass) {
        Outcome::Inconclusive
    } else {
        Outcome::Pass
    }
}

/// True if a clause other than availability is inconclusive.
fn has_open_clause(clauses: &[ClauseVerdict]) -> bool {
    let is_undecided = |judged: &&ClauseVerdict| judged.outcome == Outcome::Inconclusive;
    clauses
        .iter()
        .filter(is_undecided)
        .any(|judged| judged.clause.metric != Metric::Availability)
}

/// The deciding value of a clause: its target with the tolerance applied.
pub(super) fn clause_limit(clause: &Clause) -> f64 {
    match clause.side {
        Side::AtLeast => clause.target * (1.0 - clause.tolerance),
        Side::AtMost => clause.target * (1.0 + clause.tolerance),
    }
}

pub(super) fn breaks_clause(clause: &Clause, value: f64) -> bool {
    match clause.side {
        Side::AtLeast => value < clause_limit(clause),
        Side::AtMost => value > clause_limit(clause),
    }
}

/// Probability of the figure if the clause were just met, or just broken.
fn probability(clause: &Clause, estimate: &Estimate, if_met: bool) -> f64 {
    let limit = clause_limit(clause);
    match (clause.side, if_met) {
        (Side::AtLeast, false) | (Side::AtMost, true) => estimate.p_if_at_most(limit),
        (Side::AtLeast, true) | (Side::AtMost, false) => estimate.p_if_at_least(limit),
    }
}

/// Adjusts probabilities by Holm's method (1979). It limits the probability of any false alarm
/// among several tests to the level of one test. Clauses without a figure do not count.
fn adjust_by_holm(probabilities: &[Option<f64>]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len())
        .filter(|index| probabilities[*index].is_some())
        .collect();
    let probability_at = |index: usize| probabilities[index].unwrap_or(1.0);
    order.sort_by(|a, b| probability_at(*a).total_cmp(&probability_at(*b)));
    let (mut adjusted, mut running_max, tests) = (vec![1.0; probabilities.len()], 0.0_f64, order.len());
    for (rank, index) in order.into_iter().enumerate() {
        running_max = running_max.max(probability_at(index) * (tests - rank) as f64).min(1.0);
        adjusted[index] = running_max;
    }
    adjusted
}

impl Case<'_> {
    /// States that other load does not weaken a PASS: rates and latencies of direct I/O pass in
    /// spite of it. `None` without other load, or if a cache may have served the I/O.
    fn describe_harmless_load(&self, outcome: Outcome) -> Option<String> {
        let others = name_other_programs(self.observation, self.context.findings);
        let is_other_load = |finding: &Finding| OTHER_PROGRAMS.contains(&finding.rule.as_str());
        let is_disturbed = others.is_some() || self.context.findings.iter().any(is_other_load);
        (outcome == Outcome::Pass && is_disturbed && self.observation.load.direct == Some(true)).then(|| {
            let others = others.unwrap_or_else(|| "other load".into());
            let others = others.trim_start_matches("the ");
            format!("{others} used the disk or the processors; such load slows a test, so each PASS holds")
        })
    }

    /// The figure of a clause.
    pub(super) fn estimate(&self, clause: &Clause) -> Result<Estimate, NoEstimate> {
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
            // Availability is counted, not estimated.
            Metric::Availability => Err(NoEstimate::Absent),
        }
    }

    fn judge_without_estimate(&self, clause: &Clause, unknown: NoEstimate, reasons: &[Reason]) -> ClauseVerdict {
        let measured = match (unknown, clause.metric) {
            (NoEstimate::TooFew { .. }, Metric::Quantile { share }) => {
                estimate::unsupported_quantile(self.observation, clause.direction, share)
            }
            _ => None,
        };
        let doubt = match unknown {
            NoEstimate::Absent => Doubt::new(
                Cause::Absent,
                format!("{} does not report this figure", source_name(self.observation)),
            ),
            NoEstimate::NotIssued(direction) => Doubt::new(Cause::Mix, format!("no {} was issued", direction.word())),
            NoEstimate::TooFew { needed, found } => find_test_failure(reasons).unwrap_or_else(|| {
                let why = format!(
                    "{found} operations are too few for {}: fewer than {} lie beyond it; {needed} are needed",
                    clause.metric.name(),
                    estimate::MIN_BEYOND
                );
                Doubt::new(Cause::Samples, why)
            }),
        };
        let cause = doubt.cause;
        let action = match (cause, unknown, self.observation.measured_ns) {
            (Cause::Samples, NoEstimate::TooFew { needed, found }, Some(measured)) if found > 0 => {
                let seconds = (measured.as_secs() * needed as f64 / found as f64).ceil();
                format!("measure for at least {seconds:.0} s, with --time {seconds:.0}s, or at a higher rate")
            }
            _ => self.action_with_others(clause, cause),
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
            reason: match measured {
                Some(value) => format!("measured {}; {}", format_with_unit(clause, value), doubt.why),
                None => doubt.why,
            },
            shared: doubt.shared,
            shortfall: Shortfall::default(),
            limitation: None,
        }
    }

    fn decide(
        &self,
        clause: &Clause,
        estimate: &Estimate,
        if_broken: f64,
        if_met: f64,
        reasons: &[Reason],
    ) -> ClauseVerdict {
        let test_doubt = reasons.iter().find_map(Doubt::from_reason);
        let outcome = match (if_broken <= ALPHA, if_met <= ALPHA_FAIL) {
            (true, _) if self.slump(clause).is_none() => Outcome::Pass,
            (_, true) => Outcome::Fail,
            _ if self.fails_by_census(clause, estimate) => Outcome::Fail,
            _ if self.passes_by_census(clause, estimate) => Outcome::Pass,
            _ => Outcome::Inconclusive,
        };
        let doubt = match outcome {
            Outcome::Pass => test_doubt.or_else(|| self.doubt_pass(clause, estimate.value)),
            Outcome::Fail => test_doubt.or_else(|| self.doubt_fail(clause)),
            // A longer run does not repair a failed test.
            Outcome::Inconclusive | Outcome::Consistent => find_test_failure(reasons)
                .or_else(|| self.doubt_undecided(clause, estimate.value))
                .or_else(|| Some(Doubt::new(Cause::Spread, self.describe_undecided(clause, estimate)))),
        };
        let shortfall = match (outcome, &doubt) {
            (Outcome::Fail, None) => self.shortfall(clause),
            _ => Shortfall::default(),
        };
        let (outcome, cause, shared, reason, action) = match doubt {
            Some(doubt) => {
                let action = doubt.action;
                let action = action.unwrap_or_else(|| self.action_with_others(clause, doubt.cause));
                let why = match doubt.why.starts_with(&format_with_unit(clause, estimate.value)) {
                    true => doubt.why,
                    false => format!("{}; {}", format_with_distance(clause, estimate.value), doubt.why),
                };
                (
                    Outcome::Inconclusive,
                    Some(doubt.cause),
                    doubt.shared,
                    why,
                    Some(action),
                )
            }
            None => (
                outcome,
                None,
                None,
                self.describe_shortfall(clause, estimate, shortfall)
                    .unwrap_or_else(|| self.describe_outcome(clause, estimate, outcome)),
                self.action_after_failure(clause, shortfall),
            ),
        };
        let figure = format_with_unit(clause, estimate.value);
        let reason = match reason.strip_prefix(&*figure) {
            Some(rest) if self.is_of_completion(clause) => format!("{figure} (clat){rest}"),
            _ => reason,
        };
        let limitation = (outcome == Outcome::Pass)
            .then(|| self.describe_dead_time(clause))
            .flatten();
        ClauseVerdict {
            clause: clause.clone(),
            outcome,
            limitation,
            shortfall,
            value: Some(estimate.value),
            interval: estimate.interval(),
            probability_if_broken: Some(if_broken),
            probability_if_kept: Some(if_met),
            cause,
            reason,
            shared,
            action,
        }
    }

    /// Compares a figure with its clause, and adds other observations.
    fn describe_outcome(&self, clause: &Clause, estimate: &Estimate, outcome: Outcome) -> String {
        let slump = self
            .slump(clause)
            .filter(|_| is_rate(clause) && outcome == Outcome::Fail);
        let mut text = match slump {
            Some(slump) => self.describe_slump(clause, estimate, &slump),
            None => compare(clause, estimate),
        };
        if estimate::lacks_split(self.observation, clause.direction) && clause.metric == Metric::Mean {
            text += "; the source does not separate directions, so this is the mean of all operations";
        }
        // A response time contains waits before the storage had the operation.
        let service = self.service_figure(clause).filter(|_| outcome == Outcome::Fail);
        let is_beyond_too =
            |service: &f64| breaks_clause(clause, *service) && clause.show(*service) != clause.show(estimate.value);
        if let Some(service) = service.filter(is_beyond_too) {
            text += &format!("; also without waits in fathom: {}", clause.show(service));
        }
        // A slump already states when and how much. If the promise is met, improvements are not
        // reported.
        let shift = self.shift(clause).filter(|_| slump.is_none());
        let shift = shift.filter(|shift| outcome == Outcome::Fail || is_adverse(shift));
        text += &shift.map(|shift| self.describe_change(&shift)).unwrap_or_default();
        if outcome == Outcome::Pass
            && let Some((missed, all)) = self.missed_seconds(clause).filter(|(missed, _)| *missed > 0)
        {
            let side = match clause.side {
                Side::AtLeast => "below",
                Side::AtMost => "above",
            };
            text += &format!("; {side} it in {missed} of {all} seconds");
        }
        if outcome == Outcome::Fail {
            text += &self.describe_enforced_limit(clause).unwrap_or_default();
        }
        if outcome == Outcome::Fail
            && let Some(depth_search) = self
                .context
                .depth_search
                .filter(|search| is_rate(clause) && search.saturated)
            && let Some((slots, _)) = depth_search.probes.last()
        {
            text += &format!(
                "; saturated: up to {} in flight did not raise it",
                count((*slots).into(), "operation")
            );
        }
        if outcome == Outcome::Pass
            && let Some(credits) = self.describe_credit_use(clause.metric, clause.target)
        {
            text += &format!("; credits were not exhausted: {credits}");
        }
        text
    }

    /// Describes a change within the window. Gaps during which this program waited for a processor
    /// are not stalls of the storage, except those of a simulated device.
    fn describe_change(&self, shift: &Shift) -> String {
        let waits_for_processor =
            |(at, _): &(f64, f64)| attribution::disturbance(self.observation, *at, None) == Some(Fault::OtherCpu);
        let is_without_processor = || shifts::find_stalls(self.observation).iter().all(waits_for_processor);
        match *shift {
            Shift::Stalls { count, at, longest, .. }
                if !attribution::is_simulated(self.observation) && is_without_processor() =>
            {
                let gaps = match count {
                    1 => format!("one gap of {longest:.1} s at {at:.0} s"),
                    count => format!("{count} gaps of up to {longest:.1} s, the first at {at:.0} s"),
                };
                format!("; {gaps}, when no processor was free")
            }
            _ => describe_shift(shift),
        }
    }

    /// Describes the time in which the storage completed nothing. `None` if the time is within the
    /// tolerance of the rate. A rate alone permits storage to make up for such time later.
    fn describe_dead_time(&self, clause: &Clause) -> Option<String> {
        let measured = self.observation.measured_ns.filter(|_| is_rate(clause))?.as_secs();
        let stalled_secs: f64 = self.stalls_of_storage().iter().map(|(_, length)| length).sum();
        (stalled_secs > clause.tolerance * measured).then(|| {
            format!(
                "nothing was served for {stalled_secs:.1} s ({:.0} % of the time)",
                100.0 * stalled_secs / measured
            )
        })
    }

    /// Describes a missed rate and its slump.
    fn describe_slump(&self, clause: &Clause, estimate: &Estimate, slump: &Slump) -> String {
        let measured = self.observation.measured_ns.map_or(0.0, |length| length.as_secs());
        let lasts_to_end = slump.count == 1 && slump.at + slump.seconds as f64 > measured - 1.0;
        if !lasts_to_end || !breaks_clause(clause, estimate.value) {
            return describe_stretches(clause, estimate, slump);
        }
        let before = self.observation.seconds.iter().map(|second| &second.facts);
        let before = before.filter(|facts| facts.start_ns.as_secs() < slump.at);
        let (operations, time) = before.fold((0, 0.0), |sum, facts| {
            (sum.0 + facts.operations, sum.1 + facts.length_ns.as_secs())
        });
        let figure = compare(clause, estimate);
        match time >= 1.0 {
            true => {
                let show = three_digits;
                let (before, after) = (show(operations as f64 / time), show(slump.iops));
                format!("{figure}; {before} IOPS for {:.0} s, then {after}", slump.at)
            }
            // The slump started with the window.
            false => figure,
        }
    }

    /// Describes why the figure itself does not decide the clause.
    fn describe_undecided(&self, clause: &Clause, estimate: &Estimate) -> String {
        let limit = clause_limit(clause);
        let is_apart = match estimate.interval() {
            (Some(low), _) if low > limit => true,
            (_, Some(high)) => high < limit,
            _ => false,
        };
        if !is_apart {
            let is_wide = match estimate.interval() {
                (Some(low), Some(high)) => high - low > MAX_CLOSE_WIDTH * limit,
                _ => false,
            };
            let why = match is_wide {
                true => "this range includes the limit",
                false => "too close to the limit to decide",
            };
            return format!("{}: {why}", format_estimate(clause, estimate));
        }
        let changed = self.shift(clause).map_or_else(
            || ", but it varied from second to second".to_owned(),
            |shift| describe_shift(&shift),
        );
        let measured = self.observation.measured_ns.map_or(0.0, |length| length.as_secs());
        format!(
            "{}{changed}: {measured:.0} s do not show whether that lasts",
            compare(clause, estimate)
        )
    }

    /// The recommended action for a clause that the test did not decide.
    pub(super) fn action(&self, clause: &Clause, cause: Cause) -> String {
        if matches!(cause, Cause::Stall | Cause::Burst | Cause::Spread) && !self.has_full_time() {
            let full_secs = self.full_time_secs();
            let time = Nanos::secs(full_secs as u64);
            return format!("repeat for the full {time}: --time {full_secs:.0}s");
        }
        let measured = self.observation.measured_ns.map(|length| length.as_secs());
        match cause {
            Cause::Generator => "raise --workers, or use a machine with more processors",
            Cause::Others => "stop the other programs, or repeat when they are idle",
            // Four times the duration halves an interval.
            Cause::Stall | Cause::Spread => match measured {
                Some(seconds) => return format!("measure four times as long: --time {:.0}s", 4.0 * seconds),
                None => "measure for longer with --time",
            },
            Cause::Burst => "measure for longer than the credits last, with --time",
            Cause::Uncapped => match self.promised_iops() {
                Some(rate) => {
                    let depth = self.describe_missing_depth(rate);
                    return format!("repeat with the promised rate: --rate {rate:.0}{depth}");
                }
                None => "repeat with the promised rate, with --rate",
            },
            Cause::Mix if clause.direction.is_some() => "repeat with reads and writes: --read PERCENT",
            Cause::Load if let Some(rate) = self.unrequested_iops() => {
                return format!("repeat with the load of the promise: --rate {rate:.0}");
            }
            Cause::Load | Cause::Mix => "repeat with the load of the promise",
            Cause::Samples => "measure for longer with --time, or at a higher rate",
            Cause::Absent => match clause.metric {
                Metric::Availability => "use results with figures for each of at least ten seconds",
                _ => "use results with this figure",
            },
            Cause::Invalid => "correct what the finding reports, then repeat",
            Cause::Interrupted => "let the test run to its end",
        }
        .to_owned()
    }
}

pub(super) fn is_rate(clause: &Clause) -> bool {
    matches!(clause.metric, Metric::Iops | Metric::Throughput)
}

/// True if the storage became worse.
fn is_adverse(shift: &Shift) -> bool {
    match *shift {
        Shift::Rate { from, to, .. } | Shift::RateDrift { from, to } => to < from,
        Shift::Latency { from, to, .. } | Shift::LatencyDrift { from, to } => to > from,
        Shift::Stalls { .. } => true,
    }
}

/// Describes the periods of a slump.
fn describe_stretches(clause: &Clause, estimate: &Estimate, slump: &Slump) -> String {
    let (mean, target) = (clause.show(estimate.value), clause.metric.show(clause.target));
    let served = match slump.iops.round() {
        0.0 => "nothing was served".to_owned(),
        iops => format!("only {} IOPS were served", three_digits(iops)),
    };
    let stretches = match slump.count {
        1 => format!("for {} s from {:.0} s on", slump.seconds, slump.at),
        count => format!(
            "in {count} stretches of {} s together, the first at {:.0} s,",
            slump.seconds, slump.at
        ),
    };
    match breaks_clause(clause, estimate.value) {
        true => format!("{}; {stretches} {served}", compare(clause, estimate)),
        false => {
            format!("{stretches} {served}; operations served later raised the mean to {mean}, compared with {target}")
        }
    }
}

fn source_name(observation: &Observation) -> &str {
    match &*observation.tool {
        // Figures written down have no tool.
        "" | "figures" => "the source",
        tool => tool,
    }
}

/// Finds a failure of the test itself.
fn find_test_failure(reasons: &[Reason]) -> Option<Doubt> {
    let is_test_failure = |cause: &Cause| matches!(cause, Cause::Invalid | Cause::Interrupted);
    reasons.iter().find_map(|reason| {
        reason.cause.filter(is_test_failure)?;
        Doubt::from_reason(reason)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_raises_the_smallest_probability_most() {
        let adjusted = adjust_by_holm(&[Some(0.01), None, Some(0.04), Some(0.03)]);
        let assert_near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{adjusted:?}");
        assert_near(adjusted[0], 0.03);
        assert_near(adjusted[3], 0.06);
        assert_near(adjusted[2], 0.06);
        assert_near(adjusted[1], 1.0);
    }

    #[test]
    fn a_rate_has_a_tolerance_and_a_latency_has_none() {
        let clause = crate::requirement::parse("iops>=1000").unwrap().remove(0);
        assert!(!breaks_clause(&clause, 990.5) && breaks_clause(&clause, 989.5));
        let clause = crate::requirement::parse("mean<=1ms").unwrap().remove(0);
        assert_eq!(clause_limit(&clause), 1e6);
    }
}
