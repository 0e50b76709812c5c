//! The device tidied up after writes.

use model::diagnosis::Answer;
use model::stats::{mean, sample_deviation};

use super::Signature;
use super::sign::{Sign, figure, held};
use super::subject::Subject;

/// A load with fewer writes than this percentage leaves little to tidy up.
const WRITES: f64 = 30.0;
/// The second half is slower than the first by at least this share ...
const SLOWER: f64 = 0.03;
/// ... and varies by that many times ...
const ROUGHER: f64 = 1.5;
/// ... and by this share of its mean.
const ROUGH: f64 = 0.08;
/// Fewest intervals of a half.
const LEAST: usize = 20;

pub(super) const GARBAGE_COLLECTION: Signature = Signature {
    answer: Answer::GarbageCollection,
    about: "Writes become slower and less even: in the second half of the window the mean is lower by 3 % or more, and the \
            variation half as large again as in the first.",
    detect,
};

pub(super) fn detect(subject: &Subject<'_>) -> Option<Sign> {
    if subject.write_percent()? < WRITES
        || subject.fine.len() < 2 * LEAST
        || super::burst::step(subject).is_some_and(|step| super::burst::is_flat(&step.after))
    {
        return None;
    }
    let (first, second) = subject.fine.split_at(subject.fine.len() / 2);
    let [before, after] = [first, second].map(|half| (mean(half), sample_deviation(half)));
    let slower = 1.0 - after.0 / before.0;
    // Where nothing varied before, any variation is more by no known factor.
    let rougher = (before.1 > 0.0).then(|| after.1 / before.1);
    let rough = after.1 / after.0.max(f64::MIN_POSITIVE);
    (slower >= SLOWER && rougher.is_none_or(|rougher| rougher >= ROUGHER) && rough >= ROUGH).then(|| {
        let sentence = format!(
            "the device tidied up after writes: they became {:.0} % slower and varied {}",
            100.0 * slower,
            rougher.map_or("where they had not before".into(), |rougher| format!(
                "{rougher:.1} times as much"
            ))
        );
        Sign::new(sentence)
            .show(held(
                "rate in the second half",
                after.0,
                "IOPS",
                before.0,
                "the first half",
            ))
            .show(held(
                "variation in the second half",
                100.0 * rough,
                "%",
                100.0 * before.1 / before.0.max(f64::MIN_POSITIVE),
                "the first half",
            ))
            .show(figure("writes", subject.write_percent().unwrap_or(0.0), "%"))
            .advise("write the whole device twice first, and measure until the rate is steady")
    })
}
