//! Garbage collection: writes of the second half are slower and less even than those of the first.

use model::diagnosis::Answer;
use model::stats::{mean, sample_deviation};

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, compared, figure};

/// Fewer writes than this, in percent, leave little garbage to collect.
const MIN_WRITE_PERCENT: f64 = 30.0;
/// The mean of the second half must be lower than that of the first by this share.
const MIN_SLOWDOWN: f64 = 0.03;
/// The standard deviation of the second half must be this many times that of the first.
const MIN_VARIATION_GROWTH: f64 = 1.5;
/// The standard deviation of the second half must be at least this share of its mean.
const MIN_VARIATION: f64 = 0.08;
/// Fewer intervals in a half prove nothing.
const MIN_INTERVALS: usize = 20;

pub(super) const GARBAGE_COLLECTION: Signature = Signature {
    answer: Answer::GarbageCollection,
    about: "Writes become slower and less even: in the second half of the window the mean is lower by 3 % or more, and the \
            variation half as large again as in the first.",
    detect,
};

pub(super) fn detect(subject: &Input<'_>) -> Option<Symptom> {
    if subject.write_percent()? < MIN_WRITE_PERCENT
        || subject.fine.len() < 2 * MIN_INTERVALS
        || super::burst::step(subject).is_some_and(|step| super::burst::is_flat(&step.after))
    {
        return None;
    }
    let (first, second) = subject.fine.split_at(subject.fine.len() / 2);
    let [before, after] = [first, second].map(|half| (mean(half), sample_deviation(half)));
    let slowdown = 1.0 - after.0 / before.0;
    // Where nothing varied before, any variation is more by no known factor.
    let growth = (before.1 > 0.0).then(|| after.1 / before.1);
    let variation = after.1 / after.0.max(f64::MIN_POSITIVE);
    (slowdown >= MIN_SLOWDOWN
        && growth.is_none_or(|growth| growth >= MIN_VARIATION_GROWTH)
        && variation >= MIN_VARIATION)
        .then(|| {
            let sentence = format!(
                "garbage collection in the device: writes became {:.0} % slower and varied {}",
                100.0 * slowdown,
                growth.map_or("where they had not before".into(), |growth| format!(
                    "{growth:.1} times as much"
                ))
            );
            Symptom::new(sentence)
                .show(compared(
                    "rate in the second half",
                    after.0,
                    "IOPS",
                    before.0,
                    "the first half",
                ))
                .show(compared(
                    "variation in the second half",
                    100.0 * variation,
                    "%",
                    100.0 * before.1 / before.0.max(f64::MIN_POSITIVE),
                    "the first half",
                ))
                .show(figure("writes", subject.write_percent().unwrap_or(0.0), "%"))
                .advise("write the whole device twice first, and measure until the rate is steady")
        })
}
