//! The page of a suite: every workload with its requirement and its outcome.

use analysis::knee::LimitedFigure;
use analysis::requirement::{Metric, Side};
use analysis::verdict::{ClauseVerdict, Outcome, Verdict};
use model::Nanos;
use model::finding::{Finding, Severity};
use model::observation::Observation;
use model::results::Results;
use model::shell_word;
use model::study::{Study, StudyRun, WorkloadRequirement};
use report::Summary;
use report::html::chart::{Axis, Chart, Form, Mark, MarkAxis, PointStyle, Series, Tone, time_unit};
use report::html::page::{self, Block, Clause, Lead, Page, Section, Table};
use report::html::run::{
    Head, KEEP_AND_REPEAT, NAME_LABEL, complete_advice, describe_region, locate_commands, provenance, repeat_command,
    repeat_section, run_command, settings_section,
};
use report::numbers::{format_rough, format_time, group_thousands};
use study::suite::{describe_times, is_short, measured_time, worst};
use study::verify::FULL_TIME_SECS;

use crate::judged;

/// Maximum number of workloads whose loads are in the head; beyond it, loads are only in the table.
const MAX_LOADS_IN_HEAD: usize = 4;

/// The layer of a diagnosis whose load got the rate that it requested.
const REQUESTED_RATE: &str = "the requested rate";

/// A workload with the results of its last attempt.
struct JudgedWorkload<'a> {
    requirement: &'a WorkloadRequirement,
    run: Option<&'a StudyRun>,
    verdict: Option<Verdict>,
}

impl JudgedWorkload<'_> {
    fn outcome(&self) -> Outcome {
        self.verdict
            .as_ref()
            .map_or(Outcome::Inconclusive, |verdict| verdict.outcome)
    }

    fn clauses(&self) -> &[ClauseVerdict] {
        self.verdict.as_ref().map_or(&[], |verdict| &verdict.clauses)
    }

    fn findings(&self) -> &[Finding] {
        self.run.map_or(&[], |run| &run.results.findings)
    }

    fn quoted(&self) -> String {
        format!("“{}”", self.requirement.workload)
    }

    fn measured(&self) -> Option<Nanos> {
        measured_time(&self.run?.results)
    }
}

/// Builds the page of a suite. Judges the measurements by the requirements again.
pub fn build_page(study: &Study, required: &[WorkloadRequirement]) -> Page {
    let workloads: Vec<JudgedWorkload<'_>> = required
        .iter()
        .map(|requirement| judge_workload(study, requirement))
        .collect();
    let overall = worst(workloads.iter().map(JudgedWorkload::outcome));
    let first = study.runs.first().map(|run| &run.results);
    let mut page = Page {
        title: page::mark_title(super::simulation(study), &study.name),
        about: describe_suite(study, &workloads),
        findings: super::merge_warnings(
            workloads
                .iter()
                .map(|workload| (workload.requirement.workload.as_str(), workload.findings())),
        ),
        verdict: build_verdict(&workloads, overall),
        lead: describe_limits(&workloads)
            .into_iter()
            .chain(advise_next_step(study, &workloads, overall))
            .collect(),
        charts: [build_limit_chart(&workloads), build_latency_chart(&workloads)]
            .into_iter()
            .flatten()
            .collect(),
        sections: std::iter::once(build_figures_section(&workloads))
            .chain(first.and_then(repeat_section))
            .chain(settings_section(&list_last_runs(&workloads)))
            .collect(),
        downloads: list_downloads(study, &workloads),
        provenance: first.map_or_else(String::new, |results| {
            provenance(&Summary {
                name: study.name.clone(),
                ..Summary::from_results(results)
            })
        }),
        ..Page::default()
    };
    if let Some(first) = first {
        locate_commands(&mut page, first);
    }
    page
}

fn list_last_runs<'a>(workloads: &[JudgedWorkload<'a>]) -> Vec<(String, &'a Results)> {
    let last_run = |workload: &JudgedWorkload<'a>| Some((workload.quoted(), &workload.run?.results));
    workloads.iter().filter_map(last_run).collect()
}

/// The data of all runs, and the verdict of each workload.
fn list_downloads(study: &Study, workloads: &[JudgedWorkload<'_>]) -> Vec<page::Download> {
    let name = report::html::to_identifier(&study.name);
    let summaries: Vec<Summary> = study
        .runs
        .iter()
        .map(|run| Summary::from_results(&run.results))
        .collect();
    let verdicts: Vec<(&str, &Option<Verdict>)> = workloads
        .iter()
        .map(|verdict| (verdict.requirement.workload.as_str(), &verdict.verdict))
        .collect();
    vec![
        super::figures_download(&name, &summaries),
        page::Download {
            words: "Every verdict (JSON)".into(),
            ..super::figures_download(&format!("{name}-verdicts"), &verdicts)
        },
    ]
}

fn judge_workload<'a>(study: &'a Study, requirement: &'a WorkloadRequirement) -> JudgedWorkload<'a> {
    let is_of_workload = |run: &&StudyRun| {
        run.settings
            .iter()
            .any(|setting| setting.name == "workload" && setting.value == requirement.workload)
    };
    let run = study.runs.iter().rfind(is_of_workload);
    let clauses = analysis::requirement::parse(&requirement.required).unwrap_or_default();
    let verdict = run.and_then(|run| judged::judge(&run.results, &clauses).into_only_verdict());
    JudgedWorkload {
        requirement,
        run,
        verdict,
    }
}

fn describe_suite(study: &Study, workloads: &[JudgedWorkload<'_>]) -> Vec<String> {
    let head = study.runs.first().map(|run| Head::from_results(&run.results));
    // The load is that of the first workload only.
    let loads: Vec<String> = workloads.iter().filter_map(JudgedWorkload::load).collect();
    let is_load =
        |line: &String| line.starts_with(NAME_LABEL) || loads.iter().any(|load| line.starts_with(load.as_str()));
    let mut lines = vec![format!(
        "A suite of {}, run in sequence",
        report::numbers::pluralize(workloads.len() as u64, "workload")
    )];
    lines.extend(head.unwrap_or_default().about.into_iter().filter(|line| !is_load(line)));
    if workloads.len() <= MAX_LOADS_IN_HEAD {
        let with_load = workloads
            .iter()
            .filter_map(|workload| Some(format!("{}: {}", workload.requirement.workload, workload.load()?)));
        lines.extend(with_load);
    }
    if study.interrupted {
        lines.push("It was interrupted: the figures cover the time until then.".into());
    }
    lines
}

impl JudgedWorkload<'_> {
    /// Describes its operations and how they were issued.
    fn load(&self) -> Option<String> {
        let summary = Summary::from_results(&self.run?.results);
        let job = summary.jobs.first()?;
        Some(format!("{}; {}", job.operations, job.load))
    }
}

fn build_verdict(workloads: &[JudgedWorkload<'_>], overall: Outcome) -> page::Verdict {
    let deciding: Vec<&JudgedWorkload<'_>> = workloads
        .iter()
        .filter(|workload| workload.outcome() == overall)
        .collect();
    let names: Vec<String> = deciding.iter().map(|workload| workload.quoted()).collect();
    let share = format!("{} of {} workloads", names.len(), workloads.len());
    let fails = format!("{share} {}", if names.len() == 1 { "fails" } else { "fail" });
    let times: Vec<Nanos> = workloads.iter().filter_map(JudgedWorkload::measured).collect();
    let (headline, sentence) = match overall {
        Outcome::Pass => (
            "all workloads meet their requirements".to_owned(),
            format!(
                "The storage meets the requirements of all {} workloads.",
                workloads.len()
            ),
        ),
        Outcome::Fail => {
            let missed = deciding.iter().filter_map(|workload| {
                let missed = super::describe_deciding(workload.verdict.as_ref()?);
                (!missed.is_empty()).then(|| format!("workload {} {missed}", workload.quoted()))
            });
            let missed: Vec<String> = missed.collect();
            (
                match missed.first() {
                    Some(first) => first.clone(),
                    None => fails.clone(),
                },
                format!("{fails}: {}.", names.join(", ")),
            )
        }
        Outcome::Inconclusive => (
            format!("{share} undecided"),
            format!("This test cannot decide {share}: {}.", names.join(", ")),
        ),
        Outcome::Consistent => (
            String::new(),
            "The figures do not contradict the requirements.".to_owned(),
        ),
    };
    page::Verdict {
        word: match overall {
            Outcome::Pass if times.iter().any(|time| is_short(*time)) => "PASS, short test".into(),
            _ => overall.word().into(),
        },
        headline,
        tone: super::tone(overall),
        sentence,
        clauses: workloads.iter().map(build_clause).collect(),
        notes: describe_times(&times, &describe_used_region(workloads))
            .map(|times| format!("Scope of this verdict: {times}."))
            .into_iter()
            .collect(),
        ..page::Verdict::default()
    }
}

/// Describes the part of the target that the workloads used.
fn describe_used_region(workloads: &[JudgedWorkload<'_>]) -> String {
    let first = workloads.iter().find_map(|workload| workload.run);
    first.map_or_else(String::new, |run| describe_region(&Summary::from_results(&run.results)))
}

/// Describes a workload in a line: its outcome and the reasons.
fn build_clause(workload: &JudgedWorkload<'_>) -> Clause {
    let sentence = match &workload.verdict {
        None => "Nothing was measured, so there is nothing to judge.".into(),
        Some(verdict) => {
            let words = verdict.describe();
            let clauses = verdict.clauses.iter().zip(&words.clauses);
            let clauses = clauses.filter(|(clause, _)| clause.outcome == verdict.outcome);
            let reasons = clauses.map(|(_, (reason, action))| super::format_reason(reason, action.as_deref()));
            let of_test = verdict.reasons.iter().map(|reason| &reason.what);
            let of_test = words
                .shared
                .iter()
                .chain(of_test)
                .map(|what| report::diagnosis::format_sentence(what));
            let reasons: Vec<String> = reasons.chain(of_test).collect();
            let reasons = reasons.into_iter().chain(describe_measurement(workload));
            let reasons = reasons.collect::<Vec<_>>().join(" ");
            match super::describe_deciding(verdict).as_str() {
                "" => reasons,
                deciding => format!("{deciding}. {reasons}"),
            }
        }
    };
    Clause {
        promised: workload.requirement.workload.clone(),
        word: workload.outcome().word().into(),
        tone: super::tone(workload.outcome()),
        sentence,
        ..Clause::default()
    }
}

/// Describes for how long a workload was measured, and how much of the I/O was not its own.
fn describe_measurement(workload: &JudgedWorkload<'_>) -> Option<String> {
    let measured = report::numbers::duration_with_unit(workload.measured()?);
    let other_load = workload.findings().iter().find(|finding| finding.rule == "OTHER-LOAD");
    // The programs follow a semicolon; the findings name them.
    let share = other_load.and_then(|other_load| other_load.what.split(';').next());
    let other_load_note = share.map_or_else(String::new, |share| format!("; {share}"));
    Some(format!("Measured for {measured}{other_load_note}."))
}

/// Describes what limits the workloads that do not pass.
fn describe_limits(workloads: &[JudgedWorkload<'_>]) -> Vec<Lead> {
    let failed = workloads.iter().filter(|workload| {
        workload
            .verdict
            .as_ref()
            .is_some_and(|verdict| verdict.outcome != Outcome::Pass)
    });
    failed
        .filter_map(|workload| {
            let results = &workload.run?.results;
            let diagnosis = super::diagnoses(results).into_iter().next()?;
            let is_rate = diagnosis.diagnosis.layer.as_deref() == Some(REQUESTED_RATE);
            let unexplained = describe_unexplained(workload).filter(|_| is_rate);
            // Without the rate it would be another load; "What next" finds the highest rate.
            let advice = diagnosis.diagnosis.advice.iter().filter(|_| !is_rate);
            Some(Lead {
                topic: match unexplained {
                    Some(_) => format!("What is known about {}", workload.quoted()),
                    None => format!("What limits {}", workload.quoted()),
                },
                sentence: unexplained
                    .unwrap_or_else(|| report::diagnosis::format_sentence(&diagnosis.diagnosis.sentence)),
                advice: advice.map(|advice| complete_advice(advice, results)).collect(),
            })
        })
        .take(4)
        .collect()
}

/// Describes the latencies that a load misses although its rate was served.
fn describe_unexplained(workload: &JudgedWorkload<'_>) -> Option<String> {
    let missed = workload
        .clauses()
        .iter()
        .filter(|clause| clause.outcome != Outcome::Pass);
    let slow: Vec<String> = missed
        .filter_map(|judged| {
            let value = format_time(judged.value?);
            match judged.clause.metric {
                Metric::Mean => Some(format!("the mean latency was {value}")),
                Metric::Quantile { share } => {
                    let percent = ((1.0 - share) * 1e8).round() / 1e6;
                    Some(format!("the slowest {percent} % of operations took {value} or longer"))
                }
                Metric::Iops | Metric::Throughput | Metric::Availability => None,
            }
        })
        .collect();
    (!slow.is_empty()).then(|| {
        let cause = describe_free_slots(workload).unwrap_or_else(|| "The figures do not show the cause.".to_owned());
        format!("The requested rate was served; {}. {cause}", slow.join(", and "))
    })
}

/// With a larger share of slots in use, operations may have waited for a free one at times.
const MAX_FREE_SLOTS_SHARE: f64 = 0.5;

/// States that no operation waited for a free slot, so that the storage itself is slow.
fn describe_free_slots(workload: &JudgedWorkload<'_>) -> Option<String> {
    let observation = Observation::from_results(&workload.run?.results, 0, 0)?;
    let (in_flight, depth) = (observation.in_flight()?, observation.load.depth?);
    (in_flight <= MAX_FREE_SLOTS_SHARE * depth as f64).then(|| {
        format!(
            "The storage itself takes that long: {in_flight:.1} of {depth} operations were in flight on average, so \
             none waited for a free slot."
        )
    })
}

/// Advises what to do next, with the command that does it.
fn advise_next_step(study: &Study, workloads: &[JudgedWorkload<'_>], overall: Outcome) -> Option<Lead> {
    let arguments = &study.runs.first()?.results.plan.origin.arguments;
    let undecided: Vec<ClauseVerdict> = workloads.iter().flat_map(JudgedWorkload::clauses).cloned().collect();
    let mut options = super::collect_advised_options(&undecided);
    options.retain(|(name, _)| name == "--time");
    let is_short = workloads.iter().filter_map(JudgedWorkload::measured).any(is_short);
    if is_short && options.is_empty() {
        options.push(("--time".to_owned(), format!("{FULL_TIME_SECS:.0}s")));
    }
    let is_simulated = super::simulation(study).is_some();
    let mut advice = Vec::new();
    let sentence = match overall {
        Outcome::Pass if is_short => {
            "Repeat it for the full time: a short test does not show whether that lasts.".to_owned()
        }
        Outcome::Pass => KEEP_AND_REPEAT.to_owned(),
        Outcome::Fail => {
            advice.extend(workloads.iter().filter(|_| !is_simulated).find_map(sweep_within_limit));
            let send = match is_simulated {
                true => "",
                false => " If it is the storage, send this page to its provider.",
            };
            let full = if is_short { " for 5 minutes" } else { "" };
            let change = match workloads.iter().find_map(find_missed_latency) {
                Some((metric, value)) => format!(
                    "Use faster storage, or a limit that this storage can meet: {} of {} or more.",
                    metric.name(),
                    format_time(value)
                ),
                None => "Change what limits it.".to_owned(),
            };
            format!("{change}{send} After a change, repeat{full}:")
        }
        Outcome::Inconclusive | Outcome::Consistent => "Follow the advice above, and repeat.".to_owned(),
    };
    advice.insert(0, format!("`{}`", repeat_command(arguments, &options)));
    (!arguments.is_empty()).then(|| Lead::new("What next", sentence, advice))
}

/// The first latency that a workload misses, with its value in nanoseconds.
fn find_missed_latency(workload: &JudgedWorkload<'_>) -> Option<(Metric, f64)> {
    let missed = workload.clauses().iter().find(|judged| {
        judged.outcome == Outcome::Fail && matches!(judged.clause.metric, Metric::Mean | Metric::Quantile { .. })
    })?;
    Some((missed.clause.metric, missed.value?))
}

/// Builds the command that finds the highest load of a workload within the latency that it misses.
fn sweep_within_limit(workload: &JudgedWorkload<'_>) -> Option<String> {
    let results = &workload.run?.results;
    let is_missed_latency = |judged: &&ClauseVerdict| {
        judged.outcome == Outcome::Fail
            && judged.clause.direction.is_none()
            && matches!(judged.clause.metric, Metric::Mean | Metric::Quantile { .. })
    };
    let missed = workload.clauses().iter().find(is_missed_latency)?;
    let run = run_command(results, &Summary::from_results(results))?;
    let limit = missed.clause.to_string().replace(' ', "");
    Some(format!(
        "to find the highest load that meets {}: `{} --slo {}`",
        missed.clause,
        run.replacen(" run ", " sweep ", 1),
        shell_word(&limit)
    ))
}

/// Builds the chart of the distance of each promise from its limit.
fn build_limit_chart(workloads: &[JudgedWorkload<'_>]) -> Option<Chart> {
    let judged = || {
        let clauses = workloads
            .iter()
            .flat_map(|workload| workload.clauses().iter().map(move |clause| (workload, clause)));
        clauses.filter_map(|(workload, judged)| {
            let value = judged.value.filter(|value| *value > 0.0)?;
            (judged.clause.metric != Metric::Availability).then_some((workload, judged, value))
        })
    };
    let used = |judged: &ClauseVerdict, value: f64| match judged.clause.side {
        Side::AtMost => 100.0 * value / judged.clause.target,
        Side::AtLeast => 100.0 * judged.clause.target / value,
    };
    let mut series = Series::over_names(
        "used",
        Form::Rows,
        judged().map(|(workload, judged, value)| {
            (
                group_thousands(&format!("{}: {}", workload.requirement.workload, judged.clause)),
                Some(used(judged, value)),
            )
        }),
    );
    series.row_styles = judged()
        .map(|(_, judged, _)| match judged.outcome {
            Outcome::Pass => PointStyle::Met,
            Outcome::Fail => PointStyle::Missed,
            Outcome::Inconclusive | Outcome::Consistent => PointStyle::Undecided,
        })
        .collect();
    series.words = judged()
        .map(|(_, judged, value)| {
            let value = group_thousands(&judged.clause.show(value));
            format!("{value}, {}", judged.outcome.word())
        })
        .collect();
    let chart = Chart {
        id: "limits".into(),
        title: "Each promise against its limit".into(),
        about: "100 % is the limit: a promise is met on its left, missed on its right. For a rate, \
            the value is the required rate in percent of the measured one. Disc: PASS; cross: FAIL; \
            hollow square: not decided."
            .into(),
        x: Axis::names("promise"),
        // A miss by a factor of 25 would leave no room for the others on a linear axis.
        y: Axis::log("of the limit", "%"),
        series: vec![series],
        marks: vec![Mark::band(MarkAxis::Y, 0.0, 100.0, "met", Tone::Trim)],
        ..Chart::default()
    };
    (!chart.is_empty()).then_some(chart)
}

fn list_measured(workloads: &[JudgedWorkload<'_>]) -> Vec<(String, Observation)> {
    let observation = workloads.iter().filter_map(|workload| {
        Some((
            workload.requirement.workload.clone(),
            Observation::from_results(&workload.run?.results, 0, 0)?,
        ))
    });
    observation.collect()
}

fn mean_latency(observation: &Observation) -> Option<f64> {
    observation.total.user_latency()?.mean_ns
}

fn quantile(observation: &Observation, share: f64) -> Option<f64> {
    observation.total.user_latency()?.quantile(share)
}

/// The quantiles to show: p99 and those of the requirements.
fn shown_quantiles(workloads: &[JudgedWorkload<'_>]) -> Vec<f64> {
    let clauses = workloads.iter().flat_map(JudgedWorkload::clauses);
    let required = clauses.filter_map(|judged| match judged.clause.metric {
        Metric::Quantile { share } => Some(share),
        _ => None,
    });
    let mut shares: Vec<f64> = required.chain([0.99]).collect();
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    shares
}

/// Finds the limit of a workload on its mean or on a quantile, in nanoseconds.
fn find_limit(workloads: &[JudgedWorkload<'_>], name: &str, metric: Metric) -> Option<f64> {
    let workload = workloads
        .iter()
        .find(|workload| workload.requirement.workload == name)?;
    let mut clauses = workload.clauses().iter().map(|judged| &judged.clause);
    clauses
        .find(|clause| clause.metric == metric)
        .map(|clause| clause.target)
}

/// Builds the chart of the latencies of each workload: the mean, p99 and the promised percentiles.
fn build_latency_chart(workloads: &[JudgedWorkload<'_>]) -> Option<Chart> {
    let measured = list_measured(workloads);
    let shares = shown_quantiles(workloads);
    let slowest = measured
        .iter()
        .filter_map(|(_, observation)| quantile(observation, *shares.last()?))
        .fold(0.0, f64::max);
    let (unit, ns) = time_unit(slowest / 4.0);
    let bars = |name: String, figure: &dyn Fn(&Observation) -> Option<f64>, metric: Metric| {
        let values = measured
            .iter()
            .map(|(name, observation)| (name.clone(), figure(observation).map(|value| value / ns)));
        let limits = measured
            .iter()
            .map(|(name, _)| Some(find_limit(workloads, name, metric)? / ns));
        Series {
            limits: limits.collect(),
            ..Series::over_names(name, Form::Bars, values)
        }
    };
    let means = bars("mean".to_owned(), &mean_latency, Metric::Mean);
    let quantiles = shares.iter().map(|share| {
        let figure = |observation: &Observation| quantile(observation, *share);
        let name = LimitedFigure::Quantile(*share).to_string();
        bars(name, &figure, Metric::Quantile { share: *share })
    });
    let series: Vec<Series> = std::iter::once(means).chain(quantiles).collect();
    let has_limits = series.iter().flat_map(|series| &series.limits).any(Option::is_some);
    let chart = Chart {
        id: "latencies".into(),
        title: "Latency".into(),
        about: format!(
            "The mean, and the time within which 99 % (p99) or another share of the operations completed.{} Less is \
             better.",
            match has_limits {
                true => " A dashed line across a bar is its limit.",
                false => "",
            }
        ),
        x: Axis::names("workload"),
        y: Axis::from_zero("latency", unit),
        series,
        ..Chart::default()
    };
    (!chart.is_empty()).then_some(chart)
}

fn list_warnings(workload: &JudgedWorkload<'_>) -> String {
    let is_grave = |finding: &&Finding| finding.severity >= Severity::Warning;
    let mut rules: Vec<&str> = workload
        .findings()
        .iter()
        .filter(is_grave)
        .map(|finding| finding.rule.as_str())
        .collect();
    rules.dedup();
    match rules.is_empty() {
        true => "none".into(),
        false => rules.join(", "),
    }
}

fn build_figures_section(workloads: &[JudgedWorkload<'_>]) -> Section {
    let shares = shown_quantiles(workloads);
    // The head lists the loads of a few workloads.
    let has_loads = workloads.len() > MAX_LOADS_IN_HEAD;
    let row = |workload: &JudgedWorkload<'_>| {
        let observation = workload
            .run
            .and_then(|run| Observation::from_results(&run.results, 0, 0));
        let cell = |figure: Option<f64>, words: fn(f64) -> String| figure.map_or("-".into(), words);
        let total = |figure: fn(&Observation) -> Option<f64>| observation.as_ref().and_then(figure);
        let quantiles = shares.iter().map(|share| {
            let value = observation
                .as_ref()
                .and_then(|observation| quantile(observation, *share));
            cell(value, format_time)
        });
        let first = [
            workload.requirement.workload.clone(),
            workload.outcome().word().to_owned(),
            cell(total(|observation| observation.total.iops), format_rough),
            cell(total(mean_latency), format_time),
        ];
        let last = [
            cell(
                total(|observation| observation.total.bytes_per_sec.map(|bytes| bytes / 1e6)),
                format_rough,
            ),
            workload
                .measured()
                .map_or("-".into(), report::numbers::duration_with_unit),
            list_warnings(workload),
        ];
        let load = has_loads.then(|| workload.load().unwrap_or_else(|| "not measured".into()));
        first.into_iter().chain(quantiles).chain(last).chain(load).collect()
    };
    let quantiles = shares.iter().map(|share| LimitedFigure::Quantile(*share).to_string());
    // A phone shows the first columns.
    let head = ["workload", "verdict", "IOPS", "mean"].map(str::to_owned).into_iter();
    let head = head.chain(quantiles);
    let head = head
        .chain(["MB/s", "measured for", "warnings"].map(str::to_owned))
        .chain(has_loads.then(|| "load".to_owned()))
        .collect();
    let promises = workloads.iter().flat_map(|workload| {
        workload.clauses().iter().map(move |judged| {
            vec![
                group_thousands(&format!("{}: {}", workload.requirement.workload, judged.clause)),
                judged.outcome.word().to_owned(),
                judged
                    .value
                    .map_or("-".into(), |value| group_thousands(&judged.clause.show(value))),
                group_thousands(&judged.clause.show(judged.clause.target)),
                group_thousands(&judged.reason),
            ]
        })
    });
    let workloads = Table {
        caption: "Every workload".into(),
        head,
        rows: workloads.iter().map(row).collect(),
    };
    let head_of_promises = ["promise", "verdict", "measured", "limit", "why"];
    let promises = Table::new("Every promise", &head_of_promises, promises.collect());
    Section::new("Measurements", vec![Block::Table(workloads), Block::Table(promises)])
}
