//! Writes a profile like DiskSpd's `-Rpxml` and XML results: same elements, order and indentation.
//! Two things differ: text is escaped, and `RandomWriteData` is written if set, so that the profile
//! survives a round trip.

use super::elements::{Element, Form};
use crate::diskspd::profile::{PROFILE, Profile};

/// Formats the profile: one element or tag per line, indented by two blanks per level.
pub fn lines(profile: &Profile) -> Vec<String> {
    let mut writer = Writer::default();
    writer.write_element("Profile", |writer| write_all(writer, PROFILE, profile));
    writer.lines
}

#[derive(Default)]
pub(in crate::diskspd) struct Writer {
    lines: Vec<String>,
    depth: usize,
}

impl Writer {
    pub(in crate::diskspd) fn write_line(&mut self, text: &str) {
        self.lines
            .push(format!("{:indent$}{text}", "", indent = 2 * self.depth));
    }

    pub(in crate::diskspd) fn write_element(&mut self, name: &str, inside: impl FnOnce(&mut Writer)) {
        self.write_line(&format!("<{name}>"));
        self.depth += 1;
        inside(self);
        self.depth -= 1;
        self.write_line(&format!("</{name}>"));
    }

    pub(in crate::diskspd) fn write_value(&mut self, name: &str, value: impl ToString) {
        let text = escape(&value.to_string());
        self.write_line(&format!("<{name}>{text}</{name}>"));
    }
}

/// Writes the elements of the table.
pub(in crate::diskspd) fn write_all<T>(writer: &mut Writer, table: &[Element<T>], of: &T) {
    for element in table {
        match element.form {
            Form::Value { write, .. } => {
                if let Some(text) = write(of) {
                    writer.write_value(element.rule.name, text);
                }
            }
            Form::Nested { write, .. } => write(writer, of),
        }
    }
}

/// Escapes text. Line ends become references, so that an element stays on its line. Characters that
/// XML cannot express become the replacement character, so that the document stays readable.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\t' => escaped.push_str("&#9;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => escaped.push(char::REPLACEMENT_CHARACTER),
            _ => escaped.push(character),
        }
    }
    escaped
}
