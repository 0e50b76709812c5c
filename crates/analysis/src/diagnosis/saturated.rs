//! More depth brings no more, and no known limit explains it.

use model::diagnosis::Answer;

use super::Signature;
use super::confirm::Verdict;
use super::sign::{Sign, held};
use super::subject::Subject;

/// A latency so many times that of an unloaded device is mostly waiting.
const WAITS: f64 = 3.0;

pub(super) const SATURATED: Signature = Signature {
    answer: Answer::Saturated,
    about: "The queue was full, and twice the depth brought no more operations and twice the latency; or the latency is \
            three times that of a single operation. No known limit lies there, and the operations wait in the device.",
    look,
};

fn look(subject: &Subject<'_>) -> Option<Sign> {
    if !subject.is_closed_loop() || !subject.is_level() || subject.waits_above() || !subject.queue_is_full()? {
        return None;
    }
    let rate = subject.rate()?;
    let sign = match (subject.comparison(), subject.context.unloaded_ns) {
        (Some(comparison), _) => {
            let [same, grown] = comparison.evidence();
            (comparison.verdict == Verdict::Limit)
                .then(|| Sign {
                    confirmed: Some(true),
                    ..Sign::default()
                })?
                .show(same)
                .show(grown)
        }
        (None, Some(alone)) => {
            let latency = subject.mean_latency()?;
            (latency >= WAITS * alone).then(Sign::default)?.show(held(
                "mean latency",
                latency / 1e6,
                "ms",
                alone / 1e6,
                "one operation at a time",
            ))
        }
        (None, None) => return None,
    };
    let sentence =
        format!("the device gives no more than {rate:.0} IOPS, or something before it with a limit nobody has named");
    let known = format!("if this is a limit, name it: --cap iops={rate:.0}");
    let sign = sign
        .advise("less depth gives the same rate at less latency; only a faster device gives more")
        .advise(known);
    Some(Sign { sentence, ..sign })
}
