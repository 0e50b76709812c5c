//! The page of a sweep: the curve with its knee and limit, the plane of rate and latency, and every
//! point.

mod points;

use analysis::knee::{AdviceKind, LimitedFigure, Scalability};
use model::observation::Observation;
use model::results::Results;
use model::study::{Parameter, Role, Setting, Study};
use report::Summary;
use report::html::chart::{Across, Axis, Chart, Form, Heat, Mark, Series, Tick, Tone, X, time_unit};
use report::html::page::{Block, Lead, Page, Section, Table, Verdict};
use report::html::run::{Head, PlanePoint, plane, provenance, repeat_command, repeat_section, run_command};
use report::numbers::{rough, time};
use study::sweep::{Curve, Report, Row, format_settings};

pub use points::csv;
use points::{caveats, downloads, omitted, table, warnings};

/// Smallest ratio of the last to the first load for a logarithmic axis.
const MIN_LOG_RATIO: f64 = 8.0;

/// Share of the highest rate that counts as the highest: repetitions differ by as much.
const FULL_RATE_SHARE: f64 = 0.98;
/// Maximum points that each have a tick on the axis.
const MAX_TICKS: usize = 16;

/// Builds the page of a sweep.
pub fn page(report: &Report, study: &Study) -> Page {
    let first = study.runs.first().map(|run| &run.results);
    let summary = first.map(Summary::from_results);
    let mut sections: Vec<Section> = heat(report).into_iter().collect();
    for (number, curve) in report.curves.iter().enumerate() {
        sections.push(curve_section(number, curve, report, study));
    }
    sections.push(table(report));
    sections.extend(omitted(report));
    sections.extend(first.and_then(repeat_section));
    let mut page = Page {
        title: title_of(report, summary.as_ref()),
        charts: Vec::new(),
        about: about(report, first, summary.as_ref()),
        verdict: limit_verdict(report),
        lead: report
            .curves
            .iter()
            .map(|curve| lead(curve, report))
            .chain(caveats(report, study))
            .chain(assess(report, study))
            .chain(advise_next_step(report, study, summary.as_ref()))
            .collect(),
        findings: warnings(report, study),
        tiles: Vec::new(),
        sections,
        downloads: downloads(report),
        provenance: summary.as_ref().map_or_else(String::new, provenance),
    };
    if report.curves.len() == 1 {
        page.promote_charts(&["rate-0", "latency-0"]);
        // The title described these two.
        if let Some(section) = page
            .sections
            .iter_mut()
            .find(|section| section.title == title(report.curves[0].parameter))
        {
            section.title = "Interpretation of the curve".into();
        }
    }
    page
}

/// Returns the name from the user, or else load, varied parameters and target.
fn title_of(report: &Report, summary: Option<&Summary>) -> String {
    let job = summary.and_then(|summary| summary.jobs.first());
    let target = summary.and_then(|summary| summary.targets.first());
    match (job, target, report.name.as_str()) {
        (Some(job), Some(target), "sweep") => {
            let varied: Vec<&str> = report.varied.iter().map(|parameter| parameter.name()).collect();
            let load = job.operations.trim_end_matches(", direct");
            format!("{load} over {} — {}", varied.join(" and "), target.path)
        }
        _ => report.name.clone(),
    }
}

/// Assesses the recommended load. Advises how to find the highest load within a latency limit.
/// `None` if the sweep has a limit.
fn assess(report: &Report, study: &Study) -> Option<Lead> {
    let arguments = &study.runs.first()?.results.plan.origin.arguments;
    if report.limit.is_some() || report.curves.is_empty() || arguments.get(1).is_none_or(|word| word != "sweep") {
        return None;
    }
    let saved = arguments
        .iter()
        .position(|word| word == "--save")
        .and_then(|at| arguments.get(at + 1));
    let again = match saved {
        Some(file) => ["fathom", "sweep", "--from", file].map(str::to_owned).to_vec(),
        None => arguments.clone(),
    };
    let limit = [("--slo".to_owned(), "p99<=5ms".to_owned())];
    let comparison = recommended_observation(report, study)
        .and_then(|seen| super::compare_with_typical(&seen))
        .unwrap_or_default();
    let sentence = format!(
        "{comparison} The right load depends on the latency that your programs tolerate: set it, and \
        this command finds the highest load that meets it."
    );
    Some(Lead {
        topic: "Is it good?".into(),
        sentence: sentence.trim_start().to_owned(),
        advice: vec![format!(
            "with your own limit instead of 5 ms: `{}`",
            repeat_command(&again, &limit)
        )],
    })
}

/// Advises the next command: higher loads if the last point was not the limit, else a longer test
/// of the recommended load.
fn advise_next_step(report: &Report, study: &Study, summary: Option<&Summary>) -> Option<Lead> {
    let ([curve], [_]) = (&report.curves[..], &report.varied[..]) else {
        return None;
    };
    let results = &study.runs.first()?.results;
    let arguments = &results.plan.origin.arguments;
    let parameter = curve.parameter.name();
    let last = curve.settings.iter().copied().fold(0.0, f64::max);
    let (sentence, command) = match curve.knee.advice.kind {
        AdviceKind::StillRising | AdviceKind::LimitNotReached | AdviceKind::AllDelivered
            if arguments.get(1).is_some_and(|word| word == "sweep") =>
        {
            let higher = format!("{parameter}={}..{}", format_setting(last), format_setting(4.0 * last));
            (
                "Measure higher loads to find the limit.".to_owned(),
                repeat_command(arguments, &[("--over".to_owned(), higher)]),
            )
        }
        _ => {
            let at = curve
                .knee
                .points
                .iter()
                .position(|point| Some(point.load) == curve.knee.advice.load)?;
            let setting = format_setting(*curve.settings.get(at)?);
            (
                format!("Confirm the recommended load, {parameter} {setting}, with a longer test."),
                format!("{} --{parameter} {setting} --time 5m", run_command(results, summary?)?),
            )
        }
    };
    Some(Lead {
        topic: "What next".into(),
        sentence,
        advice: vec![format!("`{command}`")],
    })
}

/// Finds the measurement at the recommended load of the only curve; `None` on simulated storage.
fn recommended_observation(report: &Report, study: &Study) -> Option<Observation> {
    let [curve] = &report.curves[..] else { return None };
    let load = curve.knee.advice.load?;
    let at = curve.knee.points.iter().position(|point| point.load == load)?;
    let row = rows_of(curve, report).get(at).copied()?;
    let results = &study.runs.get(row.order - 1)?.results;
    let mut targets = results.hosts.iter().flat_map(|host| &host.environment.targets);
    let is_real = targets.all(|target| target.kind != "simulated");
    is_real.then(|| Observation::from_results(results, 0, 0))?
}

fn about(report: &Report, first: Option<&Results>, summary: Option<&Summary>) -> Vec<String> {
    let names: Vec<&str> = report.varied.iter().map(|parameter| parameter.name()).collect();
    let mut lines = vec![format!(
        "A sweep over {}: the same load {} times, in random order",
        names.join(" and "),
        report.rows.len()
    )];
    // Except for the varied parameters, all points have the load of the first.
    let job = summary.and_then(|summary| summary.jobs.first());
    let load = job.map(|job| {
        let measured = report::numbers::duration(job.measured_ns);
        format!("{}; each point measured for {measured}", job.operations)
    });
    let head = first.map(Head::from_results).unwrap_or_default();
    let of_point = job.map(|job| job.operations.as_str()).unwrap_or_default();
    lines.extend(head.about.into_iter().filter(|line| !line.starts_with(of_point)));
    lines.extend(load);
    if report.interrupted {
        lines.push("It was interrupted: the figures cover the time until then.".into());
    }
    lines
}

fn limit_verdict(report: &Report) -> Verdict {
    let Some(limit) = &report.limit else {
        return Verdict::default();
    };
    let kept: Vec<String> = report
        .curves
        .iter()
        .map(|curve| {
            let of = if curve.fixed.is_empty() {
                String::new()
            } else {
                format!("{}: ", format_settings(&curve.fixed))
            };
            let found = curve
                .knee
                .kept
                .as_ref()
                .and_then(|kept| Some((kept.kept_at?, kept.iops?)));
            match found {
                Some((load, iops)) => format!(
                    "{of}met up to {} {load:.0}, at about {} IOPS",
                    curve.parameter.name(),
                    rough(iops)
                ),
                None => format!("{of}met by no measured point"),
            }
        })
        .collect();
    Verdict {
        sentence: format!("The limit {limit} is {}.", kept.join("; ")),
        ..Verdict::default()
    }
}

fn lead(curve: &Curve, report: &Report) -> Lead {
    Lead {
        advice: list_choices(curve, report),
        topic: match curve.fixed.is_empty() {
            true => "Result of the curve".into(),
            false => format!("Result of the curve for {}", format_settings(&curve.fixed)),
        },
        sentence: split_advice(curve).0,
    }
}

/// Splits the advice into the recommendation and the rest.
fn split_advice(curve: &Curve) -> (String, String) {
    let sentence = &curve.knee.advice.sentence;
    let ends = sentence.match_indices(". ").nth(1).map(|(at, _)| at + 1);
    let (first, rest) = sentence.split_at(ends.unwrap_or(sentence.len()));
    (first.to_owned(), rest.trim_start().to_owned())
}

/// Lists the loads to choose from: the one with the most rate for its latency, and the one with the
/// most rate.
fn list_choices(curve: &Curve, report: &Report) -> Vec<String> {
    let knee = &curve.knee;
    // A higher load with hardly more rate is not an alternative.
    let most = knee.points.iter().map(|point| point.iops).fold(0.0, f64::max);
    let fastest = knee
        .points
        .iter()
        .find(|point| point.iops >= FULL_RATE_SHARE * most)
        .map(|point| point.load);
    let (Some(short), Some(fast)) = (knee.power, fastest) else {
        return Vec::new();
    };
    let words = |name: &str, load: f64| {
        let at = knee.points.iter().position(|point| point.load == load)?;
        let (point, setting) = (&knee.points[at], curve.settings.get(at)?);
        let row = rows_of(curve, report).get(at).and_then(|row| row.p99_ns);
        let p99 = row.map_or_else(String::new, |p99| format!(", p99 {}", time(p99)));
        let (parameter, value) = (curve.parameter.name(), format_setting(*setting));
        Some(format!(
            "{name}: {parameter} {value} with {} IOPS, mean {}{p99}",
            rough(point.iops),
            time(point.mean_ns)
        ))
    };
    if short == fast {
        return words("as advised", knee.advice.load.unwrap_or(short))
            .into_iter()
            .collect();
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

fn title(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Depth => "Rate over queue depth",
        Parameter::Workers => "Rate over threads",
        Parameter::Targets => "Scaling over targets",
        Parameter::Rate => "Achieved rate over requested rate",
        Parameter::Block => "Rate over block size",
        Parameter::Read => "Rate over share of reads",
    }
}

/// Builds the axis of loads, logarithmic for a wide range.
fn axis_of(curve: &Curve) -> Axis {
    let (least, most) = ends(curve);
    let unit = if curve.parameter == Parameter::Rate { "IOPS" } else { "" };
    let axis = match most / least >= MIN_LOG_RATIO {
        true => Axis::log(curve.parameter.name(), unit),
        false => Axis::linear(curve.parameter.name(), unit),
    };
    let few = curve.settings.len() <= MAX_TICKS;
    let ticks = curve.settings.iter().filter(|_| few).map(|setting| Tick {
        at: *setting,
        words: format_setting(*setting),
    });
    Axis {
        ticks: ticks.collect(),
        ..axis
    }
}

/// Formats a setting without needless digits.
fn format_setting(setting: f64) -> String {
    if setting.fract() == 0.0 {
        format!("{setting:.0}")
    } else {
        format!("{setting:.2}")
    }
}

fn ends(curve: &Curve) -> (f64, f64) {
    let least = curve.settings.iter().copied().fold(f64::INFINITY, f64::min);
    let most = curve.settings.iter().copied().fold(0.0, f64::max);
    (least.max(1e-9), most)
}

fn curve_section(number: usize, curve: &Curve, report: &Report, study: &Study) -> Section {
    let of = if curve.fixed.is_empty() {
        String::new()
    } else {
        format!(", {}", format_settings(&curve.fixed))
    };
    let mut blocks = vec![
        Block::Chart(Box::new(rate_chart(number, curve, &of))),
        Block::Chart(Box::new(latencies(number, curve, report, &of))),
    ];
    let points: Vec<PlanePoint> = curve
        .knee
        .points
        .iter()
        .zip(&curve.settings)
        .filter(|(point, _)| point.iops > 0.0 && point.mean_ns > 0.0)
        .map(|(point, setting)| PlanePoint {
            name: format!("{} {setting:.0}", curve.parameter.name()),
            iops: point.iops,
            mean_ns: point.mean_ns,
        })
        .collect();
    let title = format!("Rate and latency{of}");
    blocks.extend(Block::chart(plane(&format!("plane-{number}"), &title, &points)));
    blocks.extend(Block::chart(device_chart(number, curve, study, &of)));
    blocks.push(Block::Table(analyses_table(curve)));
    Section {
        title: format!("{}{of}", self::title(curve.parameter)),
        about: split_advice(curve).1,
        blocks,
        ..Section::default()
    }
}

fn rate_chart(number: usize, curve: &Curve, of: &str) -> Chart {
    let knee = &curve.knee;
    let points: Vec<(f64, f64)> = curve
        .settings
        .iter()
        .copied()
        .zip(knee.points.iter().map(|point| point.iops))
        .collect();
    let mut measured = Series::new("measured", Form::Points, points.iter().copied()).tone(Tone::Total);
    let half = |sign: f64| {
        let each = knee
            .points
            .iter()
            .map(|point| point.iops_half_width.map(|half| point.iops + sign * half));
        each.collect::<Vec<_>>()
    };
    let measured_intervals = knee.points.iter().any(|point| point.iops_half_width.is_some());
    if measured_intervals {
        (measured.low, measured.high) = (half(-1.0), half(1.0));
    }
    let mut series = vec![measured];
    if curve.parameter == Parameter::Targets
        && let Some((count, iops)) = points.first()
    {
        let ideal = curve.settings.iter().map(|setting| (*setting, iops / count * setting));
        series.push(Series::new("if each target added as much as the first", Form::Guide, ideal).tone(Tone::Other));
    }
    if let Some(law) = &knee.usl {
        series.push(
            Series::new(
                "fitted curve (universal scalability law)",
                Form::Guide,
                fitted(curve, law),
            )
            .tone(Tone::Other),
        );
    }
    if let Some(bounds) = &knee.bounds {
        let roof = curve.settings.iter().map(|setting| (*setting, bounds.most_iops));
        series.push(Series::new("highest measured rate", Form::Guide, roof).tone(Tone::Limit));
        // If no operation waits, each takes the time of one alone: N / R0.
        let alone = interpolate(curve).map(|(setting, load)| (setting, load * 1e9 / bounds.alone_ns));
        let alone = alone.filter(|(_, iops)| *iops <= 1.5 * bounds.most_iops);
        series.push(Series::new("if no operation waited", Form::Guide, alone).tone(Tone::Other));
    }
    Chart {
        id: format!("rate-{number}"),
        title: format!("{}{of}", title(curve.parameter)),
        about: format!(
            "Each point is a run{}. Below the knee more load gives more operations per second; \
            above it, operations mostly wait longer. An ideal device, in which no operation waits, \
            would be full where its line reaches the highest rate.",
            if measured_intervals {
                " with its 95 % interval"
            } else {
                "; it was too short for a confidence interval"
            }
        ),
        x: axis_of(curve),
        y: Axis::from_zero("rate", "IOPS"),
        series,
        marks: marks(curve),
        ..Chart::default()
    }
}

/// Interpolates settings for a smooth line, with their loads.
fn interpolate(curve: &Curve) -> impl Iterator<Item = (f64, f64)> {
    const STEPS: u32 = 60;
    let per_setting = loads_per_setting(curve);
    let (least, most) = ends(curve);
    (0..=STEPS).map(move |step| {
        let setting = least * (most / least).powf(f64::from(step) / f64::from(STEPS));
        (setting, setting * per_setting)
    })
}

fn loads_per_setting(curve: &Curve) -> f64 {
    let first = curve.knee.points.first().zip(curve.settings.first());
    first.map_or(1.0, |(point, setting)| point.load / setting)
}

fn fitted(curve: &Curve, law: &Scalability) -> Vec<(f64, f64)> {
    let rate = |n: f64| law.lambda * n / (1.0 + law.alpha * (n - 1.0) + law.beta * n * (n - 1.0));
    interpolate(curve)
        .map(|(setting, load)| (setting, rate(load)))
        .collect()
}

/// Builds the marks of the loads that the analyses name.
fn marks(curve: &Curve) -> Vec<Mark> {
    let knee = &curve.knee;
    let at = |load: f64, words: &str, tone: Tone| Mark {
        across: Across::X,
        at: load / loads_per_setting(curve),
        to: None,
        words: words.into(),
        tone,
    };
    let mut marks = Vec::new();
    // Without a knee the rate still rises, so the end of the sweep decides where the bounds meet.
    marks.extend(
        knee.bounds
            .as_ref()
            .filter(|_| knee.kneedle.is_some())
            .map(|bounds| at(bounds.meet_at, "ideal device full", Tone::Other)),
    );
    marks.extend(knee.kneedle.map(|load| at(load, "knee", Tone::Write)));
    let kept = knee.kept.as_ref().and_then(|kept| kept.kept_at);
    marks.extend(kept.map(|load| at(load, "limit met up to here", Tone::Limit)));
    marks
}

fn latencies(number: usize, curve: &Curve, report: &Report, of: &str) -> Chart {
    let knee = &curve.knee;
    let slowest = knee
        .points
        .iter()
        .map(|point| point.limited_ns.unwrap_or(point.mean_ns))
        .fold(0.0, f64::max);
    let (unit, ns) = time_unit(slowest);
    let mean = curve
        .settings
        .iter()
        .copied()
        .zip(knee.points.iter().map(|point| point.mean_ns / ns));
    let mut series = vec![Series::new("mean", Form::Points, mean).tone(Tone::Total)];
    let mut marks = marks(curve);
    if let Some(limit) = &report.limit {
        let name = match limit.figure {
            LimitedFigure::Mean => "mean, upper bound".to_owned(),
            LimitedFigure::Quantile(share) => format!("p{}", 100.0 * share),
        };
        let of = |point: &analysis::knee::Point| point.limited_ns.map_or(f64::NAN, |value| value / ns);
        let mut limited = Series::new(
            name,
            Form::Points,
            curve.settings.iter().copied().zip(knee.points.iter().map(of)),
        )
        .tone(Tone::Write);
        if knee.points.iter().any(|point| point.limited_ns_high.is_some()) {
            limited.low = limited.y.clone();
            limited.high = knee
                .points
                .iter()
                .map(|point| point.limited_ns_high.map(|high| high / ns))
                .collect();
        }
        series.push(limited);
        marks.push(Mark {
            across: Across::Y,
            at: limit.max_ns.0 as f64 / ns,
            to: None,
            words: format!("limit {limit}"),
            tone: Tone::Limit,
        });
    } else {
        let rows: Vec<&Row> = rows_of(curve, report);
        let p99 = curve
            .settings
            .iter()
            .zip(&rows)
            .filter_map(|(setting, row)| Some((*setting, row.p99_ns? / ns)));
        series.push(Series::new("p99", Form::Points, p99).tone(Tone::Write));
    }
    Chart {
        id: format!("latency-{number}"),
        title: format!("Latency over {}{of}", curve.parameter.name()),
        about: "Beyond the knee operations wait for each other: the latency grows with the load, \
            but hardly the rate."
            .into(),
        x: axis_of(curve),
        y: Axis::log("latency", unit),
        series,
        marks,
        ..Chart::default()
    }
}

/// Finds the rows that are the points of a curve, in its order.
fn rows_of<'a>(curve: &Curve, report: &'a Report) -> Vec<&'a Row> {
    let is_here = |row: &&Row| curve.fixed.iter().all(|setting| row.settings.contains(setting));
    let at = |row: &&Row, value: f64| {
        let own = row
            .settings
            .iter()
            .find(|setting| setting.name == curve.parameter.name());
        own.and_then(|setting| setting.number)
            .is_some_and(|number| number == value)
    };
    let find = |value: &f64| report.rows.iter().filter(is_here).find(|row| at(row, *value));
    curve.settings.iter().filter_map(find).collect()
}

/// Builds the chart of the device's utilisation and requests in flight, by the kernel's count.
fn device_chart(number: usize, curve: &Curve, study: &Study, of: &str) -> Option<Chart> {
    let is_here = |settings: &[Setting]| curve.fixed.iter().all(|setting| settings.contains(setting));
    let mut points: Vec<(f64, f64, f64)> = study
        .runs
        .iter()
        .filter(|run| run.role == Role::Point && is_here(&run.settings))
        .filter_map(|run| {
            let setting = run
                .settings
                .iter()
                .find(|setting| setting.name == curve.parameter.name())?;
            let device = Observation::from_results(&run.results, 0, 0)?.device?;
            Some((setting.number?, 100.0 * device.busy, device.in_flight))
        })
        .collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!points.is_empty()).then(|| Chart {
        id: format!("busy-{number}"),
        title: format!("The device, by the kernel's count{of}"),
        about: "The share of time in which the device was busy, and the average number of requests \
            in the device and its queue. A device that serves many requests at the same time is not \
            full at 100 % busy; a device that serves one at a time is."
            .into(),
        x: axis_of(curve),
        y: Axis::from_zero("busy", "%"),
        right: Some(Axis::from_zero("requests in the device", "")),
        series: vec![
            Series::new("busy", Form::Points, points.iter().map(|point| (point.0, point.1))).tone(Tone::Read),
            Series::new(
                "in the device",
                Form::Points,
                points.iter().map(|point| (point.0, point.2)),
            )
            .tone(Tone::Write)
            .at_right(),
        ],
        ..Chart::default()
    })
}

/// Builds the table of all analyses of the curve.
fn analyses_table(curve: &Curve) -> Table {
    let knee = &curve.knee;
    let mut pairs = Vec::new();
    if let Some(bounds) = &knee.bounds {
        pairs.push(("one operation alone".to_owned(), time(bounds.alone_ns)));
        pairs.push((
            "highest measured rate".into(),
            format!("{} IOPS", rough(bounds.most_iops)),
        ));
        pairs.push((
            "in flight where the bounds meet (N*)".into(),
            format!("{:.1}", bounds.meet_at),
        ));
    }
    let or = |value: Option<f64>| value.map_or("none".to_owned(), |value| format!("{value:.0}"));
    pairs.push((
        "sharpest bend of the curve, by the Kneedle method".into(),
        or(knee.kneedle),
    ));
    pairs.push(("highest rate divided by latency, called power".into(), or(knee.power)));
    if let Some(law) = &knee.usl {
        pairs.push((
            "universal scalability law".into(),
            format!(
                "alpha {:.3} (operations take turns), beta {:.5} (operations hinder each other)",
                law.alpha, law.beta
            ),
        ));
    }
    if let Some(kept) = &knee.kept {
        pairs.push(("limit met up to".into(), or(kept.kept_at)));
    }
    pairs.push((
        "falls again under more load".into(),
        if knee.retrograde { "yes" } else { "no" }.into(),
    ));
    Table::from_pairs("Readings of the curve", pairs)
}

/// Builds the heat maps of rates over two parameters.
fn heat(report: &Report) -> Option<Section> {
    let [across, up] = report.varied[..] else {
        return None;
    };
    let values = |index: usize| {
        let mut values: Vec<&Setting> = report.rows.iter().filter_map(|row| row.settings.get(index)).collect();
        values.sort_by(|a, b| a.number.unwrap_or(0.0).total_cmp(&b.number.unwrap_or(0.0)));
        values.dedup();
        values
    };
    let (columns, lines) = (values(0), values(1));
    let at = |line: &Setting, column: &Setting, value: fn(&Row) -> f64| {
        let row = report
            .rows
            .iter()
            .find(|row| row.settings.first() == Some(column) && row.settings.get(1) == Some(line));
        row.map(value)
    };
    let map = |id: &str, title: &str, unit: &str, value: fn(&Row) -> f64| {
        let z = lines
            .iter()
            .map(|line| columns.iter().map(|column| at(line, column, value)).collect());
        Chart {
            id: id.into(),
            title: format!("{title} over {} and {}", across.name(), up.name()),
            about: "Each field is a run; a stronger colour means a higher value.".into(),
            x: Axis::names(across.name()),
            y: Axis::names(up.name()),
            heat: Some(Heat {
                x: columns.iter().map(|setting| X::Name(setting.value.clone())).collect(),
                y: lines.iter().map(|setting| X::Name(setting.value.clone())).collect(),
                z: z.collect(),
                title: unit.into(),
                log: false,
            }),
            ..Chart::default()
        }
    };
    Some(Section {
        title: format!("Over {} and {}", across.name(), up.name()),
        blocks: vec![
            Block::Chart(Box::new(map("heat-iops", "IOPS", "IOPS", |row| row.iops))),
            Block::Chart(Box::new(map("heat-bytes", "MB/s", "MB/s", |row| {
                row.bytes_per_sec / 1e6
            }))),
        ],
        ..Section::default()
    })
}
