//! The report of a matching signature.

use model::diagnosis::Evidence;

/// An answer, without its name.
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

/// A figure without a reference value.
pub(super) fn figure(what: &str, value: f64, unit: &str) -> Evidence {
    Evidence {
        what: what.into(),
        value,
        unit: unit.into(),
        ..Evidence::default()
    }
}

/// A figure with the reference value it is compared with.
pub(super) fn figure_vs(what: &str, value: f64, unit: &str, against: f64, which: &str) -> Evidence {
    Evidence {
        against: Some(against),
        which: which.into(),
        ..figure(what, value, unit)
    }
}

/// The mean latency, with that of one operation at a time as reference, both in nanoseconds.
pub(super) fn latency_vs_one(latency: f64, alone: f64) -> Evidence {
    figure_vs(
        "mean latency",
        latency / 1e6,
        "ms",
        alone / 1e6,
        "one operation at a time",
    )
}
