//! Only the latency of operations limits the rate: a greater depth would raise the rate.

use model::diagnosis::Answer;

use super::Signature;
use super::confirm::Verdict;
use super::input::Input;
use super::symptom::{Symptom, figure, latency_vs_unloaded};
use crate::figures::{format_time, three_digits};

/// Up to this multiple of the unloaded latency, operations hardly wait.
const MAX_LATENCY_GROWTH: f64 = 1.3;

pub(super) const LATENCY_BOUND: Signature = Signature {
    answer: Answer::LatencyBound,
    about: "The queue was full, and twice the depth raised the rate by at least half; or one \
        operation was in flight at a time; or the latency is about that of an unloaded device.",
    detect,
};

fn detect(input: &Input<'_>) -> Option<Symptom> {
    if !input.is_closed_loop() || !input.has_one_level() || is_disturbed(input) || !input.is_queue_full()? {
        return None;
    }
    let depth = input.observation.load.depth?;
    let symptom = match (input.comparison(), input.context.unloaded_ns) {
        (Some(comparison), _) => (comparison.verdict == Verdict::Latency).then(|| comparison.to_symptom())?,
        (None, Some(unloaded_ns)) => {
            let latency = input.mean_latency()?;
            (latency <= MAX_LATENCY_GROWTH * unloaded_ns)
                .then(Symptom::default)?
                .with_evidence(latency_vs_unloaded(latency, unloaded_ns))
        }
        (None, None) => (depth == 1)
            .then(Symptom::default)?
            .with_evidence(figure("depth", 1.0, "")),
    };
    let latency = format_time(input.mean_latency()?);
    let gives = if depth == 1 { "gives" } else { "each give" };
    let sentence = format!(
        "the latency of operations: {depth} in flight at {latency} {gives} {} IOPS",
        three_digits(input.rate()?)
    );
    let symptom = symptom.with_advice("raise the depth or the number of workers for more operations per second");
    Some(Symptom { sentence, ..symptom })
}

/// True if a stall, throttling, garbage collection or another user disturbed the window: the mean
/// latency is then not that of a typical operation.
fn is_disturbed(input: &Input<'_>) -> bool {
    super::stall::detect(input).is_some()
        || super::noisy::detect(input).is_some()
        || super::garbage_collection::detect(input).is_some()
        || super::quantum::detect(input).is_some()
        || super::thermal::detect(input).is_some()
}
