//! Reports a clear limit of a load: see [`crate::diagnosis`].

use model::finding::{Finding, Severity};

use super::Check;

/// Causes of a fall within the measured window.
const CAUSES_OF_FALL: [&str; 2] = ["D-BURST-END", "D-SLC-CLIFF"];
/// Findings about the same fall, which its cause replaces.
const SYMPTOMS_OF_FALL: [&str; 3] = ["NOT-STEADY", "CHANGEPOINT", "TWO-MODES"];

pub(super) const DIAGNOSIS: Check = Check {
    rules: &[
        "D-CAP", "D-CPU", "D-BURST-END", "D-SLC-CLIFF", "D-THROTTLE-QUANTUM", "D-THERMAL", "D-GC", "D-NOISY", "D-STALL",
    ],
    about: "What limited a job, if the system's limits or the series show it clearly.",
    detect: |input, findings| {
        for (step, job, observation) in input.observations() {
            let found = crate::diagnosis::diagnosis_finding(input.results, (step, job), &observation);
            // STALLS reports the same times.
            let is_stated = |finding: &Finding| {
                let mut stalls = findings.iter().filter(|stated| stated.rule == "STALLS");
                finding.rule == "D-STALL" && stalls.any(|stated| stated.at == finding.at)
            };
            let found = found.filter(|finding| !is_stated(finding));
            let is_fall =
                |finding: &&Finding| finding.severity == Severity::Warning && CAUSES_OF_FALL.contains(&&*finding.rule);
            if let Some(cause) = found.as_ref().filter(is_fall) {
                findings.retain(|stated| stated.at != cause.at || !SYMPTOMS_OF_FALL.contains(&&*stated.rule));
            }
            findings.extend(found);
        }
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples;
    use crate::diagnosis::{Context, TWICE_THE_DEPTH};
    use model::Nanos;
    use model::plan::{Stop, TargetId, Workload};
    use model::testing::assert_contains;

    /// The step, the drift and the two latencies are one event.
    #[test]
    fn credits_that_run_out_are_one_finding() {
        let rates: Vec<u64> = (0..600).map(|n| if n < 300 { 600 } else { 300 }).collect();
        let time = Nanos::secs(60);
        let mut workload = Workload::new("job", vec![TargetId(0)], Stop::after(time));
        workload.depth = 8;
        let results = samples::with_series(&workload, time, &rates);
        let found = samples::rules(&results);
        let is_about_fall = |rule: &&String| {
            [&super::CAUSES_OF_FALL[..], &super::SYMPTOMS_OF_FALL[..]]
                .concat()
                .contains(&rule.as_str())
        };
        let about_fall: Vec<&String> = found.iter().filter(is_about_fall).collect();
        assert_eq!(about_fall, ["D-BURST-END"], "{found:?}");
        let finding = samples::finding(&results, "D-BURST-END");
        assert_contains(&finding.what, "from 6000 to 3000 IOPS 30 s into the measured window");
        assert_contains(&finding.help.unwrap(), "with 40 s of warm-up");
    }

    #[test]
    fn a_repeated_job_shows_that_twice_the_depth_was_tried() {
        let mut results = samples::closed_loop(10, 10_000, Nanos::millis(1));
        assert!(!Context::for_job(&results, 0, 0).tried_twice_the_depth);
        let mut repetition = results.plan.steps[0].clone();
        repetition.jobs[0].name += TWICE_THE_DEPTH;
        results.plan.steps.push(repetition);
        assert!([0, 1].map(|step| Context::for_job(&results, step, 0).tried_twice_the_depth) == [true; 2]);
    }
}
