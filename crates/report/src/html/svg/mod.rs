//! Draws a [`Chart`] as SVG, for pages without scripts, in print and in dark mode.
//!
//! Colours come from the page's style sheet, by class. `page.js` adds interaction (tooltips, zoom,
//! hiding series); it reads the plot area and the ends of the horizontal axis from `data-`
//! attributes.

mod heat;
mod labels;
mod rows;
mod scale;
mod shapes;

use std::fmt::Write;

use super::chart::{Axis, Chart, Form, Mark, MarkAxis, Scale, Series, Tone, X};
use super::escape::escape_text;
use labels::LABEL_LINE;
use scale::{PlacedTick, Span};

/// Size of a drawing, which the page scales to the available width.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 230.0;
/// Width of a character and height of a line, in the same unit.
const LETTER: f64 = 6.4;
const LINE: f64 = 14.0;
/// Width of a character of tick labels on a phone, where text is larger.
const WIDE_LETTER: f64 = 8.4;
/// Minimum space between tick labels of a horizontal axis.
const TICK_GAP: f64 = 12.0;
/// Space below the plot area, for tick labels and the title of the axis.
const SPACE_BELOW: f64 = 38.0;
/// Longer names are truncated.
const MAX_NAME: usize = 18;
/// If there are more guides, they are labelled at their ends instead of in the legend.
const MAX_GUIDES_IN_LEGEND: usize = 3;
/// Number of colours without a meaning.
const COLOURS: usize = 8;

/// The plot area within a drawing.
struct Area {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// A chart with its axes laid out.
struct Drawing<'a> {
    chart: &'a Chart,
    names: Vec<&'a str>,
    x: Span,
    y: Span,
    right: Option<Span>,
    area: Area,
}

/// A point in the plot area; `None` as the vertical position is a gap.
type Point = (f64, Option<f64>);

pub(super) fn draw(chart: &Chart) -> String {
    if let Some(series) = chart.series.iter().find(|series| series.form == Form::Rows) {
        return rows::draw(chart, series);
    }
    let drawing = Drawing::new(chart);
    let mut out = String::with_capacity(1 << 13);
    let Area {
        left,
        top,
        width,
        height,
    } = drawing.area;
    let scale = match chart.x.scale {
        Scale::Linear if chart.x.ticks.is_empty() => "linear",
        Scale::Linear => "marked",
        Scale::Log => "log",
        Scale::Names => "names",
    };
    let _ = writeln!(
        out,
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\" data-area=\"{left:.1} {top:.1} {width:.1} {height:.1}\" \
         data-x=\"{} {}\" data-scale=\"{scale}\">",
        escape_text(&chart.title),
        drawing.x.low,
        drawing.x.high,
    );
    drawing.draw_axes(&mut out);
    let _ = writeln!(
        out,
        "<svg class=\"area\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" viewBox=\"0 0 {width:.1} {height:.1}\" preserveAspectRatio=\"none\">"
    );
    drawing.mark_shapes(&mut out);
    match &chart.heat {
        Some(map) => heat::draw_cells(map, width, height, &mut out),
        None => drawing.series(&mut out),
    }
    out.push_str("</svg>\n");
    if let Some(map) = &chart.heat {
        heat::write_values(map, &drawing.area, &mut out);
    }
    drawing.labels(&mut out);
    out.push_str("</svg>\n");
    out
}

/// Draws the legend: names and colours of the series, or the scale of a heat map. Empty for a
/// single series.
pub(super) fn draw_legend(chart: &Chart) -> String {
    if let Some(map) = &chart.heat {
        return heat::format_legend(map);
    }
    let listed: Vec<(usize, &Series)> = chart
        .series
        .iter()
        .enumerate()
        .filter(|(_, series)| is_listed(chart, series))
        .collect();
    if listed.len() < 2 {
        return String::new();
    }
    let mut out = "<ul class=\"legend\">".to_owned();
    for (index, series) in listed {
        let _ = write!(
            out,
            "<li data-series=\"{index}\"><svg class=\"{}\" width=\"22\" height=\"10\" aria-hidden=\"true\"><path class=\"{}\" d=\"M1 5H21\"/></svg>{}</li>",
            series_class(chart, index),
            match series.form {
                Form::Dots => "dots",
                Form::Bars | Form::Stack => "swatch",
                Form::Line | Form::Steps | Form::Points | Form::Rows | Form::Guide => "line",
            },
            escape_text(&series.name)
        );
    }
    out.push_str("</ul>\n");
    out
}

fn is_listed(chart: &Chart, series: &Series) -> bool {
    series.form != Form::Guide || guide_series(chart).count() <= MAX_GUIDES_IN_LEGEND
}

fn guide_series(chart: &Chart) -> impl Iterator<Item = &Series> {
    chart.series.iter().filter(|series| series.form == Form::Guide)
}

fn series_class(chart: &Chart, index: usize) -> String {
    let series = &chart.series[index];
    let before = &chart.series[..index];
    let mut class = match series.tone {
        _ if series.weak => "c-other weak".to_owned(),
        Tone::Next => {
            let number = before.iter().filter(|series| series.tone == Tone::Next).count();
            format!("c-{}", number % COLOURS)
        }
        tone => tone_class(tone).to_owned(),
    };
    if series.form == Form::Guide {
        let number = before.iter().filter(|series| series.form == Form::Guide).count();
        let _ = write!(class, " guide g{}", number % MAX_GUIDES_IN_LEGEND);
    }
    class
}

fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Read => "c-read",
        Tone::Write => "c-write",
        Tone::Trim => "c-trim",
        Tone::Total | Tone::Next => "c-total",
        Tone::Limit => "c-limit",
        Tone::Other => "c-other",
    }
}

fn axis_names(chart: &Chart) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut shown_names = std::collections::HashSet::new();
    let x_values = chart.series.iter().flat_map(|series| &series.x);
    for x in x_values.chain(chart.heat.iter().flat_map(|map| &map.x)) {
        if let X::Name(name) = x
            && shown_names.insert(name.as_str())
        {
            names.push(name);
        }
    }
    names
}

/// The vertical values on one side, including the base of bars.
fn vertical_values(chart: &Chart, right: bool) -> Vec<f64> {
    let is_on_side = |series: &&Series| series.right == right && series.form != Form::Guide;
    let series: Vec<&Series> = chart.series.iter().filter(is_on_side).collect();
    let mut values: Vec<f64> = series
        .iter()
        .flat_map(|series| {
            series
                .y
                .iter()
                .chain(&series.low)
                .chain(&series.high)
                .chain(&series.limits)
                .copied()
                .flatten()
        })
        .collect();
    if series
        .iter()
        .any(|series| matches!(series.form, Form::Bars | Form::Stack))
    {
        values.push(0.0);
    }
    let stacked: Vec<&&Series> = series.iter().filter(|series| series.form == Form::Stack).collect();
    let longest = stacked.iter().map(|series| series.y.len()).max().unwrap_or(0);
    values.extend((0..longest).map(|at| {
        stacked
            .iter()
            .filter_map(|series| series.y.get(at).copied().flatten())
            .sum::<f64>()
    }));
    if !right {
        values.extend(marks_on_axis(chart, MarkAxis::Y).flat_map(|mark| [mark.at, mark.to.unwrap_or(mark.at)]));
    }
    values
}

fn marks_on_axis(chart: &Chart, across: MarkAxis) -> impl Iterator<Item = &Mark> {
    chart.marks.iter().filter(move |mark| mark.across == across)
}

fn x_to_number(x: &X, names: &[&str]) -> f64 {
    match x {
        X::Number(number) => *number,
        X::Name(name) => names
            .iter()
            .position(|candidate| candidate == name)
            .map_or(f64::NAN, |at| at as f64),
    }
}

fn truncate(name: &str) -> String {
    match name.chars().count() > MAX_NAME {
        true => name.chars().take(MAX_NAME - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

impl<'a> Drawing<'a> {
    fn new(chart: &'a Chart) -> Drawing<'a> {
        let names = axis_names(chart);
        let (x, y) = match &chart.heat {
            Some(map) => (heat::cell_span(&chart.x, &map.x), heat::cell_span(&chart.y, &map.y)),
            None => {
                let x = match chart.x.scale {
                    Scale::Names => Span::from_names(names.len()),
                    Scale::Linear | Scale::Log => {
                        Span::from_numbers(&chart.x, horizontal_values(chart).into_iter(), true)
                    }
                };
                (
                    x,
                    Span::from_numbers(&chart.y, vertical_values(chart, false).into_iter(), false),
                )
            }
        };
        let right = chart
            .right
            .as_ref()
            .map(|axis| Span::from_numbers(axis, vertical_values(chart, true).into_iter(), false));
        let room = |ticks: Vec<PlacedTick>| {
            let longest = ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
            longest as f64 * WIDE_LETTER + 10.0
        };
        let tick_labels = chart
            .heat
            .as_ref()
            .map_or_else(Vec::new, |map| heat::row_ticks(map, &y));
        let left = room(y.ticks()).max(room(tick_labels)).max(20.0);
        // Half of the last custom label extends beyond the end of the axis.
        let words = chart
            .x
            .ticks
            .iter()
            .map(|tick| tick.words.chars().count())
            .max()
            .unwrap_or(0);
        let label_overhang = (words as f64 * WIDE_LETTER / 2.0).max(14.0);
        let at_right = right
            .as_ref()
            .map_or(label_overhang, |span| room(span.ticks()).max(label_overhang));
        let mut drawing = Drawing {
            chart,
            names,
            x,
            y,
            right,
            area: Area {
                left,
                top: 0.0,
                width: WIDTH - left - at_right,
                height: 0.0,
            },
        };
        let line_rows = drawing.line_labels().last().map_or(0, |label| label.row);
        drawing.area.top = 24.0 + LABEL_LINE * (line_rows + labels::row_count(&drawing.top_labels())) as f64;
        drawing.area.height = HEIGHT - SPACE_BELOW - drawing.area.top;
        drawing
    }

    fn x_position(&self, value: f64) -> Option<f64> {
        Some(self.x.place(value)? * self.area.width)
    }

    fn y_position(&self, span: &Span, value: f64) -> Option<f64> {
        Some((1.0 - span.place(value)?) * self.area.height)
    }

    fn draw_axes(&self, out: &mut String) {
        let Area {
            left,
            top,
            width,
            height,
        } = self.area;
        let (right, bottom) = (left + width, top + height);
        let _ = writeln!(
            out,
            "<text class=\"title\" x=\"2\" y=\"12\">{}</text>",
            escape_text(&self.chart.y.title_with_unit())
        );
        let _ = writeln!(
            out,
            "<text class=\"title\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            left + width / 2.0,
            HEIGHT - 5.0,
            escape_text(&self.chart.x.title_with_unit())
        );
        let rows = self
            .chart
            .heat
            .as_ref()
            .map_or_else(Vec::new, |map| heat::row_ticks(map, &self.y));
        let up = if rows.is_empty() {
            axis_ticks(&self.chart.y, &self.y)
        } else {
            rows
        };
        for (place, label) in select_ticks(up, height, |_| LINE) {
            let y = bottom - place * height;
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 5.0,
                // Keeps the lowest label above those of the horizontal axis.
                (y + 4.0).min(bottom),
                escape_text(&label)
            );
        }
        if let (Some(axis), Some(span)) = (&self.chart.right, &self.right) {
            let _ = writeln!(
                out,
                "<text class=\"title\" x=\"{:.1}\" y=\"12\" text-anchor=\"end\">{}</text>",
                WIDTH - 2.0,
                escape_text(&axis.title_with_unit())
            );
            for (place, label) in axis_ticks(axis, span) {
                let (x, y) = (right + 5.0, bottom - place * height + 4.0);
                let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape_text(&label));
            }
        }
        for (place, label) in select_ticks(self.horizontal_ticks(), width, |label| {
            label.chars().count() as f64 * WIDE_LETTER + TICK_GAP
        }) {
            let x = left + place * width;
            // Keeps the last label within the drawing.
            let middle = x.min(WIDTH - label.chars().count() as f64 * WIDE_LETTER / 2.0);
            let _ = writeln!(
                out,
                "<g class=\"tick\" data-at=\"{place:.4}\"><path class=\"grid\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/><text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></g>",
                bottom + 15.0,
                escape_text(&label)
            );
        }
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{left:.1} {top:.1}V{bottom:.1}H{right:.1}\"/>"
        );
    }

    fn horizontal_ticks(&self) -> Vec<PlacedTick> {
        if self.chart.x.scale != Scale::Names {
            return axis_ticks(&self.chart.x, &self.x);
        }
        let place = |(index, name): (usize, &&str)| Some((self.x.place(index as f64)?, truncate(name)));
        self.names.iter().enumerate().filter_map(place).collect()
    }

    fn mark_shapes(&self, out: &mut String) {
        let (width, height) = (self.area.width, self.area.height);
        for mark in &self.chart.marks {
            let place = |value: f64| match mark.across {
                MarkAxis::X => self.x_position(value),
                MarkAxis::Y => self.y_position(&self.y, value),
            };
            let Some(from) = place(mark.at) else { continue };
            let to = mark.to.and_then(place);
            let class = tone_class(mark.tone);
            let words = escape_text(&mark.words);
            let _ = match (mark.across, to) {
                (MarkAxis::X, None) => writeln!(
                    out,
                    "<path class=\"mark {class}\" d=\"M{from:.1} 0V{height:.1}\"><title>{words}</title></path>"
                ),
                (MarkAxis::Y, None) => writeln!(
                    out,
                    "<path class=\"mark {class}\" d=\"M0 {from:.1}H{width:.1}\"><title>{words}</title></path>"
                ),
                (MarkAxis::X, Some(to)) => writeln!(
                    out,
                    "<path class=\"phase {class}\" d=\"M{from:.1} 0H{to:.1}V{height:.1}H{from:.1}z\"><title>{words}</title></path>"
                ),
                (MarkAxis::Y, Some(to)) => writeln!(
                    out,
                    "<path class=\"phase {class}\" d=\"M0 {from:.1}H{width:.1}V{to:.1}H0z\"><title>{words}</title></path>"
                ),
            };
        }
    }
}

/// True if the last step of a series has no explicit end, and is drawn as long as the one before
/// it.
fn has_open_end(chart: &Chart, series: &Series) -> bool {
    series.form == Form::Steps && !series.weak && chart.x.scale == Scale::Linear
}

fn horizontal_values(chart: &Chart) -> Vec<f64> {
    let series = chart.series.iter().flat_map(|series| {
        let numbers: Vec<f64> = series.x.iter().map(|x| x_to_number(x, &[])).collect();
        let last = match numbers[..] {
            [.., before, last] if has_open_end(chart, series) => Some(2.0 * last - before),
            _ => None,
        };
        numbers.into_iter().chain(last)
    });
    let bands = marks_on_axis(chart, MarkAxis::X)
        .flat_map(|mark| mark.to.map(|to| [mark.at, to]))
        .flatten();
    series.chain(bands).collect()
}

fn axis_ticks(axis: &Axis, span: &Span) -> Vec<PlacedTick> {
    if axis.ticks.is_empty() {
        return span.ticks();
    }
    let placed = axis
        .ticks
        .iter()
        .filter_map(|tick| Some((span.place(tick.at)?, tick.words.clone())));
    placed
        .filter(|(place, _)| (-1e-9..=1.0 + 1e-9).contains(place))
        .collect()
}

/// Selects ticks whose labels do not overlap.
fn select_ticks(ticks: Vec<PlacedTick>, length: f64, size: impl Fn(&str) -> f64) -> Vec<PlacedTick> {
    let mut kept: Vec<PlacedTick> = Vec::new();
    for tick in ticks {
        let is_free = kept
            .last()
            .is_none_or(|last| (tick.0 - last.0) * length >= (size(&tick.1) + size(&last.1)) / 2.0);
        if is_free {
            kept.push(tick);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
