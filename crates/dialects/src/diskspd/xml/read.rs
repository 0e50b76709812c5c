//! Reads a valid document into a profile. Absent elements leave the defaults.

use roxmltree::{Document, Node};

use super::XmlError;
use super::elements::{Element, Form};
use super::schema::{check, is_named, node_text};
use crate::diskspd::profile::{PROFILE, Profile};

/// Reads an XML profile.
pub fn read(text: &str) -> Result<Profile, XmlError> {
    let document = Document::parse(text)?;
    let root = document.root_element();
    check(root)?;
    let mut profile = Profile::default();
    read_all(PROFILE, &mut profile, root)?;
    Ok(profile)
}

/// Reads the children of `parent` by the table.
pub(in crate::diskspd) fn read_all<T>(table: &[Element<T>], of: &mut T, parent: Node) -> Result<(), XmlError> {
    for element in table {
        let Some(node) = child(parent, element.rule.name) else {
            continue;
        };
        match element.form {
            Form::Value { read, .. } => read(of, &node_text(node)),
            Form::Nested { read, .. } => read(of, node)?,
        }
    }
    Ok(())
}

pub(in crate::diskspd) fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|child| is_named(*child, name))
}

/// The children of this name.
pub(in crate::diskspd) fn elements<'a, 'input>(
    list: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    list.children().filter(move |element| is_named(*element, name))
}

/// The number of a child element, which the schema has validated; `None` if the element is absent.
pub(in crate::diskspd) fn number<T: std::str::FromStr>(node: Node, name: &str) -> Option<T> {
    child(node, name).and_then(|value| node_text(value).parse().ok())
}

/// The number of an attribute, which the schema has validated; 0 if it is absent.
pub(in crate::diskspd) fn attribute_number(node: Node, name: &str) -> u32 {
    node.attribute(name)
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or_default()
}
