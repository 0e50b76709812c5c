//! The wording of verdicts, which is the same in the terminal, on pages and in Markdown.

use super::estimate::Estimate;
use super::judgement::clause_limit;
use super::{ClauseVerdict, Verdict};
use crate::figures::{format_moment, three_digits};
use crate::requirement::{Clause, Metric, Side};
use crate::shifts::Shift;

/// If at least this many clauses share a statement, it is printed once, below them.
const MIN_SHARED_CLAUSES: usize = 2;
/// A smaller share of a limit would be rounded to `100 % below`.
const MIN_STATED_SHARE: f64 = 0.005;

/// Joins a share with the observation at that time.
pub(super) const WHILE: &str = " while ";

/// The text of a verdict. Statements that several clauses share are printed once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictText {
    /// The reason of each clause, and its action unless an earlier clause has the same.
    pub clauses: Vec<(String, Option<String>)>,
    /// Statements that several clauses share, one sentence each. Reasons of the whole test are not
    /// included.
    pub shared: Vec<String>,
}

impl Verdict {
    /// The text of the clauses.
    pub fn describe(&self) -> VerdictText {
        let mut words = VerdictText::default();
        let mut actions: Vec<&String> = Vec::new();
        for clause in &self.clauses {
            let action = clause.action.as_ref().filter(|action| !actions.contains(action));
            actions.extend(action);
            words.clauses.push((self.short_reason(clause), action.cloned()));
            if let Some(shared) = clause.shared.as_ref().filter(|shared| self.is_shared(shared))
                && !self.is_test_reason(shared)
                && !words
                    .shared
                    .iter()
                    .any(|statement| statement.ends_with(shared.as_str()))
            {
                words.shared.push(format!("in the disturbed seconds {shared}"));
            }
        }
        words
    }

    fn is_test_reason(&self, shared: &str) -> bool {
        self.reasons.iter().any(|reason| reason.what == shared)
    }

    /// True if a statement is printed below the clauses.
    fn is_shared(&self, shared: &str) -> bool {
        let clauses = self.clauses.iter();
        let sharing = clauses.filter(|clause| clause.shared.as_deref() == Some(shared));
        self.is_test_reason(shared) || sharing.count() >= MIN_SHARED_CLAUSES
    }

    fn short_reason(&self, clause: &ClauseVerdict) -> String {
        let shared = clause.shared.as_deref().filter(|shared| self.is_shared(shared));
        match shared.and_then(|shared| clause.reason.strip_suffix(shared)) {
            Some("") => "see below".to_owned(),
            Some(own) => match own.strip_suffix(WHILE) {
                Some(own) => format!("{own} while the test was disturbed (see below)"),
                None => format!("{own}see below"),
            },
            None => clause.reason.clone(),
        }
    }
}

/// A value with its unit, which is that of the limit.
pub(super) fn format_with_unit(clause: &Clause, value: f64) -> String {
    match clause.metric {
        Metric::Iops => format!("{} IOPS", clause.show(value)),
        _ => clause.show(value),
    }
}

/// The figure with its interval: `2000 IOPS (95 %: 1950 to 2050)`.
pub(super) fn format_estimate(clause: &Clause, estimate: &Estimate) -> String {
    let show = |value: f64| clause.show(value);
    let value = format_with_unit(clause, estimate.value);
    match estimate.interval() {
        (Some(low), Some(high)) if show(low) == show(high) => value,
        // The lower end of such a wide symmetric interval may be below the fastest operation.
        (Some(low), Some(high)) if clause.side == Side::AtMost && low < 0.5 * estimate.value => {
            format!("{value} (95 %: at most {})", show(high))
        }
        (Some(low), Some(high)) => format!("{value} (95 %: {} to {})", show(low), show(high)),
        (Some(low), None) => format!("{value} (95 %: at least {})", show(low)),
        (None, Some(high)) => format!("{value} (95 %: at most {})", show(high)),
        (None, None) => value,
    }
}

/// The figure with its interval, and its distance from the limit.
pub(super) fn compare(clause: &Clause, estimate: &Estimate) -> String {
    format!(
        "{}: {}",
        format_estimate(clause, estimate),
        distance(clause, estimate.value)
    )
}

/// The figure, and its distance from the limit.
pub(super) fn format_with_distance(clause: &Clause, value: f64) -> String {
    format!("{}: {}", format_with_unit(clause, value), distance(clause, value))
}

/// The distance of a value from its limit: `25 % below the limit`, `2.4 times the limit`.
fn distance(clause: &Clause, value: f64) -> String {
    let target = clause.target;
    let limit = match clause.side {
        Side::AtLeast => "the required rate",
        Side::AtMost => "the limit",
    };
    if clause.show(value) == clause.show(target) || target <= 0.0 {
        return format!("at {limit}");
    }
    let ratio = value / target;
    if ratio >= 2.0 {
        return format!("{} times {limit}", three_digits(ratio));
    }
    if ratio < MIN_STATED_SHARE {
        return match clause.side {
            Side::AtMost => format!("far below {limit}"),
            Side::AtLeast if value <= 0.0 => "no operations".into(),
            Side::AtLeast => format!("almost none of {limit}"),
        };
    }
    let (percent, side) = match ratio < 1.0 {
        true => (100.0 * (1.0 - ratio), "below"),
        false => (100.0 * (ratio - 1.0), "above"),
    };
    let percent = match percent {
        small if small < 0.995 => format!("{small:.2}"),
        middle if middle < 9.95 => format!("{middle:.1}"),
        large => format!("{large:.0}"),
    };
    let tolerance = match clause.tolerance > 0.0 && ratio < 1.0 {
        true => format!(
            " ({} {} passes: {:.0} % tolerance)",
            clause.side.sign(),
            clause.metric.show(clause_limit(clause)),
            100.0 * clause.tolerance
        ),
        false => String::new(),
    };
    format!("{percent} % {side} {limit}{tolerance}")
}

/// The change within the window, after a figure.
pub(super) fn describe_shift(shift: &Shift) -> String {
    let (rate, latency) = (three_digits, |value| Metric::Mean.show(value));
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
        Shift::LatencyDrift { from, to } => format!(
            "; the mean went from {} at the start to {} at the end",
            latency(from),
            latency(to)
        ),
        Shift::Stalls {
            count: 1,
            at,
            longest,
            start_unix_ns,
        } => format!(
            "; one stall of {longest:.1} s at {}",
            format_moment(start_unix_ns, at, 0)
        ),
        Shift::Stalls {
            count,
            at,
            longest,
            start_unix_ns,
        } => format!(
            "; {count} stalls of up to {longest:.1} s, the first at {}",
            format_moment(start_unix_ns, at, 0)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::parse;
    use crate::verdict::estimate::Spread;
    use crate::verdict::{Cause, Outcome, Reason};

    fn expect(clause: &str, value: f64, words: &str) {
        assert_eq!(format_with_distance(&parse(clause).unwrap()[0], value), words);
    }

    #[test]
    fn statements_that_clauses_share_are_printed_once() {
        let clause = |text: &str, reason: &str, shared: &str| ClauseVerdict {
            clause: parse(text).unwrap().remove(0),
            outcome: Outcome::Inconclusive,
            value: None,
            interval: (None, None),
            probability_if_broken: None,
            probability_if_kept: None,
            cause: Some(Cause::Others),
            reason: format!("{reason}{shared}"),
            shared: Some(shared.to_owned()),
            action: Some("stop the others".into()),
            shortfall: Default::default(),
            limitation: None,
        };
        let busy = "other programs used 71 % of all processors";
        let verdict = |clauses| Verdict {
            outcome: Outcome::Inconclusive,
            clauses,
            reasons: Vec::new(),
            notes: Vec::new(),
            untested: None,
        };
        let verdict_of_two = verdict(vec![
            clause("p99<=1ms", "80 % occurred while ", busy),
            clause("mean<=1ms", "45 % occurred while ", busy),
        ]);
        let words = verdict_of_two.describe();
        assert_eq!(
            words.clauses,
            [
                (
                    "80 % occurred while the test was disturbed (see below)".to_owned(),
                    Some("stop the others".to_owned())
                ),
                (
                    "45 % occurred while the test was disturbed (see below)".to_owned(),
                    None
                )
            ]
        );
        assert_eq!(words.shared, [format!("in the disturbed seconds {busy}")]);
        // A single clause contains the statement itself.
        let single = verdict(vec![clause("p99<=1ms", "80 % occurred while ", busy)]);
        assert_eq!(single.describe().clauses[0].0, format!("80 % occurred while {busy}"));
        assert!(single.describe().shared.is_empty());
        // Reasons of the whole test are printed separately.
        let mut of_test = verdict(vec![clause("p99<=1ms", "measured 2 ms; ", "the test was stopped")]);
        of_test.reasons.push(Reason {
            cause: Some(Cause::Interrupted),
            what: "the test was stopped".into(),
        });
        assert_eq!(of_test.describe().clauses[0].0, "measured 2 ms; see below");
        assert!(of_test.describe().shared.is_empty());
    }

    #[test]
    fn a_wide_interval_of_a_latency_has_no_lower_end() {
        let format = |error: f64| {
            let spread = Spread::Student { error, degrees: 29 };
            format_estimate(&parse("mean<=10ms").unwrap()[0], &Estimate { value: 953e3, spread })
        };
        assert_eq!(format(466e3), "953 us (95 %: at most 1.91 ms)");
        assert_eq!(format(50e3), "953 us (95 %: 851 us to 1.06 ms)");
    }

    #[test]
    fn a_figure_states_its_distance_from_the_limit() {
        expect("iops>=2000", 2000.2, "2000 IOPS: at the required rate");
        expect(
            "iops>=9000",
            8950.0,
            "8950 IOPS: 0.56 % below the required rate (>= 8910 passes: 1 % tolerance)",
        );
        expect("iops>=4000", 39_545.0, "39500 IOPS: 9.9 times the required rate");
        expect("iops>=4000", 4100.0, "4100 IOPS: 2.5 % above the required rate");
        expect("p99<=5ms", 4.37e6, "4.37 ms: 13 % below the limit");
        expect("p99<=3ms", 652e3, "652 us: 78 % below the limit");
        expect("p99<=3ms", 1.25e9, "1.25 s: 417 times the limit");
        expect("p99<=3s", 652e3, "652 us: far below the limit");
        expect("iops>=4000", 0.0, "0 IOPS: no operations");
        expect("iops>=4000", 2.0, "2 IOPS: almost none of the required rate");
        expect("mean<=200us", 687e3, "687 us: 3.4 times the limit");
        expect(
            "mbps>=200",
            150e6,
            "150 MB/s: 25 % below the required rate (>= 198 MB/s passes: 1 % tolerance)",
        );
    }
}
