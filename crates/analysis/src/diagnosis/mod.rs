//! What limited a load: one answer, with the figures behind it.
//!
//! [`SIGNATURES`] is an ordered list; the first that holds is the answer, what else holds is
//! reported beside it. The order is that of how much each source can be trusted: the layer that
//! enforces a limit comes first, then what would make every other figure meaningless (a generator
//! or processors that were the limit themselves), then known limits, then what two depths tell,
//! then what the series looks like. `UNDETERMINED` is an answer: where figures are missing or
//! contradict one another, nothing is guessed. `docs/diagnosis.md` has the rules with their
//! sources.

mod bounds;
mod burst;
mod cap;
mod collection;
mod confirm;
mod context;
mod drift;
mod findings;
mod generator;
mod input;
mod latency;
mod network;
mod noisy;
mod others;
mod processor;
mod provider;
mod quantum;
mod queue;
mod saturated;
mod slc;
mod stall;
mod symptom;
mod system;
mod thermal;

#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use model::observation::Observation;

pub(crate) use bounds::{Bound, bounds, of_layer};
pub use confirm::{Comparison, Verdict, compare};
pub use context::{Context, Counts, KnownBurst, Network, Question, Temperature};
pub(crate) use findings::finding_of;
pub use model::diagnosis::{Answer, Diagnosis, Evidence, JobDiagnosis, LayerUse, Remark};
pub use system::system_layers;

use crate::caps::Layer;
use input::Input;
use symptom::Symptom;

/// One cause of a limit, and how it is recognised.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The answer it gives.
    pub answer: Answer,
    /// How it is recognised, in a sentence.
    pub about: &'static str,
    detect: fn(&Input<'_>) -> Option<Symptom>,
}

/// All signatures, in the order in which they are asked.
pub const SIGNATURES: &[Signature] = &[
    provider::PROVIDER,
    generator::GENERATOR,
    processor::PROCESSOR,
    others::OTHER_PROGRAMS,
    others::OTHER_IO,
    cap::CAP,
    saturated::SATURATED,
    latency::LATENCY_BOUND,
    queue::QUEUE_ABOVE,
    network::NETWORK,
    burst::BURST_END,
    slc::SLC_CLIFF,
    quantum::THROTTLE_QUANTUM,
    thermal::THERMAL,
    collection::GARBAGE_COLLECTION,
    noisy::NOISY,
    stall::STALL,
    drift::DRIFT,
];

/// What limited this load, among these layers and with what else is known.
pub fn diagnose(observation: &Observation, layers: &[Layer], context: &Context<'_>) -> Diagnosis {
    let subject = Input::new(observation, layers, context);
    let mut signs = SIGNATURES
        .iter()
        .filter_map(|signature| Some((signature.answer, (signature.detect)(&subject)?)));
    let first = signs.next();
    let mut also: Vec<Remark> = signs
        .filter(|(answer, _)| first.as_ref().is_none_or(|(taken, _)| answer != taken))
        .map(|(answer, sign)| remark(answer.rule(), sign.sentence))
        .collect();
    also.extend(processor::skew(&subject));
    also.extend(cap::exceeded(&subject));
    also.extend(subject.contradictions());
    let (answer, sign) = first
        .or_else(|| Some((Answer::Cap, cap::rate_asked_for(&subject)?)))
        .unwrap_or_else(|| (Answer::Undetermined, undetermined(&subject)));
    let mut evidence = sign.evidence;
    subject.add_basics(&mut evidence);
    Diagnosis {
        answer,
        sentence: sign.sentence,
        layer: sign.layer,
        share: sign.share,
        // A second run that an answer does not ask says neither yes nor no to it.
        confirmed: sign.confirmed.or_else(|| subject.comparison().map(|_| false)),
        evidence,
        layers: bounds::uses(&subject.bounds),
        also,
        missing: subject.missing(),
        advice: sign.advice,
    }
}

fn remark(rule: &str, what: String) -> Remark {
    Remark {
        rule: rule.to_owned(),
        what,
    }
}

/// The answer where nothing is recognised: what is odd, and what would help to find out.
fn undetermined(subject: &Input<'_>) -> Symptom {
    if let Some((from, to, at)) = subject.shift() {
        let way = if to < from { "fell" } else { "rose" };
        let what =
            format!("the rate {way} from {from:.0} to {to:.0} IOPS after {at:.0} s, and the figures do not tell why");
        let help = match to < from {
            true => "repeat at half the rate: credits and write caches are distinguished by when the step comes then",
            false => "warm up longer: a cache was filling, or the device was waking up",
        };
        return Symptom::new(what).advise(help);
    }
    if let Some(comparison) = subject.comparison() {
        let what = format!(
            "{:.1} times the depth brought {:+.0} % operations and {:.1} times the latency",
            comparison.depth,
            100.0 * (comparison.rate - 1.0),
            comparison.latency
        );
        if !comparison.queue_grew {
            return Symptom::new(
                what + ": the operations in flight do not match the two depths, which therefore show no limit",
            )
            .advise("use an asynchronous engine or more workers, so that the whole depth is in flight");
        }
        return Symptom::new(what + ": the rate still grows, but much less than the depth")
            .advise("the knee is near this depth: measure at more depths");
    }
    let sign = Symptom::new("these figures do not show what limited this load".into());
    if subject.context.question != Question::Limit {
        return sign
            .advise("`fathom sweep --over depth=1..64` measures more depths: it shows whether more depth brings more");
    }
    match subject.queue_is_full() {
        Some(true) => {
            sign.advise("repeat it with `fathom run --confirm`: if twice the depth brings no more, it is at a limit")
        }
        Some(false) | None => sign.advise(
            "repeat it without a rate and with a full queue, with `fathom run --confirm`: if twice the depth brings no \
             more, it is at a limit",
        ),
    }
}
