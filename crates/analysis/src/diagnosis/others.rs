//! Other programs kept a paced load from its rate, or took part in its latencies.

use model::diagnosis::Answer;

use super::Signature;
use super::context::Question;
use super::sign::{Sign, figure};
use super::subject::Subject;
use crate::attribution::{Attribution, Fault, describe_fault, disturbance, others};

/// Others are the answer from this share of the missing operations on.
const MOST: f64 = 0.5;
/// A missed promise is not decided from this share on: the verdict names them too.
const DISTURBS: f64 = 0.1;

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

fn detect(subject: &Subject<'_>, fault: Fault) -> Option<Sign> {
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
        Sign::new(sentence)
            .show(figure("others had a part in", 100.0 * share, "%"))
            .advise("stop the other programs, or measure while they are idle"),
    )
}

/// Starts of the missed seconds that are the fault of these others, how many were missed in all, and their share of the
/// missing operations.
fn missed_seconds(subject: &Subject<'_>, fault: Fault) -> Option<(Vec<f64>, String, f64)> {
    let found = Attribution::new(subject.observation, None)?;
    let least = match subject.context.question {
        Question::Limit => MOST,
        Question::MissedRate | Question::MissedLatency => DISTURBS,
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

/// Starts of the seconds whose latencies these others had a part in, and their share of all seconds.
fn disturbed_seconds(subject: &Subject<'_>, fault: Fault) -> Option<(Vec<f64>, String, f64)> {
    let observation = subject.observation;
    let starts = observation.seconds.iter().map(|second| second.facts.start_ns.as_secs());
    let seconds: Vec<f64> = starts
        .filter(|at| disturbance(observation, *at, None) == Some(fault))
        .collect();
    let all = observation.seconds.len();
    let share = seconds.len() as f64 / all as f64;
    (share >= MOST).then(|| (seconds, all.to_string(), share))
}
