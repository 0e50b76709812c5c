//! A tmux terminal, and its screen as SVG. Text stays text, so that it can be searched and read
//! aloud; blocks of bars become rectangles, independent of fonts.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::command::output;

/// A terminal with a shell in it.
pub(super) struct Terminal {
    server: String,
    columns: u32,
    lines: u32,
}

impl Terminal {
    pub(super) fn open(columns: u32, lines: u32, folder: &Path) -> Result<Terminal, String> {
        let terminal = Terminal {
            server: format!("fathom-picture-{}", std::process::id()),
            columns,
            lines,
        };
        let (width, height) = (columns.to_string(), lines.to_string());
        let folder = folder.to_string_lossy();
        let shell = "env PS1='$ ' LC_ALL=C.UTF-8 ENV= sh";
        terminal.tmux(&[
            "new-session", "-d", "-x", &width, "-y", &height, "-c", &folder, "-s", "picture", shell,
        ])?;
        std::thread::sleep(Duration::from_millis(500));
        Ok(terminal)
    }

    fn tmux(&self, words: &[&str]) -> Result<String, String> {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.server, "-f", "/dev/null"]).args(words);
        output(command.env_remove("TMUX").env("LC_ALL", "C.UTF-8"))
    }

    pub(super) fn types(&self, text: &str) -> Result<(), String> {
        self.tmux(&["send-keys", "-t", "picture", text, "Enter"]).map(drop)
    }

    /// Its screen as SVG.
    pub(super) fn picture(&self) -> Result<String, String> {
        let screen = self.tmux(&["capture-pane", "-e", "-p", "-t", "picture"])?;
        Ok(svg(&screen, self.columns, self.lines))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

const CELL: (f64, f64) = (8.4, 18.0);
const MARGIN: f64 = 14.0;

/// The style of the following characters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Style {
    bold: bool,
    dim: bool,
    colour: Option<u32>,
}

impl Style {
    /// Applies the numbers of an escape sequence that ends with `m`.
    fn change(&mut self, numbers: &str) {
        for number in numbers.split(';').map(|number| number.parse().unwrap_or(0)) {
            match number {
                0 => *self = Style::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                22 => (self.bold, self.dim) = (false, false),
                30..=37 => self.colour = Some(number - 30),
                39 => self.colour = None,
                _ => {}
            }
        }
    }

    fn fill(self) -> &'static str {
        match (self.colour, self.dim) {
            (Some(1), _) => "#f7768e",
            (Some(3), _) => "#e0af68",
            (_, true) => "#7f8aa8",
            _ => "#d5daeb",
        }
    }
}

/// The characters of a screen with their styles, line by line.
fn cells(screen: &str) -> Vec<Vec<(char, Style)>> {
    let mut style = Style::default();
    let mut lines = Vec::new();
    for line in screen.lines() {
        let (mut cells, mut rest) = (Vec::new(), line.chars());
        while let Some(next_letter) = rest.next() {
            if next_letter != '\x1b' {
                cells.push((next_letter, style));
                continue;
            }
            // `[`, numbers, and the letter that identifies the sequence.
            let sequence: String = rest
                .by_ref()
                .skip(1)
                .take_while(|letter| !letter.is_ascii_alphabetic())
                .collect();
            style.change(&sequence);
        }
        lines.push(cells);
    }
    lines
}

fn svg(screen: &str, columns: u32, lines: u32) -> String {
    let (width, height) = (
        f64::from(columns) * CELL.0 + 2.0 * MARGIN,
        f64::from(lines) * CELL.1 + 2.0 * MARGIN,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" role=\"img\" aria-label=\"fathom's live view in a terminal\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1a1b26\"/>\n\
         <g font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\" xml:space=\"preserve\">\n"
    );
    for (row, cells) in cells(screen).iter().enumerate() {
        let top = MARGIN + row as f64 * CELL.1;
        let mut column = 0;
        for part in cells.chunk_by(|a, b| a.1 == b.1 && is_block(a.0) == is_block(b.0)) {
            let left = MARGIN + column as f64 * CELL.0;
            column += part.len();
            if is_block(part[0].0) {
                svg += &blocks(part, left, top);
            } else {
                svg += &text(part, left, top);
            }
        }
    }
    svg + "</g>\n</svg>\n"
}

/// Words at fixed positions: fonts differ in width.
fn text(part: &[(char, Style)], left: f64, top: f64) -> String {
    let (mut svg, style) = (String::new(), part[0].1);
    let mut column = 0;
    // Two or more blanks separate texts with their own positions.
    let line: String = part.iter().map(|(letter, _)| *letter).collect();
    for piece in line.split_inclusive("  ") {
        let begin = column + piece.chars().take_while(|letter| *letter == ' ').count();
        column += piece.chars().count();
        let words = piece.trim();
        if words.is_empty() {
            continue;
        }
        let (x, y) = (left + begin as f64 * CELL.0, top + 0.76 * CELL.1);
        let length = words.chars().count() as f64 * CELL.0;
        let weight = if style.bold { " font-weight=\"bold\"" } else { "" };
        let escaped = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        svg += &format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" \
             fill=\"{}\"{weight}>{escaped}</text>\n",
            style.fill()
        );
    }
    svg
}

/// Eighths of a cell that a character fills from below.
fn eighths(letter: char) -> Option<u32> {
    match letter {
        '▁'..='█' => Some(letter as u32 - '▁' as u32 + 1),
        '░' => Some(8),
        _ => None,
    }
}

fn is_block(letter: char) -> bool {
    eighths(letter).is_some()
}

fn blocks(part: &[(char, Style)], left: f64, top: f64) -> String {
    let mut svg = String::new();
    let mut column = 0;
    for run in part.chunk_by(|a, b| a.0 == b.0) {
        let height = f64::from(eighths(run[0].0).unwrap_or_default()) / 8.0 * (CELL.1 - 3.0);
        let (x, y) = (left + column as f64 * CELL.0, top + CELL.1 - 2.0 - height);
        column += run.len();
        let fill = if run[0].0 == '░' { "#343a55" } else { "#7aa2f7" };
        svg += &format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>\n",
            run.len() as f64 * CELL.0
        );
    }
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text_and_bars_become_rectangles() {
        let picture = svg("\x1b[1mIOPS\x1b[0m  ██▄ a<b", 20, 1);
        assert!(picture.contains("font-weight=\"bold\">IOPS</text>"), "{picture}");
        assert!(picture.contains(">a&lt;b</text>"), "{picture}");
        // Two whole cells from the seventh on, then a half.
        assert!(
            picture.contains("<rect x=\"64.4\" y=\"15.0\" width=\"16.8\" height=\"15.0\""),
            "{picture}"
        );
        assert!(
            picture.contains("<rect x=\"81.2\" y=\"22.5\" width=\"8.4\" height=\"7.5\""),
            "{picture}"
        );
    }

    #[test]
    fn styles_continue_over_lines_until_changed() {
        let lines = cells("\x1b[2;33ma\nb\x1b[0mc");
        assert!(lines[1][0].1.dim && lines[1][0].1.colour == Some(3));
        assert_eq!(lines[1][1].1, Style::default());
    }
}
