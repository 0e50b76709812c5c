//! Detects garbage collection: writes in the second half are slower and less even than in the
//! first.

use model::diagnosis::Answer;
use model::stats::{mean, sample_deviation};

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, figure, figure_vs};

/// Minimum percentage of writes. Fewer writes leave little garbage.
const MIN_WRITE_PERCENT: f64 = 30.0;
/// Minimum fall of the mean from the first to the second half, as a share.
const MIN_SLOWDOWN: f64 = 0.03;
/// Minimum growth of the standard deviation from the first to the second half, as a factor.
const MIN_VARIATION_GROWTH: f64 = 1.5;
/// Minimum standard deviation of the second half, as a share of its mean.
const MIN_VARIATION: f64 = 0.08;
/// Minimum number of intervals in each half.
const MIN_INTERVALS: usize = 20;

pub(super) const GARBAGE_COLLECTION: Signature = Signature {
    answer: Answer::GarbageCollection,
    about: "Writes become slower and less even: in the second half of the window, the mean is at least 3 % lower \
        and the standard deviation at least 1.5 times as high as in the first half.",
    detect,
};

pub(super) fn detect(input: &Input<'_>) -> Option<Symptom> {
    if input.write_percent()? < MIN_WRITE_PERCENT
        || input.interval_rates.len() < 2 * MIN_INTERVALS
        || super::burst::find_step_down(input).is_some_and(|fall| super::burst::is_flat(&fall.after))
    {
        return None;
    }
    let (first, second) = input.interval_rates.split_at(input.interval_rates.len() / 2);
    let [before, after] = [first, second].map(|half| (mean(half), sample_deviation(half)));
    let slowdown = 1.0 - after.0 / before.0;
    // If the first half did not vary, the growth has no finite factor.
    let growth = (before.1 > 0.0).then(|| after.1 / before.1);
    let variation = after.1 / after.0.max(f64::MIN_POSITIVE);
    (slowdown >= MIN_SLOWDOWN
        && growth.is_none_or(|growth| growth >= MIN_VARIATION_GROWTH)
        && variation >= MIN_VARIATION)
        .then(|| {
            let sentence = format!(
                "garbage collection in the device: writes became {:.0} % slower and varied {}",
                100.0 * slowdown,
                growth.map_or("although they had not varied before".into(), |growth| format!(
                    "{growth:.1} times as much"
                ))
            );
            Symptom::new(sentence)
                .with_evidence(figure_vs(
                    "rate in the second half",
                    after.0,
                    "IOPS",
                    before.0,
                    "the first half",
                ))
                .with_evidence(figure_vs(
                    "variation in the second half",
                    100.0 * variation,
                    "%",
                    100.0 * before.1 / before.0.max(f64::MIN_POSITIVE),
                    "the first half",
                ))
                .with_evidence(figure("writes", input.write_percent().unwrap_or(0.0), "%"))
                .with_advice("write the whole device twice first, and measure until the rate is steady")
        })
}
