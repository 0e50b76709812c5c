//! Labels in a drawing: those of marks, and of guides that the legend does not list. [`Labels`]
//! places all of them, so that none overlaps another.

use std::borrow::Cow;
use std::fmt::Write;

use super::{
    Area, Drawing, LETTER, WIDE_LETTER, WIDTH, guide_series, is_listed, marks_on_axis, tone_class, x_to_number,
};
use crate::html::chart::{Form, Mark, MarkAxis, Series, X};
use crate::html::escape::escape_text;

/// Maximum number of label rows above the plot area. Marks without room have only a tooltip.
const MAX_LABEL_ROWS: usize = 3;
/// Height of a label on a phone and in print, where text is larger.
pub(super) const LABEL_LINE: f64 = 16.0;
/// Distance between a line and the baseline of a label above it.
const ABOVE_LINE: f64 = 4.0;
/// Baseline of the titles of vertical axes.
const TITLE_LINE: f64 = 12.0;
/// Width of the piece of a line before its label.
const KEY: f64 = 24.0;

/// The occupied places of a drawing: left end, right end and baseline.
#[derive(Default)]
pub(super) struct Labels(Vec<(f64, f64, f64)>);

impl Labels {
    /// Takes the first of these places, left end and baseline, where the words overlap nothing.
    fn place(&mut self, words: &str, places: impl IntoIterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
        let long = label_width(words);
        let is_free = |(x, y): &(f64, f64)| {
            let touches =
                |(left, right, at): &(f64, f64, f64)| *left < x + long && *right > *x && (at - y).abs() < LABEL_LINE;
            !self.0.iter().any(touches)
        };
        let (x, y) = places.into_iter().find(is_free)?;
        self.0.push((x, x + long, y));
        Some((x, y))
    }
}

fn label_width(words: &str) -> f64 {
    words.chars().count() as f64 * WIDE_LETTER
}

/// Shortens words to this width.
fn fit(words: &str, longest: f64) -> Cow<'_, str> {
    match label_width(words) > longest {
        true => {
            let letters = ((longest / WIDE_LETTER) as usize).saturating_sub(1);
            words.chars().take(letters).chain(['…']).collect()
        }
        false => words.into(),
    }
}

/// A label above the plot area.
pub(super) struct TopLabel<'a> {
    pub(super) mark: &'a Mark,
    pub(super) words: Cow<'a, str>,
    /// Position of the mark.
    pub(super) at: f64,
    /// Left end of the words.
    pub(super) x: f64,
    /// Counted upwards from 0.
    pub(super) row: usize,
}

/// A label of a horizontal line.
pub(super) struct LineLabel<'a> {
    mark: &'a Mark,
    words: Cow<'a, str>,
    /// Right end of the words.
    end: f64,
    /// Counted downwards from the row of the titles.
    pub(super) row: usize,
}

/// Places the labels of marks above the plot area. Each begins at its mark, or further left if it
/// would not end before `end`. Goes from right to left, so the line from a mark to its label
/// crosses no other label.
pub(super) fn place_top_labels<'a>(marks: impl Iterator<Item = (f64, &'a Mark)>, end: f64) -> Vec<TopLabel<'a>> {
    let mut sorted: Vec<(f64, &Mark)> = marks.collect();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut labels = Labels::default();
    let placed = sorted.into_iter().filter_map(|(at, mark)| {
        let words = fit(&mark.words, end);
        let x = at.min(end - label_width(&words)).max(0.0);
        let rows = (0..MAX_LABEL_ROWS).map(|row| (x, -LABEL_LINE * row as f64));
        let (_, y) = labels.place(&words, rows)?;
        let row = (-y / LABEL_LINE).round() as usize;
        Some(TopLabel {
            mark,
            words,
            at,
            x,
            row,
        })
    });
    placed.collect()
}

pub(super) fn row_count(labels: &[TopLabel<'_>]) -> usize {
    labels.iter().map(|label| label.row + 1).max().unwrap_or(0)
}

impl<'a> Drawing<'a> {
    pub(super) fn top_labels(&self) -> Vec<TopLabel<'a>> {
        let placed = marks_on_axis(self.chart, MarkAxis::X).filter_map(|mark| Some((self.x_position(mark.at)?, mark)));
        place_top_labels(placed, self.area.width)
    }

    /// Draws the labels of marks, and of guides that the legend does not list.
    pub(super) fn labels(&self, out: &mut String) {
        self.draw_top_labels(out);
        self.draw_line_labels(out);
        let mut labels = Labels(self.measured_places());
        let Area { left, top, .. } = self.area;
        for guide in guide_series(self.chart).filter(|guide| !is_listed(self.chart, guide)) {
            let long = label_width(&guide.name);
            let places = self.places_within(guide).map(|(x, y)| (x - long, y));
            let visible_places = places.filter(|(x, y)| *x >= 0.0 && *y >= LABEL_LINE);
            let Some((x, y)) = labels.place(&guide.name, visible_places) else {
                continue;
            };
            let _ = writeln!(
                out,
                "<text class=\"label c-other\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left + x + long - 2.0,
                top + y - ABOVE_LINE,
                escape_text(&guide.name)
            );
        }
    }

    /// Draws the labels above the plot area, and the lines from marks to labels in higher rows.
    fn draw_top_labels(&self, out: &mut String) {
        let Area { left, top, .. } = self.area;
        let labels = self.top_labels();
        for TopLabel { mark, at, row, .. } in labels.iter().filter(|label| label.row > 0) {
            let _ = writeln!(
                out,
                "<path class=\"leader {}\" data-at=\"{:.4}\" d=\"M{:.1} {top:.1}v{:.1}\"/>",
                tone_class(mark.tone),
                self.x.place(mark.at).unwrap_or(0.0),
                left + at,
                -LABEL_LINE * *row as f64
            );
        }
        for TopLabel {
            mark, words, x, row, ..
        } in &labels
        {
            let _ = writeln!(
                out,
                "<text class=\"label {}\" data-at=\"{:.4}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                tone_class(mark.tone),
                self.x.place(mark.at).unwrap_or(0.0),
                left + x,
                top - ABOVE_LINE - LABEL_LINE * *row as f64,
                escape_text(words)
            );
        }
    }

    /// Draws the labels of horizontal lines above the plot area, where no data are, each with a
    /// piece of its line.
    fn draw_line_labels(&self, out: &mut String) {
        for LineLabel { mark, words, end, row } in self.line_labels() {
            let (class, y) = (tone_class(mark.tone), TITLE_LINE + LABEL_LINE * row as f64);
            let start = end - label_width(&words);
            let _ = writeln!(
                out,
                "<path class=\"mark {class}\" d=\"M{:.1} {:.1}h{:.1}\"/><text class=\"label {class}\" x=\"{start:.1}\" y=\"{y:.1}\">{}</text>",
                start - KEY,
                y - ABOVE_LINE,
                KEY - 4.0,
                escape_text(&words)
            );
        }
    }

    /// Places the labels of horizontal lines from the right end, first in the row of the titles.
    /// The highest line comes first.
    pub(super) fn line_labels(&self) -> Vec<LineLabel<'a>> {
        let lines = marks_on_axis(self.chart, MarkAxis::Y).filter(|mark| self.y.place(mark.at).is_some());
        let mut lines: Vec<&Mark> = lines.collect();
        lines.sort_by(|a, b| b.at.total_cmp(&a.at));
        let title = label_width(&self.chart.y.title_with_unit()) + 12.0;
        let right_title = self
            .chart
            .right
            .as_ref()
            .map(|axis| label_width(&axis.title_with_unit()) + 12.0);
        let (mut row, mut end, mut start) = (0, WIDTH - 2.0 - right_title.unwrap_or(0.0), title);
        let mut placed = Vec::new();
        for mark in lines {
            let words = fit(&mark.words, WIDTH - 4.0 - KEY);
            let length = label_width(&words) + KEY;
            if end - length < start {
                (row, end, start) = (row + 1, WIDTH - 2.0, 0.0);
            }
            placed.push(LineLabel { mark, words, end, row });
            end -= length + 12.0;
        }
        placed
    }

    /// The place of a point, unless it is a gap.
    fn point_place(&self, (x, y): (&X, &Option<f64>)) -> Option<(f64, f64)> {
        Some((self.x_position(x_to_number(x, &[]))?, self.y_position(&self.y, (*y)?)?))
    }

    /// Left end, right end and height of the measured points of a chart with guides.
    fn measured_places(&self) -> Vec<(f64, f64, f64)> {
        if guide_series(self.chart).all(|guide| is_listed(self.chart, guide)) {
            return Vec::new();
        }
        let measured = self.chart.series.iter().filter(|series| series.form != Form::Guide);
        let points = measured.flat_map(|series| series.x.iter().zip(&series.y));
        points
            .filter_map(|point| self.point_place(point))
            .map(|(x, y)| (x - LETTER, x + LETTER, y))
            .collect()
    }

    /// Points of a line within the plot area, from the right.
    fn places_within(&self, series: &Series) -> impl Iterator<Item = (f64, f64)> {
        const STEPS: u32 = 200;
        let points = series.x.iter().zip(&series.y);
        let points: Vec<(f64, f64)> = points.filter_map(|point| self.point_place(point)).collect();
        let (width, height) = (self.area.width, self.area.height);
        let lines: Vec<_> = points.windows(2).rev().map(|ends| (ends[0], ends[1])).collect();
        let places = lines.into_iter().flat_map(|(from, to)| {
            let between = move |share: f64| (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
            (0..=STEPS)
                .rev()
                .map(move |step| between(f64::from(step) / f64::from(STEPS)))
        });
        places.filter(move |(x, y)| (0.0..=width).contains(x) && (4.0..=height).contains(y))
    }
}
