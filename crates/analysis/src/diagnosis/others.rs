//! Other programs made a paced load miss its rate, or raised its latencies.

use model::diagnosis::Answer;

use super::Signature;
use super::context::Question;
use super::input::Input;
use super::symptom::{Symptom, figure};
use crate::attribution::{Attribution, Fault, describe_fault, disturbance, others};

/// Other programs are the answer if they explain at least this share of the missing operations.
const MIN_DECISIVE_SHARE: f64 = 0.5;
/// Above this share a missed promise is not decided, and the verdict names the other programs too.
const MIN_DISTURBING_SHARE: f64 = 0.1;

pub(super) const OTHER_PROGRAMS: Signature = Signature {
    answer: Answer::Processor,
    about: "A paced load missed its rate in seconds in which its threads waited for processors that other programs used; or \
            a promised latency was exceeded, and half of the seconds were like that.",
    detect: |subject| detect(subject, Fault::OtherCpu),
};

pub(super) const OTHER_IO: Signature = Signature {
    answer: Answer::Noisy,
    about: "A paced load missed its rate in seconds in which other programs moved as many bytes on the device as were \
            missing; or a promised latency was exceeded, and half of the seconds were like that.",
    detect: |subject| detect(subject, Fault::OtherIo),
};

fn detect(subject: &Input<'_>, fault: Fault) -> Option<Symptom> {
    let (seconds, of, share) = match subject.context.question {
        Question::MissedLatency => disturbed_seconds(subject, fault)?,
        Question::Limit | Question::MissedRate => missed_seconds(subject, fault)?,
    };
    let activity = others(subject.observation, |at| seconds.contains(&at));
    let sentence = format!(
        "in {} of {of} seconds {}",
        seconds.len(),
        describe_fault(fault, &activity)
    );
    Some(
        Symptom::new(sentence)
            .show(figure("explained by other programs", 100.0 * share, "%"))
            .advise("stop the other programs, or measure while they are idle"),
    )
}

/// Starts of the missed seconds with this fault, the number of all missed seconds in words, and the
/// share of the missing operations.
fn missed_seconds(subject: &Input<'_>, fault: Fault) -> Option<(Vec<f64>, String, f64)> {
    let found = Attribution::new(subject.observation, None)?;
    let least = match subject.context.question {
        Question::Limit => MIN_DECISIVE_SHARE,
        Question::MissedRate | Question::MissedLatency => MIN_DISTURBING_SHARE,
    };
    let share = found.share(fault);
    if share <= least || found.worst_other() != Some(fault) {
        return None;
    }
    let seconds = found.missed.iter().filter(|missed| missed.fault == fault);
    Some((
        seconds.map(|missed| missed.at).collect(),
        format!("{} missed", found.missed.len()),
        share,
    ))
}

/// Starts of the seconds whose latencies have this fault, the number of all seconds in words, and
/// the share.
fn disturbed_seconds(subject: &Input<'_>, fault: Fault) -> Option<(Vec<f64>, String, f64)> {
    let observation = subject.observation;
    let starts = observation.seconds.iter().map(|second| second.facts.start_ns.as_secs());
    let seconds: Vec<f64> = starts
        .filter(|at| disturbance(observation, *at, None) == Some(fault))
        .collect();
    let all = observation.seconds.len();
    let share = seconds.len() as f64 / all as f64;
    (share >= MIN_DECISIVE_SHARE).then(|| (seconds, all.to_string(), share))
}
