//! The SLC write cache of a flash disk was full.

use model::diagnosis::Answer;

use super::Signature;
use super::burst::{IN_WARM_UP, StepDown, describe_fall, find_step_down, is_flat, warm_up_beyond};
use super::input::Input;
use super::symptom::{Symptom, figure, figure_vs};

/// Minimum drop at the step, as a share of the level before it.
const MIN_DROP: f64 = 0.25;
/// Seconds on each side of the step that must already be at the two levels, ...
const SIDE_SECONDS: usize = 5;
const MAX_BLUR: f64 = 0.25;
/// Byte counts within this share count as equal.
const BYTES_TOLERANCE: f64 = 0.15;

pub(super) const SLC_CLIFF: Signature = Signature {
    answer: Answer::SlcCliff,
    about: "A write-only load loses at least a quarter of its rate in one sharp step, and no credits are known \
        (unknown credits look the same if the level after the step is flat); or a run at another rate has the step \
        after the same number of bytes.",
    detect,
};

pub(super) fn detect(input: &Input<'_>) -> Option<Symptom> {
    let step = find_step_down(input)?;
    let at_the_same_bytes = is_at_same_bytes(input, &step);
    let writes_alone = input.write_percent()? > 99.0;
    let steep = step.after.mean < step.before.mean * (1.0 - MIN_DROP) && is_sharp(input, &step);
    if !writes_alone || !steep || at_the_same_bytes == Some(false) {
        return None;
    }
    let bytes = bytes_before(input, &step)?;
    // Only a run at another rate distinguishes a full cache from exhausted credits.
    let or_credits = match at_the_same_bytes.is_none() && is_flat(&step.after) {
        true => "; also possible: credits ran out",
        false => "",
    };
    let sentence = format!(
        "the write cache was full after {:.1} GB: {}{or_credits}",
        bytes / 1e9,
        describe_fall(input, &step)
    );
    let mut symptom = Symptom::new(sentence)
        .with_evidence(figure("level before", step.before.mean, "IOPS"))
        .with_evidence(figure("level after", step.after.mean, "IOPS"))
        .with_evidence(figure("variation after", 100.0 * step.after.variation(), "%"));
    symptom = match other_run_summary(input) {
        Some((other, ..)) => symptom.with_evidence(figure_vs(
            "written before the step",
            bytes / 1e9,
            "GB",
            other / 1e9,
            "at the other rate",
        )),
        None => symptom.with_evidence(figure("written before the step", bytes / 1e9, "GB")),
    };
    if at_the_same_bytes.is_none() {
        symptom = symptom.with_advice(
            "repeat at half the rate: if a cache was full, the step comes after the same number of bytes; if credits \
             ran out, it does not",
        );
    }
    let measure = match symptom.sentence.contains(IN_WARM_UP) {
        true => String::new(),
        false => format!(": measure it with {} s of warm-up", warm_up_beyond(step.at)),
    };
    Some(symptom.with_advice(format!(
        "judge long writes by the second level{measure}; the cache empties after some time without writes"
    )))
}

/// True if the step came after the same number of bytes at another rate; `None` without such a run,
/// or if it wrote too little.
fn is_at_same_bytes(input: &Input<'_>, step: &StepDown) -> Option<bool> {
    let bytes = bytes_before(input, step)?;
    let (at_step, written, stepped) = other_run_summary(input)?;
    if stepped {
        return Some((at_step / bytes - 1.0).abs() <= BYTES_TOLERANCE);
    }
    // The other run wrote more without a step, so the byte count is not the cause.
    (written > bytes * (1.0 + BYTES_TOLERANCE)).then_some(false)
}

/// Summary of the run at another rate: bytes before its step (all if none), all bytes, and whether
/// it had a step.
fn other_run_summary(input: &Input<'_>) -> Option<(f64, f64, bool)> {
    let other_input = Input::new(input.context.other_rate?, &[], &super::Context::default()).bytes_at_step()?;
    Some(other_input)
}

fn bytes_before(input: &Input<'_>, step: &StepDown) -> Option<f64> {
    Some(step.before.mean * step.at * input.bytes_per_operation()?)
}

impl Input<'_> {
    fn bytes_per_operation(&self) -> Option<f64> {
        let bytes = self.observation.total.bytes_per_sec? / self.rate()?;
        (bytes > 0.0).then_some(bytes)
    }

    fn bytes_at_step(&self) -> Option<(f64, f64, bool)> {
        let written = self.observation.total.bytes.map(|bytes| bytes.0 as f64);
        let written =
            written.or_else(|| Some(self.observation.total.bytes_per_sec? * self.rates_by_second.len() as f64))?;
        match find_step_down(self) {
            Some(step) => Some((bytes_before(self, &step)?, written, true)),
            None => Some((written, written, false)),
        }
    }
}

fn is_sharp(input: &Input<'_>, step: &StepDown) -> bool {
    let mean = |values: &[f64]| model::stats::mean(values);
    // A step in the warm-up has its first level there, and its second has its own count of seconds.
    let is_in_warm_up = step.before.end > step.after.start;
    let (rates, at) = match is_in_warm_up {
        // The second of the step has parts of both levels.
        true => (&input.context.warm_up_rates, step.before.end + 1),
        false => (&input.rates_by_second, step.after.start),
    };
    let before = mean(&rates[step.before.end.saturating_sub(SIDE_SECONDS)..step.before.end]);
    let after = match rates.get(at..(at + SIDE_SECONDS).min(rates.len())) {
        Some(after) if !after.is_empty() => mean(after),
        _ => step.after.mean,
    };
    let height = step.before.mean - step.after.mean;
    before - after >= (1.0 - MAX_BLUR) * height
}
