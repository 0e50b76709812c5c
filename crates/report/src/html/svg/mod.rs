//! Draws a [`Chart`] as SVG: visible without a script, in print and in the dark. Colours come from the page's style sheet, by class.
//! `page.js` adds what a reader can do with a drawing (point, zoom, hide a series); it finds the plot area and the ends of the
//! horizontal axis in `data-` attributes.

mod heat;
mod scale;

use std::fmt::Write;

use super::chart::{Across, Axis, Chart, Form, Mark, Scale, Series, Tone, X};
use super::escape::text;
use scale::{PlacedTick, Span};

/// Size of a drawing; a page scales it to the room that it has.
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
/// Width of a letter and height of a line, in the same unit.
const LETTER: f64 = 6.4;
const LINE: f64 = 14.0;
/// Width of a letter of tick labels on a phone, where text is larger.
const WIDE_LETTER: f64 = 8.4;
/// Room below the plot area: tick labels and the title of the axis.
const BELOW: f64 = 38.0;
/// Longer names of an axis of names are cut.
const MAX_NAME: usize = 18;
/// Rows of labels above the plot area; a mark that finds no room in them has its words when pointed at.
const MAX_LABEL_ROWS: usize = 3;
/// More guides than these are labelled where they end, not in the legend.
const MAX_GUIDES_IN_LEGEND: usize = 3;
/// Of each column of this width only the extreme points of a long series are drawn.
const COLUMN: f64 = 1.0;
/// Colours of series without a meaning.
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

/// A point of the plot area; without a vertical place it is a gap.
type Point = (f64, Option<f64>);

/// Draws a chart.
pub(super) fn draw(chart: &Chart) -> String {
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
        text(&chart.title),
        drawing.x.low,
        drawing.x.high,
    );
    drawing.axes(&mut out);
    let _ = writeln!(
        out,
        "<svg class=\"area\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" viewBox=\"0 0 {width:.1} {height:.1}\" preserveAspectRatio=\"none\">"
    );
    drawing.mark_shapes(&mut out);
    match &chart.heat {
        Some(map) => heat::cells(map, width, height, &mut out),
        None => drawing.series(&mut out),
    }
    out.push_str("</svg>\n");
    if let Some(map) = &chart.heat {
        heat::values(map, &drawing.area, &mut out);
    }
    drawing.labels(&mut out);
    out.push_str("</svg>\n");
    out
}

/// The names of the series beside their colours; the scale of a heat map. Empty where one series needs no name.
pub(super) fn legend(chart: &Chart) -> String {
    if let Some(map) = &chart.heat {
        return heat::legend(map);
    }
    let listed: Vec<(usize, &Series)> = chart
        .series
        .iter()
        .enumerate()
        .filter(|(_, one)| is_listed(chart, one))
        .collect();
    if listed.len() < 2 {
        return String::new();
    }
    let mut out = "<ul class=\"legend\">".to_owned();
    for (index, one) in listed {
        let _ = write!(
            out,
            "<li data-series=\"{index}\"><svg class=\"{}\" width=\"22\" height=\"10\" aria-hidden=\"true\"><path class=\"{}\" d=\"M1 5H21\"/></svg>{}</li>",
            class_of(chart, index),
            match one.form {
                Form::Dots => "dots",
                Form::Bars | Form::Stack => "swatch",
                Form::Line | Form::Steps | Form::Points | Form::Guide => "line",
            },
            text(&one.name)
        );
    }
    out.push_str("</ul>\n");
    out
}

fn is_listed(chart: &Chart, series: &Series) -> bool {
    series.form != Form::Guide || guides(chart).count() <= MAX_GUIDES_IN_LEGEND
}

fn guides(chart: &Chart) -> impl Iterator<Item = &Series> {
    chart.series.iter().filter(|series| series.form == Form::Guide)
}

fn class_of(chart: &Chart, index: usize) -> String {
    let series = &chart.series[index];
    let before = &chart.series[..index];
    let mut class = match series.tone {
        _ if series.weak => "c-other weak".to_owned(),
        Tone::Next => {
            let number = before.iter().filter(|one| one.tone == Tone::Next).count();
            format!("c-{}", number % COLOURS)
        }
        tone => tone_class(tone).to_owned(),
    };
    if series.form == Form::Guide {
        let number = before.iter().filter(|one| one.form == Form::Guide).count();
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

fn names_of(chart: &Chart) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut known = std::collections::HashSet::new();
    let all = chart.series.iter().flat_map(|series| &series.x);
    for x in all.chain(chart.heat.iter().flat_map(|map| &map.x)) {
        if let X::Name(name) = x
            && known.insert(name.as_str())
        {
            names.push(name);
        }
    }
    names
}

/// The vertical values of one side, those of bars from their foot on.
fn heights(chart: &Chart, right: bool) -> Vec<f64> {
    let of_side = |series: &&Series| series.right == right && series.form != Form::Guide;
    let series: Vec<&Series> = chart.series.iter().filter(of_side).collect();
    let mut values: Vec<f64> = series
        .iter()
        .flat_map(|one| one.y.iter().chain(&one.low).chain(&one.high).copied().flatten())
        .collect();
    if series.iter().any(|one| matches!(one.form, Form::Bars | Form::Stack)) {
        values.push(0.0);
    }
    let stacked: Vec<&&Series> = series.iter().filter(|one| one.form == Form::Stack).collect();
    let longest = stacked.iter().map(|one| one.y.len()).max().unwrap_or(0);
    values.extend((0..longest).map(|at| {
        stacked
            .iter()
            .filter_map(|one| one.y.get(at).copied().flatten())
            .sum::<f64>()
    }));
    if !right {
        values.extend(marks(chart, Across::Y).flat_map(|mark| [mark.at, mark.to.unwrap_or(mark.at)]));
    }
    values
}

fn marks(chart: &Chart, across: Across) -> impl Iterator<Item = &Mark> {
    chart.marks.iter().filter(move |mark| mark.across == across)
}

fn number(x: &X, names: &[&str]) -> f64 {
    match x {
        X::Number(number) => *number,
        X::Name(name) => names
            .iter()
            .position(|one| one == name)
            .map_or(f64::NAN, |at| at as f64),
    }
}

fn cut(name: &str) -> String {
    match name.chars().count() > MAX_NAME {
        true => name.chars().take(MAX_NAME - 1).chain(['…']).collect(),
        false => name.to_owned(),
    }
}

impl<'a> Drawing<'a> {
    fn new(chart: &'a Chart) -> Drawing<'a> {
        let names = names_of(chart);
        let (x, y) = match &chart.heat {
            Some(map) => (heat::span(&chart.x, &map.x), heat::span(&chart.y, &map.y)),
            None => {
                let x = match chart.x.scale {
                    Scale::Names => Span::of_names(names.len()),
                    Scale::Linear | Scale::Log => Span::of_numbers(&chart.x, widths(chart).into_iter(), true),
                };
                (x, Span::of_numbers(&chart.y, heights(chart, false).into_iter(), false))
            }
        };
        let right = chart
            .right
            .as_ref()
            .map(|axis| Span::of_numbers(axis, heights(chart, true).into_iter(), false));
        let room = |ticks: Vec<PlacedTick>| {
            let longest = ticks.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0);
            longest as f64 * WIDE_LETTER + 10.0
        };
        let own = chart
            .heat
            .as_ref()
            .map_or_else(Vec::new, |map| heat::row_ticks(map, &y));
        let left = room(y.ticks()).max(room(own)).max(20.0);
        let at_right = right.as_ref().map_or(14.0, |span| room(span.ticks()));
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
        let rows = drawing
            .label_rows()
            .iter()
            .filter_map(|(_, row)| *row)
            .max()
            .map_or(0, |row| row + 1);
        drawing.area.top = 20.0 + rows as f64 * LINE;
        drawing.area.height = HEIGHT - BELOW - drawing.area.top;
        drawing
    }

    fn across(&self, value: f64) -> Option<f64> {
        Some(self.x.place(value)? * self.area.width)
    }

    fn up(&self, span: &Span, value: f64) -> Option<f64> {
        Some((1.0 - span.place(value)?) * self.area.height)
    }

    /// Titles, grid and tick labels.
    fn axes(&self, out: &mut String) {
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
            text(&self.chart.y.words())
        );
        let _ = writeln!(
            out,
            "<text class=\"title\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            left + width / 2.0,
            HEIGHT - 5.0,
            text(&self.chart.x.words())
        );
        let rows = self
            .chart
            .heat
            .as_ref()
            .map_or_else(Vec::new, |map| heat::row_ticks(map, &self.y));
        let up = if rows.is_empty() {
            own_ticks(&self.chart.y, &self.y)
        } else {
            rows
        };
        for (place, label) in spread(up, height, |_| LINE) {
            let y = bottom - place * height;
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 5.0,
                y + 4.0,
                text(&label)
            );
        }
        if let (Some(axis), Some(span)) = (&self.chart.right, &self.right) {
            let _ = writeln!(
                out,
                "<text class=\"title\" x=\"{:.1}\" y=\"12\" text-anchor=\"end\">{}</text>",
                WIDTH - 2.0,
                text(&axis.words())
            );
            for (place, label) in own_ticks(axis, span) {
                let (x, y) = (right + 5.0, bottom - place * height + 4.0);
                let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", text(&label));
            }
        }
        for (place, label) in spread(self.ticks_across(), width, |label| {
            label.chars().count() as f64 * WIDE_LETTER + 8.0
        }) {
            let x = left + place * width;
            let _ = writeln!(
                out,
                "<g class=\"tick\" data-at=\"{place:.4}\"><path class=\"grid\" d=\"M{x:.1} {top:.1}V{bottom:.1}\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></g>",
                bottom + 15.0,
                text(&label)
            );
        }
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{left:.1} {top:.1}V{bottom:.1}H{right:.1}\"/>"
        );
    }

    fn ticks_across(&self) -> Vec<PlacedTick> {
        if self.chart.x.scale != Scale::Names {
            return own_ticks(&self.chart.x, &self.x);
        }
        let place = |(index, name): (usize, &&str)| Some((self.x.place(index as f64)?, cut(name)));
        self.names.iter().enumerate().filter_map(place).collect()
    }

    fn mark_shapes(&self, out: &mut String) {
        let (width, height) = (self.area.width, self.area.height);
        for mark in &self.chart.marks {
            let place = |value: f64| match mark.across {
                Across::X => self.across(value),
                Across::Y => self.up(&self.y, value),
            };
            let Some(from) = place(mark.at) else { continue };
            let to = mark.to.and_then(place);
            let class = tone_class(mark.tone);
            let words = text(&mark.words);
            let _ = match (mark.across, to) {
                (Across::X, None) => writeln!(
                    out,
                    "<path class=\"mark {class}\" d=\"M{from:.1} 0V{height:.1}\"><title>{words}</title></path>"
                ),
                (Across::Y, None) => writeln!(
                    out,
                    "<path class=\"mark {class}\" d=\"M0 {from:.1}H{width:.1}\"><title>{words}</title></path>"
                ),
                (Across::X, Some(to)) => writeln!(
                    out,
                    "<path class=\"phase {class}\" d=\"M{from:.1} 0H{to:.1}V{height:.1}H{from:.1}z\"><title>{words}</title></path>"
                ),
                (Across::Y, Some(to)) => writeln!(
                    out,
                    "<path class=\"phase {class}\" d=\"M0 {from:.1}H{width:.1}V{to:.1}H0z\"><title>{words}</title></path>"
                ),
            };
        }
    }

    fn series(&self, out: &mut String) {
        let bars = self.chart.series.iter().filter(|one| one.form == Form::Bars).count();
        let (mut bar, mut feet) = (0, vec![0.0; self.names.len()]);
        for (index, one) in self.chart.series.iter().enumerate() {
            let span = self.right.as_ref().filter(|_| one.right).unwrap_or(&self.y);
            let _ = write!(
                out,
                "<g class=\"{}\" data-series=\"{index}\">",
                class_of(self.chart, index)
            );
            match one.form {
                Form::Bars => {
                    self.bars(one, span, (bar, bars), None, out);
                    bar += 1;
                }
                Form::Stack => self.bars(one, span, (0, 1), Some(&mut feet), out),
                Form::Line | Form::Steps | Form::Points | Form::Dots | Form::Guide => self.curve(one, span, out),
            }
            out.push_str("</g>\n");
        }
    }

    fn curve(&self, series: &Series, span: &Span, out: &mut String) {
        let numbers: Vec<f64> = series.x.iter().map(|x| number(x, &self.names)).collect();
        let points = |values: &[Option<f64>]| -> Vec<Point> {
            let placed = numbers.iter().zip(values);
            let placed = placed.filter_map(|(x, y)| Some((self.across(*x)?, y.and_then(|y| self.up(span, y)))));
            placed.collect()
        };
        let is_stepped = series.form == Form::Steps;
        if !series.low.is_empty() && series.low.len() == series.high.len() {
            let whole = points(&series.low).into_iter().zip(points(&series.high));
            let (low, high): (Vec<Point>, Vec<Point>) =
                whole.filter(|(low, high)| low.1.is_some() && high.1.is_some()).unzip();
            let back: Vec<Point> = thinned(&low).into_iter().rev().collect();
            if back.len() > 1 {
                let rest = path(&back, false).replacen('M', "L", 1);
                let _ = write!(
                    out,
                    "<path class=\"band\" d=\"{}{rest}z\"/>",
                    path(&thinned(&high), false)
                );
            }
        }
        let mut points = thinned(&points(&series.y));
        // The last step of a measured window is as long as the one before it.
        if is_stepped
            && !series.weak
            && self.chart.x.scale == Scale::Linear
            && let [.., before, last] = points[..]
        {
            points.push(((2.0 * last.0 - before.0).min(self.area.width), last.1));
        }
        if series.form != Form::Dots {
            let _ = write!(out, "<path class=\"line\" d=\"{}\"/>", path(&points, is_stepped));
        }
        if matches!(series.form, Form::Dots | Form::Points) {
            let dots = points
                .iter()
                .filter_map(|(x, y)| Some(format!("M{x:.1} {:.1}h0", (*y)?)));
            let _ = write!(out, "<path class=\"dots\" d=\"{}\"/>", dots.collect::<String>());
        }
    }

    /// Bars of one series: number `place.0` of `place.1` beside each other, or on top of those of `feet`.
    fn bars(&self, series: &Series, span: &Span, place: (usize, usize), feet: Option<&mut Vec<f64>>, out: &mut String) {
        let slot = self.area.width / self.names.len().max(1) as f64;
        let wide = 0.8 * slot / place.1 as f64;
        let (mut bars, mut errors) = (String::new(), String::new());
        let mut none = vec![0.0; self.names.len()];
        let is_stacked = feet.is_some();
        let feet = feet.unwrap_or(&mut none);
        for (index, (x, y)) in series.x.iter().zip(&series.y).enumerate() {
            let (Some(y), at) = (*y, number(x, &self.names)) else {
                continue;
            };
            let Some(foot) = feet.get_mut(at as usize) else {
                continue;
            };
            let (Some(middle), Some(from), Some(to)) =
                (self.across(at), self.up(span, *foot), self.up(span, *foot + y))
            else {
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
                    .and_then(|value| self.up(span, value))
            };
            if let (Some(low), Some(high)) = (end(&series.low), end(&series.high)) {
                let _ = write!(errors, "M{:.1} {low:.1}V{high:.1}", left + wide / 2.0);
            }
        }
        let _ = write!(out, "<path class=\"bars\" d=\"{bars}\"/>");
        if !errors.is_empty() {
            let _ = write!(out, "<path class=\"error\" d=\"{errors}\"/>");
        }
    }

    /// Marks along the horizontal axis with the row of their words above the plot area, from the left.
    fn label_rows(&self) -> Vec<(&'a Mark, Option<usize>)> {
        let mut ends = [f64::NEG_INFINITY; MAX_LABEL_ROWS];
        let mut sorted: Vec<&Mark> = marks(self.chart, Across::X)
            .filter(|mark| self.across(mark.at).is_some())
            .collect();
        sorted.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mut place = |mark: &'a Mark| {
            let x = self.label_start(mark);
            let row = ends.iter().position(|end| *end <= x);
            if let Some(row) = row {
                ends[row] = x + (mark.words.chars().count() + 1) as f64 * LETTER;
            }
            (mark, row)
        };
        sorted.into_iter().map(&mut place).collect()
    }

    /// Where the words of a mark begin: at the mark, and within the plot area.
    fn label_start(&self, mark: &Mark) -> f64 {
        let long = mark.words.chars().count() as f64 * LETTER;
        let at = self.across(mark.at).unwrap_or(0.0);
        at.min(self.area.width - long).max(0.0)
    }

    /// Words beside marks, and at the ends of guides that the legend does not list.
    fn labels(&self, out: &mut String) {
        let Area { left, top, width, .. } = self.area;
        for (mark, row) in self.label_rows() {
            let Some(row) = row else { continue };
            let _ = writeln!(
                out,
                "<text class=\"label {}\" data-at=\"{:.4}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                tone_class(mark.tone),
                self.x.place(mark.at).unwrap_or(0.0),
                left + self.label_start(mark),
                top - 4.0 - row as f64 * LINE,
                text(&mark.words)
            );
        }
        let mut taken: Vec<f64> = Vec::new();
        for mark in marks(self.chart, Across::Y) {
            let Some(mut y) = self.up(&self.y, mark.at) else {
                continue;
            };
            // Above the line, or below it where there is no room.
            y += if y < LINE { LINE } else { -4.0 };
            while let Some(near) = taken.iter().find(|other| (y - **other).abs() < LINE) {
                y = near - LINE;
            }
            taken.push(y);
            let _ = writeln!(
                out,
                "<text class=\"label {}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                tone_class(mark.tone),
                left + width - 3.0,
                top + y.max(10.0),
                text(&mark.words)
            );
        }
        for guide in guides(self.chart).filter(|guide| !is_listed(self.chart, guide)) {
            if let Some((x, y)) = self.last_within(guide) {
                let _ = writeln!(
                    out,
                    "<text class=\"label c-other\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                    left + x - 2.0,
                    top + (y - 4.0).max(10.0),
                    text(&guide.name)
                );
            }
        }
    }

    /// The point furthest to the right at which a line is within the plot area.
    fn last_within(&self, series: &Series) -> Option<(f64, f64)> {
        const STEPS: u32 = 200;
        let place = |(x, y): (&X, &Option<f64>)| Some((self.across(number(x, &[]))?, self.up(&self.y, (*y)?)?));
        let points: Vec<(f64, f64)> = series.x.iter().zip(&series.y).filter_map(place).collect();
        let is_within =
            |(x, y): &(f64, f64)| (0.0..=self.area.width).contains(x) && (4.0..=self.area.height).contains(y);
        points.windows(2).rev().find_map(|ends| {
            let ([from, to], between) = ([ends[0], ends[1]], |share: f64| {
                (
                    ends[0].0 + share * (ends[1].0 - ends[0].0),
                    ends[0].1 + share * (ends[1].1 - ends[0].1),
                )
            });
            debug_assert!(from.0 <= to.0 || points.len() > 1);
            (0..=STEPS)
                .rev()
                .map(|step| between(f64::from(step) / f64::from(STEPS)))
                .find(is_within)
        })
    }
}

/// The horizontal values of a chart of numbers.
fn widths(chart: &Chart) -> Vec<f64> {
    let series = chart.series.iter().flat_map(|series| {
        let numbers: Vec<f64> = series.x.iter().map(|x| number(x, &[])).collect();
        let last = match (&numbers[..], series.form) {
            ([.., before, last], Form::Steps) if !series.weak && chart.x.scale == Scale::Linear => {
                Some(2.0 * last - before)
            }
            _ => None,
        };
        numbers.into_iter().chain(last)
    });
    let bands = marks(chart, Across::X)
        .flat_map(|mark| mark.to.map(|to| [mark.at, to]))
        .flatten();
    series.chain(bands).collect()
}

fn own_ticks(axis: &Axis, span: &Span) -> Vec<PlacedTick> {
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

/// Those ticks whose labels do not touch each other.
fn spread(ticks: Vec<PlacedTick>, length: f64, size: impl Fn(&str) -> f64) -> Vec<PlacedTick> {
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

/// The first, the last, the lowest and the highest point of each column; all points of a short series.
fn thinned(points: &[Point]) -> Vec<Point> {
    if points.len() as f64 <= 2.0 * WIDTH {
        return points.to_vec();
    }
    let column = |point: &Point| (point.0 / COLUMN) as i64;
    let mut kept = Vec::new();
    for group in points.chunk_by(|a, b| column(a) == column(b)) {
        let by_height = |a: &&Point, b: &&Point| a.1.unwrap_or(0.0).total_cmp(&b.1.unwrap_or(0.0));
        let drawn = || group.iter().filter(|point| point.1.is_some());
        let mut of_group: Vec<Point> = group.first().into_iter().chain(group.last()).copied().collect();
        of_group.extend(drawn().min_by(by_height).into_iter().chain(drawn().max_by(by_height)));
        of_group.sort_by(|a, b| a.0.total_cmp(&b.0));
        of_group.dedup();
        kept.extend(of_group);
    }
    kept
}

/// Path data; a gap begins a new part.
fn path(points: &[Point], is_stepped: bool) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::chart::Heat;

    fn chart(series: Vec<Series>) -> Chart {
        Chart {
            id: "x".into(),
            title: "A < B".into(),
            x: Axis::linear("time", "s"),
            y: Axis::from_zero("rate", "IOPS"),
            series,
            ..Chart::default()
        }
    }

    /// The data of the path of this class in the series of this number, with the plot area.
    fn data(drawn: &str, series: usize, class: &str) -> (String, [f64; 4]) {
        let group = drawn
            .split(&format!("data-series=\"{series}\""))
            .nth(1)
            .expect("the series is drawn");
        let path = group
            .split(&format!("class=\"{class}\" d=\""))
            .nth(1)
            .expect("it has such a path");
        let area = drawn.split("data-area=\"").nth(1).unwrap().split('"').next().unwrap();
        let area: Vec<f64> = area.split(' ').map(|number| number.parse().unwrap()).collect();
        (path.split('"').next().unwrap().to_owned(), area.try_into().unwrap())
    }

    #[test]
    fn points_lie_where_their_values_are() {
        let drawn = draw(&chart(vec![Series::new(
            "a",
            Form::Line,
            [(0.0, 0.0), (5.0, 50.0), (10.0, 100.0)],
        )]));
        let (line, [_, _, width, height]) = data(&drawn, 0, "line");
        // 5 % of room above the highest value.
        let up = |value: f64| height - height * value / 105.0;
        let expected = [(0.0, up(0.0)), (width / 2.0, up(50.0)), (width, up(100.0))];
        let found: Vec<(f64, f64)> = line
            .split(['M', 'L'])
            .skip(1)
            .map(|point| point.split_once(' ').unwrap())
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect();
        for ((x, y), (to_x, to_y)) in found.iter().zip(expected) {
            assert!(
                (x - to_x).abs() < 0.11 && (y - to_y).abs() < 0.11,
                "{line}: {expected:?}"
            );
        }
        assert_eq!(found.len(), 3);
        assert!(drawn.contains("aria-label=\"A &lt; B\""));
    }

    #[test]
    fn gaps_stay_open_and_the_last_step_has_its_length() {
        let mut gap = Series::new("a", Form::Line, [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
        gap.y[1] = None;
        let steps = Series::new("b", Form::Steps, [(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]);
        let drawn = draw(&chart(vec![gap, steps]));
        assert_eq!(data(&drawn, 0, "line").0.matches('M').count(), 2);
        let (line, [_, _, width, _]) = data(&drawn, 1, "line");
        let last = line.rsplit('H').next().unwrap().split('V').next().unwrap();
        assert!((last.parse::<f64>().unwrap() - width).abs() < 0.11, "{line}");
    }

    #[test]
    fn a_long_series_keeps_its_extremes() {
        let value = |at: u32| if at == 50_321 { 9000.0 } else { f64::from(at % 7) };
        let series = Series::new("a", Form::Line, (0..100_000).map(|at| (f64::from(at), value(at))));
        let drawn = draw(&chart(vec![series]));
        assert!(drawn.len() < 40_000, "{} bytes", drawn.len());
        let (line, [_, _, _, height]) = data(&drawn, 0, "line");
        let highest = line
            .split(['M', 'L'])
            .filter_map(|point| point.split_once(' ')?.1.parse::<f64>().ok())
            .fold(f64::INFINITY, f64::min);
        assert!(
            (highest - height * (1.0 - 1.0 / 1.05)).abs() < 0.2,
            "{highest} of {height}"
        );
    }

    #[test]
    fn bars_stand_on_each_other_or_beside_each_other() {
        let bars = |form: Form, value: f64| Series::over_names("a", form, [("cpu 0".to_owned(), Some(value))]);
        let with_names = |series: Vec<Series>| Chart {
            x: Axis::names("processor"),
            ..chart(series)
        };
        let drawn = draw(&with_names(vec![bars(Form::Stack, 30.0), bars(Form::Stack, 50.0)]));
        let feet = |series: usize| {
            let path = data(&drawn, series, "bars").0;
            let (foot, top) = path.split_once('V').unwrap();
            let number = |text: &str| {
                text.split(['M', ' ', 'h'])
                    .find_map(|part| part.parse::<f64>().ok())
                    .unwrap()
            };
            (number(foot.split(' ').nth(1).unwrap()), number(top))
        };
        assert_eq!(
            feet(0).1.to_string(),
            feet(1).0.to_string(),
            "the second stands on the first"
        );
        let beside = draw(&with_names(vec![bars(Form::Bars, 30.0), bars(Form::Bars, 50.0)]));
        let left = |series: usize| {
            data(&beside, series, "bars").0.split(' ').next().unwrap()[1..]
                .parse::<f64>()
                .unwrap()
        };
        assert!(left(0) < left(1));
    }

    #[test]
    fn charts_of_odd_values_are_drawn() {
        let strange = [
            Series::new("a", Form::Points, [(1.0, f64::NAN)]),
            Series::new("b", Form::Steps, []),
            Series::new("c", Form::Dots, [(0.0, -5.0), (0.0, f64::INFINITY)]),
        ];
        let empty = Heat::default();
        for scale in [Axis::linear("x", ""), Axis::log("x", "")] {
            let odd = Chart {
                x: scale.clone(),
                y: scale,
                right: Some(Axis::from_zero("r", "")),
                ..chart(strange.to_vec())
            };
            let with_heat = Chart {
                heat: Some(empty.clone()),
                ..odd.clone()
            };
            for one in [odd, with_heat] {
                let drawn = draw(&one);
                assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
            }
        }
    }
}
