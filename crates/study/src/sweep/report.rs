//! The report of a finished sweep: its table, its curves, and the weaknesses of its figures.

use analysis::knee::{self, Advice, AdviceKind, Axis, Knee, Limit, LimitResult, LimitedFigure, Point};
use analysis::round_to_three_digits;
use analysis::verdict::list_doubts;
use model::finding::Severity;
use model::observation::Observation;
use model::stats::{batch_means, quantile_interval};
use model::study::{Parameter, Question, RunRole, Setting, SkippedPoint, Study, StudyRun, VariedParameter};
use serde::Serialize;

use super::burst::{MixedRates, find_mixed_rates};
use super::rules;
use crate::numbers::{format_number, format_time};

/// The report of a sweep, for tables and programs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the sweep.
    pub name: String,
    /// The parameters that were varied, in the order of the settings.
    pub varied: Vec<Parameter>,
    /// The latency limit for reading the curves.
    pub limit: Option<Limit>,
    /// The points, in the order of their settings.
    pub rows: Vec<Row>,
    /// The repetition of the first point at the end.
    #[serde(skip)]
    pub repeat: Option<Row>,
    /// A curve for each combination of the other parameters; empty if no parameter is a load.
    pub curves: Vec<Curve>,
    /// Planned points that were not measured, with the reason, in the order of the settings.
    #[serde(rename = "left_out")]
    pub skipped: Vec<SkippedPoint>,
    /// Weaknesses of the figures, in sentences.
    pub notes: Vec<String>,
    /// The sweep was cut short.
    pub interrupted: bool,
}

/// One point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The settings of the point.
    pub settings: Vec<Setting>,
    /// Position in the order of measurement, from 1.
    pub order: usize,
    /// Operations that may be in flight at the same time.
    pub in_flight: Option<u64>,
    /// Mean operations in flight, only for paced loads, whose depth is just an upper limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight_mean: Option<f64>,
    /// Operations per second.
    pub iops: f64,
    /// Half-width of its 95 % interval.
    pub iops_half_width: Option<f64>,
    /// Bytes per second.
    pub bytes_per_sec: f64,
    /// Mean latency in nanoseconds; for paced loads the response time.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: Option<f64>,
    /// 99th percentile; absent if fewer than ten operations are beyond it.
    pub p99_ns: Option<f64>,
    /// 99.9th percentile, under the same condition.
    pub p999_ns: Option<f64>,
    /// Rules with a warning about the run.
    pub warnings: Vec<String>,
    /// Rules of findings that invalidate the figures of the run.
    #[serde(skip)]
    pub doubts: Vec<String>,
}

impl Row {
    /// The depth; for paced loads the mean operations in flight.
    pub fn format_in_flight(&self) -> String {
        match (self.in_flight_mean, self.in_flight) {
            (Some(mean), _) => format!("{:.*}", if mean < 10.0 { 2 } else { 1 }, mean),
            (None, Some(depth)) => depth.to_string(),
            (None, None) => "-".into(),
        }
    }
}

/// The points that differ only in their load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The load parameter.
    pub parameter: Parameter,
    /// The settings of the other parameters.
    pub fixed: Vec<Setting>,
    /// Values of the load parameter, parallel to the points of the knee.
    pub settings: Vec<f64>,
    /// The analysis of the curve.
    pub knee: Knee,
    /// The sustained rate, if other points ran at burst rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mixed_rates: Option<MixedRates>,
    /// All settings of one of its points.
    #[serde(skip)]
    pub(super) template: Vec<Setting>,
}

impl Curve {
    /// The value of the parameter at a load of the knee.
    pub fn setting_at(&self, load: f64) -> Option<f64> {
        let index = self.knee.points.iter().position(|point| point.load == load)?;
        self.settings.get(index).copied()
    }

    /// True if the curve shows no load to use.
    pub fn shows_no_load(&self) -> bool {
        matches!(self.knee.advice.kind, AdviceKind::MixedRates | AdviceKind::Doubtful)
    }

    /// Replaces the advice if findings invalidate the figures of a point.
    fn withhold_advice(&mut self, varied: &[VariedParameter], rows: &[Row]) {
        let is_own = |row: &&Row| rules::same_curve(varied, &self.template, &row.settings);
        let doubtful: Vec<String> = rows
            .iter()
            .filter(is_own)
            .filter(|row| !row.doubts.is_empty())
            .map(|row| format!("{} at {}", row.doubts.join(", "), format_settings(&row.settings)))
            .collect();
        if doubtful.is_empty() {
            return;
        }
        self.mixed_rates = None;
        self.knee.kept = self.knee.kept.map(|_| LimitResult {
            unknown: true,
            ..LimitResult::default()
        });
        self.knee.advice = Advice {
            kind: AdviceKind::Doubtful,
            sentence: format!(
                "No recommendation, because findings invalidate figures: {}.",
                doubtful.join("; ")
            ),
            ..Advice::default()
        };
    }

    /// The lowest value of the parameter that misses the limit although a higher one meets it.
    pub(super) fn contradicted_setting(&self) -> Option<f64> {
        let limit = self.knee.kept.filter(|kept| kept.met_again_at.is_some())?;
        self.setting_at(limit.missed_at?)
    }

    /// Operations in flight per unit of the parameter, if that is the same at all points.
    pub(super) fn in_flight_per_setting(&self) -> Option<f64> {
        let mut ratios = self
            .knee
            .points
            .iter()
            .zip(&self.settings)
            .map(|(point, setting)| point.load / setting);
        let first = ratios.next()?;
        ratios.all(|ratio| (ratio / first - 1.0).abs() < 1e-9).then_some(first)
    }
}

/// Rules of other programs, with what follows from them.
const DISTURBANCES: [(&str, &str, &str); 2] = [
    (
        "D-CPU",
        "kept the processors busy",
        "operations waited for a processor; the storage may be faster",
    ),
    ("OTHER-LOAD", "used the disk", "the storage may be faster"),
];

impl Report {
    /// Describes the points that other programs disturbed, if these are at least half.
    pub fn describe_disturbance(&self) -> Option<String> {
        let has = |row: &&Row, rule: &str| row.warnings.iter().any(|warning| warning == rule);
        let is_disturbed = |row: &&Row| DISTURBANCES.iter().any(|(rule, ..)| has(row, rule));
        let (count, all) = (self.rows.iter().filter(is_disturbed).count(), self.rows.len());
        let disturbances = DISTURBANCES
            .iter()
            .filter(|(rule, ..)| self.rows.iter().any(|row| has(&row, rule)));
        let disturbances: Vec<_> = disturbances.collect();
        let effect = match disturbances[..] {
            [] => return None,
            [(_, _, effect)] => effect,
            // What both mean.
            _ => "the storage may be faster",
        };
        let causes: Vec<&str> = disturbances.iter().map(|(_, what, _)| *what).collect();
        let causes = causes.join(" or ");
        (2 * count >= all).then(|| format!("Other programs {causes} at {count} of {all} points, so {effect}."))
    }

    /// Interprets a study; `limit` replaces the study's. `None` for a study of another
    /// kind.
    pub fn from_study(study: &Study, limit: Option<Limit>) -> Option<Report> {
        let Question::Sweep {
            varied,
            limit: planned_limit,
        } = &study.question
        else {
            return None;
        };
        let limit = limit.or_else(|| planned_limit.as_ref()?.parse().ok());
        let points = || {
            study
                .runs
                .iter()
                .enumerate()
                .filter(|(_, run)| run.role == RunRole::Measured)
        };
        let mut rows: Vec<Row> = points().filter_map(|(index, run)| row(index, run)).collect();
        rows.sort_by(|a, b| compare_settings(varied, &a.settings, &b.settings));
        let mut runs = study.runs.iter().enumerate();
        let repeat = runs.find(|(_, run)| run.role == RunRole::Repeat);
        let repeat = repeat.and_then(|(index, run)| row(index, run));
        let mut skipped = study.skipped.clone();
        skipped.sort_by(|a, b| compare_settings(varied, &a.settings, &b.settings));
        let mut curves = build_curves(varied, &study.runs, limit.as_ref());
        for curve in curves.iter_mut().filter(|curve| curve.parameter != Parameter::Rate) {
            let is_own = |run: &&StudyRun| {
                matches!(run.role, RunRole::Measured | RunRole::Repeat)
                    && rules::same_curve(varied, &curve.template, &run.settings)
            };
            if let Some(mixed) = find_mixed_rates(study.runs.iter().filter(is_own)) {
                (curve.mixed_rates, curve.knee.advice) = (Some(mixed), mixed.advice());
            }
        }
        for curve in &mut curves {
            curve.withhold_advice(varied, &rows);
        }
        let mut notes: Vec<String> = find_drift(&study.runs)
            .or_else(|| describe_repeat(&rows, repeat.as_ref()?))
            .into_iter()
            .collect();
        notes.extend(list_contradicted(&study.runs, limit.as_ref()));
        notes.extend(list_cut_short(&study.runs));
        notes.extend(list_warnings(&rows, &study.runs));
        notes.extend(has_one_operation_each(&rows).then(|| ONE_OPERATION_EACH.to_owned()));
        let axis = rules::load_axis(varied).filter(|_| curves.is_empty() && !rows.is_empty());
        notes.extend(axis.map(|(_, parameter)| {
            format!(
                "{PACED_JOB}, and every point reached it, so the {} has no effect. Remove the rate, or vary it: \
                 --over rate=1000..64000.",
                parameter.name()
            )
        }));
        Some(Report {
            name: study.name.clone(),
            varied: varied.iter().map(|varied| varied.parameter).collect(),
            limit,
            rows,
            repeat,
            curves,
            skipped,
            notes,
            interrupted: study.interrupted,
        })
    }
}

/// Begins the note about a job whose rate hides the effect of the load.
pub const PACED_JOB: &str = "The job has a rate";

/// What to expect of more workers with one operation each.
const ONE_OPERATION_EACH: &str = "Each worker has one operation in flight, so more workers raise the rate until the \
    device serves as many operations in parallel. An asynchronous engine with a greater depth may reach the same \
    rate with fewer workers.";

/// True if the workers were varied and each had one operation in flight.
pub(super) fn has_one_operation_each(rows: &[Row]) -> bool {
    let workers = |row: &Row| {
        let mut settings = row.settings.iter();
        settings
            .find(|setting| setting.name == Parameter::Workers.name())?
            .number
    };
    let is_single = |row: &Row| workers(row).is_some_and(|workers| row.in_flight == Some(workers as u64));
    rows.len() > 1 && rows.iter().all(is_single)
}

/// Sorts by curve, then by load.
fn compare_settings(varied: &[VariedParameter], a: &[Setting], b: &[Setting]) -> std::cmp::Ordering {
    let axis = rules::load_axis(varied).map(|(index, _)| index);
    let other_axes = (0..varied.len()).filter(|index| Some(*index) != axis);
    let number =
        |settings: &[Setting], index: usize| settings.get(index).and_then(|setting| setting.number).unwrap_or(0.0);
    let word = |settings: &[Setting], index: usize| settings.get(index).map(|setting| setting.value.clone());
    let compare_by = |index: usize| {
        let order = number(a, index).total_cmp(&number(b, index));
        order.then_with(|| word(a, index).cmp(&word(b, index)))
    };
    other_axes
        .chain(axis)
        .map(compare_by)
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}

fn iops_half_width(observation: &Observation) -> Option<f64> {
    half_width(observation, |point| Some(point.iops()))
}

fn half_width(
    observation: &Observation,
    value: impl Fn(&model::observation::SeriesPoint) -> Option<f64>,
) -> Option<f64> {
    let longest = observation.series.iter().map(|point| point.length_ns).max()?;
    let full_points = observation.series.iter().filter(|point| point.length_ns == longest);
    batch_means(&full_points.filter_map(value).collect::<Vec<f64>>(), 0.95).map(|means| means.half_width)
}

fn row(index: usize, run: &StudyRun) -> Option<Row> {
    let observation = Observation::from_results(&run.results, 0, 0)?;
    let latency = observation.total.user_latency()?;
    let supported = |share: f64| {
        let n = latency.samples.unwrap_or(0);
        (model::stats::support(share, n) != model::stats::Support::None).then(|| latency.quantile(share))?
    };
    // A sweep over rates looks for those that are not reached.
    let offers_rates = run
        .settings
        .iter()
        .any(|setting| setting.name == Parameter::Rate.name());
    let mut warnings: Vec<String> = run
        .results
        .findings
        .iter()
        .filter(|finding| finding.severity >= Severity::Warning)
        .filter(|finding| !(offers_rates && finding.rule == "RATE-NOT-KEPT"))
        .map(|finding| finding.rule.to_string())
        .collect();
    warnings.dedup();
    Some(Row {
        settings: run.settings.clone(),
        order: index + 1,
        in_flight: observation.load.depth,
        // Little's law.
        in_flight_mean: match observation.load.rate_iops {
            Some(_) => observation
                .total
                .latency
                .as_ref()
                .and_then(|service| Some(observation.total.iops? * service.mean_ns? / 1e9)),
            None => None,
        },
        iops: observation.total.iops?,
        iops_half_width: iops_half_width(&observation),
        bytes_per_sec: observation.total.bytes_per_sec?,
        mean_ns: latency.mean_ns?,
        p50_ns: supported(0.5),
        p99_ns: supported(0.99),
        p999_ns: supported(0.999),
        warnings,
        doubts: list_doubts(&run.results.findings)
            .into_iter()
            .map(str::to_owned)
            .collect(),
    })
}

/// True if the job has a rate and reached it.
fn reached_rate(run: &StudyRun) -> bool {
    let observation = Observation::from_results(&run.results, 0, 0);
    observation.is_some_and(|observation| {
        observation
            .load
            .rate_iops
            .zip(observation.total.iops)
            .is_some_and(|(requested, iops)| iops >= 0.99 * requested)
    })
}

/// The curves of a sweep, in the order in which their first points were measured.
pub(super) fn build_curves(varied: &[VariedParameter], runs: &[StudyRun], limit: Option<&Limit>) -> Vec<Curve> {
    let Some((axis, parameter)) = rules::load_axis(varied) else {
        return Vec::new();
    };
    let points: Vec<&StudyRun> = runs.iter().filter(|run| run.role == RunRole::Measured).collect();
    // If every point reached the rate of the job, the depth has no effect and no knee.
    if parameter != Parameter::Rate && !points.is_empty() && points.iter().all(|run| reached_rate(run)) {
        return Vec::new();
    }
    let mut templates: Vec<&Vec<Setting>> = Vec::new();
    for run in &points {
        if !templates
            .iter()
            .any(|template| rules::same_curve(varied, template, &run.settings))
        {
            templates.push(&run.settings);
        }
    }
    templates.sort_by(|a, b| compare_settings(varied, a, b));
    let kind = match parameter {
        Parameter::Rate => Axis::Rate,
        Parameter::Targets => Axis::Targets,
        _ => Axis::InFlight,
    };
    let curve = |template: &Vec<Setting>| {
        let mut loads: Vec<(f64, Point)> = points
            .iter()
            .filter(|run| rules::same_curve(varied, template, &run.settings))
            .filter_map(|run| Some((run.settings.get(axis)?.number?, build_point(kind, run, axis, limit)?)))
            .collect();
        loads.sort_by(|a, b| a.1.load.total_cmp(&b.1.load));
        let points: Vec<Point> = loads.iter().map(|(_, point)| *point).collect();
        Curve {
            parameter,
            fixed: template
                .iter()
                .enumerate()
                .filter(|(index, _)| *index != axis)
                .map(|(_, s)| s.clone())
                .collect(),
            settings: loads.iter().map(|(setting, _)| *setting).collect(),
            knee: knee::analyse(&points, kind, limit),
            mixed_rates: None,
            template: template.clone(),
        }
    };
    templates.into_iter().map(curve).collect()
}

fn build_point(kind: Axis, run: &StudyRun, axis: usize, limit: Option<&Limit>) -> Option<Point> {
    let observation = Observation::from_results(&run.results, 0, 0)?;
    let setting = run.settings.get(axis)?.number?;
    let load = match kind {
        Axis::InFlight => observation.load.depth.map_or(setting, |depth| depth as f64),
        Axis::Targets | Axis::Rate => setting,
    };
    // Queueing bounds use the time in the device; limits use the waiting time of a user.
    let mean_ns = match kind {
        Axis::Rate => observation.total.user_latency()?.mean_ns?,
        Axis::InFlight | Axis::Targets => observation.total.latency.as_ref()?.mean_ns?,
    };
    Some(Point {
        load,
        iops: observation.total.iops?,
        iops_half_width: iops_half_width(&observation),
        mean_ns,
        limited_ns: limit.and_then(|limit| rules::limited_figure(limit, &observation)),
        limited_ns_high: limit.and_then(|limit| limited_ns_high(limit, &observation)),
    })
}

/// The upper bound of the limited figure; absent if too few operations are beyond it.
fn limited_ns_high(limit: &Limit, observation: &Observation) -> Option<f64> {
    let latency = observation.total.user_latency()?;
    match limit.figure {
        LimitedFigure::Mean => Some(latency.mean_ns? + half_width(observation, |point| point.mean_ns)?),
        LimitedFigure::Quantile(share) => {
            let histogram = latency.histogram.as_ref()?;
            if model::stats::support(share, histogram.n()) == model::stats::Support::None {
                return None;
            }
            quantile_interval(histogram, share, 0.95).1.map(|high| high as f64)
        }
    }
}

/// Minimum change between the first point and its repetition that counts as drift.
const MIN_DRIFT: f64 = 0.05;

fn find_drift(runs: &[StudyRun]) -> Option<String> {
    let repeat = runs.iter().find(|run| run.role == RunRole::Repeat)?;
    let first = runs
        .iter()
        .find(|run| run.role == RunRole::Measured && run.settings == repeat.settings)?;
    let (a, b) = (
        Observation::from_results(&first.results, 0, 0)?,
        Observation::from_results(&repeat.results, 0, 0)?,
    );
    let (from, to) = (a.total.iops?, b.total.iops?);
    let uncertainty = iops_half_width(&a).unwrap_or(0.0) + iops_half_width(&b).unwrap_or(0.0);
    ((to - from).abs() > uncertainty.max(MIN_DRIFT * from)).then(|| {
        format!(
            "{} reached {} operations per second at first and {} at the end ({:+.1} %): something else changed \
             during the sweep, such as a cache, the state of the medium, burst credits or other load. Because of the \
             random order, this scatters the points instead of bending the curve.",
            format_settings(&repeat.settings),
            format_number(round_to_three_digits(from)),
            format_number(round_to_three_digits(to)),
            (to / from - 1.0) * 100.0
        )
    })
}

/// Describes a repetition of the first point that agrees with it.
fn describe_repeat(rows: &[Row], repeat: &Row) -> Option<String> {
    let first = rows.iter().find(|row| row.settings == repeat.settings)?;
    let p99 = first.p99_ns.zip(repeat.p99_ns).map_or(String::new(), |(first, again)| {
        format!(", p99 {} and {}", format_time(first), format_time(again))
    });
    Some(format!(
        "{}, measured twice: {} and {} IOPS{p99}.",
        format_settings(&repeat.settings),
        format_number(round_to_three_digits(first.iops)),
        format_number(round_to_three_digits(repeat.iops))
    ))
}

/// Lists the points that missed the limit although higher loads met it.
fn list_contradicted(runs: &[StudyRun], limit: Option<&Limit>) -> Vec<String> {
    let figure = |run: &StudyRun| {
        let observation = Observation::from_results(&run.results, 0, 0)?;
        Some(format_time(rules::limited_figure(limit?, &observation)?))
    };
    let sentence = |first: &StudyRun| {
        let repeated = runs
            .iter()
            .find(|run| run.role == RunRole::Measured && run.settings == first.settings)?;
        Some(format!(
            "{} missed {} although a higher load met it, so it was measured again: {} at first, then {}. The table \
             shows the second measurement.",
            format_settings(&first.settings),
            limit?,
            figure(first)?,
            figure(repeated)?
        ))
    };
    let contradicted = runs.iter().filter(|run| run.role == RunRole::Contradicted);
    contradicted.filter_map(sentence).collect()
}

fn list_cut_short(runs: &[StudyRun]) -> Vec<String> {
    let cut = runs.iter().filter(|run| run.role == RunRole::CutShort);
    cut.map(|run| {
        let interrupted = if run.results.interrupted {
            "was interrupted"
        } else {
            "failed or ended early"
        };
        let mut findings = run.results.findings.iter();
        let error = findings.find(|finding| finding.severity == Severity::Error);
        let why = error.map_or(String::new(), |error| format!(" ({})", error.what));
        format!(
            "{} {interrupted}{why}; the table omits its figures (`--save` keeps them)",
            format_settings(&run.settings)
        )
    })
    .collect()
}

/// Lists the rules that warned, each with its points, its first finding and the help.
pub fn list_warnings(rows: &[Row], runs: &[StudyRun]) -> Vec<String> {
    let mut rules: Vec<&String> = rows.iter().flat_map(|row| &row.warnings).collect();
    rules.sort();
    rules.dedup();
    let describe_points = |rule: &String| {
        let points: Vec<String> = rows
            .iter()
            .filter(|row| row.warnings.contains(rule))
            .map(|row| format_settings(&row.settings))
            .collect();
        let findings = describe_findings(rule, runs, &points);
        match points.len() == rows.len() && rows.len() > 1 {
            true => format!("warning {rule} at all {} points{findings}", rows.len()),
            false => format!("warning {rule} at {}{findings}", points.join("; ")),
        }
    };
    rules.into_iter().map(describe_points).collect()
}

/// The finding and the help of a rule for the first run with that warning.
fn describe_findings(rule: &str, runs: &[StudyRun], points: &[String]) -> String {
    let matching_findings = |run: &StudyRun| {
        let findings = run.results.findings.iter();
        let findings = findings.filter(|finding| finding.rule == rule && finding.severity >= Severity::Warning);
        findings.cloned().collect::<Vec<_>>()
    };
    let first = runs
        .iter()
        .map(matching_findings)
        .find(|findings| !findings.is_empty())
        .unwrap_or_default();
    let places = first.iter().map(|finding| match &finding.at {
        // A single point has been named already.
        Some(at) if points != std::slice::from_ref(at) => format!("{at}: {}", finding.what),
        _ => finding.what.clone(),
    });
    let help = first.iter().find_map(|finding| finding.help.clone());
    let sentences: Vec<String> = places.chain(help).collect();
    match sentences.is_empty() {
        true => String::new(),
        false => format!(": {}", sentences.join("; ")),
    }
}

/// Settings as text: `depth 8, block 4 KiB`.
pub fn format_settings(settings: &[Setting]) -> String {
    let described = settings
        .iter()
        .map(|setting| format!("{} {}", setting.name, setting.value));
    described.collect::<Vec<_>>().join(", ")
}
