//! Operations that had not completed when the measured window ended. No figure contains them, so a
//! target that hangs at the end looks fast.

use model::Nanos;
use model::finding::{Finding, Severity};

use super::{Check, JobView};
use crate::figures::count;

/// An operation is reported if it is older than this multiple of the mean latency.
const MIN_LATENCIES: f64 = 10.0;
/// Younger operations are not worth a warning.
const MIN_AGE: Nanos = Nanos::millis(100);

pub(super) const UNFINISHED: Check = Check {
    rules: &["UNFINISHED"],
    about: "Operations that were still waiting when the measured window ended, for longer than any that completed.",
    detect: |input, findings| findings.extend(input.jobs().filter_map(|job| find_unfinished(&job))),
};

fn find_unfinished(job: &JobView<'_>) -> Option<Finding> {
    let total = job.results.total();
    let (ages, completed) = (total.unfinished.as_ref()?, total.latency());
    let oldest = Nanos(ages.max());
    let is_hang = oldest >= MIN_AGE && oldest.0 > completed.max();
    if !is_hang || oldest.0 as f64 <= MIN_LATENCIES * completed.mean() {
        return None;
    }
    let message = format!(
        "{} had not completed when the measured window ended, the oldest after {oldest}",
        count(ages.n(), "operation")
    );
    let finding = Finding::new("UNFINISHED", Severity::Warning, message).at(&*job.plan.name);
    let why = format!("no latency of this report contains them: the maximum is at least {oldest}");
    let help = "measure for longer with --time, so that the window contains the end of this stall";
    Some(finding.why(why).help(help))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, rules};
    use model::Nanos;
    use model::histogram::Histogram;
    use model::results::Results;

    /// A full queue of 32 whose device hung for the last fifth of the second, with 32 operations of
    /// this age at the end.
    fn hung(age: Nanos) -> Results {
        let mut results = samples::closed_loop(32, 25_600, Nanos::millis(1));
        let reads = samples::reads(&mut results.steps[0].jobs[0]);
        let mut ages = Histogram::new();
        ages.record_times(age.0, 32);
        (reads.unfinished, reads.unfinished_ns) = (Some(ages), Nanos(32 * age.0));
        results
    }

    #[test]
    fn a_hang_at_the_end_is_reported_and_fills_the_queue() {
        let results = hung(Nanos::millis(200));
        let found = samples::finding(&results, "UNFINISHED");
        assert_eq!(
            found.what,
            "32 operations had not completed when the measured window ended, the oldest after 200 ms"
        );
        assert!(found.why.expect("a reason").ends_with("at least 200 ms"));
        let rules = rules(&results);
        assert!(!rules.contains(&"QD-NOT-ACHIEVED".to_owned()), "{rules:?}");
        assert!(!rules.contains(&"LITTLE-MISMATCH".to_owned()), "{rules:?}");
    }

    #[test]
    fn operations_of_a_usual_age_are_silent() {
        let rules = rules(&hung(Nanos::millis(2)));
        assert!(!rules.contains(&"UNFINISHED".to_owned()), "{rules:?}");
        // Two milliseconds do not explain a queue that was empty for a fifth of the time.
        assert!(rules.contains(&"QD-NOT-ACHIEVED".to_owned()), "{rules:?}");
    }

    /// Operations in flight at the end add at most what the queue holds.
    #[test]
    fn unfinished_operations_never_exceed_the_depth() {
        let mut results = hung(Nanos::millis(900));
        let in_flight = results.steps[0].jobs[0].in_flight().expect("measured");
        assert_eq!(in_flight.average, 32.0);
        samples::reads(&mut results.steps[0].jobs[0]).unfinished_ns = Nanos(0);
        let in_flight = results.steps[0].jobs[0].in_flight().expect("measured");
        assert!((in_flight.average - 25.6).abs() < 1e-9, "{}", in_flight.average);
    }
}
