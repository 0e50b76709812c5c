//! The types of the schema, and the validation of documents against it. Children have any order,
//! and occur at most once unless the rule allows more.

use roxmltree::Node;

use super::{XmlError, XmlErrorKind};
use crate::diskspd::profile::ROOT;

/// Attributes of this namespace point to a schema; every document may have them.
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// The rule of an element: its name, its number of occurrences and its content.
pub(in crate::diskspd) struct ElementRule {
    pub(in crate::diskspd) name: &'static str,
    pub(in crate::diskspd) occurrence: Occurrence,
    pub(in crate::diskspd) content: Content,
    pub(in crate::diskspd) attributes: &'static [Attribute],
}

pub(in crate::diskspd) struct Attribute {
    name: &'static str,
    required: bool,
    value: Value,
}

#[derive(Clone, Copy, PartialEq)]
pub(in crate::diskspd) enum Occurrence {
    AtMostOnce,
    Once,
    AtLeastOnce,
    AnyTimes,
}

pub(in crate::diskspd) enum Content {
    Value(Value),
    /// Elements in any order.
    All(fn() -> Vec<&'static ElementRule>),
    /// Elements of one of these names.
    Choice(fn() -> Vec<&'static ElementRule>),
    Empty,
}

#[derive(Clone, Copy)]
pub(in crate::diskspd) enum Value {
    Text,
    Boolean,
    Number(u64, u64),
    Word(&'static [&'static str]),
    /// A text that this function accepts.
    Checked(fn(&str) -> bool),
}

impl ElementRule {
    pub(in crate::diskspd) const fn new(name: &'static str, occurrence: Occurrence, content: Content) -> ElementRule {
        ElementRule {
            name,
            occurrence,
            content,
            attributes: &[],
        }
    }

    /// The rule of an optional element with a value.
    pub(in crate::diskspd) const fn value(name: &'static str, value: Value) -> ElementRule {
        ElementRule::new(name, Occurrence::AtMostOnce, Content::Value(value))
    }
}

impl Attribute {
    pub(in crate::diskspd) const fn new(name: &'static str, required: bool, value: Value) -> Attribute {
        Attribute { name, required, value }
    }
}

/// Reports the first violation of the schema.
pub(in crate::diskspd) fn check(root: Node) -> Result<(), XmlError> {
    if !is_named(root, ROOT.name) {
        return refuse(
            root,
            format!("the root is <{}> instead of <Profile>", root.tag_name().name()),
        );
    }
    check_element(root, &ROOT)
}

/// The text of an element, trimmed.
///
/// DiskSpd's XML library trims text, so that a path may have its own line. Comments are skipped.
pub(in crate::diskspd) fn node_text(node: Node) -> String {
    let parts = node
        .children()
        .filter(Node::is_text)
        .filter_map(|text_node| text_node.text());
    trim(&parts.collect::<String>()).to_string()
}

/// Whether the element has this name and no namespace.
pub(in crate::diskspd) fn is_named(node: Node, name: &str) -> bool {
    node.is_element() && node.tag_name().namespace().is_none() && node.tag_name().name() == name
}

fn check_element(node: Node, rule: &ElementRule) -> Result<(), XmlError> {
    check_attributes(node, rule)?;
    match &rule.content {
        Content::Value(value) => {
            if let Some(child) = node.children().find(Node::is_element) {
                return refuse(child, format!("<{}> takes a value, not elements", rule.name));
            }
            match value.violation(&node_text(node)) {
                None => Ok(()),
                Some(violation) => refuse(node, format!("<{}> {violation}", rule.name)),
            }
        }
        Content::Empty => check_children(node, &[], false),
        Content::All(rules) => check_children(node, &rules(), false),
        Content::Choice(rules) => check_children(node, &rules(), true),
    }
}

fn check_attributes(node: Node, rule: &ElementRule) -> Result<(), XmlError> {
    for attribute in node.attributes() {
        if attribute.namespace() == Some(SCHEMA_INSTANCE) {
            continue;
        }
        let allowed = rule
            .attributes
            .iter()
            .find(|allowed| allowed.name == attribute.name() && attribute.namespace().is_none());
        let Some(allowed) = allowed else {
            return refuse(
                node,
                format!("unknown attribute '{}' in <{}>", attribute.name(), rule.name),
            );
        };
        if let Some(violation) = allowed.value.violation(trim(attribute.value())) {
            return refuse(
                node,
                format!("attribute '{}' of <{}> {violation}", allowed.name, rule.name),
            );
        }
    }
    for attribute in rule.attributes.iter().filter(|attribute| attribute.required) {
        if node.attribute(attribute.name).is_none() {
            return refuse(
                node,
                format!("<{}> requires the attribute '{}'", rule.name, attribute.name),
            );
        }
    }
    Ok(())
}

/// Checks each child, then missing ones. With `is_choice`, all must have the same name.
fn check_children(parent: Node, rules: &[&ElementRule], is_choice: bool) -> Result<(), XmlError> {
    let parent_name = parent.tag_name().name();
    let mut counts = vec![0u64; rules.len()];
    for child in parent.children() {
        if child.is_text() && !trim(child.text().unwrap_or_default()).is_empty() {
            return refuse(child, format!("<{parent_name}> takes no text"));
        }
        if !child.is_element() {
            continue;
        }
        let name = child.tag_name().name();
        let Some(index) = rules.iter().position(|rule| is_named(child, rule.name)) else {
            return refuse(child, format!("unknown element <{name}> in <{parent_name}>"));
        };
        counts[index] += 1;
        if counts[index] > 1 && matches!(rules[index].occurrence, Occurrence::Once | Occurrence::AtMostOnce) {
            return refuse(child, format!("<{name}> occurs more than once in <{parent_name}>"));
        }
        if is_choice
            && let Some(previous) = (0..rules.len()).find(|&previous| previous != index && counts[previous] > 0)
        {
            return refuse(
                child,
                format!(
                    "<{parent_name}> cannot have both <{}> and <{name}>",
                    rules[previous].name
                ),
            );
        }
        check_element(child, rules[index])?;
    }
    let missing = |index: &usize| {
        counts[*index] == 0 && matches!(rules[*index].occurrence, Occurrence::Once | Occurrence::AtLeastOnce)
    };
    let has_choice = is_choice && counts.iter().any(|&count| count > 0);
    match (0..rules.len()).find(missing) {
        Some(index) if !has_choice => refuse(parent, format!("<{parent_name}> lacks <{}>", rules[index].name)),
        _ => Ok(()),
    }
}

impl Value {
    /// Returns why a text is not a valid value, as the end of a sentence; `None` if it is valid.
    fn violation(self, text: &str) -> Option<String> {
        match self {
            Value::Text => None,
            Value::Boolean if ["true", "false", "1", "0"].contains(&text) => None,
            Value::Boolean => Some(format!("must be 'true' or 'false', not '{text}'")),
            Value::Checked(is_good) if is_good(text) => None,
            Value::Checked(_) => Some(format!("does not accept the value '{text}'")),
            Value::Word(words) if words.contains(&text) => None,
            Value::Word(words) => Some(format!("must be '{}', not '{text}'", words.join("' or '"))),
            Value::Number(min, max) => {
                let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                match text.parse::<u64>() {
                    Ok(number) if digits && (min..=max).contains(&number) => None,
                    _ => Some(format!("must be a number from {min} to {max}, not '{text}'")),
                }
            }
        }
    }
}

/// Trims the blanks of XML only: others may belong to a path.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\r', '\n'])
}

fn refuse(node: Node, reason: String) -> Result<(), XmlError> {
    Err(XmlError::at(node, XmlErrorKind::Schema, reason))
}
