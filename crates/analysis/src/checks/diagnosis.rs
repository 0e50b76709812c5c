//! Reports a clear limit of a load: see [`crate::diagnosis`].

use super::Check;

pub(super) const DIAGNOSIS: Check = Check {
    rules: &[
        "D-CAP", "D-CPU", "D-BURST-END", "D-SLC-CLIFF", "D-THROTTLE-QUANTUM", "D-THERMAL", "D-GC", "D-NOISY", "D-STALL",
    ],
    about: "What limited a job, if the system's limits or the series show it clearly.",
    detect: |input, findings| {
        for (step, job, observation) in input.observations() {
            findings.extend(crate::diagnosis::diagnosis_finding(
                input.results,
                (step, job),
                &observation,
            ));
        }
    },
};
