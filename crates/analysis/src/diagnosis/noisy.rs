//! Somebody else used the same storage.

use model::diagnosis::Answer;
use model::stats::{median, period};

use super::Signature;
use super::sign::{Sign, figure, held};
use super::subject::Subject;

/// A dip lies below this share of the usual rate ...
const DIP: f64 = 0.80;
/// ... and so many deviations of the usual noise below it.
const BEYOND_NOISE: f64 = 4.0;
/// One dip may be anything.
const FEWEST: usize = 2;
/// The usual rate is that of most seconds.
const MOST: f64 = 0.5;

pub(super) const NOISY: Signature = Signature {
    answer: Answer::Noisy,
    about: "The rate dips below 80 % of its usual level now and then, at no regular distance, without stopping, and comes \
            back each time.",
    look,
};

pub(super) fn look(subject: &Subject<'_>) -> Option<Sign> {
    let seconds = &subject.seconds;
    if seconds.len() < 20 {
        return None;
    }
    let usual = usual(seconds);
    let floor = (DIP * usual.0).min(usual.0 - BEYOND_NOISE * usual.1);
    let low = |value: &f64| *value < floor;
    let dips = seconds
        .chunk_by(|a, b| low(a) == low(b))
        .filter(|run| low(&run[0]) && run.iter().any(|value| *value > 0.0));
    let (count, length) = dips.fold((0, 0), |(count, length), run| (count + 1, length + run.len()));
    let share = length as f64 / seconds.len() as f64;
    let comes_back = seconds.last().is_some_and(|last| !low(last)) || subject.is_level();
    if count < FEWEST || share > MOST || period(seconds).is_some() || !comes_back || sinks(seconds, floor) {
        return None;
    }
    let sentence = format!("others used the same storage: {count} dips below {floor:.0} IOPS, at no regular distance");
    Some(
        Sign::new(sentence)
            .show(figure("usual rate", usual.0, "IOPS"))
            .show(held("dips", count as f64, "", FEWEST as f64, "chance"))
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
fn sinks(seconds: &[f64], floor: f64) -> bool {
    let calm: Vec<f64> = seconds.iter().copied().filter(|value| *value >= floor).collect();
    super::thermal::decline(&calm).is_some_and(|lost| lost > 0.05)
}
