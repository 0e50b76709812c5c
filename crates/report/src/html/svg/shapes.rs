//! Lines, bands, dots and bars: the data of a chart as paths.

use std::fmt::Write;

use super::scale::Span;
use super::{Drawing, Point, WIDTH, has_open_end, series_class, x_to_number};
use crate::html::chart::{Form, Series};

/// In a long series, only the extreme points within each column of this width are drawn.
const COLUMN: f64 = 1.0;
/// Length of the line of a limit on each side of its bar.
const LIMIT_OVERHANG: f64 = 5.0;

impl Drawing<'_> {
    pub(super) fn series(&self, out: &mut String) {
        let bars = self
            .chart
            .series
            .iter()
            .filter(|series| series.form == Form::Bars)
            .count();
        let (mut bar, mut feet) = (0, vec![0.0; self.names.len()]);
        for (index, series) in self.chart.series.iter().enumerate() {
            let span = self.right.as_ref().filter(|_| series.right).unwrap_or(&self.y);
            let _ = write!(
                out,
                "<g class=\"{}\" data-series=\"{index}\">",
                series_class(self.chart, index)
            );
            match series.form {
                Form::Bars => {
                    self.draw_bars(series, span, (bar, bars), None, out);
                    bar += 1;
                }
                Form::Stack => self.draw_bars(series, span, (0, 1), Some(&mut feet), out),
                Form::Line | Form::Steps | Form::Points | Form::Dots | Form::Rows | Form::Guide => {
                    self.draw_curve(series, span, out)
                }
            }
            out.push_str("</g>\n");
        }
    }

    fn draw_curve(&self, series: &Series, span: &Span, out: &mut String) {
        let numbers: Vec<f64> = series.x.iter().map(|x| x_to_number(x, &self.names)).collect();
        let points = |values: &[Option<f64>]| -> Vec<Point> {
            let placed = numbers.iter().zip(values);
            let placed =
                placed.filter_map(|(x, y)| Some((self.x_position(*x)?, y.and_then(|y| self.y_position(span, y)))));
            placed.collect()
        };
        let is_stepped = series.form == Form::Steps;
        if !series.low.is_empty() && series.low.len() == series.high.len() {
            let outline = points(&series.low).into_iter().zip(points(&series.high));
            let (low, high): (Vec<Point>, Vec<Point>) = outline
                .filter(|(low, high)| low.1.is_some() && high.1.is_some())
                .unzip();
            // Steps narrower than a line would not be visible.
            let edge = |points: &[Point]| match is_stepped && points.len() as f64 <= WIDTH {
                true => step_corners(points, self.area.width),
                false => thin_out(points),
            };
            let back: Vec<Point> = edge(&low).into_iter().rev().collect();
            if back.len() > 1 {
                let rest = path_data(&back, false).replacen('M', "L", 1);
                let _ = write!(
                    out,
                    "<path class=\"band\" d=\"{}{rest}z\"/>",
                    path_data(&edge(&high), false)
                );
            }
        }
        let mut points = thin_out(&points(&series.y));
        if has_open_end(self.chart, series)
            && let [.., before, last] = points[..]
        {
            points.push(((2.0 * last.0 - before.0).min(self.area.width), last.1));
        }
        if series.form != Form::Dots {
            let _ = write!(out, "<path class=\"line\" d=\"{}\"/>", path_data(&points, is_stepped));
        }
        if matches!(series.form, Form::Dots | Form::Points) {
            let dots = points
                .iter()
                .filter_map(|(x, y)| Some(format!("M{x:.1} {:.1}h0", (*y)?)));
            let _ = write!(out, "<path class=\"dots\" d=\"{}\"/>", dots.collect::<String>());
        }
    }

    /// Draws the bars of one series: series `place.0` of `place.1` side by side, or stacked on
    /// `feet`.
    fn draw_bars(
        &self,
        series: &Series,
        span: &Span,
        place: (usize, usize),
        feet: Option<&mut Vec<f64>>,
        out: &mut String,
    ) {
        let slot = self.area.width / self.names.len().max(1) as f64;
        let wide = 0.8 * slot / place.1 as f64;
        let (mut bars, mut errors, mut limits) = (String::new(), String::new(), String::new());
        let mut none = vec![0.0; self.names.len()];
        let is_stacked = feet.is_some();
        let feet = feet.unwrap_or(&mut none);
        for (index, (x, y)) in series.x.iter().zip(&series.y).enumerate() {
            let (Some(y), at) = (*y, x_to_number(x, &self.names)) else {
                continue;
            };
            let Some(foot) = feet.get_mut(at as usize) else {
                continue;
            };
            let (Some(middle), Some(from), Some(to)) = (
                self.x_position(at),
                self.y_position(span, *foot),
                self.y_position(span, *foot + y),
            ) else {
                continue;
            };
            if is_stacked {
                *foot += y;
            }
            let left = middle - 0.4 * slot + place.0 as f64 * wide;
            let _ = write!(bars, "M{left:.1} {from:.1}V{to:.1}h{wide:.1}V{from:.1}z");
            let end = |ends: &[Option<f64>]| {
                ends.get(index)
                    .copied()
                    .flatten()
                    .and_then(|value| self.y_position(span, value))
            };
            if let (Some(low), Some(high)) = (end(&series.low), end(&series.high)) {
                let _ = write!(errors, "M{:.1} {low:.1}V{high:.1}", left + wide / 2.0);
            }
            if let Some(limit) = end(&series.limits) {
                let _ = write!(
                    limits,
                    "M{:.1} {limit:.1}h{:.1}",
                    left - LIMIT_OVERHANG,
                    wide + 2.0 * LIMIT_OVERHANG
                );
            }
        }
        let _ = write!(out, "<path class=\"bars\" d=\"{bars}\"/>");
        if !errors.is_empty() {
            let _ = write!(out, "<path class=\"error\" d=\"{errors}\"/>");
        }
        if !limits.is_empty() {
            let _ = write!(out, "<path class=\"mark c-total\" d=\"{limits}\"/>");
        }
    }
}

/// Keeps the first, last, lowest and highest point of each column, or all points of a short series.
fn thin_out(points: &[Point]) -> Vec<Point> {
    if points.len() as f64 <= 2.0 * WIDTH {
        return points.to_vec();
    }
    let column = |point: &Point| (point.0 / COLUMN) as i64;
    let mut kept = Vec::new();
    for group in points.chunk_by(|a, b| column(a) == column(b)) {
        let compare_height = |a: &&Point, b: &&Point| a.1.unwrap_or(0.0).total_cmp(&b.1.unwrap_or(0.0));
        let drawn = || group.iter().filter(|point| point.1.is_some());
        let mut of_group: Vec<Point> = group.first().into_iter().chain(group.last()).copied().collect();
        of_group.extend(
            drawn()
                .min_by(compare_height)
                .into_iter()
                .chain(drawn().max_by(compare_height)),
        );
        of_group.sort_by(|a, b| a.0.total_cmp(&b.0));
        of_group.dedup();
        kept.extend(of_group);
    }
    kept
}

/// The corners of steps: each value lasts until the next point, the last one to the end of the
/// chart.
fn step_corners(points: &[Point], end: f64) -> Vec<Point> {
    let ends = points.iter().skip(1).map(|point| point.0).chain([end]);
    let lines = points.iter().zip(ends);
    lines.flat_map(|((from, y), to)| [(*from, *y), (to, *y)]).collect()
}

/// Path data, with a new subpath after each gap.
fn path_data(points: &[Point], is_stepped: bool) -> String {
    let mut data = String::with_capacity(points.len() * 12);
    let mut is_open = false;
    for (x, y) in points {
        let Some(y) = y else {
            is_open = false;
            continue;
        };
        let _ = match (is_open, is_stepped) {
            (false, _) => write!(data, "M{x:.1} {y:.1}"),
            (true, true) => write!(data, "H{x:.1}V{y:.1}"),
            (true, false) => write!(data, "L{x:.1} {y:.1}"),
        };
        is_open = true;
    }
    data
}
