//! Another user shared the storage.

use model::diagnosis::Answer;
use model::stats::{median, period};

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, compared, figure};

/// A dip lies below this share of the usual rate ...
const DIP: f64 = 0.80;
/// ... and that many deviations of the usual noise below it.
const BEYOND_NOISE: f64 = 4.0;
/// One dip may be anything.
const MIN_DIPS: usize = 2;
/// Seconds after which a dip is a level of its own.
const LASTING: usize = 10;
/// The usual rate is that of most seconds.
const MAJORITY: f64 = 0.5;

pub(super) const NOISY: Signature = Signature {
    answer: Answer::Noisy,
    about: "The rate dips below 80 % of its usual level now and then, at no regular distance, without stopping, and comes \
            back each time.",
    detect,
};

pub(super) fn detect(subject: &Input<'_>) -> Option<Symptom> {
    let seconds = &subject.seconds;
    if seconds.len() < 20 {
        return None;
    }
    let usual = usual(seconds);
    let floor = (DIP * usual.0).min(usual.0 - BEYOND_NOISE * usual.1);
    // A second in which everything stood still is a stall, not a neighbour.
    let stalls = super::stall::stalls(subject);
    let stood = |second: usize| {
        let (from, to) = (second as f64, second as f64 + 1.0);
        stalls
            .iter()
            .any(|(start, length)| *start < to && start + length > from)
    };
    let low: Vec<bool> = seconds
        .iter()
        .enumerate()
        .map(|(second, value)| *value < floor && !stood(second))
        .collect();
    let dips = low.chunk_by(|a, b| a == b).filter(|run| run[0]);
    let (count, length) = dips.fold((0, 0), |(count, length), run| (count + 1, length + run.len()));
    let share = length as f64 / seconds.len() as f64;
    // A dip that lasts to the end is a new level rather than a visit.
    let comes_back = low.iter().rev().take_while(|low| **low).count() < LASTING;
    if count < MIN_DIPS || share > MAJORITY || period(seconds).is_some() || !comes_back || sinks(subject, floor) {
        return None;
    }
    let sentence = format!("others used the same storage: {count} dips below {floor:.0} IOPS, at no regular distance");
    Some(
        Symptom::new(sentence)
            .show(figure("usual rate", usual.0, "IOPS"))
            .show(compared("dips", count as f64, "", MIN_DIPS as f64, "chance"))
            .show(figure("time in dips", 100.0 * share, "%"))
            .advise("repeat at another time of day: dips at other moments prove it")
            .advise("judge percentiles over several runs, not one mean"),
    )
}

/// Level and noise of the seconds without dips: the upper half around its median.
fn usual(seconds: &[f64]) -> (f64, f64) {
    let first = median(seconds);
    let calm: Vec<f64> = seconds.iter().copied().filter(|value| *value >= DIP * first).collect();
    let level = median(&calm);
    let distances: Vec<f64> = calm.iter().map(|value| (value - level).abs()).collect();
    (level, 1.4826 * median(&distances))
}

/// Seconds without dips become slower too: that is the device's own doing.
fn sinks(subject: &Input<'_>, floor: f64) -> bool {
    // What a paced load catches up after a dip is no level.
    let asked = subject.observation.load.rate_iops.unwrap_or(f64::INFINITY);
    let calm = subject.seconds.iter().filter(|value| **value >= floor);
    let calm: Vec<f64> = calm.map(|value| value.min(asked)).collect();
    super::thermal::decline(&calm).is_some_and(|lost| lost > 0.05)
}
