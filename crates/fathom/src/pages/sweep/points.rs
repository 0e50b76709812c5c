//! The points of a sweep: their table, their warnings, and the figures for programs.

use model::finding::Finding;
use model::study::{Parameter, Setting, Study};
use report::diagnosis::format_sentence;
use report::html::page::{Block, Download, Lead, Section, Table};
use report::numbers::{format_rough, format_time};
use study::sweep::{Curve, Report, Row, format_settings, list_warnings};

use super::advice::{find_paced_note, has_short_point};
use super::format_setting;

use crate::pages::{figures_download, group_warnings};

/// Lists the warnings of the checks: each rule once, with the points that it concerns.
pub(super) fn warnings(report: &Report, study: &Study) -> Vec<Finding> {
    let findings = |row: &Row| {
        let run = study.runs.get(row.order - 1);
        run.map_or(&[][..], |run| &run.results.findings)
    };
    let groups = group_warnings(report.rows.iter().map(|row| (row, findings(row))));
    let list_points = |(mut warning, points): (Finding, Vec<&Row>)| {
        let first = format_settings(&points[0].settings);
        if points.len() > 1 {
            let others = match points.len() == report.rows.len() {
                true => "all other points".into(),
                false => join_settings(&points[1..]),
            };
            warning.what = format!("{} ({first}; also at {others})", warning.what);
        }
        warning.at = Some(first);
        warning
    };
    groups.into_iter().map(list_points).collect()
}

/// Joins the settings of several points: `depth 1, 2, 8`, or all settings if several parameters
/// vary.
fn join_settings(points: &[&Row]) -> String {
    let each: Vec<String> = points
        .iter()
        .enumerate()
        .map(|(number, row)| match &row.settings[..] {
            [only] if number > 0 => only.value.clone(),
            settings => format_settings(settings),
        })
        .collect();
    let is_single = points.iter().all(|row| row.settings.len() == 1);
    each.join(if is_single { ", " } else { "; " })
}

pub(super) fn table(report: &Report) -> Section {
    let mut head: Vec<String> = report
        .varied
        .iter()
        .map(|parameter| parameter.name().to_owned())
        .collect();
    let has_intervals = report.rows.iter().any(|row| row.iops_half_width.is_some());
    // A column that repeats the depth tells nothing.
    let is_depth = |row: &Row| {
        let mut depths = row
            .settings
            .iter()
            .filter(|setting| setting.name == Parameter::Depth.name());
        depths.any(|setting| setting.value == row.format_in_flight())
    };
    let has_in_flight = !report.rows.iter().all(is_depth);
    // A phone shows the first columns.
    let figures = [
        "IOPS", "p99", "mean", "median", "p99.9", "± (95 %)", "in flight", "MB/s", "MiB/s",
    ];
    let is_shown = |name: &&str| match *name {
        "± (95 %)" => has_intervals,
        "in flight" => has_in_flight,
        _ => true,
    };
    let shown = figures.into_iter().filter(is_shown);
    head.extend(shown.map(str::to_owned));
    let row = |row: &Row| {
        let or = |value: Option<f64>| value.map_or("-".to_owned(), format_time);
        let mut cells: Vec<String> = row.settings.iter().map(|setting| setting.value.clone()).collect();
        let half = row.iops_half_width;
        let interval = half.map_or("-".into(), |half| format!("{:.1} %", 100.0 * half / row.iops));
        cells.extend([
            format_rough(row.iops),
            or(row.p99_ns),
            format_time(row.mean_ns),
            or(row.p50_ns),
            or(row.p999_ns),
        ]);
        cells.extend(has_intervals.then_some(interval));
        cells.extend(has_in_flight.then(|| row.format_in_flight()));
        cells.extend([
            format_rough(row.bytes_per_sec / 1e6),
            format_rough(row.bytes_per_sec / f64::from(1 << 20)),
        ]);
        cells
    };
    let repeat = report.repeat.iter().map(|repeat| {
        let mut cells = row(repeat);
        cells[0] += " (again)";
        cells
    });
    let rows = report.rows.iter().map(row).chain(repeat);
    let table = Table {
        caption: "Percentiles with fewer than ten operations beyond them are omitted".into(),
        head,
        rows: rows.collect(),
    };
    Section::new("Every point", vec![Block::Table(table)])
}

/// Half-widths of intervals above this share make a curve weak.
const MAX_RELATIVE_HALF_WIDTH: f64 = 0.1;

/// Latencies within this share of their limit are near it.
const NEAR_LIMIT: f64 = 0.1;

/// States how wide the intervals of the rates are, if some are wide, and other weaknesses.
fn describe_variation(report: &Report, study: &Study) -> Option<String> {
    let widths = report
        .rows
        .iter()
        .filter_map(|row| Some(row.iops_half_width? / row.iops));
    let (min, max) = widths.fold((f64::INFINITY, 0.0_f64), |(min, max), width| {
        (min.min(width), max.max(width))
    });
    if max <= MAX_RELATIVE_HALF_WIDTH || !max.is_finite() {
        return None;
    }
    let mut reasons = vec![format!(
        "the rates are known only within ±{:.0} to ±{:.0} %",
        100.0 * min,
        100.0 * max
    )];
    let first = study
        .runs
        .first()
        .and_then(|run| run.results.steps.first()?.jobs.first());
    let length = first.map(|job| report::numbers::duration_with_unit(job.measured()));
    reasons.extend(
        length
            .filter(|_| has_short_point(report))
            .map(|length| format!("each point lasted {length}")),
    );
    reasons.extend(
        report
            .curves
            .iter()
            .find_map(|curve| describe_near_limit(curve, report)),
    );
    Some(format!("Not sure: {}.", reasons.join("; ")))
}

/// Describes a load that meets the limit so closely that a repetition may miss it.
fn describe_near_limit(curve: &Curve, report: &Report) -> Option<String> {
    let (limit, kept_at) = (report.limit?, curve.knee.kept?.kept_at?);
    let point = curve.knee.points.iter().find(|point| point.load == kept_at)?;
    let (value, max) = (point.limited_ns?, limit.max_ns.0 as f64);
    let below = 1.0 - value / max;
    (0.0..NEAR_LIMIT).contains(&below).then(|| {
        let distance = match (100.0 * below).round() {
            0.0 => "at the limit".to_owned(),
            percent => format!("only {percent:.0} % below the limit"),
        };
        format!(
            "{} at {} {} ({}) is {distance}",
            limit.figure,
            curve.parameter.name(),
            format_setting(curve.setting_at(kept_at).unwrap_or(kept_at)),
            format_time(value),
        )
    })
}

/// States how exactly the rates are known; `None` if any is not.
fn describe_precision(report: &Report) -> Option<String> {
    let widths = report
        .rows
        .iter()
        .map(|row| Some(100.0 * row.iops_half_width? / row.iops));
    let widths: Vec<f64> = widths.collect::<Option<_>>()?;
    let (min, max) = (
        widths.iter().copied().reduce(f64::min)?,
        widths.iter().copied().reduce(f64::max)?,
    );
    Some(match max < 0.05 {
        true => "Sure: the rates are known within ± 0.1 %.".into(),
        false => format!("Sure: the rates are known within ± {min:.1} to {max:.1} %."),
    })
}

/// Describes the weaknesses of the figures, for the first screen.
pub(super) fn caveats(report: &Report, study: &Study) -> Option<Lead> {
    // The page shows warnings among the findings.
    let warnings = list_warnings(&report.rows, &study.runs);
    // The verdict states that a rate hides the effect of the load.
    let is_disturbed = report.describe_disturbance().is_some();
    let paced = find_paced_note(report).filter(|_| report.limit.is_none() && !is_disturbed);
    let notes = report.notes.iter();
    let notes = notes.filter(|note| !warnings.contains(note) && paced != Some(*note));
    let sentences: Vec<String> = describe_variation(report, study)
        .or_else(|| describe_precision(report).filter(|_| !is_disturbed))
        .into_iter()
        .chain(notes.map(|note| format_sentence(note)))
        .collect();
    (!sentences.is_empty()).then(|| Lead::new("How sure is it?", sentences.join(" "), Vec::new()))
}

/// Builds the section of the points that were not measured.
pub(super) fn omitted(report: &Report) -> Option<Section> {
    let omitted = report
        .skipped
        .iter()
        .map(|skipped| format!("Omitted: {}: {}.", format_settings(&skipped.settings), skipped.why));
    let blocks: Vec<Block> = omitted.map(Block::Text).collect();
    (!blocks.is_empty()).then(|| Section::new("Omitted points", blocks))
}

pub(super) fn downloads(report: &Report) -> Vec<Download> {
    let name = report::html::to_identifier(&report.name);
    vec![
        figures_download(&name, report),
        Download::csv(format!("{name}.csv"), "Every point (CSV)", csv(report)),
    ]
}

pub fn csv(report: &Report) -> String {
    let mut head: Vec<&str> = report.varied.iter().map(|parameter| parameter.name()).collect();
    head.extend([
        "order", "in_flight", "iops", "iops_half_width", "bytes_per_sec", "mean_ns", "p50_ns", "p99_ns", "p999_ns",
        "warnings",
    ]);
    let mut text = head.join(",") + "\n";
    for row in &report.rows {
        let or_empty = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        // Numbers for programs: a block size is a count of bytes here. Values that are words and
        // names of rules have neither commas nor quotes.
        let number_or_word = |setting: &Setting| {
            setting
                .number
                .map_or_else(|| setting.value.clone(), |number| number.to_string())
        };
        let mut cells: Vec<String> = row.settings.iter().map(number_or_word).collect();
        cells.extend([
            row.order.to_string(),
            or_empty(row.in_flight_mean.or(row.in_flight.map(|depth| depth as f64))),
            row.iops.to_string(),
            or_empty(row.iops_half_width),
            row.bytes_per_sec.to_string(),
            row.mean_ns.to_string(),
            or_empty(row.p50_ns),
            or_empty(row.p99_ns),
            or_empty(row.p999_ns),
            row.warnings.join(" "),
        ]);
        text += &(cells.join(",") + "\n");
    }
    text
}
