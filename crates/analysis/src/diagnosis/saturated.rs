//! More depth brings no more, and no known limit explains it.

use model::diagnosis::Answer;

use super::Signature;
use super::confirm::Verdict;
use super::input::Input;
use super::symptom::{Symptom, compared};

/// A latency this many times that of the unloaded device is mostly waiting.
const MIN_LATENCY_GROWTH: f64 = 3.0;

pub(super) const SATURATED: Signature = Signature {
    answer: Answer::Saturated,
    about: "Twice the depth brought no more operations: the added ones only waited; or the queue was full, and the latency \
            is three times that of a single operation. No known limit lies there, and the operations wait in the device.",
    detect,
};

fn detect(subject: &Input<'_>) -> Option<Symptom> {
    if !subject.is_level() || subject.waits_above() {
        return None;
    }
    let rate = subject.rate()?;
    let comparison = subject.comparison();
    let sign = match (comparison, subject.context.unloaded_ns) {
        // Operations that wait for one another show a limit by themselves, whether or not flushes
        // emptied the queue at times and whether or not a report says that the loop was closed.
        (Some(comparison), _) => {
            let [same, grown] = comparison.evidence();
            matches!(comparison.verdict, Verdict::Limit | Verdict::Decline)
                .then(|| Symptom {
                    confirmed: Some(true),
                    ..Symptom::default()
                })?
                .show(same)
                .show(grown)
        }
        (None, Some(alone)) if subject.is_closed_loop() && subject.queue_is_full()? => {
            let latency = subject.mean_latency()?;
            (latency >= MIN_LATENCY_GROWTH * alone)
                .then(Symptom::default)?
                .show(compared(
                    "mean latency",
                    latency / 1e6,
                    "ms",
                    alone / 1e6,
                    "one operation at a time",
                ))
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
    let sign = sign
        .advise("reduce the depth: the rate stays the same and latency falls; only a faster device delivers more")
        .advise(known);
    Some(Symptom { sentence, ..sign })
}
