//! Rows of elements. The schema, the reader and the writer use the tables of these rows in
//! `diskspd/profile/`.
//!
//! As in DiskSpd, the reader applies the elements of a parent in the order of its table, not of the
//! document: of elements that set the same field, the later row wins.

use roxmltree::Node;

use super::XmlError;
use super::schema::{Content, ElementRule, Occurrence, Value};
use super::write::Writer;

/// An element, and how a part of a profile is read from and written to it.
pub(in crate::diskspd) struct Element<T> {
    pub(in crate::diskspd) rule: ElementRule,
    pub(in crate::diskspd) form: Form<T>,
    /// The label of its line in text reports; empty without a line.
    pub(in crate::diskspd) label: &'static str,
}

/// The content of an element.
pub(in crate::diskspd) enum Form<T> {
    /// A value. The schema has validated the text before it is read; without a text nothing is
    /// written.
    Value {
        read: fn(&mut T, &str),
        write: fn(&T) -> Option<String>,
    },
    /// Child elements, or a value with attributes.
    Nested {
        read: fn(&mut T, Node) -> Result<(), XmlError>,
        write: fn(&mut Writer, &T),
    },
}

pub(in crate::diskspd) const fn value<T>(
    name: &'static str,
    value: Value,
    read: fn(&mut T, &str),
    write: fn(&T) -> Option<String>,
) -> Element<T> {
    Element {
        rule: ElementRule::value(name, value),
        form: Form::Value { read, write },
        label: "",
    }
}

pub(in crate::diskspd) const fn nested<T>(
    rule: ElementRule,
    read: fn(&mut T, Node) -> Result<(), XmlError>,
    write: fn(&mut Writer, &T),
) -> Element<T> {
    Element {
        rule,
        form: Form::Nested { read, write },
        label: "",
    }
}

/// Accepts only `true`: the schema also accepts 1, which DiskSpd reads as false.
pub(in crate::diskspd) fn is_true(text: &str) -> bool {
    text == "true"
}

pub(in crate::diskspd) fn set<T: std::str::FromStr>(field: &mut T, text: &str) {
    if let Ok(value) = text.parse() {
        *field = value;
    }
}

/// A boolean that is always written, or only if it is `true`.
macro_rules! flag {
    ($name:literal, $of:ident.$field:ident) => {
        value(
            $name,
            Value::Boolean,
            |of: &mut $of, text| of.$field = is_true(text),
            |of| Some(of.$field.to_string()),
        )
    };
    ($name:literal, $of:ident.$field:ident if true) => {
        value(
            $name,
            Value::Boolean,
            |of: &mut $of, text| of.$field = is_true(text),
            |of| of.$field.then(|| "true".to_string()),
        )
    };
}

/// A number that is always written.
macro_rules! number {
    ($name:literal, $value:expr, $of:ident.$field:ident) => {
        value(
            $name,
            $value,
            |of: &mut $of, text| set(&mut of.$field, text),
            |of| Some(of.$field.to_string()),
        )
    };
}

/// A number that may be absent.
macro_rules! optional {
    ($name:literal, $value:expr, $of:ident.$field:ident) => {
        value(
            $name,
            $value,
            |of: &mut $of, text| of.$field = text.parse().ok(),
            |of| of.$field.map(|value| value.to_string()),
        )
    };
}

/// One of several words that may be absent.
macro_rules! word {
    ($name:literal, $of:ident.$field:ident, $($word:literal => $value:path),+) => {
        value(
            $name,
            Value::Word(&[$($word),+]),
            |of: &mut $of, text| of.$field = [$(($word, $value)),+].into_iter().find(|(word, _)| *word == text).map(|(_, value)| value),
            |of| of.$field.map(|value| match value { $($value => $word),+ }.to_string()),
        )
    };
}

/// A value of DiskSpd 2.3, with its label in text reports.
macro_rules! newer {
    ($name:literal, $label:literal, $parse:expr, $set:expr, $write:expr) => {
        Element {
            label: $label,
            ..value(
                $name,
                Value::Checked(|text| $parse(text).is_some()),
                |span: &mut TimeSpan, text| {
                    if let Some(value) = $parse(text) {
                        $set(span, value);
                    }
                },
                $write,
            )
        }
    };
}

pub(in crate::diskspd) const ANY_U32: Value = Value::Number(0, u32::MAX as u64);
pub(in crate::diskspd) const ANY_U64: Value = Value::Number(0, u64::MAX);

/// A rule for child elements in any order.
pub(in crate::diskspd) const fn all(
    name: &'static str,
    occurs: Occurrence,
    elements: fn() -> Vec<&'static ElementRule>,
) -> ElementRule {
    ElementRule::new(name, occurs, Content::All(elements))
}

pub(in crate::diskspd) fn rules<T>(elements: &'static [Element<T>]) -> Vec<&'static ElementRule> {
    elements.iter().map(|element| &element.rule).collect()
}

pub(in crate::diskspd) use {flag, newer, number, optional, word};
