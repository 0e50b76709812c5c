//! Burst credits ran out.

use model::diagnosis::Answer;
use model::observation::Observation;
use model::stats::Segment;

use super::Signature;
use super::bounds::total_iops;
use super::context::{Context, Counts, KnownBurst};
use super::input::Input;
use super::slc;
use super::symptom::{Symptom, figure, figure_vs};
use crate::figures::three_digits;

/// Minimum drop at the step, as a share of the level before it.
const MIN_DROP: f64 = 0.10;
/// Minimum length of a level in the warm-up.
const MIN_WARM_UP_LEVEL_SECONDS: usize = 3;
/// An enforced baseline varies by less than this.
const MAX_FLAT_VARIATION: f64 = 0.015;
/// Alternatively, its variance divided by its mean is below this: token buckets are near 0, real
/// service near 1.
const MAX_FLAT_DISPERSION: f64 = 0.1;
/// Margin of the advised warm-up after the step, because a fuller bucket lasts longer.
const MIN_SECONDS_AFTER_STEP: f64 = 10.0;
/// Tolerances for matching a bucket and a level with known credits.
const BUCKET_TOLERANCE: f64 = 0.15;
const LEVEL_TOLERANCE: f64 = 0.05;

/// Part of the description of a fall that the measured window does not show.
pub(super) const IN_WARM_UP: &str = "into the warm-up";

pub(super) const BURST_END: Signature = Signature {
    answer: Answer::BurstEnd,
    about: "The rate has one step down. Afterwards it is as flat as an enforced rate (variation \
        below 1.5 %), or both levels match known credits of the layer. Bucket = (level before − \
        level after) × time before.",
    detect,
};

/// A drop of the rate, with the levels before and after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepDown {
    pub(super) before: Segment,
    pub(super) after: Segment,
    /// Seconds from the first operation, warm-up included.
    pub(super) at: f64,
}

/// A fall of the rate within the measured window to a constant one, as when credits run out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ConstantFall {
    /// Operations per second before it.
    pub(crate) from: f64,
    /// Operations per second after it.
    pub(crate) to: f64,
    /// Start of the lower rate, in seconds of the window.
    pub(crate) at: f64,
    /// The lower rate varies too little to be the service of a device.
    pub(crate) is_enforced: bool,
}

/// Finds the only change of the rate, if it is a fall to a constant one.
pub(crate) fn find_constant_fall(observation: &Observation) -> Option<ConstantFall> {
    let context = Context::default();
    let step = find_step_down(&Input::new(observation, &[], &context))?;
    is_flat(&step.after).then(|| ConstantFall {
        from: step.before.mean,
        to: step.after.mean,
        at: step.before.end as f64,
        is_enforced: has_enforced_dispersion(&step.after),
    })
}

/// Finds the step in a series with exactly two levels, the second lower. The first may have ended
/// within the warm-up.
pub(super) fn find_step_down(input: &Input<'_>) -> Option<StepDown> {
    let [before, after] = input.levels[..] else {
        return find_step_in_warm_up(input);
    };
    // The second in which the step occurs belongs to neither level.
    let after = Segment::new(&input.rates_by_second, after.start + 1, after.end);
    let warm_up = input.observation.load.warm_up_ns.map_or(0.0, |time| time.as_secs());
    (after.mean < before.mean * (1.0 - MIN_DROP)).then(|| StepDown {
        before,
        after,
        at: warm_up + (after.start - 1) as f64,
    })
}

/// Finds a level of the warm-up above the level of the whole window.
fn find_step_in_warm_up(input: &Input<'_>) -> Option<StepDown> {
    let warm_up = &input.context.warm_up_rates;
    let after = input.levels.first().filter(|_| input.has_one_level())?;
    let is_above = |rate: &&f64| after.mean < **rate * (1.0 - MIN_DROP);
    let length = warm_up.iter().take_while(is_above).count();
    if length <= MIN_WARM_UP_LEVEL_SECONDS || warm_up[length..].iter().any(|rate| is_above(&rate)) {
        return None;
    }
    // The last second may have parts of both levels.
    let full_seconds = length - 1;
    let before = Segment::new(warm_up, 0, full_seconds);
    let rest = (warm_up[full_seconds] - after.mean) / (before.mean - after.mean);
    Some(StepDown {
        before,
        after: *after,
        at: full_seconds as f64 + rest.min(1.0),
    })
}

/// True if the level is flat enough to be an enforced rate.
pub(super) fn is_flat(level: &Segment) -> bool {
    level.variation() < MAX_FLAT_VARIATION || has_enforced_dispersion(level)
}

fn has_enforced_dispersion(level: &Segment) -> bool {
    level.deviation.powi(2) < MAX_FLAT_DISPERSION * level.mean
}

/// Describes a step of the rate. As in charts and verdicts, times count from the start of the
/// measured window.
pub(super) fn describe_fall(input: &Input<'_>, step: &StepDown) -> String {
    let warm_up = input.observation.load.warm_up_ns.map_or(0.0, |time| time.as_secs());
    let when = match step.at < warm_up {
        true => format!("{:.0} s {IN_WARM_UP}", step.at),
        false => format!("{:.0} s into the measured window", step.at - warm_up),
    };
    format!(
        "the rate fell from {} to {} IOPS {when}",
        three_digits(step.before.mean),
        three_digits(step.after.mean),
    )
}

fn detect(input: &Input<'_>) -> Option<Symptom> {
    let step = find_step_down(input)?;
    let bucket = (step.before.mean - step.after.mean) * step.at;
    let burst = find_burst(input, &step, bucket);
    // Without known credits, a step of a write load is more likely a full cache: that signature
    // takes precedence.
    if burst.is_none() && (!is_flat(&step.after) || slc::detect(input).is_some()) {
        return None;
    }
    let refill_secs = bucket / step.after.mean.max(f64::MIN_POSITIVE);
    let fell = describe_fall(input, &step);
    let sentence = match burst {
        Some(burst) => {
            let full = bucket_in_operations(input, burst);
            let was_full = match bucket < full * (1.0 - BUCKET_TOLERANCE) {
                true => format!(" (the bucket was not full: {bucket:.0} of {full:.0} operations)"),
                false => String::new(),
            };
            format!(
                "the credits of {} ran out{was_full}: {fell}; only the lower rate can be sustained",
                burst.layer
            )
        }
        None if input.write_percent().is_some_and(|percent| percent > 99.0) => {
            format!(
                "{fell}, and stayed constant, as when credits run out (also possible: a full write cache); only the \
                 lower rate can be sustained"
            )
        }
        None => format!("{fell}, and stayed constant, as when credits run out; only the lower rate can be sustained"),
    };
    let mut symptom = Symptom::new(sentence)
        .with_evidence(figure("level before", step.before.mean, "IOPS"))
        .with_evidence(figure("level after", step.after.mean, "IOPS"))
        .with_evidence(figure_vs(
            "variation after",
            100.0 * step.after.variation(),
            "%",
            100.0 * MAX_FLAT_VARIATION,
            "an enforced rate",
        ))
        .with_evidence(match burst {
            Some(burst) => figure_vs(
                "credits used, at least",
                bucket,
                "operations",
                bucket_in_operations(input, burst),
                &burst.layer,
            ),
            None => figure("operations beyond the lower rate", bucket, "operations"),
        });
    if let Some(burst) = burst {
        symptom = symptom.with_evidence(figure("full again after, without load", refill_secs, "s"));
        symptom.layer = Some(burst.layer.clone());
    }
    let limit_name = if burst.is_some() {
        "credits"
    } else {
        "credits, if this is the cause,"
    };
    Some(
        symptom
            .with_advice(match fell.contains(IN_WARM_UP) {
                true => {
                    "to judge short peaks, measure before the step; this window shows the sustained rate".to_owned()
                }
                false => format!(
                    "to judge the sustained rate, measure after the step, with {} s of warm-up; to judge short peaks, \
                     measure before it",
                    warm_up_beyond(step.at)
                ),
            })
            .with_advice(format!(
                "{limit_name} are full again after about {} without load",
                format_duration(refill_secs)
            )),
    )
}

/// Advises a warm-up that contains a step: seconds, rounded up to tens.
pub(crate) fn warm_up_beyond(step_secs: f64) -> u64 {
    10 * ((step_secs + MIN_SECONDS_AFTER_STEP) / 10.0).ceil() as u64
}

/// Finds known credits with these levels and a bucket that this load could have emptied.
fn find_burst<'a>(input: &'a Input<'_>, step: &StepDown, bucket: f64) -> Option<&'a KnownBurst> {
    input.context.bursts.iter().find(|burst| {
        let factor = bucket_in_operations(input, burst) / burst.bucket;
        let (ceiling, refill) = (burst.ceiling * factor, burst.refill * factor);
        // The bucket may have started partly full, and the load below the ceiling.
        (step.after.mean / refill - 1.0).abs() <= LEVEL_TOLERANCE
            && step.before.mean <= ceiling * (1.0 + LEVEL_TOLERANCE)
            && bucket <= burst.bucket * factor * (1.0 + BUCKET_TOLERANCE)
    })
}

/// The bucket size, converted to operations of this load.
fn bucket_in_operations(input: &Input<'_>, burst: &KnownBurst) -> f64 {
    let observation = input.observation;
    let length = || Some(observation.total.bytes_per_sec? / total_iops(observation)?);
    match burst.counts {
        Counts::Operations => burst.bucket,
        Counts::Bytes => burst.bucket / length().filter(|length| *length > 0.0).unwrap_or(f64::NAN),
    }
}

fn format_duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        // Rounded, 119.5 min would be 120.
        seconds if seconds < 119.5 * 60.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}
