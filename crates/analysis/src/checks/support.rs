//! Checks whether percentiles are reliable: with fewer than ten values beyond it, a percentile is
//! little better than the maximum.

use std::rc::Rc;

use model::finding::{Finding, Severity};
use model::observation::Observation;
use model::plan::{EngineKind, Job};
use model::stats::{Support, support};

use super::{Check, CheckInput};
use crate::identities::{examine_only, find_two_modes};

/// The percentiles that reports show, with their names.
const REPORTED_PERCENTILES: [(f64, &str); 4] = [
    (0.99, "p99"),
    (0.999, "p99.9"),
    (0.9999, "p99.99"),
    (0.99999, "p99.999"),
];

pub(super) const PERCENTILES: Check = Check {
    rules: &["PCT-UNSUPPORTED"],
    about: "Whether there were enough operations for the reported percentiles.",
    detect: |input, findings| {
        for job in input.jobs() {
            for (direction, results) in job.results.directions().iter() {
                let Some(results) = results.as_ref().filter(|results| results.operations > 0) else {
                    continue;
                };
                let is_weak = |fraction: f64| support(fraction, results.operations) == Support::None;
                let Some((fraction, name)) = REPORTED_PERCENTILES[..2]
                    .iter()
                    .find(|(fraction, _)| is_weak(*fraction))
                else {
                    continue;
                };
                let (word, operations) = (direction.word(), results.operations);
                let operations_beyond = (operations as f64 * (1.0 - fraction)).floor();
                let verb = if operations_beyond == 1.0 { "is" } else { "are" };
                let message = format!(
                    "{name} of {word}s: only {operations_beyond:.0} of {operations} operations {verb} beyond it"
                );
                let needed = (10.0 / (1.0 - fraction)).ceil();
                let finding = Finding::new("PCT-UNSUPPORTED", Severity::Note, message).at(&*job.plan.name);
                let finding = finding
                    .why("a percentile with fewer than ten operations beyond it is little better than the maximum");
                let times = needed / operations as f64;
                let longer = match times {
                    ..1.1 => "a little longer".to_owned(),
                    ..9.95 => format!("{times:.1} times as long"),
                    _ => format!("{times:.0} times as long"),
                };
                findings.push(finding.help(format!("measure {longer}, for {needed:.0} {word}s")));
            }
        }
    },
};

pub(super) const MODES: Check = Check {
    rules: &["TWO-MODES"],
    about: "Whether latencies have two modes, such as cache hits and misses, which a mean does not describe.",
    detect: |input, findings| {
        // Operations that waited in a stall are no second kind.
        if !findings.iter().any(|finding| finding.rule == "STALLS") {
            findings.extend(plain_observations(input).flat_map(|seen| find_two_modes(&seen)));
        }
    },
};

pub(super) const FIGURES: Check = Check {
    rules: &["TAIL", "IRQ-SKEW"],
    about: "Whether few operations take much longer than p99, and interrupts load one processor most.",
    detect: |input, findings| {
        findings.extend(plain_observations(input).flat_map(|seen| examine_only(&seen, FIGURES.rules)));
    },
};

/// The observations of jobs without file operations. Several kinds of file operations share a
/// direction, and reports list the kinds separately.
fn plain_observations(input: &CheckInput<'_>) -> impl Iterator<Item = Rc<Observation>> {
    let has_file_workers = |job: &Job| { job.workers.iter() }.any(|worker| worker.engine.kind == EngineKind::Files);
    let observations = input.observations();
    let plain =
        observations.filter(move |(step, job, _)| !has_file_workers(&input.results.plan.steps[*step].jobs[*job]));
    plain.map(|(_, _, seen)| seen)
}

#[cfg(test)]
mod tests {
    use super::super::samples::{self, reads, rules};
    use model::Nanos;

    #[test]
    fn two_modes_of_a_run_are_reported() {
        let mut results = samples::closed_loop(1, 20_000, Nanos::micros(50));
        assert!(!rules(&results).contains(&"TWO-MODES".to_owned()));
        let reads = reads(&mut results.steps[0].jobs[0]);
        reads.total.record_times(5_000_000, 2_000);
        reads.operations += 2_000;
        let what = samples::finding(&results, "TWO-MODES").what;
        assert!(
            what.contains("90.9 % of the reads take about 50") && what.contains("other 9.1 % about 5"),
            "{what}"
        );
    }

    #[test]
    fn a_long_tail_of_a_run_is_reported() {
        let mut results = samples::closed_loop(1, 20_000, Nanos::micros(50));
        assert!(!rules(&results).contains(&"TAIL".to_owned()));
        let reads = reads(&mut results.steps[0].jobs[0]);
        reads.total.record_times(5_000_000, 100);
        reads.operations += 100;
        // Reads are all operations, so the tail is stated once.
        assert_eq!(
            samples::finding(&results, "TAIL").what,
            "p99.9 (5 ms) is 99.8 times p99 (50 us)"
        );
    }

    #[test]
    fn percentiles_of_few_operations_are_weak() {
        for (operations, help) in [
            (999, "measure a little longer"),
            (500, "measure 2.0 times as long"),
            (10, "measure 100 times as long"),
        ] {
            let results = samples::closed_loop(1, operations, Nanos::millis(1));
            let advice = samples::finding(&results, "PCT-UNSUPPORTED").help.expect("advice");
            assert!(advice.starts_with(help), "{advice}");
        }
        let what = samples::finding(&samples::closed_loop(1, 199, Nanos::millis(1)), "PCT-UNSUPPORTED").what;
        assert!(what.ends_with("only 1 of 199 operations is beyond it"), "{what}");
        assert!(!rules(&samples::closed_loop(10, 10_000, Nanos::millis(1))).contains(&"PCT-UNSUPPORTED".to_owned()));
    }
}
