//! How far percentiles can be trusted: a percentile with fewer than ten values beyond it is hardly more than the maximum.

use model::finding::{Finding, Severity};
use model::stats::{Support, support};

use super::Check;

/// The percentiles that reports show, with their names.
const SHOWN: [(f64, &str); 4] = [
    (0.99, "p99"),
    (0.999, "p99.9"),
    (0.9999, "p99.99"),
    (0.99999, "p99.999"),
];

pub(super) const PERCENTILES: Check = Check {
    rules: &["PCT-UNSUPPORTED"],
    about: "Whether there were enough operations for the percentiles that people read.",
    look: |subject, findings| {
        for job in subject.jobs() {
            for (direction, found) in job.results.directions().iter() {
                let Some(found) = found.as_ref().filter(|found| found.operations > 0) else {
                    continue;
                };
                let weak = |fraction: f64| support(fraction, found.operations) == Support::None;
                let Some((fraction, name)) = SHOWN[..2].iter().find(|(fraction, _)| weak(*fraction)) else {
                    continue;
                };
                let (word, operations) = (direction.word(), found.operations);
                let what = format!("{operations} {word} operations are too few for {name}");
                let needed = (10.0 / (1.0 - fraction)).ceil();
                let finding = Finding::new("PCT-UNSUPPORTED", Severity::Note, what).at(&*job.plan.name);
                let finding =
                    finding.why("fewer than ten of them lie beyond it, so it says hardly more than the maximum");
                findings.push(finding.help(format!("measure for longer: {needed:.0} operations are needed")));
            }
        }
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples::{self, rules};
    use model::Nanos;

    #[test]
    fn few_operations_make_weak_percentiles() {
        assert!(rules(&samples::closed_loop(1, 999, Nanos::millis(1))).contains(&"PCT-UNSUPPORTED".to_owned()));
        assert!(!rules(&samples::closed_loop(10, 10_000, Nanos::millis(1))).contains(&"PCT-UNSUPPORTED".to_owned()));
    }
}
