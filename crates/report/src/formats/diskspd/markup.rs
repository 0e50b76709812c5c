//! XML in DiskSpd's layout: one element or value per line, two spaces of indent per level.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, Write};

/// Writes elements with indentation.
pub(super) struct Markup<'a> {
    out: &'a mut dyn Write,
    depth: usize,
    begun: bool,
}

impl<'a> Markup<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Markup<'a> {
        Markup {
            out,
            depth: 0,
            begun: false,
        }
    }

    /// Writes a line. The newline is written before the next line, so that the document ends
    /// without one.
    pub(super) fn write_line(&mut self, text: impl Display) -> io::Result<()> {
        if self.begun {
            writeln!(self.out)?;
        }
        self.begun = true;
        write!(self.out, "{:indent$}{text}", "", indent = 2 * self.depth)
    }

    /// Writes an element whose content `inside` writes.
    pub(super) fn write_element(
        &mut self,
        name: &str,
        inside: impl FnOnce(&mut Markup<'a>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.write_element_with_attributes(name, "", inside)
    }

    /// Writes an element with attributes, each preceded by a blank.
    pub(super) fn write_element_with_attributes(
        &mut self,
        name: &str,
        attributes: &str,
        inside: impl FnOnce(&mut Markup<'a>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.write_line(format_args!("<{name}{attributes}>"))?;
        self.depth += 1;
        inside(self)?;
        self.depth -= 1;
        self.write_line(format_args!("</{name}>"))
    }

    /// Writes an element with a number or a word that needs no escaping.
    pub(super) fn value(&mut self, name: &str, value: impl Display) -> io::Result<()> {
        self.write_line(format_args!("<{name}>{value}</{name}>"))
    }

    /// Writes an element with escaped text.
    pub(super) fn text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.value(name, escape_xml(text))
    }
}

/// Escapes text for XML. DiskSpd does not, so its documents may be malformed. Characters that XML
/// cannot hold become the replacement character.
pub(super) fn escape_xml(text: &str) -> Cow<'_, str> {
    // A tab and the two line ends are the only control characters of XML 1.0.
    let impossible = |c: char| (c < ' ' && !"\t\n\r".contains(c)) || matches!(c, '\u{fffe}' | '\u{ffff}');
    if !text.contains(|c: char| impossible(c) || "&<>\"".contains(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if impossible(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_indented_without_a_final_newline() {
        let mut bytes = Vec::new();
        let mut markup = Markup::new(&mut bytes);
        let written = markup.write_element("A", |markup| {
            markup.write_element_with_attributes("B", " c=\"1\"", |markup| markup.text("D", "x & <y>\0"))?;
            markup.value("E", 2.5)
        });
        written.expect("memory takes everything");
        let expected = "<A>\n  <B c=\"1\">\n    <D>x &amp; &lt;y&gt;\u{fffd}</D>\n  </B>\n  <E>2.5</E>\n</A>";
        assert_eq!(String::from_utf8(bytes).expect("text"), expected);
    }
}
