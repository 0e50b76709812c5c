//! Text in columns: pieces that are never truncated, names that may be, and tables that drop
//! columns.

use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::ViewOptions;

/// Default width of a row's name.
const NAME_WIDTH: usize = 16;
/// Columns between two pieces.
pub(super) const BETWEEN: usize = 2;

pub(super) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

pub(super) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// A piece of a line, which is shown whole or not at all.
pub(super) struct Piece {
    pub(super) rank: u32,
    pub(super) span: Span<'static>,
}

pub(super) fn piece(rank: u32, text: impl Into<String>) -> Piece {
    Piece {
        rank,
        span: Span::raw(text.into()),
    }
}

pub(super) fn strong(rank: u32, text: impl Into<String>) -> Piece {
    Piece {
        rank,
        span: Span::styled(text.into(), bold()),
    }
}

/// Drops the least important pieces until the rest fits, with two columns between pieces.
pub(super) fn fit_pieces(mut pieces: Vec<Piece>, width: usize) -> Vec<Span<'static>> {
    pieces.retain(|piece| piece.span.width() > 0);
    let needed = |pieces: &[Piece]| {
        let widths: usize = pieces.iter().map(|piece| piece.span.width()).sum();
        widths + BETWEEN * pieces.len().saturating_sub(1)
    };
    while needed(&pieces) > width {
        let Some((index, _)) = pieces.iter().enumerate().max_by_key(|(_, piece)| piece.rank) else {
            break;
        };
        pieces.remove(index);
    }
    let mut spans = Vec::new();
    for piece in pieces {
        if !spans.is_empty() {
            spans.push(Span::raw(" ".repeat(BETWEEN)));
        }
        spans.push(piece.span);
    }
    spans
}

/// Truncates a text at its start, because the end of a path is more important.
pub(super) fn truncate_start(text: &str, width: usize, options: ViewOptions) -> String {
    let text = model::visible(text).into_owned();
    if columns(&text) <= width {
        return text;
    }
    let dots = if options.unicode { "…" } else { ".." };
    if width <= dots.len().min(2) {
        return String::new();
    }
    let room = width - columns(dots);
    let mut rest: &str = &text;
    while columns(rest) > room {
        let mut letters = rest.chars();
        letters.next();
        rest = letters.as_str();
    }
    format!("{dots}{rest}")
}

/// Truncates a sentence at its end.
pub(super) fn truncate_end(text: &str, width: usize, options: ViewOptions) -> String {
    let mut text = model::visible(text).into_owned();
    if columns(&text) <= width {
        return text;
    }
    let dots = if options.unicode { "…" } else { ".." };
    let room = width.saturating_sub(columns(dots));
    while columns(&text) > room {
        text.pop();
    }
    text + dots
}

pub(super) fn columns(text: &str) -> usize {
    Span::raw(text).width()
}

/// A table with row names. The least important columns are dropped first.
#[derive(Default)]
pub(super) struct Table {
    pub(super) head: &'static str,
    /// Title, priority (smaller is more important), minimum width.
    pub(super) columns: Vec<(&'static str, u32, usize)>,
    pub(super) rows: Vec<(String, Vec<String>)>,
    /// Emphasize the first row.
    pub(super) bold_first_row: bool,
    /// Row names are labels, which are never truncated.
    pub(super) names_are_labels: bool,
}

impl Table {
    pub(super) fn lines(&self, options: ViewOptions, width: usize) -> Vec<Line<'static>> {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let cells = self.rows.iter().map(|(_, cells)| columns(&cells[column]));
                let (head, _, min_width) = &self.columns[column];
                cells.max().unwrap_or(0).max(columns(head)).max(*min_width)
            })
            .collect();
        let longest = self.rows.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
        let total_width = longest.max(columns(self.head));
        let min_name_width = if self.names_are_labels {
            total_width
        } else {
            total_width.min(NAME_WIDTH)
        };
        let mut kept: Vec<usize> = (0..widths.len()).collect();
        let needed = |kept: &[usize]| kept.iter().map(|column| widths[*column] + BETWEEN).sum::<usize>();
        while min_name_width + needed(&kept) > width && kept.len() > 1 {
            let least_important = kept.iter().copied().max_by_key(|column| self.columns[*column].1);
            kept.retain(|column| Some(*column) != least_important);
        }
        if min_name_width + needed(&kept) > width {
            return Vec::new();
        }
        let name_width = width.saturating_sub(needed(&kept)).min(longest.max(NAME_WIDTH));
        let mut lines = Vec::new();
        let mut head = pad_end(&truncate_start(self.head, name_width, options), name_width);
        for column in &kept {
            head += &" ".repeat(BETWEEN);
            head += &pad_start(self.columns[*column].0, widths[*column]);
        }
        lines.push(Line::styled(head, dim()));
        for (number, (name, cells)) in self.rows.iter().enumerate() {
            let mut text = pad_end(&truncate_start(name, name_width, options), name_width);
            for column in &kept {
                text += &" ".repeat(BETWEEN);
                text += &pad_start(&cells[*column], widths[*column]);
            }
            lines.push(match self.bold_first_row && number == 0 {
                true => Line::styled(text, bold()),
                false => Line::raw(text),
            });
        }
        lines
    }
}

pub(super) fn pad_start(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(columns(text))) + text
}

pub(super) fn pad_end(text: &str, width: usize) -> String {
    text.to_owned() + &" ".repeat(width.saturating_sub(columns(text)))
}
