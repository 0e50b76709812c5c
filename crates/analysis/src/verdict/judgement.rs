//! From figures to outcomes.

use model::finding::Finding;
use model::histogram::PackedHistogram;
use model::observation::Observation;
use model::results::IntervalHistogram;

use super::estimate::{self, Estimate, Unknown};
use super::load::block;
use super::{Case, Cause, ClauseVerdict, Context, Outcome, Reason, Verdict};
use crate::attribution::{self, Attribution, Fault, Others, describe_fault};
use crate::requirement::{Clause, Metric, Side};
use crate::shifts::{self, Shift};

/// The chance of a wrong PASS over all clauses together.
pub const ALPHA: f64 = 0.01;
/// The chance of a wrong FAIL over all clauses together: a complaint has to stand.
pub const ALPHA_FAIL: f64 = 0.001;
/// A promise is broken by the storage if at least this share of the missing operations is its fault.
const STORAGE_SHARE: f64 = 0.9;
/// A latency is disturbed from this share of its excess on that falls in seconds with other causes.
const DISTURBED_SHARE: f64 = 0.1;
/// Operations that found every slot taken distort latencies from this share on.
pub const BLOCKED_SHARE: f64 = 0.01;
/// A mean is far beyond its limit from this multiple of it on.
const FAR_BEYOND: f64 = 1.5;
/// Fewest seconds that show that it always is.
const SECONDS_MIN: usize = 10;
/// The time of a contract where the promise names none, in seconds.
const FULL_TIME_SECS: f64 = 300.0;
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

/// The figure on which a clause turns: its target less the tolerance.
fn limit(clause: &Clause) -> f64 {
    match clause.side {
        Side::AtLeast => clause.target * (1.0 - clause.tolerance),
        Side::AtMost => clause.target * (1.0 + clause.tolerance),
    }
}

/// True if a figure does not keep a clause.
fn breaks(clause: &Clause, value: f64) -> bool {
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
            Unknown::Absent => (
                Cause::Absent,
                format!("{} does not report this figure", source(self.observation)),
            ),
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
            action: Some(self.action(clause, cause)),
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
        let by_figure = match (if_broken <= ALPHA, if_kept <= ALPHA_FAIL) {
            (true, _) => Outcome::Pass,
            (false, true) => Outcome::Fail,
            (false, false) if self.fails_by_census(clause, estimate) => Outcome::Fail,
            (false, false) => Outcome::Inconclusive,
        };
        // A longer test does not mend one that went wrong.
        let spoilt = spoilt(reasons);
        let against = match by_figure {
            Outcome::Pass => whole.or_else(|| self.against_passing(clause)),
            Outcome::Fail => whole.or_else(|| self.against_failing(clause)),
            Outcome::Inconclusive | Outcome::Consistent => {
                let others = || self.others_disturbed(clause);
                let undecided = || (Cause::Spread, self.open(clause, estimate));
                Some(spoilt.or_else(others).unwrap_or_else(undecided))
            }
        };
        let (outcome, cause, reason) = match against {
            Some((cause, why)) => (Outcome::Inconclusive, Some(cause), why),
            None => (by_figure, None, self.explain(clause, estimate, by_figure)),
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
            action: cause.map(|cause| self.action(clause, cause)),
        }
    }

    /// A window that shows more than one state of the storage is a census: its own figure is a fact.
    fn fails_by_census(&self, clause: &Clause, estimate: &Estimate) -> bool {
        if !breaks(clause, estimate.value) {
            return false;
        }
        let is_census = is_rate(clause) || self.has_full_time() || self.is_broken_for_full_time(clause);
        let by_census = is_census && self.shift(clause).is_some();
        by_census || clause.metric == Metric::Mean && self.is_always_beyond(clause)
    }

    /// The latencies of this window alone break the clause for the full time, even if every later
    /// operation took no time at all.
    fn is_broken_for_full_time(&self, clause: &Clause) -> bool {
        let Some(promised) = self.promised_iops() else {
            return false;
        };
        let operations = promised * self.full_time_secs();
        let (mut sum, mut beyond) = (0.0, 0.0);
        for interval in self.context.intervals {
            for histogram in estimate::of_direction(&interval.latency, clause.direction) {
                sum += histogram.sum() as f64;
                beyond += (histogram.n() - histogram.count_up_to(clause.target as u64)) as f64;
            }
        }
        match clause.metric {
            Metric::Mean => sum > clause.target * operations,
            Metric::Quantile { share } => beyond > (1.0 - share) * operations,
            Metric::Iops | Metric::Throughput | Metric::Availability => false,
        }
    }

    /// Why the figure itself does not decide it.
    fn open(&self, clause: &Clause, estimate: &Estimate) -> String {
        let (figure, target) = (shown(clause, estimate), clause.metric.show(limit(clause)));
        let side = match estimate.interval() {
            (Some(low), _) if low > limit(clause) => "above",
            (_, Some(high)) if high < limit(clause) => "below",
            _ => return format!("{figure} is too close to {target} to tell"),
        };
        let changed = self.shift(clause).map_or_else(
            || "; its seconds differ too much".to_owned(),
            |shift| describe_shift(&shift),
        );
        let measured = self.observation.measured_ns.map_or(0.0, |length| length.as_secs());
        format!("{figure} is {side} {target} here{changed}; {measured:.0} s cannot tell whether that lasts")
    }

    /// A mean latency far beyond its limit in every second, as of a backlog that grows: the level is
    /// not known, and does not matter.
    fn is_always_beyond(&self, clause: &Clause) -> bool {
        let mean = |interval: &IntervalHistogram| {
            let histograms = estimate::of_direction(&interval.latency, clause.direction);
            let (sum, n) = histograms.fold((0.0, 0.0), |sum: (f64, f64), histogram| {
                (sum.0 + histogram.sum() as f64, sum.1 + histogram.n() as f64)
            });
            if n > 0.0 { sum / n } else { f64::INFINITY }
        };
        let intervals = self.context.intervals;
        intervals.len() >= SECONDS_MIN && intervals.iter().all(|one| mean(one) > FAR_BEYOND * clause.target)
    }

    /// Others who took part in the seconds that a rate missed: a longer test would not be better.
    fn others_disturbed(&self, clause: &Clause) -> Option<(Cause, String)> {
        let found = Attribution::new(self.observation, None).filter(|_| is_rate(clause))?;
        let fault = found.worst_other().filter(|fault| *fault != Fault::Generator)?;
        (found.share(fault) > DISTURBED_SHARE).then(|| (Cause::Others, self.fault_sentence(&found, fault)))
    }

    /// The contract form: measured for as long as the promise asks.
    fn has_full_time(&self) -> bool {
        let measured = self.observation.measured_ns.map_or(0.0, |length| length.as_secs());
        measured >= self.full_time_secs() * 0.999
    }

    fn full_time_secs(&self) -> f64 {
        self.context
            .workload
            .map_or(FULL_TIME_SECS, |workload| workload.duration_secs)
    }

    /// What changed within the window, as far as it concerns a clause.
    fn shift(&self, clause: &Clause) -> Option<Shift> {
        match is_rate(clause) {
            true => shifts::rate_shift(self.observation),
            false => shifts::shift(self.observation),
        }
    }

    /// Why a good figure does not show that the clause is kept.
    fn against_passing(&self, clause: &Clause) -> Option<(Cause, String)> {
        if let Some(finding) = self.answered_elsewhere() {
            return Some((Cause::Invalid, finding));
        }
        match clause.metric {
            // The short form says on the same line that it saw credits.
            Metric::Iops | Metric::Throughput if !self.has_full_time() => None,
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
                self.rate_not_of_storage(target)
            }
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability if self.is_uncapped() => {
                let why = "the load was not held at the promised rate, and beyond it operations wait for one another";
                Some((Cause::Uncapped, why.to_owned()))
            }
            Metric::Mean | Metric::Quantile { .. } | Metric::Availability => self.latency_not_of_storage(clause),
        }
    }

    /// Why a missed rate may not be the storage's fault.
    fn rate_not_of_storage(&self, target: f64) -> Option<(Cause, String)> {
        if let Some(why) = self.asked_for_less(target) {
            return Some((Cause::Generator, why));
        }
        let limit_ns = self.promised_latency_secs().map(|secs| secs * 1e9);
        let Some(found) = Attribution::new(self.observation, limit_ns) else {
            let held_up = self.held_up_elsewhere().map(|finding| (Cause::Invalid, finding));
            return held_up.or_else(|| Some((Cause::Generator, self.not_free(target)?)));
        };
        if found.share(Fault::Storage) < STORAGE_SHARE
            && let Some(fault) = found.worst_other()
        {
            let cause = if fault == Fault::Generator {
                Cause::Generator
            } else {
                Cause::Others
            };
            return Some((cause, self.fault_sentence(&found, fault)));
        }
        Some((Cause::Generator, self.too_few_slots(target)?))
    }

    /// Why a latency beyond its limit may not be the storage's doing.
    fn latency_not_of_storage(&self, clause: &Clause) -> Option<(Cause, String)> {
        let observation = self.observation;
        let limit_ns = Some(clause.target);
        let attribution = Attribution::new(observation, limit_ns);
        if attribution.is_none()
            && let Some(finding) = self.held_up_elsewhere()
        {
            return Some((Cause::Invalid, finding));
        }
        if let Some(service) = self.service_figure(clause)
            && !breaks(clause, service)
        {
            let show = |value: f64| clause.metric.show(value);
            let own = match &attribution {
                Some(found) if found.blocked_share() > BLOCKED_SHARE => format!(
                    "{:.1} % of the operations found all {} slots taken and waited up to {:.3} s for one",
                    100.0 * found.blocked_share(),
                    observation.load.depth.unwrap_or(0),
                    found.blocked_secs_max
                ),
                _ => "operations were issued later than they were due".to_owned(),
            };
            let why = format!(
                "{own}; the storage itself took {}, within {}",
                show(service),
                show(clause.target)
            );
            return Some((Cause::Generator, why));
        }
        if let Some((fault, share)) = self.disturbed(clause).filter(|(_, share)| *share > DISTURBED_SHARE) {
            let cause = if fault == Fault::Generator {
                Cause::Generator
            } else {
                Cause::Others
            };
            let others = attribution::others(observation, |_| true);
            let why = format!(
                "{:.0} % of the excess falls in seconds in which {}",
                100.0 * share,
                self.name_fault(fault, &others)
            );
            return Some((cause, why));
        }
        (!self.has_full_time())
            .then(|| self.rests_on_one_stall(clause))
            .flatten()
    }

    /// The same figure without the time that operations waited in the program; `None` where the load
    /// was not paced, or it is not known.
    fn service_figure(&self, clause: &Clause) -> Option<f64> {
        let flow = estimate::flow(self.observation, clause.direction)?;
        flow.response.as_ref()?;
        let service = flow.latency.as_ref()?;
        match clause.metric {
            Metric::Mean => service.mean_ns,
            Metric::Quantile { share } => service.quantile(share),
            Metric::Iops | Metric::Throughput | Metric::Availability => None,
        }
    }

    /// The cause beside the storage with the largest share of the excess over a latency limit.
    fn disturbed(&self, clause: &Clause) -> Option<(Fault, f64)> {
        let (mut all, mut by_fault) = (
            0.0,
            [(Fault::Generator, 0.0), (Fault::OtherIo, 0.0), (Fault::OtherCpu, 0.0)],
        );
        for interval in self.context.intervals {
            let excess = self.excess(clause, interval);
            all += excess;
            if let Some(fault) = attribution::disturbance(self.observation, interval.start_ns.as_secs())
                && let Some(known) = by_fault.iter_mut().find(|(of, _)| *of == fault)
            {
                known.1 += excess;
            }
        }
        let sum: f64 = by_fault.iter().map(|(_, excess)| excess).sum();
        let (fault, _) = by_fault.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        (all > 0.0).then_some((fault, sum / all))
    }

    /// By how much an interval is beyond a latency limit: operations × nanoseconds, or operations.
    fn excess(&self, clause: &Clause, interval: &IntervalHistogram) -> f64 {
        let histograms = estimate::of_direction(&interval.latency, clause.direction);
        let one = |histogram: &PackedHistogram| match clause.metric {
            Metric::Quantile { .. } => (histogram.n() - histogram.count_up_to(clause.target as u64)) as f64,
            _ => (histogram.sum() as f64 - clause.target * histogram.n() as f64).max(0.0),
        };
        histograms.map(one).sum()
    }

    /// The only stall of a short test, if the clause would be kept without it.
    fn rests_on_one_stall(&self, clause: &Clause) -> Option<(Cause, String)> {
        let stalls = shifts::stall_list(self.observation);
        let [(at, length)] = stalls[..] else { return None };
        // What waited for the end of the stall completes within the next second.
        let touched = |interval: &&IntervalHistogram| {
            let start = interval.start_ns.as_secs();
            start + interval.length_ns.as_secs() > at && start < at + length + 1.0
        };
        let untouched = self.context.intervals.iter().filter(|interval| !touched(interval));
        let (mut sum, mut beyond, mut n) = (0.0, 0.0, 0.0);
        for histogram in untouched.flat_map(|interval| estimate::of_direction(&interval.latency, clause.direction)) {
            sum += histogram.sum() as f64;
            beyond += (histogram.n() - histogram.count_up_to(clause.target as u64)) as f64;
            n += histogram.n() as f64;
        }
        let kept = match clause.metric {
            Metric::Quantile { share } => beyond <= (1.0 - share) * n,
            _ => sum <= clause.target * n,
        };
        let measured = self.observation.measured_ns?.as_secs();
        (kept && n > 0.0).then(|| {
            let why = format!(
                "one stall of {length:.1} s at {at:.0} s decides it; whether stalls recur cannot be told from {measured:.0} s"
            );
            (Cause::Stall, why)
        })
    }

    /// Whose fault most missing operations are, with what was observed.
    fn fault_sentence(&self, found: &Attribution, fault: Fault) -> String {
        let of_fault = |at: f64| {
            found
                .missed
                .iter()
                .any(|missed| missed.fault == fault && missed.at == at)
        };
        let others = attribution::others(self.observation, of_fault);
        format!(
            "in {} of {} missed seconds {}",
            found.seconds(fault),
            found.missed.len(),
            self.name_fault(fault, &others)
        )
    }

    /// What others did, with the programs that the self-check of the device named.
    fn name_fault(&self, fault: Fault, others: &Others) -> String {
        let of_device = |finding: &&Finding| fault == Fault::OtherIo && finding.rule == "OTHER-LOAD";
        let named = self.context.findings.iter().find(of_device);
        let named = named.map(|finding| format!("; {}", finding.what)).unwrap_or_default();
        describe_fault(fault, others) + &named
    }

    /// A figure held against its clause, with what else was observed.
    fn explain(&self, clause: &Clause, estimate: &Estimate, outcome: Outcome) -> String {
        let mut text = plainly(clause, estimate, outcome);
        if estimate::lacks_split(self.observation, clause.direction) && clause.metric == Metric::Mean {
            text += "; the source does not tell directions apart, so this is the mean of all operations";
        }
        if outcome == Outcome::Fail {
            text += &self
                .shift(clause)
                .map(|shift| describe_shift(&shift))
                .unwrap_or_default();
            if let Some(climb) = self.context.climb.filter(|climb| is_rate(clause) && climb.saturated)
                && let Some((slots, _)) = climb.probes.last()
            {
                text += &format!("; saturated: up to {slots} operations in flight brought no more");
            }
        }
        if outcome == Outcome::Pass
            && let Some(credits) = self.on_credit(clause.metric, clause.target)
        {
            text += &format!("; credits were not exhausted: {credits}");
        }
        text
    }

    /// What to do about a clause that the test did not decide.
    fn action(&self, clause: &Clause, cause: Cause) -> String {
        if matches!(cause, Cause::Stall | Cause::Burst | Cause::Spread) && !self.has_full_time() {
            return format!("repeat for the full time of {:.0} s", self.full_time_secs());
        }
        match cause {
            Cause::Generator if self.context.climb.is_some() => {
                "raise --workers, or use a machine with more processors"
            }
            Cause::Generator => "give the generator more: raise --depth or --workers, or stop what else runs here",
            Cause::Others => "stop the others, or repeat when they are idle",
            Cause::Stall | Cause::Spread => "measure for longer with --time",
            Cause::Burst => "measure for longer than the credits last, with --time",
            Cause::Uncapped => "repeat with the promised rate: --rate",
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

fn is_rate(clause: &Clause) -> bool {
    matches!(clause.metric, Metric::Iops | Metric::Throughput)
}

/// The change within the window, after a figure.
fn describe_shift(shift: &Shift) -> String {
    let (rate, latency) = (|value| Metric::Iops.show(value), |value| Metric::Mean.show(value));
    match *shift {
        Shift::Rate { from, to, at } => format!("; {} IOPS for {at:.0} s, then {}", rate(from), rate(to)),
        Shift::RateDrift { from, to } => format!("; from {} IOPS at the start to {} at the end", rate(from), rate(to)),
        Shift::Latency { from, to, at } => format!("; {} for {at:.0} s, then {}", latency(from), latency(to)),
        Shift::Drift { from, to } => format!("; from {} at the start to {} at the end", latency(from), latency(to)),
        Shift::Stalls { count: 1, at, longest } => format!("; one stall of {longest:.1} s at {at:.0} s"),
        Shift::Stalls { count, longest, .. } => format!("; {count} stalls of up to {longest:.1} s"),
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
        | Cause::Others
        | Cause::Stall
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
