//! More depth does not raise the rate, and no known limit explains it.

use model::diagnosis::Answer;

use super::Signature;
use super::confirm::Verdict;
use super::input::Input;
use super::symptom::{Symptom, latency_vs_one};

/// A latency this many times that of the unloaded device is mostly waiting.
const MIN_LATENCY_GROWTH: f64 = 3.0;

pub(super) const SATURATED: Signature = Signature {
    answer: Answer::Saturated,
    about: "Twice the depth brought no more operations: the added ones only waited; or the queue was full, and the latency \
            is three times that of a single operation. No known limit lies there, and the operations wait in the device.",
    detect,
};

fn detect(input: &Input<'_>) -> Option<Symptom> {
    if !input.has_one_level() || input.waits_above_device() {
        return None;
    }
    let rate = input.rate()?;
    let comparison = input.comparison();
    let symptom = match (comparison, input.context.unloaded_ns) {
        // Waiting operations prove a limit, even if flushes emptied the queue at times or the
        // report does not state a closed loop.
        (Some(comparison), _) => {
            let [same, grown] = comparison.evidence();
            matches!(comparison.verdict, Verdict::Limit | Verdict::Decline)
                .then(|| Symptom {
                    confirmed: Some(true),
                    ..Symptom::default()
                })?
                .with_evidence(same)
                .with_evidence(grown)
        }
        (None, Some(alone)) if input.is_closed_loop() && input.is_queue_full()? => {
            let latency = input.mean_latency()?;
            (latency >= MIN_LATENCY_GROWTH * alone)
                .then(Symptom::default)?
                .with_evidence(latency_vs_one(latency, alone))
        }
        (None, _) => return None,
    };
    let mut sentence =
        format!("the device delivers no more than {rate:.0} IOPS, or an unknown limit in front of it applies");
    if let Some(comparison) = comparison.filter(|comparison| comparison.verdict == Verdict::Decline) {
        sentence += &format!(
            "; at {:.1} times the depth it gave {:.0} % less",
            comparison.depth,
            100.0 * (1.0 - comparison.rate)
        );
    }
    let known = format!("if this is a limit, name it: --cap iops={rate:.0}");
    let symptom = symptom
        .with_advice("reduce the depth: the rate stays the same and latency falls; only a faster device delivers more")
        .with_advice(known);
    Some(Symptom { sentence, ..symptom })
}
