//! Reports a conspicuous limit of a load: see [`crate::diagnosis`].

use super::Check;

pub(super) const DIAGNOSIS: Check = Check {
    rules: &[
        "D-CAP", "D-CPU", "D-BURST-END", "D-SLC-CLIFF", "D-THROTTLE-QUANTUM", "D-THERMAL", "D-GC", "D-NOISY", "D-STALL",
    ],
    about: "What limited a job, where the system's own limits or the series tell it beyond doubt.",
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
