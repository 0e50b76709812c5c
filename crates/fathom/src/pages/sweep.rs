//! The page of a sweep: the curve with its knee and limit, the plane of rate and latency, and every
//! point.

mod advice;
mod points;

use analysis::knee::{LimitedFigure, Scalability};
use model::observation::Observation;
use model::results::Results;
use model::study::{Parameter, RunRole, Setting, Study};
use report::Summary;
use report::html::chart::{Axis, Chart, Form, Heat, Mark, MarkAxis, Series, Tick, Tone, X, time_unit};
use report::html::page::{self, Block, Page, Section, Table};
use report::html::run::{Head, PlanePoint, locate_commands, plane_chart, provenance, repeat_section, settings_section};
use report::numbers::{format_rough, format_time};
use study::sweep::{Curve, Report, Row, format_settings};

use super::simulation;
use advice::{advise_next_step, assess, lead, limit_verdict, split_advice};
pub use points::csv;
use points::{caveats, downloads, omitted, table, warnings};

/// Smallest ratio of the last to the first load for a logarithmic axis.
const MIN_LOG_RATIO: f64 = 8.0;

/// Maximum points that each have a tick on the axis.
const MAX_TICKS: usize = 16;

pub fn build_page(report: &Report, study: &Study) -> Page {
    let first = study.runs.first().map(|run| &run.results);
    let summary = first.map(Summary::from_results);
    let mut sections: Vec<Section> = build_heat_section(report).into_iter().collect();
    for (number, curve) in report.curves.iter().enumerate() {
        sections.push(build_curve_section(number, curve, report, study));
    }
    let is_disturbed = report.describe_disturbance().is_some();
    sections.extend(
        report
            .curves
            .iter()
            .map(|curve| build_analyses_section(curve, is_disturbed)),
    );
    sections.push(table(report));
    sections.extend(omitted(report));
    sections.extend(first.and_then(repeat_section));
    sections.extend(first.and_then(|first| settings_section(&[("plan of the first point".to_owned(), first)])));
    let mut page = Page {
        title: page::mark_title(simulation(study), &build_title(report, summary.as_ref())),
        charts: Vec::new(),
        table: None,
        about: describe_sweep(report, first, summary.as_ref()),
        verdict: limit_verdict(report),
        lead: report
            .curves
            .iter()
            .filter_map(|curve| lead(curve, report))
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
    if let Some(first) = first {
        locate_commands(&mut page, first);
    }
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

/// Returns load, varied parameters and target, or else the name from the user.
fn build_title(report: &Report, summary: Option<&Summary>) -> String {
    let job = summary.and_then(|summary| summary.jobs.first());
    let target = summary.and_then(|summary| summary.targets.first());
    match (job, target, report.name.as_str()) {
        (Some(job), Some(target), _) => {
            let varied: Vec<&str> = report.varied.iter().map(|parameter| parameter.name()).collect();
            let load = match varies_operations(report) {
                true => "Sweep",
                false => job.operations.trim_end_matches(", direct"),
            };
            format!("{load} over {} — {}", varied.join(" and "), target.path)
        }
        _ => report.name.clone(),
    }
}

/// True if the points differ in their operations, so that those of the first describe no other.
fn varies_operations(report: &Report) -> bool {
    report.varied.iter().any(|parameter| !parameter.is_load())
}

fn describe_sweep(report: &Report, first: Option<&Results>, summary: Option<&Summary>) -> Vec<String> {
    let names: Vec<&str> = report.varied.iter().map(|parameter| parameter.name()).collect();
    let sweep = match report.name.as_str() {
        "sweep" => "A sweep".to_owned(),
        name => format!("{name}: a sweep"),
    };
    let mut lines = vec![format!(
        "{sweep} over {}: the same load at {} points, in random order",
        names.join(" and "),
        report.rows.len()
    )];
    // Except for the varied parameters, all points have the load of the first.
    let job = summary.and_then(|summary| summary.jobs.first());
    let load = job.map(|job| {
        let measured = report::numbers::duration(job.measured_ns);
        match varies_operations(report) {
            true => format!("each point measured for {measured}"),
            false => format!("{}; each point measured for {measured}", job.operations),
        }
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

fn title(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Depth => "Rate over queue depth",
        Parameter::Workers => "Rate over threads",
        Parameter::Targets => "Scaling over targets",
        Parameter::Rate => "Achieved rate over requested rate",
        Parameter::Block => "Rate over block size",
        Parameter::Read => "Rate over share of reads",
        Parameter::Access => "Rate over access pattern",
    }
}

/// Builds the axis of loads, logarithmic for a wide range.
fn curve_axis(curve: &Curve) -> Axis {
    let (setting_min, setting_max) = curve_ends(curve);
    let unit = if curve.parameter == Parameter::Rate { "IOPS" } else { "" };
    let axis = match setting_max / setting_min >= MIN_LOG_RATIO {
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

fn curve_ends(curve: &Curve) -> (f64, f64) {
    let setting_min = curve.settings.iter().copied().fold(f64::INFINITY, f64::min);
    let setting_max = curve.settings.iter().copied().fold(0.0, f64::max);
    (setting_min.max(1e-9), setting_max)
}

fn build_curve_section(number: usize, curve: &Curve, report: &Report, study: &Study) -> Section {
    let fixed_settings = if curve.fixed.is_empty() {
        String::new()
    } else {
        format!(", {}", format_settings(&curve.fixed))
    };
    let mut blocks = vec![
        Block::Chart(Box::new(build_rate_chart(number, curve, &fixed_settings))),
        Block::Chart(Box::new(build_latency_chart(number, curve, report, &fixed_settings))),
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
    let title = format!("Rate and latency{fixed_settings}");
    blocks.extend(Block::chart_block(plane_chart(
        &format!("plane-{number}"),
        &title,
        &points,
    )));
    blocks.extend(Block::chart_block(build_device_chart(
        number, curve, study, &fixed_settings,
    )));
    Section {
        title: format!("{}{fixed_settings}", self::title(curve.parameter)),
        about: split_advice(curve).1,
        blocks,
        ..Section::default()
    }
}

fn build_rate_chart(number: usize, curve: &Curve, subject: &str) -> Chart {
    let knee = &curve.knee;
    let points: Vec<(f64, f64)> = curve
        .settings
        .iter()
        .copied()
        .zip(knee.points.iter().map(|point| point.iops))
        .collect();
    let mut measured = Series::new("measured", Form::Points, points.iter().copied()).tone(Tone::Total);
    let half = |sign: f64| {
        let points = knee.points.iter();
        let ends = points.map(|point| point.iops_half_width.map(|half| point.iops + sign * half));
        ends.collect::<Vec<_>>()
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
    if let Some(law) = knee.fitting_law() {
        series.push(Series::new("fitted curve (USL)", Form::Guide, fitted_points(curve, law)).tone(Tone::Other));
    }
    if let Some(bounds) = &knee.bounds {
        let roof = curve.settings.iter().map(|setting| (*setting, bounds.most_iops));
        series.push(Series::new("highest measured rate", Form::Guide, roof).tone(Tone::Limit));
        // If no operation waits, each takes the time of one alone: N / R0.
        let at_one = interpolate(curve).map(|(setting, load)| (setting, load * 1e9 / bounds.alone_ns));
        let at_one = at_one.filter(|(_, iops)| *iops <= 1.5 * bounds.most_iops);
        series.push(Series::new("if no operation waited", Form::Guide, at_one).tone(Tone::Other));
    }
    let sustained_line = |iops: f64| {
        let words = format!("sustained rate: {}", format_rough(iops));
        Mark::line(MarkAxis::Y, iops, words, Tone::Limit)
    };
    let sustained = curve.mixed_rates.map(|mixed| sustained_line(mixed.sustained_iops));
    Chart {
        id: format!("rate-{number}"),
        title: format!("{}{subject}", title(curve.parameter)),
        about: format!(
            "Each point is a run{}. {}",
            if measured_intervals {
                " with its 95 % interval"
            } else {
                "; it was too short for a confidence interval"
            },
            describe_knee(curve)
        ),
        x: curve_axis(curve),
        y: Axis::from_zero("rate", "IOPS"),
        series,
        marks: build_marks(curve).into_iter().chain(sustained).collect(),
        ..Chart::default()
    }
}

/// From this share of the highest rate on, a curve is flat.
const FLAT_SHARE: f64 = 0.99;

/// Describes where the curve becomes flat, or that it still rises at its end.
fn describe_knee(curve: &Curve) -> String {
    let points = &curve.knee.points;
    let best = points.iter().map(|point| point.iops).fold(0.0, f64::max);
    let last = points.last().zip(curve.settings.last());
    if curve.knee.kneedle.is_none() && curve.knee.find_dip().is_some() {
        return "The points vary too much to show where the curve becomes flat (its knee).".into();
    }
    let mut reached = points.iter().zip(&curve.settings);
    let flat_from = reached.find(|(point, _)| point.iops >= FLAT_SHARE * best);
    match last {
        Some((last, setting)) if curve.knee.kneedle.is_none() && points.len() > 2 && last.iops >= best => {
            let name = curve.parameter.name();
            match flat_from.filter(|(_, first)| *first != setting) {
                Some((_, first)) => format!("The curve is flat from {name} {} on.", format_setting(*first)),
                None => format!(
                    "The curve has no knee: its rate is highest at the end, at {name} {}.",
                    format_setting(*setting)
                ),
            }
        }
        _ => "Where the curve becomes flat (its knee), the storage is full: more load gives no more operations per \
              second, and each operation waits longer."
            .into(),
    }
}

/// Interpolates settings for a smooth line, with their loads.
fn interpolate(curve: &Curve) -> impl Iterator<Item = (f64, f64)> {
    const STEPS: u32 = 60;
    let per_setting = loads_per_setting(curve);
    let (setting_min, setting_max) = curve_ends(curve);
    (0..=STEPS).map(move |step| {
        let setting = setting_min * (setting_max / setting_min).powf(f64::from(step) / f64::from(STEPS));
        (setting, setting * per_setting)
    })
}

fn loads_per_setting(curve: &Curve) -> f64 {
    let first = curve.knee.points.first().zip(curve.settings.first());
    first.map_or(1.0, |(point, setting)| point.load / setting)
}

fn fitted_points(curve: &Curve, law: &Scalability) -> Vec<(f64, f64)> {
    let rate = |n: f64| law.lambda * n / (1.0 + law.alpha * (n - 1.0) + law.beta * n * (n - 1.0));
    interpolate(curve)
        .map(|(setting, load)| (setting, rate(load)))
        .collect()
}

/// Builds the marks of the loads that the analyses name.
fn build_marks(curve: &Curve) -> Vec<Mark> {
    let knee = &curve.knee;
    let mark_load = |load: f64, words: fn(&str) -> String, tone: Tone| {
        let setting = load / loads_per_setting(curve);
        Mark::line(MarkAxis::X, setting, words(&format_setting(setting)), tone)
    };
    let full = knee.kneedle.filter(|_| !curve.shows_no_load());
    let kept = knee.kept.as_ref().and_then(|kept| kept.kept_at);
    full.map(|load| mark_load(load, |at| format!("knee at {at}"), Tone::Write))
        .into_iter()
        .chain(kept.map(|load| mark_load(load, |at| format!("limit met up to {at}"), Tone::Limit)))
        .collect()
}

fn build_latency_chart(number: usize, curve: &Curve, report: &Report, subject: &str) -> Chart {
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
    let mut marks = build_marks(curve);
    if let Some(limit) = &report.limit {
        let name = match limit.figure {
            LimitedFigure::Mean => "mean, upper bound".to_owned(),
            LimitedFigure::Quantile(share) => format!("p{}", 100.0 * share),
        };
        let limited_latency = |point: &analysis::knee::Point| point.limited_ns.map_or(f64::NAN, |value| value / ns);
        let mut limited = Series::new(
            name,
            Form::Points,
            curve
                .settings
                .iter()
                .copied()
                .zip(knee.points.iter().map(limited_latency)),
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
        let at = limit.max_ns.0 as f64 / ns;
        marks.push(Mark::line(MarkAxis::Y, at, format!("limit {limit}"), Tone::Limit));
    } else {
        let rows: Vec<&Row> = find_curve_rows(curve, report);
        let p99 = curve
            .settings
            .iter()
            .zip(&rows)
            .filter_map(|(setting, row)| Some((*setting, row.p99_ns? / ns)));
        series.push(Series::new("p99", Form::Points, p99).tone(Tone::Write));
    }
    Chart {
        id: format!("latency-{number}"),
        title: format!("Latency over {}{subject}", curve.parameter.name()),
        about: "Once the storage is full, operations wait for each other: the latency grows with the \
            load, but hardly the rate."
            .into(),
        x: curve_axis(curve),
        y: Axis::log("latency", unit),
        series,
        marks,
        ..Chart::default()
    }
}

/// Finds the rows that are the points of a curve, in its order.
fn find_curve_rows<'a>(curve: &Curve, report: &'a Report) -> Vec<&'a Row> {
    let is_here = |row: &&Row| curve.fixed.iter().all(|setting| row.settings.contains(setting));
    let has_load = |row: &&Row, value: f64| {
        let row_settings = row
            .settings
            .iter()
            .find(|setting| setting.name == curve.parameter.name());
        row_settings
            .and_then(|setting| setting.number)
            .is_some_and(|number| number == value)
    };
    let find = |value: &f64| report.rows.iter().filter(is_here).find(|row| has_load(row, *value));
    curve.settings.iter().filter_map(find).collect()
}

/// Builds the chart of the device's utilisation and requests in flight, by the kernel's count.
fn build_device_chart(number: usize, curve: &Curve, study: &Study, subject: &str) -> Option<Chart> {
    let is_here = |settings: &[Setting]| curve.fixed.iter().all(|setting| settings.contains(setting));
    let mut points: Vec<(f64, f64, f64)> = study
        .runs
        .iter()
        .filter(|run| run.role == RunRole::Measured && is_here(&run.settings))
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
        title: format!("The device, by the kernel's count{subject}"),
        about: "The share of time in which the device was busy, and the average number of requests \
            in the device and its queue. A device that serves many requests at the same time is not \
            full at 100 % busy; a device that serves one at a time is."
            .into(),
        x: curve_axis(curve),
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

/// Builds the folded section of all analyses of a curve.
fn build_analyses_section(curve: &Curve, is_disturbed: bool) -> Section {
    let of = match curve.fixed.is_empty() {
        true => String::new(),
        false => format!(" for {}", format_settings(&curve.fixed)),
    };
    let table = Block::Table(build_analyses_table(curve, is_disturbed));
    Section::folded(format!("Methods that read the curve{of}"), vec![table])
}

fn build_analyses_table(curve: &Curve, is_disturbed: bool) -> Table {
    let knee = &curve.knee;
    let mut pairs = Vec::new();
    if let Some(bounds) = &knee.bounds {
        pairs.push(("one operation alone".to_owned(), format_time(bounds.alone_ns)));
        pairs.push((
            "highest measured rate".into(),
            format!("{} IOPS", format_rough(bounds.most_iops)),
        ));
        pairs.push((
            "in flight that would fill an ideal device, in which no operation waits (N*)".into(),
            format!("{:.1}", bounds.meet_at),
        ));
    }
    let or = |value: Option<f64>| value.map_or("none".to_owned(), |value| format!("{value:.0}"));
    pairs.push((
        "sharpest bend of the curve, by the Kneedle method".into(),
        or(knee.kneedle),
    ));
    // The latency of a disturbed point includes the wait for other programs.
    if !is_disturbed {
        pairs.push(("highest rate divided by latency, called power".into(), or(knee.power)));
    }
    if let Some(law) = knee.fitting_law() {
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
        match knee.find_dip() {
            Some((dip, higher)) => {
                let [dip, higher] =
                    [dip, higher].map(|point| format!("{} IOPS at {}", format_rough(point.iops), point.load));
                format!("cannot tell: {dip}, but {higher}")
            }
            None if knee.retrograde => "yes".into(),
            None => "no".into(),
        },
    ));
    Table::from_pairs("Readings of the curve", pairs)
}

/// Builds the heat maps of rates over two parameters.
fn build_heat_section(report: &Report) -> Option<Section> {
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
    let cell_value = |line: &Setting, column: &Setting, value: fn(&Row) -> f64| {
        let row = report
            .rows
            .iter()
            .find(|row| row.settings.first() == Some(column) && row.settings.get(1) == Some(line));
        row.map(value)
    };
    let map = |id: &str, title: &str, unit: &str, value: fn(&Row) -> f64| {
        let z = lines
            .iter()
            .map(|line| columns.iter().map(|column| cell_value(line, column, value)).collect());
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
    let rates = map("heat-iops", "IOPS", "IOPS", |row| row.iops);
    let bytes = map("heat-bytes", "MB/s", "MB/s", |row| row.bytes_per_sec / 1e6);
    let blocks = vec![Block::Chart(Box::new(rates)), Block::Chart(Box::new(bytes))];
    let title = format!("Over {} and {}", across.name(), up.name());
    Some(Section::new(title, blocks))
}
