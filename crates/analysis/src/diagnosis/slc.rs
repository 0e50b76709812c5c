//! The fast part of a flash disk was full.

use model::diagnosis::Answer;

use super::Signature;
use super::burst::{Step, is_flat, step};
use super::input::Input;
use super::symptom::{Symptom, compared, figure};

/// Cliffs are steep: this share of the level is lost.
const CLIFF: f64 = 0.25;
/// And come at once: what lies within this many seconds of the step has the levels of its sides.
const SIDES: usize = 5;
const SHARP: f64 = 0.25;
/// The same amount within this share.
const SAME: f64 = 0.15;

pub(super) const SLC_CLIFF: Signature = Signature {
    answer: Answer::SlcCliff,
    about: "A load of writes alone loses a quarter or more of its rate in one sharp step, where no credits are known (unknown \
            ones look the same if the level after it is flat); or a run at another rate has the step after the same number \
            of bytes.",
    detect,
};

pub(super) fn detect(subject: &Input<'_>) -> Option<Symptom> {
    let step = step(subject)?;
    let at_the_same_bytes = same_bytes(subject, &step);
    let writes_alone = subject.write_percent()? > 99.0;
    let steep = step.after.mean < step.before.mean * (1.0 - CLIFF) && is_sharp(subject, &step);
    if !writes_alone || !steep || at_the_same_bytes == Some(false) {
        return None;
    }
    let bytes = bytes_before(subject, &step)?;
    // At another rate, a full cache and spent credits show at different times.
    let or_credits = match at_the_same_bytes.is_none() && is_flat(&step.after) {
        true => ", or credits ran out",
        false => "",
    };
    let sentence = format!(
        "the fast memory for writes was full after {:.1} GB{or_credits}: the rate fell from {:.0} to {:.0} IOPS",
        bytes / 1e9,
        step.before.mean,
        step.after.mean
    );
    let mut sign = Symptom::new(sentence)
        .show(figure("level before", step.before.mean, "IOPS"))
        .show(figure("level after", step.after.mean, "IOPS"))
        .show(figure("variation after", 100.0 * step.after.variation(), "%"));
    sign = match at_other_rate(subject) {
        Some((other, ..)) => sign.show(compared(
            "written before the step",
            bytes / 1e9,
            "GB",
            other / 1e9,
            "at the other rate",
        )),
        None => sign.show(figure("written before the step", bytes / 1e9, "GB")),
    };
    if at_the_same_bytes.is_none() {
        sign = sign.advise(
            "repeat at half the rate: the step comes after the same number of bytes if it is a cache, and not if credits \
             ran out",
        );
    }
    Some(sign.advise(
        "what counts for long writes is the second level; the cache is free again after a while without writes",
    ))
}

/// Whether the step came after the same number of bytes at another rate: `None` without such a run,
/// or where that run did not write so much.
fn same_bytes(subject: &Input<'_>, step: &Step) -> Option<bool> {
    let bytes = bytes_before(subject, step)?;
    let (at_step, written, stepped) = at_other_rate(subject)?;
    if stepped {
        return Some((at_step / bytes - 1.0).abs() <= SAME);
    }
    // It wrote more and had no step: bytes are not what counts.
    (written > bytes * (1.0 + SAME)).then_some(false)
}

/// Bytes before the step in the other run (all of them, if there was none), bytes of that run, and
/// whether it had one.
fn at_other_rate(subject: &Input<'_>) -> Option<(f64, f64, bool)> {
    let other = Input::new(subject.context.other_rate?, &[], &super::Context::default()).summary()?;
    Some(other)
}

fn bytes_before(subject: &Input<'_>, step: &Step) -> Option<f64> {
    Some(step.before.mean * step.at * subject.bytes_each()?)
}

impl Input<'_> {
    fn bytes_each(&self) -> Option<f64> {
        let each = self.observation.total.bytes_per_sec? / self.rate()?;
        (each > 0.0).then_some(each)
    }

    fn summary(&self) -> Option<(f64, f64, bool)> {
        let written = self.observation.total.bytes.map(|bytes| bytes.0 as f64);
        let written = written.or_else(|| Some(self.observation.total.bytes_per_sec? * self.seconds.len() as f64))?;
        match step(self) {
            Some(step) => Some((bytes_before(self, &step)?, written, true)),
            None => Some((written, written, false)),
        }
    }
}

fn is_sharp(subject: &Input<'_>, step: &Step) -> bool {
    let at = step.after.start;
    let mean = |values: &[f64]| model::stats::mean(values);
    let before = mean(&subject.seconds[step.before.end.saturating_sub(SIDES)..step.before.end]);
    let after = mean(&subject.seconds[at..(at + SIDES).min(subject.seconds.len())]);
    let height = step.before.mean - step.after.mean;
    before - after >= (1.0 - SHARP) * height
}
