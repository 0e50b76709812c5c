//! Charts of a finished run in plain text, at most 80 columns wide: rate and latency over time, and
//! a histogram of latencies.

use std::fmt::Write;

use model::histogram::Histogram;
use model::observation::{Observation, SeriesPoint};
use model::results::{JobResults, Results};
use model::stats::{Support, support};
use model::{Nanos, visible};

use crate::html::run::merge_into_columns;
use crate::numbers::{count, duration, format_time, rate};

/// Width of a chart over time, without its scale.
const CHART_WIDTH: usize = 62;
/// Height of a chart over time, in lines.
const CHART_HEIGHT: usize = 5;
/// Width of the longest bar.
const MAX_BAR_WIDTH: usize = 38;
/// Below this number of rows, a histogram uses the `FINE` bounds.
const MIN_ROWS: usize = 6;
/// Upper bounds of histogram rows within each power of ten.
const COARSE: &[f64] = &[1.0, 2.0, 5.0];
const FINE: &[f64] = &[1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0, 5.0, 6.4, 8.0];

/// The charts of every job of a run. `unicode` permits characters beyond ASCII.
pub fn format_charts(results: &Results, unicode: bool) -> String {
    let mut text = String::new();
    let several = results.plan.jobs().count() > 1;
    for (step, step_results) in results.steps.iter().enumerate() {
        for (number, job) in step_results.jobs.iter().enumerate() {
            if several {
                let _ = writeln!(text, "\n{}", visible(&job.name));
            }
            if let Some(observation) = Observation::from_results(results, step, number) {
                text += &draw_iops_chart(&observation.series, unicode);
            }
            text += &draw_p99_chart(job, unicode);
            text += &draw_histogram(job.total().latency(), unicode);
        }
    }
    text
}

/// Draws a value between 0 and `max` as a one-character column.
pub(crate) fn column_char(value: f64, max: f64, unicode: bool) -> char {
    let levels: &[char] = match unicode {
        true => &[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
        false => &[' ', '.', ':', '-', '=', '+', '*', '#', '@'],
    };
    let share = if max > 0.0 { (value / max).clamp(0.0, 1.0) } else { 0.0 };
    levels[(share * (levels.len() - 1) as f64).round() as usize]
}

/// The characters of the full and the empty part of a bar.
pub(crate) fn bar_chars(unicode: bool) -> (&'static str, &'static str) {
    if unicode { ("█", "░") } else { ("#", "-") }
}

fn draw_iops_chart(points: &[SeriesPoint], unicode: bool) -> String {
    let points_per_column = points.len().div_ceil(CHART_WIDTH).max(1);
    let mean = |some: &[SeriesPoint]| {
        let operations: u64 = some.iter().flat_map(|point| point.operations).sum();
        let length: u64 = some.iter().map(|point| point.length_ns.0).sum();
        Some(operations as f64 / Nanos(length).as_secs().max(1e-9))
    };
    let values: Vec<Option<f64>> = points.chunks(points_per_column).map(mean).collect();
    let end = points.last().map_or(Nanos(0), |point| point.start_ns + point.length_ns);
    draw_chart_over_time("IOPS", &values, end, rate, unicode)
}

fn draw_p99_chart(job: &JobResults, unicode: bool) -> String {
    let p99 = |(_, histogram): &(Nanos, Histogram)| {
        let is_supported = support(0.99, histogram.n()) != Support::None;
        is_supported.then(|| histogram.quantile(0.99) as f64)
    };
    let values: Vec<Option<f64>> = merge_into_columns(&job.histograms, CHART_WIDTH)
        .iter()
        .map(p99)
        .collect();
    draw_chart_over_time("p99 of the latency", &values, job.measured(), format_time, unicode)
}

/// Draws values over time on a scale from 0. A column without a value stays empty.
fn draw_chart_over_time(
    title: &str,
    values: &[Option<f64>],
    end: Nanos,
    words: fn(f64) -> String,
    unicode: bool,
) -> String {
    if values.len() < 2 || values.iter().all(Option::is_none) {
        return String::new();
    }
    let max = values.iter().flatten().copied().fold(0.0, f64::max);
    let (top, end) = (words(max), duration(end));
    let scale = top.chars().count();
    // In a short run each interval spans several columns, so that all charts have the same width.
    let repeat = (CHART_WIDTH / values.len()).max(1);
    let mut text = format!("\n  {title} over time\n");
    for line in (0..CHART_HEIGHT).rev() {
        let label = match line {
            line if line == CHART_HEIGHT - 1 => top.as_str(),
            0 => "0",
            _ => "",
        };
        let (low, height) = (line as f64 / CHART_HEIGHT as f64 * max, max / CHART_HEIGHT as f64);
        // Any value above 0 is visible.
        let height_min = if line == 0 { height / 8.0 } else { 0.0 };
        let share = |value: f64| {
            if value > 0.0 {
                (value - low).max(height_min)
            } else {
                0.0
            }
        };
        let drawn: String = values
            .iter()
            .map(|value| value.map_or(' ', |value| column_char(share(value), height, unicode)))
            .flat_map(|column| std::iter::repeat_n(column, repeat))
            .collect();
        let _ = writeln!(text, "  {label:>scale$} |{}", drawn.trim_end());
    }
    let room = (values.len() * repeat).saturating_sub("0 s".len());
    let _ = writeln!(text, "  {:scale$}  0 s{end:>room$}", "");
    text
}

/// Draws a row with a bar for each range of latencies.
fn draw_histogram(latency: &Histogram, unicode: bool) -> String {
    let coarse = histogram_rows(latency, COARSE);
    let rows = if coarse.len() < MIN_ROWS {
        histogram_rows(latency, FINE)
    } else {
        coarse
    };
    let Some(max) = rows.iter().map(|(_, operations)| *operations).max() else {
        return String::new();
    };
    let mut text = format!("\n  {:<13}{:>14}{:>9}\n", "latency up to", "operations", "share");
    for (bound, operations) in rows {
        let share = 100.0 * operations as f64 / latency.n() as f64;
        // Any range with operations has a visible bar.
        let bar = match (operations as f64 / max as f64 * MAX_BAR_WIDTH as f64).round() as usize {
            0 if operations == 0 => String::new(),
            0 => if unicode { "▏" } else { "." }.to_owned(),
            length => bar_chars(unicode).0.repeat(length),
        };
        let share = match share {
            rare if operations > 0 && rare < 0.005 => "<0.01".to_owned(),
            share => format!("{share:.2}"),
        };
        let line = format!(
            "  {:>13}{:>14}{share:>7} %  {bar}",
            format_time(bound),
            count(operations)
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Upper bounds in nanoseconds, ascending, with the number of operations up to each.
fn histogram_rows(latency: &Histogram, mantissas: &[f64]) -> Vec<(f64, u64)> {
    let mut rows: Vec<(f64, u64)> = Vec::new();
    let mut below = 0;
    for power in 0..=12 {
        for bound in mantissas.iter().map(|mantissa| mantissa * 10f64.powi(power)) {
            let up_to = latency.count_up_to(bound as u64);
            if up_to > below || (below > 0 && below < latency.n()) {
                rows.push((bound, up_to - below));
            }
            below = up_to;
        }
    }
    rows
}
