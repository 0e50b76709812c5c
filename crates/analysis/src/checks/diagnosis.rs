//! Reports a clear limit of a load: see [`crate::diagnosis`].

use model::finding::Finding;

use super::Check;

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
            findings.extend(found);
        }
    },
};

#[cfg(test)]
mod tests {
    use super::super::samples;
    use crate::diagnosis::{Context, TWICE_THE_DEPTH};
    use model::Nanos;

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
