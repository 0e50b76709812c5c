//! Nothing but the time of an operation limits: more depth would bring more.

use model::diagnosis::Answer;

use super::Signature;
use super::confirm::Verdict;
use super::input::Input;
use super::symptom::{Symptom, compared, figure};

/// A latency below that many times that of an unloaded device has hardly any waiting in it.
const HARDLY_WAITS: f64 = 1.3;

pub(super) const LATENCY_BOUND: Signature = Signature {
    answer: Answer::LatencyBound,
    about: "The queue was full, and twice the depth brought at least half as much again; or one operation was in flight at a \
            time; or the latency is about that of an unloaded device.",
    detect,
};

fn detect(subject: &Input<'_>) -> Option<Symptom> {
    if !subject.is_closed_loop() || !subject.is_level() || has_stalls_or_dips(subject) || !subject.queue_is_full()? {
        return None;
    }
    let depth = subject.observation.load.depth?;
    let sign = match (subject.comparison(), subject.context.unloaded_ns) {
        (Some(comparison), _) => {
            let [same, grown] = comparison.evidence();
            (comparison.verdict == Verdict::Latency)
                .then(|| Symptom {
                    confirmed: Some(true),
                    ..Symptom::default()
                })?
                .show(same)
                .show(grown)
        }
        (None, Some(alone)) => {
            let latency = subject.mean_latency()?;
            (latency <= HARDLY_WAITS * alone).then(Symptom::default)?.show(compared(
                "mean latency",
                latency / 1e6,
                "ms",
                alone / 1e6,
                "one operation at a time",
            ))
        }
        (None, None) => (depth == 1).then(Symptom::default)?.show(figure("depth", 1.0, "")),
    };
    let latency = subject.mean_latency()? / 1e6;
    let sentence = format!(
        "the time of an operation: {depth} in flight at {latency:.3} ms each are {:.0} IOPS",
        subject.rate()?
    );
    let sign = sign.advise("more depth or more workers bring more operations per second");
    Some(Symptom { sentence, ..sign })
}

/// Something else happened in the window, so its mean says nothing about a single operation.
fn has_stalls_or_dips(subject: &Input<'_>) -> bool {
    super::stall::detect(subject).is_some()
        || super::noisy::detect(subject).is_some()
        || super::collection::detect(subject).is_some()
        || super::quantum::detect(subject).is_some()
        || super::thermal::detect(subject).is_some()
}
