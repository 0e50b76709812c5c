//! Draws a row for each name: point and interval on a common horizontal axis, and a text. All
//! values are visible without a tooltip, so `page.js` ignores these drawings.

use std::fmt::Write;

use super::labels::{LABEL_LINE, place_top_labels, row_count};
use super::scale::Span;
use super::{
    COLOURS, HEIGHT, WIDE_LETTER, WIDTH, axis_ticks, marks_on_axis, select_ticks, tone_class, vertical_values,
};
use crate::html::chart::{Chart, Mark, MarkAxis, PointStyle, Series, X};
use crate::html::escape::escape_text;

/// Height of a row: the name above, the interval below.
const ROW: f64 = 40.0;
/// Height of the part of a row that holds the interval.
const INTERVAL: f64 = 20.0;
/// Space above the labels of marks, below the rows for ticks and title, and on both sides.
const SPACE_ABOVE: f64 = 6.0;
const SPACE_BELOW: f64 = 40.0;
const SPACE_SIDE: f64 = 16.0;

pub(super) fn draw(chart: &Chart, series: &Series) -> String {
    let span = Span::from_numbers(&chart.y, vertical_values(chart, false).into_iter(), false);
    let width = WIDTH - 2.0 * SPACE_SIDE;
    let across = |value: f64| span.place(value).map(|place| SPACE_SIDE + place * width);
    // On a logarithmic axis, a band from 0 begins at the edge.
    let begin = |mark: &Mark| across(mark.at).unwrap_or(SPACE_SIDE).max(SPACE_SIDE);
    let placed = marks_on_axis(chart, MarkAxis::Y).map(|mark| (begin(mark), mark));
    let labels = place_top_labels(placed, WIDTH - SPACE_SIDE);
    let above = SPACE_ABOVE + LABEL_LINE * row_count(&labels).max(1) as f64;
    let bottom = above + ROW * series.x.len() as f64;
    let height = (bottom + SPACE_BELOW).max(HEIGHT / 3.0);
    let mut out = format!(
        "<svg class=\"plot rows\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\">\n",
        escape_text(&chart.title)
    );
    // Bands and grid lines only behind the intervals: the text above them stays on plain paper.
    let in_rows = |shape: &dyn Fn(f64) -> String| -> String {
        let rows = 0..series.x.len();
        rows.map(|row| shape(above + ROW * (row + 1) as f64 - INTERVAL))
            .collect()
    };
    for mark in marks_on_axis(chart, MarkAxis::Y) {
        if let Some(to) = across(mark.to.unwrap_or(mark.at)) {
            let from = begin(mark);
            let class = tone_class(mark.tone);
            let band = |top: f64| format!("M{from:.1} {top}H{to:.1}v{INTERVAL}H{from:.1}z");
            let _ = writeln!(out, "<path class=\"phase {class}\" d=\"{}\"/>", in_rows(&band));
        }
    }
    for label in &labels {
        let _ = writeln!(
            out,
            "<text class=\"label {}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            tone_class(label.mark.tone),
            label.x,
            above - 8.0 - LABEL_LINE * label.row as f64,
            escape_text(&label.words)
        );
    }
    for (place, label) in select_ticks(axis_ticks(&chart.y, &span), width, |label| {
        label.chars().count() as f64 * WIDE_LETTER + 12.0
    }) {
        let x = SPACE_SIDE + place * width;
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"{}\"/><text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            in_rows(&|top: f64| format!("M{x:.1} {top}v{INTERVAL}")),
            bottom + 15.0,
            escape_text(&label)
        );
    }
    let _ = writeln!(
        out,
        "<path class=\"axis\" d=\"M{SPACE_SIDE} {bottom}H{:.1}\"/><text class=\"title\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        SPACE_SIDE + width,
        WIDTH / 2.0,
        bottom + 33.0,
        escape_text(&chart.y.title_with_unit())
    );
    for row in 0..series.x.len() {
        draw_row(&mut out, series, row, above + ROW * row as f64, &across);
    }
    out + "</svg>\n"
}

/// Draws the row of one name, whose upper edge is at `top`.
fn draw_row(out: &mut String, series: &Series, row: usize, top: f64, across: &impl Fn(f64) -> Option<f64>) {
    let X::Name(name) = &series.x[row] else { return };
    let row_position = |ends: &[Option<f64>]| ends.get(row).copied().flatten().and_then(across);
    let words = series.words.get(row).map_or("", String::as_str);
    let line = top + 0.7 * ROW;
    let style = series.row_styles.get(row).copied().unwrap_or(PointStyle::Series(0));
    let _ = write!(
        out,
        "<g class=\"{}\"><text class=\"name\" x=\"{SPACE_SIDE}\" y=\"{:.1}\">{}</text><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        style_class(style),
        top + 15.0,
        escape_text(&shorten_name(name, words)),
        WIDTH - SPACE_SIDE,
        top + 15.0,
        escape_text(words)
    );
    // An end outside of the axis is drawn to its edge, without an end bar.
    let has = |ends: &[Option<f64>]| ends.get(row).copied().flatten().is_some();
    if has(&series.low) && has(&series.high) {
        let (low, high) = (row_position(&series.low), row_position(&series.high));
        let _ = write!(
            out,
            "<path class=\"line\" d=\"M{:.1} {line}H{:.1}",
            low.unwrap_or(SPACE_SIDE),
            high.unwrap_or(WIDTH - SPACE_SIDE)
        );
        for end in [low, high].into_iter().flatten() {
            let _ = write!(out, "M{end:.1} {}v8", line - 4.0);
        }
        out.push_str("\"/>");
    }
    if let Some(point) = row_position(&series.y) {
        // The shape also shows the outcome, because a colour alone is not visible to everyone.
        let _ = match style {
            PointStyle::Series(_) | PointStyle::Met => write!(out, "<path class=\"dots\" d=\"M{point:.1} {line}h0\"/>"),
            PointStyle::Missed => write!(
                out,
                "<path class=\"shape\" d=\"M{:.1} {}l8 8m0 -8l-8 8\"/>",
                point - 4.0,
                line - 4.0
            ),
            PointStyle::Undecided => write!(
                out,
                "<path class=\"shape\" d=\"M{:.1} {}h7v7h-7z\"/>",
                point - 3.5,
                line - 3.5
            ),
        };
    }
    out.push_str("</g>\n");
}

fn style_class(style: PointStyle) -> String {
    match style {
        PointStyle::Series(number) => format!("c-{}", number % COLOURS),
        PointStyle::Met => "c-good".into(),
        PointStyle::Missed => "c-bad".into(),
        PointStyle::Undecided => "c-unsure".into(),
    }
}

/// Shortens a name that does not fit next to the text. Its end stays, because file names differ
/// there.
fn shorten_name(name: &str, words: &str) -> String {
    let room = (((WIDTH - 2.0 * SPACE_SIDE) / WIDE_LETTER) as usize).saturating_sub(words.chars().count() + 2);
    let length = name.chars().count();
    match length > room {
        true => std::iter::once('…')
            .chain(name.chars().skip(length + 1 - room.max(1)))
            .collect(),
        false => name.to_owned(),
    }
}
