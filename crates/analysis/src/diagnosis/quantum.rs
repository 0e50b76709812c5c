//! Operations are let through in portions.

use model::diagnosis::Answer;
use model::stats::{period, two_modes, variation};

use super::Signature;
use super::sign::{Sign, figure, held};
use super::subject::Subject;

/// Refills of buckets come at least so often, in seconds.
const SLOWEST: f64 = 1.0;
/// How alike the series must be to itself one period later.
const ALIKE: f64 = 0.5;
/// A period is that of the operations themselves within this share of their latency.
const SAME_WAVE: f64 = 0.1;
/// A series that varies by this share between its intervals saws visibly.
const SAWS: f64 = 0.4;
/// One that varies less has no portions at all: its period is that of a queue's own waves.
const SAWS_MIN: f64 = 0.05;

pub(super) const THROTTLE_QUANTUM: Signature = Signature {
    answer: Answer::ThrottleQuantum,
    about: "The series repeats itself (autocorrelation above 0.5) with a period of a second or less, and latencies have two \
            humps: operations that pass, and operations that wait for the next portion.",
    detect,
};

pub(super) fn detect(subject: &Subject<'_>) -> Option<Sign> {
    if subject.fine_secs <= 0.0 || subject.fine_secs > SLOWEST / 2.0 {
        return None;
    }
    let found = period(&subject.fine).filter(|found| found.correlation > ALIKE)?;
    let seconds = found.lag as f64 * subject.fine_secs;
    let latency = subject.observation.total.latency.as_ref();
    let modes = latency
        .and_then(|latency| latency.histogram.as_ref())
        .and_then(two_modes);
    let saws = variation(&subject.fine);
    // Operations of one length come back in waves of that length, whatever lets them through.
    let wave = subject.mean_latency().unwrap_or(0.0) / 1e9;
    if modes.is_none() && (seconds - wave).abs() <= subject.fine_secs.max(SAME_WAVE * wave) {
        return None;
    }
    if seconds > SLOWEST + 1e-9 || saws < if modes.is_some() { SAWS_MIN } else { SAWS } {
        return None;
    }
    let rate = subject.rate()?;
    let sentence = format!(
        "a throttle that lets through {:.0} operations every {seconds:.1} s",
        rate * seconds
    );
    let mut sign = Sign::new(sentence)
        .show(figure("period", seconds, "s"))
        .show(held(
            "autocorrelation at the period",
            found.correlation,
            "",
            ALIKE,
            "chance",
        ))
        .show(figure("variation between intervals", 100.0 * saws, "%"));
    if let Some(modes) = modes {
        sign = sign
            .show(figure("operations that pass", modes.low / 1e6, "ms"))
            .show(figure("operations that wait", modes.high / 1e6, "ms"));
    }
    let limit = format!("it is a limit of about {rate:.0} IOPS: a hypervisor's, or io.max of a control group");
    Some(
        sign.advise(limit)
            .advise("pace the load below the limit: the waits disappear"),
    )
}
