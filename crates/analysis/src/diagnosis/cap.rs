//! The load reached a known limit of a layer.

use model::diagnosis::{Answer, DiagnosisNote};
use model::stats::variation;

use super::bounds::Bound;
use super::confirm::Verdict;
use super::context::Question;
use super::input::Input;
use super::symptom::{Symptom, figure, figure_vs};
use super::{Signature, note};
use crate::attribution::is_simulated;
use crate::caps::LayerKind;
use crate::figures::three_digits;

/// A shorter series is too short to show a level.
const MIN_SECONDS: f64 = 10.0;
/// Minimum share of the seconds at a limit that counts as reached, even if stalls lower the mean.
const MIN_SHARE_AT_LIMIT: f64 = 0.75;
/// Maximum share of the seconds above a limit: the rate overshoots after a stall.
const MAX_SHARE_ABOVE: f64 = 0.1;

/// A rate that reaches this share of its target has no backlog.
const MET_SHARE: f64 = 0.999;

pub(super) const CAP: Signature = Signature {
    answer: Answer::Cap,
    about: "The rate is from 3 % below to 5 % above a limit of a layer (1 % around a requested rate), or three of \
        four seconds are at the limit, at most 10 % of the seconds are above it, and the window does not end at a \
        lower level. Of several limits, the lowest counts. At a second, greater depth, a higher rate refutes the \
        limit; a higher latency alone confirms it.",
    detect,
};

fn detect(input: &Input<'_>) -> Option<Symptom> {
    // If the rate has several levels, the totals describe none of them.
    // A limit at the promised rate does not explain a broken promise if that rate was served.
    let explains = |bound: &&Bound| {
        input.context.question == Question::Limit || bound.kind != LayerKind::Application && !is_requested(input, bound)
    };
    let reached =
        |bound: &&Bound| input.has_one_level() && bound.is_reached() || is_reached_in_most_seconds(input, bound);
    let bound = input
        .bounds
        .iter()
        .find(|bound| explains(bound) && reached(bound) && !is_refuted_by_deeper_run(input, bound))?;
    Some(describe_reached_limit(input, bound))
}

/// The requested rate, as the fallback answer if the load reached no other limit. It applies even
/// if the load fell behind in some seconds and caught up in others.
pub(super) fn detect_requested_rate(input: &Input<'_>) -> Option<Symptom> {
    let is_requested_rate = |bound: &&Bound| bound.kind == LayerKind::Application && bound.is_reached();
    let bound = input.bounds.iter().find(is_requested_rate)?;
    (input.context.question == Question::MissedRate).then(|| describe_reached_limit(input, bound))
}

fn describe_reached_limit(input: &Input<'_>, bound: &Bound) -> Symptom {
    let percent = 100.0 * bound.share();
    let unit = bound.unit();
    let limit = bound.limit.compared_with(bound.used);
    let figures = [bound.used, limit, bound.limit.low, bound.limit.high];
    let [_, limit_text, low, high] = figures.map(|figure| format_figure(figure, unit));
    let used = match unit {
        "IOPS" => format!("{} IOPS", three_digits(bound.used)),
        unit => format_figure(bound.used, unit),
    };
    let sentence = match bound.kind {
        LayerKind::Application => {
            let relation = match bound.is_reached() {
                true => String::new(),
                false => format!(" of {limit_text} ({percent:.1} %)"),
            };
            format!("no limit except {}: {used}{relation}", bound.layer)
        }
        LayerKind::ControlGroup | LayerKind::Machine | LayerKind::Disk | LayerKind::Link => {
            let job_names = match bound.jobs.len() {
                0 | 1 => String::new(),
                _ => format!(" ({} together)", bound.jobs.join(" + ")),
            };
            match bound.is_variable() {
                true => format!(
                    "{}: {used}{job_names}; its limit changed during the test, between {low} and {high}",
                    bound.layer
                ),
                false if bound.is_reached() => {
                    format!("{}: {used}{job_names} reach its limit of {limit_text}", bound.layer)
                }
                false => format!(
                    "{}: {used}{job_names} are {percent:.1} % of its limit of {limit_text}",
                    bound.layer
                ),
            }
        }
    };
    let sentence = match bound.is_reached() {
        true => sentence,
        false => {
            let (reached, seconds) = (
                count_seconds(input, bound, Bound::is_reached_by),
                input.rates_by_second.len(),
            );
            format!("{sentence}, reached in {reached} of {seconds} seconds")
        }
    };
    let mut symptom =
        Symptom::new(sentence).with_evidence(figure_vs("use of the limit", bound.used, unit, limit, &bound.layer));
    if input.rates_by_second.len() as f64 >= MIN_SECONDS {
        symptom = symptom.with_evidence(figure(
            "variation second by second",
            100.0 * variation(&input.rates_by_second),
            "%",
        ));
    }
    if let Some(comparison) = input.comparison() {
        symptom.evidence.extend(comparison.evidence());
    }
    symptom.layer = Some(bound.layer.clone());
    symptom.share = Some(bound.share());
    symptom.confirmed = input.verdict().map(|verdict| verdict == Verdict::Limit);
    for advice in advice(input, bound) {
        symptom = symptom.with_advice(advice);
    }
    symptom
}

/// True if most seconds are at the limit and few above it, and the rate did not fall for good. Then
/// only stalls lower the mean.
fn is_reached_in_most_seconds(input: &Input<'_>, bound: &Bound) -> bool {
    let seconds = input.rates_by_second.len() as f64;
    let above = |bound: &Bound, used: f64| used > bound.limit.high && !bound.is_reached_by(used);
    bound.kind != LayerKind::Application
        && seconds >= MIN_SECONDS
        && input
            .first_and_last_level()
            .is_none_or(|(first, last, _)| last >= first)
        && count_seconds(input, bound, Bound::is_reached_by) as f64 >= MIN_SHARE_AT_LIMIT * seconds
        && count_seconds(input, bound, above) as f64 <= MAX_SHARE_ABOVE * seconds
}

/// Counts the seconds whose use of a layer satisfies `matches`.
fn count_seconds(input: &Input<'_>, bound: &Bound, matches: impl Fn(&Bound, f64) -> bool) -> usize {
    let Some(rate) = input.rate() else { return 0 };
    let used = |second: &&f64| matches(bound, *second * bound.used / rate);
    input.rates_by_second.iter().filter(used).count()
}

/// True if a run at a greater depth exceeded this limit.
fn is_refuted_by_deeper_run(input: &Input<'_>, bound: &Bound) -> bool {
    let Some(comparison) = input.comparison().filter(|_| bound.kind != LayerKind::Application) else {
        return false;
    };
    // Of jobs that share a limit, one can gain what another loses, so their sum at twice the depth
    // decides.
    let deeper_bound = input.deeper_bounds.iter().find(|deeper_bound| {
        bound.jobs.len() > 1
            && deeper_bound.layer == bound.layer
            && deeper_bound.counts == bound.counts
            && deeper_bound.jobs == bound.jobs
    });
    let deeper = deeper_bound.map_or(bound.used * comparison.rate, |deeper_bound| deeper_bound.used);
    let grew_with_depth = deeper_bound.is_none() && comparison.verdict == Verdict::Latency;
    grew_with_depth || deeper > bound.used && !bound.is_reached_by(deeper)
}

fn advice(input: &Input<'_>, bound: &Bound) -> Vec<String> {
    let mut advice = Vec::new();
    match bound.kind {
        // A promised rate must stay.
        LayerKind::Application if input.context.question != Question::Limit => {}
        LayerKind::Application => advice
            .push("remove the target rate to find the maximum: `fathom sweep TARGET --over depth=1..64`".to_owned()),
        LayerKind::ControlGroup => {
            advice.push("raise or remove the limit of the control group, if this process is allowed more".into());
        }
        _ if is_requested(input, bound) => advice.push(
            "no action needed: the requested rate is this limit; buy a higher one only if the load needs it".into(),
        ),
        _ if is_simulated(input.observation) => {}
        LayerKind::Machine => advice.push("use a larger machine; faster disks would not help".into()),
        LayerKind::Disk => advice.push("use a faster disk, or several".into()),
        LayerKind::Link => advice.push("use a faster link".into()),
    }
    // A paced load issues the same rate at any depth.
    let is_paced = input.observation.load.closed_loop == Some(false);
    if input.may_repeat_deeper() && !is_paced && bound.kind != LayerKind::Application {
        advice.push(
            "confirm this limit at twice the depth, where the IOPS stay the same and the latency doubles: \
             `fathom run --confirm`"
                .into(),
        );
    }
    advice
}

/// True if the test requested the rate of this limit and got it.
fn is_requested(input: &Input<'_>, bound: &Bound) -> bool {
    let mut bounds = input.bounds.iter();
    let requested = bounds.find(|other| other.kind == LayerKind::Application);
    requested.is_some_and(|requested| requested.is_reached() && requested.share() >= MET_SHARE && bound.is_reached())
}

/// Limits that the load exceeded, which therefore do not apply.
pub(super) fn exceeded_limits(input: &Input<'_>) -> Vec<DiagnosisNote> {
    let exceeded = input.bounds.iter().filter(|bound| bound.is_exceeded());
    let remark_for = |bound: &Bound| {
        let why = match bound.kind {
            LayerKind::ControlGroup => "the limit was changed during the test, or does not apply to this process",
            _ => "a cache or credits served the excess, or another limit applies",
        };
        let share = match bound.share() {
            share if share < 10.0 => format!("{:.0} % of", 100.0 * share),
            share => format!("{} times", three_digits(share)),
        };
        let sentence = format!(
            "{} are {share} the limit of {}: {why}",
            format_figure(bound.used, bound.unit()),
            bound.layer
        );
        note("D-ABOVE-LIMIT", sentence)
    };
    let others = exceeded.filter(|bound| bound.kind != LayerKind::Application);
    others.map(remark_for).collect()
}

pub(super) fn format_figure(value: f64, unit: &str) -> String {
    match unit {
        "bytes/s" if value >= 1e6 => format!("{:.1} MB/s", value / 1e6),
        "IOPS" if value >= 1000.0 => format!("{value:.0} IOPS"),
        "IOPS" => format!("{} IOPS", three_digits(value)),
        unit => format!("{value:.0} {unit}"),
    }
}
