//! Text in columns: pieces that are never truncated, names that may be, and tables that drop
//! columns.

use std::fmt;

use unicode_width::UnicodeWidthStr;

use super::ViewOptions;

/// Default width of a row's name.
const NAME_WIDTH: usize = 16;
/// Columns between two pieces.
pub(super) const PIECE_GAP: usize = 2;

/// Appearance of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    Dim,
    Bold,
    Red,
    Yellow,
}

/// A line of the view. Its `Display` writes the escape sequences of its styles as well.
#[derive(Clone, Debug, Default)]
pub struct Line(Vec<(Style, String)>);

impl Line {
    pub(super) fn new(style: Style, text: impl Into<String>) -> Line {
        Line(vec![(style, text.into())])
    }

    /// The same text in another style.
    pub(super) fn with_style(mut self, style: Style) -> Line {
        self.0.iter_mut().for_each(|(current, _)| *current = style);
        self
    }

    pub(super) fn preceded_by(mut self, text: String) -> Line {
        self.0.insert(0, (Style::Plain, text));
        self
    }

    pub(super) fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| columns(text)).sum()
    }

    /// The text without styles.
    pub fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (style, text) in &self.0 {
            match style {
                Style::Plain => write!(f, "{text}")?,
                Style::Bold => write!(f, "\x1b[1m{text}\x1b[0m")?,
                Style::Dim => write!(f, "\x1b[2m{text}\x1b[0m")?,
                Style::Red => write!(f, "\x1b[31m{text}\x1b[0m")?,
                Style::Yellow => write!(f, "\x1b[33m{text}\x1b[0m")?,
            }
        }
        Ok(())
    }
}

/// A piece of a line, which is shown whole or not at all.
pub(super) struct Piece {
    pub(super) rank: u32,
    style: Style,
    text: String,
}

pub(super) fn piece(rank: u32, text: impl Into<String>) -> Piece {
    let text = model::visible(&text.into()).into_owned();
    Piece {
        rank,
        style: Style::Plain,
        text,
    }
}

pub(super) fn strong(rank: u32, text: impl Into<String>) -> Piece {
    Piece {
        style: Style::Bold,
        ..piece(rank, text)
    }
}

/// Drops the least important pieces until the rest fits, with two columns between pieces.
pub(super) fn fit_pieces(mut pieces: Vec<Piece>, width: usize) -> Line {
    pieces.retain(|piece| columns(&piece.text) > 0);
    let needed = |pieces: &[Piece]| {
        let widths: usize = pieces.iter().map(|piece| columns(&piece.text)).sum();
        widths + PIECE_GAP * pieces.len().saturating_sub(1)
    };
    while needed(&pieces) > width {
        let Some((index, _)) = pieces.iter().enumerate().max_by_key(|(_, piece)| piece.rank) else {
            break;
        };
        pieces.remove(index);
    }
    let mut line = Line::default();
    for piece in pieces {
        if !line.0.is_empty() {
            line.0.push((Style::Plain, " ".repeat(PIECE_GAP)));
        }
        line.0.push((piece.style, piece.text));
    }
    line
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
    let Some(room) = width.checked_sub(columns(dots)) else {
        return String::new();
    };
    while columns(&text) > room {
        text.pop();
    }
    text + dots
}

pub(super) fn columns(text: &str) -> usize {
    text.width()
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
    pub(super) fn lines(&self, options: ViewOptions, width: usize) -> Vec<Line> {
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
        let needed = |kept: &[usize]| kept.iter().map(|column| widths[*column] + PIECE_GAP).sum::<usize>();
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
            head += &" ".repeat(PIECE_GAP);
            head += &pad_start(self.columns[*column].0, widths[*column]);
        }
        lines.push(Line::new(Style::Dim, head));
        for (number, (name, cells)) in self.rows.iter().enumerate() {
            let mut text = pad_end(&truncate_start(name, name_width, options), name_width);
            for column in &kept {
                text += &" ".repeat(PIECE_GAP);
                text += &pad_start(&cells[*column], widths[*column]);
            }
            let is_bold = self.bold_first_row && number == 0;
            lines.push(Line::new(if is_bold { Style::Bold } else { Style::Plain }, text));
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
