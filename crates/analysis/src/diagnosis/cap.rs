//! A known limit of a layer was met.

use model::diagnosis::{Answer, Remark};
use model::stats::variation;

use super::bounds::Bound;
use super::confirm::Verdict;
use super::context::Question;
use super::input::Input;
use super::symptom::{Symptom, compared, figure};
use super::{Signature, remark};
use crate::caps::LayerKind;

/// Fewest seconds that show a level of their own.
const SECONDS_MIN: f64 = 10.0;
/// A limit that this share of the seconds meets holds although stalls lower the mean.
const MET_SHARE: f64 = 0.75;
/// Share of the seconds that may lie above such a limit: after a stall more passes than before it.
const ABOVE_SHARE: f64 = 0.1;

/// From this share of it a rate is held, so that nothing is left over.
const HELD: f64 = 0.999;

pub(super) const CAP: Signature = Signature {
    answer: Answer::Cap,
    about: "The rate lies from 3 % below to 5 % above a limit of a layer (1 % around a rate that the test itself asks for), \
            or that of three seconds in four does and no more than 10 % of the seconds lie above it; of several, the least. A \
            second depth that brings more refutes it, one that only adds latency confirms it.",
    detect,
};

fn detect(subject: &Input<'_>) -> Option<Symptom> {
    // With several levels the totals describe none of them.
    let explains = |bound: &&Bound| subject.context.question == Question::Limit || bound.kind != LayerKind::Application;
    let met = |bound: &&Bound| subject.is_level() && bound.is_met() || is_met_in_most_seconds(subject, bound);
    let bound = subject
        .bounds
        .iter()
        .find(|bound| explains(bound) && met(bound) && !is_refuted(subject, bound))?;
    Some(met_limit(subject, bound))
}

/// The rate that a missed promise asks for, where nothing but it was met: other causes come before
/// it. A mean that keeps the schedule is paced by it, also where single seconds were behind and
/// caught up.
pub(super) fn rate_asked_for(subject: &Input<'_>) -> Option<Symptom> {
    let asked = |bound: &&Bound| bound.kind == LayerKind::Application && bound.is_met();
    let bound = subject.bounds.iter().find(asked)?;
    let mut sign = met_limit(subject, bound);
    match subject.context.question {
        Question::Limit => return None,
        Question::MissedRate => {}
        // A rate that falls short by a little has a backlog, which storage makes.
        Question::MissedLatency if bound.share() < HELD => return None,
        Question::MissedLatency => {
            sign.sentence += ". The test's own pace limits the rate and does not explain the latency"
        }
    }
    Some(sign)
}

fn met_limit(subject: &Input<'_>, bound: &Bound) -> Symptom {
    let percent = 100.0 * bound.share();
    let unit = bound.unit();
    let (used, limit) = (words(bound.used, unit), words(bound.limit.low, unit));
    let sentence = match bound.kind {
        LayerKind::Application => {
            format!("nothing but {}: {used} of {limit} ({percent:.1} %)", bound.layer)
        }
        LayerKind::ControlGroup | LayerKind::Machine | LayerKind::Disk | LayerKind::Link => {
            let all = match bound.jobs.len() {
                0 | 1 => String::new(),
                _ => format!(" ({} together)", bound.jobs.join(" + ")),
            };
            format!(
                "{}: {used}{all} are {percent:.1} % of its limit of {limit}",
                bound.layer
            )
        }
    };
    let sentence = match bound.is_met() {
        true => sentence,
        false => {
            let (met, seconds) = (seconds_at(subject, bound, Bound::is_met_by), subject.seconds.len());
            format!("{sentence}, which {met} of {seconds} seconds met")
        }
    };
    let mut sign = Symptom::new(sentence).show(compared(
        "use of the limit", bound.used, unit, bound.limit.low, &bound.layer,
    ));
    if subject.seconds.len() as f64 >= SECONDS_MIN {
        sign = sign.show(figure(
            "variation second by second",
            100.0 * variation(&subject.seconds),
            "%",
        ));
    }
    if let Some(comparison) = subject.comparison() {
        sign.evidence.extend(comparison.evidence());
    }
    sign.layer = Some(bound.layer.clone());
    sign.share = Some(bound.share());
    sign.confirmed = subject.verdict().map(|verdict| verdict == Verdict::Limit);
    for advice in advice(subject, bound) {
        sign = sign.advise(advice);
    }
    sign
}

/// Most seconds lie at a limit and hardly any above it: stalls are why the mean lies below.
fn is_met_in_most_seconds(subject: &Input<'_>, bound: &Bound) -> bool {
    let seconds = subject.seconds.len() as f64;
    let above = |bound: &Bound, used: f64| used > bound.limit.high && !bound.is_met_by(used);
    bound.kind != LayerKind::Application
        && seconds >= SECONDS_MIN
        && seconds_at(subject, bound, Bound::is_met_by) as f64 >= MET_SHARE * seconds
        && seconds_at(subject, bound, above) as f64 <= ABOVE_SHARE * seconds
}

/// How many seconds use a layer in a certain way.
fn seconds_at(subject: &Input<'_>, bound: &Bound, is: impl Fn(&Bound, f64) -> bool) -> usize {
    let Some(rate) = subject.rate() else { return 0 };
    let used = |second: &&f64| is(bound, *second * bound.used / rate);
    subject.seconds.iter().filter(used).count()
}

/// At more depth the same layer let through more than its limit.
fn is_refuted(subject: &Input<'_>, bound: &Bound) -> bool {
    let Some(comparison) = subject.comparison().filter(|_| bound.kind != LayerKind::Application) else {
        return false;
    };
    // Where jobs share the limit, one may gain what another loses: the sum at twice the depth
    // decides.
    let again = subject.deeper_bounds.iter().find(|again| {
        bound.jobs.len() > 1 && again.layer == bound.layer && again.counts == bound.counts && again.jobs == bound.jobs
    });
    let deeper = again.map_or(bound.used * comparison.rate, |again| again.used);
    let alone = again.is_none() && comparison.verdict == Verdict::Latency;
    alone || deeper > bound.used && !bound.is_met_by(deeper)
}

fn advice(subject: &Input<'_>, bound: &Bound) -> Vec<String> {
    let mut advice = Vec::new();
    match bound.kind {
        // The rate of a promise is what it asks for.
        LayerKind::Application if subject.context.question != Question::Limit => {}
        LayerKind::Application => advice.push("leave the rate out to see what the target can do".to_owned()),
        LayerKind::ControlGroup => {
            advice.push("raise or lift the limit of the control group, if this process may have more".into());
        }
        LayerKind::Machine => advice.push("a larger machine; faster disks would bring nothing".into()),
        LayerKind::Disk => advice.push("a faster disk, or several".into()),
        LayerKind::Link => advice.push("a faster link".into()),
    }
    let can_repeat = subject.context.question == Question::Limit && subject.verdict().is_none();
    if can_repeat && bound.kind != LayerKind::Application {
        advice.push(
            "`fathom run --confirm` repeats it at twice the depth: IOPS stay and latency doubles if this is the limit"
                .into(),
        );
    }
    advice
}

/// A limit that more passed than it lets through: it does not hold for this load.
pub(super) fn exceeded(subject: &Input<'_>) -> Vec<Remark> {
    let beyond = subject.bounds.iter().filter(|bound| bound.is_exceeded());
    let one = |bound: &Bound| {
        let what = format!(
            "{} are {:.0} % of the limit of {}: a cache or credits served the rest, or the limit is another one",
            words(bound.used, bound.unit()),
            100.0 * bound.share(),
            bound.layer
        );
        remark("D-ABOVE-LIMIT", what)
    };
    let others = beyond.filter(|bound| bound.kind != LayerKind::Application);
    others.map(one).collect()
}

/// A figure of a bound in units for people.
pub(super) fn words(value: f64, unit: &str) -> String {
    match unit {
        "bytes/s" if value >= 1e6 => format!("{:.1} MB/s", value / 1e6),
        "IOPS" if value >= 1000.0 => format!("{value:.0} IOPS"),
        "IOPS" => format!("{value:.1} IOPS"),
        unit => format!("{value:.0} {unit}"),
    }
}
