//! A throttle that releases operations in batches.

use model::Nanos;
use model::diagnosis::Answer;
use model::stats::{find_two_modes, period, variation};

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, figure, figure_vs};
use crate::figures::three_digits;

/// Throttles refill at least this often, in seconds.
const MAX_PERIOD_SECONDS: f64 = 1.0;
/// A series with at least this autocorrelation is periodic.
const MIN_AUTOCORRELATION: f64 = 0.5;
/// A period this close to the latency is caused by the operations themselves.
const LATENCY_TOLERANCE: f64 = 0.1;
/// Minimum variation between intervals.
const MIN_VARIATION: f64 = 0.4;
/// The same minimum if latencies have two modes. Waves in the queue explain a lower variation.
const MIN_VARIATION_WITH_MODES: f64 = 0.05;

pub(super) const THROTTLE_QUANTUM: Signature = Signature {
    answer: Answer::ThrottleQuantum,
    about: "The series is periodic (autocorrelation above 0.5) with a period of at most a second, \
        and its intervals vary by 40 %, or by 5 % if latencies have two modes: operations that \
        pass, and operations that wait for the next refill.",
    detect,
};

pub(super) fn detect(input: &Input<'_>) -> Option<Symptom> {
    if input.interval_secs <= 0.0 || input.interval_secs > MAX_PERIOD_SECONDS / 2.0 {
        return None;
    }
    let cycle = period(&input.interval_rates).filter(|cycle| cycle.correlation > MIN_AUTOCORRELATION)?;
    let seconds = cycle.lag as f64 * input.interval_secs;
    let latency = input.observation.total.latency.as_ref();
    let modes = latency
        .and_then(|latency| latency.histogram.as_ref())
        .and_then(find_two_modes);
    let varies = variation(&input.interval_rates);
    // Operations of equal latency complete in waves one latency apart even without a throttle.
    let wave = input.mean_latency().unwrap_or(0.0) / 1e9;
    if modes.is_none() && (seconds - wave).abs() <= input.interval_secs.max(LATENCY_TOLERANCE * wave) {
        return None;
    }
    if seconds > MAX_PERIOD_SECONDS + 1e-9
        || varies
            < if modes.is_some() {
                MIN_VARIATION_WITH_MODES
            } else {
                MIN_VARIATION
            }
    {
        return None;
    }
    let rate = input.rate()?;
    let sentence = format!(
        "a throttle that passes {:.0} operations every {}",
        rate * seconds,
        Nanos((seconds * 1e9) as u64)
    );
    let mut symptom = Symptom::new(sentence)
        .with_evidence(figure("period", seconds, "s"))
        .with_evidence(figure_vs(
            "autocorrelation at the period",
            cycle.correlation,
            "",
            MIN_AUTOCORRELATION,
            "minimum for this answer",
        ))
        .with_evidence(figure("variation between intervals", 100.0 * varies, "%"));
    if let Some(modes) = modes {
        symptom = symptom
            .with_evidence(figure("operations that pass", modes.low / 1e6, "ms"))
            .with_evidence(figure("operations that wait", modes.high / 1e6, "ms"));
    }
    let limit = format!(
        "look for a limit of about {} IOPS: in the hypervisor, or `io.max` of a control group",
        three_digits(rate)
    );
    Some(
        symptom
            .with_advice(limit)
            .with_advice("pace the load below the limit: the waits disappear"),
    )
}
