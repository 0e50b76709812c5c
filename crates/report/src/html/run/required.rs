//! Required values and known limits in the charts of a run.

use model::diagnosis::LayerUse;

use super::nines;
use crate::html::chart::{Chart, Form, Mark, MarkAxis, Series, Tone, unit_ns};
use crate::html::page::{Block, Line, Page, Verdict};
use crate::numbers::{format_rough, group_thousands, rate, throughput};

/// A known limit is drawn if the load used at least this share of it.
const NEAR_LIMIT_SHARE: f64 = 0.5;
/// The source of the rate that the test itself requests.
const TEST_ITSELF: &str = "the test itself";

/// Adds lines to a chart of rates: the limits that the load came near, and the rate that the test
/// requests. `iops` is the rate of a load that has no chart of throughput.
pub fn mark_limits(chart: &mut Chart, layers: &[LayerUse], verdict: &Verdict, iops: Option<f64>) {
    let is_required = verdict
        .clauses
        .iter()
        .any(|clause| matches!(clause.line, Some(Line::Iops(_))));
    let is_drawn = |layer: &&LayerUse| match layer.source.as_str() {
        TEST_ITSELF => !is_required,
        _ => layer.share >= NEAR_LIMIT_SHARE,
    };
    let has_rates = chart.id.ends_with("iops");
    let in_megabytes = |layer: &LayerUse| format!("{} MB/s", throughput(layer.limit / 1e6));
    let position = |layer: &LayerUse| match (layer.unit.as_str(), has_rates) {
        ("IOPS", true) => Some((layer.limit, rate(layer.limit))),
        ("bytes/s", false) => Some((layer.limit / 1e6, in_megabytes(layer))),
        // The rate at which the load would reach the limit.
        ("bytes/s", true) => Some((iops? / layer.share, in_megabytes(layer))),
        _ => None,
    };
    let marks = layers.iter().filter(is_drawn).filter_map(|layer| {
        let (at, value) = position(layer)?;
        Some(Mark::line(
            MarkAxis::Y,
            at,
            format!("{}: {value}", layer.layer),
            Tone::Other,
        ))
    });
    chart.marks.extend(marks);
}

/// Adds the mean rate to a chart.
pub fn mark_mean(chart: &mut Chart, iops: f64) {
    let words = format!("mean {}", format_rough(iops));
    chart.marks.push(Mark::line(MarkAxis::Y, iops, words, Tone::Total));
}

/// Adds the required values as lines to the charts of their figures. `size` is the number of bytes
/// per operation of a load that has no chart of throughput.
pub fn mark_required(page: &mut Page, size: Option<f64>) {
    let blocks = page.sections.iter_mut().flat_map(|section| &mut section.blocks);
    let charts = blocks.filter_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    });
    for chart in charts {
        let required_value = |line: Line| match line {
            Line::Iops(rate) => chart.id.ends_with("iops").then_some(rate),
            Line::Throughput(bytes) if chart.id.ends_with("iops") => size.map(|size| bytes / size),
            Line::Throughput(bytes) => chart.id.ends_with("throughput").then_some(bytes / 1e6),
            Line::Latency(ns) | Line::Percentile(_, ns) => {
                // A line without its series would show nothing.
                let has_series = |share: f64| {
                    let name = format!("p{}", (share * 1e8).round() / 1e6);
                    chart.series.iter().any(|series| series.name == name)
                };
                let is_drawn = match line {
                    Line::Percentile(share, _) if chart.id.ends_with("latency-over-time") => has_series(share),
                    Line::Percentile(..) => chart.id.ends_with("percentiles"),
                    _ => chart.id.ends_with("latency-over-time"),
                };
                is_drawn.then_some(ns / unit_ns(&chart.y.unit))
            }
        };
        let marks = page.verdict.clauses.iter().filter_map(|clause| {
            let at = required_value(clause.line?)?;
            let words = group_thousands(&clause.promised);
            Some(Mark::line(MarkAxis::Y, at, words, Tone::Limit))
        });
        // Several jobs may have the same requirement.
        for mark in marks.collect::<Vec<Mark>>() {
            if !chart.marks.contains(&mark) {
                chart.marks.push(mark);
            }
        }
        if chart.id.ends_with("percentiles") {
            chart
                .series
                .extend(required_percentiles(&page.verdict, unit_ns(&chart.y.unit)));
        }
    }
}

/// The limits of percentiles as points of the percentile curve.
fn required_percentiles(verdict: &Verdict, unit_ns: f64) -> Option<Series> {
    let limits = verdict.clauses.iter().filter_map(|clause| match clause.line? {
        Line::Percentile(share, ns) => Some((nines(share), ns / unit_ns)),
        Line::Iops(_) | Line::Throughput(_) | Line::Latency(_) => None,
    });
    let limits: Vec<(f64, f64)> = limits.collect();
    (!limits.is_empty()).then(|| Series::new("required", Form::Dots, limits).tone(Tone::Limit))
}
