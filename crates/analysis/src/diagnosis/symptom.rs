//! What a signature reports when it matches.

use model::diagnosis::Evidence;

/// The sentence, evidence and advice for an answer. The signature holds the answer itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Symptom {
    pub(super) sentence: String,
    pub(super) layer: Option<String>,
    pub(super) share: Option<f64>,
    pub(super) confirmed: Option<bool>,
    pub(super) evidence: Vec<Evidence>,
    pub(super) advice: Vec<String>,
}

impl Symptom {
    pub(super) fn new(sentence: String) -> Symptom {
        Symptom {
            sentence,
            ..Symptom::default()
        }
    }

    pub(super) fn with_evidence(mut self, evidence: Evidence) -> Symptom {
        self.evidence.push(evidence);
        self
    }

    pub(super) fn with_advice(mut self, advice: impl Into<String>) -> Symptom {
        self.advice.push(advice.into());
        self
    }
}

/// Evidence that is a single figure.
pub(super) fn figure(what: &str, value: f64, unit: &str) -> Evidence {
    Evidence {
        what: what.into(),
        value,
        unit: unit.into(),
        ..Evidence::default()
    }
}

/// Evidence that compares a figure with the reference value `against`; `which` names the reference.
pub(super) fn figure_vs(what: &str, value: f64, unit: &str, against: f64, which: &str) -> Evidence {
    Evidence {
        against: Some(against),
        which: which.into(),
        ..figure(what, value, unit)
    }
}

/// Evidence that compares the mean latency with the latency at depth 1 (`unloaded`), both in
/// nanoseconds.
pub(super) fn latency_vs_unloaded(latency: f64, unloaded: f64) -> Evidence {
    figure_vs(
        "mean latency",
        latency / 1e6,
        "ms",
        unloaded / 1e6,
        "one operation at a time",
    )
}
