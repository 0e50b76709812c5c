//! Saved-up credits ran out.

use model::diagnosis::Answer;
use model::stats::Segment;

use super::Signature;
use super::bounds::rate;
use super::context::{Counts, KnownBurst};
use super::input::Input;
use super::slc;
use super::symptom::{Symptom, compared, figure};

/// The step is at least this share of the level before it.
const STEP: f64 = 0.10;
/// Baselines of credits are this flat.
const FLAT: f64 = 0.015;
/// Or this flat: variance by mean of the operations per second. Tokens have nearly none, service
/// has about one.
const REGULAR: f64 = 0.1;
/// A bucket is that of the catalogue within this share.
const SAME_BUCKET: f64 = 0.15;
/// A level is that of the catalogue within this share.
const SAME_LEVEL: f64 = 0.05;

pub(super) const BURST_END: Signature = Signature {
    answer: Answer::BurstEnd,
    about: "After one step down the rate is as flat as only an allowance is (variation below 1.5 %), or both levels are those \
            of credits that the layer is known to have. Bucket = (level before − level after) × time before.",
    detect,
};

/// One step down, with what lies around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) before: Segment,
    pub(super) after: Segment,
    /// When it came, in seconds from the first operation, warm-up included.
    pub(super) at: f64,
}

/// The step of a series with two levels, the second lower.
pub(super) fn step(subject: &Input<'_>) -> Option<Step> {
    let [before, after] = subject.segments[..] else {
        return None;
    };
    // The step lies within a second, which belongs to neither level.
    let after = Segment::new(&subject.seconds, after.start + 1, after.end);
    let warm_up = subject.observation.load.warm_up_ns.map_or(0.0, |time| time.as_secs());
    (after.mean < before.mean * (1.0 - STEP)).then(|| Step {
        before,
        after,
        at: warm_up + (after.start - 1) as f64,
    })
}

/// A level at which something lets through so much and no more.
pub(super) fn is_flat(level: &Segment) -> bool {
    level.variation() < FLAT || level.deviation.powi(2) < REGULAR * level.mean
}

fn detect(subject: &Input<'_>) -> Option<Symptom> {
    let step = step(subject)?;
    let bucket = (step.before.mean - step.after.mean) * step.at;
    let known = known(subject, &step, bucket);
    // Without known credits, writes that slow down after an amount of bytes filled a cache, unless
    // another rate refutes it.
    if known.is_none() && (!is_flat(&step.after) || slc::detect(subject).is_some()) {
        return None;
    }
    let refill = bucket / step.after.mean.max(f64::MIN_POSITIVE);
    let fell = format!(
        "the rate fell from {:.0} to {:.0} IOPS after {:.0} s of load, warm-up included",
        step.before.mean, step.after.mean, step.at
    );
    let sentence = match known {
        Some(burst) => {
            let full = in_operations(subject, burst);
            let was_full = match bucket < full * (1.0 - SAME_BUCKET) {
                true => format!(" (the bucket was not full: {bucket:.0} of {full:.0} operations)"),
                false => String::new(),
            };
            format!(
                "the credits of {} ran out{was_full}: {fell}; the lower rate lasts",
                burst.layer
            )
        }
        None if subject.write_percent().is_some_and(|percent| percent > 99.0) => {
            format!("{fell}, and stayed flat, as when credits run out or a write cache is full; the lower rate lasts")
        }
        None => format!("{fell}, and stayed flat, as when credits run out; the lower rate lasts"),
    };
    let mut sign = Symptom::new(sentence)
        .show(figure("level before", step.before.mean, "IOPS"))
        .show(figure("level after", step.after.mean, "IOPS"))
        .show(compared(
            "variation after",
            100.0 * step.after.variation(),
            "%",
            100.0 * FLAT,
            "an allowance",
        ))
        .show(match known {
            Some(burst) => compared(
                "credits used, at least",
                bucket,
                "operations",
                in_operations(subject, burst),
                &burst.layer,
            ),
            None => figure("credits used, at least", bucket, "operations"),
        })
        .show(figure("full again after, without load", refill, "s"));
    sign.layer = known.map(|burst| burst.layer.clone());
    Some(
        sign.advise(format!(
            "credits are full again after about {} without any load",
            time(refill)
        ))
        .advise("to judge the disk, measure after the step; to judge what a short peak gets, before it"),
    )
}

/// Credits whose levels are these, and whose bucket could have been emptied by so much.
fn known<'a>(subject: &'a Input<'_>, step: &Step, bucket: f64) -> Option<&'a KnownBurst> {
    subject.context.bursts.iter().find(|burst| {
        let factor = in_operations(subject, burst) / burst.bucket;
        let (ceiling, refill) = (burst.ceiling * factor, burst.refill * factor);
        // A bucket need not have been full, and the load need not have reached the ceiling.
        (step.after.mean / refill - 1.0).abs() <= SAME_LEVEL
            && step.before.mean <= ceiling * (1.0 + SAME_LEVEL)
            && bucket <= burst.bucket * factor * (1.0 + SAME_BUCKET)
    })
}

/// The bucket in operations of this load.
fn in_operations(subject: &Input<'_>, burst: &KnownBurst) -> f64 {
    let observation = subject.observation;
    let length = || Some(observation.total.bytes_per_sec? / rate(observation)?);
    match burst.counts {
        Counts::Operations => burst.bucket,
        Counts::Bytes => burst.bucket / length().filter(|length| *length > 0.0).unwrap_or(f64::NAN),
    }
}

/// A time in words.
fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds if seconds < 7200.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}
