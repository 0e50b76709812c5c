//! A throttle that releases operations in portions.

use model::diagnosis::Answer;
use model::stats::{period, two_modes, variation};

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, compared, figure};

/// Throttles refill at least this often, in seconds.
const MAX_PERIOD_SECONDS: f64 = 1.0;
/// Autocorrelation from which the series counts as periodic.
const MIN_AUTOCORRELATION: f64 = 0.5;
/// Within this share of the latency, the period is that of the operations themselves.
const LATENCY_TOLERANCE: f64 = 0.1;
/// Variation between intervals from which a series shows portions.
const MIN_VARIATION: f64 = 0.4;
/// The same where latencies have two modes. Below it, the period is that of waves in the queue.
const MIN_VARIATION_WITH_MODES: f64 = 0.05;

pub(super) const THROTTLE_QUANTUM: Signature = Signature {
    answer: Answer::ThrottleQuantum,
    about: "The series repeats itself (autocorrelation above 0.5) with a period of a second or less, and latencies have two \
            humps: operations that pass, and operations that wait for the next portion.",
    detect,
};

pub(super) fn detect(subject: &Input<'_>) -> Option<Symptom> {
    if subject.fine_secs <= 0.0 || subject.fine_secs > MAX_PERIOD_SECONDS / 2.0 {
        return None;
    }
    let found = period(&subject.fine).filter(|found| found.correlation > MIN_AUTOCORRELATION)?;
    let seconds = found.lag as f64 * subject.fine_secs;
    let latency = subject.observation.total.latency.as_ref();
    let modes = latency
        .and_then(|latency| latency.histogram.as_ref())
        .and_then(two_modes);
    let varies = variation(&subject.fine);
    // Operations of equal latency complete in waves one latency apart, even without a throttle.
    let wave = subject.mean_latency().unwrap_or(0.0) / 1e9;
    if modes.is_none() && (seconds - wave).abs() <= subject.fine_secs.max(LATENCY_TOLERANCE * wave) {
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
    let rate = subject.rate()?;
    let sentence = format!(
        "a throttle that lets through {:.0} operations every {seconds:.1} s",
        rate * seconds
    );
    let mut sign = Symptom::new(sentence)
        .show(figure("period", seconds, "s"))
        .show(compared(
            "autocorrelation at the period",
            found.correlation,
            "",
            MIN_AUTOCORRELATION,
            "chance",
        ))
        .show(figure("variation between intervals", 100.0 * varies, "%"));
    if let Some(modes) = modes {
        sign = sign
            .show(figure("operations that pass", modes.low / 1e6, "ms"))
            .show(figure("operations that wait", modes.high / 1e6, "ms"));
    }
    let limit = format!("look for a limit of about {rate:.0} IOPS: in the hypervisor, or `io.max` of a control group");
    Some(
        sign.advise(limit)
            .advise("pace the load below the limit: the waits disappear"),
    )
}
