//! Labels in a drawing: those of marks, and of guides that the legend does not list.

use std::fmt::Write;

use super::{Area, Drawing, LETTER, LINE, WIDE_LETTER, guides, is_listed, marks, number, tone_class};
use crate::html::chart::{Across, Form, Mark, Series, X};
use crate::html::escape::text;

/// Maximum number of label rows above the plot area. Marks without room have only a tooltip.
const MAX_LABEL_ROWS: usize = 3;

impl<'a> Drawing<'a> {
    /// Marks on the horizontal axis, from the left, with the rows of their labels above the plot
    /// area.
    pub(super) fn label_rows(&self) -> Vec<(&'a Mark, Option<usize>)> {
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

    /// The start of a mark's label: at the mark, but within the plot area.
    fn label_start(&self, mark: &Mark) -> f64 {
        let long = mark.words.chars().count() as f64 * LETTER;
        let at = self.across(mark.at).unwrap_or(0.0);
        at.min(self.area.width - long).max(0.0)
    }

    /// Draws the labels of marks, and of guides that the legend does not list.
    pub(super) fn labels(&self, out: &mut String) {
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
            // Above the line, or below it at the top of the plot area.
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
        let mut occupied = self.measured_places();
        for guide in guides(self.chart).filter(|guide| !is_listed(self.chart, guide)) {
            let (long, name) = (guide.name.chars().count() as f64 * WIDE_LETTER, text(&guide.name));
            let is_free = |(x, y): &(f64, f64)| {
                let touches =
                    |(left, right, at): &(f64, f64, f64)| *left < *x && *right > x - long && (at - y).abs() < LINE;
                *x >= long && *y >= LINE && !occupied.iter().any(touches)
            };
            let Some((x, y)) = self.places_within(guide).find(is_free) else {
                continue;
            };
            occupied.push((x - long, x, y));
            let _ = writeln!(
                out,
                "<text class=\"label c-other\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
                left + x - 2.0,
                top + y - 4.0,
            );
        }
    }

    /// Left end, right end and height of the measured points.
    fn measured_places(&self) -> Vec<(f64, f64, f64)> {
        let measured = self.chart.series.iter().filter(|series| series.form != Form::Guide);
        let points = measured.flat_map(|series| series.x.iter().zip(&series.y));
        let place = |(x, y): (&X, &Option<f64>)| Some((self.across(number(x, &[]))?, self.up(&self.y, (*y)?)?));
        points
            .filter_map(place)
            .map(|(x, y)| (x - LETTER, x + LETTER, y))
            .collect()
    }

    /// Points of a line within the plot area, from the right.
    fn places_within(&self, series: &Series) -> impl Iterator<Item = (f64, f64)> {
        const STEPS: u32 = 200;
        let place = |(x, y): (&X, &Option<f64>)| Some((self.across(number(x, &[]))?, self.up(&self.y, (*y)?)?));
        let points: Vec<(f64, f64)> = series.x.iter().zip(&series.y).filter_map(place).collect();
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
