//! Promises about shares of a long time: in how many seconds of the test did everything else hold?
//!
//! A test is too short to prove them: 99.9 % without a single miss takes 2,995 seconds. So they are
//! contradicted, or what was seen is consistent with them; they never pass.

use model::observation::SeriesPoint;
use model::stats::{lag_one_correlation, wilson};

use super::doubt::Doubt;
use super::judgement::is_rate;
use super::{Case, Cause, ClauseVerdict, Outcome, Reason};
use crate::requirement::{Clause, Metric};

/// Length of an interval that holds or does not, in seconds.
const SECOND: f64 = 1.0;
/// Both sides of Wilson's interval, so that each alone is 95 %.
const LEVEL: f64 = 0.90;

impl Case<'_> {
    pub(super) fn availability(&self, clause: &Clause, reasons: &[Reason]) -> ClauseVerdict {
        let verdict = |outcome, value, interval, doubt: Option<Doubt>, reason: String| ClauseVerdict {
            clause: clause.clone(),
            outcome,
            value,
            interval,
            probability_if_broken: None,
            probability_if_kept: None,
            cause: doubt.as_ref().map(|doubt| doubt.cause),
            action: doubt.map(|doubt| doubt.action.unwrap_or_else(|| self.action(clause, doubt.cause))),
            reason,
        };
        let open = |doubt: Doubt, value, interval| {
            let why = doubt.why.clone();
            verdict(Outcome::Inconclusive, value, interval, Some(doubt), why)
        };
        let seconds = seconds(&self.observation.series);
        if seconds.len() < 10 {
            let why = "there is no series of at least ten seconds to count in".to_owned();
            return open(Doubt::new(Cause::Absent, why), None, (None, None));
        }
        // What a user asks for beside a policy is no part of what the policy promises.
        let others: Vec<&Clause> = self
            .clauses
            .iter()
            .filter(|other| other.metric != Metric::Availability && (other.of_policy || !clause.of_policy))
            .collect();
        let rates = others.iter().filter(|other| is_rate(other));
        let targets = rates.filter_map(|other| self.target_iops(other));
        if let Some(doubt) = targets.into_iter().find_map(|target| self.asked_for_less(target)) {
            return open(doubt, None, (None, None));
        }
        let held: Vec<f64> = seconds
            .iter()
            .map(|second| f64::from(u8::from(others.iter().all(|other| holds(other, second)))))
            .collect();
        let (count, n) = (held.iter().sum::<f64>(), held.len() as f64);
        // Bad seconds come in groups, which tell less than as many that lie apart.
        let correlation = lag_one_correlation(&held).clamp(0.0, 0.99);
        let effective = n * (1.0 - correlation) / (1.0 + correlation);
        let (low, high) = wilson(count / n * effective, effective, LEVEL);
        let proof = (0.05f64.ln() / clause.target.ln()).ceil();
        let seen = format!("{count:.0} of {n:.0} seconds kept the other clauses");
        let interval = (Some(low), Some(high));
        match high < clause.target {
            true => {
                if let Some(doubt) = self.not_of_storage(&others, &seconds, reasons) {
                    return open(doubt, Some(count / n), interval);
                }
                let reason = format!(
                    "{seen}, which is too few for {}",
                    Metric::Availability.show(clause.target)
                );
                verdict(Outcome::Fail, Some(count / n), interval, None, reason)
            }
            false => {
                let reason = format!(
                    "{seen}: consistent with {}, which {proof:.0} s without a miss would show",
                    Metric::Availability.show(clause.target)
                );
                verdict(Outcome::Consistent, Some(count / n), interval, None, reason)
            }
        }
    }

    /// Why seconds that missed clauses may not be the storage's fault.
    fn not_of_storage(&self, others: &[&Clause], seconds: &[Second], reasons: &[Reason]) -> Option<Doubt> {
        let whole = reasons
            .iter()
            .find_map(|reason| Some(Doubt::new(reason.cause?, reason.what.clone())));
        let missed = |other: &&&Clause| seconds.iter().any(|second| !holds(other, second));
        let of_clauses = || {
            others
                .iter()
                .filter(missed)
                .find_map(|other| self.against_failing(other))
        };
        whole.or_else(of_clauses)
    }
}

/// True if one second keeps a clause, as far as its figures show.
fn holds(clause: &Clause, second: &Second) -> bool {
    let least = |counted: [f64; 3], one: f64| {
        let sum = clause.direction.map_or(counted.iter().sum(), |of| counted[of as usize]);
        // An operation more or less at the edge of a second is no miss.
        sum + one >= clause.target * (1.0 - clause.tolerance) * second.length
    };
    match clause.metric {
        Metric::Iops => least(second.operations, 1.0),
        Metric::Throughput => {
            let operations: f64 = second.operations.iter().sum();
            let one = second.bytes.iter().sum::<f64>() / operations.max(1.0);
            least(second.bytes, one)
        }
        Metric::Mean if clause.direction.is_none() => second.mean_ns.is_none_or(|mean| mean <= clause.target),
        // A second is too short for a percentile, and its series does not tell directions apart.
        Metric::Mean | Metric::Quantile { .. } | Metric::Availability => true,
    }
}

/// One second of the series.
struct Second {
    length: f64,
    operations: [f64; 3],
    bytes: [f64; 3],
    mean_ns: Option<f64>,
}

/// Intervals joined to seconds; what does not fill one at the end is left out.
fn seconds(series: &[SeriesPoint]) -> Vec<Second> {
    let mut seconds = Vec::new();
    let (mut length, mut operations, mut bytes, mut waited) = (0.0, [0.0; 3], [0.0; 3], 0.0);
    let mut is_known = true;
    for point in series {
        length += point.length_ns.as_secs();
        let all = point.operations.iter().sum::<u64>();
        for of in 0..3 {
            operations[of] += point.operations[of] as f64;
            bytes[of] += point.bytes[of] as f64;
        }
        is_known &= point.mean_ns.is_some() || all == 0;
        waited += point.mean_ns.unwrap_or(0.0) * all as f64;
        if length < SECOND * 0.999 {
            continue;
        }
        let n: f64 = operations.iter().sum();
        seconds.push(Second {
            length,
            operations,
            bytes,
            mean_ns: (is_known && n > 0.0).then(|| waited / n),
        });
        (length, operations, bytes, waited, is_known) = (0.0, [0.0; 3], [0.0; 3], 0.0, true);
    }
    seconds
}
