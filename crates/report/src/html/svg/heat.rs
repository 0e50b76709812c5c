//! The cells of a heat map: one path for each level of colour.

use std::fmt::Write;

use super::scale::{PlacedTick, Span};
use super::{Area, LABEL_LINE, WIDE_LETTER, truncate};
use crate::html::chart::{Axis, Heat, Scale, X};
use crate::html::escape::escape_text;
use crate::numbers::format_rough;

/// Number of colour levels.
const LEVELS: usize = 8;
/// In grids of up to this many cells, the values are written in the cells.
const MAX_CELLS_WITH_VALUES: usize = 80;

/// The value range of an axis, extended by half a cell (log) or one cell (time), so that all cells
/// have equal width.
pub(super) fn cell_span(axis: &Axis, cells: &[X]) -> Span {
    let place = |x: &X| match x {
        X::Number(number) if axis.scale == Scale::Log => number.log10(),
        X::Number(number) => *number,
        X::Name(_) => f64::NAN,
    };
    let (Some(first), Some(last)) = (cells.first().map(place), cells.last().map(place)) else {
        return Span::from_names(1);
    };
    if first.is_nan() || axis.scale == Scale::Names {
        return Span::from_names(cells.len());
    }
    let cell_width = match cells.len() {
        1 => 1.0,
        count => (last - first) / (count - 1) as f64,
    };
    // Times are the starts of columns; latencies are the middles of rows.
    let half_cell = if axis.scale == Scale::Log {
        cell_width / 2.0
    } else {
        0.0
    };
    Span {
        scale: axis.scale,
        low: first - half_cell,
        high: last + cell_width - half_cell,
    }
}

/// Labels of rows that have names.
pub(super) fn row_ticks(map: &Heat, span: &Span) -> Vec<PlacedTick> {
    let named = map.y.iter().enumerate().filter_map(|(row, y)| match y {
        X::Name(name) => Some((span.place(row as f64)?, truncate(name))),
        X::Number(_) => None,
    });
    named.collect()
}

/// The colour level of a value, 0 to [`LEVELS`] − 1.
fn colour_level(map: &Heat, value: f64) -> usize {
    let (low, high) = value_range(map);
    let to_scale = |value: f64| if map.log { value.max(1e-300).log10() } else { value };
    let share = (to_scale(value) - to_scale(low)) / (to_scale(high) - to_scale(low));
    match share.is_finite() {
        true => ((share * LEVELS as f64) as usize).min(LEVELS - 1),
        false => LEVELS - 1,
    }
}

fn value_range(map: &Heat) -> (f64, f64) {
    let values = map.z.iter().flatten().copied().flatten();
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// Draws each run of equal cells as one line, one row thick.
pub(super) fn draw_cells(map: &Heat, width: f64, height: f64, out: &mut String) {
    let rows = map.z.len();
    let mut paths = vec![String::new(); LEVELS];
    for (row, cells) in map.z.iter().enumerate() {
        let y = rows - 1 - row;
        let levels: Vec<Option<usize>> = cells
            .iter()
            .map(|value| value.map(|value| colour_level(map, value)))
            .collect();
        let mut column = 0;
        for group in levels.chunk_by(|a, b| a == b) {
            if let Some(level) = group[0] {
                let _ = write!(paths[level], "M{column} {y}.5h{}", group.len());
            }
            column += group.len();
        }
    }
    let columns = map.x.len().max(1);
    let (cell_width, cell_height) = (width / columns as f64, height / rows.max(1) as f64);
    let _ = write!(
        out,
        "<g class=\"heat\" data-series=\"0\" transform=\"scale({cell_width:.4} {cell_height:.4})\">"
    );
    for (level, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let _ = write!(out, "<path class=\"h{level}\" d=\"{path}\"/>");
    }
    out.push_str("</g>\n");
}

/// Formats small counts exactly.
fn format_value(value: f64) -> String {
    match value.fract() {
        0.0 if value < 1000.0 => format!("{value:.0}"),
        _ => format_rough(value),
    }
}

/// Writes the values of a small grid into its cells, if they fit.
pub(super) fn write_values(map: &Heat, area: &Area, out: &mut String) {
    let (columns, rows) = (map.x.len(), map.z.len());
    if columns * rows > MAX_CELLS_WITH_VALUES {
        return;
    }
    let (cell_width, cell_height) = (area.width / columns as f64, area.height / rows as f64);
    let values = map.z.iter().flatten().flatten();
    let longest = values.map(|value| format_value(*value).len()).max().unwrap_or(0);
    if longest as f64 * WIDE_LETTER > cell_width || cell_height < LABEL_LINE {
        return;
    }
    for (row, cells) in map.z.iter().enumerate() {
        for (column, value) in cells.iter().enumerate() {
            let Some(value) = value else { continue };
            let class = if colour_level(map, *value) >= LEVELS / 2 {
                "on-dark"
            } else {
                "on-light"
            };
            let _ = writeln!(
                out,
                "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                area.left + (column as f64 + 0.5) * cell_width,
                area.top + ((rows - 1 - row) as f64 + 0.5) * cell_height + 4.0,
                format_value(*value)
            );
        }
    }
}

/// Draws the legend: the colours from the lowest value to the highest.
pub(super) fn format_legend(map: &Heat) -> String {
    let (low, high) = value_range(map);
    if low > high {
        return String::new();
    }
    let mut out = format!("<p class=\"legend\">{} ", format_value(low));
    let _ = write!(
        out,
        "<svg class=\"heat\" width=\"{}\" height=\"10\" aria-hidden=\"true\">",
        LEVELS * 14
    );
    for level in 0..LEVELS {
        let _ = write!(
            out,
            "<path class=\"h{level}\" stroke-width=\"10\" d=\"M{} 5h14\"/>",
            level * 14
        );
    }
    let _ = writeln!(out, "</svg> {} {}</p>", format_value(high), escape_text(&map.title));
    out
}
