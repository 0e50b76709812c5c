//! Text in columns: pieces that are never cut, names that may be, and tables that drop columns.

use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use super::Look;

/// Default width of a row's name.
const NAME: usize = 16;
/// Columns between two pieces.
pub(super) const BETWEEN: usize = 2;

pub(super) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

pub(super) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// A piece of a line, which is never cut.
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

/// Selects the pieces that fit, with two columns between them.
pub(super) fn fitting(mut pieces: Vec<Piece>, width: usize) -> Vec<Span<'static>> {
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

/// Cuts a text to a width; of a path the end stays.
pub(super) fn cut(text: &str, width: usize, look: Look) -> String {
    let text = model::visible(text).into_owned();
    if columns(&text) <= width {
        return text;
    }
    let dots = if look.unicode { "…" } else { ".." };
    if width <= dots.len().min(2) {
        return String::new();
    }
    let room = width - columns(dots);
    let mut rest: &str = &text;
    while columns(rest) > room {
        let mut left = rest.chars();
        left.next();
        rest = left.as_str();
    }
    format!("{dots}{rest}")
}

/// Cuts a sentence to a width; its beginning stays.
pub(super) fn cut_end(text: &str, width: usize, look: Look) -> String {
    let mut text = model::visible(text).into_owned();
    if columns(&text) <= width {
        return text;
    }
    let dots = if look.unicode { "…" } else { ".." };
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
pub(super) struct Table {
    pub(super) head: &'static str,
    /// Head, importance, least width.
    pub(super) columns: Vec<(String, u32, usize)>,
    pub(super) rows: Vec<(String, Vec<String>)>,
    /// The first row is emphasized.
    pub(super) first: bool,
    /// Its row names are labels, which are never cut.
    pub(super) ours: bool,
}

impl Table {
    pub(super) fn lines(&self, look: Look, width: usize) -> Vec<Line<'static>> {
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|column| {
                let cells = self.rows.iter().map(|(_, cells)| columns(&cells[column]));
                let (head, _, least) = &self.columns[column];
                cells.max().unwrap_or(0).max(columns(head)).max(*least)
            })
            .collect();
        let longest = self.rows.iter().map(|(name, _)| columns(name)).max().unwrap_or(0);
        let whole = longest.max(columns(self.head));
        let name_least = if self.ours { whole } else { whole.min(NAME) };
        let mut kept: Vec<usize> = (0..widths.len()).collect();
        let needed = |kept: &[usize]| kept.iter().map(|column| widths[*column] + BETWEEN).sum::<usize>();
        while name_least + needed(&kept) > width && kept.len() > 1 {
            let least = kept.iter().copied().max_by_key(|column| self.columns[*column].1);
            kept.retain(|column| Some(*column) != least);
        }
        if name_least + needed(&kept) > width {
            return Vec::new();
        }
        let name_width = width.saturating_sub(needed(&kept)).min(longest.max(NAME));
        let mut lines = Vec::new();
        let mut head = pad_end(&cut(self.head, name_width, look), name_width);
        for column in &kept {
            head += &" ".repeat(BETWEEN);
            head += &pad_start(&self.columns[*column].0, widths[*column]);
        }
        lines.push(Line::styled(head, dim()));
        for (number, (name, cells)) in self.rows.iter().enumerate() {
            let mut text = pad_end(&cut(name, name_width, look), name_width);
            for column in &kept {
                text += &" ".repeat(BETWEEN);
                text += &pad_start(&cells[*column], widths[*column]);
            }
            lines.push(match self.first && number == 0 {
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
