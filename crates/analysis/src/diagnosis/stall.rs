//! Detects stalls: times in which the storage completed nothing.

use model::diagnosis::Answer;

use super::Signature;
use super::input::Input;
use super::symptom::{Symptom, figure, figure_vs};
use crate::attribution::{Attribution, Fault, MissedSecond, is_simulated};
use crate::figures::describe_stalls;

/// Minimum number of operations that are usual in an interval. With fewer, an interval may be empty
/// by chance.
const MIN_EXPECTED_OPERATIONS: f64 = 5.0;
/// Minimum length of a stall in seconds. A single empty interval may be a gap between batches of
/// completions.
const MIN_STALL_SECS: f64 = 0.2;
/// Minimum length of a stall as a multiple of the median latency.
const MIN_MEDIAN_LATENCIES: f64 = 5.0;

pub(super) const STALL: Signature = Signature {
    answer: Answer::Stall,
    about: "No operation completed for at least 0.2 s and five median latencies, although five or more per interval \
        are usual. Seconds in which a paced load was issued late although slots were free do not count.",
    detect,
};

pub(super) fn detect(input: &Input<'_>) -> Option<Symptom> {
    let mut stalls = find_stalls(input);
    if let Some(attribution) = Attribution::new(input.observation, None) {
        stalls.retain(|stall| !is_generator_pause(&attribution, *stall));
    }
    let longest = stalls.iter().map(|stall| stall.1).max_by(f64::total_cmp)?;
    let all: f64 = stalls.iter().map(|stall| stall.1).sum();
    let span = input.interval_rates.len() as f64 * input.interval_secs;
    let stalled = describe_stalls(input.observation.started_unix_ns, &stalls, span);
    let symptom = Symptom::new(format!("nothing completed {stalled}"))
        .with_evidence(figure("longest stall", longest, "s"))
        .with_evidence(figure("stalls", stalls.len() as f64, ""))
        .with_evidence(figure_vs(
            "time in stalls",
            100.0 * all / span,
            "%",
            0.0,
            "a healthy device",
        ));
    Some(match is_simulated(input.observation) {
        true => symptom,
        false => symptom.with_advice("check the system log at these times for resets, path changes and snapshots"),
    })
}

/// Start and length of each stall in seconds, whether the storage or the host caused it.
pub(super) fn find_stalls(input: &Input<'_>) -> Vec<(f64, f64)> {
    let usual_operations = model::stats::median(&input.interval_rates) * input.interval_secs;
    let latency = input
        .observation
        .total
        .latency
        .as_ref()
        .and_then(|latency| latency.quantile(0.5));
    let shortest = (MIN_MEDIAN_LATENCIES * latency.unwrap_or(0.0) / 1e9).max(MIN_STALL_SECS);
    let mut stalls = Vec::new();
    if usual_operations < MIN_EXPECTED_OPERATIONS {
        return stalls;
    }
    let mut at = 0;
    for run in input.interval_rates.chunk_by(|a, b| (*a == 0.0) == (*b == 0.0)) {
        let length = run.len() as f64 * input.interval_secs;
        if run[0] == 0.0 && length >= shortest - 1e-9 {
            stalls.push((at as f64 * input.interval_secs, length));
        }
        at += run.len();
    }
    stalls
}

/// True if the host issued most of the operations missing in the stall late or never. Then the host
/// paused, not the storage.
fn is_generator_pause(attribution: &Attribution, (start, length): (f64, f64)) -> bool {
    let (mut storage, mut others) = (0.0, 0.0);
    let touches = |missed: &&MissedSecond| missed.at < start + length && missed.at + 1.0 > start;
    for missed in attribution.missed.iter().filter(touches) {
        match missed.fault {
            Fault::Storage | Fault::OtherIo => storage += missed.operations,
            Fault::Generator | Fault::OtherCpu => others += missed.operations,
        }
    }
    others > storage
}
