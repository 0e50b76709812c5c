//! The first screen of the page of a sweep: verdict, recommendation and next step.

use analysis::knee::{AdviceKind, Limit, LimitedFigure};
use model::observation::Observation;
use model::shell_word;
use model::study::{Parameter, Study};
use report::Summary;
use report::html::page::{Lead, Tone, Verdict};
use report::html::run::{repeat_command, requirement_from_result, run_command};
use report::numbers::{format_rough, format_time};
use study::sweep::{Curve, PACED_JOB, Report, format_settings};

use super::{find_curve_rows, format_setting};
use crate::pages::{format_other_programs, lengthen_warm_up, list_other_programs};

/// Share of the highest rate that counts as the highest: repetitions differ by as much.
const FULL_RATE_SHARE: f64 = 0.98;

/// Assesses the recommended load. Advises how to find the highest load within a latency limit.
/// `None` if the sweep has a limit.
pub(super) fn assess(report: &Report, study: &Study) -> Option<Lead> {
    let arguments = &study.runs.first()?.results.plan.origin.arguments;
    // Such points must be measured again before a limit has a meaning.
    let is_unclear = report.curves.iter().any(Curve::shows_no_load);
    if is_unclear
        || report.limit.is_some()
        || report.curves.is_empty()
        || arguments.get(1).is_none_or(|word| word != "sweep")
    {
        return None;
    }
    let limit = [("--slo".to_owned(), "p99<=5ms".to_owned())];
    let comparison = recommended_observation(report, study)
        .and_then(|observation| super::super::compare_with_typical(&observation))
        .unwrap_or_default();
    let sentence = format!(
        "That depends on the latency that your programs tolerate. {comparison} This command finds the highest load \
            within a limit."
    );
    Some(Lead {
        topic: "Is it good?".into(),
        sentence: sentence.replace("  ", " "),
        advice: vec![format!(
            "with your own limit instead of 5 ms: `{}`",
            repeat_command(&show_again(arguments), &limit)
        )],
    })
}

/// Returns the command that shows the sweep again: from its file, or else by repeating it.
fn show_again(arguments: &[String]) -> Vec<String> {
    let saved = arguments.iter().position(|word| word == "--save");
    match saved.and_then(|at| arguments.get(at + 1)) {
        Some(file) => ["fathom", "sweep", "--from", file].map(str::to_owned).to_vec(),
        None => arguments.to_vec(),
    }
}

/// Advises the next command: higher loads if the last point was not the limit, else a longer test
/// of the recommended load.
pub(super) fn advise_next_step(report: &Report, study: &Study, summary: Option<&Summary>) -> Option<Lead> {
    let arguments = &study.runs.first()?.results.plan.origin.arguments;
    if find_paced_note(report).is_some() {
        return vary_rate(report, arguments);
    }
    let ([curve], [_]) = (&report.curves[..], &report.varied[..]) else {
        return None;
    };
    let is_sweep = arguments.get(1).is_some_and(|word| word == "sweep");
    let last = curve.settings.iter().copied().fold(0.0, f64::max);
    let advised = curve.knee.advice.load.and_then(|load| curve.setting_at(load));
    let option = |name: &str, value: String| [(name.to_owned(), value)];
    let others = list_other_programs(study.runs.iter().map(|run| &run.results));
    let (sentence, command) = match curve.knee.advice.kind {
        _ if is_sweep && report.describe_disturbance().is_some() => (
            format!("Stop {}, then repeat the sweep:", format_other_programs(&others)),
            repeat_command(arguments, &options_against_short_points(report, arguments)),
        ),
        AdviceKind::MixedRates if is_sweep => (
            "Measure the sustained rate: this warm-up uses up the burst at every point.".to_owned(),
            repeat_command(
                arguments,
                &option("--warm-up", curve.mixed_rates.as_ref()?.warm_up_option()),
            ),
        ),
        AdviceKind::LimitMissed if is_sweep => {
            let attainable = curve.knee.attainable_limit()?;
            let figure = report.limit?.figure;
            let value = format_time(attainable).replace(' ', "");
            (
                format!(
                    "Use faster storage, or a limit that this storage can meet: {} or more.",
                    format_time(attainable)
                ),
                repeat_command(&show_again(arguments), &option("--slo", format!("{figure}<={value}"))),
            )
        }
        // A smaller load that reaches the same rate shows that the rate no longer rises.
        AdviceKind::StillRising | AdviceKind::LimitNotReached | AdviceKind::AllDelivered
            if is_sweep && advised.is_none_or(|advised| advised == last) =>
        {
            let higher = format!(
                "{}={}..{}",
                curve.parameter.name(),
                format_setting(last),
                format_setting(4.0 * last)
            );
            (
                "Measure higher loads to find the limit.".to_owned(),
                repeat_command(arguments, &option("--over", higher)),
            )
        }
        _ => return confirm(curve, report, study, summary?),
    };
    Some(Lead::new("What next", sentence, vec![format!("`{command}`")]))
}

/// Advises to vary the rate of a job file, which hides the effect of any other load.
fn vary_rate(report: &Report, arguments: &[String]) -> Option<Lead> {
    let rate = report.rows.iter().map(|row| row.iops).fold(0.0, f64::max);
    let range = format!("rate={:.0}..{:.0}", (rate / 4.0).max(1.0), 16.0 * rate);
    arguments.get(1).is_some_and(|word| word == "sweep").then(|| Lead {
        topic: "What next".into(),
        sentence: "Vary the rate, or remove it from the job.".into(),
        advice: vec![format!(
            "`{}`",
            repeat_command(arguments, &[("--over".to_owned(), range)])
        )],
    })
}

/// True if the checks found a point too short.
pub(super) fn has_short_point(report: &Report) -> bool {
    let mut warnings = report.rows.iter().flat_map(|row| &row.warnings);
    warnings.any(|rule| rule == "SHORT-RUN")
}

/// Options that lengthen points that were too short.
fn options_against_short_points(report: &Report, arguments: &[String]) -> Vec<(String, String)> {
    if !has_short_point(report) {
        return Vec::new();
    }
    let time = ("--time".to_owned(), "60s".to_owned());
    std::iter::once(time).chain(lengthen_warm_up(arguments)).collect()
}

/// Advises a longer test of the recommended load, judged by the figures of its point.
fn confirm(curve: &Curve, report: &Report, study: &Study, summary: &Summary) -> Option<Lead> {
    let load = curve.knee.advice.load?;
    let at = curve.knee.points.iter().position(|point| point.load == load)?;
    let setting = format_setting(*curve.settings.get(at)?);
    let parameter = match curve.parameter {
        Parameter::Targets => return None,
        other => other.name(),
    };
    let row = find_curve_rows(curve, report).get(at).copied()?;
    let required = match &report.limit {
        Some(limit) => {
            let rate = requirement_from_result(row.iops, []);
            let clauses = format!("{},{}", rate.trim_matches('\''), format_clause(limit));
            shell_word(&clauses).into_owned()
        }
        None => requirement_from_result(row.iops, row.p99_ns.map(|p99| ("p99".to_owned(), p99))),
    };
    let run = run_command(&study.runs.first()?.results, summary)?;
    // One run cannot show that more in flight gains nothing.
    let advice = &curve.knee.advice;
    let gains_nothing = match advice.kind {
        AdviceKind::Knee => true,
        AdviceKind::LimitKept | AdviceKind::LimitNotReached => advice.at_least.is_some_and(|kept| kept > load),
        _ => false,
    };
    let caveat = match gains_nothing && curve.parameter == Parameter::Depth {
        true => " If its page suggests more in flight, trust this sweep.",
        false => "",
    };
    Some(Lead {
        topic: "What next".into(),
        sentence: format!(
            "Confirm the recommended load, {parameter} {setting}, with a longer test, and judge it.{caveat}"
        ),
        advice: vec![
            format!("`{run} --{parameter} {setting} --time 5m --save confirm.fathom`"),
            format!("`fathom report confirm.fathom --require {required} -o confirm.html`"),
        ],
    })
}

fn format_clause(limit: &Limit) -> String {
    limit.to_string().replace(' ', "")
}

/// Finds the measurement at the recommended load of the only curve; `None` on simulated storage.
fn recommended_observation(report: &Report, study: &Study) -> Option<Observation> {
    let [curve] = &report.curves[..] else { return None };
    let load = curve.knee.advice.load?;
    let at = curve.knee.points.iter().position(|point| point.load == load)?;
    let row = find_curve_rows(curve, report).get(at).copied()?;
    let results = &study.runs.get(row.order - 1)?.results;
    let mut targets = results.hosts.iter().flat_map(|host| &host.environment.targets);
    let is_real = targets.all(|target| target.kind != "simulated");
    is_real.then(|| Observation::from_results(results, 0, 0))?
}

/// Judges whether the limit is met, and up to which load.
pub(super) fn limit_verdict(report: &Report) -> Verdict {
    let disturbance = report.describe_disturbance();
    let Some(limit) = &report.limit else {
        return match disturbance {
            Some(sentence) => Verdict::new("NOT RELIABLE", Tone::Unsure, sentence),
            None => {
                let (word, sentence) = describe_highest_rate(report).unwrap_or_default();
                Verdict::new(word, Tone::Plain, sentence)
            }
        };
    };
    let outcomes: Vec<(&str, Tone)> = report.curves.iter().map(limit_outcome).collect();
    let (word, tone) = match outcomes.split_first() {
        None => ("", Tone::Plain),
        Some((first, others)) if others.iter().all(|other| other == first) => *first,
        Some(_) => ("MET IN PART", Tone::Unsure),
    };
    // Other programs take capacity from the test, so they cannot cause a limit to be met.
    let (word, tone) = match (&disturbance, tone) {
        (Some(_), Tone::Good) => ("MET, disturbed test", Tone::Unsure),
        (Some(_), Tone::Bad) => ("INCONCLUSIVE", Tone::Unsure),
        (None, Tone::Good) if has_short_point(report) => ("MET, short test", tone),
        _ => (word, tone),
    };
    let sentence = match &report.curves[..] {
        [only]
            if only.knee.advice.kind == AdviceKind::Doubtful
                || word == "NOT MET"
                || disturbance.is_some() && only.knee.advice.kind == AdviceKind::LimitMissed =>
        {
            only.knee.advice.sentence.clone()
        }
        curves => {
            let kept: Vec<String> = curves.iter().map(|curve| describe_met(curve, limit.figure)).collect();
            format!("The limit {limit} is {}.", kept.join("; "))
        }
    };
    Verdict {
        word: word.into(),
        headline: match tone {
            Tone::Bad => format!("misses {limit}"),
            _ => String::new(),
        },
        tone,
        sentence: match disturbance {
            Some(disturbance) => format!("{sentence} {disturbance}"),
            None => sentence,
        },
        ..Verdict::default()
    }
}

/// The note about a job whose rate hides the effect of the load.
pub(super) fn find_paced_note(report: &Report) -> Option<&String> {
    report.notes.iter().find(|note| note.starts_with(PACED_JOB))
}

/// The highest rate of the only curve in a word and a sentence, for readers who know no queue
/// depth.
fn describe_highest_rate(report: &Report) -> Option<(String, String)> {
    if let Some(note) = find_paced_note(report) {
        // "What next" has the command.
        let fact = note.split(" Remove the rate").next().unwrap_or(note);
        return Some(("NO CURVE".to_owned(), fact.to_owned()));
    }
    let [curve] = &report.curves[..] else { return None };
    if curve.shows_no_load() {
        return None;
    }
    let points = &curve.knee.points;
    let highest = points.iter().map(|point| point.iops).fold(0.0, f64::max);
    let rate = format_rough(highest);
    if curve.mixed_rates.is_some() {
        let sentence = format!("The storage served at most {rate} IOPS, at some points with burst credits.");
        return Some((String::new(), sentence));
    }
    let at = points
        .iter()
        .position(|point| point.iops >= FULL_RATE_SHARE * highest)?;
    let still_rises = matches!(
        curve.knee.advice.kind,
        AdviceKind::StillRising | AdviceKind::AllDelivered
    );
    if still_rises || at + 1 == points.len() {
        let sentence = "The storage may serve more at a higher load.".to_owned();
        return Some((format!("AT LEAST {rate} IOPS"), sentence));
    }
    let beyond = match curve.parameter {
        _ if curve.knee.retrograde => "; beyond it, the rate falls again",
        Parameter::Rate => "",
        _ => "; beyond it, operations only wait longer",
    };
    let sentence = format!(
        "Reached at {} {}{beyond}.",
        curve.parameter.name(),
        format_setting(*curve.settings.get(at)?)
    );
    Some((format!("AT MOST {rate} IOPS"), sentence))
}

fn limit_outcome(curve: &Curve) -> (&'static str, Tone) {
    let kept = curve.knee.kept.unwrap_or_default();
    match kept.kept_at {
        _ if curve.mixed_rates.is_some() => ("INCONCLUSIVE", Tone::Unsure),
        Some(_) => ("MET", Tone::Good),
        None if kept.unknown || curve.knee.advice.kind == AdviceKind::LimitUnknown => ("INCONCLUSIVE", Tone::Unsure),
        None => ("NOT MET", Tone::Bad),
    }
}

/// Describes up to which load a curve meets the limit.
fn describe_met(curve: &Curve, figure: LimitedFigure) -> String {
    let fixed_settings = match curve.fixed.is_empty() {
        true => String::new(),
        false => format!("{}: ", format_settings(&curve.fixed)),
    };
    let kept_at = curve.knee.kept.and_then(|kept| kept.kept_at);
    match curve.knee.points.iter().find(|point| Some(point.load) == kept_at) {
        Some(point) => format!(
            "{fixed_settings}met up to {} {}, with {} IOPS{}",
            curve.parameter.name(),
            format_setting(curve.setting_at(point.load).unwrap_or(point.load)),
            format_rough(point.iops),
            point.limited_ns.map_or(String::new(), |latency| format!(
                " and {figure} {}",
                format_time(latency)
            ))
        ),
        None => format!("{fixed_settings}met by no measured point"),
    }
}

/// Describes the recommendation of a curve; `None` if the verdict already does.
pub(super) fn lead(curve: &Curve, report: &Report) -> Option<Lead> {
    if report.curves.len() == 1 && curve.knee.advice.kind == AdviceKind::LimitMissed {
        return None;
    }
    Some(Lead {
        advice: list_choices(curve, report),
        topic: match curve.fixed.is_empty() {
            true => "Result of the curve".into(),
            false => format!("Result of the curve for {}", format_settings(&curve.fixed)),
        },
        sentence: split_advice(curve).0,
    })
}

/// Splits the advice into the recommendation and the rest.
pub(super) fn split_advice(curve: &Curve) -> (String, String) {
    let sentence = &curve.knee.advice.sentence;
    if curve.shows_no_load() {
        return (sentence.clone(), String::new());
    }
    let ends = sentence.match_indices(". ").nth(1).map(|(at, _)| at + 1);
    let (first, rest) = sentence.split_at(ends.unwrap_or(sentence.len()));
    (first.to_owned(), rest.trim_start().to_owned())
}

/// Lists the loads to choose from: the one with the most rate for its latency, and the one with the
/// most rate.
fn list_choices(curve: &Curve, report: &Report) -> Vec<String> {
    let knee = &curve.knee;
    // A higher load with hardly more rate is not an alternative.
    let iops_max = knee.points.iter().map(|point| point.iops).fold(0.0, f64::max);
    let fastest = knee
        .points
        .iter()
        .find(|point| point.iops >= FULL_RATE_SHARE * iops_max)
        .map(|point| point.load);
    let (Some(short), Some(fast)) = (knee.power, fastest) else {
        return Vec::new();
    };
    let words = |name: &str, load: f64| {
        let at = knee.points.iter().position(|point| point.load == load)?;
        let (point, setting) = (&knee.points[at], curve.settings.get(at)?);
        let row = find_curve_rows(curve, report).get(at).and_then(|row| row.p99_ns);
        let p99 = row.map_or_else(String::new, |p99| format!(", p99 {}", format_time(p99)));
        let (parameter, value) = (curve.parameter.name(), format_setting(*setting));
        Some(format!(
            "{name}: {parameter} {value} with {} IOPS, mean {}{p99}",
            format_rough(point.iops),
            format_time(point.mean_ns)
        ))
    };
    // With a limit, other loads miss it or reach no higher rate within it.
    if report.limit.is_some() || short == fast || curve.shows_no_load() {
        return Vec::new();
    }
    let advised = knee.advice.load.filter(|load| ![short, fast].contains(load));
    advised
        .and_then(|load| words("as advised", load))
        .into_iter()
        .chain(words("for short latency", short))
        .chain(
            knee.kneedle
                .filter(|load| ![short, fast].contains(load) && Some(*load) != advised)
                .and_then(|load| words("at the knee", load)),
        )
        .chain(words("for the highest rate", fast))
        .collect()
}
