//! Required values in the charts of a run.

use super::nines;
use crate::html::chart::{Form, Mark, MarkAxis, Series, Tone, unit_ns};
use crate::html::page::{Block, Line, Page, Verdict};
use crate::numbers::group_thousands;

/// Adds the required values as lines to the charts of their figures.
pub(super) fn mark(page: &mut Page) {
    let blocks = page.sections.iter_mut().flat_map(|section| &mut section.blocks);
    let charts = blocks.filter_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    });
    for chart in charts {
        let required_value = |line: Line| match line {
            Line::Iops(rate) => chart.id.ends_with("iops").then_some(rate),
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
        let marks: Vec<Mark> = marks.collect();
        chart.marks.extend(marks);
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
