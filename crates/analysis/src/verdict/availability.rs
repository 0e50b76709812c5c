//! Judges availability: the share of the time in which all other clauses were met. A second that
//! met them counts, minus the time in which the storage completed nothing. A test is too short to
//! prove availability: 99.9 % would need 2,995 seconds without a miss. So such a clause fails or is
//! consistent with the test, but never passes.

use model::observation::SeriesPoint;
use model::stats::{lag_one_correlation, wilson_interval};

use super::doubt::Doubt;
use super::judgement::is_rate;
use super::wording::WHILE;
use super::{Case, Cause, ClauseVerdict, Outcome, Reason, Shortfall};
use crate::attribution::PROGRAMS;
use crate::figures::count;
use crate::requirement::{Clause, Metric};

/// Length of the intervals that are counted, in seconds.
const INTERVAL_SECS: f64 = 1.0;
/// Fewer seconds do not show a share.
const MIN_SECONDS: usize = 10;
/// Two-sided confidence of Wilson's interval: each side alone has 95 %.
const CONFIDENCE: f64 = 0.90;

impl Case<'_> {
    pub(super) fn judge_availability(&self, clause: &Clause, reasons: &[Reason]) -> ClauseVerdict {
        let verdict = |outcome, value, interval, doubt: Option<Doubt>, reason: String| ClauseVerdict {
            clause: clause.clone(),
            outcome,
            value,
            interval,
            probability_if_broken: None,
            probability_if_kept: None,
            cause: doubt.as_ref().map(|doubt| doubt.cause),
            shared: doubt.as_ref().and_then(|doubt| doubt.shared.clone()),
            action: doubt.map(|doubt| {
                doubt
                    .action
                    .unwrap_or_else(|| self.action_with_others(clause, doubt.cause))
            }),
            reason,
            shortfall: Shortfall::default(),
            limitation: None,
        };
        let undecided = |doubt: Doubt| {
            let why = doubt.why.clone();
            verdict(Outcome::Inconclusive, None, (None, None), Some(doubt), why)
        };
        let seconds = join_seconds(&self.observation.series);
        if let Some(doubt) = self.doubt_length(seconds.len()) {
            return undecided(doubt);
        }
        // A policy's promise does not include the user's clauses.
        let others: Vec<&Clause> = self
            .clauses
            .iter()
            .filter(|other| other.metric != Metric::Availability && (other.of_policy || !clause.of_policy))
            .collect();
        let rates = others.iter().filter(|other| is_rate(other));
        let targets = rates.filter_map(|other| self.target_iops(other));
        if let Some(doubt) = targets.into_iter().find_map(|target| self.doubt_requested_rate(target)) {
            return undecided(doubt);
        }
        let stalls = self.stalls_of_storage();
        let met: Vec<f64> = seconds
            .iter()
            .map(|second| match others.iter().all(|other| meets_clause(other, second)) {
                true => 1.0 - second.stalled_share(&stalls),
                false => 0.0,
            })
            .collect();
        let stalled_secs: f64 = stalls.iter().map(|(_, length)| length).sum();
        let (met_count, n) = (met.iter().sum::<f64>(), met.len() as f64);
        // Bad seconds occur in clusters, and correlated seconds count as fewer independent ones.
        let correlation = lag_one_correlation(&met).clamp(0.0, 0.99);
        let effective = n * (1.0 - correlation) / (1.0 + correlation);
        let (low, high) = wilson_interval(met_count / n * effective, effective, CONFIDENCE);
        let proof_secs = (0.05f64.ln() / clause.target.ln()).ceil();
        let stalled = match stalled_secs > 0.0 {
            true => format!(" (nothing was served for {stalled_secs:.1} s)"),
            false => String::new(),
        };
        let counts_text = format!("{met_count:.0} of {n:.0} seconds met the other clauses{stalled}");
        let interval = (Some(low), Some(high));
        match high < clause.target {
            true => {
                if let Some(doubt) = self.doubt_storage_fault(&others, &seconds, reasons) {
                    let why = format!("{counts_text}; {}", describe_misses(&others, &seconds, &doubt));
                    return verdict(Outcome::Inconclusive, Some(met_count / n), interval, Some(doubt), why);
                }
                let reason = format!(
                    "{counts_text}, which is too few for {}",
                    Metric::Availability.show(clause.target)
                );
                verdict(Outcome::Fail, Some(met_count / n), interval, None, reason)
            }
            false => {
                let target = Metric::Availability.show(clause.target);
                let proof = match proof_secs > n {
                    true => format!("; {proof_secs:.0} s without a miss would"),
                    false => String::new(),
                };
                let reason = format!("{counts_text}: this fits {target}, but does not prove it{proof}");
                verdict(Outcome::Consistent, Some(met_count / n), interval, None, reason)
            }
        }
    }

    /// Doubts a result with too few seconds to count.
    fn doubt_length(&self, seconds: usize) -> Option<Doubt> {
        if seconds >= MIN_SECONDS {
            return None;
        }
        if self.observation.series.is_empty() {
            let why = "the result has no figures for each second".to_owned();
            return Some(Doubt::new(Cause::Absent, why));
        }
        let whole = count(seconds as u64, "whole second");
        let why = format!("the result has {whole}, too few to count");
        let action = format!("measure for at least {MIN_SECONDS} s: --time {MIN_SECONDS}s");
        Some(Doubt::new(Cause::Samples, why).with_action(action))
    }

    /// Doubts that seconds that missed clauses are the storage's fault.
    fn doubt_storage_fault(&self, others: &[&Clause], seconds: &[Second], reasons: &[Reason]) -> Option<Doubt> {
        let test_doubt = reasons.iter().find_map(Doubt::from_reason);
        let missed = |other: &&&Clause| seconds.iter().any(|second| !meets_clause(other, second));
        let missed_clause_doubt = || others.iter().filter(missed).find_map(|other| self.doubt_fail(other));
        test_doubt.or_else(missed_clause_doubt)
    }
}

/// Describes the missed seconds, with the missed clauses and the circumstance of a doubt: `in 7 the
/// rate (3) or the mean (6) missed its limit while other programs used 1.9 of 2 processors`.
/// A doubt of the whole test has no circumstance, and states itself.
fn describe_misses(others: &[&Clause], seconds: &[Second], doubt: &Doubt) -> String {
    let circumstance = doubt.shared.as_deref().filter(|shared| {
        let before = doubt.why.strip_suffix(*shared);
        before.is_some_and(|before| before.ends_with(WHILE))
    });
    let Some(circumstance) = circumstance else {
        return doubt.why.clone();
    };
    // The bottleneck lists the programs of the whole test, which may differ.
    let circumstance = match circumstance.split_once(PROGRAMS) {
        Some((circumstance, _)) => circumstance,
        None => circumstance.split(" (").next().unwrap_or(circumstance),
    };
    let missed_by = |clause: &Clause| seconds.iter().filter(|second| !meets_clause(clause, second)).count();
    let missed: Vec<(String, usize)> = others
        .iter()
        .map(|clause| (name_figure(clause), missed_by(clause)))
        .filter(|(_, missed)| *missed > 0)
        .collect();
    let is_missed = |second: &&Second| !others.iter().all(|clause| meets_clause(clause, second));
    let missed_seconds = seconds.iter().filter(is_missed).count();
    let names: Vec<String> = match &missed[..] {
        [(name, _)] => vec![name.clone()],
        several => several
            .iter()
            .map(|(name, missed)| format!("{name} ({missed})"))
            .collect(),
    };
    format!(
        "in {missed_seconds} {} missed its limit{WHILE}{circumstance}",
        names.join(" or ")
    )
}

/// The figure of a clause in a sentence: `the rate`, `the write rate`.
fn name_figure(clause: &Clause) -> String {
    let direction = clause
        .direction
        .map_or(String::new(), |direction| format!("{} ", direction.word()));
    let figure = match clause.metric {
        Metric::Iops => "rate",
        Metric::Throughput => "throughput",
        Metric::Mean => "mean",
        Metric::Quantile { .. } => "percentile",
        Metric::Availability => "availability",
    };
    format!("the {direction}{figure}")
}

/// True if the figures of a second meet a clause.
fn meets_clause(clause: &Clause, second: &Second) -> bool {
    let reaches_target = |counted: [f64; 3], edge: f64| {
        let sum = clause
            .direction
            .map_or(counted.iter().sum(), |direction| counted[direction as usize]);
        // One operation at the edge of a second does not make a miss.
        sum + edge >= clause.target * (1.0 - clause.tolerance) * second.length
    };
    match clause.metric {
        Metric::Iops => reaches_target(second.operations, 1.0),
        Metric::Throughput => {
            let operations: f64 = second.operations.iter().sum();
            let bytes_per_operation = second.bytes.iter().sum::<f64>() / operations.max(1.0);
            reaches_target(second.bytes, bytes_per_operation)
        }
        Metric::Mean if clause.direction.is_none() => second.mean_ns.is_none_or(|mean| mean <= clause.target),
        // A second is too short for a percentile, and the series has no latency per direction.
        Metric::Mean | Metric::Quantile { .. } | Metric::Availability => true,
    }
}

/// One second of the series.
struct Second {
    at: f64,
    length: f64,
    operations: [f64; 3],
    bytes: [f64; 3],
    mean_ns: Option<f64>,
}

impl Second {
    /// The share of the second in stalls, given as start and length of each.
    fn stalled_share(&self, stalls: &[(f64, f64)]) -> f64 {
        let end = self.at + self.length;
        let overlap_secs = |(at, length): &(f64, f64)| (end.min(at + length) - self.at.max(*at)).max(0.0);
        stalls.iter().map(overlap_secs).sum::<f64>() / self.length
    }
}

/// Joins intervals to whole seconds, without an incomplete last one.
fn join_seconds(series: &[SeriesPoint]) -> Vec<Second> {
    let mut seconds = Vec::new();
    let (mut length, mut operations, mut bytes, mut latency_sum) = (0.0, [0.0; 3], [0.0; 3], 0.0);
    let mut is_known = true;
    for point in series {
        length += point.length_ns.as_secs();
        let all = point.operations.iter().sum::<u64>();
        for direction in 0..3 {
            operations[direction] += point.operations[direction] as f64;
            bytes[direction] += point.bytes[direction] as f64;
        }
        is_known &= point.mean_ns.is_some() || all == 0;
        latency_sum += point.mean_ns.unwrap_or(0.0) * all as f64;
        if length < INTERVAL_SECS * 0.999 {
            continue;
        }
        let n: f64 = operations.iter().sum();
        seconds.push(Second {
            at: point.start_ns.as_secs() + point.length_ns.as_secs() - length,
            length,
            operations,
            bytes,
            mean_ns: (is_known && n > 0.0).then(|| latency_sum / n),
        });
        (length, operations, bytes, latency_sum, is_known) = (0.0, [0.0; 3], [0.0; 3], 0.0, true);
    }
    seconds
}
