//! What a signature says when it holds.

use model::diagnosis::Evidence;

/// An answer without its name.
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

    /// Adds a figure.
    pub(super) fn show(mut self, evidence: Evidence) -> Symptom {
        self.evidence.push(evidence);
        self
    }

    pub(super) fn advise(mut self, advice: impl Into<String>) -> Symptom {
        self.advice.push(advice.into());
        self
    }
}

/// A figure on its own.
pub(super) fn figure(what: &str, value: f64, unit: &str) -> Evidence {
    Evidence {
        what: what.into(),
        value,
        unit: unit.into(),
        ..Evidence::default()
    }
}

/// A figure and what it is held against.
pub(super) fn compared(what: &str, value: f64, unit: &str, against: f64, which: &str) -> Evidence {
    Evidence {
        against: Some(against),
        which: which.into(),
        ..figure(what, value, unit)
    }
}
