//! JSON as fio writes it: spaces around the colon, a line for each pair, six decimals for every
//! real number and none for integers, and only quotes, backslashes and control characters escaped.
//! Parsers check for integers and reals, so [`Value`] distinguishes them.

use std::borrow::Cow;
use std::io::{self, Write};

use model::visible;

/// A JSON value.
pub(super) enum Value<'a> {
    Integer(u64),
    Real(f64),
    Text(Cow<'a, str>),
    Object(Object<'a>),
    Array(Vec<Value<'a>>),
}

/// Pairs in the order in which they are written.
#[derive(Default)]
pub(super) struct Object<'a> {
    pairs: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Object<'a> {
    pub(super) fn new() -> Object<'a> {
        Object::default()
    }

    pub(super) fn put(&mut self, key: impl Into<Cow<'a, str>>, value: Value<'a>) {
        self.pairs.push((key.into(), value));
    }

    pub(super) fn integer(&mut self, key: impl Into<Cow<'a, str>>, value: u64) {
        self.put(key, Value::Integer(value));
    }

    pub(super) fn real(&mut self, key: impl Into<Cow<'a, str>>, value: f64) {
        self.put(key, Value::Real(value));
    }

    pub(super) fn text(&mut self, key: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) {
        self.put(key, Value::Text(value.into()));
    }

    pub(super) fn object(&mut self, key: impl Into<Cow<'a, str>>, value: Object<'a>) {
        self.put(key, Value::Object(value));
    }

    /// Writes the object as a whole document.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        write_object(out, self, 0)?;
        writeln!(out)
    }
}

fn write_object(out: &mut dyn Write, object: &Object, depth: usize) -> io::Result<()> {
    write!(out, "{{")?;
    for (number, (key, value)) in object.pairs.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        write!(out, "{comma}\n{}\"{}\" : ", indent(depth + 1), escape(key))?;
        write_value(out, value, depth + 1)?;
    }
    write!(out, "\n{}}}", indent(depth))
}

fn write_value(out: &mut dyn Write, value: &Value, depth: usize) -> io::Result<()> {
    match value {
        Value::Integer(value) => write!(out, "{value}"),
        Value::Real(value) => write!(out, "{value:.6}"),
        Value::Text(value) => write!(out, "\"{}\"", escape(value)),
        Value::Object(object) => write_object(out, object, depth),
        Value::Array(values) => {
            write!(out, "[")?;
            for (number, value) in values.iter().enumerate() {
                let comma = if number > 0 { "," } else { "" };
                write!(out, "{comma}\n{}", indent(depth + 1))?;
                write_value(out, value, depth + 1)?;
            }
            write!(out, "\n{}]", indent(depth))
        }
    }
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}

/// Escapes a JSON string. JSON allows no control characters in it.
fn escape(text: &str) -> Cow<'_, str> {
    match text.contains(|letter: char| matches!(letter, '"' | '\\') || letter.is_control()) {
        true => Cow::Owned(visible(&text.replace('\\', "\\\\").replace('"', "\\\"")).into_owned()),
        false => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn strings_are_valid_json() {
        for text in ["plain", "a \"b\" \\c", "x\u{1b}[31m\n\t\r\u{9b}\u{7f}\0"] {
            let json = format!("\"{}\"", escape(text));
            assert!(!json.contains(char::is_control), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
    }
}
