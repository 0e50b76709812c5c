//! Finds what limited a load: one answer, with the figures as evidence.
//!
//! [`SIGNATURES`] are tried in order of the reliability of their sources. The first match is the
//! answer; later matches become remarks. The order is:
//!
//! 1. counters of the layer that enforces a limit;
//! 2. the processors and the generator, because no other figure is valid if these were the limit;
//! 3. known limits;
//! 4. the comparison of two depths;
//! 5. the shape of the series.
//!
//! Missing or contradictory figures give `UNDETERMINED`, never a guess. `docs/diagnosis.md`
//! describes the rules and their sources.

mod bounds;
mod burst;
mod cap;
mod cgroup_limits;
mod confirm;
mod context;
mod drift;
mod findings;
mod garbage_collection;
mod generator;
mod input;
mod latency;
mod network;
mod noisy;
mod other_programs;
mod processor;
mod provider;
mod quantum;
mod queue;
mod saturated;
mod slc;
mod stall;
mod symptom;
mod thermal;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use model::observation::Observation;

pub(crate) use bounds::{Bound, bounds, layer_bounds};
pub(crate) use burst::{ConstantFall, find_constant_fall, warm_up_beyond};
pub use cgroup_limits::cgroup_layers;
pub use confirm::{Comparison, Verdict, compare};
pub use context::{Context, Counts, KnownBurst, Network, Question, TWICE_THE_DEPTH, Temperature};
pub(crate) use findings::diagnosis_finding;
pub use model::diagnosis::{Answer, Diagnosis, DiagnosisNote, Evidence, JobDiagnosis, LayerUse};
pub use noisy::find_dips;

use crate::caps::LimitLayer;
use crate::figures::{count, format_time, three_digits};
use input::Input;
use symptom::Symptom;

/// A possible limit of a load, with the function that detects it.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The answer if it matches.
    pub answer: Answer,
    /// A description of the evidence that it requires.
    pub about: &'static str,
    detect: fn(&Input<'_>) -> Option<Symptom>,
}

/// All signatures, in the order in which they are tried.
pub const SIGNATURES: &[Signature] = &[
    provider::PROVIDER,
    processor::BUSY_PROCESSORS,
    generator::GENERATOR,
    processor::PROCESSOR,
    other_programs::OTHER_PROGRAMS,
    other_programs::OTHER_IO,
    cap::CAP,
    saturated::SATURATED,
    latency::LATENCY_BOUND,
    queue::QUEUE_ABOVE,
    network::NETWORK,
    burst::BURST_END,
    slc::SLC_CLIFF,
    quantum::THROTTLE_QUANTUM,
    thermal::THERMAL,
    garbage_collection::GARBAGE_COLLECTION,
    noisy::NOISY,
    stall::STALL,
    drift::DRIFT,
];

/// Finds what limited this load.
pub fn diagnose(observation: &Observation, layers: &[LimitLayer], context: &Context<'_>) -> Diagnosis {
    let input = Input::new(observation, layers, context);
    let mut symptoms = SIGNATURES
        .iter()
        .filter_map(|signature| Some((signature.answer, (signature.detect)(&input)?)));
    let first = symptoms.next();
    let mut also: Vec<DiagnosisNote> = symptoms
        .filter(|(answer, _)| first.as_ref().is_none_or(|(taken, _)| answer != taken))
        .map(|(answer, symptom)| note(answer.rule(), symptom.sentence))
        .collect();
    also.extend(cap::exceeded_limits(&input));
    also.extend(input.contradictions());
    let (answer, symptom) = first
        .or_else(|| Some((Answer::Cap, cap::detect_requested_rate(&input)?)))
        .unwrap_or_else(|| (Answer::Undetermined, describe_undetermined(&input)));
    let mut evidence = symptom.evidence;
    input.add_basic_evidence(&mut evidence);
    Diagnosis {
        answer,
        sentence: symptom.sentence,
        layer: symptom.layer,
        share: symptom.share,
        // If there was a second run but the signature did not use it, the answer is unconfirmed.
        confirmed: symptom.confirmed.or_else(|| input.comparison().map(|_| false)),
        evidence,
        layers: bounds::layer_uses(&input.bounds),
        also,
        missing: input.missing_inputs(),
        advice: symptom.advice,
    }
}

fn note(rule: &str, what: String) -> DiagnosisNote {
    DiagnosisNote {
        rule: rule.to_owned(),
        what,
    }
}

/// Describes what is known if no signature matches, and advises the next measurement.
fn describe_undetermined(input: &Input<'_>) -> Symptom {
    if let Some((from, to, at)) = input.first_and_last_level() {
        let verb = if to < from { "fell" } else { "rose" };
        let sentence = format!(
            "the rate {verb} from {} to {} IOPS after {at:.0} s, but these figures do not show why",
            three_digits(from),
            three_digits(to)
        );
        let help = match to < from {
            true => {
                "repeat at half the rate and compare when the rate falls: that distinguishes burst credits from a write cache"
            }
            false => "warm up longer: a cache was filling, or the device was waking up",
        };
        return Symptom::new(sentence).with_advice(help);
    }
    if let Some(comparison) = input.comparison() {
        let sentence = format!(
            "{:.1} times the depth changed the rate by {:+.0} % and multiplied the latency by {:.1}",
            comparison.depth,
            100.0 * (comparison.rate - 1.0),
            comparison.latency
        );
        if !comparison.queue_grew {
            return Symptom::new(
                sentence + ": the operations in flight did not grow with the depth, so the comparison shows no limit",
            )
            .with_advice(
                "use more workers, each with a smaller queue depth, or an asynchronous engine, until the whole depth is in flight",
            );
        }
        return Symptom::new(sentence + ": the rate still grows, but much less than the depth")
            .with_advice("find the knee, which is near this depth: `fathom sweep TARGET --over depth=1..64`");
    }
    if let (Question::MissedLatency, Some(rate), Some(latency)) =
        (input.context.question, input.rate(), input.mean_latency())
    {
        let sentence = format!(
            "at {} IOPS, the storage took {} for each operation on average, and no known limit explains that",
            three_digits(rate),
            format_time(latency)
        );
        return Symptom::new(sentence).with_advice(
            "find the load that this storage serves with a shorter latency: `fathom sweep TARGET --over depth=1..64`",
        );
    }
    let is_queue_full = input.is_queue_full();
    let symptom = Symptom::new(match input.observation.load.depth {
        Some(depth) if is_queue_full == Some(true) && input.is_closed_loop() => format!(
            "no known limit was reached, and the queue was always full ({}): more operations in flight may reach more",
            count(depth, "slot")
        ),
        _ => "these figures do not show what limited this load".into(),
    });
    if !input.may_repeat_deeper() {
        return symptom
            .with_advice("see whether a deeper queue raises the rate: `fathom sweep TARGET --over depth=1..64`");
    }
    match is_queue_full {
        Some(true) => symptom.with_advice(
            "repeat the test at twice the depth too; if that does not raise the rate, the load is at a limit: \
             `fathom run --confirm`",
        ),
        Some(false) | None if input.is_closed_loop() => symptom.with_advice(
            "repeat the test with a full queue, and at twice the depth too; if that does not raise the rate, the load \
             is at a limit: `fathom run --confirm`",
        ),
        Some(false) | None => symptom.with_advice(
            "repeat the test unpaced, with a full queue, and at twice the depth too; if that does not raise the rate, \
             the load is at a limit: `fathom run --confirm`",
        ),
    }
}
